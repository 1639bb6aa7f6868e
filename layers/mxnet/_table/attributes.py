"""Attributes: annotated types, and the parsers that they stand for.

Attributes may come as Python values, as NumPy's, or as text (a symbol's JSON, old code):
``"(3, 3)"``, ``"(3L, 3L)"``, ``"True"``, ``"true"``, ``"None"``, ``"inf"``. Nothing is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import torch

from .. import _dtype
from ..base import DTypeError

Shape = tuple[int, ...]
Axis = tuple[int, ...] | None  # also one int
Shapes = tuple[tuple[int, ...], ...]  # such as the pairs (before, after) of a padding
Floats = tuple[float, ...]
Slice = tuple[int | None, ...]  # begin, end and step of a slice
DType = torch.dtype

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1  # ints that PyTorch takes
_words = {"true": True, "1": True, "false": False, "0": False}


def parser(annotation: Any) -> Callable[[Any], Any]:
    """The function that reads a value of this type; it raises ValueError(what is expected)."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in _scalars:
        return _scalars[annotation]
    if origin in (Union, UnionType):
        return _optional(parser(next(a for a in args if a is not NoneType)))
    if origin is Literal:
        return _choice(args)
    if origin is tuple:
        return _tuple(parser(args[0]))
    raise TypeError(f"no parser for {annotation!r}")


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in _words:
        return _words[value.strip().lower()]
    if not isinstance(value, str) and value in (0, 1):
        return bool(value)
    raise ValueError("a bool")


def _int(value: Any) -> int:
    if type(value) is int and _LEAST <= value <= _GREATEST:  # nearly always
        return value
    if type(value) is not int:
        try:
            value = int(value.strip().rstrip("L")) if isinstance(value, str) else index(value)
        except (ValueError, TypeError):
            raise ValueError("an int") from None
    if not _fits(value):
        raise ValueError("an int of 64 bits")
    return value


def _fits(number: int) -> bool:
    """Whether PyTorch takes a number as an int."""
    return _LEAST <= number <= _GREATEST


def _float(value: Any) -> float:
    if isinstance(value, float) or (isinstance(value, int) and _fits(value)):
        return value
    try:  # of a number of 16 or 32 bits what it shows, as MXNet takes it: 0.1
        return float(str(value) if isinstance(value, np.floating) else value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("a number") from None


def _str(value: Any) -> str:
    return str(value)


def _type(value: Any) -> torch.dtype:
    try:
        return _dtype.to_torch(value)
    except DTypeError as error:
        raise ValueError(str(error).split("expected ")[1]) from None


_scalars = {bool: _bool, int: _int, float: _float, str: _str, torch.dtype: _type}


def described(annotation: Any, default: str | None) -> str:
    """A type as MXNet describes it: ``"int, required"``, ``"boolean, optional, default=0"``.

    `default` is the text of the default value, None where the attribute is required.
    """
    args = get_args(annotation)
    is_optional = get_origin(annotation) in (Union, UnionType)
    plain = next(a for a in args if a is not NoneType) if is_optional else annotation
    choices = get_args(plain) if get_origin(plain) is Literal else ()
    if plain is torch.dtype:
        choices = sorted(_TYPES_OF_ATTRIBUTES)
    if choices:
        kind = "{" + ", ".join(["None"] * is_optional + [repr(c) for c in choices]) + "}"
        return kind + (", required" if default is None else f",optional, default={default!r}")
    kind = _KINDS.get(plain, "Shape(tuple)")
    if is_optional:
        kind = kind.removesuffix("(tuple)") + " or None"
    if plain is bool and default in ("True", "False"):
        default = str(int(default == "True"))
    return f"{kind}, required" if default is None else f"{kind}, optional, default={default}"


_KINDS = {int: "int", float: "float", bool: "boolean", str: "string", Floats: "tuple of <float>"}
_TYPES_OF_ATTRIBUTES = "float16", "float32", "float64", "int32", "int64", "int8", "uint8"


def _optional(parse: Callable) -> Callable:
    def read(value: Any) -> Any:
        if value is None or (isinstance(value, str) and value.strip() == "None"):
            return None
        try:
            return parse(value)
        except ValueError as error:
            raise ValueError(f"{error} or None") from None

    return read


def _choice(allowed: tuple) -> Callable:
    def read(value: Any) -> Any:
        if isinstance(value, np.dtype):
            value = value.name
        if isinstance(value, str) and value in allowed:
            return value
        raise ValueError("one of " + ", ".join(map(repr, allowed)))

    return read


def _tuple(parse: Callable) -> Callable:
    def read(value: Any) -> tuple:
        try:
            if type(value) is int:  # nearly always
                return (parse(value),)
            if value is None:
                return ()
            return tuple([parse(part) for part in _parts(value)])
        except ValueError as error:
            raise ValueError(f"a tuple, each of it {error}") from None

    return read


def _parts(value: Any) -> list:
    """The elements of a tuple, or of its text; a value that is no tuple is the only one."""
    if isinstance(value, str):
        text = value.strip()
        if text[:1] + text[-1:] in ("()", "[]"):
            text = text[1:-1]
        parts, depth = [""], 0
        for letter in text:
            depth += (letter in "([") - (letter in ")]")
            if letter == "," and not depth:
                parts.append("")
            else:
                parts[-1] += letter
        return [part.strip() for part in parts if part.strip()]
    if not hasattr(value, "__iter__") or getattr(value, "ndim", 1) == 0:
        return [value]
    return [part.strip() if isinstance(part, str) else part for part in value]
