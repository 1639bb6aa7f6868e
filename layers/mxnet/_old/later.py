"""What few programs use, such as ``mx.test_utils``, is imported when they ask for it."""

from __future__ import annotations

from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any

__all__ = ["LATER", "is_module", "load"]

# By name: the module that defines it, and the name there; "" is the module itself.
LATER = {
    "contrib.quant": ("contrib.quantization", ""),
    "img": ("image", ""),
    **{
        f"io.{name}": ("io._image_records", name)
        for name in (
            "ImageRecordInt8Iter",
            "ImageRecordIter",
            "ImageRecordIter_v1",
            "ImageRecordUInt8Iter",
            "ImageRecordUInt8Iter_v1",
        )
    },
    **{
        f"executor_manager.{name}": ("module._data_parallel", name)
        for name in ("DataParallelExecutorGroup", "DataParallelExecutorManager")
    },
    "io.ImageDetRecordIter": ("io._detection_records", "ImageDetRecordIter"),
}


def is_module(full_name: str, path: list[str] | None) -> bool:
    """Whether this is a public module, not imported yet, of the package with a path."""
    public = not full_name.rpartition(".")[2].startswith("_")
    return bool(path and public and PathFinder.find_spec(full_name, path))


def load(part: str) -> Any:
    """The object of a name, such as ``io.ImageRecordIter``."""
    origin, attribute = LATER[part]
    found = import_module(f"layers.mxnet.{origin}")
    return getattr(found, attribute) if attribute else found
