"""Optimizers, by MXNet's names: ``mx.optimizer.create('sgd', learning_rate=0.1)``."""

from . import contrib
from .optimizer import *
from .optimizer import __all__ as _optimizers

__all__ = [*_optimizers, "contrib"]
