"""The three operators of single shot detectors: anchors, what to predict for them, detections.

(Liu et al. 2016, SSD: Single Shot MultiBox Detector)
"""

from __future__ import annotations

import math

import torch

from ..base import ArgumentError, ShapeError
from .attributes import Floats
from .boxes import (
    best_first,
    cleared,
    decoded,
    encoded,
    four_times,
    iou,
    keep_best_of_groups,
    match,
    rows_at,
    to_centres,
)
from .registry import Tensor, op, zeros

_VARIANCES = (0.1, 0.1, 0.2, 0.2)
_MEETS = 1e-6  # boxes that share less are not matched


def _four(name, variances):
    if len(variances) != 4:
        raise ArgumentError(f"{name}: variances is {variances}\n  expected four numbers")


@op(names_input=True)
def _contrib_MultiBoxPrior(
    data: Tensor,
    sizes: Floats = (1.0,),
    ratios: Floats = (1.0,),
    clip: bool = False,
    steps: Floats = (-1.0, -1.0),
    offsets: Floats = (0.5, 0.5),
) -> Tensor:
    """Anchors around the pixels of an image, in parts of its width and height.

    data : (n, c, h, w)      y : (1, h w a, 4), a = len(sizes) + len(ratios) - 1

    The anchors of a pixel have each of the sizes with the first ratio, and each other ratio with
    the first size: heights size / √ratio, widths size √ratio h / w. The pixels are `steps` apart,
    (y, x), or 1 / h and 1 / w where these are not positive; `offsets` are their centres in them.
    """
    h, w = _image("_contrib_MultiBoxPrior", data.shape, sizes, ratios)
    steps, offsets = (pair * 2 if len(pair) == 1 else pair for pair in (steps, offsets))
    finite = all(map(math.isfinite, (*steps, *offsets)))
    if len(steps) != 2 or len(offsets) != 2 or not finite or steps[0] * steps[1] < 0:
        raise ArgumentError(
            f"_contrib_MultiBoxPrior: steps is {steps}, offsets is {offsets}\n"
            "  expected two finite numbers each, of both steps or of none"
        )
    if not all(0 < ratio < math.inf for ratio in ratios):
        raise ArgumentError(
            f"_contrib_MultiBoxPrior: ratios is {ratios}\n  expected finite numbers above 0"
        )
    y_step, x_step = (s if s > 0 else 1 / n for s, n in zip(steps, (h, w)))
    made = {"dtype": torch.float32, "device": data.device}
    y, x = (
        torch.arange(offset, offset + count - 0.5, **made).mul_(step)
        for offset, count, step in zip(offsets, (h, w), (y_step, x_step))
    )
    roots = [math.sqrt(ratio) for ratio in ratios]
    shapes = [(size, roots[0]) for size in sizes] + [(sizes[0], root) for root in roots[1:]]
    to_x, to_y = [], []
    for size, root in shapes:
        half_x, half_y = size * h / w * root / 2, size / root / 2
        to_x += -half_x, 0, half_x, 0
        to_y += 0, -half_y, 0, half_y
    numbers = to_x, to_y, (1, 0, 1, 0) * len(shapes), (0, 1, 0, 1) * len(shapes)
    from_x, from_y, is_x, is_y = torch.tensor(numbers, **made).unbind()
    # The anchors of a row, with 0 as y, and those of a column, with 0 as x.
    row = torch.addcmul(from_x, x.unsqueeze(1), is_x)
    column = torch.addcmul(from_y, y.view(h, 1, 1), is_y)
    anchors = (row + column).view(1, -1, 4).to(data.dtype)
    return anchors.clamp_(0, 1) if clip else anchors


_contrib_MultiBoxPrior.grad(zeros)


@_contrib_MultiBoxPrior.shaped
def _(data, sizes, ratios):
    h, w = _image("_contrib_MultiBoxPrior", data, sizes, ratios)
    return 1, h * w * (len(sizes) + len(ratios) - 1), 4


def _image(name, shape, sizes, ratios):
    if len(shape) != 4 or not sizes or not ratios:
        raise ShapeError(
            f"{name}: data is {tuple(shape)}, sizes is {sizes}, ratios is {ratios}\n"
            "  expected (n, c, h, w), and at least one size and one ratio"
        )
    return shape[2:]


@op(traceable=False)
def _contrib_MultiBoxTarget(
    anchor: Tensor,
    label: Tensor,
    cls_pred: Tensor,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0,
    variances: Floats = _VARIANCES,
) -> tuple[Tensor, Tensor, Tensor]:
    """What a detector is to predict for its anchors, from the boxes in the images.

    anchor : (1, n, 4)      label : (b, m, 5), class and box; behind the first class -1 no boxes
    cls_pred : (b, classes + 1, n)
    y : offsets (b, 4n), where they count (b, 4n), classes (b, n)

    Each box is matched with the anchor that covers it best, the best pair first, and each other
    anchor with its best box where their intersection over union is above `overlap_threshold`; its
    class is that of the box plus 1. The others are background, 0. With a `negative_mining_ratio`
    only so many times the matched ones are: of those below `negative_mining_thresh` the least
    likely to be predicted as background; the rest, and all anchors of an image without boxes, get
    `ignore_label`. `minimum_negative_samples` has no effect, as in MXNet.
    """
    _checked_targets(anchor, label, cls_pred)
    _four("_contrib_MultiBoxTarget", variances)
    shapes = _target_shapes(anchor.shape, label.shape)
    if anchor.is_meta:
        return tuple([anchor.new_empty(shape) for shape in shapes])
    there = (label[..., 0] != -1).cumprod(1).bool()
    overlap = iou(label[..., 1:5], anchor).masked_fill_(~there[..., None], -1)
    best, chosen = overlap.max(1)
    matched, _ = match(overlap, _MEETS)
    positive = matched >= 0
    chosen = torch.where(positive, matched, chosen)
    if overlap_threshold > 0:
        positive |= best > overlap_threshold
    if negative_mining_ratio > 0:
        hard = ~positive & (best < negative_mining_thresh)
        counts = (positive.sum(1) * negative_mining_ratio).long()
        negative = _least_sure(cls_pred, hard, counts.minimum((~positive).sum(1)))
    else:
        negative = ~positive & there[:, :1]
    classes = torch.where(positive, (label[..., 0] + 1).gather(1, chosen), ignore_label)
    classes = torch.where(negative, 0, classes).to(anchor.dtype)
    offsets = zip(encoded(anchor, label[..., 1:5], chosen), variances)
    offsets = cleared([y.div_(variance) for y, variance in offsets], ~positive)
    return offsets.flatten(1), four_times(positive, anchor.dtype).flatten(1), classes


