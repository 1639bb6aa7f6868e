"""What `layers.mxnet` has of the recorded names: each works, differs or is absent, and why."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, NamedTuple

from . import reasons
from .recording import GOLDEN, recorded

DIFFERENCES = Path(__file__).parents[2] / "docs/differences.md"
PACKAGE = "layers.mxnet"
NOT_HERE = object()
# What every function of an operator takes for the call, besides what its signature shows.
OF_EACH_CALL = {"name", "attr", "out"}


class Name(NamedTuple):
    """A name of MXNet, what of it is here, and why; how many arguments it has, and are taken."""

    module: str
    name: str
    kind: str
    state: str
    why: str
    arguments: int
    taken: int

    @property
    def place(self) -> str:
        return f"{self.module}.{self.name}".removeprefix(".")


@cache
def names() -> tuple[Name, ...]:
    """All recorded names, members of classes with them, in the order of the file."""
    return tuple(
        name
        for module, found in recorded().items()
        for own, entry in found.items()
        for name in of_entry(module, own, entry)
    )


def of_entry(module: str, name: str, entry: dict[str, Any]) -> Iterator[Name]:
    """A name and, if it is a class, its members."""
    ours = inside(module, name)
    yield (whole := compared(module, name, ours, entry))
    if whole.state == "absent":
        ours = NOT_HERE
    for member, keywords in entry.get("members", {}).items():
        found = NOT_HERE if ours is NOT_HERE else member_of(ours, member)
        its = {"kind": "property" if keywords is None else "method", "keywords": keywords or ""}
        yield compared(module, f"{name}.{member}", found, its, ours)


def compared(module: str, name: str, ours: Any, entry: dict[str, Any], owner: Any = None) -> Name:
    """A name with its state; `owner` is the class of a member."""
    place = f"{module}.{name}".removeprefix(".")
    words = {w for w in entry.get("keywords", "").split() if not w.startswith(("*", "_"))}
    why = absent_because(place, ours)
    if why:
        return Name(module, name, entry["kind"], "absent", why, len(words), 0)
    refused = sorted(words - accepted(words, ours, owner, place))
    why = differs_because(place, ours, entry, refused)
    taken = len(words) - len(refused)
    return Name(module, name, entry["kind"], "differs" if why else "works", why, len(words), taken)


def differs_because(place: str, ours: Any, entry: dict[str, Any], refused: list[str]) -> str:
    """Why a name that is here is not MXNet's; '' if it is."""
    missing = [where for where in entry.get("also", ()) if not is_there(where, place)]
    told = {
        "reason": reasons.DIFFERS.get(place),
        "kind": entry["kind"] == "class" and not isinstance(ours, type) and "it is no class here",
        "arguments": refused and f"does not take {listed(f'`{word}`' for word in refused)} by name",
        "page": linked(place),
        "places": missing and f"not at {listed(f'`mx.{where}`' for where in missing)}",
    }
    return next(filter(None, told.values()), "")


PARTS = ("_contrib_", "_image_", "_linalg_", "_random_", "_sample_", "_sparse_")


class Operators(NamedTuple):
    """MXNet's operators by their first name, whether they are public, and why one is absent."""

    public: dict[str, bool]
    absent: dict[str, str]

    def counted(self, public: bool = False) -> tuple[int, int]:
        """How many operators there are, and how many of them work."""
        names = [name for name in self.public if self.public[name] or not public]
        return len(names), sum(name not in self.absent for name in names)


def operators() -> Operators:
    """Those of MXNet's operator information, without what its engine makes for itself.

    An operator is public if one of its names has no underscore in front, or is that of a part of
    `mx.nd`: `_contrib_box_nms` is `mx.nd.contrib.box_nms`.
    """
    import_module(f"{PACKAGE}.ndarray")  # fills the table
    registry = import_module(f"{PACKAGE}._table.registry")
    here = {*registry.names()}
    rows = json.loads((GOLDEN / "operators.json").read_text("utf-8"))
    public, absent = {}, {}
    for first in sorted(rows.keys() - reasons.OF_THE_ENGINE):
        words = [first, *rows[first]["aliases"]]
        public[first] = any(not w.startswith("_") or w.startswith(PARTS) for w in words)
        if first in here and isinstance(row := registry.get(first), registry.Absent):
            absent[first] = row.__doc__.removeprefix("Not supported: ")
        elif not here.issuperset(words) and first not in reasons.CONTROL | {"Custom"}:
            absent[first] = reasons.NOT_YET
    return Operators(public, absent)


