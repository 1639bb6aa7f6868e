"""The names of MXNet that are not here, and say so, however they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

__all__ = ["names", "watch"]

_PACKAGE = "layers.mxnet"


@cache
def names() -> dict[str, set[str]]:
    """The public names of MXNet 1.9.1, by its modules; '' has those of the package itself."""
    found: dict[str, set[str]] = {}
    module = ""
    for line in (Path(__file__).parent / "names.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            found[module] |= {*line.split()}
        else:
            module = line.removeprefix("mxnet").removeprefix(".")
            found[module] = set()
    return found


def _absent(part: str) -> str:
    """What to say of a part of MXNet, such as gluon.data.vision; '' of one that MXNet has not."""
    module, name = "", part
    for name in part.split("."):
        inner = f"{module}.{name}".removeprefix(".")
        if inner not in names():
            break
        module = inner
    ours = sys.modules[_whole(module)]
    if name not in names()[module] or name in vars(ours):
        return ""
    return f"{_whole(module).removeprefix('layers.')}.{name} is not in layers.mxnet yet"


def _whole(module: str) -> str:
    return f"{_PACKAGE}.{module}".removesuffix(".")


def _attribute(module: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module, which is called for what the module has not."""

    def absent(name: str) -> Any:
        told = _absent(f"{module}.{name}".removeprefix(_PACKAGE).removeprefix("."))
        if told:
            # A name, and no object: without it, Python would add a hint at a name like it.
            raise AttributeError(told, name=name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return absent


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path=None, target=None) -> None:
        package, _, part = name.partition(f"{_PACKAGE}.")
        told = not package and _absent(part)
        if told:
            # With this name `from mxnet import np` shows the message too.
            raise ModuleNotFoundError(told, name=told.split()[0])


def watch() -> None:
    """Have the modules of this package, and imports of others, say what is absent."""
    for module in names():
        ours = sys.modules[_whole(module)]
        ours.__getattr__ = _attribute(ours.__name__)  # type: ignore[method-assign]
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
