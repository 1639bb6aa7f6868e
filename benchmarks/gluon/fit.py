"""Epochs of a small MLP: a bare loop of `record`, `backward` and `step`, and `train.fit`."""

from __future__ import annotations

from layers.engine import autograd, gluon, nd
from train import fit

from ..data import RATE, samples
from ..worker import Entry
from . import place


def build(variant: str, device: str, sizes: tuple, batch: int, steps: int, epochs: int) -> Entry:
    data, label, weights = samples(sizes, batch * steps)
    context = place(device)
    net = gluon.nn.HybridSequential()
    for w in weights:
        last = len(net) + 1 == len(weights)
        activation = None if last else "relu"
        net.add(gluon.nn.Dense(len(w), activation, in_units=w.shape[1]))
    net.initialize(ctx=context)
    for layer, w in zip(net, weights):
        layer.weight.set_data(nd.array(w))
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    parts = [slice(start, start + batch) for start in range(0, len(data), batch)]
    if variant == "fit":
        batches = [(data[rows], label[rows]) for rows in parts]

        def train():
            options = {"learning_rate": RATE, "epochs": epochs, "ctx": context}
            options["optimizer_params"] = {"momentum": 0.0}
            return [e.loss for e in fit(net, batches, loss, optimizer="sgd", **options)]

        return Entry(train, train)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})

    def bare():
        found = []
        for _ in range(epochs):
            losses = []
            for rows in parts:
                x, y = nd.array(data[rows], ctx=context), nd.array(label[rows], ctx=context)
                with autograd.record():
                    value = loss(net(x), y)
                value.backward()
                trainer.step(batch)
                losses.append(value)
            found.append(losses)
        return found

    return Entry(
        bare, lambda: [float(nd.concat(*losses, dim=0).mean().asscalar()) for losses in bare()]
    )
