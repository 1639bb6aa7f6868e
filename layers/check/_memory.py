"""What a subject does to arrays: inputs, outputs, states, gradient buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import nd
from ._own import Own
from ._report import Failure, Unchecked
from ._trial import Trial, Values, compare, like, same

if TYPE_CHECKING:
    from ._checks import Checker

FILL = 3.0  # what gradient buffers hold before


def _seen(arrays: dict[str, Any]) -> Values:
    return {n: a.asnumpy() for n, a in arrays.items()}


def _changed(before: Values, arrays: dict[str, Any]) -> str:
    """The first array that is not as it was."""
    return next((n for n, a in arrays.items() if not same(before[n], a.asnumpy())), "")


def _expect_unchanged(before: Values, arrays: dict[str, Any], phase: str) -> None:
    if name := _changed(before, arrays):
        raise Failure(f"{phase} writes into {name}")


def own_gradients(it: Checker) -> None:
    """Run backward without the engine first: an error is told better, and hangs nothing."""
    own = it.own()
    if own is None or not it.differentiable:
        return
    found = own.all_gradients(it.values, it.here.heads)
    for name in it.subject.wanted:
        shape = it.values[name].shape
        if name in found and found[name].shape != shape:
            raise Failure(f"that of {name} is {found[name].shape}, {name} {shape}")


def inputs(it: Checker) -> str:
    """Inputs, outputs and head gradients are as before after forward and backward."""
    graded = it.differentiable
    for trial in it.trials():
        arrays = trial.place(it.values, dict.fromkeys(it.subject.wanted, "write"))
        watched = {n: a for n, a in arrays.items() if n not in it.subject.states}
        before = _seen(watched)
        y = trial.record(arrays)
        _expect_unchanged(before, watched, "forward")
        if graded:
            _expect_backward_only_reads(it, trial, watched, before, y)
    return "by forward and backward" if graded else "by forward"


def _expect_backward_only_reads(it: Checker, trial: Trial, watched, before, outputs) -> None:
    heads, names = like(outputs, it.here.heads), it.subject.outputs
    watched = watched | {f"the output {n}": y for n, y in zip(names, outputs)}
    watched |= {f"the gradient of the output {n}": dy for n, dy in zip(names, heads)}
    before = _seen(watched) | before
    try:
        trial.backward(outputs, heads)
    except Exception:  # there is a line for gradients
        return
    _expect_unchanged(before, watched, "backward")


def outputs(it: Checker) -> str:
    """Outputs share memory with nothing that anyone else has."""
    own = it.own()
    if own is not None:
        _expect_apart(it, own)
        for name, y in zip(it.subject.outputs, own.call(own.place(it.values))):
            if attribute := _keeper(own.code.op, y):
                raise Failure(
                    f"{name} is kept in self.{attribute}, where the caller's writes are seen; "
                    "keep a copy"
                )
    _expect_apart(it, it.trial)
    if it.subject.block is not None:
        return "not an earlier call's"
    return "not its inputs' memory, nor an earlier call's"


def _expect_apart(it: Checker, trial: Trial) -> None:
    """Write into what a call gives, and see whether that is seen elsewhere."""
    names = it.subject.outputs
    if it.subject.block is None:
        arrays = trial.place(it.values)
        others = dict(zip(names, trial.call(arrays))) | arrays
        for name in names:
            y = others.pop(name)
            before = _seen(others)
            y[:] = 7
            if other := _changed(before, others):
                raise Failure(f"{name} is the memory of {other}: return a copy")
    first = dict(zip(names, trial.call(trial.place(it.values))))
    before = _seen(first)
    for y in trial.call(trial.place(it.values)):
        y[:] = 7
    if name := _changed(before, first):
        raise Failure(f"{name} of one call changes in the next: it is the same memory")


def _keeper(op: Any, array: Any) -> str:
    """The attribute in which an object, if there is one, keeps an array."""
    for name, value in vars(op).items() if op is not None else ():
        inside = value.values() if isinstance(value, dict) else value
        inside = inside if isinstance(inside, (list, tuple, set)) else [value]
        if any(v is array for v in inside):
            return name
    return ""


def states(it: Checker) -> str:
    """What changes from call to call is declared."""
    own, names = it.own(), it.subject.states
    if own is not None and own.code.op is not None:
        _expect_nothing_new(it, own)
    if not names:
        return "none"
    arrays = it.trial.place(it.values, dict.fromkeys(it.subject.wanted, "write"))
    before = _seen(arrays)
    y = it.trial.record(arrays)
    if it.differentiable:  # MXNet's BatchNorm updates its statistics on the way back
        try:
            it.trial.backward(y, like(y, it.here.heads))
        except Exception:  # there is a line for gradients
            pass
    after = _seen({n: arrays[n] for n in names})
    for name in names:
        if (after[name].shape, after[name].dtype) != (before[name].shape, before[name].dtype):
            raise Failure(f"{name} becomes {after[name].shape} {after[name].dtype}")
    changed = [n for n in names if not same(before[n], after[n])]
    return f"{', '.join(changed)} updated" if changed else f"{', '.join(names)} not updated"


def _expect_nothing_new(it: Checker, own: Own) -> None:
    """What an operator's object keeps is the same after one call and after the next."""
    kept = []
    for _ in range(2):
        if it.differentiable:
            try:
                own.all_gradients(it.values, it.here.heads)
            except Exception:  # there is a line for gradients
                pass
        else:
            own.forward(it.values)
        kept.append({n: (_short(v), _still(v)) for n, v in vars(own.code.op).items()})
    for name, now in kept[1].items():
        was = kept[0].get(name, ("None", None))
        if was != now and name != "assign":
            raise Failure(
                f"self.{name} changes with each call ({was[0]}, then {now[0]}): "
                "a state that is not declared"
            )


