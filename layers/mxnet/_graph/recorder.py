"""The calls of PyTorch that a computation makes below autograd, recorded once and done again.

One recorder sees forward and backward, whatever Python makes the calls. For tensors of the same
shapes, strides and dtypes the same calls are right again, unless the Python looks at values: then
the recorder refuses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .._state import this_thread
from .._table.stripes import with_best_stripes
from .tracing import users_line

aten = torch.ops.aten
Tensor = torch.Tensor
REFUSED = {
    torch.Tag.data_dependent_output: "makes a number of values",
    torch.Tag.dynamic_output_shape: "makes a shape of values",
}
# A call as a line of source, the names of the tensors that it gives and of those that it is given,
# and whether it writes into one of these.
Line = tuple[str, set[str], set[str], bool]
# Methods that hand a tensor's memory to code that PyTorch does not see.
ESCAPES = {"numpy", "tolist", "data_ptr", "__array__", "__dlpack__"}
CUDA_INTERFACE = torch.Tensor.__cuda_array_interface__  # a property: its __get__ is called


class Recorder(TorchDispatchMode):
    """Records what is called inside ``with recorder:``, which may be entered more than once.

    Attributes
    ----------
    lines : list of Line
    draws : bool
        Whether random numbers are among them.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else PyTorch imports its compiler, which takes seconds

    def __init__(self):
        super().__init__()
        self._reason, self.draws = "", False
        self._is_inside = False  # a function that is recorded as one call
        self._impure: dict[str, str] = {}  # by operator, what would make it pure
        self._entered_by: Any = None  # the code of the function with the `with` statement
        self.lines: list[Line] = []
        self._count = count()
        self._values: dict[str, Any] = {}  # by name, the constants and functions of the lines
        self._names: dict[int, str] = {}  # by the id of a tensor
        self._alive: list[Tensor] = []  # so that no two tensors have one id
        # The memory of tensors that come from recorded calls and inputs, and of all others.
        self._memory: set[int] = set()
        self._outside: set[int] = set()

    def __enter__(self) -> Recorder:
        state = this_thread.state
        self._before = state.plain, state.recorder
        state.plain = True  # the recorder would not see what a graph runs in another way
        state.recorder = self
        self._entered_by = sys._getframe(1).f_code
        self._escapes = _Escapes(self)
        self._escapes.__enter__()
        return super().__enter__()

    def __exit__(self, *error) -> None:
        super().__exit__(*error)
        self._escapes.__exit__(*error)
        del self._escapes  # which would keep it, and all tensors that it has seen
        state = this_thread.state
        state.plain, state.recorder = self._before

    @property
    def reason(self) -> str:
        """Why the calls cannot be done again, "" if they can."""
        if not self._impure:
            return self._reason
        names = ", ".join(self._impure)
        hint = next(filter(None, self._impure.values()), "")
        return f"{names} {'is' if len(self._impure) == 1 else 'are'} not pure{hint}"

    def refuse(self, reason: str) -> None:
        """Say why the calls cannot be done again; the first reason stays, with its place."""
        if not self.reason:
            self._reason = reason + users_line(self._entered_by)

    def note_operator(self, what: str, pure: bool | None) -> None:
        """Refuse a custom operator whose Python has to run in each call; all are named."""
        if not pure:
            hint = "; `pure = True` in a CustomOpProp says that it is" if pure is None else ""
            self._impure[what] = hint

    def note_rebinding(self, tensor: Tensor) -> None:
        """Refuse an array that gets another tensor in place of this one, unless made here."""
        if tensor.untyped_storage()._cdata not in self._memory:
            self.refuse("it writes into an array that is not among its inputs")

    def call(self, function: Callable[..., Tensor], *args: Any) -> Tensor:
        """Call a pure function of tensors, which is recorded as one call."""
        self._is_inside = True
        try:
            y = function(*args)
        finally:
            self._is_inside = False
        used: set[str] = set()
        given = ", ".join([self._text(a, used) for a in args])
        name = self._name(y)
        text = f"{name} = {self._constant(function)}({given})"
        self.lines.append((text, {name}, used, False))
        return y

    def take(self, inputs: Iterable[Tensor]) -> None:
        """Begin a call of these inputs."""
        self._inputs = self.name_inputs(inputs)

    def give(self, outputs: Iterable[Tensor]) -> None:
        """End the call, which gives these outputs; its backward follows."""
        self._outputs, self._count_ahead = self.names(outputs), len(self.lines)

    def functions(
        self, dys: Sequence[str], gradients: Iterable[Tensor | None]
    ) -> tuple[Callable[..., tuple], Callable[..., tuple] | None]:
        """Return what does the call again, and its backward.

        The first gives the outputs and what the second takes before the gradients of those, whose
        names are `dys`; without any there is no second.
        """
        results = self.names(gradients)
        ahead, behind = self.lines[: self._count_ahead], self.lines[self._count_ahead :]
        made = {*self._inputs}.union(*[made for _, made, _, _ in ahead])
        saved = sorted(made & self._selected(behind, results)[1])
        forward = self._function(self._inputs, ahead, [*self._outputs, *saved])
        return forward, self._function([*saved, *dys], behind, results) if dys else None

    def name_inputs(self, tensors: Iterable[Tensor]) -> list[str]:
        """Names for tensors that will be others when the calls are done again."""
        return [self._name(t) for t in tensors]

    def names(self, tensors: Iterable[Tensor | None]) -> list[str]:
        """Return the names of results; one that no recorded call has made is a constant."""
        return [self._text(t, set()) for t in tensors]

    def _function(
        self, inputs: Sequence[str], lines: Sequence[Line], results: Sequence[str]
    ) -> Callable[..., tuple[Any, ...]]:
        """Return a function of `inputs` that does the lines again, as far as results need them."""
        text = "\n    ".join(
            [
                f"def recorded({', '.join(inputs)}):",
                *self._selected(lines, results)[0],
                f"return ({''.join(f'{name}, ' for name in results)})",
            ]
        )
        values = dict(self._values)
        exec(compile(text, "<recorded>", "exec"), values)
        return values["recorded"]

    def _selected(
        self, lines: Sequence[Line], results: Iterable[str]
    ) -> tuple[list[str], set[str]]:
        """Return the lines that results need, with those that free memory; and all their names."""
        texts: list[str] = []
        needed = {*results}
        for text, made, used, writes in reversed(lines):
            if not (writes or needed & made):
                continue
            done = sorted((made | used) - needed - self._values.keys())
            texts += [f"del {', '.join(done)}"] if done else []
            texts.append(text)
            needed |= made | used
        return texts[::-1], needed

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunction():  # what is done here is no part of the computation
            y = function(*args, **kwargs)
            if not (self._is_inside or self.reason):
                self._record(function, args, kwargs, y)
        return y

    def _record(self, function: Any, args: tuple, kwargs: dict, y: Any) -> None:
        if function is aten.detach.default and id(args[0]) in self._names:
            self._name(y, self._names[id(args[0])])  # below autograd the two are the same
            return
        if function is aten.lift_fresh.default:  # a tensor of numbers, which a call may write into
            text = f"{self._constant(aten.clone.default._op)}({self._constant(args[0].clone())})"
            self.lines.append((f"{self._name(y)} = {text}", {self._name(y)}, set(), False))
            return
        several = isinstance(y, (tuple, list))
        if reason := _refused(function, args) or _refused_result(y if several else [y]):
            self.refuse(reason)
            return
        self.draws |= torch.Tag.nondeterministic_seeded in function.tags
        used: set[str] = set()
        given = [self._text(a, used) for a in args]
        given += [f"{name}={self._text(value, used)}" for name, value in kwargs.items()]
        writes = function._schema.is_mutable or not function._schema.returns  # a check
        if writes and self._writes_outside(function, args, kwargs):
            self.refuse("it writes into an array that is not among its inputs")
            return
        call = f"{self._constant(with_best_stripes(function, args))}({', '.join(given)})"
        made = [self._name(t) if isinstance(t, Tensor) else "_" for t in (y if several else [y])]
        left = f"[{', '.join(made)}]" if several else made[0]
        self.lines.append((f"{left} = {call}", {*made} - {"_"}, used, writes))

    def _writes_outside(self, function: Any, args: tuple, kwargs: dict) -> bool:
        """True if a call writes into an array that no recorded call has made."""
        arguments = function._schema.arguments
        given = dict(zip([a.name for a in arguments], args)) | kwargs
        values = [given[a.name] for a in arguments if a.is_write and a.name in given]
        tensors = [t for v in values for t in (v if isinstance(v, (tuple, list)) else [v])]
        return any(
            t.untyped_storage()._cdata in self._outside for t in tensors if isinstance(t, Tensor)
        )

    def _name(self, tensor: Tensor, name: str = "") -> str:
        if id(tensor) not in self._names:
            self._names[id(tensor)] = name or f"t{next(self._count)}"
            self._alive.append(tensor)
            memory = tensor.untyped_storage()._cdata
            if memory not in self._outside:  # a view of an array from outside is there too
                self._memory.add(memory)
        return self._names[id(tensor)]

    def _constant(self, value: Any) -> str:
        name = f"c{len(self._values)}"
        self._values[name] = value
        return name

    def _text(self, value: Any, used: set[str]) -> str:
        """Return a value's text in the source of a call; add the names of its tensors to `used`."""
        if isinstance(value, Tensor):
            if id(value) not in self._names:
                if value.untyped_storage()._cdata in self._memory:
                    self.refuse("an array shares memory with another in a way that is not recorded")
                self._names[id(value)] = self._constant(value)
                self._alive.append(value)
                self._outside.add(value.untyped_storage()._cdata)
            used.add(self._names[id(value)])
            return self._names[id(value)]
        if isinstance(value, (tuple, list)):
            return f"[{', '.join([self._text(v, used) for v in value])}]"
        return self._constant(value)


class _Escapes(TorchFunctionMode):
    """Sees the methods that hand out a tensor's memory."""

    def __init__(self, recorder: Recorder):
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in ESCAPES or getattr(function, "__self__", None) is CUDA_INTERFACE:
            self._recorder.refuse("it hands values to Python or NumPy, whose work is not recorded")
        return function(*args, **(kwargs or {}))


def _refused(function: Any, args: tuple) -> str:
    """Return why a call may not do for other values; "" if it may."""
    for tag, reason in REFUSED.items():
        if tag in function.tags:
            # Of integers that index something the shape is known, unlike of a mask.
            if function is aten.index.Tensor and not any(map(_is_mask, args[1])):
                continue
            return f"{function._schema.name.partition('::')[2]} {reason}"
    return ""


def _refused_result(results: Iterable[Any]) -> str:
    """Return why results may not be memory that later calls fill; "" if they may."""
    made = any(isinstance(t, Tensor) and t.layout is torch.sparse_coo for t in results)
    return "it computes a gradient that is sparse" if made else ""


def _is_mask(index: Tensor | None) -> bool:
    return index is not None and index.dtype in (torch.bool, torch.uint8)
