"""NDArray: making arrays, arithmetic, dtypes, copies, printing, pickling. Indexing: test_index."""

import copy
import pickle

import numpy as np
import pytest

FLOATS = ("float16", "float32", "float64")
INTS = ("uint8", "int8", "int32", "int64")


@pytest.fixture
def nd(mx):
    return mx.nd


@pytest.fixture
def a(nd):
    """0 to 11 in three rows, float32."""
    return nd.array(np.arange(12).reshape(3, 4))


torch_only = pytest.mark.engine("torch")


def same(array, expected, dtype="float32"):
    expected = np.asarray(expected, dtype)
    assert np.dtype(array.dtype) == expected.dtype
    assert array.shape == expected.shape
    np.testing.assert_array_equal(array.asnumpy(), expected)


# Making arrays

SOURCES = {
    "list": ([1, 2], [1, 2]),
    "tuple": ((1, 2.5), [1, 2.5]),
    "nested": ([[1, 2], (3, 4)], [[1, 2], [3, 4]]),
    "empty": ([], []),
    "empty rows": ([[]], np.zeros((1, 0))),
    "int": (3, 3),
    "float": (3.5, 3.5),
    "numpy scalar": (np.float64(3), 3),
    "0-dim": (np.array(3, "int32"), 3),
    "bools": ([True, False], [1, 0]),
    "range": (range(3), [0, 1, 2]),
    "list of numpy": ([np.array([1, 2]), np.array([3, 4])], [[1, 2], [3, 4]]),
    "negative strides": (np.arange(6).reshape(2, 3)[::-1], [[3, 4, 5], [0, 1, 2]]),
    "not contiguous": (np.arange(6).reshape(2, 3).T, [[0, 3], [1, 4], [2, 5]]),
    "every second": (np.arange(6)[::2], [0, 2, 4]),
    "big-endian": (np.arange(3, dtype=">f4"), [0, 1, 2]),
    "big-endian ints": (np.arange(3, dtype=">i8"), [0, 1, 2]),
    "uint16": (np.arange(3, dtype="uint16"), [0, 1, 2]),
    "broadcast": (np.broadcast_to(np.float32(7), (2, 2)), [[7, 7], [7, 7]]),
}


@pytest.mark.parametrize("source, expected", SOURCES.values(), ids=SOURCES)
def test_array_is_float32(nd, source, expected):
    same(nd.array(source), expected)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS, "bool"])
def test_array_of_numpy_is_float32_unless_told(nd, dtype):
    source = np.array([[0, 1], [2, 3]]).astype(dtype)
    same(nd.array(source), source, "float32")
    same(nd.array(source, dtype=dtype), source, dtype)
    same(nd.array(source.tolist(), dtype=np.dtype(dtype)), source, dtype)
    same(nd.array(source, dtype=np.dtype(dtype).type), source, dtype)


def test_array_casts_as_c_does(nd):
    same(nd.array([1.7, -1.7], dtype="int32"), [1, -1], "int32")
    same(nd.array(np.array([300, -1]), dtype="uint8"), [44, 255], "uint8")
    same(nd.array([1.7, 300], dtype="uint8"), [1, 44], "uint8")
    same(nd.array([1], dtype=int), [1], "int64")
    same(nd.array([1], dtype=float), [1], "float64")


def test_array_of_an_array_keeps_its_dtype(mx, nd):
    source = nd.array([1, 2], dtype="int32")
    same(nd.array(source), [1, 2], "int32")
    same(nd.array(source, dtype="float64"), [1, 2], "float64")
    assert nd.array(nd.array([1], ctx=mx.cpu(1))).context == mx.cpu(0)
    assert nd.array(source, ctx=mx.cpu(1)).context == mx.cpu(1)


def test_array_copies(nd):
    values = np.ones(3, "float32")
    x = nd.array(values)
    values[0] = 7
    same(x, [1, 1, 1])
    y = nd.array(x)
    y[0] = 7
    same(x, [1, 1, 1])


def test_array_of_a_read_only_array(nd):
    values = np.ones(3, "float32")
    values.flags.writeable = False
    x = nd.array(values)
    x[:] = 2
    same(x, [2, 2, 2])
    assert values[0] == 1


@pytest.mark.engine("torch")  # MXNet refuses a list of its own arrays
def test_array_of_arrays(nd):
    same(nd.array([nd.array([1, 2]), nd.array([3, 4])]), [[1, 2], [3, 4]])
    same(nd.array([nd.array([1, 2], dtype="int32")], dtype="int32"), [[1, 2]], "int32")


@pytest.mark.engine("torch")  # MXNet names dtypes by NumPy's; it prints bfloat16 as raw bits
def test_bfloat16(nd):
    x = nd.array([1.0, 1 / 3], dtype="bfloat16")
    assert np.dtype(x.dtype).names == ("bfloat16",)
    y = x + x
    assert y.dtype == x.dtype
    same(y.astype("float32"), [2, 0.66796875])
    assert y.asnumpy().dtype == np.float32
    assert pickle.loads(pickle.dumps(x)).dtype == x.dtype
    assert nd.array(x).dtype == x.dtype


