"""ONNX files as blocks."""

from ...._old import missing
from .. import import_to_gluon

__all__ = ["import_to_gluon"]

missing.watch(globals())
