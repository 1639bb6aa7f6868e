"""The .params container: every record version, damaged files, and the atomic write."""

import errno
import math
import os
import re
import stat
import struct
import threading
import tracemalloc
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")
from layers import _arrays  # noqa: E402 - torch first
from layers.mxnet import gluon, nd  # noqa: E402 - torch first
from layers.mxnet._files import params  # noqa: E402 - torch first
from layers.mxnet._files.params import ParamsFileError, read, reads, write  # noqa: E402 - torch first
from layers.mxnet.base import DTypeError, MXNetError  # noqa: E402 - torch first

pytestmark = pytest.mark.engine("torch")

# A file is built here as a list of fields (what, struct code, value), so that a test can put its
# finger on one of them; a field without a code is bytes.

V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
PLACE = [("device", "i", 1), ("device", "i", 0)]
LENGTHS = {"count", "ndim", "dim", "length"}
DTYPES = dict(
    enumerate(
        [torch.float32, torch.float64, torch.float16, torch.uint8, torch.int32, torch.int8]
        + [torch.int64, torch.bool, torch.int16, torch.uint16, torch.uint32, torch.uint64]
        + [torch.bfloat16]
    )
)


def shape(*dims):
    return [("ndim", "i", len(dims)), *(("dim", "q", d) for d in dims)]


def flag(number):
    return [("flag", "i", number)]


def raw(data):
    return [("bytes", "", data)]


def dense(version, dims, number, data, place=PLACE):
    if version == 0:
        head = [("ndim", "I", len(dims)), *(("dim", "I", d) for d in dims)]
    elif version == V1:
        head = [("version", "I", version), *shape(*dims)]
    else:
        head = [("version", "I", version), ("storage", "i", 0), *shape(*dims)]
    return [*head, *place, *flag(number), *raw(data)]


def sparse(storage, dims, stored, number, data, *index, code="q", index_shapes=None, version=V2):
    fields = [("version", "I", version), ("storage", "i", storage), *shape(*stored), *shape(*dims)]
    fields += [*PLACE, *flag(number)]
    for i, numbers in enumerate(index):
        fields += flag({"q": 6, "i": 4, "h": 8}[code])
        fields += shape(*(index_shapes[i] if index_shapes else (len(numbers),)))
    fields += raw(data)
    for numbers in index:
        fields += raw(struct.pack(f"<{len(numbers)}{code}", *numbers))
    return fields


def names_of(*names):
    fields = [("count", "Q", len(names))]
    for name in names:
        fields += [("length", "Q", len(name)), *raw(name)]
    return fields


def container(*records, names=()):
    head = [("magic", "Q", 0x112), ("reserved", "Q", 0), ("count", "Q", len(records))]
    return [*head, *(field for record in records for field in record), *names_of(*names)]


def pack_one(_, code, value):
    if not code:
        return value
    size = struct.calcsize("<" + code)
    return (value % (1 << 8 * size)).to_bytes(size, "little")


def pack(fields):
    return b"".join(pack_one(*field) for field in fields)


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


ONE_TWO = dense(V2, (2,), 0, f32(1, 2))
ROWS = sparse(1, (4, 2), (2, 2), 0, f32(1, 2, 3, 4), [0, 3])
CELLS = sparse(2, (2, 3), (2,), 0, f32(5, 6), [0, 1, 2], [2, 0])
EVERYTHING = container(
    dense(0, (2, 1), 0, f32(1, 2)),
    dense(V1, (1, 3), 3, b"\1\2\3"),
    dense(V2, (2, 2), 0, f32(1, 2, 3, 4)),
    ROWS,
    CELLS,
    dense(V3, (), 6, bytes(8)),
    names=[b"a", b"b.weight", "gewöhnlich".encode(), b"", b"rows", b"cells"],
)


def bits(tensor):
    """A tensor's bytes, dtype and shape: what must be equal, NaNs included."""
    flat = tensor.contiguous().reshape(-1).view(torch.uint8)
    return tensor.dtype, tuple(tensor.shape), bytes(flat.numpy())


def random_tensor(dtype, dims, seed=7):
    count = math.prod(dims) * dtype.itemsize
    data = torch.randint(256, (count,), generator=torch.Generator().manual_seed(seed))
    data = data % 2 if dtype == torch.bool else data
    return data.to(torch.uint8).view(dtype).reshape(dims)


def first(fields, names=()):
    return reads(pack(container(fields, names=names)))[0][0]


# Round trips

