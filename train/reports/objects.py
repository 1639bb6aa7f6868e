"""What a detector finds in the held-out images, and where it is most wrong."""

from __future__ import annotations

import base64
import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from layers.engine import nd

from .. import Refused
from ..detecting import OVERLAP, MeanAveragePrecision
from ..prediction import SURE, edges_of
from .html import Html, joined, table, tag
from .mistakes import pixels_of
from .read import Measured, RunReport

__all__ = ["overview", "worst"]

PICTURES = 12
SIDE = 256  # pixels of a picture's longer side, or a multiple of the image's that is near
RIGHT, WRONG, MISSED = (110, 205, 255), (255, 140, 60), (255, 255, 255)
KEY = (
    f"Objects whose probability is {SURE:.0%} or more. Blue boxes are right: the class is, and the "
    f"overlap with the true box is {OVERLAP:.0%} or more. Orange ones are wrong, and white dashed "
    "ones are objects that were not found."
)


@dataclass(frozen=True)
class Scene:
    """An image: of each object that is found whether it is right, of each true one whether found.

    found : (k, 6) class, probability, box      right : (k,)
    truth : (m, 5) class, box                   seen : (m,)
    """

    image: int
    found: np.ndarray
    right: np.ndarray
    truth: np.ndarray
    seen: np.ndarray

    @property
    def mistakes(self) -> int:
        return int((~self.right).sum() + (~self.seen).sum())


def overview(run: RunReport, measured: Measured, colour: int) -> Html:
    """How well each class is found, and the first images."""
    scenes = [scene(measured, i) for i in range(len(measured.x))]
    try:
        metric = MeanAveragePrecision(run.run.classes, tuple(run.run.shape))
        metric.update([nd.array(measured.y)], [nd.array(measured.values)])
        precision = {name: f"{value:.1%}" for name, value in metric.by_class().items()}
        note: Any = ""
    except Refused as error:
        precision, note = {}, tag("p", f"No average precision: {error}", class_="note")
    rows = [
        [name, *counts(scenes, i), precision.get(name, "–")]
        for i, name in enumerate(run.run.classes)
    ]
    head = ["class", "objects", "found", "wrong", "average precision"]
    shown = tag("div", *[picture(run, measured, each) for each in scenes[:PICTURES]],
                class_="gallery scenes")  # fmt: skip
    return joined([
        tag("h3", "Objects found, by class"), note, table(head, rows),
        tag("h3", "The first held-out images"), tag("p", KEY, class_="soft"), shown,
    ])  # fmt: skip


def worst(run: RunReport, measured: Measured) -> Html:
    """The images with the most mistakes."""
    scenes = [scene(measured, i) for i in range(len(measured.x))]
    order = sorted([each for each in scenes if each.mistakes], key=lambda each: -each.mistakes)
    if not order:
        return joined([tag("h3", "No mistakes")])
    shown = [picture(run, measured, each) for each in order[:PICTURES]]
    share = f"{len(order):,} of {len(scenes):,} held-out images have a mistake."
    return joined([
        tag("h3", "Worst mistakes"), tag("p", share, class_="soft"),
        tag("div", *shown, class_="gallery scenes"),
    ])  # fmt: skip


def counts(scenes: list[Scene], kind: int) -> list[int]:
    """The true objects of a class, those that are found, and those that are wrong."""
    truth = [each.truth[:, 0] == kind for each in scenes]
    wrong = [(each.found[:, 0] == kind) & ~each.right for each in scenes]
    seen = [(each.seen & mine).sum() for each, mine in zip(scenes, truth)]
    return [int(sum(map(np.sum, truth))), int(sum(seen)), int(sum(map(np.sum, wrong)))]


def scene(measured: Measured, i: int) -> Scene:
    """Match what is found in an image with what is there, the surest first."""
    found = measured.values[i]
    found = found[(found[:, 0] >= 0) & (found[:, 1] >= SURE)]
    truth = measured.y[i][measured.y[i][:, 0] >= 0]
    right, seen = np.zeros(len(found), bool), np.zeros(len(truth), bool)
    for row in np.argsort(-found[:, 1], kind="stable"):
        fits = (truth[:, 0] == found[row, 0]) & ~seen
        shares = np.where(fits, overlaps(found[row, 2:], truth[:, 1:]), 0)
        if len(shares) and shares.max() >= OVERLAP:
            right[row] = seen[shares.argmax()] = True
    return Scene(i, found, right, truth, seen)


def overlaps(box: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """The intersection over union of a box with others, all (left, upper, right, lower)."""
    inner = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    shared = inner.clip(0).prod(axis=1)
    areas = [(each[..., 2:] - each[..., :2]).prod(axis=-1) for each in (box, boxes)]
    return shared / np.maximum(areas[0] + areas[1] - shared, 1e-12)


def picture(run: RunReport, measured: Measured, scene: Scene) -> Html:
    """An image with its boxes, and a line that says how many are right."""
    text = f"{int(scene.seen.sum())} of {len(scene.truth)} found"
    if wrong := int((~scene.right).sum()):
        text += f", {wrong} wrong"
    image = measured.x[scene.image]
    drawn = drawing(pixels_of(image, run.run.pixels), scene, run.run.classes)
    file = io.BytesIO()
    drawn.save(file, "png", optimize=True)
    source = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    label = f"image {scene.image + 1}"
    return tag("figure", tag("img", src=source, alt=label), tag("figcaption", text))


def drawing(pixels: np.ndarray, scene: Scene, classes: list[str]) -> Any:
    """An image, larger, with the boxes of a scene and the names of the classes in it."""
    from PIL import Image, ImageDraw

    height, width = pixels.shape[:2]
    times = max(1, round(SIDE / max(height, width)))
    image = Image.fromarray(pixels).convert("RGB")
    image = image.resize((width * times, height * times), Image.Resampling.NEAREST)
    draw = ImageDraw.Draw(image)
    for row in scene.truth[~scene.seen]:
        box = edges_of(row[1:], image.size)
        dashed(draw, box)
        name(draw, box, classes[int(row[0])], MISSED, below=True)
    for row, right in zip(scene.found, scene.right):
        colour, box = RIGHT if right else WRONG, edges_of(row[2:], image.size)
        draw.rectangle(box, outline=colour, width=2)
        name(draw, box, f"{classes[int(row[0])]}: {row[1]:.0%}", colour)
    return image


def dashed(draw: Any, box: list[float]) -> None:
    """The edges of a box as dashes."""
    left, top, right, bottom = box
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    for (x, y), (to_x, to_y) in zip(corners, corners[1:]):
        length = math.hypot(to_x - x, to_y - y)
        for start in range(0, int(length), 8):
            a, b = start / length, min(start + 4, length) / length
            ends = [(x + (to_x - x) * t, y + (to_y - y) * t) for t in (a, b)]
            draw.line(ends, fill=MISSED, width=2)


def name(draw: Any, box: list[float], text: str, colour: Any, below: bool = False) -> None:
    """A text at the upper edge of a box, or at the lower one, within the image."""
    _, _, wide, high = draw.textbbox((0, 0), text)
    width, height = draw.im.size
    x = min(max(box[0], 0), width - wide - 3)
    y = box[3] if below else box[1] - high - 3
    y = min(max(y, 0), height - high - 3)
    draw.rectangle([x, y, x + wide + 3, y + high + 2], fill=colour)
    draw.text((x + 2, y), text, fill=(0, 0, 0))
