"""Sparse arrays: what is stored of them, their conversions, and operators by storage types."""

import copy
import pickle
from itertools import product

import numpy as np
import pytest
import scipy.sparse

A = np.float32([[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 0, -5]])
B = np.float32([[0, 7, 0], [0, 0, 1], [0, 2, 0], [0, 0, 0]])
CELLS = [1, 2, 3, 4, -5], [0, 2, 1, 0, 2], [0, 2, 2, 3, 5]  # of A: data, indices, indptr
ROWS = [[1, 0, 2], [0, 3, 0], [4, 0, -5]], [0, 2, 3]
SPARSE = ("csr", "row_sparse")


@pytest.fixture
def nd(mx):
    return mx.nd


@pytest.fixture
def sparse(mx, monkeypatch):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
    return mx.nd.sparse


def parts(x):
    """What is stored of an array, as lists."""
    arrays = (x.data, x.indices, x.indptr) if x.stype == "csr" else (x.data, x.indices)
    return tuple(a.asnumpy().tolist() for a in arrays)


def same(x, expected, stype=None):
    np.testing.assert_allclose(x.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert x.shape == np.shape(expected)
    assert stype is None or x.stype == stype


# Making arrays

MADE = {  # what makes A, or what is beside it: stype, shape, dtype, what is stored
    "dense": (lambda nd, s: s.csr_matrix(nd.array(A)), "csr", (4, 3), "float32", CELLS),
    "numpy": (lambda nd, s: s.csr_matrix(A.astype("float64")), "csr", (4, 3), "float64", CELLS),
    "scipy": (
        lambda nd, s: s.csr_matrix(scipy.sparse.csr_matrix(A)),
        *("csr", (4, 3), "float32"),
        CELLS,
    ),
    "array": (
        lambda nd, s: s.array(scipy.sparse.csr_matrix(A)),
        *("csr", (4, 3), "float32"),
        CELLS,
    ),
    "nd.array": (lambda nd, s: nd.array(s.csr_matrix(A)), "csr", (4, 3), "float32", CELLS),
    "tostype": (lambda nd, s: nd.array(A).tostype("csr"), "csr", (4, 3), "float32", CELLS),
    "parts": (lambda nd, s: s.csr_matrix(CELLS, shape=(4, 3)), "csr", (4, 3), "float32", CELLS),
    "parts alone": (lambda nd, s: s.csr_matrix(CELLS), "csr", (4, 3), "float32", CELLS),
    "dtype": (lambda nd, s: s.csr_matrix(CELLS, dtype="int32"), "csr", (4, 3), "int32", CELLS),
    "places": (
        lambda nd, s: s.csr_matrix(([1.0, 2, 3, 4], ([2, 0, 0, 0], [1, 1, 0, 0])), shape=(3, 4)),
        *("csr", (3, 4), "float64"),
        ([7, 2, 1], [0, 1, 1], [0, 2, 2, 3]),
    ),
    "csr zeros": (
        lambda nd, s: s.csr_matrix((2, 3)),
        "csr",
        (2, 3),
        "float32",
        ([], [], [0, 0, 0]),
    ),
    "nd.zeros": (
        lambda nd, s: nd.zeros((1, 3), stype="csr"),
        "csr",
        (1, 3),
        "float32",
        ([], [], [0, 0]),
    ),
    "rows": (lambda nd, s: s.row_sparse_array(nd.array(A)), "row_sparse", (4, 3), "float32", ROWS),
    "rows of numpy": (
        lambda nd, s: s.row_sparse_array(A.astype("float64")),
        *("row_sparse", (4, 3), "float64"),
        ROWS,
    ),
    "row parts": (
        lambda nd, s: s.row_sparse_array(ROWS, shape=(4, 3)),
        *("row_sparse", (4, 3), "float32"),
        ROWS,
    ),
    "row parts alone": (
        lambda nd, s: s.row_sparse_array(([1.0, 2.0], [1, 3]), shape=(5,)),
        *("row_sparse", (5,), "float32"),
        ([1, 2], [1, 3]),
    ),
    "row zeros": (
        lambda nd, s: s.row_sparse_array((3, 4)),
        "row_sparse",
        (3, 4),
        "float32",
        ([], []),
    ),
    "zeros": (
        lambda nd, s: s.zeros("row_sparse", (3, 2, 2), dtype="int32"),
        *("row_sparse", (3, 2, 2), "int32"),
        ([], []),
    ),
    "empty": (
        lambda nd, s: s.empty("row_sparse", (3, 2)),
        "row_sparse",
        (3, 2),
        "float32",
        ([], []),
    ),
}


@pytest.mark.parametrize("case", MADE)
def test_made(nd, sparse, case):
    make, stype, shape, dtype, stored = MADE[case]
    x = make(nd, sparse)
    assert isinstance(x, sparse.CSRNDArray if stype == "csr" else sparse.RowSparseNDArray)
    assert (x.stype, x.shape, np.dtype(x.dtype).name) == (stype, shape, dtype)
    assert parts(x) == stored
    assert x.indices.dtype == np.int64
    x.check_format()


WRONG = {
    "sizes": lambda nd, s: s.csr_matrix(A, shape=(3, 3)),
    "three axes": lambda nd, s: nd.ones((2, 2, 2)).tostype("csr"),
    "rows as csr": lambda nd, s: s.csr_matrix(s.row_sparse_array(A)),
    "csr as rows": lambda nd, s: s.csr_matrix(A).tostype("row_sparse"),
    "stype": lambda nd, s: s.zeros("foo", (2, 2)),
    "text": lambda nd, s: s.csr_matrix("abc"),
    "four parts": lambda nd, s: s.csr_matrix((1, 2, 3, 4)),
    "array of numpy": lambda nd, s: s.array(A),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_array(nd, sparse, case):
    with pytest.raises((ValueError, TypeError)):
        WRONG[case](nd, sparse)


def test_indices_that_are_not_there(mx, nd, sparse):
    wrong = {
        "beyond": lambda: sparse.csr_matrix(([1, 2], [0, 5], [0, 2]), shape=(1, 3)),
        "below": lambda: sparse.csr_matrix(([1, 2], [-1, 1], [0, 2]), shape=(1, 3)),
        "columns twice": lambda: sparse.csr_matrix(([1, 2], [1, 1], [0, 2]), shape=(1, 3)),
        "indptr": lambda: sparse.csr_matrix(([1, 2], [0, 1], [0, 2, 1, 2]), shape=(3, 3)),
        "rows twice": lambda: sparse.row_sparse_array(([[1], [2]], [1, 1]), shape=(3, 1)),
        "beyond the rows": lambda: sparse.row_sparse_array(([[1], [2]], [1, 3]), shape=(3, 1)),
    }
    for make in wrong.values():
        with pytest.raises(mx.base.MXNetError):  # of MXNet's own by the second call
            make().check_format()


@pytest.mark.parametrize("shape", [(2,), (2, 3, 1)], ids=str)
def test_a_csr_matrix_has_two_axes(sparse, shape):
    with pytest.raises(ValueError):  # MXNet names no shape
        sparse.csr_matrix(([1.0, 2.0], [0, 1], [0, 1, 2]), shape=shape)


@pytest.mark.engine("torch")  # MXNet finds it when the values are read
def test_zeros_of_csr_have_two_axes(sparse):
    for shape in (3,), (2, 3, 1):
        with pytest.raises(ValueError, match="expected two axes"):
            sparse.zeros("csr", shape)


@pytest.mark.engine("torch")  # MXNet stores what is beyond the array, or loses one of two
def test_indices_are_checked_when_an_array_is_made(nd, sparse):
    for columns, indptr, message in (
        ([-1, 1], [0, 2, 2], r"csr \(2, 3\) has column -1, which is not one of 0 to 2"),
        ([1, 1], [0, 2, 2], "column 1, which is there twice"),
        ([0, 1], [0, 2], r"indptr of csr \(2, 3\) has 2 numbers, not 3, one more than"),
        ([0, 1], [0, 2, 1], "falls from 2 to 1 at row 1"),
        ([0, 1], [1, 1, 2], "goes from 1 to 2, not from 0 to 2, the number of values"),
        ([0, 1], [0, 1, 1], "goes from 0 to 1, not from 0 to 2"),
    ):
        with pytest.raises(ValueError, match=message):
            sparse.csr_matrix(([1, 2], columns, indptr), shape=(2, 3))
    for rows, message in (([0, 9], "9, which is not one of 0 to 3"), ([1, 1], "1, which is there")):
        with pytest.raises(ValueError, match=rf"row_sparse \(4, 1\) has row {message}"):
            sparse.row_sparse_array(([[1], [2]], rows), shape=(4, 1))
    x = sparse.csr_matrix(([1, 2, 3], [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    assert parts(x) == ([2, 1, 3], [0, 2, 1], [0, 2, 3])
    with pytest.raises(IndexError, match="from 0 to 4 of an array of 4 rows"):
        sparse.retain(sparse.row_sparse_array(A), nd.array([4, 0]))
    with pytest.raises(IndexError, match="from 5 to 5 of an array of 2 rows"):
        nd.contrib.edge_id(x, nd.array([5]), nd.array([0]))
    twice = scipy.sparse.csr_matrix(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, 3))
    assert parts(sparse.csr_matrix(twice)) == ([3], [1], [0, 1])
    assert twice.nnz == 2


@pytest.mark.engine("torch")  # MXNet keeps the order that it is given
def test_rows_in_any_order(mx, nd, sparse, tmp_path):
    """They are put in order: what is done with rows may take it that their numbers rise."""
    x = sparse.row_sparse_array((np.float32([[3], [1]]), [2, 0]), shape=(3, 1))
    assert parts(x) == ([[1], [3]], [0, 2])
    kept = x.retain(nd.array([2, 0, 2]))
    for w in (x, kept):
        assert parts(w) == ([[1], [3]], [0, 2])
        mx.nd.sgd_update(w, sparse.row_sparse_array(([[1]], [0]), shape=(3, 1)), lr=1, out=w)
        assert parts(w) == ([[0], [3]], [0, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x.retain(nd.array([2, 0, 2]))
    y.backward()
    same(x.grad, np.float32([[1], [0], [1]]))


# Copies and conversions


@pytest.mark.parametrize("stype", SPARSE)
def test_conversions(mx, nd, sparse, stype):
    x = nd.array(A).tostype(stype)
    same(x.tostype("default"), A, "default")
    same(nd.cast_storage(x, stype="default"), A, "default")
    same(nd.cast_storage(nd.array(A), stype), A, stype)
    same(x.astype("float64"), A, stype)
    assert x.astype("float32", copy=False) is x
    for y in (x.copy(), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.copyto(mx.cpu(1))):
        assert parts(y) == parts(x)
    assert x.as_in_context(mx.cpu(1)).context == mx.cpu(1)
    same(x.copyto(nd.zeros((4, 3))), A, "default")
    same(nd.array(A).copyto(sparse.zeros(stype, (4, 3))), A, stype)
    assert parts(x.copyto(sparse.zeros(stype, (4, 3)))) == parts(x)
    name = type(x).__name__
    assert (repr(x), len(x), x.ndim) == (f"\n<{name} 4x3 @cpu(0)>", 4, 2)
    x.data[:] = 0  # a copy
    same(x, A)
    with pytest.raises(mx.base.NotSupportedForSparseNDArray):
        x.reshape((3, 4))


def test_states_of_old_pickles(mx, nd, sparse):
    for stype in SPARSE:
        x, y = nd.array(A).tostype(stype), sparse.zeros(stype, (1, 3))
        y.__setstate__(x.__getstate__())
        assert parts(y) == parts(x) and y.shape == (4, 3)


@pytest.mark.engine("torch")  # MXNet's errors are of two types, and name no way
@pytest.mark.parametrize("stype, other", [SPARSE, SPARSE[::-1]], ids=SPARSE)
def test_from_one_sparse_storage_type_to_the_other(mx, nd, stype, other):
    x = nd.array(A).tostype(stype)
    for cast in (lambda: x.tostype(other), lambda: nd.cast_storage(x, other)):
        with pytest.raises(mx.base.ArgumentError, match=f"'{other}'\n  expected 'default' in b"):
            cast()


@pytest.mark.engine("torch")  # MXNet's arrays become of the other storage type
def test_states_of_another_storage_type(nd, sparse):
    for x, y in ((nd.ones(2), sparse.csr_matrix(A)), (sparse.csr_matrix(A), nd.ones(2))):
        with pytest.raises(ValueError, match="storage type '(csr|default)'\n  expected '"):
            x.__setstate__(y.__getstate__())


def test_scipy(sparse):
    x = sparse.csr_matrix(A).asscipy()
    assert isinstance(x, scipy.sparse.csr_matrix) and (x.toarray() == A).all()


KEYS = [0, 2, -1, slice(1, 3), slice(None), slice(-2, None), slice(2, 9)]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_rows_of_csr(sparse, key):
    x = sparse.csr_matrix(A)[key]
    same(x, A[key].reshape(-1, 3), "csr")
    x.check_format()


def test_keys_that_are_refused(sparse):
    x, y = sparse.csr_matrix(A), sparse.row_sparse_array(A)
    for key in (slice(0, 4, 2), (1, 2)):
        with pytest.raises(ValueError):
            x[key]
    assert y[:] is y
    with pytest.raises(Exception, match=r"\[:\]"):
        y[1:2]


@pytest.mark.filterwarnings("ignore:Assigning non-NDArray")  # of MXNet
@pytest.mark.parametrize("stype", SPARSE)
def test_writing(nd, sparse, stype):
    x = sparse.zeros(stype, (4, 3))
    for value in (A, nd.array(B), nd.array(A).tostype(stype)):
        x[:] = value
        same(x, value if value is A else value.asnumpy(), stype)
    for key, value in ((0, 1), (slice(0, 2), 1), (slice(None), A.tolist()), (slice(None), B[:2])):
        with pytest.raises(Exception, match="."):  # MXNet's are of several types
            x[key] = value
    same(x, A)
    y = sparse.row_sparse_array(A)
    y[:] = 2
    same(y, np.full((4, 3), 2), "row_sparse")


# Operators: the storage type of the result, and its values

ZERO_STAYS = """
abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p make_loss
negative radians relu rint round sign sin sinh sqrt square stop_gradient tan tanh trunc
"""
ZERO_GOES = ["arccos", "cos", "cosh", "exp", "gamma", "log", "sigmoid", "rsqrt"]


@pytest.mark.parametrize("stype", SPARSE)
def test_operators_of_one_array(nd, sparse, stype):
    a = np.clip(np.abs(A) / 8, 0, 1)
    x = nd.array(a).tostype(stype)
    for name in [*ZERO_STAYS.split(), *ZERO_GOES]:
        y = getattr(sparse, name)(x)
        same(
            y,
            getattr(nd, name)(nd.array(a)).asnumpy(),
            stype if name not in ZERO_GOES else "default",
        )
    same(x.sqrt(), np.sqrt(a), stype)
    same(nd.zeros_like(x), np.zeros_like(a), stype)
    same(nd.identity(x), a, stype)
    same(nd.clip(x, -1, 0.25), np.clip(a, -1, 0.25), stype)


SCALARS = {  # with a number: whether the result is sparse
    "x * 2": (lambda x: x * 2, True),
    "2 * x": (lambda x: 2 * x, True),
    "x / 2": (lambda x: x / 2, True),
    "-x": (lambda x: -x, True),
    "x + 0": (lambda x: x + 0, True),
    "x + 2": (lambda x: x + 2, False),
    "2 - x": (lambda x: 2 - x, False),
    "x == 1": (lambda x: x == 1, True),
    "x > 0": (lambda x: x > 0, True),
    "x ** 2": (lambda x: x**2, False),
}


@pytest.mark.parametrize("stype, case", [*product(SPARSE, SCALARS)])
def test_numbers(nd, sparse, stype, case):
    function, stays = SCALARS[case]
    same(function(nd.array(A).tostype(stype)), function(A), stype if stays else "default")


BINARY = {  # of two arrays of one shape: the storage type of the result
    ("add", "row_sparse", "row_sparse"): "row_sparse",
    ("add", "csr", "csr"): "csr",
    ("add", "csr", "default"): "default",
    ("add", "csr", "row_sparse"): "default",
    ("subtract", "row_sparse", "row_sparse"): "row_sparse",
    ("subtract", "csr", "csr"): "csr",
    ("multiply", "row_sparse", "row_sparse"): "row_sparse",
    ("multiply", "csr", "csr"): "csr",
    ("multiply", "csr", "default"): "csr",
    ("multiply", "default", "csr"): "csr",
    ("multiply", "row_sparse", "default"): "row_sparse",
    ("multiply", "default", "row_sparse"): "row_sparse",
    ("multiply", "csr", "row_sparse"): "default",
    ("divide", "default", "row_sparse"): "default",
}


@pytest.mark.parametrize("case", BINARY, ids="-".join)
def test_two_arrays(nd, sparse, case):
    name, *stypes = case
    a, b = A, B if name != "divide" else B + 10
    x, y = nd.array(a).tostype(stypes[0]), nd.array(b).tostype(stypes[1])
    expected = getattr(np, name)(a, b)
    z = getattr(sparse, name)(x, y)
    same(z, expected, BINARY[case])
    if stypes[0] != "default":
        operator = {"add": "__add__", "subtract": "__sub__", "multiply": "__mul__"}[name]
        same(getattr(x, operator)(y), expected, BINARY[case])


def test_broadcasting(nd, sparse):
    x = sparse.csr_matrix(A)
    for b in (np.float32([1, 2, 4]), np.float32([[1], [2], [4], [8]]), np.float32([2])):
        same(sparse.multiply(x, nd.array(b)), A * b, "csr")
        same(sparse.divide(x, nd.array(b)), A / b, "csr")
        same(sparse.add(x, nd.array(b)), A + b, "default")


def test_in_place(nd, sparse):
    for stype, other in (("csr", "row_sparse"), ("row_sparse", "csr")):
        for b in (nd.array(B), nd.array(B).tostype(other)):
            x = nd.array(A).tostype(stype)
            x += b
            same(x, A + B, stype)
            x *= 2
            same(x, 2 * (A + B), stype)
    dense = nd.array(A)
    dense -= sparse.csr_matrix(B)
    same(dense, A - B, "default")


def test_sums(nd, sparse):
    for stype, axis, keepdims in product(SPARSE, (None, 0, 1, (0, 1)), (False, True)):
        x, d = nd.array(A).tostype(stype), nd.array(A)
        options = {"keepdims": keepdims} if axis is None else {"axis": axis, "keepdims": keepdims}
        for name in ("sum", "mean", "norm"):
            same(getattr(sparse, name)(x, **options), getattr(nd, name)(d, **options).asnumpy())
    rows = sparse.row_sparse_array(A)
    y = nd._internal._square_sum(rows, axis=1, keepdims=True)
    assert y.stype == "row_sparse" and parts(y) == ([[5], [9], [41]], [0, 2, 3])
    same(nd._internal._square_sum(rows, axis=0), (A * A).sum(0), "default")


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_of_integers_and_of_no_axis(mx, nd, sparse, name):
    x = sparse.csr_matrix(A, dtype="int32")
    y = getattr(sparse, name)(x, axis=1)
    expected = getattr(nd, name)(nd.array(A, dtype="int32"), axis=1)
    assert y.dtype == np.int32 and y.asnumpy().tolist() == expected.asnumpy().tolist()
    for axis in (5, -3, (0, 0)):
        with pytest.raises((mx.base.MXNetError, ValueError)):
            getattr(sparse, name)(x, axis=axis).wait_to_read()


@pytest.mark.engine("torch")  # MXNet has no norm of integers
def test_norm_of_integers(nd, sparse):
    x = nd.array(A, dtype="int32")
    assert sparse.norm(x.tostype("csr")).dtype == nd.norm(x).dtype
    assert sparse.norm(sparse.zeros("csr", (2, 3))).asscalar() == 0


def test_several_arrays(nd, sparse):
    x, y, c = sparse.row_sparse_array(A), sparse.row_sparse_array(B), sparse.csr_matrix(A)
    same(sparse.add_n(x, y, x), 2 * A + B, "row_sparse")
    same(sparse.add_n(x, nd.array(B), x), 2 * A + B, "default")
    same(sparse.concat(c, sparse.csr_matrix(B), dim=0), np.concatenate([A, B]), "csr")
    same(sparse.concat(c, c, dim=1), np.concatenate([A, A], 1), "default")
    same(sparse.where(c, nd.ones((4, 3)), nd.zeros((4, 3))), A != 0, "default")


def test_parts(nd, sparse):
    x = sparse.csr_matrix(A)
    same(sparse.slice(x, begin=(0, 0), end=(3, 2)), A[:3, :2], "csr")
    same(sparse.slice(x, begin=(-3, -2), end=(4, 3)), A[-3:, -2:], "csr")
    same(x.slice(begin=1, end=3), A[1:3], "csr")
    same(nd.take(x, nd.array([3, 0])), A[[3, 0]], "csr")
    same(sparse.slice(sparse.row_sparse_array(A), begin=(1,), end=(3,)), A[1:3], "default")
    kept = sparse.retain(sparse.row_sparse_array(A), nd.array([0, 1, 3]))
    assert parts(kept) == ([[1, 0, 2], [0, 0, 0], [4, 0, -5]], [0, 1, 3])
    same(nd.contrib.getnnz(x), [5])
    same(nd.contrib.edge_id(x, nd.array([0, 0, 2]), nd.array([0, 1, 1])), [1, -1, 3])
    same(nd.contrib.edge_id(x, nd.array([1, 1]), nd.array([4, -1])), [-1, -1])


PRODUCTS = {  # lhs, rhs, transpose_a, transpose_b: the storage type of the product
    ("csr", "default", False, False): "default",
    ("csr", "default", True, False): "row_sparse",
    ("csr", "row_sparse", False, False): "default",
    ("csr", "default", False, True): "default",
    ("default", "csr", False, False): "csr",
    ("default", "csr", False, True): "csr",
    ("default", "csr", True, False): "default",
    ("csr", "csr", False, False): "default",
    ("row_sparse", "default", False, False): "default",
}


@pytest.mark.parametrize("case", PRODUCTS, ids=str)
def test_products(nd, sparse, case):
    *stypes, first, second = case
    a, b = A, np.float32([[1, 0, 0, 2], [0, 0, 0, 0], [3, 4, 0, 5]])
    x = nd.array(a.T if first else a).tostype(stypes[0])
    y = nd.array(b.T if second else b).tostype(stypes[1])
    options = {"transpose_a": first, "transpose_b": second}
    same(sparse.dot(x, y, **options), a @ b, PRODUCTS[case])
    for stype in ("default", "row_sparse", "csr"):
        same(sparse.dot(x, y, forward_stype=stype, **options), a @ b, stype)


def test_a_transposed_product_has_the_rows_that_are_used(nd, sparse):
    x = sparse.csr_matrix(([1.0, 4.0], [0, 0], [0, 1, 1, 2]), shape=(3, 4))
    assert parts(sparse.dot(x, nd.ones((3, 2)), transpose_a=True)) == ([[5, 5]], [0])
    nothing = sparse.dot(sparse.zeros("csr", (3, 4)), nd.ones((3, 2)), transpose_a=True)
    assert nothing.stype == "row_sparse" and nothing.data.shape == (0, 2)


def test_out(nd, sparse):
    x = sparse.csr_matrix(A)
    for stype in ("default", *SPARSE):
        same(sparse.square(x, out=nd.zeros((4, 3)).tostype(stype)), A * A, stype)
        same(nd.square(nd.array(A), out=nd.zeros((4, 3)).tostype(stype)), A * A, stype)
    assert (
        nd.random.uniform(shape=(2, 2), out=sparse.zeros("row_sparse", (2, 2))).stype != "default"
    )


@pytest.mark.engine("torch")  # MXNet has not dot(csr.T, row_sparse) as a dense array
def test_transposed_product_with_rows(nd, sparse):
    x, y = sparse.csr_matrix(A), sparse.row_sparse_array(B)
    for stype in ("default", "row_sparse", "csr"):
        same(sparse.dot(x, y, transpose_a=True, forward_stype=stype), A.T @ B, stype)


@pytest.mark.engine("torch")  # MXNet's library writes to stderr itself
def test_dense_copies_are_told_once(nd, caplog, monkeypatch):
    monkeypatch.delenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", raising=False)
    monkeypatch.setattr("layers.mxnet._sparse.call._warned", set())
    x = nd.array(A).tostype("csr")
    for _ in range(2):
        nd.cosh(x)
    assert [r.getMessage().split(";")[0] for r in caplog.records] == [
        "cosh of storage types csr is computed of dense copies"
    ]


@pytest.mark.engine("torch")
def test_what_differs_from_mxnet(nd, sparse):
    x = sparse.csr_matrix(A)
    with pytest.raises(NotImplementedError, match=r"'csr', \(4, 3\).*\n.*tostype\('default'\)"):
        x.to_torch()
    assert x[3:1].shape == (0, 3)
    dense = nd.ones((4, 3))
    dense[:] = x
    same(dense, A)
    with pytest.raises(IndexError, match=r"x\[5\] of a matrix of 4 rows"):
        x[5]
    with pytest.raises(ValueError, match=r"4 values.*3 rows"):
        sparse.csr_matrix(([1, 2, 3, 4], ([0, 1, 2], [0, 1, 2])))


# Memory


@pytest.mark.engine("torch")
def test_memory_grows_with_the_rows_that_are_used(mx, nd, sparse):
    """Of 10 million rows of 64 numbers, which would take 2.6 GB, a few are used."""
    rows, few = 10_000_000, [3, 5_000_000, 9_999_999]
    w = sparse.row_sparse_array((np.ones((3, 64), "float32"), few), shape=(rows, 64))
    w.attach_grad()
    x = sparse.csr_matrix(([2.0, 3.0], [5_000_000, 3], [0, 1, 2]), shape=(2, rows))
    with mx.autograd.record():
        y = (
            sparse.dot(x, w).sum()
            + nd.Embedding(
                nd.array([9_999_999], dtype="int32"),
                w,
                input_dim=rows,
                output_dim=64,
                sparse_grad=True,
            ).sum()
        )
    y.backward()
    assert y.asscalar() == 5 * 64 + 64
    assert w.grad.indices.asnumpy().tolist() == few
    assert w.grad.data.asnumpy()[:, 0].tolist() == [3, 2, 1]
    total = w + sparse.retain(w, nd.array(few[:1])) * 2
    assert (total.stype, total.data.shape) == ("row_sparse", (3, 64))


@pytest.mark.parametrize("kind", ["list", "numpy", "ndarray"])
def test_indices_in_floating_point_lose_what_is_behind_the_point(mx, kind):
    """As in MXNet, whose `nd.array` makes float32 of whole numbers."""
    made = {"list": list, "numpy": np.array, "ndarray": mx.nd.array}[kind]
    csr = mx.nd.sparse.csr_matrix(
        (made([1.0, 2.0, 3.0]), made([0.0, 1.7, 2.0]), made([0.0, 2.5, 3.0])), shape=(2, 4)
    )
    assert csr.asnumpy().tolist() == [[1, 2, 0, 0], [0, 0, 3, 0]]
    rows = mx.nd.sparse.row_sparse_array((np.ones((2, 2)), made([0.0, 2.5])), shape=(4, 2))
    assert rows.indices.asnumpy().tolist() == [0, 2]
    assert rows.indices.dtype == csr.indices.dtype == np.int64


@pytest.mark.parametrize("stype", ["row_sparse", "csr", "default"])
def test_a_product_of_dense_matrices_in_the_storage_type_asked_for(mx, stype):
    x, y = mx.nd.array([[1, 0], [0, 0]]), mx.nd.array([[1, 2], [3, 4]])
    x.attach_grad()
    with mx.autograd.record():
        z = mx.nd.dot(x, y, forward_stype=stype)
    z.backward()
    assert (z.stype, z.asnumpy().tolist()) == (stype, [[1, 2], [0, 0]])
    assert x.grad.asnumpy().tolist() == [[3, 7], [3, 7]]
    graph = mx.sym.dot(mx.sym.var("x"), mx.sym.var("y"), forward_stype=stype)
    (z,) = graph.bind(mx.cpu(), {"x": x, "y": y}).forward()
    assert (z.stype, z.asnumpy().tolist()) == (stype, [[1, 2], [0, 0]])
    z = mx.nd.batch_dot(mx.nd.ones((1, 2, 3)), mx.nd.ones((1, 3, 2)), forward_stype=stype)
    assert (z.stype, z.asnumpy().tolist()) == ("default", [[[3, 3], [3, 3]]])
