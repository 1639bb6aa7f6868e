"""The matrix products of a dense layer, by MKL and by oneDNN: the floor of a training step."""

from __future__ import annotations

import torch

from ..data import factors
from ..worker import Entry
from . import place

ONEDNN = "_linear_pointwise"


def build(variant: str, device: str, product: str, n: int, k: int, m: int) -> Entry:
    if variant == "onednn" and not (device == "cpu" and hasattr(torch.ops.mkldnn, ONEDNN)):
        raise NotImplementedError("oneDNN is not in this PyTorch, or not for this device")
    x, w, dy = (torch.from_numpy(a).to(place(device)) for a in factors(n, k, m))
    a, b = {"y": (x, w.t()), "dx": (dy, w), "dw": (dy.t(), x)}[product]
    if variant == "onednn":
        onednn = getattr(torch.ops.mkldnn, ONEDNN)

        def step():
            return onednn(a, b.t(), None, "none", [], "")
    else:

        def step():
            return torch.mm(a, b)

    return Entry(step, lambda: step().flatten()[:8].tolist())
