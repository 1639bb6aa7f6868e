"""LSQ: its operator, its blocks, and nets that learn with weights of few bits."""

import copy
import pickle
from math import sqrt

import numpy as np
import pytest
from ways import each

from layers import DenseBlock, LSQBlock, SoftmaxLoss, ops
from layers.engine import autograd, gluon, mx, nd

LIMITS = {(8, True): (-128, 127), (4, True): (-8, 7), (2, True): (-2, 1), (3, False): (0, 7)}


def by_hand(x, scale, low, high, n):
    """LSQ, of built-in operators, as the appendix of the paper writes it."""
    g = 1 / sqrt(n * high)
    scale = g * scale + nd.BlockGrad((1 - g) * scale)
    v = nd.clip(nd.broadcast_div(x, scale), a_min=low, a_max=high)
    return nd.broadcast_mul(v + nd.BlockGrad(nd.floor(v + 0.5) - v), scale)


def outcome(function, arrays, dy):
    """The output, and the gradients of the arrays."""
    arrays = [a.copy() for a in arrays]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = function(*arrays)
    y.backward(dy)
    return [y.asnumpy(), *(a.grad.asnumpy() for a in arrays)]


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("dtype, near", [("float32", 1e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("bits, signed", LIMITS)
@pytest.mark.parametrize("shape", [(4, 6), (3, 1, 5)], ids=str)
def test_as_composed_of_built_in_operators(shape, bits, signed, dtype, near, per_sample):
    random = np.random.RandomState(bits)
    x, dy = (nd.array(random.standard_normal(shape), dtype=dtype) for _ in range(2))
    scale = nd.array([0.25 if bits < 8 else 0.0625], dtype=dtype)  # some elements are clipped
    n = x.size // len(x) if per_sample else x.size
    found = outcome(
        lambda *a: ops.lsq(*a, bits=bits, signed=signed, per_sample=per_sample), [x, scale], dy
    )
    expected = outcome(lambda *a: by_hand(*a, *LIMITS[bits, signed], n), [x, scale], dy)
    assert [a.dtype for a in found] == [np.dtype(dtype)] * 3
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=near, atol=near)


def test_in_16_bits():
    random = np.random.RandomState(0)
    arrays = [random.standard_normal((4, 6)), np.array([0.25])]  # whose quotients are exact
    arrays = [nd.array(a, dtype="float16") for a in arrays]
    found, dy = [], nd.array(random.standard_normal((4, 6)), dtype="float16")
    for dtype in ("float16", "float32"):
        cast = [a.astype(dtype) for a in arrays]
        found.append(outcome(lambda *a: ops.lsq(*a, bits=3), cast, dy.astype(dtype)))
    assert [a.dtype for a in found[0]] == [np.dtype("float16")] * 3
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-3)


def test_at_extreme_values():
    x = nd.array([3e38, -3e38, 0.0, 1.0])
    for scale in (0.0, -1.0, 1e-38, 3e38):
        for a in outcome(ops.lsq, [x, nd.array([scale])], nd.ones((4,))):
            assert not np.isnan(a).any(), scale


def test_a_sum_above_the_range_of_16_bits():
    x = nd.full((300, 300), 100.0, dtype="float16")  # all are clipped: each adds 127
    _, _, ds = outcome(ops.lsq, [x, nd.array([0.5], dtype="float16")], nd.ones_like(x))
    np.testing.assert_allclose(ds, [90000 * 127 / sqrt(90000 * 127)], rtol=1e-3)


@pytest.mark.parametrize("bits, signed", [(1, True), (0, False), (17, True), (4.5, True)])
def test_bits_that_cannot_be(bits, signed):
    kind = "signed" if signed else "unsigned"
    with pytest.raises(
        ValueError,
        match=f"{bits} bits, {kind}\n  expected a whole number from {2 if signed else 1}",
    ):
        LSQBlock(bits=bits, signed=signed)
    if signed:
        with pytest.raises(ValueError, match=f"{bits} bits, signed"):
            DenseBlock(3, 5, quantize=bits)


def test_inputs_that_cannot_be_quantized():
    for bits, inputs in ((None, True), (8, "both")):
        with pytest.raises(ValueError, match=f"quantize is {bits}, and quantize_inputs"):
            DenseBlock(3, 5, quantize=bits, quantize_inputs=inputs)


def started(*args, **kwargs):
    mx.random.seed(1)
    block = DenseBlock(*args, **kwargs)
    block.initialize(mx.init.Normal(0.5))
    return block


@pytest.mark.parametrize("in_channels", [6, 0])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("hybridize", [False, True])
def test_a_dense_layer(in_channels, bits, hybridize):
    block, x = started(in_channels, 5, quantize=bits), nd.array(np.random.randn(7, 6))
    if hybridize:
        block.hybridize()
    y = block(x).asnumpy()
    w, limit = block.weight.data().asnumpy(), 2 ** (bits - 1) - 1
    s = block.weight_scale.data().asnumpy()
    np.testing.assert_allclose(s, [2 * np.abs(w).mean() / sqrt(limit)], rtol=1e-5)
    rounded = s * np.floor(np.clip(w / s, -limit - 1, limit) + 0.5)
    np.testing.assert_allclose(y, x.asnumpy() @ rounded.T, rtol=1e-4, atol=1e-5)
    assert len(np.unique(rounded)) <= 2**bits


def test_a_parent_that_is_hybridized_before_its_first_call():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(6), DenseBlock(0, 5, quantize=4, quantize_inputs=True))
    net.initialize(mx.init.Normal(0.5))
    net.hybridize()
    net(nd.array(np.random.randn(7, 3))).wait_to_read()
    w = net[1].weight.data().asnumpy()
    np.testing.assert_allclose(
        net[1].weight_scale.data().asnumpy(), [2 * np.abs(w).mean() / sqrt(7)], rtol=1e-5
    )
    np.testing.assert_allclose(net[1].input_scale.data().asnumpy(), [1.6 / sqrt(7)], rtol=1e-5)


