"""What other projects' tests use: comparisons and their messages, gradients, random data, files."""

import bz2
import gzip
import os
import struct
import zipfile
from importlib import import_module

import numpy as np
import pytest

from layers.engine import mx, nd

torch_only = pytest.mark.engine("torch")
t = import_module(f"{mx.__name__}.test_utils")
A = np.arange(6, dtype="float32").reshape(2, 3)
NAN = np.where(A == 1, np.nan, A)


@torch_only
def test_it_is_imported_when_it_is_asked_for():
    assert mx.test_utils is t


# Comparisons

EQUAL = [
    (A, A, {}),
    (A, A + 1e-4, {}),
    (A, nd.array(A), {}),
    (nd.array(A), nd.array(A), {}),
    (A.astype("float16"), A + 0.05, {}),
    (A, A + 0.4, {"rtol": 0, "atol": 0.5}),
    (A, A + 0.4, {"atol": {np.dtype("float32"): 0.5}}),
    (A, A[:1] * 0 + A, {}),
    (NAN, NAN, {"equal_nan": True}),
    (2, 2, {}),
    (np.array([np.inf, 1]), np.array([np.inf, 1]), {}),
]
DIFFERENT = [
    (A, A + 1, {}),
    (nd.array(A), A * 1.01, {}),
    (A.astype("int32"), (A + 1).astype("int32"), {}),
    (A.astype("float64"), A.astype("float64") + 1e-4, {}),
    (NAN, NAN, {}),
    (2, 3, {}),
    (np.array([np.inf, 1]), np.array([-np.inf, 1]), {}),
]


@pytest.mark.parametrize("a, b, options", EQUAL)
def test_equal(a, b, options):
    t.assert_almost_equal(a, b, **options)


def test_almost_equal():
    assert t.almost_equal(A, A * 1.000001)
    assert not t.almost_equal(A, A + 1e-5)  # float64's tolerance
    assert t.almost_equal(A, A + 1e-5, atol=1e-4)
    assert t.almost_equal(NAN, NAN, equal_nan=True)
    assert not t.almost_equal(NAN, NAN)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("a, b, options", DIFFERENT)
def test_different(a, b, options):
    with pytest.raises(AssertionError, match="Items are not equal"):
        t.assert_almost_equal(a, b, **options)


def test_message(capsys):
    with pytest.raises(AssertionError) as caught:
        t.assert_almost_equal(A, A + 1, 1e-5, 1e-20, ("ours", "theirs"), mismatches=(2, 3))
    assert str(caught.value) == (
        "\nItems are not equal:\n"
        "Error 100000.000000 exceeds tolerance rtol=1.000000e-05, atol=1.000000e-20 "
        "(mismatch at least 66.666667%).\n"
        "Location of maximum error: (0, 0), ours=0.00000000, theirs=1.00000000\n"
        " ACTUAL: array([[0., 1., 2.],\n       [3., 4., 5.]], dtype=float32)\n"
        " DESIRED: array([[1., 2., 3.],\n       [4., 5., 6.]], dtype=float32)"
    )
    assert capsys.readouterr().out == (
        "\n*** Maximum errors for vector of size 6:  rtol=1e-05, atol=1e-20\n\n"
        "  1: Error 100000.000000  Location of error: (0, 0), ours=0.00000000, theirs=1.00000000\n"
        "  2: Error 50000.000000  Location of error: (0, 1), ours=1.00000000, theirs=2.00000000\n"
    )


@pytest.mark.parametrize(
    "mismatches, share",
    [((10, 10), "at least 11.0"), ((5, 2), "at least 3.0"), ((0, 0), "100.0"), ((1, 100), "100.0")],
)
def test_mismatches(mismatches, share):
    with pytest.raises(AssertionError, match=rf"\(mismatch {share}00000%\)"):
        t.assert_almost_equal(np.ones(100), np.zeros(100), mismatches=mismatches)


