"""The switches of MXNet's NumPy interface, which is not here; see `util`."""

from __future__ import annotations

from .context import cpu, cpu_pinned, current_context, gpu, gpu_memory_info, num_gpus
from .ndarray import waitall
from .util import get_cuda_compute_capability, is_np_array, is_np_shape, reset_np, set_np

__all__ = [
    "cpu",
    "cpu_pinned",
    "current_context",
    "get_cuda_compute_capability",
    "gpu",
    "gpu_memory_info",
    "is_np_array",
    "is_np_shape",
    "num_gpus",
    "reset_np",
    "set_np",
    "waitall",
]
