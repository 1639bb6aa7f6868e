# ruff: noqa: F821  the names of the language
"""Loop kernels: compiled, they are what they are as plain Python."""

import inspect
import os
import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import forks
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layers.ops.ways._kernel.intrinsics import DTYPES, FUNCTIONS
from layers.ops.ways.kernel import Kernel, KernelError, kernel

ROOT = Path(__file__).resolve().parents[2]
# There uint64 with a Python integer is float64, and what does not fit wraps around.
NUMPY_1 = np.lib.NumpyVersion(np.__version__) < "2.0.0"
TOLERANCES = {"float64": 1e-13, "float32": 2e-6, "float16": 2e-3}


@kernel
def elementwise(x, w):
    """Every intrinsic of one floating number."""
    y = output_tensor((19,), x.dtype)
    for i in range(x.shape[0]):
        a = abs(x[i]) + 0.5
        y[0] += sqrt(a) + rsqrt(a)
        y[1] += exp(x[i])
        y[2] += log(a)
        y[3] += tanh(x[i]) * sign(x[i])
        y[4] += sin(x[i]) * cos(x[i])
        y[5] += atan(x[i])
        y[6] += atan2(x[i], a)
        y[7] += expm1(x[i])
        y[8] += erf(x[i])
        y[9] += floor(x[i]) + 2 * ceil(x[i])
        y[10] += trunc(x[i]) + 3 * round(x[i] * 2)
        y[11] += power(a, w) + a**2 + a**-1 + 2**a
        y[12] += float32(int32(x[i] * 10)) + int8(x[i])
        y[13] += int32(isnan(x[i])) + int32(isinf(x[i])) + int32(isfinite(x[i]))
        y[14] += x[i] // 0.75 + x[i] % 0.75 - x[i] / 3
        y[15] += max(x[i], 0.0, w) - min(x[i], 1)
        y[16] += i * x[i] + sqrt(2.0) * x[i]
        y[17] += 0.5 if x[i] > 0.1 else -x[i]
        y[18] += 1 if -1 < x[i] <= 1 and not x[i] > 0.9 or i == 0 else 0
    return y


