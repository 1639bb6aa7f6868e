"""Convolutions of static graphs on a CPU, laid out as oneDNN wants them.

PyTorch lays out the weights and images of a convolution anew in each call, or multiplies matrices
where that costs more than it gains. Of weights that are much larger than the image this takes most
of the time: of 2048 to 256 channels in 3 x 3, dilated, on 12 x 12 pixels seven eighths.

In inference the weights stay what they are, and are laid out once; images leave such a convolution
with their channels last, and need not be laid out for the next one. Against the graph as it is,
for images of 96 x 96 on one thread of a Zen 4: ResNet-50 takes 0.51 of the time in a batch of 1
and 0.62 of 8, MobileNetV3 0.96 and 0.63, DeepLab 0.65 in a batch of 1.

In training images are laid out with their channels last for the convolutions whose weights are
small beside them. A step takes on two threads 0.79 of the time with MobileNet v2, 0.92 with
ResNet-18 (8 images of 64 x 64), and 0.90 with an SSD of 256 x 256.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import torch

from .._state import this_thread
from .._table.nn import Convolution, checked_convolution
from ..symbol._node import Node

Tensor = torch.Tensor
# In a graph of a single convolution, a weight of fewer elements is not kept: there is little to lay
# out, and oneDNN lays out the image instead.
LEAST_OF_ONE = 2**17
# What an element of an image saves in training with channels last, over what one of a weight costs.
IMAGE_TO_WEIGHT = 4
LAYOUTS = (None, "NCHW")
onednn = torch.ops.mkldnn


def static_convolutions(nodes: Iterable[Node]) -> dict[Node, Callable[..., Tensor]]:
    """Return the functions of a static graph's convolutions, for those nodes.

    A single small convolution is left as it is: nothing follows that takes channels last.
    """
    convolutions = [node for node in nodes if node.op is Convolution]
    if not is_available():
        return {}
    is_single = len(convolutions) == 1
    return {node: StaticConvolution(node, is_single) for node in convolutions}


def is_available() -> bool:
    """True if this PyTorch has oneDNN's convolution for weights that are laid out already."""
    return (
        torch.backends.mkldnn.is_available()
        and torch.backends.cpu.get_cpu_capability().startswith("AVX")
        and hasattr(onednn, "_reorder_convolution_weight")
        and hasattr(onednn, "_convolution_pointwise")
    )


class StaticConvolution:
    """The function of a Convolution node, which in inference keeps its weight laid out.

    It is laid out when the same tensor comes a second time with data of the same shape, and nobody
    has written into it. A call that is traced computes as the node does.
    """

    def __init__(self, node: Node, is_single: bool):
        self._plain, self._is_single = node.op.run, is_single
        # The weight, its version, the shape of its images; and it in oneDNN's layout.
        self._latest: tuple[tuple[Tensor, int, torch.Size] | None, Tensor | None] = None, None

    def __call__(self, data: Tensor, weight: Tensor, bias: Tensor | None = None, **attributes):
        if not suits(data, weight, bias) or attributes.get("layout") not in LAYOUTS:
            return self._plain(data, weight, bias, **attributes)
        if torch.is_grad_enabled():
            if not self._is_single:
                data = _laid_out(data, weight, attributes.get("stride", ()))
            return self._plain(data, weight, bias, **attributes)
        is_small = self._is_single and weight.numel() < LEAST_OF_ONE
        # A tensor of inference mode does not count writes.
        if is_small or weight.is_inference() or not data.numel():
            return self._plain(data, weight, bias, **attributes)
        if (recorder := this_thread.state.recorder) is not None:
            return recorder.call(partial(self._infer, True, **attributes), data, weight, bias)
        return self._infer(False, data, weight, bias, **attributes)

    def _infer(
        self, at_once: bool, data: Tensor, weight: Tensor, bias: Tensor | None, **attributes
    ) -> Tensor:
        """Return the convolution by a weight that is laid out; `at_once`, when it is first seen.

        A recorded call does so: the calls that were recorded after it expect channels last.
        """
        latest = weight, weight._version, data.shape
        known, packed = self._latest
        if known is None or known[0] is not weight or known[1:] != latest[1:]:
            y = self._plain(data, weight, bias, **attributes)
            # Only now, for it is computable: with a stride of 0 oneDNN ends the process.
            self._latest, packed = (latest, None), None
            if not at_once:
                return y
        bias, stride, dilate, pad = checked_convolution(data, weight, bias, **attributes)
        settings = (pad, stride, dilate, attributes.get("num_group", 1))
        if packed is None:
            packed = onednn._reorder_convolution_weight(weight, *settings, data.shape)
            self._latest = latest, packed
        return onednn._convolution_pointwise(data, packed, bias, *settings, "none", [], "")


def _laid_out(data: Tensor, weight: Tensor, stride: Sequence[int]) -> Tensor:
    """Return the images, with channels last where that saves more than it costs for the weight."""
    pixels = data.shape[0] * data.shape[2] * data.shape[3] // (math.prod(stride) or 1)
    has_one_channel = weight.shape[1] == 1
    last = has_one_channel or IMAGE_TO_WEIGHT * pixels * weight.shape[0] > weight.numel()
    return data.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)


def suits(data: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    given = [data, weight] if bias is None else [data, weight, bias]
    return (
        data.dim() == weight.dim() == 4
        and all(t.dtype is torch.float32 and t.is_cpu for t in given)
        and not torch.compiler.is_compiling()
    )
