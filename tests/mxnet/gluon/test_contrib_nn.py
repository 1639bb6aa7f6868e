"""Blocks side by side, SyncBatchNorm of one device, channels moved into pixels."""

from importlib import import_module

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd

torch_only = pytest.mark.engine("torch")
contrib = import_module(f"{mx.__name__}.gluon.contrib.nn")
nn = gluon.nn


@pytest.mark.parametrize("name", ["Concurrent", "HybridConcurrent"])
def test_concurrent(name):
    net = getattr(contrib, name)(axis=1, prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2), nn.Dense(3, in_units=2, activation="tanh"))
    net.initialize(mx.init.Uniform(1))
    x = nd.array(np.arange(8).reshape(4, 2))
    y = net(x).asnumpy()
    np.testing.assert_allclose(y, np.concatenate([net[i](x).asnumpy() for i in (0, 1)], 1))
    assert list(net.collect_params()) == [
        f"net_dense{i}_{p}" for i in (0, 1) for p in ("weight", "bias")
    ]
    assert (
        repr(net)
        == f"{name}(\n  (0): Dense(2 -> 2, linear)\n  (1): Dense(2 -> 3, Activation(tanh))\n)"
    )
    assert (len(net), net.axis) == (2, 1)
    if name == "HybridConcurrent":
        assert net(mx.sym.var("x")).list_outputs() == ["net_concat0_output"]
        net.hybridize()
        np.testing.assert_allclose(net(x).asnumpy(), y, 1e-6)


def test_identity():
    x = nd.ones(3)
    assert contrib.Identity()(x).asnumpy().tolist() == [1, 1, 1]
    both = contrib.HybridConcurrent(axis=0)
    both.add(contrib.Identity(), nn.Activation("relu"))
    both.hybridize()
    assert both(nd.array([-1, 2])).asnumpy().tolist() == [-1, 2, 0, 2]


def shuffled(x, factors):
    """The definition, pixel by pixel."""
    n, c = x.shape[0], x.shape[1] // int(np.prod(factors))
    y = np.empty((n, c, *(f * s for f, s in zip(factors, x.shape[2:]))), x.dtype)
    for index in np.ndindex(y.shape[1:]):
        channel, pixel = index[0], index[1:]
        for f, p in zip(factors, pixel):
            channel = channel * f + p % f
        y[(slice(None), *index)] = x[(slice(None), channel, *np.floor_divide(pixel, factors))]
    return y


@pytest.mark.parametrize(
    "name, factor, size",
    [
        ("PixelShuffle1D", 2, (3,)),
        ("PixelShuffle2D", 2, (2, 3)),
        ("PixelShuffle2D", (2, 3), (2, 1)),
        ("PixelShuffle3D", (2, 1, 3), (1, 2, 3)),
        ("PixelShuffle3D", 2, (1, 2, 1)),
    ],
)
def test_pixel_shuffle(name, factor, size):
    block = getattr(contrib, name)(factor)
    factors = factor if isinstance(factor, tuple) else (factor,) * len(size)
    x = np.random.rand(2, 5 * int(np.prod(factors)), *size).astype("float32")
    for hybridize in (False, True):
        block.hybridize(hybridize)
        assert block(nd.array(x)).asnumpy().tolist() == shuffled(x, factors).tolist()
    assert repr(block) == f"{name}({factor if name[-2] == '1' else factors})"


def test_pixel_shuffle_refuses():
    with pytest.raises((ValueError, AssertionError)):
        contrib.PixelShuffle2D((1, 2, 3))
    with pytest.raises((ValueError, mx.MXNetError)):
        contrib.PixelShuffle2D(2)(nd.ones((1, 3, 2, 2)))


def test_sync_batch_norm_of_one_device():
    sync, plain = contrib.SyncBatchNorm(num_devices=1, in_channels=3), nn.BatchNorm(in_channels=3)
    x = nd.array(np.random.rand(4, 3, 2, 2))
    found = []
    for block in (sync, plain):
        block.initialize()
        x.attach_grad()
        with autograd.record():
            y = block(x)
        y.backward(x)
        values = [p.data() for p in block.collect_params().values()]
        found.append([v.asnumpy() for v in (y, x.grad, *values, block(x))])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)
    assert repr(sync) == (
        "SyncBatchNorm(eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, ndev=1, "
        f"key={sync.prefix!r}, in_channels=3)"
    )


@torch_only
def test_what_is_refused():
    with pytest.raises(NotImplementedError, match="num_devices is 2"):
        contrib.SyncBatchNorm(num_devices=2)
