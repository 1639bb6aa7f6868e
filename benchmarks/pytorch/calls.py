"""One call of an operator."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from ..worker import Entry
from . import place


def build(variant: str, device: str, operator: str, size: int) -> Entry:
    values = np.linspace(0.1, 1, size * size, dtype="float32").reshape(size, size)
    x = torch.from_numpy(values).to(place(device))
    b = x[0].clone()
    step = {
        "exp": lambda: torch.exp(x),
        "relu": lambda: torch.relu(x),
        "add": lambda: x + x,
        "greater": lambda: (x > 0.5).to(x.dtype),  # in the dtype of x, as in nd
        "reshape": lambda: x.reshape(-1),
        "sum(axis)": lambda: torch.sum(x, 1),
        "dot": lambda: torch.mm(x, x),
        "FullyConnected": lambda: F.linear(x, x, b),
        "slice": lambda: x[0:1],
        "asnumpy": lambda: torch.asarray(x, device="cpu", copy=True).numpy(),
        "array": lambda: torch.tensor(values, device=x.device),
    }[operator]
    return Entry(step, lambda: np.asarray(torch.as_tensor(step()).cpu()).ravel().tolist())
