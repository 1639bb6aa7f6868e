"""Operators of `mx.operator`: the call of a `CustomOp`, and what is asked of its `CustomOpProp`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from operator import is_
from threading import RLock
from types import NoneType
from typing import Any, NamedTuple

import torch

from .. import _dtype, operator
from .._sparse.call import warn_of_dense_copies
from .._state import State, this_thread
from ..autograd import is_inside_operator
from ..base import ArgumentError, DTypeError, MXNetError, RecordingError, ShapeError
from ..context import Context
from ..ndarray._memory import LENT, VIEWED
from ..ndarray._origin import note_origin
from ..ndarray.ndarray import NDArray
from .call import CustomCall, as_input, as_output, call, take_tensor
from .user_op import UserOp


class Signature(NamedTuple):
    """The shapes and dtypes of the inputs and outputs of a call, as the Prop gives them.

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

    shapes: tuple
    dtypes: tuple
    context: Context
    in_shapes: list
    out_shapes: list
    out_types: list
    where: str

    @property
    def key(self) -> tuple:
        """The key of a `CustomOp` that may be called again."""
        return self.shapes, self.dtypes, self.context


class PropOp(UserOp):
    """A `CustomOpProp` with its attributes, which are pairs of text.

    The Prop is made once. It may keep what `infer_shape` and `infer_type` are told, for
    `create_operator`. So it is asked for a signature again where it was asked for another one in
    between.

    Attributes
    ----------
    prop : CustomOpProp
    arguments, outputs, auxiliary : list of str
    dependencies : (set, set, set)
        The numbers of the output gradients, inputs and outputs that `backward` wants.
    """

    def __init__(self, op_type: str, prop_class: type, attributes: tuple[tuple[str, str], ...]):
        super().__init__(op_type, prop_class)
        self.texts = dict(attributes)
        self.prop = self._ask("__init__", "", prop_class, **self.texts)
        self.arguments = self._names("list_arguments")
        self.outputs = self._names("list_outputs")
        self.auxiliary = self._names("list_auxiliary_states")
        names = [*self.arguments, *self.auxiliary]
        if len({*names}) < len(names):
            raise ArgumentError(
                f"{self.what}: its inputs and states are {', '.join(names)}\n"
                "  expected different names"
            )
        self.pure = self._ask("pure", "", getattr, self.prop, "pure", None)
        if not isinstance(self.pure, (bool, NoneType)):
            raise DTypeError(
                f"{self.what}: pure is {self.pure!r} ({type(self.pure).__name__})\n"
                "  expected True or False\n"
                f"  in {prop_class.__name__}"
            )
        self.dependencies = self._dependencies()
        self._lock = RLock()
        self._inferred: Signature | None = None  # what the Prop was asked for last

    def input_parts(self, attributes):
        return self.arguments, self.auxiliary

    def read(self, given: dict[str, Any]) -> dict[str, Any]:
        return {}  # the Prop has them

    def as_texts(self, given: dict[str, Any], attributes: dict[str, Any]) -> dict[str, str]:
        return {"op_type": self.op_type, **self.texts}

    def prepare(self, tensors, attributes, context, made=None):
        count = len(self.arguments)
        states = [NDArray(t, context, VIEWED) for t in tensors[count:]]
        return self._call(list(tensors[:count]), states, context, made)

    def _call(
        self, tensors: list, states: list[NDArray], context: Context, made: dict | None = None
    ) -> tuple[PropCall, list]:
        given = [*tensors, *[array._tensor for array in states]]
        shapes, dtypes = tuple([tuple(t.shape) for t in given]), tuple([t.dtype for t in given])
        return PropCall(self, signature_of(self, shapes, dtypes, context), states, made), tensors

    def with_memory(self) -> Callable:
        return partial(self._run, made={})

    def call_arrays(self, arrays, attributes, context):
        call_them = self._call_stored if self.stores else self._call_dense
        outputs = call_them(arrays, context)
        if arrays and (wrap := arrays[0]._array_class) is not NDArray:
            outputs = [wrap(y._tensor, context, y._held) for y in outputs]
        if this_thread.state.recording:
            note_origin(outputs if len(outputs) > 1 else outputs[0], self, {}, arrays)
        return outputs

    def _call_dense(self, arrays: list[NDArray], context: Context) -> list[NDArray]:
        """Return the outputs for dense arrays; sparse ones are copied."""
        count = len(self.arguments)
        if any(a._is_sparse for a in arrays):
            warn_of_dense_copies(self.label, tuple([a.stype for a in arrays]))
        dense = [a._as_dense() for a in arrays]  # sparse ones are an error in MXNet
        tensors = [a._tensor for a in dense[:count]]
        if State.precision is not None and not is_inside_operator():
            with torch.set_grad_enabled(this_thread.state.recording):
                tensors = State.precision.cast(self, tensors, {})
        outputs = call(*self._call(tensors, dense[count:], context))
        for array, copy in zip(arrays[count:], dense[count:]):
            if copy is not array:
                array[:] = copy
        return [as_output(t, context) for t in outputs]

    def _call_stored(self, arrays: list, context: Context) -> list[NDArray]:
        from .sparse_call import call as call_stored  # it needs this module

        count = len(self.arguments)
        return call_stored(self, arrays[:count], arrays[count:], context)

    def all_shapes(self, given, attributes, where=""):
        with self._lock:
            self._inferred = None
            return super().all_shapes(given, attributes, where)

    def all_types(self, given, attributes, where=""):
        with self._lock:
            self._inferred = None
            return super().all_types(given, attributes, where)

    def _ask_definition(self, phase, where, attributes, known):
        return self._ask(phase, where, getattr(self.prop, phase), known)

    def signature_for(self, shapes: tuple, dtypes: tuple, context: Context) -> Signature:
        """Ask the Prop for the signature of some inputs, and hold them to it."""
        names, count = self.input_names({}), len(self.arguments)
        if len(shapes) != len(names):
            raise ArgumentError(
                f"{self.what}: {len(shapes)} inputs\n  expected {', '.join(names) or 'none'}"
            )
        where = ", ".join(f"{n} {s} {_dtype.name(d)}" for n, s, d in zip(names, shapes, dtypes))

        def expect(error_class: type, phase: str, real: tuple, told: list, shown: Callable) -> None:
            for name, found, expected in zip(names, real, told):
                if found != expected:
                    raise error_class(
                        f"{self.what}: {name} is {shown(found)}\n"
                        f"  expected {shown(expected)}, which {phase} gives\n  in {where}"
                    )

        in_shapes = [list(s) for s in shapes[:count]]
        with self._lock:
            inputs, out_shapes, states = self.all_shapes(in_shapes, {}, where)
            expect(ShapeError, "infer_shape", shapes, [*inputs, *states], str)
            for name, shape in zip(self.outputs, out_shapes):
                if not shape:
                    raise ShapeError(
                        f"{self.what}: infer_shape gave () for {name}\n"
                        f"  expected an axis at least: a number is of shape (1,)\n  in {where}"
                    )
            inputs, out_types, states = self.all_types(list(dtypes[:count]), {}, where)
            expect(DTypeError, "infer_type", dtypes, [*inputs, *states], _dtype.name)
            self._inferred = made = Signature(
                shapes, dtypes, context, in_shapes, out_shapes, out_types, where
            )
        return made

    def create(self, signature: Signature) -> operator.CustomOp:
        """Return the `CustomOp` for a signature."""
        phase, where = "create_operator", signature.where
        with self._lock:
            if self._inferred is not signature:
                self.signature_for(*signature[:3])
                self._inferred = signature
            shapes = [list(shape) for shape in signature.shapes]  # it may change what it gets
            given = signature.context, shapes, [_dtype.to_numpy(t) for t in signature.dtypes]
            made = self._ask(phase, where, self.prop.create_operator, *given)
        if not isinstance(made, operator.CustomOp):
            raise DTypeError(
                f"{self.what}: {phase} gave {made!r}\n  expected a CustomOp\n  in {where}"
            )
        return made

    def __reduce__(self):
        return type(self), (self.op_type, self.definition, tuple(self.texts.items()))

    def _names(self, phase: str) -> list[str]:
        names = self._ask(phase, "", getattr(self.prop, phase))
        listed = isinstance(names, (list, tuple)) and all(isinstance(n, str) for n in names)
        if not listed or (phase == "list_outputs" and not names):
            raise DTypeError(f"{self.what}: {phase} gave {names!r}\n  expected a list of names")
        return list(names)

    def _dependencies(self) -> tuple[set, set, set]:
        """Return the output gradients, inputs and outputs that `backward` wants, by number."""
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
        """True if the Prop declares the storage types of its inputs and outputs."""
        base, own = operator.CustomOpProp, type(self.prop)
        return (
            own.infer_storage_type is not base.infer_storage_type
            or own.infer_storage_type_backward is not base.infer_storage_type_backward
        )

    def storage_types(self, stypes: list[str]) -> tuple[list[str], list[str], list[str]]:
        """Return the storage types of inputs, outputs and states, from those of the inputs."""
        phase = "infer_storage_type"
        given = self._ask(phase, "", self.prop.infer_storage_type, [*stypes])
        given = (*given, [])[:3] if isinstance(given, (tuple, list)) else given
        names = self.arguments, self.outputs, self.auxiliary
        count = 2 + bool(self.auxiliary)
        inputs, outputs, states = self._checked_stypes(phase, given, names[:count])
        return inputs, outputs, states

    def gradient_storage_types(
        self, tops: list[str], stypes: tuple, gradients: list[str], states: list[str]
    ) -> list[list[str]]:
        """Return the storage types that backward works with.

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


signature_of = lru_cache(maxsize=1024)(PropOp.signature_for)


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
    """True if an output was written; a sparse one has no values before."""
    return len(array._stored.values) > 0 if array._is_sparse else array._value is not None


class LeftOut(NDArray):
    """An empty array in the place of one that the operator declares not to use in backward."""

    __slots__ = ("_what",)
    shape, size = (0,), 0

    def __init__(self, what: str, context: Context):
        self._what = what
        self._context, self._leaf, self._held, self._origin = context, None, None, None

    @property
    def _tensor(self) -> torch.Tensor:
        raise RecordingError(
            f"{self._what} is read in backward, and declare_backward_dependency leaves it out\n"
            "  expected its number in what that returns"
        )


class PropCall(CustomCall):
    """One call of a `CustomOp`, which lives from forward to backward, or as long as `made`.

    That is a dict of them by signature, for calls that come after each other.
    """

    def __init__(
        self, op: PropOp, signature: Signature, states: list[NDArray], made: dict | None = None
    ):
        self.op, self.signature, self.states = op, signature, states
        self.name, self.what = op.op_type, op.what
        self.context = signature.context
        self.inputs, self.outputs = op.arguments, op.outputs
        self.training, self.pure = this_thread.state.training, op.pure
        self.operator = None if made is None else made.get(signature.key)
        if self.operator is None:
            self.operator = op.create(signature)
            if made is not None:
                made[signature.key] = self.operator

    def forward(self, tensors, specs) -> tuple[torch.Tensor, ...]:
        types = zip(self.signature.out_shapes, self.signature.out_types)
        outputs = [Output(shape, dtype, self.context) for shape, dtype in types]
        self._compute([as_input(t, self.context) for t in tensors], outputs)
        return tuple([take_tensor(o) for o in outputs])

    def saved_for_backward(self, inputs, outputs, asked) -> list:
        _, ins, outs = self.op.dependencies
        return [t if i in ins else None for i, t in enumerate(inputs)] + [
            t if i in outs else None for i, t in enumerate(outputs)
        ]

    def backward(self, saved, dys, specs, asked) -> tuple:
        gradients = [Output(tuple(s), t, self.context) for s, t in specs]
        dys, saved = (
            [t if t is None else as_input(t, self.context) for t in ts] for ts in (dys, saved)
        )
        self._differentiate(dys, saved[: len(specs)], saved[len(specs) :], gradients, asked)
        return tuple([take_tensor(g) if a else None for g, a in zip(gradients, asked)])

    # The operator's own code, on arrays.

    def _compute(self, inputs: list[NDArray], outputs: list[NDArray]) -> None:
        """Have the operator write its outputs."""
        arguments = {
            "is_train": self.training,
            "req": ["write"] * len(outputs),
            "in_data": inputs,
            "out_data": [*outputs],
            "aux": [*self.states],
        }
        result = self.run("forward", (), self.operator.forward, (), arguments)
        self._expect_written("out_data", arguments, outputs, result)

    def _differentiate(
        self,
        dys: list[NDArray],
        inputs: list[NDArray | None],
        outputs: list[NDArray | None],
        gradients: list[NDArray],
        asked: tuple[bool, ...],
    ) -> None:
        """Have the operator write the gradients that are asked for."""
        tops, ins, outs = self.op.dependencies
        arguments = {
            "req": ["write" if a else "null" for a in asked],
            "out_grad": self._shown("out_grad", dys, tops),
            "in_data": self._shown("in_data", inputs, ins),
            "out_data": self._shown("out_data", outputs, outs),
            "in_grad": [*gradients],
            "aux": [*self.states],
        }
        result = self.run("backward", (), self.operator.backward, (), arguments)
        self._expect_written("in_grad", arguments, gradients, result)

    def _expect_written(self, what: str, arguments: dict, arrays: list, result: Any) -> None:
        """Refuse other arrays in the list, or a result, in the place of what was to be written."""
        found = arguments[what]
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

    def _shown(self, what: str, arrays: Sequence[NDArray | None], used: set[int]) -> list[NDArray]:
        """Return the arrays for backward, an empty one in the place of each unused."""
        return [
            a if i in used else LeftOut(f"{self.what}: {what}[{i}]", self.context)
            for i, a in enumerate(arrays)
        ]

    def shown(self, tensors) -> str:
        return self.signature.where
