"""The operators of ONNX that move a window over an image, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ... import symbol as sym
from ...symbol import Symbol
from ._graph import Step
from ._registry import ROWS, row

__all__ = ["LOWEST", "padded"]

LOWEST = float(np.finfo("float32").min)


def _padding(step: Step, kernel: Sequence[int], strides, dilations) -> tuple[list, list]:
    """What is added before and after each axis of an image."""
    mode = step.expect("auto_pad", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    count = len(kernel)
    pads = step.attribute("pads", [0] * 2 * count)
    if mode in ("NOTSET", "VALID"):
        pads = pads if mode == "NOTSET" else [0] * 2 * count
        return list(pads[:count]), list(pads[count:])
    totals = []
    for size, k, s, d in zip(step.shape()[2:], kernel, strides, dilations):
        if size is None and s > 1:
            raise step.unsupported(f"auto_pad is {mode} and the size of the image is open")
        steps = 0 if s == 1 else (-(-size // s) - 1) * s - size + 1
        totals.append(max(steps + (k - 1) * d, 0))
    less, more = [t // 2 for t in totals], [t - t // 2 for t in totals]
    return (less, more) if mode == "SAME_UPPER" else (more, less)


def padded(step: Step, x: Symbol, before, after, value: float = 0.0, mode="constant") -> Symbol:
    """The array with margins of `value` or of its own elements; `Pad` wants 4 or 5 axes."""
    widths = [n for pair in zip(before, after) for n in pair]
    if not any(widths):
        return x
    extra = max(4 - len(before), 0)
    if min(widths) < 0 or any(([0] * 2 * extra + widths)[:4]) or len(before) > 5:
        raise step.unsupported(f"the array gets {widths} more elements around")
    sizes = step.shape_or_none(0) or [None] * len(before)
    step.expect_size([(n or 1) + b + a for n, b, a in zip(sizes, before, after)])
    for _ in range(extra):
        x = sym.expand_dims(x, axis=0)
    pad_width = (0,) * 2 * extra + tuple(widths)
    x = sym.Pad(x, mode=mode, pad_width=pad_width, constant_value=value)
    return sym.squeeze(x, axis=tuple(range(extra))) if extra else x


def _window(step: Step, kernel: Sequence[int]) -> tuple[tuple, tuple, list, list]:
    ones = [1] * len(kernel)
    strides, dilations = step.attribute("strides", ones), step.attribute("dilations", ones)
    return tuple(strides), tuple(dilations), *_padding(step, kernel, strides, dilations)


def _weights(step: Step, axis: int) -> tuple[tuple, int, int]:
    """The kernel, the number along an axis of the weights, and the number of groups."""
    shape = step.shape(1)
    if None in shape:
        raise step.unsupported(f"the shape of the weights is {shape}")
    step.attribute("kernel_shape")
    return shape[2:], shape[axis], step.attribute("group", 1)


@row("Conv")
def _conv(step: Step) -> Symbol:
    kernel, outputs, groups = _weights(step, 0)
    stride, dilate, before, after = _window(step, kernel)
    x = step.x()
    if before != after:
        x = padded(step, x, [0, 0, *before], [0, 0, *after])
        before = [0] * len(kernel)
    bias = [step.x(2)] if step.has(2) else []
    return sym.Convolution(
        x, step.x(1), *bias, no_bias=not bias, kernel=kernel, stride=stride, dilate=dilate,
        pad=tuple(before), num_filter=outputs, num_group=groups,
    )  # fmt: skip


@row("ConvTranspose")
def _conv_transpose(step: Step) -> Symbol:
    kernel, outputs, groups = _weights(step, 1)
    step.expect("auto_pad", "NOTSET", "VALID")
    stride, dilate, before, after = _window(step, kernel)
    if before != after:
        raise step.unsupported(f"pads are {before} before and {after} after")
    bias = [step.x(2)] if step.has(2) else []
    adj = tuple(step.attribute("output_padding", [0] * len(kernel)))
    return sym.Deconvolution(
        step.x(), step.x(1), *bias, no_bias=not bias, kernel=kernel, stride=stride, dilate=dilate,
        pad=tuple(before), adj=adj, num_filter=outputs * groups, num_group=groups,
    )  # fmt: skip


def _expect_inside(step: Step, kernel, strides, pads) -> None:
    """Raises UnsupportedError where rounding up gives a window that has nothing of the image."""
    for size, k, s, pad in zip(step.shape()[2:], kernel, strides, pads):
        if size is None and (pad or k < s):
            raise step.unsupported("ceil_mode is 1 and the size of the image is open")
        if size is not None and -(-(size + 2 * pad - k) // s) * s >= size + pad:
            raise step.unsupported("ceil_mode is 1 and a window is outside of the image")


def _pool(step: Step, kind: str) -> Symbol:
    kernel = step.attribute("kernel_shape")
    stride, dilate, before, after = _window(step, kernel)
    step.expect("storage_order", 0)
    counted = bool(step.attribute("count_include_pad", 0))
    full = bool(step.attribute("ceil_mode", 0))
    if max(dilate) > 1:
        raise step.unsupported(f"dilations are {dilate}")
    if full:
        _expect_inside(step, kernel, stride, before)
    x = step.x()
    if before != after:
        if kind == "avg" and not counted or full:
            raise step.unsupported(f"pads are {before} before and {after} after")
        value = LOWEST if kind == "max" else 0.0
        x, before = padded(step, x, [0, 0, *before], [0, 0, *after], value), [0] * len(kernel)
    return sym.Pooling(
        x, kernel=tuple(kernel), pool_type=kind, stride=stride, pad=tuple(before),
        pooling_convention="full" if full else "valid", count_include_pad=counted,
    )  # fmt: skip


ROWS["MaxPool"] = partial(_pool, kind="max")
ROWS["AveragePool"] = partial(_pool, kind="avg")


@row("GlobalMaxPool")
def _global_max_pool(step: Step) -> Symbol:
    return sym.Pooling(step.x(), global_pool=True, pool_type="max")


@row("GlobalAveragePool")
def _global_average_pool(step: Step) -> Symbol:
    return sym.Pooling(step.x(), global_pool=True, pool_type="avg")
