"""``mx.np``: MXNet's NumPy interface, arrays with NumPy's rules and the functions of them."""

from __future__ import annotations

from . import _internal, _protocols, fallback, fallback_linalg, io, linalg, multiarray, random
from .arrayprint import set_printoptions
from .fallback import *
from .fallback import __all__ as _of_numpy
from .io import genfromtxt
from .multiarray import *
from .multiarray import __all__ as _own
from .utils import *
from .utils import __all__ as _constants

__all__ = ["genfromtxt", "set_printoptions", *_own, *_of_numpy, *_constants]
