"""Iterators over arrays, over other iterators and over files."""

import bz2
import gzip
import lzma
import struct
import tracemalloc

import numpy as np
import pytest

X, Y = np.arange(10.0).reshape(5, 2), np.arange(5.0)


def labels(iterator):
    return [batch.label[0].asnumpy().tolist() for batch in iterator]


def epochs(iterator, count=2):
    found = []
    for _ in range(count):
        found.append(labels(iterator))
        iterator.reset()
    return found


def test_description(mx):
    desc = mx.io.DataDesc("data", (2, 3), layout="TNC")
    assert desc == ("data", (2, 3)) and desc.dtype is np.float32
    assert repr(desc) == "DataDesc[data,(2, 3),<class 'numpy.float32'>,TNC]"
    axes = [mx.io.DataDesc.get_batch_axis(layout) for layout in ("NCHW", "TNC", None)]
    assert axes == [0, 1, 0]
    typed = mx.io.DataDesc.get_list([("a", (1,)), ("b", (2,))], [("a", "int8"), ("b", "int32")])
    assert [(d.name, d.shape, d.dtype) for d in typed] == [
        ("a", (1,), "int8"),
        ("b", (2,), "int32"),
    ]
    assert mx.io.DataDesc.get_list([("a", (1,))], None)[0].dtype is np.float32


def test_batch(mx):
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones(2)])
    assert str(batch) == "DataBatch: data shapes: [(2, 3)] label shapes: [(2,)]"
    assert (batch.pad, batch.index, batch.bucket_key, batch.provide_data) == (None,) * 4


def test_a_batch_takes_lists(mx, engine):
    expected = {"torch": TypeError, "mxnet": AssertionError}[engine]
    with pytest.raises(expected, match="list of NDArrays"):
        mx.io.DataBatch(mx.nd.ones(2))


ROLLED = [[[0, 1], [2, 3]], [[4, 0], [1, 2], [3, 4]], [[0, 1], [2, 3]]]


@pytest.mark.parametrize(
    "handle, expected",
    [
        ("pad", [[[0, 1], [2, 3], [4, 0]]] * 3),
        ("discard", [[[0, 1], [2, 3]]] * 3),
        ("roll_over", ROLLED),
    ],
)
def test_the_last_batch(mx, handle, expected):
    iterator = mx.io.NDArrayIter(X, Y, 2, last_batch_handle=handle)
    assert epochs(iterator, 3) == expected


def test_data_goes_with_labels(mx):
    iterator = mx.io.NDArrayIter(X, Y, 2, shuffle=True, last_batch_handle="roll_over")
    for _ in range(4):
        for batch in iterator:
            assert (batch.data[0].asnumpy()[:, 0] == 2 * batch.label[0].asnumpy()).all()
        iterator.reset()


def test_pads(mx):
    iterator = mx.io.NDArrayIter(X, Y, 2)
    assert [batch.pad for batch in iterator] == [0, 0, 1]
    assert [batch.pad for batch in mx.io.NDArrayIter(X, Y, 7)] == [2]
    assert labels(mx.io.NDArrayIter(X, Y, 7)) == [[0, 1, 2, 3, 4, 0, 1]]


def test_shuffle(mx):
    np.random.seed(1)
    iterator = mx.io.NDArrayIter(X, Y, 2, shuffle=True)
    assert epochs(iterator) == [[[2, 1], [4, 0], [3, 2]], [[4, 3], [0, 2], [1, 4]]]


def test_names(mx):
    def names(data, label=None, **options):
        iterator = mx.io.NDArrayIter(data, label, 2, **options)
        return [d.name for d in iterator.provide_data], [d.name for d in iterator.provide_label]

    assert names(X, Y) == (["data"], ["softmax_label"])
    assert names(X, Y, data_name="x", label_name="y") == (["x"], ["y"])
    assert names([X, X]) == (["_0_data", "_1_data"], [])
    assert names([X]) == (["data"], [])
    assert names({"b": X, "a": X}, {"l": Y}) == (["a", "b"], ["l"])


def test_provided(mx):
    iterator = mx.io.NDArrayIter(X, mx.nd.array(Y, dtype="int32"), 2)
    (data,), (label,) = iterator.provide_data, iterator.provide_label
    assert (data.shape, data.dtype, data.layout) == ((2, 2), np.float32, "NCHW")
    assert (label.shape, label.dtype) == ((2,), np.int32)
    batch = next(iterator)
    assert (batch.data[0].dtype, batch.label[0].dtype) == (np.float32, np.int32)


def test_a_batch_is_not_a_view(mx):
    iterator = mx.io.NDArrayIter(mx.nd.array(X), Y, 2)
    next(iterator).data[0][:] = -1
    iterator.reset()
    assert next(iterator).data[0].asnumpy().tolist() == [[0, 1], [2, 3]]


