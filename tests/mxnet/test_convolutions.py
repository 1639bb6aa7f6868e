"""Convolutions of static graphs: in inference weights are laid out once, in training images."""

import copy

import numpy as np
import pytest

pytest.importorskip("torch", reason="the graphs are those of layers.mxnet")

import torch

from layers import DenseBlock, OperatorBlock, compiled_step, operator
from layers.engine import autograd, gluon, mx, nd
from layers.mxnet._graph import convolutions

pytestmark = [
    pytest.mark.engine("torch"),
    pytest.mark.skipif(not convolutions.is_available(), reason="oneDNN has no AVX here"),
]

CHANNELS = (
    128  # 3 x 3 kernels from and to so many have more than convolutions.LEAST_OF_ONE elements
)
STATIC = {"static_alloc": True, "static_shape": True}
# But GroupAdaGrad, whose weights have two dimensions.
OPTIMIZERS = sorted({*mx.optimizer.Optimizer.opt_registry} - {"groupadagrad", "test"})


def images(batch=2, size=6, seed=0):
    values = np.random.RandomState(seed).randn(batch, CHANNELS, size, size)
    return nd.array(values, ctx=mx.cpu())


def rows():
    return images().reshape((2, CHANNELS, -1))


def net_of(*convolutions, **how):
    net = gluon.nn.HybridSequential()
    net.add(*convolutions)
    net.initialize(mx.init.Xavier(), ctx=mx.cpu())
    net.hybridize(**(how or STATIC))
    return net


def conv(**options):
    options = {"kernel_size": 3, "padding": 1, "in_channels": CHANNELS} | options
    return gluon.nn.Conv2D(CHANNELS, **options)


@pytest.fixture
def laid_out(monkeypatch):
    """How often a weight was laid out."""
    counted = []

    class Counting:
        _convolution_pointwise = torch.ops.mkldnn._convolution_pointwise

        @staticmethod
        def _reorder_convolution_weight(weight, *settings):
            counted.append(weight)
            return torch.ops.mkldnn._reorder_convolution_weight(weight, *settings)

    monkeypatch.setattr(convolutions, "onednn", Counting)
    return counted


def is_plain(net, x):
    """Whether the graph gives what the net gives without it."""
    found = net(x).asnumpy()
    net.hybridize(False)
    expected = net(x).asnumpy()
    return np.allclose(found, expected, rtol=1e-4, atol=1e-4 * abs(expected).max())


def test_small_weights_are_kept_beside_others(laid_out):
    """And what is between the convolutions stays with the channels last."""
    x = nd.random.uniform(shape=(2, 3, 12, 12), ctx=mx.cpu())
    for layers, count in (
        ([gluon.nn.Conv2D(8, 3)], 0),
        ([gluon.nn.Conv2D(8, 3), gluon.nn.MaxPool2D(2), gluon.nn.Conv2D(8, 3)], 2),
    ):
        net = net_of(*layers)
        net(x)
        y = net(x)
        assert len(laid_out) == count and is_channels_last(y) is bool(count)
        assert is_plain(net, x)
        laid_out.clear()


def is_channels_last(y):
    return y._tensor.is_contiguous(memory_format=torch.channels_last)


def test_a_weight_is_laid_out_once(laid_out):
    net, x = net_of(conv(), conv(use_bias=False)), images()
    for _ in range(3):
        net(x)
    assert len(laid_out) == 2
    assert is_plain(net, x)


@pytest.mark.parametrize(
    "options",
    [
        {"strides": 2, "padding": 0},
        {"strides": (1, 2), "dilation": (2, 1), "padding": (2, 1)},
        {"kernel_size": 7, "groups": 4},
        {"activation": "relu"},
    ],
    ids=str,
)
def test_all_options(options, laid_out):
    net, x = net_of(conv(**options)), images()
    net(x)
    assert is_plain(net, x) and len(laid_out) == 1


def test_data_of_other_shapes(laid_out):
    net = net_of(conv())
    for batch, size in ((2, 6), (3, 6), (2, 9)):
        for _ in range(2):
            assert net(images(batch, size)).shape == (batch, CHANNELS, size, size)
    assert len(laid_out) == 3
    assert is_plain(net, images(2, 6))


def test_a_shape_is_laid_out_for_when_it_comes_again(laid_out):
    net = net_of(conv())
    for _ in range(3):
        for batch in (2, 3):
            net(images(batch))
    assert not laid_out


@pytest.mark.parametrize(
    "net, x",
    [
        (lambda: net_of(conv(), static_alloc=False), images),  # not asked for
        (lambda: net_of(conv(kernel_size=1, padding=0)), images),  # small
        (lambda: net_of(gluon.nn.Conv1D(CHANNELS, 9, in_channels=CHANNELS)), rows),
        (lambda: net_of(conv(layout="NHWC")), lambda: images().transpose((0, 2, 3, 1))),
    ],
    ids=["plain", "small", "1 dimension", "NHWC"],
)
def test_what_runs_as_it_is(net, x, laid_out):
    net, x = net(), x()
    assert is_plain(net, x) and not laid_out