SHAPES = [(3,), (1,), (2, 3, 5), (0, 3), (2, 0), (1, 1, 7, 1), (2,) * 9]


@pytest.mark.parametrize("dims", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_round_trip(tmp_path, dtype, dims):
    tensors = [random_tensor(dtype, dims), torch.ones(2)]
    write(tmp_path / "net.params", tensors, ["x", "y"])
    back, names = read(tmp_path / "net.params")
    assert list(map(bits, back)) == list(map(bits, tensors))
    assert names == ["x", "y"]


def test_strides_of_nothing(tmp_path):
    write(tmp_path / "net.params", [torch.as_strided(torch.ones(0), (2, 0, 1), (0, 0, 0))], ["x"])
    (back,), _ = read(tmp_path / "net.params")
    assert back.shape == (2, 0, 1)


@pytest.mark.parametrize("number", DTYPES)
def test_written_bytes(tmp_path, number):
    tensor = random_tensor(DTYPES[number], (2, 3))
    data = bits(tensor)[2]
    for np_shape, version in ((False, V2), (True, V3)):
        write(tmp_path / "f", [tensor], ["wé"], np_shape=np_shape)
        expected = container(dense(version, (2, 3), number, data), names=["wé".encode()])
        assert (tmp_path / "f").read_bytes() == pack(expected)


@pytest.mark.parametrize("number", DTYPES)
def test_an_array_of_shape_nothing_makes_all_records_v3(tmp_path, number):
    tensors = [random_tensor(DTYPES[number], ()), torch.ones(2)]
    write(tmp_path / "f", tensors)
    assert list(map(bits, read(tmp_path / "f")[0])) == list(map(bits, tensors))
    records = dense(V3, (), number, bits(tensors[0])[2]), dense(V3, (2,), 0, f32(1, 1))
    assert (tmp_path / "f").read_bytes() == pack(container(*records))


def test_views_and_recorded_tensors_are_written_as_they_look(tmp_path):
    x = torch.arange(24.0).reshape(4, 6).requires_grad_()
    tensors = [x.t(), x[::2, 1::3], x[0].expand(3, 6), x * 2, torch.arange(5).flip(0)]
    write(tmp_path / "f", tensors)
    assert [t.tolist() for t in read(tmp_path / "f")[0]] == [t.tolist() for t in tensors]


@pytest.mark.parametrize("names", [[], ["a", "a"], ["", "0.weight"], ["arg:ü", "名" * 1000]])
def test_names(tmp_path, names):
    write(tmp_path / "f", [torch.zeros(1), torch.ones(1)], names)
    tensors, back = read(tmp_path / "f")
    assert [t.item() for t in tensors] == [0, 1] and back == names


def test_no_arrays(tmp_path):
    write(tmp_path / "f", [])
    assert read(tmp_path / "f") == ([], [])
    assert (tmp_path / "f").read_bytes() == pack(container())


@pytest.mark.parametrize("kind", [str, os.fsencode, Path])
def test_kinds_of_path(tmp_path, kind):
    path = kind(tmp_path / "naïve.params")
    write(path, [torch.ones(1)])
    assert read(path)[0][0].item() == 1


def test_what_was_read_is_writable_and_its_own(tmp_path):
    data = pack(container(ONE_TWO, dense(V2, (0,), 0, b""), ROWS, CELLS))
    copy = bytes(bytearray(data))
    (tmp_path / "f").write_bytes(data)
    with torch.device("meta"):  # a default device is not for files
        tensors = [*read(tmp_path / "f")[0], *reads(data)[0]]
    for tensor in tensors:
        assert tensor.device.type == "cpu" and not tensor.requires_grad and tensor.is_contiguous()
        tensor += 1
    assert tensors[0].tolist() == tensors[4].tolist() == [2, 3]
    assert (tmp_path / "f").read_bytes() == data == copy
    assert reads(bytearray(data))[0][0].tolist() == reads(memoryview(data))[0][0].tolist() == [1, 2]


# What MXNet has written


@pytest.mark.parametrize("dims", [(3,), (2, 1, 3), (0, 1 << 31), (1,) * 32], ids=str)
@pytest.mark.parametrize("version", [0, V1, V2, V3], ids=["before", "V1", "V2", "V3"])
@pytest.mark.parametrize("number", DTYPES)
def test_versions(number, version, dims):
    tensor = random_tensor(DTYPES[number], dims)
    record = dense(version, dims, number, bits(tensor)[2])
    tensors, names = reads(pack(container(ONE_TWO, record, ONE_TWO, names=[b"a", b"b", b"c"])))
    assert bits(tensors[1]) == bits(tensor)
    assert tensors[0].tolist() == tensors[2].tolist() == [1, 2]
    assert names == ["a", "b", "c"]


@pytest.mark.parametrize("version", [0, V1, V2, V3], ids=["before", "V1", "V2", "V3"])
def test_scalars_that_mxnet_itself_does_not_read_back(version):
    """apache/mxnet#15988: outside np_shape semantics it writes ndim 0, and then the data."""
    scalar = dense(version, (), 0, f32(3.5))
    for records in ([scalar], [scalar, ONE_TWO], [ONE_TWO, scalar]):
        for names in ([], [b"x", b"yy"][: len(records)]):
            tensors, _ = reads(pack(container(*records, names=names)))
            expected = [3.5 if record is scalar else [1, 2] for record in records]
            assert [t.tolist() for t in tensors] == expected


@pytest.mark.parametrize("version", [0, V1, V2], ids=["before", "V1", "V2"])
def test_an_empty_handle_is_an_error_as_in_mxnet(version):
    head = dense(version, (), 0, b"")
    handle = head[: -len([*PLACE, "flag", "bytes"])]
    assert handle[-1] == ("ndim", "I" if version == 0 else "i", 0)
    for records, at in (([handle], 0), ([ONE_TWO, handle], 1), ([handle, ONE_TWO], 0)):
        with pytest.raises(ParamsFileError, match=f"array {at} of .*empty handle"):
            reads(pack(container(*records)))


def test_place_and_reserved_word_are_of_no_meaning():
    for device in (1, 2, 3, 5, 0, 77, -1):
        place = [("device", "i", device), ("device", "i", 9)]
        assert first(dense(V2, (2,), 0, f32(1, 2), place)).tolist() == [1, 2]
        assert first(dense(V3, (), 0, f32(3), place)).tolist() == 3
    fields = container(ONE_TWO)
    fields[1] = ("reserved", "Q", 1 << 63)
    assert reads(pack(fields))[0][0].tolist() == [1, 2]


def test_more_may_follow():
    assert reads(pack(container(ONE_TWO, names=[b"x"])) + b"more")[1] == ["x"]


def test_bools_are_made_0_or_1():
    for dims in ((4,), ()):
        tensor = first(dense(V3, dims, 7, b"\0\2\1\xff" if dims else b"\2"))
        assert bits(tensor)[2] == (b"\0\1\1\1" if dims else b"\1")


# Sparse arrays


@pytest.mark.parametrize("code", "qi")
@pytest.mark.parametrize("number", DTYPES)
def test_row_sparse(number, code):
    data = random_tensor(DTYPES[number], (3, 2, 2))
    expected = torch.zeros((5, 2, 2), dtype=torch.uint8).to(DTYPES[number])
    for i, row in enumerate([1, 4, 0]):
        expected[row] = data[i]
    index = [1, 4, 0]
    record = sparse(1, (5, 2, 2), (3, 2, 2), number, bits(data)[2], index, code=code)
    assert bits(first(record)) == bits(expected)


@pytest.mark.parametrize("code", "qi")
@pytest.mark.parametrize("number", DTYPES)
def test_csr(number, code):
    data = random_tensor(DTYPES[number], (4,))
    expected = torch.zeros((4, 3), dtype=torch.uint8).to(DTYPES[number])
    for i, cell in enumerate([(0, 2), (0, 0), (2, 1), (3, 2)]):
        expected[cell] = data[i]
    index = [0, 2, 2, 3, 4], [2, 0, 1, 2]
    record = sparse(2, (4, 3), (4,), number, bits(data)[2], *index, code=code)
    assert bits(first(record)) == bits(expected)


def test_indices_in_any_order_are_put_in_order():
    rows = params.read_array(pack(sparse(1, (4, 1), (2, 1), 9, b"\2\0\1\0", [3, 0])), "x")
    assert (rows.rows.tolist(), rows.values.tolist()) == ([0, 3], [[1], [2]])
    unsorted = sparse(2, (2, 3), (3,), 0, f32(5, 6, 7), [0, 2, 3], [2, 0, 1])
    cells = params.read_array(pack(unsorted), "x")
    assert (cells.columns.tolist(), cells.values.tolist()) == ([0, 2, 1], [6, 5, 7])
    assert rows.problem() == cells.problem() == ""


EMPTY = {  # storage, shape, stored shape, index arrays
    "rows": (1, (4, 2), (0, 2), []),
    "rows of nothing": (1, (4, 0), (2, 0), [1, 3]),
    "no rows": (1, (0, 2), (0, 2), []),
    "csr": (2, (4, 3), (0,), [0, 0, 0, 0, 0], []),
    "csr as MXNet writes zeros": (2, (4, 3), (0,), [], []),
    "csr without rows": (2, (0, 3), (0,), [0], []),
    "csr without columns": (2, (2, 0), (0,), [0, 0, 0], []),
}


@pytest.mark.parametrize("case", EMPTY)
def test_sparse_with_nothing_in_it(case):
    storage, dims, stored, *index = EMPTY[case]
    zeros = first(sparse(storage, dims, stored, 0, b"", *index))
    assert bits(zeros) == bits(torch.zeros(dims))


# Damaged files


@contextmanager
def little_memory(python=1 << 20, process=1 << 29):
    """Fails where more is allocated than bytes of a small file can ask for."""
    resource = pytest.importorskip("resource", reason="no memory limits on this system")
    if not (statm := Path("/proc/self/statm")).exists():
        pytest.skip("no /proc: the size of the process is not known")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(statm.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + process, hard))
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < python
    finally:
        tracemalloc.stop()
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def error_of(path, data):
    """The message for a damaged file: three lines with its name, the place, what was expected."""
    path.write_bytes(data)
    with pytest.raises(ParamsFileError) as caught:
        read(path)
    message = str(caught.value)
    wrong, expected, where = message.splitlines()
    assert wrong.startswith(f"{path}, ") and expected.startswith("  expected "), message
    assert 0 <= place(message) <= len(data) and where.endswith(f" of {len(data)}"), message
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, MXNetError)
    return message


