"""MXNet's public names as text: modules, what is in them, members of classes, and keywords.

A name is public if it has no underscore in front. It is listed once, at the shortest place of the
packages that it is in: ``gluon.Block``, which is also at ``gluon.block.Block``. What a module has
only imported from elsewhere is not listed there.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden"
RECORDED = GOLDEN / "api.json"
# The NumPy interface, of which NUMPY_SHOWN are shown; files that MXNet fills with functions of
# other modules; what it needs itself to be built and installed.
NUMPY = re.compile(r"(.*\.)?(numpy|numpy_extension|numpy_\w+)(\..*)?")
LEFT_OUT = re.compile(r".*\.gen_\w+|.*\.op|.*\.register|cython|onnx\.setup")
NUMPY_SHOWN = ["numpy", "numpy.linalg", "numpy.random"] + [
    f"numpy_extension{part}" for part in ("", ".image", ".random")
]
# Generated functions of MXNet name a module without its package.
SHORT = {"ndarray": "mxnet.ndarray", "symbol": "mxnet.symbol"}
# Methods that scikit-learn adds to its subclasses, where it is installed.
OF_OTHERS = re.compile(r"set_\w+_request")
# Modules that hand on another one's functions on purpose.
HANDED_ON = {"mxnet.random": "mxnet.ndarray.random"}


def modules() -> list[str]:
    """The names of MXNet's modules, '' for the package itself."""
    return ["", *(GOLDEN / "mxnet_modules.txt").read_text("utf-8").split()]


def recorded() -> dict[str, dict[str, Any]]:
    """By module, by name: what `record` found, as it is in the file."""
    return json.loads(RECORDED.read_text("utf-8"))


def as_text(found: dict[str, dict[str, Any]]) -> str:
    """The file's text: a line for each name."""
    parts = []
    for module, names in found.items():
        lines = [f'  "{name}": {json.dumps(entry)}' for name, entry in sorted(names.items())]
        parts.append(f' "{module}": {{\n' + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def record() -> dict[str, dict[str, Any]]:
    """By module, by name: {kind, also: other places, keywords, members}; MXNet must be here."""
    shown = [m for m in modules() if not LEFT_OUT.fullmatch(m) and not NUMPY.fullmatch(m)]
    places: dict[tuple[str, int], list[str]] = {}
    # All are imported first: an import adds names to the packages around a module.
    imported = {part: import_module(f"mxnet.{part}".rstrip(".")) for part in shown + NUMPY_SHOWN}
    for part, module in imported.items():
        for name in own_names(module):
            places.setdefault((name, id(vars(module)[name])), []).append(part)
    found: dict[str, dict[str, Any]] = {part: {} for part in imported}
    for (name, _), parts in places.items():
        first, *others = sorted(parts, key=lambda part: (len(part.split(".")) if part else 0, part))
        entry = described(vars(imported[first])[name])
        if others:
            entry["also"] = others
        found[first][name] = entry
    return {part: names for part, names in found.items() if names}


def own_names(module: ModuleType) -> list[str]:
    """The public names that a module defines, or hands on from modules inside it."""
    path = getattr(module, "__file__", None)
    assigned = assigned_names(Path(path).read_text("utf-8")) if path else set()
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and is_own(module.__name__, name, value, assigned)
    ]


def is_own(module: str, name: str, value: Any, assigned: set[str]) -> bool:
    named = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    home = SHORT.get(named or "", named)
    if isinstance(value, ModuleType):
        part = f"{home}".removeprefix("mxnet.")
        counted = "._" not in part and not LEFT_OUT.fullmatch(part) and not NUMPY.fullmatch(part)
        return f"{home}.".startswith(f"{module}.") and counted
    if not isinstance(home, str) or not callable(value):
        return name in assigned
    if re.match(r"mxnet\.(.*\.)?_", home):  # from a private module: where it can be reached
        return True
    inside = f"{home}.".startswith(f"{module}.")
    return inside or HANDED_ON.get(module) == home


def assigned_names(text: str) -> set[str]:
    """The names that a module's text assigns."""
    targets = [
        target
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
        for target in node.targets
    ]
    return {node.id for each in targets for node in ast.walk(each) if isinstance(node, ast.Name)}


def described(value: Any) -> dict[str, Any]:
    if isinstance(value, ModuleType):
        return {"kind": "module"}
    if isinstance(value, type):
        entry: dict[str, Any] = {"kind": "class", "keywords": keywords(value)}
        entry["members"] = members(value)
        return entry
    if callable(value):
        return {"kind": "function", "keywords": keywords(value)}
    return {"kind": "constant"}


def members(cls: type) -> dict[str, str | None]:
    """A class's public methods with their keywords; None for what is no method."""
    found: dict[str, str | None] = {}
    for base in reversed(cls.__mro__):
        private = base.__name__.startswith("_") and base.__module__.startswith("mxnet")
        if base is not cls and not private:
            continue
        for name in vars(base):
            if not name.startswith("_") and not OF_OTHERS.fullmatch(name):
                raw = inspect.getattr_static(cls, name)
                value = raw if inspect.isfunction(raw) else getattr(cls, name, None)
                is_method = callable(value) and not isinstance(raw, property)
                found[name] = keywords(value, skip=inspect.isfunction(raw)) if is_method else None
    return dict(sorted(found.items()))


def keywords(value: Any, skip: bool = False) -> str:
    """The parameters by name; * and ** in front of those that take any number."""
    try:
        parameters = list(inspect.signature(value).parameters.values())[skip:]
    except (TypeError, ValueError):  # of C, or Python's own
        return ""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return " ".join(stars.get(p.kind, "") + p.name for p in parameters)
