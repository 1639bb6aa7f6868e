"""Proposals of regions: the boxes in which a net of two stages then looks closer.

(Ren et al. 2015, Faster R-CNN)
"""

from __future__ import annotations

import math

import torch

from ..base import ShapeError
from .attributes import Floats
from .boxes import best_first, iou, keep_best, rows_at
from .registry import Tensor, op, zeros


@op(traceable=False)
def _contrib_Proposal(
    cls_prob: Tensor,
    bbox_pred: Tensor,
    im_info: Tensor,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Floats = (4.0, 8.0, 16.0, 32.0),
    ratios: Floats = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """MultiProposal of one image."""
    if len(cls_prob) != 1:
        raise ShapeError(
            f"_contrib_Proposal: cls_prob is {tuple(cls_prob.shape)}\n"
            "  expected one image, or MultiProposal"
        )
    counts = rpn_pre_nms_top_n, rpn_post_nms_top_n
    settings = threshold, rpn_min_size, scales, ratios, feature_stride, iou_loss
    found = _proposals("_contrib_Proposal", cls_prob, bbox_pred, im_info, *counts, *settings)
    return found if output_score else found[0]


@op(traceable=False)
def _contrib_MultiProposal(
    cls_prob: Tensor,
    bbox_pred: Tensor,
    im_info: Tensor,
    rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300,
    threshold: float = 0.7,
    rpn_min_size: int = 16,
    scales: Floats = (4.0, 8.0, 16.0, 32.0),
    ratios: Floats = (0.5, 1.0, 2.0),
    feature_stride: int = 16,
    output_score: bool = False,
    iou_loss: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The likeliest boxes that a net predicts, without those that overlap better ones.

    cls_prob : (b, 2a, h, w), the second half is the probability that there is an object
    bbox_pred : (b, 4a, h, w), how the boxes lie to the anchors of a pixel, which are
    a = len(scales) len(ratios); with `iou_loss` how their corners do, in pixels
    im_info : (b, 3), height, width and scale of the image
    y : (b rpn_post_nms_top_n, 5), (image, xmin, ymin, xmax, ymax); with `output_score` also the
    probabilities, (b rpn_post_nms_top_n, 1)

    Of the best `rpn_pre_nms_top_n`, all where it is not positive, those stay that have no
    intersection over union above `threshold` with a better one; where they are fewer than
    `rpn_post_nms_top_n` they are repeated. Boxes smaller than `rpn_min_size` times the scale, and
    those at pixels outside of the image, have the probability -1.
    """
    counts = rpn_pre_nms_top_n, rpn_post_nms_top_n
    settings = threshold, rpn_min_size, scales, ratios, feature_stride, iou_loss
    found = _proposals("_contrib_MultiProposal", cls_prob, bbox_pred, im_info, *counts, *settings)
    return found if output_score else found[0]


for _row in _contrib_Proposal, _contrib_MultiProposal:
    _row.grad(zeros)

    @_row.gives
    def _(output_score):
        return 2 if output_score else 1

    @_row.shaped
    def _(cls_prob, rpn_post_nms_top_n, output_score):
        count = cls_prob[0] * rpn_post_nms_top_n
        return [(count, 5), (count, 1)] if output_score else (count, 5)


def _proposals(
    name,
    cls_prob,
    bbox_pred,
    im_info,
    before,
    after,
    threshold,
    min_size,
    scales,
    ratios,
    stride,
    from_corners,
):
    b, a = len(cls_prob), len(scales) * len(ratios)
    shapes = [(b, 2 * a, *cls_prob.shape[2:]), (b, 4 * a, *cls_prob.shape[2:]), (b, 3)]
    given = [tuple(x.shape) for x in (cls_prob, bbox_pred, im_info)]
    if given != shapes or cls_prob.dim() != 4:
        raise ShapeError(
            f"{name}: cls_prob is {given[0]}, bbox_pred {given[1]}, im_info {given[2]}, with "
            f"{a} anchors\n  expected (b, {2 * a}, h, w), (b, {4 * a}, h, w) and (b, 3)"
        )
    if cls_prob.is_meta:
        return cls_prob.new_empty(b * after, 5), cls_prob.new_empty(b * after, 1)
    h, w = cls_prob.shape[2:]
    score = cls_prob[:, a:].permute(0, 2, 3, 1).reshape(b, -1)
    offsets = bbox_pred.reshape(b, a, 4, h, w).permute(0, 3, 4, 1, 2).reshape(b, -1, 4)
    anchors = _anchors(h, w, scales, ratios, stride, bbox_pred)
    boxes, score = _boxes(offsets, score, anchors, im_info, (h, w), stride, from_corners)
    small = ((boxes[..., 2:] - boxes[..., :2] + 1) < im_info[:, 2, None, None] * min_size).any(-1)
    # Moved apart, as in MXNet, by half of the smallest size.
    grown = small[..., None] * (im_info[:, 2, None, None] * min_size / 2)
    boxes = torch.cat([boxes[..., :2] - grown, boxes[..., 2:] + grown], -1)
    score = score.masked_fill(small, -1)
    place, there = best_first(score, torch.ones_like(score, dtype=torch.bool), before)
    boxes, score = rows_at(boxes, place), score.gather(1, place)
    stays = keep_best(boxes, there, _overlap, lambda y: y > threshold, after)
    order = stays.sort(dim=1, descending=True, stable=True).indices
    turn = torch.arange(after, device=score.device) % stays.sum(1, keepdim=True)
    chosen = order.gather(1, turn)
    image = torch.arange(b, device=score.device, dtype=score.dtype)[:, None, None]
    boxes = torch.cat([image.expand(b, after, 1), rows_at(boxes, chosen)], -1)
    return boxes.flatten(0, 1), score.gather(1, chosen).reshape(-1, 1)


def _overlap(a, b):
    return iou(a, b, border=1.0)


def _anchors(h, w, scales, ratios, stride, like):
    """The anchors of all pixels, (h w a, 4): of one area for each scale, in whole pixels."""
    shapes = []
    for ratio in ratios:
        width = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
        height = math.floor(width * ratio + 0.5)
        shapes += [(width * scale, height * scale) for scale in scales]
    half = (like.new_tensor(shapes) - 1) / 2
    middle = (stride - 1) / 2
    y = torch.arange(h, device=like.device, dtype=like.dtype) * stride + middle
    x = torch.arange(w, device=like.device, dtype=like.dtype) * stride + middle
    centre = torch.stack([x.expand(h, w), y[:, None].expand(h, w)], -1).reshape(-1, 1, 2)
    return torch.cat([centre - half, centre + half], -1).reshape(-1, 4)


def _boxes(offsets, score, anchors, im_info, size, stride, from_corners):
    """The boxes inside their images, and -1 for scores at pixels outside."""
    if from_corners:
        boxes = anchors + offsets
    else:
        length = anchors[:, 2:] - anchors[:, :2] + 1
        middle = offsets[..., :2] * length + (anchors[:, :2] + (length - 1) / 2)
        half = (torch.exp(offsets[..., 2:]) * length - 1) / 2
        boxes = torch.cat([middle - half, middle + half], -1)
    last = im_info[:, [1, 0, 1, 0]][:, None] - 1
    boxes = boxes.clamp(min=0).minimum(last)
    h, w = size
    y, x = (torch.arange(n, device=score.device) for n in size)
    inside = (im_info[:, :2] / stride).long()
    outside = (y >= inside[:, :1])[:, :, None] | (x >= inside[:, 1:])[:, None]
    outside = outside[..., None].expand(-1, h, w, score.shape[1] // (h * w)).flatten(1)
    return boxes, score.masked_fill(outside, -1)