def _short(value: Any) -> str:
    if isinstance(value, (np.ndarray, nd.NDArray)):
        return f"an array {value.shape}"
    text = repr(value)
    return text if len(text) <= 20 else f"a {type(value).__name__}"


def _still(value: Any) -> Any:
    """A value as it is now, to be compared later; of an object, its type."""
    if isinstance(value, nd.NDArray):
        value = value.asnumpy()
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype, value.tobytes()
    if isinstance(value, (list, tuple)):
        return [_still(v) for v in value]
    if isinstance(value, dict):
        return {k: _still(v) for k, v in value.items()}
    return value if isinstance(value, (bool, int, float, str)) else type(value)


def requests(it: Checker, req: str) -> str:
    """Gradients go where they are asked to, as they are asked to."""
    names, own = it.expect_gradients(), it.own()
    if own is not None and own.code.op is not None:
        _expect_requested(it, own, req)
    elif req == "null" and len(names) == 1:
        raise Unchecked(f"{names[0]} is the only input with a gradient")
    return _skipped(it, names) if req == "null" else _twice(it, names, req)


def _expect_requested(it: Checker, own: Own, req: str) -> None:
    """Call backward with buffers that hold something."""
    here = it.here
    if req == "write":
        filled = own.call(own.place(it.values), fill=FILL)
        for name, a, b in zip(it.subject.outputs, own.forward(it.values), filled):
            if left := int((a != b.asnumpy()).sum()):
                raise Failure(f"forward does not write {left} of {a.size} elements of {name}")
    plain = own.all_gradients(it.values, here.heads)
    full = own.all_gradients(it.values, here.heads, fill=FILL)
    found = own.all_gradients(it.values, here.heads, fill=FILL, req=req)
    for name, gradient in plain.items():
        untouched = not gradient.any() and (full[name] == FILL).all()  # which counts as zeros
        if req == "write" and not untouched:
            compare(f"'write' on a buffer of {FILL:g}, that of {name}", gradient, found[name], 1e-6)
        elif req == "add" and same(found[name], gradient) and gradient.any():
            raise Failure(f"'add' overwrites the gradient of {name}; use self.assign(...)")
        elif req == "add":
            compare(f"'add' on {FILL:g}, that of {name}", gradient + FILL, found[name], 1e-5)
        elif req == "null" and (found[name] != FILL).any():
            raise Failure(f"'null' writes the gradient of {name} all the same")


def _twice(it: Checker, names: tuple, req: str) -> str:
    arrays = it.trial.place(it.values, dict.fromkeys(names, req))
    for _ in range(2):
        y = it.trial.record(arrays)
        it.trial.backward(y, like(y, it.here.heads))
        for name in it.subject.states:  # as they were
            arrays[name][:] = nd.array(it.values[name], dtype=arrays[name].dtype)
    times, tolerance, what = {"write": (1, 1e-6, "last"), "add": (2, 1e-5, "sum")}[req]
    for name in names:
        expected, found = times * it.here.gradients[name], arrays[name].grad.asnumpy()
        compare(f"after two backwards, that of {name}", expected, found, tolerance)
    return f"the {what} of two backwards"


def _skipped(it: Checker, names: tuple) -> str:
    for left in names:
        asked = tuple(n for n in names if n != left)
        found = it.trial.gradients(it.values, it.here.heads, asked)
        for name in asked:
            what = f"with no gradient of {left} asked for, that of {name}"
            compare(what, it.here.gradients[name], found[name], 1e-6)
    return "each left out once" if len(names) > 1 else "its buffer is left alone"
