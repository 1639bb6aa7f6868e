"""Iterators over csr arrays: of LIBSVM's files, and of arrays in memory."""

import numpy as np
import pytest

from layers.engine import mx, nd

TEXT = (
    "1.0 0:0.5 2:1.2\n-2.0\n# nothing\n-3 0:0.6 1:2.4 2:1.2\n\n4 2:-1.2 # the last but one\n5 1:7\n"
)
LABELS = "1.0 1:2\n-2.0 0:0.125\n-3.0 2:1.2\n4 1:1.0 2:-1.2\n2 0:3\n"
ROWS = [[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2], [0, 0, -1.2], [0, 7, 0]]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a").write_text(TEXT)
    (tmp_path / "b").write_text(LABELS)
    return str(tmp_path / "a"), str(tmp_path / "b")


def batches(iterator):
    return [(b.data[0], b.label[0], b.pad, b.index.tolist()) for b in iterator]


def test_batches_of_a_file(files):
    iterator = mx.io.LibSVMIter(data_libsvm=files[0], data_shape=(3,), batch_size=3)
    [(name, shape)] = [(d.name, d.shape) for d in iterator.provide_data + iterator.provide_label][
        :1
    ]
    assert (name, shape) == ("data", (3, 3)) and iterator.provide_label[0].shape == (3,)
    for order in ([0, 1, 2], [3, 4, 0]), ([1, 2, 3], [4, 0, 1]):
        found = batches(iterator)
        assert [x.stype for x, _, _, _ in found] == ["csr", "csr"]
        assert [index for _, _, _, index in found] == [*order]
        for (x, label, _, _), rows in zip(found, order):
            np.testing.assert_allclose(x.asnumpy(), np.array(ROWS)[rows], 1e-6)
            assert label.asnumpy().tolist() == np.array([1.0, -2, -3, 4, 5])[rows].tolist()
        iterator.reset()


def test_labels_of_another_file(files):
    iterator = mx.io.LibSVMIter(
        data_libsvm=files[0], data_shape=3, label_libsvm=files[1], label_shape=(3,), batch_size=2
    )
    assert iterator.provide_label[0].shape == (2, 3)
    found = batches(iterator)
    assert [label.stype for _, label, _, _ in found] == ["csr"] * 3
    expected = [[0, 2, 0], [0.125, 0, 0], [0, 0, 1.2], [0, 1, -1.2], [3, 0, 0], [0, 2, 0]]
    labels = np.concatenate([label.asnumpy() for _, label, _, _ in found])
    np.testing.assert_allclose(labels, expected, 1e-6)
    assert [pad for _, _, pad, _ in found] == [0, 0, 1]


def test_parts_of_a_file(files):
    labels = []
    for part in range(3):
        iterator = mx.io.LibSVMIter(
            data_libsvm=files[0], data_shape=(3,), batch_size=1, num_parts=3, part_index=part
        )
        labels.append([label.asscalar() for _, label, _, _ in batches(iterator)])
    assert labels == [[1, -2], [-3, 4], [5]]


def test_what_is_not_there(files):
    for wrong in ({"round_batch": False}, {"data_shape": None}):
        with pytest.raises((RuntimeError, TypeError)):
            mx.io.LibSVMIter(data_libsvm=files[0], **{"data_shape": (3,), "batch_size": 1} | wrong)


def test_the_size_of_a_batch_is_wanted(files, tmp_path):
    (tmp_path / "c").write_text("1,2,3\n")
    with pytest.raises(RuntimeError, match="batch_size"):
        mx.io.LibSVMIter(data_libsvm=files[0], data_shape=(3,))
    with pytest.raises(RuntimeError, match="batch_size"):
        mx.io.CSVIter(data_csv=str(tmp_path / "c"), data_shape=(3,))


