"""Operators of plain functions: where MinPy has `customop`."""

from ..ops.ways.function import Primitive, customop

__all__ = ["Primitive", "customop"]
