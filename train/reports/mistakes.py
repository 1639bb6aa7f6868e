"""What the network says of the held-out samples, and where it is most wrong."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from . import figures
from .html import Html, joined, table, tag
from .read import Measured, RunReport

__all__ = ["overview", "pixels_of", "worst"]

MOST_CLASSES = 30  # of a whole matrix
PICTURES, ROWS = 24, 12
COLUMNS = 8  # of a table


def overview(run: RunReport, measured: Measured, colour: int) -> Html:
    """The confusion matrix, or the predicted numbers over the true ones."""
    if not run.run.classes:
        y, said = measured.y.astype("float64"), measured.values[:, 0]
        error, square = np.abs(said - y).mean(), np.square(said - y).mean()
        caption = f"{len(y):,} held-out samples: mean absolute error {error:.4g}, "
        caption += f"root mean square error {np.sqrt(square):.4g}"
        if variance := y.var():
            caption += f", R² {1 - square / variance:.4f}"
        caption += ". On the line the prediction is right."
        picture = figures.predicted(measured, colour)
        figure = tag("figure", tag("figcaption", caption), picture, class_="square")
        return joined([tag("h3", "Predicted and true"), figure])
    counts = confusion(measured, len(run.run.classes))
    right = f"{np.trace(counts):,} of {counts.sum():,} held-out samples are right"
    text = tag("p", f"{right}. Rows are the true classes, columns what the network says.",
               class_="soft")  # fmt: skip
    if len(run.run.classes) > MOST_CLASSES:
        return joined([tag("h3", "Confusions"), text, frequent(counts, run.run.classes)])
    return joined([tag("h3", "Confusions"), text, matrix(counts, run.run.classes)])


def confusion(measured: Measured, classes: int) -> np.ndarray:
    """How often a class (row) was taken for a class (column)."""
    counts = np.zeros((classes, classes), int)
    np.add.at(counts, (measured.y.astype(int), measured.said), 1)
    return counts


def matrix(counts: np.ndarray, classes: list[str]) -> Html:
    """The counts, darker where more of the class is; recall and precision beside them."""
    true, said = counts.sum(axis=1), counts.sum(axis=0)
    rows = []
    for i, name in enumerate(classes):
        cells = [cell(counts[i, j], counts[i, j] / max(true[i], 1), i == j) for j in
                 range(len(classes))]  # fmt: skip
        rows.append([tag("th", name, scope="row"), *cells, rate(counts[i, i], true[i])])
    precision = [rate(counts[j, j], said[j]) for j in range(len(classes))]
    rows.append([tag("th", "precision", class_="rate"), *precision, tag("td", "")])
    return table(["", *classes, "recall"], rows, "confusion")


def cell(count: int, share: float, right: bool) -> Html:
    if not count:
        return tag("td", "·", class_="zero")
    kind, depth = ("--right", 0.12 + 0.5 * share) if right else ("--wrong", 0.15 + 0.75 * share)
    return tag("td", f"{count:,}", style=f"background: rgba(var({kind}), {min(depth, 1):.2f})")


def rate(part: int, whole: int) -> Html:
    return tag("td", f"{part / whole:.0%}" if whole else "–", class_="rate")


def frequent(counts: np.ndarray, classes: list[str]) -> Html:
    """The most frequent confusions, where there are too many classes for a matrix."""
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CLASSES]
    pairs = [(int(i), int(j)) for i, j in zip(*np.unravel_index(order, wrong.shape))]
    rows = [
        [classes[i], classes[j], int(wrong[i, j]), f"{wrong[i, j] / counts[i].sum():.1%}"]
        for i, j in pairs
        if wrong[i, j]
    ]
    return table(["true", "said", "times", "of the class"], rows)


def worst(run: RunReport, measured: Measured) -> Html:
    """The samples with the largest loss, as pictures or as rows of a table."""
    classes = run.run.classes
    order = np.argsort(-measured.losses(bool(classes)), kind="stable")
    wrong = measured.said != measured.y
    title, images = "Worst mistakes", measured.x.ndim in (3, 4)
    most = PICTURES if images else ROWS
    if classes and not wrong.any():
        title, order = "No mistakes; the least certain", order[: most // 2]
    elif classes:
        order = order[wrong[order]][:most]
    order = order[:most]
    show = pictures if images else rows_of_table
    return joined([tag("h3", title), show(run, measured, order)])


def told(run: RunReport, measured: Measured, i: int) -> list[str]:
    """The truth, what the network says, and how sure it is or how far off."""
    classes, said = run.run.classes, measured.said[i]
    if classes:
        truth = classes[int(measured.y[i])]
        return [truth, classes[int(said)], f"{measured.values[i].max():.1%}"]
    return [f"{measured.y[i]:.5g}", f"{said:.5g}", f"{said - measured.y[i]:+.4g}"]


def pictures(run: RunReport, measured: Measured, order: np.ndarray) -> Html:
    """Pictures, each with what it is and what it is taken for."""
    figures = []
    for i in order.tolist():
        truth, said, sure = told(run, measured, i)
        text = tag("figcaption", tag("strong", said), f", {sure}", tag("br"), f"is {truth}")
        image = tag("img", src=data_uri(measured.x[i], run.run.pixels), alt=f"sample {i + 1}")
        figures.append(tag("figure", image, text))
    return tag("div", *figures, class_="gallery")


def data_uri(x: np.ndarray, white: int | None) -> str:
    """A picture as PNG."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels_of(x, white)).save(file, "png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def pixels_of(x: np.ndarray, white: int | None) -> np.ndarray:
    """A picture's bytes; numbers that are no pixels are stretched from black to white."""
    least, most = (0.0, float(white)) if white else (float(x.min()), float(x.max()))
    grey = (x.astype("float64") - least) * (255 / ((most - least) or 1))
    pixels = grey.round().clip(0, 255).astype("uint8")
    if pixels.ndim == 3 and pixels.shape[2] != 3:  # channels before height and width, or others
        pixels = pixels.transpose(1, 2, 0) if pixels.shape[0] <= 4 else pixels
        pixels = pixels if pixels.shape[2] == 3 else pixels.mean(axis=2).astype("uint8")
    return pixels


def rows_of_table(run: RunReport, measured: Measured, order: np.ndarray) -> Html:
    """Rows, with the columns by their names."""
    x = measured.x.reshape(len(measured.x), -1)
    names = run.run.columns or [f"x[{i}]" for i in range(x.shape[1])]
    head: list[Any] = ["true", "predicted", "probability" if run.run.classes else "off by"]
    found = table(
        head + names[:COLUMNS],
        [[*told(run, measured, i), *[f"{v:.4g}" for v in x[i, :COLUMNS]]] for i in order.tolist()],
    )
    if len(names) <= COLUMNS:
        return found
    text = f"The data has {len(names)} columns; the first {COLUMNS} are shown."
    return joined([found, tag("p", text, class_="soft")])
