"""Gluon's layers."""

from ..block import Block as Block
from ..block import HybridBlock as HybridBlock
from ..block import SymbolBlock as SymbolBlock
from .activations import *  # noqa: F403 - `nn` is flat, as MXNet's
from .basic_layers import *  # noqa: F403
from .conv_layers import *  # noqa: F403