def place(message):
    return int(re.search(r"\n  at byte (\d+) of \d+$", message)[1])


def test_cut_short_at_every_byte(tmp_path):
    data = pack(EVERYTHING)
    with little_memory():
        for end in range(len(data)):
            error_of(tmp_path / "net.params", data[:end])
    assert len(reads(data)[0]) == 6


@pytest.mark.parametrize("value", [-1, 1 << 31, (1 << 31) - 1, (1 << 63) - 1, (1 << 64) - 1])
def test_every_length_replaced(tmp_path, value):
    offset = 0
    with little_memory():
        for i, (what, code, old) in enumerate(EVERYTHING):
            if what in LENGTHS:
                data = pack([*EVERYTHING[:i], (what, code, value), *EVERYTHING[i + 1 :]])
                message = error_of(tmp_path / "net.params", data)
                # found where it stands, or where its record's data and its name would begin
                assert offset - 8 <= place(message) <= offset + 120, message
            offset += len(pack_one(what, code, old))


def test_every_length_replaced_by_0(tmp_path):
    accepted = []
    for i, (what, code, value) in enumerate(EVERYTHING):
        if what in LENGTHS and value != 0:
            data = pack([*EVERYTHING[:i], (what, code, 0), *EVERYTHING[i + 1 :]])
            try:
                reads(data)
            except ParamsFileError:
                continue
            accepted.append((i, what))
    last_name = len(EVERYTHING) - 2
    names = next(i for i in reversed(range(len(EVERYTHING))) if EVERYTHING[i][0] == "count")
    assert accepted == [(names, "count"), (last_name, "length")]  # what follows is then the rest


