"""What one process writes another can use: the rows of `fresh`."""

import os
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import forks
import numpy as np
import pytest
from repeated import as_slow, first_alone

pytestmark = [
    pytest.mark.engine("torch"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each row runs in a fork of one process"),
]

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "ONNX": "onnxruntime",
    "safetensors": "safetensors",
    "kernel": "numba",
    "loops": "numba",
}


AT_LENGTH = ("torch.export, library", "ONNX, library", "Module, loops")  # beside those of users


def rows():
    if os.environ["LAYERS_ENGINE"] != "torch":  # which may not be installed
        return []
    names = import_module("fresh").ROWS
    return [as_slow(name) if name in AT_LENGTH else name for name in names]


def run(code, *argv):
    paths = [str(ROOT), str(ROOT / "tests")]
    env = {**os.environ, "LAYERS_ENGINE": "torch", "PYTHONPATH": os.pathsep.join(paths)}
    return forks.run(["-c", code, *argv], env=env, timeout=600)


@pytest.fixture(scope="module")
def folder(request, tmp_path_factory):
    """What the rows of this run have written, and what they made of it in another process."""
    tests = [item for item in request.session.items if getattr(item, "function", 0) is test_row]
    names = [item.callspec.params["name"] for item in tests]
    folder = tmp_path_factory.mktemp("rows")
    code = "import sys, fresh; from pathlib import Path"
    code += "; fresh.main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])"
    for phase in ("write", "read"):
        done = run(code, phase, str(folder), *names)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", rows())
def test_row(folder, name):
    if missing := [p for sign, p in PACKAGES.items() if sign in name and find_spec(p) is None]:
        pytest.skip(f"{missing[0]} is not installed")
    for failure in sorted((folder / name).glob("*.txt"), reverse=True):
        pytest.fail(f"{failure.stem}: {failure.read_text()}", pytrace=False)
    with np.load(folder / name / "write.npz") as wrote, np.load(folder / name / "read.npz") as read:
        assert wrote.files == read.files
        for key in wrote.files:
            if wrote[key].dtype.kind == "U":
                np.testing.assert_array_equal(read[key], wrote[key])
            else:
                np.testing.assert_allclose(read[key], wrote[key], rtol=2e-5, atol=1e-6)


NOT_REGISTERED = """
import layers.mxnet as mx
for name in ("myops.lsq", "layers.absent", "lsq", "my ops.lsq"):
    try:
        mx.nd.Custom(mx.nd.ones(3), op_type=name)
    except mx.base.MXNetError as error:
        print(str(error).splitlines()[1].partition(";")[0])
import sys
print("layers.ops" in sys.modules, "myops" in sys.modules)
"""


IN_A_FILE = """
import sys
import layers.mxnet as mx
from layers.engine import name
path = sys.argv[1]
try:
    mx.gluon.SymbolBlock.imports(f"{path}-symbol.json", ["data"], f"{path}-0000.params")
except mx.base.MXNetError as error:
    print(*str(error).splitlines(), sep="\\n")
print("layers.ops" in sys.modules, "myops" in sys.modules)
"""
EXPORT = """
import sys
import layers.mxnet as mx
{lines}
net = mx.gluon.nn.HybridLambda(lambda F, x: {body})
net.hybridize()
net(mx.nd.ones((2, 3)))
net.export(sys.argv[1])
"""


@pytest.mark.parametrize(
    "lines, body, operator",
    first_alone(
        [
            ("import myops", "myops.short(x)", "myops.short"),
            ("import myops", "F.Custom(x, op_type='gate')", "gate"),  # the file has its module
        ]
    ),
)
def test_operators_of_a_file_name_their_module(tmp_path, lines, body, operator):
    path = str(tmp_path / "net")
    done = run(EXPORT.format(lines=lines, body=body), path)
    assert done.returncode == 0, done.stderr
    told = run(IN_A_FILE, path).stdout.splitlines()
    assert told[0].endswith(f"operator '{operator}' is not registered")
    assert told[1:] == [
        f"  expected `import myops` first: the operator '{operator}' of this file is defined there",
        "False False",
    ]


def test_operators_of_this_library_are_found(tmp_path):
    path = str(tmp_path / "net")
    done = run(EXPORT.format(lines="from layers.ops import sigmoid", body="sigmoid(x)"), path)
    assert done.returncode == 0, done.stderr
    assert run(IN_A_FILE, path).stdout == "True False\n"


MXNET_READS = """
import json, sys
import mxnet as mx
text = open(sys.argv[1] + "-symbol.json").read()
graph = mx.sym.load_json(text)
print("layers_modules" in json.loads(text)["attrs"], graph.list_outputs())
"""


@pytest.mark.slow
def test_mxnet_reads_a_file_that_names_modules(tmp_path):
    path = str(tmp_path / "net")
    done = run(EXPORT.format(lines="import myops", body="F.Custom(x, op_type='gate')"), path)
    assert done.returncode == 0, done.stderr
    python = ROOT / ".venv-mxnet/bin/python"
    if not python.exists():
        pytest.skip("MXNet has no environment beside: make test-mxnet makes it")
    code = f"import sys; sys.path.remove(''); sys.path.append({str(ROOT / 'tests')!r})"
    code = f"{code}\nimport mxnet\nimport myops{MXNET_READS}"
    done = subprocess.run(
        [python, "-c", code, path],
        env={**os.environ, "LAYERS_ENGINE": "mxnet", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.stdout.startswith("True ["), done.stderr


def test_operators_that_are_not_registered():
    """The module is named, but not imported: a name may come from a file of anybody's."""
    done = run(NOT_REGISTERED)
    assert done.stdout.splitlines() == [
        "  expected `import myops`, which registers it",
        "  expected the module that registers it to be imported",
        "  expected the module that registers it to be imported",
        "  expected the module that registers it to be imported",
        "True False",
    ], done.stderr
