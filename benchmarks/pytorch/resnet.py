"""ResNet-18 of `torch.nn`: inference, and a training step."""

from __future__ import annotations

import torch
from numpy.random import RandomState
from torch import nn

from ..data import RESNET_RATE, images, spread
from ..worker import Entry
from . import place
from .steps import train


def convolution(k: int, m: int, size: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(k, m, size, stride, size // 2, bias=False)


class Residual(nn.Module):
    """Two convolutions, and a way around them."""

    def __init__(self, k: int, m: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(
            convolution(k, m, 3, stride),
            nn.BatchNorm2d(m),
            nn.ReLU(),
            convolution(m, m, 3, 1),
            nn.BatchNorm2d(m),
        )
        self.around = nn.Sequential()
        if stride > 1:
            self.around.extend([convolution(k, m, 1, stride), nn.BatchNorm2d(m)])

    def forward(self, x):
        return torch.relu(self.body(x) + self.around(x))


def resnet() -> nn.Sequential:
    net = nn.Sequential(
        convolution(3, 64, 7, 2),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    )
    k = 64
    for m in (64, 128, 256, 512):
        net.extend([Residual(k, m, 1 if k == m else 2), Residual(m, m, 1)])
        k = m
    return net.extend([nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)])


def build(variant: str, device: str, size: int, batch: int, training: bool) -> Entry:
    data, label = (torch.from_numpy(a).to(place(device)) for a in images(size, batch))
    net = resnet()
    layers = [m for m in net.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    values = spread(RandomState(1), [layer.weight.shape for layer in layers])
    with torch.no_grad():
        for layer, value in zip(layers, values):
            layer.weight.copy_(torch.from_numpy(value))
        net[-1].bias.zero_()
    net.to(place(device))
    if training:
        return train(variant, net, data, label.long(), RESNET_RATE)
    infer = torch.compile(net.eval(), fullgraph=True) if variant == "compiled" else net.eval()

    @torch.inference_mode()
    def step():
        return infer(data)

    return Entry(step, lambda: step()[0, :8].tolist())