# What is damaged, what the message must say, and at which byte; of arrays, at which field.
DAMAGED_FILES = {
    "zip": (b"PK\3\4" + bytes(30), "header: magic is 0x4034b50", 0),
    "pickle": (
        b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00",
        "header: this is a pickle, as MX",
        0,
    ),
    "json": (b'{"nodes": []}', "header: this is JSON, as of a graph", 0),
    "empty": (b"", "header: magic has 8 bytes, but 0 remain", 0),
    "magic": (pack([("magic", "Q", 0x113), *container(ONE_TWO)[1:]]), "magic is 0x113", 0),
    "count": (
        pack([*container()[:2], ("count", "Q", 11), *ONE_TWO]),
        "arrays is 11\n.* and 10 in",
        16,
    ),
    "data": (pack(container(ONE_TWO))[:-9], r"data \(2,\) of torch.float32 has 8 bytes, but 7", 56),
    "no names": (pack(container(ONE_TWO))[:-8], "names: number of names has 8 bytes, but 0", 64),
    "one name": (pack(container(ONE_TWO, ONE_TWO, names=[b"x"])), "1 names for 2 arrays", 104),
    "two names": (pack(container(ONE_TWO, names=[b"x", b"y"])), "2 names for 1 arrays", 64),
    "names of nothing": (pack(container(names=[b"x"])), "names: 1 names for 0 arrays", 24),
    "not UTF-8": (pack(container(ONE_TWO, names=[b"a\xff"])), r"name 0 of 1: b'a\\xff' is not", 80),
    "surrogate": (pack(container(ONE_TWO, names=[b"\xed\xa0\x80"])), "is not UTF-8", 80),
}
HEAD = ONE_TWO[0]
INT64 = (1 << 63) - 1
DAMAGED_ARRAYS = {
    "version": ([("version", "I", V3 + 1), *ONE_TWO[1:]], "begins with 0xf993facb", 0),
    "old ndim": (dense(0, (1,) * 65, 0, f32(1)), "begins with 0x41", 0),
    "ndim 65": (dense(V2, (1,) * 65, 0, f32(1)), "ndim is 65", 2),
    "ndim -1": ([("version", "I", V3), ("storage", "i", 0), ("ndim", "i", -1)], "ndim is -1", 2),
    "dim -1": (dense(V3, (2, -1), 0, f32(1, 2)), r"shape is \(2, -1\)", 3),
    "beside a 0": (dense(V2, (0, 1 << 40, 1 << 40), 0, b""), "shape is", 3),
    "0 mod 2**64": (dense(V2, (1 << 32, 1 << 32), 0, b""), "shape is", 3),
    "storage -1": ([HEAD, ("storage", "i", -1), *ONE_TWO[2:]], "storage type is -1", 1),
    "storage 3": ([HEAD, ("storage", "i", 3), *ONE_TWO[2:]], "storage type is 3", 1),
    "sparse V3": (sparse(1, (4,), (1,), 0, f32(1), [0], version=V3), "storage type is 1", 1),
    "flag 13": (dense(V2, (2,), 13, bytes(16)), "type flag is 13", -2),
    "flag -1": (dense(V1, (2,), -1, bytes(16)), "type flag is -1", -2),
    "rows beyond": (sparse(1, (4, 1), (1, 1), 0, f32(1), [4]), "row numbers go from 4 to 4", -1),
    "rows below": (sparse(1, (4, 1), (1, 1), 0, f32(1), [-1]), "row numbers go from -1", -1),
    "rows twice": (sparse(1, (4, 1), (2, 1), 0, f32(1, 2), [3, 3]), "twice", -1),
    "rows too few": (sparse(1, (4, 1), (2, 1), 0, f32(1, 2), [3]), "row_sparse", -1),
    "rows too wide": (sparse(1, (4, 1), (1, 2), 0, f32(1, 2), [3]), "row_sparse", -1),
    "rows of ()": (sparse(1, (), (), 0, f32(1), [3]), "row_sparse", -1),
    "rows of () in ()": (sparse(1, (), (), 0, f32(1), [3], index_shapes=[()]), "row_sparse", -1),
    "rows of (4,) in ()": (
        sparse(1, (4,), (), 0, f32(1), [3], index_shapes=[()]),
        r"row_sparse \(4,\) has stored shape \(\)",
        -1,
    ),
    "rows 2d": (sparse(1, (4,), (1,), 0, f32(1), [3], index_shapes=[(1, 1)]), "row_sparse", -1),
    "rows int16": (sparse(1, (4,), (1,), 0, f32(1), [3], code="h"), "flag of row numbers is 8", -5),
    "csr of 3 dims": (sparse(2, (1, 1, 1), (1,), 0, f32(1), [0, 1], [0]), "csr", -1),
    "csr in 2 dims": (
        sparse(2, (1, 1), (1, 1), 0, f32(1), [0, 1], [0], index_shapes=[(2,), (1, 1)]),
        r"stored shape \(1, 1\), indptr \(2,\) and columns \(1, 1\)",
        -1,
    ),
    "indptr in 2 dims": (
        sparse(2, (1, 1), (1,), 0, f32(1), [0, 1], [0], index_shapes=[(2, 1), (1,)]),
        r"indptr \(2, 1\) and",
        -1,
    ),
    "columns too few": (sparse(2, (1, 2), (2,), 0, f32(1, 2), [0, 2], [0]), "csr", -1),
    "columns beyond": (sparse(2, (1, 2), (1,), 0, f32(1), [0, 1], [2]), "columns go from 2", -1),
    "columns below": (sparse(2, (1, 2), (1,), 0, f32(1), [0, 1], [-1]), "go from -1", -1),
    "columns twice": (sparse(2, (1, 2), (2,), 0, f32(1, 2), [0, 2], [1, 1]), "twice", -1),
    "indptr short": (sparse(2, (2, 2), (1,), 0, f32(1), [0, 1], [0]), "indptr", -1),
    "indptr from 1": (sparse(2, (1, 2), (1,), 0, f32(1), [1, 1], [0]), "indptr", -1),
    "indptr to 0": (sparse(2, (1, 2), (1,), 0, f32(1), [0, 0], [0]), "indptr", -1),
    "indptr falls": (sparse(2, (3, 2), (1,), 0, f32(1), [0, 1, 0, 1], [0]), "indptr", -1),
    "no indptr": (sparse(2, (0, 2), (1,), 0, f32(1), [], [0]), "indptr", -1),
    "differences that overflow": (
        sparse(2, (4, 2), (1,), 0, f32(1), [0, INT64, -INT64 - 1, -1, 1], [0]),
        "indptr",
        -1,
    ),
    "rows of a giant": (
        sparse(1, (1 << 30, 2), (0, 2), 0, b"", []),
        "as a dense one, .* 8589934592 bytes",
        -1,
    ),
    "csr of a giant": (sparse(2, (1 << 28, 1 << 28), (0,), 0, b"", [], []), "as a dense one", -1),
}


