"""The networks of the model zoo: names and shapes, outputs, and files of weights, as MXNet's."""

import hashlib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from recorded import Recorded

from layers.engine import autograd, gluon, mx, nd

GOLDEN = Path(__file__).parents[2] / "golden"
STRUCTURES, WEIGHTS = GOLDEN / "model_zoo.txt", GOLDEN / "model_zoo.params"
torch_only = pytest.mark.engine("torch")

store = import_module(f"{mx.__name__}.gluon.model_zoo.model_store")
vision = import_module(f"{mx.__name__}.gluon.model_zoo.vision")

MODELS = [
    "alexnet",
    *(f"densenet{n}" for n in (121, 161, 169, 201)),
    "inceptionv3",
    *(f"mobilenet{m}" for m in ("0.25", "0.5", "0.75", "1.0")),
    *(f"mobilenetv2_{m}" for m in ("0.25", "0.5", "0.75", "1.0")),
    *(f"resnet{n}_v{v}" for v in (1, 2) for n in (18, 34, 50, 101, 152)),
    "squeezenet1.0",
    "squeezenet1.1",
    *(f"vgg{n}{bn}" for n in (11, 13, 16, 19) for bn in ("", "_bn")),
]
# One of each kind, with the smallest images that it takes.
SIZES = {
    "alexnet": 64,
    "densenet121": 224,
    "inceptionv3": 299,
    "mobilenet0.25": 32,
    "mobilenetv2_0.25": 32,
    "resnet18_v1": 32,
    "resnet50_v1": 32,
    "resnet18_v2": 32,
    "resnet50_v2": 32,
    "squeezenet1.0": 224,
    "squeezenet1.1": 224,
    "vgg11": 32,
    "vgg11_bn": 32,
}
LONG = "densenet121", "inceptionv3", "resnet50_v1", "vgg11_bn"


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("model_zoo", pytestconfig.getoption("--record"))
    yield values
    values.write()


def structure(name):
    """How many parameters a network has, and a digest of all that is known of it before a call."""
    net = vision.get_model(name, prefix="net_")
    inner = {id(p): key for key, p in net._collect_params_with_prefix().items()}
    lines = [repr(net)]
    for key, p in net.collect_params().items():
        lines.append(f"{key} {inner[id(p)]} {tuple(p.shape)} {p.grad_req}")
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{name} {len(lines) - 1} {digest}"


def test_structures(pytestconfig):
    """The layers, the names of parameters by prefixes and by attributes, shapes, gradients."""
    found = [structure(name) for name in MODELS]
    if pytestconfig.getoption("--record"):
        STRUCTURES.write_text("\n".join(found) + "\n")
    assert found == STRUCTURES.read_text().splitlines()


def fill(net):
    """The same numbers for the parameters in each run, such that activations stay near 1."""
    for number, (name, p) in enumerate(net.collect_params().items()):
        random = np.random.RandomState(number)
        if name.endswith("weight"):
            fan_in = np.prod(p.shape[1:])
            value = random.normal(0, np.sqrt(2 / fan_in), p.shape)
        elif name.endswith(("gamma", "running_var")):
            value = random.uniform(0.8, 1.2, p.shape)
        else:
            value = random.uniform(-0.1, 0.1, p.shape)
        p.set_data(nd.array(value))


def images(size, count=1):
    return nd.array(np.random.RandomState(0).rand(count, 3, size, size))


@pytest.mark.parametrize(
    "name, size",
    [pytest.param(*row, marks=pytest.mark.slow if row[0] in LONG else ()) for row in SIZES.items()],
)
def test_outputs(recorded, name, size):
    net = vision.get_model(name, classes=5)
    net.initialize()
    x = images(size)
    net(x)  # tells the shapes
    fill(net)
    y = net(x).asnumpy()
    recorded.check(name, [y], 2e-3, 2e-3 * np.abs(y).max())
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), y, 1e-3, 1e-3 * np.abs(y).max())


