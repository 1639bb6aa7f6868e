"""The shapes that rules tell are those that the operators' functions give, or refuse."""

from __future__ import annotations

import os
from importlib import import_module

import cases  # noqa: F401 - fills CASES
import pytest
from case import CASES

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    registry = import_module("layers.mxnet._table.registry")
    import_module("layers.mxnet.ndarray")  # fills the table
    RULED = {i: c for i, c in CASES.items() if registry.get(c.operator).shape_rule}
else:
    RULED = {}


REFUSED = LookupError, NotImplementedError, RuntimeError, TypeError, ValueError
# Rules that tell shapes of inputs which the function refuses when it is called.
LAX = "boxes deformable multibox proposals quantize quantized regions"


def near(shapes):
    """The shapes, and those with one of them longer, of fewer axes, of more, or swapped."""
    yield shapes
    for i, shape in enumerate(shapes):
        others = [(1, *shape), (*shape, 1), shape[::-1]]
        for axis, size in enumerate(shape):
            others.append((*shape[:axis], size + 1, *shape[axis + 1 :]))
            others.append((*shape[:axis], 1, *shape[axis + 1 :]))
        others += [shape[1:], shape[:-1]] if len(shape) > 1 else []
        for other in others:
            yield [*shapes[:i], other, *shapes[i + 1 :]]


def by_function(operator, shapes, attributes):
    """What the function gives on PyTorch's meta device; None where it refuses the shapes."""
    key = tuple(map(tuple, shapes)), tuple(attributes.items()), False
    try:
        return list(registry._shapes_without_data(operator, *key))
    except REFUSED:
        return None


def by_rule(operator, shapes, attributes):
    try:
        return operator._shapes_by_rule(shapes, attributes)
    except REFUSED:
        return None


@pytest.mark.parametrize("case", [pytest.param(c, id=i) for i, c in RULED.items()])
def test_a_rule_tells_what_the_function_gives(case):
    operator = registry.get(case.operator)
    attributes = operator.read({n: v for n, v in case.attributes.items() if operator.owns(n)})
    is_lax = operator.function.__module__.rpartition(".")[2] in LAX.split()
    for shapes in near([tuple(value.shape) for value in case.values()]):
        told = by_rule(operator, shapes, attributes)
        if told is not None:
            given = by_function(operator, shapes, attributes)
            assert told == given or (is_lax and given is None), shapes
