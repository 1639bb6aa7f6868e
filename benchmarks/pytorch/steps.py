"""One training step of an MLP: as it is, compiled without the update, and compiled whole.

And of autograd functions in Python, which do what the operators of `gluon/steps.py` do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.func import functional_call, grad_and_value

from ..data import RATE, batches
from ..worker import Entry
from . import place
from .operators import Sigmoid

ACTIVATIONS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid}


class Dense(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return nn.functional.linear(x, w, b)

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        return dy @ w if ctx.needs_input_grad[0] else None, dy.T @ x, dy.sum(0)


class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.relu(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return dy * torch.sign(y)


class OwnDense(nn.Linear):
    def forward(self, x):
        return Dense.apply(x, self.weight, self.bias)


class OwnActivation(nn.Module):
    def __init__(self, function: type[torch.autograd.Function]):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function.apply(x)


def build(variant: str, device: str, sizes: tuple, batch: int, activation: str) -> Entry:
    data, label, weights = batches(sizes, batch)
    dense, activations = nn.Linear, ACTIVATIONS
    if variant == "functions":
        own = {"relu": Relu, "sigmoid": Sigmoid}
        dense, activations = OwnDense, {n: partial(OwnActivation, f) for n, f in own.items()}
    net = nn.Sequential()
    for w in weights:
        if len(net):
            net.append(activations[activation]())
        net.append(dense(*w.shape[::-1]))
        with torch.no_grad():
            net[-1].weight.copy_(torch.from_numpy(w))
            net[-1].bias.zero_()
    net.to(place(device))
    x = torch.from_numpy(data).to(place(device))
    return train(variant, net, x, torch.from_numpy(label).long().to(place(device)))


def train(variant: str, net: nn.Module, x, label, rate: float = RATE) -> Entry:
    """Steps of SGD."""
    step = whole(net, x, label, rate) if variant == "whole" else None
    step = step or apart(net, x, label, rate, compiled=variant == "compiled")
    return Entry(step, lambda: [step().item() for _ in range(3)])


def apart(net: nn.Module, x, label, rate: float, compiled: bool) -> Callable:
    """The losses, perhaps compiled; the update after them."""
    optimizer = torch.optim.SGD(net.parameters(), rate, foreach=True)

    def loss_of(x, label):
        return nn.functional.cross_entropy(net(x), label)

    if compiled:
        loss_of = torch.compile(loss_of, fullgraph=True)

    def step():
        optimizer.zero_grad()
        loss = loss_of(x, label)
        loss.backward()
        optimizer.step()
        return loss

    return step


def whole(net: nn.Module, x, label, rate: float) -> Callable:
    """Forward, backward and update in one compiled graph, which `torch.func` can have."""
    parameters = {name: p.detach() for name, p in net.named_parameters()}

    def loss_of(parameters, x, label):
        return nn.functional.cross_entropy(functional_call(net, parameters, x), label)

    @torch.compile(fullgraph=True)
    def update(parameters, x, label):
        gradients, loss = grad_and_value(loss_of)(parameters, x, label)
        for name, p in parameters.items():
            p.sub_(gradients[name], alpha=rate)
        return loss

    return lambda: update(parameters, x, label)
