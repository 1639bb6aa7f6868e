"""From the name that an operator is registered under to its definition."""

from __future__ import annotations

from functools import lru_cache

from .. import operator
from .definition import Definition
from .prop import PropDefinition

__all__ = ["define"]


class OperatorDefinition(Definition):
    """An `Operator` of `layers.ops`, with its attributes.

    Its names, shapes and types are asked of the Prop that it is registered by, as of any other; it
    is called without one.
    """

    any_shape = True

    def __init__(self, op_type: str, prop_class: type, attributes: tuple):
        super().__init__(op_type, prop_class, attributes)
        self._operator = prop_class._layers_operator
        self.optional = self._operator.optional
        # By the inputs of the operator: their numbers in `Custom`, where states come last.
        numbers = tuple(range(len(self.inputs)))
        self._numbers, self._attributes = self._operator.bind_named(numbers, dict(attributes))

    def prepare(self, tensors, states, context, operators=None):
        given = [*tensors, *[array._state_tensor() for array in states]]
        tensors = [None if i is None else given[i] for i in self._numbers]
        return self._operator._adapter.call(context, self._attributes, tensors), tensors


def define(op_type: str, attributes: tuple) -> Definition:
    """The definition of a registered operator with attributes, which are pairs of text.

    Raises
    ------
    MXNetError
        No operator has this name.
    """
    return _define(op_type, operator.find(op_type), attributes)


@lru_cache(maxsize=1024)
def _define(op_type: str, prop_class: type, attributes: tuple) -> Definition:
    is_operator = hasattr(prop_class, "_layers_operator")
    return (OperatorDefinition if is_operator else PropDefinition)(op_type, prop_class, attributes)
