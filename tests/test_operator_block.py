"""`OperatorBlock`: any operator as a layer that owns some of its inputs."""

from functools import partial

import numpy as np
import pytest

from layers import OperatorBlock, operator
from layers.engine import autograd, gluon, mx, nd
from layers.ops import dense, sigmoid

X = np.arange(12).reshape(4, 3) / 10


@operator
class swish:
    """y = x / (1 + e⁻ᵇˣ)      x : any shape      b : (1,)"""

    def forward(x, b):
        return x * nd.sigmoid(b * x)

    def dx(dy, x, y, b):
        return dy * (b * y + nd.sigmoid(b * x) * (1 - b * y))

    def db(dy, x, y):
        return nd.sum(dy * y * (x - y)).reshape((1,))

    def shapes(x):
        return {"b": (1,), "y": x}


@operator
class running_sum:
    """y = x, and the sum of all x in a state."""

    states = ("total",)

    def forward(x, total, *, factor: float = 1.0):
        total[:] = total + factor * nd.sum(x)
        return x * 1

    def dx(dy):
        return dy

    def shapes(x):
        return {"y": x, "total": (1,)}


@operator
class product:
    """y = x wᵀ      x : (n, k)      w : (m, k)      y : (n, m)"""

    def forward(x, w):
        return nd.dot(x, w, transpose_b=True)

    def dx(dy, w):
        return nd.dot(dy, w)

    def dw(dy, x):
        return nd.dot(dy, x, transpose_a=True)

    def shapes(x, w):
        return {"w": (w[0], x[-1]), "y": (x[0], w[0])}


class Scale(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[1])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[1])
        self.assign(in_grad[1], req[1], (out_grad[0] * in_data[0]).sum(axis=0))


@mx.operator.register("operator_block_scale")
class ScaleProp(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data", "gamma"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0][1:]], [in_shape[0]]

    def create_operator(self, ctx, shapes, dtypes):
        return Scale()


def made(block, hybridize=False):
    mx.random.seed(2)
    block.initialize(mx.init.Uniform(1))
    if hybridize:
        block.hybridize()
    return block


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_size_that_is_known_before_the_first_call(hybridize):
    block = made(OperatorBlock(product, params={"w": {"shape": (5, 0)}}), hybridize)
    y = block(nd.array(X))
    assert y.shape == (4, 5) and block.w.shape == (5, 3)
    np.testing.assert_allclose(y.asnumpy(), X @ block.w.data().asnumpy().T, rtol=1e-5)


@pytest.mark.parametrize("hybridize", [False, True])
def test_shapes_are_found_at_the_first_call(hybridize):
    block = made(OperatorBlock(swish, params={"b": {"init": "ones"}}), hybridize)
    x = nd.array(X)
    with autograd.record():
        y = block(x)
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), X / (1 + np.exp(-X)), rtol=1e-5)
    assert block.b.shape == (1,) and block.b.grad().asnumpy() != 0


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_parameter_between_the_inputs(hybridize):
    block = made(
        OperatorBlock(dense, params={"w": {"shape": (5, 0)}, "b": {}}, bias=0.5), hybridize
    )
    y = block(nd.array(X))
    expected = X @ block.w.data().asnumpy().T + block.b.data().asnumpy() + 0.5
    assert block.w.shape == (5, 3) and block.b.shape == (5,)
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_registered_name(hybridize):
    block = made(OperatorBlock("operator_block_scale", params=["gamma"]), hybridize)
    x = nd.array(X)
    with autograd.record():
        y = block(x)
    y.backward()
    assert block.gamma.shape == (3,)
    np.testing.assert_allclose(y.asnumpy(), X * block.gamma.data().asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(block.gamma.grad().asnumpy(), X.sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize("hybridize", [False, True])
def test_states_are_owned(hybridize):
    block = made(OperatorBlock(running_sum, factor=2.0), hybridize)
    for _ in range(3):
        block(nd.array(X)).wait_to_read()
    np.testing.assert_allclose(block.total.data().asnumpy(), 3 * 2 * X.sum(), rtol=1e-5)
    assert block.total.grad_req == "null"


def test_it_trains_in_a_net_and_its_file_is_read():
    net = gluon.nn.HybridSequential()
    net.add(OperatorBlock(sigmoid), gluon.nn.Dense(2), OperatorBlock(swish, ["b"]))
    made(net)
    net[2].b.lr_mult = 2
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with autograd.record():
        y = net(nd.array(X)).square().sum()
    y.backward()
    before = net[2].b.data().asnumpy().copy()
    trainer.step(4)
    assert (net[2].b.data().asnumpy() != before).all()
    assert repr(net[2]) == "OperatorBlock(swish, b (1,))"


def test_the_name_of_one_parameter():
    block = made(OperatorBlock("operator_block_scale", params="gamma"))
    assert block(nd.array(X)).shape == (4, 3) and block.gamma.shape == (3,)


def test_mistakes():
    with pytest.raises(TypeError, match="'sigmoid' has no input 'w'\n  expected one of x"):
        OperatorBlock(sigmoid, ["w"])

    @operator
    class named:
        def forward(x, prefix):
            return x * prefix

    with pytest.raises(
        TypeError, match="'named' has the input 'prefix', which is the name of an attribute"
    ):
        OperatorBlock(named, ["prefix"])


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"w": {"shpae": (5, 3)}}, "params has the option 'shpae' for 'w'\n  did you mean 'shape'"),
        ({"w": "ones"}, "params has 'ones' for 'w'\n  expected a dict of options"),
    ],
)
def test_options_that_parameters_have_not(params, told):
    with pytest.raises(TypeError, match=f"^OperatorBlock: {told}"):
        OperatorBlock(product, params)


