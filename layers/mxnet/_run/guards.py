"""What PyTorch's compiler looks at before each call: what a user may have changed, and no more.

It guards all that it has read while tracing, a thousand things for a small network, most of them
this library's own code; to look at them costs as much as the network. Kept are the guards of the
arguments, of PyTorch's modes, and of what operators of one's own read: their attributes, globals
and closures.
"""

from __future__ import annotations

import builtins
import re
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

LIBRARIES = ("layers", "torch", "numpy", "builtins")
# How the compiler names globals: the modules it met, and what `Program` binds in a graph.
LIBRARY = (
    "G['__import_layers_dot_",
    "G['__import_torch_dot_",
    "G['__import_torch']",
    "G['__builtins_",
)
BOUND = re.compile(r"G\['[af]\d+'\]")
OPERATOR = ".args[0].operator"
ARRAY = "___from_numpy("
OF_CLASS = "dict(type("  # what a class defines: dict(type(G['f0'].args[0]).__mro__[1].__dict__)


def kept(entries: list) -> list[bool]:
    """Which guards stay; a `guard_filter_fn` of `torch.compile`."""
    for entry in entries:
        if entry.name.startswith(ARRAY):  # a new tensor at every look: PyTorch would compare the
            entry.orig_guard.obj_weakref = None  # one of its second look with that of its first
    stable = tuple(f"{e.name}{end}" for e in entries if _is_code(e.value) for end in ".[")
    graphs = [e.name for e in entries if _is_graph(e.value)]
    return [
        not (_is_settled(e.name, stable, graphs) if e.is_global else _is_enclosed(e))
        for e in entries
    ]


def _is_settled(name: str, stable: tuple[str, ...], graphs: list[str]) -> bool:
    """Whether nobody changes the global of this name; `graphs` are names of graphs' globals."""
    what = name.removeprefix(OF_CLASS)
    for scope in graphs:  # of one that the compiled function calls, as if it were compiled itself
        if what.startswith(scope):
            what = "G" + what.removeprefix(scope)
    bound = BOUND.match(what) and OPERATOR not in what
    return bool(bound) or what.startswith(LIBRARY) or name.startswith(stable)


def _is_enclosed(entry: Any) -> bool:
    """Whether it is in the closure of the compiled function, which is made for this function."""
    source = entry.orig_guard.originating_source
    while hasattr(source, "base"):
        source = source.base
    return getattr(source, "is_derefed_cell_contents", False)


def _is_graph(value: Any) -> bool:
    """Whether these are the globals of a `Program`."""
    function = value.get("graph") if isinstance(value, dict) else None
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename.startswith("<graph ")


def _is_code(value: Any) -> bool:
    """Whether it is a module, function or class of a library, of which nobody changes the parts."""
    if isinstance(value, ModuleType):
        return is_library(value.__name__)
    if getattr(value, "__module__", None) == "builtins":  # also of code that has no module
        return vars(builtins).get(value.__name__) is value
    code = isinstance(value, (FunctionType, BuiltinFunctionType, type))
    return code and is_library(value.__module__ or "")


def is_library(module: str) -> bool:
    """Whether a module is this library's, PyTorch's, NumPy's or Python's own."""
    return module.partition(".")[0] in LIBRARIES
