"""Checks of a subject's use of arrays: inputs, outputs, states, gradient buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import wrong_gradient
from ..engine import nd
from ._checker import Checker
from ._report import Failure, Unchecked
from ._trial import Trial, UnprotectedTrial, arrays_like
from ._values import Values, compare, is_identical, summarize

FILL = 3.0  # the contents of gradient buffers before backward


def _copied(arrays: dict[str, Any]) -> Values:
    return {n: a.asnumpy() for n, a in arrays.items()}


def _first_changed(before: Values, arrays: dict[str, Any]) -> str:
    """Return the name of the first array that has changed, or ""."""
    return next((n for n, a in arrays.items() if not is_identical(before[n], a.asnumpy())), "")


def _expect_unchanged(before: Values, arrays: dict[str, Any], phase: str) -> None:
    if name := _first_changed(before, arrays):
        raise Failure(f"{phase} writes into {name}")


def error_in_backward(checker: Checker) -> Exception | None:
    """Return the error of backward without the engine, which would hide it, or hang after it."""
    unprotected = checker.unprotected()
    if unprotected is None or not checker.differentiable:
        return None
    try:
        found = unprotected.all_gradients(checker.values, checker.reference.heads)
    except Exception as error:  # from the operator: it is reported for each gradient
        return error
    for name in checker.subject.differentiated:
        shape = checker.values[name].shape
        if name in found and found[name].shape != shape:
            who = f"operator {checker.subject.operator.name!r}"
            given = found[name].shape, found[name].dtype.name
            message = wrong_gradient(who, name, given, (shape, checker.trial.dtype))
            return Failure(message, input=name)
    return None


def inputs(checker: Checker) -> str:
    """Check that forward and backward change no inputs, outputs and head gradients."""
    differentiable = checker.differentiable
    for trial in checker.trials():
        # PyTorch refuses writes into arrays with a gradient, with an error of its own.
        _expect_forward_only_reads(checker, trial.call, trial.place(checker.values))
        arrays = trial.place(checker.values, dict.fromkeys(checker.subject.differentiated, "write"))
        y = _expect_forward_only_reads(checker, trial.record, arrays)
        if differentiable:
            _expect_backward_only_reads(checker, trial, arrays, y)
    return "by forward and backward" if differentiable else "by forward"


def _watched(checker: Checker, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays that must not be written to: all except states."""
    return {n: a for n, a in arrays.items() if n not in checker.subject.states}


def _expect_forward_only_reads(checker: Checker, call: Callable, arrays: dict[str, Any]) -> list:
    """Call a function; return its outputs, or fail if it changes its inputs."""
    watched = _watched(checker, arrays)
    before = _copied(watched)
    outputs = call(arrays)
    _expect_unchanged(before, watched, "forward")
    return outputs


def _expect_backward_only_reads(checker: Checker, trial: Trial, arrays, outputs) -> None:
    heads, names = arrays_like(outputs, checker.reference.heads), checker.subject.outputs
    watched = _watched(checker, arrays) | {f"the output {n}": y for n, y in zip(names, outputs)}
    watched |= {f"the gradient of the output {n}": dy for n, dy in zip(names, heads)}
    before = _copied(watched)
    try:
        trial.backward(outputs, heads)
    except Exception:  # another check reports gradients
        return
    _expect_unchanged(before, watched, "backward")


def outputs(checker: Checker) -> str:
    """Check that outputs share no memory with other arrays."""
    unprotected = checker.unprotected()
    if unprotected is not None:
        _expect_own_memory(checker, unprotected)
        given = unprotected.call(unprotected.place(checker.values))
        for name, y in zip(checker.subject.outputs, given):
            if attribute := _attribute_with(unprotected.code.op, y):
                raise Failure(
                    f"{name} is kept in self.{attribute}, where the caller's writes are seen; "
                    "keep a copy"
                )
    _expect_own_memory(checker, checker.trial)
    if checker.subject.block is not None:
        return "not an earlier call's"
    return "not its inputs' memory, nor an earlier call's"


def _expect_own_memory(checker: Checker, trial: Trial) -> None:
    """Fail if a write into the outputs of a call changes another array."""
    names = checker.subject.outputs
    if checker.subject.block is None:
        arrays = trial.place(checker.values)
        others = dict(zip(names, trial.call(arrays))) | arrays
        for name in names:
            y = others.pop(name)
            before = _copied(others)
            y[:] = 7
            if other := _first_changed(before, others):
                raise Failure(f"{name} is the memory of {other}: return a copy")
    first = dict(zip(names, trial.call(trial.place(checker.values))))
    before = _copied(first)
    for y in trial.call(trial.place(checker.values)):
        y[:] = 7
    if name := _first_changed(before, first):
        raise Failure(f"{name} of one call changes in the next: it is the same memory")


def _attribute_with(op: Any, array: Any) -> str:
    """Return the name of an object's attribute that holds an array, or ""."""
    for name, value in vars(op).items() if op is not None else ():
        inside = value.values() if isinstance(value, dict) else value
        inside = inside if isinstance(inside, (list, tuple, set)) else [value]
        if any(v is array for v in inside):
            return name
    return ""


