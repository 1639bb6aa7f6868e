"""What this installation can do: ``mx.runtime.Features().is_enabled("CUDA")``."""

from __future__ import annotations

from collections import OrderedDict
from importlib.util import find_spec
from typing import NamedTuple

import torch

__all__ = ["Feature", "Features", "feature_list"]


class Feature(NamedTuple):
    """A feature by MXNet's name, and whether it is there."""

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """The features of MXNet 1.9.1 by name, each with whether this installation has it."""
    cpu = torch.backends.cpu.get_cpu_capability()
    cuda = torch.cuda.is_available()
    avx2 = cpu.startswith("AVX")
    mkl = torch.backends.mkl.is_available()
    found = {
        "CUDA": cuda,
        "CUDNN": cuda and torch.backends.cudnn.is_available(),
        "NCCL": cuda and torch.distributed.is_available() and torch.distributed.is_nccl_available(),
        "CUDA_RTC": cuda,
        "TENSORRT": False,
        **dict.fromkeys(["CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2"], avx2),
        "CPU_SSE4A": False,
        "CPU_AVX": avx2,
        "CPU_AVX2": avx2,
        "OPENMP": torch.backends.openmp.is_available(),
        "SSE": avx2,
        "F16C": avx2,
        "JEMALLOC": False,
        "BLAS_OPEN": not mkl,
        "BLAS_ATLAS": False,
        "BLAS_MKL": mkl,
        "BLAS_APPLE": False,
        "LAPACK": torch._C.has_lapack,
        "MKLDNN": torch.backends.mkldnn.is_available(),
        "OPENCV": find_spec("cv2") is not None,
        "CAFFE": False,
        "PROFILER": True,
        "DIST_KVSTORE": torch.distributed.is_available(),
        "CXX14": False,
        "INT64_TENSOR_SIZE": True,
        "SIGNAL_HANDLER": False,
        "DEBUG": False,
        "TVM_OP": False,
    }
    return [Feature(name, bool(enabled)) for name, enabled in found.items()]


class Features(OrderedDict):
    """The features by name."""

    def __init__(self):
        super().__init__((feature.name, feature) for feature in feature_list())

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self.values()))}]"

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is there.

        Raises
        ------
        RuntimeError
            MXNet knows no feature of this name.
        """
        feature = self.get(feature_name.upper())
        if feature is None:
            raise RuntimeError(
                f"Features: {feature_name!r} is unknown\n  expected one of {', '.join(self)}"
            )
        return feature.enabled
