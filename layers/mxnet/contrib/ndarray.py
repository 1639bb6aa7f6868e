"""The operators of `nd.contrib`."""

from .._old import missing
from ..ndarray import contrib

__all__ = contrib.__all__
globals().update({name: getattr(contrib, name) for name in __all__})

missing.watch(globals())
