"""An `Operator` of `layers.ops` on PyTorch: the `op` of its nodes, and its calls.

It is this engine's adapter: what the ways of writing operators ask of the engine is here, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..._errors import describe_value
from .. import _dtype, _kernels
from .._graph.kinds import warn
from .._sparse.call import warn_of_dense_copies
from .._state import State, this_thread
from ..autograd import is_inside_operator
from ..base import DTypeError, ShapeError
from ..context import Context, current_context
from ..ndarray._memory import LENT
from ..ndarray._origin import note_origin
from ..ndarray.ndarray import NDArray, from_numpy
from ..ndarray.register import Pending, expected_array
from ..operator import register_operator, registered_operators
from ..symbol import Symbol
from ..symbol.register import compose
from . import conversions, lookups
from .call import call
from .library import launch
from .operator_call import OperatorCall
from .user_op import UserOp

__all__ = ["OperatorOp"]

CALLS = 256  # of one operator, by attributes, that are kept


class OperatorOp(UserOp):
    """The op of an `Operator`.

    It makes an `OperatorCall` once for attributes, a context, and training or not. An input that is
    left out is an attribute of a node: ``no_b`` is True.
    """

    any_shape = True

    def __init__(self, operator):
        super().__init__(operator.name, operator)
        self.operator, self.outputs, self.optional = operator, operator.outputs, operator.optional
        self.pure = operator.pure
        self._count, self._has_states = len(operator.inputs), bool(operator.states)
        self._is_plain = not (operator.optional or operator.states)
        self._calls: dict[tuple, OperatorCall] = {}
        self._latest: OperatorCall | None = None  # of a call without attributes
        self._kernel = _kernels.find(operator)

    def forget(self) -> None:
        """Let go of the calls: the operator's formula has changed."""
        self._calls.clear()
        self._latest = None

    # Calls

    def __call__(self, args: tuple, kwargs: dict[str, Any]):
        if kwargs or len(args) != self._count:
            return self.call_bound(*self.operator.bind(args, kwargs))
        for a in args:
            if type(a) is not NDArray:
                return self.call_bound(*self.operator.bind(args, kwargs))
        return self._call_arrays(args, {})

    def call_bound(self, inputs: Sequence, attributes: dict[str, Any]):
        """Call it with all its inputs, None for one left out, and with parsed attributes."""
        if not all(a is None or type(a) is NDArray for a in inputs):
            if any(isinstance(a, Symbol) for a in inputs):
                return compose(self, *self.as_node(inputs, attributes), "custom")
            inputs = self._dense(self._arrays(inputs, attributes))
        return self._call_arrays(inputs, attributes)

    def _call_arrays(self, inputs: Sequence[NDArray | None], attributes: dict[str, Any]):
        tensors = [None if a is None else a._tensor for a in inputs]
        if State.precision is not None and not is_inside_operator():
            with torch.set_grad_enabled(this_thread.state.recording):
                tensors = State.precision.cast(self, tensors, attributes)
        if self._has_states:
            tensors = [
                self._state(n, a, t) for n, a, t in zip(self.operator.inputs, inputs, tensors)
            ]
        first = inputs[0] if inputs else None
        context = _context_of(inputs) if first is None else first._context
        wrap = NDArray if first is None else first._array_class
        results = call(self.call(context, attributes, tensors), tensors)
        if len(results) == 1:
            result = wrap(results[0], context, LENT)
        else:
            result = [wrap(t, context, LENT) for t in results]
        if this_thread.state.recording:
            if not self._is_plain:
                inputs, attributes = self.as_node(inputs, attributes)
            note_origin(result, self, attributes, inputs)
        return result

    def call(
        self, context: Context, attributes: dict[str, Any], tensors: Sequence[torch.Tensor | None]
    ) -> OperatorCall:
        """Return the call for these tensors: that of the formula, or of a kernel that fits."""
        formula, kernel = self._latest, self._kernel
        if (
            torch.compiler.is_compiling()
            or attributes
            or formula is None
            or formula.context is not context
            or formula.training is not this_thread.state.training
        ):
            formula = self._formula(context, attributes)
        if kernel is None or not _kernels.are_on():
            return formula
        return formula.by_kernel(kernel) if kernel.fits(*tensors, **formula.attributes) else formula

    def _formula(self, context: Context, attributes: dict[str, Any]) -> OperatorCall:
        training = this_thread.state.training
        if torch.compiler.is_compiling():  # inside another operator
            return OperatorCall(self.operator, context, training, attributes).as_traced()
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

    def _state(self, name: str, array: NDArray, tensor: torch.Tensor) -> torch.Tensor:
        return array._state_tensor() if name in self.operator.states else tensor

    def _arrays(self, inputs: Sequence, attributes: dict) -> list:
        """Return the inputs, when not all are arrays: those of unknown shape are made."""
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
        """Return dense copies of sparse inputs, but for states: these are written into."""
        operator = self.operator
        named = [*zip(operator.inputs, inputs)]
        sparse = {n for n, a in named if a is not None and a._is_sparse} - {*operator.states}
        if sparse:
            warn_of_dense_copies(operator.name, tuple([a.stype for a in inputs if a is not None]))
        return [a._as_dense() if n in sparse else a for n, a in named]

    # Nodes

    def as_node(self, inputs: Sequence, attributes: dict[str, Any]) -> tuple[tuple, dict]:
        """Return the inputs and attributes of a call in the form that nodes have."""
        named = zip(self.operator.inputs, inputs)
        omitted = {f"no_{n}": True for n, a in named if a is None}
        if not (omitted or self._has_states):  # nearly always
            return tuple(inputs), attributes
        by_name = dict(zip(self.operator.inputs, inputs))
        given = [by_name[n] for n in self.operator.custom_order if by_name[n] is not None]
        return tuple(given), attributes | omitted

    def read(self, given: dict[str, Any]) -> dict[str, Any]:
        return self.operator.read_node({n: v for n, v in given.items() if n != "op_type"})

    def as_texts(self, given: dict[str, Any], attributes: dict[str, Any]) -> dict[str, str]:
        values = self._values(attributes)
        omitted = {n: str(v) for n, v in attributes.items() if n not in values}
        return {"op_type": self.op_type, **self.operator.as_text(values), **omitted}

    def input_parts(self, attributes):
        operator = self.operator
        if self._is_plain:
            return operator.inputs, ()
        names = [n for n in operator.custom_order if not attributes.get(f"no_{n}")]
        return [n for n in names if n not in operator.states], [
            n for n in names if n in operator.states
        ]

    def prepare(self, tensors, attributes, context, made=None):
        if not self._is_plain:
            given = dict(zip(self.input_names(attributes), tensors))
            tensors = [given.get(n) for n in self.operator.inputs]
            attributes = self._values(attributes)
        return self.call(context, attributes, tensors), tensors

    def call_arrays(self, arrays, attributes, context):
        given = dict(zip(self.input_names(attributes), arrays))
        inputs = [given.get(n) for n in self.operator.inputs]
        result = self.call_bound(inputs, self._values(attributes))
        return result if isinstance(result, list) else [result]

    def _values(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of the operator, among those of a node."""
        if self._is_plain:
            return attributes
        return {n: v for n, v in attributes.items() if n in self.operator.attributes}

    def _ask_definition(self, phase, where, attributes, known):
        names, values = self.input_parts(attributes), self._values(attributes)
        infer = getattr(self.operator, phase)
        return self._ask(phase, where, infer, *names, known, values)

    def __reduce__(self):
        return _of, (self.operator,)

    # What the ways of writing operators in `layers.ops` ask of the engine.

    register = staticmethod(register_operator)
    registered = staticmethod(registered_operators)

    @staticmethod
    def warn_again() -> None:
        """Show log messages again that are shown once, such as that an operator is not compiled."""
        warn.cache_clear()

    @staticmethod
    def view(array: NDArray) -> np.ndarray:
        """Return the values, not to be written."""
        tensor = array._tensor
        if not tensor.is_cpu or tensor.requires_grad or tensor.dtype is torch.bfloat16:
            return array.asnumpy()
        values = tensor.numpy()
        values.setflags(write=False)
        return values

    @staticmethod
    def adopt(values: np.ndarray, context: Context) -> NDArray:
        """Return an array in the memory of `values`, which nobody else has."""
        tensor = torch.from_numpy(values)
        on_gpu = context.device_type == "gpu"
        return NDArray(tensor.to(context.device) if on_gpu else tensor, context)

    @staticmethod
    def array(values: np.ndarray, context: Context) -> NDArray:
        """Return an array of `values`, in memory of its own."""
        if torch.compiler.is_compiling() or values.dtype not in _dtype.NATIVE:
            return from_numpy(values, zero_copy=False).as_in_context(context)
        return OperatorOp.adopt(values.copy(), context)

    @staticmethod
    def in_plain_layout(F, operator, x, *inputs, **attributes):
        """Call an operator, which reads PyTorch's arrays right in whatever layout."""
        return operator(x, *inputs, **attributes)

    @staticmethod
    def tensors(who: str):
        """Return the conversions between arrays and tensors, for an operator written in PyTorch."""
        return conversions

    launch = staticmethod(launch)
    refuses_classes = True
    class_numbers = staticmethod(lookups.class_numbers)
    row_numbers = staticmethod(lookups.row_numbers)
    bag_numbers = staticmethod(lookups.bag_numbers)
    add_rows = staticmethod(lookups.add_rows)


def _of(operator) -> OperatorOp:
    return operator._adapter


def _context_of(inputs: Sequence) -> Context:
    """Return the context of the first array."""
    for array in inputs:
        if array is not None:
            return array._context
    return current_context()


def _exact(value: Any) -> Any:
    """Return a key of an attribute's value: 1, 1.0 and True are equal, and so are 0.0 and -0.0."""
    cls = type(value)
    if cls is tuple:
        return tuple([_exact(v) for v in value])
    return cls, repr(value) if cls is float else value
