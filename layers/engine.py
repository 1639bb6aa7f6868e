"""The one place where the engine is chosen: Apache MXNet, or the same API on PyTorch.

It is that of the environment variable ``LAYERS_ENGINE`` (``torch`` or ``mxnet``); else MXNet, if
the program has imported it already; else PyTorch. The names ``mx``, ``nd``, ``sym``, ``autograd``
and ``gluon`` are the engine's; the choice is made at the first use of one of them.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the names that `__getattr__` finds; both engines have one API
    from . import mxnet as mx
    from .mxnet import autograd, gluon
    from .mxnet import ndarray as nd
    from .mxnet import symbol as sym

__all__ = [
    "EngineError",
    "adapter",
    "autograd",
    "compiles",
    "describe",
    "distributes",
    "exchange",
    "expect",
    "gluon",
    "gluoncv",
    "kernel",
    "kernels",
    "mx",
    "mxnet_error",
    "name",
    "nd",
    "recomputed",
    "step",
    "sym",
    "tune",
]

_PACKAGES = {"torch": "layers.mxnet", "mxnet": "mxnet"}
_REQUIREMENTS = {"torch": "'torch>=2.11'", "mxnet": "'mxnet==1.9.1' 'numpy<1.24'"}
_PARTS = {"nd": "ndarray", "sym": "symbol", "autograd": "autograd", "gluon": "gluon"}


class EngineError(TypeError):
    """The engine is unknown or not installed, or an array belongs to the other one."""


@cache
def name() -> str:
    """``'torch'`` or ``'mxnet'``.

    Raises
    ------
    EngineError
        ``LAYERS_ENGINE`` is neither.
    """
    requested = os.environ.get("LAYERS_ENGINE")
    if requested:
        if requested not in _PACKAGES:
            raise EngineError(f"LAYERS_ENGINE is {requested!r}\n  expected 'torch' or 'mxnet'")
        return requested
    imported = sys.modules.get("mxnet")  # or layers.mxnet under this name
    return "torch" if imported in (None, sys.modules.get("layers.mxnet")) else "mxnet"


@cache
def _engine() -> Any:
    if name() == "mxnet":  # runs custom operators on threads, and waits forever if there is one
        os.environ.setdefault("MXNET_CPU_WORKER_NTHREADS", "2")
    try:
        package = import_module(_PACKAGES[name()])
    except ModuleNotFoundError as error:
        raise EngineError(
            f"the engine {name()!r} needs {error.name}, which is not installed\n"
            f"  expected pip install {_REQUIREMENTS[name()]}, or another LAYERS_ENGINE"
        ) from error
    if name() == "mxnet":
        atexit.register(_finish_custom_operators)
    return package


def _finish_custom_operators() -> None:
    # A process that ends while custom operators are not computed yet hangs; one that ends while
    # MXNet's threads still delete operators aborts.
    _engine().nd.waitall()
    time.sleep(0.1)


if not TYPE_CHECKING:  # to which any name would be one

    def __getattr__(attribute: str) -> Any:
        if attribute == "mx":
            return _engine()
        if attribute in _PARTS:
            return import_module(f"{_engine().__name__}.{_PARTS[attribute]}")
        raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")


_adapters: list[type] = []  # a cache of one; PyTorch's compiler cannot trace @cache


def adapter() -> type:
    """The class that calls an `Operator` on this engine."""
    if not _adapters:
        torch, mxnet = "layers.mxnet._op.operator_op", "layers.ops.ways.custom"
        module, found = {"torch": (torch, "OperatorOp"), "mxnet": (mxnet, "Adapter")}[name()]
        _adapters.append(getattr(import_module(module), found))
    return _adapters[0]


def step() -> type:
    """The class of a whole training step on this engine; see `layers.compiled_step`."""
    module = {"torch": "layers.mxnet._graph.step", "mxnet": "layers.step"}[name()]
    return import_module(module).Step


def recomputed() -> type:
    """The class of a block that is computed again in backward; see `layers.Remat`."""
    torch, mxnet = ("layers.mxnet.gluon._recomputed", "Recomputed"), ("layers.remat", "AsItIs")
    module, found = {"torch": torch, "mxnet": mxnet}[name()]
    return getattr(import_module(module), found)


def kernels(on: bool) -> AbstractContextManager:
    """Return a context in which kernels compute, or with False the formulas of operators alone.

    ``with layers.kernels(False):`` holds in this thread. LAYERS_KERNELS=0 in the environment holds
    where nothing else is said. On Apache MXNet, which has no kernels, it has no effect.
    """
    if name() == "mxnet":  # it has none
        return nullcontext()
    return import_module("layers.mxnet._kernels").kernels(on)


def kernel(operator: Any) -> Any:
    """Return this engine's kernel for an `Operator`, which stands in for its formula; None without.

    Its `takes(inputs, attributes)` is true for arrays for which the kernel computes.
    """
    return import_module("layers.mxnet._kernels").find(operator) if name() == "torch" else None


def tune() -> None:
    """Set what makes this engine faster and holds for the whole process; nothing on MXNet."""
    if name() == "torch":
        _engine().tune()


def compiles() -> bool:
    """Whether this engine can compile hybridized blocks, not only record them."""
    return name() == "torch"


def distributes() -> bool:
    """Whether processes that torchrun starts can train together on this engine."""
    return name() == "torch"


def exchange() -> Any:
    """The module that writes files for other libraries, None on an engine that cannot."""
    return import_module("layers.mxnet._files.exchange") if name() == "torch" else None


def gluoncv() -> Any:
    """GluonCV on this engine, imported at the first use.

    Raises
    ------
    EngineError
        It, or something that it needs, is not installed.
    """
    try:
        return _engine().gluoncv() if name() == "torch" else _installed_gluoncv()
    except ModuleNotFoundError as error:
        missing = "is" if error.name == "gluoncv" else f"needs {error.name}, which is"
        raise EngineError(
            f"GluonCV {missing} not installed\n  expected pip install 'gluon-layers[gluoncv]'"
        ) from error


def _installed_gluoncv() -> Any:
    found = find_spec("gluoncv")
    if not (found and found.origin):  # a folder of this name without an __init__.py has a spec too
        raise ModuleNotFoundError("gluoncv", name="gluoncv")
    # It cannot be imported beside PyTorch 2, which it does not need on MXNet.
    torch = {"torch": sys.modules["torch"]} if "torch" in sys.modules else {}
    sys.modules["torch"] = None  # type: ignore[assignment]  # as Python marks what is absent
    try:
        return import_module("gluoncv")
    finally:
        del sys.modules["torch"]
        sys.modules.update(torch)


def describe() -> dict[str, Any]:
    """Return the engine's name and version, and how it computes where that may differ.

    On PyTorch that is how it multiplies matrices, and on how many threads it computes.

    Raises
    ------
    EngineError
        The engine is not installed.
    """
    found = {"name": name(), "version": _engine().__version__}
    if name() == "torch":
        found["gemm"] = import_module("layers.mxnet._table.product").describe()
        found["threads"] = import_module("layers.mxnet._threads").count()
    return found


def expect(who: str, values: tuple) -> None:
    """Refuse arrays that belong to the other engine.

    Raises
    ------
    EngineError
        One of `values` belongs to it; the message says what to do.
    """
    for value in values:
        if other := _other_engine(type(value)):
            module = type(value).__module__
            raise EngineError(
                f"{who}: given an array of engine {other!r} ({module}); layers runs on {name()!r}\n"
                f"  expected LAYERS_ENGINE={other}, or `import {_PACKAGES[other]}` before layers"
            )


def mxnet_error(kind: type[Exception], message: str) -> Exception:
    """An error of the library's own, which is of a kind of Python's and MXNet's error, too.

    Parameters
    ----------
    kind : {ValueError, TypeError, IndexError}

    Returns
    -------
    Exception
        To be raised.
    """
    return _error_class(kind)(message)


@cache
def _error_class(kind: type[Exception]) -> type[Exception]:
    base = _engine().base
    if name() == "torch":
        return base.BoundsError if kind is IndexError else base.ArgumentError
    methods = {"__reduce__": lambda self: (mxnet_error, (kind, *self.args))}
    return type(f"MXNet{kind.__name__}", (base.MXNetError, kind), methods)


@cache
def _other_engine(array_type: type) -> str | None:
    """The engine that a type belongs to, when it is not the one that runs."""
    owners = (k for k, p in _PACKAGES.items() if array_type.__module__.startswith(f"{p}."))
    owner = next(owners, None)
    return None if owner == name() else owner
