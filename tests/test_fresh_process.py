"""What one process writes another can use: the rows of `fresh`."""

import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

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


def rows():
    if os.environ["LAYERS_ENGINE"] != "torch":  # which may not be installed
        return []
    return list(import_module("fresh").ROWS)


def run(code, *argv):
    paths = [str(ROOT), str(ROOT / "tests")]
    return subprocess.run(
        [sys.executable, "-c", code, *argv],
        env={**os.environ, "LAYERS_ENGINE": "torch", "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What all rows have written, and what they made of it in another process."""
    folder = tmp_path_factory.mktemp("rows")
    code = "import sys, fresh, pathlib; fresh.main(sys.argv[1], pathlib.Path(sys.argv[2]))"
    for phase in ("write", "read"):
        done = run(code, phase, str(folder))
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
for name in ("myops.lsq", "layers.lsq", "lsq", "my ops.lsq"):
    try:
        mx.nd.Custom(mx.nd.ones(3), op_type=name)
    except mx.base.MXNetError as error:
        print(str(error).splitlines()[1].partition(";")[0])
import sys
print("layers.ops" in sys.modules, "myops" in sys.modules)
"""


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
