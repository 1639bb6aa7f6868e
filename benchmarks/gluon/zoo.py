"""ResNet-50 and MobileNet v2 of the model zoo: inference, and a training step."""

from __future__ import annotations

from numpy.random import RandomState

from layers.engine import gluon, nd

from ..data import ZOO_RATE, images, spread
from ..worker import Entry
from . import place
from .steps import HYBRIDIZE, train


def build(variant: str, device: str, net: str, size: int, batch: int, training: bool) -> Entry:
    """`net` is the name of a model; `variant` a key of HYBRIDIZE."""
    data, label = (nd.array(a, ctx=place(device)) for a in images(size, batch))
    block = getattr(gluon.model_zoo.vision, net)()
    block.initialize(ctx=place(device))
    block(data)  # the shapes
    weights = [p for name, p in block.collect_params().items() if name.endswith("weight")]
    values = spread(RandomState(1), [p.shape for p in weights])
    for parameter, value in zip(weights, values):
        parameter.set_data(nd.array(value))
    if training:
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        return train(variant, block, loss, data, label, ZOO_RATE)
    if HYBRIDIZE[variant] is not None:
        block.hybridize(**HYBRIDIZE[variant])
    return Entry(lambda: block(data), lambda: block(data)[0, :8].asnumpy().tolist())
