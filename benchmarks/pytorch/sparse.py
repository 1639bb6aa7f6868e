"""A step of a sparse embedding: `torch.nn.Embedding` with `sparse`, and its optimizer."""

from __future__ import annotations

import torch

from ..data import lookups
from ..worker import Entry
from . import place

OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.SparseAdam}


def build(
    variant: str, device: str, optimizer: str, rows: int, batch: int, size: int = 64
) -> Entry:
    ids, weight = lookups(rows, size, batch)
    x = torch.from_numpy(ids).to(place(device))
    net = torch.nn.Embedding.from_pretrained(torch.from_numpy(weight), freeze=False, sparse=True)
    net.to(place(device))
    updates = OPTIMIZERS[optimizer](net.parameters(), lr=0.1)

    def step():
        updates.zero_grad()
        y = net(x)
        y.backward(torch.ones_like(y))
        updates.step()
        return y

    def check() -> list[float]:
        step()
        return step()[0, :8].tolist()

    return Entry(step, check)
