"""The plain operators on Tensors, against NumPy."""

import math

import numpy as np
import pytest

import layers.mindspore as ms
import layers.mindspore.ops as ops

X = np.float32([[0.1, 0.5, 0.7], [0.9, 0.3, 0.2]])
Y = np.float32([[0.6, 0.5, 0.15], [0.2, 0.8, 0.4]])

UNARY = {
    "abs": np.abs, "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "ceil": np.ceil,
    "cos": np.cos, "cosh": np.cosh, "erf": np.vectorize(math.erf), "exp": np.exp,
    "expm1": np.expm1, "floor": np.floor, "log": np.log, "log1p": np.log1p, "neg": np.negative,
    "ones_like": np.ones_like, "reciprocal": np.reciprocal, "relu": lambda x: np.maximum(x, 0),
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "square": np.square,
    "stop_gradient": np.copy, "tan": np.tan, "tanh": np.tanh, "zeros_like": np.zeros_like,
    "transpose": np.transpose, "squeeze": np.squeeze,
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    "log_softmax": lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)),
}  # fmt: skip

BINARY = {
    "add": np.add, "div": np.divide, "equal": np.equal, "floor_div": np.floor_divide,
    "floor_mod": np.mod, "greater": np.greater, "greater_equal": np.greater_equal,
    "less": np.less, "less_equal": np.less_equal, "maximum": np.maximum, "minimum": np.minimum,
    "mul": np.multiply, "not_equal": np.not_equal, "pow": np.power, "sub": np.subtract,
}  # fmt: skip

OTHERS = {
    "cast": (lambda x: ops.cast(x, ms.int32), lambda x: x.astype("int32")),
    "concat": (lambda x: ops.concat([x, x], 1), lambda x: np.concatenate([x, x], 1)),
    "expand_dims": (lambda x: ops.expand_dims(x, 1), lambda x: x[:, None]),
    "matmul": (lambda x: ops.matmul(x, x.T), lambda x: x @ x.T),
    "reduce_max": (lambda x: ops.reduce_max(x, 1), lambda x: x.max(1)),
    "reduce_mean": (lambda x: ops.reduce_mean(x, 0), lambda x: x.mean(0)),
    "reduce_min": (lambda x: ops.reduce_min(x), lambda x: x.min(keepdims=True)[0]),
    "reduce_prod": (lambda x: ops.reduce_prod(x, (0, 1)), lambda x: x.prod(keepdims=True)[0]),
    "reduce_sum": (
        lambda x: ops.reduce_sum(x, 1, keep_dims=True),
        lambda x: x.sum(1, keepdims=True),
    ),
    "reshape": (lambda x: ops.reshape(x, (3, -1)), lambda x: x.reshape(3, -1)),
    "select": (
        lambda x: ops.select(x > 0.4, x, ops.neg(x)),
        lambda x: np.where(x > 0.4, x, -x),
    ),
    "stack": (lambda x: ops.stack([x, x], 1), lambda x: np.stack([x, x], 1)),
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    found = getattr(ops, name)(ms.Tensor(X))
    assert isinstance(found, ms.Tensor)
    np.testing.assert_allclose(found.asnumpy(), UNARY[name](X), 1e-5)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    for other in (Y, Y[0], 0.5):
        right = other if isinstance(other, float) else ms.Tensor(other)
        found, expected = getattr(ops, name)(ms.Tensor(X), right), BINARY[name](X, other)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.asnumpy(), expected, 1e-5)


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    function, reference = OTHERS[name]
    np.testing.assert_allclose(function(ms.Tensor(X)).asnumpy(), reference(X), 1e-5)


@pytest.mark.parametrize("a, b", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3),) * 2])
def test_matmul(a, b):
    rng = np.random.RandomState(0)
    x, y = rng.rand(*a).astype("float32"), rng.rand(*b).astype("float32")
    y = y.swapaxes(-1, -2) if y.ndim == 3 else y
    found = ops.matmul(ms.Tensor(x), ms.Tensor(y))
    np.testing.assert_allclose(found.asnumpy(), np.atleast_1d(x @ y), 1e-5)


def test_mistakes():
    x = ms.Tensor(X)
    with pytest.raises(ValueError, match=r"matmul: \(2, 2, 3\) and \(2, 3\)"):
        ops.matmul(ops.stack([x, x]), x)
    for shape in ((-1, -1), (0, 6), (-2,)):
        with pytest.raises(ValueError, match="reshape: "):
            ops.reshape(x, shape)


def test_each_name_is_tested():
    own = {"Custom", "CustomRegOp", "DataType", "custom_info_register", "kernel"}
    assert own | {*UNARY, *BINARY, *OTHERS} == set(ops.__all__)
    assert all(getattr(ops, name).__doc__ for name in ops.__all__)
