"""Learning with Gluon: forward, backward, step."""

from __future__ import annotations

import math
from argparse import Namespace
from pathlib import Path

import numpy as np

import layers
from layers import SoftmaxLoss, engine
from layers.engine import autograd, gluon, nd

from . import Refused
from .data import Data
from .loop import Meter
from .mlp import mlp
from .options import OPTIMIZERS
from .scaling import with_scaling
from .task import Task

__all__ = ["HYBRIDIZE", "Learner", "Measured", "MeasuredError", "measured"]

# The arguments of `hybridize`. With "step", calls outside the compiled step are recorded.
RECORDED = {"static_alloc": True, "static_shape": True}
HYBRIDIZE = {
    "none": None,
    "recorded": RECORDED,
    "compiled": {"backend": "inductor"},
    "step": RECORDED,
}


class Learner:
    """A net, its loss and its trainer.

    Parameters
    ----------
    net : HybridBlock
        (n, features) to (n, outputs), initialized on the contexts `ctx`.
    loss : Block
        (outputs, labels) to (n, 2): the loss of each sample, and its metric.
    trainer : gluon.Trainer
        The trainer of the net's parameters.
    ctx : list of Context
    mode : str
        A key of HYBRIDIZE.
    features : int
    """

    files = ("model.params", "model-symbol.json", "model-0000.params")

    inputs, outputs = ("data",), "scores"  # of the exported graph

    def __init__(self, net, loss, trainer, ctx: list, mode: str = "none", features: int = 0):
        self.net, self.loss, self.trainer, self.ctx, self.mode = net, loss, trainer, ctx, mode
        self.features = features
        if flags := HYBRIDIZE[mode]:
            net.hybridize(**flags)
            self.loss.hybridize(**flags)
        self.step = layers.compiled_step(net, self.loss, trainer) if mode == "step" else None

    @classmethod
    def of(cls, data: Data, ctx: list, options: Namespace) -> Learner:
        """The learner for these options."""
        mode = options.hybridize
        if mode in ("compiled", "step") and not engine.compiles():
            raise Refused(f"--hybridize {mode}: needs --engine torch; here is none or recorded")
        if mode == "step" and len(ctx) > 1:
            raise Refused(f"--hybridize step: compiles for one context; --ctx has {len(ctx)}")
        net = with_scaling(mlp(data.features, options.hidden, data.task.outputs), data)
        net.initialize(ctx=ctx)
        settings = OPTIMIZERS[options.optimizer] | {"learning_rate": options.lr}
        # Each context updates its own parameters: there is no other copy of them in a kvstore.
        trainer = gluon.Trainer(
            net.collect_params(), options.optimizer, settings, update_on_kvstore=False
        )
        return cls(net, measured(data.task), trainer, ctx, mode, data.features)

    @property
    def parameters(self) -> int:
        learned = [p for p in self.net.collect_params().values() if p.grad_req != "null"]
        return sum(math.prod(p.shape) for p in learned)

    def learn(self, x: np.ndarray, y: np.ndarray, meter: Meter) -> None:
        """One step, w ← w - lr · Σ ∂loss(net(x), y)/∂w / n for a batch of n.

        This is the rule of plain gradient descent; the trainer's optimizer may have another one.
        """
        xs, ys = self.split(x), self.split(y)  # a part for each context
        if self.step:
            meter.add([self.step(*xs, *ys)])
            return
        with autograd.record():
            losses = [self.loss(self.net(part), labels) for part, labels in zip(xs, ys)]
        autograd.backward(losses)
        self.trainer.step(len(x))
        meter.add(losses)

    def evaluate(self, x: np.ndarray, y: np.ndarray, meter: Meter) -> None:
        """Measure loss and metric on samples, without learning from them."""
        pairs = zip(self.split(x), self.split(y))
        meter.add([self.loss(self.net(part), labels) for part, labels in pairs])

    def split(self, array: np.ndarray) -> list:
        """The parts of a batch, one for each context, or for as many as there are samples."""
        return gluon.utils.split_and_load(array, self.ctx[: len(array)], even_split=False)

    def save(self, folder: Path) -> None:
        """Write the parameters, and the exported net."""
        self.net.save_parameters(str(folder / "model.params"))
        if self.mode == "none":  # no graph has been made yet
            self.net.hybridize()
            self.net(nd.zeros((1, self.features), ctx=self.ctx[0]))
        self.net.export(str(folder / "model"))


def measured(task: Task) -> gluon.HybridBlock:
    """The loss of a task, and its metric."""
    return Measured() if task.classes else MeasuredError(task.std)


class Measured(gluon.HybridBlock):
    """The loss of each sample, and beside it 1 where the highest score is the label's: (n, 2).

    Only the loss has a gradient. Both are in one graph, so that a compiled step counts too.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.loss = SoftmaxLoss()

    def hybrid_forward(self, F, scores, label):
        right = F.BlockGrad(F.argmax(scores, axis=1) == label)
        return F.stack(self.loss(scores, label), right, axis=1)


class MeasuredError(gluon.HybridBlock):
    """The loss of each sample, ((y - target) / std)², and beside it |y - target|: (n, 2)."""

    def __init__(self, std: float, **kwargs):
        super().__init__(**kwargs)
        self.std = std

    def hybrid_forward(self, F, values, target):
        error = F.reshape(values, shape=(-1,)) - target
        return F.stack(F.square(error / self.std), F.BlockGrad(F.abs(error)), axis=1)
