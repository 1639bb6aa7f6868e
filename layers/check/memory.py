"""What a subject does to arrays: inputs, outputs, states, gradient buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import autograd, nd
from .report import Failure, Unchecked
from .trial import compare, same

if TYPE_CHECKING:
    from .checker import Checker

__all__ = ["direct_gradients", "inputs", "outputs", "requests", "states"]

FILL = 3.0  # what gradient buffers hold before


def _seen(arrays: dict[str, Any]) -> dict[str, np.ndarray]:
    return {n: a.asnumpy() for n, a in arrays.items()}


def _expect_same(before: dict, arrays: dict[str, Any], phase: str, skip: tuple = ()) -> None:
    for name, array in arrays.items():
        if name not in skip and not same(before[name], array.asnumpy()):
            raise Failure(f"{phase} writes into {name}")


class Own:
    """The subject's own code, run forward and backward without the engine."""

    def __init__(self, it: Checker):
        self.it, self.arrays = it, it.trial.place(it.values)
        self.code = it.subject.direct(self.arrays)

    def call(self, arrays: dict, **how) -> list:
        """The outputs."""
        self.it.trial.seed()
        with self.it.trial.context, autograd.train_mode():
            return self.code.forward(arrays, **how)

    def forward(self, **how) -> list:
        """The outputs for the inputs as they were, whatever a call has made of them."""
        self.arrays = self.it.trial.place(self.it.values)
        return self.call(self.arrays, **how)

    def heads(self, outputs: list) -> list:
        """Gradients of the outputs."""
        pairs = zip(outputs, self.it.heads)
        return [nd.array(dy, ctx=y.context, dtype=y.dtype) for y, dy in pairs]

    def backward(self, outputs: list, heads: list | None = None, **how) -> dict:
        """The gradients."""
        heads = self.heads(outputs) if heads is None else heads
        with self.it.trial.context, autograd.train_mode():
            return self.code.backward(self.arrays, outputs, heads, **how)


def _own(it: Checker) -> Own | None:
    own = Own(it)
    return own if own.code is not None else None


def direct_gradients(it: Checker) -> None:
    """Run backward without the engine first: an error is told better, and hangs nothing."""
    own = _own(it)
    if own is None or not _has_gradients(it):
        return
    found = own.backward(own.forward())
    for name in it.subject.wanted:
        gradient = found.get(name)
        if gradient is not None and gradient.shape != own.arrays[name].shape:
            raise Failure(f"that of {name} is {gradient.shape}, {name} {own.arrays[name].shape}")


def _has_gradients(it: Checker) -> bool:
    if it.broken is not None:
        return False
    try:
        it.differentiable()
    except Unchecked:
        return False
    return True


def inputs(it: Checker) -> str:
    """Inputs and head gradients are the same after forward and backward."""
    states, graded = it.subject.states, _has_gradients(it)
    own = _own(it)
    if own is not None:
        before = _seen(own.arrays)
        y = own.call(own.arrays)
        _expect_same(before, own.arrays, "forward", states)
        if graded:
            _own_backward(own, y, before, states)
    arrays = it.trial.place(it.values, dict.fromkeys(it.subject.wanted, "write"))
    before = _seen(arrays)
    y = it.trial.record(arrays)
    seen = [a.asnumpy() for a in y]
    _expect_same(before, arrays, "forward", states)
    if graded and _backward(it, y):
        _expect_same(before, arrays, "backward", states)
        names = zip(it.subject.outputs, seen, y)
        for name, a, b in names:
            if not same(a, b.asnumpy()):
                raise Failure(f"backward writes into the output {name}")
    return "by forward and backward" if graded else "by forward"


def _own_backward(own: Own, y: list, before: dict, states: tuple) -> None:
    heads = own.heads(y)
    kept = {f"out_{i}": a for i, a in enumerate([*y, *heads])}
    seen = _seen(kept)
    try:
        own.backward(y, heads)
    except Exception:  # there is a line for gradients
        return
    _expect_same(before, own.arrays, "backward", states)
    for i, name in enumerate(own.it.subject.outputs):
        if not same(seen[f"out_{i}"], y[i].asnumpy()):
            raise Failure(f"backward writes into the output {name}")
        if not same(seen[f"out_{len(y) + i}"], heads[i].asnumpy()):
            raise Failure(f"backward writes into the gradient of the output {name}")


def _backward(it: Checker, outputs: list) -> bool:
    try:
        it.trial.backward(outputs, it.heads)
        return True
    except Exception:  # there is a line for gradients
        return False


def outputs(it: Checker) -> str:
    """Outputs share memory with nothing that anyone else has."""
    own = _own(it)
    layer = getattr(it.subject, "parameters", None) is not None
    if own is not None:
        _apart(it, own.call)
        kept = own.forward()
        holder = getattr(own.code, "holds", lambda y: "")
        for name, y in zip(it.subject.outputs, kept):
            if attribute := holder(y):
                raise Failure(
                    f"{name} is kept in self.{attribute}, where the caller's writes are seen; "
                    "keep a copy"
                )
    _apart(it, it.subject.call, alone=layer)
    return "not its inputs' memory, nor an earlier call's" if not layer else "not an earlier call's"


