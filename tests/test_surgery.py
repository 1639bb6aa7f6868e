"""Layers of a net replaced by this library's: the same outputs, parameters, names and files."""

import collections
import importlib.util

import numpy as np
import pytest
from repeated import as_slow, first_alone

import layers
from layers import (
    DenseBlock,
    GELUBlock,
    GroupNormBlock,
    HardSwishBlock,
    LayerNormBlock,
    ReLUBlock,
    SigmoidBlock,
    SoftmaxLoss,
    SoftplusBlock,
    SparsemaxBlock,
    SwishBlock,
)
from layers.engine import autograd, gluon, mx, nd
from layers.surgery import counterpart, replace
from train.gluoncv_package import gluoncv

nn = gluon.nn


def random(*shape):
    return nd.array(np.random.RandomState(0).randn(*shape))


def initialized(net, *shape):
    mx.random.seed(1)
    net.initialize(mx.init.Xavier(), force_reinit=True)
    return net(random(*shape)).asnumpy()


def row(*blocks):
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(*blocks)
    return net


@pytest.mark.parametrize(
    "options",
    [{}, {"activation": "relu"}, {"activation": "softrelu"}, {"use_bias": False},
     {"flatten": False}],
    ids=["plain", "relu", "softrelu", "no bias", "last axis"],
)  # fmt: skip
def test_a_dense_layer_with_its_parameters(options):
    old = nn.Dense(5, **options)
    expected = initialized(old, 3, 2, 4)
    new = DenseBlock.of(old)
    np.testing.assert_allclose(new(random(3, 2, 4)).asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert new.weight is old.weight and getattr(new, "bias", None) is old.bias
    assert list(new.collect_params()) == list(old.collect_params())
    assert set(new._collect_params_with_prefix()) == set(old._collect_params_with_prefix())


def test_one_that_awaits_its_first_call():
    old = nn.Dense(5)
    old.initialize()
    new = DenseBlock.of(old, quantize=4)
    assert new(random(3, 4)).shape == (3, 5) and old(random(3, 4)).shape == (3, 5)
    assert new.weight_scale.data().asscalar() > 0


def test_of_a_dense_block():
    old = DenseBlock(4, 5, bias=0.5, activation="gelu", quantize=3, quantize_inputs="unsigned")
    expected = initialized(old, 3, 4)
    new = DenseBlock.of(old)
    np.testing.assert_array_equal(new(random(3, 4)).asnumpy(), expected)
    assert new.weight_scale is old.weight_scale and new.input_scale is old.input_scale


@pytest.mark.parametrize(
    "old, block, shape",
    [
        (lambda: nn.LayerNorm(epsilon=1e-3, center=False), LayerNormBlock, (3, 4)),
        (lambda: nn.InstanceNorm(), GroupNormBlock, (3, 4, 5)),
        (lambda: nn.GroupNorm(2), lambda old: GroupNormBlock.of(old, 4), (3, 4, 5)),
        (lambda: nn.Activation("relu"), ReLUBlock, (3, 4)),
        (lambda: nn.Activation("sigmoid"), SigmoidBlock, (3, 4)),
        (lambda: nn.Activation("softrelu"), SoftplusBlock, (3, 4)),
        (lambda: nn.GELU(), GELUBlock, (3, 4)),
        (lambda: nn.Swish(1.5), SwishBlock, (3, 4)),
    ],
    ids=["layer", "instance", "group", "relu", "sigmoid", "softrelu", "gelu", "swish"],
)
def test_norms_and_activations(old, block, shape):
    old = old()
    initialized(old, *shape)
    for i, parameter in enumerate(old.collect_params().values()):
        parameter.set_data(random(*parameter.shape) + i)
    expected = old(random(*shape)).asnumpy()
    new = getattr(block, "of", block)(old)
    np.testing.assert_allclose(new(random(*shape)).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    names = [each._collect_params_with_prefix() for each in (old, new)]
    assert set(names[0]) == set(names[1])
    kept = [names[0][name] is names[1][name] for name in names[0]]
    assert all(kept) or isinstance(old, nn.GroupNorm)
    assert [p.grad_req for p in names[0].values()] == [p.grad_req for p in names[1].values()]


class Doubled(nn.Dense):
    def hybrid_forward(self, F, x, weight, bias=None):
        return 2 * super().hybrid_forward(F, x, weight, bias)


@pytest.mark.parametrize(
    "make, old, message",
    [
        (DenseBlock.of, lambda: Doubled(3), "Doubled has a forward pass of its own"),
        (DenseBlock.of, lambda: nn.Conv2D(3, 1), "Conv2D is another layer"),
        (ReLUBlock.of, lambda: nn.Activation("tanh"), "'tanh'\n  expected relu"),
        (SparsemaxBlock.of, lambda: nn.Activation("tanh"), "Gluon has none like it"),
        (LayerNormBlock.of, lambda: nn.LayerNorm(axis=1), "axis is 1\n  expected -1"),
        (GroupNormBlock.of, lambda: nn.GroupNorm(2), "in_channels is 0"),
    ],
    ids=["own forward", "other layer", "other kind", "no kind", "axis", "channels"],
)
def test_what_a_layer_cannot_stand_for(make, old, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(old())


class GELU(gluon.HybridBlock):
    """A user's layer with the name of one of Gluon's and another formula."""

    def hybrid_forward(self, F, x):
        return x * F.sigmoid(1.702 * x)


class Swish(gluon.HybridBlock):
    """A user's layer with the name of one of Gluon's and a factor that is learned."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.b = self.params.get("b", shape=(1,), init=mx.init.Constant(2))

    def hybrid_forward(self, F, x, b):
        return x * F.sigmoid(F.broadcast_mul(x, b))


class HardSwish(gluon.HybridBlock):
    """A user's layer with the name of one of GluonCV's and another formula."""

    def hybrid_forward(self, F, x):
        return x * F.hard_sigmoid(x)


@pytest.mark.parametrize("kind", [GELU, Swish, HardSwish])
def test_layers_of_a_user_with_names_of_gluons(kind):
    """A class's name does not say what it computes."""
    net = row(kind(), nn.Activation("relu"))
    expected = initialized(net, 2, 4)
    assert replace(net, gluon.HybridBlock, counterpart) == ["1"]
    assert type(net[0]) is kind
    np.testing.assert_array_equal(net(random(2, 4)).asnumpy(), expected)
    with pytest.raises(TypeError, match=rf"{kind.__name__} is '[\w.]*\b{kind.__name__}'"):
        {"GELU": GELUBlock, "Swish": SwishBlock, "HardSwish": HardSwishBlock}[kind.__name__].of(
            net[0]
        )


def test_norms_by_counterpart():
    net, x = row(nn.InstanceNorm(), nn.GroupNorm(2), nn.LayerNorm(axis=1)), random(2, 4, 5)
    assert replace(net, gluon.HybridBlock, counterpart) == []  # nothing says how many channels
    expected = initialized(net, *x.shape)
    assert replace(net, gluon.HybridBlock, counterpart) == ["0"]
    assert isinstance(net[0], GroupNormBlock)
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    assert counterpart(nn.InstanceNorm(axis=2, in_channels=5)) is None


class InContainers(gluon.HybridBlock):
    """Layers that are called from a tuple, lists within a dict, and a named tuple."""

    Pair = collections.namedtuple("Pair", "first second")

    def __init__(self):
        super().__init__()
        with self.name_scope():
            layers = [nn.Dense(4, in_units=4) for _ in range(6)]
        for layer in layers:
            self.register_child(layer)
        self.pair = tuple(layers[:2])
        self.named = {"more": [[layers[2]], "a text"], "last": layers[3]}
        self.both = self.Pair(*layers[4:])
        self.untouched = ("of no layer", [1, 2])

    def hybrid_forward(self, F, x):
        layers = (*self.pair, self.named["more"][0][0], self.named["last"])
        for layer in (*layers, self.both.first, self.both.second):
            x = layer(x)
        return x


def test_layers_in_tuples_and_dicts():
    net = InContainers()
    expected = initialized(net, 2, 4)
    untouched = net.untouched
    replace(net, nn.Dense, lambda old: nn.HybridLambda(lambda F, x: x + 1))
    np.testing.assert_allclose(net(random(2, 4)).asnumpy(), random(2, 4).asnumpy() + 6, rtol=1e-6)
    assert isinstance(net.both, InContainers.Pair) and net.untouched is untouched
    assert not np.allclose(expected, random(2, 4).asnumpy() + 6)


def resnet():
    return gluon.model_zoo.vision.get_resnet(1, 18, thumbnail=True, classes=7)


def mobilenet():
    return gluon.model_zoo.vision.get_mobilenet(0.25, classes=7)


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize(
    "make, count", first_alone([(mobilenet, 28), (resnet, 9)]), ids=["mobilenet", "resnet"]
)
def test_nets_of_the_model_zoo(make, count, tmp_path):
    """The same outputs, by the same Parameters; files fit both, and it trains and is exported."""
    net, x = make(), random(2, 3, 32, 32)
    expected = initialized(net, *x.shape)
    net.save_parameters(str(tmp_path / "before.params"))
    before = dict(net._collect_params_with_prefix())
    places = replace(net, gluon.HybridBlock, counterpart)
    assert len(places) == count and "output" in places and type(net.output) is DenseBlock
    assert dict(net._collect_params_with_prefix()) == before
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    net.export(str(tmp_path / "net"))
    assert '"layers.dense"' in (tmp_path / "net-symbol.json").read_text()
    again = make()
    replace(again, nn.Dense, DenseBlock.of)
    again.load_parameters(str(tmp_path / "before.params"))
    np.testing.assert_allclose(again(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    assert learns(net, x)


def learns(net, x, steps=8):
    label, loss = nd.array([1, 2]), SoftmaxLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    values = []
    for _ in range(steps):
        with autograd.record():
            value = loss(net(x), label)
        value.backward()
        trainer.step(2)
        values.append(value.mean().asscalar())
    return min(values[1:]) < 0.9 * values[0]


class Expander(gluon.HybridBlock):
    """Features at several sizes, from a list of stages that is also an attribute."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.stages = [row(nn.Conv2D(8, 3, 2, 1), nn.Activation("relu")) for _ in range(3)]
            for stage in self.stages:
                self.register_child(stage)

    def hybrid_forward(self, F, x):
        found = []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        return found


class SSD(gluon.HybridBlock):
    """A single-shot detector in small: classes and boxes of anchors at several sizes."""

    def __init__(self, classes=3, anchors=2):
        super().__init__()
        with self.name_scope():
            self.features = Expander()
            self.classes = row(*[nn.Conv2D(anchors * classes, 3, 1, 1) for _ in range(3)])
            self.boxes = row(*[nn.Conv2D(anchors * 4, 3, 1, 1) for _ in range(3)])
            self.act = nn.Activation("sigmoid")

    def hybrid_forward(self, F, x):
        features = self.features(x)
        classes = [F.flatten(c(f)) for c, f in zip(self.classes, features)]
        boxes = [F.flatten(b(f)) for b, f in zip(self.boxes, features)]
        return self.act(F.concat(*classes, dim=1)), F.concat(*boxes, dim=1)


def test_a_detector():
    net, x = SSD(), random(2, 3, 16, 16)
    net.initialize()
    net.hybridize()
    expected = [y.asnumpy() for y in net(x)]
    places = replace(net, nn.Activation, counterpart)
    assert places == ["features.0.1", "features.1.1", "features.2.1", "act"]
    for y, other in zip(net(x), expected):
        np.testing.assert_allclose(y.asnumpy(), other, rtol=1e-5, atol=1e-6)
    assert isinstance(net.features.stages[0][1], ReLUBlock) and isinstance(net.act, SigmoidBlock)
    with autograd.record():
        loss = sum(y.sum() for y in net(x))
    loss.backward()
    assert all(p.grad().norm().asscalar() > 0 for p in net.collect_params().values())


spec = importlib.util.find_spec("gluoncv")


@pytest.mark.skipif(not (spec and spec.origin), reason="GluonCV is not installed here")
@pytest.mark.filterwarnings("ignore")  # GluonCV's own, of Python and NumPy
@pytest.mark.parametrize(
    "name, size, kinds",
    [
        as_slow(("ssd_300_vgg16_atrous_custom", 300, {ReLUBlock})),
        ("mobilenetv3_small", 32, {HardSwishBlock, ReLUBlock}),
        ("cifar_resnet20_v1", 16, {ReLUBlock, DenseBlock}),
    ],
)
def test_nets_of_gluoncv(name, size, kinds):
    more = {"classes": ["a"], "pretrained_base": False} if "ssd" in name else {"classes": 5}
    net = gluoncv().model_zoo.get_model(name, pretrained=False, **more)
    net.initialize(mx.init.Xavier(magnitude=2))
    x = random(1, 3, size, size)

    def outputs():
        with autograd.record(train_mode=False):
            y = net(x)
        return [each.asnumpy() for each in (y if isinstance(y, (list, tuple)) else [y])]

    expected = outputs()
    replace(net, gluon.HybridBlock, counterpart)
    assert kinds <= {type(block) for block in blocks(net)}
    for y, other in zip(outputs(), expected):
        np.testing.assert_allclose(y, other, rtol=1e-3, atol=1e-4 * np.abs(other).max())


def blocks(net):
    return [net, *(found for child in net._children.values() for found in blocks(child))]


def test_a_layer_in_two_places_stays_one():
    dense = nn.Dense(4, in_units=4)
    net = row(dense, nn.Activation("relu"), dense)
    expected = initialized(net, 2, 4)
    assert replace(net, nn.Dense, DenseBlock.of) == ["0", "2"]
    assert net[0] is net[2]
    np.testing.assert_allclose(net(random(2, 4)).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_layers_that_are_hybridized_alone():
    net = nn.Sequential()
    net.add(nn.Dense(4, in_units=4), nn.Sequential())
    net.initialize()
    net.hybridize(static_alloc=True)
    replace(net, nn.Dense, DenseBlock.of)
    assert net[0]._active and dict(net[0]._flags)["static_alloc"]


def test_what_is_left_and_what_is_refused():
    net = row(nn.Dense(4, in_units=4), nn.Activation("tanh"))
    initialized(net, 2, 4)
    before = net[0]
    assert replace(net, nn.Activation, counterpart) == []
    with pytest.raises(TypeError, match="expected a function of the old layer"):
        replace(net, nn.Dense, nn.Dense(3))
    with pytest.raises(TypeError, match="replace: make returned int\n  expected a HybridBlock"):
        replace(net, nn.Dense, lambda old: 3)
    with pytest.raises(TypeError, match="HybridBlock"):
        replace(net, nn.Dense, lambda old: nn.Sequential())
    with pytest.raises(TypeError) as caught:
        replace(net, (nn.Dense, nn.Activation), ReLUBlock.of)
    assert "for 0: Dense(4 -> 4" in f"{caught.value} {getattr(caught.value, '__notes__', '')}"
    assert net[0] is before
    for wrong in ((3, nn.Dense), (net, "Dense"), (net, (nn.Dense, "Dense"))):
        with pytest.raises(
            TypeError, match="(?s)replace: net is a .*expected a Block, and a class"
        ):
            replace(*wrong, counterpart)
    with pytest.raises(TypeError, match="expected gluon's Dense, layers's DenseBlock"):
        DenseBlock.of(nn.BatchNorm())
    with pytest.raises(ValueError, match="the net itself is a Dense"):
        replace(net[0], nn.Dense, DenseBlock.of)


@pytest.mark.slow_on("mxnet")
def test_fine_tuning_in_few_bits_recovers_accuracy():
    """The numbers of docs/training.md, on scikit-learn's digits."""
    from sklearn.datasets import load_digits

    found = load_digits()
    x, y = nd.array(found.data / 8 - 1), nd.array(found.target)
    mx.random.seed(0)
    net = row(nn.Dense(32, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    loss = SoftmaxLoss()

    def learn(epochs, rate):
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": rate})
        for _ in range(epochs):
            for start in range(0, 1400, 100):
                with autograd.record():
                    value = loss(net(x[start : start + 100]), y[start : start + 100])
                value.backward()
                trainer.step(100)

    def right():
        return (net(x[1400:]).argmax(axis=1) == y[1400:]).mean().asscalar()

    learn(20, 0.01)
    plain = right()
    assert replace(
        net, nn.Dense, lambda old: DenseBlock.of(old, quantize=3, quantize_inputs=True)
    ) == ["0", "1"]
    rounded = right()
    learn(10, 0.005)
    tuned = right()
    assert plain > 0.9 and rounded < plain - 0.1 and tuned > plain - 0.03, (plain, rounded, tuned)


def test_it_is_found_as_a_module():
    assert layers.surgery.replace is replace
