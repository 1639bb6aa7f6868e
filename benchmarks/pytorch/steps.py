"""One training step of an MLP."""

from __future__ import annotations

import torch
from torch import nn

from ..data import RATE, batches
from ..worker import Entry
from . import place

ACTIVATIONS = {"relu": nn.ReLU, "sigmoid": nn.Sigmoid}


def build(variant: str, device: str, sizes: tuple, batch: int, activation: str) -> Entry:
    data, label, weights = batches(sizes, batch)
    net = nn.Sequential()
    for w in weights:
        if len(net):
            net.append(ACTIVATIONS[activation]())
        net.append(nn.Linear(*w.shape[::-1]))
        with torch.no_grad():
            net[-1].weight.copy_(torch.from_numpy(w))
            net[-1].bias.zero_()
    net.to(place(device))
    x = torch.from_numpy(data).to(place(device))
    target = torch.from_numpy(label).long().to(place(device))
    optimizer = torch.optim.SGD(net.parameters(), RATE, foreach=True)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), target)
        loss.backward()
        optimizer.step()
        return loss

    return Entry(step, lambda: [step().item() for _ in range(3)])
