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
OPERATOR = ".args[0].operator."
ARRAY = "___from_numpy("


def kept(entries: list) -> list[bool]:
    """Which guards stay; a `guard_filter_fn` of `torch.compile`."""
    for entry in entries:
        if entry.name.startswith(ARRAY):  # a new tensor at every look: PyTorch would compare the
            entry.orig_guard.obj_weakref = None  # one of its second look with that of its first
    stable = tuple(f"{e.name}{end}" for e in entries if _is_code(e.value) for end in ".[")
    return [not e.is_global or not _is_settled(e.name, stable) for e in entries]


def _is_settled(name: str, stable: tuple[str, ...]) -> bool:
    bound = name.startswith(BOUND) and OPERATOR not in name
    return bound or name.startswith((*LIBRARY, *stable))


def _is_code(value: Any) -> bool:
    """Whether it is a module, function or class of a library, of which nobody changes the parts."""
    if isinstance(value, ModuleType):
        return is_library(value.__name__)
    code = isinstance(value, (FunctionType, BuiltinFunctionType, type))
    return code and is_library(value.__module__ or "")


def is_library(module: str) -> bool:
    """Whether a module is this library's, PyTorch's, NumPy's or Python's own."""
    return module.partition(".")[0] in LIBRARIES
