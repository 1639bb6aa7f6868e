"""The nets: they learn the digits, in each way of running; files; options and mistakes."""

import numpy as np
import pytest
from ways import each

import layers
from layers import LayerNormBlock, RMSNormBlock, SoftmaxLoss, SwiGLU, nets
from layers.engine import autograd, gluon, mx, nd

IMAGE = (1, 8, 8)
SMALL = {
    "mlp": lambda **more: nets.mlp(64, (16, 16, 8), **more),
    "mixer": lambda **more: nets.mixer(IMAGE, patch=4, hidden_channels=8, **more),
    "vit": lambda **more: nets.vit(IMAGE, patch=4, hidden_channels=8, **more),
}


def digits():
    """scikit-learn's digits, of which 297 are held out."""
    data = pytest.importorskip("sklearn.datasets").load_digits()
    order = np.random.RandomState(0).permutation(len(data.data))
    x, y = data.data[order].astype("float32") / 16, data.target[order].astype("float32")
    return x[297:], y[297:], x[:297], y[:297]


def accuracy(net, epochs, learning_rate=0.005, batch=100, options=None):
    """The share of the digits that are held out which a net recognizes after some epochs."""
    x, y, held_out_x, held_out_y = digits()
    mx.random.seed(1)
    np.random.seed(1)  # from which MXNet's initializers draw
    net.initialize()
    net.hybridize(**(options or {"static_alloc": True, "static_shape": True}))
    loss = SoftmaxLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": learning_rate})
    for epoch in range(epochs):
        order = np.random.RandomState(epoch).permutation(len(x))
        for i in range(0, len(x), batch):
            part = order[i : i + batch]
            with autograd.record():
                value = loss(net(nd.array(x[part])), nd.array(y[part]))
            value.backward()
            trainer.step(len(part))
    found = net(nd.array(held_out_x)).asnumpy().argmax(axis=1)
    return (found == held_out_y).mean()


FULL = {"activation": "swiglu", "norm": "rms", "dropout": 0.1, "residual": True}


@pytest.mark.slow_on("mxnet")
def test_mlp_learns_the_digits():
    """With gated units, normalization, dropout and residual connections: 97.6 %."""
    assert accuracy(nets.mlp(64, (64, 64, 32), **FULL), 4) > 0.94


@pytest.mark.slow
def test_vit_learns_the_digits():
    assert accuracy(nets.vit(IMAGE, hidden_channels=32, dropout=0.05), 8, 0.01) > 0.88


@pytest.mark.slow
def test_mixer_learns_the_digits():
    assert accuracy(nets.mixer(IMAGE, hidden_channels=32, dropout=0.05), 4, 0.01) > 0.88


@pytest.mark.slow
@pytest.mark.parametrize(
    "make, epochs",
    [
        (lambda: nets.mlp(64, (128, 128, 64), **FULL), 20),
        (lambda: nets.vit(IMAGE), 20),
        (lambda: nets.mixer(IMAGE), 20),
    ],
    ids=["mlp", "vit", "mixer"],
)
def test_they_learn_the_digits_well(make, epochs):
    assert accuracy(make(), epochs, 0.002) > 0.94


@pytest.mark.parametrize("options", each())
@pytest.mark.parametrize("name", SMALL)
def test_each_way_of_running(name, options):
    """The same values and gradients as eagerly."""
    mx.random.seed(3)
    net = SMALL[name](**(FULL | {"dropout": 0.0} if name == "mlp" else {}))
    net.initialize()
    x = nd.array(np.random.RandomState(0).randn(5, 64))
    found = []
    for way in (None, options):
        if way is not None:
            net.hybridize(**way)
        for _ in range(3):
            with autograd.record():
                y = net(x)
            y.backward(nd.ones_like(y) * nd.arange(10))
        grads = [p.grad().asnumpy() for p in net.collect_params().values()]
        assert all(np.abs(g).sum() > 0 for g in grads[:1])
        found.append([y.asnumpy(), *grads])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Cannot decide type")  # MXNet's, of the type of data
