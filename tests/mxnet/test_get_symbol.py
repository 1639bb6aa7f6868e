"""`autograd.get_symbol`: what was recorded, as a graph that computes the same."""

import json
import weakref

import numpy as np
import pytest

from layers import operator
from layers.engine import nd


@pytest.fixture
def x(mx):
    x = mx.nd.array([[1, -2, 3]])
    x.attach_grad()
    return x


def again(mx, y, *arrays):
    """Compute what was recorded for an array again, from the arrays that it was computed from."""
    symbol = mx.autograd.get_symbol(y)
    assert len(symbol.list_arguments()) == len(arrays)
    (found,) = symbol.bind(mx.cpu(), list(arrays)).forward()
    return found.asnumpy()


CASES = {
    "numbers": lambda mx, x: 1 - x * 2 / 4,
    "negated": lambda mx, x: -x * 2,
    "used twice": lambda mx, x: x * x + x,
    "a function": lambda mx, x: mx.nd.sum(mx.nd.exp(x), axis=1, keepdims=True),
    "methods": lambda mx, x: x.tanh().sum(axis=0).expand_dims(0),
    "several outputs": lambda mx, x: mx.nd.split(x, num_outputs=3, axis=1)[1] * 2,
    "any number of inputs": lambda mx, x: mx.nd.concat(x, x * 2, dim=0),
    "another shape": lambda mx, x: x.reshape((3, 1)) * 2,
    "an item": lambda mx, x: x[0, 1] * 2,
    "a row": lambda mx, x: x[0] * 2,
    "the last": lambda mx, x: x[0, -1] * 2,
    "a slice": lambda mx, x: x[:, 1:] * 2,
    "transposed": lambda mx, x: x.T * 2,
    "into another": lambda mx, x: mx.nd.exp(x, out=mx.nd.zeros((1, 3))) * 2,
}


def overwritten(mx, x, dtype="float32"):
    y = mx.nd.ones((1, 3), dtype=dtype)
    y[:] = x * 2
    return y * 3


# Of these MXNet makes nodes that cannot be bound.
COPIES = {
    "another dtype": lambda mx, x: x.astype("float64") * 2,
    "a copy": lambda mx, x: x.copy() * 2,
    "overwritten": overwritten,
    "overwritten in another dtype": lambda mx, x: overwritten(mx, x, "float64"),
    "overwritten with an array that was there": lambda mx, x: x.copyto(mx.nd.zeros((1, 3))) * 2,
    "on another context": lambda mx, x: x.as_in_context(mx.cpu(1)) * 2,
}


@pytest.mark.parametrize(
    "case", [*CASES, *[pytest.param(case, marks=pytest.mark.engine("torch")) for case in COPIES]]
)
def test_the_same_is_computed(mx, x, case):
    with mx.autograd.record():
        y = (CASES | COPIES)[case](mx, x)
    np.testing.assert_allclose(again(mx, y, x), y.asnumpy(), rtol=1e-6)


def test_arrays_that_were_there_are_variables(mx, x):
    w, b = mx.nd.ones((2, 3)), mx.nd.array([1, 2])
    with mx.autograd.record():
        y = mx.nd.FullyConnected(x * 2, w, b, num_hidden=2) + b
    symbol = mx.autograd.get_symbol(y)
    nodes = json.loads(symbol.tojson())["nodes"]
    kinds = [node["op"] for node in nodes]
    assert kinds == ["null", "_mul_scalar", "null", "null", "FullyConnected", "broadcast_add"]
    assert nodes[4]["attrs"]["num_hidden"] == "2"
    np.testing.assert_allclose(again(mx, y, x, w, b), y.asnumpy())


@pytest.mark.engine("torch")  # MXNet refuses to write while it records
def test_added_in_place(mx, x):
    y, ones = mx.nd.ones((1, 3)), mx.nd.ones((1, 3))
    with mx.autograd.record():
        y += x * 2
        z = y * 3
    np.testing.assert_allclose(again(mx, z, ones, x), z.asnumpy())


def test_constants_have_no_past(mx, x):
    with mx.autograd.record():
        one = mx.nd.ones((1, 3)) * 3
        y = x * one
    assert again(mx, y, x, one).tolist() == [[3, -6, 9]]


def test_of_an_output_and_of_what_is_between(mx, x):
    with mx.autograd.record():
        a, b, c = mx.nd.split(x, num_outputs=3, axis=1)
        y = a + c
    assert again(mx, c, x).tolist() == [[3]] and again(mx, b, x).tolist() == [[-2]]
    assert again(mx, y, x).tolist() == [[4]]
    assert mx.autograd.get_symbol(x).list_outputs() == ["var0"] or mx.__name__ == "mxnet"


