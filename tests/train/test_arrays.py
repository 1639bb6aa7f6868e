"""Files of arrays, whole and damaged: what is damaged is refused in one line."""

import gzip
import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from train import Refused
from train.data import load
from train.data.arrays import read_idx, read_npy, read_npz

IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
NAME = "train-images-idx3-ubyte"
CHOICES = (("x", "y"), ("x_train", "y_train", "x_test", "y_test"))
X, Y = np.ones((4, 2), "float32"), np.arange(4)


def idx(array, magic=None, shape=None):
    head = bytes([0, 0, 8, array.ndim]) if magic is None else magic
    return head + struct.pack(f">{array.ndim}I", *(shape or array.shape)) + array.tobytes()


def refusal(function, *args):
    with pytest.raises(Refused) as refused:
        function(*args)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("suffix, pack", [("", bytes), (".gz", gzip.compress)], ids=["idx", "gz"])
def test_idx(tmp_path, suffix, pack):
    tmp_path.joinpath(NAME + suffix).write_bytes(pack(idx(IMAGES)))
    np.testing.assert_array_equal(read_idx(tmp_path / NAME, 3), IMAGES)


DAMAGED_IDX = {
    "empty": (b"", "is empty; expected 0000080"),
    "another type": (idx(IMAGES, magic=bytes([0, 0, 13, 3])), "expected 00000803"),
    "another rank": (idx(IMAGES[0]), "expected 00000803, for unsigned bytes with 3 axes"),
    "not idx": (b"<html>not found</html>", "begins with 3c68746d"),
    "header cut": (idx(IMAGES)[:9], "ends within its header"),
    "one byte short": (idx(IMAGES)[:-1], "says that it is (2, 3, 4), 24 bytes; it has 23"),
    "one byte more": (idx(IMAGES) + b"\0", "says that it is (2, 3, 4), 24 bytes; it has more"),
    "far too long": (idx(IMAGES, shape=(2**32 - 1,) * 3), "it is too short for that"),
}


@pytest.mark.parametrize("packed", [False, True], ids=["idx", "gz"])
@pytest.mark.parametrize("content, reason", DAMAGED_IDX.values(), ids=DAMAGED_IDX)
def test_damaged_idx(tmp_path, content, reason, packed):
    path = tmp_path / (f"{NAME}.gz" if packed else NAME)
    path.write_bytes(gzip.compress(content) if packed else content)
    line = refusal(read_idx, tmp_path / NAME, 3)
    assert reason in line and str(path) in line


def test_damaged_gz(tmp_path):
    path, whole = tmp_path / f"{NAME}.gz", gzip.compress(idx(IMAGES))
    flipped = bytes([*whole[:-8], whole[-8] ^ 1, *whole[-7:]])  # the checksum
    for content in (b"not gzip", whole[:-9], flipped):
        path.write_bytes(content)
        assert f"{path} cannot be read: " in refusal(read_idx, tmp_path / NAME, 3)


def test_no_idx(tmp_path):
    line = refusal(read_idx, tmp_path / NAME, 3)
    assert str(tmp_path / NAME) in line and f"{NAME}.gz" in line
    tmp_path.joinpath(NAME).mkdir()
    assert "there is no" in refusal(read_idx, tmp_path / NAME, 3)
    assert "cannot be read" in refusal(read_idx, tmp_path / ("x" * 300) / NAME, 3)


def test_a_gzip_bomb_is_not_unpacked(tmp_path):
    content = idx(IMAGES) + bytes(2**27)  # after what the header speaks of
    tmp_path.joinpath(f"{NAME}.gz").write_bytes(gzip.compress(content))
    assert peak(read_idx, tmp_path / NAME, 3) < 2**21


def test_a_length_is_not_believed(tmp_path):
    content = idx(IMAGES, shape=(2**20, 2**5, 2**5))
    tmp_path.joinpath(f"{NAME}.gz").write_bytes(gzip.compress(content))
    assert peak(read_idx, tmp_path / NAME, 3) < 2**21
    path = tmp_path / "a.npz"
    x = npy(X, shape=(2**27, 2))
    save(path, x=x, y=Y[:3])  # of another length than x.npy
    assert peak(read_npz, path, CHOICES) < 2**21
    size, lie = (struct.pack("<I", n) for n in (len(x), len(x) - X.nbytes + 2**30))
    assert path.read_bytes().count(size) == 2  # in the file's own header and in the directory
    path.write_bytes(path.read_bytes().replace(size, lie))
    assert peak(read_npz, path, CHOICES) < 2**21


