"""Metrics of scikit-learn for held-out samples: a row each, and their values beside a guess."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import Refused

__all__ = ["GUESSES", "ROWS", "Compared", "Score", "compared", "fitting", "lines_of", "margins"]

GUESSES = {True: "most frequent class", False: "mean"}  # said of all samples, by whether of classes


SHARES = (0.5, 0.8, 0.9, 0.95, 0.99)  # of targets, which an interval is to have in it


@dataclass(frozen=True)
class Score:
    """A metric by its name in `--metric`, its title in a table, and its function.

    Attributes
    ----------
    needs : str
        The second array of the function: ``"labels"``, (n,) the most probable class of each sample;
        ``"probabilities"``, (n, classes); or ``"numbers"``, of the shape of the targets.
    function : callable
        (sklearn.metrics, targets, second array) to a number.
    greater_is_better : bool
    form : str
        The format of a value.
    only_two : bool
        It is a metric of two classes.
    """

    name: str
    title: str
    needs: str
    function: Callable[[Any, np.ndarray, np.ndarray], float]
    greater_is_better: bool = True
    form: str = ".4f"
    only_two: bool = False

    @property
    def of_classes(self) -> bool:
        return self.needs != "numbers"

    def value(self, y: np.ndarray, outputs: np.ndarray) -> float:
        """Return the metric of probabilities (n, classes), or numbers; NaN where it has no value.

        Raises
        ------
        ValueError
            Targets and outputs do not fit together; the message has their shapes.
        Refused
            scikit-learn is not installed.
        """
        try:
            from sklearn import metrics
            from sklearn.exceptions import UndefinedMetricWarning
        except ModuleNotFoundError as error:
            raise Refused(f"{error.name} is not installed: pip install scikit-learn") from error

        if self.of_classes:
            outputs, y = by_label(y, outputs)
            given = outputs.argmax(axis=1) if self.needs == "labels" else outputs
        elif outputs.size != y.size:
            raise ValueError(f"y is {y.shape}, outputs are {outputs.shape}; expected as many")
        else:
            given = outputs.astype("float64").reshape(y.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # NaN says it
            return float(self.function(metrics, y, given))

    def quality(self, value: float) -> float:
        """Return the value with a sign by which more is better; NaN is the worst."""
        return -math.inf if math.isnan(value) else value if self.greater_is_better else -value

    def show(self, value: float) -> str:
        return "–" if math.isnan(value) else format(value, self.form)


def by_label(y: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities (k, classes), whose sums are 1 in float64, and the labels (k,).

    Raises
    ------
    ValueError
        There is not a label for each row of probabilities.
    """
    rows = outputs.astype("float64").reshape(-1, outputs.shape[-1])
    if rows.shape[1] < 2 or len(rows) != y.size:
        raise ValueError(
            f"y is {y.shape}, outputs are {outputs.shape}; expected outputs (*y.shape, classes)"
        )
    return rows / rows.sum(axis=1, keepdims=True), y.ravel().astype(int)


def f1(of: Any, y: np.ndarray, p: np.ndarray) -> float:
    """Return the F1 of class 1 of two; of more the mean of the classes."""
    average = "binary" if p.shape[1] == 2 else "macro"
    return of.f1_score(y, p.argmax(axis=1), average=average, zero_division=0.0)


def f1_rarer(of: Any, y: np.ndarray, said: np.ndarray) -> float:
    rarer = np.bincount(y, minlength=2).argmin()
    return of.f1_score(y == rarer, said == rarer, zero_division=0.0)


def balanced_accuracy(of: Any, y: np.ndarray, said: np.ndarray) -> float:
    """Return the mean recall of the classes that there are, as `balanced_accuracy_score` does.

    That warns of predicted classes that no sample has, as happens with few samples.
    """
    return of.recall_score(y, said, labels=np.unique(y), average="macro", zero_division=0.0)