@kernel
def row_sum(x):
    y = output_tensor((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        y[i] = 0.0
        for j in range(x.shape[1]):
            y[i] += x[i, j]
    return y


@kernel
def both(x, z):
    y = output_tensor(x.shape, x.dtype)
    d = output_tensor(x.shape, z.dtype)
    for i, j in grid(x.shape):
        y[i, j] = x[i, j] + z[i, j]
        d[i, j] = x[i, j] - z[i, j]
    return y, d


@kernel
def reversed_(x):
    y = output_tensor(x.shape, x.dtype)
    n = x.shape[0]
    for i in range(n):
        y[i] = x[n - 1 - i]
    return y


@kernel
def matmul(a, b):
    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] = c[i, j] + a[i, k] * b[k, j]
    return c


@kernel
def softmax(x):
    n, m = x.shape
    y = output_tensor((n, m), x.dtype)
    for i in range(n):
        top = x[i, 0]
        for j in range(1, m):
            top = max(top, x[i, j])
        total = 0.0
        for j in range(m):
            y[i, j] = exp(x[i, j] - top)
            total += y[i, j]
        for j in range(m):
            y[i, j] /= total
    return y


@kernel
def gather(x, index):
    y = output_tensor(index.shape, x.dtype)
    for i in range(len(index)):
        y[i] = x[index[i]]
    return y


@kernel
def cumulate(x):
    y = output_tensor(x.shape, x.dtype)
    total = 0
    for i in range(x.shape[0]):
        total += x[i]
        y[i] = total
    return y


@kernel
def stencil(x):
    y = output_tensor(x.shape, x.dtype)
    n = x.shape[0]
    for i in range(n):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < n - 1 else 0.0
        y[i] = 0.25 * left + 0.5 * x[i] + 0.25 * right
    return y


@kernel
def relu_gradient(x, dy):
    dx = output_tensor(x.shape, x.dtype)
    for p in grid(x.shape):
        if x[p] > 0:
            dx[p] = dy[p]
        else:
            dx[p] = 0.0
    return dx


@kernel
def integers(a, b):
    y = output_tensor((14,), a.dtype)
    for i in range(a.shape[0]):
        y[0] += a[i] + b[i]
        y[1] += a[i] - b[i]
        y[2] = y[2] * 3 + a[i] * b[i]
        y[3] += a[i] // b[i]
        y[4] += a[i] % b[i]
        y[5] += (a[i] + b[i]) // 2
        y[6] += a[i] ** 3
        y[7] += -a[i]
        y[8] += abs(a[i])
        y[9] = max(y[9], a[i], b[i])
        y[10] = min(y[10], a[i]) - sign(a[i])
        y[11] += 1 if a[i] < b[i] else 2
        y[12] += a[i] % 5 - a[i] // 5
        y[13] += ceil_div(a[i], 4)
    return y


@kernel
def ratios(a, b):
    y = output_tensor(a.shape, float64)
    for i in range(a.shape[0]):
        y[i] = a[i] / b[i] + a[i] * 0.5 + sqrt(a[i] * a[i] % 7)
    return y


@kernel
def counted(x, low):
    y = output_tensor((2,), int64)
    best = 0
    for i in range(x.shape[0]):
        if x[i] > x[best]:
            best = i
        y[0] += x[i] >= low
    y[1] = best
    return y


@kernel
def outer_of_parts(a, b, scale):
    z = allocate((a.shape[0],), a.dtype)
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        z[i] = a[i] * scale
    for i in parallel(a.shape[0]):
        for j in vectorize(b.shape[0]):
            c[i, j] = z[i] * b[j]
    return c


@kernel
def masks(x):
    y = output_tensor(x.shape, bool_)
    for i in range(x.shape[0]):
        y[i] = x[i] > 0 and x[i] < 2
    return y


@kernel
def windows(x, k):
    y = output_tensor((x.shape[0] - k + 1,), x.dtype)
    for i in range(x.shape[0] - k + 1):
        for j in range(k):
            y[i] += x[i + j]
    return y


@kernel
def triangle(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(i + 1):
            y[i, j] = x[i, j]
    return y


@kernel
def backwards(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0] - 1, -1, -2):
        y[i] = x[i] + x[-1]
    return y


def values(shape, dtype="float32", seed=0):
    random = np.random.default_rng(seed)
    if dtype in TOLERANCES:
        return random.normal(size=shape).astype(dtype)
    return random.integers(-128, 128, size=shape).astype(dtype)


F = values
I = np.array([3, 0, -1, 2, -4], np.int32)
CASES = {
    "elementwise": (elementwise, F(9, "float64"), 1.5),
    "elementwise, float32": (elementwise, F(9), np.float32(1.5)),
    "row_sum": (row_sum, F((4, 5))),
    "row_sum, fortran": (row_sum, np.asfortranarray(F((4, 5)))),
    "row_sum, every second": (row_sum, F((8, 10))[::2, 1::2]),
    "row_sum, upside down": (row_sum, F((4, 5))[::-1]),
    "row_sum, no rows": (row_sum, F((0, 5))),
    "row_sum, no columns": (row_sum, F((4, 0))),
    "row_sum, big endian": (row_sum, F((4, 5)).astype(">f4")),
    "row_sum, float16": (row_sum, F((4, 5), "float16")),
    "both": (both, F((3, 2)), F((3, 2), seed=1)),
    "both, two dtypes": (both, F((3, 2)), F((3, 2), "float64", seed=1)),
    "reversed": (reversed_, F(5)),
    "reversed, bool": (reversed_, F(5) > 0),
    "matmul": (matmul, F((3, 4)), F((4, 2))),
    "matmul, int8": (matmul, F((3, 4), "int8"), F((4, 2), "int8", seed=1)),
    "softmax": (softmax, F((3, 7))),
    "softmax, float64": (softmax, F((3, 7), "float64")),
    "gather": (gather, F(4), I),
    "gather, uint8": (gather, F(4), np.array([3, 1], np.uint8)),
    "cumulate": (cumulate, F(6)),
    "cumulate, int8": (cumulate, F(40, "int8")),
    "cumulate, uint16": (cumulate, F(40, "uint16")),
    "stencil": (stencil, F(6)),
    "stencil of one": (stencil, F(1)),
    "relu_gradient": (relu_gradient, F((2, 3)), F((2, 3), seed=1)),
    "relu_gradient, 3 axes": (relu_gradient, F((2, 3, 4)), F((2, 3, 4), seed=1)),
    "relu_gradient, a number": (relu_gradient, np.array(0.5), np.array(2.0)),
    "ratios": (ratios, F(9, "int32"), F(9, "int32", seed=1)),
    "ratios, int8": (ratios, F(9, "int8"), F(9, "int16", seed=1)),
    "counted": (counted, F(9), 0.25),
    "counted, int8": (counted, F(9, "int8"), -3),
    "counted, beyond int8": (counted, F(9, "int8"), 1000),
    "outer_of_parts": (outer_of_parts, F(3), F(4), 2),
    "masks": (masks, F(5)),
    "windows": (windows, F(8), 3),
    "triangle": (triangle, F((4, 4))),
    "backwards": (backwards, F(5)),
}


def check(made, *inputs):
    """Run both, and hold one against the other: exactly, or closely where numbers are floating."""
    before = [np.copy(x) for x in inputs]
    expected, found = made(*inputs), made.run(*inputs)
    assert isinstance(found, tuple) == isinstance(expected, tuple)
    pairs = zip(expected, found) if isinstance(found, tuple) else [(expected, found)]
    for a, b in pairs:
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        tolerance = TOLERANCES.get(a.dtype.name, 0)
        np.testing.assert_allclose(b, a, rtol=8 * tolerance, atol=8 * tolerance)
        assert not any(np.shares_memory(b, x) for x in inputs)
    for a, b in zip(before, inputs):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_compiled_is_the_reference(case):
    check(*case)


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("dtype", ["int8", "uint8" if NUMPY_1 else "uint64"])
def test_integers_as_numpy_has_them(dtype):
    limits = np.iinfo(dtype)
    edges = np.array([0, 1, 7, limits.min, limits.max, limits.max // 2], dtype)
    a, b = (x.ravel() for x in np.meshgrid(edges, edges))
    check(integers, a, b)
    check(integers, F(50, dtype), F(50, dtype, seed=1))


def test_mixed_integers():
    check(integers, F(50, "int32"), F(50, "uint8") // 16 + 1)


@kernel
def stored(x, n):
    y = output_tensor(x.shape, int8)
    for i in range(x.shape[0]):
        y[i] = x[i] + n
    return y


NARROWED = [F(3, "int8"), F(3, "int32"), F(3), F(3, "uint64") // 2**57]


@pytest.mark.parametrize("x", NARROWED, ids=lambda x: x.dtype)
@pytest.mark.parametrize("n", [1, 100, 1000, 1 << 40, -1000])
def test_numbers_that_do_not_fit(x, n):
    """NumPy 2 tells of them where they are stored, and of Python's integers in arithmetic."""
    try:
        expected = stored(x, n)
    except OverflowError:
        with pytest.raises(OverflowError, match="operator 'stored': a.* number does not fit"):
            stored.run(x, n)
    else:
        if x.dtype.kind != "f" and not (NUMPY_1 and x.dtype == "uint64"):
            np.testing.assert_array_equal(stored.run(x, n), expected)


def test_not_a_number_is_no_integer():
    for run in (stored, stored.run):
        with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
            run(np.array([np.nan]), 1)


def test_what_they_mean():
    x = F((3, 5), "float64")
    np.testing.assert_allclose(row_sum.run(x), x.sum(1))
    np.testing.assert_allclose(softmax.run(x).sum(1), 1)
    np.testing.assert_allclose(matmul.run(x, x.T.copy()), x @ x.T)
    np.testing.assert_array_equal(gather.run(x[0], I), x[0][I])
    np.testing.assert_array_equal(cumulate.run(x[0]), np.cumsum(x[0]))
    np.testing.assert_allclose(outer_of_parts.run(x[0], x[1], 2.0), 2 * np.outer(x[0], x[1]))
    np.testing.assert_array_equal(triangle.run(x[:, :3]), np.tril(x[:, :3]))


def test_the_document_s_functions():
    """Undecorated, and one reads what it has not written."""

    def square(x):
        y = output_tensor(x.shape, x.dtype)
        for i0 in range(x.shape[0]):
            y[i0] = y[i0] * y[i0]
        return y

    def square_grad(x, dout):
        dx = output_tensor(x.shape, x.dtype)
        for i0 in range(x.shape[0]):
            dx[i0] = 2.0 * x[i0]
        for i0 in range(x.shape[0]):
            dx[i0] = dx[i0] * dout[i0]
        return dx

    x = np.array([1.0, 4.0, 9.0], np.float32)
    assert Kernel(square)(x).tolist() == Kernel(square).run(x).tolist() == [0, 0, 0]
    made = Kernel(square_grad)
    assert made(x, np.ones_like(x)).tolist() == [2, 8, 18]
    assert made.run(x, np.ones_like(x)).tolist() == [2, 8, 18]


@pytest.mark.slow_on("mxnet")
@settings(max_examples=40)
@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**32))
def test_any_shape(n, m, k, seed):
    check(row_sum, F((n, m), seed=seed))
    check(matmul, F((n, k), seed=seed), F((k, m), seed=seed + 1))
    check(stencil, F(n, seed=seed))
    check(reversed_, F(n, seed=seed))
    if m:
        check(softmax, F((n, m), seed=seed))


@kernel
def anywhere(x, index, a, b, c):
    """Reads and writes where it is told: by a loop, by data, by parameters."""
    y = output_tensor((x.shape[0] + 1,), x.dtype)
    for i in range(a, x.shape[0] + b):
        if i >= c and i != 3 or x[i - c] > 0:
            y[i] = x[index[i]] + x[i + a]
        elif i < c:
            y[i // 2] = x[2 * i - b]
    return y


@pytest.mark.slow_on("mxnet")
@settings(max_examples=30)
@given(st.integers(1, 6), *[st.integers(-3, 3)] * 3, st.lists(st.integers(-3, 3), max_size=8))
def test_no_index_is_ever_out_of_range(n, a, b, c, index):
    """Both raise, or neither does and the results are the same."""
    inputs = (F(n), np.array(index, np.int64), a, b, c)
    try:
        expected = anywhere(*inputs)
    except IndexError:
        with pytest.raises(IndexError, match="'anywhere': index -?[0-9]+ is out of range for axis"):
            anywhere.run(*inputs)
    else:
        np.testing.assert_array_equal(anywhere.run(*inputs), expected)


def test_out_of_range_is_told():
    with pytest.raises(IndexError) as caught:
        gather.run(F(4), np.array([0, 7]))
    assert str(caught.value).splitlines()[:2] == [
        "operator 'gather': index 7 is out of range for axis 0 of 'x', (4,)",
        "  expected -4 to 3",
    ]
    assert str(caught.value).splitlines()[3:] == [
        "    y[i] = x[index[i]]",
        "           ^^^^^^^^^^^",
    ]
    assert gather.run(F(4), np.array([0, 3])).shape == (2,)  # and the next call is right


def test_read_only_and_unaligned_inputs():
    x = F((4, 5))
    x.flags.writeable = False
    check(row_sum, x)
    raw = np.zeros(4 * 20 + 1, np.uint8)
    unaligned = raw[1:].view(np.float32).reshape(4, 5)
    unaligned[:] = x
    assert not unaligned.flags.aligned
    check(row_sum, unaligned)


def test_division_by_zero():
    """Of NumPy's numbers it gives inf or 0, of Python's it is an error, as in Python."""

    @kernel
    def divided(x, n):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            y[i] = 1 // x[i] + x[i] // (i % n)
        return y

    check(divided, np.array([0, 3], np.int32), 5)
    check(divided, np.array([0.0, 3.0, -0.0], np.float32), 5)
    for run in (divided, divided.run):
        with pytest.raises(ZeroDivisionError):
            run(np.array([1, 2], np.int32), 0)
    with pytest.raises(ZeroDivisionError, match="operator 'divided'"):
        divided.run(np.array([1, 2], np.int32), 0)


@kernel
def converted(x, n):
    y = output_tensor((n,), int32)
    y[0] = int32(x[0])
    return y


RAISED = [
    (gather, (F(4), np.array([0, 7])), IndexError, "y[i] = x[index[i]]"),
    (gather, (F(4), F(4)), IndexError, "y[i] = x[index[i]]"),
    (converted, (F(4), 1.5), TypeError, "y = output_tensor((n,), int32)"),
    (converted, (np.array([np.nan]), -1), ValueError, "y = output_tensor((n,), int32)"),
]


@pytest.mark.parametrize("made, inputs, kind, line", RAISED)
def test_errors_in_python_have_their_line(made, inputs, kind, line):
    with pytest.raises(kind) as caught:
        made(*inputs)
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])]).splitlines()
    place, text = told[-2:]
    path, number = place.removeprefix(f"  in kernel {made.name!r}, ").rsplit(", line ", 1)
    assert text == f"    {line}"
    assert Path(path).read_text().splitlines()[int(number) - 1].strip() == line