def peak(function, *args):
    """The most bytes that a refusal took."""
    tracemalloc.start()
    try:
        refusal(function, *args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def npy(array, **header):
    """A .npy file, with another header than it should have."""
    file = io.BytesIO()
    fields = np.lib.format.header_data_from_array_1_0(array) | header
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue() + array.tobytes()


def save(path, compression=zipfile.ZIP_DEFLATED, **arrays):
    """An npz file of arrays, or of bytes that are taken for .npy."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", array if isinstance(array, bytes) else npy(array))


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed, save])
def test_npz(tmp_path, write):
    write(tmp_path / "a.npz", y=Y, x=X, more=Y)
    arrays, unused = read_npz(tmp_path / "a.npz", CHOICES)
    assert list(arrays) == ["x", "y"] and unused == ["more"]
    np.testing.assert_array_equal(arrays["x"], X)
    np.testing.assert_array_equal(arrays["y"], Y)


def test_npz_with_texts_for_labels(tmp_path):
    names = np.array(["cat", "dog", "dog", "\N{SNOWMAN}"])
    np.savez(tmp_path / "a.npz", x=X, y=names)
    assert read_npz(tmp_path / "a.npz", CHOICES)[0]["y"].tolist() == names.tolist()
    np.savez(tmp_path / "a.npz", x=names, y=names)
    assert "x.npy has dtype '<U3'; expected numbers" in refusal(
        read_npz, tmp_path / "a.npz", CHOICES
    )


def test_npy(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, X)
    np.testing.assert_array_equal(read_npy(path), X)
    np.save(path, np.array(["a", "bc"]))
    assert read_npy(path, texts=True).tolist() == ["a", "bc"]
    assert f"{path} has dtype '<U2'; expected numbers" in refusal(read_npy, path)
    np.save(path, np.array([Trap()], object))
    assert f"{path} has dtype '|O'; expected numbers" in refusal(read_npy, path)
    for content in (npy(X)[:-1], npy(X) + b"\0", npy(X, shape=(2**40, 2)), b"", b"no numpy"):
        path.write_bytes(content)
        assert str(path) in refusal(read_npy, path)
    assert f"there is no {tmp_path / 'b.npy'}" in refusal(read_npy, tmp_path / "b.npy")


def test_npz_held_out(tmp_path):
    np.savez(tmp_path / "a.npz", x_test=X, y_test=Y, x_train=X.T, y_train=Y[:2])
    arrays, unused = read_npz(tmp_path / "a.npz", CHOICES)
    assert not unused and list(arrays) == ["x_train", "y_train", "x_test", "y_test"]
    np.testing.assert_array_equal(arrays["x_train"], X.T)


def test_npz_by_columns(tmp_path):
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.savez(tmp_path / "a.npz", x=x, y=Y)
    np.testing.assert_array_equal(read_npz(tmp_path / "a.npz", CHOICES)[0]["x"], x)


def header(text):
    """A .npy file of nothing but a header."""
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text.encode()


DAMAGED_NPZ = {
    "other names": ({"images": X, "y": Y}, "it has 'images', 'y'; expected x and y, or x_train"),
    "an unprintable name": ({"\33[2J\n": X}, r"it has '\x1b[2J\n'"),
    "text": ({"x": np.array([["a"]]), "y": Y}, "x.npy has dtype '<U1'; expected numbers"),
    "records": (
        {"x": np.zeros(3, "f4,i4"), "y": Y},
        "x.npy begins with \"{'descr': [('f0', '<f4'), ('f1'",
    ),
    "no header": ({"x": b"\x93NUMPY", "y": Y}, "it cannot be read: "),
    "a header that is not one": (
        {"x": npy(X).replace(b"descr", b"((((("), "y": Y},
        "x.npy begins with \"{'(((((': '<f4'",
    ),
    "another version": (
        {"x": b"\x93NUMPY\x09\x00" + bytes(120), "y": Y},
        "x.npy has format (9, 0)",
    ),
    "too short": ({"x": npy(X)[:-1], "y": Y}, "(4, 2) of float32, 32 bytes; it has 31"),
    "too long": ({"x": X, "y": npy(Y) + b"\0"}, "(4,) of int64, 32 bytes; it has 33"),
    "negative": (
        {"x": npy(X, shape=(-4, -2)), "y": Y},
        "x.npy begins with \"{'descr': '<f4', 'fortran_order': False, 'shape': (-4, -2), }",
    ),
    "huge": ({"x": npy(X, shape=(10**30,)), "y": Y}, "expected sizes from 0, and fewer than 2**60"),
    "5,000 digits": (
        {"x": header("{'descr': '<f4', 'fortran_order': False, 'shape': (%s,)}" % ("9" * 5000))},
        "it cannot be read: Exceeds the limit",
    ),
    "many axes": ({"x": npy(X, shape=(1,) * 99), "y": Y}, "has 99 axes; expected at most 64"),
    "no numbers": ({"x": npy(X).replace(b"<f4", b"<f1"), "y": Y}, "x.npy has dtype '<f1'"),
    "what NumPy would evaluate": (
        {"x": header("{'descr': " + "[" * 1000 + "'<f4', 'fortran_order': False, 'shape': ()}")},
        "x.npy begins with",
    ),
    "text for a header": ({"x": header("x" * 1_000_000)}, "x.npy begins with 'xxx"),
}


@pytest.mark.parametrize("arrays, reason", DAMAGED_NPZ.values(), ids=DAMAGED_NPZ)
def test_damaged_npz(tmp_path, arrays, reason):
    save(tmp_path / "a.npz", **({"y": Y} if "x" in arrays else {}) | arrays)
    line = refusal(read_npz, tmp_path / "a.npz", CHOICES)
    assert reason in line and len(line) < 400


def test_npz_of_more_than_a_file_may_have(tmp_path):
    """40 kB of zeros that are compressed are read as 40 MB."""
    x = np.zeros((5_000_000, 1))
    np.savez_compressed(tmp_path / "a.npz", x=x, y=Y)
    line = refusal(read_npz, tmp_path / "a.npz", CHOICES)
    assert "x.npy and y.npy say that they have 40000" in line and "expected np.savez" in line
    np.savez_compressed(tmp_path / "a.npz", x=x[: 1 << 20], y=Y)
    assert len(read_npz(tmp_path / "a.npz", CHOICES)[0]["x"]) == 1 << 20


class Trap:
    def __reduce__(self):
        return pytest.fail, ("something was unpickled",)


def test_npz_is_never_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([[Trap()]], object), y=Y)
    assert "x.npy has dtype '|O'" in refusal(read_npz, tmp_path / "a.npz", CHOICES)


def test_not_npz(tmp_path):
    path = tmp_path / "a.npz"
    assert "no such file" in refusal(read_npz, path, CHOICES)
    np.savez(path, x=X, y=Y)
    whole = path.read_bytes()
    for content in (b"", b"not a zip", whole[:-30], whole[:40] + bytes(20) + whole[60:]):
        path.write_bytes(content)
        assert "cannot be read" in refusal(read_npz, path, CHOICES)
    path.write_bytes(npy(X))
    assert "cannot be read" in refusal(read_npz, path, CHOICES)


def test_npz_packed_otherwise(tmp_path):
    save(tmp_path / "a.npz", zipfile.ZIP_BZIP2, x=X, y=Y)
    assert "packed in a way" in refusal(read_npz, tmp_path / "a.npz", CHOICES)


def test_npz_flipped_bytes(tmp_path):
    """A changed file is read right, or refused; there is no third."""
    path, rng = tmp_path / "a.npz", np.random.default_rng(0)
    np.savez_compressed(path, x=X, y=Y)
    whole = np.frombuffer(path.read_bytes(), np.uint8)
    for _ in range(300):
        changed = whole.copy()
        changed[rng.integers(len(whole), size=2)] = rng.integers(256, size=2)
        path.write_bytes(changed.tobytes())
        try:
            arrays, _ = read_npz(path, CHOICES)
        except Refused:
            continue
        np.testing.assert_array_equal(arrays["x"], X)
        np.testing.assert_array_equal(arrays["y"], Y)


def test_a_suffix_in_capitals(tmp_path):
    x, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with (tmp_path / "A.NPZ").open("wb") as file:
        np.savez(file, x=x, y=y)
    for name, array in (("X.NPY", x), ("Y.NPY", y)):
        with (tmp_path / name).open("wb") as file:
            np.save(file, array)
    for name in (f"{tmp_path}/A.NPZ", f"{tmp_path}/X.NPY,{tmp_path}/Y.NPY"):
        assert load(name).columns == () and load(name).task.classes == ("0", "1")
