"""``python -m train.export``: each format is loaded by a program that has nothing of `train`."""

import json
import os
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import forks
import numpy as np
import pytest

from layers import engine, nets
from layers.engine import mx, nd
from train import export, exporting, module
from train.__main__ import main
from train.data import load
from train.scaling import with_scaling
from train.tensors import read_tensors
from train.trained import network_of, read_run

ROOT = Path(__file__).resolve().parents[2]
CLASSES = ("<b>&amp", "rot", "grün")
TORCH = pytest.mark.engine("torch")
PROGRAMS = {"gluon": main, "module": module.main}
NEEDED = {"onnx": ("onnx", "onnxscript", "onnxruntime")}
# What a user of each format writes. They print the class names, and write the outputs.
READERS = {
    "onnx": """
import onnxruntime
session = onnxruntime.InferenceSession(FILE)
found = session.run(None, {"data": X})[0]
notes = session.get_modelmeta().custom_metadata_map
""",
    "torch": """
import torch
notes = {"classes": "", "mean": "", "outputs": ""}
found = torch.export.load(FILE, extra_files=notes).module()(torch.tensor(X)).detach().numpy()
assert not any(name.startswith(("layers", "train", "mxnet")) for name in sys.modules)
notes = {name: text.decode() if isinstance(text, bytes) else text for name, text in notes.items()}
""",
    "mxnet": """
import layers.ops
from layers.engine import gluon, mx, nd
graph = mx.sym.load(FILE + "-symbol.json")
net = gluon.SymbolBlock.imports(FILE + "-symbol.json", ["data"], FILE + "-0000.params")
found = net(nd.array(X)).asnumpy()
notes = json.loads(graph.attr_dict()["data"]["__run__"])
""",
}
BEFORE = "import json, sys\nimport numpy as np\nFILE, OUT = sys.argv[1:]\nX = np.load(OUT)\n"
AFTER = "\nnp.save(OUT, found)\nprint(json.dumps(notes))\n"


SLOW = pytest.mark.slow


@pytest.fixture(scope="module", params=["gluon", pytest.param("module", marks=SLOW)])
def runs(request, tmp_path_factory):
    """The folders of a run with classes and of one with numbers."""
    root = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    x = np.stack([1e-4 * (kind + rng.normal(size=60)), 1e6 + 1e4 * rng.normal(size=60)], axis=1)
    np.savez(root / "kind.npz", x=x, y=np.array(CLASSES)[kind])
    np.savez(root / "price.npz", x=x, y=1000 + 50 * kind)
    argv = ["--epochs", "20", "--lr", "0.02", "--hidden", "8", "--data"]
    for name, more in (("kind", []), ("price", ["--task", "regression"])):
        more = [*more, "--out", str(root / name)]
        assert PROGRAMS[request.param]([*argv, str(root / f"{name}.npz"), *more]) == 0
    return {name: (root / name, x.astype("float32")) for name in ("kind", "price")}


@pytest.fixture
def say(capsys):
    def say(*argv, status=0):
        assert export.main([str(word) for word in argv]) == status
        found = capsys.readouterr()
        assert bool(found.err) == bool(status)
        return found.err if status else found.out

    return say


def read(kind, file, x, python=sys.executable, **env):
    """The outputs that a format's reader computes in a process of its own, and its metadata."""
    out = file.with_name("x.npy")
    np.save(out, x)
    done = subprocess.run(
        [python, "-c", BEFORE + READERS[kind] + AFTER, file, out],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **env},
        cwd=file.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return np.load(out), json.loads(done.stdout)


def needing(kind):
    if missing := [name for name in NEEDED.get(kind, ()) if find_spec(name) is None]:
        pytest.skip(f"{missing[0]} is not installed")


def predicted(folder, x):
    return network_of(folder, read_run(folder))(x)


