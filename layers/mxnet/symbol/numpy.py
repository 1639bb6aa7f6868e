"""Symbols of MXNet's NumPy interface, which is not here; see `layers.mxnet.numpy`."""

from __future__ import annotations

from .._old import missing
from ..base import UnsupportedError

__all__: list[str] = []


class _Symbol:
    """The symbol of MXNet's NumPy interface, of which there is none."""

    def __init__(self, *args, **kwargs):
        raise UnsupportedError("mx.sym.np: MXNet's NumPy interface is not here\n  use mx.sym")


missing.watch(globals())