def roc_auc(of: Any, y: np.ndarray, p: np.ndarray) -> float:
    """Return the area for class 1 of two; of more the mean of each class against the rest.

    A class that no sample has, or all have, has no area.
    """
    classes = [1] if p.shape[1] == 2 else range(p.shape[1])
    counted = [c for c in classes if 0 < (y == c).sum() < len(y)]
    areas = [of.roc_auc_score(y == c, p[:, c]) for c in counted]
    return float(np.mean(areas)) if areas else math.nan


ROWS = {
    row.name: row
    for row in (
        Score("accuracy", "accuracy", "labels", lambda of, y, said: of.accuracy_score(y, said),
              form=".2%"),
        Score("balanced_accuracy", "balanced accuracy", "labels", balanced_accuracy, form=".2%"),
        Score("f1", "F1", "probabilities", f1),
        Score("f1_macro", "F1, mean of the classes", "labels", lambda of, y, said: of.f1_score(
            y, said, average="macro", zero_division=0.0)),
        Score("f1_rarer", "F1 of the rarer class", "labels", f1_rarer, only_two=True),
        Score("roc_auc", "ROC-AUC", "probabilities", roc_auc),
        Score("log_loss", "log loss", "probabilities", lambda of, y, p: of.log_loss(
            y, p, labels=range(p.shape[1])), greater_is_better=False),
        Score("r2", "R²", "numbers", lambda of, y, values: of.r2_score(y, values)),
        Score("mae", "mean absolute error", "numbers", lambda of, y, values:
              of.mean_absolute_error(y, values), greater_is_better=False, form=".4g"),
        Score("rmse", "root mean square error", "numbers", lambda of, y, values:
              of.root_mean_squared_error(y, values), greater_is_better=False, form=".4g"),
        Score("median_absolute_error", "median absolute error", "numbers", lambda of, y, values:
              of.median_absolute_error(y, values), greater_is_better=False, form=".4g"),
    )
}  # fmt: skip


def fitting(classes: int) -> list[Score]:
    """Return the metrics of so many classes; of 0 those of numbers."""
    rows = [row for row in ROWS.values() if row.of_classes == bool(classes)]
    return [row for row in rows if classes == 2 or not row.only_two]


def margins(distances: np.ndarray) -> dict[str, float]:
    """Return half widths of intervals around predicted numbers, by the share of targets in them.

    Of n distances of held-out targets it is the k-th smallest, k = ⌈share (n + 1)⌉: a target drawn
    as those were is within it with at least this probability. A share that needs more samples is
    left out.

    V. Vovk, A. Gammerman, G. Shafer, Algorithmic learning in a random world, 2005.
    """
    ranks = {share: math.ceil(share * (len(distances) + 1)) for share in SHARES}
    ordered = np.sort(distances)
    return {str(s): float(ordered[k - 1]) for s, k in ranks.items() if k <= len(ordered)}


@dataclass(frozen=True)
class Compared:
    """A row of the table: a metric, its value, and the same of a guess."""

    name: str
    number: float
    title: str
    value: str
    baseline: str


def compared(y: np.ndarray, outputs: np.ndarray, guess: np.ndarray) -> list[Compared]:
    """Return the metrics of a task's held-out samples, each beside that of the same guess for all.

    Parameters
    ----------
    y : array (n,)
        Indices of classes, or numbers.
    outputs : array (n, classes) or (n, 1)
        Probabilities, or numbers.
    guess : array (classes,) or (1,)
        The shares of the classes, or the mean, of the samples that were learned from.
    """
    guesses = np.tile(np.asarray(guess, "float64"), (len(y), 1))
    classes = outputs.shape[1] if outputs.shape[1] > 1 else 0
    found = []
    for row in fitting(classes):
        if row.name != "f1":
            number, guessed = row.value(y, outputs), row.value(y, guesses)
            found.append(Compared(row.name, number, row.title, row.show(number), row.show(guessed)))
    return found


def lines_of(rows: list[Compared], baseline: str) -> str:
    """Return the table as lines of text."""
    table = [("held out", "value", baseline)]
    table += [(row.title, row.value, row.baseline) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table
    )
