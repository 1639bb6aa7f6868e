"""Checks of inputs of every dtype, and of the memory of libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine import nd
from ..ops.ways.guards import Guards, guarded
from ._checker import Checker
from ._environments import changed_shapes, larger_batches
from ._report import Failure, Unchecked
from ._trial import Trial, drop_pending_errors
from ._values import PRECISION, Results, Values, compare, largest_difference, numbers

# The largest difference of results, by dtype. float16 and bfloat16 have few digits.
FLOATS = {"float16": 2e-2, "bfloat16": 1e-1, "float32": PRECISION["float32"][1], "float64": 2e-3}
WHOLE = ("bool", "int8", "uint8", "int32", "int64")


def dtypes(checker: Checker) -> str:
    """Check that in each dtype the results are right, or the call is refused."""
    if checker.trial.seeded:
        raise Unchecked("in other dtypes it may draw other numbers")
    taken: list[str] = []
    refused: list[str] = []
    for name, compare_results in _cases(checker):
        try:
            with guarded(1) as guards:
                _compare_inside(compare_results, guards)
            taken.append(name)
        except Failure as problem:
            raise Failure(f"in {name}, {problem}; refuse it, or compute it right") from problem
        except Exception:  # a refusal, of any kind
            drop_pending_errors()
            refused.append(name)
    return ", ".join(taken) + (f"; refused: {', '.join(refused)}" if refused else "")


def _compare_inside(compare_results: Callable, guards: Guards) -> None:
    """Compare the results, after reporting writes of a library past its arrays."""
    try:
        compare_results()
    finally:
        if guards.problems:
            raise Failure(guards.problems[0])


def _cases(checker: Checker) -> Iterator[tuple[str, Any]]:
    """Yield the name of each dtype with a function that compares the results in it."""
    values = {n: _short(v) for n, v in checker.values.items()}
    known = _results(checker.trial, values, checker.reference.gradients)
    if any(v.dtype.kind == "f" for v in values.values()):
        for dtype, tolerance in FLOATS.items():
            trial = replace(checker.trial, dtype=dtype)
            yield dtype, lambda t=trial, far=tolerance: _compare_floats(t, known, far)
        if checker.guards.calls:
            yield from _whole_cases(checker, values)
    given = [n for n in values if n not in {*checker.subject.states, *checker.subject.parameters}]
    labels = [n for n in given if values[n].dtype.kind in "iu"]
    for dtype in (*WHOLE, "float32") if labels else ():
        if all(np.array_equal(values[n].astype(dtype), values[n]) for n in labels):
            arrays = dict.fromkeys(labels, dtype)
            yield (
                f"{dtype} ({', '.join(labels)})",
                lambda kinds=arrays: _compare_placed(checker.trial, known, kinds, 1e-6),
            )


def _whole_cases(checker: Checker, values: Values) -> Iterator[tuple[str, Any]]:
    """Yield cases of whole numbers, which a library may read as floats."""
    floats = [n for n, v in values.items() if v.dtype.kind == "f"]
    for dtype in WHOLE:
        whole = values | {
            n: np.round(np.abs(3 * values[n])).clip(0, 1 if dtype == "bool" else 9) for n in floats
        }
        kinds = dict.fromkeys(floats, dtype)

        def compare_results(whole=whole, kinds=kinds) -> None:
            known = Results(whole, checker.trial.forward(whole), [])
            _compare_placed(checker.trial, known, kinds, 1e-3)

        yield dtype, compare_results


def _short(x: np.ndarray) -> np.ndarray:
    """Return floats rounded to the digits of bfloat16, which all floating dtypes have."""
    if x.dtype.kind != "f":
        return x
    bits = np.ascontiguousarray(x, "float32").view("uint32") & np.uint32(0xFFFF0000)
    return bits.view("float32").astype(x.dtype)


def _results(trial: Trial, values: Values, gradients: Values) -> Results:
    outputs = trial.forward(values)
    heads = [_short(dy) for dy in trial.heads(outputs)]
    return Results(values, outputs, heads, trial.gradients(values, heads, tuple(gradients)))


def _compare_floats(trial: Trial, known: Results, tolerance: float) -> None:
    """Compare the outputs and gradients in one floating dtype."""
    outputs = [y.astype("float64") for y in map(numbers, trial.call(trial.place(known.values)))]
    for name, a, b in zip(trial.subject.outputs, known.outputs, outputs):
        compare(name, a, b, tolerance)
    if not known.gradients:
        return
    arrays = trial.place(known.values, dict.fromkeys(known.gradients, "write"))
    outputs = trial.record(arrays)
    heads = [nd.array(v, ctx=y.context, dtype=y.dtype) for v, y in zip(known.heads, outputs)]
    trial.backward(outputs, heads)
    for name, a in known.gradients.items():
        compare(f"the gradient of {name}", a, numbers(arrays[name].grad), tolerance)


def _compare_placed(trial: Trial, known: Results, kinds: dict[str, str], tolerance: float) -> None:
    """Compare the outputs for arrays of other dtypes; results of whole numbers are rounded."""
    arrays = trial.place(known.values)
    for name, dtype in kinds.items():
        arrays[name] = nd.array(known.values[name], ctx=trial.context, dtype=dtype)
    for name, a, y in zip(trial.subject.outputs, known.outputs, trial.call(arrays)):
        b = numbers(y)
        rounded = b.dtype.kind != "f" and a.dtype.kind == "f"
        if not rounded or a.shape != b.shape or not (np.abs(a - b) < 1).all():
            compare(name, a, b, tolerance)


def memory(checker: Checker) -> str:
    """Check that functions of libraries stay inside their arrays."""
    seen = []
    for values in (checker.values, *larger_batches(checker)):
        what = changed_shapes(checker, values)
        if _stays_inside(checker, values, f"{what}: " if what else ""):
            seen.append(what or "its arrays")
    return f"nothing beside {'; '.join(seen)}"


def _stays_inside(checker: Checker, values: Values, where: str) -> bool:
    """Return True if functions stay inside their arrays for these values, False if they refuse."""
    results = []
    for value in (0, 1):
        with guarded(value) as guards:
            try:
                results.append(_everything(checker, values))
            except Exception:
                drop_pending_errors()
                if not where:
                    raise
                return False
        if guards.problems:
            raise Failure(where + guards.problems[0])
    for name, a, b in zip(*[names for names, _ in results[:1]], *[r for _, r in results]):
        if largest_difference(a, b):
            raise Failure(f"{where}{name} depends on memory beside its arrays, which it reads")
    return True


def _everything(checker: Checker, values: Values) -> tuple[list[str], list[np.ndarray]]:
    """Return the names and values of outputs and gradients."""
    trial, names = checker.trial, tuple(checker.reference.gradients)
    outputs = trial.forward(values)
    gradients = trial.gradients(values, trial.heads(outputs), names)
    what = [*checker.subject.outputs, *(f"the gradient of {n}" for n in gradients)]
    return what, [*outputs, *gradients.values()]
