"""An `Operator` of `layers.ops`, called on PyTorch.

It has an `OperatorCall` for each choice of attributes, context and mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..._errors import describe_value, no_array, no_gradients, wrong_gradient
from .. import _dtype
from .._draws import generator_states
from .._run.kinds import warn
from .._sparse.call import warn_of_dense_copies
from .._table import precision, registry
from .._tensor import describe
from ..autograd import is_inside_operator, state
from ..base import DTypeError, MXNetError, RecordingError, ShapeError
from ..context import Context, current_context
from ..ndarray._memory import BORROWED, LENT, VIEWED
from ..ndarray._origin import note_origin
from ..ndarray.ndarray import NDArray, from_numpy
from ..ndarray.register import Pending, expected_array
from ..operator import OpType
from ..symbol import Symbol
from ..symbol.register import compose
from . import conversions, fused, native
from .call import CustomCall, call, take_tensor
from .library import launch
from .node import CUSTOM

__all__ = ["Adapter"]


CALLS = 256  # of one operator, by attributes, that are kept


class Adapter:
    """Calls an operator. An `OperatorCall` is made once for attributes, a context, and training."""

    def __init__(self, operator):
        self.operator = operator
        self._calls: dict[tuple, OperatorCall] = {}
        self._latest: OperatorCall | None = None  # of a call without attributes

    @staticmethod
    def warn_again() -> None:
        """Have the log say again what it says only once, such as what is not compiled."""
        warn.cache_clear()

    def __call__(self, inputs: list, attributes: dict[str, Any]):
        try:
            tensors = [None if a is None else a._tensor for a in inputs]
        except (AttributeError, MXNetError):
            tensors = None  # and leave the handler, whose error is not the cause of what follows
        if tensors is None and any(isinstance(a, Symbol) for a in inputs):
            return self._node(inputs, attributes)
        if tensors is None:
            inputs = self._dense(self._arrays(inputs, attributes))
            tensors = [None if a is None else a._tensor for a in inputs]
        if precision.in_force is not None and not is_inside_operator():
            with torch.set_grad_enabled(state.recording):
                given = {"op_type": self.operator}
                tensors = precision.in_force.cast(CUSTOM, tensors, given)
        if self.operator.states:
            tensors = [
                self._state(n, a, t) for n, a, t in zip(self.operator.inputs, inputs, tensors)
            ]
        first = inputs[0] if inputs else None
        context = _context_of(inputs) if first is None else first._context
        results = call(self.call(context, attributes), tensors)
        if len(results) == 1:
            result = NDArray(results[0], context, LENT)
        else:
            result = [NDArray(t, context, LENT) for t in results]
        if state.recording and hasattr(self.operator, "prop"):
            note_origin(result, self, attributes, inputs)
        return result

    @staticmethod
    def view(array: NDArray) -> np.ndarray:
        """The values, not to be written."""
        tensor = array._tensor
        if not tensor.is_cpu or tensor.requires_grad or tensor.dtype is torch.bfloat16:
            return array.asnumpy()
        values = tensor.numpy()
        values.setflags(write=False)
        return values

    @staticmethod
    def adopt(values: np.ndarray, context: Context) -> NDArray:
        """An array in the memory of `values`, which nobody else has."""
        tensor = torch.from_numpy(values)
        on_gpu = context.device_type == "gpu"
        return NDArray(tensor.to(context.device) if on_gpu else tensor, context)

    @staticmethod
    def array(values: np.ndarray, context: Context) -> NDArray:
        """An array of `values`, in memory of its own."""
        if torch.compiler.is_compiling() or values.dtype not in _dtype.NATIVE:
            return from_numpy(values, zero_copy=False).as_in_context(context)
        return Adapter.adopt(values.copy(), context)

    @staticmethod
    def in_plain_layout(F, x):
        """x as it is: any operator reads PyTorch's arrays right, in whatever layout."""
        return x

    @staticmethod
    def tensors(who: str):
        """The conversions between arrays and tensors, for an operator written in PyTorch."""
        return conversions

    natives = frozenset(native.NATIVE)
    launch = staticmethod(launch)
    fused = staticmethod(fused.fused)

    def call(self, context: Context, attributes: dict[str, Any]) -> OperatorCall:
        """What is called with arrays of a context."""
        if torch.compiler.is_compiling():  # inside another operator
            return OperatorCall(self.operator, context, state.training, attributes).as_traced()
        training, latest = state.training, self._latest
        if not attributes and latest is not None:
            if latest.context is context and latest.training is training:
                return latest
        key = context.device_type, context.device_id, training
        if attributes:
            key += tuple(attributes), *map(_exact, attributes.values())
        made = self._calls.get(key)
        if made is None:
            if len(self._calls) >= CALLS:  # an attribute may change in every call
                self._calls.clear()
            made = OperatorCall(self.operator, context, training, attributes)
            self._calls[key] = made
        if not attributes:
            self._latest = made
        return made

    def _node(self, inputs: list, attributes: dict[str, Any]) -> Symbol:
        """The operator in a graph."""
        given, attributes = self.as_custom(inputs, attributes)
        return compose(CUSTOM, tuple(given), attributes, "custom")

    def as_custom(self, inputs: list, attributes: dict[str, Any]) -> tuple[list, dict]:
        """The inputs and attributes of a call as those of ``Custom(..., op_type=name)``."""
        operator = self.operator
        text = operator.as_text(attributes)
        if operator.optional or operator.states:
            by_name = dict(zip(operator.inputs, inputs))
            text |= {f"no_{n}": "True" for n, a in by_name.items() if a is None}
            inputs = [by_name[n] for n in operator.custom_order if by_name[n] is not None]
        return inputs, text | {"op_type": OpType(operator.name, operator.prop)}

    def _state(self, name: str, array: NDArray, tensor: torch.Tensor) -> torch.Tensor:
        return array._state_tensor() if name in self.operator.states else tensor

    def _arrays(self, inputs: list, attributes: dict) -> list:
        """The inputs, when not all are arrays: those of unknown shape made, others refused."""
        operator = self.operator
        operator.expect(tuple(inputs))
        for name, value in zip(operator.inputs, inputs):
            if not (value is None or isinstance(value, (NDArray, Pending))):
                raise DTypeError(
                    f"operator {operator.name!r}: {name} is {describe_value(value)}\n"
                    f"  expected {expected_array(value)}"
                )
        pending = {n for n, a in zip(operator.inputs, inputs) if isinstance(a, Pending)}
        shapes = {
            n: (a.known or None) if n in pending else getattr(a, "shape", None)
            for n, a in zip(operator.inputs, inputs)
        }
        found = (
            operator.ask_shapes(shapes | operator.attributes | attributes)
            if pending and operator.shapes is not None
            else {}
        )
        if unknown := sorted(pending - found.keys()):
            name = unknown[0]
            raise ShapeError(
                f"operator {operator.name!r}: the shape of {name} is not known; "
                f"{name} is {inputs[operator.inputs.index(name)]}\n"
                "  expected `def shapes(...)` in the operator, or the shape where it is made"
            )
        return [a.resolve(found[n]) if n in pending else a for n, a in zip(operator.inputs, inputs)]

    def _dense(self, inputs: list) -> list:
        """The inputs with dense copies of sparse ones, but for states: these are written into."""
        operator = self.operator
        named = [*zip(operator.inputs, inputs)]
        sparse = {n for n, a in named if a is not None and a._is_sparse} - {*operator.states}
        if sparse:
            warn_of_dense_copies(operator, tuple([a.stype for a in inputs if a is not None]))
        return [a._as_dense() if n in sparse else a for n, a in named]


