"""What PyTorch's compiler looks at before each call: what a user may have changed, and no more.

It guards all that it has read while tracing, a thousand things for a small network, most of them
this library's own code; to look at them costs as much as the network. Kept are the guards of the
arguments, of PyTorch's modes, and of what operators of one's own read: their attributes, globals
and closures.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

LIBRARIES = ("layers", "torch", "numpy", "builtins")
# How the compiler names globals: the modules it met, and what `Program` binds in a graph.
LIBRARY = (
    "G['__import_layers_dot_",
    "G['__import_torch_dot_",
    "G['__import_torch']",
    "G['__builtins_",
    "G['a",
)
BOUND = "G['f"
OPERATOR = ".args[0].operator"
# What a whole step's function has around it, which is made for it: see `WithGradients`.
AROUND = ("count", "graph", "update", "wanted")
ARRAY = "___from_numpy("
OF_CLASS = "dict(type("


def kept(entries: list) -> list[bool]:
    """Which guards stay; a `guard_filter_fn` of `torch.compile`."""
    for entry in entries:
        if entry.name.startswith(ARRAY):  # a new tensor at every look: PyTorch would compare the
            entry.orig_guard.obj_weakref = None  # one of its second look with that of its first
    stable = tuple(f"{e.name}{end}" for e in entries if _is_code(e.value) for end in ".[")
    inner = [e.name for e in entries if _is_graph(e.value)]
    return [not _is_settled(e.name, e.is_global, stable, inner) for e in entries]


def _is_settled(name: str, is_global: bool, stable: tuple[str, ...], inner: list[str]) -> bool:
    """Whether nobody changes what has this name; `inner` are the globals of graphs in graphs."""
    what = name.removeprefix(OF_CLASS)
    if not is_global:
        return what.startswith(AROUND)
    for scope in inner:
        what = what.replace(scope, "G", 1) if what.startswith(scope) else what
    bound = what.startswith(BOUND) and OPERATOR not in what
    return bound or what.startswith(LIBRARY) or name.startswith(stable)


def _is_graph(value: Any) -> bool:
    """Whether these are the globals of a `Program`."""
    function = value.get("graph") if isinstance(value, dict) else None
    return getattr(function, "__globals__", None) is value


def _is_code(value: Any) -> bool:
    """Whether it is a module, function or class of a library, of which nobody changes the parts."""
    if isinstance(value, ModuleType):
        return is_library(value.__name__)
    code = isinstance(value, (FunctionType, BuiltinFunctionType, type))
    return code and is_library(value.__module__ or "")


def is_library(module: str) -> bool:
    """Whether a module is this library's, PyTorch's, NumPy's or Python's own."""
    return module.partition(".")[0] in LIBRARIES
