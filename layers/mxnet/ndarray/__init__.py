"""`nd`: arrays, and operators computed at once."""

from typing import TYPE_CHECKING

from . import (
    _arithmetic,
    _create,
    _internal,
    _methods,
    contrib,
    image,
    linalg,
    ndarray,
    op,
    random,
    sparse,
    utils,
)

# The table first: the modules after it replace what has a Python form of its own.
from .op import *
from ._arithmetic import *
from ._create import *
from .ndarray import *
from .ndarray import NDArray
from .utils import *

_methods.fill(NDArray)
# MXNet has these in ndarray.ndarray, on which their code here is built.
for _name in (*_arithmetic.__all__, *_create.__all__):
    setattr(ndarray, _name, globals()[_name])
if TYPE_CHECKING:  # the package adds it: custom operators are built on arrays
    from .._op.custom import custom as Custom
