"""Regions of interest: parts of images of different sizes, brought to one size.

A region is (image, xmin, ymin, xmax, ymax), in pixels of the image that the net was given; data is
smaller than that by `spatial_scale`. A region of no image gives 0. The gradient goes to the data.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F

from ..base import ArgumentError, ShapeError
from .attributes import Shape
from .pixels import (
    bounded,
    from_rows,
    interpolated,
    largest_of_rectangles,
    linked,
    pixel_rows,
    rectangle_places,
    rounded,
)
from .registry import REQUIRED, Tensor, op


def _checked(name, data, rois, columns, pooled_size, groups=1):
    """The height and width of the output, and the regions in float32 or more."""
    size = _pair(pooled_size)
    fits = data.dim() == 4 and rois.dim() == 2 and rois.shape[1] == columns
    if not fits or len(size) != 2 or min(size) < 1 or data.shape[1] % groups:
        raise ShapeError(
            f"{name}: data is {tuple(data.shape)}, rois is {tuple(rois.shape)}, pooled_size is "
            f"{pooled_size}\n  expected (n, c, h, w), (r, {columns}), positive sizes, and c a "
            f"multiple of {groups}"
        )
    rois = rois.detach()
    return size, rois.float() if rois.itemsize == 2 else rois


def _pair(pooled_size):
    """The height and width, for which one number may stand."""
    return pooled_size * 2 if len(pooled_size) == 1 else pooled_size


def _image(rois, data):
    """The images of the regions, and whether there is such a one."""
    image = rois[:, 0].long()
    there = (image >= 0) & (image < len(data))
    return torch.where(there, image, 0), there


def _steps(count, like):
    return torch.arange(count, dtype=like.dtype, device=like.device)


def _integer_bins(start, end, count, size):
    """First pixels and numbers of pixels (r, count) of bins between two places (r,) on an axis."""
    width = ((end - start) / count)[:, None]
    edges = _steps(count + 1, start) * width + start[:, None]
    low = edges[:, :-1].floor().clamp(0, size)
    high = edges[:, 1:].ceil().clamp(0, size)
    return low.long(), (high - low).clamp(min=0).long()


def _grid(y, x):
    """Values by row (r, h) and by column (r, w) for all bins (r h w)."""
    r, h, w = *y.shape, x.shape[1]
    return y[:, :, None].expand(r, h, w).flatten(), x[:, None].expand(r, h, w).flatten()


@op(traceable=False)
def ROIPooling(
    data: Tensor, rois: Tensor, pooled_size: Shape = REQUIRED, spatial_scale: float = REQUIRED
) -> Tensor:
    """The largest values in the bins of each region, which has whole pixels; 0 in empty bins.

    data : (n, c, h, w)      rois : (r, 5)      y : (r, c, *pooled_size)

    (Girshick 2015, Fast R-CNN)

    Raises
    ------
    ShapeError
        `data` or `rois` has another shape than these, or `pooled_size` is not two positive sizes.
    """
    size, regions = _checked("ROIPooling", data, rois, 5, pooled_size)
    if data.is_meta:
        return data.new_empty(len(rois), data.shape[1], *size)
    h, w = data.shape[2:]
    image, there = _image(regions, data)
    left, top, right, bottom = rounded(regions[:, 1:] * spatial_scale).unbind(1)
    y, height = _pooled_bins(top, bottom, size[0], h)
    x, width = _pooled_bins(left, right, size[1], w)
    tops, lefts = _grid(y, x)
    heights, widths = _grid(height * there[:, None], width)
    first = (image * h * w).repeat_interleave(math.prod(size))
    found = largest_of_rectangles(pixel_rows(data), first, w, (tops, lefts, heights, widths))
    return linked(from_rows(found, len(rois), size), rois)


def _pooled_bins(start, end, count, size):
    """As `_integer_bins`, of at least one pixel and with the last one; from the start each."""
    width = ((end - start + 1).clamp(min=1) / count)[:, None]
    low = (_steps(count, start) * width).floor() + start[:, None]
    high = ((_steps(count, start) + 1) * width).ceil() + start[:, None]
    low, high = low.clamp(0, size), high.clamp(0, size)
    return low.long(), (high - low).clamp(min=0).long()


@ROIPooling.shaped
def _(data, rois, pooled_size):
    return rois[0], data[1], *_pair(pooled_size)


@op(traceable=False)
def _contrib_ROIAlign(
    data: Tensor,
    rois: Tensor,
    pooled_size: Shape = REQUIRED,
    spatial_scale: float = REQUIRED,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> Tensor:
    """The means of samples in the bins of each region, between pixels too.

    data : (n, c, h, w)      rois : (r, 5)      y : (r, c, *pooled_size)

    A bin has `sample_ratio` samples in each direction, where it is not positive about one for each
    pixel. `aligned` has pixel i from i - 1/2 to i + 1/2, and takes regions of less than a pixel as
    they are. With `position_sensitive` each bin has channels of its own: c is that many times less.

    (He et al. 2017, Mask R-CNN)
    """
    name = "_contrib_ROIAlign"
    groups = math.prod(_pair(pooled_size)) if position_sensitive else 1
    size, regions = _checked(name, data, rois, 5, pooled_size, groups)
    if data.is_meta:
        return data.new_empty(len(rois), data.shape[1] // groups, *size)
    start = regions[:, 1:3] * spatial_scale - 0.5 * aligned
    length = regions[:, 3:] * spatial_scale - 0.5 * aligned - start
    if not aligned:
        length = length.clamp(min=1)
    samples = _samples(regions, data, size, groups, start, length, sample_ratio)
    return linked(_means(data, samples, groups, (len(rois), size)), rois)


@_contrib_ROIAlign.shaped
def _(data, rois, pooled_size, position_sensitive):
    size = _pair(pooled_size)
    return rois[0], data[1] // (math.prod(size) if position_sensitive else 1), *size


class _Samples(NamedTuple):
    """Where the bins of regions are sampled, one sample after another.

    Attributes
    ----------
    region, x, y : Tensor
        The region of each, and its place.
    first, count : Tensor
        The row of the first pixel of its image; how many its bin has, 0 of no image.
    bags : Tensor
        Where the samples of each bin begin.
    """

    region: Tensor
    x: Tensor
    y: Tensor
    first: Tensor
    count: Tensor
    bags: Tensor


def _samples(regions, data, size, groups, start, length, ratio):
    """The samples of regions that begin at `start` and have `length`, both (r, 2), x and y."""
    bins = math.prod(size)
    step = length / length.new_tensor(size[::-1])
    counts = step.ceil().long().clamp(min=0) if ratio <= 0 else torch.full_like(step, ratio).long()
    across, down = (n.repeat_interleave(bins) for n in counts.unbind(1))
    zero = torch.zeros_like(across)
    which, i, j, bags = rectangle_places(zero, zero, down, across)
    region, place = which // bins, which % bins
    places = []
    for axis, (number, sample) in enumerate(((place % size[1], j), (place // size[1], i))):
        own = step[region, axis]
        begin = start[region, axis] + number * own
        places.append(begin + (sample + 0.5) * own / counts[region, axis])
    image, there = _image(regions, data)
    group = place if groups > 1 else 0
    first = (image[region] * groups + group) * math.prod(data.shape[2:])
    return _Samples(region, *places, first, (counts.prod(1) * there)[region], bags)


def _means(data, samples, groups, shape):
    """Of the samples, those farther than a pixel outside of the image count as 0."""
    h, w = data.shape[2:]
    y, inside_y = bounded(samples.y, h, -1, h)
    x, inside_x = bounded(samples.x, w, -1, w)
    weight = (inside_y & inside_x & (samples.count > 0)) / samples.count.clamp(min=1)
    rows = pixel_rows(data, groups)
    y = interpolated(rows, samples.first, (h, w), y, x, weight, samples.bags)
    return from_rows(y, *shape)


@op(traceable=False)
def _contrib_RROIAlign(
    data: Tensor,
    rois: Tensor,
    pooled_size: Shape = REQUIRED,
    spatial_scale: float = REQUIRED,
    sampling_ratio: int = -1,
) -> Tensor:
    """ROIAlign of turned regions: (image, x, y, width, height, degrees), with the centre at (x, y).

    data : (n, c, h, w)      rois : (r, 6)      y : (r, c, *pooled_size)

    (Ma et al. 2018, Arbitrary-Oriented Scene Text Detection via Rotation Proposals)
    """
    size, regions = _checked("_contrib_RROIAlign", data, rois, 6, pooled_size)
    if data.is_meta:
        return data.new_empty(len(rois), data.shape[1], *size)
    centre, length = (regions[:, 1:5] * spatial_scale).split(2, 1)
    length = length.clamp(min=1)
    samples = _samples(regions, data, size, 1, -length / 2, length, sampling_ratio)
    region, x, y = samples[:3]
    angle = regions[:, 5] * (math.pi / 180)
    cos, sin = angle.cos()[region], angle.sin()[region]
    turned_x = x * cos + y * sin + centre[region, 0]
    turned_y = y * cos - x * sin + centre[region, 1]
    samples = samples._replace(x=turned_x, y=turned_y)
    return linked(_means(data, samples, 1, (len(rois), size)), rois)


@_contrib_RROIAlign.shaped
def _(data, rois, pooled_size):
    return rois[0], data[1], *_pair(pooled_size)


@op(traceable=False)
def _contrib_PSROIPooling(
    data: Tensor,
    rois: Tensor,
    spatial_scale: float = REQUIRED,
    output_dim: int = REQUIRED,
    pooled_size: int = REQUIRED,
    group_size: int = 0,
) -> Tensor:
    """The means of the bins of each region, each of its own channels; 0 in empty bins.

    data : (n, output_dim group_size², h, w)      rois : (r, 5)
    y : (r, output_dim, pooled_size, pooled_size)

    `group_size` is `pooled_size` where it is 0.

    (Dai et al. 2016, R-FCN)
    """
    name, k = "_contrib_PSROIPooling", group_size or pooled_size
    size, regions = _checked(name, data, rois, 5, (pooled_size,))
    _check_channels(name, data, output_dim, k)
    if data.is_meta:
        return data.new_empty(len(rois), output_dim, *size)
    h, w = data.shape[2:]
    image, there = _image(regions, data)
    left, top, right, bottom = _whole(regions, spatial_scale)
    y, height = _integer_bins(top, top + (bottom - top).clamp(min=0.1), pooled_size, h)
    x, width = _integer_bins(left, left + (right - left).clamp(min=0.1), pooled_size, w)
    heights, widths = _grid(height * there[:, None], width)
    which, row, column, bags = rectangle_places(*_grid(y, x), heights, widths)
    first = (image[:, None] * k * k + _groups(pooled_size, k, data.device)).flatten() * h * w
    index = first[which] + row * w + column
    weight = (1 / (heights * widths)[which]).to(data.dtype)
    rows = pixel_rows(data, k * k)
    found = F.embedding_bag(index, rows, bags, mode="sum", per_sample_weights=weight)
    return linked(from_rows(found, len(rois), size), rois)


@_contrib_PSROIPooling.shaped
def _(rois, output_dim, pooled_size):
    return rois[0], output_dim, pooled_size, pooled_size


def _check_channels(name, data, output_dim, group_size):
    if data.shape[1] != output_dim * group_size**2:
        raise ArgumentError(
            f"{name}: data is {tuple(data.shape)}, output_dim is {output_dim}, group_size "
            f"{group_size}\n  expected {output_dim * group_size**2} channels"
        )


def _whole(regions, scale):
    """The edges of regions that have whole pixels, in pixels of the data."""
    edges = regions[:, 1:5].clone()
    edges[:, 2:] += 1
    return (rounded(edges) * scale).unbind(1)


def _groups(pooled_size, group_size, device):
    """The group of each bin, (bins,)."""
    group = torch.arange(pooled_size, device=device) * group_size // pooled_size
    return (group[:, None] * group_size + group).flatten()


@op(traceable=False)
def _contrib_DeformablePSROIPooling(
    data: Tensor,
    rois: Tensor,
    trans: Tensor | None = None,
    spatial_scale: float = REQUIRED,
    output_dim: int = REQUIRED,
    group_size: int = REQUIRED,
    pooled_size: int = REQUIRED,
    part_size: int = 0,
    sample_per_part: int = 1,
    trans_std: float = 0.0,
    no_trans: bool = False,
) -> Tensor:
    """PSROIPooling of bins that are moved, from samples between pixels; means of those inside.

    data : (n, output_dim group_size², h, w)      rois : (r, 5)
    trans : (r, 2 classes, part_size, part_size), x and y for each class, times `trans_std` parts of
    the region's width and height; none with `no_trans`
    y : (r, output_dim, pooled_size, pooled_size)

    `part_size` is `pooled_size` where it is 0.

    (Dai et al. 2017, Deformable Convolutional Networks)
    """
    name = "_contrib_DeformablePSROIPooling"
    size, regions = _checked(name, data, rois, 5, (pooled_size,))
    _check_channels(name, data, output_dim, group_size)
    if (trans is None) is not no_trans:
        given = "is missing" if trans is None else f"is {tuple(trans.shape)}"
        raise ArgumentError(f"{name}: trans {given}\n  expected no_trans={trans is None}")
    if data.is_meta:
        return data.new_empty(len(rois), output_dim, *size)
    classes = 1 if trans is None else trans.shape[1] // 2
    y, x = _moved_samples(
        regions,
        trans,
        spatial_scale,
        part_size or pooled_size,
        trans_std,
        (pooled_size, sample_per_part),
    )
    h, w = data.shape[2:]
    y, inside_y = bounded(y, h, -0.5, h - 0.5)
    x, inside_x = bounded(x, w, -0.5, w - 0.5)
    image, there = _image(regions, data)
    inside = inside_y & inside_x & there[:, None, None, None]
    weight = inside / inside.sum(-1, keepdim=True).clamp(min=1)
    first = (image[:, None] * classes + torch.arange(classes, device=data.device))[..., None]
    first = first * group_size**2 + _groups(pooled_size, group_size, data.device)
    first = (first * h * w)[..., None].expand_as(x).flatten()
    bags = torch.arange(0, x.numel(), x.shape[-1], device=data.device)
    rows = pixel_rows(data, group_size**2, classes)
    parts = [part.flatten() for part in (y, x, weight)]
    found = interpolated(rows, first, (h, w), *parts, bags)
    y = from_rows(found, len(rois) * classes, size).reshape(len(rois), output_dim, *size)
    return linked(y, rois)


@_contrib_DeformablePSROIPooling.takes
def _(no_trans):
    return ("data", "rois") if no_trans else ("data", "rois", "trans")


@_contrib_DeformablePSROIPooling.shaped
def _(rois, output_dim, pooled_size):
    return rois[0], output_dim, pooled_size, pooled_size


def _moved_samples(regions, trans, scale, part_size, std, counts):
    """Where moved bins are sampled: y and x, (r, classes, bins, samples)."""
    bins, samples = counts
    left, top, right, bottom = [edge - 0.5 for edge in _whole(regions, scale)]
    part = torch.arange(bins, device=regions.device) * part_size // bins
    places = []
    for axis, (start, end) in enumerate(((top, bottom), (left, right))):
        length = (end - start).clamp(min=0.1)
        step = length[:, None] / bins
        sample = (step / samples)[..., None] * _steps(samples, start)
        first = step * _steps(bins, start) + start[:, None]
        place = first[..., None] + sample  # (r, bin, sample)
        place = place[:, None, :, None, :, None] if axis == 0 else place[:, None, None, :, None]
        if trans is not None:
            moved = trans[:, 1 - axis :: 2][:, :, part[:, None], part].to(start.dtype) * std
            place = place + (moved * length[:, None, None, None])[..., None, None]
        places.append(place)
    return [place.flatten(-2).flatten(2, 3) for place in torch.broadcast_tensors(*places)]
