"""ONNX files as graphs."""

from ...._old import missing
from .. import get_model_metadata, import_model

__all__ = ["get_model_metadata", "import_model"]

missing.watch(globals())