@pytest.mark.parametrize("case", DAMAGED_FILES)
def test_damaged_file(tmp_path, case):
    data, wrong, at = DAMAGED_FILES[case]
    with little_memory():
        message = error_of(tmp_path / "net.params", data)
    assert re.search(wrong, message) and place(message) == at, message


@pytest.mark.parametrize("case", DAMAGED_ARRAYS)
def test_damaged_array(tmp_path, case):
    record, wrong, at = DAMAGED_ARRAYS[case]
    data = pack(container(ONE_TWO, record, names=[b"a", b"b"]))
    with little_memory():
        message = error_of(tmp_path / "net.params", data)
    assert "array 1 of 2: " in message and re.search(wrong, message), message
    assert place(message) == 24 + len(pack(ONE_TWO + record[:at])), message


def test_sparse_arrays_of_a_file_share_the_room(monkeypatch):
    monkeypatch.setattr(_arrays, "ROOM", 99_000)
    record = sparse(1, (10_000, 1), (0, 1), 0, b"", [])  # 40 000 bytes, dense
    assert len(reads(pack(container(record, record)))[0]) == 2
    with pytest.raises(ParamsFileError, match=r"array 2 of 3.*\n.*at most 20\d\d\d more"):
        reads(pack(container(record, record, record)))
    monkeypatch.setattr(_arrays, "ROOM", 0)  # then 4 times the file
    kilobytes = dense(V2, (10_000,), 3, bytes(10_000))
    assert len(reads(pack(container(kilobytes, record)))[0]) == 2


