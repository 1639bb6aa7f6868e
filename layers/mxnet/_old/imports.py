"""The names that a module of MXNet has because it imports them, and programs take from there.

``from mxnet.test_utils import *`` is where many programs have ``mx`` and ``np`` from. A star import
brings the imported names of modules without ``__all__``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from .later import LATER
from .reasons import stated

__all__ = ["extend", "handed_on", "load", "read_modules"]

HERE = Path(__file__).parent


def read_modules(file: str) -> Iterator[tuple[str, bool, list[str]]]:
    """Each module of a file without the package's name, whether it has ``__all__``, its items."""
    title, items = "", []
    for line in [*(HERE / file).read_text("utf-8").splitlines(), "mxnet"]:
        if line.startswith(" "):
            items += line.split()
            continue
        if title:
            name, _, has_all = title.partition(" ")
            yield name.removeprefix("mxnet").removeprefix("."), bool(has_all), items
        title, items = line, []


@cache
def _imported() -> dict[str, tuple[bool, dict[str, str]]]:
    return {
        module: (has_all, dict(item.split("=") for item in items))
        for module, has_all, items in read_modules("imports.txt")
    }


def handed_on(module: str) -> dict[str, str]:
    """The names that a module of MXNet 1.9.1 imports, and where they come from."""
    return _imported().get(module, (False, {}))[1]


def load(origin: str) -> Any:
    """Import an object by where it comes from, such as ``numpy`` or ``mxnet.context:Context``.

    Raises AttributeError for one that is absent here.
    """
    module, _, name = origin.partition(":")
    ours = f"layers.{module}" if module.partition(".")[0] == "mxnet" else module
    try:
        found = import_module(ours)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):  # as `missing` names one that is absent
            raise
        raise AttributeError(str(error), name=name) from None
    return getattr(found, name) if name else found


def extend(module: dict[str, Any], module_name: str, mxnets_names: set[str]) -> None:
    """Add to a module's ``__all__`` what a star import of MXNet's module brings besides.

    That is what the module hands on, and what is imported only when a program asks for it.
    """
    public = [name for name in module if not name.startswith("_") and name not in _NOT_BROUGHT]
    prefix = f"{module_name}.".removeprefix(".")
    later = {*LATER} | {prefix + name for name in _modules_in(module.get("__path__"))}
    found = {name for name in mxnets_names if prefix + name in later}
    has_all, imported = _imported().get(module_name, (True, {}))
    if not has_all:
        found |= {name for name, origin in imported.items() if _is_brought(name, origin)}
    module["__all__"] = sorted({*module.get("__all__", public), *found})


def _is_brought(name: str, origin: str) -> bool:
    """True for a public name whose origin is not one of the absent parts of MXNet."""
    place = origin.replace(":", ".").removeprefix("mxnet.")
    return not name.startswith("_") and not (origin.startswith("mxnet.") and stated(place))


# What modules of this package import for themselves.
_NOT_BROUGHT = {"TYPE_CHECKING", "annotations", "missing"}


def _modules_in(path: list[str] | None) -> list[str]:
    """The public modules of a package, imported or not."""
    entries = Path(path[0]).iterdir() if path else ()
    return [e.stem for e in entries if not e.name.startswith("_") and e.suffix in ("", ".py")]
