"""Tensors of which every element is written before one is read are not made of zeros."""

import runpy
import textwrap

import pytest

from layers.ops.ways._kernel.expansion import expand
from layers.ops.ways._kernel.filling import is_filled
from layers.ops.ways.kernel import Kernel

FILLED = [
    "for i in range(x.shape[0]):\n    for j in range(x.shape[1]):\n        y[i, j] = x[i, j]",
    "for i, j in grid(x.shape):\n    y[i, j] = 2.0 * x[i, j]",
    "for i in range(y.shape[0]):\n    for j in range(y.shape[1]):\n        y[i, j] = 1.0",
    "for i, j in grid(x.shape):\n    y[i, j] = 0.0\n    y[i, j] += x[i, j]",
    "for i in range(x.shape[0]):\n    t = x[i, 0]\n    for j in range(x.shape[1]):\n"
    "        t = t + 1.0\n        y[i, j] = t",
]
NOT = {
    "part of it": "for i in range(x.shape[0]):\n    y[i, 0] = x[i, 0]",
    "fewer rows": "for i in range(1, x.shape[0]):\n"
    "    for j in range(x.shape[1]):\n        y[i, j] = x[i, j]",
    "every second": "for i in range(0, x.shape[0], 2):\n"
    "    for j in range(x.shape[1]):\n        y[i, j] = x[i, j]",
    "added": "for i, j in grid(x.shape):\n    y[i, j] += x[i, j]",
    "read in the value": "for i, j in grid(x.shape):\n    y[i, j] = y[i, j] + x[i, j]",
    "read before": "for i, j in grid(x.shape):\n    t = y[i, j]\n    y[i, j] = t + x[i, j]",
    "on a condition": "for i, j in grid(x.shape):\n    if x[i, j] > 0:\n        y[i, j] = x[i, j]",
    "the other axis": "for j in range(x.shape[1]):\n"
    "    for i in range(x.shape[0]):\n        y[i, j] = x[i, j]",
    "turned": "for i in range(x.shape[0]):\n"
    "    for j in range(x.shape[1]):\n        y[j, i] = x[i, j]",
    "never": "for i, j in grid(x.shape):\n    t = x[i, j]",
}


def filled(body, folder):
    path = folder / "a_kernel.py"
    body = textwrap.indent(body, "    ")
    path.write_text(f"def f(x):\n    y = output_tensor(x.shape, x.dtype)\n{body}\n    return y\n")
    program, ranks = Kernel(runpy.run_path(str(path))["f"])._program, {"x": 2}
    return is_filled(program, expand(program, ranks), "y", ranks["y"])


@pytest.mark.parametrize("body", FILLED)
def test_filled(body, tmp_path):
    assert filled(body, tmp_path)


@pytest.mark.parametrize("body", NOT.values(), ids=NOT)
def test_not_filled(body, tmp_path):
    assert not filled(body, tmp_path)
