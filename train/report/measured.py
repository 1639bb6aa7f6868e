"""Held-out samples, what the network says of them, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..scores import Compared, Score, compared

__all__ = ["Importance", "Measured", "importance"]

MOST_CLASSES = 30  # of a whole matrix, and lines of a list
BINS = 10  # of probabilities, in a calibration
PICTURES, ROWS = 24, 12
REPEATS = 10  # of a column that is shuffled


@dataclass(frozen=True)
class Measured:
    """The held-out samples, and what the network says of them.

    x : (n, ...) as in the data; y : (n,) indices of classes, or numbers
    values : (n, classes) probabilities, or (n, 1) numbers
    guess : (classes,) or (1,), as of `train.scores.compared`
    Of a detector y : (n, objects, 5) and values : (n, k, 6), as `train.detecting` has them.
    """

    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    guess: np.ndarray

    @property
    def classes(self) -> int:
        return self.values.shape[1] if self.values.shape[1] > 1 else 0

    @cached_property
    def said(self) -> np.ndarray:
        """Return the most probable class, or the number."""
        return self.values.argmax(axis=1) if self.classes else self.values[:, 0]

    @cached_property
    def labels(self) -> np.ndarray:
        return self.y.astype(int)

    @property
    def metrics(self) -> list[Compared]:
        return compared(self.y, self.values, self.guess)

    @cached_property
    def confusions(self) -> np.ndarray:
        """Return how often a class (row) was taken for a class (column)."""
        from sklearn.metrics import confusion_matrix

        return confusion_matrix(self.labels, self.said, labels=range(self.classes))

    @property
    def frequent(self) -> list[tuple[int, int, int, str]]:
        """Return the most frequent confusions: class, class said, times, share of the class."""
        counts = self.confusions
        wrong = counts - np.diag(np.diag(counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CLASSES]
        pairs = [(i, j) for i, j in zip(*np.unravel_index(order, wrong.shape)) if wrong[i, j]]
        return [(i, j, wrong[i, j], f"{wrong[i, j] / counts[i].sum():.1%}") for i, j in pairs]

    @cached_property
    def calibration(self) -> np.ndarray:
        """Return, by bins of probability: its mean, the share right, the count (bins, 3)."""
        sure = self.values.max(axis=1)
        places = np.minimum((sure * BINS).astype(int), BINS - 1)
        count = np.bincount(places, minlength=BINS)
        sums = [np.bincount(places, w, BINS) for w in (sure, self.said == self.labels)]
        return np.stack([*sums / np.maximum(count, 1), count], axis=1)[count > 0]

    @property
    def calibration_error(self) -> float:
        """Return the mean distance of probability and share right, weighted by samples."""
        sure, right, count = self.calibration.T
        return float(np.average(abs(sure - right), weights=count))

    @property
    def rarer(self) -> int:
        return int(np.bincount(self.labels, minlength=2).argmin())

    @property
    def thresholds(self) -> list[tuple[str, str, str, str]]:
        """Return precision, recall and F1 of the rarer of two classes by threshold."""
        from sklearn.metrics import precision_recall_fscore_support

        truth, p, rows = self.labels == self.rarer, self.values[:, self.rarer], []
        for threshold in np.arange(1, 10) / 10:
            precision, recall, f1, _ = precision_recall_fscore_support(
                truth, p >= threshold, average="binary", zero_division=0.0
            )
            rows.append((f"{threshold:.1f}", f"{precision:.1%}", f"{recall:.1%}", f"{f1:.4f}"))
        return rows

    @cached_property
    def losses(self) -> np.ndarray:
        """Return the loss of each sample: the cross entropy, or the distance."""
        if not self.classes:
            return np.abs(self.said - self.y)
        return -np.log(np.maximum(self.values[np.arange(len(self.y)), self.labels], 1e-30))

    @property
    def has_mistakes(self) -> bool:
        return not self.classes or bool((self.said != self.labels).any())

    @property
    def has_pictures(self) -> bool:
        return self.x.ndim in (3, 4)

    @property
    def worst(self) -> list[int]:
        """Return the samples with the largest loss, or half as many where none is a mistake."""
        order, most = (
            np.argsort(-self.losses, kind="stable"),
            PICTURES if self.has_pictures else ROWS,
        )
        if self.classes and self.has_mistakes:
            order = order[(self.said != self.labels)[order]]
        return order[: most if self.has_mistakes else most // 2].tolist()


@dataclass(frozen=True)
class Importance:
    """How much worse the metric is without a column: mean and deviation of some shuffles."""

    column: str
    mean: float
    std: float


def importance(
    predict: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    y: np.ndarray,
    columns: dict[str, list[int]],
    row: Score,
    seed: int = 0,
) -> list[Importance]:
    """Return the permutation importance of columns, the greatest first.

    Parameters
    ----------
    predict : callable
        (n, features) to probabilities (n, classes), or numbers (n, 1).
    columns : dict of str to list of int
        The features of each, which are shuffled together.

    L. Breiman, Random forests, Machine Learning 45, 2001.
    """
    rng, found = np.random.default_rng(seed), []
    whole = row.quality(row.value(y, predict(x)))
    for name, places in columns.items():
        shuffled = np.repeat(x[None], REPEATS, axis=0)
        for each in shuffled:
            each[:, places] = x[rng.permutation(len(x))][:, places]
        values = predict(shuffled.reshape(-1, x.shape[1])).reshape(REPEATS, len(x), -1)
        drops = [whole - row.quality(row.value(y, each)) for each in values]
        found.append(Importance(name, float(np.mean(drops)), float(np.std(drops))))
    return sorted(found, key=lambda each: -each.mean)
