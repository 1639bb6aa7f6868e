"""Where arrays are made."""

from __future__ import annotations

from ..engine import mx

__all__ = ["Context", "cpu", "current_context", "gpu", "set_context"]

Context, cpu, gpu, current_context = mx.Context, mx.cpu, mx.gpu, mx.current_context


def set_context(context: Context) -> None:
    """Make arrays on this context from now on, in this thread; in a ``with``, until it ends."""
    mx.test_utils.set_default_context(context)
