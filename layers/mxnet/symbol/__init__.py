"""`sym`: graphs of operators that are computed later."""

from . import _internal, _methods, contrib, image, linalg, op, random, sparse, symbol

# The table first: the modules after it replace what has a Python form of its own.
from .op import *
from ._arithmetic import *
from ._create import *
from .symbol import *
from .symbol import Symbol

from .._own.node import CUSTOM
from .register import symbolic

Custom = symbolic(CUSTOM, "Custom")
_methods.fill(Symbol)
