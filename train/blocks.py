"""Learning with Gluon: forward, backward, step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import layers
from layers import SoftmaxLoss, engine
from layers.engine import autograd, gluon, mx, nd

from . import Refused
from .averaging import Average, fill
from .config import HYBRIDIZE, MIXES, Config
from .data import Data
from .loop import Meter
from .metrics import WithMetric, cross_entropy, ignored_label
from .nets import initialize, net_of, try_out
from .notes import add_notes, notes_of
from .optimizers import check_parameters, settings_of
from .precision import (
    Cast,
    check_precision,
    in_float32,
    is_rounded,
    loss_scaler,
    without_rounding,
)
from .scaling import with_scaling
from .state import (
    NamedArrays,
    below,
    check_shapes,
    number_attributes,
    optimizer_state,
    restore_numbers,
    restore_optimizer,
)
from .summary import table
from .task import Task
from .tensors import tensors_as_bytes
from .workers import Workers

__all__ = [
    "Learner",
    "ScaledSquare",
    "check_learner",
    "trainer_of",
]


class Learner:
    """A net, its loss and its trainer.

    Parameters
    ----------
    net : HybridBlock
        (n, features) to (n, outputs), initialized on the contexts `ctx`.
    loss : Block
        (outputs, labels) to (n, 2), the loss of each sample and its metric; to (n, 3), with how
        many labels the metric is of; or to (n,), its loss.
    trainer : gluon.Trainer
        The trainer of the net's parameters.
    ctx : list of Context
    mode : str
        A key of `train.config.HYBRIDIZE`.
    features : int
        Of a sample: `save` calls a net that has no graph yet with zeros of this size.
    clip : float, optional
        The norm of all gradients of a step together is at most this.
    accumulate : int
        A batch is learned in so many parts, whose gradients are added.
    precision : str
        Of weights and activations: ``"float32"``, ``"bfloat16"``, or on a GPU ``"float16"``.
    casts : bool
        The net itself casts its inputs to the precision, as one made by `with_scaling` does.
    workers : Workers
        The processes that train it together.
    forward : HybridBlock, optional
        What the loss is computed of, where that is not the net's output.
    """

    files: tuple[str, ...] = (
        "model.params",
        "model.safetensors",
        "model-symbol.json",
        "model-0000.params",
    )
    inputs: tuple[str, ...] = ("data",)  # of the exported graph
    outputs = "scores"
    metrics: Sequence = ()  # of all held-out samples together

    def __init__(
        self,
        net,
        loss,
        trainer,
        ctx: list,
        mode: str = "none",
        features: int = 0,
        *,
        clip: float | None = None,
        accumulate: int = 1,
        precision: str = "float32",
        casts: bool = False,
        workers: Workers | None = None,
        forward=None,
    ):
        self.workers = workers or Workers()
        self.net, self.loss, self.trainer, self.ctx, self.mode = net, loss, trainer, ctx, mode
        self.features, self.clip, self.accumulate = features, clip, accumulate
        self.ignored, entropy = ignored_label(loss), cross_entropy(loss)
        self.takes_shares = entropy is not None and not entropy._sparse_label  # of the classes
        self.average: Average | None = None
        self.lines: list[str] = []
        self.forward = forward or net
        self.precision, self.scaler, self.casts = precision, loss_scaler(precision), casts
        self.learned = [p for p in net.collect_params().values() if p.grad_req != "null"]
        self.multi_precision = trainer.optimizer.multi_precision
        if precision != "float32":
            net.cast(precision)
            trainer.optimizer.multi_precision = True
            self.forward = Cast(net)
        if accumulate > 1:
            for parameter in self.learned:
                parameter.grad_req = "add"
        if flags := HYBRIDIZE[mode]:
            self.forward.hybridize(**flags)
            self.loss.hybridize(**flags)
        self.step = layers.compiled_step(self.forward, loss, trainer) if mode == "step" else None

    @classmethod
    def of(cls, data: Data, ctx: list, options: Config, workers: Workers) -> Learner:
        """The learner for these options."""
        with workers.agreeing():
            check_learner(options.hybridize, ctx, options.precision)
            net = with_scaling(net_of(options, data), data)
            initialize(net, ctx)
            summary = try_out(net, options, data, ctx[0])
        trainer = trainer_of(net, options.optimizer, settings_of(options), workers.kvstore)
        loss, forward = cls.loss_with_metric(data.task), None
        if data.task.classes and {*MIXES} & {*options.augment}:
            loss = WithMetric(SoftmaxLoss(sparse_label=False), "accuracy")
        if options.head == "fused":
            from .gluoncv_nets import Features, FusedLossAndAccuracy, head_of

            head: Any = head_of(net)  # which a net for a fused head has
            loss, forward = FusedLossAndAccuracy(head), Features(net, head)
        learner = cls(
            net,
            loss,
            trainer,
            ctx,
            options.hybridize,
            data.features,
            clip=options.clip,
            accumulate=options.accumulate,
            precision=options.precision,
            casts=True,
            workers=workers,
            forward=forward,
        )
        learner.lines = [table(summary), ""]
        return learner

    @staticmethod
    def loss_with_metric(task: Task) -> gluon.HybridBlock:
        """The loss of a task, and beside it its metric."""
        if task.classes:
            return WithMetric(SoftmaxLoss(), "accuracy")
        return WithMetric(ScaledSquare(task.std), "mae")

    @property
    def parameters(self) -> int:
        return sum(math.prod(p.shape) for p in self.learned)

    @property
    def optimizer_name(self) -> str:
        return type(self.trainer.optimizer).__name__

    def summary(self) -> list[str]:
        """Lines that say what the net is made of."""
        return self.lines

    def learn(
        self, x: np.ndarray, y: np.ndarray, meter: Meter, weights: np.ndarray | None = None
    ) -> None:
        """One step, w ← w - lr · Σ ∂loss(net(x), y)/∂w / n for a batch of n.

        This is the rule of plain gradient descent; the trainer's optimizer may have another one.
        Losses are multiplied by the weights of their samples, where there are some.
        """
        self.check_batch(len(x), weights)
        self.use_average(False)
        if self.step:
            losses = [self.step(*self.split_inputs(x), *self.split(y), batch_size=len(x))]
        else:
            arrays = (x, y) if weights is None else (x, y, weights)
            losses = [loss for part in self.parts(*arrays) for loss in self.backward(*part)]
            self.update(len(x))
        if self.average:
            self.average.add(self.learned)
        meter.add(losses)

    def check_batch(self, n: int, weights: np.ndarray | None) -> None:
        """Refuse a batch of n samples that leaves a context without a gradient.

        Of several processes, one may have no sample: its gradient is 0 in the sum.

        Raises
        ------
        Refused
            There are more contexts than samples in the largest part that is learned at once; or
            samples have weights, for which a compiled step has no place.
        """
        if self.step and weights is not None:
            raise Refused(
                "data: samples have weights, which hybridize='step' does not take; expected "
                "another hybridize, such as 'compiled'"
            )
        parts, contexts = min(self.accumulate, n) or 1, len(self.ctx)
        if self.workers.store is None and math.ceil(n / parts) < contexts:
            in_parts = f", learned in {parts} parts" if parts > 1 else ""
            raise Refused(
                f"data: a batch of {n} sample{'s' * (n != 1)}{in_parts}; expected one at least for "
                f"each of {contexts} contexts"
            )

    def parts(self, *arrays: np.ndarray) -> list[tuple[np.ndarray, ...]]:
        """The parts of a batch whose gradients are added, of sizes that differ by one at most."""
        n = len(arrays[0])
        count = min(self.accumulate, n)
        if count == 1:
            return [arrays]
        ends = [n * i // count for i in range(count + 1)]
        return [tuple(a[start:end] for a in arrays) for start, end in zip(ends, ends[1:])]

    def backward(self, x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> list:
        """The losses of samples, by context, and the gradients of their sum."""
        xs, ys = self.split_inputs(x), self.split(y)  # a part for each context
        with autograd.record():
            losses = [self.loss(self.forward(part), labels) for part, labels in zip(xs, ys)]
            losses = self.weighted(losses, weights)
            scaled = [loss * self.scale for loss in losses] if self.scaler else losses
        if scaled:
            autograd.backward(scaled)
        return losses

    def update(self, n: int) -> None:
        """Change the weights by the gradients of n samples."""
        divisor = n * self.scale
        if self.clip is None and self.scaler is None:
            self.trainer.step(divisor)
        else:
            self.trainer.allreduce_grads()
            if not (self.scaler and self.scaler.has_overflow(self.learned)):
                self.clip_gradients(divisor)
                self.trainer.update(divisor)
            # Else the factor is smaller in the next step, which will do.
        if self.accumulate > 1:
            for parameter in self.learned:
                parameter.zero_grad()

    def clip_gradients(self, divisor: float) -> None:
        if self.clip is None:
            return
        for ctx in self.ctx:
            gradients = [p.grad(ctx) for p in self.learned]
            gluon.utils.clip_global_norm(gradients, self.clip * divisor, check_isfinite=False)

    @property
    def scale(self) -> float:
        """The factor of the loss, which keeps small gradients within the range of float16."""
        return self.scaler.loss_scale if self.scaler else 1.0

    def evaluate(
        self, x: np.ndarray, y: np.ndarray, meter: Meter, weights: np.ndarray | None = None
    ) -> None:
        """Measure loss and metric on samples, without learning from them."""
        self.use_average(True)
        ys, outputs = self.split(y), [self.forward(part) for part in self.split_inputs(x)]
        losses = [self.loss(part, labels) for part, labels in zip(outputs, ys)]
        meter.add(self.weighted(losses, weights))
        if meter.outputs is not None:
            labels = [y.argmax(axis=-1) for y in ys] if self.takes_shares else ys
            meter.outputs += zip(labels, map(self.answers, outputs))

    def weighted(self, losses: list, weights: np.ndarray | None) -> list:
        """Losses, by context, times the weights of their samples; the metric beside has none.

        Gluon's losses would broadcast weights (n,) to (n, n), and take the mean.
        """
        if weights is None:
            return losses
        return [times(loss, w) for loss, w in zip(losses, self.split(weights))]

    def answers(self, outputs: Any) -> Any:
        """What the metrics are given of the net's outputs."""
        return outputs

    def split(self, array: np.ndarray) -> list:
        """Of this process's part a part for each context, or for as many as there are samples."""
        array = self.workers.part(array)
        if not len(array):
            return []
        return gluon.utils.split_and_load(array, self.ctx[: len(array)], even_split=False)

    def split_inputs(self, x: np.ndarray) -> list:
        """The parts of inputs, in the precision of the net, unless it casts them itself.

        Whole numbers, such as those of words, are not rounded.
        """
        parts = self.split(without_rounding(x, self.precision))
        if self.precision == "float32" or self.casts:
            return parts
        return [part if is_rounded(part.dtype) else part.astype(self.precision) for part in parts]

    def use_average(self, use: bool) -> None:
        """Have the mean of the weights in the net, where there is one, or the weights."""
        average = self.average
        if average and average.means and use != bool(average.weights):
            (average.put if use else average.take_back)(self.learned)

    def finish(self) -> None:
        """Leave the net with parameters of float32, whose gradients are written.

        The optimizer, which may be a user's, has the precision that it had.
        """
        self.trainer.optimizer.multi_precision = self.multi_precision
        if self.precision != "float32":
            self.net.cast("float32")
        if self.accumulate > 1:
            for parameter in self.learned:
                parameter.grad_req = "write"

    def weights(self) -> NamedArrays:
        """All parameters as they are measured, by the names that `save_parameters` gives them."""
        self.use_average(True)
        named = self.net._collect_params_with_prefix()
        return {name: p.data(self.ctx[0]).asnumpy() for name, p in named.items()}

    def set_weights(self, weights: NamedArrays) -> None:
        """Take over the parameters of such a net.

        Raises
        ------
        ValueError
            They have other names or shapes; the message says which.
        """
        self.use_average(True)
        named = self.net._collect_params_with_prefix()
        check_shapes(weights, {name: p.shape for name, p in named.items()})
        for name, p in named.items():
            p.set_data(nd.array(weights[name], dtype=weights[name].dtype).astype(p.dtype))

    def state(self) -> NamedArrays:
        """What else it needs to go on: the trainer's, and statistics of each context."""
        arrays = {f"context/{i}/{name}": p.data(ctx).asnumpy() for i, ctx, name, p in self.own()}
        if self.average and self.average.means:  # and not these are in `weights`
            self.use_average(False)
            arrays |= {f"last/{i}": p.list_data()[0].asnumpy() for i, p in enumerate(self.learned)}
        if self.scaler:
            arrays |= number_attributes(self.scaler, "scaler")
        return arrays | optimizer_state(self.trainer.optimizer, self.trainer._updaters)

    def restore(self, state: NamedArrays) -> None:
        """Take over what `state` gave, after `set_weights`.

        Raises
        ------
        ValueError
            It is that of another number of contexts, or of another optimizer.
        """
        saved = {name.partition("/")[0] for name in below(state, "context")}
        if len(saved) != len({i for i, *_ in self.own()}):
            before, now = 1 + len(saved), len(self.ctx)
            raise ValueError(f"the number of its contexts is {before}, that of this training {now}")
        if not self.trainer._kv_initialized:
            self.trainer._init_kvstore()  # which makes an updater for each context
        if self.trainer._params_to_init:
            self.trainer._init_params()  # which copies the first context's to the others
        own = {f"{i}/{name}": p.shape for i, _, name, p in self.own()}
        check_shapes(below(state, "context"), own)
        for i, ctx, name, p in self.own():
            p.data(ctx)[:] = nd.array(state[f"context/{i}/{name}"], ctx=ctx)
        if "last/0" in state:
            learned = {str(i): p.shape for i, p in enumerate(self.learned)}
            check_shapes(below(state, "last"), learned)
            fill(self.learned, [nd.array(state[f"last/{i}"]) for i in range(len(self.learned))])
        if self.scaler:
            restore_numbers(self.scaler, "scaler", state)
        weights = {i: p.list_data()[0] for i, p in enumerate(self.trainer._params)}
        restore_optimizer(self.trainer.optimizer, self.trainer._updaters, state, weights)

    def own(self) -> Iterator:
        """What the contexts but the first have each for itself: running means, for example."""
        for i, ctx in enumerate(self.ctx[1:], 1):
            for name, p in self.net._collect_params_with_prefix().items():
                if p.grad_req == "null":
                    yield i, ctx, name, p

    def save(self, folder: Path, config: Mapping[str, Any]) -> None:
        """Write the parameters, and the exported net, with notes of the config."""
        self.use_average(True)
        notes = notes_of(config)
        with in_float32(self.net, self.precision):
            self.net.save_parameters(str(folder / "model.params"))
            (folder / "model.safetensors").write_bytes(tensors_as_bytes(self.weights(), notes))
            net = self.exported()
            net.hybridize()  # there may be no graph: a training that is resumed may have no step
            net(nd.zeros((1, self.features), ctx=self.ctx[0]))
            net.export(str(folder / "model"))
        graph = mx.sym.load(str(folder / "model-symbol.json"))
        add_notes(graph, notes)
        graph.save(str(folder / "model-symbol.json"))

    def exported(self) -> gluon.HybridBlock:
        """What is exported: the net, or one that goes on where it ends."""
        return self.net


