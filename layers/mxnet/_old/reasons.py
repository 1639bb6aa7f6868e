"""Why names of MXNet are absent, or what to use instead of them."""

from __future__ import annotations

__all__ = ["REASONS", "reason", "stated"]

_C = "it belongs to MXNet's C library, which is not used"
_NO_SERVERS = "there are no servers: start all processes with torchrun"
_DOCSTRINGS = "it edits MXNet's own docstrings"
PRIVATE = "it is a private part of MXNet's own code"
# A module's reason holds for what is inside.
REASONS = {
    "api": _C,
    "base.add_fileline_to_docstring": _DOCSTRINGS,
    "base.build_param_doc": _DOCSTRINGS,
    "contrib.onnx.onnx2mx.import_onnx": "use mx.contrib.onnx.import_model",
    "io.io.concat": "use mx.nd.concat",
    "io.io.tile": "use mx.nd.tile",
    "io.utils": PRIVATE,
    "kvstore.KVStoreServer": _NO_SERVERS,
    "kvstore.kvstore_server": _NO_SERVERS,
    "library": "write the operator in Python, or load a compiled one with layers.ops.library",
    "misc": "use mx.lr_scheduler",
    "ndarray_doc": _DOCSTRINGS,
    "notebook": "use mx.callback, and mx.contrib.tensorboard for curves",
    "onnx.mx2onnx": "use mx.onnx.export_model",
    "profiler.set_kvstore_handle": "there is no process of a server to ask",
    "rtc": "register a .cu kernel with layers.ops.library",
    "symbol_doc": _DOCSTRINGS,
    "th": "use PyTorch itself: mx.from_torch, NDArray.asnumpy",
    "torch": "use PyTorch itself: mx.from_torch, NDArray.asnumpy",
    "tvmop": "it needs MXNet built with TVM",
}


def reason(short_name: str) -> str:
    """Why a name of MXNet such as ``np.ones`` is absent, or what to use instead; '' by default."""
    private = short_name.rpartition(".")[2].startswith("_")
    return stated(short_name) or (PRIVATE if private else "")


def stated(short_name: str) -> str:
    """The reason of a name, or of the module that it is in; '' if there is none."""
    while short_name and short_name not in REASONS:
        short_name = short_name.rpartition(".")[0]
    return REASONS.get(short_name, "")
