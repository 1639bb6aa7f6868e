"""Files that go between layers.mxnet and MXNet itself, each in a process of its own.

MXNet's interpreter is what LAYERS_MXNET_PYTHON names, or .venv-mxnet at the root of the repository.
Values travel back as an .npz, bfloat16 as its bits.
"""

import os
import struct
import subprocess
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")
import exchange  # noqa: E402 - torch first
import numpy as np  # noqa: E402 - torch first

import layers.mxnet as mx  # noqa: E402 - torch first
from layers.mxnet._files.params import read, write  # noqa: E402 - torch first

pytestmark = pytest.mark.engine("torch")

DTYPES = ["float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool", "bfloat16"]
BFLOAT16 = [0.0, -0.0, 1.0, -2.5, float("inf"), float("nan")]

# Both scripts run in a folder of their own: MXNet writes and keeps values, or reads theirs.
COMMON = """
import sys
import numpy as np
import mxnet as mx
from mxnet import nd, npx

def bits(x):
    x = x.asnumpy()
    return x.view(np.uint16) if x.dtype.names else x
"""

MXNET_WRITES = """
rng = np.random.default_rng(7)
values, kept = {}, {}
for dtype in sys.argv[1].split(","):
    if dtype == "bfloat16":
        x = nd.array([0.0, -0.0, 1.0, -2.5, np.inf, np.nan])
        x = x.astype(np.dtype([("bfloat16", np.uint16)]))
    else:
        x = nd.array(rng.integers(-90, 90, (3, 1, 4)).astype(dtype), dtype=dtype)
    values[dtype] = x
values["nothing"] = nd.array(np.zeros((0, 3)))
values["dims"] = nd.ones((1, 2) * 6)
rows = nd.sparse.row_sparse_array((rng.random((2, 3, 2)), [1, 4]), shape=(6, 3, 2))
values["rows"] = rows
values["rows64"] = rows.astype("float64")
values["no rows"] = nd.sparse.zeros("row_sparse", (4, 2))
values["cells"] = nd.sparse.csr_matrix(([1, 2, 3], [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4))
values["no cells"] = nd.sparse.zeros("csr", (4, 2))
nd.save("dict.params", values)
nd.save("list.params", list(values.values()))
nd.save("one.params", values["float32"])
nd.save("empty.params", {})
with mx.util.np_shape(True):
    scalar, cube = nd.ones(()) * 3.5, nd.ones((2, 0, 2))
    nd.save("np.params", {"scalar": scalar, "cube": cube})
    values["scalar"], values["cube"] = scalar, cube
    kept = {name: bits(x) for name, x in values.items()}
nd.save("unreadable.params", {"scalar": scalar, "float32": values["float32"]})
np.savez("values.npz", **kept)
"""

MXNET_READS = """
kept = {}
for file in ("dict", "list", "empty", "before", "v1"):
    loaded = nd.load(file + ".params")
    for name, x in loaded.items() if isinstance(loaded, dict) else enumerate(loaded):
        kept[f"{file} {name}"] = bits(x)
with mx.util.np_shape(True):
    for file in ("scalar", "np"):
        for name, x in nd.load(file + ".params").items():
            kept[f"{file} {name}"] = bits(x)
np.savez("values.npz", **kept)
"""

MXNET_EXCHANGES = """
sys.path.append(sys.argv[1])
import exchange
read = {f"read {n}": y for n, y in exchange.read(mx, "ours").items()}
np.savez("values.npz", **read, **exchange.written(mx, "theirs"))
"""


@pytest.fixture(scope="module")
def mxnet_python():
    default = Path(__file__).parents[2] / ".venv-mxnet" / "bin" / "python"
    python = os.environ.get("LAYERS_MXNET_PYTHON") or default
    if python == default and not default.exists():
        pytest.skip("no interpreter with MXNet: neither LAYERS_MXNET_PYTHON nor .venv-mxnet")
    return str(python)


def run_mxnet(python, script, folder, *arguments):
    # Isolated: PYTHONPATH may put a `mxnet` in front that is this package.
    command = [python, "-I", "-W", "ignore", "-c", COMMON + script, *arguments]
    environment = {**os.environ, "MXNET_CPU_WORKER_NTHREADS": "2"}  # custom operators hang with 1
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, env=environment
    )
    assert done.returncode == 0, done.stderr
    return dict(np.load(folder / "values.npz"))


def bits(tensor):
    tensor = tensor.contiguous()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def equal(tensor, array):
    ours = bits(tensor)
    same = ours.dtype == array.dtype and ours.shape == array.shape
    return same and ours.tobytes() == array.tobytes()


