"""Gluon's layers, held to what MXNet's give: texts, parameters, outputs and gradients.

MXNet's are recorded in tests/golden/gluon/nn.npz, under ``case:name``.
"""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd

nn = gluon.nn
GOLDEN = Path(__file__).resolve().parents[2] / "golden/gluon/nn.npz"
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def identity(x):
    return x


def plus_one(F, x):
    return F.broadcast_add(x, F.ones_like(x))


# (the layer as Python makes it, the shape of its input)
CASES = [
    ("Dense(3)", (4, 5)),
    ("Dense(3)", (4, 5, 2)),
    ("Dense(3, 'relu', False)", (4, 5)),
    ("Dense(3, flatten=False, activation='tanh')", (4, 5, 2)),
    ("Dense(3, in_units=5, dtype='float64', prefix='fc_')", (4, 5)),
    ("Activation('relu')", (4, 5)),
    ("Activation('sigmoid')", (4, 5)),
    ("Activation('softrelu')", (4, 5)),
    ("Activation('softsign')", (4, 5)),
    ("Activation('tanh')", (4, 5)),
    ("LeakyReLU(0.1)", (4, 5)),
    ("PReLU()", (4, 5)),
    ("PReLU(in_channels=5)", (4, 5, 2)),
    ("ELU()", (4, 5)),
    ("ELU(0.5)", (4, 5)),
    ("SELU()", (4, 5)),
    ("GELU()", (4, 5)),
    ("Swish()", (4, 5)),
    ("Swish(2)", (4, 5)),
    ("Dropout(0)", (4, 5)),
    ("Dropout(0.5, axes=(1,))", (4, 5)),
    ("BatchNorm()", (4, 5)),
    ("BatchNorm()", (4, 5, 2, 3)),
    ("BatchNorm(axis=3, momentum=0.5, epsilon=0.1)", (4, 5, 2, 3)),
    ("BatchNorm(scale=False, center=False, in_channels=5)", (4, 5)),
    ("BatchNorm(use_global_stats=True)", (4, 5)),
    ("LayerNorm()", (4, 5)),
    ("LayerNorm(1, 0.1, scale=False, in_channels=5)", (4, 5, 2)),
    ("GroupNorm(2)", (3, 4, 5)),
    ("GroupNorm(2, center=False)", (3, 4, 5)),
    ("InstanceNorm()", (3, 4, 5)),
    ("InstanceNorm(2, 0.1, scale=True)", (3, 4, 5)),
    ("Embedding(6, 3)", "numbers"),
    ("Embedding(6, 3, dtype='float64')", "numbers"),
    ("Flatten()", (4, 5, 2)),
    ("Lambda('relu')", (4, 5)),
    ("Lambda(identity)", (4, 5)),
    ("HybridLambda('tanh')", (4, 5)),
    ("HybridLambda(plus_one)", (4, 5)),
    ("Conv1D(4, 3)", (2, 3, 7)),
    ("Conv2D(4, 3)", (2, 3, 7, 6)),
    ("Conv2D(4, (3, 2), 2, (1, 0), 1, 2, activation='relu', use_bias=False)", (2, 4, 7, 6)),
    ("Conv2D(6, 2, groups=2, in_channels=4)", (2, 4, 3, 3)),
    ("Conv2D(4, 3, dilation=(2, 1), in_channels=3)", (2, 3, 7, 6)),
    ("Conv3D(2, 2, strides=2)", (1, 2, 4, 5, 6)),
    ("Conv1DTranspose(4, 3, 2, 1, 1)", (2, 3, 7)),
    ("Conv2DTranspose(4, 3, 2, 1, (1, 0), groups=2, in_channels=2)", (2, 2, 4, 5)),
    ("Conv3DTranspose(2, 2, activation='tanh')", (1, 2, 3, 2, 3)),
    ("MaxPool1D()", (2, 3, 7)),
    ("MaxPool2D(3, 2, 1)", (2, 3, 7, 6)),
    ("MaxPool2D((2, 3), ceil_mode=True)", (2, 3, 7, 6)),
    ("MaxPool3D()", (1, 2, 4, 5, 6)),
    ("AvgPool1D(3, 2, 1, 'NCW', True, False)", (2, 3, 7)),
    ("AvgPool2D(3, 2, 1, count_include_pad=False)", (2, 3, 7, 6)),
    ("AvgPool3D()", (1, 2, 4, 5, 6)),
    ("GlobalMaxPool1D()", (2, 3, 7)),
    ("GlobalMaxPool2D()", (2, 3, 7, 6)),
    ("GlobalMaxPool3D()", (1, 2, 4, 5, 6)),
    ("GlobalAvgPool1D()", (2, 3, 7)),
    ("GlobalAvgPool2D()", (2, 3, 7, 6)),
    ("GlobalAvgPool3D()", (1, 2, 4, 5, 6)),
    ("ReflectionPad2D(1)", (2, 3, 4, 5)),
    ("ReflectionPad2D((0, 0, 0, 0, 1, 2, 0, 1))", (2, 3, 4, 5)),
]
ARGUMENTS = {  # of each class of layers, by position, as MXNet has them
    "Activation": "activation",
    "AvgPool1D": "pool_size strides padding layout ceil_mode count_include_pad",
    "AvgPool2D": "pool_size strides padding ceil_mode layout count_include_pad",
    "AvgPool3D": "pool_size strides padding ceil_mode layout count_include_pad",
    "BatchNorm": "axis momentum epsilon center scale use_global_stats beta_initializer "
    "gamma_initializer running_mean_initializer running_variance_initializer in_channels",
    "Conv2D": "channels kernel_size strides padding dilation groups layout activation use_bias "
    "weight_initializer bias_initializer in_channels",
    "Conv2DTranspose": "channels kernel_size strides padding output_padding dilation groups layout "
    "activation use_bias weight_initializer bias_initializer in_channels",
    "Dense": "units activation use_bias flatten dtype weight_initializer bias_initializer in_units",
    "Dropout": "rate axes",
    "ELU": "alpha",
    "Embedding": "input_dim output_dim dtype weight_initializer sparse_grad",
    "Flatten": "",
    "GELU": "",
    "GlobalAvgPool2D": "layout",
    "GroupNorm": "num_groups epsilon center scale beta_initializer gamma_initializer prefix params",
    "HybridLambda": "function prefix",
    "HybridSequential": "prefix params",
    "InstanceNorm": "axis epsilon center scale beta_initializer gamma_initializer in_channels",
    "Lambda": "function prefix",
    "LayerNorm": "axis epsilon center scale beta_initializer gamma_initializer in_channels prefix "
    "params",
    "LeakyReLU": "alpha",
    "MaxPool1D": "pool_size strides padding layout ceil_mode",
    "MaxPool2D": "pool_size strides padding layout ceil_mode",
    "MaxPool3D": "pool_size strides padding ceil_mode layout",
    "PReLU": "alpha_initializer in_channels",
    "ReflectionPad2D": "padding",
    "SELU": "",
    "Sequential": "prefix params",
    "Swish": "beta",
}


