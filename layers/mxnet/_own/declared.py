"""What the `CustomOpProp` of a registered operator says of it: asked with a note, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from types import NoneType
from typing import Any

import torch

from .. import _dtype, operator
from ..base import ArgumentError, DTypeError, MXNetError, ShapeError, note
from ..context import Context

Shape = tuple[int, ...]


class Declared:
    """One operator with its attributes.

    Attributes
    ----------
    what : str
        The operator, as messages name it.
    arguments, outputs, states : list of str
    inputs : list of str
        Arguments, then states.
    pure : bool or None
        Whether it is a function of its inputs and attributes; None where the Prop does not say.
    """

    def __init__(self, op_type: str, prop_class: type, attributes: tuple):
        self.what = f"Custom {op_type!r}"
        self._prop = self._ask("__init__", "", prop_class, **dict(attributes))
        self.arguments = self._names("list_arguments")
        self.outputs = self._names("list_outputs")
        self.states = self._names("list_auxiliary_states")
        self.inputs = [*self.arguments, *self.states]
        if len({*self.inputs}) < len(self.inputs):
            raise ArgumentError(
                f"{self.what}: its inputs and states are {', '.join(self.inputs)}\n"
                "  expected different names"
            )
        self.pure = self._ask("pure", "", getattr, self._prop, "pure", None)
        if not isinstance(self.pure, (bool, NoneType)):
            raise DTypeError(
                f"{self.what}: pure is {self.pure!r} ({type(self.pure).__name__})\n"
                "  expected True or False\n"
                f"  in {prop_class.__name__}"
            )

    @property
    def maker(self) -> Callable:
        """What makes an operator."""
        return type(self._prop).create_operator

    def shapes(self, given: list[list[int]], where: str = "") -> tuple[list, list, list]:
        """The shapes of inputs, outputs and states, from those of the inputs; an unknown is ()."""
        where = where or ", ".join(f"{n} {tuple(s)}" for n, s in zip(self.arguments, given))
        return self._lists("infer_shape", where, [list(s) for s in given])

    def types(self, given: list[torch.dtype], where: str = "") -> tuple[list, list, list]:
        """The dtypes of inputs, outputs and states, from those of the inputs."""
        where = where or ", ".join(f"{n} {_dtype.name(t)}" for n, t in zip(self.arguments, given))
        return self._lists("infer_type", where, [_dtype.to_numpy(t) for t in given])

    def dependencies(self) -> tuple[set, set, set]:
        """Which output gradients, inputs and outputs `backward` wants."""
        outs, ins = len(self.outputs), len(self.arguments)
        numbers = range(2 * outs + ins)
        parts = numbers[:outs], numbers[outs : outs + ins], numbers[outs + ins :]
        phase = "declare_backward_dependency"
        given = self._ask(phase, "", self._prop.declare_backward_dependency, *map(list, parts))
        if not isinstance(given, Iterable) or any(n not in numbers for n in given):
            raise MXNetError(
                f"{self.what}: {phase} gave {given!r}\n"
                f"  expected a list of the numbers it is given, {numbers[0]} to {numbers[-1]}"
            )
        tops, inputs, outputs = [{n - part.start for n in given if n in part} for part in parts]
        return tops, inputs, outputs

    def create(self, context: Context, shapes: list, types: list, where: str) -> operator.CustomOp:
        """The operator for inputs of these shapes and dtypes."""
        phase = "create_operator"
        made = self._ask(phase, where, self._prop.create_operator, context, shapes, types)
        if not isinstance(made, operator.CustomOp):
            raise DTypeError(
                f"{self.what}: {phase} gave {made!r}\n  expected a CustomOp\n  in {where}"
            )
        return made

    def _names(self, phase: str) -> list[str]:
        names = self._ask(phase, "", getattr(self._prop, phase))
        listed = isinstance(names, (list, tuple)) and all(isinstance(n, str) for n in names)
        if not listed or (phase == "list_outputs" and not names):
            raise DTypeError(f"{self.what}: {phase} gave {names!r}\n  expected a list of names")
        return list(names)

    def _lists(self, phase: str, where: str, told: list) -> tuple[list, list, list]:
        """What `infer_shape` or `infer_type` gives, when it is two or three lists that fit."""
        kind, read, expected = _PHASES[phase]

        def refuse(gave: str, expected: str) -> MXNetError:
            return kind(f"{self.what}: {phase} gave {gave}\n  expected {expected}\n  in {where}")

        def entry(name: str, value: Any) -> Any:
            try:
                return read(value)
            except (TypeError, ValueError):
                raise refuse(f"{value!r} for {name}", expected) from None

        given = self._ask(phase, where, getattr(self._prop, phase), told)
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

    def _ask(self, phase: str, where: str, function, *args, **kwargs) -> Any:
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
