"""`sym`: graphs of operators that are computed later."""

from . import (
    _arithmetic,
    _create,
    _internal,
    _methods,
    contrib,
    image,
    linalg,
    numpy,
    numpy_extension,
    op,
    random,
    sparse,
    symbol,
)
from . import numpy as np
from . import numpy_extension as npx

# The table first: the modules after it replace what has a Python form of its own.
from .op import *
from ._arithmetic import *
from ._create import *
from .symbol import *
from .symbol import Symbol

from ._custom import Custom as Custom

_methods.fill(Symbol)
# MXNet has these in symbol.symbol, on which their code here is built.
for _name in (*_arithmetic.__all__, *_create.__all__):
    setattr(symbol, _name, globals()[_name])