def test_help_shows_the_language():
    for documented in kernel, Kernel:
        text = inspect.getdoc(documented)
        assert "output_tensor(shape, dtype)" in text and "float16" in text
        assert [n for n in FUNCTIONS if n not in (*DTYPES, "kernel") and n not in text] == []


def test_the_sign_of_zero():
    @kernel
    def signs(x):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            y[i] = sign(x[i])
        return y

    x = np.array([-0.0, 0.0, np.nan, np.inf, -0.1])
    np.testing.assert_array_equal(signs.run(x), signs(x))
    np.testing.assert_array_equal(np.signbit(signs.run(x)[:2]), np.signbit(signs(x)[:2]))


def test_what_it_tells_of_itself():
    info = {"op_name": "softmax"}

    @kernel(reg_info=info, compile_attrs={"a": 1})
    def copied(x, n):
        """A copy."""
        y = output_tensor(x.shape, x.dtype)
        return y

    assert (copied.name, copied.parameters, copied.outputs) == ("copied", ("x", "n"), 1)
    assert copied.reg_info is info and copied.__doc__ == "A copy."
    assert copied.__wrapped__.__name__ == copied.__name__ == "copied"
    assert repr(copied) == "<kernel copied(x, n)>"
    assert both.outputs == 2 and softmax.reg_info is None
    with pytest.raises(TypeError, match="compile_attrs is 3\n  expected a dict"):
        kernel(compile_attrs=3)(copied.__wrapped__)
    copied.__wrapped__.reg_info = "carried"
    assert Kernel(copied.__wrapped__).reg_info == "carried"
    check(copied, F(3), 4)  # n is not used, and may be anything


