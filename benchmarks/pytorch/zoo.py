"""torchvision's ResNet-50 and MobileNet v2, made to compute what Gluon's do."""

from __future__ import annotations

import torch
from numpy.random import RandomState
from torch import nn

from ..data import ZOO_RATE, images, spread
from ..worker import Entry
from . import place
from .steps import train
from .vision import models, torchvision


def resnet50() -> nn.Module:
    """With the stride in a bottleneck's first convolution, and biases in its first and last."""
    net = models.resnet50()
    for block in net.modules():
        if isinstance(block, models.resnet.Bottleneck):
            block.conv1.stride, block.conv2.stride = block.conv2.stride, (1, 1)
            for convolution in (block.conv1, block.conv3):
                convolution.bias = nn.Parameter(torch.zeros(convolution.out_channels))
    return net


def mobilenet_v2() -> nn.Module:
    """With one more convolution in the first bottleneck, and no dropout or bias at the end."""
    net = models.mobilenet_v2()
    more = torchvision.ops.Conv2dNormActivation(32, 32, 1, activation_layer=nn.ReLU6)
    net.features[1].conv.insert(0, more)
    net.classifier = nn.Linear(1280, 1000, bias=False)
    return net


NETS = {"resnet50_v1": resnet50, "mobilenet_v2_1_0": mobilenet_v2}


def build(variant: str, device: str, net: str, size: int, batch: int, training: bool) -> Entry:
    return compute(variant, NETS[net](), device, size, batch, training)


def compute(
    variant: str, module: nn.Module, device: str, size: int, batch: int, training: bool
) -> Entry:
    """A net with the weights that Gluon's has."""
    data, label = (torch.from_numpy(a).to(place(device)) for a in images(size, batch))
    layers = [m for m in module.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    values = spread(RandomState(1), [layer.weight.shape for layer in layers])
    with torch.no_grad():
        for layer, value in zip(layers, values):
            layer.weight.copy_(torch.from_numpy(value))
            if layer.bias is not None:
                layer.bias.zero_()
    module.to(place(device))
    if training:
        return train(variant, module, data, label.long(), ZOO_RATE)
    infer = module.eval()
    if variant == "compiled":
        infer = torch.compile(infer, fullgraph=True)

    @torch.inference_mode()
    def step():
        return infer(data)

    return Entry(step, lambda: step()[0, :8].tolist())
