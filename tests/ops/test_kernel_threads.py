"""Which loops of a kernel are spread over threads, and that nothing but time depends on it."""

import runpy
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from layers.ops.ways._kernel import compiler, threads
from layers.ops.ways.kernel import Kernel

pytestmark = pytest.mark.slow_on("mxnet")

N = 300

# What is between `y = output_tensor(x.shape, x.dtype)` and `return y`; x is (N, 3), k (N,).
SPREAD = {
    "own row": "for i in range(n):\n    for j in range(3):\n        y[i, j] = 2 * x[i, j]",
    "grid": "for i, j in grid(x.shape):\n    y[i, j] = x[i, j] ** 2",
    "grid of points": "for p in grid(x.shape):\n    y[p] += x[p]",
    "reversed": "for i in range(n):\n    y[n - 1 - i, 0] = x[i, 0]",
    "offset": "for i in range(n - 1):\n    y[i + 1, 0] = x[i, 0] + y[i + 1, 0]",
    "offset that wraps in the second axis": "for i in range(n):\n    y[i, -1] = x[i, 0]",
    "step": "for i in range(1, n, 2):\n    y[i, 0] = x[i, 0]",
    "backwards": "for i in range(n - 1, -1, -3):\n    y[i, 0] = x[i, 0]",
    "scalars of one iteration": (
        "for i in range(n):\n    s = 0.0\n    for j in range(3):\n        s += x[i, j]\n"
        "    y[i, 0] = s"
    ),
    "scalars of all": "a = x[0, 0]\nb = a * 2\nfor i in range(n):\n    y[i, 0] = a * b + x[i, 0]",
    "gather": "for i in range(n):\n    y[i, 0] = x[k[i], 0]",
    "conditions": "for i in range(n):\n    if x[i, 0] > 0:\n        y[i, 0] = 1.0",
    "parallel": "for i in parallel(n):\n    y[i, 0] = x[i, 0]",
    "after another": (
        "z = allocate((n,), x.dtype)\nfor i in range(n):\n    z[i] = x[i, 0]\n"
        "z[0] = 5\nfor i in range(n):\n    y[i, 0] = z[n - 1 - i]"
    ),
}

SERIAL = {
    "one element for all": "for i in range(n):\n    y[0, 0] += x[i, 0]",
    "scan": "for i in range(1, n):\n    y[i, 0] = y[i - 1, 0] + x[i, 0]",
    "carried scalar": "s = 0.0\nfor i in range(n):\n    s += x[i, 0]\n    y[i, 0] = s",
    "last scalar": "s = 0.0\nfor i in range(n):\n    s = x[i, 0]\n    y[i, 0] = 1.0\ny[0, 0] = s",
    "guarded scalar": "s = 0\nfor i in range(n):\n    if x[i, 0] > 0:\n        s = i\ny[0, 0] = s",
    "two to one": "for i in range(n):\n    y[i // 2, 0] += x[i, 0]",
    "scatter": "for i in range(n):\n    y[k[i], 0] += x[i, 0]",
    "modulo": "for i in range(n):\n    y[i % 7, 0] += x[i, 0]",
    "two places": "for i in range(n - 1):\n    y[i, 0] += 1\n    y[i + 1, 0] += x[i, 0]",
    "mirrored read": "for i in range(n):\n    y[i, 0] = y[n - 1 - i, 0] + x[i, 0]",
    "read of one for all": "for i in range(n):\n    y[i, 0] = y[0, 0] + x[i, 0]",
    "second axis": (
        "for i in range(3):\n    for j in range(n):\n        y[j, i] = x[j, 0] + y[j, 0]"
    ),
    "twice": "for i in range(n // 2):\n    y[2 * i, 0] = x[i, 0]",
    "wraps around": "for i in range(n + 1):\n    y[i - 1, 0] += i",
    "moving offset": (
        "for i in range(n - 3):\n    for j in range(3):\n        y[i + j, 0] += x[i, 0]"
    ),
    "offset of one iteration": (
        "for i in range(n // 2):\n    t = i % 2\n    y[i + t, 0] += x[i, 0] + 1"
    ),
    "offset of data": "for i in range(n):\n    y[i - k[i] % (i + 1), 0] += x[i, 0]",
    "serial": "for i in serial(n):\n    y[i, 0] = x[i, 0]",
    "reduce": "for i in reduce(n):\n    y[i, 0] = x[i, 0]",
    "data decides how far": "for i in range(k[0]):\n    y[i, 0] = x[i, 0]",
    "a scalar of what is written": "y[0, 0] = 3\ns = y[0, 0]\nfor i in range(n):\n    y[i, 1] = s",
}


