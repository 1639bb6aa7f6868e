"""`nd.Custom`: the operators of `mx.operator`, asked once for each signature, run at each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from inspect import getattr_static
from operator import is_
from types import FunctionType
from typing import Any

import torch

from .. import _dtype, operator
from ..autograd import state
from ..base import ArgumentError, DTypeError, RecordingError, ShapeError
from ..context import Context
from ..ndarray._memory import LENT, VIEWED
from ..ndarray.ndarray import NDArray
from ..ndarray.register import Pending, _context, give
from .call import Call, apart, borrow, call, lent, owned
from .declared import Declared


class Buffer(NDArray):
    """An output to be written. It gets memory, zeros, only when it is touched before that."""

    __slots__ = ("_type", "_size", "_value")

    def __init__(self, shape: tuple, dtype: torch.dtype, context: Context):
        self._size, self._type, self._value = shape, dtype, None
        self._context, self._leaf, self._held = context, None, None

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

    def _take(self, other: NDArray) -> None:
        fits = other._tensor.dtype is self._type and other._context == self._context
        if fits and self._held is not VIEWED and other._held in (None, LENT) and not other._leaf:
            self._value, self._held, other._held = other._tensor, LENT, LENT
        else:
            super()._take(other)


Buffer.__name__ = "NDArray"  # what a user sees when an output is printed


class Signature:
    """One operator at one set of attributes, shapes, dtypes and a context: asked once."""

    def __init__(self, op_type, prop_class, attributes, shapes, dtypes, context):
        self.declared = declared = Declared(op_type, prop_class, attributes)
        self.what, self.context = declared.what, context
        self.key = op_type, prop_class, attributes, shapes, dtypes, context
        self.count, names = len(declared.arguments), declared.inputs
        if len(shapes) != len(names):
            raise ArgumentError(
                f"{self.what}: {len(shapes)} inputs\n  expected {', '.join(names) or 'none'}"
            )
        self.where = ", ".join(
            f"{n} {s} {_dtype.name(d)}" for n, s, d in zip(names, shapes, dtypes)
        )
        inputs = [list(s) for s in shapes[: self.count]]
        told, self.out_shapes, states = declared.shapes(inputs, self.where)
        self._agree(ShapeError, "infer_shape", shapes, [*told, *states], str)
        for name, shape in zip(declared.outputs, self.out_shapes):
            if not shape:
                raise ShapeError(
                    f"{self.what}: infer_shape gave () for {name}\n"
                    f"  expected an axis at least: a number is of shape (1,)\n  in {self.where}"
                )
        told, self.out_types, states = declared.types(list(dtypes[: self.count]), self.where)
        self._agree(DTypeError, "infer_type", dtypes, [*told, *states], _dtype.name)
        self.kept = declared.dependencies()

    def _agree(self, kind: type, phase: str, real: tuple, told: list, shown: Callable) -> None:
        """Refuse inputs and states that are not what the operator says they are."""
        for name, found, expected in zip(self.declared.inputs, real, told):
            if found != expected:
                raise kind(
                    f"{self.what}: {name} is {shown(found)}\n"
                    f"  expected {shown(expected)}, which {phase} gives\n  in {self.where}"
                )

    def buffers(self) -> list[Buffer]:
        return [Buffer(s, t, self.context) for s, t in zip(self.out_shapes, self.out_types)]

    def create(self) -> operator.CustomOp:
        shapes, dtypes = self.key[3][: self.count], self.key[4][: self.count]
        types = [_dtype.to_numpy(t) for t in dtypes]
        return self.declared.create(self.context, [list(s) for s in shapes], types, self.where)


class LeftOut(NDArray):
    """What backward does not depend on, as the operator says: an empty array, not to be read."""

    __slots__ = ("_what",)
    shape, size = (0,), 0

    def __init__(self, what: str, call: CustomCall):
        self._what = what
        self._context, self._leaf, self._held = call.context, None, None

    @property
    def _tensor(self) -> torch.Tensor:
        raise RecordingError(
            f"{self._what} is read in backward, and declare_backward_dependency leaves it out\n"
            "  expected its number in what that returns"
        )


declared = lru_cache(maxsize=1024)(Declared)
_signature = lru_cache(maxsize=1024)(Signature)


class CustomCall(Call):
    """One call of a custom operator.

    The operator object lives from forward to backward, or as long as the one who gives `made`,
    where objects are kept by signature.
    """

    def __init__(self, signature: Signature, states: list[NDArray], made: dict | None = None):
        self.signature, self.states = signature, states
        self.what, self.context = signature.what, signature.context
        self.inputs, self.outputs = signature.declared.arguments, signature.declared.outputs
        self.training, self.pure = state.training, signature.declared.pure
        self.operator = signature.create() if made is None else made.get(signature.key)
        if self.operator is None:
            self.operator = made[signature.key] = signature.create()

    def forward(self, tensors) -> tuple[torch.Tensor, ...]:
        outputs = self.signature.buffers()
        given = [*outputs]
        result = self.run(
            "forward",
            tensors,
            self.operator.forward,
            is_train=self.training,
            req=["write"] * len(outputs),
            in_data=[borrow(t, self.context) for t in tensors],
            out_data=given,
            aux=[*self.states],
        )
        self._expect_written("out_data", given, outputs, result)
        return apart([owned(o) for o in outputs])

    def kept(self, inputs, outputs, asked) -> list:
        _, ins, outs = self.signature.kept
        return [t if i in ins else None for i, t in enumerate(inputs)] + [
            t if i in outs else None for i, t in enumerate(outputs)
        ]

    def backward(self, kept, dys, kinds, asked) -> tuple:
        count, (tops, _, _) = len(kinds), self.signature.kept
        gradients = [Buffer(tuple(s), t, self.context) for s, t in kinds]
        given = [*gradients]
        result = self.run(
            "backward",
            (),
            self.operator.backward,
            req=["write" if a else "null" for a in asked],
            out_grad=self._shown("out_grad", [t if i in tops else None for i, t in enumerate(dys)]),
            in_data=self._shown("in_data", kept[:count]),
            out_data=self._shown("out_data", kept[count:]),
            in_grad=given,
            aux=[*self.states],
        )
        self._expect_written("in_grad", given, gradients, result)
        return tuple([owned(g) if a else None for g, a in zip(gradients, asked)])

    def _expect_written(self, what: str, found: list, arrays: list, result: Any) -> None:
        """Refuse other arrays in the list, or a result, in the place of what was to be written."""
        if len(found) != len(arrays) or not all(map(is_, found, arrays)):
            wrong = f"{what} has other arrays in it than it was given with"
        elif result is not None and all(a._value is None for a in arrays):
            phase = "forward" if what == "out_data" else "backward"
            wrong = f"{phase} returned {type(result).__name__}, and wrote nothing into {what}"
        else:
            return
        raise ArgumentError(
            f"{self.what}: {wrong}\n"
            f"  expected self.assign({what}[i], req[i], value), or {what}[i][:] = value\n"
            f"  in {self.signature.where}"
        )

    @property
    def codes(self) -> list:
        parts = [item for c in self._classes for item in vars(c).items()]
        return [f for n, f in parts if callable(f) and n != "__init__"]

    @property
    def methods(self) -> set[str]:
        names = {"assign", *(n for c in self._classes for n in vars(c))}
        own = vars(self.operator)  # what it has itself comes before what its class has
        kind = type(self.operator)
        return {n for n in names - own.keys() if type(getattr_static(kind, n)) is FunctionType}

    @property
    def maker(self) -> tuple[Callable, type]:
        return self.signature.declared.maker, type(self.operator)

    @property
    def written(self) -> list:
        return [self.maker[0], *(f for c in self._classes for f in vars(c).values())]

    @property
    def _classes(self) -> Sequence[type]:
        """The operator's class, and those that it extends."""
        classes = type(self.operator).__mro__
        return classes[: classes.index(operator.CustomOp)]

    def _shown(self, what: str, tensors: Sequence[torch.Tensor | None]) -> list[NDArray]:
        """What backward sees: an empty array in the place of what it does not depend on."""
        return [
            borrow(t, self.context) if t is not None else LeftOut(f"{self.what}: {what}[{i}]", self)
            for i, t in enumerate(tensors)
        ]

    def shown(self, tensors) -> str:
        return self.signature.where