@pytest.fixture(scope="module")
def from_mxnet(mxnet_python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("from_mxnet")
    return folder, run_mxnet(mxnet_python, MXNET_WRITES, folder, ",".join(DTYPES))


def test_what_mxnet_writes(from_mxnet):
    folder, values = from_mxnet
    tensors, names = read(folder / "dict.params")
    assert names == [name for name in values if name not in ("scalar", "cube")]
    assert set(DTYPES) <= set(names)
    assert [name for name, t in zip(names, tensors) if not equal(t, values[name])] == []
    assert tensors[names.index("bfloat16")].dtype == torch.bfloat16
    in_list, no_names = read(folder / "list.params")
    assert list(map(bytes, map(bits, in_list))) == list(map(bytes, map(bits, tensors)))
    assert no_names == []


def test_what_mxnet_writes_of_one_array_and_of_none(from_mxnet):
    folder, values = from_mxnet
    (one,), names = read(folder / "one.params")
    assert equal(one, values["float32"]) and names == []
    assert read(folder / "empty.params") == ([], [])


def test_what_mxnet_writes_under_np_shape(from_mxnet):
    folder, values = from_mxnet
    tensors, names = read(folder / "np.params")
    assert names == ["scalar", "cube"]
    assert all(equal(t, values[name]) for name, t in zip(names, tensors))
    assert tensors[0].shape == () and tensors[0].item() == 3.5


def test_what_mxnet_writes_and_cannot_read(from_mxnet):
    """An array of shape () outside np_shape semantics: apache/mxnet#15988."""
    folder, values = from_mxnet
    (scalar, other), names = read(folder / "unreadable.params")
    assert equal(scalar, values["scalar"]) and equal(other, values["float32"])
    assert names == ["scalar", "float32"]


@pytest.fixture(scope="module")
def ours():
    """What this side writes, by name."""
    values = {}
    for i, name in enumerate(DTYPES):
        generator = torch.Generator().manual_seed(i)
        integers = torch.randint(-90, 90, (2, 1, 5), generator=generator)
        values[name] = integers.to(getattr(torch, name))
    values["bfloat16 edges"] = torch.tensor(BFLOAT16, dtype=torch.bfloat16)
    values["transposed"] = torch.arange(6.0).reshape(2, 3).t()
    values["nothing"] = torch.zeros(0, 3)
    values["dims"] = torch.ones((1, 2) * 6)
    values["gewöhnlich.0.weight"] = torch.tensor([float("nan"), float("-inf"), 1e-45])
    return values


@pytest.fixture(scope="module")
def to_mxnet(mxnet_python, ours, tmp_path_factory):
    folder = tmp_path_factory.mktemp("to_mxnet")
    tensors, names = list(ours.values()), list(ours)
    write(folder / "dict.params", tensors, names)
    write(folder / "list.params", tensors)
    write(folder / "empty.params", [])
    write(folder / "scalar.params", [torch.tensor(3.5), torch.ones(2)], ["()", "(2,)"])
    write(folder / "np.params", tensors, names, np_shape=True)
    # By hand, as no MXNet of today writes them: a record of V1, and one of the time before.
    head, tail = struct.pack("<QQQ", 0x112, 0, 1), struct.pack("<iii3fQ", 1, 0, 0, 1, 2, 3, 0)
    (folder / "v1.params").write_bytes(head + struct.pack("<Iiqq", 0xF993FAC8, 2, 3, 1) + tail)
    (folder / "before.params").write_bytes(head + struct.pack("<III", 2, 3, 1) + tail)
    return folder, run_mxnet(mxnet_python, MXNET_READS, folder)


@pytest.mark.parametrize("file", ["dict", "list", "np"])
def test_what_mxnet_reads(to_mxnet, ours, file):
    _, values = to_mxnet
    theirs = {name: x for name, x in values.items() if name.startswith(f"{file} ")}
    keys = range(len(ours)) if file == "list" else ours
    assert list(theirs) == [f"{file} {key}" for key in keys]
    wrong = [name for name, x in zip(ours, theirs.values()) if not equal(ours[name], x)]
    assert wrong == []


def test_what_mxnet_reads_of_shape_nothing(to_mxnet):
    _, values = to_mxnet
    assert values["scalar ()"].shape == () and values["scalar ()"] == 3.5
    assert values["scalar (2,)"].tolist() == [1, 1]


@pytest.mark.parametrize("file", ["v1", "before"])
def test_both_read_old_files_alike(to_mxnet, file):
    folder, values = to_mxnet
    (tensor,), _ = read(folder / f"{file}.params")
    assert equal(tensor, values[f"{file} 0"]) and tensor.tolist() == [[1], [2], [3]]


# Networks, in every kind of file


@pytest.fixture(scope="module")
def exchanged(mxnet_python, tmp_path_factory):
    """The outputs of networks on the side that wrote them, and on the other side."""
    folder = tmp_path_factory.mktemp("exchanged")
    ours = exchange.written(mx, folder / "ours")
    theirs = run_mxnet(mxnet_python, MXNET_EXCHANGES, folder, str(Path(exchange.__file__).parent))
    read = {n.removeprefix("read "): y for n, y in theirs.items() if n.startswith("read ")}
    return {
        "ours in MXNet": (ours, read),
        "MXNet's in ours": (theirs, exchange.read(mx, folder / "theirs")),
    }


@pytest.mark.parametrize("way", ["ours in MXNet", "MXNet's in ours"])
@pytest.mark.parametrize("kind", exchange.KINDS)
@pytest.mark.parametrize("name", exchange.NAMES)
def test_networks_give_the_same_on_the_other_side(exchanged, way, kind, name):
    written, read = exchanged[way]
    expected = written[name]
    assert np.abs(expected).max() > 0.01 and np.ptp(expected) > 0.01  # not trivial
    np.testing.assert_allclose(read[f"{name} {kind}"], expected, rtol=1e-5, atol=1e-5)
