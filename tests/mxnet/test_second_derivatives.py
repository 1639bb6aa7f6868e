"""A second derivative that there is not is an error, also where PyTorch finds a way around it."""

import pytest

from layers.engine import autograd, gluon, mx, nd
from layers.ops import operator

pytestmark = pytest.mark.engine("torch")


class Square(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] ** 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * in_data[0] * out_grad[0])


@mx.operator.register("test_second.square")
class SquareProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Square()


@operator(name="test_second.saving")
class saving:
    saves = ("u",)

    def forward(x):
        return x * x, 2 * x

    def dx(dy, u):
        return dy * u


class Function(autograd.Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, dy):
        (x,) = self.saved_tensors
        return 2 * x * dy


def block(function, **how):
    net = gluon.nn.HybridLambda(lambda F, x: function(F, x))
    net.hybridize(**how)
    return net


RECORDED = {"static_alloc": True, "static_shape": True}
SQUARES = {
    "saves": lambda: saving,
    "Custom": lambda: lambda x: nd.Custom(x, op_type="test_second.square"),
    "Custom, plain": lambda: block(lambda F, x: F.Custom(x, op_type="test_second.square")),
    "Custom, recorded": lambda: block(
        lambda F, x: F.Custom(x, op_type="test_second.square"), **RECORDED
    ),
    "Function": lambda: lambda x: Function()(x),
    "compiled": lambda: block(lambda F, x: x * x, backend="aot_eager"),
}


@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize("calls", [1, 3])
def test_it_is_an_error_beside_others_that_there_are(name, calls):
    function = SQUARES[name]()
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    for _ in range(calls):
        with autograd.record():
            y = function(x) + x**3
            (first,) = autograd.grad(y, [x], create_graph=True, retain_graph=True)
            assert first.asnumpy().tolist() == [5, 16]
            with pytest.raises(mx.base.MXNetError, match="second derivative"):
                autograd.grad(first, [x])


@pytest.mark.parametrize("name", SQUARES)
def test_others_have_theirs(name):
    function = SQUARES[name]()
    x, z = nd.array([1.0, 2.0]), nd.array([3.0])
    for array in (x, z):
        array.attach_grad()
    with autograd.record():
        y = function(x) + z * z * z
        (first,) = autograd.grad(y, [z], create_graph=True, retain_graph=True)
        (second,) = autograd.grad(first, [z])
    assert second.asnumpy().tolist() == [36]


def test_it_is_an_error_in_pytorch():
    import torch

    net = block(lambda F, x: F.Custom(x, op_type="test_second.square")).to_torch()
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (first,) = torch.autograd.grad((net(x) + x**3).sum(), x, create_graph=True)
    with pytest.raises(mx.base.MXNetError, match="no second derivative"):
        torch.autograd.grad(first.sum(), x)
