"""Convolutions that learn where to look; their operators are not here yet."""

from __future__ import annotations

from ....base import UnsupportedError
from ...block import HybridBlock

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class DeformableConvolution(HybridBlock):
    """A convolution whose kernel's points are moved by learned offsets.

    Raises
    ------
    UnsupportedError
        Always: the operator contrib.DeformableConvolution is not here yet.
    """

    def __init__(self, *args, **kwargs):
        name = type(self).__name__
        raise UnsupportedError(
            f"{name}: the operator contrib.{name} is not in layers.mxnet yet\n  expected nn.Conv2D"
        )


class ModulatedDeformableConvolution(DeformableConvolution):
    """A DeformableConvolution with a learned weight for each point of the kernel.

    Raises
    ------
    UnsupportedError
        Always: the operator contrib.ModulatedDeformableConvolution is not here yet.
    """
