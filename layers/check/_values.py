"""Values in NumPy: their comparison, and their form in messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engine import nd
from ._report import Failure

Values = dict[str, np.ndarray]

# Step of the central differences, absolute and relative tolerance, by the precision in which the
# operator computes. The absolute tolerance is multiplied by the largest value, if that exceeds 1.
PRECISION = {"float64": (1e-6, 1e-5, 1e-3), "float32": (2.0**-7, 2e-3, 1e-2)}


@dataclass
class Results:
    """Values of the inputs, and a subject's results for them.

    `heads` are gradients of the outputs; `gradients` has the inputs' gradients that could be
    computed.
    """

    values: Values
    outputs: list[np.ndarray]
    heads: list[np.ndarray]
    gradients: Values = field(default_factory=dict)


def is_identical(a: np.ndarray, b: np.ndarray) -> bool:
    """True if two arrays are equal to the bit."""
    return (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


def compare(what: str, a: np.ndarray, b: np.ndarray, tolerance: float) -> float:
    """Return the largest difference of b from a; raise a Failure of `what` if above `tolerance`."""
    if a.shape != b.shape:
        raise Failure(f"{what} is {b.shape}, not {a.shape}")
    difference = largest_difference(a, b)
    if not difference <= tolerance:
        at = np.unravel_index(int(np.argmax(_distance(a, b))), a.shape)
        raise Failure(
            f"{what} is {format_number(b[at])} at {format_index(at)}, not {format_number(a[at])}"
        )
    return difference


def largest_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest difference of two arrays, relative to the largest value if above 1.

    NaN and infinities are equal to themselves.
    """
    finite = np.abs(a[np.isfinite(a)]).astype("float64")
    return float(_distance(a, b).max(initial=0)) / max(1.0, finite.max(initial=0))


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = a.astype("float64"), b.astype("float64")
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        distance = np.where(equal, 0.0, np.abs(a - b))
    return np.where(np.isnan(distance), np.inf, distance)


def format_number(value: float) -> str:
    """Return a value as text with few digits."""
    return f"{float(value):.3g}"


def format_index(at: tuple) -> str:
    """Return an index of an array as text."""
    return f"[{', '.join(map(str, at))}]"


def numbers(array: Any) -> np.ndarray:
    """Return the values of an NDArray; NumPy has no bfloat16."""
    return array.astype("float32").asnumpy() if _is_bfloat16(array) else array.asnumpy()


def _is_bfloat16(array: Any) -> bool:
    return np.dtype(array.dtype).kind == "V"


def summarize(value: Any) -> str:
    """Describe a value in few words."""
    if isinstance(value, (np.ndarray, nd.NDArray)):
        return f"an array {value.shape}"
    text = repr(value)
    return text if len(text) <= 20 else f"a {type(value).__name__}"
