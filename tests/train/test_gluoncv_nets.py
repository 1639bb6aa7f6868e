"""Classifiers of GluonCV's model zoo in the training: ``--net gluoncv:NAME``."""

import importlib.util
import json
import os
import sys
import textwrap

import forks
import numpy as np
import pytest
from PIL import Image
from repeated import first_alone

from layers import DenseBlock, SoftmaxLoss
from layers.engine import autograd, gluon, mx, nd
from train import Refused, gluoncv_package, predict_program, report
from train import export as export_program
from train.__main__ import main
from train.command_line import parse
from train.config import Config
from train.data.images import CIFAR_FILES
from train.gluoncv_nets import (
    Features,
    FusedLossAndAccuracy,
    Head,
    check_name,
    head_of,
    load,
    of_the_net,
)  # fmt: skip
from train.gluoncv_package import gluoncv, quiet
from train.metrics import WithMetric

pytestmark = pytest.mark.slow_on("mxnet")

spec = importlib.util.find_spec("gluoncv")  # a folder of the name has no origin
installed = pytest.mark.skipif(not (spec and spec.origin), reason="GluonCV is not installed here")
NET = "gluoncv:cifar_resnet20_v1"


@pytest.fixture
def samples(tmp_path):
    """A few images of 12 x 12 pixels in two classes."""
    x = np.random.RandomState(0).uniform(size=(40, 12, 12, 3)).astype("float32")
    x[::2, :6] += 1
    np.savez(tmp_path / "x.npz", x=x, y=np.arange(40) % 2)
    return str(tmp_path / "x.npz")


@pytest.fixture
def start(samples, tmp_path, engine):
    """Run the training, with a folder of its own."""

    def start(*argv, out="out", epochs="1"):
        more = ["--data", samples, "--engine", engine, "--batch-size", "8", "--epochs", epochs]
        return main(["--net", NET, *more, "--out", str(tmp_path / out), *argv])

    return start


def refusal(capsys, status):
    assert status == 2
    return capsys.readouterr().err


def arrays(folder):
    found = nd.load(str(folder / "model.params"))
    return {name: array.asnumpy() for name, array in found.items()}


