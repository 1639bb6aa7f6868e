"""Layers of `gluon.contrib`."""

from .basic_layers import *
from .basic_layers import __all__ as __all__
