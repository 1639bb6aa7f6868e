"""The network of ``--net``: those of the library, and one that a user's file makes."""

import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from layers.engine import gluon, mx, nd
from train import Refused
from train.__main__ import main
from train.command_line import parse
from train.config import NETS
from train.data import load
from train.data.images import image_shape
from train.data.prepare import prepare
from train.data.samples import Reading, Samples
from train.nets import Images, initialize, net_of
from train.own_file import load_file

ROOT = Path(__file__).resolve().parents[2]

MINE = """
from pathlib import Path

from layers.engine import gluon
from layers.nets import mlp

def build(shape, outputs):
    channels, height, width = shape
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.Dense(outputs))
    return net

def flat(shape, outputs):
    features, = shape
    return gluon.nn.Dense(outputs, in_units=features)

def seven(shape, outputs):
    return gluon.nn.Dense(7)

def divides(shape, outputs):
    return 1 / 0

def nothing(shape, outputs):
    pass
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def refusal(capsys, *argv):
    assert main([*argv]) == 2
    return capsys.readouterr().err


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("name", [net for net in NETS if net != "ssd_lite"])
def test_each_net_trains_is_saved_and_predicts(name, tmp_path, engine):
    small = {"mlp": "--hidden 8", "conv": "--units 8", "resnet": "--units 4 --depth 1"}
    argv = [
        *small.get(name, "--units 8 --depth 1").split(),
        "--epochs",
        "1",
        "--net",
        name,
        "--engine",
        engine,
    ]
    assert main([*argv, "--out", str(tmp_path)]) == 0
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["network"]["net"] == config["options"]["net"] == name
    x = load("digits").held_out_x
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MXNet's, of the type of data
        files = [str(tmp_path / file) for file in ("model-symbol.json", "model-0000.params")]
        exported = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    found = (exported(nd.array(x)).asnumpy().argmax(1) == load("digits").held_out_y).mean()
    assert found == pytest.approx(config["result"]["held_out_accuracy"], abs=1e-6)


@pytest.mark.parametrize("name", ["vit", "mixer"])
@pytest.mark.slow
def test_nets_of_images_learn(name, tmp_path, engine):
    argv = f"--net {name} --epochs 12 --lr 0.003 --schedule cosine --warmup 1 --engine {engine}"
    assert main([*argv.split(), "--out", str(tmp_path)]) == 0
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["result"]["held_out_accuracy"] > 0.88


@pytest.mark.parametrize("name", ["conv", pytest.param("resnet", marks=pytest.mark.slow)])
def test_convolutions_recognize_digits_after_a_few_epochs(name, tmp_path, engine):
    argv = f"--net {name} --epochs 5 --schedule cosine --engine {engine}"
    assert main([*argv.split(), "--out", str(tmp_path)]) == 0
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["result"]["held_out_accuracy"] > 0.97


@pytest.mark.parametrize("name", ["conv", "resnet"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3, 3), (3, 9, 14)])
def test_convolutions_take_small_images(name, shape):
    x = np.random.default_rng(0).random((10, *shape))
    data = prepare(Samples(x, np.arange(10) % 2), Reading())
    net = net_of(parse(["--net", name, "--depth", "4"]), data)
    initialize(net, [mx.cpu()])
    assert net(nd.array(data.x)).shape == (len(data.x), 2)


def test_options_reach_the_net():
    argv = "--activation swiglu --norm rms --dropout 0.25 --residual --hidden 8,8"
    net = net_of(parse(argv.split()), load("digits"))
    text = repr(net)
    assert all(word in text for word in ("SwiGLU", "RMSNorm", "p = 0.25", "Residual"))


@pytest.mark.parametrize(
    "shape, image",
    [((8, 6), (1, 8, 6)), ((8, 6, 3), (3, 8, 6)), ((3, 8, 6), (3, 8, 6)), ((64,), None)],
)
def test_shapes_of_images(shape, image):
    assert image_shape(shape) == image
    if image is None:
        return
    x = np.arange(2 * np.prod(shape), dtype="float32").reshape(2, *shape)
    expected = x.transpose(0, 3, 1, 2) if shape == (8, 6, 3) else x.reshape(2, *image)
    found = Images(shape)(nd.array(x.reshape(2, -1)))
    np.testing.assert_array_equal(found.asnumpy(), expected)


def test_what_a_net_cannot_be_made_of(capsys, tmp_path, engine):
    table = tmp_path / "t.csv"
    table.write_text("a,b\n" + "1,x\n2,y\n" * 10)
    out = ["--engine", engine, "--out", str(tmp_path / "out")]
    assert "patch is 3" in refusal(capsys, "--net", "vit", "--patch", "3", *out)
    said = refusal(capsys, "--activation", "foo", *out)
    assert "activation is 'foo'; expected one of geglu, gelu" in said and said.endswith(" tanh\n")
    assert "swiglu" in said and "function" not in said
    assert "it takes images, and a sample is (1,)" in refusal(
        capsys, "--net", "mixer", "--data", str(table), *out
    )


def test_a_function_of_a_file(mine, tmp_path, engine, capsys):
    argv = ["--net", f"{mine}:build", "--epochs", "2", "--lr", "0.02", "--engine", engine]
    assert main([*argv, "--out", str(tmp_path / "out")]) == 0
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["result"]["held_out_accuracy"] > 0.5
    assert config["network"]["parameters"] == 4 * 9 + 4 + 4 * 36 * 10 + 10
    assert "Conv2D" in capsys.readouterr().out


def test_a_function_for_tables(mine):
    options = parse(["--net", f"{mine}:flat"])
    data = load("digits")
    object.__setattr__(data, "shape", (64,))
    net = net_of(options, data)
    initialize(net, [mx.cpu()])
    assert net(nd.array(data.x[:3])).shape == (3, 10)


def test_values_that_a_net_has_already_are_kept():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=3), gluon.nn.Dense(2, in_units=2))
    net[0].initialize(mx.init.One())
    initialize(net, [mx.cpu(0), mx.cpu(1)])
    for ctx in (mx.cpu(0), mx.cpu(1)):
        assert (net[0].weight.data(ctx).asnumpy() == 1).all()
        assert net[1].weight.data(ctx).asnumpy().std() > 0


@pytest.mark.parametrize(
    "function, expected",
    [
        ("seven", r"mine.py:seven: outputs are \(samples, 7\); expected \(samples, 10\)"),
        ("divides", r"divides\(\(1, 8, 8\), 10\): mine.py, line 21: ZeroDivisionError"),
        ("nothing", "nothing returned NoneType; expected a HybridBlock"),
        ("flat", "flat.* line 14: ValueError: too many values"),
        ("absent", "has no function absent; expected one of build, flat, seven, divides, nothing$"),
    ],
)
def test_functions_that_make_no_net(mine, function, expected, capsys, tmp_path, engine):
    argv = ["--net", f"{mine}:{function}", "--engine", engine, "--out", str(tmp_path / "out")]
    assert re.search(expected, refusal(capsys, *argv).strip())


OWN = """
from layers import operator
from layers.engine import gluon