def test_hard_reset(mx):
    iterator = mx.io.NDArrayIter(X, Y, 2, last_batch_handle="roll_over")
    labels(iterator)
    iterator.hard_reset()
    assert labels(iterator) == [[0, 1], [2, 3]]


@pytest.mark.engine("torch")  # MXNet takes some of these, and asserts for others
@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"data": X, "label": Y[:3]}, r"'softmax_label' has 3 examples\n  expected 5"),
        ({"data": X, "last_batch_handle": "keep"}, "'keep'"),
        ({"data": X, "batch_size": 0}, "batch_size is 0"),
        ({"data": X, "batch_size": 6, "last_batch_handle": "discard"}, "expected 1 to 5"),
        ({"data": {"a": "text"}}, "'a' is of type str"),
        ({"data": 3}, "of type int"),
    ],
)
def test_what_is_no_data(mx, arguments, message):
    with pytest.raises(ValueError, match=message):
        mx.io.NDArrayIter(**arguments)


def test_an_iterator_of_ones_own(mx):
    class Counting(mx.io.DataIter):
        def __init__(self):
            super().__init__(2)
            self.n = 0

        def iter_next(self):
            self.n += 1
            return self.n < 3

        def getdata(self):
            return [mx.nd.ones((2, self.n))]

        def getlabel(self):
            return []

        def getpad(self):
            return 0

    assert [batch.data[0].shape for batch in Counting()] == [(2, 1), (2, 2)]


def test_resize(mx):
    longer = mx.io.ResizeIter(mx.io.NDArrayIter(X, Y, 2), 4)
    assert epochs(longer) == [[[0, 1], [2, 3], [4, 0], [0, 1]]] * 2
    goes_on = mx.io.ResizeIter(mx.io.NDArrayIter(X, Y, 2), 2, reset_internal=False)
    assert epochs(goes_on) == [[[0, 1], [2, 3]], [[4, 0], [0, 1]]]
    assert longer.provide_data[0].shape == (2, 2)


@pytest.mark.filterwarnings("ignore:setDaemon:DeprecationWarning")  # MXNet's
def test_prefetch(mx):
    iterator = mx.io.PrefetchingIter(mx.io.NDArrayIter(X, Y, 2))
    assert epochs(iterator, 3) == [[[0, 1], [2, 3], [4, 0]]] * 3
    next(iterator)
    iterator.reset()
    assert labels(iterator) == [[0, 1], [2, 3], [4, 0]]


@pytest.mark.filterwarnings("ignore:setDaemon:DeprecationWarning")
def test_prefetch_two(mx):
    iterator = mx.io.PrefetchingIter(
        [mx.io.NDArrayIter(X, Y, 2), mx.io.NDArrayIter(X + 1, Y, 2)],
        [{"data": "a"}, {"data": "b"}],
        [{"softmax_label": "c"}, {"softmax_label": "d"}],
    )
    assert [d.name for d in iterator.provide_data + iterator.provide_label] == ["a", "b", "c", "d"]
    batch = next(iterator)
    assert [a.asnumpy()[0].tolist() for a in batch.data] == [[0, 1], [1, 2]]
    assert len(batch.label) == 2


@pytest.mark.engine("torch")  # MXNet's thread ends, and the program hangs
def test_an_error_in_a_prefetched_iterator(mx):
    class Broken(mx.io.NDArrayIter):
        def next(self):
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        next(mx.io.PrefetchingIter(Broken(X, Y, 2)))


@pytest.fixture
def csv(tmp_path):
    np.savetxt(tmp_path / "x.csv", np.arange(20).reshape(5, 4), "%d", ",")
    np.savetxt(tmp_path / "y.csv", Y, "%d", ",")
    return {"data_csv": str(tmp_path / "x.csv"), "label_csv": str(tmp_path / "y.csv")}


def test_csv(mx, csv):
    iterator = mx.io.CSVIter(data_shape=(2, 2), batch_size=2, **csv)
    assert iterator.provide_data[0].shape == (2, 2, 2)
    assert iterator.provide_label[0] == ("softmax_label", (2,))
    batch = next(iterator)
    assert batch.data[0].asnumpy().tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert (batch.pad, list(batch.index)) == (0, [0, 1])
    iterator = mx.io.CSVIter(data_shape=(4,), batch_size=2, **csv)
    assert epochs(iterator) == [[[0, 1], [2, 3], [4, 0]], [[1, 2], [3, 4]]]
    assert labels(mx.io.CSVIter(data_csv=csv["data_csv"], data_shape=(4,), batch_size=5)) == [
        [0] * 5
    ]