@TORCH
@pytest.mark.parametrize("suffix", [".onnx", ".pt2"])
def test_loaded_in_this_process(say, runs, tmp_path, monkeypatch, suffix):
    kind = {".onnx": "onnx", ".pt2": "torch"}[suffix]
    needing(kind)
    folder, x = runs["kind"]
    monkeypatch.setattr(exporting, "reload", lambda path, form, x, _: {"y": predicted(folder, x)})
    file = tmp_path / f"a{suffix}"
    said = say(folder, "--to", kind, "--out", file)
    assert str(file) in said and "lost: " in said
    space = {"FILE": str(file), "X": x, "sys": Namespace(modules=()), "json": json, "np": np}
    exec(READERS[kind], space)
    np.testing.assert_allclose(space["found"], predicted(folder, x), rtol=1e-4, atol=1e-4)
    assert json.loads(space["notes"]["classes"]) == sorted(CLASSES)


@pytest.mark.parametrize("target", ["kind", "price"])
def test_a_training_writes_the_notes_itself(say, runs, tmp_path, target):
    """As the exported file has them: the names of classes, and what the network takes and gives."""
    folder, _ = runs[target]
    say(folder, "--to", "mxnet", "--out", tmp_path / "net")
    paths = (folder / "model-symbol.json", tmp_path / "net-symbol.json")
    notes, exported = (
        json.loads(mx.sym.load(str(path)).attr_dict()["data"]["__run__"]) for path in paths
    )
    classes = sorted(CLASSES) if target == "kind" else []
    assert notes == exported and json.loads(notes["classes"]) == classes
    content = (folder / "model.safetensors").read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    assert header["__metadata__"] == notes


@SLOW
@pytest.mark.parametrize("target", ["kind", "price"])
@pytest.mark.parametrize(
    "kind", [pytest.param("onnx", marks=TORCH), pytest.param("torch", marks=TORCH), "mxnet"]
)
def test_loaded_in_a_fresh_process(say, runs, tmp_path, kind, target):
    needing(kind)
    folder, x = runs[target]
    file = tmp_path / ("model" + exporting.FORMATS[kind][0].suffixes[0])
    said = say(folder, "--to", kind, "--out", file)
    assert str(file) in said and "lost: " in said and "in a process of its own" in said
    for samples in (x[:1], x):
        found, notes = read(kind, file, samples)
        np.testing.assert_allclose(found, predicted(folder, samples), rtol=1e-4, atol=1e-4)
    config = json.loads((folder / "config.json").read_text())
    assert json.loads(notes["classes"]) == config["data"]["classes"]
    assert json.loads(notes["mean"]) == config["data"]["mean"]
    assert notes["outputs"] == config["network"]["outputs"]


@pytest.mark.engine("torch")  # MXNet's nets read no such files
def test_safetensors_into_a_net(say, runs, tmp_path):
    safe_open = pytest.importorskip("safetensors", reason="it is not installed").safe_open
    folder, x = runs["kind"]
    file = tmp_path / "a.safetensors"
    assert "arrays are those of the network" in say(folder, "--to", "safetensors", "--out", file)
    with safe_open(file, "np") as opened:
        assert json.loads(opened.metadata()["classes"]) == sorted(CLASSES)
        names = list(opened.keys())
    if "0.mean" not in names:  # of train.module, by the names in its graph
        assert sorted(names) == ["fc1_bias", "fc1_weight", "fc2_bias", "fc2_weight", "mean", "std"]
        return
    net = with_scaling(nets.mlp(2, [8], 3), load(str(folder.parent / "kind.npz")))
    net.load_parameters(str(file))
    np.testing.assert_allclose(net(nd.array(x)).asnumpy(), predicted(folder, x), rtol=1e-5)


