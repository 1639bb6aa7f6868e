"""The registry: gradient rules, and what is constant almost everywhere."""

from __future__ import annotations

import inspect
import os
from importlib import import_module

import numpy as np
import pytest

if os.environ["LAYERS_ENGINE"] == "torch":
    torch = import_module("torch")
    _op = import_module("layers.mxnet._table.registry")

torch_only = pytest.mark.engine("torch")


def gradients(mx, function, *values):
    """The gradients of the inputs, after a backward that finds other numbers in them."""
    arrays = [mx.nd.array(v) for v in values]
    for x in arrays:
        x.attach_grad()
        x.grad[:] = 7
    with mx.autograd.record():
        y = function(*arrays)
    y.backward()
    return [x.grad.asnumpy().tolist() for x in arrays]


@torch_only
def test_what_help_shows(mx):
    """Whose arrays they are, without quotes."""
    expected = "(data: NDArray, axis: Axis = None, keepdims: bool = False, exclude: bool = False, "
    assert str(inspect.signature(mx.nd.sum)) == f"{expected}out=None, name=None) -> NDArray"
    shown = str(inspect.signature(mx.sym.FullyConnected))
    assert "bias: Symbol | None = None, num_hidden: int = required" in shown


CONSTANT = {
    "of the variable": lambda nd, x: nd.sign(x),
    "further back": lambda nd, x: nd.sign(nd.exp(x) * 2),
    "argmax": lambda nd, x: nd.argmax(nd.exp(x), axis=0),
    "comparison": lambda nd, x: nd.exp(x) > 1,
    "of both": lambda nd, x: nd.broadcast_greater(nd.exp(x), x),
    "twice": lambda nd, x: nd.floor(nd.sign(x) * 2.5),
}


@pytest.mark.parametrize("function", CONSTANT.values(), ids=list(CONSTANT))
def test_behind_a_constant_the_gradient_is_zero(mx, function):
    assert gradients(mx, lambda x: function(mx.nd, x), [1.0, 2.0]) == [[0, 0]]


def test_other_gradients_pass_by_a_constant(mx):
    def function(x, w):
        return mx.nd.BlockGrad(x * w) * w + x

    assert gradients(mx, function, [1.0, 2.0], [3.0, 4.0]) == [[1, 1], [3, 8]]


def test_an_infinite_derivative_stays_behind_the_constant(mx):
    assert gradients(mx, lambda x: mx.nd.BlockGrad(mx.nd.sqrt(x)) + x, [0.0, 4.0]) == [[1, 1]]


def test_a_constant_adds_nothing(mx):
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad("add")
    for _ in range(2):
        with mx.autograd.record():
            y = mx.nd.sign(x) + x
        y.backward()
        with mx.autograd.record():
            y = mx.nd.sign(x)
        y.backward()
    assert x.grad.asnumpy().tolist() == [2, 2]


def test_autograd_grad_of_a_constant(mx):
    x, w, z = (mx.nd.array([value]) for value in (1.0, 2.0, 3.0))
    for array in (x, w, z):
        array.attach_grad()
    with mx.autograd.record():
        y = x * 3 + mx.nd.sign(mx.nd.exp(w))
    dx, dw = mx.autograd.grad(y, [x, w], retain_graph=True)
    assert (dx.asscalar(), dw.asscalar()) == (3, 0)
    with pytest.raises(mx.base.MXNetError):
        mx.autograd.grad(y, [x, z])


@pytest.fixture
def registry(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(_op, "_registry", dict(_op._registry))


def variable(*values):
    return torch.tensor(values, requires_grad=True)


@torch_only
def test_a_rule_gets_what_it_names(registry):
    seen = {}

    @_op.op
    def scaled(
        data: _op.Tensor, weight: _op.Tensor | None = None, factor: float = 2.0
    ) -> _op.Tensor:
        return data * factor

    @scaled.grad
    def _(dy, y, data, weight, factor):
        seen.update(y=y, data=data, weight=weight, factor=factor)
        return dy * 100

    x = variable(1.0)
    scaled.run(x, None, factor=3.0).backward()
    assert x.grad.item() == 100
    assert (seen["y"].item(), seen["data"].item()) == (3, 1)
    assert (seen["weight"], seen["factor"]) == (None, 3)
    scaled.run(x).backward()  # inputs and attributes left to their defaults
    assert seen["factor"] == 2
    scaled.run(x, None, 4.0).backward()
    assert seen["factor"] == 4


@torch_only
def test_a_rule_gives_a_gradient_for_each_input(registry):
    @_op.op
    def pair(a: _op.Tensor, b: _op.Tensor, c: _op.Tensor) -> _op.Tensor:
        return a + b + c

    @pair.grad
    def _(dy):
        return 2 * dy, 3 * dy

    a, b, c = variable(1.0), variable(1.0), variable(1.0)
    pair.run(a, b, c).backward()
    assert (a.grad.item(), b.grad.item(), c.grad) == (2, 3, None)


@torch_only
def test_a_rule_keeps_only_what_it_names(registry):
    @_op.op
    def forgetful(data: _op.Tensor) -> _op.Tensor:
        return data * 1

    @forgetful.grad
    def _(dy):
        return dy

    x = variable(1.0)
    assert forgetful.run(x).grad_fn.saved_tensors == ()


@torch_only
def test_a_gradient_by_rule_can_be_differentiated(mx):
    x = mx.nd.array([8.0])
    x.attach_grad()
    with mx.autograd.record():
        (dx,) = mx.autograd.grad(mx.nd.cbrt(x), [x], create_graph=True)
    dx.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), -2 / 9 * 8.0 ** (-5 / 3), rtol=1e-5)


@torch_only
def test_a_rule_costs_nothing_where_nothing_is_recorded():
    row = _op.get("broadcast_maximum")
    x = torch.ones(3)
    with torch.no_grad():
        assert row.run(x, x).grad_fn is None
