"""What Python code does with tensors, noted while it runs, and done again without the code.

What is noted are the calls of PyTorch's functions; between them there is nothing but shapes and
numbers, which are the same for tensors of the same kinds. Code that looks at values is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ._whole import near

Tensor = torch.Tensor
# Functions and attributes that tell of a tensor what its kind tells; and one that is no tensor's.
OF_KIND = {
    *("device", "dim", "dtype", "element_size", "is_complex", "is_contiguous", "is_cpu"),
    *("is_cuda", "is_floating_point", "is_leaf", "is_signed", "is_sparse", "itemsize", "layout"),
    *("ndim", "ndimension", "nelement", "numel", "requires_grad", "shape", "size", "stride"),
    *("storage_offset", "untyped_storage", "_set_grad_enabled", "__len__"),
}
BY_VALUE = {
    torch.Tag.data_dependent_output: "looks at values",
    torch.Tag.dynamic_output_shape: "gives a shape that hangs on values",
    torch.Tag.nondeterministic_seeded: "draws random numbers",
}
PLAIN = (bool, int, float, str, type(None), type(...), np.generic)
PLAIN += (torch.dtype, torch.device, torch.layout, torch.memory_format)


class Line(NamedTuple):
    """A call of a function: the names of what it gives, its text, the names of what it is given."""

    made: list[str]
    text: str
    used: set[str]


class Tape(TorchFunctionMode):
    """Notes what is called inside ``with tape:``.

    Parameters
    ----------
    tensors : sequence of Tensor
        What the code is given.
    """

    def __init__(self, tensors: Sequence[Tensor]):
        super().__init__()
        self._watch = _Watch()
        self._lines: list[Line] = []
        self._bound: dict[str, Any] = {}
        self._numbers = count()
        self._names: dict[int, str] = {}
        self._alive: list[Tensor] = []  # so that no two have one id
        self._inputs = [self._named(t) for t in tensors]
        if len({*map(id, tensors)}) < len(tensors):
            self._watch.reason = "an array is given twice"

    def __enter__(self) -> Tape:
        self._watch.__enter__()
        return super().__enter__()

    def __exit__(self, *error) -> None:
        super().__exit__(*error)
        self._watch.__exit__(*error)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        y = function(*args, **(kwargs or {}))
        if not self.reason:
            self._watch.reason = self._note(function, args, kwargs or {}, y)
        return y

    @property
    def reason(self) -> str:
        """Why it cannot be done again, if that is so."""
        return self._watch.reason

    def _note(self, function: Callable, args: tuple, kwargs: dict, y: Any) -> str:
        """Write down a call; why that cannot be, if it cannot."""
        name = getattr(function, "__name__", "")
        if name == "__get__":
            name = function.__self__.__name__
        if name in OF_KIND:
            return ""
        if name == "detach" and id(args[0]) in self._names:  # nothing has a past here
            self._named(y, self._names[id(args[0])])
            return ""
        used: set[str] = set()
        try:
            given = [self._text(a, used) for a in args]
            given += [f"{k}={self._text(v, used)}" for k, v in kwargs.items()]
        except _Unknown as unknown:
            return f"{name} is given {unknown}"
        made = [y] if isinstance(y, Tensor) else y
        if y is None or id(y) in self._names:  # it has written in place
            made = []
        elif not isinstance(made, (tuple, list)) or not all(isinstance(t, Tensor) for t in made):
            return f"{name} gives {type(y).__name__}"
        text = f"{self._constant(function)}({', '.join(given)})"
        self._lines.append(Line([self._named(t) for t in made], text, used))
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
        if isinstance(value, PLAIN):
            return self._constant(value)
        raise _Unknown(f"a {type(value).__name__}")

    def function(self, results: Sequence[Tensor]) -> Callable[..., tuple[Tensor, ...]] | None:
        """What gives such results for other tensors of the same kinds; None with a `reason`."""
        if not self.reason and any(id(t) not in self._names for t in results):
            self._watch.reason = "a result is an array from outside"
        if self.reason:
            return None
        names = [self._names[id(t)] for t in results]
        source = "\n    ".join([f"def tape({', '.join(self._inputs)}):", *self._body(names)])
        exec(compile(source, "<tape>", "exec"), self._bound)
        return self._bound["tape"]

    def _body(self, results: list[str]) -> Iterator[str]:
        body, needed = [], {*results}
        for made, text, used in reversed(self._lines):
            if made and not needed.intersection(made):
                continue
            done = ", ".join(sorted({*made, *used} - needed))
            body += [f"del {done}"] if done else []
            body.append(f"{', '.join(made)}{' = ' if made else ''}{text}")
            needed |= used
        yield from reversed(body)
        yield f"return ({''.join(n + ', ' for n in results)})"


class _Unknown(Exception):
    """What a function was given is not known when it is done again."""


class _Watch(TorchDispatchMode):
    """Looks for functions that depend on more than the kinds of tensors."""

    def __init__(self):
        super().__init__()
        self.reason = ""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = [reason for tag, reason in BY_VALUE.items() if tag in function.tags]
        # By numbers, unlike by a mask, the shape of what is taken is known.
        by_numbers = function is torch.ops.aten.index.Tensor and not any(map(_is_mask, args[1]))
        if found and not by_numbers and not self.reason:
            self.reason = f"{function} {found[0]}"
        with torch._C.DisableTorchFunction():  # what calls it is noted
            return function(*args, **(kwargs or {}))


def _is_mask(index: Tensor | None) -> bool:
    return index is not None and index.dtype in (torch.bool, torch.uint8)


def taped(
    run: Callable[[], Iterable[Tensor]], tensors: Sequence[Tensor]
) -> tuple[tuple[Tensor, ...], Callable | None, str]:
    """What code gives that is given tensors; what does the same again, or why nothing does."""
    with Tape(tensors) as tape:
        results = tuple(run())
    function = tape.function(results)
    if function is not None and not all(map(near, results, function(*tensors))):
        return results, None, "done again, it gives other values"
    return results, function, tape.reason
