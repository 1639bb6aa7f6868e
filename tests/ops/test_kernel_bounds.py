"""What is proven of a kernel's indices is so: each access is followed, for all small parameters."""

import itertools
import runpy
import textwrap

import numpy as np
import pytest

from layers.ops.ways._kernel.bounds import survey
from layers.ops.ways._kernel.expansion import expand
from layers.ops.ways.kernel import Kernel

pytestmark = pytest.mark.slow_on("mxnet")

# What is between `y = output_tensor((1,), float64)` and `return y`: one access to x, which has n
# elements, and whole numbers a, b.
BODIES = {
    "constant": "y[0] = x[2]",
    "negative constant": "y[0] = x[-2]",
    "parameter": "y[0] = x[a]",
    "sum": "for i in range(n):\n    y[0] += x[i + a]",
    "difference": "for i in range(b, n):\n    y[0] += x[a - i]",
    "product": "for i in range(n):\n    y[0] += x[a * i + b]",
    "product of loops": "for i in range(a):\n    for j in range(-b, 2):\n        y[0] += x[i * j]",
    "negative": "for i in range(a, b):\n    y[0] += x[-i]",
    "quotient": "for i in range(a, n):\n    y[0] += x[i // 2]",
    "quotient by a parameter": "if b != 0:\n    for i in range(a, n):\n        y[0] += x[i // b]",
    "quotient by a negative": "if b < 0:\n    for i in range(a, n):\n        y[0] += x[i // b]",
    "rounded up": "for i in range(a, n):\n    y[0] += x[ceil_div(i, 2)]",
    "rounded up by a parameter": "if b > 0:\n    for i in range(a, n):\n        y[0] += x[ceil_div(i, b)]",  # noqa: E501  one line, one body
    "known remainder": "y[0] = x[a % -3]",
    "known power": "y[0] = x[a ** 2]",
    "remainder": "for i in range(a, n):\n    y[0] += x[i % 3]",
    "remainder and more": "for i in range(a, b):\n    y[0] += x[i % 3 + 1]",
    "remainder by a parameter": "if b != 0:\n    for i in range(a, n):\n        y[0] += x[i % b]",
    "maximum": "for i in range(a, n):\n    y[0] += x[max(i, b)]",
    "minimum": "for i in range(a, n + 2):\n    y[0] += x[min(i, b, n)]",
    "from and to": "for i in range(a, n + b):\n    y[0] += x[i]",
    "step": "for i in range(a, n + b, 2):\n    y[0] += x[i]",
    "step back": "for i in range(n + a, b, -2):\n    y[0] += x[i]",
    "triangle": "for i in range(n + a):\n    for j in range(b, i):\n        y[0] += x[j]",
    "guard below": "for i in range(n):\n    y[0] += x[i - a] if i >= b else 0.0",
    "guard strictly below": "for i in range(n):\n    if i > a:\n        y[0] += x[i - b]",
    "guard above": "for i in range(n + 2):\n    if i < n - a:\n        y[0] += x[i + b]",
    "guard including": "for i in range(n + 2):\n    if i <= n - a:\n        y[0] += x[i]",
    "guard mirrored": "for i in range(n + 2):\n    if a <= i and n + b > i:\n        y[0] += x[i]",
    "guard negated": "for i in range(n + 2):\n    if not i >= a:\n        y[0] += x[i + b]",
    "guard else": "for i in range(n + 2):\n    if i > a or i < b:\n        pass\n    else:\n        y[0] += x[i]",  # noqa: E501  one line, one body
    "guard chained": "for i in range(n + 2):\n    if a <= i < b:\n        y[0] += x[i]",
    "guard chained, else": "for i in range(3):\n    y[0] += 0.0 if a <= i < b else x[i]",
    "guard equal": "for i in range(-3, 5):\n    if i == a:\n        y[0] += x[i]",
    "guard unequal, else": "for i in range(-3, 5):\n    y[0] += 0.0 if i != a else x[i]",
    "guard in the condition": "for i in range(n + 2):\n    y[0] += i > a and i < n and x[i] > 0",
    "guard or": "for i in range(n + 2):\n    y[0] += i < a or i >= n or x[i] > 0",
    "guard left": "for i in range(n + 2):\n    if i < n:\n        pass\n    y[0] += x[i]",
    "guard unknown": "for i in range(n + 1):\n    if y[0] < i:\n        y[0] += x[i]",
    "scalar": "for i in range(n):\n    t = i + a\n    y[0] += x[t]",
    "scalar of before": "t = 0\nfor i in range(n):\n    y[0] += x[t]\n    t = i + a",
    "scalar of branches": "if a > b:\n    t = 0\nelse:\n    t = a\ny[0] += x[t]",
    "scalar that grows": "t = 0\nfor i in range(a):\n    t += 1\ny[0] += x[t]",
    "scalar narrowed": "t = a\nif t >= 0 and t < n:\n    y[0] = x[t]",
    "loop over a condition": "for i in range(n if a > b else n + 1):\n    y[0] += x[i]",
    "conversion": "for i in range(n):\n    y[0] += x[int32(i) + a]",
    "large": "for i in range(n):\n    y[0] += x[(i + a) * 1000000007 * 1000000007 % 3]",
}


