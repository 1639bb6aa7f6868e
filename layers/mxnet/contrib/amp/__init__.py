"""Automatic mixed precision: some operators compute in 16 bits, the others in float32."""

from ..._old import missing
from . import amp, lists, loss_scaler
from .amp import *

__all__ = [*amp.__all__]
missing.watch(globals())