def test_numbers():
    with pytest.raises(AssertionError) as caught:
        t.assert_almost_equal(2, 3)
    assert str(caught.value) == (
        "\nItems are not equal:\nError 100000000000000000000.000000 exceeds tolerance "
        "rtol=0.000000e+00, atol=0.000000e+00.\n\n ACTUAL: 2\n DESIRED: 3"
    )


def test_shapes():
    b = np.ones(3)
    message = r"a.shape = \(2, 3\) and b.shape = \(3,\) are not equal"
    for check in (t.assert_almost_equal, t.almost_equal):
        with pytest.raises(AssertionError, match=message):
            check(A, b, use_broadcast=False)
        with pytest.raises(ValueError, match="broadcast"):
            check(A, np.ones(4))
    with pytest.raises(AssertionError, match=message):
        t.checkShapes(A, b)


def test_tolerances():
    assert t.get_tols(A, A.astype("float16"), None, None) == (1e-2, 1e-1)
    assert t.get_tols(1.0, 2.0, None, None) == (1e-5, 1e-20)
    assert t.get_tols(A, A, {np.dtype("float32"): 0.5}, 0.1) == (0.5, 0.1)
    assert (t.get_rtol(), t.get_atol(), t.get_etol()) == (1e-5, 1e-20, 0)
    assert t.default_numeric_eps()[np.dtype("float32")] == 2.0**-9
    assert t.effective_dtype(nd.array(A)) == np.float32


def test_allclose_and_relatives():
    t.assert_allclose(NAN, NAN)
    with pytest.raises(AssertionError):
        t.assert_allclose(A, A + 1e-4)
    b = A.copy()
    b[1, 2] += 1
    t.assert_almost_equal_with_err(A, b, etol=0.2)
    with pytest.raises(AssertionError):
        t.assert_almost_equal_with_err(A, b, etol=0.1)
    t.assert_almost_equal_ignore_nan(NAN, A)
    with pytest.raises(AssertionError):
        t.assert_almost_equal_ignore_nan(NAN, b)
    assert t.same(A, A.copy())
    assert not t.same(A, b)


@torch_only  # of two NDArrays MXNet asks whether they are one
def test_same_of_ndarrays():
    assert t.same(nd.array(A), nd.array(A))
    assert not t.same(nd.array(A), nd.array(A + 1))


def test_exceptions_and_retries():
    t.assert_exception(int, ValueError, "x")
    with pytest.raises(AssertionError):
        t.assert_exception(int, ValueError, "1")
    with pytest.raises(ValueError):
        t.assert_exception(int, KeyError, "x")
    runs = []

    def third():
        runs.append(1)
        assert len(runs) == 3

    t.retry(3)(third)()
    assert len(runs) == 3
    runs.clear()
    with pytest.raises(AssertionError):
        t.retry(2)(third)()
    with pytest.raises(ZeroDivisionError):
        t.retry(2)(lambda: 1 / 0)()


def test_same_array():
    x = nd.zeros(3)
    assert t.same_array(x, x[:])
    assert not t.same_array(x, nd.zeros(3))
    assert x.asnumpy().tolist() == [0, 0, 0]


# Random data


def test_shapes_are_drawn_as_there():
    np.random.seed(3)
    found = (
        t.rand_shape_nd(4, 7),
        t.rand_shape_2d(),
        t.rand_shape_3d(3, 4, 5),
        t.rand_coord_2d(0, 3, 5, 9),
    )
    assert found == ((3, 1, 2, 4), (9, 9), (1, 2, 4), (2, 8))
    assert t.random_sample([1, 2, 3, 4, 5], 3) == [1, 4, 3]
    assert min(t.rand_shape_nd(200, 1, allow_zero_size=True)) == 0


def test_random_arrays():
    one = t.random_arrays((2, 3))
    assert (one.shape, one.dtype) == ((2, 3), np.float32)
    assert [a.shape for a in t.random_arrays((), (1,))] == [(), (1,)]
    (found,) = t.random_uniform_arrays((100,), low=1, high=2)
    assert found.min() >= 1 and found.max() <= 2
    assert t.rand_ndarray((2, 3)).dtype == np.float32
    assert t.rand_ndarray((2, 3), dtype="float64").dtype == np.float64
    assert t.new_matrix_with_real_eigvals_nd((2, 3, 3)).shape == (2, 3, 3)
    q = t.new_orthonormal_matrix_2d(4)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-10)


