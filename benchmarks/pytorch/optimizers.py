"""One update of many parameters: PyTorch's optimizers, with `foreach`."""

from __future__ import annotations

import torch

from ..data import RATE, parameters
from ..worker import Entry
from . import place

OPTIMIZERS = {
    "sgd": lambda weights, momentum: torch.optim.SGD(
        weights, RATE, momentum=momentum, foreach=True
    ),
    "adam": lambda weights: torch.optim.Adam(weights, RATE, foreach=True),
    "rmsprop": lambda weights: torch.optim.RMSprop(weights, RATE, alpha=0.9, foreach=True),
    "adagrad": lambda weights: torch.optim.Adagrad(weights, RATE, eps=1e-7, foreach=True),
}


def build(variant: str, device: str, name: str, options: dict, count: int, shape: tuple) -> Entry:
    values, slopes = parameters(count, shape)
    weights = [torch.nn.Parameter(torch.from_numpy(a).to(place(device))) for a in values]
    for weight, slope in zip(weights, slopes):
        weight.grad = torch.from_numpy(slope).to(place(device))
    optimizer = OPTIMIZERS[name](weights, **options)

    def check() -> list[float]:
        for _ in range(3):
            optimizer.step()
        return [w[0, 0].item() for w in weights[:: count // 8]]

    return Entry(optimizer.step, check)