def test_another_dtype_runs_as_it_is(laid_out):
    net = net_of(conv())
    net.cast("float64")
    assert is_plain(net, images().astype("float64")) and not laid_out


def test_what_is_recorded_runs_as_it_is(laid_out):
    net, x = net_of(conv()), images()
    for train_mode in (False, True):
        with autograd.record(train_mode):
            net(x).sum().backward()
    assert net[0].weight.grad().asnumpy().any() and not laid_out


def refusals(net, x):
    """What a static graph says of a wrong call, and a plain one."""
    messages = []
    for how in (STATIC, {}):
        net.hybridize(**how)
        with pytest.raises(mx.MXNetError) as error:
            net(x)
        messages.append(str(error.value))
    return messages


def test_wrong_data_gets_the_same_error():
    net, x = net_of(conv()), nd.ones((2, 5, 6, 6), ctx=mx.cpu())
    static, plain = refusals(net, x)
    assert static == plain and "(128, 5, 3, 3)" in static


@pytest.mark.parametrize(
    "options",
    [{"strides": 0}, {"padding": -1}, {"dilation": 0}, {"dilation": 9, "padding": 0}],
    ids=str,
)
def test_wrong_options_get_the_same_error(options):
    net, x = net_of(conv(**options)), images()
    static, plain = refusals(net, x)
    assert static == plain


def test_groups_that_do_not_divide_the_filters_get_the_same_error():
    net, x = net_of(conv(groups=3, in_channels=129)), nd.ones((2, 129, 6, 6), ctx=mx.cpu())
    static, plain = refusals(net, x)
    assert static == plain


def test_parameters_made_in_inference_mode(laid_out):
    with torch.inference_mode():
        net, x = net_of(conv()), images()
        assert is_plain(net, x) and not laid_out


def test_no_image():
    assert net_of(conv())(images(0)).shape == (0, CHANNELS, 6, 6)


WRITES = {
    "set_data": lambda weight: weight.set_data(weight.data() + 1),
    "whole": lambda weight: weight.data().__setitem__(slice(None), 0.5),
    "a row": lambda weight: weight.data().__setitem__(1, 0.5),
    "in place": lambda weight: weight.data().__imul__(2),
    "out": lambda weight: nd.sqrt(nd.abs(weight.data()), out=weight.data()),
    "initialize": lambda weight: weight.initialize(mx.init.One(), force_reinit=True),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_are_seen(write):
    net, x = net_of(conv()), images()
    before = net(x).asnumpy()
    write(net[0].weight)
    assert not np.allclose(net(x).asnumpy(), before)
    assert is_plain(net, x)


def test_parameters_from_a_file_are_seen(tmp_path):
    net, x, file = net_of(conv()), images(), str(tmp_path / "net.params")
    net_of(conv()).save_parameters(file)
    net(x)
    net.load_parameters(file)
    assert is_plain(net, x)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_are_seen(name):
    net, x = net_of(conv()), images()
    options = {"momentum": 0.9} if name in ("sgd", "nag") else {}
    trainer = gluon.Trainer(net.collect_params(), name, options)
    net(x)
    with autograd.record():
        loss = net(x).square().mean()
    loss.backward()
    trainer.step(1)
    assert is_plain(net, x)


def test_updates_of_a_compiled_step_are_seen():
    net, x = net_of(conv()), images()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    step = compiled_step(net, gluon.loss.L2Loss(), trainer, backend="aot_eager")
    for _ in range(3):
        net(x)
        step(x, nd.zeros((2, CHANNELS, 6, 6)))
    assert is_plain(net, x)


def test_contexts_have_weights_of_their_own():
    net = net_of(conv())
    net.collect_params().reset_ctx([mx.cpu(0), mx.cpu(1)])
    first, second = net[0].weight.list_data()
    second[:] = first * 2
    x = images()
    for _ in range(2):
        one, two = net(x).asnumpy(), net(x.as_in_context(mx.cpu(1))).asnumpy()
        assert np.allclose(2 * one, two, atol=1e-4)


def test_a_copy_keeps_its_own():
    net, x = net_of(conv()), images()
    net(x)
    inputs = mx.sym.var("data")
    block = gluon.SymbolBlock(net(inputs), inputs, params=net.collect_params())
    block.hybridize(**STATIC)
    block(x)
    twin = copy.deepcopy(block)
    for parameter in twin.collect_params().values():
        parameter.set_data(parameter.data() * 2)
    assert np.allclose(twin(x).asnumpy(), 2 * block(x).asnumpy(), atol=1e-4)


def small():
    return [gluon.nn.Conv2D(8, 3), gluon.nn.MaxPool2D(2), gluon.nn.Conv2D(8, 3)]


def with_dense_block():
    return [*small(), gluon.nn.Flatten(), DenseBlock(72, 4)]


def trained(net, x, steps=3):
    """Outputs and gradients of steps."""
    trainer, found = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}), []
    for _ in range(steps):
        with autograd.record():
            y = net(x)
            loss = y.square().mean()
        loss.backward()
        trainer.step(1)
        found += [y, *[p.grad() for p in net.collect_params().values()]]
    return [a.asnumpy() for a in found]