MADE = {
    "zeros(3)": (lambda nd: nd.zeros(3), np.zeros(3)),
    "zeros((2,3))": (lambda nd: nd.zeros((2, 3)), np.zeros((2, 3))),
    "zeros([2,3])": (lambda nd: nd.zeros([2, 3]), np.zeros((2, 3))),
    "zeros(out=)": (lambda nd: nd.zeros(2, out=nd.ones(2)), [0, 0]),
    "zeros(stype=)": (lambda nd: nd.zeros(2, stype="default"), [0, 0]),
    "ones(shape=)": (lambda nd: nd.ones(shape=(2, 1)), [[1], [1]]),
    "full": (lambda nd: nd.full((2,), 7.5), [7.5, 7.5]),
    "full(int)": (lambda nd: nd.full(2, 7), [7, 7]),
    "full(bool)": (lambda nd: nd.full((2,), True), [1, 1]),
    "full(array)": (lambda nd: nd.full((2,), nd.array([3])), [3, 3]),
    "full(out=)": (lambda nd: nd.full((2,), 4, out=nd.zeros(2)), [4, 4]),
    "arange(3)": (lambda nd: nd.arange(3), [0, 1, 2]),
    "arange(1,4)": (lambda nd: nd.arange(1, 4), [1, 2, 3]),
    "arange(1,3,0.5)": (lambda nd: nd.arange(1, 3, 0.5), [1, 1.5, 2, 2.5]),
    "arange(4,1,-1)": (lambda nd: nd.arange(4, 1, -1), [4, 3, 2]),
    "arange(repeat=2)": (lambda nd: nd.arange(2, repeat=2), [0, 0, 1, 1]),
    "arange(0.5,3)": (lambda nd: nd.arange(0.5, 3), [0.5, 1.5, 2.5]),
    "eye(2)": (lambda nd: nd.eye(2), np.eye(2)),
    "eye(2,3,1)": (lambda nd: nd.eye(2, 3, 1), np.eye(2, 3, 1)),
    "eye(3,0,-1)": (lambda nd: nd.eye(3, 0, -1), np.eye(3, k=-1)),
    "linspace": (lambda nd: nd.linspace(0, 1, 5), [0, 0.25, 0.5, 0.75, 1]),
    "linspace(endpoint=)": (lambda nd: nd.linspace(0, 4, 4, endpoint=False), [0, 1, 2, 3]),
    "linspace(1)": (lambda nd: nd.linspace(0, 1, 1), [0]),
    "concatenate": (
        lambda nd: nd.concatenate([nd.ones((1, 2)), nd.zeros((2, 2))]),
        [[1, 1], [0, 0], [0, 0]],
    ),
    "concatenate(axis=1)": (
        lambda nd: nd.concatenate([nd.ones((2, 1)), nd.zeros((2, 1))], axis=1),
        [[1, 0], [1, 0]],
    ),
    "onehot_encode": (
        lambda nd: nd.onehot_encode(nd.array([1, 0, 2]), nd.ones((3, 3))),
        [[0, 1, 0], [1, 0, 0], [0, 0, 1]],
    ),
}


@pytest.mark.parametrize("make, expected", MADE.values(), ids=MADE)
def test_made(nd, make, expected):
    same(make(nd), expected)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_made_in_a_dtype(nd, dtype):
    same(nd.zeros((2,), dtype=dtype), [0, 0], dtype)
    same(nd.ones((2,), dtype=dtype), [1, 1], dtype)
    same(nd.full((2,), 7.5, dtype=dtype), np.array([7.5, 7.5]).astype(dtype), dtype)
    same(nd.arange(3, dtype=dtype), [0, 1, 2], dtype)
    same(nd.eye(2, dtype=dtype), np.eye(2), dtype)
    same(nd.linspace(0, 10, 3, dtype=dtype), [0, 5, 10], dtype)
    assert np.dtype(nd.empty((2,), dtype=dtype).dtype) == dtype


def test_made_on_a_context(mx, nd):
    there = mx.cpu(1)
    for x in (
        nd.array([1], ctx=there),
        nd.zeros((2,), there),
        nd.ones((2,), ctx=there),
        nd.full((2,), 1, ctx=there),
        nd.empty((2,), there),
        nd.arange(2, ctx=there),
        nd.eye(2, ctx=there),
        nd.linspace(0, 1, 2, ctx=there),
    ):
        assert x.context == x.ctx == there
    with there:
        assert nd.zeros((2,)).context == there


def test_moveaxis(nd):
    x = nd.zeros((2, 3, 4))
    assert nd.moveaxis(x, 0, -1).shape == (3, 4, 2)
    assert nd.moveaxis(x, [0, 1], [-1, 0]).shape == (3, 4, 2)
    assert nd.moveaxis(x, (2, 0), (0, 1)).shape == (4, 2, 3)
    assert nd.moveaxis(x, range(3), range(3)).shape == (2, 3, 4)
    for source, destination in (([0, 1], [-1]), (5, 0)):
        with pytest.raises(ValueError):
            nd.moveaxis(x, source, destination)


def test_split_v2(nd, a):
    left, right = nd.split_v2(a, 2, axis=1)
    same(left, [[0, 1], [4, 5], [8, 9]])
    same(right, [[2, 3], [6, 7], [10, 11]])
    assert [x.shape for x in nd.split_v2(a, (1, 3), axis=1)] == [(3, 1), (3, 2), (3, 1)]
    assert [x.shape for x in a.split_v2(3, squeeze_axis=True)] == [(4,)] * 3
    with pytest.raises(ValueError):
        nd.split_v2(a, 5)


def test_histogram(nd):
    x = nd.array([1, 2, 1, 4])
    count, edges = nd.histogram(x, bins=4, range=(0, 8))
    same(count, [2, 1, 1, 0], "int64")
    same(edges, [0, 2, 4, 6, 8])
    count, edges = nd.histogram(x, bins=nd.array([0, 2, 5]))
    same(count, [2, 2], "int64")
    count, edges = nd.histogram(x, 2, (1, 1))
    same(count, [0, 2], "int64")
    same(edges, [0.5, 1, 1.5])
    _, edges = nd.histogram(x.astype("float64"), 2, (1, 2))
    same(edges, [1, 1.5, 2], "float64")


