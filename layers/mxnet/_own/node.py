"""`Custom` in a graph: an operator whose inputs, outputs and shapes a registered one tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import torch

from .. import operator
from .._table import registry
from ..base import ArgumentError
from ..context import Context
from ..ndarray.ndarray import VIEWED, NDArray
from .call import call
from .declared import Declared
from .prop import declared, prepare

__all__ = ["CUSTOM", "input_numbers", "lasting", "prepared"]


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
        return {name: str(value) for name, value in given.items()} | {"op_type": op_type}

    def places(self, attributes: dict, count: int) -> list[str]:
        return self.input_names(attributes)

    def input_names(self, attributes: dict, count: int = 0) -> list[str]:
        return list(_declared(attributes).inputs)

    def output_names(self, attributes: dict) -> list[str]:
        return list(_declared(attributes).outputs)

    def state_names(self, attributes: dict) -> tuple[str, ...]:
        return tuple(_declared(attributes).states)

    def infer_shapes(self, shapes: dict, attributes: dict) -> dict[str, tuple[int, ...]]:
        told = _declared(attributes)
        names = told.arguments
        if not names or not shapes.get(names[0]):  # the first is the data, which tells the rest
            return {}
        inputs, _, states = told.shapes([list(shapes.get(n) or ()) for n in names])
        return {n: s for n, s in zip(told.inputs, [*inputs, *states]) if s}

    def one_type(self, attributes: dict) -> bool:
        return False

    def input_types(self, dtypes: dict, attributes: dict) -> dict[str, torch.dtype]:
        names = self.input_names(attributes)
        return dict.fromkeys(names, next(iter(dtypes.values()))) if dtypes else {}

    def output_types(self, dtypes: dict, attributes: dict) -> list[torch.dtype]:
        told = _declared(attributes)
        known = dtypes.keys() >= {*told.arguments}
        return told.types([dtypes[n] for n in told.arguments])[1] if known else []

    def output_shapes(self, shapes: list[tuple], attributes: dict) -> list[tuple[int, ...]]:
        told = _declared(attributes)
        return told.shapes([list(s) for s in shapes[: len(told.arguments)]])[1]


def _declared(attributes: dict[str, str]) -> Declared:
    op_type = attributes["op_type"]
    return declared(op_type, operator.find(op_type), _rest(attributes))


def _rest(attributes: dict[str, str]) -> tuple:
    return tuple([item for item in attributes.items() if item[0] != "op_type"])


def lasting(nodes: list) -> dict:
    """By node, a function that makes an operator once, and keeps it with what it stores."""
    return {n: partial(_keep, {}) for n in nodes if n.op is CUSTOM}


def _run(*data: torch.Tensor, context: Context, **attributes: str):
    """Call the operator on tensors; its states, the last of them, are written in place."""
    return _keep(None, *data, context=context, **attributes)


def _keep(made: dict | None, *data: torch.Tensor, context: Context, **attributes: str):
    results = call(*prepared(data, attributes, context, made))
    return results if len(results) > 1 else results[0]


def prepared(
    data: Sequence[torch.Tensor],
    attributes: dict[str, str],
    context: Context,
    made: dict | None = None,
):
    """The call of a node, and the tensors of its inputs, None for one that is left out.

    In `made` a `CustomOp` is kept for the next call; else each call has one of its own.
    """
    op_type = attributes["op_type"]
    prop_class = operator.find(op_type)
    rest = _rest(attributes)
    if hasattr(prop_class, "_layers_operator"):
        written, places, given = _bound(prop_class, rest, len(data))
        tensors = [None if i is None else data[i] for i in places]
        return written._adapter.signature(context, given), tensors
    arrays = [NDArray(t, context) for t in data]
    for array in arrays[len(declared(op_type, prop_class, rest).arguments) :]:
        array._held = VIEWED
    return prepare(op_type, prop_class, rest, arrays, context, made)


def input_numbers(attributes: dict[str, str], count: int) -> tuple[int | None, ...]:
    """Which of the `count` inputs of a node is each input of its operator; None is left out."""
    prop_class = operator.find(attributes["op_type"])
    if hasattr(prop_class, "_layers_operator"):
        return tuple(_bound(prop_class, _rest(attributes), count)[1])
    return tuple(range(count))


@lru_cache(maxsize=1024)
def _bound(prop_class: type, attributes: tuple, count: int) -> tuple:
    """An `Operator`, the number of the tensor for each input, and its attributes as they are."""
    written = prop_class._layers_operator
    places, given = written.bind_named(tuple(range(count)), dict(attributes))
    return written, places, given


CUSTOM = _Custom()
