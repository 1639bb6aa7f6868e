"""NDArrays: arithmetic, methods, and programs of indexing, views and writes in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from .program import OPERATORS, Expression, Program, array, call, literal, path
from .recording import differentiated, program
from .values import DTYPES, FLOATS, Draw, Shape, broadcastable, one, rarely, shape, tensor, values

OPERANDS = (2, 0.5, -1, 3, 1, 0, True, 1.7, -2.5)
FAR = (float("nan"), float("inf"), 1e10, np.float32(0.1), np.int64(3), np.float64(0.25))
FUNCTIONS = (
    *("add", "subtract", "multiply", "divide", "modulo", "power", "maximum", "minimum"),
    *("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"),
    *("logical_and", "logical_or", "logical_xor"),
)


@st.composite
def arithmetic(draw) -> Program:
    """An operator of Python, or its function, on arrays and numbers."""
    first, dtype = shape(draw), one(draw, *DTYPES)
    inputs = {"x0": tensor(draw, first, dtype)}
    other: Expression = literal(one(draw, *FAR) if rarely(draw, 8) else one(draw, *OPERANDS))
    if draw(st.booleans()):
        second = broadcastable(draw, first) if draw(st.booleans()) else first
        inputs["x1"] = tensor(draw, second, one(draw, *DTYPES) if rarely(draw, 20) else dtype)
        other = path("x1")
    pair = [path("x0"), other] if draw(st.booleans()) else [other, path("x0")]
    if rarely(draw, 15):
        about, result = "-x", ["operate", "-", path("x0")]
    elif draw(st.booleans()):
        about = one(draw, *(sign for sign in OPERATORS if sign != "is"))
        result = ["operate", about, *pair]
    else:
        about = one(draw, *FUNCTIONS)
        result = call(f"mx.nd.{about}", *pair)
    return program(f"arithmetic/{about}", *differentiated(draw, inputs, result))


# Methods that are no row of the table

METHODS = {
    "astype": lambda d, s: call("x0.astype", one(d, *DTYPES, "bool")),
    "copy": lambda d, s: call("x0.copy"),
    "asnumpy": lambda d, s: call("x0.asnumpy"),
    "asscalar": lambda d, s: call("x0.asscalar"),
    "as_in_context": lambda d, s: call("x0.as_in_context", call("mx.cpu", 1)),
    "detach": lambda d, s: call("x0.detach"),
    "tostype": lambda d, s: call("x0.tostype", "default"),
    "copyto": lambda d, s: call("x0.copyto", call("mx.nd.ones", literal(s), dtype=one(d, *DTYPES))),
    "context": lambda d, s: call("str", path("x0.context")),
    "T": lambda d, s: path("x0.T"),
    "size": lambda d, s: path("x0.size"),
    "ndim": lambda d, s: path("x0.ndim"),
    "stype": lambda d, s: path("x0.stype"),
    "len": lambda d, s: call("len", path("x0")),
    "bool": lambda d, s: call("bool", path("x0")),
    "float": lambda d, s: call("float", path("x0")),
    "int": lambda d, s: call("int", path("x0")),
    "list": lambda d, s: call("list", path("x0")),
    "repr": lambda d, s: call("str", call("x0.astype", "int32")),
    "reshape": lambda d, s: call("x0.reshape", *one(d, (-1,), (0, -1), s[::-1], (-2,), (1, -1))),
    "reshape of a tuple": lambda d, s: call(
        "x0.reshape", literal(one(d, (-1,), (0, -3), (-4, 1, -1, -2)))
    ),
    "broadcast_to": lambda d, s: call("x0.broadcast_to", literal(_larger(d, s))),
    "expand_dims": lambda d, s: call("x0.expand_dims", one(d, 0, -1, len(s), 1)),
    "split_v2": lambda d, s: call("x0.split_v2", one(d, 1, s[0], literal((1,))), one(d, 0, -1)),
    "transpose": lambda d, s: call("x0.transpose", *d(st.permutations(range(len(s))))),
    "zeros_like": lambda d, s: call("x0.zeros_like"),
    "slice_assign_scalar": lambda d, s: call(
        "x0.slice_assign_scalar", 2.0, literal((0,)), literal((1,)), literal((1,))
    ),
    "nd.concatenate": lambda d, s: call(
        "mx.nd.concatenate", ["list", path("x0"), path("x0")], one(d, 0, -1)
    ),
    "nd.moveaxis": lambda d, s: call("mx.nd.moveaxis", path("x0"), one(d, 0, -1), one(d, -1, 0)),
    "nd.array": lambda d, s: call("mx.nd.array", call("x0.asnumpy")),
    "nd.array of an NDArray": lambda d, s: call("mx.nd.array", path("x0")),
    "nd.ones": lambda d, s: call("mx.nd.ones", literal(s), dtype=one(d, *DTYPES)),
    "nd.full": lambda d, s: call("mx.nd.full", literal(s), one(d, 1, 0.5), dtype=one(d, *FLOATS)),
    "nd.arange": lambda d, s: call(
        "mx.nd.arange", one(d, 0, 1, 0.5), one(d, None, 5, 7.5), one(d, 1, 0.5, 2), one(d, 1, 2)
    ),
    "nd.linspace": lambda d, s: call("mx.nd.linspace", 0, one(d, 1, 5), one(d, 5, 1, 3)),
    "nd.eye": lambda d, s: call("mx.nd.eye", one(d, 3, 1), one(d, 0, 4), one(d, 0, 1, -1)),
    "nd.histogram": lambda d, s: call(
        "mx.nd.histogram", path("x0"), one(d, 3, 10), literal((-2, 2))
    ),
    "nd.onehot_encode": lambda d, s: call(
        "mx.nd.onehot_encode",
        call("mx.nd.array", ["list", 0, 2]),
        call("mx.nd.zeros", literal((2, 3))),
    ),
    "nd.stack": lambda d, s: call("mx.nd.stack", path("x0"), path("x0"), axis=one(d, 0, 1, -1)),
    "nd.true_divide": lambda d, s: call("mx.nd.true_divide", path("x0"), one(d, 2, path("x0"))),
}  # fmt: skip


def _larger(draw: Draw, given: Shape) -> Shape:
    larger = tuple(3 if s == 1 else s for s in given)
    return (2, *larger) if rarely(draw, 3) else larger


@st.composite
def methods(draw) -> Program:
    """A method, a property or a function that the table does not have."""
    about = one(draw, *METHODS)
    of = shape(draw, 1, 3)
    if about in ("asscalar", "bool", "float", "int") and not rarely(draw, 4):
        of = (1,) * len(of)
    inputs = {"x0": tensor(draw, of)}
    result = METHODS[about](draw, of)
    if result[0] == "path" or about in ("asnumpy", "asscalar", "context", "list", "repr"):
        return program(f"methods/{about}", [["let", "x0", inputs["x0"]]], [result])
    if about in ("len", "bool", "float", "int"):
        return program(f"methods/{about}", [["let", "x0", inputs["x0"]]], [result])
    return program(f"methods/{about}", *differentiated(draw, inputs, result))


# Programs of indexing


def key(draw: Draw, of: Shape) -> Any:
    """An index: integers, slices, None, an ellipsis, rarely lists and arrays."""
    items = [_index(draw, size) for size in of[: draw(st.integers(1, len(of)))]]
    if rarely(draw, 8):
        items.insert(draw(st.integers(0, len(items))), None)
    if rarely(draw, 8):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    if rarely(draw, 10):
        # Beside a list MXNet counts no negative integer from the end: it writes before the array.
        items = [abs(i) - 1 if type(i) is int and i < 0 else i for i in items]
        at = draw(st.integers(0, len(items) - 1))
        items[at] = _list(draw, of[min(at, len(of) - 1)])
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


def _index(draw: Draw, size: int) -> Any:
    if draw(st.booleans()):
        return draw(st.integers(-size, size - 1)) if size else 0
    if rarely(draw, 60):
        return one(draw, size, -size - 1)
    if rarely(draw, 20):
        return slice(*(one(draw, None, *range(-size - 1, size + 2)) for _ in range(2)))
    first = draw(st.integers(0, max(size - 1, 0)))
    last = draw(st.integers(first, size))
    step = one(draw, None, None, 1, 2, -1, -2)
    ends = (first, last + 1) if step is None or step > 0 else (last, first - 1 if first else None)
    return slice(
        *(one(draw, e, e, None if e is None or e >= size else e - size) for e in ends), step
    )


def _list(draw: Draw, size: int) -> Any:
    least = -size if rarely(draw, 10) else 0
    chosen = [draw(st.integers(least, max(size - 1, 0))) for _ in range(one(draw, 2, 1, 3))]
    return one(draw, chosen, np.array(chosen, "int64"), np.array(chosen, "int32"))


def _selected(of: Shape, chosen: Any) -> Shape | None:
    """The shape of what an index selects, by NumPy; None where there is nothing."""
    try:
        return np.empty(of)[chosen].shape or (1,)
    except IndexError:
        return None


class _Writer:
    """Draws statements on arrays whose shapes it knows."""

    def __init__(self, draw: Draw):
        self.draw, self.shapes, self.count = draw, {}, 0
        self.dtype = one(draw, "float32", "float32", *DTYPES)

    def new(self, value: Expression, of: Shape) -> list:
        name = f"x{self.count}"
        self.count += 1
        self.shapes[name] = of
        return ["let", name, value]

    def statement(self) -> list:
        name = one(self.draw, *self.shapes)
        of = self.shapes[name]
        way = one(self.draw, "view", "set", "set", "augment", "reshape", "augment item", "compute")
        if way == "augment":
            return ["augment", one(self.draw, "+", "*", "-"), name, self.value(of)]
        if way == "reshape":
            flat = (int(np.prod(of)),)
            return self.new(call(f"{name}.reshape", literal((-1,))), flat)
        if way == "compute":
            return self.new(["operate", one(self.draw, "+", "*"), path(name), 2], of)
        chosen = key(self.draw, of)
        selected = _selected(of, chosen)
        if way == "view" or selected is None or 0 in selected:
            return self.new(["item", path(name), literal(chosen)], selected or (1,))
        if way == "set":
            return ["set", path(name), literal(chosen), self.value(selected)]
        item = ["item", path(name), literal(chosen)]
        return ["set", path(name), literal(chosen), ["operate", "+", item, self.value(selected)]]

    def value(self, of: Shape) -> Expression:
        """What is written: a number, an array that broadcasts, a NumPy array, a list."""
        way = one(self.draw, "number", "array", "broadcast", "numpy", "number")
        if way == "number":
            return one(self.draw, 7, -1, 9, 3)
        to = (
            broadcastable(self.draw, tuple(s if s != 1 else 1 for s in of))
            if way == "broadcast"
            else of
        )
        to = tuple(min(s, t) for s, t in zip(of, to))
        drawn = values(self.draw, to, self.dtype, "ties")
        return literal(drawn) if way == "numpy" else array(drawn)


@st.composite
def indexing(draw) -> Program:
    """A few statements that take views, write through them, and show all arrays at the end."""
    w = _Writer(draw)
    first = shape(draw, 1, 3)
    do = [w.new(array(values(draw, first, w.dtype, "ties")), first)]
    do += [w.statement() for _ in range(draw(st.integers(1, 4)))]
    return program("indexing/program", do, [path(name) for name in w.shapes])


@st.composite
def recorded_indexing(draw) -> Program:
    """Indexing inside record(), and its gradient."""
    first = shape(draw, 1, 3)
    inputs = {"x0": array(values(draw, first, one(draw, *FLOATS), "normal"))}
    result = ["item", path("x0"), literal(key(draw, first))]
    if draw(st.booleans()):
        result = ["operate", "*", result, result]
    return program("indexing/recorded", *differentiated(draw, inputs, result, always=True))
