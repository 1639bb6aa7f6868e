"""Where MXNet has the functions of `mx.contrib.onnx` that read."""

from ...._old import missing
from . import import_model, import_to_gluon

__all__ = ["import_model", "import_to_gluon"]

missing.watch(globals())