class Followed:
    """A tensor that keeps what it was indexed with."""

    def __init__(self, n):
        self.shape, self.seen = (n,), set()

    def __getitem__(self, index):
        self.seen.add(int(index))
        return np.float64(1)


def made(body, folder):
    path = folder / "written.py"
    path.write_text(
        "def f(x, a, b):\n    y = output_tensor((1,), float64)\n    n = x.shape[0]\n"
        f"    u = a + b\n{textwrap.indent(body, '    ')}\n    return y\n"
    )
    return Kernel(runpy.run_path(str(path))["f"])


def accesses(kernel, n, a, b):
    """The indices that x is read at, and whether they are proven to be in range."""
    x = Followed(n)
    with np.errstate(all="ignore"):
        kernel._reference(x, a, b)
    body = expand(kernel._program, {"x": 1})
    return x.seen, survey(kernel._program, body, {"x": (n,)}, {"a": a, "b": b}).unproven


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_proven_is_so(body, tmp_path):
    kernel = made(body, tmp_path)
    for n, a, b in itertools.product(range(5), range(-2, 4), range(-2, 4)):
        seen, unproven = accesses(kernel, n, a, b)
        lowest = -n if body == BODIES["negative constant"] else 0
        outside = [i for i in seen if not lowest <= i < n]
        assert unproven or not outside, f"x[{outside}] of {n} where a = {a} and b = {b}"


# By body, n, a and b where every index is in range, and that is to be seen.
PROVEN = [
    ("constant", 3, 0, 0),
    ("negative constant", 2, 0, 0),
    ("sum", 4, 0, 0),
    ("product", 1, 2, 0),
    ("quotient", 3, 0, 0),
    ("rounded up", 3, 0, 0),
    ("known remainder", 2, -3, 0),
    ("known power", 5, 2, 0),
    ("remainder", 3, 0, 0),
    ("minimum", 3, 0, 2),
    ("from and to", 4, 1, -1),
    ("step back", 4, -1, -1),
    ("triangle", 4, 0, 0),
    ("guard below", 4, 1, 1),
    ("guard strictly below", 4, 0, 1),
    ("guard above", 4, 1, 1),
    ("guard including", 4, 1, 0),
    ("guard mirrored", 4, 0, 0),
    ("guard negated", 4, 2, 0),
    ("guard else", 4, 2, 1),
    ("guard chained", 4, 1, 3),
    ("guard equal", 4, 1, 0),
    ("guard unequal, else", 4, 1, 0),
    ("guard in the condition", 4, 0, 0),
    ("guard or", 4, 0, 0),
    ("scalar", 4, 0, 0),
    ("scalar narrowed", 4, 2, 0),
    ("sum", 0, 3, 0),  # a loop that does nothing
]


@pytest.mark.parametrize("body, n, a, b", PROVEN)
def test_what_is_in_range_is_proven(body, n, a, b, tmp_path):
    seen, unproven = accesses(made(BODIES[body], tmp_path), n, a, b)
    assert not unproven and (seen or not n)