def test_the_scale_of_inputs_is_set_by_the_first_call_alone():
    block, x = LSQBlock(bits=4, signed=False), nd.array([[0.5, 1.5], [0.0, 2.0]])
    block.initialize()
    y = block(x)
    s = 2 * 1 / sqrt(15)
    np.testing.assert_allclose(block.scale.data().asnumpy(), [s], rtol=1e-6)
    np.testing.assert_allclose(y.asnumpy(), s * np.round(x.asnumpy() / s), rtol=1e-6)
    block(10 * x).wait_to_read()
    np.testing.assert_allclose(block.scale.data().asnumpy(), [s], rtol=1e-6)
    other = LSQBlock(bits=4)
    other.initialize()
    other(nd.zeros((2, 2))).wait_to_read()
    assert other.scale.data().asnumpy().tolist() == [1]


@pytest.mark.parametrize("kind, limit", [("signed", 7), (True, 7), ("unsigned", 15)])
def test_quantized_inputs_of_a_dense_layer(kind, limit):
    block = started(3, 5, quantize=4, quantize_inputs=kind)
    x = np.array([[0.5, 1.5, 1.0], [0.25, 9.0, 0.75]], dtype="float32")
    y = block(nd.array(x)).asnumpy()
    s = 2 * np.abs(x).mean() / sqrt(limit)
    np.testing.assert_allclose(block.input_scale.data().asnumpy(), [s], rtol=1e-6)
    rounded = s * np.floor(np.minimum(x / s, limit) + 0.5)
    w, t = block.weight.data().asnumpy(), block.weight_scale.data().asnumpy()
    expected = rounded @ (t * np.floor(np.clip(w / t, -8, 7) + 0.5)).T
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


def test_weights_that_were_learned_without(tmp_path):
    file = str(tmp_path / "dense.params")
    first, second = started(6, 5), DenseBlock(6, 5, quantize=8)
    first.save_parameters(file)
    second.initialize(mx.init.Zero())
    second.load_parameters(file, allow_missing=True)
    second(nd.ones((1, 6))).wait_to_read()
    w = first.weight.data().asnumpy()
    np.testing.assert_allclose(
        second.weight_scale.data().asnumpy(), [2 * np.abs(w).mean() / sqrt(127)], rtol=1e-5
    )


