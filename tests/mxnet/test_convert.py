"""``python -m layers.mxnet.convert``: each format to each other, in processes of their own."""

import argparse
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import forks
import numpy as np
import pytest

pytestmark = pytest.mark.engine("torch")

ROOT = Path(__file__).resolve().parents[2]
X = np.random.default_rng(0).normal(size=(2, 4)).astype("float32")
SYMBOL, PARAMS = "net-symbol.json", "net-0000.params"
# By the format: what its files are called.
SOURCES = {
    "checkpoint": "net",
    "symbol": SYMBOL,
    "params": PARAMS,
    "safetensors": "given.safetensors",
    "state dict": "given.pt",
    "ONNX": "given.onnx",
}
TARGETS = {
    "checkpoint": "made",
    "params": "made.params",
    "safetensors": "made.safetensors",
    "state dict": "made.pt",
    "ONNX": "made.onnx",
    "program": "made.pt2",
}
NEEDED = {"safetensors": ["safetensors"], "ONNX": ["onnxscript", "onnxruntime"]}
# Each pair in a fork of one process, in which nothing has happened but the import.
EACH = """
import os, sys
from layers.mxnet.convert import main
for line in sys.stdin.read().splitlines():
    folder, *arguments = line.split("|")
    if pid := os.fork():
        os.waitpid(pid, 0)
        continue
    os.chdir(folder)
    status = 70
    try:
        sys.stderr = open("errors.txt", "w")
        status = main(arguments)
    finally:
        sys.stderr.flush()
        open("status.txt", "w").write(str(status))
        os._exit(0)
"""


def run(*arguments, folder, code=None, text=None):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    if code is None:
        return forks.run(["-m", "layers.mxnet.convert", *arguments], cwd=folder, env=env)
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=env, cwd=folder, input=text, capture_output=True, text=True)


def absent(*formats):
    return [p for f in formats for p in NEEDED.get(f, []) if find_spec(p) is None]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder with a net in each format; and its output for X, and its arrays."""
    import torch

    import layers.mxnet as mx

    folder = tmp_path_factory.mktemp("given")
    mx.random.seed(0)
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(5, activation="relu"), mx.gluon.nn.BatchNorm())
    net.initialize(mx.init.Xavier(magnitude=6))
    net.hybridize()
    y = net(mx.nd.array(X)).asnumpy()
    net.export(str(folder / "net"))
    arrays = {p.name: p.data() for p in net.collect_params().values()}
    values = {name: array.asnumpy() for name, array in arrays.items()}
    torch.save({n: torch.tensor(v) for n, v in values.items()}, folder / "given.pt")
    if not absent("safetensors"):
        mx.nd.save(str(folder / "given.safetensors"), arrays)
    if not absent("ONNX"):
        graph, params, path = (str(folder / n) for n in (SYMBOL, PARAMS, "given.onnx"))
        mx.onnx.export_model(graph, params, [X.shape], onnx_file_path=path)
    return folder, y, values


AT_ONCE = ("checkpoint",)  # the other sources are converted by make test-all


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(source, marks=() if source in AT_ONCE else pytest.mark.slow)
        for source in SOURCES
    ],
)
def converted(request, given, tmp_path_factory):
    """A source, and the folder in which it was converted to each target."""
    folder, source = tmp_path_factory.mktemp("made"), request.param
    lines = []
    for target in TARGETS:
        if absent(source, target):
            continue
        place = folder / f"{source} to {target}"
        place.mkdir()
        arguments = [str(given[0] / SOURCES[source]), TARGETS[target]]
        if target in ("checkpoint", "ONNX", "program") and source in (
            "params",
            "safetensors",
            "state dict",
        ):
            arguments += ["--graph", str(given[0] / "net-symbol.json")]
        if target in ("ONNX", "program"):
            arguments += ["--shape", "2x4"]
        lines.append("|".join([str(place), *arguments]))
    done = run(folder=folder, code=EACH, text="\n".join(lines))
    assert done.returncode == 0, done.stderr
    return source, folder


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each pair runs in a fork of one process")
@pytest.mark.parametrize("target", TARGETS)
def test_pair(mx, given, converted, target):
    source, made = converted
    if missing := absent(source, target):
        pytest.skip(f"{missing[0]} is not installed")
    place = made / f"{source} to {target}"
    errors = (place / "errors.txt").read_text()
    assert (place / "status.txt").read_text() == "0", errors
    _, y, values = given
    path = str(place / TARGETS[target])
    if target == "checkpoint":
        arguments = {"ONNX": None}.get(source, ["data"])
        files = f"{path}-symbol.json", f"{path}-0000.params"
        inputs = arguments or inputs_of(mx, files)
        net = mx.gluon.SymbolBlock.imports(files[0], inputs, files[1])
        np.testing.assert_allclose(net(mx.nd.array(X)).asnumpy(), y, rtol=1e-5, atol=1e-6)
    elif target == "ONNX":
        import onnxruntime

        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        found = session.run(None, {session.get_inputs()[0].name: X})[0]
        np.testing.assert_allclose(found, y, rtol=1e-5, atol=1e-6)
    elif target == "program":
        import torch

        found = torch.export.load(path).module()(torch.tensor(X)).detach().numpy()
        np.testing.assert_allclose(found, y, rtol=1e-5, atol=1e-6)
    else:
        compare(arrays_of(mx, target, path), values, source)


def inputs_of(mx, files):
    """The inputs of a graph: its variables without an array."""
    known = {name.split(":")[1] for name in mx.nd.load(files[1])}
    return [name for name in mx.sym.load(files[0]).list_inputs() if name not in known]


def arrays_of(mx, target, path):
    """The arrays of a file, with another reader than the converter's, where there is one."""
    if target == "params":
        return {name: array.asnumpy() for name, array in mx.nd.load(path).items()}
    if target == "safetensors":
        from safetensors.numpy import load_file

        return load_file(path)
    import torch

    found = torch.load(path, weights_only=True)
    assert all(type(tensor) is torch.Tensor for tensor in found.values())
    return {name: tensor.numpy() for name, tensor in found.items()}


