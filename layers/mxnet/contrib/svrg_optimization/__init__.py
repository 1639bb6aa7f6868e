"""Training with gradients of reduced variance (Johnson and Zhang 2013, SVRG)."""

from ..._old import missing
from . import svrg_module, svrg_optimizer

__all__ = ["svrg_module", "svrg_optimizer"]

missing.watch()
