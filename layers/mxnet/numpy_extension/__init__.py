"""``mx.npx``: functions of arrays of ``mx.np`` that NumPy does not have."""

from __future__ import annotations

from ..context import cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from ..ndarray import waitall
from ..numpy._array import F as _F
from ..util import get_cuda_compute_capability, is_np_array, is_np_shape, reset_np, set_np
from . import image, random
from .utils import load, save

globals().update(_F.modules["numpy_extension"])
__all__ = [
    "cpu",
    "cpu_pinned",
    "current_context",
    "get_cuda_compute_capability",
    "gpu",
    "gpu_memory_info",
    "image",
    "is_np_array",
    "is_np_shape",
    "load",
    "num_gpus",
    "random",
    "reset_np",
    "save",
    "set_np",
    "waitall",
    *_F.modules["numpy_extension"],
]
