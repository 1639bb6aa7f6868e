"""From numbers to 8-bit integers and back.

An array of integers comes with two more, `min_range` and `max_range`, of shape (1,): what its
least and its largest integer stand for. With r = max(|min_range|, |max_range|) an int8 q stands
for q r / 127.5, a uint8 for q r / 255.5, an int32 for q r / 2³¹. Halves are rounded to even. An
operator with `min_calib_range` and `max_calib_range` has its range from there; without them it
looks for the extremes of what it computes.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from .. import _dtype
from ..base import ArgumentError, DTypeError
from .divergences import divergences
from .registry import Tensor, op, zeros

OutType = Literal["auto", "int8", "uint8"]
TOP = {torch.int8: 127.5, torch.uint8: 255.5, torch.int32: 2.0**31}
WHOLE = {torch.int8: 127.0, torch.uint8: 255.0, torch.int32: 2.0**31}  # older operators' number
BYTES = (torch.int8, torch.uint8)


def abs_max(low: Tensor, high: Tensor) -> Tensor:
    """r = max(|low|, |high|)."""
    return torch.maximum(low.abs(), high.abs())


def steps_of_one(dtype: torch.dtype, r: Tensor) -> Tensor:
    """What a number is multiplied by to become an integer: 127.5 / r, 255.5 / r or 2³¹ / r."""
    # A Python number divided by r would be multiplied by 1 / r, which is rounded before.
    return torch.full_like(r, TOP[dtype]) / r


def saturate(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The nearest integers that dtype has; NaN is 0 in uint8, else the largest, as in MXNet.

    x is an array of its own: it is written to. float32 has no 2³¹ - 1, so that int32 is cut in
    float64.
    """
    x = x.double() if dtype is torch.int32 else x
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    x = x.nan_to_num_(0.0 if low == 0 else high).round_().clamp_(low, high)
    # From float32 straight to uint8 PyTorch takes three times as long.
    return (x.to(torch.int16) if dtype is torch.uint8 else x).to(dtype)


def range_ends(like: Tensor, *numbers: float) -> list[Tensor]:
    """Each number as a range's end: float32 of shape (1,)."""
    return [like.new_full((1,), number, dtype=torch.float32) for number in numbers]


def calibrated_range(like: Tensor, low: float | None, high: float | None) -> list[Tensor] | None:
    """The ends of a calibrated range; None where there is none."""
    return None if low is None or high is None else range_ends(like, low, high)


def expect_bytes(name: str, **inputs: Tensor) -> None:
    """Raise DTypeError for an input that is neither int8 nor uint8."""
    for key, tensor in inputs.items():
        if tensor.dtype not in BYTES:
            raise DTypeError(
                f"{name}: {key} is {_dtype.name(tensor.dtype)}\n  expected int8 or uint8"
            )


def expect_float32(name: str, data: Tensor) -> None:
    """Raise DTypeError for data that is not float32."""
    if data.dtype is not torch.float32:
        raise DTypeError(
            f"{name}: data is {_dtype.name(data.dtype)}\n  expected float32; astype changes it"
        )


def integer_type(out_type: str, low: float | None, high: float | None) -> torch.dtype:
    """The dtype for a name; ``auto`` is uint8 where the calibrated range has nothing below 0."""
    if out_type == "auto":
        out_type = "int8" if low is None or high is None or low < 0 else "uint8"
    return torch.int8 if out_type == "int8" else torch.uint8


@op(view=True)
def _contrib_quantize(
    data: Tensor,
    min_range: Tensor,
    max_range: Tensor,
    out_type: Literal["int8", "uint8"] = "uint8",
) -> tuple[Tensor, Tensor, Tensor]:
    """The integers for data in a range, q = data 127 / r or data 255 / r, and the range.

    data : (...), float32      min_range, max_range : (1,)      q : (...)
    """
    expect_float32("_contrib_quantize", data)
    dtype, r = integer_type(out_type, None, None), abs_max(min_range, max_range)
    q = saturate(data * (WHOLE[dtype] / r), dtype)
    return (q, -r, r) if dtype is torch.int8 else (q, min_range, max_range)


