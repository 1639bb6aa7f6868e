"""Products of 8-bit integers, exact in int32: PyTorch's kernels for them, or float64.

`torch._int_mm` and oneDNN's quantized convolution take a third to a fifth of the time of float32
where the processor multiplies bytes (VNNI, AMX). Without it a kernel may add pairs of products in
16 bits, which overflow; so each is tried once, with numbers that would, and left aside then.
"""

from __future__ import annotations

import math
from functools import cache

import torch
import torch.nn.functional as F

Tensor = torch.Tensor

# Whole numbers up to here are float32's exactly; of a convolution so are the sums of its parts.
EXACT = 2**24
LEAST = 2**14  # multiplications for one pixel of all images, from which on a call of oneDNN pays


def linear(x: Tensor, w: Tensor) -> Tensor:
    """The sums x wᵀ in int32.

    x : (n, k), int8 or uint8      w : (m, k), int8      y : (n, m), int32
    """
    return torch.ops.layers.int8_linear(x, w)


def _linear(x, w):
    if x.device.type != "cpu" or not _product_is_exact():
        return F.linear(x.double(), w.double()).to(torch.int32)
    if x.dtype is torch.int8:
        return torch._int_mm(x, w.t())
    # x = 128 + (x - 128), whose second part is an int8
    shifted = (x ^ 128).view(torch.int8)
    return torch._int_mm(shifted, w.t()).add_(w.sum(1, dtype=torch.int32), alpha=128)


@cache
def _product_is_exact() -> bool:
    x, w = (torch.full((n, 64), -128, dtype=torch.int8) for n in (3, 32))
    return all(bool((torch._int_mm(a, w.t()) == 64 * 2**14).all()) for a in (x, w))


def convolution(
    x: Tensor,
    w: Tensor,
    stride: tuple[int, ...],
    pad: tuple[int, ...],
    dilate: tuple[int, ...],
    groups: int,
) -> Tensor:
    """The correlation of x with kernels, in int32; the channels are on axis 1.

    x : (n, c, ...), int8 or uint8      w : (m, c / groups, ...), int8      y : (n, m, ...)
    """
    return torch.ops.layers.int8_convolution(x, w, stride, pad, dilate, groups)


def _convolution(x, w, stride, pad, dilate, groups):
    suits = x.dim() == 4 and groups == 1 and w.numel() * x.shape[0] >= LEAST
    channels = _channels_summed_exactly(x, w) if suits and x.device.type == "cpu" else 0
    if not channels or not _convolution_is_exact():
        zeros = (0,) * len(stride)
        settings = stride, pad, dilate, False, zeros, groups
        return torch.convolution(x.double(), w.double(), None, *settings).to(torch.int32)
    y = None
    for x_part, w_part in zip(x.split(channels, 1), w.split(channels, 1)):
        part = _onednn(x_part, w_part, stride, pad, dilate)
        part = part.to(torch.int32, memory_format=torch.contiguous_format)
        y = part if y is None else y.add_(part)
    return y


def _channels_summed_exactly(x, w):
    """The number of channels whose sums cannot be more than `EXACT`; 0 if not one."""
    largest = 255 if x.dtype is torch.uint8 else 128
    sums = w.flatten(1).to(torch.int16).abs().sum(1)
    if int(sums.amax()) * largest <= EXACT:
        return w.shape[1]
    return EXACT // (128 * largest * math.prod(w.shape[2:]))


def _onednn(x, w, stride, pad, dilate):
    """The same by oneDNN, whose data is unsigned, and whose sums come as float32."""
    zero = 0
    if x.dtype is torch.int8:
        x, zero = (x.view(torch.uint8) ^ 128), 128
    ops = torch.ops.onednn
    scales = torch.ones(len(w))
    settings = list(stride), list(pad), list(dilate), 1
    packed = ops.qconv_prepack(w, scales, 1.0, zero, *settings, list(x.shape))
    nothing = torch.zeros(len(w), dtype=torch.int64)
    return ops.qconv2d_pointwise(
        x, 1.0, zero, packed, scales, nothing, None, *settings, 1.0, 0, torch.float32, "none", [],
        None,
    )  # fmt: skip


@cache
def _convolution_is_exact() -> bool:
    channels = EXACT // (2**14 * 9)
    w = torch.full((32, channels, 3, 3), -127, dtype=torch.int8)
    try:
        for value in (-128, 127):
            x = torch.full((1, channels, 3, 3), value, dtype=torch.int8)
            y = _onednn(x, w, (1, 1), (0, 0), (1, 1))
            if not (y == value * -127 * channels * 9).all():
                return False
    except (AttributeError, RuntimeError, NotImplementedError):  # PyTorch without oneDNN, or older
        return False
    return True


# The operators are registered while this Library object lives.
_library = torch.library.Library("layers", "FRAGMENT")
_library.define("int8_linear(Tensor x, Tensor w) -> Tensor")
_library.define(
    "int8_convolution(Tensor x, Tensor w, int[] stride, int[] pad, int[] dilate, int groups)"
    " -> Tensor"
)
_library.impl("int8_linear", _linear, "CompositeExplicitAutograd")
_library.impl("int8_convolution", _convolution, "CompositeExplicitAutograd")


@torch.library.register_fake("layers::int8_linear")
def _(x, w):
    return x.new_empty(len(x), len(w), dtype=torch.int32)


@torch.library.register_fake("layers::int8_convolution")
def _(x, w, stride, pad, dilate, groups):
    each = zip(x.shape[2:], w.shape[2:], stride, pad, dilate)
    sizes = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in each]
    return x.new_empty(len(x), len(w), *sizes, dtype=torch.int32)
