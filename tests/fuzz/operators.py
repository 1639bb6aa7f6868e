"""Calls of the rows of the table: each a function of MXNet, with its inputs and attributes."""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import torch
from hypothesis import strategies as st

from layers.mxnet._table import registry
from layers.mxnet._table.attributes import Axis
from layers.mxnet._table.registry import REQUIRED, Absent, Op
from layers.mxnet.base import MXNetError
from layers.mxnet.ndarray import NDArray

from . import hints
from .hints import Draft, hint
from .program import Expression, Program, call, path
from .recording import differentiated, program
from .values import DTYPES, FLOATS, INTEGERS, NUMBERS, one, rarely, shape, spelled, tensor

PLACES = ("contrib", "linalg", "image", "sparse")


@cache
def rows() -> tuple[str, ...]:
    """The names of all rows that are there."""
    found = {id(registry.get(name)): registry.get(name) for name in registry.names()}
    return tuple(row.name for row in found.values() if not isinstance(row, Absent))


def where(name: str) -> str:
    """Where MXNet keeps a function: ``mx.nd.sum``, ``mx.nd.linalg.gemm``, ..."""
    place, _, rest = name.lstrip("_").partition("_")
    if not name.startswith("_"):
        return f"mx.nd.{name}"
    if place in PLACES or (place == "random" and name.endswith("_like")):
        return f"mx.nd.{place}.{rest}"
    return f"mx.nd._internal.{name}"


@st.composite
def calls(draw, only: tuple[str, ...] = ()) -> Program:
    """A program that calls one row, under one of its names."""
    row = registry.get(one(draw, *(only or rows())))
    c = Draft(draw, row)
    inputs = _inputs(c)
    attributes = {n: spelled(draw, v) for n, v in c.attributes.items()}
    names = {f"x{i}": value for i, value in enumerate(inputs.values())}
    places = dict(zip(inputs, map(path, names)))
    result = _spelling(draw, row, places, attributes)
    states = [places[n] for n in row.states if n in places]
    changed = list(places.values()) if states else []
    do, show = differentiated(draw, names, result, changed, tuple(s[1] for s in states))
    if _is_random(c):
        show = [call("kind", e) for e in show if "grad" not in str(e)]
    return program(f"operators/{row.name}", do, show)


def _spelling(draw, row: Op, inputs: dict, attributes: dict) -> Expression:
    """The call: as a function or a method, of this or that name, by position or by keyword."""
    name = one(draw, row.name, row.name, *row.aliases)
    ordered, rest = list(inputs.values()), dict(attributes)
    if not row.variadic and rarely(draw, 6):
        rest = {**inputs, **rest}
        ordered = [rest.pop(next(iter(inputs)))] if inputs else []
    elif not row.variadic and len(inputs) == len(row.inputs) and draw(st.booleans()):
        for attribute in row.attribute_names:  # as many by position as there are without a gap
            if attribute not in rest or rarely(draw, 3):
                break
            ordered.append(rest.pop(attribute))
    if inputs and hasattr(NDArray, name) and draw(st.booleans()):
        return call(f"{ordered[0][1]}.{name}", *ordered[1:], **rest)
    return call(where(name), *ordered, **rest)


def _is_random(c: Draft) -> bool:
    name = c.row.name
    prefixes = ("_random", "_sample", "_shuffle", "_image_random")
    drawn = name.startswith(prefixes) or name == "Dropout"
    return drawn or c.attributes.get("act_type") == "rrelu" or bool(c.attributes.get("p"))


def _inputs(c: Draft) -> dict[str, Expression]:
    """Draw shapes and attributes in turn, as each needs the other; then the inputs' values."""
    row = c.row
    first = shape(c.draw, *hints.AXES.get(row.name, (1, 4)))
    if row.name in hints.FIRST:
        first = hints.FIRST[row.name](c, first)
    names = row.inputs if not row.variadic else [f"data{i}" for i in range(c.number(1, 3))]
    if names:
        c.shapes[names[0]] = first
    for attribute, annotation in _annotations(row).items():
        required = row.defaults[attribute] is REQUIRED
        if (required or c.one(False, True)) and not (required and c.rarely(100)):
            c.attributes[attribute] = _attribute(c, attribute, annotation)
    if row.variadic:
        c.shapes |= dict.fromkeys(names, first)
    else:
        names = row.input_names(row.defaults | c.attributes, c.one(0, len(row.inputs)))
    dtype = c.one(*(FLOATS if row.inputs[1:] and _has_weights(row) else DTYPES))
    return {n: _input(c, n, dtype) for n in names}


def _has_weights(row: Op) -> bool:
    return bool(row.infer_rules) or row.name.endswith("_update") or "linalg" in row.name


def _input(c: Draft, name: str, dtype: str) -> Expression:
    if name not in c.shapes:
        c.shapes[name] = _shape_of(c, name)
    if c.rarely(60):
        c.shapes[name] = shape(c.draw)
    kinds = hint(hints.KINDS, c.row, name)
    if name in hints.NOT_DATA and c.one(True, False):
        dtype = c.one(*FLOATS, *INTEGERS)
    elif c.rarely(60):
        dtype = c.one(*DTYPES)
    return tensor(c.draw, c.shapes[name], dtype, c.one(*kinds) if kinds else None)


def _shape_of(c: Draft, name: str) -> tuple[int, ...]:
    """What a hint says, else what the row's own rule infers, else the first input's shape."""
    attributes = {n: v for n, v in c.attributes.items() if n in c.row.attribute_names}
    drawn = hint(hints.INPUTS, c.row, name)
    try:
        found = drawn(c) if drawn else c.row.infer_shapes(dict(c.shapes), attributes)[name]
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, MXNetError):
        return c.shape  # there is no rule, or the attributes are beyond what it takes
    usable = all(type(size) is int and 0 <= size <= 100 for size in found)
    return tuple(found) if usable else c.shape


@cache
def _annotations(row: Op) -> dict[str, Any]:
    told = get_type_hints(row.function)
    return {name: told[name] for name in row.attribute_names}


def _attribute(c: Draft, name: str, annotation: Any) -> Any:
    """A value by the hint for the name, else by the annotation; rarely one that is out of place."""
    if c.rarely(80):
        return c.one(-1, 0, "nonsense", None, (1, 1), 1e9)
    several = annotation == Axis and name != "shape"
    drawn = hint(hints.ATTRIBUTES, c.row, name, "axes" if several else name)
    if type(None) in get_args(annotation) and c.rarely(6):
        return None
    return _annotated(c, annotation) if drawn is None else drawn(c)


def _annotated(c: Draft, annotation: Any) -> Any:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _annotated(c, next(a for a in args if a is not NoneType))
    if origin is Literal:
        return c.one(*args)
    if annotation is bool:
        return c.one(False, True)
    if annotation is torch.dtype:
        return c.one("float32", "float64", "int32", "float16", "uint8", "int64", "int8")
    if annotation is float:
        return c.one(*NUMBERS)
    if annotation is int:
        return c.one(1, 2, 0, 3, -1)
    if origin is tuple:
        return tuple(c.one(1, 2, 0, 3) for _ in range(c.number(1, 3)))
    return c.one("float32", "default")
