"""Operators of one's own on PyTorch's autograd: `nd.Custom`, `autograd.Function`, `Operator`.

Each runs its Python code on NDArrays that wrap the tensors: not recorded, training as the caller
is, on the context of the inputs. An exception keeps its type and gets a note.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from . import _dtype, operator
from .autograd import inside, state
from .base import ArgumentError, MXNetError, RecordingError, ShapeError, note
from .context import Context
from .ndarray._memory import BORROWED, LENT, VIEWED
from .ndarray.ndarray import NDArray
from .ndarray.register import Pending, describe, give


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


def borrow(tensor: torch.Tensor, context: Context) -> NDArray:
    """An input as the operator's code sees it: what is written there stays there."""
    array = NDArray(tensor.detach(), context)
    array._held = BORROWED
    return array


def lent(tensor: torch.Tensor, context: Context) -> NDArray:
    """An output as the caller sees it; the operator may have kept it, and must not see writes."""
    array = NDArray(tensor, context)
    array._held = LENT
    return array


def owned(array: NDArray) -> torch.Tensor:
    """The tensor of what an operator's code gave, in memory neither viewed nor an input's."""
    if array._held is None:
        array._held = LENT
    return array._tensor if array._held is LENT else array._tensor.clone()


def apart(outputs: tuple) -> tuple:
    """Outputs that PyTorch may give a past: the operator that kept one would be in its own."""
    return tuple([t.detach() for t in outputs])


class _Refused(torch.autograd.Function):
    """A gradient, which has none itself."""

    @staticmethod
    def forward(ctx, name: str, gradient: torch.Tensor):
        ctx.name = name
        return gradient.clone()

    @staticmethod
    def backward(ctx, *_):
        raise RecordingError(
            f"operator {ctx.name!r} has no second derivative\n"
            "  expected its gradient written in nd, one function for each input"
        )


def refuse_second(gradients: tuple, name: str) -> tuple:
    """Gradients that raise when they are differentiated again, instead of giving zeros."""
    return tuple(
        [
            None if g is None else _Refused.apply(name, g.detach().requires_grad_())
            for g in gradients
        ]
    )


# nd.Custom


class Signature:
    """One operator at one set of attributes, shapes, dtypes and a context: asked once."""

    def __init__(self, op_type, prop_class, attributes, shapes, dtypes, context):
        self.op_type, self.context = op_type, context
        self.prop = asked("__init__", f"Custom {op_type!r}", "", prop_class, **dict(attributes))
        self.arguments = self.prop.list_arguments()
        self.outputs = self.prop.list_outputs()
        self.states = self.prop.list_auxiliary_states()
        self.where = ", ".join(
            f"{n} {s} {_dtype.name(d)}" for n, s, d in zip(self.arguments, shapes, dtypes)
        )
        count = len(self.arguments)
        if len(shapes) != count + len(self.states):
            raise ArgumentError(
                f"Custom {op_type!r}: {len(shapes)} inputs\n"
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
            f"Custom {self.op_type!r}",
            self.where,
            self.prop.infer_shape,
            [list(s) for s in self.in_shapes],
        )
        inputs, outputs = self._lists("infer_shape", given)[:2]
        for name, real, told in zip(self.arguments, shapes, inputs):
            if tuple(told) != tuple(real):
                raise ShapeError(
                    f"Custom {self.op_type!r}: {name} is {tuple(real)}\n"
                    f"  expected {tuple(told)}, which infer_shape gives\n  in {self.where}"
                )
        return [tuple(int(n) for n in shape) for shape in outputs]

    def _infer_types(self) -> list[torch.dtype]:
        given = asked(
            "infer_type",
            f"Custom {self.op_type!r}",
            self.where,
            self.prop.infer_type,
            self.in_types,
        )
        return [_dtype.to_torch(t) for t in self._lists("infer_type", given)[1]]

    def _lists(self, phase: str, given: Any) -> tuple[list, list]:
        lists = [list(part) for part in given]
        if len(lists) not in (2, 3):
            raise ShapeError(
                f"Custom {self.op_type!r}: {phase} gave {len(lists)} lists\n"
                "  expected two or three: of inputs, outputs, states"
            )
        for part, names in zip(lists, (self.arguments, self.outputs, self.states)):
            if len(part) != len(names):
                raise ShapeError(
                    f"Custom {self.op_type!r}: {phase} gave {len(part)} entries for {names}\n"
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
            f"Custom {self.op_type!r}",
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


class _Custom(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call: _Call, *tensors):
        outputs = apart(call.forward(tensors))
        _, inputs, outs = call.signature.kept
        ctx.call, ctx.shapes = call, [(t.shape, t.dtype) for t in tensors]
        ctx.set_materialize_grads(True)
        ctx.save_for_backward(
            *(t if i in inputs else None for i, t in enumerate(tensors)),
            *(t if i in outs else None for i, t in enumerate(outputs)),
        )
        return outputs

    @staticmethod
    def backward(ctx, *out_grads):
        gradients = ctx.call.backward(
            out_grads, ctx.saved_tensors, ctx.shapes, ctx.needs_input_grad[1:]
        )
        if torch.is_grad_enabled():
            gradients = refuse_second(gradients, ctx.call.signature.op_type)
        return None, *gradients


class _Call:
    """One call of a custom operator: the operator object lives from forward to backward."""

    def __init__(self, signature: Signature, states: list[NDArray]):
        self.signature, self.states = signature, states
        self.training = state.training
        self.operator = signature.create()

    def forward(self, tensors) -> tuple[torch.Tensor, ...]:
        signature, context = self.signature, self.signature.context
        outputs = signature.buffers()
        req = ["write"] * len(outputs)
        with inside(context, self.training):
            asked(
                "forward",
                f"Custom {signature.op_type!r}",
                f"{signature.where}; req {req}",
                self.operator.forward,
                is_train=self.training,
                req=req,
                in_data=[borrow(t, context) for t in tensors],
                out_data=outputs,
                aux=self.states,
            )
        return tuple([o._tensor for o in outputs])

    def backward(self, out_grads, saved, shapes, needed) -> tuple:
        signature, context = self.signature, self.signature.context
        count = len(signature.arguments)
        req = ["write" if n else "null" for n in needed]
        gradients = [Buffer(tuple(s), t, context) for s, t in shapes]
        with inside(context, self.training):
            asked(
                "backward",
                f"Custom {signature.op_type!r}",
                f"{signature.where}; req {req}",
                self.operator.backward,
                req=req,
                out_grad=[_kept(g, context) for g in out_grads],
                in_data=[_kept(t, context) for t in saved[:count]],
                out_data=[_kept(t, context) for t in saved[count:]],
                in_grad=gradients,
                aux=self.states,
            )
        return tuple([g._tensor if n else None for g, n in zip(gradients, needed)])


def _kept(tensor: torch.Tensor | None, context: Context) -> NDArray:
    """What backward sees: an empty array in the place of what it does not depend on."""
    return borrow(torch.empty(0, device=context.device) if tensor is None else tensor, context)


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
    ctx = dict(attributes).get("ctx")
    arrays = list(args)
    if named or any(isinstance(a, Pending) for a in arrays):
        arrays = _bound(op_type, prop_class, attributes, arrays, named)
    for i, a in enumerate(arrays):
        if not isinstance(a, NDArray):
            raise ArgumentError(
                f"Custom {op_type!r}: input {i} is {a!r} ({type(a).__name__})\n"
                "  expected an NDArray"
            )
    context = arrays[0]._context if arrays else _named_context(ctx)
    tensors = [a._tensor for a in arrays]
    signature = _signature(
        op_type,
        prop_class,
        attributes,
        tuple([tuple(t.shape) for t in tensors]),
        tuple([t.dtype for t in tensors]),
        context,
    )
    count = len(signature.arguments)
    call = _Call(signature, arrays[count:])
    tensors = tensors[:count]
    if state.recording and any(t.requires_grad for t in tensors):
        with torch.enable_grad():
            results = _Custom.apply(call, *tensors)
    else:
        results = call.forward(tensors)
    outputs = [lent(t, context) for t in results]
    result = outputs if len(outputs) > 1 else outputs[0]
    return result if out is None else give(result, out)


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


# autograd.Function


def call_function(function, inputs):
    """Call an `autograd.Function`: forward now, its backward when gradients are asked for."""
    call = _FunctionCall(function, inputs)
    tensors = [a._tensor for a in inputs]
    if state.recording and any(t.requires_grad for t in tensors):
        with torch.enable_grad():
            results = _Function.apply(call, *tensors)
    else:
        results = call.forward(tensors)
    outputs = [lent(t, call.context) for t in results]
    return outputs if call.many else outputs[0]


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, call: _FunctionCall, *tensors):
        ctx.call, ctx.shapes = call, [t.shape for t in tensors]
        return apart(call.forward(tensors))

    @staticmethod
    def backward(ctx, *out_grads):
        gradients = ctx.call.backward(out_grads, ctx.shapes)
        if torch.is_grad_enabled():
            gradients = refuse_second(gradients, ctx.call.name)
        return None, *gradients