def test_attributes_that_an_operator_has_not():
    def times(x, *, factor=1.0):
        return x * factor

    for op, name in ((running_sum, "running_sum"), (times, "times")):
        told = f"^OperatorBlock: '{name}' has no attribute 'facto'\n  did you mean 'factor'.\n"
        with pytest.raises(TypeError, match=f"{told}  expected one of factor$"):
            OperatorBlock(op, facto=2.0)
        OperatorBlock(op, factor=2.0)
    with pytest.raises(TypeError, match="no attribute 'k'\n  expected none"):
        OperatorBlock(sigmoid, k=1)
    with pytest.raises(TypeError, match="no attribute 'parms'\n  did you mean 'params'"):
        OperatorBlock(sigmoid, parms="w")


def test_a_registered_name_has_inputs_of_known_names():
    with pytest.raises(TypeError, match="has no input 'gama'\n  expected one of data, gamma"):
        OperatorBlock("operator_block_scale", ["gama"])
    block = made(OperatorBlock("operator_block_scale", {"data": {"shape": (4, 3)}}))
    y = block(nd.array([1, 2, 3]))  # it is gamma
    np.testing.assert_allclose(y.asnumpy(), block.data.data().asnumpy() * [1, 2, 3], rtol=1e-5)


@pytest.mark.engine("torch")  # MXNet's errors do not say where
@pytest.mark.parametrize("hybridize", [False, True])
def test_the_inputs_that_an_error_shows_are_those_of_the_call(hybridize):
    block = made(OperatorBlock(product, {"w": {"shape": (5, 2)}}), hybridize)
    with pytest.raises(ValueError) as caught:
        block(nd.array(X))
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "in OperatorBlock((4, 3))" in told


def test_a_function_of_any_number_of_inputs():
    x = nd.array([1.0, 2])
    assert OperatorBlock(nd.add_n)(x, x, x).asnumpy().tolist() == [3, 6]


def test_what_is_no_operator():
    for op in (int, gluon.nn.Dense, 3, None):
        with pytest.raises(TypeError, match=f"OperatorBlock: op is {op!r} .*\n  expected an oper"):
            OperatorBlock(op)
    with pytest.raises(ValueError, match="no operator .* the name 'zzz'\n  expected the name"):
        OperatorBlock("zzz")
    with pytest.raises(ValueError, match="did you mean 'layers.sparsemax'.\n  expected"):
        OperatorBlock("layers.sparsmax")


def test_functions_with_defaults():
    block = OperatorBlock(nd.relu)
    assert block(nd.array([-1.0, 2])).asnumpy().tolist() == [0, 2]
    clip = OperatorBlock(partial(nd.clip, a_min=0, a_max=1))
    assert clip(nd.array([-1.0, 2])).asnumpy().tolist() == [0, 1] and "clip" in repr(clip)