@pytest.mark.parametrize("name", SMALL)
def test_files(name, tmp_path):
    net = SMALL[name]()
    net.initialize()
    x = nd.array(np.random.RandomState(0).randn(5, 64))
    net.hybridize()
    y = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    other = SMALL[name]()
    other.load_parameters(str(tmp_path / "net.params"))
    np.testing.assert_allclose(other(x).asnumpy(), y, rtol=1e-5, atol=1e-6)
    net.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    block = gluon.SymbolBlock.imports(*files)
    np.testing.assert_allclose(block(x).asnumpy(), y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mixer", "vit"])
def test_images_are_flat_or_not(name):
    net, x = SMALL[name](), np.random.RandomState(0).randn(3, 64)
    net.initialize()
    flat = net(nd.array(x)).asnumpy()
    np.testing.assert_array_equal(net(nd.array(x.reshape(3, 1, 8, 8))).asnumpy(), flat)


def detector():
    """A small detector with two feature maps, and two images of two scenes."""
    mx.random.seed(3)
    net = nets.ssd_lite(
        (3, 24, 16), 4, hidden_channels=4, sizes=((0.2, 0.3), (0.5,)), ratios=(1, 2)
    )
    net.initialize()
    return net, nd.array(np.random.RandomState(0).rand(2, 3, 24, 16))


def test_what_a_detector_gives():
    net, x = detector()
    scores, offsets, anchors = net(x)
    k = 6 * 4 * 3 + 3 * 2 * 2  # places of each map, times its anchors
    assert (scores.shape, offsets.shape, anchors.shape) == ((2, k, 5), (2, 4 * k), (1, k, 4))
    left, top, right, bottom = anchors.asnumpy()[0, 0] * [16, 24, 16, 24]
    # The first place is of 4 x 4 pixels, and its first anchor a square of a fifth of the height.
    np.testing.assert_allclose([left + right, top + bottom], [4, 4], rtol=1e-5)
    np.testing.assert_allclose([right - left, bottom - top], [4.8, 4.8], rtol=1e-5)


@pytest.mark.parametrize("options", each())
def test_each_way_of_running_a_detector(options):
    """The same outputs and gradients as eagerly."""
    found = []
    for way in (None, options):
        net, x = detector()
        if way is not None:
            net.hybridize(**way)
        for _ in range(3):
            with autograd.record():
                scores, offsets, anchors = net(x)
                y = (scores * nd.arange(5)).sum() + (offsets * offsets).sum()
            y.backward()
        grads = [p.grad().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]
        assert all(np.abs(g).sum() > 0 for g in grads)
        found.append([*(each.asnumpy() for each in (scores, offsets, anchors)), *grads])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"image": "photo"}, "image is 'photo'\n  expected the channels, height and width"),
        ({"classes": 0}, "ssd_lite: classes is 0\n  expected a whole number from 1"),
        ({"sizes": ()}, r"sizes is \(\), ratios is .*\n  expected numbers above 0"),
        ({"sizes": (0.2, 0.3)}, r"sizes is \(0.2, 0.3\), .*\n  expected numbers above 0"),
        ({"sizes": ((0.2,), ())}, r"sizes is \(\(0.2,\), \(\)\), .*\n  expected numbers above 0"),
        ({"sizes": 0.2}, r"sizes is 0.2, ratios is .*\n  expected numbers above 0"),
        ({"sizes": ("ab",)}, r"sizes is \('ab',\), .*\n  expected numbers above 0"),
        ({"ratios": 2}, r"ratios is 2\n  expected numbers above 0"),
        ({"ratios": (1, -1)}, r"ratios is \(1, -1\)\n  expected numbers above 0"),
    ],
    ids=["image", "classes", "no sizes", "flat", "empty", "number", "text", "ratio", "ratios"],
)
def test_mistakes_of_a_detector(options, message):
    with pytest.raises(ValueError, match=message):
        nets.ssd_lite(**{"image": (3, 24, 16), **options})


def test_patches_are_cut_row_by_row():
    x = np.arange(2 * 2 * 4 * 6).reshape(2, 2, 4, 6)
    y = nets.Patches((2, 4, 6), 2)(nd.array(x)).asnumpy()
    assert y.shape == (2, 6, 8)
    np.testing.assert_array_equal(y[1, 4].reshape(2, 2, 2), x[1, :, 2:4, 2:4])


@pytest.mark.parametrize("activation", ["sigmoid", "relu", "tanh", "gelu", "silu", "geglu"])
@pytest.mark.parametrize("norm", [None, "layer", "rms", "batch"])
def test_options_of_the_mlp(activation, norm):
    for residual in (False, True):
        net = nets.mlp(6, (5, 5), 3, activation=activation, norm=norm, residual=residual)
        net.initialize()
        with autograd.record():
            y = net(nd.array(np.random.RandomState(0).randn(4, 6)))
        y.backward()
        assert y.shape == (4, 3) and np.isfinite(y.asnumpy()).all()


