# ruff: noqa: F821  the names of the language
"""What a kernel's outputs are like is known before it runs, or it is refused when it is made."""

import re
import runpy

import numpy as np
import pytest

from layers.ops.ways.kernel import Kernel, KernelError, kernel

pytestmark = pytest.mark.slow_on("mxnet")

X = np.ones((5, 7), np.float32)


def made(shape, folder, before="pass"):
    path = folder / "written.py"
    path.write_text(
        f"def f(x, n):\n    {before}\n"
        f"    y = output_tensor({shape}, x.dtype)\n    y[0] = n + x[0, 0]\n    return y\n"
    )
    return Kernel(runpy.run_path(str(path))["f"])


KNOWN = [
    "(x.shape[0],)", "(ceil_div(x.shape[1], 2),)", "(x.shape[1] // n,)", "(x.shape[1] // -n + 9,)",
    "(x.shape[1] % 4,)", "(x.shape[0] ** 2,)", "(min(x.shape[0], n, 9),)", "(max(len(x), n),)",
    "len(x) + 1", "(ceil_div(-x.shape[0], 3) + 4,)", "(-n + 9,)", "(+n * 2 - 1,)",
]  # fmt: skip


@pytest.mark.parametrize("number", [3, np.int64(3)], ids=["int", "int64"])
@pytest.mark.parametrize("shape", KNOWN)
def test_sizes(shape, number, tmp_path):
    for before in ("pass", "m, k = x.shape"):
        size = shape if before == "pass" else shape.replace("x.shape[1]", "k")
        f = made(size, tmp_path, before)
        expected = f(X, number)
        assert f.infer_shapes(X.shape, number) == [expected.shape]
        assert f.infer_dtypes("float32", np.int64) == ["float32"]
        np.testing.assert_array_equal(f.run(X, number), expected)


UNKNOWN = [
    ("(x[0, 0],)", "pass", "x[0, 0]"),
    ("(n, x.shape[0] / 2)", "pass", "x.shape[0] / 2"),
    ("(2.0,)", "pass", "2.0"),
    ("(True,)", "pass", "True"),
    ("(not n,)", "pass", "not n"),
    ("sqrt(n)", "pass", "sqrt(n)"),
    ("(1 + max(n, x[0, 0]),)", "pass", "1 + max(n, x[0, 0])"),
    ("(m,)", "m = x[0, 0]", "m"),
    ("(m,)", "m = 1; m = 2", "m"),
    ("(m,)", "m = 1; m += 2", "m"),
]


@pytest.mark.parametrize("shape, before, marked", UNKNOWN)
def test_unknown_sizes_are_refused_when_it_is_made(shape, before, marked, tmp_path):
    with pytest.raises(KernelError) as caught:
        made(shape, tmp_path, before)
    told = str(caught.value).splitlines()
    assert told[0] == "operator 'f': a size that is known only when the kernel runs"
    assert told[1].startswith("  expected shapes, whole numbers and parameters")
    text, marks = told[-2:]
    assert text[marks.index("^") : marks.rindex("^") + 1] == marked


def test_sizes_that_do_not_fit(tmp_path):
    for f in (made("(x.shape[0] - n,)", tmp_path), made("(x.shape[0] // (n - 6),)", tmp_path)):
        with pytest.raises((ValueError, ZeroDivisionError)):
            f.infer_shapes(X.shape, 6)
    with pytest.raises(KernelError, match="a size that is known only when the kernel runs"):
        made("(n,)", tmp_path).infer_shapes(X.shape, 2.5)


@kernel
def row_ends(v, p):
    """An element of each row, at an index that zeros for `p` would not have."""
    y = output_tensor((p.shape[0] - 1,), v.dtype)
    at = output_tensor(p.shape, "int8")
    found = output_tensor(p.shape, "bool_")
    for r in range(p.shape[0] - 1):
        y[r] = v[p[r + 1] - 3]
    return y, at, found


def test_inferring_does_not_run():
    v, p = np.zeros(2, np.float16), np.array([0, 3, 4], np.int32)
    shapes, dtypes = [(2,), (3,), (3,)], ["float16", "int8", "bool"]
    assert row_ends.infer_shapes((2,), (3,)) == shapes
    assert row_ends.infer_shapes((10**9,), (3,)) == shapes  # nor is anything allocated
    assert row_ends.infer_dtypes("float16", "int32") == dtypes
    found = row_ends.run(v, p)
    assert ([y.shape for y in found], [y.dtype.name for y in found]) == (shapes, dtypes)


def test_inferring_refuses_what_running_would():
    for given, told in [
        (((2,), 3), "p is the number 3\n  expected a NumPy array"),
        (((2,),), "1 inputs\n  expected row_ends(v, p)"),
    ]:
        with pytest.raises(KernelError, match=re.escape(told)):
            row_ends.infer_shapes(*given)
    with pytest.raises(KernelError, match="v is complex64\n  expected one of int8"):
        row_ends.infer_dtypes("complex64", "int32")
    with pytest.raises(KernelError, match=r"a is of shape \(2, 2\)\n  expected a number"):
        scaled.infer_shapes((2, 2), (2, 2))


@kernel
def scaled(x, a):
    y = output_tensor(x.shape, x.dtype)
    for i, j in grid(x.shape):
        y[i, j] = a * x[i, j]
    return y


def test_custom_infers_without_running(mx):
    from layers.ops.ways.primitive import Custom

    def ends(v, p):
        y = output_tensor((p.shape[0] - 1,), v.dtype)
        for r in range(p.shape[0] - 1):
            y[r] = v[p[r + 1] - 3]
        return y

    v, p = mx.nd.array([7.0, 9.0]), mx.nd.array([0, 3, 4], dtype="int32")
    assert Custom(ends, func_type="hybrid")(v, p).asnumpy().tolist() == [7, 9]