def test_safetensors_without_its_package(say, runs, tmp_path, monkeypatch):
    folder, _ = runs["kind"]
    hidden = tmp_path / "hidden"
    (hidden / "safetensors").mkdir(parents=True)
    (hidden / "safetensors/__init__.py").write_text("raise ImportError('hidden')")
    for name in [name for name in sys.modules if name.split(".")[0] == "safetensors"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(hidden)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(hidden), os.getenv("PYTHONPATH", "")]))
    file = tmp_path / "a.safetensors"
    assert "arrays are those of the network" in say(folder, "--to", "safetensors", "--out", file)
    found = read_tensors(file)
    for name, array in read_tensors(folder / "model.safetensors").items():
        np.testing.assert_array_equal(found[name], array)
    assert b'"__metadata__":{"made by":"layers ' in file.read_bytes()


MODULE = """
import sys, numpy as np, torch
from torch import nn

class Standardize(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, features))
        self.register_buffer("std", torch.zeros(1, features))
    def forward(self, x):
        return (x - self.mean) / self.std

net = nn.Sequential(Standardize(2), nn.Sequential(nn.Linear(2, 8), nn.Sigmoid(), nn.Linear(8, 3)))
file, out = sys.argv[1:]
net.load_state_dict(torch.load(file, weights_only=True))
np.save(out, net(torch.from_numpy(np.load(out))).detach().numpy())
assert not any(name.startswith(("layers", "train", "mxnet")) for name in sys.modules)
"""


@TORCH
def test_a_state_dict_into_a_module_of_pytorch(say, runs, tmp_path):
    folder, x = runs["kind"]
    if not (folder / "model.params").exists():
        pytest.skip("train.module writes arrays by the names in its graph alone")
    say(folder, "--to", "torch", "--out", tmp_path / "a.pt")
    np.save(tmp_path / "x.npy", x)
    done = forks.run(["-c", MODULE, str(tmp_path / "a.pt"), str(tmp_path / "x.npy")])
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(np.load(tmp_path / "x.npy"), predicted(folder, x), rtol=1e-4)


@TORCH
@SLOW
@pytest.mark.parametrize("target", ["kind", "price"])
def test_mxnet_loads_what_pytorch_has_written(say, runs, tmp_path, target):
    default = ROOT / ".venv-mxnet/bin/python"
    python = Path(os.environ.get("LAYERS_MXNET_PYTHON", default))
    if not python.exists():
        pytest.skip("no interpreter with MXNet: neither LAYERS_MXNET_PYTHON nor .venv-mxnet")
    folder, x = runs[target]
    say(folder, "--to", "mxnet", "--out", tmp_path / "net")
    found, notes = read(
        "mxnet", tmp_path / "net", x, python,
        LAYERS_ENGINE="mxnet", MXNET_CPU_WORKER_NTHREADS="2", MXNET_SUBGRAPH_VERBOSE="0",
    )  # fmt: skip
    np.testing.assert_allclose(found, predicted(folder, x), rtol=1e-4)
    assert json.loads(notes["classes"]) == (sorted(CLASSES) if target == "kind" else [])


@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("kind", ["onnx", "torch"])
def test_what_mxnet_cannot_write(say, runs, tmp_path, kind):
    line = say(runs["kind"][0], "--to", kind, status=2)
    assert line.startswith(f"train.export: --to {kind}: needs PyTorch; expected --engine torch")


@TORCH
@SLOW
@pytest.mark.parametrize("net", ["vit", "mixer"])
def test_nets_of_images_take_any_number_of_samples(say, tmp_path, net):
    needing("onnx")
    out, x = tmp_path / "run", np.random.default_rng(0).integers(0, 17, (7, 64)).astype("float32")
    argv = ["--net", net, "--units", "8", "--depth", "1", "--epochs", "1", "--out", str(out)]
    assert main(argv) == 0
    assert "for any number of samples" in say(out, "--to", "onnx", "--out", tmp_path / "a.onnx")
    for samples in (x[:1], x):
        found, _ = read("onnx", tmp_path / "a.onnx", samples)
        np.testing.assert_allclose(found, predicted(out, samples), rtol=1e-4, atol=1e-4)


