"""States of optimizers that go between layers.mxnet and MXNet, and files that only look so."""

import os
import pickle
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")
import exchange_states  # noqa: E402 - torch first

import layers.mxnet as mx  # noqa: E402 - torch first
from layers.mxnet._files import pickled  # noqa: E402 - torch first
from layers.mxnet._files.params import ParamsFileError  # noqa: E402 - torch first

pytestmark = pytest.mark.engine("torch")

STORED = Path(__file__).parents[1] / "golden" / "states"

# What was stored is made by the first half.
MXNET = """
import os, sys
import mxnet as mx
sys.path.insert(0, sys.argv[1])
import exchange_states

os.mkdir("theirs")
then, after = exchange_states.written(mx, "theirs")
exchange_states.keep("theirs/then.npz", then)
exchange_states.keep("theirs/after.npz", after)
values = exchange_states.kept("ours/then.npz")
exchange_states.keep("ours in mxnet.npz", exchange_states.read(mx, "ours", values))
"""


def run_mxnet(folder):
    default = Path(__file__).parents[2] / ".venv-mxnet" / "bin" / "python"
    python = os.environ.get("LAYERS_MXNET_PYTHON") or default
    if python == default and not default.exists():
        pytest.skip("no interpreter with MXNet: neither LAYERS_MXNET_PYTHON nor .venv-mxnet")
    done = subprocess.run(
        [python, "-I", "-W", "ignore", "-c", MXNET, str(Path(exchange_states.__file__).parent)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory):
    """What training goes on to, with one's own states and with those of the other side."""
    folder = tmp_path_factory.mktemp("states")
    ours, theirs = folder / "ours", folder / "theirs"
    ours.mkdir()
    then, after = exchange_states.written(mx, ours)
    exchange_states.keep(ours / "then.npz", then)
    run_mxnet(folder)
    kept = exchange_states.kept
    in_mxnet = kept(folder / "ours in mxnet.npz")
    here = exchange_states.read(mx, theirs, kept(theirs / "then.npz"))
    return {
        "MXNet's here": (here, kept(theirs / "after.npz")),
        "ours in MXNet": (in_mxnet, after),
    }


NAMES = [f"trainer {n}" for n in exchange_states.TRAINERS]
NAMES += [f"module {n}" for n in exchange_states.MODULES]
NAMES += [f"sparse {n}" for n in exchange_states.SPARSE]


def check(found, expected, name):
    tolerance = 2e-3 if "16" in name else 1e-5
    for x, y in zip(found[name], expected[name], strict=True):
        np.testing.assert_allclose(x, y, tolerance, 1e-6)


@pytest.fixture(scope="module")
def stored():
    """From states that MXNet 1.9.1 has written: what training goes on to, here and there."""
    kept = exchange_states.kept
    here = exchange_states.read(mx, STORED, kept(STORED / "then.npz"))
    return here, kept(STORED / "after.npz")


@pytest.mark.parametrize("name", NAMES)
def test_training_goes_on_with_the_states_of_mxnet(stored, name):
    check(*stored, name)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["MXNet's here", "ours in MXNet"])
@pytest.mark.parametrize("name", NAMES)
def test_training_goes_on_with_the_states_of_the_other_side(exchanged, way, name):
    check(*exchanged[way], name)


# The machine that reads pickles


def test_values_come_back():
    array = torch.arange(6.0).view(2, 3)
    value = {
        0: None, "a": [1, -1, 255, 256, -(2**40), 2**62, 0.5, True, False, "ü", ""], 3: (array, ()),
        5: pickled.Record("mxnet.a.B", {"x": [array], "deep": {1: {2: (3,)}}}),
    }  # fmt: skip
    found = pickled.reads(b"".join(pickled.pieces(value)), "f")
    assert repr(found) == repr(value)
    assert found["a"] == value["a"] and found[3][0].equal(array)


