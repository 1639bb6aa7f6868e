"""MXNet's NumPy interface is not here: this module is there for programs that import it.

Every name in it says so when it is asked for. `ndarray` exists for
``isinstance(x, mx.np.ndarray)``, which holds for nothing.
"""

from __future__ import annotations

from ..base import UnsupportedError

__all__ = ["ndarray"]


class ndarray:
    """The array of MXNet's NumPy interface, of which there is none.

    Raises
    ------
    UnsupportedError
        One is made.
    """

    def __init__(self, *args, **kwargs):
        raise UnsupportedError(
            "mx.np.ndarray: MXNet's NumPy interface (mx.np, mx.npx) is not here\n  use mx.nd.array"
        )
