# ruff: noqa: F821  the names of the language
"""The language of loop kernels: what is accepted, what is refused, and what is told of it."""

import linecache
import re
import runpy
import textwrap

import numpy as np
import pytest

from layers.ops.ways.kernel import Kernel, KernelError, kernel

# One for each rule, between `y = output_tensor(x.shape, x.dtype)` and `return y`; x is a vector.
ACCEPTED = {
    "constant": "y[0] = 1.5",
    "negative index": "y[-1] = x[-2]",
    "scalar": "t = x[0]\ny[0] = t",
    "sizes": "n, = x.shape\nfor i in range(n):\n    y[i] = n",
    "length": "for i in range(len(x)):\n    y[i] = len(y)",
    "range from and to": "for i in range(1, x.shape[0]):\n    y[i] = x[i - 1]",
    "range with a step": "for i in range(0, x.shape[0], 2):\n    y[i] = x[i]",
    "range backwards": "for i in range(x.shape[0] - 1, -1, -1):\n    y[i] = x[i]",
    "serial": "for i in serial(x.shape[0]):\n    y[i] = x[i]",
    "parallel": "for i in parallel(x.shape[0]):\n    y[i] = x[i]",
    "vectorize": "for i in vectorize(x.shape[0]):\n    y[i] = x[i]",
    "reduce": "for i in reduce(x.shape[0]):\n    y[0] += x[i]",
    "grid of a shape": "for p in grid(x.shape):\n    y[p] = x[p] * 2",
    "grid of sizes": "for i, j in grid((x.shape[0], 2)):\n    y[i] += x[i] * j",
    "if": "if x[0] > 0:\n    y[0] = 1\nelif x[0] < 0:\n    y[0] = 2\nelse:\n    y[0] = 3",
    "scalar of both branches": "if x[0] > 0:\n    t = 1.0\nelse:\n    t = 2.0\ny[0] = t",
    "conditional": "for i in range(3):\n    y[i] = x[i] if x[i] > 0 else -x[i]",
    "and or not": "if x[0] > 0 and (x[1] > 0 or not x[2] < 0):\n    y[0] = 1",
    "numbers as conditions": "if x[0] and len(x):\n    y[0] = 1",
    "chain": "for i in range(3):\n    if -1 < x[i] <= 2:\n        y[i] = 1",
    "arithmetic": "y[0] = x[0] + x[1] - x[2] * 2 / 3 // 1 % 5 ** 2",
    "augmented": "y[0] += 2\ny[0] -= x[1]\ny[0] *= 3\ny[0] /= 4\nt = 1\nt += 2\ny[1] = t",
    "gather": "for i in range(3):\n    y[i] = x[int32(x[i]) % 3]",
    "max and min": "y[0] = max(x[0], x[1], 0.0)\ny[1] = min(x[0], 2)",
    "conversions": "y[0] = float32(int32(x[0])) + float64(int8(x[1]))",
    "scalar in two loops": (
        "for i in range(2):\n    t = i\n    y[i] = t\n"
        "for i in range(2):\n    t = x[i]\n    y[i] += t"
    ),
    "scratch": "z = allocate(x.shape, float32)\nz[0] = x[0]\ny[0] = z[0] + z[1]",
    "scratch with a scope": "z = allocate((3, 2), x.dtype, 'local')\nz[0, 1] = 1\ny[0] = z[0, 1]",
    "one size": "z = allocate(len(x) + 1, 'float64')\nz[3] = 1\ny[0] = z[3]",
    "read before written": "for i in range(3):\n    y[i] = y[i] * y[i]",
    "pass": "if x[0] > 0:\n    pass\ny[0] = 1",
}


def function(text, folder):
    path = folder / "written.py"
    path.write_text(text)
    return runpy.run_path(str(path))["f"]


def around(body):
    return (
        "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n"
        f"{textwrap.indent(body, '    ')}\n    return y\n"
    )


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(body, tmp_path):
    x = np.array([1.5, -2.25, 0.5], np.float32)
    made = Kernel(function(around(body), tmp_path))
    y = made(x)
    assert y.shape == (3,) and y.dtype == np.float32
    assert y.any() != (body == ACCEPTED["read before written"])


