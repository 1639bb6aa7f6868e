"""What a registered operator says of itself: names, shapes, types, and how it is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from types import NoneType
from typing import Any

import torch

from .. import _dtype
from ..base import ArgumentError, DTypeError, MXNetError, ShapeError, describe_value, note
from ..context import Context
from ..ndarray.ndarray import NDArray
from ..ndarray.register import Pending, expected_array
from .call import CustomCall

Shape = tuple[int, ...]


class Definition:
    """A registered operator with its attributes: what `nd.Custom` and graphs need to know of it.

    Its `CustomOpProp` is made once; an error in it gets a note, and what it says is checked. How
    the operator is called is up to the subclasses.

    Attributes
    ----------
    name : str
        What the operator is registered under.
    what : str
        The operator, as messages name it.
    arguments, outputs, states : list of str
    inputs : list of str
        Arguments, then states: the order in which a call has them.
    optional : sequence of str
        Inputs that a call may leave out.
    pure : bool or None
        Whether it is a function of its inputs and attributes; None where the Prop does not say.
    prop : CustomOpProp
    any_shape : bool
        Whether one call serves inputs of any shapes.
    stores : bool
        Whether it says itself which storage types it takes and gives.
    """

    optional: Sequence[str] = ()
    any_shape = False
    stores = False

    def __init__(self, op_type: str, prop_class: type, attributes: tuple):
        self.name, self.what = op_type, f"Custom {op_type!r}"
        self.prop = self._ask("__init__", "", prop_class, **dict(attributes))
        self.arguments = self._names("list_arguments")
        self.outputs = self._names("list_outputs")
        self.states = self._names("list_auxiliary_states")
        self.inputs = [*self.arguments, *self.states]
        if len({*self.inputs}) < len(self.inputs):
            raise ArgumentError(
                f"{self.what}: its inputs and states are {', '.join(self.inputs)}\n"
                "  expected different names"
            )
        self.pure = self._ask("pure", "", getattr, self.prop, "pure", None)
        if not isinstance(self.pure, (bool, NoneType)):
            raise DTypeError(
                f"{self.what}: pure is {self.pure!r} ({type(self.pure).__name__})\n"
                "  expected True or False\n"
                f"  in {prop_class.__name__}"
            )

    def prepare(
        self,
        tensors: list[torch.Tensor | None],
        states: list[NDArray],
        context: Context,
        operators: dict | None = None,
    ) -> tuple[CustomCall, list[torch.Tensor | None]]:
        """The call of the operator with these arguments, and the tensors that it takes.

        In `operators` a `CustomOp` is kept for the next call of its kind; without it, each call
        has one of its own.
        """
        raise NotImplementedError

    def arrange(self, args: Sequence, named: dict[str, Any]) -> list[NDArray | None]:
        """The inputs in their order, from those by position and by name.

        Those of unknown shape are made; None is an optional one that is left out.
        """
        if not named and len(args) == len(self.inputs) and all(type(a) is NDArray for a in args):
            return list(args)  # the commonest call
        expected = f"expected {', '.join(self.inputs) or 'none'}"
        if len(args) > len(self.inputs):
            raise ArgumentError(f"{self.what}: {len(args)} inputs\n  {expected}")
        given = dict(zip(self.inputs, args))
        for name, value in named.items():
            if name not in self.inputs or name in given:
                problem = "given twice" if name in given else "unknown"
                raise ArgumentError(f"{self.what}: input {name!r} is {problem}\n  {expected}")
            given[name] = value
        for name in self.inputs:
            value = given.setdefault(name)
            if value is None and name not in self.optional:
                raise ArgumentError(f"{self.what}: {name} is missing\n  {expected}")
            if not isinstance(value, (NDArray, Pending, NoneType)):
                raise ArgumentError(
                    f"{self.what}: {name} is {describe_value(value)}\n"
                    f"  expected {expected_array(value)}"
                )
        if any(isinstance(value, Pending) for value in given.values()):
            given = self._resolved(given)
        return [given[name] for name in self.inputs]

    def _resolved(self, given: dict[str, Any]) -> dict[str, NDArray | None]:
        """The inputs with those of unknown shape made, of the shapes that the operator tells."""
        pending = {name for name, value in given.items() if isinstance(value, Pending)}
        known = [given[n].known if n in pending else given[n].shape for n in self.arguments]
        inputs, _, states = self.shapes([list(shape) for shape in known])
        found = dict(zip(self.inputs, [*inputs, *states]))
        return given | {name: given[name].resolve(found[name]) for name in pending}

    def shapes(self, given: list[list[int]], where: str = "") -> tuple[list, list, list]:
        """The shapes of inputs, outputs and states, from those of the inputs; an unknown is ()."""
        where = where or ", ".join(f"{n} {tuple(s)}" for n, s in zip(self.arguments, given))
        return self._lists("infer_shape", where, [list(s) for s in given])

    def types(self, given: list[torch.dtype], where: str = "") -> tuple[list, list, list]:
        """The dtypes of inputs, outputs and states, from those of the inputs."""
        where = where or ", ".join(f"{n} {_dtype.name(t)}" for n, t in zip(self.arguments, given))
        return self._lists("infer_type", where, [_dtype.to_numpy(t) for t in given])

    def _names(self, phase: str) -> list[str]:
        names = self._ask(phase, "", getattr(self.prop, phase))
        listed = isinstance(names, (list, tuple)) and all(isinstance(n, str) for n in names)
        if not listed or (phase == "list_outputs" and not names):
            raise DTypeError(f"{self.what}: {phase} gave {names!r}\n  expected a list of names")
        return list(names)

    def _lists(self, phase: str, where: str, told: list) -> tuple[list, list, list]:
        """What `infer_shape` or `infer_type` gives, when it is two or three lists that fit."""
        error_class, read, expected = _PHASES[phase]

        def refuse(gave: str, expected: str) -> MXNetError:
            return error_class(
                f"{self.what}: {phase} gave {gave}\n  expected {expected}\n  in {where}"
            )

        def entry(name: str, value: Any) -> Any:
            try:
                return read(value)
            except (TypeError, ValueError):
                raise refuse(f"{value!r} for {name}", expected) from None

        given = self._ask(phase, where, getattr(self.prop, phase), told)
        lists = [list(part) for part in given] if _is_nested(given) else None
        if lists is None or len(lists) not in (2, 3):
            gave = repr(given) if lists is None else f"{len(lists)} lists"
            raise refuse(gave, "two or three lists: of inputs, outputs, states")
        parts = [self.arguments, self.outputs, self.states]
        for part, names in zip(lists, parts):
            if len(part) != len(names):
                raise refuse(f"{len(part)} entries for {names}", str(len(names)))
        found = [[entry(n, v) for n, v in zip(names, part)] for part, names in zip(lists, parts)]
        return found[0], found[1], found[2] if len(found) > 2 else []

    def _ask(self, phase: str, where: str, function, /, *args, **kwargs) -> Any:
        """Call the user's code; an exception gets a note of where it came from."""
        try:
            return function(*args, **kwargs)
        except Exception as error:
            note(error, f"  in {phase} of {self.what}" + (f" ({where})" if where else ""))
            raise


def _is_nested(given: Any) -> bool:
    return isinstance(given, Iterable) and all(isinstance(part, Iterable) for part in given)


def _shape(value: Any) -> Shape:
    shape = tuple([index(n) for n in value])
    if any(n < 0 for n in shape):
        raise ValueError("a negative size")
    return shape


# What is raised, how an entry is read, and what it should be.
_PHASES = {
    "infer_shape": (ShapeError, _shape, "a tuple of sizes, whole numbers from 0"),
    "infer_type": (DTypeError, _dtype.to_torch, "a dtype, such as numpy.float32"),
}
