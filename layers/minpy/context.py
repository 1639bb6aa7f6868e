"""Context of new arrays."""

from __future__ import annotations

from ..engine import mx

__all__ = ["Context", "cpu", "current_context", "gpu", "set_context"]

Context, cpu, gpu, current_context = mx.Context, mx.cpu, mx.gpu, mx.current_context


def set_context(context: Context) -> None:
    """Set the context of new arrays in this thread; inside a ``with``, until it ends."""
    mx.test_utils.set_default_context(context)