# Lines in the same place; what is marked; what is told; what is expected.
REFUSED = [
    ("while x[0] > 0:\n    y[0] = 1", "while x[0] > 0:", "while is not in", "assignments, for, if"),
    ("for i in range(3):\n    break", "break", "break is not in", "assignments, for, if"),
    ("for i in range(3):\n    continue", "continue", "continue is not in", "assignments"),
    ("with attr('a', 1):\n    y[0] = 1", "with attr('a', 1):", "with is not", "assignments"),
    ("print(x)", "print(x)", "is not in the language", "assignments"),
    ("y[0] = np.sinh(x[0])", "np.sinh", "'np.sinh' is no intrinsic", "a call of one of abs, atan"),
    ("y[0] = sinh(x[0])", "sinh", "'sinh' is no intrinsic", "a call of one of abs, atan"),
    ("y[0] = x.item()", "x.item", "'x.item' is no intrinsic", "a call of one of"),
    ("y[0] = sqrt(x[0], 2)", "sqrt(x[0], 2)", "sqrt with 2 arguments", "1"),
    ("y[0] = power(x[0])", "power(x[0])", "power with 1 arguments", "2"),
    ("y[0] = max(x[0])", "max(x[0])", "max with 1 arguments", "2 to 255"),
    ("y[0] = exp(x=x[0])", "exp(x=x[0])", "arguments by name", "plain arguments"),
    ("z = allocate(x.shape)", "allocate(x.shape)", "allocate with 1 arguments", "2 to 3"),
    ("y[0] = x.size", "x.size", "the attribute 'x.size'", "the shape or the dtype"),
    ("y[0] = x.shape", "x.shape", "a shape as a whole", r"x\.shape\[0\]"),
    ("y[0] = x.dtype", "x.dtype", "a dtype as a number", "output_tensor"),
    ("y[0] = i.shape[0]", "i", "'i' is no tensor of the kernel", "x, y"),
    ("y[0] = x.shape[y[0]]", "y[0]", "the axis 'y\\[0\\]'", "a number"),
    ("y[0] = G", "G", "'G' is not declared", "names outside the function are not visible"),
    ("y[0] = t\nt = 1", "t", "'t' is not declared", "a parameter or a scalar"),
    (
        "for i in range(3):\n    t = x[i]\ny[0] = t",
        "t",
        "'t' is used outside the loop or branch of line 3 that defines it",
        "t = ... before line 3",
    ),
    ("for i in range(3):\n    y[i] = 1\ny[0] = i", "i", "'i' is used outside", "before line 3"),
    ("if x[0] > 0:\n    t = 1\ny[0] = t", "t", "'t' is used outside the loop or b", "before line"),
    ("for i in range(3):\n    i = 2", "i", "'i' is a loop variable, which", "another name"),
    ("for i in range(3):\n    i += 2", "i", "no scalar|loop variable", "a scalar|another"),
    (
        "for i in range(3):\n    for i in range(2):\n        y[i] = 1",
        "i",
        "'i' is a loop variable",
        "another",
    ),
    ("i = 1\nfor i in range(3):\n    y[i] = 1", "i", "'i' is a scalar already", "another name"),
    ("t += 1", "t", "'t' is not declared", "a parameter or a scalar"),
    ("s = t = 1.0", "s = t = 1.0", "several targets", "one target"),
    ("s, t = 1, 2", "s, t", "several targets", "n, m = x.shape"),
    ("y = output_tensor(x.shape, x.dtype)", "y", "'y' is defined twice", "another name"),
    ("y = 1", "y", "'y' is a tensor, which cannot be assigned", "an element"),
    ("x = 1", "x", "'x' is a (tensor|parameter), which", "another name, or an element"),
    ("exp = 1", "exp", "'exp' is the name of an intrinsic", "another name"),
    ("x[0] = 1", "x[0]", "the input 'x' is written", "copy x into an output_tensor"),
    ("x[0] += 1", "x[0]", "the input 'x' is written", "copy x into an output_tensor"),
    ("c = x + x", "x", "the tensor 'x' is used as a whole", r"x\[i, ...\]"),
    ("y[:] = x[:]", "x[:]", "a slice", "one element"),
    ("y[0] = x[0][1]", "x[0]", "an index after an index", r"x\[i, j\]"),
    ("y[0] = x[()]", "x[()]", "an element without an index", r"x\[i, ...\]"),
    (
        "z = output_tensor(x.shape, x.dtype)",
        "output_tensor(x.shape, x.dtype)",
        "'z' is not ret",
        "",
    ),
    (
        "for i in range(2):\n    z = allocate((1,), x.dtype)",
        "allocate((1,), x.dtype)",
        "a loop",
        "",
    ),
    ("z = allocate((1,), float8)", "float8", "'float8' is no dtype", "x.dtype, or int8"),
    ("y[0] = 1 + allocate((1,), float32)", "allocate((1,), float32)", "inside an expression", "="),
    ("y[0] = range(3)", "range(3)", "range outside a loop's head", "for i in range"),
    ("for i in x:\n    y[0] = 1", "x", "a loop over 'x'", r"range\(...\)"),
    ("for i in grid(3):\n    y[0] = 1", "3", "a grid of '3'", "x.shape"),
    ("for i, j in grid((3,)):\n    y[i] = 1", "i, j", "not as many", "one for each"),
    ("for i, j in range(3):\n    y[i] = 1", "i, j", "several loop variables", "grid"),
    ("for p in grid(x.shape):\n    y[p] = p", "p", "'p' stands for all indices", r"x\[p\]"),
    (
        "for i in range(3):\n    y[i] = 1\nelse:\n    y[0] = 1",
        "y[0] = 1",
        "an else after",
        "without",
    ),
    ("y[0] = x[0] & 1", "x[0] & 1", "the operation in", "one of"),
    ("y[0] = ~x[0]", "~x[0]", "the operation in", "-x"),
    ("y[0] = x[0] in y", "x[0] in y", "the comparison", "one of <"),
    ("y[0] = 'a'", "'a'", "is no number", "a number"),
    ("y[0] = 1j", "1j", "is no number", "a number"),
    ("y[0] = [x[0]]", "[x[0]]", "is not in the language", "numbers, names, elements"),
    ("y[0] = (lambda: 1)()", "lambda: 1", "is no intrinsic", "a call of one of"),
    ("return y", "return y", "a return before the end", "one return"),
    ("return", "return", "a return before the end", "one return"),
    ("y[0] = exp", "exp", "the intrinsic 'exp' is not called", r"exp\(...\)"),
    ("a: int = 1", "a: int = 1", "an assignment with a type", "assignments"),
    ("import math", "import math", "import is not", "assignments"),
]


