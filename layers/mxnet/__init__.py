"""MXNet's Python API on PyTorch: ``import layers.mxnet as mx``.

`install` makes ``import mxnet`` this package; ``python -m layers.mxnet script.py`` runs a program
that says so, unchanged.
"""

from . import (
    autograd,
    base,
    context,
    gluon,
    initializer,
    lr_scheduler,
    metric,
    name,
    operator,
    optimizer,
    random,
)
from . import initializer as init
from . import ndarray as nd
from . import ndarray as ndarray
from . import random as rnd
from ._install import install
from .base import MXNetError
from .context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus

__version__ = "1.9.1"  # the version of MXNet whose API this is; programs compare it
__all__ = [
    "Context",
    "MXNetError",
    "autograd",
    "base",
    "context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "gluon",
    "gpu",
    "gpu_memory_info",
    "init",
    "initializer",
    "install",
    "lr_scheduler",
    "metric",
    "name",
    "nd",
    "ndarray",
    "num_gpus",
    "operator",
    "optimizer",
    "random",
    "rnd",
]