def test_iterators_over_files_are_of_one_class(mx, csv):
    # GluonCV's training programs ask for it.
    iterator = mx.io.CSVIter(data_shape=(4,), batch_size=2, **csv)
    assert isinstance(iterator, mx.io.MXDataIter) and isinstance(iterator, mx.io.DataIter)
    assert not isinstance(mx.io.NDArrayIter(np.zeros((2, 3))), mx.io.MXDataIter)


def test_csv_without_rounds(mx, csv):
    iterator = mx.io.CSVIter(data_shape=(4,), batch_size=2, round_batch=False, **csv)
    for _ in range(2):
        batches = list(iterator)
        assert [batch.pad for batch in batches] == [0, 0, 1]
        assert batches[-1].label[0].asnumpy()[0] == 4
        iterator.reset()


def test_csv_of_integers(mx, csv):
    batch = next(mx.io.CSVIter(data_shape=(4,), batch_size=2, dtype="int32", **csv))
    assert batch.data[0].dtype == np.int32


@pytest.mark.engine("torch")
def test_csv_of_an_unknown_type(mx, csv):
    with pytest.raises(ValueError, match="CSVIter: dtype is 'foo'\n  expected float32, float64"):
        mx.io.CSVIter(data_shape=(4,), dtype="foo", **csv)