@pytest.mark.parametrize(
    "low, high, counts, edges",
    [
        (0, 8.5, [1, 3, 1], [0, 2, 5, 8]),
        (-2.5, 3, [0, 0, 4], [-2, 0, 1, 3]),
        (1.5, 4, [0, 2, 1], [1, 2, 3, 4]),
    ],
)
def test_histogram_of_integers_has_integer_edges(nd, low, high, counts, edges):
    found = nd.histogram(nd.array([1, 2, 2, 3, 7], dtype="int32"), 3, (low, high))
    same(found[0], counts, "int64")
    same(found[1], edges, "int32")


@pytest.mark.filterwarnings("ignore:range is not specified")  # MXNet, which asks NumPy
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_histogram_from_least_to_most(nd, dtype):
    count, edges = nd.histogram(nd.array([1, 2, 1, 4], dtype=dtype), bins=4)
    same(count, [2, 1, 0, 1])
    same(edges, [1, 1.75, 2.5, 3.25, 4])


@pytest.mark.engine("torch")
def test_histogram_refuses(nd):
    with pytest.raises(ValueError, match=r"range is \(2, 1\)"):
        nd.histogram(nd.array([1, 2]), 3, (2, 1))
    with pytest.raises(TypeError, match="bins is 2.5"):
        nd.histogram(nd.array([1, 2]), 2.5)


# Arithmetic

X = [[-7.5, 2.0], [3.0, 0.5]]
Y = [[2.0, -3.0], [3.0, 4.0]]
OPERATORS = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "%": lambda x, y: x % y,
    "**": lambda x, y: x**y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
}
TOLERANCE = {"float16": 1e-3, "float32": 1e-6, "float64": 1e-12}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("operate", OPERATORS.values(), ids=OPERATORS)
def test_operator(nd, operate, dtype):
    x, y = np.abs(X).astype(dtype), np.array(Y, dtype)
    pairs = [
        (operate(nd.array(x, dtype=dtype), nd.array(y, dtype=dtype)), operate(x, y)),
        (operate(nd.array(x, dtype=dtype), 3), operate(x, np.array(3, dtype))),
        (operate(2.5, nd.array(x, dtype=dtype)), operate(np.array(2.5, dtype), x)),
        (operate(nd.array(x, dtype=dtype), nd.array(y[:1], dtype=dtype)), operate(x, y[:1])),
        (operate(nd.array(x, dtype=dtype), nd.array(y[:, :1], dtype=dtype)), operate(x, y[:, :1])),
        (operate(nd.array(x, dtype=dtype), np.float32(3)), operate(x, np.array(3, dtype))),
    ]
    for result, expected in pairs:
        assert result.dtype == np.dtype(dtype).type
        np.testing.assert_allclose(result.asnumpy(), expected.astype(dtype), TOLERANCE[dtype])


def test_remainder_has_the_sign_of_the_divisor(nd):
    x = nd.array([-7.5, 7.5])
    same(x % 3, [1.5, 1.5])
    same(x % -3, [-1.5, -1.5])
    same(x % 0, [0, 0])


def test_floats_divide_by_zero(nd):
    same(nd.array([-1, 0, 1]) / 0, [-np.inf, np.nan, np.inf])


