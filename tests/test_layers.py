"""The blocks: eager, hybridized, deferred, beside Gluon's own layers, on both engines."""

import pickle

import numpy as np
import pytest

from layers import (
    DenseBlock,
    EmbeddingBag,
    GeGLU,
    GELUBlock,
    GroupNormBlock,
    HardSwishBlock,
    LayerNormBlock,
    LinearCrossEntropyLoss,
    MishBlock,
    MultiHeadAttention,
    ReLUBlock,
    RMSNormBlock,
    SigmoidBlock,
    SoftmaxLoss,
    SoftplusBlock,
    SwiGLU,
    SwishBlock,
    ops,
)
from layers.engine import autograd, gluon, mx, nd


def array(*shape):
    return nd.array(np.random.RandomState(len(shape)).randn(*shape))


def started(block):
    mx.random.seed(1)
    block.initialize(mx.init.Xavier())
    return block


def test_the_tutorial():
    dense = DenseBlock(3, 5, 0.1)
    dense.initialize()
    x = mx.nd.uniform(shape=(4, 3))
    y = dense(x)
    assert isinstance(dense, gluon.HybridBlock)
    expected = x.asnumpy() @ dense.weight.data().asnumpy().T + 0.1
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-5)


@pytest.mark.parametrize(
    "bias, names, constant",
    [
        (True, ["bias", "weight"], 0),
        (False, ["weight"], 0),
        (0.5, ["weight"], 0.5),
        (1.0, ["weight"], 1),
        (np.float32(0.5), ["weight"], 0.5),
    ],
)
def test_bias(bias, names, constant):
    block = started(DenseBlock(3, 5, bias))
    assert sorted(n.rsplit("_", 1)[1] for n in block.collect_params()) == names
    y = block(nd.zeros((2, 3)))
    assert (y.asnumpy() == constant).all()


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh", None, lambda y: y * 2])
def test_activation(activation):
    block, x = started(DenseBlock(3, 5, activation=activation)), array(4, 3)
    z = x.asnumpy() @ block.weight.data().asnumpy().T
    formula = {
        "relu": lambda z: np.maximum(z, 0),
        "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
        "tanh": np.tanh,
    }
    expected = z if activation is None else formula.get(activation, activation)(z)
    np.testing.assert_allclose(block(x).asnumpy(), expected, rtol=1e-4, atol=1e-6)


NAMED = {
    "gelu": GELUBlock(),
    "gelu_tanh": GELUBlock(approximate=True),
    "hard_swish": HardSwishBlock(),
    "mish": MishBlock(),
    "silu": SwishBlock(),
    "softplus": SoftplusBlock(),
    "softrelu": gluon.nn.Activation("softrelu"),
    "softsign": gluon.nn.Activation("softsign"),
    "swish": gluon.nn.Swish(),
}


@pytest.mark.parametrize("name", NAMED)
def test_activations_by_name(name):
    block, x = started(DenseBlock(3, 5, activation=name)), array(4, 3)
    z = nd.dot(x, block.weight.data(), transpose_b=True)
    np.testing.assert_allclose(block(x).asnumpy(), NAMED[name](z).asnumpy(), rtol=1e-5, atol=1e-6)


GATES = {
    "swish": (SwiGLU, {"bias": False}, lambda z: z * nd.sigmoid(z)),
    "gelu": (GeGLU, {"bias": False}, lambda z: nd.LeakyReLU(z, act_type="gelu")),
    "gelu_tanh": (GeGLU, {"bias": False, "approximate": True}, GELUBlock(approximate=True)),
}


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("name", GATES)
def test_gated(name, hybridize):
    block, options, gate = GATES[name]
    net, x = started(block(0, 8, 3, **options)), array(2, 5, 4)
    net.hybridize(hybridize)
    with autograd.record():
        y = net(x)
    y.backward()
    w = [p.data() for p in net.collect_params().values()]
    assert [a.shape for a in w] == [(8, 4), (8, 4), (3, 8)]
    hidden = gate(nd.dot(x, w[0].T)) * nd.dot(x, w[1].T)
    np.testing.assert_allclose(y.asnumpy(), nd.dot(hidden, w[2].T).asnumpy(), rtol=1e-4, atol=1e-5)
    for p in net.collect_params().values():
        assert np.abs(p.grad().asnumpy()).sum() > 0


def test_gated_with_biases():
    names = [n.split("_", 1)[1] for n in SwiGLU(4, 8, 3, bias=True).collect_params()]
    assert names == ["gate_weight", "gate_bias", "up_weight", "up_bias", "down_weight", "down_bias"]