def _context_of(inputs: list) -> Context:
    """That of the first array."""
    for array in inputs:
        if array is not None:
            return array._context
    return current_context()


def _exact(value: Any) -> Any:
    """A key of an attribute's value: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    cls = type(value)
    if cls is tuple:
        return tuple([_exact(v) for v in value])
    return cls, repr(value) if cls is float else value


class OperatorCall(CustomCall):
    """The call of an operator with its attributes, on one context, for training or not.

    It keeps nothing of the arrays that it is called with: one serves all calls of its kind.
    """

    def __init__(self, operator, context: Context, training: bool, attributes: dict[str, Any]):
        self.operator, self.context, self.training = operator, context, training
        self.name, self.what = operator.name, f"operator {operator.name!r}"
        self.twice = not (operator.is_loss or operator.not_kept)
        if operator.not_kept:
            self.reason = _without_second(operator, *operator.not_kept)
        self.visible = len(operator.outputs) if operator.saves else None
        self.inputs, self.outputs = operator.inputs, operator.outputs
        self.attributes = operator.attributes | attributes
        self.opaque, self.pure = operator.opaque, operator.pure
        self.states = [operator.inputs.index(n) for n in operator.states]
        # By the shapes and dtypes of inputs: those of the outputs, which were checked.
        self._seen: dict[tuple, list] = {}
        self.has_native = operator.has_native
        self._plans: dict[tuple[bool, ...], GradientPlan] = {}

    def forward(self, tensors, specs) -> tuple[torch.Tensor, ...]:
        context = self.context
        arrays = [
            None if t is None else NDArray(t.detach() if t.requires_grad else t, context, BORROWED)
            for t in tensors
        ]
        for i in self.states:
            arrays[i]._held = VIEWED
        y = self.run("forward", tensors, self.operator.forward, arrays, self.attributes)
        if type(y) is NDArray:  # nearly always
            found = y._tensor.shape, y._tensor.dtype
            if not self.traced and self._seen.get(specs) != found:  # traced, sizes may be open
                self._check_once(specs, found, (y,), tensors)
            return (take_tensor(y),)
        values = y if isinstance(y, (list, tuple)) else (y,)
        if not self.traced:  # where it is, it was checked before
            found = [(a._tensor.shape, a._tensor.dtype) for a in values if isinstance(a, NDArray)]
            if self._seen.get(specs) != found:
                self._check_once(specs, found, values, tensors)
        return tuple([take_tensor(a) for a in values])

    def _check_once(self, specs, found, values: Sequence, tensors: tuple) -> None:
        """Check outputs for inputs of these shapes and dtypes, and keep what was found."""
        self._check(values, tensors)
        if len(self._seen) > 1024:
            self._seen.clear()
        self._seen[specs] = found

    def native(self, tensors):
        function = native.NATIVE.get(self.operator.native)
        if function is None:
            return None
        if (wrap := registry.wrap) is not None and not self.traced:
            function = wrap("Custom Operator", self.name, function)
        return function(*tensors, **self.attributes)

    def saved_for_backward(self, inputs, outputs, asked) -> list:
        saved, values = self._plan(asked).saved, inputs + outputs
        return [values[i] for i in saved]

    def _plan(self, asked: tuple[bool, ...]) -> GradientPlan:
        plan = self._plans.get(asked)
        if plan is None:
            plan = self._plans[asked] = GradientPlan(self.operator, asked)
        return plan

    def backward(self, saved, dys, specs, asked) -> tuple:
        operator, plan = self.operator, self._plan(asked)
        if plan.missing:
            name = plan.missing[0]
            raise RecordingError(
                f"operator {operator.name!r}: {name} asks for a gradient, but there is none\n"
                f"  expected {operator.gradient_form(name)}, or {name}.detach() where it is passed"
            )
        tensors = saved + dys
        found = self.run("backward", tensors, self._gradients, (tensors, plan), {})
        gradients = [None] * len(specs)
        for name, i in plan.wanted.items():
            if name not in found:
                raise DTypeError(
                    f"operator {operator.name!r}: backward gave no gradient of {name}\n"
                    f"  expected those of {', '.join(plan.wanted)}; it gave {', '.join(found)}"
                )
            gradients[i] = _expect_spec(self.what, name, found[name], specs[i])
        return tuple(gradients)

    def _gradients(self, tensors: tuple, plan: GradientPlan) -> dict[str, NDArray]:
        operator, context = self.operator, self.context
        arrays = self.attributes.copy()
        # A gradient that is itself to be differentiated is computed with the tensors as they are.
        again = torch.is_grad_enabled()
        held = None if again else BORROWED
        for name, t in zip(plan.known, tensors):
            if t is not None:
                t = NDArray(t if again or not t.requires_grad else t.detach(), context, held)
            arrays[name] = t
        if again and plan.saves and not self.traced:
            arrays |= self._saves_again(arrays)
        if operator.backward is not None:
            names = next(iter(operator.needs.values()), ())
            return _expect_gradients(operator, operator.backward(**{n: arrays[n] for n in names}))
        return {
            name: rule(**{n: arrays[n] for n in needs})
            for name, (rule, needs) in plan.rules.items()
        }

    def _saves_again(self, arrays: dict[str, Any]) -> dict[str, NDArray]:
        """What forward saves, computed from the inputs again, in the graph of autograd.

        What was saved is a constant, through which a second derivative would be wrong.
        """
        operator = self.operator
        before = generator_states(self.context)
        y = operator.forward(*[arrays[n] for n in operator.inputs], **self.attributes)
        after = generator_states(self.context)
        if not all(map(torch.equal, before, after)):
            raise RecordingError(
                f"{self.what} has no second derivative: forward draws random numbers, and "
                f"{', '.join(operator.saves)} would be computed of others\n"
                "  expected random numbers that are an input"
            )
        return dict(zip(operator.saves, y[len(operator.outputs) :]))

    def _check(self, values: tuple, tensors) -> None:
        """Whether the outputs are what the operator says of itself."""
        operator = self.operator
        if len(values) != len(operator.results):
            raise ShapeError(operator.wrong_count(len(values)))
        for name, value in zip(operator.saves, values[len(operator.outputs) :]):
            if not isinstance(value, NDArray):
                raise DTypeError(no_array(f"{self.what}: {name}, which it saves,", value))
        declared = self._declared_types(tensors)
        first = next((t for t in tensors if t is not None), None)
        for name, value in zip(operator.outputs, values):
            if not isinstance(value, NDArray):
                like = "".join(operator.inputs[:1])
                raise DTypeError(no_array(f"{self.what}: output {name}", value, like))
            if name in declared:
                self._check_type(name, value, declared[name])
            elif first is not None:
                self._check_like_input(name, value._tensor, value._context, first)
        if operator.shapes is None:
            return
        shapes = {
            n: None if t is None else tuple(t.shape) for n, t in zip(operator.inputs, tensors)
        }
        declared = operator.ask_shapes(shapes | self.attributes)
        real = shapes | {n: v.shape for n, v in zip(operator.outputs, values)}
        for name, shape in declared.items():
            if real[name] is not None and tuple(shape) != real[name]:
                raise ShapeError(
                    f"operator {operator.name!r}: {name} is {real[name]}\n"
                    f"  expected {tuple(shape)}, which its `{operator.shapes.__name__}` gives\n"
                    f"  in forward of {self.what} ({self.shown(tensors)})"
                )

    def _declared_types(self, tensors) -> dict[str, Any]:
        """The dtypes that the operator declares, by output."""
        if self.operator.types is None:
            return {}
        names = zip(self.operator.inputs, tensors)
        given = {n: None if t is None else _dtype.name(t.dtype) for n, t in names}
        return self.operator.ask(self.operator.types, given | self.attributes)

    def _check_type(self, name: str, value: NDArray, declared: Any) -> None:
        dtype = _dtype.name(_dtype.to_torch(declared))
        if _dtype.name(value._tensor.dtype) != dtype or value._context != self.context:
            raise DTypeError(
                f"operator {self.operator.name!r}: output {name} is {describe(value._tensor)} on "
                f"{value._context}\n  expected {dtype} on {self.context}, which its `types` gives"
            )

    def _check_like_input(
        self, name: str, y: torch.Tensor, context: Context, x: torch.Tensor
    ) -> None:
        """An output has the dtype of the first input, among the floating ones, and its context."""
        floating = y.is_floating_point() and x.is_floating_point()
        if (floating and y.dtype is not x.dtype) or context != self.context:
            raise DTypeError(
                f"operator {self.operator.name!r}: output {name} is {describe(y)} on {context}\n"
                f"  expected {_dtype.name(x.dtype)} on {self.context}, as the first "
                f"input is, such as nd.array(..., dtype={self.inputs[0]}.dtype)"
            )


def _expect_gradients(operator, given: Any) -> dict:
    """What `backward` gave, if it is a dict of gradients by input."""
    if not isinstance(given, dict) or given.keys() - set(operator.inputs):
        raise DTypeError(no_gradients(operator, given))
    return given


def _without_second(operator, gradient: str, value: str, x: str) -> str:
    """Why a saved value cannot be computed again for a second derivative."""
    if x in operator.states:
        why, expected = f"forward has changed {x} since", "an operator without states"
    else:
        why, expected = (
            f"{x} is not kept",
            f"{x} among the parameters of the gradient of {gradient}",
        )
    return (
        f": the gradient of {gradient} takes {value}, which would have to be computed again, and "
        f"{why}\n  expected {expected}"
    )


class GradientPlan:
    """Which gradients are computed when some are asked for, and what has to be saved for them."""

    def __init__(self, operator, asked: tuple[bool, ...]):
        names = (*operator.inputs, *operator.results)
        self.wanted = {
            n: i for i, n in enumerate(operator.inputs) if asked[i] and n in operator.needs
        }
        # Gradients that are asked for and do not exist: an error, and not zeros in silence.
        inputs = [n for n in operator.inputs if n not in operator.states]
        self.missing = [
            n for n in inputs if asked[operator.inputs.index(n)] and n not in operator.needs
        ]
        needed = {n for w in self.wanted for n in operator.needs[w]}
        rules = operator.gradients
        self.rules = {n: (rules[n], operator.needs[n]) for n in self.wanted if n in rules}
        self.saved = [i for i, n in enumerate(names) if n in needed]
        self.saves = needed & {*operator.saves}
        self.known = [names[i] for i in self.saved] + [f"d{n}" for n in operator.outputs]


def _expect_spec(who: str, name: str, gradient, spec: tuple) -> torch.Tensor:
    """A gradient's tensor, if it is of the shape and dtype of its input."""
    if not isinstance(gradient, NDArray):
        raise DTypeError(no_array(f"{who}: the gradient of {name}", gradient, name))
    tensor, (shape, dtype) = gradient._tensor, spec
    if tensor.shape != shape or tensor.dtype is not dtype:
        found = tensor.shape, _dtype.name(tensor.dtype)
        raise ShapeError(wrong_gradient(who, name, found, (shape, _dtype.name(dtype))))
    if gradient._held is None:
        gradient._held = LENT  # the operator may have kept it, and write into it
    return tensor