@pytest.mark.parametrize("body, mark, told, expected", REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(body, mark, told, expected, tmp_path):
    check(around(body), mark, told, expected, tmp_path)


WHOLE = [
    ("def f(x):\n    y = output_tensor(x.shape, x.dtype)", "def f(x):", "no return", "return y"),
    ("def f(x):\n    return x", "x", "the parameter 'x' is returned", "copy x into one"),
    ("def f(x):\n    t = 1\n    return t", "t", "'t' is returned", "all that output_tensor"),
    ("def f(x):\n    return", "return", "nothing is returned", "all that output_tensor"),
    ("def f(x):\n    return 1, 2", "1", "'1' is returned", "all that output_tensor"),
    ("def f(*x):\n    return x", "x", "a parameter with a star", "plain names"),
    ("def f(x, n=3):\n    return x", "3", "a parameter with a star, a default", "plain names"),
    ("def f(max):\n    return max", "max", "'max' is the name of an intrinsic", "another name"),
    (
        "def f(x):\n    y = allocate(x.shape, x.dtype)\n    return y",
        "y",
        "'y' is returned",
        "all that output_tensor made",
    ),
    (
        "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    return y, y",
        "return y, y",
        "returned twice",
        "return y",
    ),
]


@pytest.mark.parametrize("text, mark, told, expected", WHOLE, ids=[w[0] for w in WHOLE])
def test_refused_as_a_whole(text, mark, told, expected, tmp_path):
    check(text + "\n", mark, told, expected, tmp_path)


def check(text, mark, told, expected, folder):
    with pytest.raises(KernelError) as caught:
        Kernel(function(text, folder))
    first, second, place, line, caret = str(caught.value).splitlines()
    assert first.startswith("operator 'f': ") and re.search(told, first)
    assert second.startswith("  expected ") and re.search(expected, second)
    marked = line[caret.index("^") : len(caret)]
    assert marked == mark
    number, column = map(int, re.search(r"written.py, line (\d+), column (\d+)$", place).groups())
    assert text.splitlines()[number - 1][column - 1 :].startswith(mark)


def test_the_place_is_the_users(tmp_path):
    text = "\n\nclass A:\n    @staticmethod\n    def f(x):\n        'é'\n        ö = x.é\n"
    path = tmp_path / "written.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KernelError, match=r"line 7, column 13\n    ö = x.é\n        \^\^\^$"):
        Kernel(runpy.run_path(str(path))["A"].f)


def test_functions_that_are_not_written():
    namespace = {}
    exec("def f(x):\n    return x", namespace)  # as at a prompt
    with pytest.raises(KernelError, match="its source cannot be read .*\n  expected a function th"):
        Kernel(namespace["f"])
    with pytest.raises(KernelError, match="made of ufunc\n  expected a function written in Python"):
        Kernel(np.add)
    with pytest.raises(KernelError, match="not written as a function of its own\n  expected def"):
        Kernel(lambda x: x)
    with pytest.raises(TypeError):
        Kernel(np.add)
    with pytest.raises(ValueError):
        Kernel(np.add)


def test_another_program_is_not_read_for_it(monkeypatch):
    """Python 3.13 finds the text of python -c for what exec() defines in it."""
    other = ["def other(x):\n", "    y = output_tensor(x.shape, x.dtype)\n", "    return y\n"]
    monkeypatch.setitem(linecache.cache, "<other>", (len("".join(other)), None, other, "<other>"))
    namespace = {}
    exec(compile("def f(x):\n    return x", "<other>", "exec"), namespace)
    with pytest.raises(KernelError, match=r"cannot be read \(line 1 does not define it\)"):
        Kernel(namespace["f"])


def test_a_closure_is_not_seen():
    factor = 2.0

    def scaled(x):
        y = output_tensor(x.shape, x.dtype)
        for i in range(x.shape[0]):
            y[i] = factor * x[i]
        return y

    with pytest.raises(KernelError, match="'factor' is not declared"):
        kernel(scaled)