@pytest.fixture(autouse=True)
def _count_from_zero():
    with mx.name.NameManager():
        yield


@pytest.fixture(scope="module")
def golden(pytestconfig):
    record = pytestconfig.getoption("--record")
    values = {} if record else dict(np.load(GOLDEN))
    yield values
    if record:
        GOLDEN.parent.mkdir(exist_ok=True)
        np.savez_compressed(GOLDEN, **values)


def numbers(seed, shape):
    return np.random.RandomState(seed).uniform(-1, 1, shape)


NO_GRADIENT = (
    "Embedding",  # its input has none
    "SELU",  # MXNet's below 0 is not the derivative
)


def run(text, shape):
    """All that can be told of a layer: name -> array or text."""
    layer = eval(text, vars(nn) | {"identity": identity, "plus_one": plus_one})  # of this file
    found = {"before": repr(layer), "prefix": layer.prefix}
    layer.initialize()
    if shape == "numbers":
        x = nd.array([[0, 5], [2, 2]])
    else:
        dtype = "float64" if "float64" in text else "float32"
        x = nd.array(numbers(0, shape), dtype=dtype)
    layer(x)
    parameters = layer._collect_params_with_prefix()
    for i, (name, parameter) in enumerate(parameters.items()):
        parameter.set_data(nd.array(1 + numbers(i, parameter.shape) / 2))
        found[f"{name} is"] = f"{parameter!r} {parameter.grad_req} {parameter.lr_mult}"
    found["after"] = repr(layer)
    found["predicted"] = layer(x).asnumpy()
    if not text.startswith(NO_GRADIENT):
        x.attach_grad()
    train = not text.startswith("Dropout(0.5")
    with autograd.record(train_mode=train):
        y = layer(x)
        total = (y * nd.array(numbers(9, y.shape), dtype=y.dtype)).sum()
    if parameters or x.grad is not None:
        total.backward()
    found["y"] = y.asnumpy()
    if x.grad is not None:
        found["dx"] = x.grad.asnumpy()
    for name, parameter in parameters.items():
        if name.startswith("running"):
            found[name] = parameter.data().asnumpy()
        elif parameter.grad_req != "null":
            found[f"d {name}"] = parameter.grad().asnumpy()
    return found


