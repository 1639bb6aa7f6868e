"""Operators that only old programs and old files of graphs name."""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F

from .attributes import Shape
from .nn import BatchNorm, Convolution, Pooling
from .registry import REQUIRED, Tensor, op


@op(
    states=("moving_mean", "moving_var"),
    inits={"moving_mean": '["zero", {}]', "moving_var": '["one", {}]'},
)
def BatchNorm_v1(
    data: Tensor,
    gamma: Tensor,
    beta: Tensor,
    moving_mean: Tensor,
    moving_var: Tensor,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    *,
    training: bool = False,
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """BatchNorm over axis 1."""
    inputs = data, gamma, beta, moving_mean, moving_var
    settings = eps, momentum, fix_gamma, use_global_stats, output_mean_var
    return BatchNorm.function(*inputs, *settings, training=training)


@BatchNorm_v1.gives
def _(output_mean_var):
    return ("output", "mean", "var") if output_mean_var else 1


@BatchNorm_v1.infer
def _(data):
    return dict.fromkeys(("gamma", "beta", "moving_mean", "moving_var"), (data[1],))


BatchNorm_v1.shape_rule = BatchNorm.shape_rule


@op
def Convolution_v1(
    data: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    kernel: Shape = REQUIRED,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: int = REQUIRED,
    num_group: int = 1,
    workspace: int = 1024,
    no_bias: bool = False,
    cudnn_tune: Literal["fastest", "limited_workspace", "off"] | None = None,
    cudnn_off: bool = False,
    layout: Literal["NCDHW", "NCHW", "NDHWC", "NHWC"] | None = None,
) -> Tensor:
    """Convolution in 2 or 3 dimensions."""
    sizes = kernel, stride, dilate, pad, num_filter, num_group
    return Convolution.function(data, weight, bias, *sizes, no_bias=no_bias, layout=layout)


Convolution_v1.infer_rules += Convolution.infer_rules
Convolution_v1.shape_rule, Convolution_v1.back_rule = Convolution.shape_rule, Convolution.back_rule
Convolution_v1.inputs_rule = Convolution.inputs_rule


@op(names_input=True)
def Pooling_v1(
    data: Tensor,
    kernel: Shape = (),
    pool_type: Literal["avg", "max", "sum"] = "max",
    global_pool: bool = False,
    pooling_convention: Literal["full", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
) -> Tensor:
    """Pooling with zeros around, which count for the mean and for the largest.

    data : (n, c, h, w)
    """
    if pad and not global_pool:
        data, pad = F.pad(data, [p for p in reversed(pad) for _ in range(2)]), ()
    form = {"global_pool": global_pool, "pooling_convention": pooling_convention}
    mean = pool_type == "avg"
    kind = "sum" if mean else pool_type
    y = Pooling.function(data, kernel, kind, stride=stride, pad=pad, **form)
    return y / math.prod(data.shape[2:] if global_pool else kernel) if mean else y


@op(states=("moving_avg",), inits={"moving_avg": '["zero", {}]'})
def IdentityAttachKLSparseReg(
    data: Tensor,
    moving_avg: Tensor,
    sparseness_target: float = 0.1,
    penalty: float = 1e-3,
    momentum: float = 0.9,
    *,
    training: bool = False,
) -> Tensor:
    """data itself; its gradient keeps the mean a of each unit near the target t.

    data : (n, ...), numbers between 0 and 1      moving_avg : (...)

    a = momentum a + (1 - momentum) mean; penalty ((1 - t) / (1 - a) - t / a) is added.
    """
    if training:
        with torch.no_grad():
            moving_avg.lerp_(data.flatten(1).mean(0).reshape(moving_avg.shape), 1 - momentum)
    return data.clone()


@IdentityAttachKLSparseReg.grad
def _(dy, moving_avg, sparseness_target, penalty):
    pull = (1 - sparseness_target) / (1 - moving_avg) - sparseness_target / moving_avg
    return dy + (penalty * pull).reshape(dy.shape[1:])


@IdentityAttachKLSparseReg.infer
def _(data):
    return {"moving_avg": (math.prod(data[1:]),)}