def custom(*args, op_type: str | None = None, out=None, name=None, **kwargs):
    """Call a registered operator.

    Parameters
    ----------
    *args, **kwargs
        Inputs, then states, by position or by name; everything else is an attribute, which
        reaches the operator as text.
    op_type : str
        The name it was registered under.

    Returns
    -------
    NDArray, or list of NDArray for several outputs

    Raises
    ------
    MXNetError
        No operator has this name.
    ArgumentError, ShapeError
        Inputs are missing, too many, or of shapes that the operator does not take.
    """
    if op_type is None:
        raise ArgumentError(
            "Custom: op_type is missing\n  expected the name of a registered operator"
        )
    prop_class = operator.find(op_type)
    if hasattr(prop_class, "_layers_operator"):  # one of `layers.ops`, which has a shorter way
        result = prop_class._layers_operator.by_name(args, kwargs)
        return result if out is None else give(result, out)
    named = {k: v for k, v in kwargs.items() if isinstance(v, (NDArray, Pending))}
    attributes = tuple([(k, str(v)) for k, v in kwargs.items() if k not in named])
    arrays = list(args)
    if named or any(isinstance(a, Pending) for a in arrays):
        arrays = _bound(declared(op_type, prop_class, attributes), arrays, named)
    for i, a in enumerate(arrays):
        if not isinstance(a, NDArray):
            raise ArgumentError(
                f"Custom {op_type!r}: input {i} is {a!r} ({type(a).__name__})\n"
                "  expected an NDArray; nd.array(...) makes one"
            )
    context = arrays[0]._context if arrays else _context(kwargs.get("ctx"))
    it, tensors = prepare(op_type, prop_class, attributes, arrays, context)
    outputs = [lent(t, it.context) for t in call(it, tensors)]
    result = outputs if len(outputs) > 1 else outputs[0]
    return result if out is None else give(result, out)