def _apart(it: Checker, call: Any, alone: bool = False) -> None:
    """Write into what a call gives, and see whether that is seen elsewhere."""
    names = it.subject.outputs
    arrays = it.trial.place(it.values)
    with autograd.train_mode():
        first = call(arrays)
    for y in first:
        y.wait_to_read()
    before = _seen(arrays)
    for i, (name, y) in enumerate([] if alone else zip(names, first)):
        others = [a.asnumpy() for a in first[i + 1 :]]
        y[:] = 7
        for other, array in arrays.items():
            if not same(before[other], array.asnumpy()):
                raise Failure(f"{name} is the memory of {other}: return a copy")
        for other, a, b in zip(names[i + 1 :], others, first[i + 1 :]):
            if not same(a, b.asnumpy()):
                raise Failure(f"{name} is the memory of {other}: return a copy")
    with autograd.train_mode():
        first = call(it.trial.place(it.values))
        seen = [y.asnumpy() for y in first]
        for y in call(it.trial.place(it.values)):
            y[:] = 7
    for name, y, values in zip(names, first, seen):
        if not same(values, y.asnumpy()):
            raise Failure(f"{name} of one call changes in the next: it is the same memory")


def states(it: Checker) -> str:
    """What changes from call to call is declared."""
    own = _own(it)
    if own is not None and own.code.kept_on_self is not None:
        _kept(it, own)
    names = it.subject.states
    if not names:
        return "none"
    graded = _has_gradients(it)
    arrays = it.trial.place(it.values, dict.fromkeys(it.subject.wanted, "write"))
    before = _seen(arrays)
    outputs = it.trial.record(arrays)
    for y in outputs:
        y.wait_to_read()
    if graded:  # MXNet's BatchNorm updates its statistics on the way back
        _backward(it, outputs)
    changed = []
    for name in names:
        after = arrays[name].asnumpy()
        if (after.shape, after.dtype) != (before[name].shape, before[name].dtype):
            raise Failure(f"{name} becomes {after.shape} {after.dtype}")
        if not same(before[name], after):
            changed.append(name)
    return f"{', '.join(changed)} updated" if changed else f"{', '.join(names)} not updated"


def _kept(it: Checker, own: Own) -> None:
    """What an operator's object keeps is the same after one call and after the next."""
    kept = []
    for _ in range(2):
        y = own.forward()
        if _has_gradients(it):
            try:
                own.backward(y)
            except Exception:  # there is a line for gradients
                pass
        kept.append(own.code.kept_on_self())
    for name, value in kept[1].items():
        if name not in kept[0] or not _equal(kept[0][name], value):
            raise Failure(
                f"self.{name} changes with each call ({_short(kept[0].get(name))}, then "
                f"{_short(value)}): a state that is not declared"
            )


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return same(a, b)
    if isinstance(a, (bool, int, float, str, type(None))):
        return a == b
    return type(a) is type(b)  # an object: it cannot be told


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array {value.shape}"
    text = repr(value)
    return text if len(text) <= 20 else f"a {type(value).__name__}"


def requests(it: Checker, req: str) -> str:
    """Gradients go where they are asked to, as they are asked to."""
    names = it.graded()
    own = _own(it)
    if own is not None and own.code.kept_on_self is not None:
        _own_requests(it, own, req)
    elif req == "null" and len(names) == 1:
        raise Unchecked(f"{names[0]} is the only input with a gradient")
    return {"write": _written, "add": _added, "null": _skipped}[req](it, names)


def _own_requests(it: Checker, own: Own, req: str) -> None:
    """Call backward with buffers that hold something."""
    y = own.forward()
    if req == "write":
        for name, a, b in zip(it.subject.outputs, y, own.forward(fill=FILL)):
            left = int((a.asnumpy() != b.asnumpy()).sum())
            if left:
                raise Failure(f"forward does not write {left} of {a.size} elements of {name}")
    plain = _seen(own.backward(y))
    full = _seen(own.backward(y, fill=FILL))
    found = _seen(own.backward(y, fill=FILL, req=req))
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


def _twice(it: Checker, names: tuple, req: str) -> dict[str, np.ndarray]:
    arrays = it.trial.place(it.values, dict.fromkeys(names, req))
    for _ in range(2):
        it.trial.backward(it.trial.record(arrays), it.heads)
        for name in it.subject.states:  # as they were
            arrays[name][:] = nd.array(it.values[name], dtype=arrays[name].dtype)
    return {n: arrays[n].grad.asnumpy() for n in names}


def _written(it: Checker, names: tuple) -> str:
    for name, found in _twice(it, names, "write").items():
        compare(f"after two backwards, that of {name}", it.gradients[name], found, 1e-6)
    return "the last of two backwards"


def _added(it: Checker, names: tuple) -> str:
    for name, found in _twice(it, names, "add").items():
        compare(f"after two backwards, that of {name}", 2 * it.gradients[name], found, 1e-5)
    return "the sum of two backwards"


def _skipped(it: Checker, names: tuple) -> str:
    for left in names:
        asked = tuple(n for n in names if n != left)
        found = it.trial.gradients(it.values, it.heads, asked) if asked else {}
        for name in asked:
            what = f"with no gradient of {left} asked for, that of {name}"
            compare(what, it.gradients[name], found[name], 1e-6)
    return "each left out once" if len(names) > 1 else "its buffer is left alone"
