"""``mx.nd.np``: the functions of ``mx.np``."""

from __future__ import annotations

from ...numpy import *
from ...numpy import __all__ as __all__
from ...numpy import linalg as linalg
from ...numpy import random as random
from . import _internal as _internal