class _FunctionCall:
    """One call of an `autograd.Function`; its class is not made anew, which would outlive it."""

    def __init__(self, function, inputs):
        self.function, self.name, self.many = function, type(function).__name__, False
        self._are_arrays("input", inputs or [None])
        self.context, self.training = inputs[0]._context, state.training

    def forward(self, tensors) -> tuple[torch.Tensor, ...]:
        with inside(self.context, self.training):
            y = self._asked("forward", [borrow(t, self.context) for t in tensors])
        self.many = isinstance(y, (list, tuple))
        arrays = y if self.many else (y,)
        self._are_arrays("output", arrays)
        return tuple([owned(a) for a in arrays])

    def backward(self, out_grads, shapes) -> tuple[torch.Tensor | None, ...]:
        with inside(self.context, self.training):
            given = self._asked("backward", [borrow(g, self.context) for g in out_grads])
        given = given if isinstance(given, (list, tuple)) else (given,)
        if len(given) != len(shapes):
            raise MXNetError(
                f"{self.name}: backward gave {len(given)} gradients\n"
                f"  expected {len(shapes)}, one for each input"
            )
        self._are_arrays("gradient", [g for g in given if g is not None])
        _fit(self.name, [f"input {i}" for i in range(len(given))], given, shapes)
        return tuple([None if g is None else g._tensor for g in given])

    def _asked(self, phase: str, arrays: list[NDArray]):
        where = ", ".join(describe(a._tensor) for a in arrays)
        return asked(
            phase, f"Function {self.name!r}", where, getattr(self.function, phase), *arrays
        )

    def _are_arrays(self, what: str, arrays) -> None:
        for i, array in enumerate(arrays):
            if not isinstance(array, NDArray):
                raise ArgumentError(
                    f"{self.name}: {what} {i} is of type {type(array).__name__}\n"
                    "  expected an NDArray; nd.array(...) makes one"
                )


def _fit(name: str, places, gradients, shapes) -> None:
    for place, gradient, shape in zip(places, gradients, shapes):
        if gradient is not None and gradient._tensor.shape != shape:
            raise ShapeError(
                f"{name}: the gradient of {place} is {gradient.shape}\n  expected {tuple(shape)}"
            )