def test_random_sparse_arrays():
    assert t.rand_ndarray((4, 3), "csr", density=1).stype == "csr"
    x, (data, rows) = t.rand_sparse_ndarray((4, 3), "row_sparse", density=1, data_init=2)
    assert (x.asnumpy() == 2).all() and rows.tolist() == [0, 1, 2, 3] and data.shape == (4, 3)
    x, (indptr, columns, _) = t.rand_sparse_ndarray((8, 16), "csr", 0.3, distribution="powerlaw")
    assert indptr.asnumpy().tolist() == [0, 2, 6, 14, 30, 35, 36, 37, 38]
    assert columns.asnumpy()[:6].tolist() == [0, 1, 0, 1, 2, 3]
    rows = t.create_sparse_array((4, 2), "row_sparse", 1.5, rsp_indices=[1, 2]).indices
    assert rows.asnumpy().tolist() == [1, 2]
    assert not t.create_sparse_array_zd((4, 2), "csr", 0).data.shape[0]
    with pytest.raises((ValueError, AssertionError)):
        t.rand_ndarray((4, 3), "foo")


def test_reductions():
    x = np.arange(24.0).reshape(2, 3, 4)
    assert t.np_reduce(x, (0, 1), True, np.sum).tolist() == x.sum((0, 1), keepdims=True).tolist()
    assert t.np_reduce(x, None, True, np.sum).shape == (1, 1, 1)
    assert t.np_reduce(x, -1, False, np.max).tolist() == x.max(-1).tolist()
    assert t.collapse_sum_like(x, (3, 1)).tolist() == x.sum((0, 2))[:, None].tolist()
    assert t.assign_each2(A, A, lambda a, b: a * b).tolist() == (A * A).tolist()
    assert t.assign_each(A, lambda a: a + 1).tolist() == (A + 1).tolist()


@pytest.mark.filterwarnings("ignore:`np.int`:DeprecationWarning")  # MXNet's own
def test_generators():
    buckets, probs = t.gen_buckets_probs_with_ppf(lambda p: 2 * p, 4)
    assert buckets == [(0, 0.5), (0.5, 1), (1, 1.5), (1.5, 2)]
    assert probs == [0.25] * 4
    right, wrong = lambda n: np.linspace(0, 1.999, n), lambda n: np.linspace(0, 0.9999, n) ** 2 * 2
    p, found, expected = t.chi_square_check(right, buckets, probs, nsamples=1000)
    assert (p, found.tolist(), expected.tolist()) == (pytest.approx(1), [250] * 4, [250] * 4)
    p, found, _ = t.chi_square_check(lambda n: np.arange(n) % 3, [0, 1, 2], [0.2, 0.3, 0.5], 990)
    assert (p, found.tolist()) == (pytest.approx(3.63957e-28, 1e-3), [330] * 3)
    assert len(t.verify_generator(right, buckets, probs, 1000, nrepeat=2)) == 2
    with pytest.raises(AssertionError, match="Chi-square p="):
        t.verify_generator(wrong, buckets, probs, 1000, nrepeat=2)


@pytest.mark.parametrize("n", [100, 10000])
def test_moments(n):
    ones = np.tile([-1.0, 1.0], n // 2)
    mean, variance = 3 / np.sqrt(n), (1 + 3 * np.sqrt(2 / (n - 1))) * (n - 1) / n
    assert t.mean_check(lambda k: ones + 0.99 * mean, 0, 1, n)
    assert not t.mean_check(lambda k: ones + 1.01 * mean, 0, 1, n)
    assert t.var_check(lambda k: ones * np.sqrt(variance * 0.99), 1, n)
    assert not t.var_check(lambda k: ones * np.sqrt(variance * 1.01), 1, n)


# Symbols


X, W = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 2.0], [1.0, 1.0]])