def states(checker: Checker) -> str:
    """Check that everything that changes between calls is declared."""
    unprotected, names = checker.unprotected(), checker.subject.states
    if unprotected is not None and unprotected.code.op is not None:
        _expect_constant_attributes(checker, unprotected)
    if not names:
        return "none"
    arrays = checker.trial.place(
        checker.values, dict.fromkeys(checker.subject.differentiated, "write")
    )
    before = _copied(arrays)
    y = checker.trial.record(arrays)
    if checker.differentiable:  # MXNet's BatchNorm updates its statistics in backward
        try:
            checker.trial.backward(y, arrays_like(y, checker.reference.heads))
        except Exception:  # another check reports gradients
            pass
    after = _copied({n: arrays[n] for n in names})
    for name in names:
        if (after[name].shape, after[name].dtype) != (before[name].shape, before[name].dtype):
            raise Failure(f"{name} becomes {after[name].shape} {after[name].dtype}")
    changed = [n for n in names if not is_identical(before[n], after[n])]
    return f"{', '.join(changed)} updated" if changed else f"{', '.join(names)} not updated"


def _expect_constant_attributes(checker: Checker, unprotected: UnprotectedTrial) -> None:
    """Fail if an attribute of an operator's object differs after a second call."""
    attributes = []
    for _ in range(2):
        if checker.differentiable:
            try:
                unprotected.all_gradients(checker.values, checker.reference.heads)
            except Exception:  # another check reports gradients
                pass
        else:
            unprotected.forward(checker.values)
        now = vars(unprotected.code.op).items()
        attributes.append({n: (summarize(v), _comparable(v)) for n, v in now})
    for name, now in attributes[1].items():
        was = attributes[0].get(name, ("None", None))
        if was != now and name != "assign":
            raise Failure(
                f"self.{name} changes with each call ({was[0]}, then {now[0]}): "
                "a state that is not declared"
            )


def _comparable(value: Any) -> Any:
    """Return a copy of a value that can be compared later; the type of an object."""
    if isinstance(value, nd.NDArray):
        value = value.asnumpy()
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.tobytes()
    if isinstance(value, (list, tuple)):
        return [_comparable(v) for v in value]
    if isinstance(value, dict):
        return {k: _comparable(v) for k, v in value.items()}
    return value if isinstance(value, (bool, int, float, str)) else type(value)


def requests(checker: Checker, req: str) -> str:
    """Check that gradients are written, added or left out, as `req` requires."""
    names, unprotected = checker.expect_gradients(), checker.unprotected()
    if unprotected is not None and unprotected.code.op is not None:
        _expect_requested(checker, unprotected, req)
    elif req == "null" and len(names) == 1:
        raise Unchecked(f"{names[0]} is the only input with a gradient")
    return (
        _compare_each_left_out(checker, names)
        if req == "null"
        else _compare_two_backwards(checker, names, req)
    )


def _expect_requested(checker: Checker, unprotected: UnprotectedTrial, req: str) -> None:
    """Call backward with buffers that are not empty."""
    heads = checker.reference.heads
    if req == "write":
        filled = unprotected.call(unprotected.place(checker.values), fill=FILL)
        for name, a, b in zip(checker.subject.outputs, unprotected.forward(checker.values), filled):
            if left := int((a != b.asnumpy()).sum()):
                raise Failure(f"forward does not write {left} of {a.size} elements of {name}")
    plain = unprotected.all_gradients(checker.values, heads)
    full = unprotected.all_gradients(checker.values, heads, fill=FILL)
    found = unprotected.all_gradients(checker.values, heads, fill=FILL, req=req)
    for name, gradient in plain.items():
        untouched = not gradient.any() and (full[name] == FILL).all()  # counts as zeros
        if req == "write" and not untouched:
            compare(f"'write' on a buffer of {FILL:g}, that of {name}", gradient, found[name], 1e-6)
        elif req == "add" and is_identical(found[name], gradient) and gradient.any():
            raise Failure(f"'add' overwrites the gradient of {name}; use self.assign(...)")
        elif req == "add":
            compare(f"'add' on {FILL:g}, that of {name}", gradient + FILL, found[name], 1e-5)
        elif req == "null" and (found[name] != FILL).any():
            raise Failure(f"'null' writes the gradient of {name} all the same")


def _compare_two_backwards(checker: Checker, names: tuple, req: str) -> str:
    arrays = checker.trial.place(checker.values, dict.fromkeys(names, req))
    for _ in range(2):
        y = checker.trial.record(arrays)
        checker.trial.backward(y, arrays_like(y, checker.reference.heads))
        for name in checker.subject.states:  # reset to their first values
            arrays[name][:] = nd.array(checker.values[name], dtype=arrays[name].dtype)
    times, tolerance, what = {"write": (1, 1e-6, "last"), "add": (2, 1e-5, "sum")}[req]
    for name in names:
        expected, found = times * checker.reference.gradients[name], arrays[name].grad.asnumpy()
        compare(f"after two backwards, that of {name}", expected, found, tolerance)
    return f"the {what} of two backwards"


def _compare_each_left_out(checker: Checker, names: tuple) -> str:
    for left in names:
        asked = tuple(n for n in names if n != left)
        found = checker.trial.gradients(checker.values, checker.reference.heads, asked)
        for name in asked:
            what = f"with no gradient of {left} asked for, that of {name}"
            compare(what, checker.reference.gradients[name], found[name], 1e-6)
    return "each left out once" if len(names) > 1 else "its buffer is left alone"
