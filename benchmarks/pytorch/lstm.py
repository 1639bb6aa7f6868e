"""An LSTM over sequences, forward and backward: `torch.nn.LSTM`."""

from __future__ import annotations

import torch

from ..data import sequences
from ..worker import Entry
from . import place


def build(variant: str, device: str, steps: int, batch: int, size: int, layers: int) -> Entry:
    data, weights = sequences(steps, batch, size, layers)
    x = torch.from_numpy(data).to(place(device))
    net = torch.nn.LSTM(size, size, layers)
    with torch.no_grad():
        for parameter, value in zip(net.parameters(), weights):
            parameter.copy_(torch.from_numpy(value))
    net.to(place(device))
    dy = torch.ones_like(x)

    def step():
        net.zero_grad()
        y, _ = net(x)
        y.backward(dy)
        return y

    def check() -> list[float]:
        y = step()
        return [*y[-1, 0, :4].tolist(), *(p.grad.flatten()[0].item() for p in net.parameters())]

    return Entry(step, check)
