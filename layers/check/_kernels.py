"""Check of an engine's kernel against the formula: the same results and errors."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .. import engine
from ..engine import mx, nd
from ._checker import Checker
from ._report import Failure, Unchecked
from ._trial import Trial, arrays_like, drop_pending_errors
from ._values import Values, compare, format_number, numbers

# The largest difference of a kernel's results from the formula's, by dtype: both round, in another
# order.
TOLERANCES = {"float64": 1e-9, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
# Other dtypes of one input, and other values of an attribute, by its type
DTYPES = ("float16", "float32", "float64", "int32", "uint8")
OTHERS = {bool: (True, False), int: (-1, 0, 1, 7), float: (-1.0, 0.0, 0.5, 2.0), str: ("other",)}

Kinds = dict[str, str]  # by input, a dtype other than the default
Found = dict[str, nd.NDArray]


def kernel(checker: Checker) -> str:
    """Check that the kernel returns and refuses the same as the formula, in every dtype."""
    computed: dict[str, float] = {}
    for dtype, tolerance in TOLERANCES.items():
        trial = replace(checker.trial, dtype=dtype)
        for values in (checker.values, _other_values(checker.values)):
            if _fits(trial, values):
                far = _compare(trial, values, f"in {dtype}, ", tolerance)
                computed[dtype] = max(far, computed.get(dtype, 0.0))
    if not computed:
        raise Unchecked("for these inputs the formula computes")
    count = 0
    for where, trial, values, kinds in _changed(checker):
        _compare(trial, values, f"{where}: ", max(TOLERANCES.values()), kinds)
        count += 1
    far = ", ".join(f"{format_number(d)} in {dtype}" for dtype, d in computed.items())
    return f"max difference {far}; the same results or errors for {count} other calls"


def _fits(trial: Trial, values: Values) -> bool:
    """True if the kernel, not the formula, computes for these values."""
    operator, arrays = trial.subject.operator, trial.place(values)
    inputs = [arrays.get(n) for n in operator.inputs]
    attributes = operator.attributes | trial.subject.attributes
    return bool(engine.kernel(operator).takes(inputs, attributes))


def _other_values(values: Values) -> Values:
    """Return larger random values; whole numbers, which may be labels, stay as they are."""
    random = np.random.RandomState(6)
    return {
        n: v if (v == np.round(v)).all() else random.normal(0, 3, v.shape)
        for n, v in values.items()
    }


def _compare(
    trial: Trial, values: Values, where: str, tolerance: float, kinds: Kinds | None = None
) -> float:
    """Compare the kernel's results or error with the formula's; return the largest difference."""
    with engine.kernels(True):
        found = _found(trial, values, kinds or {})
    with engine.kernels(False):
        expected = _found(trial, values, kinds or {})
    if isinstance(found, str) or isinstance(expected, str):
        if found != expected:
            told = [x if isinstance(x, str) else "no error" for x in (found, expected)]
            raise Failure(f"{where}the kernel raises {told[0]}\nthe formula raises {told[1]}")
        return 0.0
    for name, y in expected.items():
        kinds = [np.dtype(a.dtype) for a in (found[name], y)]
        if kinds[0] != kinds[1]:
            raise Failure(f"{where}{name} of the kernel is {kinds[0]}, not {kinds[1]}")
    differences = []
    has_nan = any(np.isnan(v).any() for v in values.values())
    for name, y in expected.items():
        a, b = numbers(y), numbers(found[name])
        if has_nan:  # NaN must show; its spread depends on the order of operations
            a, b = [np.where(np.isnan(v).any(keepdims=True), np.nan, 0.0) for v in (a, b)]
        differences.append(compare(f"{where}{name} of the kernel", a, b, tolerance))
    return max(differences)


def _found(trial: Trial, values: Values, kinds: Kinds) -> Found | str:
    """Return the outputs and gradients by name, or the error as text."""
    names = [n for n in trial.subject.differentiated if "int" not in kinds.get(n, "")]
    is_empty = any(not v.size for v in values.values())
    try:
        with mx.np_shape(is_empty), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            arrays = trial.place(values)
            arrays |= {n: nd.array(values[n], ctx=trial.context, dtype=kinds[n]) for n in kinds}
            for name in names:
                arrays[name].attach_grad()
            outputs = trial.record(arrays)
            if names:
                heads = trial.heads([np.empty(y.shape) for y in outputs])
                trial.backward(outputs, arrays_like(outputs, heads))
    except Exception as error:  # a refusal, of any kind
        drop_pending_errors()
        return f"{type(error).__name__}: {error}"
    found = dict(zip(trial.subject.outputs, outputs))
    found |= {f"the gradient of {n}": arrays[n].grad for n in names}
    return found


def _changed(checker: Checker) -> Iterator[tuple[str, Trial, Values, Kinds]]:
    """Yield calls that an operator may refuse, each with its name."""
    trial = checker.trial
    for name, value in checker.values.items():
        for what, other in _changes(value):
            yield f"{name} {what}", trial, checker.values | {name: other}, {}
        for dtype in DTYPES:
            yield f"{name} {dtype}", trial, checker.values, {name: dtype}
    subject = trial.subject
    for name, default in (subject.defaults | subject.attributes).items():
        for value in OTHERS.get(type(default), ()):
            other = copy.copy(subject)
            other.attributes = subject.attributes | {name: value}
            yield f"{name}={value!r}", replace(trial, subject=other), checker.values, {}


def _changes(x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield other values for an input: other shapes, numbers that are no labels, NaN."""
    others = [x[None]]
    for axis in range(x.ndim):
        size = range(x.shape[axis])
        others += [x.take(size[1:], axis), x.take([*size, 0], axis), x.take(0, axis)]
    for other in others:
        yield f"{other.shape}", other
    for number in (-1.0, 0.5, 1000.0, np.nan) if x.size else ():
        other = x.astype("float64")
        other.flat[0] = number
        yield f"with {number:g}", other