@TORCH
@SLOW
def test_a_network_of_a_fixed_size_takes_one_sample(say, runs, tmp_path, monkeypatch):
    exchange, opened = engine.exchange(), []
    write = exchange.write

    def refuse_open(path, graph, arrays, shapes, *, open_batch, notes):
        opened.append(open_batch)
        if open_batch:
            raise mx.base.MXNetError("it has a size that is fixed")
        write(path, graph, arrays, shapes, open_batch=False, notes=notes)

    monkeypatch.setattr(exchange, "write", refuse_open)
    said = say(runs["kind"][0], "--to", "torch", "--out", tmp_path / "a.pt2")
    assert "for one sample at a time" in said and re.search(
        r"its outputs differ by \S+ of the largest, which is \S+ \(\S+\)", said
    )
    assert opened == [True, False]


@pytest.mark.slow
def test_operators_of_ones_own(say, runs, tmp_path):
    """The process that loads the file again has to know them, too."""
    net = tmp_path / f"{tmp_path.name}.py"  # a name that no other test of this process has
    net.write_text(
        "from layers import OperatorBlock\nfrom layers.engine import gluon\n"
        "from layers.ops import operator\n\n"
        "@operator\nclass cube:\n    def forward(x):\n        return x * x * x\n"
        "    def dx(dy, x):\n        return 3 * x * x * dy\n\n"
        "def build(shape, outputs):\n    net = gluon.nn.HybridSequential()\n"
        "    net.add(OperatorBlock(cube), gluon.nn.Dense(outputs))\n    return net\n"
    )
    run = tmp_path / "run"
    data = runs["kind"][0].with_name("kind.npz")
    argv = ["--data", data, "--net", f"{net}:build", "--epochs", "1", "--out", run]
    assert main([str(word) for word in argv]) == 0
    said = say(run, "--to", "mxnet", "--out", tmp_path / "model", "--operators", net)
    assert f"layers.ops, and its own ones {net}" in said and "in a process of its own" in said


@pytest.mark.slow
def test_without_out_it_is_beside_the_run(say, runs):
    folder, _ = runs["price"]
    before = {path.name for path in folder.parent.iterdir()}
    assert say(folder, "--to", "mxnet").startswith(f"{folder}-0000.params and {folder}-symbol.json")
    made = {path.name for path in folder.parent.iterdir()} - before
    assert made == {"price-0000.params", "price-symbol.json"}


def test_what_cannot_be_exported(say, runs, tmp_path):
    folder, _ = runs["kind"]
    assert "it is no run" in say(tmp_path, "--to", "mxnet", status=2)
    out = tmp_path / "absent/a"
    assert "there is no folder" in say(folder, "--to", "mxnet", "--out", out, status=2)
    line = say(folder, "--to", "onnx", "--out", tmp_path / "a.pt", status=2)
    assert "a.pt: expected the name of a file that ends in .onnx" in line
    assert "--to: invalid choice: 'zip'" in say(folder, "--to", "zip", status=2)
    assert "required: --to" in say(folder, status=2)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_damaged(say, runs, tmp_path):
    folder, _ = runs["kind"]
    for name, write, reason in (
        ("model-0000.params", lambda path: nd.save(str(path), [nd.ones(3)]), "without names"),
        ("model-0000.params", lambda path: path.write_bytes(b"no arrays"), "cannot be used"),
        ("model-symbol.json", lambda path: path.write_text("{}"), "cannot be used"),
    ):
        shutil.copytree(folder, tmp_path / "run", dirs_exist_ok=True)
        write(tmp_path / "run" / name)
        line = say(tmp_path / "run", "--to", "mxnet", "--out", tmp_path / "a", status=2)
        assert reason in line and line.count("\n") == 1
    assert not (tmp_path / "a-symbol.json").exists()


