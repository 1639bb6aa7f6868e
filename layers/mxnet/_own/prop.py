"""Operators of `mx.operator`: the call of a `CustomOp`, and what is asked of its `CustomOpProp`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import is_
from threading import RLock
from typing import Any

import torch

from .. import _dtype, operator
from .._state import this_thread
from ..base import ArgumentError, DTypeError, MXNetError, RecordingError, ShapeError
from ..context import Context
from ..ndarray._memory import LENT, VIEWED
from ..ndarray.ndarray import NDArray
from .call import CustomCall, as_input, take_tensor
from .definition import Definition


class PropDefinition(Definition):
    """A `CustomOpProp` of a user, with its attributes.

    A Prop may keep what `infer_shape` and `infer_type` are told, for `create_operator`. So it is
    asked for a signature again where it was asked for another one in between.

    Attributes
    ----------
    key : tuple
        What the definition is made of.
    dependencies : (set, set, set)
        The numbers of the output gradients, inputs and outputs that `backward` wants.
    """

    def __init__(self, op_type: str, prop_class: type, attributes: tuple):
        super().__init__(op_type, prop_class, attributes)
        self.key = op_type, prop_class, attributes
        self.dependencies = self._dependencies()
        self._lock = RLock()
        self._inferred: Signature | None = None  # what the Prop was asked for last

    def prepare(self, tensors, states, context, operators=None):
        given = [*tensors, *[array._tensor for array in states]]
        shapes, dtypes = tuple([tuple(t.shape) for t in given]), tuple([t.dtype for t in given])
        return PropCall(signature_of(self, shapes, dtypes, context), states, operators), tensors

    def shapes(self, given, where=""):
        with self._lock:
            self._inferred = None
            return super().shapes(given, where)

    def types(self, given, where=""):
        with self._lock:
            self._inferred = None
            return super().types(given, where)

    def infer(self, signature: Signature) -> None:
        """Ask the Prop for a signature."""
        with self._lock:
            signature.infer()
            self._inferred = signature

    def create(self, signature: Signature) -> operator.CustomOp:
        """The operator for a signature."""
        phase, where = "create_operator", signature.where
        with self._lock:
            if self._inferred is not signature:
                self.infer(signature)
            shapes = [list(shape) for shape in signature.shapes]  # it may change what it gets
            given = signature.context, shapes, [_dtype.to_numpy(t) for t in signature.dtypes]
            made = self._ask(phase, where, self.prop.create_operator, *given)
        if not isinstance(made, operator.CustomOp):
            raise DTypeError(
                f"{self.what}: {phase} gave {made!r}\n  expected a CustomOp\n  in {where}"
            )
        return made

    def _dependencies(self) -> tuple[set, set, set]:
        """Which output gradients, inputs and outputs `backward` wants."""
        outs, ins = len(self.outputs), len(self.arguments)
        numbers = range(2 * outs + ins)
        parts = numbers[:outs], numbers[outs : outs + ins], numbers[outs + ins :]
        phase = "declare_backward_dependency"
        given = self._ask(phase, "", self.prop.declare_backward_dependency, *map(list, parts))
        if not isinstance(given, Iterable) or any(n not in numbers for n in given):
            raise MXNetError(
                f"{self.what}: {phase} gave {given!r}\n"
                f"  expected a list of the numbers it is given, {numbers[0]} to {numbers[-1]}"
            )
        tops, inputs, outputs = [{n - part.start for n in given if n in part} for part in parts]
        return tops, inputs, outputs

    # Storage types

    @property
    def stores(self) -> bool:
        """Whether the Prop says itself which storage types it takes and gives."""
        base, own = operator.CustomOpProp, type(self.prop)
        return (
            own.infer_storage_type is not base.infer_storage_type
            or own.infer_storage_type_backward is not base.infer_storage_type_backward
        )

    def storage_types(self, stypes: list[str]) -> tuple[list[str], list[str], list[str]]:
        """The storage types of inputs, outputs and states, from those of the inputs."""
        phase = "infer_storage_type"
        given = self._ask(phase, "", self.prop.infer_storage_type, [*stypes])
        given = (*given, [])[:3] if isinstance(given, (tuple, list)) else given
        names = self.arguments, self.outputs, self.states
        inputs, outputs, states = self._checked_stypes(phase, given, names[: 2 + bool(self.states)])
        return inputs, outputs, states

    def gradient_storage_types(
        self, tops: list[str], stypes: tuple, gradients: list[str], states: list[str]
    ) -> list[list[str]]:
        """The storage types that backward works with.

        They are those of output gradients, inputs, outputs, input gradients and states.
        """
        phase = "infer_storage_type_backward"
        lists = [[*part] for part in (tops, *stypes[:2], gradients, states)]
        given = self._ask(phase, "", self.prop.infer_storage_type_backward, *lists)
        names = self.outputs, self.arguments, self.outputs, self.arguments
        return self._checked_stypes(phase, given, names)

    def _checked_stypes(self, phase: str, given: Any, names: Sequence) -> list[list[str]]:
        """Lists of storage types, one for each list of names; there may be more lists."""
        lists = [*given] if isinstance(given, (tuple, list)) else []
        known = {"default", "row_sparse", "csr"}
        fits = len(lists) >= len(names) and all(
            isinstance(part, (tuple, list)) and len(part) == len(of) and known.issuperset(part)
            for part, of in zip(lists, names)
        )
        if not fits:
            raise ArgumentError(
                f"{self.what}: {phase} gave {given!r}\n  expected {len(names)} lists or more, of "
                f"{', '.join(str(len(of)) for of in names)} storage types: 'default', "
                "'row_sparse' or 'csr'"
            )
        return [[*part] for part in lists]


class Signature:
    """The shapes, dtypes and context of some calls, and what the Prop says of them.

    Attributes
    ----------
    shapes, dtypes : tuple
        Of the arguments, then of the states.
    in_shapes : list
        Of the arguments, as the user's code gets them.
    out_shapes, out_types : list
        Of the outputs.
    where : str
        The inputs, as messages show them.
    """

    def __init__(self, definition: PropDefinition, shapes: tuple, dtypes: tuple, context: Context):
        self.definition, self.context = definition, context
        self.key = *definition.key, shapes, dtypes, context
        names, count = definition.inputs, len(definition.arguments)
        if len(shapes) != len(names):
            raise ArgumentError(
                f"{definition.what}: {len(shapes)} inputs\n  expected {', '.join(names) or 'none'}"
            )
        self.shapes, self.dtypes = shapes, dtypes
        self.in_shapes = [list(s) for s in shapes[:count]]
        self.where = ", ".join(
            f"{n} {s} {_dtype.name(d)}" for n, s, d in zip(names, shapes, dtypes)
        )
        definition.infer(self)

    def infer(self) -> None:
        """Ask the Prop for shapes and types, and hold the inputs to what it says of them."""
        definition, count = self.definition, len(self.in_shapes)
        inputs, self.out_shapes, states = definition.shapes(self.in_shapes, self.where)
        self._expect(ShapeError, "infer_shape", self.shapes, [*inputs, *states], str)
        for name, shape in zip(definition.outputs, self.out_shapes):
            if not shape:
                raise ShapeError(
                    f"{definition.what}: infer_shape gave () for {name}\n"
                    f"  expected an axis at least: a number is of shape (1,)\n  in {self.where}"
                )
        inputs, self.out_types, states = definition.types(list(self.dtypes[:count]), self.where)
        self._expect(DTypeError, "infer_type", self.dtypes, [*inputs, *states], _dtype.name)

    def _expect(
        self, error_class: type, phase: str, real: tuple, told: list, shown: Callable
    ) -> None:
        """Refuse inputs and states that are not what the operator says they are."""
        for name, found, expected in zip(self.definition.inputs, real, told):
            if found != expected:
                raise error_class(
                    f"{self.definition.what}: {name} is {shown(found)}\n"
                    f"  expected {shown(expected)}, which {phase} gives\n  in {self.where}"
                )


signature_of = lru_cache(maxsize=1024)(Signature)


class Output(NDArray):
    """An output to be written. It gets memory, zeros, only when it is touched before that."""

    __slots__ = ("_type", "_size", "_value")

    def __init__(self, shape: tuple, dtype: torch.dtype, context: Context):
        self._size, self._type, self._value = shape, dtype, None
        self._context, self._leaf, self._held, self._origin = context, None, None, None

    @property
    def _tensor(self) -> torch.Tensor:
        if self._value is None:
            self._value = torch.zeros(self._size, dtype=self._type, device=self._context.device)
        return self._value

    @_tensor.setter
    def _tensor(self, value: torch.Tensor) -> None:
        self._value = value

    @property
    def shape(self) -> tuple[int, ...]:
        return self._size

    def _copy_from(self, other: NDArray) -> None:
        fits = other._tensor.dtype is self._type and other._context == self._context
        if fits and self._held is not VIEWED and other._held in (None, LENT) and not other._leaf:
            self._value, self._held, self._origin = other._tensor, LENT, None
            if other._held is None:  # one that outlives the call is lent once, and not changed then
                other._held = LENT
        else:
            super()._copy_from(other)


Output.__name__ = "NDArray"  # what a user sees when an output is printed


def _is_written(array: NDArray) -> bool:
    """Whether something was written into an output; a sparse one is zeros before."""
    return len(array._stored.values) > 0 if array._is_sparse else array._value is not None


class LeftOut(NDArray):
    """What backward does not depend on, as the operator says: an empty array, not to be read."""

    __slots__ = ("_what",)
    shape, size = (0,), 0

    def __init__(self, what: str, call: PropCall):
        self._what = what
        self._context, self._leaf, self._held, self._origin = call.context, None, None, None

    @property
    def _tensor(self) -> torch.Tensor:
        raise RecordingError(
            f"{self._what} is read in backward, and declare_backward_dependency leaves it out\n"
            "  expected its number in what that returns"
        )


class PropCall(CustomCall):
    """One call of a `CustomOp`, which lives from forward to backward, or as long as `operators`.

    That is a dict of them by signature, for calls that come after each other.
    """

    def __init__(self, signature: Signature, states: list[NDArray], operators: dict | None = None):
        definition = signature.definition
        self.signature, self.definition, self.states = signature, definition, states
        self.name, self.what = definition.name, definition.what
        self.context = signature.context
        self.inputs, self.outputs = definition.arguments, definition.outputs
        self.training, self.pure = this_thread.state.training, definition.pure
        self.operator = None if operators is None else operators.get(signature.key)
        if self.operator is None:
            self.operator = definition.create(signature)
            if operators is not None:
                operators[signature.key] = self.operator

    def forward(self, tensors, specs) -> tuple[torch.Tensor, ...]:
        types = zip(self.signature.out_shapes, self.signature.out_types)
        outputs = [Output(shape, dtype, self.context) for shape, dtype in types]
        given = [*outputs]
        arguments = {
            "is_train": self.training,
            "req": ["write"] * len(outputs),
            "in_data": [as_input(t, self.context) for t in tensors],
            "out_data": given,
            "aux": [*self.states],
        }
        result = self.run("forward", tensors, self.operator.forward, (), arguments)
        self._expect_written("out_data", given, outputs, result)
        return tuple([take_tensor(o) for o in outputs])

    def saved_for_backward(self, inputs, outputs, asked) -> list:
        _, ins, outs = self.definition.dependencies
        return [t if i in ins else None for i, t in enumerate(inputs)] + [
            t if i in outs else None for i, t in enumerate(outputs)
        ]

    def backward(self, saved, dys, specs, asked) -> tuple:
        count, (tops, _, _) = len(specs), self.definition.dependencies
        gradients = [Output(tuple(s), t, self.context) for s, t in specs]
        given = [*gradients]
        arguments = {
            "req": ["write" if a else "null" for a in asked],
            "out_grad": self._shown(
                "out_grad", [t if i in tops else None for i, t in enumerate(dys)]
            ),
            "in_data": self._shown("in_data", saved[:count]),
            "out_data": self._shown("out_data", saved[count:]),
            "in_grad": given,
            "aux": [*self.states],
        }
        result = self.run("backward", (), self.operator.backward, (), arguments)
        self._expect_written("in_grad", given, gradients, result)
        return tuple([take_tensor(g) if a else None for g, a in zip(gradients, asked)])

    def _expect_written(self, what: str, found: list, arrays: list, result: Any) -> None:
        """Refuse other arrays in the list, or a result, in the place of what was to be written."""
        if len(found) != len(arrays) or not all(map(is_, found, arrays)):
            wrong = f"{what} has other arrays in it than it was given with"
        elif result is not None and not any(map(_is_written, arrays)):
            phase = "forward" if what == "out_data" else "backward"
            wrong = f"{phase} returned {type(result).__name__}, and wrote nothing into {what}"
        else:
            return
        raise ArgumentError(
            f"{self.what}: {wrong}\n"
            f"  expected self.assign({what}[i], req[i], value), or {what}[i][:] = value\n"
            f"  in {self.signature.where}"
        )

    def _shown(self, what: str, tensors: Sequence[torch.Tensor | None]) -> list[NDArray]:
        """What backward sees: an empty array in the place of what it does not depend on."""
        return [
            as_input(t, self.context)
            if t is not None
            else LeftOut(f"{self.what}: {what}[{i}]", self)
            for i, t in enumerate(tensors)
        ]

    def shown(self, tensors) -> str:
        return self.signature.where