_contrib_MultiBoxTarget.grad(zeros)


@_contrib_MultiBoxTarget.gives
def _():
    return 3


@_contrib_MultiBoxTarget.shaped
def _target_shapes(anchor, label):
    b, n = label[0], anchor[1]
    return [(b, 4 * n), (b, 4 * n), (b, n)]


def _checked_targets(anchor, label, cls_pred):
    fits = anchor.dim() == 3 and anchor.shape[0] == 1 and anchor.shape[2] == 4
    fits = fits and label.dim() == 3 and label.shape[2] >= 5 and cls_pred.dim() == 3
    if not fits or cls_pred.shape[::2] != (label.shape[0], anchor.shape[1]):
        raise ShapeError(
            f"_contrib_MultiBoxTarget: anchor is {tuple(anchor.shape)}, label "
            f"{tuple(label.shape)}, cls_pred {tuple(cls_pred.shape)}\n"
            "  expected (1, n, 4), (b, m, 5) and (b, classes + 1, n)"
        )


def _least_sure(cls_pred, hard, counts):
    """Of each row's hard anchors as many as `counts` says: the least probable background first."""
    background = torch.softmax(cls_pred, 1)[:, 0].masked_fill(~hard, torch.inf)
    order = background.sort(dim=1, stable=True).indices
    rank = torch.empty_like(order)
    rank.scatter_(1, order, torch.arange(order.shape[1], device=order.device).expand_as(order))
    return hard & (rank < counts[:, None])


@op(traceable=False)
def _contrib_MultiBoxDetection(
    cls_prob: Tensor,
    loc_pred: Tensor,
    anchor: Tensor,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: int = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Floats = _VARIANCES,
    nms_topk: int = -1,
) -> Tensor:
    """The boxes that a detector has found, best first: rows of class, score and box.

    cls_prob : (b, classes + 1, n), the first is background, whatever `background_id` says
    loc_pred : (b, 4n)      anchor : (1, n, 4)      y : (b, n, 6)

    An anchor counts whose likeliest class has `threshold` or more. A box takes the class -1 that
    has an intersection over union of `nms_threshold` or more with a better one of its class, or of
    any with `force_suppress`, and so do all but the best `nms_topk`, where it is positive; those
    come last, in the order of the anchors. Behind the boxes are rows of -1. With an
    `nms_threshold` that is not in (0, 1] all stay, in the order of the anchors.
    """
    _checked_detections(cls_prob, loc_pred, anchor)
    _four("_contrib_MultiBoxDetection", variances)
    if cls_prob.is_meta or not cls_prob.numel():
        return cls_prob.new_full((len(cls_prob), anchor.shape[1], 6), -1)
    score, index = cls_prob[:, 1:].max(1)
    alive = (score >= threshold) & (score > -1)
    rows = torch.stack([index.to(score.dtype), score], 2)
    boxes = decoded(loc_pred.reshape(len(loc_pred), -1, 4), to_centres(anchor), variances)
    rows = torch.cat([rows, boxes.clamp_(0, 1) if clip else boxes], 2)
    y = torch.full_like(rows, -1)
    found = rows.flatten(0, 1).index_select(0, alive.flatten().nonzero()[:, 0])
    for front, some in zip(y, found.split(alive.sum(1).tolist())):
        front[: len(some)] = some
    if not 0 < nms_threshold <= 1 or not len(found):
        return y
    place, there = best_first(score, alive, nms_topk)
    y[..., 0] = -1
    _write(y, rows, place, there)
    best = y[:, : place.shape[1]]
    groups = None if force_suppress else index.gather(1, place)
    stays = keep_best_of_groups(best[..., 2:], groups, there, nms_threshold, torch.ge)
    best[..., 0].masked_fill_(~stays, -1)
    return y


_contrib_MultiBoxDetection.grad(zeros)


@_contrib_MultiBoxDetection.shaped
def _(cls_prob, anchor):
    return cls_prob[0], anchor[1], 6


def _checked_detections(cls_prob, loc_pred, anchor):
    fits = cls_prob.dim() == 3 and cls_prob.shape[1] > 1
    if not fits or (tuple(loc_pred.shape), tuple(anchor.shape)) != (
        (cls_prob.shape[0], 4 * cls_prob.shape[2]),
        (1, cls_prob.shape[2], 4),
    ):
        raise ShapeError(
            f"_contrib_MultiBoxDetection: cls_prob is {tuple(cls_prob.shape)}, loc_pred "
            f"{tuple(loc_pred.shape)}, anchor {tuple(anchor.shape)}\n"
            "  expected (b, classes + 1, n), (b, 4n) and (1, n, 4)"
        )


def _write(y, rows, place, there):
    """Write the rows at their places to the front of y."""
    front = y[:, : place.shape[1]]
    front.copy_(torch.where(there[..., None], rows_at(rows, place), front))