INTEGER = {  # of [1, 2, 3] or [-7, 7]
    "i/i": (lambda i, j: i / i, [1, 1, 1]),
    "i/2": (lambda i, j: i / 2, [0, 1, 1]),
    "2/i": (lambda i, j: 2 / i, [2, 1, 0]),
    "i+1.7": (lambda i, j: i + 1.7, [2, 3, 4]),
    "i*0.5": (lambda i, j: i * 0.5, [0, 0, 0]),
    "1.5-i": (lambda i, j: 1.5 - i, [0, -1, -2]),
    "i==1.5": (lambda i, j: i == 1.5, [1, 0, 0]),
    "i>1.5": (lambda i, j: i > 1.5, [0, 1, 1]),
    "i+True": (lambda i, j: i + True, [2, 3, 4]),
    "7%i": (lambda i, j: 7 % i, [0, 1, 1]),
    "i**2": (lambda i, j: i**2, [1, 4, 9]),
    "2**i": (lambda i, j: 2**i, [2, 4, 8]),
    "-i": (lambda i, j: -i, [-1, -2, -3]),
    "abs(-i)": (lambda i, j: abs(-i), [1, 2, 3]),
    "j/2": (lambda i, j: j / 2, [-3, 3]),
    "j%3": (lambda i, j: j % 3, [2, 1]),
    "j%-3": (lambda i, j: j % -3, [-1, -2]),
    "j**-1": (lambda i, j: j**-1, [0, 0]),
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("operate, expected", INTEGER.values(), ids=INTEGER)
def test_integers_stay_integers(nd, operate, expected, dtype):
    i, j = nd.array([1, 2, 3], dtype=dtype), nd.array([-7, 7], dtype=dtype)
    same(operate(i, j), expected, dtype)


def test_uint8_wraps_around(nd):
    u = nd.array([250, 3], dtype="uint8")
    same(u + 10, [4, 13], "uint8")
    same(u - 4, [246, 255], "uint8")
    same(-u, [6, 253], "uint8")
    same(u * -1, [6, 253], "uint8")
    same(u**2, [36, 9], "uint8")
    same(u / 2, [125, 1], "uint8")


def test_bools_with_numbers_are_int64(nd):
    b = nd.array([True, False], dtype=bool)
    same(b + 1, [2, 1], "int64")
    same(b * 2.5, [2, 0], "int64")
    same(b == True, [1, 0], "int64")  # noqa: E712 - the operator is what is tested
    same(b > 0, [1, 0], "int64")
    same(-b, [-1, 0], "int64")


@pytest.mark.parametrize("true", [True, np.bool_(True)], ids=repr)
def test_bools_are_numbers(nd, true):
    x = nd.array([1.5, -2])
    same(x - true, [0.5, -3])
    same(true - x, [-0.5, 3])
    same(nd.maximum(x, true), [1.5, 1])
    same(nd.array([3, 4], dtype="int32") - true, [2, 3], "int32")


def test_integers_of_any_size_are_numbers(nd):
    same(nd.array([1, -2]) * 10**24, [1e24, -2e24])
    same(nd.array([1, -2]) < 10**24, [1, 1])


# Numbers that the integers of an array cannot be. MXNet's C code casts them, which the language
# leaves undefined: mostly to the least integer, and to 0 in 8 bits.

LARGE = 1e10, float("inf"), 10**24


@torch_only
@pytest.mark.parametrize("number", LARGE)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_integers_compare_with_larger_numbers(nd, dtype, number):
    x = nd.array([1, 2], dtype=dtype)
    for less in (x < number, x <= number, x != number, number > x, number >= x):
        same(less, [1, 1], dtype)
    for not_less in (x > number, x >= number, x == number, -number > x, -number == x):
        same(not_less, [0, 0], dtype)
    same(nd.minimum(x, number), [1, 2], dtype)
    same(nd.maximum(x, -number), [1, 2], dtype)
    same(nd.maximum(x, number), [np.iinfo(dtype).max] * 2, dtype)
    same(nd.logical_and(x, number), [1, 1], dtype)


@torch_only
def test_integers_compare_with_nan(nd):
    x, nan = nd.array([1, 2], dtype="int64"), float("nan")
    for no in (x == nan, x < nan, x > nan, nan <= x):
        same(no, [0, 0], "int64")
    same(x != nan, [1, 1], "int64")


@torch_only
@pytest.mark.parametrize("number", [*LARGE, float("nan")])
def test_integers_do_not_compute_with_larger_numbers(mx, nd, number):
    x = nd.array([1, 2], dtype="int32")
    for name in ("add", "subtract", "multiply", "divide", "modulo", "power"):
        with pytest.raises(ValueError, match=r"the number is .* the array is int32"):
            getattr(nd, name)(x, number)
        with pytest.raises(ValueError, match=r"the number is .* the array is int32"):
            getattr(nd, name)(number, x)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize(
    "dtype, large", [("float16", 65510), ("float16", 65520), ("float16", 1e10), ("float32", 1e39)]
)
def test_floats_meet_numbers_beyond_their_range(nd, dtype, large):
    x, y = np.array([-2, 0, 0.5, 3], dtype), np.dtype(dtype).type(large)
    same(nd.array(x, dtype=dtype) ** large, x**y, dtype)
    for name in ("maximum", "minimum", "multiply", "lesser"):
        function = {"lesser": np.less}.get(name) or getattr(np, name)
        with np.errstate(invalid="ignore", over="ignore"):
            expected = function(x, y).astype(dtype)
        same(getattr(nd, name)(nd.array(x, dtype=dtype), large), expected, dtype)


def test_a_number_is_rounded_to_float16(nd):
    x = nd.array([1, 0, -1], dtype="float16")
    same(x / 1e-10, [np.inf, np.nan, -np.inf], "float16")  # 1e-10 is 0
    same(x * 1e-8, [0, 0, 0], "float16")
    same(x * 1e5 * 0, [np.nan] * 3, "float16")


@torch_only  # MXNet ends the process
def test_integers_do_not_divide_by_zero(nd):
    x = nd.array([1, 2], dtype="int32")
    for divide in (lambda: x / 0, lambda: x / 0.5, lambda: x / (x - 1)):
        with pytest.raises(ValueError, match="integers are divided by 0"):
            divide()


def test_comparisons_keep_the_dtype(nd):
    for dtype in (*FLOATS, *INTS):
        x = nd.array([1, 2, 3], dtype=dtype)
        same(x > 2, [0, 0, 1], dtype)
        same(x == nd.array([1, 0, 3], dtype=dtype), [1, 0, 1], dtype)


def test_mixed_dtypes_are_refused(mx, nd, a):
    with pytest.raises(mx.MXNetError, match="int32"):
        (nd.array([1], dtype="int32") + nd.array([1])).asnumpy()
    with pytest.raises(mx.MXNetError, match="float64"):
        (a + nd.ones((3, 4), dtype="float64")).asnumpy()


def test_shapes_that_do_not_broadcast(mx, nd, a):
    with pytest.raises(mx.MXNetError):
        (a + nd.ones((2, 4))).asnumpy()


@pytest.mark.parametrize(
    "other", [None, "x", 1j, [1], (1, 2), {}, np.ones((3, 4), "float32")], ids=repr
)
def test_operands_that_are_not_arrays(nd, a, other):
    for operate in OPERATORS.values():
        with pytest.raises(TypeError):
            operate(a, other)
    with pytest.raises(TypeError):
        other + a


def test_operators_that_do_not_exist(a):
    for operate in (
        lambda: a // 2,
        lambda: a @ a,
        lambda: ~a,
        lambda: a & a,
        lambda: a | a,
        lambda: a << 1,
        lambda: +a,
        lambda: divmod(a, 2),
    ):
        with pytest.raises(TypeError):
            operate()


def test_in_place(nd):
    x = nd.array([1, 2, 3])
    y, view = x, x[0:2]
    x += 1
    x -= nd.array([1, 1, 1])
    x *= 6
    x /= 4
    same(x, [1.5, 3, 4.5])
    x %= 2
    assert y is x
    same(x, [1.5, 1, 0.5])
    same(view, [1.5, 1])


def test_in_place_power_makes_a_new_array(nd):
    x = y = nd.array([1, 2, 3])
    x **= 2
    same(x, [1, 4, 9])
    same(y, [1, 2, 3])


def test_in_place_keeps_shape_and_dtype(mx, nd):
    i = nd.array([1, 2, 3], dtype="int32")
    i += 1.7
    same(i, [2, 3, 4], "int32")
    i /= 2
    same(i, [1, 1, 2], "int32")
    row = nd.ones((1, 4))
    with pytest.raises(mx.MXNetError):
        row += nd.ones((3, 4))
    with pytest.raises(mx.MXNetError):
        i += nd.array([1, 2, 3])
    with pytest.raises(mx.MXNetError):
        bools = nd.array([1, 0], dtype=bool)
        bools += 1
    same(row, [[1, 1, 1, 1]])


def test_functions_of_arrays_and_numbers(nd, a):
    i = nd.array([1, 2, 3], dtype="int32")
    same(nd.add(1, i), [2, 3, 4], "int32")
    same(nd.subtract(5, i), [4, 3, 2], "int32")
    same(nd.true_divide(i, 2), [0, 1, 1], "int32")
    same(nd.maximum(i, 2.5), [2, 2, 3], "int32")
    same(nd.maximum(2.5, i), [2, 2, 3], "int32")
    same(nd.minimum(a, 1), np.minimum(np.arange(12).reshape(3, 4), 1))
    same(nd.greater(3, i), [1, 1, 0], "int32")
    same(nd.lesser_equal(i, nd.array([0, 2, 4], dtype="int32")), [0, 1, 1], "int32")
    same(nd.logical_and(i, 0), [0, 0, 0], "int32")
    same(nd.logical_xor(i, nd.array([0, 1, 0], dtype="int32")), [1, 0, 1], "int32")
    same(nd.power(2, nd.array([1, 2])), [2, 4])


def test_functions_of_two_numbers_are_pythons(nd):
    values = nd.add(1, 2), nd.subtract(1, 2.5), nd.divide(7, 2), nd.power(2, 3), nd.modulo(-7, 3)
    assert values == (3, -1.5, 3.5, 8, 2)
    assert [type(v) for v in values] == [int, float, float, int, int]
    assert (nd.maximum(2, 3), nd.equal(2, 3), nd.logical_xor(2, 0)) == (3, 0, 1)


def test_contexts_of_results(mx, nd):
    here, there = nd.ones((2,)), nd.ones((2,), ctx=mx.cpu(1))
    assert (here + there).context == mx.cpu(0)
    assert (there + here).context == mx.cpu(1)
    assert (there * 2).context == mx.cpu(1)


# Python's protocols


def test_attributes(mx, a):
    assert (a.shape, a.size, a.ndim, a.stype, a.writable) == ((3, 4), 12, 2, "default", True)
    assert a.dtype is np.float32
    assert a.context == a.ctx == mx.cpu(0)
    assert a.T.shape == (4, 3)
    assert a[0].T.shape == (4,)
    assert a.grad is None
    with pytest.raises(AttributeError):
        _ = a.no_such_name


def test_one_axis_transposed_is_the_array_itself(nd):
    x = nd.array([1, 2])
    assert x.T is x


@pytest.mark.parametrize("name, value", [("zeros_like", 0), ("ones_like", 1)])
def test_likes_ignore_a_dtype(mx, nd, name, value):
    x = nd.array([1, 2], dtype="float16")
    same(getattr(nd, name)(x, dtype="float64"), [value] * 2, "float16")
    same(getattr(x, name)(ctx=mx.cpu()), [value] * 2, "float16")
    symbol = getattr(mx.sym, name)(mx.sym.Variable("x"), dtype="float64")
    same(symbol.eval(x=nd.array([1, 2]))[0], [value] * 2)


def test_length_truth_hash(nd, a):
    assert len(a) == 3
    assert len(nd.array([])) == 0
    assert not nd.array([0]) and nd.array([2]) and not nd.array([]) and not nd.array(0)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nd.array([1, 2]))
    assert {a: 1}[a] == 1
    assert a in [a]


