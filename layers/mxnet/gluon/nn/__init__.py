"""Gluon's layers."""

from ..block import Block as Block
from ..block import HybridBlock as HybridBlock
from ..block import SymbolBlock as SymbolBlock
from .activations import *
from .basic_layers import *
from .conv_layers import *
