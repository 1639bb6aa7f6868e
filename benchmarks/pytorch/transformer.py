"""One training step of `nn.TransformerEncoderLayer`, the norms first, without dropout."""

from __future__ import annotations

import torch
from torch import nn

from ..data import RATE, transformer
from ..worker import Entry
from . import place


def build(variant: str, device: str, batch: int, length: int, units: int, heads: int) -> Entry:
    x, target, weights = transformer(batch, length, units)
    net = nn.TransformerEncoderLayer(
        units, heads, 4 * units, 0.0, "gelu", batch_first=True, norm_first=True
    )
    w = {name: torch.from_numpy(value) for name, value in weights.items()}
    attention = net.self_attn
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.cat([w["q"], w["k"], w["v"]]))
        attention.out_proj.weight.copy_(w["out"])
        net.linear1.weight.copy_(w["up"])
        net.linear2.weight.copy_(w["down"])
        for layer in (attention.out_proj, net.linear1, net.linear2):
            layer.bias.zero_()
    net.to(place(device))
    x, target = (torch.from_numpy(a).to(place(device)) for a in (x, target))
    optimizer = torch.optim.SGD(net.parameters(), RATE, foreach=True)

    def loss_of(x, target):
        return nn.functional.mse_loss(net(x), target)

    if variant == "compiled":
        loss_of = torch.compile(loss_of, fullgraph=True)

    def step():
        optimizer.zero_grad()
        loss = loss_of(x, target)
        loss.backward()
        optimizer.step()
        return loss

    return Entry(step, lambda: [step().item() for _ in range(3)])