def test_iteration(nd, a):
    assert [x.shape for x in a] == [(4,)] * 3
    assert [x.asscalar() for x in nd.array([1, 2])] == [1, 2]
    assert [x.shape for x in nd.array([1, 2])] == [(1,)] * 2
    same(sum(nd.array([1, 2])), [3])
    assert 3 in nd.array([1, 2, 3])


def test_asscalar(nd, a):
    assert nd.array([3]).asscalar() == 3
    assert type(nd.array([3]).asscalar()) is np.float32
    assert type(nd.array([3], dtype="int64").asscalar()) is np.int64
    assert nd.array(3).asscalar() == 3
    with pytest.raises(ValueError):
        a.asscalar()


@pytest.mark.engine("torch")  # MXNet's arrays are no numbers, and no NumPy arrays
def test_numbers_and_numpy_arrays(nd, a):
    assert float(nd.array([1.5])) == 1.5
    assert int(nd.array([1.5])) == 1
    assert f"{float(nd.array([1.5])):.2f}" == "1.50"
    assert "abc"[nd.array([1], dtype="int32")] == "b"
    assert nd.array([[3]], dtype="int64").asscalar() == 3
    with pytest.raises(TypeError, match="float32"):
        _ = "abc"[nd.array([1])]
    for refused in (float, int, nd.NDArray.asscalar):
        with pytest.raises(ValueError, match=r"\(3, 4\)"):
            refused(a)
    for values in (np.asarray(a), np.array(a), np.add(a, 0)):
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, a.asnumpy())
    assert np.asarray(a, dtype="int64").dtype == np.int64
    with pytest.raises(TypeError):
        len(nd.array(3))
    with pytest.raises(TypeError):
        list(nd.array(3))


