"""One call of a custom operator: `torch.autograd.Function`."""

from __future__ import annotations

import numpy as np
import torch

from ..worker import Entry
from . import place


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2


class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return dy * y * (1 - y)


class DoubleNumPy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(x.cpu().numpy() * 2).to(x.device)

    @staticmethod
    def backward(ctx, dy):
        return torch.from_numpy(dy.cpu().numpy() * 2).to(dy.device)


class SigmoidNumPy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.from_numpy(1 / (1 + np.exp(-x.cpu().numpy()))).to(x.device)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        y = ctx.saved_tensors[0].cpu().numpy()
        return torch.from_numpy(dy.cpu().numpy() * y * (1 - y)).to(dy.device)


FUNCTIONS = {
    ("double", "nd"): Double,
    ("sigmoid", "nd"): Sigmoid,
    ("double", "numpy"): DoubleNumPy,
    ("sigmoid", "numpy"): SigmoidNumPy,
}


def build(variant: str, device: str, body: str, backward: bool) -> Entry:
    call = FUNCTIONS[body, variant].apply
    x = torch.linspace(-2, 2, 16).reshape(4, 4).to(place(device))
    head = torch.full_like(x, 0.5)
    if not backward:
        return Entry(lambda: call(x), lambda: call(x).flatten().tolist())
    x.requires_grad_()

    def step():
        y = call(x)
        x.grad = None
        y.backward(head)

    def check():
        step()
        return x.grad.flatten().tolist()

    return Entry(step, check)
