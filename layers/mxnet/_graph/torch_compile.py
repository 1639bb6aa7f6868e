"""`torch.compile`, as graphs are compiled here."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from typing import Any

import torch

from ..base import ArgumentError
from .direct import Whole
from .inductor import expect_private, rewrite

OPTIONS = "mode", "options"  # of torch.compile
VARIABLE = "LAYERS_HYBRIDIZE_BACKEND"
# Of MXNet's builds, for other processors and libraries. Old programs name them, and MXNet runs the
# graph as it is where it was built without one.
MXNETS = {"mkldnn", "mkldnn_quantize", "onednn", "onednn_quantize", "tensorrt"}


def chosen(
    who: str, backend: str | None, options: dict[str, Any]
) -> tuple[str | None, dict[str, Any]]:
    """Return the backend, given or from the environment, None without a compiler, and its options.

    Raises
    ------
    ArgumentError
        The backend or an option is unknown.
    """
    if not backend:
        who, backend = VARIABLE, os.environ.get(VARIABLE)
    if not backend:
        return None, {}
    if backend not in (all_there := torch.compiler.list_backends(None)):
        near = " or ".join(map(repr, get_close_matches(str(backend), all_there)))
        listed = ", ".join([*torch.compiler.list_backends(), "aot_eager"])
        text = f"{who}: there is no backend {backend!r}"
        expected = (
            f"  expected {near}; there are {listed}" if near else f"  expected one of {listed}"
        )
        if who != "hybridize" or str(backend).lower() not in MXNETS:
            raise ArgumentError(f"{text}\n{expected}")
        warnings.warn(f"{text}; the graph runs as it is\n{expected}", stacklevel=3)
        return None, {}
    _check(who, backend, **options)
    return backend, options


def unknown_flag(name: str, flags: Iterable[str]) -> ArgumentError:
    """Return the error for an option of `hybridize` that comes without a backend."""
    if name in OPTIONS:
        return ArgumentError(
            f"hybridize: {name} is given, but no backend\n  expected backend='inductor' beside it"
        )
    return ArgumentError(
        f"hybridize: unknown flag {name!r}\n  expected backend, or one of {', '.join(flags)}"
    )


def _check(who: str, backend: str, mode: str | None = None, options=None, **unknown) -> None:
    what, known = next(iter(unknown), None), list(OPTIONS)
    if what is None and backend == "inductor":
        modes, names = torch._inductor.list_mode_options(), torch._inductor.list_options()
        if mode and mode not in modes:
            what, known = f"mode={mode}", list(modes)
        elif wrong := [n for n in options or {} if n.replace("-", "_") not in names]:
            what, known = f"options[{wrong[0]!r}]", ["what torch._inductor.list_options() gives"]
    elif what is None and mode:  # of inductor's alone
        what, known = f"mode={mode!r}", ["backend 'inductor' beside it"]
    if what:
        raise ArgumentError(
            f"{who}: backend {backend!r} has no {what}\n  expected {', or '.join(known)}"
        )


def compile_function(
    function: Callable,
    backend: str,
    whole: bool,
    device: str,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable:
    """Return a function, compiled at its first call, for the shapes of that.

    Parameters
    ----------
    backend : str
    whole : bool
        Whether it has to be one graph.
    device : {'cpu', 'cuda'}
    mode, options
        As of `torch.compile`; here they may come together.

    Raises
    ------
    UnsupportedError
        Another user can change the compiled code that would be loaded.
    """
    guards = _arrays_from_outside if whole else _arguments
    settings: dict[str, Any] = {}
    if backend == "inductor":
        expect_private()
        # The draws are those of the graph as it is, the product is that of `_table.product`, and
        # what is cast to 16 bits and back is rounded.
        settings |= {"fallback_random": True, "post_grad_custom_pre_pass": rewrite()}
        settings |= {"emulate_precision_casts": True}
        # Of a whole graph on a CPU `Whole` says it, who sees how large the convolutions are.
        settings |= {"layout_optimization": False} if device == "cpu" and not whole else {}
        settings |= torch._inductor.list_mode_options(mode) if mode else {}
    settings |= {name.replace("-", "_"): value for name, value in (options or {}).items()}
    if whole and device == "cpu":
        return Whole(function, backend, settings, guards)
    return torch.compile(
        function,
        fullgraph=whole,
        dynamic=False,
        backend=backend,
        options=settings | {"guard_filter_fn": guards},
    )


# PyTorch looks at what it calls guards before each call of compiled code: at a thousand things for
# a small network. What callers may change of the arguments is a part of the kind of call, and what
# Python has read while it was traced stays a part of the graph.


def _arrays_from_outside(entries: list) -> list[bool]:
    """Return which guards stay for a whole graph: of arrays, which must be as they were."""
    for entry in entries:
        # Of an array of NumPy PyTorch makes a new tensor at every look, and would compare the one
        # of its second look with that of its first.
        if entry.name.startswith("___from_numpy("):
            entry.orig_guard.obj_weakref = None
    return [e.guard_type == "TENSOR_MATCH" and not _is_argument(e) for e in entries]


def _arguments(entries: list) -> list[bool]:
    """Return which guards stay for parts of a graph: what is between may give other shapes."""
    whole = _arrays_from_outside(entries)
    return [stays or not entry.is_global for stays, entry in zip(whole, entries)]


def _is_argument(entry: Any) -> bool:
    return not entry.is_global and bool(re.fullmatch(r"\w+(\[\d+\])?", entry.name))


def parts(whole: bool) -> AbstractContextManager:
    """``with parts(whole):`` a part of a graph that cannot be compiled runs as it is."""
    return nullcontext() if whole else torch._dynamo.config.patch(suppress_errors=True)


def by_the_tracer(error: Exception) -> bool:
    """True if PyTorch's tracer raised an error, and not the traced code."""
    return type(error).__module__.startswith("torch._dynamo")