def tiny(version):
    block = (vision.BasicBlockV1, vision.BottleneckV2)[version - 1]
    kind = (vision.ResNetV1, vision.ResNetV2)[version - 1]
    return kind(block, [1, 2], [4, 4, 8], classes=3, thumbnail=True, prefix="tiny_")


def test_weights_that_mxnet_wrote(recorded, pytestconfig):
    net, x = tiny(2), images(8, count=2)
    if pytestconfig.getoption("--record"):
        net.initialize()
        net(x)
        fill(net)
        net.save_parameters(str(WEIGHTS))
    net.load_parameters(str(WEIGHTS))
    recorded.check("weights", [net(x).asnumpy()], 1e-4, 1e-5)


@pytest.mark.parametrize("version", [1, 2])
def test_training(recorded, version):
    net, x = tiny(version), images(8, count=4)
    net.initialize()
    net(x)
    fill(net)
    net.hybridize()
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    found = []
    for _ in range(3):
        with autograd.record():
            value = loss(net(x), nd.array([0, 1, 2, 0])).mean()
        value.backward()
        trainer.step(1)
        found.append(value.asscalar())
    recorded.check(f"training,{version}", found, 1e-3)


def test_names():
    assert type(vision.get_model("ResNet18_V1", classes=3)).__name__ == "ResNetV1"
    assert vision.resnet18_v1(classes=3).output._units == 3
    with pytest.raises(ValueError, match="resnet99 is not supported. Available options are"):
        vision.get_model("resnet99")
    with pytest.raises(AssertionError, match="Invalid resnet version: 3. Options are 1 and 2"):
        vision.get_resnet(3, 18)
    with pytest.raises(AssertionError, match="Invalid number of layers: 17"):
        vision.get_resnet(1, 17)
    with pytest.raises(ValueError, match="Pretrained model for x is not available"):
        store.get_model_file("x")
    assert store.short_hash("alexnet") == "44335d1f"


@torch_only
def test_trained_weights_are_found_and_verified(tmp_path, monkeypatch):
    name = "mobilenetv2_0.25"
    path = tmp_path / f"{name}-{store.short_hash(name)}.params"
    monkeypatch.setenv("MXNET_GLUON_REPO", "http://localhost:1/b")
    with pytest.raises(NotImplementedError) as caught:
        vision.get_model(name, pretrained=True, root=str(tmp_path))
    assert str(path) in str(caught.value)
    assert f"http://localhost:1/b/gluon/models/{path.stem}.zip" in str(caught.value)
    net = vision.get_model(name)
    net.initialize()
    y = net(images(32)).asnumpy()
    net.save_parameters(str(path))
    with pytest.raises(mx.MXNetError, match="has another SHA-1"):
        vision.get_model(name, pretrained=True, root=tmp_path)
    digest = hashlib.sha1(path.read_bytes()).hexdigest()
    renamed = path.rename(tmp_path / f"{name}-{digest[:8]}.params")
    monkeypatch.setitem(store._model_sha1, name, digest)
    assert store.get_model_file(name, tmp_path) == str(renamed)
    loaded = vision.get_model(name, pretrained=True, root=tmp_path, ctx=mx.cpu(1))
    assert loaded(images(32).as_in_context(mx.cpu(1))).asnumpy().tolist() == y.tolist()
    store.purge(tmp_path)
    assert not list(tmp_path.iterdir())


@torch_only
def test_the_folder_of_weights_is_looked_up_when_it_is_needed(tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    with pytest.raises(NotImplementedError, match=f"{tmp_path}/models/alexnet-44335d1f.params"):
        vision.alexnet(pretrained=True)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.params").touch()
    store.purge()
    assert not list((tmp_path / "models").iterdir())


@torch_only
def test_they_are_imported_when_they_are_asked_for():
    assert gluon.model_zoo.vision is vision
