"""`nd.Custom`: the operators of `mx.operator`, asked once for each signature, run at each call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from . import _dtype, operator
from ._function import Call, apart, borrow, call, lent
from .autograd import state
from .base import ArgumentError, ShapeError, note
from .context import Context
from .ndarray._memory import LENT, VIEWED
from .ndarray.ndarray import NDArray
from .ndarray.register import Pending, give


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
        self.what, self.context = f"Custom {op_type!r}", context
        self.prop = asked("__init__", self.what, "", prop_class, **dict(attributes))
        self.arguments = self.prop.list_arguments()
        self.outputs = self.prop.list_outputs()
        self.states = self.prop.list_auxiliary_states()
        self.where = ", ".join(
            f"{n} {s} {_dtype.name(d)}" for n, s, d in zip(self.arguments, shapes, dtypes)
        )
        count = len(self.arguments)
        if len(shapes) != count + len(self.states):
            raise ArgumentError(
                f"{self.what}: {len(shapes)} inputs\n"
                f"  expected {', '.join((*self.arguments, *self.states)) or 'none'}"
            )
        self.in_shapes = [list(s) for s in shapes[:count]]
        self.in_types = [_dtype.to_numpy(d) for d in dtypes[:count]]
        self.out_shapes = self._infer_shapes(shapes)
        self.out_types = self._infer_types()
        self.kept = self._dependencies()

    def _infer_shapes(self, shapes) -> list[tuple]:
        given = asked(
            "infer_shape",
            self.what,
            self.where,
            self.prop.infer_shape,
            [list(s) for s in self.in_shapes],
        )
        inputs, outputs = self._lists("infer_shape", given)[:2]
        for name, real, told in zip(self.arguments, shapes, inputs):
            if tuple(told) != tuple(real):
                raise ShapeError(
                    f"{self.what}: {name} is {tuple(real)}\n"
                    f"  expected {tuple(told)}, which infer_shape gives\n  in {self.where}"
                )
        return [tuple(int(n) for n in shape) for shape in outputs]

    def _infer_types(self) -> list[torch.dtype]:
        given = asked(
            "infer_type",
            self.what,
            self.where,
            self.prop.infer_type,
            self.in_types,
        )
        return [_dtype.to_torch(t) for t in self._lists("infer_type", given)[1]]

    def _lists(self, phase: str, given: Any) -> tuple[list, list]:
        lists = [list(part) for part in given]
        if len(lists) not in (2, 3):
            raise ShapeError(
                f"{self.what}: {phase} gave {len(lists)} lists\n"
                "  expected two or three: of inputs, outputs, states"
            )
        for part, names in zip(lists, (self.arguments, self.outputs, self.states)):
            if len(part) != len(names):
                raise ShapeError(
                    f"{self.what}: {phase} gave {len(part)} entries for {names}\n"
                    f"  expected {len(names)}"
                )
        return lists[0], lists[1]

    def _dependencies(self) -> tuple[set, set, set]:
        """Which output gradients, inputs and outputs `backward` wants."""
        outs, ins = len(self.outputs), len(self.arguments)
        asked = set(
            self.prop.declare_backward_dependency(
                list(range(outs)),
                list(range(outs, outs + ins)),
                list(range(outs + ins, 2 * outs + ins)),
            )
        )
        return (
            {i for i in range(outs) if i in asked},
            {i for i in range(ins) if outs + i in asked},
            {i for i in range(outs) if outs + ins + i in asked},
        )

    def buffers(self) -> list[Buffer]:
        return [Buffer(s, t, self.context) for s, t in zip(self.out_shapes, self.out_types)]

    def create(self) -> operator.CustomOp:
        return asked(
            "create_operator",
            self.what,
            self.where,
            self.prop.create_operator,
            self.context,
            self.in_shapes,
            self.in_types,
        )


def asked(phase: str, what: str, where: str, function, *args, **kwargs):
    """Call the user's code; an exception gets a note of where it came from."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        note(error, f"  in {phase} of {what}" + (f" ({where})" if where else ""))
        raise


_signature = lru_cache(maxsize=1024)(Signature)


