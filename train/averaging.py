"""The moving mean of weights, which is measured and saved instead of the last ones."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from layers._errors import quoted
from layers.engine import gluon, nd

from . import Refused
from .state import Callback, Run

__all__ = ["Average", "fill"]


class Average(Callback):
    """The mean of the weights after each step, the last ones counting most.

    After t steps it is Σ dᵗ⁻ⁱ wᵢ / Σ dᵗ⁻ⁱ, i from 1 to t: a mean of about the last 1 / (1 - d)
    steps. Held-out samples are measured with it, and what is saved has it; learning goes on with
    the weights themselves.

    Parameters
    ----------
    decay : float
        d, from 0 (the last weights) to below 1.

    B. T. Polyak and A. B. Juditsky, Acceleration of stochastic approximation by averaging, SIAM
    J. Control Optim. 30 (4), 1992.

    Raises
    ------
    Refused
        `decay` is not from 0 to below 1.
    """

    def __init__(self, decay: float = 0.99):
        if not (isinstance(decay, Real) and 0 <= decay < 1):
            raise Refused(f"decay: expected a number from 0 to below 1, not {decay!r}")
        self.decay, self.steps = decay, 0
        self.means: list = []  # of each parameter, in float32, on its first context
        self.weights: list = []  # put aside while the means are in their place

    def begin(self, run: Run) -> None:
        """Have the learner keep the mean: that of the run that is resumed, or else a new one.

        Raises Refused where that is of parameters of other shapes.
        """
        learner: Any = run.learner  # one of Gluon
        if not (run.history or run.step):
            self.steps, self.means, self.weights = 0, [], []
        its, own = [mean.shape for mean in self.means], [p.shape for p in learner.learned]
        if self.means and its != own:
            raise Refused(
                f"Average: its means in {run.resumed} are {quoted(its)}; expected {quoted(own)}"
            )
        self.means = [
            mean.as_in_context(p.list_ctx()[0]) for mean, p in zip(self.means, learner.learned)
        ]
        learner.average = self

    def end(self, run: Run) -> None:
        """Leave the means in the network."""
        learner: Any = run.learner
        learner.use_average(True)

    def add(self, parameters: Sequence[gluon.Parameter]) -> None:
        """Take the weights into the mean."""
        self.steps += 1
        share = (1 - self.decay) / (1 - self.decay**self.steps)
        now = [p.list_data()[0].astype("float32") for p in parameters]
        if not self.means:
            self.means = now
            return
        for mean, w in zip(self.means, now):
            mean += share * (w - mean)

    def put(self, parameters: Sequence[gluon.Parameter]) -> None:
        """Put the means into the parameters, and the weights aside."""
        self.weights = [p.list_data()[0].copy() for p in parameters]
        fill(parameters, self.means)

    def take_back(self, parameters: Sequence[gluon.Parameter]) -> None:
        """Put the weights back."""
        fill(parameters, self.weights)
        self.weights = []

    def state(self) -> dict[str, np.ndarray]:
        """The means, and how many steps they are of."""
        arrays = {f"mean.{i}": mean.asnumpy() for i, mean in enumerate(self.means)}
        return arrays | {"steps": np.array(self.steps), "decay": np.array(self.decay)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Go on from a `state`; raises ValueError where it is that of another `decay`."""
        if (its := float(state.get("decay", self.decay))) != self.decay:
            raise ValueError(f"its Average has decay {its:g}, that of this training {self.decay:g}")
        if (steps := int(state["steps"])) < 0:
            raise ValueError(f"its Average is of {steps} steps; expected a whole number")
        self.steps = steps
        count = sum(name.startswith("mean.") for name in state)
        self.means = [nd.array(state[f"mean.{i}"]) for i in range(count)]
        self.weights = []


def fill(parameters: Sequence[gluon.Parameter], values: Sequence) -> None:
    """Write values into parameters, on all contexts, in the parameters' dtypes."""
    for parameter, value in zip(parameters, values):
        for data in parameter.list_data():
            data[:] = value.as_in_context(data.context).astype(data.dtype)