def test_pickles_by_place():
    assert pickle.loads(pickle.dumps(softmax)) is softmax
    again = pickle.loads(pickle.dumps(Kernel(undecorated)))
    assert again(F(3)).tolist() == [0, 0, 0]


def undecorated(x):
    y = output_tensor(x.shape, x.dtype)
    return y


def test_nothing_of_the_user_s_is_written():
    names = dict(globals())
    softmax(F((2, 2)))
    softmax.run(F((2, 2)))
    assert globals().keys() == names.keys() and "output_tensor" not in globals()


WRONG = [
    (softmax, (), "0 inputs\n  expected softmax\\(x\\)"),
    (softmax, ([1.0],), r"x is list\n  expected a NumPy array: it has x\[...\] or a shape"),
    (softmax, (None,), "x is NoneType"),
    (softmax, (3.0,), "x is the number 3.0\n  expected a NumPy array"),
    (windows, (F(3), F(2)), r"k is \(2,\) float32\n  expected a number: the kernel uses"),
    (softmax, (F(3),), "'x' has 1 dimension\n  expected 2"),
    (row_sum, (F(3),), "'x' has 1 dimension\n  expected one that has an axis 1"),
    (reversed_, (F((3, 2)),), "'y' has 2 dimensions, and is given 1 index\n  expected one index"),
    (both, (F((3, 2, 2)), F((3, 2))), "a grid of 3 dimensions\n  expected 2"),
    (softmax, (F((2, 2)).astype(complex),), "x is complex128\n  expected one of int8"),
    (softmax, (np.array([["a"]]),), "x is <U1\n  expected one of int8"),
]


