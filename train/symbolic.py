"""Learning with Symbol and Module: a graph that ends in an operator of its own, in NumPy."""

from __future__ import annotations

import math
from argparse import Namespace
from pathlib import Path

import numpy as np

from layers.engine import mx

from . import Refused
from .data import Data, steps
from .loop import Meter
from .mlp import SIGMOID
from .options import OPTIMIZERS

__all__ = ["Learner", "Softmax", "SoftmaxProp", "mlp"]

TINY = 1e-37  # about float32's smallest normal number; keeps the loss of a probability 0 finite


class Softmax(mx.operator.CustomOp):
    """y = softmax(x), with the gradient of the cross entropy -log y[label]."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        y /= y.sum(axis=1, keepdims=True)
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().astype(int)
        dx = out_data[0].asnumpy()
        dx[np.arange(len(label)), label] -= 1
        self.assign(in_grad[0], req[0], mx.nd.array(dx))


@mx.operator.register("softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    """x : (n, m)      label : (n,) class numbers      y : (n, m)"""

    def __init__(self):
        super().__init__(need_top_grad=False)  # it is a loss

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        data = in_shape[0]
        return [data, data[:1]], [data], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


def mlp(hidden: list[int], classes: int):
    """The Symbol y = softmax(W₃ s(W₂ s(W₁ x + b₁) + b₂) + b₃) with the logistic s.

    Its inputs are `data` and `softmax_label`; `fc1_weight`, `fc1_bias` and so on its parameters.
    """
    x = mx.sym.Variable("data")
    for i, units in enumerate(hidden, 1):
        weight = mx.sym.Variable(f"fc{i}_weight", init=mx.init.Xavier(magnitude=SIGMOID))
        x = mx.sym.FullyConnected(x, weight, num_hidden=units, name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="sigmoid", name=f"sigmoid{i}")
    x = mx.sym.FullyConnected(x, num_hidden=classes, name=f"fc{len(hidden) + 1}")
    return mx.sym.Custom(data=x, name="softmax", op_type="softmax")


class Learner:
    """A Module, trained step by step: forward, backward, update."""

    files = ("model-symbol.json", "model-0000.params")

    def __init__(self, module, optimizer):
        self.module, self.optimizer = module, optimizer

    @classmethod
    def of(cls, data: Data, ctx: list, options: Namespace) -> Learner:
        """The learner for these options."""
        held_out, size = len(data.held_out_x), options.batch_size
        if held_out // steps(held_out, size) < len(ctx):
            raise Refused(f"--ctx: not a held-out sample for each of {len(ctx)} contexts")
        module = mx.mod.Module(mlp(options.hidden, data.classes), context=ctx)
        n = min(size, len(data.x))
        module.bind([("data", (n, data.x.shape[1]))], [("softmax_label", (n,))])
        module.init_params(mx.init.Xavier())
        settings = OPTIMIZERS[options.optimizer] | {"learning_rate": options.lr}
        optimizer = mx.optimizer.create(options.optimizer, rescale_grad=1 / n, **settings)
        module.init_optimizer(optimizer=optimizer)
        return cls(module, optimizer)

    @property
    def parameters(self) -> int:
        return sum(math.prod(p.shape) for p in self.module.get_params()[0].values())

    def learn(self, x: np.ndarray, y: np.ndarray, meter: Meter) -> None:
        """One step, w ← w - lr · Σ ∂loss/∂w / n for a batch of n, or the optimizer's own rule."""
        self.optimizer.rescale_grad = 1 / len(x)  # the sizes of batches differ by one
        self.forward(x, y, meter, is_train=True)
        self.module.backward()
        self.module.update()

    def evaluate(self, x: np.ndarray, y: np.ndarray, meter: Meter) -> None:
        """Measure loss and accuracy on samples, without learning from them."""
        self.forward(x, y, meter, is_train=False)

    def forward(self, x: np.ndarray, y: np.ndarray, meter: Meter, is_train: bool) -> None:
        batch = mx.io.DataBatch([mx.nd.array(x)], [mx.nd.array(y)])
        self.module.forward(batch, is_train)
        probability = self.module.get_outputs()[0]
        label = batch.label[0].as_in_context(probability.context)
        loss = -mx.nd.log(mx.nd.pick(probability, label) + TINY)
        right = probability.argmax(axis=1) == label
        meter.add([mx.nd.stack(loss, right, axis=1)])

    def save(self, folder: Path) -> None:
        """Write the Module's checkpoint."""
        self.module.save_checkpoint(str(folder / "model"), 0)