@installed
@pytest.mark.parametrize("head", first_alone(["dense", "fused"]))
def test_training_prediction_report_and_export(head, start, tmp_path, samples, capsys, engine):
    assert start("--head", head) == 0
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["network"]["net"] == NET and config["options"]["head"] == head
    assert '"layers.dense"' in (tmp_path / "out/model-symbol.json").read_text()
    capsys.readouterr()
    assert predict_program.main([str(tmp_path / "out"), samples, "--engine", engine]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 41
    page = tmp_path / "report.html"
    assert report.main([str(tmp_path / "out"), "--out", str(page), "--engine", engine]) == 0
    assert "cifar_resnet20_v1" in page.read_text()
    argv = [str(tmp_path / "out"), "--to", "mxnet", "--engine", engine]
    assert export_program.main(argv) == 0


@pytest.mark.slow
@installed
def test_a_resumed_training_is_the_same_bit_for_bit(start, tmp_path):
    assert start("--head", "fused", epochs="2", out="whole") == 0
    assert start("--head", "fused", epochs="1", out="parts") == 0
    assert start("--head", "fused", "--resume", epochs="2", out="parts") == 0
    whole, parts = arrays(tmp_path / "whole"), arrays(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    for name, array in whole.items():
        np.testing.assert_array_equal(array, parts[name], err_msg=name)
    config = str(tmp_path / "whole/config.json")
    assert main(["--config", config, "--out", str(tmp_path / "again")]) == 0
    for name, array in arrays(tmp_path / "again").items():
        np.testing.assert_array_equal(array, whole[name], err_msg=name)


def write_cifar(root):
    """Bright and dark pictures, of two of the ten classes, in the binary files of CIFAR-10."""
    draw = np.random.RandomState(0)
    for name in CIFAR_FILES:
        kinds = np.arange(12)[:, None] % 2
        rows = np.concatenate([kinds, draw.randint(0, 128, (12, 3072)) + 127 * kinds], axis=1)
        (root / name).write_bytes(rows.astype("uint8").tobytes())
    return f"cifar10:{root}"


def write_folder(root):
    """A folder of pictures for each class."""
    draw = np.random.RandomState(0)
    for kind, name in enumerate(("cat", "dog")):
        (root / name).mkdir()
        for i in range(20):
            pixels = draw.randint(0, 128, (32, 32, 3)) + 127 * kind
            Image.fromarray(pixels.astype("uint8")).save(root / name / f"{i}.png")
    return str(root)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("write", [write_cifar, write_folder], ids=["cifar10", "folder"])
def test_files_of_pictures(write, tmp_path, capsys, engine):
    """Trained, stopped and resumed, predicted, reported and exported."""
    (tmp_path / "data").mkdir()
    data = write(tmp_path / "data")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    common = ["--net", NET, "--data", data, "--engine", engine, "--batch-size", "4"]
    for more in (
        ["--epochs", "2", "--out", str(whole)],
        ["--epochs", "1", "--out", str(parts)],
        ["--epochs", "2", "--out", str(parts), "--resume"],
    ):
        assert main([*common, *more]) == 0
    assert {"checkpoints", "config.json", "history.csv"} <= {*os.listdir(parts)}
    expected = arrays(whole)
    for name, array in arrays(parts).items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
    picture = tmp_path / "bright.png"
    Image.fromarray(np.full((32, 32, 3), 200, "uint8")).save(picture)
    capsys.readouterr()
    assert predict_program.main([str(parts), str(picture), "--engine", engine]) == 0
    header, line = capsys.readouterr().out.splitlines()
    assert header == "file,class,probability"
    assert line.split(",")[1] == {"cifar10": "automobile"}.get(data.partition(":")[0], "dog")
    page = tmp_path / "report.html"
    assert report.main([str(parts), "--out", str(page), "--engine", engine]) == 0
    assert export_program.main([str(parts), "--to", "mxnet", "--engine", engine]) == 0


@installed
@pytest.mark.parametrize("mode", ["recorded", pytest.param("step", marks=pytest.mark.slow)])
def test_a_fused_head_in_a_graph(mode, start, engine):
    if mode == "step" and engine == "mxnet":
        pytest.skip("it compiles nothing")
    assert start("--head", "fused", "--hybridize", mode) == 0


@pytest.mark.slow
@installed
def test_gray_images_that_are_enlarged(tmp_path, engine, capsys):
    """The digits, of 8 x 8 pixels; the file to predict has them as they are."""
    argv = ["--net", NET, "--image-size", "12", "--epochs", "1", "--batch-size", "256"]
    assert main([*argv, "--engine", engine, "--out", str(tmp_path / "out")]) == 0
    from sklearn.datasets import load_digits

    np.save(tmp_path / "x.npy", load_digits().images[:3])
    capsys.readouterr()
    file = str(tmp_path / "x.npy")
    assert predict_program.main([str(tmp_path / "out"), file, "--engine", engine]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.slow
@installed
def test_parameters_from_a_file(start, tmp_path, engine, capsys):
    """Those of another number of classes: all but the last layer's are taken over."""
    zoo = gluoncv().model_zoo
    net = zoo.get_model("cifar_resnet20_v1", classes=10)
    net.initialize(mx.init.Xavier())
    net(nd.ones((1, 3, 12, 12)))
    file = str(tmp_path / "cifar.params")
    net.save_parameters(file)
    rate = ["--lr", "1e-12"]  # which changes nothing but moving statistics
    assert start("--pretrained", file, *rate) == 0
    found = arrays(tmp_path / "out")
    (name,) = (n for n in found if n.endswith("features.0.weight"))
    np.testing.assert_allclose(found[name], net.features[0].weight.data().asnumpy(), atol=1e-7)
    assert [a.shape for n, a in found.items() if n.endswith("output.weight")] == [(2, 64)]
    net.hybridize()
    net(nd.ones((1, 3, 12, 12)))
    net.export(str(tmp_path / "exported"))
    assert start("--pretrained", str(tmp_path / "exported-0000.params"), *rate, out="b") == 0
    again = arrays(tmp_path / "b")
    np.testing.assert_allclose(again[name], found[name], atol=1e-7)


@pytest.mark.slow
@installed
@pytest.mark.parametrize("name", ["model.params", "model.safetensors", "model-0000.params"])
def test_parameters_from_a_run(name, start, tmp_path):
    assert start() == 0
    assert start("--pretrained", str(tmp_path / "out" / name), "--lr", "1e-12", out="b") == 0
    found, again = arrays(tmp_path / "out"), arrays(tmp_path / "b")
    for key in (key for key in found if key.endswith("weight")):
        np.testing.assert_allclose(again[key], found[key], atol=1e-7, err_msg=key)


def test_the_names_of_a_run_are_those_of_its_net():
    saved = {"0.mean": 1, "0.std": 2, "1.1.1.features.0.weight": 3, "1.1.0.output.bias": 4}
    assert of_the_net(saved) == {"features.0.weight": 3, "output.bias": 4}
    graph = {"a0_standardize0_mean": 1, "a0_standardize0_std": 2, "net0_dense0_bias": 3}
    assert of_the_net(graph) == {"net0_dense0_bias": 3}
    other = {"1.1.0.weight": 1, "net0_batchnorm0_running_mean": 2}
    assert of_the_net(other) == other


def as_torchvision(torch, classes):
    """A ResNet-18 of torch.nn, with the names that torchvision and timm give its parts."""

    def conv(*sizes, stride=1):
        return torch.nn.Conv2d(*sizes, stride=stride, padding=sizes[2] // 2, bias=False)

    class Block(torch.nn.Module):
        def __init__(self, before, after, stride):
            super().__init__()
            self.conv1, self.bn1 = (
                conv(before, after, 3, stride=stride),
                torch.nn.BatchNorm2d(after),
            )
            self.conv2, self.bn2 = conv(after, after, 3), torch.nn.BatchNorm2d(after)
            is_same = before == after
            side = [conv(before, after, 1, stride=stride), torch.nn.BatchNorm2d(after)]
            self.downsample = None if is_same else torch.nn.Sequential(*side)

        def forward(self, x):
            y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
            return (y + (self.downsample(x) if self.downsample else x)).relu()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = conv(3, 64, 7, stride=2), torch.nn.BatchNorm2d(64)
            self.pool, before = torch.nn.MaxPool2d(3, 2, 1), 64
            for i, after in enumerate((64, 128, 256, 512), 1):
                first = Block(before, after, 1 if i == 1 else 2)
                setattr(self, f"layer{i}", torch.nn.Sequential(first, Block(after, after, 1)))
                before = after
            self.fc = torch.nn.Linear(512, classes)

        def forward(self, x):
            x = self.pool(self.bn1(self.conv1(x)).relu())
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(x.mean((2, 3)))

    return Net()


@pytest.mark.engine("torch")
@installed
@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_a_state_dict_of_torchvision(tmp_path, suffix):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs, path = as_torchvision(torch, 5), tmp_path / f"resnet18{suffix}"
    x = torch.randn(4, 3, 40, 40)
    theirs(x)  # moves the statistics
    if suffix == ".pth":
        torch.save(theirs.state_dict(), path)
    else:
        save = pytest.importorskip("safetensors.torch").save_file
        save(theirs.state_dict(), path)
    net = gluoncv().model_zoo.get_model("resnet18_v1b", classes=5)
    net.initialize()
    net(nd.ones((1, 3, 40, 40)))
    options = Config(net="gluoncv:resnet18_v1b", pretrained=str(path))
    load(net, path, options, net.fc)
    with torch.no_grad():
        expected = theirs.eval()(x).numpy()
    np.testing.assert_allclose(net(nd.array(x.numpy())).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    other = gluoncv().model_zoo.get_model("resnet50_v1b", classes=5)
    other.initialize()
    with pytest.raises(Refused, match="it is of another net: it has no layer1.0.bn3.beta"):
        load(other, path, options, other.fc)


@installed
def test_files_that_do_not_fit(start, tmp_path, capsys):
    absent = refusal(capsys, start("--pretrained", str(tmp_path / "no.params")))
    assert f"--pretrained {tmp_path}/no.params: there is no such file" in absent
    file = tmp_path / "other.params"
    nd.save(str(file), {"features.0.weight": nd.ones((16, 3, 3, 3)), "fc.bias": nd.ones(3)})
    said = refusal(capsys, start("--pretrained", str(file)))
    assert f"--pretrained {file}: it is of another net: it has no features." in said
    assert f"{NET} has no fc.bias" in said
    file.write_bytes(b"text")
    assert "it is no file of parameters" in refusal(capsys, start("--pretrained", str(file)))
    net = gluoncv().model_zoo.get_model("cifar_wideresnet16_10", classes=2)
    net.initialize()
    net(nd.ones((1, 3, 12, 12)))
    net.save_parameters(str(file))
    assert "other.params: it is of another net" in refusal(capsys, start("--pretrained", str(file)))


@installed
@pytest.mark.parametrize(
    "name, message",
    [
        ("ssd_512_resnet50_v1_voc", "it does not classify images"),
        ("simple_pose_resnet18_v1b", "it does not classify images"),
        ("cifar_resnet20", "did you mean 'cifar_resnet20_v"),
        ("cifar_x", "such as cifar_resnet20_v1, cifar_resnet56_v1"),
        ("inceptionv3", "made for images of 299 x 299, and these are 12 x 12: --image-size 299"),
    ],
)
def test_nets_that_cannot_be_trained(name, message, start, capsys):
    said = refusal(capsys, start("--net", f"gluoncv:{name}"))
    assert f"--net gluoncv:{name}: " in said and message in said and len(said.splitlines()) == 1


@installed
@pytest.mark.parametrize("name", first_alone(["mobilenet0.25", "resnet18_v1b"]))
def test_other_nets(name, start, capsys):
    assert start("--net", f"gluoncv:{name}", "--image-size", "32") == 0


@installed
def test_a_net_that_ends_in_a_convolution(start, capsys):
    """It is trained as it is; what the loss could take along is not there."""
    net = ["--net", "gluoncv:mobilenetv2_0.25", "--image-size", "32"]
    assert start(*net) == 0
    assert "its last layer is no Dense, and stays as it is" in capsys.readouterr().out
    said = refusal(capsys, start(*net, "--head", "fused", out="fused"))
    assert "--head fused: the last layer of mobilenetv2_0.25 is no Dense; expected dense" in said


def test_names():
    check_name("--net", "resnet18_v1", ["resnet18_v1"])
    with pytest.raises(Refused, match="did you mean 'resnet18_v1'"):
        check_name("--net", "resnet18v1", ["resnet18_v1", "yolo3_custom"])


def test_tables_and_options_of_other_nets(tmp_path, capsys, engine):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "1,x\n2,y\n" * 10)
    argv = ["--engine", engine, "--out", str(tmp_path / "out")]
    said = refusal(capsys, main(["--net", NET, "--data", str(table), *argv]))
    assert "it takes images; for tables there is --net mlp" in said
    assert "the net mlp has no such option" in refusal(capsys, main(["--head", "fused", *argv]))
    with pytest.raises(Refused, match="--head fused: has the loss of classes"):
        parse(["--net", NET, "--head", "fused", "--task", "regression"])
    with pytest.raises(Refused, match="--head fused: computes in float32"):
        parse(["--net", NET, "--head", "fused", "--precision", "bfloat16"])


def test_without_gluoncv(monkeypatch, tmp_path, capsys, engine):
    monkeypatch.setitem(sys.modules, "gluoncv", None)
    for name in [name for name in sys.modules if name.startswith("gluoncv.")]:
        monkeypatch.delitem(sys.modules, name)
    said = "GluonCV is not installed; expected pip install 'gluon-layers[gluoncv]'"

    def absent():
        raise ModuleNotFoundError(said.replace("; ", "\n  "), name="gluoncv")

    monkeypatch.setattr(gluoncv_package.engine, "gluoncv", absent)
    argv = ["--net", NET, "--engine", engine, "--out", str(tmp_path / "out")]
    assert said in refusal(capsys, main(argv))


@pytest.mark.parametrize("before", [False, True])
def test_pillow_reads_files_as_before(before, monkeypatch):
    from PIL import ImageFile

    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", before)
    with pytest.raises(ValueError), quiet():
        ImageFile.LOAD_TRUNCATED_IMAGES = not before
        raise ValueError
    assert ImageFile.LOAD_TRUNCATED_IMAGES is before


@installed
def test_the_metric_of_detectors_leaves_pillow_as_it_is(engine):
    program = """
        from PIL import ImageFile
        from train.detecting import MeanAveragePrecision
        MeanAveragePrecision(("a", "b"), (8, 8))
        print(ImageFile.LOAD_TRUNCATED_IMAGES)
    """
    argv = ["-W", "ignore", "-c", textwrap.dedent(program)]
    done = forks.run(argv, env=os.environ | {"LAYERS_ENGINE": engine})
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def test_the_training_does_not_import_it_unasked():
    program = "import sys, train.__main__, train.nets; sys.exit('gluoncv' in sys.modules)"
    done = forks.run(["-W", "ignore", "-c", program])
    assert done.returncode == 0, done.stderr


def test_a_fused_head_gives_the_loss_and_gradients_of_the_other():
    def made():
        mx.random.seed(2)
        net = gluon.nn.HybridSequential()
        old = gluon.nn.Dense(5, in_units=8)
        net.add(gluon.nn.Conv2D(8, 2, in_channels=1), gluon.nn.GlobalAvgPool2D(), Head.of(old))
        net.initialize(mx.init.Xavier())
        return net

    x, label = nd.array(np.random.RandomState(0).randn(6, 1, 4, 4)), nd.array([0, 1, 2, 3, 4, 0])
    found = []
    for fused in (False, True):
        net = made()
        assert isinstance(head_of(net), DenseBlock)
        forward, loss = (
            (Features(net, net[2]), FusedLossAndAccuracy(net[2]))
            if fused
            else (net, WithMetric(SoftmaxLoss(), "accuracy"))
        )
        for hybrid in (False, True):
            forward.hybridize(hybrid)
            loss.hybridize(hybrid)
            with autograd.record():
                values = loss(forward(x), label)
            values.backward()
            gradients = [p.grad().asnumpy() for p in net.collect_params().values()]
            found.append([values.asnumpy(), *gradients])
        assert net(x).shape == (6, 5)
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    expected = SoftmaxLoss()(net(x), label).asnumpy()
    np.testing.assert_allclose(found[0][0][:, 0], expected, rtol=1e-4)