class Named:
    """What `pickle` writes for an object, without importing its class here."""

    def __init__(self, function, *arguments):
        self.given = function, arguments

    def __reduce__(self):
        return self.given


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_python_writes(protocol):
    value = {0: (None, [1.5, "a", (1,), (1, 2), (1, 2, 3, 4)]), "b": {1: 2**62}, "c": 2**31}
    value["d"] = {"same": value["b"]}
    if protocol > 2:
        value["n"] = [np.float32(0.5), np.int64(-3), np.float64(2), np.bool_(True)]
    found = pickled.reads(pickle.dumps(value, protocol), "f")
    assert found == value
    if protocol > 2:
        assert {type(n) for n in found["n"]} == {float, int, bool}


REFUSED = {
    "a call": pickle.dumps(Named(os.system, "exit 1")),
    "a call of its own": pickle.dumps(Named(print)),
    "eval": b"\x80\x04cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
    "an import that fails": b"\x80\x04cno_such_module\nx\n)R.",
    "the old way to make one": b"\x80\x04(cos\nsystem\nX\x01\x00\x00\x00ao.",
    "text with an escape that Python warns of": b"S'\\\xd0'\n.",
    "another old way": b"(S'a'\nios\nsystem\n.",
    "arguments of a class": b"\x80\x04cmxnet.a\nB\nN\x85\x81.",
    "an id of other data": b"\x80\x04X\x01\x00\x00\x00aQ.",
    "a buffer elsewhere": b"\x80\x05\x97.",
    "an extension": b"\x80\x04\x82\x01.",
    "a set": pickle.dumps({1, 2}),
    "NumPy's array": pickle.dumps(np.ones(2)),
    "no array": b"\x80\x04cmxnet.ndarray.ndarray\nNDArray\nN\x85R}X\x06\x00\x00\x00handleNsb.",
    "a short array": b"\x80\x04cmxnet.ndarray.ndarray\nNDArray\nN\x85R}"
    b"X\x06\x00\x00\x00handleC\x01asb.",
    "nothing": b"\x80\x04.",
    "two values": b"\x80\x04NN.",
    "an empty file": b"",
    "no end": b"\x80\x04N",
    "a value that is not there": b"\x80\x04h\x05.",
    "a mark": b"\x80\x04(.",
    "a mark in a pair": b"\x80\x04N(\x86.",
    "a key that is a list": b"\x80\x04}]Ns.",
    "an odd number": b"\x80\x04}(Nu.",
    "items of a number": b"\x80\x04K\x01NNs.",
    "bytes to come": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"a.",
    "a list in itself": b"\x80\x04]\x94h\x00a.",
    "a billion lists": b"\x80\x04" + b"]\x94" + b"".join(
        b"](" + bytes([ord("h"), k]) * 9 + b"e\x94" for k in range(9)) + b".",
    "attributes in themselves": b"\x80\x04ca\nB\n)\x81\x94}X\x01\x00\x00\x00xh\x00sb.",
}  # fmt: skip


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_other_pickles_are_refused(data):
    with pytest.raises(ParamsFileError, match="^the file[:,] ") as refused:
        pickled.reads(data, "the file")
    assert len(str(refused.value)) < 500


def test_many_instructions_are_refused(monkeypatch):
    monkeypatch.setattr(pickled, "MOST_INSTRUCTIONS", 100)
    with pytest.raises(ParamsFileError, match="more than 100 instructions"):
        pickled.reads(b"\x80\x04" + b"N" * 200 + b".", "f")


def test_arrays_that_share_their_content_are_refused():
    """A file of a megabyte would take as many megabytes as it has references to one array."""
    array = b"".join(pickled.pieces(torch.zeros(1000)))[2:-1]
    handle = array[array.index(b"\x8e") : -len(b"\x85Rsb")]
    shared = b"]" + array.replace(handle, handle + b"q\x01") + b"a"
    again = array[: array.index(b"\x8e")] + b"h\x01" + b"\x85Rsb" + b"a"
    assert len(pickled.reads(shared + b".", "f")) == 1
    with pytest.raises(ParamsFileError, match="f: arrays that share their content"):
        pickled.reads(shared + again * 9 + b".", "f")