@pytest.mark.parametrize("hybridize", [False, True])
def test_beside_gluons_own_layers(hybridize):
    net = gluon.nn.HybridSequential()
    net.add(
        DenseBlock(0, 8),  # deferred
        SigmoidBlock(),
        gluon.nn.Dense(6, activation="relu"),
        DenseBlock(6, 5, bias=False),
        ReLUBlock(),
        gluon.nn.Dropout(0.5),
        gluon.nn.BatchNorm(),
        DenseBlock(0, 5),
    )
    loss = SoftmaxLoss()
    started(net)
    if hybridize:
        net.hybridize()
        loss.hybridize()
    x, label = array(4, 3), nd.array([0, 1, 2, 3])
    with autograd.record():
        value = loss(net(x), label)
    value.backward()
    assert value.shape == (4,)
    assert net[0].weight.shape == (8, 3) and net[7].weight.shape == (5, 5)
    for parameter in net.collect_params().values():
        if parameter.grad_req != "null":
            assert np.isfinite(parameter.grad().asnumpy()).all(), parameter.name
    assert np.abs(net[0].weight.grad().asnumpy()).sum() > 0


def test_hybridized_equals_eager():
    net = gluon.nn.HybridSequential()
    net.add(DenseBlock(0, 8, activation="sigmoid"), DenseBlock(0, 5))
    started(net)
    loss, x, label = SoftmaxLoss(), array(4, 3), nd.array([0, 1, 2, 3])
    found = []
    for hybridize in (False, True):
        net.hybridize(hybridize)
        with autograd.record():
            value = loss(net(x), label)
        value.backward()
        found.append(
            [value.asnumpy(), *(p.grad().asnumpy() for p in net.collect_params().values())]
        )
    for eager, hybrid in zip(*found):
        np.testing.assert_allclose(hybrid, eager, rtol=1e-5, atol=1e-7)


def test_the_last_axis():
    block = started(DenseBlock(0, 5))
    assert block(array(2, 3, 4)).shape == (2, 3, 5)
    assert block.weight.shape == (5, 4)


def test_loss_is_gluons():
    scores, label, weight = array(4, 5), nd.array([0, 1, 2, 3]), nd.array([0.0, 1, 2, 3])
    ours, gluons = SoftmaxLoss(), gluon.loss.SoftmaxCrossEntropyLoss()
    np.testing.assert_allclose(
        ours(scores, label).asnumpy(), gluons(scores, label).asnumpy(), rtol=1e-5
    )
    weighted = ours(scores, label, weight).asnumpy()
    np.testing.assert_allclose(weighted, ours(scores, label).asnumpy() * [0, 1, 2, 3], rtol=1e-5)
    doubled = SoftmaxLoss(weight=2.0)(scores, label).asnumpy()
    np.testing.assert_allclose(doubled, 2 * ours(scores, label).asnumpy(), rtol=1e-5)


def test_the_loss_respects_its_head_gradient():
    scores, label = array(4, 5), nd.array([0, 1, 2, 3])
    scores.attach_grad()
    found = []
    for factor in (1, 3):
        with autograd.record():
            value = SoftmaxLoss()(scores, label) * factor
        value.backward()
        found.append(scores.grad.asnumpy())
    np.testing.assert_allclose(found[1], 3 * found[0], rtol=1e-5)


def test_parameters_travel(tmp_path):
    first, second = started(DenseBlock(3, 5)), DenseBlock(3, 5)
    first.save_parameters(str(tmp_path / "dense.params"))
    second.load_parameters(str(tmp_path / "dense.params"), ctx=mx.current_context())
    x = array(2, 3)
    np.testing.assert_array_equal(first(x).asnumpy(), second(x).asnumpy())


def test_repr():
    assert repr(DenseBlock(0, 5)) == "DenseBlock(None -> 5)"
    assert repr(SigmoidBlock()) == "SigmoidBlock()"
    assert repr(SwishBlock(beta=1.5)) == "SwishBlock(beta=1.5)"
    assert repr(GELUBlock(approximate=True)) == "GELUBlock(approximate=True)"
    assert repr(SwiGLU(0, 8, 3, bias=True)) == "SwiGLU(None -> 8 -> 3)"


@pytest.mark.engine("torch")  # MXNet's own errors have neither
def test_an_error_says_where():
    net = gluon.nn.HybridSequential()
    net.add(DenseBlock(3, 8), DenseBlock(8, 5))
    started(net)
    with pytest.raises(ValueError) as caught:
        net(array(2, 7))
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "weight is (8, 3), but data (2, 7) has 7 columns" in told
    assert "expected weight (num_hidden=8, 7)" in told
    assert "in DenseBlock(x (2, 7)), net.0" in told


def grouped(in_channels, num_groups):
    return GroupNormBlock(in_channels=in_channels, num_groups=num_groups)


def attention(in_channels, channels, num_heads):
    return MultiHeadAttention(in_channels, channels, num_heads=num_heads)


def gated(*sizes):
    return SwiGLU(*sizes, bias=True)


