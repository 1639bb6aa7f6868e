"""What Python code does with tensors, noted while it runs, and done again without the code.

A tape sees the calls of PyTorch's functions, and no more. Of tensors of the same kinds the same is
asked again, as long as the code between the calls depends on nothing else: that is for the caller
to know. Code that looks at values is refused here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ..autograd import state
from .trial import first_line, near

Tensor = torch.Tensor
# What tells of a tensor no more than its kind tells, or whether it shares memory, which hangs on
# the functions that were called.
OF_KIND = {
    *("device", "dim", "dtype", "element_size", "is_complex", "is_contiguous", "is_cpu"),
    *("is_cuda", "is_floating_point", "is_signed", "is_sparse", "itemsize", "layout", "ndim"),
    *("ndimension", "nelement", "numel", "requires_grad", "shape", "size", "stride"),
    *("untyped_storage", "__len__"),
}
# They change what a tensor is, and not its values.
RESHAPING = {"resize_", "set_", "squeeze_", "swapaxes_", "swapdims_", "t_", "transpose_"}
RESHAPING |= {"as_strided_", "requires_grad_", "unsqueeze_"}
BY_VALUE = {
    torch.Tag.data_dependent_output: "looks at values",
    torch.Tag.dynamic_output_shape: "gives a shape that hangs on values",
    torch.Tag.nondeterministic_seeded: "draws random numbers",
}
CONSTANT = (bool, int, float, str, type(None), type(...), np.generic)
CONSTANT += (torch.dtype, torch.device, torch.layout, torch.memory_format)


def taped(
    run: Callable[[], Iterable[Tensor]], tensors: Sequence[Tensor]
) -> tuple[tuple[Tensor, ...], Callable | None, str]:
    """What code gives that is given tensors; what does the same again, or why nothing does."""
    tape, before = Tape(tensors), state.tape
    versions = [t._version for t in tensors]
    state.tape = tape
    try:
        with tape, tape.watch:
            results = tuple(run())
    finally:
        state.tape = before
    if versions != [t._version for t in tensors]:
        tape.refuse("it writes into what it is given")
    function = tape.function(results)
    if function is None:
        return results, None, tape.reason
    try:
        found = function(*tensors)
    except Exception as error:  # the code has just done the same without one
        return results, None, f"done again, it fails: {first_line(error)}"
    if not all(map(near, results, found)):
        return results, None, "done again, it gives other values"
    return results, function, ""


class Line(NamedTuple):
    """A call of a function."""

    text: str
    made: list[str]  # the names of what it gives
    used: set[str]  # and of what it is given
    writes: bool  # into what was there before


class Tape(TorchFunctionMode):
    """Notes what is called inside ``with tape, tape.watch:``.

    Parameters
    ----------
    tensors : sequence of Tensor
        What the code is given.

    Attributes
    ----------
    reason : str
        Why it cannot be done again, if that is so.
    """

    def __init__(self, tensors: Sequence[Tensor]):
        super().__init__()
        self._reasons: list[str] = []
        self.watch = _Watch(self._reasons)
        self._lines: list[Line] = []
        self._bound: dict[str, Any] = {}
        self._numbers = count()
        self._names: dict[int, str] = {}
        self._alive: list[Tensor] = []  # so that no two have one id
        self._inputs = [self._named(t) for t in tensors]
        if len({*self._inputs}) < len(tensors):
            self.refuse("an array is given twice")

    @property
    def reason(self) -> str:
        return self._reasons[0] if self._reasons else ""

    def refuse(self, reason: str) -> None:
        """Say why it cannot be done again; the first reason stays."""
        self._reasons.append(reason)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        y = function(*args, **(kwargs or {}))
        if not self._reasons and (reason := self._note(function, args, kwargs or {}, y)):
            self.refuse(reason)
        return y

    def _note(self, function: Callable, args: tuple, kwargs: dict, y: Any) -> str:
        """Write down a call; why that cannot be, if it cannot."""
        name = getattr(function, "__name__", "")
        if name == "__get__":
            name = function.__self__.__name__
        if name in OF_KIND:
            return ""
        if name == "_set_grad_enabled":
            return "it records" if args[0] else ""
        if name in RESHAPING:
            return f"{name} changes what an array is"
        if name == "detach" and id(args[0]) in self._names:  # without recording it changes nothing
            self._named(y, self._names[id(args[0])])
            return ""
        used: set[str] = set()
        try:
            given = [self._text(a, used) for a in args]
            given += [f"{k}={self._text(v, used)}" for k, v in kwargs.items()]
        except _Unknown as unknown:
            return f"{name} is given {unknown}"
        several = isinstance(y, (tuple, list))
        made = list(y) if several else [] if y is None else [y]
        if not all(isinstance(t, Tensor) for t in made):
            return f"{name} gives {type(y).__name__}"
        writes = y is None or any(id(t) in self._names for t in made)
        names = [self._named(t) for t in made]
        left = "".join(n + ", " for n in names) if several else "".join(names)
        text = f"{self._constant(function)}({', '.join(given)})"
        self._lines.append(Line(f"{left} = {text}" if names else text, names, used, writes))
        return ""

    def _named(self, tensor: Tensor, name: str = "") -> str:
        self._alive.append(tensor)
        return self._names.setdefault(id(tensor), name or f"t{next(self._numbers)}")

    def _constant(self, value: Any) -> str:
        name = f"c{len(self._bound)}"
        self._bound[name] = value
        return name

    def _text(self, value: Any, used: set[str]) -> str:
        if isinstance(value, Tensor):
            if id(value) not in self._names:
                raise _Unknown("an array from outside")
            used.add(self._names[id(value)])
            return self._names[id(value)]
        if isinstance(value, (tuple, list)):
            inner = "".join(self._text(v, used) + ", " for v in value)
            return f"[{inner}]" if isinstance(value, list) else f"({inner})"
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return f"slice({', '.join(self._text(p, used) for p in parts)})"
        if isinstance(value, CONSTANT):
            return self._constant(value)
        raise _Unknown(f"a {type(value).__name__}")

    def function(self, results: Sequence[Tensor]) -> Callable[..., tuple[Tensor, ...]] | None:
        """What gives such results for other tensors of the same kinds; None with a `reason`."""
        if any(id(t) not in self._names for t in results):
            self.refuse("a result is an array from outside")
        if self._reasons:
            return None
        names = [self._names[id(t)] for t in results]
        source = "\n    ".join([f"def tape({', '.join(self._inputs)}):", *self._body(names)])
        exec(compile(source, "<tape>", "exec"), self._bound)
        return self._bound["tape"]

    def _body(self, results: list[str]) -> Iterator[str]:
        """The lines, but for those of which nothing is used; with what frees memory."""
        body, needed = [], {*results}
        for text, made, used, writes in reversed(self._lines):
            if not (writes or needed.intersection(made)):
                continue
            done = ", ".join(sorted({*made, *used} - needed))
            body += [f"del {done}"] if done else []
            body.append(text)
            needed |= {*made, *used}
        yield from reversed(body)
        yield f"return ({''.join(n + ', ' for n in results)})"


class _Unknown(Exception):
    """What a function was given is not known when it is done again."""


class _Watch(TorchDispatchMode):
    """Looks for functions that depend on more than the kinds of tensors, and says so."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else PyTorch's compiler is imported, which takes seconds

    def __init__(self, reasons: list[str]):
        super().__init__()
        self._reasons = reasons

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = [reason for tag, reason in BY_VALUE.items() if tag in function.tags]
        # By numbers, unlike by a mask, the shape of what is taken is known.
        by_numbers = function is torch.ops.aten.index.Tensor and not any(map(_is_mask, args[1]))
        if found and not by_numbers:
            self._reasons.append(f"{function} {found[0]}")
        with torch._C.DisableTorchFunction():  # what calls it is noted
            return function(*args, **(kwargs or {}))


def _is_mask(index: Tensor | None) -> bool:
    return index is not None and index.dtype in (torch.bool, torch.uint8)