def test_learned_scales_travel(tmp_path):
    file, x = str(tmp_path / "dense.params"), nd.array(np.random.randn(3, 6))
    first = started(6, 5, quantize=4, quantize_inputs="signed")
    first(x).wait_to_read()
    first.weight_scale.set_data(nd.array([0.3]))
    first.input_scale.set_data(nd.array([0.2]))
    first.save_parameters(file)
    second = DenseBlock(6, 5, quantize=4, quantize_inputs="signed")
    second.load_parameters(file, ctx=mx.current_context())
    np.testing.assert_array_equal(first(x).asnumpy(), second(x).asnumpy())
    third = copy.deepcopy(second)
    np.testing.assert_array_equal(first(x).asnumpy(), third(x).asnumpy())


@pytest.mark.engine("torch")  # blocks of MXNet cannot be pickled
def test_pickled_before_its_first_call():
    block = pickle.loads(pickle.dumps(started(6, 5, quantize=4)))
    block(nd.ones((1, 6)))
    w = block.weight.data().asnumpy()
    np.testing.assert_allclose(
        block.weight_scale.data().asnumpy(), [2 * np.abs(w).mean() / sqrt(7)], rtol=1e-5
    )


@pytest.mark.parametrize("options", each("eager"))
def test_graphs_are_as_eager_calls(options, caplog):
    net = gluon.nn.HybridSequential()
    net.add(DenseBlock(6, 8, activation="relu", quantize=8), LSQBlock(bits=4, signed=False))
    net.add(DenseBlock(0, 5, quantize=4, quantize_inputs="unsigned"))
    net.initialize(mx.init.Normal(0.5))
    x = nd.array(np.random.RandomState(0).randn(7, 6))

    def gradients():
        with autograd.record():
            y = net(x)
        y.backward()
        return [y.asnumpy(), *(p.grad().asnumpy() for p in net.collect_params().values())]

    expected = gradients()
    net.hybridize(**options)
    for _ in range(3):
        for a, b in zip(gradients(), expected):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert "is not compiled" not in caplog.text


def test_repr():
    assert repr(DenseBlock(0, 5, quantize=8)) == "DenseBlock(None -> 5, 8 bits)"
    assert repr(LSQBlock(bits=4)) == "LSQBlock(bits=4, signed=True)"


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.RandomState(0).permutation(len(found.data))
    x, label = found.data[order].astype("float32") / 8 - 1, found.target[order].astype("float32")
    return (x[:1408], label[:1408]), (x[1408:], label[1408:])


def accuracy(digits, quantize=None, inputs=(False, False), epochs=15):
    """The share of unseen digits that a net recognizes, and its scales before and after."""
    (x, label), (other, right) = digits
    mx.random.seed(3)
    net = gluon.nn.HybridSequential()
    options = [{"quantize": quantize, "quantize_inputs": kind} for kind in inputs]
    net.add(DenseBlock(64, 48, activation="relu", **options[0]), DenseBlock(48, 10, **options[1]))
    net.initialize(mx.init.Xavier())
    net(nd.array(x[:64])).wait_to_read()
    scales = list(net.collect_params(".*scale").values())
    first = [p.data().asscalar() for p in scales]
    net.hybridize()
    loss = SoftmaxLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.005})
    for epoch in range(epochs):
        order = np.random.RandomState(epoch).permutation(len(x))
        for rows in order.reshape(-1, 64):
            with autograd.record():
                value = loss(net(nd.array(x[rows])), nd.array(label[rows]))
            value.backward()
            trainer.step(64)
    found = net(nd.array(other)).asnumpy().argmax(axis=1)
    return float((found == right).mean()), first, [p.data().asscalar() for p in scales]


@pytest.mark.slow
def test_nets_of_few_bits_learn(digits):
    plain, *_ = accuracy(digits)
    assert plain > 0.95
    for bits in (8, 4):
        for inputs in ((False, False), ("signed", "unsigned")):
            found, first, last = accuracy(digits, bits, inputs)
            assert found > plain - 0.03, (bits, inputs, found, plain)
            assert len(first) == (4 if inputs[0] else 2)
            assert all(b > 0 and abs(b / a - 1) > 1e-3 for a, b in zip(first, last))  # they learn
