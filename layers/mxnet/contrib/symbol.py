"""The operators of `sym.contrib`."""

from .._old import missing
from ..symbol import contrib

__all__ = contrib.__all__
globals().update({name: getattr(contrib, name) for name in __all__})

missing.watch(globals())