@pytest.fixture
def graph():
    x, w = mx.sym.Variable("x"), mx.sym.Variable("w")
    return mx.sym.broadcast_add(x * w, x, name="y")


def test_forward(graph):
    assert t.simple_forward(graph, x=X, w=W).tolist() == (X * W + X).tolist()
    both = t.simple_forward(mx.sym.Group([graph, graph * 2]), x=X, w=W)
    assert [y.tolist() for y in both] == [(X * W + X).tolist(), (2 * X * W + 2 * X).tolist()]
    for location in ([X, W], {"x": X, "w": W}):
        for expected in ([X * W + X], {"y_output": X * W + X}):
            (y,) = t.check_symbolic_forward(graph, location, expected)
            assert y.dtype == np.float32
    assert (
        t.check_symbolic_forward(graph, [X, W], [X * W + X], dtype="asnumpy")[0].dtype == np.float64
    )
    with pytest.raises(AssertionError, match="EXPECTED_y_output=.*, FORWARD_y_output="):
        t.check_symbolic_forward(graph, [X, W], [X * W])
    with pytest.raises(ValueError, match="do not match"):
        t.check_symbolic_forward(graph, {"x": X}, [X])


def test_backward(graph):
    g = np.ones((2, 2))
    for heads in ([g], {"y_output": g}):
        for expected in ([W + 1, X], {"x": W + 1}):
            found = t.check_symbolic_backward(graph, [X, W], heads, expected)
            assert found["x"].asnumpy().tolist() == (W + 1).tolist()
    expected = {"x": W + 1, "w": X}
    for grad_req in ("add", {"x": "null", "w": "write"}, ["null", "write"]):
        t.check_symbolic_backward(graph, [X, W], [g], expected, grad_req=grad_req)
    with pytest.raises(AssertionError, match="EXPECTED_x=.*, BACKWARD_x="):
        t.check_symbolic_backward(graph, [X, W], [g], {"x": W})


def test_numeric_gradient(graph):
    t.check_numeric_gradient(graph, [X, W])
    t.check_numeric_gradient(graph, {"x": X, "w": W}, grad_nodes=["x"], dtype=np.float64)
    t.check_numeric_gradient(graph, {"x": X, "w": W}, grad_nodes={"x": "add", "w": "null"})
    x = mx.sym.Variable("x")
    with pytest.raises(AssertionError, match="NUMERICAL_x=.*, BACKWARD_x="):
        t.check_numeric_gradient(mx.sym.BlockGrad(x) * x, [X])
    executor = graph.bind(mx.cpu(), {"x": nd.array(X), "w": nd.array(W)})
    found = t.numeric_grad(executor, {"x": X.astype("f"), "w": W.astype("f")}, eps=1 / 64)
    np.testing.assert_allclose(found["x"], W + 1, 1e-3)
    np.testing.assert_allclose(found["w"], X, 1e-3)


def test_numeric_gradient_with_states():
    data = mx.sym.Variable("data")
    norm = mx.sym.BatchNorm(data, fix_gamma=False, name="bn")
    x = np.random.RandomState(0).normal(size=(4, 2))
    location = {"data": x, "bn_gamma": np.ones(2), "bn_beta": np.zeros(2)}
    states = {"bn_moving_mean": np.zeros(2), "bn_moving_var": np.ones(2)}
    for training in (True, False):
        if training:
            t.check_numeric_gradient(norm, location, states, 1e-2, rtol=0.1, atol=0.02)
        expected = (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-3) if training else x / np.sqrt(1.001)
        if not training:
            t.check_symbolic_forward(norm, location, [expected], aux_states=states)


