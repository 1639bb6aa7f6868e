"""Parts of MXNet's `contrib`: they are imported when they are first asked for."""

from .._old import missing
from . import ndarray, symbol
from . import ndarray as nd
from . import symbol as sym

missing.watch(globals())