class CustomCall(Call):
    """One call of a custom operator: the operator object lives from forward to backward."""

    def __init__(self, signature: Signature, states: list[NDArray]):
        self.signature, self.states = signature, states
        self.what, self.context = signature.what, signature.context
        self.training = state.training
        self.operator = signature.create()

    def forward(self, tensors) -> tuple[torch.Tensor, ...]:
        outputs = self.signature.buffers()
        self.run(
            "forward",
            tensors,
            self.operator.forward,
            is_train=self.training,
            req=["write"] * len(outputs),
            in_data=[borrow(t, self.context) for t in tensors],
            out_data=outputs,
            aux=self.states,
        )
        return apart([o._tensor for o in outputs])

    def kept(self, inputs, outputs, asked) -> list:
        _, ins, outs = self.signature.kept
        return [t if i in ins else None for i, t in enumerate(inputs)] + [
            t if i in outs else None for i, t in enumerate(outputs)
        ]

    def backward(self, kept, dys, kinds, asked) -> tuple:
        count = len(kinds)
        gradients = [Buffer(tuple(s), t, self.context) for s, t in kinds]
        self.run(
            "backward",
            (),
            self.operator.backward,
            req=["write" if a else "null" for a in asked],
            out_grad=[self._shown(t) for t in dys],
            in_data=[self._shown(t) for t in kept[:count]],
            out_data=[self._shown(t) for t in kept[count:]],
            in_grad=gradients,
            aux=self.states,
        )
        return tuple([g._tensor if a else None for g, a in zip(gradients, asked)])

    @property
    def codes(self) -> list:
        written = type(self.operator).__mro__
        written = written[: written.index(operator.CustomOp)]
        return [f for c in written for n, f in vars(c).items() if callable(f) and n != "__init__"]

    def _shown(self, tensor: torch.Tensor | None) -> NDArray:
        """What backward sees: an empty array in the place of what it does not depend on."""
        if tensor is None:
            tensor = torch.empty(0, device=self.context.device)
        return borrow(tensor, self.context)

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
    attributes = tuple((k, str(v)) for k, v in kwargs.items() if k not in named)
    arrays = list(args)
    if named or any(isinstance(a, Pending) for a in arrays):
        arrays = _bound(op_type, prop_class, attributes, arrays, named)
    it, tensors = prepare(op_type, prop_class, attributes, arrays)
    outputs = [lent(t, it.context) for t in call(it, tensors)]
    result = outputs if len(outputs) > 1 else outputs[0]
    return result if out is None else give(result, out)


def prepare(op_type: str, prop_class: type, attributes: tuple, arrays: list):
    """The call of an operator with these inputs and states, and the tensors of its inputs."""
    for i, a in enumerate(arrays):
        if not isinstance(a, NDArray):
            raise ArgumentError(
                f"Custom {op_type!r}: input {i} is {a!r} ({type(a).__name__})\n"
                "  expected an NDArray"
            )
    tensors = [a._tensor for a in arrays]
    signature = _signature(
        op_type,
        prop_class,
        attributes,
        tuple([tuple(t.shape) for t in tensors]),
        tuple([t.dtype for t in tensors]),
        arrays[0]._context if arrays else _named_context(dict(attributes).get("ctx")),
    )
    count = len(signature.arguments)
    return CustomCall(signature, arrays[count:]), tensors[:count]


def _named_context(text: str | None) -> Context:
    from .ndarray.register import _context

    return _context(text)


def _bound(op_type, prop_class, attributes, arrays: list, named: dict) -> list:
    """Inputs and states in their order, those of unknown shape made."""
    prop = asked("__init__", f"Custom {op_type!r}", "", prop_class, **dict(attributes))
    names = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    given = dict(zip(names, arrays))
    for name, value in named.items():
        if name not in names or name in given:
            problem = "given twice" if name in given else "unknown"
            raise ArgumentError(
                f"Custom {op_type!r}: input {name!r} is {problem}\n  expected {', '.join(names)}"
            )
        given[name] = value
    missing = [n for n in names if n not in given]
    if missing:
        raise ArgumentError(
            f"Custom {op_type!r}: {missing[0]} is missing\n  expected {', '.join(names)}"
        )
    pending = [n for n in names if isinstance(given[n], Pending)]
    if pending:
        shapes = [
            list(given[n].known if n in pending else given[n].shape) for n in prop.list_arguments()
        ]
        told = asked("infer_shape", f"Custom {op_type!r}", "", prop.infer_shape, shapes)
        found = dict(zip(prop.list_arguments(), told[0]))
        if len(told) > 2:
            found |= dict(zip(prop.list_auxiliary_states(), told[2]))
        for name in pending:
            given[name] = given[name].resolve(tuple(found[name]))
    return [given[n] for n in names]
