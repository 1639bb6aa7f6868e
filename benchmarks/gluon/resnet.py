"""ResNet-18 of `gluon.nn`: inference, and a training step."""

from __future__ import annotations

from numpy.random import RandomState

from layers.engine import gluon, nd

from ..data import RESNET_RATE, images, spread
from ..worker import Entry
from . import place
from .steps import HYBRIDIZE, train

nn = gluon.nn


def convolution(channels: int, size: int, stride: int) -> nn.Conv2D:
    return nn.Conv2D(channels, size, stride, size // 2, use_bias=False)


class Residual(gluon.HybridBlock):
    """Two convolutions, and a way around them."""

    def __init__(self, channels: int, stride: int):
        super().__init__()
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(
                convolution(channels, 3, stride),
                nn.BatchNorm(),
                nn.Activation("relu"),
                convolution(channels, 3, 1),
                nn.BatchNorm(),
            )
            self.around = nn.HybridSequential()
            if stride > 1:
                self.around.add(convolution(channels, 1, stride), nn.BatchNorm())

    def hybrid_forward(self, F, x):
        return F.relu(self.body(x) + self.around(x))


def resnet() -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(
        convolution(64, 7, 2),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(3, 2, 1),
    )
    for i, channels in enumerate((64, 128, 256, 512)):
        net.add(Residual(channels, 2 if i else 1), Residual(channels, 1))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(1000))
    return net


def build(variant: str, device: str, size: int, batch: int, training: bool) -> Entry:
    data, label = (nd.array(a, ctx=place(device)) for a in images(size, batch))
    net = resnet()
    net.initialize(ctx=place(device))
    net(data)  # the shapes
    weights = [p for name, p in net.collect_params().items() if name.endswith("weight")]
    for parameter, value in zip(weights, spread(RandomState(1), [p.shape for p in weights])):
        parameter.set_data(nd.array(value))
    if training:
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        return train(variant, net, loss, data, label, RESNET_RATE)
    if HYBRIDIZE[variant] is not None:
        net.hybridize(**HYBRIDIZE[variant])
    return Entry(lambda: net(data), lambda: net(data)[0, :8].asnumpy().tolist())
