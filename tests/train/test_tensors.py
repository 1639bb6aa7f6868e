"""Safetensors files: the library's own reading and writing, and what is damaged."""

import json
import os
import struct

import numpy as np
import pytest

from train.tensors import DTYPES, read_tensors, tensors_as_bytes

ARRAYS = {
    **{f"of {name}": np.arange(6).astype(dtype).reshape(2, 3) for name, dtype in DTYPES.items()},
    "one": np.array(2.5),
    "none": np.zeros((0, 3), "uint8"),
    "big endian": np.arange(3, dtype=">i4"),
    "columns first": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}


def test_there_and_back(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_bytes(tensors_as_bytes(ARRAYS))
    found = read_tensors(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype.newbyteorder("<")
        np.testing.assert_array_equal(found[name], array)


def test_the_library_reads_it_and_is_read(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    found = library.load(tensors_as_bytes(ARRAYS))
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
    native = {name: array for name, array in found.items() if name != "columns first"}
    library.save_file(native, tmp_path / "b", metadata={"by": "the library"})
    for name, array in read_tensors(tmp_path / "b").items():
        np.testing.assert_array_equal(array, ARRAYS[name])


def file(header, numbers=bytes(8)):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + numbers


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return file({"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}})


DAMAGED = [
    b"",
    b"1234567",
    file(b"{"),
    file([]),
    file({"a": 3}),
    file(b"[" * 100_000),
    entry(dtype="F4"),
    entry(shape=(3,)),
    entry(shape=(2**40, 2**40)),
    entry(shape=(-1, -2)),
    entry(shape="2"),
    entry(offsets=(0, 16)),
    entry(offsets=(8, 0)),
    entry(offsets=(-8, 0)),
    entry(offsets=(0,)),
    entry()[:-1],
    struct.pack("<Q", 2**63) + b"{}",
]


SHARED = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
DAMAGED += [
    file({"a": SHARED, "b": SHARED}),
    file({"a": SHARED, "b": {**SHARED, "data_offsets": [4, 12]}}, bytes(12)),
    file({"a": SHARED, "b": {**SHARED, "data_offsets": [12, 20]}}, bytes(20)),
    file({"a": SHARED}, bytes(9)),
    file({"a": {**SHARED, "shape": [True, 2]}}),
    file({"a": {**SHARED, "shape": [0, 2**62], "data_offsets": [0, 0]}}, b""),
    file({"a" * 9999: SHARED}),
]


def test_a_bool_is_0_or_1(tmp_path):
    path, header = tmp_path / "a", {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}
    path.write_bytes(file({"a": header}, b"\0\2\xff"))
    assert read_tensors(path)["a"].view("u1").tolist() == [0, 1, 1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="not on Windows")
def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        with pytest.raises(OSError, match="it is no regular file"):
            read_tensors(path)


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_what_is_damaged(tmp_path, content):
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="too short|its header is damaged"):
        read_tensors(path)