@op(view=True, names_input=True)
def _contrib_quantize_v2(
    data: Tensor,
    out_type: OutType = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The integers for data, q = data 127.5 / r or data 255.5 / r, and the range.

    data : (...), float32; integers of 8 bits are left as they are      q : (...)
    """
    if data.dtype in BYTES:
        top = TOP[data.dtype]
        return data, *range_ends(data, 0.0 if data.dtype is torch.uint8 else -top, top)
    if data.dtype is not torch.float32:
        raise DTypeError(
            f"_contrib_quantize_v2: data is {_dtype.name(data.dtype)}\n"
            "  expected float32, or int8 or uint8, which are left as they are"
        )
    dtype = integer_type(out_type, min_calib_range, max_calib_range)
    low, high = calibrated_range(data, min_calib_range, max_calib_range) or extremes(data)
    r = abs_max(low, high)
    q = saturate(data * steps_of_one(dtype, r), dtype)
    return (q, -r, r) if dtype is torch.int8 else (q, low, high)


def extremes(data: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the largest number, of those that are numbers; (1,) each."""
    bound = torch.finfo(data.dtype).max
    seen = torch.where(data.isnan(), bound, data), torch.where(data.isnan(), -bound, data)
    return seen[0].amin().reshape(1), seen[1].amax().reshape(1)


@_contrib_quantize.types
def _(out_type):
    return integer_type(out_type, None, None), torch.float32, torch.float32


@_contrib_quantize_v2.types
def _(dtypes, out_type, min_calib_range, max_calib_range):
    dtype = dtypes[0] if dtypes and dtypes[0] in BYTES else None
    return dtype or integer_type(out_type, min_calib_range, max_calib_range), *(torch.float32,) * 2


@op(names_input=True)
def _contrib_quantize_asym(
    data: Tensor, min_calib_range: float | None = None, max_calib_range: float | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The integers for a range that need not have 0 in its middle, q = data scale + shift.

    data : (...), float32      q : (...), uint8
    scale, shift : (1,), with which min is 0, and max is 255
    """
    expect_float32("_contrib_quantize_asym", data)
    low, high = calibrated_range(data, min_calib_range, max_calib_range) or extremes(data)
    scale = 255.0 / (high - low)
    shift = 255.0 - high * scale
    return saturate(data * scale + shift, torch.uint8), scale, shift


@_contrib_quantize_asym.types
def _():
    return torch.uint8, torch.float32, torch.float32


@op
def _contrib_dequantize(
    data: Tensor, min_range: Tensor, max_range: Tensor, out_type: Literal["float32"] = "float32"
) -> Tensor:
    """The numbers that integers stand for, y = data r / 127.5 or data r / 255.5.

    data : (...), int8 or uint8      min_range, max_range : (1,)      y : (...), float32
    """
    expect_bytes("_contrib_dequantize", data=data)
    return data * (abs_max(min_range, max_range) / TOP[data.dtype])


@_contrib_dequantize.types
def _():
    return torch.float32


@op
def _contrib_requantize(
    data: Tensor,
    min_range: Tensor,
    max_range: Tensor,
    out_type: OutType = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The 8-bit integers for those of 32 bits, q = data (r / 2³¹) 127 / s or 255 / s, and ± s.

    data : (...), int32      min_range, max_range : (1,)      q : (...)

    s is the largest absolute value of what data stands for.
    """
    dtype = integer_type(out_type, min_calib_range, max_calib_range)
    x, step = data.float(), abs_max(min_range, max_range) / TOP[torch.int32]
    low, high = calibrated_range(x, min_calib_range, max_calib_range) or (
        x.new_zeros(1),
        x.abs().amax().reshape(1) * step,
    )
    s = abs_max(low, high)
    q = saturate(x * step * (WHOLE[dtype] / s), dtype)
    return (q, -s, s) if dtype is torch.int8 else (q, low, high)


@_contrib_requantize.types
def _(out_type, min_calib_range, max_calib_range):
    return integer_type(out_type, min_calib_range, max_calib_range), torch.float32, torch.float32


for _row in (_contrib_quantize, _contrib_quantize_v2, _contrib_quantize_asym, _contrib_requantize):
    _row.shaped(lambda data: [data, (1,), (1,)])
    _row.gives(lambda: 3)
    _row.grad(zeros)
_contrib_dequantize.shaped(lambda data: data)
_contrib_dequantize.grad(zeros)
for _row in (_contrib_quantize, _contrib_requantize, _contrib_dequantize):
    _row.infer(lambda: {"min_range": (1,), "max_range": (1,)})
    _row.typed(lambda: {"min_range": torch.float32, "max_range": torch.float32})


@op(traceable=False)
def _contrib_calibrate_entropy(
    hist: Tensor, hist_edges: Tensor, num_quantized_bins: int = 255
) -> tuple[Tensor, Tensor]:
    """The range ± t outside which numbers are clipped best, and the divergence that it costs.

    hist : (2 m + 1,), how many numbers lie between the edges      hist_edges : (2 m + 2,)

    Of the histogram between -t and t, with the numbers outside counted at its ends, and the same
    joined to `num_quantized_bins` bins, t has the least KL divergence (Migacz 2017, 8-bit Inference
    with TensorRT); see `divergences`.
    """
    count = hist.numel()
    fits = hist.dim() == 1 and count % 2 and hist_edges.numel() == count + 1
    if not fits or not 0 < num_quantized_bins <= count:
        raise ArgumentError(
            f"_contrib_calibrate_entropy: hist is {tuple(hist.shape)}, hist_edges is "
            f"{tuple(hist_edges.shape)}, num_quantized_bins is {num_quantized_bins}\n"
            "  expected an odd number of bins, one edge more, and not more bins afterwards"
        )
    found = divergences(hist.double().cpu().numpy(), num_quantized_bins)
    best = int(np.argmin(found))
    end = hist_edges[-len(found) + best]
    return tuple(range_ends(hist, float(end), float(found[best])))


@_contrib_calibrate_entropy.shaped
def _():
    return [(1,), (1,)]


_contrib_calibrate_entropy.gives(lambda: 2)
_contrib_calibrate_entropy.grad(zeros)
