"""Programs as plain data: made by the fuzzer, run on either engine, printed as Python.

An expression is a number, a text, True, False or None, or a list that begins with its form::

    ["path", "x.grad"]  ["call", function, [arguments], {keywords}]  ["attribute", of, "shape"]
    ["item", of, key]  ["operate", "+", a, b]  ["tuple", a, b]  ["list", a, b]
    ["slice", start, stop, step]  ["ellipsis"]  ["dtype", "float32"]
    ["array", dtype, shape, values]  ["numpy", dtype, shape, values]

A statement is ["let", name, value], ["do", value], ["set", of, key, value],
["augment", "+", name, value] or ["with", context, [statements]]. A program is
{"do": [statements], "show": [expressions]}; what it shows is compared.

No text of it is ever evaluated, so it may come from another process.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import prelude

Expression = Any
Program = dict[str, list]

OPERATORS: dict[str, Callable] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "**": operator.pow,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
}
AUGMENTED: dict[str, Callable] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "%": operator.imod,
    "**": operator.ipow,
}
HELPERS = {name: f for name, f in vars(prelude).items() if inspect.isfunction(f)}
BUILTINS = {f.__name__: f for f in (bool, dict, float, int, len, list, str)}


def path(dotted: str) -> Expression:
    """What a dotted name stands for: ``x``, ``x.grad``, ``mx.nd.sum``."""
    return ["path", dotted]


def call(
    function: str | Expression, /, *arguments: Expression, **keywords: Expression
) -> Expression:
    """A call of a function, of what a dotted name stands for if it is a text."""
    function = path(function) if isinstance(function, str) else function
    return ["call", function, list(arguments), keywords]


def array(values: np.ndarray) -> Expression:
    """An NDArray."""
    return ["array", values.dtype.name, list(values.shape), values.reshape(-1).tolist()]


def literal(value: Any) -> Expression:
    """A Python value as an expression."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(literal, value)]
    if isinstance(value, slice):
        return ["slice", *map(literal, (value.start, value.stop, value.step))]
    if value is Ellipsis:
        return ["ellipsis"]
    if isinstance(value, np.ndarray):
        return ["numpy", *array(value)[1:]]
    if isinstance(value, np.generic):
        return ["numpy", value.dtype.name, [], [value.item()]]
    if hasattr(value, "asnumpy"):
        return array(value.asnumpy())
    if isinstance(value, type) and issubclass(value, np.generic):
        return ["dtype", value.__name__]
    raise TypeError(f"a program cannot hold {value!r}")


class Run:
    """A program at work on an engine, whose module is `mx`: a method for each form."""

    def __init__(self, mx: Any):
        self.names = {"mx": mx, **HELPERS, **BUILTINS}

    def do(self, statements: list) -> None:
        for form, *parts in statements:
            getattr(self, f"_{form}")(*parts)

    def value(self, expression: Expression) -> Any:
        if not isinstance(expression, list):
            return expression
        form, *parts = expression
        return getattr(self, f"_{form}")(*parts)

    def _let(self, name, value):
        self.names[name] = self.value(value)

    _do = value

    def _set(self, of, key, value):
        self.value(of)[self.value(key)] = self.value(value)

    def _augment(self, sign, name, value):
        self.names[name] = AUGMENTED[sign](self.names[name], self.value(value))

    def _with(self, context, statements):
        with self.value(context):
            self.do(statements)

    def _path(self, dotted):
        first, *rest = dotted.split(".")
        found = self.names[first]
        for name in rest:
            found = getattr(found, name)
        return found

    def _attribute(self, of, name):
        return getattr(self.value(of), name)

    def _call(self, function, arguments, keywords):
        arguments = [self.value(a) for a in arguments]
        return self.value(function)(*arguments, **{k: self.value(v) for k, v in keywords.items()})

    def _item(self, of, key):
        return self.value(of)[self.value(key)]

    def _operate(self, sign, *operands):
        operands = [self.value(o) for o in operands]
        return OPERATORS[sign](*operands) if len(operands) == 2 else -operands[0]

    def _tuple(self, *items):
        return tuple(self.value(i) for i in items)

    def _list(self, *items):
        return [self.value(i) for i in items]

    def _slice(self, *ends):
        return slice(*(self.value(e) for e in ends))

    def _ellipsis(self):
        return Ellipsis

    def _dtype(self, name):
        return getattr(np, name)

    def _numpy(self, dtype, shape, values):
        found = np.array(values, dtype).reshape(shape)
        return found if shape else found[()]

    def _array(self, dtype, shape, values):
        return self.names["mx"].nd.array(self._numpy(dtype, shape, values), dtype=dtype)