@pytest.mark.slow_on("mxnet")
@pytest.mark.slow
def test_a_file_that_gives_other_numbers_is_not_written(say, runs, tmp_path, monkeypatch):
    folder, _ = runs["kind"]
    true = exporting.network_of
    monkeypatch.setattr(exporting, "network_of", lambda *args: lambda x: true(*args)(x) * 1.01)
    line = say(folder, "--to", "mxnet", "--out", tmp_path / "a", status=2)
    assert re.search(
        "a: loaded again, it gives numbers that differ by .* of them; the file is not written", line
    )
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_loaded_is_not_written(say, runs, tmp_path, monkeypatch):
    (form,) = exporting.FORMATS["mxnet"]
    broken = replace(form, loader="raise SystemExit('of no use')")
    monkeypatch.setitem(exporting.FORMATS, "mxnet", (broken,))
    line = say(runs["kind"][0], "--to", "mxnet", "--out", tmp_path / "a", status=2)
    assert line == "train.export: a: cannot be loaded again: of no use; the file is not written\n"
    assert list(tmp_path.iterdir()) == []


def test_no_operator_in_python_is_in_what_is_exported(runs):
    """What train.module writes ends in one, and has a label."""
    for folder, _ in runs.values():
        graph = exporting.read_network(folder, read_run(folder)).graph
        kinds = {
            node.get("attrs", {}).get("op_type") for node in json.loads(graph.tojson())["nodes"]
        }
        assert kinds <= {None, "layers.dense", "layers.sigmoid"}
        assert "data" in graph.list_inputs() and "softmax_label" not in graph.list_inputs()


def test_a_file_is_not_replaced(say, runs, tmp_path):
    for kind, name in ("mxnet", "a-0000.params"), ("safetensors", "a.safetensors"):
        file, out = tmp_path / name, tmp_path / name.replace("-0000.params", "")
        file.write_text("precious")
        line = say(runs["kind"][0], "--to", kind, "--out", out, status=2)
        told = f"{file} exists already; expected --overwrite, or another file\n"
        assert line == f"train.export: --out {out}: {told}"
        assert file.read_text() == "precious"
        say(runs["kind"][0], "--to", kind, "--out", out, "--overwrite")
        assert file.read_bytes()[:8] != b"precious"


def test_a_folder_is_no_name_of_a_file(say, runs, tmp_path):
    for kind in ("mxnet", "onnx"):
        out = tmp_path / f"a.{kind}"
        out.mkdir()
        line = say(runs["kind"][0], "--to", kind, "--out", out, status=2)
        assert line.startswith(f"train.export: --out {out}: it is a folder; expected the name of ")
        assert line.endswith("of a file\n" if kind == "mxnet" else "that ends in .onnx\n")


def test_help(capsys):
    with pytest.raises(SystemExit) as left:
        export.main(["--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0 and max(map(len, text.splitlines())) <= 100
    for word in (
        "--to",
        "--out",
        "onnx",
        "safetensors",
        "torch",
        "mxnet",
        "examples:",
        "exit status:",
    ):
        assert word in text


@pytest.mark.engine("torch")
@pytest.mark.parametrize("kind", ["safetensors", "torch"])
def test_arrays_of_any_name_are_loaded_again(tmp_path, kind):
    torch = pytest.importorskip("torch", reason="torch writes one of the files")
    path = tmp_path / ("a.safetensors" if kind == "safetensors" else "a.pt")
    expected = {
        name: np.full(2, i, "float32") for i, name in enumerate(["file", "a.npy", "a", "y"])
    }
    if kind == "torch":
        torch.save({name: torch.from_numpy(value) for name, value in expected.items()}, path)
    else:
        nd.save(str(path), {name: nd.array(value) for name, value in expected.items()})
    found = exporting.reload(path, exporting.FORMATS[kind][-1], np.zeros((1, 2), "float32"))
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], value) for name, value in expected.items())
