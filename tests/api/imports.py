"""Every name of MXNet's modules, private and imported ones too, and where each comes from.

The names without an underscore that a module defines are in `recording`, with more about them.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any

from .recording import NUMPY, modules

# What is not recorded: generated code, programs, and modules that need other packages.
LEFT_OUT = re.compile(r".*\.gen_\w+|cython|misc|notebook.*|onnx\.setup|space|tools.*|tvmop")
OLD = Path(__file__).parents[2] / "layers/mxnet/_old"
RECORDED = OLD / "imports.txt"
PRIVATE = OLD / "private.txt"
# Where names come from: nothing of MXNet's C library, and nothing that may not be installed.
PACKAGES = {"mxnet", "numpy", *sys.stdlib_module_names}
OF_C = re.compile(r"mxnet\._.*|mxnet\.(.*\.)?_(?!internal$)\w[\w.]*(:.*)?|.*\.gen_\w+")


def shown() -> list[str]:
    """The modules that are recorded, '' for the package itself."""
    return [m for m in modules() if not LEFT_OUT.fullmatch(m) and not NUMPY.fullmatch(m)]


def record() -> tuple[str, str]:
    """The text of both files: imported names by origin, and private names; MXNet must be here."""
    imported = {part: import_module(f"mxnet.{part}".rstrip(".")) for part in shown()}
    origins, private = [], []
    for part, module in imported.items():
        found, own = names_of(module)
        title = f"mxnet.{part}".rstrip(".")
        if found:
            items = " ".join(f"{name}={origin}" for name, origin in sorted(found.items()))
            origins += [f"{title} __all__" if hasattr(module, "__all__") else title]
            origins += [f" {line}" for line in wrapped(items)]
        if own:
            private += [title, *(f" {line}" for line in wrapped(" ".join(own)))]
    return "\n".join(origins) + "\n", "\n".join(private) + "\n"


def wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 99, break_long_words=False, break_on_hyphens=False)


def names_of(module: ModuleType) -> tuple[dict[str, str], list[str]]:
    """The names that a module imports, with their origins, and the private ones that it defines."""
    stated = statements(module)
    found, own = {}, []
    for name, value in vars(module).items():
        if name.startswith("__"):
            continue
        origin = stated.get(name) or guessed(name, value)
        home = origin.partition(":")[0]
        private = name.startswith("_")
        own_part = home == module.__name__ or (
            not private and home.startswith(f"{module.__name__}.")
        )
        if origin and not own_part and is_at(value, origin):
            if home.partition(".")[0] in PACKAGES and not OF_C.fullmatch(origin):
                found[name] = origin
        elif private and not isinstance(value, ModuleType):
            own.append(name)
    return found, sorted(own)


def statements(module: ModuleType) -> dict[str, str]:
    """The names that import statements of a module's text bring, with where they come from."""
    path = getattr(module, "__file__", None)
    found = {}
    for node in ast.walk(ast.parse(Path(path).read_text("utf-8"))) if path else ():
        if isinstance(node, ast.ImportFrom):
            home = resolve_name("." * node.level + (node.module or ""), module.__package__)
            found |= {a.asname or a.name: origin_in(home, a.name) for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                a.asname or a.name.partition(".")[0]: a.name if a.asname else a.name.split(".")[0]
                for a in node.names
            }
    return found


def origin_in(home: str, name: str) -> str:
    """The origin of ``from home import name``: a module in it, or something that it has."""
    value = vars(import_module(home)).get(name) if is_importable(home) else None
    if isinstance(value, ModuleType):
        return value.__name__
    return f"{home}:{name}"


def is_importable(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def guessed(name: str, value: Any) -> str:
    """Where a value seems to come from that no statement of its module imports."""
    if isinstance(value, ModuleType):
        return value.__name__
    home = getattr(value, "__module__", None)
    return f"{home}:{getattr(value, '__name__', name)}" if isinstance(home, str) else ""


def is_at(value: Any, origin: str) -> bool:
    """True if the value is there."""
    module, _, name = origin.partition(":")
    if not is_importable(module):
        return False
    found = import_module(module)
    return (vars(found).get(name) if name else found) is value


def recorded(path: Path) -> Iterator[tuple[str, str]]:
    """Each module of a file without the package's name, and each of its items."""
    module = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith(" "):
            yield from ((module, item) for item in line.split())
        else:
            module = line.split()[0].removeprefix("mxnet").removeprefix(".")


def is_here(module: str, name: str) -> bool:
    """True if a module of `layers.mxnet` has the name."""
    try:
        return hasattr(import_module(f"layers.mxnet.{module}".rstrip(".")), name)
    except ModuleNotFoundError:
        return False