@pytest.mark.parametrize("layers", [small, with_dense_block])
def test_training_with_channels_last(layers):
    x = nd.random.uniform(shape=(2, 3, 12, 12), ctx=mx.cpu())
    nets = [net_of(*layers(), **how) for how in (STATIC, {"active": False})]
    for net in nets:
        net(x)  # the shapes
    for a, b in zip(*[net.collect_params().values() for net in nets], strict=True):
        b.set_data(a.data())
    for found, expected in zip(*[trained(net, x) for net in nets], strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_images_of_training_have_channels_last_where_weights_are_small():
    x = nd.random.uniform(shape=(2, 3, 12, 12), ctx=mx.cpu())
    net = net_of(*small())
    large = net_of(conv(), conv())
    for _ in range(2):
        with autograd.record():
            assert is_channels_last(net(x)) and not is_channels_last(large(images(1)))


def test_a_net_with_a_custom_operator_keeps_weights_too(laid_out):
    x = nd.random.uniform(shape=(2, 3, 12, 12), ctx=mx.cpu())
    net = net_of(*with_dense_block())
    for _ in range(3):
        net(x)
    count = len(laid_out)
    for _ in range(3):
        net(x)
    assert len(laid_out) == count > 0 and is_plain(net, x)


def test_the_gradients_of_a_norm_of_one_sample():
    """Its head gradient has channels last."""
    x = nd.random.uniform(shape=(1, 3, 16, 13), ctx=mx.cpu())
    norms = [gluon.nn.InstanceNorm, gluon.nn.BatchNorm, lambda: gluon.nn.GroupNorm(2)]
    for norm in norms:
        layers = [gluon.nn.Conv2D(8, 3), norm(), gluon.nn.Conv2D(8, 3)]
        net = net_of(*layers)
        found = gradients(net, x)
        net.hybridize(False)
        expected = gradients(net, x)
        largest = max(abs(b).max() for b in expected)  # that of a bias before a norm is rounding
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * largest)


def gradients(net, x):
    x = x.copy()
    x.attach_grad()
    for _ in range(2):
        with autograd.record():
            y = net(x)
            loss = (y * nd.arange(y.size, ctx=y.context).reshape(y.shape)).sum()
        loss.backward()
    return [x.grad.asnumpy(), *[p.grad().asnumpy() for p in net.collect_params().values()
                                if p.grad_req != "null"]]  # fmt: skip


class Noisy(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x + F.random.uniform_like(x)


@pytest.mark.parametrize("train_mode", [True, False])
@pytest.mark.parametrize(
    "layer", [lambda: gluon.nn.Dropout(0.5), Noisy, lambda: gluon.nn.Dropout(0.5, axes=(1,))]
)
def test_random_numbers_are_drawn_in_the_order_of_elements(layer, train_mode):
    x, found = nd.random.uniform(shape=(2, 3, 12, 12), ctx=mx.cpu()), []
    net = net_of(*small(), layer())
    for how in ({"active": False}, {}, STATIC):
        net.hybridize(**how)
        for _ in range(3):
            mx.random.seed(3)
            with autograd.record(train_mode):
                y = net(x)
        found.append(y.asnumpy())
    for y in found[1:]:
        np.testing.assert_allclose(y, found[0], rtol=1e-4, atol=1e-5)


def test_second_derivatives_behind_convolutions():
    """The net is linear, so its sum is that of dx times x."""
    x = nd.random.uniform(shape=(2, 3, 12, 12), ctx=mx.cpu())
    net = net_of(
        gluon.nn.Conv2D(8, 3, use_bias=False), gluon.nn.Conv2D(8, 3, use_bias=False),
        gluon.nn.Dropout(0.5), gluon.nn.Flatten(), DenseBlock(512, 4, bias=False),
    )  # fmt: skip
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = net(x).sum()
            [dx] = autograd.grad(y, [x], create_graph=True)
        np.testing.assert_allclose((dx * x).sum().asscalar(), y.asscalar(), rtol=1e-3)


@pytest.mark.parametrize("layers", [with_dense_block, lambda: [gluon.nn.Conv1D(8, 3)]])
def test_custom_operators_beside_convolutions_are_recorded(layers, caplog):
    runs = []

    @operator(name=f"tests.noting{len(layers())}")
    class noting:
        def forward(x):
            runs.append(x.shape)
            return x * 2

        def dx(dy):
            return dy * 2

    net = net_of(*layers(), OperatorBlock(noting))
    x = nd.random.uniform(shape=(2, 3, 12, 12) if len(layers()) > 1 else (2, 3, 12), ctx=mx.cpu())
    for _ in range(4):
        net(x)
    before = len(runs)
    for _ in range(3):
        net(x)
    assert len(runs) == before and is_plain(net, x)