def test_a_sparse_array_is_made_dense_when_the_file_was_read():
    """Else a name that is cut short costs what a sparse array declares."""
    record = sparse(1, (1 << 25, 1), (0, 1), 3, b"", [])
    assert len(reads(pack(container(record)))[0][0]) == 1 << 25
    with little_memory(process=1 << 24), pytest.raises(ParamsFileError, match="names"):
        reads(pack(container(record))[:-1])


def test_number_of_arrays_is_bounded(tmp_path, monkeypatch):
    write(tmp_path / "f", [torch.ones(1)] * 3)
    monkeypatch.setattr(_arrays, "MAX_ARRAYS", 2)
    with pytest.raises(ParamsFileError, match="number of arrays is 3\n  expected at most 2"):
        read(tmp_path / "f")
    with pytest.raises(ParamsFileError, match="3 arrays\n  expected .* at most 2"):
        write(tmp_path / "f", [torch.ones(1)] * 3)


@pytest.mark.parametrize("lost", [4, 12, 17])
def test_file_that_shrinks_while_it_is_read(lost):
    data = pack(container(ONE_TWO))
    with pytest.raises(ParamsFileError, match="ended after"):
        params._read_file(params._Reader(BytesIO(data[:-lost]), len(data), "net.params"))


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.params")
    with pytest.raises(IsADirectoryError):
        read(tmp_path)


# Fuzzing: files that are nearly right