def test_what_an_mlp_is_made_of():
    plain = nets.mlp(6, (5,), 3)
    assert [type(layer).__name__ for layer in plain] == ["DenseBlock", "SigmoidBlock", "DenseBlock"]
    net = nets.mlp(6, (5, 5), 3, activation="swiglu", norm="layer", dropout=0.5, residual=True)
    first, second, _ = net
    assert [type(b) for b in second.body] == [SwiGLU, LayerNormBlock, gluon.nn.Dropout]
    assert first.shortcut is not None and second.shortcut is None  # 6 -> 5, and 5 -> 5
    assert isinstance(nets.mlp(6, (5,), norm="rms")[1], RMSNormBlock)


def test_mistakes():
    with pytest.raises(ValueError, match="norm is 'group'\n  expected None, 'layer', 'rms', 'batc"):
        nets.mlp(6, norm="group")
    with pytest.raises(ValueError, match="'swoosh'\n  expected one of .*geglu, .*swiglu"):
        nets.mlp(6, activation="swoosh")
    for activation in (nd.relu, gluon.nn.PReLU()):  # a Block would be one for all hidden layers
        with pytest.raises(ValueError, match="(?s)activation is .*\n  expected one of .*gelu"):
            nets.mlp(6, activation=activation)
    with pytest.raises(ValueError, match=r"hidden_channels\[1\] is 0\n  expected a whole number"):
        nets.mlp(6, (5, 0))
    with pytest.raises(ValueError, match="dropout is 1.0\n  expected a number from 0"):
        nets.vit(IMAGE, dropout=1.0)
    with pytest.raises(ValueError, match=r"the image is \(1, 8, 8\), patch is 3\n  expected a pat"):
        nets.mixer(IMAGE, patch=3)
    with pytest.raises(ValueError, match="channels is 64, num_heads is 3"):
        nets.vit(IMAGE, num_heads=3)
    with pytest.raises(ValueError, match="depth is 0"):
        nets.vit(IMAGE, depth=0)


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: nets.mlp(20, 64),
            r"mlp: hidden_channels is 64\n  expected .*, such as \(64,\) for one l",
        ),
        (lambda: nets.mlp(20, "64"), "mlp: hidden_channels is '64'\n  expected a sequence"),
        (
            lambda: nets.mlp(20, (3.5,)),
            r"mlp: hidden_channels\[0\] is 3.5\n  expected a whole number from 1",
        ),
        (lambda: nets.mlp(-1, (3,)), "mlp: in_channels is -1\n  expected a whole number from 0"),
        (lambda: nets.mlp(4, (3,), "2"), "mlp: channels is '2'\n  expected a whole number from 1"),
        (lambda: nets.mlp(4, (3,), dropout="a"), "mlp: dropout is 'a'\n  expected a number from 0"),
        (lambda: nets.vit(8), "Patches: image is 8\n  expected the channels, height and width"),
        (lambda: nets.mixer((8, 8)), r"Patches: image is \(8, 8\)\n  expected the channels, heig"),
        (
            lambda: nets.vit(IMAGE, num_heads="4"),
            "vit: num_heads is '4'\n  expected a whole number from 1",
        ),
    ],
)
def test_sizes_that_are_none(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_images_of_another_size_are_refused():
    cut = nets.Patches((1, 8, 8), 4)
    with pytest.raises(
        ValueError, match=r"Patches: x is \(2, 1, 16, 16\)\n  expected \(n, 1, 8, 8\)"
    ):
        cut(nd.ones((2, 1, 16, 16)))
    assert cut(nd.ones((2, 64))).shape == cut(nd.ones((2, 1, 8, 8))).shape == (2, 4, 16)


@pytest.mark.engine("torch")  # in a graph, MXNet's process crashes
def test_images_of_another_size_are_refused_in_a_graph():
    net = nets.vit((1, 8, 8), patch=4, hidden_channels=8, depth=1)
    net.initialize()
    net.hybridize()
    with pytest.raises(ValueError, match="16"):
        net(nd.ones((2, 1, 16, 16)))
    assert net(nd.ones((2, 64))).shape == (2, 10)


def test_the_module_is_a_public_name():
    assert layers.nets is nets