WRONG = {
    "x 0:1": "line 2: 'x' is no number",
    "1 0:x": "line 2: 'x' is no number",
    "1 0:nan": "line 2: 'nan' is not a finite number",
    "-inf 0:1": "line 2: '-inf' is not a finite number",
    "1 0:1e999": "line 2: '1e999' is not a finite number",
    "1e39 0:1": "line 2: '1e39' is beyond 3.403e+38, the largest number of the dtype",
    "1 0:-1e300": "line 2: '-1e300' is beyond 3.403e+38, the largest number of the dtype",
    "1 0": "line 2: '0' is no pair",
    "1 -1:2": "line 2: '-1:2' is no pair",
    "1 a:2": "line 2: 'a:2' is no pair",
    "1 3:2": "line 2: column 3\n  expected 0 to 2",
    "1 99999999999999999999:2": "line 2: '99999999999999999999:2' is no pair",
    "1 0:1 0:2": "line 2: column 0 is there twice",
    "1 0:1_0": "line 2: '1_0' is no number",
}


@pytest.mark.engine("torch")  # MXNet takes them for 0, or crashes
@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_named(tmp_path, line):
    path = tmp_path / "a"
    path.write_text(f"1 0:1\n{line}\n")
    with pytest.raises(mx.MXNetError) as refused:
        mx.io.LibSVMIter(path, (3,), batch_size=1)
    assert f"'{path}': {WRONG[line]}" in str(refused.value)


@pytest.mark.engine("torch")
def test_other_wrong_files(tmp_path, files):
    path = tmp_path / "c"
    path.write_text("# nothing\n")
    with pytest.raises(mx.MXNetError, match="no rows"):
        mx.io.LibSVMIter(path, (3,), batch_size=1)
    with pytest.raises(FileNotFoundError):
        mx.io.LibSVMIter(tmp_path / "none", (3,), batch_size=1)
    path.write_text("1 0:1\n")
    with pytest.raises(ValueError, match="has 1 rows\n  expected 5"):
        mx.io.LibSVMIter(files[0], (3,), path, (3,))
    for dtype in "uint8", "foo":
        with pytest.raises(ValueError, match=f"dtype is '{dtype}'\n  expected float32, float64"):
            mx.io.LibSVMIter(files[0], (3,), dtype=dtype)


@pytest.mark.engine("torch")  # MXNet's errors are a C++ file and a line
@pytest.mark.parametrize(
    "parts, index, wrong",
    [(0, 0, "num_parts is 0\n  expected 1"), (2, 2, "part_index is 2\n  expected 0 to 1")],
)
def test_parts_that_are_not_there(files, parts, index, wrong):
    with pytest.raises(ValueError, match=f"LibSVMIter: {wrong}"):
        mx.io.LibSVMIter(files[0], (3,), num_parts=parts, part_index=index, batch_size=1)


def test_what_a_line_may_have(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"+1 qid:3 2:1e3 0:-.5\r\n1:0.5\t0:2")  # a weight beside the second label
    iterator = mx.io.LibSVMIter(data_libsvm=str(path), data_shape=(3,), batch_size=1)
    found = batches(iterator)
    assert [x.asnumpy().tolist() for x, _, _, _ in found] == [[[-0.5, 0, 1000]], [[2, 0, 0]]]
    assert [label.asscalar() for _, label, _, _ in found] == [1, 1]


# In memory


def in_memory(**options):
    data = np.arange(15.0).reshape(5, 3)
    data[data % 2 == 0] = 0
    csr = nd.array(data).tostype("csr")
    iterator = mx.io.NDArrayIter(csr, nd.arange(5), 2, **options)
    return data, [(b.data[0], b.label[0].asnumpy().astype(int)) for b in iterator]


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_of_a_csr_array(shuffle):
    data, found = in_memory(last_batch_handle="discard", shuffle=shuffle)
    assert [len(label) for _, label in found] == [2, 2]
    for x, label in found:
        np.testing.assert_array_equal(x.asnumpy(), data[label])


@pytest.mark.engine("torch")  # MXNet documents csr batches, and gives dense ones
def test_batches_of_a_csr_array_are_csr():
    for shuffle in (False, True):
        _, found = in_memory(last_batch_handle="discard", shuffle=shuffle)
        assert [x.stype for x, _ in found] == ["csr", "csr"]


@pytest.mark.parametrize("last", ["pad", "roll_over"])
def test_a_csr_array_fills_no_batch(last):
    with pytest.raises(NotImplementedError, match="discard"):
        in_memory(last_batch_handle=last)