def private_operators() -> tuple[list[str], list[str]]:
    """Operators whose names begin with an underscore: those that are here, and those that are not.

    `FILES` in tests/mxnet/test_table.py says which are not in that file: those of mx.np, for one.
    """
    import_module(f"{PACKAGE}.ndarray")  # fills the table
    here = {*import_module(f"{PACKAGE}._table.registry").names()} | reasons.CONTROL
    rows = json.loads((GOLDEN / "operators.json").read_text("utf-8"))
    known = {name for first, row in rows.items() for name in (first, *row["aliases"])}
    private = sorted(name for name in known - reasons.OF_THE_ENGINE if name.startswith("_"))
    return [n for n in private if n in here], [n for n in private if n not in here]


def inside(module: str, name: str) -> Any:
    """The object of that name here, or NOT_HERE; modules may have to be imported first."""
    package = f"{PACKAGE}.{module}".rstrip(".")
    try:
        return getattr(import_module(package), name)
    except ModuleNotFoundError:
        return NOT_HERE
    except AttributeError:
        inner = f"{package}.{name}"
        is_package = hasattr(import_module(package), "__path__")
        return import_module(inner) if is_package and is_found(inner) else NOT_HERE


def is_found(module: str) -> bool:
    """Whether there is such a module."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # what layers.mxnet says of absent ones
        return False


def member_of(ours: Any, name: str) -> Any:
    """The raw member of a class: a property and not what it returns; None if objects have it."""
    found = inspect.getattr_static(ours, name, NOT_HERE)
    if found is NOT_HERE and isinstance(ours, type) and name in attributes(ours):
        return None
    return found


@cache
def attributes(cls: type) -> set[str]:
    """The attributes that methods of a class or its bases set: ``self.name = ...``."""
    texts = [inspect.getsource(c) for c in cls.__mro__ if c.__module__.startswith(PACKAGE)]
    return {
        node.attr
        for text in texts
        for node in ast.walk(ast.parse(dedent(text)))
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and getattr(node.value, "id", "") == "self"
    }


def is_there(module: str, place: str) -> bool:
    """Whether a name is in this module too; if the module is absent, that is told once."""
    try:
        import_module(f"{PACKAGE}.{module}")
    except ModuleNotFoundError:
        return True
    return inside(module, place.rpartition(".")[2]) is not NOT_HERE


def accepted(words: set[str], ours: Any, owner: Any, place: str) -> set[str]:
    """The parameters that can be given by name; of `words` those that ``**kwargs`` is for."""
    taken: set[str] = set()
    for function in definitions(ours, owner, place):
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # Python's own
            continue
        taken |= {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
        if operator := getattr(function, "operator", None):
            taken |= OF_EACH_CALL | {*operator.ignores}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
        if place.endswith(".hybrid_forward"):  # parameters are handed to it by name
            taken |= words
    return taken


def definitions(ours: Any, owner: Any, place: str) -> list[Any]:
    """The functions that a call reaches, if each hands its ``**kwargs`` to the next."""
    if isinstance(ours, type):
        return [
            vars(c)[name]
            for c in ours.__mro__
            for name in ("__init__", "__new__")
            if name in vars(c)
        ]
    if not isinstance(owner, type):
        return [ours]
    name = place.rpartition(".")[2]
    functions = [vars(c)[name] for c in owner.__mro__ if name in vars(c)]
    functions = [getattr(function, "__func__", function) for function in functions]
    if functions and getattr(functions[0], "__module__", "").endswith("._methods"):
        functions.append(getattr(import_module(f"{PACKAGE}.ndarray.op"), name, None))
    return functions


def absent_because(place: str, ours: Any) -> str:
    """Why a name is absent, or never works; '' if it is here."""
    refuses = ours is not NOT_HERE and always_refuses(ours)
    if ours is not NOT_HERE and not refuses:
        return ""
    missing = import_module(f"{PACKAGE}._old.missing")
    for pattern, reason in reasons.ABSENT.items():
        if re.fullmatch(pattern, place):
            return reason
    return missing.reason(place) or refuses or reasons.NOT_YET


def always_refuses(ours: Any) -> str:
    """Why a name that is here raises UnsupportedError in every call; '' if it does not."""
    operator = getattr(ours, "operator", None)
    if type(operator).__name__ == "Absent":
        return operator.__doc__.removeprefix("Not supported: ")
    text = "" if isinstance(ours, ModuleType) else inspect.cleandoc(ours.__doc__ or "")
    always = re.search(r"^Unsupported\w*\n +Always\b", text, re.MULTILINE)
    return "a call raises UnsupportedError" if always else ""


def linked(place: str) -> str:
    """A link to the page of differences, if something there is about this name."""
    for title, places in reasons.DIFFERENCES.items():
        if place in places.split():
            return f"[{title}](differences.md#{anchor(title)})"
    return ""


def titles() -> list[str]:
    """The titles of the page of differences that are about one thing."""
    return re.findall(r"^### (.*)", DIFFERENCES.read_text("utf-8"), re.MULTILINE)


def anchor(title: str) -> str:
    """A title as it is in a link."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def listed(words) -> str:
    return ", ".join(words)