@pytest.mark.parametrize("run", [Kernel.__call__, Kernel.run], ids=["reference", "compiled"])
@pytest.mark.parametrize("made, inputs, told", WRONG)
def test_inputs_that_do_not_fit(made, inputs, told, run):
    with pytest.raises(KernelError, match=told):
        run(made, *inputs)


def test_an_ndarray_is_no_numpy_array(mx):
    with pytest.raises(KernelError, match="x is NDArray\n  expected a NumPy array"):
        softmax.run(mx.nd.ones((2, 2)))


@kernel
def mixes(x, k):
    y = output_tensor(x.shape, x.dtype)
    t = k[0]
    t = x[0]
    y[0] = t
    return y


@kernel
def floats_as_indices(x, k):
    y = output_tensor(x.shape, x.dtype)
    y[0] = x[k[0]]
    return y


@kernel
def too_large(x, k):
    y = output_tensor(x.shape, x.dtype)
    y[0] = x[0] + 200
    return y


@pytest.mark.parametrize(
    "made, told",
    [
        (mixes, "the scalar 't' is float32 here, and int32 before\n  expected one dtype"),
    ],
)
def test_what_is_refused_for_the_dtypes(made, told):
    with pytest.raises(KernelError, match=told):
        made.run(F(3), I)
    check(softmax, F((2, 2)))  # no other kernel is the worse for it