@pytest.mark.parametrize("hybridized", [False, True], ids=["called", "hybridized"])
def test_a_block(mx, x, hybridized):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(2, activation="relu"), mx.gluon.nn.Dense(1, use_bias=False))
    net.initialize(mx.init.One())
    if hybridized:
        net.hybridize()
    net(x)
    with mx.autograd.record():
        y = net(x * 2) * 3
    weights = [parameter.data() for parameter in net.collect_params().values()]
    first, bias, second = weights
    np.testing.assert_allclose(again(mx, y, x, first, bias, second), y.asnumpy())


def test_states(mx, x):
    ones, zeros = mx.nd.ones(3), mx.nd.zeros(3)
    with mx.autograd.record():
        y = mx.nd.BatchNorm(x * 2, ones, zeros, zeros.copy(), ones.copy())
    symbol = mx.autograd.get_symbol(y)
    assert len(symbol.list_arguments()) == 3 and len(symbol.list_auxiliary_states()) == 2


@pytest.mark.engine("torch")  # MXNet has what is in between as a function that it calls
def test_a_custom_operator(mx, x):
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * self.factor)

    @mx.operator.register("layers_times")
    class TimesProp(mx.operator.CustomOpProp):
        def __init__(self, factor):
            super().__init__()
            self.factor = float(factor)

        def create_operator(self, ctx, shapes, dtypes):
            made = Twice()
            made.factor = self.factor
            return made

    with mx.autograd.record():
        y = mx.nd.Custom(x, factor=5, op_type="layers_times") + 1
    assert again(mx, y, x).tolist() == y.asnumpy().tolist() == [[6, -9, 16]]


@operator
class affine:
    """y = k x wᵀ + b; `count` is the number of calls."""

    states = ("count",)

    def forward(x, count, w, b=None, *, k: float = 1.0):
        count += 1
        y = nd.dot(x, w, transpose_b=True) * k
        return y if b is None else y + b

    def dx(dy, w, k):
        return nd.dot(dy, w) * k

    def shapes(x, w):
        return {"count": (1,), "y": (x[0], w[0])}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("with_bias", [False, True])
def test_an_operator_that_is_called(mx, x, tmp_path, with_bias):
    count, w = mx.nd.zeros((1,)), mx.nd.array([[1, 2, 3], [4, 5, 6]])
    rest = [mx.nd.array([7, 8])] if with_bias else []
    with mx.autograd.record():
        y = affine(x * 2, count, w, *rest, k=3) + 1
    symbol = mx.autograd.get_symbol(y)
    assert len(symbol.list_auxiliary_states()) == 1
    symbol.save(str(tmp_path / "symbol.json"))
    for read in (symbol, mx.sym.load(str(tmp_path / "symbol.json"))):
        bound = read.bind(mx.cpu(), [x, w, *rest], aux_states=[count])
        assert bound.forward()[0].asnumpy().tolist() == y.asnumpy().tolist()


def test_what_was_not_recorded(mx, x):
    outside = x * 2
    with mx.autograd.record():
        constant = mx.nd.ones(2) * 2
    for array in (outside, constant, mx.nd.ones(1)):
        with pytest.raises(mx.MXNetError):
            mx.autograd.get_symbol(array)


@pytest.mark.engine("torch")
def test_what_is_no_operator(mx, x):
    class Twice(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 2

    with mx.autograd.record():
        for y in (Twice()(x) + 1, x[mx.nd.array([0])] * 2, x[mx.nd.array([0])], x[None]):
            with pytest.raises(
                NotImplementedError, match="a part of the computation is no operator"
            ):
                mx.autograd.get_symbol(y)


@pytest.mark.engine("torch")
def test_arrays_with_other_values_are_other_variables(mx, x):
    c = mx.nd.ones((1, 3))
    with mx.autograd.record():
        y = x * c
    before = c.copy()
    c += 1
    with mx.autograd.record():
        z = y + x * c
    assert again(mx, z, x, before, c).tolist() == [[3, -6, 9]]
    z.attach_grad()
    with mx.autograd.record():
        y = z * 2
    assert again(mx, y, z).tolist() == [[6, -12, 18]]


@pytest.mark.engine("torch")
def test_the_past_keeps_no_arrays(mx, x):
    with mx.autograd.record():
        between = x * 2
        constant = mx.nd.ones((1, 3))
        y = between * constant
    seen = [weakref.ref(between), weakref.ref(constant)]
    del between, constant
    assert [reference() for reference in seen] == [None, None]
    assert len(mx.autograd.get_symbol(y).list_arguments()) == 2


@pytest.mark.engine("torch")
def test_a_long_past(mx, x):
    with mx.autograd.record():
        y = x
        for _ in range(5000):
            y = y + 1
    assert again(mx, y, x).tolist() == [[5001, 4998, 5003]]
    del y