def times(losses: nd.NDArray, weights: nd.NDArray) -> nd.NDArray:
    """The losses of samples, (n,) or the first of the columns (n, k), times their weights (n,)."""
    weights = weights.astype(losses.dtype)
    if losses.ndim > 1:
        others = [nd.ones_like(weights)] * (losses.shape[1] - 1)
        weights = nd.stack(weights, *others, axis=1)
    return losses * weights


def trainer_of(net, optimizer: Any, settings: dict[str, Any], kvstore: str) -> gluon.Trainer:
    """Each context updates its own parameters: there is no other copy of them in a kvstore.

    Raises
    ------
    Refused
        All parameters are frozen, or the optimizer cannot update one.
    """
    # In the order of the net: by name, states of dense9_ and dense10_ would not be those of
    # dense1_ and dense2_ in a net that resumes.
    parameters = list(net.collect_params().values())
    trainer = gluon.Trainer(
        parameters, optimizer, settings, kvstore=kvstore, update_on_kvstore=False
    )
    learned = [p for p in parameters if p.grad_req != "null"]
    if not learned:
        raise Refused(
            f"net: nothing is learned: all of its {len(parameters)} parameters are frozen, with "
            "the grad_req 'null'; expected some with 'write'"
        )
    check_parameters(trainer.optimizer, {p.name: p.list_data()[0] for p in learned})
    return trainer


def check_learner(mode: str, ctx: list, precision: str) -> None:
    """Refuse what the engine, or a compiled step, cannot do.

    Raises
    ------
    Refused
        The message says what can be done instead.
    """
    if mode in ("compiled", "step") and not engine.compiles():
        raise Refused(
            f"hybridize {mode}: needs the engine torch; expected hybridize none or recorded"
        )
    if mode == "step" and len(ctx) > 1:
        raise Refused(f"hybridize step: compiles for one context; ctx has {len(ctx)}")
    check_precision(precision, ctx)


class ScaledSquare(gluon.HybridBlock):
    """The loss ((y - target) / std)² of each sample; y : (n, 1) or (n,), target : (n,)."""

    def __init__(self, std: float, **kwargs):
        super().__init__(**kwargs)
        self.std = std

    def hybrid_forward(self, F, values, target):
        return F.square((F.reshape(values, shape=(-1,)) - target) / self.std)