def test_refused_for_some_dtypes_only():
    with pytest.raises(KernelError, match="an index is float32\n  expected an integer: int64"):
        floats_as_indices.run(F(3), F(3))
    check(floats_as_indices, F(4), I)
    check(too_large, F(3), I)
    if not NUMPY_1:  # where 200 is an int64
        with pytest.raises(KernelError, match="200 does not fit into int8\n  expected -128 to 127"):
            too_large.run(F(3, "int8"), I)


def test_eight_threads_compile_once():
    @kernel
    def fresh(x):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            y[i] = 3 * x[i]
        return y

    x = F(5)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(fresh.run, [x] * 32))
    for y in results:
        np.testing.assert_array_equal(y, 3 * x)
    assert len(fresh._compiled) == 1
    (compiled,) = fresh._compiled.values()
    assert [len(v._functions) for v in compiled._variants.values()] == [1]


def test_memory_is_flat():
    x = F((20, 50))
    softmax.run(x)
    tracemalloc.start()
    try:
        for n in (10, 1000):
            for _ in range(n):
                softmax.run(x)
            used = tracemalloc.get_traced_memory()[0]
            first = used if n == 10 else first
        assert used - first < 20_000
    finally:
        tracemalloc.stop()


def test_plans_are_bounded():
    for n in range(1, 400):
        reversed_.run(np.zeros(n, np.float32))
    (compiled,) = [c for c in reversed_._compiled.values() if c.dtypes["x"] == "float32"]
    assert compiled.plan.cache_info().currsize <= compiled.plan.cache_info().maxsize == 256
    assert len(compiled._variants) <= 4


FORKS = """
import multiprocessing, sys
import numpy as np
from layers.ops.ways._kernel import compiler, threads
from layers.ops import kernel

compiler.MIN_WORK = 1

@kernel
def outer(a):
    c = output_tensor((a.shape[0], a.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            c[i, j] = a[i] * a[j]
    return c

a = np.ones(700, np.float32)

def child(n):
    total = float(outer.run(a).sum())
    assert threads._pool is not None or threads.count() == 1
    return total

if __name__ == "__main__":
    child(0)  # compiled, and with threads, before the children are there
    for way in "fork", "spawn":
        with multiprocessing.get_context(way).Pool(1) as pool:
            assert pool.map(child, range(4)) == [700 * 700] * 4
        assert child(0) == 700 * 700
    print("done")
"""


@pytest.mark.slow
def test_forked_and_spawned_children(tmp_path):
    program = tmp_path / "children.py"
    program.write_text(FORKS)
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "done\n", done.stderr


@pytest.mark.slow_on("mxnet")
def test_without_numba(tmp_path):
    program = (
        "import sys, numpy as np\n"
        "from layers.ops import kernel\n"
        "print('numba' in sys.modules)\n"
        "sys.modules['numba'] = None\n"
        "@kernel\n"
        "def zeros(x):\n"
        "    y = output_tensor(x.shape, x.dtype)\n"
        "    return y\n"
        "print(zeros(np.ones(2)))\n"
        "try: zeros.run(np.ones(2))\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    done = forks.run([str(path)], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.stdout.splitlines() == [
        "False",
        "[0. 0.]",
        "operator 'zeros': compiling a kernel needs Numba, which is not installed",
        "  expected pip install numba",
    ], done.stderr
