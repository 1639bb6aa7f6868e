"""Models of GluonCV: inference, and a training step."""

from __future__ import annotations

from numpy.random import RandomState

from layers.engine import gluon, gluoncv, nd

from ..data import ZOO_RATE, images, spread
from ..worker import Entry
from . import place
from .steps import HYBRIDIZE, train


class Squares(gluon.HybridBlock):
    """The mean squares of a detector's or a segmenter's two outputs, in place of its loss."""

    def hybrid_forward(self, F, outputs, label):
        first, second = (F.mean(F.square(y), axis=0, exclude=True) for y in outputs[:2])
        return first + second


def without_dropout(block: gluon.Block) -> None:
    if isinstance(block, gluon.nn.Dropout):
        block._rate = 0


def build(
    variant: str, device: str, net: str, size: int, batch: int, training: bool, options: dict
) -> Entry:
    """`net` is the name of a model, made with `options`; `variant` a key of HYBRIDIZE."""
    data, label = (nd.array(a, ctx=place(device)) for a in images(size, batch))
    block = gluoncv().model_zoo.get_model(net, **options)
    block.apply(without_dropout)
    block.initialize(ctx=place(device))
    block(data)  # the shapes
    parameters = block.collect_params()
    weights = [p for name, p in parameters.items() if name.endswith("weight")]
    for parameter, value in zip(weights, spread(RandomState(1), [p.shape for p in weights])):
        parameter.set_data(nd.array(value))
    if training:
        loss = Squares() if options else gluon.loss.SoftmaxCrossEntropyLoss()
        return train(variant, block, loss, data, label, ZOO_RATE)
    if HYBRIDIZE[variant] is not None:
        block.hybridize(**HYBRIDIZE[variant])

    def step():
        found = block(data)
        return found[-1] if isinstance(found, (list, tuple)) else found

    return Entry(step, lambda: step().reshape(-1)[:8].asnumpy().tolist())