NAMES = {grouped: GroupNormBlock, attention: MultiHeadAttention, gated: SwiGLU}


@pytest.mark.parametrize(
    ("make", "sizes", "told"),
    [
        (RMSNormBlock, (-3,), "in_channels is -3\n  expected a whole number from 0"),
        (LayerNormBlock, (2.5,), "in_channels is 2.5"),
        (grouped, ("4", 2), "in_channels is '4'"),
        (grouped, (4, 1.0), "num_groups is 1.0\n  expected a whole number from 1"),
        (attention, (0, 0, 1), "channels is 0"),
        (attention, (0, 8, 2.0), "num_heads is 2.0"),
        (attention, (-1, 8, 2), "in_channels is -1"),
        (LinearCrossEntropyLoss, (3, 0), "channels is 0"),
        (LinearCrossEntropyLoss, (3.5, 4), "in_channels is 3.5"),
        (EmbeddingBag, (4, True), "output_dim is True"),
        (gated, (3, 0, 4), "hidden_channels is 0"),
    ],
)
def test_sizes_that_cannot_be(make, sizes, told):
    with pytest.raises(ValueError, match=f"^{NAMES.get(make, make).__name__}: {told}"):
        make(*sizes)


def test_mistakes_are_told_where_a_layer_is_made():
    assert len(list(DenseBlock(3, 5, np.bool_(True)).collect_params())) == 2
    assert len(list(DenseBlock(3, 5, None).collect_params())) == 1
    for sizes, told in (
        ((3, 4.5), "channels is 4.5\n  expected a whole number from 1"),
        ((3, 0), "channels is 0"),
        (("3", 4), "in_channels is '3'"),
        ((-1, 4), "in_channels is -1\n  expected a whole number from 0"),
        ((False, 4), "in_channels is False"),
    ):
        with pytest.raises(ValueError, match=f"DenseBlock: {told}"):
            DenseBlock(*sizes)
    for bias, told in (
        ("zeros", "'zeros'\n  expected True or False, or a float such as 0.1"),
        (1, "1\n  expected True or False, or a float such as 1.0 for a constant bias"),
        (0, "0\n  .*such as 0.0"),
        (np.int64(1), ".*1.*\n  .*such as 1.0"),
        (np.uint8(0), ".*0.*\n  .*such as 0.0"),
    ):
        with pytest.raises(TypeError, match=f"DenseBlock: bias is {told}"):
            DenseBlock(3, 5, bias)
    for make in (
        lambda bias: SwiGLU(3, 4, 5, bias=bias),
        lambda bias: GeGLU(3, 4, 5, bias=bias),
        lambda bias: MultiHeadAttention(0, 4, num_heads=2, bias=bias),
        lambda bias: LinearCrossEntropyLoss(3, 4, bias=bias),
    ):
        for bias in (1, 0, 0.5, np.int64(1)):
            with pytest.raises(TypeError, match="bias is .*\n  expected True or False"):
                make(bias)
    with pytest.raises(ValueError, match="(?s)'swoosh'.*gelu.*relu, sigmoid, .*tanh"):
        DenseBlock(3, 5, activation="swoosh")


@pytest.mark.parametrize(
    "make, kind, told",
    [
        (lambda: DenseBlock(3, 2, activation="reluu"), ValueError, "DenseBlock: activation is"),
        (lambda: SoftmaxLoss()(nd.ones((2, 3)), nd.ones((4,))), ValueError, "SoftmaxLoss: "),
        (lambda: EmbeddingBag(3, 2)(nd.array([[7]])), IndexError, "EmbeddingBag: ids"),
        (lambda: SoftmaxLoss()(nd.ones((2, 3)), None), TypeError, "SoftmaxLoss: label is missing"),
    ],
)
def test_errors_are_mxnets_and_of_pythons_kinds(make, kind, told):
    with pytest.raises(kind, match=told) as caught:
        make()
    assert isinstance(caught.value, mx.base.MXNetError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, kind) and str(again) == str(caught.value)


@pytest.mark.engine("torch")  # MXNet has their messages in errors of its own
@pytest.mark.parametrize(
    "operator, shapes",
    [
        (ops.swiglu, ((2, 3), (2, 4))),
        (ops.geglu_tanh, ((2, 3), (3,))),
        (ops.info_nce, ((5, 3), (4, 3))),
        (ops.focal, ((2, 3), (2, 1))),
    ],
    ids=str,
)
def test_operators_of_arrays_of_one_shape(operator, shapes):
    with pytest.raises(ValueError) as caught:
        operator(*map(nd.ones, shapes))
    assert isinstance(caught.value, mx.base.MXNetError)
    text = str(caught.value)
    assert text.startswith(f"operator '{operator.name}': ") and text.count("\n  expected") == 1
    assert str(shapes[0]) in text and str(shapes[1]) in text
