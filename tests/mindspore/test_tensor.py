"""Tensor: what it is made of, and what it does."""

import operator

import numpy as np
import pytest

import layers.mindspore as ms
from layers.engine import nd

OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip
VALUES = np.float32([[1, -2, 3], [4, 5, -6]])


def test_what_it_is_made_of():
    for given, dtype, expected in (
        (VALUES, ms.float32, VALUES),
        (VALUES.astype("float64"), ms.float64, VALUES),
        ([1.0, 2.0], ms.float32, [1, 2]),
        ([1, 2], ms.int64, [1, 2]),
        (3.5, ms.float32, [3.5]),
        (True, ms.bool_, [True]),
        (np.int32([7]), ms.int32, [7]),
        (ms.Tensor([1.0]), ms.float32, [1]),
        (nd.array([1.0, 2.0]), ms.float32, [1, 2]),
    ):
        x = ms.Tensor(given)
        assert x.dtype == dtype and x.asnumpy().tolist() == np.asarray(expected).tolist()
    assert ms.Tensor([1, 2], ms.float16).dtype == ms.float16
    assert ms.Tensor(VALUES, "int32").dtype == ms.int32
    values = VALUES.copy()
    x = ms.Tensor(values)
    values[:] = 0
    assert x.asnumpy().tolist() == VALUES.tolist()


def test_what_it_is_not_made_of():
    for given in (None, "text", [["1"], ["x"]], {}):
        with pytest.raises((TypeError, ValueError)):
            ms.Tensor(given)


@pytest.mark.engine("torch")
def test_a_dtype_that_the_engine_has_not():
    with pytest.raises(TypeError, match="(?s)int16.*expected one of float32"):
        ms.Tensor([1], ms.int16)


def test_how_it_is_shown():
    x = ms.Tensor([2.0, 8.0, 18.0])
    assert str(x) == "[ 2.  8. 18.]"
    assert repr(x) == "Tensor(shape=[3], dtype=Float32, value=[ 2.  8. 18.])"
    assert (x.shape, x.ndim, x.size, len(x)) == ((3,), 1, 3, 3)


@pytest.mark.parametrize("other", [VALUES[::-1].copy(), VALUES[0].copy(), 2, 2.5])
@pytest.mark.parametrize("operate", OPERATORS)
def test_arithmetic(operate, other):
    expected = operate(VALUES, other)
    right = ms.Tensor(other) if isinstance(other, np.ndarray) else other
    found = operate(ms.Tensor(VALUES), right)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected, 1e-6)
    np.testing.assert_allclose(
        operate(right, ms.Tensor(VALUES)).asnumpy(), operate(other, VALUES), 1e-6
    )


def test_other_arithmetic():
    x = ms.Tensor(VALUES)
    assert (-x).asnumpy().tolist() == (-VALUES).tolist()
    assert abs(x).asnumpy().tolist() == abs(VALUES).tolist()
    assert (x**2).asnumpy().tolist() == (VALUES**2).tolist()
    assert (2**x).asnumpy().tolist() == (2**VALUES).tolist()
    assert (x @ x.T).asnumpy().tolist() == (VALUES @ VALUES.T).tolist()
    assert (VALUES + x).asnumpy().tolist() == (2 * VALUES).tolist()
    assert isinstance(VALUES * x, ms.Tensor)
    assert (x == None) is False and x != "text"  # noqa: E711  the operator is what is tested


@pytest.mark.parametrize(
    "a, b, dtype",
    [
        (ms.int32, ms.float32, ms.float32),
        (ms.float32, ms.float64, ms.float64),
        (ms.float16, ms.int64, ms.float16),
        (ms.int32, ms.int64, ms.int64),
    ],
)
def test_the_wider_dtype(a, b, dtype):
    x, y = ms.Tensor([3], a), ms.Tensor([2], b)
    assert (x + y).dtype == (y + x).dtype == dtype and (x * y).item() == 6


def test_integers():
    x = ms.Tensor([7, -7])
    assert (x / 2).asnumpy().tolist() == [3.5, -3.5] and (x / 2).dtype == ms.float32
    assert (x // 2).asnumpy().tolist() == [3, -4] and (x // 2).dtype == ms.int64
    assert (x + 0.5).asnumpy().tolist() == [7.5, -6.5] and (x + 1).dtype == ms.int64


@pytest.mark.engine("torch")
def test_bfloat16():
    x = ms.Tensor([1.5, 2.0], ms.bfloat16)
    assert x.dtype == ms.bfloat16 and (x + x).dtype == ms.bfloat16
    assert (x + ms.Tensor([1.0], ms.float16)).dtype == ms.float32
    assert repr(x) == "Tensor(shape=[2], dtype=Bfloat16, value=[1.5 2. ])"


def test_one_element():
    x = ms.Tensor([2.5])
    assert (float(x), int(x), bool(x), x.item()) == (2.5, 2, True, 2.5)
    assert [1, 2, 3][ms.Tensor(1)] == 2
    with pytest.raises(ValueError, match=r"item: the shape is \(2, 3\)"):
        ms.Tensor(VALUES).item()
    with pytest.raises(TypeError, match="float32 is not an index"):
        [1, 2, 3][x]


def test_indexing():
    x = ms.Tensor(VALUES)
    assert x[1].asnumpy().tolist() == [4, 5, -6]
    assert x[:, 1:].asnumpy().tolist() == [[-2, 3], [5, -6]]
    assert x[0, 2].item() == 3
    assert x[ms.Tensor([1, 0])].asnumpy().tolist() == VALUES[[1, 0]].tolist()
    assert [row.asnumpy().tolist() for row in x] == VALUES.tolist()
    x[0] = ms.Tensor([7.0, 8.0, 9.0])
    x[1, 1] = 0
    assert x.asnumpy().tolist() == [[7, 8, 9], [4, 0, -6]]


def test_methods():
    x = ms.Tensor(VALUES)
    assert x.reshape(3, 2).shape == x.reshape((3, -1)).shape == (3, 2)
    assert x.astype(ms.float64).dtype == ms.float64
    y = x.copy()
    y[:] = 0
    assert x.asnumpy().tolist() == VALUES.tolist()


def test_context():
    assert ms.get_context("device_target") == "CPU"
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert ms.get_context("mode") == ms.PYNATIVE_MODE
    ms.set_context(mode=ms.GRAPH_MODE, device_id=0)
    for wrong, error, told in (
        ({"mode": 7}, ValueError, "mode is 7\n  expected GRAPH_MODE"),
        ({"device_target": "Ascend"}, RuntimeError, "'Ascend', and there is none here"),
        ({"device_target": "TPU"}, RuntimeError, "'TPU', and there is none"),
        ({"device_id": -1}, ValueError, "device_id is -1"),
        (
            {"save_graphs": True},
            ValueError,
            "unknown setting 'save_graphs'\n  expected one of mode",
        ),
    ):
        with pytest.raises(error, match=told):
            ms.set_context(**wrong)
    with pytest.raises(ValueError, match="get_context: 'no'"):
        ms.get_context("no")
    assert ms.get_context("mode") == ms.GRAPH_MODE


def test_names_that_are_not_here():
    import layers.mindspore.nn as nn
    import layers.mindspore.ops as ops

    for module, name in ((ms, "Model"), (nn, "Dense"), (ops, "Conv2D"), (ops, "reduce_summ")):
        with pytest.raises(AttributeError, match=f"has no '{name}': it is a part of MindSpore\n"):
            getattr(module, name)
    with pytest.raises(AttributeError, match="expected one of reduce_sum"):
        ops.reduce_summ  # noqa: B018  the access is what is tested
