"""An `Operator` of `layers.ops`, called on PyTorch: one autograd function for each signature."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import Any

import torch

from ._custom import CUSTOM
from ._operator import borrow, lent, owned, refuse_second
from .autograd import inside, state
from .base import DTypeError, MXNetError, RecordingError, ShapeError, note
from .context import Context
from .ndarray._memory import VIEWED, recorded
from .ndarray.ndarray import NDArray
from .ndarray.register import Pending, describe
from .symbol import Symbol
from .symbol.register import compose

__all__ = ["Adapter"]


class Adapter:
    """Calls an operator. What a signature (attributes, context, training) decides is built once."""

    def __init__(self, operator):
        self.operator = operator
        # Bounded: an attribute may change in every call. Typed: 1 and True are two attributes.
        self._signature = lru_cache(maxsize=256, typed=True)(partial(Signature, operator))

    def __call__(self, inputs: list, attributes: dict[str, Any]):
        try:
            tensors = [None if a is None else a._tensor for a in inputs]
        except (AttributeError, MXNetError):
            tensors = None  # and leave the handler, whose error is not the cause of what follows
        if tensors is None:
            if any(isinstance(a, Symbol) for a in inputs):
                return self._node(inputs, attributes)
            inputs = self._arrays(inputs, attributes)
            tensors = [None if a is None else a._tensor for a in inputs]
        if self.operator.states:
            tensors = [
                self._state(n, a, t) for n, a, t in zip(self.operator.inputs, inputs, tensors)
            ]
        context = inputs[0]._context
        signature = self._signature(context, state.training, *attributes.items())
        run = signature.run if state.recording else signature.forward
        results = run(*tensors)
        if len(results) == 1:
            return lent(results[0], context)
        return [lent(t, context) for t in results]

    def _node(self, inputs: list, attributes: dict[str, Any]) -> Symbol:
        """The operator in a graph."""
        text = {n: str(v) for n, v in attributes.items()}
        text |= {f"no_{n}": "True" for n, a in zip(self.operator.inputs, inputs) if a is None}
        given = tuple(a for a in inputs if a is not None)
        return compose(CUSTOM, given, text | {"op_type": self.operator.name}, "custom")

    def _state(self, name: str, array: NDArray, tensor: torch.Tensor) -> torch.Tensor:
        return array._writable() if name in self.operator.states else tensor

    def _arrays(self, inputs: list, attributes: dict) -> list:
        """The inputs, when not all are arrays: those of unknown shape made, others refused."""
        operator = self.operator
        operator.expect(tuple(inputs))
        for name, value in zip(operator.inputs, inputs):
            if not (value is None or isinstance(value, (NDArray, Pending))):
                raise DTypeError(
                    f"operator {operator.name!r}: {name} is {value!r} ({type(value).__name__})\n"
                    "  expected an NDArray; nd.array(...) makes one"
                )
        pending = {n for n, a in zip(operator.inputs, inputs) if isinstance(a, Pending)}
        if pending and operator.shapes is None:
            raise ShapeError(
                f"operator {operator.name!r}: the shape of {pending.pop()} is not known\n"
                "  expected `def shapes(...)` in the operator, or the shape where it is made"
            )
        shapes = {
            n: (a.known or None) if n in pending else getattr(a, "shape", None)
            for n, a in zip(operator.inputs, inputs)
        }
        found = (
            operator.ask(operator.shapes, shapes | operator.attributes | attributes)
            if pending
            else {}
        )
        return [a.resolve(found[n]) if n in pending else a for n, a in zip(operator.inputs, inputs)]


class Signature:
    """An operator with its attributes, on one context, for training or not."""

    def __init__(self, operator, context: Context, training: bool, *attributes: tuple[str, Any]):
        self.operator, self.context, self.training = operator, context, training
        self.attributes = operator.attributes | dict(attributes)
        self.states = [operator.inputs.index(n) for n in operator.states]
        # By the shapes and dtypes of inputs, checked in full at the first call: those of outputs.
        self.seen: dict[tuple, list] = {}
        self.plan = cache(partial(Plan, operator))
        self.run = partial(recorded, _function(self).apply)

    def forward(self, *tensors) -> tuple[torch.Tensor, ...]:
        """The outputs' tensors, from the inputs'."""
        context = self.context
        arrays = [None if t is None else borrow(t, context) for t in tensors]
        for i in self.states:
            arrays[i]._held = VIEWED
        operator = self.operator
        with inside(context, self.training):
            try:
                y = operator.forward(*arrays, **self.attributes)
            except Exception as error:
                self._noted(error, "forward", tensors)
                raise
        values = y if isinstance(y, (list, tuple)) else (y,)
        key = tuple([None if t is None else (t.shape, t.dtype) for t in tensors])
        if key not in self.seen:
            self._check(values, tensors)
            if len(self.seen) > 1024:
                self.seen.clear()
            self.seen[key] = _kinds(values)
        elif operator.shapes is not None and self.seen[key] != _kinds(values):
            self._check(values, tensors)
        return tuple([owned(a) for a in values])

    def _check(self, values: tuple, tensors) -> None:
        """Whether the outputs are what the operator says of itself."""
        operator = self.operator
        if len(values) != len(operator.outputs):
            raise ShapeError(
                f"operator {operator.name!r}: forward gave {len(values)} outputs\n"
                f"  expected {len(operator.outputs)}: {', '.join(operator.outputs)}"
            )
        for name, value in zip(operator.outputs, values):
            if not isinstance(value, NDArray):
                raise DTypeError(
                    f"operator {operator.name!r}: output {name} is {type(value).__name__}\n"
                    "  expected an NDArray"
                )
            self._check_kind(name, value._tensor, value._context, tensors[0])
        if operator.shapes is None:
            return
        shapes = {
            n: None if t is None else tuple(t.shape) for n, t in zip(operator.inputs, tensors)
        }
        declared = operator.ask(operator.shapes, shapes | self.attributes)
        real = shapes | {n: v.shape for n, v in zip(operator.outputs, values)}
        for name, shape in declared.items():
            if real[name] is not None and tuple(shape) != real[name]:
                raise self._noted(
                    ShapeError(
                        f"operator {operator.name!r}: {name} is {real[name]}\n"
                        f"  expected {tuple(shape)}, which its `shapes` gives"
                    ),
                    "forward",
                    tensors,
                )

    def _check_kind(self, name: str, y: torch.Tensor, context: Context, x: torch.Tensor) -> None:
        """An output has the dtype of the first input, among the floating ones, and its context."""
        floating = y.is_floating_point() and x.is_floating_point()
        if (floating and y.dtype is not x.dtype) or context != self.context:
            raise DTypeError(
                f"operator {self.operator.name!r}: output {name} is {describe(y)} on {context}\n"
                f"  expected {str(x.dtype).removeprefix('torch.')} on {self.context}, as the first "
                "input is"
            )

    def gradients(self, known: dict[str, torch.Tensor], wanted, again: bool) -> dict:
        """The gradients of the inputs `wanted`; `again` when they are to be differentiated."""
        operator, context = self.operator, self.context
        show = NDArray if again else borrow
        arrays = {n: t if t is None else show(t, context) for n, t in known.items()}
        arrays |= self.attributes
        with inside(context, self.training, again):
            try:
                if operator.backward is not None:
                    return _together(operator, operator.ask(operator.backward, arrays))
                return {n: operator.gradient(n, arrays) for n in wanted}
            except Exception as error:
                self._noted(error, "backward", known.values())
                raise

    def _noted(self, error: Exception, phase: str, tensors) -> Exception:
        shown = ", ".join(describe(t) for t in tensors if t is not None)
        return note(error, f"  in {phase} of operator {self.operator.name!r} ({shown})")


def _kinds(values) -> list:
    return [(a._tensor.shape, a._tensor.dtype) for a in values if isinstance(a, NDArray)]


def _together(operator, given: Any) -> dict:
    """What `backward` gave, when it is a dict by inputs."""
    if not isinstance(given, dict) or given.keys() - set(operator.inputs):
        shown = list(given) if isinstance(given, dict) else type(given).__name__
        raise DTypeError(
            f"operator {operator.name!r}: backward gave {shown}\n"
            f"  expected a dict of gradients by input, of {', '.join(operator.inputs)}"
        )
    return given


class Plan:
    """Which gradients are computed when some are asked for, and what is kept for them."""

    def __init__(self, operator, asked: tuple[bool, ...]):
        names = (*operator.inputs, *operator.outputs)
        self.wanted = {
            n: i for i, n in enumerate(operator.inputs) if asked[i] and n in operator.needs
        }
        # Asked for, and there is none: to be told, not to be zero in silence.
        inputs = [n for n in operator.inputs if n not in operator.states]
        self.missing = [
            n for n in inputs if asked[operator.inputs.index(n)] and n not in operator.needs
        ]
        needed = {n for w in self.wanted for n in operator.needs[w]}
        self.kept = [i for i, n in enumerate(names) if n in needed]
        self.known = [names[i] for i in self.kept] + [f"d{n}" for n in operator.outputs]


def _function(signature: Signature) -> type[torch.autograd.Function]:
    operator = signature.operator

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            results = signature.forward(*tensors)
            values = tensors + results
            ctx.plan = plan = signature.plan(ctx.needs_input_grad)
            ctx.save_for_backward(*[values[i] for i in plan.kept])
            ctx.kinds = [None if t is None else (t.shape, t.dtype) for t in tensors]
            return results

        @staticmethod
        def backward(ctx, *dys):
            again, plan, kinds = torch.is_grad_enabled(), ctx.plan, ctx.kinds
            if plan.missing:
                name = plan.missing[0]
                raise RecordingError(
                    f"operator {operator.name!r}: {name} asks for a gradient, but there is none\n"
                    f"  expected def d{name}(...), or {name}.detach() where it is passed"
                )
            known = dict(zip(plan.known, ctx.saved_tensors + dys))
            found = signature.gradients(known, plan.wanted, again)
            result = [None] * len(kinds)
            for name, i in plan.wanted.items():
                result[i] = _fitting(operator, name, found.get(name), kinds[i])
            return tuple(
                refuse_second(result, operator.name) if again and operator.is_loss else result
            )

    Function.__name__ = Function.__qualname__ = operator.__name__
    return Function


def _fitting(operator, name: str, gradient, kind: tuple) -> torch.Tensor:
    """A gradient's tensor, when it is what its input asks for."""
    if not isinstance(gradient, NDArray):
        raise DTypeError(
            f"operator {operator.name!r}: the gradient of {name} is {type(gradient).__name__}\n"
            "  expected an NDArray"
        )
    tensor = gradient._tensor
    shape, dtype = kind
    if tensor.shape != shape or tensor.dtype is not dtype:
        raise ShapeError(
            f"operator {operator.name!r}: the gradient of {name} is {describe(tensor)}\n"
            f"  expected {tuple(shape)} {str(dtype).removeprefix('torch.')}"
        )
    return tensor
