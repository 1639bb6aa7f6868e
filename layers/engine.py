"""Choice of the engine, in one place: Apache MXNet, or the same API on PyTorch.

The environment variable ``LAYERS_ENGINE`` (``torch`` or ``mxnet``) decides; without it, the engine
is MXNet if the program has already imported it, and else PyTorch. The names ``mx``, ``nd``,
``sym``, ``autograd`` and ``gluon`` are the engine's; the choice is made at the first use of one of
them.
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
    """An error about an engine that cannot be used, or about an array of the other engine."""


@cache
def name() -> str:
    """Return the name of the engine, ``'torch'`` or ``'mxnet'``.

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
    imported = sys.modules.get("mxnet")  # the real MXNet, or layers.mxnet under its name
    return "torch" if imported in (None, sys.modules.get("layers.mxnet")) else "mxnet"


@cache
def _engine() -> Any:
    if name() == "mxnet":  # MXNet runs custom operators on threads, and hangs with only one
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
    # The process hangs if it ends before custom operators are computed, and aborts if it ends while
    # MXNet's threads still delete operators.
    _engine().nd.waitall()
    time.sleep(0.1)


if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name

    def __getattr__(attribute: str) -> Any:
        if attribute == "mx":
            return _engine()
        if attribute in _PARTS:
            return import_module(f"{_engine().__name__}.{_PARTS[attribute]}")
        raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")


_adapters: list[type] = []  # a cache of one; PyTorch's compiler cannot trace @cache


def adapter() -> type:
    """Return the class that calls an `Operator` on this engine."""
    if not _adapters:
        torch, mxnet = "layers.mxnet._op.operator_op", "layers.ops.ways.custom"
        module, found = {"torch": (torch, "OperatorOp"), "mxnet": (mxnet, "Adapter")}[name()]
        _adapters.append(getattr(import_module(module), found))
    return _adapters[0]


def step() -> type:
    """Return the class of a whole training step on this engine; see `layers.compiled_step`."""
    module = {"torch": "layers.mxnet._graph.step", "mxnet": "layers.step"}[name()]
    return import_module(module).Step


def recomputed() -> type:
    """Return the class of a block that is recomputed in backward; see `layers.Remat`."""
    torch, mxnet = ("layers.mxnet.gluon._recomputed", "Recomputed"), ("layers.remat", "AsItIs")
    module, found = {"torch": torch, "mxnet": mxnet}[name()]
    return getattr(import_module(module), found)


def kernels(on: bool) -> AbstractContextManager:
    """Return a context in which kernels compute, or, with False, only the formulas of operators.

    ``with layers.kernels(False):`` applies to this thread. LAYERS_KERNELS=0 in the environment
    applies outside of such contexts. Apache MXNet has no kernels: there it has no effect.
    """
    if name() == "mxnet":  # has no kernels
        return nullcontext()
    return import_module("layers.mxnet._kernels").kernels(on)


def kernel(operator: Any) -> Any:
    """Return this engine's kernel that stands in for the formula of an `Operator`, or None.

    Its `takes(inputs, attributes)` is true for arrays that the kernel can compute.
    """
    return import_module("layers.mxnet._kernels").find(operator) if name() == "torch" else None


def tune() -> None:
    """Set options that make this engine faster, for the whole process; do nothing on MXNet."""
    if name() == "torch":
        _engine().tune()


def compiles() -> bool:
    """True if this engine can compile hybridized blocks, not only record them."""
    return name() == "torch"


def distributes() -> bool:
    """True if processes started by torchrun can train together on this engine."""
    return name() == "torch"


def exchange() -> Any:
    """Return the module that writes files for other libraries; None on MXNet, which has none."""
    return import_module("layers.mxnet._files.exchange") if name() == "torch" else None


def gluoncv() -> Any:
    """Return GluonCV on this engine, imported at the first use.

    Raises
    ------
    EngineError
        GluonCV, or a package that it needs, is not installed.
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
    # GluonCV cannot be imported beside PyTorch 2, and does not need it on MXNet.
    torch = {"torch": sys.modules["torch"]} if "torch" in sys.modules else {}
    sys.modules["torch"] = None  # type: ignore[assignment]  # marks it as absent
    try:
        return import_module("gluoncv")
    finally:
        del sys.modules["torch"]
        sys.modules.update(torch)


def describe() -> dict[str, Any]:
    """Return the engine's name and version, and settings that may change its results.

    On PyTorch these are its way of multiplying matrices, and its number of threads.

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
        A value belongs to it; the message says what to do.
    """
    for value in values:
        if other := _other_engine(type(value)):
            module = type(value).__module__
            raise EngineError(
                f"{who}: given an array of engine {other!r} ({module}); layers runs on {name()!r}\n"
                f"  expected LAYERS_ENGINE={other}, or `import {_PACKAGES[other]}` before layers"
            )


def mxnet_error(kind: type[Exception], message: str) -> Exception:
    """Return an error that is both of a Python type and of MXNet's own error type.

    Parameters
    ----------
    kind : {ValueError, TypeError, IndexError}

    Returns
    -------
    Exception
        The error, not raised yet.
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
    """Return the engine of an array type; None for the running engine and for other types."""
    owners = (k for k, p in _PACKAGES.items() if array_type.__module__.startswith(f"{p}."))
    owner = next(owners, None)
    return None if owner == name() else owner
