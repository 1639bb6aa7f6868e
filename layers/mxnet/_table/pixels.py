"""Weighted sums of the pixels of images, at places between them too.

An image's pixels are the rows of a table (pixels, channels): `embedding_bag` sums rows without a
copy of each, and so does its gradient.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from .registry import Tensor


class _Linked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y, x):
        ctx.set_materialize_grads(False)
        return y.view_as(y)

    @staticmethod
    def backward(ctx, dy):
        return dy, None


def linked(y: Tensor, x: Tensor) -> Tensor:
    """y, for which x counts as an input that has the gradient 0."""
    return _Linked.apply(y, x) if torch.is_grad_enabled() and x.requires_grad else y


def pixel_rows(data: Tensor, groups: int = 1, classes: int = 1) -> Tensor:
    """Images (n, classes c groups, h, w) as rows (n classes groups h w, c)."""
    n, c, h, w = data.shape
    parts = data.reshape(n, classes, c // (classes * groups), groups, h, w)
    return parts.permute(0, 1, 3, 4, 5, 2).reshape(-1, c // (classes * groups))


def rounded(x: Tensor) -> Tensor:
    """The nearest integers, away from 0 in the middle between two."""
    return torch.trunc(x + torch.sign(x) * 0.5)


def bounded(place: Tensor, size: int, lowest: float, highest: float) -> tuple[Tensor, Tensor]:
    """Places on an axis, moved to its nearest pixel from outside, and which are in bounds."""
    return place.clamp(0, size - 1), (place >= lowest) & (place <= highest)


def interpolated(
    rows: Tensor, first: Tensor, size: tuple, y: Tensor, x: Tensor, weight: Tensor, bags: Tensor
) -> Tensor:
    """Sums of weighted images at places (y, x), each a mixture of the four nearest pixels.

    rows : (pixels, c)      first : (s,), the row of the first pixel of a place's image
    size : its height and width      y, x, weight : (s,), places inside the image
    bags : (b,), where the places of each sum begin      y : (b, c)
    """
    below, right = y.detach().floor(), x.detach().floor()
    part_y, part_x = y - below, x - right
    below, right = below.long(), right.long()
    step_y = (below < size[0] - 1) * size[1]
    step_x = (right < size[1] - 1).long()
    corner = first + below * size[1] + right
    upper, lower = (1 - part_y) * weight, part_y * weight
    index = torch.stack([corner, corner + step_x, corner + step_y, corner + step_y + step_x], -1)
    weights = [upper * (1 - part_x), upper * part_x, lower * (1 - part_x), lower * part_x]
    weights = torch.stack(weights, -1).to(rows.dtype)
    return F.embedding_bag(
        index.flatten(), rows, 4 * bags, mode="sum", per_sample_weights=weights.flatten()
    )


def rectangle_places(
    top: Tensor, left: Tensor, height: Tensor, width: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The pixels of rectangles one after another: rectangle, y, x; and where each begins."""
    counts = height * width
    bags = counts.cumsum(0) - counts
    which = torch.repeat_interleave(counts)
    place = torch.arange(len(which), device=which.device) - bags[which]
    across = width[which]
    down = place.div(across, rounding_mode="floor")
    return which, top[which] + down, left[which] + place - down * across, bags


def largest_of_rectangles(
    rows: Tensor, first: Tensor, stride: int, edges: tuple[Tensor, Tensor, Tensor, Tensor]
) -> Tensor:
    """The largest value of each channel in rectangles of an image; 0 in empty ones.

    first : (b,), the row of the first pixel of the image      stride : the width of the image
    edges : top, left, height and width, (b,)      y : (b, c)
    """
    top, left, height, width = edges
    counts = height * width
    corner = (first + top * stride + left).clamp(max=len(rows) - 1)
    tracked = torch.is_grad_enabled() and rows.requires_grad
    found = rows.new_empty(len(first), rows.shape[1], dtype=torch.int64 if tracked else None)
    # Those of one size together, so that few pixels are read that are not theirs.
    for bags in counts.argsort().split(_TOGETHER):
        place = torch.arange(max(int(counts[bags[-1]]), 1), device=rows.device)
        place = torch.where(place < counts[bags, None], place, 0)
        across = width[bags, None].clamp(min=1)
        down = place.div(across, rounding_mode="floor")
        index = corner[bags, None] + down * stride + place - down * across
        pixels = rows.detach()[index]
        found[bags] = index.gather(1, pixels.max(1).indices) if tracked else pixels.amax(1)
    y = rows.gather(0, found) if tracked else found
    return y.masked_fill((counts == 0)[:, None], 0)


_TOGETHER = 64


def from_rows(y: Tensor, count: int, size: tuple[int, int]) -> Tensor:
    """Rows (count h w, c), as they come from sums, as images (count, c, h, w)."""
    return y.reshape(count, math.prod(size), -1).mT.reshape(count, -1, *size)
