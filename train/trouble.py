"""What to do about a loss that is not finite, or explodes: say where it began."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from layers.engine import autograd

from . import Diverged
from .loop import remaining
from .state import Callback, Epoch, Meter, Run

__all__ = ["Guard"]

EXPLODED = 100  # times the loss before the training


class Guard(Callback):
    """End a training whose loss is not finite or explodes, and name the first layer that went bad.

    It has exploded when its mean over an epoch is 100 times the loss before the training. To find
    the layer, the epoch is repeated from its beginning, whose state is kept in memory, with a look
    at every step. Callbacks that change how it learns come before this one in the list; the last
    checkpoint that a `Checkpoint` saves is from before the trouble.
    """

    def __init__(self):
        self.start, self.exploded = math.nan, False
        self.weights, self.state_there, self.step = {}, {}, 0

    def begin(self, run: Run) -> None:
        self.remember(run)
        self.exploded = False
        if not (run.history or run.step):  # of a resumed run `restore` has set `start`
            self.start = run.start

    def after_epoch(self, run: Run, epoch: Epoch) -> None:
        if 0 < EXPLODED * self.start < epoch.loss:
            run.history.remove(epoch)  # the one to repeat
            self.exploded = True
            raise Diverged(
                f"epoch {epoch.epoch}: the loss has grown to {epoch.loss:.4g}, from "
                f"{self.start:.4g} before the training"
            )
        self.remember(run)

    def remember(self, run: Run) -> None:
        self.weights, self.state_there = run.learner.weights(), run.learner.state()
        self.step = run.step

    def diverged(self, run: Run, error: Diverged) -> None:
        """Raise the error with the layer in its message, where one is found.

        Several processes come here together, and repeat the steps together.
        """
        if found := self.find(run):
            raise Diverged(f"{error}; {found}") from error

    def find(self, run: Run) -> str:
        """Repeat the epoch, up to the step that went wrong, without the mean of an `Average`.

        What goes wrong are the weights, which are in the net from here on.
        """
        learner: Any = run.learner
        learner.average = None
        learner.set_weights(self.weights)
        learner.restore(self.state_there)
        run.step, last = self.step, None
        for step, (x, y, *weights) in enumerate(remaining(run), self.step + 1):
            before, meter = learner.weights(), Meter("")
            learner.learn(x, y, meter, *weights)
            meter.read()
            bad = first_bad(learner.weights())
            if any(run.workers.sums([meter.bad > 0 or bad is not None])):
                learner.set_weights(before)
                return f"in step {step} {look(run, x, y) or updated(learner, bad)}"
            last = x, y
        return f"at its end {largest(run, last[0])}" if last and self.exploded else ""

    def state(self) -> dict[str, np.ndarray]:
        return {"start": np.array(self.start)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.start = state["start"].item()


def first_bad(arrays: dict[str, np.ndarray]) -> str | None:
    """Return the name of the first array with a value that is not finite."""
    return next((name for name, array in arrays.items() if not np.isfinite(array).all()), None)


def updated(learner: Any, name: str | None) -> str:
    """Return a note of a step whose outputs and gradients are finite, or cannot be looked at."""
    if name is None:
        return "the loss is the first that is not finite"
    if not hasattr(learner, "net"):
        return f"{name} is the first parameter that becomes infinite or NaN"
    return f"the update makes {name} infinite or NaN; outputs and gradients are finite before"


def outputs(run: Run, x: Any) -> tuple[list, list]:
    """Return the net's outputs for a batch; and by layer, in the order of calls, the largest.

    That is the largest in all processes, which all call it.
    """
    learner: Any = run.learner
    found, handles = [], []

    def watch(name, block):
        def note(_, inputs, output):
            for each in output if isinstance(output, list | tuple) else [output]:
                found.append((name, type(block).__name__, float(np.abs(each.asnumpy()).max())))

        handles.append(block.register_forward_hook(note))

    learner.forward.hybridize(False)
    for name, block in layers_of(learner.net):
        watch(name, block)
    try:
        results = [learner.outputs_of(part) for part in learner.split_inputs(x)]
    finally:
        for handle in handles:
            handle.detach()
    most = np.max(run.workers.each([row[2] for row in found]), axis=0)
    return results, [(name, kind, value) for (name, kind, _), value in zip(found, most.tolist())]


def layers_of(block: Any, path: str = "") -> list[tuple[str, Any]]:
    """Return the blocks without blocks in them, by their names from the net on, such as 1.0."""
    if not block._children:
        return [(path or "the net", block)]
    inside = {f"{path}.{name}" if path else name: b for name, b in block._children.items()}
    return [pair for name, each in inside.items() for pair in layers_of(each, name)]


def look(run: Run, x: Any, y: Any) -> str | None:
    """Return a note of the first layer whose output, or else gradient, is not finite."""
    learner: Any = run.learner
    if not hasattr(learner, "net"):
        return None
    with autograd.record():
        results, found = outputs(run, x)
        losses = [learner.measure(r, labels) for r, labels in zip(results, learner.split(y))]
    for name, kind, most in found:
        if not math.isfinite(most):
            return f"the output of layer {name} ({kind}) is the first that is {most}"
    if any(run.workers.sums([not all(np.isfinite(loss.asnumpy()).all() for loss in losses)])):
        return "the loss itself is not finite; the outputs of all layers are"
    if losses:
        autograd.backward(losses)
    learner.trainer.allreduce_grads()
    named = learner.net._collect_params_with_prefix()
    learned = {name: p.grad().asnumpy() for name, p in named.items() if p.grad_req != "null"}
    if name := first_bad(dict(reversed(learned.items()))):  # backward begins at the end
        return f"the gradient of {name} is the first that is not finite"
    return None


def largest(run: Run, x: Any) -> str:
    """Return a note of the layer with the largest output."""
    if not hasattr(run.learner, "net"):
        return f"the largest parameter is {greatest(run.learner.weights())}"
    name, kind, most = max(outputs(run, x)[1], key=lambda row: row[2])
    return f"layer {name} ({kind}) has the largest outputs, up to {most:.3g}"


def greatest(arrays: dict[str, np.ndarray]) -> str:
    name = max(arrays, key=lambda each: np.abs(arrays[each]).max())
    return f"{name}, up to {np.abs(arrays[name]).max():.3g}"
