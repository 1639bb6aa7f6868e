"""The range test of a learning rate: steps with rates that rise, and where the loss falls."""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from layers.engine import mx

from . import Refused
from .config import Config
from .data import Batches, load
from .from_config import batches_for, check_batches, contexts, reading
from .learner import Learner, learner_of
from .results import holds
from .screen import quiet_matplotlib, say
from .state import Meter
from .workers import Workers

__all__ = ["Found", "find", "picture", "range_test"]

FILES = ("find_lr.csv", "find_lr.png")
FAR_ABOVE = 4.0  # times the least smoothed loss: there the test ends
WIDTH = 0.25  # of the smoothing, in powers of ten of the learning rate
LEARNED = 0.1  # the share of the first loss by which it must fall for a suggestion
CERTAIN = 3  # and so many times the standard error of the fall
WITHIN = (100, 10)  # the suggestion is the least loss's rate divided by at most, and at least, this


@dataclass(frozen=True)
class Found:
    """The steps of a range test.

    Attributes
    ----------
    rates, losses, smooth : array (steps,)
        The learning rate of each step, its mean loss, and that of the steps around it.
    """

    rates: np.ndarray
    losses: np.ndarray
    smooth: np.ndarray

    @property
    def least(self) -> int:
        """Return the step with the least smoothed loss."""
        return int(self.smooth.argmin())

    @property
    def suggestion(self) -> float | None:
        """Return the rate at which the smoothed loss falls fastest; None if it falls too little.

        It is looked for between a hundredth and a tenth of the rate of the least loss. fastai
        suggests either that tenth (`minimum`) or the steepest fall (`steep`, as Lightning does).
        Within this range the steepest fall is the loss's and not that of the noise of batches.

        J. Howard and S. Gugger, fastai: a layered API for deep learning, Information 11 (2020);
        `fastai.callback.schedule`, `lightning.pytorch.tuner.lr_finder`.
        """
        least = self.rates[self.least]
        if least < WITHIN[1] * self.rates[1] or self.fall < self.fall_expected:
            return None
        slope = np.gradient(self.smooth, np.log10(self.rates))
        slope[(self.rates < least / WITHIN[0]) | (self.rates > least / WITHIN[1])] = math.inf
        return float(self.rates[slope.argmin()])

    @property
    def start(self) -> float:
        """Return the loss at first: the mean over the first tenth of the steps."""
        return float(self.losses[: self.first].mean())

    @property
    def first(self) -> int:
        return max(1, len(self.losses) // 10)

    @property
    def fall(self) -> float:
        """From the loss at first to the least smoothed loss."""
        return self.start - float(self.smooth[self.least])

    @property
    def fall_expected(self) -> float:
        """Return the fall that a suggestion needs: a tenth of the loss, and more than noise."""
        noise = (self.losses - self.smooth)[: self.least + 1].std()
        weights = weights_of(np.log10(self.rates))[self.least]
        error = noise * math.sqrt(1 / self.first + np.square(weights).sum())
        return max(LEARNED * self.start, CERTAIN * error)


def find(options: Config) -> float | None:
    """Run the range test that the options ask for, print a suggestion, and write the files.

    Raises
    ------
    Refused
        The options ask for something that is missing, or files cannot be written.
    """
    if held := holds(options.out):
        raise Refused(f"--out {options.out}: it holds a run: {held}; expected another folder")
    there = [name for name in FILES if (options.out / name).exists()]
    if there and not options.overwrite:
        raise Refused(
            f"--out {options.out}: it has {there[0]} already; expected --overwrite, or another "
            "folder"
        )
    ctx = contexts(options.ctx)
    data = load(options.data, options.validation, reading(options))
    check_batches(len(data.x), options.batch_size, len(ctx))
    batches, _ = batches_for(data, options)
    mx.random.seed(options.seed)
    learner = learner_of(data, ctx, options, Workers())
    rates = np.geomspace(options.lowest, options.highest, options.steps)
    found = range_test(learner, batches, rates, options.seed)
    if len(found.rates) < 10:
        raise Refused(f"--from {options.lowest:g}: the loss grows at once; expected a lower rate")
    what = f"{options.data}, {options.net}, {options.optimizer}, batches of {options.batch_size}"
    write(options.out, found, what)
    for line in described(found):
        say(line, sys.stdout)
    say(f"{options.out}: find_lr.csv, find_lr.png", sys.stdout)
    return found.suggestion


def range_test(learner: Learner, data: Batches, rates: np.ndarray, seed: int = 0) -> Found:
    """Take a step with each of the rates, until the loss is far above its least.

    Parameters
    ----------
    learner : Learner
        It is trained by this: what it has learned is of no use.
    data : Batches
        As many of them as there are rates, again from the first when they end.
    rates : array (steps,)
        They rise, each by the same factor.
    seed : int
        Of the order of the samples.

    Returns
    -------
    Found

    L. N. Smith, Cyclical learning rates for training neural networks, WACV 2017.
    """
    losses: list[float] = []
    least = math.inf  # of the means of five losses
    for rate, (x, y, *weights) in zip(rates, endless(data, np.random.default_rng(seed))):
        learner.trainer.set_learning_rate(float(rate))
        meter = Meter("range test")
        learner.learn(x, y, meter, *weights)
        loss, _ = meter.read()
        if meter.bad:
            break
        losses.append(loss)
        recent = float(np.mean(losses[-5:]))
        least = min(least, recent)
        if recent > FAR_ABOVE * least:
            break
    rates = rates[: len(losses)]
    return Found(rates, np.array(losses), smoothed(np.log10(rates), np.array(losses)))


def endless(data: Batches, rng: np.random.Generator) -> Iterator:
    while True:
        yield from data.batches(rng)


def smoothed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return at each x the mean of y, weighted with a normal density around x: it has no lag."""
    return weights_of(x) @ y


def weights_of(x: np.ndarray) -> np.ndarray:
    """Return in row i the weights with which the values at each x count for that at x[i]."""
    weights = np.exp(-0.5 * ((x[:, None] - x) / WIDTH) ** 2)
    return weights / weights.sum(axis=1, keepdims=True)


def described(found: Found) -> Iterator[str]:
    """Yield the results as lines of text."""
    rates, least = found.rates, found.rates[found.least]
    yield (
        f"{len(rates)} steps with learning rates from {rates[0]:.2g} to {rates[-1]:.2g}: "
        f"the loss is {found.start:.4g} at first, and lowest, {found.smooth[found.least]:.4g}, at "
        f"the rate {least:.2g}"
    )
    if found.suggestion is not None:
        yield (
            f"try --lr {found.suggestion:.2g}: of the rates from a hundredth to a tenth of "
            f"{least:.2g} it is the one at which the loss falls most steeply"
        )
    elif found.fall < found.fall_expected:
        yield (
            f"no rate can be suggested: the loss falls by {max(found.fall, 0):.3g}; expected "
            f"{found.fall_expected:.3g}, a tenth of it and more than the noise of batches gives; "
            "try another --from and --to, more --steps, or a larger --batch-size"
        )
    else:
        yield (
            f"no rate can be suggested: the loss is least within ten times --from {rates[0]:.2g}; "
            "try a lower --from"
        )


def write(out: Path, found: Found, what: str) -> None:
    """Write the steps as a table and as a picture.

    Raises
    ------
    Refused
        The folder cannot be made, or a file in it cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with (out / "find_lr.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["learning_rate", "loss", "smoothed"])
            writer.writerows(
                zip(*(map(float, c) for c in (found.rates, found.losses, found.smooth)))
            )
        picture(found, out / "find_lr.png", what)
    except OSError as error:
        raise Refused(f"--out {out}: cannot write there: {error.strerror or error}") from error


@quiet_matplotlib()
def picture(found: Found, path: Path, what: str) -> None:
    """Write a picture of the loss over the learning rate, with the suggestion marked."""
    from matplotlib.figure import Figure  # imported here, since it is slow

    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    axes: Any = figure.subplots()
    axes.plot(found.rates, found.losses, ".", color="#8da0b3", markersize=4, label="loss of a step")
    axes.plot(found.rates, found.smooth, color="#0f5fa8", linewidth=1.8, label="smoothed")
    if (rate := found.suggestion) is not None:
        y = float(np.interp(math.log(rate), np.log(found.rates), found.smooth))
        label = f"rate to try: {rate:.2g}"
        axes.axvline(rate, color="#c2410c", linewidth=0.8, linestyle=":", zorder=0)
        axes.plot(rate, y, "o", color="#c2410c", markersize=8, fillstyle="none", label=label)
    top = max(found.smooth[: found.least + 1].max(), found.losses[: found.least + 1].max())
    axes.set(xscale="log", xlabel="learning rate", ylabel="loss", ylim=(0, 1.3 * top))
    axes.set_title(what, parse_math=False, loc="left", size=11)
    axes.grid(alpha=0.25, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", fontsize=9, framealpha=0.85, edgecolor="none")
    figure.savefig(path)
