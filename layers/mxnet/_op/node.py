"""`Custom` in a graph: an operator whose inputs, outputs and shapes a registered one tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from .. import operator
from .._table import registry
from ..base import ArgumentError
from ..context import Context
from ..ndarray.ndarray import VIEWED, NDArray
from .call import CustomCall, call
from .definition import Definition
from .registered import define

__all__ = ["CUSTOM", "functions_with_memory", "prepared"]


OWN = "."  # before the names of its attributes: `_run` is given `context` and others by name, too


class _Custom(registry.Op):
    """Beside the table. Every attribute but `op_type` is the operator's, and reaches it as text."""

    any_size, own = False, True

    def __init__(self):
        super().__init__(_run, "Custom", traceable=False)
        self.variadic, self.inputs, self.attribute_names = False, (), []

    def __reduce__(self) -> str:
        return "CUSTOM"  # there is one

    def owns(self, attribute: str) -> bool:
        return not attribute.startswith("__")

    def read(self, given: dict[str, Any]) -> dict[str, str]:
        if "op_type" not in given:
            raise ArgumentError("Custom: op_type is missing\n  expected a registered name")
        op_type = given["op_type"]
        if not isinstance(op_type, operator.OpType):
            op_type = operator.OpType(op_type, operator.find(str(op_type)))
        own = {OWN + name: str(value) for name, value in given.items() if name != "op_type"}
        return own | {"op_type": op_type}

    def places(self, attributes: dict, count: int) -> list[str]:
        return self.input_names(attributes)

    def input_names(self, attributes: dict, count: int = 0) -> list[str]:
        return list(_definition(attributes).inputs)

    def shown_outputs(self, attributes: dict) -> Sequence[str]:
        return _definition(attributes).outputs

    def state_names(self, attributes: dict) -> tuple[str, ...]:
        return tuple(_definition(attributes).states)

    def infer_shapes(self, shapes: dict, attributes: dict) -> dict[str, tuple[int, ...]]:
        definition = _definition(attributes)
        names = definition.arguments
        if not names or not shapes.get(names[0]):  # the first is the data, which tells the rest
            return {}
        inputs, _, states = definition.shapes([list(shapes.get(n) or ()) for n in names])
        return {n: s for n, s in zip(definition.inputs, [*inputs, *states]) if s}

    def one_type(self, attributes: dict) -> bool:
        return False

    def input_types(self, dtypes: dict, attributes: dict) -> dict[str, torch.dtype]:
        definition = _definition(attributes)
        known = [dtypes[name] for name in definition.arguments if name in dtypes]
        if not known or dtypes.keys() >= {*definition.inputs}:
            return {}
        given = [dtypes.get(name, known[0]) for name in definition.arguments]
        inputs, _, states = definition.types(given)
        return dict(zip(definition.inputs, [*inputs, *states]))

    def output_types(self, dtypes: dict, attributes: dict) -> list[torch.dtype]:
        definition = _definition(attributes)
        names = definition.arguments
        known = dtypes.keys() >= {*names}
        return definition.types([dtypes[n] for n in names])[1] if known else []

    def output_shapes(self, shapes: list[tuple], attributes: dict) -> list[tuple[int, ...]]:
        definition = _definition(attributes)
        return definition.shapes([list(s) for s in shapes[: len(definition.arguments)]])[1]

    def call_stored(self, arrays: list, attributes: dict, context: Context) -> Any:
        """The output, or a list of them, for arrays of which some are sparse.

        None where the operator does not say which storage types it takes.
        """
        definition = _definition(attributes)
        if not definition.stores:
            return None
        from .sparse_call import call as call_of_arrays

        count = len(definition.arguments)
        outputs = call_of_arrays(definition, arrays[:count], arrays[count:], context)
        return outputs if len(outputs) > 1 else outputs[0]

    def any_shape(self, attributes: dict) -> bool:
        """Whether one call of the operator serves inputs of any shapes."""
        return _definition(attributes).any_shape


def _definition(attributes: dict[str, str]) -> Definition:
    own = [(n.removeprefix(OWN), text) for n, text in attributes.items() if n.startswith(OWN)]
    return define(attributes["op_type"], tuple(own))


def functions_with_memory(nodes: list) -> dict:
    """By node of a custom operator, a function that makes its `CustomOp` once, and keeps it."""
    return {n: partial(_call, {}) for n in nodes if n.op is CUSTOM}


def _run(*data: torch.Tensor, context: Context, **attributes: str):
    """Call the operator on tensors; its states, the last of them, are written in place."""
    return _call(None, *data, context=context, **attributes)


def _call(operators: dict | None, /, *data: torch.Tensor, context: Context, **attributes: str):
    results = call(*prepared(data, attributes, context, operators))
    return results if len(results) > 1 else results[0]


def prepared(
    data: Sequence[torch.Tensor],
    attributes: dict[str, str],
    context: Context,
    operators: dict | None = None,
) -> tuple[CustomCall, list[torch.Tensor | None]]:
    """The call of a node, and the tensors of its inputs, None for one that is left out.

    In `operators` a `CustomOp` is kept for the next call; else each call has one of its own.
    """
    definition = _definition(attributes)
    count = len(definition.arguments)
    states = [NDArray(tensor, context) for tensor in data[count:]]
    for array in states:
        array._held = VIEWED
    return definition.prepare(list(data[:count]), states, context, operators)


CUSTOM = _Custom()