def test_asnumpy_is_a_copy(a):
    values = a.asnumpy()
    assert values.flags.writeable and values.flags.c_contiguous
    values[:] = 9
    same(a, np.arange(12).reshape(3, 4))
    values = a.asnumpy()
    a[:] = 9
    assert values[0, 0] == 0
    assert a.T.asnumpy().flags.c_contiguous


PRINTED = {
    "float32": (
        lambda mx: mx.nd.array([[1.5, 2], [3, 4]]),
        "\n[[1.5 2. ]\n [3.  4. ]]\n<NDArray 2x2 @cpu(0)>",
    ),
    "int32": (
        lambda mx: mx.nd.array([1, 2, 3], dtype="int32"),
        "\n[1 2 3]\n<NDArray 3 @cpu(0)>",
    ),
    "uint8": (lambda mx: mx.nd.array([200], dtype="uint8"), "\n[200]\n<NDArray 1 @cpu(0)>"),
    "bool": (lambda mx: mx.nd.array([1], dtype=bool), "\n[ True]\n<NDArray 1 @cpu(0)>"),
    "float16": (
        lambda mx: mx.nd.array([1 / 3], dtype="float16"),
        "\n[0.3333]\n<NDArray 1 @cpu(0)>",
    ),
    "float64": (
        lambda mx: mx.nd.array([1 / 3], dtype="float64"),
        "\n[0.33333333]\n<NDArray 1 @cpu(0)>",
    ),
    "0-dim": (lambda mx: mx.nd.array(3), "\n3.0\n<NDArray  @cpu(0)>"),
    "empty": (lambda mx: mx.nd.array([]), "\n[]\n<NDArray 0 @cpu(0)>"),
    "no rows": (lambda mx: mx.nd.array([[1, 2]])[1:1], "\n[]\n<NDArray 0x2 @cpu(0)>"),
    "3 axes": (
        lambda mx: mx.nd.ones((2, 1, 2)),
        "\n[[[1. 1.]]\n\n [[1. 1.]]]\n<NDArray 2x1x2 @cpu(0)>",
    ),
    "nan": (lambda mx: mx.nd.array([np.nan, np.inf]), "\n[nan inf]\n<NDArray 2 @cpu(0)>"),
    "large": (
        lambda mx: mx.nd.arange(2000),
        "\n[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]"
        "\n<NDArray 2000 @cpu(0)>",
    ),
    "cpu(1)": (lambda mx: mx.nd.array([1], ctx=mx.cpu(1)), "\n[1.]\n<NDArray 1 @cpu(1)>"),
    "pinned": (
        lambda mx: mx.nd.array([1], ctx=mx.cpu_pinned()),
        "\n[1.]\n<NDArray 1 @cpu_pinned(0)>",
    ),
}


@pytest.mark.parametrize("make, text", PRINTED.values(), ids=PRINTED)
def test_printed(mx, make, text):
    assert repr(make(mx)) == str(make(mx)) == f"{make(mx)}" == text


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickled(nd, a, protocol):
    for x in (
        a,
        a[1],
        nd.array([1, 2], dtype="int32"),
        nd.array([1, 0], dtype=bool),
        nd.array([1, 2], dtype="float16"),
        nd.array([], dtype="int8"),
    ):
        same(pickle.loads(pickle.dumps(x, protocol)), x.asnumpy(), x.dtype)


def test_pickled_without_the_gradient(a):
    a.attach_grad()
    back = pickle.loads(pickle.dumps(a))
    assert back.grad is None
    assert copy.deepcopy(a).grad is None


@pytest.mark.engine("torch")  # MXNet forgets the context, and fails for shape ()
def test_pickled_context(mx, nd, monkeypatch):
    assert pickle.loads(pickle.dumps(nd.array([1], ctx=mx.cpu(1)))).context == mx.cpu(1)
    same(pickle.loads(pickle.dumps(nd.array(3))), 3)
    elsewhere = nd.array([1])
    elsewhere._context = mx.gpu(63)  # as pickled on a machine that has it
    assert pickle.loads(pickle.dumps(elsewhere)).context == mx.cpu(0)


def test_deepcopy(a):
    both = copy.deepcopy({"x": a, "y": [a]})
    assert both["x"] is both["y"][0]
    both["x"][:] = 0
    same(a, np.arange(12).reshape(3, 4))


# Copies and casts


def test_copyto(mx, nd, a):
    for b in (
        nd.zeros((3, 4)),
        nd.zeros((3, 4), dtype="int32"),
        nd.zeros((3, 4), ctx=mx.cpu(1)),
        nd.zeros((6, 4))[3:],
    ):
        dtype, context = b.dtype, b.context
        assert a.copyto(b) is b
        same(b, a.asnumpy(), dtype)
        assert b.context == context
    there = a.copyto(mx.cpu(1))
    assert there.context == mx.cpu(1)
    there[:] = 0
    same(a, np.arange(12).reshape(3, 4))
    for wrong in (nd.zeros((4, 3)), nd.zeros((1, 4)), nd.zeros((12,))):
        with pytest.raises(mx.MXNetError):
            a.copyto(wrong)
            wrong.asnumpy()
    with pytest.raises(TypeError):
        a.copyto(3)