@pytest.mark.parametrize("text, shape", CASES, ids=lambda value: str(value).replace(" ", ""))
def test_layer(text, shape, golden, pytestconfig):
    found, case = run(text, shape), f"{text} {shape}:"
    if pytestconfig.getoption("--record"):
        golden |= {case + name: np.array(value) for name, value in found.items()}
        return
    expected = {k.removeprefix(case): v for k, v in golden.items() if k.startswith(case)}
    assert list(found) == list(expected)
    for name, value in found.items():
        if isinstance(value, str):
            assert value == str(expected[name]), name
        else:
            assert value.dtype == expected[name].dtype, name
            np.testing.assert_allclose(value, expected[name], **TOLERANCE, err_msg=name)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    parameters = inspect.signature(getattr(nn, name)).parameters.values()
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    found = [p.name for p in parameters if p.kind not in kinds]
    assert found == ARGUMENTS[name].split() or set(found) == {"prefix", "params"}


def test_all_layers_are_there():
    missing = ARGUMENTS.keys() - vars(nn).keys()
    assert not missing and nn.HybridBlock is gluon.HybridBlock


def test_initializers_of_ones_own():
    layer = nn.Dense(2, weight_initializer="ones", bias_initializer=mx.init.Constant(3), in_units=4)
    layer.initialize(mx.init.Zero())
    assert layer(nd.ones((1, 4))).asnumpy().tolist() == [[7, 7]]


def test_what_layers_refuse():
    for make in (
        lambda: nn.LeakyReLU(-1),
        lambda: nn.Conv2D(3, (3, 3, 3)),
        lambda: nn.Conv1D(3, 3, layout="NCHW"),
        lambda: nn.MaxPool2D((2, 2, 2)),
        lambda: nn.ReflectionPad2D((1, 2)),
        lambda: nn.Lambda("no such function"),
        lambda: nn.HybridLambda("no such function"),
    ):
        with pytest.raises(AssertionError):
            make()
    for make in (lambda: nn.Lambda(3), lambda: nn.HybridLambda(3)):
        with pytest.raises(ValueError, match="3"):
            make()
    with pytest.raises(TypeError, match="foo"):
        nn.Dense(3, foo=1)


TOO_FEW_AXES = {
    "BatchNorm": (nn.BatchNorm, (3,), "axis=1"),
    "BatchNorm, from the end": (lambda: nn.BatchNorm(axis=-4), (2, 3), "axis=-4"),
    "LayerNorm": (lambda: nn.LayerNorm(axis=3), (2, 3), "axis=3"),
    "InstanceNorm": (nn.InstanceNorm, (3,), "eps=1e-05"),
    "Conv2D": (lambda: nn.Conv2D(3, 3), (3,), "layout='NCHW'"),
}


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("make, shape, attribute", TOO_FEW_AXES.values(), ids=TOO_FEW_AXES)
def test_an_input_with_too_few_axes(make, shape, attribute, hybridized, engine):
    layer = make()
    layer.initialize()
    layer.hybridize(hybridized)
    with pytest.raises((mx.MXNetError, ValueError)) as caught:
        layer(nd.ones(shape)).wait_to_read()
    if engine == "torch":
        told = str(caught.value)
        assert isinstance(caught.value, mx.base.ShapeError)
        assert f"data is {shape}" in told and "\n  expected axes, or an `axis`, that fit\n" in told
        assert attribute in told


def test_a_sparse_gradient_has_the_rows_looked_up():
    layer = nn.Embedding(3, 2, sparse_grad=True)
    layer.initialize()
    with autograd.record():
        y = layer(nd.array([1, 1]))
    y.backward()
    gradient = layer.weight.grad()
    assert (gradient.stype, gradient.indices.asnumpy().tolist()) == ("row_sparse", [1])
    assert gradient.asnumpy().tolist() == [[0, 0], [2, 2], [0, 0]]


