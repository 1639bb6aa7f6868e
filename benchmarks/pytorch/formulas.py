"""PyTorch's own functions for what operators of the library compute: forward and backward."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from ..data import HEADS, formula_inputs
from ..worker import Entry
from . import place


def multi_head_attention(x, q, k, v, out):
    """As `nn.MultiheadAttention` calls it, for which the batch is the second axis."""
    x = x.transpose(0, 1)
    y, _ = F.multi_head_attention_forward(
        query=x,
        key=x,
        value=x,
        embed_dim_to_check=x.shape[-1],
        num_heads=HEADS,
        in_proj_weight=None,
        in_proj_bias=None,
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=out,
        out_proj_bias=None,
        need_weights=False,
        use_separate_proj_weight=True,
        q_proj_weight=q,
        k_proj_weight=k,
        v_proj_weight=v,
    )
    return y.transpose(0, 1)


def part(x, up, down):
    return F.linear(F.tanh(F.linear(x, up)), down)


def rematerialized(x, *weights):
    for up, down in zip(weights[::2], weights[1::2]):
        x = checkpoint(part, x, up, down, use_reentrant=False)
    return x


OWN = {
    "attention": F.scaled_dot_product_attention,
    "dense": F.linear,
    "embedding_bag": lambda w, ids: F.embedding_bag(ids, w, mode="sum"),
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "geglu_tanh": lambda gate, value: F.gelu(gate, approximate="tanh") * value,
    "group_norm": lambda x, gamma, beta: F.group_norm(x, 2, gamma, beta),
    "hard_swish": F.hardswish,
    "layer_norm": lambda x, gamma, beta: F.layer_norm(x, gamma.shape, gamma, beta),
    "linear_cross_entropy": lambda x, w, label: F.cross_entropy(x @ w.T, label, reduction="none"),
    "mish": F.mish,
    "multi_head_attention": multi_head_attention,
    "relu": F.relu,
    "remat": rematerialized,
    "rms_norm": lambda x, gamma: F.rms_norm(x, gamma.shape, gamma, 1e-6),
    "sigmoid": F.sigmoid,
    "sigmoid_cross_entropy": lambda x, t: F.binary_cross_entropy_with_logits(
        x, t, reduction="none"
    ),
    "softmax_cross_entropy": lambda x, label: F.cross_entropy(x, label, reduction="none"),
    "softplus": F.softplus,
    "swiglu": lambda gate, value: F.silu(gate) * value,
    "swish": F.silu,
}


def build(variant: str, device: str, operator: str, shape: tuple[int, ...]) -> Entry:
    if operator not in OWN:
        raise NotImplementedError("PyTorch has no function for it")
    function = OWN[operator]
    if variant == "compiled":
        function = torch.compile(function, fullgraph=True)
    tensors = [torch.from_numpy(a).to(place(device)) for a in formula_inputs(operator, shape)]
    learned = [t.requires_grad_() for t in tensors if t.is_floating_point()]
    y = function(*tensors)
    head = torch.from_numpy(np.cos(np.arange(y.numel()))).to(y).reshape(y.shape)

    def step():
        for t in learned:
            t.grad = None
        y = function(*tensors)
        y.backward(head)
        return y

    def check() -> list[float]:
        parts = [step(), *(t.grad for t in learned)]
        return [x for part in parts for x in part.flatten()[:3].tolist()]

    return Entry(step, check)