VALUES = [0, 1, 2, 3, 4, 8, 12, 13, 63, 65, 255, 1 << 16, V1, V2, V3, -1, -2]
VALUES += [sign * (1 << n) + d for n in (20, 31, 32, 62, 63) for d in (-1, 0) for sign in (1, -1)]
INDEX = st.integers(0, 1 << 16)
EDITS = st.one_of(
    st.tuples(st.just("set"), INDEX, st.sampled_from(VALUES)),
    st.tuples(st.just("drop"), INDEX, st.just(0)),
    st.tuples(st.just("repeat"), INDEX, st.just(0)),
    st.tuples(st.just("swap"), INDEX, INDEX),
    st.tuples(st.just("insert"), INDEX, st.binary(max_size=12)),
)


def edit(fields, kind, i, value):
    i %= len(fields)
    what, code, old = fields[i]
    if kind == "set":
        new = (what, code, value if code else old[: value % 16])
        return [*fields[:i], new, *fields[i + 1 :]]
    if kind == "swap":
        j = value % len(fields)
        fields = list(fields)
        fields[i], fields[j] = fields[j], fields[i]
        return fields
    middle = {"drop": [], "repeat": [fields[i]] * 2, "insert": [fields[i], *raw(value)]}
    return [*fields[:i], *middle[kind], *fields[i + 1 :]]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(EDITS, min_size=1, max_size=4), st.integers(0, 40))
def test_fuzz(edits, cut):
    fields = EVERYTHING
    for one in edits:
        fields = edit(fields, *one) or EVERYTHING
    data = pack(fields)
    data = data[: len(data) - cut] if cut < 20 else data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_arrays, "ROOM", 1 << 20)
        try:
            tensors, names = reads(data, "net.params")
        except ParamsFileError as error:
            assert re.match(r"net\.params, .*\n  expected .*\n  at byte \d+ of", str(error))
            return
    assert len(names) in (0, len(tensors))
    assert sum(t.nbytes for t in tensors) <= (1 << 20) + 5 * len(data)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(DTYPES.values())),
            st.lists(st.integers(0, 4), max_size=5),
            st.text(max_size=9),
        ),
        max_size=5,
    ),
    st.booleans(),
)
def test_round_trip_of_anything(tmp_path_factory, arrays, named):
    path = tmp_path_factory.getbasetemp() / "anything.params"
    tensors = [random_tensor(dtype, dims) for dtype, dims, _ in arrays]
    names = [name for *_, name in arrays] if named else []
    write(path, tensors, names)
    back, names_back = read(path)
    assert list(map(bits, back)) == list(map(bits, tensors))
    assert names_back == names


# What cannot be written


@pytest.mark.parametrize(
    "tensor", [torch.zeros(2, dtype=torch.complex64), torch.eye(2).to_sparse()], ids=["type", "coo"]
)
def test_arrays_the_format_does_not_have(tmp_path, tensor):
    with pytest.raises(DTypeError, match="array 'bad' is torch.*\n  expected a dense one of torch"):
        write(tmp_path / "f", [torch.ones(1), tensor], ["good", "bad"])
    with pytest.raises(DTypeError, match="array 1 is"):
        write(tmp_path / "f", [torch.ones(1), tensor])
    assert not list(tmp_path.iterdir())


def test_names_that_do_not_fit(tmp_path):
    with pytest.raises(ParamsFileError, match="1 names for 2 arrays"):
        write(tmp_path / "f", [torch.ones(1)] * 2, ["a"])
    with pytest.raises(ValueError, match="surrogates not allowed"):
        write(tmp_path / "f", [torch.ones(1)], ["\ud800"])
    assert not list(tmp_path.iterdir())


# The atomic write


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize(
    ("function", "failure", "error"),
    [
        ("fsync", full_disk, OSError),
        ("fsync", interrupt, KeyboardInterrupt),
        ("replace", full_disk, OSError),
        (None, None, NotImplementedError),  # a tensor whose data cannot be had
    ],
)
def test_failed_write_leaves_no_trace(tmp_path, monkeypatch, existed, function, failure, error):
    path = tmp_path / "net.params"
    if existed:
        path.write_bytes(b"what was there")
    if function:
        monkeypatch.setattr(os, function, failure)
    tensors = [torch.ones(1000), torch.ones(2, device="cpu" if function else "meta")]
    with pytest.raises(error):
        write(path, tensors)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"what was there"] * existed