def test_batch_norm_stays_float32_in_float16():
    layer = nn.BatchNorm()
    layer.cast("float16")
    assert {p.dtype for p in layer.collect_params().values()} == {"float32"}
    layer.cast("float64")
    assert {p.dtype for p in layer.collect_params().values()} == {"float64"}


@pytest.mark.engine("torch")  # MXNet has no such type
def test_batch_norm_stays_float32_in_bfloat16():
    layer = nn.BatchNorm()
    layer.cast("bfloat16")
    assert {p.dtype for p in layer.collect_params().values()} == {"float32"}


def test_dropout():
    layer, x = nn.Dropout(0.4), nd.ones((100, 100))
    assert (layer(x).asnumpy() == 1).all()
    with autograd.record():
        y = layer(x).asnumpy()
    assert (
        set(np.unique(y.round(3))) == {0, np.float32(1.667)} and abs((y == 0).mean() - 0.4) < 0.03
    )
    with autograd.record(train_mode=False):
        assert (layer(x).asnumpy() == 1).all()


@pytest.mark.parametrize("name", ["InstanceNorm", "LayerNorm", "GroupNorm", "BatchNorm"])
def test_a_scale_that_is_not_learned_can_be_later_but_not_of_batch_norm(name):
    layer = getattr(nn, name)(scale=False, center=False)
    layer.collect_params().setattr("grad_req", "write")
    expected = "null" if name == "BatchNorm" else "write"
    assert (layer.gamma.grad_req, layer.beta.grad_req) == (expected, expected)


def test_batch_norm_learns_only_in_training():
    layer, x = nn.BatchNorm(in_channels=2), nd.array([[1, 2], [3, 6]])
    layer.initialize()
    with autograd.record(train_mode=False):
        layer(x)
    assert layer.running_mean.data().asnumpy().tolist() == [0, 0]
    with autograd.record():
        y = layer(x).sum()
    y.backward()
    np.testing.assert_allclose(layer.running_mean.data().asnumpy(), [0.2, 0.4], rtol=1e-6)


def test_batch_norm_of_a_slice_rounds_as_that_of_its_copy():
    """A graph takes a slice where it lies, with gaps; the sum of all y has the gradient 0."""

    class Sliced(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.norm = nn.BatchNorm(in_channels=3)

        def hybrid_forward(self, F, x):
            return self.norm(F.slice(x, begin=(0, 0, 8, 8), end=(4, 3, 40, 40)))

    layer = Sliced()
    layer.initialize()
    x = nd.array(np.random.RandomState(0).rand(4, 3, 48, 48))
    x.attach_grad()
    gradients = []
    for hybridized in (False, True):
        layer.hybridize(hybridized)
        with autograd.record():
            y = layer(x)
        y.backward()
        gradients.append(x.grad.asnumpy())
    np.testing.assert_allclose(*gradients, atol=5e-7)


# Sequential


@pytest.mark.parametrize("kind", [nn.Sequential, nn.HybridSequential])
def test_sequential(kind):
    net = kind(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(3), nn.Flatten())
        net.add(nn.Dense(2))
    assert len(net) == 3 and list(net) == [net[0], net[1], net[2]] and net[-1] is net[2]
    part = net[1:]
    assert type(part) is kind and part.prefix == "net_" and list(part) == [net[1], net[2]]
    for key, error in ((5, IndexError), ("0", TypeError)):
        with pytest.raises(error):
            net[key]
    net.initialize()
    x = nd.ones((4, 5))
    np.testing.assert_array_equal(net(x).asnumpy(), part(net[0](x)).asnumpy())
    assert kind()(x) is x


def test_sequential_hands_on_what_it_gets():
    class Two(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return (x, x) if isinstance(x, nd.NDArray) else len(x)

    net = nn.HybridSequential()
    net.add(Two(), Two())
    assert net(nd.ones((1,))) == 2


def test_batch_norm_and_relu_are_one_node():
    net = nn.BatchNormReLU(in_channels=2)
    net.initialize()
    nodes = json.loads(net(mx.sym.var("x")).tojson())["nodes"]
    assert [node["op"] for node in nodes] == [*["null"] * 5, "_contrib_BatchNormWithReLU"]