def test_copyto_itself_warns(a):
    with pytest.warns(RuntimeWarning, match="itself"):
        a.copyto(a)


def test_as_in_context(mx, a):
    assert a.as_in_context(mx.cpu(0)) is a
    there = a.as_in_context(mx.cpu(1))
    assert there is not a and there.context == mx.cpu(1)
    with pytest.raises(TypeError):
        a.as_in_context("cpu")


def test_astype(nd, a):
    for dtype in (*FLOATS, *INTS):
        same(a.astype(dtype), a.asnumpy(), dtype)
    assert a.astype("float32") is not a
    assert a.astype("float32", copy=False) is a
    assert a.astype("int32", copy=False) is not a
    x = nd.array([1.9, -1.9, 300])
    same(x.astype("uint8"), [1, 255, 44], "uint8")
    same(x.astype("int8"), [1, -1, 44], "int8")
    same(nd.array([0.4, -1.9, 0]).astype(bool), [1, 1, 0], "bool")
    assert a.astype(float).dtype is np.float64
    assert a.astype(int).dtype is np.int64
    with pytest.raises(TypeError):
        a.astype("foo")


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32"])
def test_astype_copies(nd, dtype):
    x = nd.array([1, 0], dtype=dtype)
    y = x.astype(dtype)
    y[:] = 0
    same(x, [1, 0], dtype)


def test_tostype(nd, a):
    same(a.tostype("default"), a.asnumpy())
    assert a.as_nd_ndarray() is a


# Memory shared with other libraries


def test_dlpack(nd, a):
    for capsule in (nd.to_dlpack_for_read(a), a.to_dlpack_for_read(), a.to_dlpack_for_write()):
        assert type(capsule).__name__ == "PyCapsule"
        same(nd.from_dlpack(capsule), a.asnumpy())
    back = nd.from_dlpack(nd.to_dlpack_for_write(a))
    back[0] = 100
    back.wait_to_read()
    same(a[0], [100] * 4)


def test_from_numpy(nd):
    values = np.arange(3, dtype="float64")
    x = nd.from_numpy(values)
    assert not values.flags.writeable  # it is the array's now
    same(x, [0, 1, 2], "float64")
    x[:] = 5
    x.wait_to_read()
    nd.waitall()
    assert values.tolist() == [5, 5, 5]
    same(nd.from_numpy(values), [5, 5, 5], "float64")


def test_from_numpy_as_a_copy(nd):
    values = np.arange(3, dtype="int32")
    x = nd.from_numpy(values, zero_copy=False)
    values[:] = 7
    same(x, [0, 1, 2], "int32")


def test_from_numpy_refused(nd):
    with pytest.raises((ValueError, TypeError)):
        nd.from_numpy(np.ones((2, 3), "float32").T)
    with pytest.raises((AttributeError, TypeError)):
        nd.from_numpy([1, 2])


@pytest.mark.engine("torch")
def test_from_torch_and_back(mx, nd):
    import torch

    tensor = torch.arange(3.0)
    x = nd.from_torch(tensor)
    x[0] = 9
    tensor[1] = 8
    x += 1
    x[:] = x * 2
    same(x, [20, 18, 6])
    assert tensor.tolist() == [20, 18, 6]
    assert x.to_torch() is not None
    y = nd.zeros(3)
    y.to_torch()[1] = 5
    y[2] = 6
    same(y, [0, 5, 6])
    assert np.from_dlpack(y).tolist() == [0, 5, 6]
    assert torch.from_dlpack(y).tolist() == [0, 5, 6]
    strided = torch.arange(6.0).reshape(2, 3).T
    same(nd.from_torch(strided), [[0, 3], [1, 4], [2, 5]])
    same(nd.from_torch(strided).reshape(-1), [0, 3, 1, 4, 2, 5])
    with pytest.raises(TypeError, match="int16"):
        nd.from_torch(torch.zeros(2, dtype=torch.int16))
    with pytest.raises(mx.MXNetError, match="meta"):
        nd.from_torch(torch.zeros(2, device="meta"))
    same(nd.array(tensor.double()), [20, 18, 6])


# Methods that are operators


def test_methods(nd, a):
    values = a.asnumpy()
    same(a.sum(), [66])
    same(a.sum(axis=0), values.sum(0))
    same(a.sum(1), values.sum(1))
    same(a.max(), [11])
    same(a.argmax(axis=1), [3, 3, 3])
    same(a.clip(2, 5), values.clip(2, 5))
    same(a.transpose(), values.T)
    same(a.transpose((1, 0)), values.T)
    same(a.expand_dims(1), values[:, None])
    same(a.flatten(), values)
    same(a.tile((2, 1)), np.tile(values, (2, 1)))
    same(a.slice_axis(axis=1, begin=1, end=3), values[:, 1:3])
    same(a.take(nd.array([1])), values[[1]])
    same(a.zeros_like(), 0 * values)
    same(nd.ones((1, 4)).broadcast_to((2, 4)), np.ones((2, 4)))
    same(nd.ones((4,)).broadcast_to((2, 4)), np.ones((2, 4)))
    same(a.broadcast_to((2, 3, 4)), np.broadcast_to(values, (2, 3, 4)))
    same(nd.ones((1, 4)).broadcast_like(a), np.ones((3, 4)))
    x = a.slice_assign(nd.zeros((1, 4)), (0, None), (1, None), (None, None))
    same(x[0], [0] * 4)
    same(a.slice_assign_scalar(7, (0, None), (1, None), (None, None))[0], [7] * 4)


