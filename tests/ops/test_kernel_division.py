# ruff: noqa: F821  the names of the language
"""`//` and `%` in compiled kernels are NumPy's, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layers.ops.ways.kernel import kernel

pytestmark = pytest.mark.slow_on("mxnet")

PAIRS = [
    ("float64", "float64"),
    ("float32", "float32"),
    ("float16", "float16"),
    ("float32", "float64"),
    ("float16", "float32"),
    ("float32", "int8"),
    ("int32", "float32"),
    ("uint8", "float16"),
    ("int32", "int8"),
]
SPECIAL = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 5e-324, -1e-45, 0.1, -0.1, 1.4, 2.2, 4.2, 3e4]


@kernel
def divided(a, b, like):
    q = output_tensor(a.shape, like.dtype)
    r = output_tensor(a.shape, like.dtype)
    for i in range(a.shape[0]):
        q[i] = a[i] // b[i]
        r[i] = a[i] % b[i]
    return q, r


@kernel
def divided_numbers(n, a, b):
    y = output_tensor((2, n), float64)
    for i in range(n):
        y[0, i] = a // b
        y[1, i] = a % b
    return y


def same(found, expected):
    """Equal as numbers and as to the sign of zero."""
    np.testing.assert_array_equal(found, expected)
    zeros = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


def check(a, b):
    with np.errstate(all="ignore"):
        expected = a // b, a % b
    for found in divided(a, b, expected[0]), divided.run(a, b, expected[0]):
        same(found[0], expected[0])
        same(found[1], expected[1])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_special_numbers(dtype):
    x = np.array(SPECIAL).astype(dtype)
    check(*(x.ravel() for x in np.meshgrid(x, x)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_decimal_fractions(dtype):
    tenths = (np.arange(-60, 61) / 10).astype(dtype)
    check(*(x.ravel() for x in np.meshgrid(tenths, tenths)))


def numbers(dtype):
    if np.dtype(dtype).kind == "f":
        return st.floats(width=8 * np.dtype(dtype).itemsize)
    return st.integers(np.iinfo(dtype).min, np.iinfo(dtype).max)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(data=st.data())
def test_as_numpy(pair, data):
    a, b = (np.array([data.draw(numbers(dtype))], dtype) for dtype in pair)
    check(a, b)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(a=st.floats(), b=st.floats().filter(bool))
def test_as_python(a, b):
    """Numbers that are Python's."""
    same(divided_numbers.run(1, a, b).ravel(), np.array([a // b, a % b]))