def test_consistency():
    square = mx.sym.square(mx.sym.Variable("x"), name="sq")
    types = [{"ctx": mx.cpu(), "x": (2, 2), "type_dict": {"x": d}} for d in ("float32", "float64")]
    found = t.check_consistency(square, types, arg_params={"x": X})
    assert {name: value.dtype for name, value in found.items()} == dict.fromkeys(found, np.float64)
    assert found["sq_output"].asnumpy().tolist() == (X**2).tolist()
    assert found["x"].asnumpy().tolist() == (2 * X**3).tolist()
    assert set(t.check_consistency(square, types, grad_req="null")) == {"sq_output"}
    wrong = {"sq_output": nd.array(X)}
    with pytest.raises(AssertionError, match="Items are not equal"):
        t.check_consistency(square, types, ground_truth=wrong, arg_params={"x": X})
    other = mx.sym.square(mx.sym.Variable("x") * 2, name="sq")
    with pytest.raises(AssertionError):
        t.check_consistency([square, other], types)
    assert t.check_speed(square, N=1, x=(2, 2)) > 0


@torch_only
def test_symbols_that_differ_are_named():
    symbols = [mx.sym.square(mx.sym.Variable("x"), name=name) for name in ("sq", "other")]
    with pytest.raises(AssertionError, match="x -> other_output and x -> sq_output"):
        t.check_consistency(symbols, [{"ctx": mx.cpu(), "x": (2, 2)}] * 2)


def test_structure(graph):
    assert t.same_symbol_structure(graph, graph)
    assert not t.same_symbol_structure(graph, mx.sym.Variable("x") * 2)


def test_optimizers():
    sgd = mx.optimizer.SGD
    t.compare_optimizer(sgd(momentum=0.9), sgd(momentum=0.9), (2, 3), "float32")
    with pytest.raises(AssertionError):
        t.compare_optimizer(sgd(), sgd(learning_rate=0.5), (2, 3), "float32")


# Files


def write_idx(path, array):
    head = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    with (gzip.open if path.endswith(".gz") else open)(path, "wb") as file:
        file.write(head + array.tobytes())


IMAGES, LABELS = np.arange(3 * 784, dtype="uint8").reshape(3, 28, 28), np.array([5, 0, 4], "uint8")


@torch_only
def test_mnist_of_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotImplementedError, match="train-labels-idx1-ubyte.gz is not there"):
        t.get_mnist()
    for name in ("train", "t10k"):
        write_idx(f"{name}-images-idx3-ubyte.gz", IMAGES)
        write_idx(f"{name}-labels-idx1-ubyte.gz", LABELS)
    found = t.get_mnist()
    assert {name: (value.shape, value.dtype) for name, value in found.items()} == {
        "train_data": ((3, 1, 28, 28), np.float32),
        "train_label": ((3,), np.int8),
        "test_data": ((3, 1, 28, 28), np.float32),
        "test_label": ((3,), np.int8),
    }
    np.testing.assert_array_equal(found["train_data"][:, 0], IMAGES.astype("f") / 255)


@torch_only
@pytest.mark.parametrize("shape", [(1, 28, 28), (784,)])
def test_mnist_iterators_of_an_archive(tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    with pytest.raises(NotImplementedError, match=r"data/mnist.zip is not there"):
        t.get_mnist_iterator(1, shape)
    with zipfile.ZipFile("data/mnist.zip", "w") as archive:
        for part in ("train", "t10k"):
            for kind, array in (("images-idx3", IMAGES), ("labels-idx1", LABELS)):
                write_idx("one", array)
                archive.write("one", f"{part}-{kind}-ubyte")
    for made in t.get_mnist_iterator(1, shape):
        batches = list(made)
        assert sorted(batch.label[0].asscalar() for batch in batches) == [0, 4, 5]
        assert batches[0].data[0].shape == (1, *shape)


@torch_only
def test_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotImplementedError, match="nothing is downloaded"):
        t.download("http://x/y.txt")
    (tmp_path / "y.txt").write_text("y")
    assert t.download("http://x/y.txt") == "y.txt"
    assert t.download("http://x/z", fname="y.txt", dirname=str(tmp_path)) == str(tmp_path / "y.txt")
    (tmp_path / "m.bz2").write_bytes(bz2.compress(b"whole"))
    t.get_bz2_data(".", "m", "http://x/m.bz2", "m.bz2")
    assert (tmp_path / "m").read_bytes() == b"whole"
    with pytest.raises(NotImplementedError, match="net-symbol.json is not there"):
        t.download_model("net")
    (tmp_path / "net-symbol.json").touch()
    (tmp_path / "net-0000.params").touch()
    assert t.download_model("net", ".") == ("net", 0)


