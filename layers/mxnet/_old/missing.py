"""The names of MXNet that are not here, and say so, however they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

from . import imports, later
from .reasons import REASONS, reason

__all__ = ["absent", "names", "reason", "watch"]

_PACKAGE = "layers.mxnet"
# Names that programs ask for, and MXNet has not either: what to write instead.
_INSTEAD = {
    "symbol.array": "an input, or in a Block a constant: self.params.get_constant(name, value)",
}
# Modules that are here for programs that import them; nothing is in them but what they define.
_EMPTY: set[str] = set()


@cache
def names() -> dict[str, set[str]]:
    """The names of MXNet 1.9.1, by its modules; '' has those of the package itself."""
    found: dict[str, set[str]] = {}
    for file in ("names.txt", "private.txt", "imports.txt"):
        for module, _, items in imports.read_modules(file):
            found.setdefault(module, set()).update(item.partition("=")[0] for item in items)
    return found


def absent(short_name: str) -> str:
    """The message for an absent name of MXNet such as gluon.data.vision; '' for any other name."""
    module, _, name = short_name.rpartition(".")
    while module and module not in names() and module not in _EMPTY:
        module, _, name = module.rpartition(".")
    ours = sys.modules.get(_full_name(module))
    defined = vars(ours) if ours else ()
    place = f"{module}.{name}".removeprefix(".")
    known = module in _EMPTY or name in names().get(module, ()) or place in {*REASONS, *names()}
    if not known or name in defined or name.startswith("__"):
        return ""
    why = reason(place)
    return f"mxnet.{place} is not in layers.mxnet" + (f": {why}" if why else " yet")


def _full_name(module: str) -> str:
    return f"{_PACKAGE}.{module}".removesuffix(".")


def _short_name(name: str) -> str:
    """A name without the package, which begins with mxnet where `install` is in force."""
    return name.removeprefix("layers.").removeprefix("mxnet").removeprefix(".")


def _attribute(module: dict[str, Any]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module, which is called for what the module has not."""
    full_name, path = module["__name__"], module.get("__path__")

    def find(name: str) -> Any:
        inner = f"{full_name}.{name}"
        if later.is_module(inner, path):
            return import_module(inner)
        short_name = _short_name(inner)
        if short_name in later.LATER:
            module[name] = later.load(short_name)
            return module[name]
        origin = imports.handed_on(_short_name(full_name)).get(name)
        if origin:
            return imports.load(origin)
        message = absent(short_name)
        if message:
            # A name, and no object: without it, Python would add a hint at a name like it.
            raise AttributeError(message, name=name)
        instead = _INSTEAD.get(short_name)
        hint = f"\n  expected {instead}" if instead else _like(name, module)
        raise AttributeError(f"module {full_name!r} has no attribute {name!r}{hint}")

    return find


def _like(name: str, module: dict[str, Any]) -> str:
    """The public name of a module that is most like one that it has not, for a message."""
    if name.startswith("_"):
        return ""
    full_name = _short_name(module["__name__"])
    names = [n for n, value in module.items() if not n.startswith("_") and not _is_empty(value)]
    names += [n.rpartition(".")[2] for n in later.LATER if n.rpartition(".")[0] == full_name]
    near = get_close_matches(name[:100], names, 1)
    return f"\n  did you mean {near[0]!r}?" if near else ""


def _is_empty(value: Any) -> bool:
    """Whether this is a module, such as ``mx.np``, all of whose names are absent."""
    return isinstance(value, ModuleType) and _short_name(value.__name__) in _EMPTY


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path=None, target=None) -> None:
        package, _, short_name = name.partition(f"{_PACKAGE}.")
        message = not package and absent(short_name)
        if message:
            # With this name `from mxnet import np` shows the message too.
            raise ModuleNotFoundError(message, name=message.split()[0])


def watch(module: dict[str, Any] | None = None) -> None:
    """Have modules answer for names that they do not define, and imports of absent modules say why.

    A module imports what `later` has, and hands on what MXNet's does, as `imports` says; of
    any other name of MXNet it says that it is absent. Its ``__all__`` is extended accordingly.
    Without `module` all that are imported. One that is imported later calls this with its
    ``globals()``, or its package calls this.
    """
    if module is not None:
        module["__getattr__"] = _attribute(module)
        short_name = _short_name(module["__name__"])
        imports.extend(module, short_name, names().get(short_name, set()))
        return
    for each in [*names(), *_EMPTY]:
        if _full_name(each) in sys.modules:
            watch(vars(sys.modules[_full_name(each)]))
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