def compare(found, values, source):
    if source == "ONNX":  # which has what the graph computes with, under names of its own
        assert len(found) >= 2 and all(array.size for array in found.values())
        return
    assert found.keys() == values.keys()
    for name, value in values.items():
        np.testing.assert_array_equal(found[name], value)


def test_a_state_dict_is_loaded_by_a_module(mx, tmp_path):
    import torch

    net = mx.gluon.nn.Dense(3, in_units=4)
    net.initialize()
    net.save_parameters(str(tmp_path / "net.params"))
    done = run("net.params", "net.pt", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    module = torch.nn.Linear(4, 3)
    module.load_state_dict(torch.load(tmp_path / "net.pt", weights_only=True))
    expected = net(mx.nd.array(X)).asnumpy()
    np.testing.assert_allclose(module(torch.tensor(X)).detach().numpy(), expected, rtol=1e-5)


def test_list(given):
    folder, _, values = given
    done = run("--list", "net-0000.params", "net-symbol.json", folder=folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"net-0000.params: {len(values)} arrays, ")
    assert sum("net_dense0_weight" in line and "5x4  float32" in line for line in lines) == 2
    assert lines[-2:] == ["  inputs: data", "  outputs: net_batchnorm0_fwd_output"]


def test_files_are_not_replaced(mx, tmp_path, capsys):
    from layers.mxnet.convert import main

    x, arrays = mx.sym.var("x"), {"w": mx.nd.array([1])}
    mx.model.save_checkpoint(str(tmp_path / "a"), 0, x * mx.sym.var("w"), arrays, {})
    for target, file in ("out.params", "out.params"), ("b", "b-0000.params"):
        (tmp_path / file).write_text("precious")
        arguments = [str(tmp_path / "a"), str(tmp_path / target)]
        assert main(arguments) == 1
        assert f"{file}: it exists already\n  expected --overwrite" in capsys.readouterr().err
        assert (tmp_path / file).read_text() == "precious"
        assert main([*arguments, "--overwrite"]) == 0
        assert mx.nd.load(str(tmp_path / file))


def test_the_last_epoch_or_another(mx, tmp_path, capsys):
    from layers.mxnet.convert import main

    x = mx.sym.var("x")
    for epoch in (3, 12):
        value = {"w": mx.nd.array([epoch])}
        mx.model.save_checkpoint(str(tmp_path / "a.b"), epoch, x * mx.sym.var("w"), value, {})
    prefix, target = str(tmp_path / "a.b"), str(tmp_path / "out.params")
    for options, expected in (([], 12), (["--epoch", "3"], 3)):
        assert main([prefix, target, "--overwrite", *options]) == 0
        assert mx.nd.load(target)["w"].asscalar() == expected
    assert main([prefix, target, "--overwrite", "--epoch", "4"]) == 1
    assert capsys.readouterr().err.endswith(
        f": there is no {prefix}-0004.params\n  expected --epoch with one of 3, 12\n"
    )


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("ran",)


def cuts():
    """Beginnings of a file of PyTorch before 1.6, by their length; one is cut in a class's name."""
    import torch

    file = io.BytesIO()
    given = torch.nn.Linear(2, 2).state_dict()
    torch.save(given, file, _use_new_zipfile_serialization=False)
    in_name = file.getvalue().index(b"torch._utils") + 14
    return {length: file.getvalue()[:length] for length in (1, 2, 5, 10, 100, in_name)}


def damaged(folder, mx):
    """Files that are refused, with what the message says of each."""
    import torch

    (folder / "text.params").write_text("no arrays")
    (folder / "text.safetensors").write_text("no arrays")
    (folder / "text.pt").write_text("no tensors")
    (folder / "text-symbol.json").write_text("{}")
    (folder / "hostile.pt").write_bytes(pickle.dumps({"w": Hostile()}))
    torch.save(torch.nn.Linear(2, 2), folder / "module.pt")
    (folder / "torn.pt").write_bytes((folder / "module.pt").read_bytes()[:-99])
    for protocol in (4, 5):
        torch.save({"w": torch.ones(2)}, folder / f"new{protocol}.pt", pickle_protocol=protocol)
    for length, data in cuts().items():
        (folder / f"cut{length}.pt").write_bytes(data)
    for name in ("empty.pt", "notes.txt", "program.pt2"):
        (folder / name).touch()
    torch.save({1: torch.ones(2)}, folder / "number.pt")
    torch.save({"model": {"w": torch.ones(2)}}, folder / "nested.pt")
    torch.save([torch.ones(2)], folder / "list.pt")
    torch.save({"w": torch.ones(2, dtype=torch.complex64)}, folder / "complex.pt")
    mx.nd.save(str(folder / "list.params"), [mx.nd.ones((2,))])
    mx.nd.save(str(folder / "twice.params"), {"arg:w": mx.nd.ones((2,)), "w": mx.nd.ones((2,))})
    mx.nd.save(str(folder / "good.params"), {"w": mx.nd.ones((2,))})
    return {
        "text.params": "with which every .params file begins",
        "text.safetensors": "expected a whole .safetensors file",
        "text.pt": "it has something that PyTorch's reader of tensors does not know\n",
        "text-symbol.json": "no list of nodes",
        "module.pt": (
            "module.pt: it has an object of 'torch.nn.modules.linear.Linear', and only tensors and "
            "containers are read\n  expected a whole file of torch.save(module.state_dict(), ...)\n"
        ),
        "torn.pt": "it is a damaged zip: File is not a zip file\n",
        "empty.pt": "it is empty\n",
        **{f"cut{length}.pt": "it ends too early\n" for length in cuts()},
        **dict.fromkeys(
            ("new4.pt", "new5.pt", "hostile.pt"),
            "pickled with a protocol that PyTorch's reader of tensors does not know: save it with "
            "pickle_protocol=2\n  expected a whole file of torch.save(",
        ),
        "number.pt": "the name 1 is of type int\n  expected text",
        "nested.pt": "'model' is of type dict",
        "list.pt": "a list\n  expected a dict",
        "complex.pt": "complex64",
        "list.params": "its 1 arrays have no names",
        "twice.params": "there are two arrays 'w'",
        "absent.params": "absent.params: No such file or directory",
        "absent": "there is no absent-symbol.json\n  expected a file that ends in .params",
        "notes.txt": "the format '.txt' is not known\n  expected a file that ends in .params",
        "program.pt2": "a program of torch.export is written and not read\n",
    }


def rewritten(data, change, **options):
    """Return a zip of torch.save with changed members."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", **options) as new:
        for member in old.infolist():
            for name, content in change(member.filename, old.read(member)):
                new.writestr(name, content)
    return file.getvalue()


def without_bytes():
    """State dicts that take much more memory than their files have, and what is said of each."""
    import torch

    def saved(value, **options):
        file = io.BytesIO()
        torch.save(value, file, **options)
        return file.getvalue()

    one, many = torch.zeros(1), torch.zeros(1 << 20)
    wide = saved({"w": torch.arange(4.0)})

    def same(name, content):
        return [(name, content)]

    def calls(name, content):  # in capitals, by which PyTorch finds it, too
        return [(name.upper(), CALLS if "pkl" in name else content)]

    deflated = {"compression": zipfile.ZIP_DEFLATED}
    strides = [
        ("strides", saved({"w": one.expand(1000, 1000, 1000)}), "'w' (1000, 1000, 1000) takes")
    ]
    strides += [
        ("old", saved({"w": one.expand(1 << 30)}, _use_new_zipfile_serialization=False), "takes")
    ]
    return [
        *strides,
        ("names", saved({str(i): many for i in range(64)}), "'12' (1048576,) takes 4194304 bytes"),
        (
            "deflated",
            rewritten(saved({"w": many}), same, **deflated),
            "members are compressed or ov",
        ),
        (
            "calls",
            rewritten(wide, calls),
            "object of 'torch._utils._rebuild_device_tensor_from_cpu",
        ),
        (
            "lists",
            rewritten(wide, lambda n, c: [(n, b"\x80\x02" + b"]" * 999_999)]),
            "instructions",
        ),
    ]


# torch.FloatTensor(2 ** 30), converted to float64
CALLS = b"\x80\x02ctorch._utils\n_rebuild_device_tensor_from_cpu_tensor\n"
CALLS += b"(ctorch\nFloatTensor\nJ\x00\x00\x00\x40\x85Rctorch\nfloat64\nX\x03\x00\x00\x00cpu\x89tR."


def test_a_state_dict_takes_no_memory_that_its_file_has_not(mx, tmp_path):
    """The first takes 4 GB with 1,500 bytes where its tensors are copied as they are."""
    from hostile.judge import Memory

    from layers.mxnet._files import state_dict

    for name, data, reason in without_bytes():
        (tmp_path / f"{name}.pt").write_bytes(data)
        memory = Memory()
        with pytest.raises(mx.MXNetError) as caught:
            state_dict.read(tmp_path / f"{name}.pt")
        assert memory.taken() < (64 << 20) + 8 * len(data), name
        assert reason in str(caught.value) and f"{name}.pt" in str(caught.value), caught.value


def test_state_dicts_that_are_read(tmp_path):
    """Views, one storage under two names, a Parameter with an attribute; of both formats."""
    import torch

    from layers.mxnet._files import state_dict

    x = torch.arange(12.0).reshape(3, 4)
    own = torch.nn.Parameter(torch.ones(2))
    own.mood = "good"
    given = {"x": x, "T": x.T, "row": x[1], "wide": x[0].expand(5, 4), "own": own}
    given |= {"one": torch.tensor(2), "none": torch.zeros(0, 3), "bits": x > 2, "half": x.half()}
    for zipped in (True, False):
        torch.save(given, tmp_path / "a.pt", _use_new_zipfile_serialization=zipped)
        tensors, names = state_dict.read(tmp_path / "a.pt")
        assert names == list(given)
        assert all(torch.equal(a, b) for a, b in zip(tensors, given.values()))


def test_what_cannot_be_read(mx, tmp_path, monkeypatch, capsys):
    from layers.mxnet.convert import main

    monkeypatch.chdir(tmp_path)
    for name, reason in damaged(tmp_path, mx).items():
        assert main([name, "out.params"]) == 1
        told = capsys.readouterr().err
        assert name in told and reason in told, told
        assert "Traceback" not in told and not Path("out.params").exists()
    assert not Path("ran").exists()


def test_files_after_one_that_cannot_be_listed(mx, tmp_path, monkeypatch, capsys):
    from layers.mxnet.convert import main

    monkeypatch.chdir(tmp_path)
    Path("net.pt2").touch()
    mx.nd.save("net.params", {"w": mx.nd.ones((2,))})
    assert main(["--list", "net.pt2", "absent", "net.params"]) == 1
    told = capsys.readouterr()
    assert told.out.startswith("net.params: 1 array, 8 bytes\n")
    pt2, absent = told.err.splitlines()[:2]
    assert pt2.endswith("net.pt2: .pt2 files cannot be listed") and "absent: there is" in absent


def test_a_missing_source_is_a_missing_file(tmp_path, monkeypatch):
    from layers.mxnet import convert
    from layers.mxnet.base import ArgumentError

    monkeypatch.chdir(tmp_path)
    Path("notes.txt").touch()
    options = argparse.Namespace(graph=None)
    for path in ("absent", "absent.txt", "absent-symbol.json", "absent.onnx", "absent.pt"):
        with pytest.raises(FileNotFoundError, match=path.split("-")[0]):
            convert._read(path, options)
    for path in ("notes.txt", "absent.pt2"):
        with pytest.raises(ArgumentError, match=path):
            convert._read(path, options)


def test_what_cannot_be_written(mx, tmp_path, monkeypatch, capsys):
    from layers.mxnet.convert import main

    monkeypatch.chdir(tmp_path)
    damaged(tmp_path, mx)
    Path("out.pt").write_text("before")
    for target, reason in {
        "net": "good.params has arrays and no graph\n  expected --graph net-symbol.json",
        "net.foo": "the format '.foo' is not known\n  expected a name that ends in .params",
        "net.onnx": "good.params has arrays and no graph",
        "none/out.pt": "No such file or directory",
    }.items():
        assert main(["good.params", target]) == 1
        told = capsys.readouterr().err
        assert target in told and reason in told, told
    mx.sym.var("v").save("v-symbol.json")
    assert main(["good.params", "net", "--graph", "v-symbol.json"]) == 1
    assert "'w' is no variable of the graph" in capsys.readouterr().err
    assert main(["text.pt", "out.pt"]) == 1 and Path("out.pt").read_text() == "before"
    left = {path.name for path in tmp_path.iterdir()}
    assert not [name for name in left if name.endswith(".tmp") or name.startswith("net")]


def test_wrong_arguments_and_help(capsys):
    from layers.mxnet.convert import main

    for arguments in (["a.params"], ["a", "b", "c"], ["a", "b", "--shape", "0x3"], []):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "examples:" in capsys.readouterr().out


@pytest.mark.skipif(bool(absent("ONNX")), reason="ONNX is not installed")
@pytest.mark.parametrize("target", ["net.onnx", "net.pt2"])
def test_a_shape_that_is_needed_is_asked_for(given, tmp_path, monkeypatch, capsys, target):
    from layers.mxnet.convert import main

    monkeypatch.chdir(tmp_path)
    for shapes in ([], ["--shape", "2x4", "--shape", "3"]):
        assert main([str(given[0] / "net"), target, *shapes]) == 1
        assert capsys.readouterr().err == (
            f"python -m layers.mxnet.convert: {target}: given {len(shapes) // 2} --shape, and the "
            "graph has 1 input: data\n  expected --shape with the sizes of each, in this order, "
            "such as --shape 1x3x224x224\n"
        )


SUBCOMMAND = "import sys; from layers.mxnet.__main__ import main; main(sys.argv[1:])"


@pytest.mark.slow
def test_operators_of_others(mx, tmp_path):
    import myops

    net = myops.Net()
    net.initialize()
    net.hybridize()
    net(mx.nd.array(X))
    net.export(str(tmp_path / "net"))
    done = run("net", "out", folder=tmp_path)
    assert done.returncode == 1 and "expected `import myops` first" in done.stderr
    done = run("net", "out", "--import", "myops", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    given = "convert", "net", "out.pt", "--import", "nothing"
    done = run(*given, folder=tmp_path, code=SUBCOMMAND)
    assert done.returncode == 1 and "--import nothing: No module named" in done.stderr


STRANDED = """
import mxnet as mx
import numpy as np

class Twice(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], mx.nd.array(in_data[0].asnumpy().astype(np.float) * 2))

@mx.operator.register("twice_of_old_code")
class TwiceProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, shapes, dtypes):
        return Twice()
"""


@pytest.mark.parametrize("given", ["stranded", "stranded.py", "code/stranded.py"])
def test_operators_of_code_that_imports_mxnet(mx, tmp_path, given):
    path = tmp_path / ("code" if "/" in given else "") / "stranded.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(STRANDED)
    node = {"op": "Custom", "name": "y", "inputs": [[0, 0, 0]]}
    node["attrs"] = {"op_type": "twice_of_old_code"}
    nodes = [{"op": "null", "name": "data", "inputs": []}, node]
    graph = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]}
    (tmp_path / "net-symbol.json").write_text(json.dumps(graph))
    mx.nd.save(str(tmp_path / "net-0000.params"), {})
    done = run("net", "out", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("\n  in this command: --import MODULE, or --import FILE.py\n")
    done = run("net", "out", "--import", given, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_name_of_a_custom_that_was_not_called(mx):
    with pytest.raises(mx.MXNetError, match="registered by reading its attribute"):
        mx.nd.Custom(mx.nd.ones((2,)), op_type="Custom_twice_0123abcd")
