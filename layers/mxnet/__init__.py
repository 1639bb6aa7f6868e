"""MXNet's Python API on PyTorch: ``import layers.mxnet as mx``.

`install` makes ``import mxnet`` this package; ``python -m layers.mxnet script.py`` runs a program
that says so, unchanged.
"""

import logging
from typing import TYPE_CHECKING

from . import _threads  # before what imports PyTorch
from ._old import missing
from . import (
    attribute,
    autograd,
    base,
    callback,
    context,
    engine,
    error,
    executor,
    gluon,
    initializer,
    io,
    kvstore,
    libinfo,
    log,
    lr_scheduler,
    metric,
    model,
    module,
    monitor,
    name,
    numpy,
    numpy_extension,
    onnx,
    operator,
    optimizer,
    random,
    registry,
    runtime,
    symbol,
    util,
    visualization,
)
from . import initializer as init
from . import kvstore as kv
from . import module as mod
from . import monitor as mon
from . import ndarray as nd
from . import ndarray as ndarray
from . import numpy as np
from . import numpy_extension as npx
from . import random as rnd
from . import symbol as sym
from . import visualization as viz
from ._malloc import tune
from ._old.c_names import NAMES as _C_NAMES
from ._old.gluoncv import gluoncv
from ._old.install import install
from ._op.custom import custom
from ._op.function import Function
from ._graph.cached_op import CachedOp
from ._old.python_op import NDArrayOp, NumpyOp, PythonOp
from .attribute import AttrScope
from .base import MXNetError
from .context import Context, cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from ._emit import emit
from .gluon._torch import from_torch
from .symbol._recorded import get_symbol
from .util import (
    is_np_array,
    is_np_shape,
    np_array,
    np_shape,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)

if TYPE_CHECKING:  # imported when a program asks for them
    from . import contrib, executor_manager, image, profiler, recordio, rnn, test_utils
    from . import image as img

__version__ = "1.9.1"  # the version of MXNet whose API this is; programs compare it
__all__ = [
    "AttrScope",
    "Context",
    "MXNetError",
    "attribute",
    "autograd",
    "base",
    "callback",
    "context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "emit",
    "engine",
    "error",
    "executor",
    "from_torch",
    "gluon",
    "gluoncv",
    "gpu",
    "gpu_memory_info",
    "init",
    "initializer",
    "install",
    "io",
    "is_np_array",
    "is_np_shape",
    "kv",
    "kvstore",
    "libinfo",
    "log",
    "lr_scheduler",
    "metric",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "np",
    "np_array",
    "np_shape",
    "npx",
    "num_gpus",
    "numpy",
    "numpy_extension",
    "onnx",
    "operator",
    "optimizer",
    "random",
    "registry",
    "rnd",
    "runtime",
    "set_np_shape",
    "sym",
    "symbol",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "tune",
    "util",
    "visualization",
    "viz",
]
# What MXNet has in a module on which its code here is built.
vars(base).update(_C_NAMES)
autograd.Function, autograd.get_symbol = Function, get_symbol
ndarray.Custom, ndarray.CachedOp = custom, CachedOp
ndarray.np = ndarray.numpy = np
ndarray.npx = ndarray.numpy_extension = npx
operator.PythonOp, operator.NumpyOp, operator.NDArrayOp = PythonOp, NumpyOp, NDArrayOp
operator.__all__ += ["NDArrayOp", "NumpyOp", "PythonOp"]
missing.watch()
