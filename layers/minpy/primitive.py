"""Operators of plain functions; MinPy has `customop` in the module of this name."""

from ..ops.ways.function import Primitive, customop

__all__ = ["Primitive", "customop"]
