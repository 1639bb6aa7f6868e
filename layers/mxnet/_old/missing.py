"""The names of MXNet that are not here, and say so, however they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from . import later, star_imports

__all__ = ["absent", "names", "reason", "watch"]

_PACKAGE = "layers.mxnet"
_C = "it belongs to MXNet's C library, which is not used"
_NO_SERVERS = "there are no servers: start all processes with torchrun"
# Why a name is absent or what to use instead; a module's reason holds for what is inside.
REASONS = {
    "api": _C,
    "base.c2pyerror": _C,
    "base.c_array": _C,
    "base.c_array_buf": _C,
    "base.c_handle_array": _C,
    "base.c_str": _C,
    "base.c_str_array": _C,
    "base.check_call": _C,
    "base.ctypes2buffer": _C,
    "base.ctypes2numpy_shared": _C,
    "base.get_last_ffi_error": _C,
    "base._LIB": _C,
    "base.add_fileline_to_docstring": "it edits MXNet's own docstrings",
    "base.build_param_doc": "it writes MXNet's own docstrings",
    "base.libinfo": "use mx.libinfo",
    "base.MXCallbackList": _C,
    "base.mx_float": _C,
    "base.mx_float_p": _C,
    "base.mx_int": _C,
    "base.mx_uint": _C,
    "base.NDArrayHandle": _C,
    "base.SymbolHandle": _C,
    "contrib.onnx.onnx2mx.import_onnx": "use mx.contrib.onnx.import_model",
    "kvstore.KVStoreServer": _NO_SERVERS,
    "kvstore.kvstore_server": _NO_SERVERS,
    "library": "write the operator in Python, or load a compiled one with layers.ops.library",
    "ndarray_doc": "it writes MXNet's own docstrings",
    "profiler.set_kvstore_handle": "there is no process of a server to ask",
    "rtc": "register a .cu kernel with layers.ops.library",
    "symbol_doc": "it writes MXNet's own docstrings",
    "th": "use PyTorch itself: mx.from_torch, NDArray.asnumpy",
    "torch": "use PyTorch itself: mx.from_torch, NDArray.asnumpy",
    "tvmop": "it needs MXNet built with TVM",
}
# Names that programs ask for, and MXNet has not either: what to write instead.
_INSTEAD = {
    "symbol.array": "an input, or in a Block a constant: self.params.get_constant(name, value)",
}
# Modules that are here for programs that import them; nothing is in them but what they define.
_EMPTY: set[str] = set()


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


def reason(short_name: str) -> str:
    """Why a name of MXNet such as ``np.ones`` is absent, or what to use instead; '' by default."""
    while short_name and short_name not in REASONS:
        short_name = short_name.rpartition(".")[0]
    return REASONS.get(short_name, "")


def absent(short_name: str) -> str:
    """The message for an absent name of MXNet such as gluon.data.vision; '' for any other name."""
    module, name = "", short_name
    for name in short_name.split("."):
        inner = f"{module}.{name}".removeprefix(".")
        if inner not in names() and inner not in _EMPTY:
            break
        module = inner
    ours = sys.modules.get(_full_name(module))
    defined = vars(ours) if ours else ()
    place = f"{module}.{name}".removeprefix(".")
    known = module in _EMPTY or name in names().get(module, ()) or place in REASONS
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
        origin = star_imports.handed_on().get(_short_name(full_name), {}).get(name)
        if origin:
            return star_imports.load(origin)
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

    A module imports what `later` has, and hands on what MXNet's does, as `star_imports` says; of
    any other name of MXNet it says that it is absent. Its ``__all__`` is extended accordingly.
    Without `module` all that are imported; one that is imported later calls this with its
    ``globals()``.
    """
    if module is not None:
        module["__getattr__"] = _attribute(module)
        short_name = _short_name(module["__name__"])
        star_imports.extend(module, short_name, names().get(short_name, set()))
        return
    for each in [*names(), *_EMPTY]:
        if _full_name(each) in sys.modules:
            watch(vars(sys.modules[_full_name(each)]))
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
