"""Operators whose gradients are not the derivative of their forward, and what says so."""

import pytest

from layers import OperatorBlock, operator
from layers.check import check_layer, check_operator
from layers.engine import gluon, nd


@operator
class straight_round:
    """y = round(x), whose gradient is that of y = x."""

    def forward(x):
        return nd.round(x)

    def dx(dy):
        return dy * 1

    def surrogate(x):
        return x * 1


@operator
class reverse:
    """y = x, whose gradient is that of y = -factor x."""

    saves = ("same",)

    def forward(x, *, factor: float = 1.0):
        return x * 1, x * 1

    def dx(dy, x, same, factor):
        return -factor * dy

    def surrogate(x, factor):
        return -factor * x

    def shapes(x):
        return {"y": x}


@operator
class wrong_round:
    """Half of what its surrogate says."""

    def forward(x, w):
        return nd.round(x) * w

    def dx(dy, w):
        return dy * w / 2

    def dw(dy, x):
        return dy * x

    surrogate = lambda w, x: x * w  # noqa: E731  as short a way of writing it as any


@operator
class clipped:
    """y = x, with its gradient clipped to [-0.1, 0.1]."""

    surrogate = "what the gradient is depends on that of the output"

    def forward(x, b):
        return x + b

    def dx(dy):
        return nd.clip(dy, a_min=-0.1, a_max=0.1)

    def db(dy):
        return dy * 1


@operator
class sign_with_loss:
    """A loss of a sign, and the gradient of the hinge."""

    def forward(x, label):
        return nd.sign(x)

    def dx(x, label):
        return -label * (label * x < 1)

    def surrogate(x, label):
        return nd.relu(1 - label * x)

    def loss(y):
        return y


def test_the_gradient_is_that_of_the_surrogate():
    report = check_operator(straight_round, (4, 3))
    assert report.passed, report
    assert report["gradient of x"].text.endswith("of the surrogate of straight_round")
    assert straight_round(nd.array([0.4, 1.6])).asnumpy().tolist() == [0, 2]  # it is itself again


@pytest.mark.slow
def test_attributes_and_what_is_saved():
    report = check_operator(reverse, (4, 3), factor=3.0)
    assert report.passed, report
    assert "surrogate" in report["gradient of x"].text


def test_one_that_is_not_the_gradient_of_its_surrogate():
    report = check_operator(wrong_round, (4, 3), (4, 3), compiled=False)
    assert [c.name for c in report.failed] == ["gradient of x"]
    text = report["gradient of x"].text
    assert ", of the surrogate of wrong_round; 12 of 12 elements are wrong" in text
    assert report["gradient of w"].status == "passed"  # of the surrogate, not of round(x) w


def test_none_with_a_reason():
    report = check_operator(clipped, (4, 3), (4, 3), compiled=False)
    assert report.passed, report
    assert report["gradient of x"].status == report["gradient of b"].status == "not checked"
    assert report["gradient of x"].text == (
        "it is no derivative: what the gradient is depends on that of the output (clipped)"
    )
    assert report["finite"].status == "passed"


@pytest.mark.slow
def test_a_loss():
    report = check_operator(sign_with_loss, (4, 3), nd.array([[1, -1, 1]] * 4), wrt=["x"])
    assert report.passed, report
    assert report["gradient of x"].status == "passed"


def statuses(net, hybridized):
    net.initialize()
    if hybridized:
        net.hybridize(static_alloc=True, static_shape=True)
    report = check_layer(net, (2, 5), compiled=False)
    assert report.passed, report
    return {c.name: c.status for c in report if c.name.startswith(("gradient", "second"))}


HYBRIDIZED = [False, pytest.param(True, marks=pytest.mark.engine("torch"))]


@pytest.mark.parametrize("hybridized", HYBRIDIZED)
def test_a_layer_that_ends_with_such_an_operator(hybridized):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), OperatorBlock(straight_round))
    assert {*statuses(net, hybridized).values()} == {"passed"}


@pytest.mark.parametrize("hybridized", HYBRIDIZED)
def test_layers_that_see_other_values_than_those_of_the_surrogate(hybridized):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), OperatorBlock(straight_round), gluon.nn.Dense(2))
    found = statuses(net, hybridized)
    assert found["gradient of 2.weight"] == "not checked"
    assert found["gradient of 2.bias"] == found["gradient of 0.bias"] == "passed"


def test_a_layer_of_an_operator_without_a_surrogate():
    net = gluon.nn.HybridSequential()
    b = {"b": {"shape": (2, 3), "init": "ones"}}
    net.add(gluon.nn.Dense(3), OperatorBlock(clipped, params=b), gluon.nn.Dense(2))
    assert statuses(net, False)["gradient of 0.weight"] == "not checked"


def test_without_it_the_check_fails():
    @operator
    class plain_round:
        def forward(x):
            return nd.round(x)

        def dx(dy):
            return dy * 1

    report = check_operator(plain_round, (4, 3), compiled=False)
    assert report["gradient of x"].status == "failed"


def test_a_surrogate_that_gives_another_shape():
    @operator
    class shorter:
        def forward(x):
            return nd.round(x)

        def dx(dy):
            return dy * 1

        def surrogate(x):
            return nd.sum(x, axis=1)

    text = check_operator(shorter, (4, 3), compiled=False)["gradient of x"].text
    assert "the surrogate gives y (4,), and forward (4, 3)" in text


@pytest.mark.parametrize(
    "surrogate, told",
    [
        (3, "surrogate is 3\n  expected a function, or text that says why there is none"),
        ("", "surrogate is ''"),
        (lambda z: z, "surrogate has the parameter 'z'\n  expected one of x"),
    ],
)
def test_a_definition_that_cannot_be(surrogate, told):
    parts = {"forward": lambda x: x, "dx": lambda dy: dy, "surrogate": surrogate}
    with pytest.raises(TypeError, match=told):
        operator(type("bad", (), parts))