def run(mx: Any, program: Program) -> dict:
    """What a program shows, {"shown": [expressions]}, or {"error": "ValueError: ..."}."""
    running = Run(mx)
    try:
        running.do(program["do"])
        return {"shown": [literal(running.value(e)) for e in program["show"]]}
    except Exception as error:  # which is an outcome, to be compared with the other engine's
        return {"error": f"{type(error).__name__}: {error}"}


# As Python


def source(program: Program) -> str:
    """The program as Python that runs once ``mx``, ``np``, ``inf`` and ``nan`` are imported."""
    lines = _lines(program["do"]) + [f"print({text(e)})" for e in program["show"]]
    whole = "\n".join(lines)
    called = [f for name, f in HELPERS.items() if f"{name}(" in whole]
    return "\n".join([*(inspect.getsource(f) for f in called), whole])


def _lines(statements: list, indent: str = "") -> list[str]:
    lines = []
    for form, *parts in statements:
        if form == "with":
            lines += [f"{indent}with {text(parts[0])}:", *_lines(parts[1], indent + "    ")]
        else:
            lines.append(indent + _STATEMENTS[form](*parts))
    return lines


_STATEMENTS: dict[str, Callable[..., str]] = {
    "let": lambda name, value: f"{name} = {text(value)}",
    "do": lambda value: text(value),
    "set": lambda of, key, value: f"{text(of)}[{_key(key)}] = {text(value)}",
    "augment": lambda sign, name, value: f"{name} {sign}= {text(value)}",
}


def text(expression: Expression) -> str:
    """An expression as Python."""
    if not isinstance(expression, list):
        return repr(expression)
    form, *parts = expression
    return _EXPRESSIONS[form](*parts)


def _call_text(function: Expression, arguments: list, keywords: dict) -> str:
    shown = [*map(text, arguments), *(f"{k}={text(v)}" for k, v in keywords.items())]
    return f"{text(function)}({', '.join(shown)})"


def _numpy_text(dtype: str, shape: list, values: list) -> str:
    if not shape:
        return f"np.{dtype}({text(values[0])})"
    if not values:
        return f"np.zeros({tuple(shape)}, {dtype!r})"
    return f"np.array({np.array(values, object).reshape(shape).tolist()}, {dtype!r})"


def _array_text(dtype: str, shape: list, values: list) -> str:
    if not (shape and values):
        return f"mx.nd.array({_numpy_text(dtype, shape, values)}, dtype={dtype!r})"
    nested = np.array(values, object).reshape(shape).tolist()
    return (
        f"mx.nd.array({nested}, dtype={dtype!r})"
        if dtype != "float32"
        else f"mx.nd.array({nested})"
    )


def _key(key: Expression) -> str:
    items = key[1:] if isinstance(key, list) and key[0] == "tuple" and len(key) > 2 else [key]
    return ", ".join(_slice_text(*i[1:]) if _is_slice(i) else text(i) for i in items)


def _is_slice(expression: Expression) -> bool:
    return isinstance(expression, list) and expression[0] == "slice"


def _slice_text(start: Expression, stop: Expression, step: Expression) -> str:
    shown = ["" if e is None else text(e) for e in (start, stop, step)]
    return ":".join(shown if shown[2] else shown[:2])


_EXPRESSIONS: dict[str, Callable[..., str]] = {
    "path": lambda dotted: dotted,
    "attribute": lambda of, name: f"{text(of)}.{name}",
    "call": _call_text,
    "item": lambda of, key: f"{text(of)}[{_key(key)}]",
    "operate": lambda sign, *o: (
        f"({f' {sign} '.join(map(text, o)) if o[1:] else sign + text(o[0])})"
    ),
    "tuple": lambda *items: f"({', '.join(map(text, items))}{',' * (len(items) == 1)})",
    "list": lambda *items: f"[{', '.join(map(text, items))}]",
    "slice": lambda *ends: f"slice({', '.join(map(text, ends))})",
    "ellipsis": lambda: "...",
    "dtype": lambda name: f"np.{name}",
    "array": _array_text,
    "numpy": _numpy_text,
}