@pytest.mark.engine("torch")  # MXNet ends the process, or reads on
@pytest.mark.parametrize(
    "text, message",
    [
        ("1,2\n3,x\n", "x.csv'.*x"),
        ("1,2,3\n", "expected rows of 2"),
        ("", "0 rows"),
        ("1,2\n3", "2"),
        ("1,2\n3,4,5\n", "row 2 has 3 numbers\n  expected rows of 2"),
        (
            gzip.compress(b"1,2\n", mtime=0),
            "is no text\n  expected .* unpack a compressed file first",
        ),
        (bz2.compress(b"1,2\n"), "is no text"),
        (lzma.compress(b"1,2\n"), "is no text"),
        (b"1,\xff\n", "is no text"),
        ("1," + "x" * 1_000_000, "x.csv': could not convert .{1,200}\n  expected"),
    ],
)
def test_what_is_no_csv(mx, tmp_path, text, message):
    (tmp_path / "x.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(mx.MXNetError, match=message) as raised:
        mx.io.CSVIter(tmp_path / "x.csv", (2,), batch_size=1)
    assert "x.csv" in str(raised.value)


@pytest.mark.engine("torch")
def test_numbers_that_the_type_has_not(mx, tmp_path):
    (tmp_path / "x.csv").write_text("1e300,nan\n# a, comment, with commas\n")
    x = next(mx.io.CSVIter(tmp_path / "x.csv", (2,), batch_size=1)).data[0].asnumpy()
    assert np.isposinf(x[0, 0]) and np.isnan(x[0, 1])
    for dtype in ("int32", "int64"):
        with pytest.raises(mx.MXNetError, match=r"x\.csv' has 1e\+300\n  expected numbers from"):
            mx.io.CSVIter(tmp_path / "x.csv", (2,), batch_size=1, dtype=dtype)


@pytest.mark.engine("torch")
def test_a_long_line_takes_no_memory(mx, tmp_path):
    (tmp_path / "x.csv").write_text("1," * 500_000)
    tracemalloc.start()
    with pytest.raises(mx.MXNetError, match=r"x\.csv': row 1 has 500001 numbers"):
        mx.io.CSVIter(tmp_path / "x.csv", (2,), batch_size=1)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


IMAGES = np.arange(7 * 3 * 4, dtype=np.uint8).reshape(7, 3, 4)


def idx(values):
    return struct.pack(f">4B{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()


@pytest.fixture
def mnist(mx, tmp_path):
    def mnist(suffix="", image=None, label=None, **options):
        paths = {"image": tmp_path / f"image{suffix}", "label": tmp_path / f"label{suffix}"}
        contents = image or idx(IMAGES), label or idx(np.arange(7, dtype=np.uint8))
        for path, content in zip(paths.values(), contents):
            path.write_bytes(gzip.compress(content) if suffix == ".gz" else content)
        options = {"batch_size": 2, "shuffle": False, "silent": True} | options
        return mx.io.MNISTIter(**{k: str(v) for k, v in paths.items()}, **options)

    return mnist


def test_mnist(mnist):
    iterator = mnist()
    assert iterator.provide_data[0] == ("data", (2, 1, 3, 4))
    batch = next(iterator)
    assert (batch.data[0].asnumpy() == IMAGES[:2, None] / np.float32(256)).all()
    iterator.reset()
    assert epochs(iterator) == [[[0, 1], [2, 3], [4, 5]]] * 2


def test_mnist_flat(mnist):
    assert next(mnist(flat=True)).data[0].shape == (2, 12)


def test_a_part_of_mnist(mnist):
    assert labels(mnist(num_parts=2, part_index=1)) == [[3, 4], [5, 6]]


def test_mnist_shuffled(mnist):
    iterator = mnist(shuffle=True, seed=3)
    first, second = epochs(iterator)
    assert first == second and first != [[0, 1], [2, 3], [4, 5]]
    batch = next(iterator)
    rows = batch.label[0].asnumpy().astype(int)
    assert (batch.data[0].asnumpy()[:, 0] * 256 == IMAGES[rows]).all()


@pytest.mark.engine("torch")  # MXNet reads no compressed files
def test_mnist_compressed(mnist):
    assert labels(mnist(".gz")) == [[0, 1], [2, 3], [4, 5]]


HUGE = struct.pack(">4B3I", 0, 0, 8, 3, *[2**31] * 3)


@pytest.mark.engine("torch")  # MXNet ends the process, or takes memory for what is not there
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    "image, message",
    [
        (HUGE, "has 0 bytes"),
        (idx(IMAGES)[:-1], "has 83 bytes after its header\n  expected 84, for 7 x 3 x 4"),
        (idx(IMAGES) + b"x", "expected 84"),
        (idx(IMAGES)[:9], "expected 00 00 08 03"),
        (b"text", "begins with 74 65 78 74"),
        (idx(IMAGES[:3]), "expected 3, as"),
    ],
    ids=["huge", "short", "long", "head", "text", "fewer"],
)
def test_what_is_no_mnist(mx, mnist, suffix, image, message):
    with pytest.raises(mx.MXNetError, match=message) as raised:
        mnist(suffix, image)
    assert f"image{suffix}'" in str(raised.value)


@pytest.mark.engine("torch")
def test_a_gzip_is_not_unpacked_for_more_than_it_can_hold(mx, mnist):
    """Nor does the file take ten times the memory of its images."""
    bomb = struct.pack(">4B3I", 0, 0, 8, 3, 2**10, 2**10, 2**10) + bytes(2**22)
    with pytest.raises(mx.MXNetError, match=r"image\.gz' has \d+ at most bytes"):
        tracemalloc.start()
        try:
            mnist(".gz", bomb)
        finally:
            most = tracemalloc.get_traced_memory()[1] - len(bomb)
            tracemalloc.stop()
    assert most < 2**21
    images = np.zeros((64, 128, 128), np.uint8)
    image, label = idx(images), idx(np.zeros(64, np.uint8))
    tracemalloc.start()
    mnist("", image, label)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 7 * images.size


@pytest.mark.engine("torch")
def test_a_cut_off_gzip(mx, tmp_path, mnist):
    mnist(".gz")
    path = tmp_path / "image.gz"
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(mx.MXNetError, match="image.gz"):
        mx.io.MNISTIter(str(path), str(tmp_path / "label.gz"))


@pytest.mark.engine("torch")  # MXNet says nothing
def test_unknown_arguments(mx, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    said = "CSVIter: unknown argument 'batchsize' is ignored; did you mean 'batch_size'"
    with pytest.warns(UserWarning, match=said):
        mx.io.CSVIter(data_csv=str(tmp_path / "a.csv"), data_shape=(2,), batch_size=1, batchsize=1)
    with pytest.raises(ValueError, match="CSVIter: batch_size is not given"):
        mx.io.CSVIter(data_csv=str(tmp_path / "a.csv"), data_shape=(2,))


def test_arguments_without_effect(mx, tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    iterator = mx.io.CSVIter(
        data_csv=str(tmp_path / "a.csv"),
        data_shape=(2,),
        batch_size=1,
        prefetch_buffer=2,
        ctx="cpu",
    )
    assert iterator.next().data[0].asnumpy().tolist() == [[1, 2]]


@pytest.mark.parametrize("form", [dict, list])
def test_a_matrix_of_scipys(mx, form):
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.array([[1, 0], [0, 2], [3, 0], [0, 4]], "float32")
    given = {"data": sparse.csr_matrix(rows)}
    given = given if form is dict else [*given.values()]
    iterator = mx.io.NDArrayIter(given, None, 2, last_batch_handle="discard")
    found = [batch.data[0].asnumpy() for batch in iterator]
    np.testing.assert_array_equal(np.concatenate(found), rows)
    with pytest.raises(NotImplementedError, match="discard"):
        mx.io.NDArrayIter(given, None, 2)


def test_lists_of_numbers(mx):
    iterator = mx.io.NDArrayIter({"data": [[1, 2], [3, 4]]}, {"label": [5, 6]}, 1)
    found = [(b.data[0].asnumpy().tolist(), b.label[0].asnumpy().tolist()) for b in iterator]
    assert found == [([[1, 2]], [5]), ([[3, 4]], [6])]
    with pytest.raises(TypeError):
        mx.io.NDArrayIter({"data": "text"}, None, 1)
