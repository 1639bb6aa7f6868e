"""Attributes: what a caller or a file may give, and what an operator gets."""

from __future__ import annotations

import math
import os
from importlib import import_module
from typing import Literal

import numpy as np
import pytest

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    mx = import_module("layers.mxnet")
    _attribute = import_module("layers.mxnet._table.attributes")
    _op = import_module("layers.mxnet._table.registry")
    Shape, Axis, Slice = _attribute.Shape, _attribute.Axis, _attribute.Slice
    Floats, DType = _attribute.Floats, _attribute.DType
    float16, int64 = (mx._dtype.to_torch(name) for name in ("float16", "int64"))
else:
    Shape = Axis = Slice = Floats = DType = float16 = int64 = None

Mode = Literal["avg", "max"]

READ = [
    (bool, True, True),
    (bool, 0, False),
    (bool, np.bool_(True), True),
    (bool, "True", True),
    (bool, "true", True),
    (bool, "1", True),
    (bool, "False", False),
    (bool, " false ", False),
    (bool, "0", False),
    (int, 3, 3),
    (int, np.int64(3), 3),
    (int, "3", 3),
    (int, "-3", -3),
    (int, "3L", 3),
    (float, 2, 2),
    (float, np.float32(0.5), 0.5),
    (float, "1e-3", 0.001),
    (float, "inf", math.inf),
    (float, "-inf", -math.inf),
    (str, "text", "text"),
    (Shape, 3, (3,)),
    (Shape, (3, 4), (3, 4)),
    (Shape, [3, 4], (3, 4)),
    (Shape, np.array([3, 4]), (3, 4)),
    (Shape, "3", (3,)),
    (Shape, "(3, 3)", (3, 3)),
    (Shape, "(3L, 3L)", (3, 3)),
    (Shape, "[3,4]", (3, 4)),
    (Shape, "(3,)", (3,)),
    (Shape, "()", ()),
    (Shape, (), ()),
    (Axis, None, None),
    (Axis, "None", None),
    (Axis, 1, (1,)),
    (Axis, "(0, -1)", (0, -1)),
    (Floats, "(0.1, 2)", (0.1, 2.0)),
    (Slice, (None, 2), (None, 2)),
    (Slice, "(None, 2)", (None, 2)),
    (DType, "float16", float16),
    (DType, np.float16, float16),
    (DType, np.dtype("float16"), float16),
    (DType, int, int64),
    (Mode, "avg", "avg"),
]
REFUSED = [
    (bool, "yes", "a bool"),
    (bool, 2, "a bool"),
    (bool, None, "a bool"),
    (int, 1.5, "an int"),
    (int, "1.5", "an int"),
    (int, None, "an int"),
    (int, "__import__('os')", "an int"),
    (float, "much", "a number"),
    (float, None, "a number"),
    (Shape, (2.5, 1), "a tuple, each of it an int"),
    (Shape, "(3, x)", "a tuple, each of it an int"),
    (Shape, "(3, 3", "a tuple, each of it an int"),
    (Axis, "all", "a tuple, each of it an int or None"),
    (DType, "float99", "one of float32, float64"),
    (Mode, "sum", "one of 'avg', 'max'"),
    (Mode, 1, "one of 'avg', 'max'"),
]


def shown(value):
    return repr(value) if not isinstance(value, type) else value.__name__


@pytest.mark.parametrize(("annotation", "given", "expected"), READ, ids=shown)
def test_read(annotation, given, expected):
    found = _attribute.parser(annotation)(given)
    assert found == expected
    assert type(found) is type(expected) or isinstance(found, np.generic)


@pytest.mark.parametrize(("annotation", "given", "expected"), REFUSED, ids=shown)
def test_refused(annotation, given, expected):
    with pytest.raises(ValueError) as caught:
        _attribute.parser(annotation)(given)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("annotation", [int | None, float | None, bool | None, Mode | None])
@pytest.mark.parametrize("given", [None, "None"])
def test_optional(annotation, given):
    assert _attribute.parser(annotation)(given) is None


def test_an_array_is_no_attribute():
    x = mx.nd.ones((2, 3))
    for name in "axis", "ord":
        with pytest.raises(TypeError, match=f"norm: {name} is"):
            mx.nd.norm(x, **{name: x})
    with pytest.raises(TypeError, match="topk: ret_typ is"):
        mx.nd.topk(x, ret_typ=x)


def test_errors_name_operator_argument_and_value():
    x = mx.nd.ones((2, 3))
    with pytest.raises(mx.base.MXNetError, match="sum: axis is 'all'\n  expected a tuple"):
        mx.nd.sum(x, axis="all")
    with pytest.raises(TypeError, match="sum: unknown argument 'axes' .*\n  expected data, axis"):
        mx.nd.sum(x, axes=1)
    with pytest.raises(TypeError, match="clip: a_min is missing\n  expected clip"):
        mx.nd.clip(x, a_max=1)
    with pytest.raises(TypeError, match="too many"):
        mx.nd.sum(x, 1, True, False, None, 5)


def test_text_and_positions_do_what_values_do():
    x = mx.nd.arange(6).reshape((2, 3))
    expected = mx.nd.sum(x, axis=1, keepdims=True).asnumpy()
    for found in (
        mx.nd.sum(x, 1, True),
        mx.nd.sum(x, "(1,)", "true"),
        mx.nd.sum(x, axis="1", keepdims="1"),
        mx.nd.sum(data=x, axis=(-1,), keepdims=1),
    ):
        np.testing.assert_array_equal(found.asnumpy(), expected)


def test_attributes_of_a_users_on_an_operator(mx):
    y = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, lr_mult=0, __mood__="low", name="fc")
    expected = {"num_hidden": "3", "__lr_mult__": "0", "lr_mult": "0", "__mood__": "low"}
    assert y.attr_dict() == dict.fromkeys(["fc", "fc_weight", "fc_bias"], expected)
    assert y.attr("lr_mult") == "0"


@pytest.mark.filterwarnings("ignore:.*has no effect")
def test_what_an_operator_without_attributes_gets_has_no_effect(mx):
    x = mx.nd.array([1, 3])
    assert mx.nd.broadcast_maximum(x, mx.nd.array([2]), axis=1).asnumpy().tolist() == [2, 3]
    assert mx.sym.square(mx.sym.var("x"), mood=1).eval(x=x)[0].asnumpy().tolist() == [1, 9]


@pytest.mark.engine("torch")
def test_what_has_no_effect_is_a_warning(mx):
    with pytest.warns(UserWarning, match="square: 'mood' has no effect"):
        mx.nd.square(mx.nd.ones(2), mood=1)