@operator
class cube:
    'y = x³'
    def forward(x):
        return x * x * x

    def dx(dy, x):
        return 3 * x * x * dy

class Cube(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return cube(x)

def build(shape, outputs):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4), Cube(), gluon.nn.Dense(outputs))
    return net
"""


@pytest.mark.slow
def test_operators_of_ones_own_in_another_process(tmp_path, engine):
    """The file names no other module: its operator keeps its name, by which it is found again."""
    file = tmp_path / "cubes.py"
    file.write_text(OWN)
    samples = tmp_path / "x.npy"
    np.save(samples, load("digits").held_out_x[:3].reshape(-1, 8, 8))
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"LAYERS_ENGINE": engine, "PYTHONPATH": path}

    def run(module, *argv):
        command = [sys.executable, "-m", f"train{module}", *argv]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    trained = run("", "--net", "cubes.py:build", "--epochs", "1", "--out", "out")
    assert trained.returncode == 0, trained.stderr
    without = run(".predict", "out", "x.npy")
    assert without.returncode == 2
    found = run(".predict", "out", "x.npy", "--operators", "cubes.py")
    assert found.returncode == 0, found.stderr
    assert len(found.stdout.splitlines()) == 4


def test_a_file_with_the_name_of_a_module(tmp_path):
    """It replaces none, and what it defines has another module."""
    import json as before

    path = tmp_path / "json.py"
    path.write_text("x = 1\nclass A: pass\n")
    module = load_file(path, "--net")
    assert module.A.__module__ == "net_of_json" and sys.modules["json"] is before


def test_files_that_do_not_run(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("x = 1\ny = x +\n")
    data = load("digits")
    with pytest.raises(Refused, match="wrong.py, line 2: SyntaxError"):
        net_of(parse(["--net", f"{wrong}:f"]), data)
    with pytest.raises(Refused, match="no file .*there.py"):
        net_of(parse(["--net", f"{tmp_path}/there.py:f"]), data)
