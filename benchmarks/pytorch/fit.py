"""Epochs of a small MLP: a bare loop."""

from __future__ import annotations

import torch
from torch import nn

from ..data import RATE, samples
from ..worker import Entry


def build(variant: str, device: str, sizes: tuple, batch: int, steps: int, epochs: int) -> Entry:
    net, x, y = perceptron(sizes, batch * steps)
    net.to(device if device == "cpu" else "cuda")
    place = next(net.parameters()).device
    optimizer = torch.optim.SGD(net.parameters(), RATE, foreach=True)

    def train():
        losses = []
        for _ in range(epochs):
            for data, label in zip(x.split(batch), y.split(batch)):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(net(data.to(place)), label.to(place))
                loss.backward()
                optimizer.step()
                losses.append(loss.detach())
        return losses

    return Entry(train, lambda: torch.stack(train()).reshape(epochs, steps).mean(1).tolist())


def perceptron(sizes: tuple, count: int) -> tuple[nn.Sequential, torch.Tensor, torch.Tensor]:
    """The net, and data and labels."""
    net, (data, label, weights) = nn.Sequential(), samples(sizes, count)
    for w in weights:
        if len(net):
            net.append(nn.ReLU())
        net.append(nn.Linear(*w.shape[::-1]))
        with torch.no_grad():
            net[-1].weight.copy_(torch.from_numpy(w))
            net[-1].bias.zero_()
    return net, torch.from_numpy(data), torch.from_numpy(label).long()