@torch_only
@pytest.mark.parametrize("damage", ["cut", "changed", "large"])
@pytest.mark.parametrize("kind", ["bz2", "zip"])
def test_a_damaged_archive_leaves_no_file(tmp_path, monkeypatch, kind, damage):
    whole = np.random.RandomState(0).bytes(1 << 21)
    packed = tmp_path / f"m.{kind}"
    if kind == "bz2":
        packed.write_bytes(bz2.compress(whole))
    else:
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("m", whole)
    content = bytearray(packed.read_bytes())
    content[-len(content) // 3] ^= damage == "changed"
    packed.write_bytes(content[: len(content) // 3 * 2] if damage == "cut" else content)
    if damage == "large":
        monkeypatch.setattr(t, "_MOST_UNPACKED", (1 << 21) - 1)
    with pytest.raises(mx.MXNetError, match=f"m.{kind}: it cannot be unpacked"):
        if kind == "bz2":
            t.get_bz2_data(str(tmp_path), "m", f"http://x/m.{kind}", f"m.{kind}")
        else:
            t.get_zip_data(str(tmp_path), f"http://x/m.{kind}", "m")
    assert os.listdir(tmp_path) == [packed.name]


@torch_only
def test_one_file_of_an_archive_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr("a/m", b"whole")
        archive.writestr("other", b"")
    t.get_zip_data(str(tmp_path), "http://x/m.zip", "a/m")
    assert (tmp_path / "a/m").read_bytes() == b"whole"
    assert sorted(os.listdir(tmp_path)) == ["a", "m.zip"]
    with pytest.raises(mx.MXNetError, match=r"m.zip: it has no file b\n  expected it among"):
        t.get_zip_data(str(tmp_path), "http://x/m.zip", "b")


def test_dummy_iter():
    real = mx.io.NDArrayIter(np.arange(6).reshape(6, 1), np.arange(6), 2)
    dummy = t.DummyIter(real)
    assert (dummy.batch_size, dummy.provide_data) == (2, real.provide_data)
    assert [next(dummy).data[0].asnumpy().ravel().tolist() for _ in range(5)] == [[0, 1]] * 5


# The process


def test_environment(monkeypatch):
    monkeypatch.setenv("KNOWN", "a")
    monkeypatch.delenv("UNKNOWN", raising=False)
    with t.environment({"KNOWN": None, "UNKNOWN": "1"}):
        assert ("KNOWN" in os.environ, os.environ["UNKNOWN"]) == (False, "1")
        with t.environment("UNKNOWN", "2"):
            assert os.environ["UNKNOWN"] == "2"
    assert (os.environ["KNOWN"], "UNKNOWN" in os.environ) == ("a", False)
    with pytest.raises(AssertionError), t.environment("a", "b", "c"):
        pass


@torch_only
def test_stderr_is_discarded(capfd):
    with t.discard_stderr():
        os.write(2, b"hidden")
    os.write(2, b"seen")
    assert capfd.readouterr().err == "seen"


def test_context():
    assert list(t.list_gpus()) == list(range(mx.context.num_gpus()))
    with mx.cpu(0):
        t.set_default_context(mx.cpu(1))
        assert t.default_context() == nd.zeros(1).context == mx.cpu(1)
        t.set_default_context(mx.cpu(0))
    assert t.default_context() == mx.cpu(0)


def test_numeric_gradients_of_many_elements_are_not_lost_in_rounding():
    y = mx.sym.square(mx.sym.var("x"))
    x = np.random.RandomState(0).randn(20, 15)
    t.check_numeric_gradient(y, [x], atol=1e-3)
