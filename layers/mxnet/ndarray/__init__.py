"""`nd`: arrays, and operators computed at once."""

from . import _internal, _methods, contrib, image, linalg, ndarray, op, random, sparse, utils

# The table first: what follows has its Python form.
from .op import *
from ._arithmetic import *
from ._create import *
from .ndarray import *
from .ndarray import NDArray
from .utils import *

_methods.fill(NDArray)
# `Custom` is put here by the package: custom operators stand above arrays.
