"""Convolutions of a graph that keep their weights in oneDNN's layout.

PyTorch lays out the weights and images of a convolution anew in each call, or multiplies matrices
where that costs more than it gains. Of weights that are much larger than the image this takes most
of the time: of 2048 to 256 channels in 3 x 3, dilated, on 12 x 12 pixels seven eighths. In
inference the weights stay what they are, and are laid out once; images leave such a convolution
with their channels last, as the next one wants them. Against the graph as it is, for images of
96 x 96 on one thread of a Zen 4: ResNet-50 takes 0.51 of the time in a batch of 1 and 0.62 of 8,
MobileNetV3 0.96 and 0.63, DeepLab 0.65 in a batch of 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

from .._table.nn import Convolution, checked_convolution
from ..autograd import state
from ..symbol._node import Node

Tensor = torch.Tensor
# Elements of a weight from which on it is kept in a graph of a single convolution: below, there is
# little to lay out, and oneDNN lays out the image instead.
LEAST = 2**17
LAYOUTS = (None, "NCHW")
onednn = torch.ops.mkldnn


def packed_convolutions(nodes: Iterable[Node]) -> dict[Node, Callable[..., Tensor]]:
    """Functions that keep the weights of a graph's convolutions, for those nodes.

    Of several convolutions all weights are kept: then all images have their channels last, and none
    is laid out between them.
    """
    convolutions = [node for node in nodes if node.op is Convolution]
    if not _is_available():
        return {}
    least = LEAST if len(convolutions) == 1 else 0
    return {node: PackedConvolution(node, least) for node in convolutions}


def _is_available() -> bool:
    """Whether this PyTorch has oneDNN's convolution of weights that are laid out already."""
    return (
        torch.backends.mkldnn.is_available()
        and torch.backends.cpu.get_cpu_capability().startswith("AVX")
        and hasattr(onednn, "_reorder_convolution_weight")
        and hasattr(onednn, "_convolution_pointwise")
    )


class PackedWeight(NamedTuple):
    """A weight in oneDNN's layout, with the weight it was made of and the data's shape."""

    weight: Tensor
    version: int
    shape: torch.Size
    packed: Tensor


class PackedConvolution:
    """The function of a Convolution node, which keeps the weight of the last call.

    It is laid out anew when another tensor comes, when somebody has written into it, or for data of
    another shape. A weight of fewer than `least` elements is not kept. A call that is
    differentiated, recorded or traced computes as the node does.
    """

    def __init__(self, node: Node, least: int):
        self._plain, self._least = node.op.run, least
        self._kept: PackedWeight | None = None

    def __call__(self, data: Tensor, weight: Tensor, bias: Tensor | None = None, **attributes):
        is_kept = weight.numel() >= self._least and _suits(data, weight, bias)
        if not is_kept or attributes.get("layout") not in LAYOUTS:
            return self._plain(data, weight, bias, **attributes)
        bias, stride, dilate, pad = checked_convolution(data, weight, bias, **attributes)
        settings = (pad, stride, dilate, attributes.get("num_group", 1))
        kept = self._kept
        if (
            kept is None
            or kept.weight is not weight
            or kept.version != weight._version
            or kept.shape != data.shape
        ):
            if not _is_computable(data.shape, weight.shape, *settings):
                return self._plain(data, weight, bias, **attributes)  # which says what is wrong
            packed = onednn._reorder_convolution_weight(weight, *settings, data.shape)
            self._kept = kept = PackedWeight(weight, weight._version, data.shape, packed)
        return onednn._convolution_pointwise(data, kept.packed, bias, *settings, "none", [], "")


def _suits(data: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    given = [data, weight] if bias is None else [data, weight, bias]
    return (
        weight.dim() == 4
        and not weight.is_inference()  # it does not count writes
        and all(t.dtype is torch.float32 and t.is_cpu for t in given)
        and state.recorder is None
        and not torch.is_grad_enabled()
        and not torch.compiler.is_compiling()
    )


def _is_computable(data: torch.Size, weight: torch.Size, pad, stride, dilate, groups) -> bool:
    """Whether there is an image, and a kernel moves over it; with a stride of 0 oneDNN crashes."""
    extents = [(k - 1) * d + 1 for k, d in zip(weight[2:], dilate)]
    return (
        all(data)
        and min(stride) > 0
        and min(dilate) > 0
        and min(pad) >= 0
        and weight[0] % groups == 0
        and all(extent <= n + 2 * p for extent, n, p in zip(extents, data[2:], pad))
    )
