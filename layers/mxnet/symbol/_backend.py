"""`torch.compile`, as graphs are compiled here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .. import _gemm_pass
from .._guards import kept


def backends() -> list[str]:
    """The names of what can compile a graph."""
    return torch.compiler.list_backends(None)


def compiled(
    function: Callable,
    backend: str,
    whole: bool,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable:
    """A function, compiled at its first call, for the shapes of that.

    Parameters
    ----------
    backend : str
    whole : bool
        Whether it has to be one graph.
    mode, options
        As of `torch.compile`; here they may come together.
    """
    settings: dict[str, Any] = {"guard_filter_fn": kept}
    if backend == "inductor":
        # The draws are those of the graph as it is; and the product is that of `_gemm`.
        settings |= {"fallback_random": True, "post_grad_custom_pre_pass": _gemm_pass.rewrite()}
        settings |= torch._inductor.list_mode_options(mode) if mode else {}
    return torch.compile(
        function,
        fullgraph=whole,
        dynamic=False,
        backend=backend,
        options=settings | (options or {}),
    )
