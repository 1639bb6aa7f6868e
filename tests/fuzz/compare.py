"""What came of a program on both engines, compared."""

from __future__ import annotations

from typing import Any

import numpy as np

TOLERANCE = {  # relative to each value, and to the largest of all (at least 1)
    "float16": (2e-2, 4e-3),
    "float32": (2e-4, 1e-5),
    "float64": (2e-5, 1e-6),  # MXNet computes some gradients in float32
}

EQUAL = "equal"
BOTH_REFUSE = "both refuse"
DIFFER = "differ"
REFUSED = "refused here alone"
ACCEPTED = "accepted here alone"
MXNETS_OWN = "MXNet's own error"


def outcome(theirs: dict, ours: dict) -> str:
    """The class of a pair of answers of `program.run`."""
    if "crash" in theirs:
        return MXNETS_OWN
    if "error" in theirs:
        return BOTH_REFUSE if "error" in ours else ACCEPTED
    if "error" in ours:
        return REFUSED
    return EQUAL if same(theirs["shown"], ours["shown"]) else DIFFER


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are one: types and shapes exactly, numbers within tolerance."""
    a, b = plain(a), plain(b)
    if isinstance(a, list) and isinstance(b, list):
        if a[:1] == b[:1] and a[:1] in (["array"], ["numpy"]):
            return a[:3] == b[:3] and _close(a, b)
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, *TOLERANCE["float32"], equal_nan=True))
    return type(a) is type(b) and a == b


def plain(expression: Any) -> Any:
    """NumPy's number as Python's, a tuple as a list: which of them it is tells nobody anything."""
    if isinstance(expression, list) and expression[:1] == ["numpy"] and not expression[2]:
        return expression[3][0]
    is_tuple = isinstance(expression, list) and expression[:1] == ["tuple"]
    return ["list", *expression[1:]] if is_tuple else expression


def difference(a: list, b: list) -> str:
    """Which of the values shown differs first, and in what: its dtype, shape or values."""
    at = next(i for i, (x, y) in enumerate(zip(a, b)) if not same(x, y))
    x, y = a[at], b[at]
    arrays = [v for v in (x, y) if isinstance(v, list) and v and v[0] in ("array", "numpy")]
    kinds = ("kind", "dtype", "shape", "values")
    told = [k for k, p, q in zip(kinds, x, y) if p != q] if len(arrays) == 2 else ["value"]
    return f"{told[0]} of {at}"


def _close(a: list, b: list) -> bool:
    dtype = a[1]
    if dtype not in TOLERANCE:
        return a[3] == b[3]
    x, y = np.array(a[3], "float64"), np.array(b[3], "float64")
    relative, absolute = TOLERANCE[dtype]
    absolute *= np.max(np.abs(x), initial=1, where=np.isfinite(x))
    return bool(np.allclose(y, x, relative, absolute, equal_nan=True))
