"""Boxes of detectors: how they overlap, which are kept, and what a net is to predict for them.

A box is (xmin, ymin, xmax, ymax), or in the format 'center' (x, y, width, height). Of equal scores
the first counts, as in MXNet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
import torch.nn.functional as F

from .. import _dtype
from ..base import DTypeError, ShapeError
from .registry import REQUIRED, Tensor, op, zeros

Format = Literal["center", "corner"]
_BLOCK = 512  # so many boxes are compared with each other at once
_PAIRS = _BLOCK * _BLOCK


@op
def _contrib_box_iou(lhs: Tensor, rhs: Tensor, format: Format = "corner") -> Tensor:
    """The area that two boxes share over the area that they cover, for each pair; 0 of empty ones.

    lhs : (..., 4)      rhs : (..., 4)      y : (..., ...)

    corner: (xmin, ymin, xmax, ymax). center: (x, y, width, height).
    """
    if lhs.shape[-1] != 4 or rhs.shape[-1] != 4:
        raise ShapeError(
            f"_contrib_box_iou: lhs is {tuple(lhs.shape)}, rhs is {tuple(rhs.shape)}\n"
            "  expected (..., 4)"
        )
    a, b = (_corners(boxes.reshape(-1, 4), format) for boxes in (lhs, rhs))
    return iou(a, b).reshape(*lhs.shape[:-1], *rhs.shape[:-1])


_contrib_box_iou.grad(zeros)


@_contrib_box_iou.shaped
def _(lhs, rhs):
    return (*lhs[:-1], *rhs[:-1]) if lhs[-1] == rhs[-1] == 4 else None


def _corners(boxes, format):
    if format == "corner":
        return boxes
    centre, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([centre - half, centre + half], -1)


def to_centres(boxes: Tensor) -> Tensor:
    """Boxes (xmin, ymin, xmax, ymax) as (x, y, width, height)."""
    low, high = boxes[..., :2], boxes[..., 2:]
    return torch.cat([(low + high) / 2, high - low], -1)


def iou(a: Tensor, b: Tensor, border: float = 0.0, undefined: float = 0.0) -> Tensor:
    """The intersection of boxes over their union, for each pair; `undefined` where both are empty.

    a : (..., m, 4)      b : (..., n, 4)      y : (..., m, n)

    With a `border` of 1 the corners are pixels that belong to the box.
    """
    # So many of b that what is computed stays in the cache.
    part = max(_PAIRS // max(a.shape[-2], 1), 1)
    if b.shape[-2] > part and not torch.compiler.is_compiling():
        return torch.cat([iou(a, some, border, undefined) for some in b.split(part, -2)], -1)
    left, top, right, bottom = a[..., None].unbind(-2)
    low_x, low_y, high_x, high_y = b.mT[..., None, :].contiguous().unbind(-3)
    own = _length(left, right, border) * _length(top, bottom, border)
    other = _length(low_x, high_x, border) * _length(low_y, high_y, border)
    width = torch.minimum(right, high_x).sub_(torch.maximum(left, low_x))
    height = torch.minimum(bottom, high_y).sub_(torch.maximum(top, low_y))
    if border:
        width, height = width.add_(border), height.add_(border)
    shared = width.relu_().mul_(height.relu_())
    return shared.div_((own + other).sub_(shared)).nan_to_num_(undefined)


def _length(low, high, border):
    return (high - low + border).relu_()


def keep_best(
    boxes: Tensor, alive: Tensor, overlap: Callable, over: Callable, most: int | None = None
) -> Tensor:
    """Which boxes stay when each, in their order, removes the later ones that it overlaps.

    boxes : (b, n, k), best first      alive : (b, n), whether a box takes part      y : (b, n)
    overlap(a, b) : (b, r, c) for boxes (b, r, k) and (b, c, k); over(overlap) whether it is enough
    most : no more are looked for where so many stay in each row of the batch
    """
    at_once = max(_PAIRS // min(boxes.shape[1], _BLOCK) ** 2, 1) if boxes.numel() else 1
    if boxes.is_cpu and len(boxes) > at_once:  # what is computed stays in the cache
        parts = zip(boxes.split(at_once), alive.split(at_once))
        return torch.cat([keep_best(*part, overlap, over, most) for part in parts])
    kept, earlier = [], []
    for some, here in zip(boxes.split(_BLOCK, 1), alive.split(_BLOCK, 1)):
        for before in earlier:
            here = here & ~over(overlap(before, some).amax(1))
        # Whether one stays is settled as soon as it is for all before it: each turn settles at
        # least one more, and as a rule very many.
        removes = over(overlap(some, some)).to(torch.float32).triu_(1)
        stays = here
        while True:
            settled = here & ~(torch.bmm(stays[:, None].to(removes.dtype), removes)[:, 0] > 0)
            if torch.equal(settled, stays):
                break
            stays = settled
        kept.append(stays)
        done = sum(part.shape[1] for part in kept)
        if done == boxes.shape[1]:
            break
        if most is not None and bool((torch.cat(kept, 1).sum(1) >= most).all()):
            kept.append(torch.zeros_like(alive[:, done:]))
            break
        _remember(earlier, some, stays)
    return torch.cat(kept, 1)


def _remember(earlier, some, stays):
    """Add the boxes that stay; where the rows of the batch have fewer, their best is repeated."""
    width = int(stays.sum(1).max())
    order = torch.sort(stays, dim=1, descending=True, stable=True).indices[:, :width]
    order = torch.where(stays.gather(1, order), order, order[:, :1])
    chosen = rows_at(some, order)
    chosen = chosen.masked_fill(~stays.any(1)[:, None, None], torch.nan)
    if earlier and earlier[-1].shape[1] + width <= _BLOCK:
        earlier[-1] = torch.cat([earlier[-1], chosen], 1)
    elif width:
        earlier.append(chosen)


def best_first(scores: Tensor, alive: Tensor, most: int = -1) -> tuple[Tensor, Tensor]:
    """The places of the highest scores among those alive, at most `most` where it is positive.

    scores, alive : (b, n)      y : (b, m), places, and whether there is such a one
    """
    counts = alive.sum(1)
    width = int(counts.max()) if alive.numel() else 0
    if 0 < most < width:  # only those that can be among the best are sorted
        lowest = scores.masked_fill(~alive, -torch.inf).topk(most, 1).values[:, -1:]
        candidates, width = alive & (scores >= lowest), most
        counts = counts.clamp(max=most)
    else:
        candidates = alive
    column = candidates.cumsum(1)
    size = int(column[:, -1].max()) if column.numel() else 0
    row, place = candidates.nonzero(as_tuple=True)
    places = scores.new_zeros(len(scores), size, dtype=torch.int64)
    values = scores.new_full((len(scores), size), -torch.inf)
    at = row, column[row, place] - 1
    places[at], values[at] = place, scores[row, place]
    order = values.sort(dim=1, descending=True, stable=True).indices[:, :width]
    there = torch.arange(width, device=scores.device) < counts[:, None]
    return places.gather(1, order), there


@op("_contrib_box_non_maximum_suppression", traceable=False)
def _contrib_box_nms(
    data: Tensor,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0,
    topk: int = -1,
    coord_start: int = 2,
    score_index: int = 1,
    id_index: int = -1,
    background_id: int = -1,
    force_suppress: bool = False,
    in_format: Format = "corner",
    out_format: Format = "corner",
) -> Tensor:
    """The boxes without those that overlap a better one, best first; rows of -1 fill the rest.

    data : (..., n, k), rows with a score, four coordinates and maybe a class

    A box takes part whose score is above `valid_thresh`, and whose class is not `background_id`; of
    these the best `topk`, where it is positive. It suppresses those of its class, or all with
    `force_suppress` or without `id_index`, whose intersection over union is above `overlap_thresh`.
    """
    if data.dim() < 2 or not all(
        0 <= first <= data.shape[-1] - size
        for first, size in ((coord_start, 4), (score_index, 1), (max(id_index, 0), 1))
    ):
        raise ShapeError(
            f"_contrib_box_nms: data is {tuple(data.shape)}, coord_start is {coord_start}, "
            f"score_index {score_index}, id_index {id_index}\n"
            "  expected (..., n, k), with the four coordinates, the score and the id within k"
        )
    if not data.is_floating_point():
        raise DTypeError(
            f"_contrib_box_nms: data is {_dtype.name(data.dtype)}\n"
            "  expected floats; astype changes it"
        )
    if topk == 0 or data.is_meta or data.numel() == 0:
        return data.clone()
    rows = data.reshape(-1, *data.shape[-2:])
    x = rows.detach()
    alive = x[..., score_index] > valid_thresh
    if id_index >= 0:
        alive &= x[..., id_index] != background_id
    place, there = best_first(x[..., score_index], alive, topk)
    boxes = rows_at(x, place)
    groups = None if id_index < 0 or force_suppress else boxes[..., id_index]
    corners = _corners(boxes[..., coord_start : coord_start + 4], in_format)
    stays = keep_best_of_groups(corners, groups, there, overlap_thresh)
    order = torch.sort(stays, dim=1, descending=True, stable=True).indices
    stays = stays.gather(1, order)
    y = rows_at(rows, place.gather(1, order))
    if in_format != out_format:
        y = _Replaced.apply(y, _converted(y.detach(), coord_start, out_format))
    y = y.masked_fill(~stays[..., None], -1)
    return F.pad(y, (0, 0, 0, rows.shape[1] - y.shape[1]), value=-1).reshape(data.shape)


@_contrib_box_nms.shaped
def _(data):
    return data


def rows_at(x: Tensor, place: Tensor) -> Tensor:
    """The rows of x (b, n, k) at places (b, m), as (b, m, k)."""
    first = torch.arange(len(x), device=x.device)[:, None] * x.shape[1]
    return (
        x.flatten(0, 1).index_select(0, (place + first).flatten()).reshape(*place.shape, x.shape[2])
    )


def keep_best_of_groups(
    corners: Tensor,
    groups: Tensor | None,
    alive: Tensor,
    threshold: float,
    over: Callable = torch.gt,
) -> Tensor:
    """Which boxes stay when each removes the later ones of its group with over(iou, threshold).

    corners : (b, n, 4), best first      groups : (b, n), whole numbers from 0, or any in floating
        point; None where all are of one group
    alive : (b, n), whether a box takes part      y : (b, n)
    """

    def removes(overlaps):
        return over(overlaps, threshold)

    if groups is None:
        return keep_best(corners, alive, _iou_or_less, removes)
    group, column, counts = _places_in_groups(groups, alive)
    width = int(counts.max()) if len(counts) else 0
    if len(counts) * width**2 > groups.numel() * groups.shape[1]:  # one group has most boxes
        boxes = torch.cat([corners, groups[..., None].to(corners.dtype)], -1)
        return keep_best(boxes, alive, _iou_in_groups, removes)
    boxes = corners.new_zeros(len(counts), width, 4)
    boxes[group, column] = corners[alive]
    there = torch.arange(width, device=alive.device) < counts[:, None]
    stays = torch.zeros_like(alive)
    stays[alive] = keep_best(boxes, there, _iou_or_less, removes)[group, column]
    return stays


def _iou_or_less(a, b):
    return iou(a, b, undefined=-torch.inf)


def _iou_in_groups(a, b):
    y = _iou_or_less(a[..., :4], b[..., :4])
    return y.masked_fill_(a[..., 4, None] != b[..., None, :, 4], -torch.inf)


def _places_in_groups(groups, alive):
    """Of each box alive: its group, of its image, and its place there; the sizes of the groups."""
    image = torch.arange(len(groups), device=groups.device)[:, None].expand_as(groups)[alive]
    name = groups[alive]
    if name.is_floating_point():
        name = torch.unique(name, return_inverse=True)[1]
    many = int(name.max()) + 1 if len(name) else 1
    group = image * many + name
    counts = torch.bincount(group, minlength=many * len(groups))
    order = group.argsort(stable=True)
    column = torch.empty_like(order)
    column[order] = (
        torch.arange(len(order), device=order.device) - (counts.cumsum(0) - counts)[group[order]]
    )
    return group, column, counts


def _converted(rows, start, format):
    boxes = rows[..., start : start + 4]
    boxes = _corners(boxes, "center") if format == "corner" else to_centres(boxes)
    return torch.cat([rows[..., :start], boxes, rows[..., start + 4 :]], -1)


class _Replaced(torch.autograd.Function):
    """Other values with the gradient of x, as MXNet passes it on through changes of format."""

    @staticmethod
    def forward(ctx, x, values):
        return values

    @staticmethod
    def backward(ctx, dy):
        return dy, None


@op(traceable=False)
def _contrib_bipartite_matching(
    data: Tensor, is_ascend: bool = False, threshold: float = REQUIRED, topk: int = -1
) -> tuple[Tensor, Tensor]:
    """Rows and columns matched one to one: the best score first, then the best of those left.

    data : (..., n, m), scores      y : (..., n), the column of each row, and (..., m); -1 of none

    Scores above the threshold are matched, with `is_ascend` those below it, the lowest first; where
    `topk` is positive, the first topk + 1, as in MXNet.
    """
    if data.dim() < 2:
        raise ShapeError(
            f"_contrib_bipartite_matching: data is {tuple(data.shape)}\n  expected (..., n, m)"
        )
    if data.is_meta:
        return data[..., 0].clone(), data[..., 0, :].clone()
    left, limit = data.reshape(-1, *data.shape[-2:]).mT, threshold
    left, limit = (-left, -limit) if is_ascend else (left, limit)
    column, row = match(
        left.clone(memory_format=torch.contiguous_format), limit, topk + 1 if topk > 0 else -1
    )
    rest = data.shape[:-2]
    return (
        column.to(data.dtype).reshape(*rest, data.shape[-2]),
        row.to(data.dtype).reshape(*rest, data.shape[-1]),
    )


_contrib_bipartite_matching.grad(zeros)


@_contrib_bipartite_matching.gives
def _():
    return 2


@_contrib_bipartite_matching.shaped
def _(data):
    return [data[:-1], (*data[:-2], data[-1])]


def match(left: Tensor, threshold: float, most: int = -1) -> tuple[Tensor, Tensor]:
    """Match rows and columns one to one, the highest scores above the threshold first.

    left : (b, m, n), the scores of n rows by column, which are overwritten
    y : (b, n), the column of each row, and (b, m), the row of each column; -1 where there is none

    A pair that is best for both of its sides is matched at once: whatever else is matched cannot
    change that. The best of all is always such a pair, so a turn matches at least one.
    """
    b, m, n = left.shape
    columns = left.new_full((b, n), -1, dtype=torch.int64)
    rows = left.new_full((b, m), -1, dtype=torch.int64)
    scores = left.new_full((b, m), -torch.inf)
    if not left.numel():
        return columns, rows
    left.masked_fill_(~(left > threshold), -torch.inf)
    column = torch.arange(m, device=left.device)
    while True:
        value, row = left.max(2)
        rivals = left.gather(2, row[:, None].expand(b, m, m))  # [b, i, j] is column i at j's row
        mutual = (rivals.max(1).indices == column) & (value > -torch.inf)
        if not mutual.any():
            break
        batch, chosen = mutual.nonzero(as_tuple=True)
        taken = row[batch, chosen]
        rows[batch, chosen], columns[batch, taken] = taken, chosen
        scores[batch, chosen] = value[batch, chosen]
        left[batch, chosen] = -torch.inf
        left.mT[batch, taken] = -torch.inf
    if 0 < most < min(n, m):  # of equal scores those of the first rows count
        first = rows.sort(dim=1, stable=True).indices
        order = scores.gather(1, first).sort(dim=1, descending=True, stable=True).indices
        undone = first.gather(1, order)[:, most:]
        lost = rows.gather(1, undone)
        rows.scatter_(1, undone, -1)
        batch, place = (lost >= 0).nonzero(as_tuple=True)
        columns[batch, lost[batch, place]] = -1
    return columns, rows


@op
def _contrib_box_encode(
    samples: Tensor, matches: Tensor, anchors: Tensor, refs: Tensor, means: Tensor, stds: Tensor
) -> tuple[Tensor, Tensor]:
    """What a net is to predict for anchors that are matched with boxes, and where that counts.

    samples : (b, n), above 0.5 where an anchor has a match      matches : (b, n), indices in refs
    anchors : (b, n, 4)      refs : (b, m, 4)      means, stds : (4,)      y : two of (b, n, 4)

    (x_ref - x) / width and log(width_ref / width), and so for y and height, less the means and over
    the stds; the second output is 1 where there is a match, elsewhere both are 0.
    """
    b, _, width = refs.shape if refs.dim() == 3 else (0, 0, 0)
    if (
        width != 4
        or samples.dim() != 2
        or len(samples) != b
        or matches.shape != samples.shape
        or anchors.shape != (*samples.shape, 4)
        or means.shape != (4,)
    ):
        raise ShapeError(
            f"_contrib_box_encode: samples is {tuple(samples.shape)}, matches "
            f"{tuple(matches.shape)}, anchors {tuple(anchors.shape)}, refs {tuple(refs.shape)}, "
            f"means {tuple(means.shape)}\n"
            "  expected (b, n), (b, n), (b, n, 4), (b, m, 4) and (4,)"
        )
    index = matches.long().clamp(0, max(refs.shape[1] - 1, 0))
    targets = zip(encoded(anchors, refs, index), means, stds)
    y = cleared([x.sub_(mean).div_(std) for x, mean, std in targets], samples <= 0.5)
    return y, four_times(samples > 0.5, anchors.dtype)


_contrib_box_encode.grad(zeros)


@_contrib_box_encode.gives
def _():
    return 2


@op
def _contrib_box_decode(
    data: Tensor,
    anchors: Tensor,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: Format = "center",
) -> Tensor:
    """The boxes (xmin, ymin, xmax, ymax) that a net's predictions for anchors stand for.

    data : (b, n, 4)      anchors : (1, n, 4), in `format`      y : (b, n, 4)

    The inverse of box_encode with means of 0. A logarithm of a size is at most `clip`, where that
    is positive.
    """
    if data.dim() != 3 or data.shape[2] != 4 or anchors.shape != (1, *data.shape[1:]):
        raise ShapeError(
            f"_contrib_box_decode: data is {tuple(data.shape)}, anchors {tuple(anchors.shape)}\n"
            "  expected (b, n, 4) and (1, n, 4)"
        )
    anchor = to_centres(anchors) if format == "corner" else anchors
    return decoded(data, anchor, (std0, std1, std2, std3), clip)


_contrib_box_decode.grad(zeros)


def encoded(anchors: Tensor, boxes: Tensor, index: Tensor) -> list[Tensor]:
    """How boxes lie to the anchors: x, y, and the logarithms of width and height, each (b, n).

    anchors : (b, n, 4) or (1, n, 4)      boxes : (b, m, 4)      index : (b, n), the box of each
    """
    a, b = anchors.unbind(-1), boxes.unbind(-1)
    middles, sizes = [], []
    for i in 0, 1:  # sums and differences are taken before boxes are: as a rule they are fewer
        own = a[i + 2] - a[i]
        middle = (b[i] + b[i + 2]).gather(1, index).sub_(a[i] + a[i + 2])
        middles.append(middle.div_(2).div_(own))
        sizes.append((b[i + 2] - b[i]).gather(1, index).div_(own).log_())
    return middles + sizes


def four_times(where: Tensor, dtype: torch.dtype) -> Tensor:
    """1 or 0 for each of the four numbers of a box: (..., n) of bool as (..., n, 4)."""
    # Four bytes at once: twice as fast as to write each number by itself.
    four_bytes = where.to(torch.int32, memory_format=torch.contiguous_format).mul_(0x01010101)
    return four_bytes.view(torch.uint8).to(dtype).unflatten(-1, (where.shape[-1], 4))


def cleared(parts: Sequence[Tensor], where: Tensor) -> Tensor:
    """The parts as the last axis of one tensor, 0 where there are to be none."""
    # By bits: 20 times faster than torch.where, which guesses where a mask has which value.
    integers = {2: torch.int16, 4: torch.int32, 8: torch.int64}[parts[0].itemsize]
    mask = where.to(integers).sub_(1)
    y = parts[0].new_empty(*where.shape, len(parts))
    for i, part in enumerate(parts):
        y[..., i] = part.view(integers).bitwise_and(mask).view(part.dtype)
    return y


def decoded(data: Tensor, anchors: Tensor, stds: Sequence[float], clip: float = -1.0) -> Tensor:
    """The boxes that `data` (b, n, 4) stands for: the inverse of `encoded`, scaled by `stds`.

    anchors : (1, n, 4), in the format 'center'
    """
    x, a = data.unbind(-1), anchors.unbind(-1)
    y = torch.empty_like(data)
    for i in 0, 1:
        middle = torch.addcmul(a[i], x[i], a[i + 2], value=stds[i])
        scale = x[i + 2] * stds[i + 2]
        half = (scale.clamp_(max=clip) if clip > 0 else scale).exp_().mul_(a[i + 2] / 2)
        y[..., i], y[..., i + 2] = middle - half, middle + half
    return y
