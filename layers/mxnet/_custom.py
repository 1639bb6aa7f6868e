"""`Custom` in a graph: an operator whose inputs, outputs and shapes a registered one tells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from . import _dtype, _op, operator
from ._function import call
from ._operator import asked, prepare
from .base import ArgumentError
from .context import Context
from .ndarray.ndarray import VIEWED, NDArray

__all__ = ["CUSTOM", "prepared"]


class _Custom(_op.Op):
    """Beside the table. Every attribute but `op_type` is the operator's, and reaches it as text."""

    any_size = False

    def __init__(self):
        super().__init__(_run, "Custom", traceable=False)
        self.variadic, self.inputs, self.attribute_names = False, (), []

    def owns(self, attribute: str) -> bool:
        return not attribute.startswith("__") and attribute != "num_args"

    def read(self, given: dict[str, Any]) -> dict[str, str]:
        if "op_type" not in given:
            raise ArgumentError("Custom: op_type is missing\n  expected a registered name")
        return {name: str(value) for name, value in given.items()}

    def places(self, attributes: dict, count: int) -> list[str]:
        return self.input_names(attributes)

    def input_names(self, attributes: dict, count: int = 0) -> list[str]:
        prop = _prop(attributes)
        return [*prop.list_arguments(), *prop.list_auxiliary_states()]

    def output_names(self, attributes: dict) -> list[str]:
        return list(_prop(attributes).list_outputs())

    def state_names(self, attributes: dict) -> tuple[str, ...]:
        return tuple(_prop(attributes).list_auxiliary_states())

    def infer_shapes(self, shapes: dict, attributes: dict) -> dict[str, tuple[int, ...]]:
        prop = _prop(attributes)
        names = prop.list_arguments()
        if not names or not shapes.get(names[0]):  # the first is the data, which tells the rest
            return {}
        told = _shapes(attributes, [list(shapes.get(n) or ()) for n in names])
        found = dict(zip(names, told[0]))
        found |= dict(zip(prop.list_auxiliary_states(), told[2] if len(told) > 2 else ()))
        return {n: tuple(s) for n, s in found.items() if len(s)}

    def one_type(self, attributes: dict) -> bool:
        return False

    def input_types(self, dtypes: dict, attributes: dict) -> dict[str, torch.dtype]:
        names = self.input_names(attributes)
        return dict.fromkeys(names, next(iter(dtypes.values()))) if dtypes else {}

    def output_types(self, dtypes: dict, attributes: dict) -> list[torch.dtype]:
        prop = _prop(attributes)
        if not dtypes.keys() >= set(prop.list_arguments()):
            return []
        given = [_dtype.to_numpy(dtypes[n]) for n in prop.list_arguments()]
        return [_dtype.to_torch(d) for d in prop.infer_type(given)[1]]

    def output_shapes(self, shapes: list[tuple], attributes: dict) -> list[tuple[int, ...]]:
        prop = _prop(attributes)
        count = len(prop.list_arguments())
        return [tuple(s) for s in _shapes(attributes, [list(s) for s in shapes[:count]])[1]]


def _shapes(attributes: dict[str, str], shapes: list) -> Any:
    what = f"Custom {attributes['op_type']!r}"
    return asked("infer_shape", what, str(shapes), _prop(attributes).infer_shape, shapes)


def _prop(attributes: dict[str, str]) -> operator.CustomOpProp:
    rest = tuple((k, v) for k, v in attributes.items() if k != "op_type")
    return _made(operator.find(attributes["op_type"]), rest)


@lru_cache(maxsize=1024)
def _made(prop_class: type, attributes: tuple) -> operator.CustomOpProp:
    return asked("__init__", f"Custom of {prop_class.__name__}", "", prop_class, **dict(attributes))


def _run(*data: torch.Tensor, context: Context, **attributes: str):
    """Call the operator on tensors; its states, the last of them, are written in place."""
    results = call(*prepared(data, attributes, context))
    return results if len(results) > 1 else results[0]


def prepared(data: Sequence[torch.Tensor], attributes: dict[str, str], context: Context):
    """The call of a node, and the tensors of its inputs, None for one that is left out."""
    op_type = attributes["op_type"]
    prop_class = operator.find(op_type)
    rest = tuple([item for item in attributes.items() if item[0] != "op_type"])
    if hasattr(prop_class, "_layers_operator"):
        written, places, given = _bound(prop_class, rest, len(data))
        tensors = [None if i is None else data[i] for i in places]
        return written._adapter.signature(context, given), tensors
    arrays = [NDArray(t, context) for t in data]
    for array in arrays[len(_made(prop_class, rest).list_arguments()) :]:
        array._held = VIEWED
    return prepare(op_type, prop_class, rest, arrays)


@lru_cache(maxsize=1024)
def _bound(prop_class: type, attributes: tuple, count: int) -> tuple:
    """An `Operator`, the number of the tensor for each input, and its attributes as they are."""
    written = prop_class._layers_operator
    places, given = written.bind_named(tuple(range(count)), dict(attributes))
    return written, places, given


CUSTOM = _Custom()