def prepare(
    op_type: str,
    prop_class: type,
    attributes: tuple,
    arrays: list,
    context: Context,
    made: dict | None = None,
):
    """The call of an operator with these inputs and states, and the tensors of its inputs."""
    tensors = [a._tensor for a in arrays]
    signature = _signature(
        op_type,
        prop_class,
        attributes,
        tuple([tuple(t.shape) for t in tensors]),
        tuple([t.dtype for t in tensors]),
        context,
    )
    count = signature.count
    return CustomCall(signature, arrays[count:], made), tensors[:count]


def _bound(told: Declared, arrays: list, named: dict) -> list:
    """Inputs and states in their order, those of unknown shape made."""
    names = told.inputs
    expected = f"expected {', '.join(names)}"
    given = dict(zip(names, arrays))
    for name, value in named.items():
        if name not in names or name in given:
            problem = "given twice" if name in given else "unknown"
            raise ArgumentError(f"{told.what}: input {name!r} is {problem}\n  {expected}")
        given[name] = value
    if missing := [n for n in names if n not in given]:
        raise ArgumentError(f"{told.what}: {missing[0]} is missing\n  {expected}")
    pending = [n for n in names if isinstance(given[n], Pending)]
    if pending:
        known = {n: given[n].known if n in pending else given[n].shape for n in told.arguments}
        inputs, _, states = told.shapes([list(s) for s in known.values()])
        found = dict(zip(names, [*inputs, *states]))
        given |= {n: given[n].resolve(found[n]) for n in pending}
    return [given[n] for n in names]