def test_the_file_is_on_disk_before_it_has_its_name(tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace

    def spy_fsync(descriptor):
        status = os.fstat(descriptor)
        events.append("folder" if stat.S_ISDIR(status.st_mode) else status.st_size)
        fsync(descriptor)

    def spy_replace(new, old):
        assert Path(new).parent == Path(old).parent
        events.append("replace")
        replace(new, old)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "replace", spy_replace)
    write(tmp_path / "f", [torch.ones(3)])
    assert events == [len((tmp_path / "f").read_bytes()), "replace", "folder"]


def test_folder_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        write(tmp_path / "none" / "net.params", [torch.ones(1)])
    assert caught.value.filename == str(tmp_path / "none" / "net.params")


def test_longest_file_name(tmp_path):
    write(tmp_path / ("n" * 255), [torch.ones(1)])
    assert [len(p.name) for p in tmp_path.iterdir()] == [255]


posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions, links and pipes")


@posix
def test_permissions_are_those_of_a_plain_open(tmp_path):
    old = os.umask(0o027)
    try:
        write(tmp_path / "new", [torch.ones(1)])
        (tmp_path / "plain").touch()
        assert mode(tmp_path / "new") == mode(tmp_path / "plain") == 0o640
        (tmp_path / "plain").chmod(0o604)
        write(tmp_path / "plain", [torch.ones(1)])
        assert mode(tmp_path / "plain") == 0o604
    finally:
        os.umask(old)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@posix
def test_read_only_file_is_refused(tmp_path):
    path = tmp_path / "net.params"
    path.write_bytes(b"keep")
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write to read-only files")
    with pytest.raises(PermissionError):
        write(path, [torch.ones(1)])
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"keep"]


@posix
def test_link_stays_a_link(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "net.params")
    for value in (1, 2):  # to a file that is not there yet, and to one that is
        write(tmp_path / "link", [torch.full((1,), value)])
        assert (tmp_path / "link").is_symlink()
        assert read(tmp_path / "folder" / "net.params")[0][0].item() == value


@posix
def test_a_pipe_is_written_to(tmp_path):
    pipe, found = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write(pipe, [torch.arange(3)], ["x"])
    reader.join()
    assert reads(found[0])[0][0].tolist() == [0, 1, 2]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
@pytest.mark.parametrize("suffix", ["params", "safetensors"])
def test_only_regular_files_are_read(tmp_path, suffix):
    """A pipe that nobody writes to would be waited for; a device may give bytes without end."""
    os.mkfifo(tmp_path / f"pipe.{suffix}")
    (tmp_path / f"zero.{suffix}").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        path = tmp_path / f"{name}.{suffix}"
        with pytest.raises(
            MXNetError, match=f"{name}.*is a pipe or a device\n  expected a regular"
        ):
            nd.load(path)
    (tmp_path / f"folder.{suffix}").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        nd.load(tmp_path / f"folder.{suffix}")


def test_a_csr_of_zeros_takes_no_memory_that_the_file_has_not():
    """MXNet writes it without indptr; 100 bytes would make as many numbers as they say rows."""
    record = sparse(2, (1 << 27, 1), (0,), 0, b"", [], [])
    with little_memory(), pytest.raises(ParamsFileError, match="indptr of a csr of zeros"):
        reads(pack(container(record)), sparse=True)
    few = sparse(2, (1 << 10, 1), (0,), 0, b"", [], [])
    assert reads(pack(container(few)), sparse=True)[0][0].shape == (1 << 10, 1)


def test_a_parameter_of_an_unknown_shape_does_not_become_dense_from_nothing(tmp_path):
    """182 bytes would take 9.6 GB; where the network says the shape, it is the network's."""
    columns = 1 << 25
    weight = sparse(1, (4, columns), (0, columns), 0, b"", [])
    bias = dense(V2, (4,), 0, bytes(16))
    (tmp_path / "a.params").write_bytes(pack(container(weight, bias, names=[b"weight", b"bias"])))
    with pytest.raises(MXNetError, match=r"(?s)weight' \(4, 33554432\) takes .*a\.params"):
        gluon.nn.Dense(4).load_parameters(tmp_path / "a.params")
    few = sparse(1, (4, 3), (0, 3), 0, b"", [])
    (tmp_path / "a.params").write_bytes(pack(container(few, bias, names=[b"weight", b"bias"])))
    net = gluon.nn.Dense(4)
    net.load_parameters(tmp_path / "a.params")
    assert net.weight.data().asnumpy().tolist() == [[0] * 3] * 4


def test_a_name_is_bounded():
    with pytest.raises(ParamsFileError, match="name 0 of 1.*xxx.* is the name of array"):
        reads(pack(container(ONE_TWO, names=[b"x" * 5000])))
