"""The parts of MXNet that are not here, and say so, however they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any

__all__ = ["attribute", "watch"]

PARTS = {
    *("contrib", "engine", "executor_manager", "image", "img", "kvstore_server", "library"),
    *("libinfo", "log", "np", "npx", "numpy", "numpy_extension", "profiler", "recordio", "rnn"),
    *("rtc", "runtime", "test_utils", "util"),
    *("gluon.contrib", "gluon.data", "gluon.model_zoo"),
}


def attribute(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module of this package."""

    def absent(name: str) -> Any:
        part = f"{module}.{name}".removeprefix("layers.mxnet.")
        if part in PARTS:
            raise AttributeError(f"mxnet.{part} is not in layers.mxnet yet")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return absent


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path=None, target=None) -> None:
        package, _, part = name.partition("layers.mxnet.")
        if not package and part in PARTS:
            # With this name `from mxnet import np` shows the message too.
            part = f"mxnet.{part}"
            raise ModuleNotFoundError(f"{part} is not in layers.mxnet yet", name=part)


def watch() -> None:
    """Have imports of such parts say so."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
