"""Indexing, reading and writing, against NumPy; views; reshape's codes."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst


@pytest.fixture(scope="module")
def nd(mx):
    return mx.nd


@pytest.fixture
def a(nd):
    """0 to 11 in three rows, float32."""
    return nd.array(np.arange(12).reshape(3, 4))


def numbered(shape):
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def same(array, expected):
    expected = np.asarray(expected, "float32")
    expected = expected if expected.ndim else expected.reshape(1)  # no shape () from an index
    assert array.shape == expected.shape
    np.testing.assert_array_equal(array.asnumpy(), expected)


shapes = npst.array_shapes(max_dims=3, max_side=4)


@st.composite
def mixed_keys(draw, shape):
    """Keys with at least one list of indices among ints and slices."""
    axes = draw(st.integers(1, len(shape)))
    length = draw(st.integers(1, 3))
    at = draw(st.integers(0, axes - 1))
    key = []
    for axis, size in enumerate(shape[:axes]):
        kinds = [st.lists(st.integers(-size, size - 1), min_size=length, max_size=length)]
        if axis != at:
            kinds += [st.integers(-size, size - 1), st.slices(size)]
        key.append(draw(st.one_of(kinds)))
    return tuple(key)


@st.composite
def cases(draw, keys):
    shape = draw(shapes)
    return shape, draw(keys(shape))


basic = cases(lambda shape: npst.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
mixed = cases(mixed_keys)
limited = settings(max_examples=150)


@given(basic)
@limited
def test_reading_with_ints_and_slices(nd, case):
    shape, key = case
    values = numbered(shape)
    assume(values[key].size)  # MXNet has no arrays without elements here
    same(nd.array(values)[key], values[key])


@given(mixed)
@limited
def test_reading_with_lists(nd, case):
    shape, key = case
    values = numbered(shape)
    assume(values[key].size)
    same(nd.array(values)[key], values[key])


@given(basic, st.data())
@limited
def test_writing_with_ints_and_slices(nd, case, data):
    check_writing(nd, *case, data)


@pytest.mark.engine("torch")  # MXNet aborts the process for some
@given(mixed, st.data())
@limited
def test_writing_with_lists(nd, case, data):
    shape, key = case
    places = numbered(shape)[key]
    assume(len(np.unique(places)) == places.size)  # else which value stays is not defined
    check_writing(nd, *case, data)


def check_writing(nd, shape, key, data):
    expected = numbered(shape)
    target = np.shape(expected[key])
    assume(0 not in target)
    values = 100 + numbered(target) if target else np.float32(7.5)
    kinds = {
        "number": 7.5,
        "numpy": values,
        "list": values.tolist(),
        "array": nd.array(values.reshape(target or 1)),
        "column": values[..., :1] if target else 7.5,
    }
    kind = data.draw(st.sampled_from(list(kinds)), label="value")
    expected[key] = {"array": values}.get(kind, kinds[kind])
    x = nd.array(numbered(shape))
    x[key] = kinds[kind]
    same(x, expected)


@given(basic)
@limited
def test_contiguous_slices_are_views(nd, case):
    shape, key = case
    expected = numbered(shape)
    part = expected[key]
    assume(isinstance(part, np.ndarray) and part.size)
    x = nd.array(expected)
    view = x[key]
    view[:] = -1
    if part.flags.c_contiguous:
        part[...] = -1
    same(x, expected)


@pytest.mark.parametrize(
    "key", [np.s_[2:1:-1], np.s_[-1:-2:-3], np.s_[0::-1], np.s_[2:1:-1, 1:], np.s_[1, 3:2:-1]]
)
def test_a_step_backwards_to_one_element_gives_a_view(a, key):
    expected = a.asnumpy()
    expected[key] = -1
    a[key][:] = -1
    same(a, expected)


KEYS = {
    "nd ints": lambda nd: nd.array([0, 2], dtype="int32"),
    "nd floats": lambda nd: nd.array([0, 2]),
    "numpy": lambda nd: np.array([0, 2]),
    "numpy int8": lambda nd: np.array([0, 2], "int8"),
    "list": lambda nd: [0, 2],
    "range": lambda nd: range(0, 3, 2),
}


@pytest.mark.parametrize("make", KEYS.values(), ids=KEYS)
def test_kinds_of_index_arrays(nd, a, make):
    values = a.asnumpy()
    key = make(nd)
    same(a[key], values[[0, 2]])
    same(a[key, 1:3], values[[0, 2], 1:3])
    same(a[1, key], values[1, [0, 2]])
    a[key] = 7
    values[[0, 2]] = 7
    same(a, values)


def test_tuples(a):
    values = a.asnumpy()
    same(a[(0, 2)], values[0, 2])
    same(a[((0, 1), (0, 1))], values[[0, 1], [0, 1]])
    same(a[[(0, 1), (0, 1)]], values[np.array([(0, 1), (0, 1)])])
    same(a[(slice(0, 2), slice(0, 2))], values[:2, :2])
    same(a[np.int64(1)], values[1])
    same(a[0 : np.int64(2)], values[:2])


def test_floats_are_cast(nd, a):
    same(a[nd.array([1.7])], a.asnumpy()[[1]])


def test_a_comparison_is_not_a_mask(nd, a):
    """Its result is 0s and 1s, and so indices."""
    i = nd.array([1, 2, 3])
    same(a[i > 1], a.asnumpy()[[0, 1, 1]])


@pytest.mark.engine("torch")  # MXNet takes masks for indices 0 and 1, or refuses them
def test_masks(nd, a):
    values = a.asnumpy()
    rows = np.array([True, False, True])
    for mask in (rows, rows.tolist(), nd.array(rows, dtype=bool)):
        same(a[mask], values[rows])
        same(a[mask, 1], values[rows, 1])
    same(a[values > 5], values[values > 5])
    same(a[:, nd.array([1, 0, 0, 1], dtype=bool)], values[:, [0, 3]])
    a[(a > 5).astype(bool)] = 0
    a[rows] = nd.array([1, 2, 3, 4])
    values[values > 5] = 0
    values[rows] = [1, 2, 3, 4]
    same(a, values)
    with pytest.raises(IndexError, match="mask"):
        _ = a[np.array([True, False])]
    for key in ((..., ..., rows), (rows, 0, 0)):
        with pytest.raises(IndexError):
            _ = a[key]


@pytest.mark.engine("torch")  # MXNet refuses them, or has its own order of axes
def test_reading_beyond_mxnet(nd, a):
    values = a.asnumpy()
    same(a[[]], values[[]])
    same(a[:, []], values[:, []])
    same(a[[0, 1], None], values[[0, 1], None])
    same(a[np.array(1)], values[1])
    same(a[nd.array(1, dtype="int32")], values[1])
    same(a[nd.array([1], dtype="int32")[0] :], values[1:])
    assert nd.array(3)[None].shape == (1,)


def test_out_of_bounds(nd, a):
    for key in (3, -4, (0, 4), (0, 0, 0), (..., 0, 0, 0), [0, 3], [-4], (slice(None), [4])):
        with pytest.raises(IndexError):
            a[key].asnumpy()
    for key in (3, -4, (0, 4), (0, 0, 0)):
        with pytest.raises(IndexError):
            a[key] = 1
    with pytest.raises(IndexError):
        a[nd.array([5])].asnumpy()


@pytest.mark.engine("torch")  # MXNet writes somewhere
def test_writing_out_of_bounds(a):
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3"):
        a[[0, 5]] = 1


@pytest.mark.parametrize(
    "key", ["x", 1.0, {}, (0, 1.5), (..., ...), slice(None, None, 0)], ids=repr
)
def test_no_index(a, key):
    with pytest.raises((IndexError, ValueError)):  # ValueError is MXNet's
        a[key].asnumpy()
    with pytest.raises((IndexError, ValueError)):
        a[key] = 1


MISFITS = [(0, [1, 2, 3]), (0, [[1, 2], [3, 4]]), ((slice(None), 1), [[1], [2], [3]])]
MISFITS += [(slice(None), np.ones((4, 3))), (slice(None), np.ones(12))]


@pytest.mark.parametrize("key, value", MISFITS)
def test_values_that_do_not_fit(nd, a, key, value):
    for values in (value, np.array(value), nd.array(value)):
        with pytest.raises(ValueError):
            a[key] = values
    same(a, numbered((3, 4)))


def test_values_that_are_no_numbers(a):
    for key in (0, slice(None), [0, 1]):
        with pytest.raises(TypeError):
            a[key] = "x"


@pytest.mark.engine("torch")  # MXNet writes NaN
def test_none_is_no_value(a):
    for key in (0, slice(None), [0, 1], ...):
        with pytest.raises(TypeError, match="y is None"):
            a[key] = None
    same(a, numbered((3, 4)))


def test_leading_ones_of_a_value_fall_away(nd, a):
    a[0] = nd.array([[1, 2, 3, 4]])
    a[:, 1] = nd.array([[5, 6, 7]])
    a[:] = nd.array(a.asnumpy()[None])
    same(a, [[1, 5, 3, 4], [4, 6, 6, 7], [8, 7, 10, 11]])


def test_values_are_cast(nd):
    i = nd.array([1, 2, 3], dtype="int32")
    i[0] = 1.7
    i[1:] = np.array([2.2, 3.9])
    assert i.asnumpy().tolist() == [1, 2, 3]
    i[:] = nd.array([4.7, 5, 6])
    assert i.asnumpy().tolist() == [4, 5, 6]
    i[:] = 1.7
    assert i.asnumpy().tolist() == [1, 1, 1]
    u = nd.array([1, 2], dtype="uint8")
    u[:] = -1
    assert u.asnumpy().tolist() == [255, 255]
    u[:] = 300
    assert u.asnumpy().tolist() == [44, 44]
    x = nd.array([1, 2], dtype="float16")
    x[0] = 1e6
    assert x.asnumpy().tolist() == [np.inf, 2]
    x[:] = np.float64(0.5)
    assert x.asnumpy().tolist() == [0.5, 0.5]
    big = nd.array([1, 2], dtype="int64")
    big[0] = 2**40
    assert big.asnumpy().tolist() == [2**40, 2]
    b = nd.array([1, 1], dtype=bool)
    b[0] = 0
    assert b.asnumpy().tolist() == [False, True]


@pytest.mark.engine("torch")
def test_numbers_beyond_the_range(nd):
    x = nd.zeros(2)
    x[0] = 1e300
    assert x.asnumpy().tolist() == [np.inf, 0]


def test_assigning_everything(mx, nd, a):
    for key in (slice(None), ..., (), (slice(None),), None):
        a[key] = 7
        same(a, np.full((3, 4), 7))
        a[key] = nd.ones((3, 4))
        same(a, np.ones((3, 4)))
    for value in (nd.ones((4,)), nd.ones((3, 1)), [1, 1, 1, 1], np.ones(4), nd.ones((1, 3, 4))):
        a[:] = 0
        a[:] = value
        same(a, np.ones((3, 4)))
    a[:] = nd.zeros((3, 4), dtype="int32")
    same(a, np.zeros((3, 4)))
    a[:] = nd.ones((3, 4), ctx=mx.cpu(1))
    assert a.context == mx.cpu(0)
    same(a, np.ones((3, 4)))


def test_augmented_items(a):
    expected = numbered((3, 4))
    for key in (0, (1, 1), (slice(None), 1), [0, 1], slice(None, None, 2)):
        a[key] += 100
        expected[key] += 100
    same(a, expected)


def test_a_row_from_another(a):
    a[0] = a[1]
    a[:, 0] = a[:, 1]
    same(a, [[5, 5, 6, 7], [5, 5, 6, 7], [9, 9, 10, 11]])


@pytest.mark.engine("torch")  # MXNet copies front to back, over what is still to be read
def test_overlapping(a):
    a[1:3] = a[0:2]
    same(a, numbered((3, 4))[[0, 0, 1]])
    view = a[0:2]
    view[:] = a[1:3]
    same(a, numbered((3, 4))[[0, 1, 1]])
    a[:] = a[::-1]
    same(a, numbered((3, 4))[[1, 1, 0]])


def test_everything_is_the_array_itself(a):
    assert a[:] is a
    assert a[()] is a
    assert a[...] is not a


def test_zero_dimensional(nd):
    x = nd.array(3)
    assert x[()].shape == x[:].shape == ()
    with pytest.raises(IndexError):
        _ = x[0]


# Views

VIEWS = {
    "x[0]": lambda x: x[0],
    "x[-1]": lambda x: x[-1],
    "x[0:2]": lambda x: x[0:2],
    "x[1,1:3]": lambda x: x[1, 1:3],
    "x[1:2,1:3]": lambda x: x[1:2, 1:3],
    "x[0,0]": lambda x: x[0, 0],
    "x[None]": lambda x: x[None],
    "x[0,None,1:3]": lambda x: x[0, None, 1:3],
    "x[...]": lambda x: x[...],
    "x[1:2:2]": lambda x: x[1:2:2],
    "x[1:][1:]": lambda x: x[1:][1:],
    "x[0][1:3]": lambda x: x[0][1:3],
    "reshape": lambda x: x.reshape((4, 3)),
    "reshape(-1)[2:6]": lambda x: x.reshape(-1)[2:6],
    "detach": lambda x: x.detach(),
    "iter": lambda x: next(iter(x)),
    "astype(copy=False)": lambda x: x.astype("float32", copy=False),
}


@pytest.mark.parametrize("take", VIEWS.values(), ids=VIEWS)
def test_views_see_writes_both_ways(nd, a, take):
    view = take(a)
    expected = numbered((3, 4))
    seen = take(nd.array(expected)).asnumpy()
    a += 1
    same(view, seen + 1)
    a[:] = 5
    same(view, np.full(view.shape, 5))
    a[:] = nd.array(expected)
    same(view, seen)
    nd.negative(nd.array(expected), out=a)
    same(view, -seen)
    nd.array(expected).copyto(a)
    same(view, seen)
    for write in (
        lambda: view.__setitem__(slice(None), 100),
        lambda: view.__setitem__(slice(None), nd.full(view.shape, 101)),
        lambda: view.__setitem__(0, 102),
        lambda: view.__iadd__(200),
        lambda: nd.full(view.shape, 103).copyto(view),
    ):
        a[:] = nd.array(expected)
        write()
        assert (a.asnumpy() != expected).any()
        same(take(a), view.asnumpy())


COPIES = {
    "x[:,1]": lambda x: x[:, 1],
    "x[:,1:3]": lambda x: x[:, 1:3],
    "x[::2]": lambda x: x[::2],
    "x[::-1]": lambda x: x[::-1],
    "x[[0]]": lambda x: x[[0]],
    "T": lambda x: x.T,
    "transpose": lambda x: x.transpose((0, 1)),
    "flatten": lambda x: x.flatten(),
    "expand_dims": lambda x: x.expand_dims(0),
    "squeeze": lambda x: x.squeeze(),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "slice": lambda x: x.slice(begin=(0,), end=(2,)),
    "slice_axis": lambda x: x.slice_axis(axis=0, begin=0, end=1),
    "reshape_like": lambda x: x.reshape_like(x),
    "broadcast_to": lambda x: x.broadcast_to((3, 4)),
    "copy": lambda x: x.copy(),
    "astype": lambda x: x.astype("float32"),
    "copyto": lambda x: x.copyto(x.context),
    "x*1": lambda x: x * 1,
    "split": lambda x: x.split(2, axis=1)[0],
}


@pytest.mark.parametrize("take", COPIES.values(), ids=COPIES)
def test_copies_see_nothing(a, take):
    copy = take(a)
    before = copy.asnumpy()
    a += 1
    a[0] = 7
    same(copy, before)
    a[:] = 5
    same(copy, before)
    copy[:] = 100
    copy[0] = 101
    copy += 1
    same(a, np.full((3, 4), 5))


def test_functions_copy(nd, a):
    for copy in (
        nd.reshape(a, shape=(4, 3)),
        nd.identity(a),
        nd.array(a),
        nd.BlockGrad(a),
        nd.concat(a, dim=0),
        nd.add_n(a),
        nd.cast(a, dtype="float32"),
        nd.Flatten(a),
    ):
        copy[:] = 100
        same(a, numbered((3, 4)))


# reshape

SHAPES = [
    ((3, 4), (2, 6), (2, 6)),
    ((3, 4), (-1,), (12,)),
    ((3, 4), (0, -1), (3, 4)),
    ((3, 4), (-1, 0), (3, 4)),
    ((3, 4), (0, 0, 1), (3, 4, 1)),
    ((3, 4), (-2, 1), (3, 4, 1)),
    ((3, 4), (-3,), (12,)),
    ((3, 4), (0, -4, 2, 2), (3, 2, 2)),
    ((3, 4), (0, -4, -1, 2), (3, 2, 2)),
    ((3, 4), (0, -4, 2, -1), (3, 2, 2)),
    ((3, 4), (-4, 3, 1, 0), (3, 1, 4)),
    ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
    ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)),
    ((2, 3, 4), (-3, -2), (6, 4)),
    ((2, 3, 4), (0, -3), (2, 12)),
    ((2, 3, 4), (4, 0, -1), (4, 3, 2)),
    ((2, 3, 4, 5), (-3, -3), (6, 20)),
    ((10, 5, 4), (-1, 0), (40, 5)),
    ((1,), (), ()),
]
REVERSED = [
    ((10, 5, 4), (-1, 0), (50, 4)),
    ((8, 3, 3, 3), (-1, 0), (72, 3)),
    ((8, 3, 3, 3), (0, 0, -1), (3, 3, 24)),
    ((2, 3, 4), (-3, 0), (6, 4)),
    ((2, 3, 4), (0, -3), (2, 12)),
    ((2, 3, 4), (1, -2), (1, 2, 3, 4)),
    ((2, 3, 8), (0, 0, 4, 2, -4), (2, 3, 4, 2)),
    ((2, 3, 8), (-2, 2, -1, -4), (2, 3, 2, 4)),
]


@pytest.mark.parametrize("shape, codes, expected", SHAPES)
def test_reshape(nd, shape, codes, expected):
    x = nd.array(numbered(shape))
    y = x.reshape(codes)
    assert y.shape == expected
    assert y.asnumpy().ravel().tolist() == x.asnumpy().ravel().tolist()
    if codes:
        assert x.reshape(shape=codes).shape == expected
        assert x.reshape(*codes).shape == x.reshape(list(codes)).shape == expected


@pytest.mark.parametrize("shape, codes, expected", REVERSED)
def test_reshape_from_the_right(nd, shape, codes, expected):
    assert nd.zeros(shape).reshape(codes, reverse=True).shape == expected


BAD_SHAPES = [(5, 2), (5, -1), (0, 0, 0), (1, -2), (-3, 0), (-1, -1), (-5,), (6,), ()]
BAD_SHAPES += [(-4, -1, -1, 0), (-4, 2, 2, 0)]


@pytest.mark.parametrize("codes", BAD_SHAPES)
def test_reshape_that_does_not_fit(mx, a, codes):
    with pytest.raises((mx.MXNetError, ValueError)):
        a.reshape(codes).asnumpy()


def test_reshape_called_wrongly(a):
    for call in (
        lambda: a.reshape((2, 6), foo=1),
        lambda: a.reshape("x"),
        lambda: a.reshape(2.0, 6),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises((AssertionError, TypeError)):
        a.reshape()