def made(body, folder):
    path = folder / "written.py"
    path.write_text(
        "def f(x, k):\n    y = output_tensor(x.shape, x.dtype)\n    n = x.shape[0]\n"
        f"{textwrap.indent(body, '    ')}\n    return y\n"
    )
    return Kernel(runpy.run_path(str(path))["f"])


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)


@pytest.fixture
def k():
    return np.random.default_rng(1).integers(0, N, N)


@pytest.fixture
def eager(monkeypatch):
    """Every loop that may be spread is worth it, and there are three threads."""
    monkeypatch.setattr(compiler, "MIN_WORK", 1)
    monkeypatch.setattr(threads, "count", lambda: 3)


def spread(kernel, *inputs):
    """The ranges that are spread, as the kernel has planned it."""
    (compiled,) = kernel._compiled.values()
    plan, _ = compiled.plan(tuple(x.shape for x in inputs), ())
    return [iterations for _, iterations in plan.parts if iterations]


@pytest.mark.parametrize("body", SPREAD.values(), ids=SPREAD)
def test_spread(body, x, k, eager, tmp_path, monkeypatch):
    kernel = made(body, tmp_path)
    found = kernel.run(x, k)
    assert spread(kernel, x, k)
    np.testing.assert_allclose(found, kernel(x, k), rtol=1e-6)
    monkeypatch.setattr(threads, "count", lambda: 1)
    serial = made(body, tmp_path)
    assert found.tobytes() == serial.run(x, k).tobytes()  # to the last bit
    assert not spread(serial, x, k)


@pytest.mark.parametrize("body", SERIAL.values(), ids=SERIAL)
def test_serial(body, x, k, eager, tmp_path):
    kernel = made(body, tmp_path)
    found = kernel.run(x, k)
    assert not spread(kernel, x, k)
    np.testing.assert_allclose(found, kernel(x, k), rtol=1e-5)


def test_both_kinds_of_loops_in_one(x, k, eager, tmp_path):
    kernel = made(
        "z = allocate((n,), x.dtype)\n"
        "for i in range(n):\n    z[i] = 2 * x[i, 0]\n"  # spread
        "for i in range(1, n):\n    z[i] += z[i - 1]\n"  # not
        "if z[0] > 0:\n    z[0] = 0\n"
        "for i in range(n):\n    y[i, 0] = z[n - 1 - i]\n",  # spread
        tmp_path,
    )
    np.testing.assert_allclose(kernel.run(x, k), kernel(x, k), rtol=1e-4, atol=1e-5)
    assert spread(kernel, x, k) == [range(N), range(N)]


def test_pieces_are_all_of_it():
    done = []
    for n in (1, 2, 5, 100):
        for iterations in (range(n), range(3, 3 + n), range(n - 1, -1, -1), range(0, 7 * n, 7)):
            done.clear()
            threads.spread(done.append, iterations)
            assert sorted(i for piece in done for i in piece) == sorted(iterations)


def test_small_ones_are_not_spread(x, k, tmp_path, monkeypatch):
    monkeypatch.setattr(threads, "count", lambda: 3)
    kernel = made(SPREAD["own row"], tmp_path)
    kernel.run(x, k)
    assert not spread(kernel, x, k)


def test_an_error_in_one_piece(x, k, eager, tmp_path):
    kernel = made(SPREAD["gather"], tmp_path)
    k[N - 1] = k[N // 2] = N
    for _ in range(3):
        with pytest.raises(IndexError, match="'f': index 300 is out of range for axis 0 of 'x'"):
            kernel.run(x, k)
    np.testing.assert_array_equal(kernel.run(x, k % N), kernel(x, k % N))


def test_from_eight_threads(x, k, eager, tmp_path):
    kernel = made(SPREAD["scalars of one iteration"], tmp_path)
    expected = kernel.run(x, k)
    with ThreadPoolExecutor(8) as pool:
        for y in pool.map(lambda _: kernel.run(x, k), range(200)):
            np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    "asked, count", [("1", 1), ("", None), ("many", None), ("1,4", 1), ("0", 1)]
)
def test_how_many_threads(asked, count, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    usable = threads.count.__wrapped__()
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert usable == (count or threads.count.__wrapped__())
