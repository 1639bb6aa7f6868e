"""A dense layer in bfloat16, and the bare products in it."""

from __future__ import annotations

import torch
from torch import nn

from ..data import factors
from ..worker import Entry
from . import place


def build(variant: str, device: str, size: int, backward: bool) -> Entry:
    values = factors(size, size, size)
    x, w, dy = (torch.from_numpy(a).to(place(device), torch.bfloat16) for a in values)
    if variant == "linear":
        return _linear(x, w, dy, backward)
    if not backward:
        return Entry(lambda: torch.mm(x, w.t()), lambda: _some(torch.mm(x, w.t())))

    def step():
        return torch.mm(x, w.t()), torch.mm(dy, w), torch.mm(dy.t(), x)

    return Entry(step, lambda: [*_some(step()[1]), *_some(step()[2])])


def _linear(x, w, dy, backward: bool) -> Entry:
    layer = nn.Linear(*w.shape[::-1], device=x.device, dtype=x.dtype)
    with torch.no_grad():
        layer.weight.copy_(w)
        layer.bias.zero_()
    if not backward:
        infer = torch.inference_mode()(layer)
        return Entry(lambda: infer(x), lambda: _some(infer(x)))
    x.requires_grad_()

    def step():
        layer.zero_grad()
        x.grad = None
        layer(x).backward(dy)

    def check():
        step()
        return [*_some(x.grad), *_some(layer.weight.grad)]

    return Entry(step, check)


def _some(y) -> list[float]:
    return y[0, :8].float().tolist()
