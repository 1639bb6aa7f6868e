"""What ``from mxnet.x import *`` brings besides the names that x defines.

Modules of MXNet without ``__all__`` hand on what they have imported themselves, and programs use
it: ``from mxnet.test_utils import *`` is where they have ``mx`` and ``np`` from.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from .later import LATER

__all__ = ["extend", "handed_on", "load"]


@cache
def handed_on() -> dict[str, dict[str, str]]:
    """By module of MXNet 1.9.1, the imported names that it hands on, and where they come from."""
    found: dict[str, dict[str, str]] = {}
    module = ""
    for line in (Path(__file__).parent / "star_imports.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            found[module] |= dict(item.split("=") for item in line.split())
        else:
            module = line.removeprefix("mxnet").removeprefix(".")
            found[module] = {}
    return found


def load(origin: str) -> Any:
    """An object by where it comes from, such as ``numpy`` or ``mxnet.context:Context``."""
    module, _, name = origin.partition(":")
    ours = f"layers.{module}" if module.partition(".")[0] == "mxnet" else module
    found = import_module(ours)
    return getattr(found, name) if name else found


def extend(module: dict[str, Any], module_name: str, mxnets_names: set[str]) -> None:
    """Add to a module's ``__all__`` what a star import of MXNet's module brings besides.

    That is what the module hands on, and what is imported only when a program asks for it.
    """
    public = [name for name in module if not name.startswith("_") and name not in _NOT_BROUGHT]
    prefix = f"{module_name}.".removeprefix(".")
    later = {*LATER} | {prefix + name for name in _modules_in(module.get("__path__"))}
    found = {name for name in mxnets_names if prefix + name in later}
    module["__all__"] = sorted(
        {*module.get("__all__", public), *handed_on().get(module_name, {}), *found}
    )


# What modules of this package import for themselves.
_NOT_BROUGHT = {"TYPE_CHECKING", "annotations", "missing"}


def _modules_in(path: list[str] | None) -> list[str]:
    """The public modules of a package, imported or not."""
    entries = Path(path[0]).iterdir() if path else ()
    return [e.stem for e in entries if not e.name.startswith("_") and e.suffix in ("", ".py")]
