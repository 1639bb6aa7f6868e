"""Learning with Symbol and Module: a graph that ends in an operator of its own, in NumPy."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from layers.engine import mx
from layers.saving import NamedArrays, optimizer_state, restore_optimizer_state

from . import Refused
from .config import Config
from .data import Data, steps
from .description import add_notes, notes_of
from .optimizers import settings_of
from .scaling import embedded, embedding_init, encoded
from .state import Meter
from .task import Task
from .tensors import check_shapes, tensors_as_bytes
from .workers import Workers

__all__ = [
    "UNKNOWN",
    "ModuleLearner",
    "Regression",
    "RegressionProp",
    "Softmax",
    "SoftmaxProp",
    "mlp",
    "module_of",
    "plain",
    "register_names_of_before",
]

UNKNOWN = ("not registered", "Cannot find custom operator")  # how engines say it of an operator

# A sigmoid's slope is at most 1/4. Weights four times as large as a linear layer's, that is a
# magnitude 16 times Xavier's 3, bring signals and gradients through it in their size.
SIGMOID = 48

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


@mx.operator.register("train.softmax")
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


class Regression(mx.operator.CustomOp):
    """y = x std + mean, with the gradient of the loss ((y - label) / std)²."""

    def __init__(self, mean: float, std: float):
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, is_train, req, in_data, out_data, aux):
        y = in_data[0].asnumpy() * self.std + self.mean
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y, label = out_data[0].asnumpy(), in_data[1].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(2 * (y - label[:, None]) / self.std))


@mx.operator.register("train.regression")
class RegressionProp(SoftmaxProp):
    """x : (n, 1)      label : (n,) numbers      y : (n, 1)"""

    def __init__(self, mean="0.0", std="1.0"):
        super().__init__()
        self.mean, self.std = float(mean), float(std)

    def create_operator(self, ctx, shapes, dtypes):
        return Regression(self.mean, self.std)


# The operators by the names that they had in graphs that were saved before.
BEFORE = {"softmax": SoftmaxProp, "regression": RegressionProp}


def register_names_of_before(file: Path) -> None:
    """Register an operator by the name that it has in a file, unless the user has one of it."""
    text = file.read_text("utf-8", errors="replace")
    for name, prop in BEFORE.items():
        if re.search(f'"op_type": *"{name}"', text) and not is_registered(name):
            mx.operator.register(name)(prop)


def is_registered(name: str) -> bool:
    try:
        mx.sym.Custom(mx.sym.Variable("data"), op_type=name)
    except mx.base.MXNetError as error:
        return not any(words in str(error) for words in UNKNOWN)
    return True


def mlp(hidden: list[int], data: Data):
    """Return the Symbol y = softmax(W₃ s(W₂ s(W₁ z + b₁) + b₂) + b₃), z = (x - mean) / std.

    Its inputs are `data` and `softmax_label`; `fc1_weight`, `fc1_bias` and so on its parameters,
    `mean` and `std` constants. It ends in `train.softmax`, or for a number in `train.regression`.
    """
    task, shapes, codes = data.task, dict.fromkeys(constants_of(data), data.mean.shape), data.codes
    shapes |= {f"codes{i}_weight": shape for i, shape in embedded(codes).items()}
    inits = {name: embedding_init() for name in shapes if name.startswith("codes")}
    arrays = {n: mx.sym.Variable(n, shape=s, init=inits.get(n)) for n, s in shapes.items()}
    x = mx.sym.Variable("data")
    if codes:
        x = encoded(mx.sym, x, data.mean.shape[1], codes, arrays)
    else:
        x = mx.sym.broadcast_div(mx.sym.broadcast_sub(x, arrays["mean"]), arrays["std"])
    for i, units in enumerate(hidden, 1):
        weight = mx.sym.Variable(f"fc{i}_weight", init=mx.init.Xavier(magnitude=SIGMOID))
        x = mx.sym.FullyConnected(x, weight, num_hidden=units, name=f"fc{i}")
        x = mx.sym.Activation(x, act_type="sigmoid", name=f"sigmoid{i}")
    x = mx.sym.FullyConnected(x, num_hidden=task.outputs, name=f"fc{len(hidden) + 1}")
    end = {"op_type": "train.softmax"}
    if not task.classes:
        end = {"op_type": "train.regression", "mean": task.mean, "std": task.std}
    return mx.sym.Custom(data=x, name="softmax", **end)


def constants_of(data: Data) -> dict[str, np.ndarray]:
    """Return the arrays of the scaling; none, where there are only codes."""
    return {"mean": data.mean, "std": data.std} if data.mean.size else {}


def plain(graph):
    """Return a graph that ends in an operator of MXNet's instead of one of those above."""
    x = graph.get_children()[0]
    if graph.attr("op_type").removeprefix("train.") == "softmax":
        return mx.sym.softmax(x, axis=1, name="softmax")
    return x * float(graph.attr("std")) + float(graph.attr("mean"))


