"""The former place of `mx.onnx`."""

from .._old import missing
from ..onnx import export_model

__all__ = ["export_model"]

missing.watch(globals())
