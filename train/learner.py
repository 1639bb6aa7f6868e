"""A net and how it learns: forward, backward, step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import layers
from layers import SoftmaxLoss, engine
from layers.engine import autograd, gluon, mx, nd
from layers.saving import (
    NamedArrays,
    below,
    number_attributes,
    optimizer_state,
    restore_numbers,
    restore_optimizer_state,
)

from . import Refused, by_name
from .averaging import Average, fill
from .config import HYBRIDIZE, MIXES, Config
from .data import Data, as_tuple, listed, mapped
from .description import add_notes, notes_of
from .metrics import (
    ScaledSquare,
    Weighted,
    WeightedLoss,
    WithMetric,
    cross_entropy,
    expect_one_target,
    ignored_label,
    named,
)
from .nets import Answering, initialize, net_of, own, try_out
from .optimizers import settings_of
from .precision import Cast, check_precision, in_float32, is_rounded, loss_scaler, without_rounding
from .scaling import with_scaling
from .state import Meter
from .summary import table
from .task import Task
from .tensors import check_shapes, tensors_as_bytes
from .workers import Workers, refused

__all__ = ["Learner", "check_learner", "learner_of", "loss_of", "trainer_of"]


class Learner:
    """A net, its loss and its trainer: what the loop calls for each batch.

    A subclass has its own step: `losses` returns the losses of samples, `learn` is all of a step.

    Parameters
    ----------
    net : Block
        (n, ...) to outputs, initialized on the contexts `ctx`.
    loss : Block
        (outputs, labels) to (n, 2), the loss of each sample and its metric; to (n, 3), with how
        many labels the metric is of; or to (n,), its loss.
    trainer : gluon.Trainer
        The trainer of the net's parameters.
    ctx : list of Context
    mode : str
        A key of `train.config.HYBRIDIZE`.
    features : int
        Of a sample, with which `save` calls a net without a graph.
    clip : float, optional
        The norm of all gradients of a step together is at most this.
    accumulate : int
        Parts of a batch whose gradients are added.
    precision : str
        Of weights and activations: ``"float32"``, ``"bfloat16"``, or on a GPU ``"float16"``.
    casts : bool
        The net itself casts its inputs to the precision, as one made by `with_scaling` does.
    workers : Workers
        The processes that train it together.
    forward : HybridBlock, optional
        The block whose outputs the loss takes, where that is not the net.
    answers : HybridBlock, optional
        The block that makes of the net's outputs what metrics take and `save` exports.

    Raises
    ------
    Refused
        A compiled step has no place for the `losses` of a subclass.
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
        answers=None,
    ):
        if mode == "step" and type(self).losses is not Learner.losses:
            raise Refused(
                f"learner: {type(self).__name__} has losses of its own, which hybridize='step' "
                "does not call; expected another hybridize, such as 'compiled'"
            )
        self.workers = workers or Workers()
        self.net, self.loss, self.trainer, self.ctx, self.mode = net, loss, trainer, ctx, mode
        self.features, self.clip, self.accumulate = features, clip, accumulate
        self.ignored, entropy = ignored_label(loss), cross_entropy(loss)
        self.takes_shares = entropy is not None and not entropy._sparse_label  # of the classes
        self.average: Average | None = None
        self.lines: list[str] = []
        self.forward, self.answers = forward or net, answers
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
        self.weigh, self.steps = Weighted(), {}
        if mode == "step":
            self.steps[1, False] = layers.compiled_step(self.forward, loss, trainer)

    @property
    def parameters(self) -> int:
        return sum(math.prod(p.shape) for p in self.learned)

    @property
    def optimizer_name(self) -> str:
        return type(self.trainer.optimizer).__name__

    def losses(self, x: Any, y: Any) -> nd.NDArray:
        """Return the losses of samples on one context, as `loss` gives them, to learn from.

        x and y are an array each, or a tuple of several, where the data has several.
        """
        return self.measure(self.outputs_of(x), y)

    def outputs_of(self, x: Any) -> Any:
        """Return the net's outputs for inputs on one context."""
        return self.forward(*as_tuple(x))

    def measure(self, outputs: Any, y: Any) -> nd.NDArray:
        """Return the losses of samples, with their metric beside, of the net's outputs for them.

        Raises
        ------
        Refused
            The loss cannot be computed, or is not a number for each sample.
        """
        if isinstance(self.loss, WithMetric):
            expect_one_target(y)
        ys = as_tuple(y)
        try:
            found = self.loss(outputs, *ys)
        except Exception as error:
            of = f"outputs {getattr(outputs, 'shape', type(outputs).__name__)}"
            of += "".join(f", y {each.shape}" for each in ys)
            raise refused(f"loss: {named(self.loss)} of {of}", error) from error
        if found.shape[:1] != ys[0].shape[:1]:
            raise Refused(
                f"loss: of {len(ys[0])} samples {named(self.loss)} gives {found.shape}; "
                "expected a number for each sample, such as the mean over its other axes"
            )
        return found

    def learn(self, x: Any, y: Any, meter: Meter, weights: Any = None) -> None:
        """Take a step, w ← w - lr · Σ ∂loss(net(x), y)/∂w / n for a batch of n.

        Losses are multiplied by the weights of their samples, where there are some.
        """
        n, arrays = len(as_tuple(x)[0]), (x, y) if weights is None else (x, y, weights)
        self.check_batch(n)
        self.use_average(False)
        if self.mode == "step":
            losses = [self.compiled(*arrays, batch_size=n)]
        else:
            losses = [loss for part in self.parts(*arrays) for loss in self.backward(*part)]
            self.update(n)
        if self.average:
            self.average.add(self.learned)
        meter.add(losses)

    def compiled(self, x: Any, *targets: Any, batch_size: int) -> nd.NDArray:
        """Take a compiled step, which is made for each number of targets; return the losses."""
        labels = [label for each in targets for label in as_tuple(self.split(each)[0])]
        key = len(labels), len(targets) > 1  # of which the last one is weights
        if key not in self.steps:
            loss = WeightedLoss(self.loss) if key[1] else self.loss
            self.steps[key] = layers.compiled_step(self.forward, loss, self.trainer, labels=key[0])
        return self.steps[key](*as_tuple(self.split_inputs(x)[0]), *labels, batch_size=batch_size)

    def check_batch(self, n: int) -> None:
        """Refuse a batch of n samples that leaves a context without a gradient.

        Of several processes, one may have no sample: its gradient is 0 in the sum.

        Raises
        ------
        Refused
            There are more contexts than samples in the largest part that is learned at once.
        """
        parts, contexts = min(self.accumulate, n) or 1, len(self.ctx)
        if self.workers.store is None and math.ceil(n / parts) < contexts:
            in_parts = f", learned in {parts} parts" if parts > 1 else ""
            raise Refused(
                f"data: a batch of {n} sample{'s' * (n != 1)}{in_parts}; expected one at least for "
                f"each of {contexts} contexts"
            )

    def parts(self, *arrays: Any) -> list[tuple]:
        """Split a batch into the parts whose gradients are added; sizes differ by one at most."""
        n = len(as_tuple(arrays[0])[0])
        count = min(self.accumulate, n)
        if count == 1:
            return [arrays]
        ends = [n * i // count for i in range(count + 1)]
        rows = [slice(start, end) for start, end in zip(ends, ends[1:])]
        return [tuple([mapped(itemgetter(r), each) for each in arrays]) for r in rows]

    def backward(self, x: Any, y: Any, weights: Any = None) -> list:
        """Return the losses of samples by context, after computing the gradients of their sum."""
        xs, ys = self.split_inputs(x), self.split(y)  # a part for each context
        with autograd.record():
            losses = self.weighted([self.losses(*part) for part in zip(xs, ys)], weights)
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
        """Return the factor of the loss, which keeps small gradients in the range of float16."""
        return self.scaler.loss_scale if self.scaler else 1.0

    def evaluate(self, x: Any, y: Any, meter: Meter, weights: Any = None) -> None:
        """Measure loss and metric on samples, without learning from them."""
        self.use_average(True)
        ys, outputs = self.split(y), [*map(self.outputs_of, self.split_inputs(x))]
        losses = [self.measure(*part) for part in zip(outputs, ys)]
        meter.add(self.weighted(losses, weights))
        if meter.outputs is not None:
            expect_one_target(y)
            labels = [y.argmax(axis=-1) for y in ys] if self.takes_shares else ys
            meter.outputs += zip(labels, map(self.answer, outputs))

    def weighted(self, losses: list, weights: Any) -> list:
        """Losses, by context, times the weights of their samples; the metric beside has none."""
        if weights is None:
            return losses
        return [self.weigh(x, w.astype(x.dtype)) for x, w in zip(losses, self.split(weights))]

    def answer(self, outputs: Any) -> Any:
        """Return the outputs in the form that the metrics take."""
        return self.answers(*outputs) if self.answers else outputs

    def split(self, array: Any) -> list:
        """Split this process's share of a batch over its contexts, or over fewer if it is small."""
        if isinstance(array, tuple):
            return [*zip(*map(self.split, array))]
        array = self.workers.part(array)
        if not len(array):
            return []
        return gluon.utils.split_and_load(array, self.ctx[: len(array)], even_split=False)

    def split_inputs(self, x: Any) -> list:
        """Split inputs over the contexts, in the precision of the net, unless it casts them itself.

        Whole numbers, such as those of words, are not rounded.
        """
        if isinstance(x, tuple):
            return [*zip(*map(self.split_inputs, x))]
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
        """Return the parameters that are measured, by the names of `save_parameters`."""
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
        """Return what else a resumed training needs: the trainer's state, and statistics."""
        arrays = {f"context/{i}/{name}": p.data(ctx).asnumpy() for i, ctx, name, p in self.own()}
        if self.average and self.average.means:  # and not these are in `weights`
            self.use_average(False)
            arrays |= {f"last/{i}": p.list_data()[0].asnumpy() for i, p in enumerate(self.learned)}
        if self.scaler:
            arrays |= number_attributes(self.scaler, "scaler")
        return arrays | optimizer_state(self.trainer)

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
        own = {f"{i}/{name}": p.shape for i, _, name, p in self.own()}
        check_shapes(below(state, "context"), own)
        restore_optimizer_state(self.trainer, state)
        for i, ctx, name, p in self.own():
            p.data(ctx)[:] = nd.array(state[f"context/{i}/{name}"], ctx=ctx)
        if "last/0" in state:
            learned = {str(i): p.shape for i, p in enumerate(self.learned)}
            check_shapes(below(state, "last"), learned)
            fill(self.learned, [nd.array(state[f"last/{i}"]) for i in range(len(self.learned))])
        if self.scaler:
            restore_numbers(self.scaler, "scaler", state)

    def own(self) -> Iterator:
        """Yield the parameters that each further context has for itself, such as running means."""
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
            net = Answering(self.net, self.answers) if self.answers else self.net
            net.hybridize()  # there may be no graph: a training that is resumed may have no step
            net(nd.zeros((1, self.features), ctx=self.ctx[0]))
            net.export(str(folder / "model"))
        graph = mx.sym.load(str(folder / "model-symbol.json"))
        add_notes(graph, notes)
        graph.save(str(folder / "model-symbol.json"))


def learner_of(data: Data, ctx: list, config: Config, workers: Workers, **options: Any) -> Learner:
    """Return the learner that a configuration asks for; `options` are further ones of it.

    Raises
    ------
    Refused
        The engine, the data or the net do not go with the configuration.
    """
    with workers.agreeing():
        check_learner(config.hybridize, ctx, config.precision)
        bare = net_of(config, data)
        net = with_scaling(bare, data)
        initialize(net, ctx)
        summary = try_out(net, config, data, ctx[0])
        frozen = by_name.frozen(own(bare), config.freeze, "--freeze")
        trainer = trainer_of(net, config.optimizer, settings_of(config), workers.kvstore)
        by_name.set_rates(own(bare), config.lr, trainer.optimizer, "--lr")
    loss = loss_of(data.task, shares={*MIXES} & {*config.augment})
    if config.head == "fused":
        from .gluoncv_nets import Features, FusedLossAndAccuracy, head_of

        head: Any = head_of(net)  # which a net for a fused head has
        loss, options["forward"] = FusedLossAndAccuracy(head), Features(net, head)
    kind: type[Learner] = Learner
    if config.profile:
        from .profile import Profiled  # a subclass of this class

        kind = Profiled
    learner = kind(
        net, loss, trainer, ctx, config.hybridize, data.features, clip=config.clip,
        accumulate=config.accumulate, precision=config.precision, casts=True, workers=workers,
        **options,
    )  # fmt: skip
    learner.lines = [table(summary), *[f"frozen: {listed(frozen)}"] * bool(frozen), ""]
    return learner


def loss_of(task: Task, shares: Any = False) -> gluon.HybridBlock:
    """Return the loss of a task with its metric beside it; labels may be `shares` of classes."""
    if task.name == "detection":
        from .detecting import MultiBoxLoss

        return MultiBoxLoss()
    if task.classes:
        return WithMetric(SoftmaxLoss(sparse_label=not shares), "accuracy")
    return WithMetric(ScaledSquare(task.std), "mae")


def trainer_of(net, optimizer: Any, settings: dict[str, Any], kvstore: str) -> gluon.Trainer:
    """Return a Trainer that updates the parameters on each context, and not in a kvstore.

    Raises
    ------
    Refused
        All parameters are frozen.
    """
    # In the order of the net: by name, states of dense9_ and dense10_ would not be those of
    # dense1_ and dense2_ in a net that resumes.
    parameters = list(net.collect_params().values())
    if not any(p.grad_req != "null" for p in parameters):
        raise Refused(
            f"net: nothing is learned: all of its {len(parameters)} parameters are frozen, with "
            "the grad_req 'null'; expected some with 'write'"
        )
    return gluon.Trainer(parameters, optimizer, settings, kvstore=kvstore, update_on_kvstore=False)


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