def module_of(data: Data, ctx: list, config: Config, workers: Workers) -> ModuleLearner:
    """Return the learner that a configuration asks for.

    Raises
    ------
    Refused
        A batch of the held-out samples has fewer than there are contexts.
    """
    held_out, size = len(data.held_out_x), config.batch_size
    if held_out // steps(held_out, size) < len(ctx):
        raise Refused(f"--ctx: not a held-out sample for each of {len(ctx)} contexts")
    net, constants = mlp(config.of_net("hidden"), data), constants_of(data)
    module = mx.mod.Module(net, context=ctx, fixed_param_names=[*constants])
    n = min(size, len(data.x))
    module.bind([("data", (n, data.features))], [("softmax_label", (n,))])
    scaling = {name: mx.nd.array(value) for name, value in constants.items()}
    module.init_params(mx.init.Xavier(), arg_params=scaling, allow_missing=True)
    settings = settings_of(config) | {"rescale_grad": 1 / n}
    optimizer = mx.optimizer.create(config.optimizer, **settings)
    module.init_optimizer(optimizer=optimizer)
    return ModuleLearner(module, optimizer, data.task, ctx)


class ModuleLearner:
    """A Module, trained step by step: forward, backward, update. See `train.learner.Learner`."""

    files = ("model.safetensors", "model-symbol.json", "model-0000.params")
    inputs, outputs = ("data", "softmax_label"), "probabilities"
    metrics, ignored, lines = (), None, ()

    def __init__(self, module, optimizer, task: Task, ctx: list):
        self.module, self.rule, self.task, self.ctx = module, optimizer, task, ctx

    @property
    def parameters(self) -> int:
        found = self.module.get_params()[0]
        return sum(math.prod(p.shape) for name, p in found.items() if name not in ("mean", "std"))

    @property
    def optimizer_name(self) -> str:
        return type(self.rule).__name__

    def learn(self, x: np.ndarray, y: np.ndarray, meter: Meter, weights: None = None) -> None:
        """Take a step, w ← w - lr · Σ ∂loss/∂w / n for a batch of n, or the optimizer's rule."""
        self.rule.rescale_grad = 1 / len(x)  # the sizes of batches differ by one
        self.forward(x, y, meter, is_train=True)
        self.module.backward()
        self.module.update()

    def evaluate(self, x: np.ndarray, y: np.ndarray, meter: Meter, weights: None = None) -> None:
        """Measure loss and metric on samples, without learning from them."""
        label, output = self.forward(x, y, meter, is_train=False)
        if meter.outputs is not None:
            meter.outputs.append((label, output.copy()))  # the next batch is written into it

    def forward(self, x: np.ndarray, y: np.ndarray, meter: Meter, is_train: bool) -> tuple:
        """Measure samples; returns their labels and outputs."""
        batch = mx.io.DataBatch([mx.nd.array(x)], [mx.nd.array(y)])
        self.module.forward(batch, is_train)
        output = self.module.get_outputs()[0]
        label = batch.label[0].as_in_context(output.context)
        if self.task.classes:
            loss = -mx.nd.log(mx.nd.pick(output, label) + TINY)
            metric = output.argmax(axis=1) == label
        else:
            metric = (output.reshape((-1,)) - label).abs()
            loss = (metric / self.task.std).square()
        meter.add([mx.nd.stack(loss, metric, axis=1)])
        return label, output

    def weights(self) -> NamedArrays:
        """Return all parameters."""
        parameters, states = self.module.get_params()
        return {name: array.asnumpy() for name, array in (parameters | states).items()}

    def set_weights(self, weights: NamedArrays) -> None:
        """Take over the parameters of such a net.

        Raises
        ------
        ValueError
            They have other names or shapes; the message says which.
        """
        parameters, states = self.module.get_params()
        check_shapes(weights, {name: p.shape for name, p in (parameters | states).items()})
        arrays = {name: mx.nd.array(array, dtype=array.dtype) for name, array in weights.items()}
        self.module.set_params(
            {name: arrays[name] for name in parameters}, {name: arrays[name] for name in states}
        )

    def state(self) -> NamedArrays:
        """Return what else a resumed training needs."""
        return optimizer_state(self.module)

    def restore(self, state: NamedArrays) -> None:
        """Take over what `state` gave, after `set_weights` and before the first step."""
        restore_optimizer_state(self.module, state)

    def save(self, folder: Path, config: Mapping[str, Any]) -> None:
        """Write the Module's checkpoint, with notes of the config."""
        notes = notes_of(config)
        add_notes(self.module.symbol, notes)
        self.module.save_checkpoint(str(folder / "model"), 0)
        (folder / "model.safetensors").write_bytes(tensors_as_bytes(self.weights(), notes))
