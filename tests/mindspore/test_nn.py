"""Cells: what they own, and what is told when they are made wrongly."""

import pytest

import layers.mindspore as ms
from layers.engine import gluon
from layers.mindspore.nn import Cell


class Scale(Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter([2.0, 3.0])
        self.shift = ms.Parameter(ms.Tensor([1.0]), "b", requires_grad=False)

    def construct(self, x):
        return x * self.w + self.shift


class Net(Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = Scale(), Scale()

    def construct(self, x):
        return self.second(self.first(x))


def test_what_it_owns():
    net = Net()
    names = [name for name, _ in net.parameters_and_names()]
    assert names == ["first.w", "first.shift", "second.w", "second.shift"]
    assert [p.name for p in net.get_parameters()] == ["w", "b", "w", "b"]
    assert [p.name for p in net.trainable_params()] == ["w", "w"]
    assert isinstance(net, gluon.Block)
    assert net(ms.Tensor([1.0, 1.0])).asnumpy().tolist() == [7, 13]


def test_it_learns():
    net, x, target = Net(), ms.Tensor([1.0, 1.0]), ms.Tensor([5.0, 5.0])
    weights = net.trainable_params()

    def loss(x):
        return ((net(x) - target) ** 2).reshape(-1)

    step = ms.value_and_grad(loss, None, weights)
    first = step(x)[0].asnumpy().sum()
    for _ in range(50):
        _, gradients = step(x)
        for w, dw in zip(weights, gradients):
            w.set_data(w - 0.02 * dw)
    assert step(x)[0].asnumpy().sum() < first / 1e4


def test_a_parameter_stays_one():
    net = Scale()
    with pytest.raises(
        TypeError, match="(?s)'w' is set to a Tensor\n  expected a Parameter, or set"
    ):
        net.w = ms.Tensor([1.0])
    with pytest.raises(ValueError, match=r"set_data: the shape is \(3,\)\n  expected \(2,\)"):
        net.w.set_data([1.0, 2.0, 3.0])
    net.w = ms.Parameter([0.0, 0.0])
    assert net(ms.Tensor([5.0, 5.0])).asnumpy().tolist() == [1, 1]


def test_mistakes():
    class Early(Cell):
        def __init__(self):
            self.w = ms.Parameter([1.0])

    class Never(Cell):
        def __init__(self):
            self.count = 3

    class Empty(Cell):
        pass

    with pytest.raises(AttributeError, match=r"(?s)'w' is set too early.*super\(\).__init__"):
        Early()
    with pytest.raises(AttributeError, match=r"(?s)called before it is made.*super\(\).__init__"):
        Never()(ms.Tensor([1.0]))
    with pytest.raises(AttributeError, match="Empty: construct is not defined"):
        Empty()(ms.Tensor([1.0]))
    with pytest.raises(TypeError, match="positional argument"):
        Scale()(ms.Tensor([1.0]), 1)