def test_out(mx, nd, a):
    b = nd.zeros((3, 4))
    view = b[0]
    assert nd.square(a, out=b) is b
    same(b, a.asnumpy() ** 2)
    same(view, [0, 1, 4, 9])
    assert nd.broadcast_add(a, a, out=a) is a
    same(a, 2 * np.arange(12).reshape(3, 4))
    with pytest.raises(mx.MXNetError):
        nd.square(a, out=nd.zeros((3,))).asnumpy()


def written(nd, x):
    y = nd.zeros((3,))
    y[:] = x
    y[0:2] = y[1:3] * 2
    y[2] = 7
    return y


TRACED = {
    "numpy": lambda nd, x: nd.array(np.tanh(x.asnumpy()) * 2),
    "nd": lambda nd, x: 1 - nd.tanh(x) * 2 + x[0:1],
    "in place": lambda nd, x: x.copy().__iadd__(1).__imul__(x),
    "items": written,
    "casts": lambda nd, x: x.reshape((3, 1)).astype("float64").copy()[::-1],
}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("compute", TRACED.values(), ids=TRACED)
def test_torch_compile_traces_it_whole(mx, nd, compute):
    """So that operators written with these become one graph."""
    import torch

    def run(tensor):
        return compute(nd, nd.NDArray(tensor, mx.cpu()))._tensor

    x = torch.tensor([1.0, 2.0, 3.0])
    traced = torch.compile(run, backend="eager", fullgraph=True)
    assert torch.equal(traced(x), run(x))


@pytest.mark.parametrize(
    "name, args, shape",
    [("squeeze", (), (2,)), ("expand_dims", (0,), (1, 2, 1)), ("flatten", (), (2, 1))],
)
@pytest.mark.parametrize("inplace", [False, True])
def test_a_new_shape_in_place(nd, name, args, shape, inplace):
    x = nd.ones((2, 1))
    y = getattr(x, name)(*args, inplace=inplace)
    y[:] = 5
    assert y.shape == shape
    assert x.asnumpy().tolist() == ([[5], [5]] if inplace else [[1], [1]])


def test_operands_by_name(mx, nd):
    x, y = nd.array([1, 2]), nd.array([[3, 3]])
    same(nd.power(base=x, exp=2), [1, 4])
    same(nd.power(2, exp=x), [2, 4])
    same(nd.maximum(lhs=x, rhs=1.5), [1.5, 2])
    same(nd.minimum(1.5, rhs=x), [1, 1.5])
    same(nd.broadcast_like(lhs=y, rhs=nd.ones((2, 2))), [[3, 3], [3, 3]])
    wide = nd.broadcast_like(y, rhs=nd.ones((3, 1)), lhs_axes=(0,), rhs_axes=(0,))
    assert wide.shape == (3, 2)
    a, b, sym = mx.sym.var("a"), mx.sym.var("b"), mx.sym
    for both in (
        sym.power(base=a, exp=b),
        sym.pow(base=a, exp=b),
        sym.maximum(left=a, right=b),
        sym.minimum(left=a, right=b),
        sym.hypot(left=a, right=b),
    ):
        assert both.list_arguments() == ["a", "b"]


@pytest.mark.parametrize("shape", [-1, (2, -1)])
def test_a_negative_size(mx, shape):
    for make in (mx.nd.zeros, mx.nd.ones):
        with pytest.raises(mx.MXNetError, match="-1"):
            make(shape)


@pytest.mark.engine("torch")  # MXNet's is an OverflowError
def test_a_negative_size_without_values(mx):
    for make in (mx.nd.empty, lambda shape: mx.nd.full(shape, 2)):
        with pytest.raises(mx.base.ShapeError, match=r"shape is \(2, -1\)\n  expected"):
            make((2, -1))


TOO_LARGE = (1 << 20, 1 << 30)  # more bytes than a process can have addresses
WITHOUT_MEMORY = {
    "zeros": lambda mx: mx.nd.zeros(TOO_LARGE),
    "ones": lambda mx: mx.nd.ones(TOO_LARGE),
    "full": lambda mx: mx.nd.full(TOO_LARGE, 3),
    "a dense copy of row_sparse": lambda mx: mx.nd.sparse.zeros("row_sparse", TOO_LARGE).asnumpy(),
    "a dense copy of csr": lambda mx: mx.nd.sparse.zeros("csr", TOO_LARGE).tostype("default"),
    "parameters": lambda mx: mx.gluon.nn.Dense(1 << 20, in_units=1 << 30).initialize(),
    "a bound symbol": lambda mx: mx.sym.Variable("x").simple_bind(mx.cpu(), x=TOO_LARGE),
}


@torch_only  # MXNet's process may end, killed by the system
@pytest.mark.parametrize("make", WITHOUT_MEMORY.values(), ids=WITHOUT_MEMORY)
def test_an_array_that_memory_does_not_hold(mx, make):
    problem = r"no memory on cpu for .* an array of shape \(1048576, 1073741824\) and dtype float32"
    with pytest.raises(mx.base.MXNetError, match=problem):
        make(mx)


@torch_only
def test_a_size_of_more_than_64_bits(mx):
    with pytest.raises(mx.base.MXNetError, match=r"zeros: no memory on cpu for .* \(2361183"):
        mx.nd.zeros((1 << 71,))


@torch_only
def test_ranges_without_values(mx):
    with pytest.raises(ValueError, match="from 0 to 0 by 1.0 there are no values\n  expected one"):
        mx.nd.arange(0, 0)
    with pytest.raises(ValueError, match="stop 0, step 1.0: there are no values\n  expected one"):
        mx.nd._internal._arange(start=0, stop=0)
