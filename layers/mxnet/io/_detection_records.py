"""An iterator over image records with boxes of objects, decoded and changed in threads."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import numpy as np
import torch

from .._table import colours
from ..base import ArgumentError, UnsupportedError
from ..image._boxes import split_label
from ..image._resize import bordered
from ._image_changes import as_bytes, hsl_shifted, normalized, resized_by, resized_short
from ._image_records import COMMON, RecordIter, named, set_normalization

__all__ = ["ImageDetRecordIter"]

_RANGES = ("scales", "aspect_ratios", "overlaps", "sample_coverages", "object_coverages")
_WHOLE = {"scales": (0.0, 1.0), "aspect_ratios": (1.0, 1.0)}  # the others are from 0 to 1


class ImageDetRecordIter(RecordIter):
    """Batches of images with the boxes of their objects, of a RecordIO file.

    A record's label is how many numbers its header has, how many each object has, the rest of the
    header, and the objects: class, xmin, ymin, xmax, ymax as parts of the image, and more. In a
    batch, a label is (channels, height, width, how many numbers follow, the record's label as it is
    after the changes), filled up with `label_pad_value`; height and width are those of the image.

    Parameters
    ----------
    path_imgrec, path_imglist, data_shape, batch_size, preprocess_threads, prefetch_buffer
        As those of `ImageRecordIter`; so `num_parts`, `part_index`, `shuffle`, `seed`,
        `round_batch`, `dtype`, `resize`, `inter_method`, `verbose`, and those of means and scale,
        where a `std_r` of 0 is 1.
    label_width : int
        How many numbers each record's label has; -1 for any number.
    label_pad_width : int
        How many numbers a label in a batch has room for; by default the most of any record.
    label_pad_value : float
    resize_mode : {'force', 'fit', 'shrink'}
        force: resize to `data_shape`. fit: the largest size with the image's proportions that fits
        into it; shrink: the same, but no larger than the image; what is left is 0.
    rand_crop_prob : float
        The probability of a crop. `num_crop_sampler` samplers are tried in a drawn order, each as
        often as `max_crop_trials` says. A sampler draws a crop from `min_crop_scales` to
        `max_crop_scales` of the image's size, with proportions from `min_crop_aspect_ratios` to
        `max_crop_aspect_ratios`; it is taken where an object has an overlap with it (area of what
        is common by that of the union), a sample coverage (by that of the crop) and an object
        coverage (by that of the object) in the ranges of these names.
    crop_emit_mode : {'center', 'overlap'}
        Which objects a crop leaves out: whose middle is outside, or of which not more than
        `emit_overlap_thresh` is in it.
    rand_pad_prob, max_pad_scale, fill_value
        The probability of a border, how much larger the image is at most, and what is there.
    rand_mirror_prob : float
        The probability to exchange left and right.
    max_random_hue, max_random_saturation, max_random_illumination, max_random_contrast
        How far to change these, each with the probability of its name: `random_hue_prob`, ...
    mean_img : path
        Not supported.
    ctx, device_id, shuffle_chunk_size, shuffle_chunk_seed, mean_a, std_a
        Ignored, as by `ImageRecordIter`.

    Raises
    ------
    ArgumentError
        An option is unknown, missing, or does not fit.
    MXNetError
        The file or a label in it is damaged.
    UnsupportedError
        `mean_img` is given, or another `aug_seq` than 'det_aug_default'.
    """

    defaults = COMMON | {
        "aug_seq": "det_aug_default",
        "label_width": -1,
        "label_pad_width": 0,
        "label_pad_value": -1.0,
        "label_name": "softmax_label",
        "rand_crop_prob": 0.0,
        **{f"min_crop_{name}": (_WHOLE.get(name, (0.0, 1.0))[0],) for name in _RANGES},
        **{f"max_crop_{name}": (_WHOLE.get(name, (0.0, 1.0))[1],) for name in _RANGES},
        "num_crop_sampler": 1,
        "crop_emit_mode": "center",
        "emit_overlap_thresh": 0.3,
        "max_crop_trials": (25.0,),
        "rand_pad_prob": 0.0,
        "max_pad_scale": 1.0,
        "max_random_hue": 0,
        "random_hue_prob": 0.0,
        "max_random_saturation": 0,
        "random_saturation_prob": 0.0,
        "max_random_illumination": 0,
        "random_illumination_prob": 0.0,
        "max_random_contrast": 0.0,
        "random_contrast_prob": 0.0,
        "rand_mirror_prob": 0.0,
        "fill_value": 127,
        "resize_mode": "force",
        **dict.fromkeys(("std_r", "std_g", "std_b", "std_a"), 0.0),
    }

    def _setup(self) -> None:
        o, name = self._options, type(self).__name__
        if o.aug_seq != "det_aug_default" or o.mean_img:
            raise UnsupportedError(
                f"{name}: aug_seq is {o.aug_seq!r}, mean_img {o.mean_img!r}\n"
                "  expected 'det_aug_default', and mean_r, mean_g and mean_b"
            )
        for option, known in (
            ("resize_mode", ("force", "fit", "shrink")),
            ("crop_emit_mode", ("center", "overlap")),
        ):
            if getattr(o, option) not in known:
                raise ArgumentError(
                    f"{name}: {option} is {getattr(o, option)!r}\n  expected one of {known}"
                )
        o.std_r, o.std_g, o.std_b = o.std_r or 1.0, o.std_g or 1.0, o.std_b or 1.0
        set_normalization(o)
        o.mirror = o.rand_mirror = False  # boxes are mirrored too, before
        # Contrast is changed before too: `normalized` has none.
        self._plain = SimpleNamespace(
            **vars(o) | {"max_random_contrast": 0, "max_random_illumination": 0}
        )
        self._samplers = [self._sampler(i) for i in range(o.num_crop_sampler)]
        most = 0
        for number in range(len(self._source)):
            size = self._stored(number).size
            if o.label_width > 0 and size != o.label_width:
                raise ArgumentError(
                    f"{self._source.name(number)} has a label of {size} numbers\n"
                    f"  expected {o.label_width}, as label_width says"
                )
            most = max(most, size)
        self._width = o.label_pad_width if o.label_pad_width > 0 else most
        if self._width < most:
            raise ArgumentError(
                f"{name}: label_pad_width is {o.label_pad_width}\n"
                f"  expected at least {most}, as a record has"
            )

    def _sampler(self, number: int) -> SimpleNamespace:
        """The ranges of a sampler; an option of one value is the same for all samplers."""
        o, ranges = self._options, {}
        for name in _RANGES:
            limits = getattr(o, f"min_crop_{name}"), getattr(o, f"max_crop_{name}")
            if any(len(values) not in (1, o.num_crop_sampler) for values in limits):
                raise ArgumentError(
                    f"{type(self).__name__}: crop_{name} are {limits}\n"
                    f"  expected one or {o.num_crop_sampler} of each, as num_crop_sampler says"
                )
            least, most = (values[number % len(values)] for values in limits)
            if least > most or (name in _WHOLE and most <= 0):
                raise ArgumentError(
                    f"{type(self).__name__}: crop_{name} are from {least} to {most}\n"
                    "  expected a range"
                )
            ranges[name] = least, most
        trials = o.max_crop_trials[number % len(o.max_crop_trials)]
        return SimpleNamespace(**ranges, trials=int(trials))

    def _stored(self, number: int) -> np.ndarray:
        """The label of a record."""
        with named(self._source.name(number)):
            header = self._source.header(number)
        label = self._labels.get(header.id, header.label) if self._labels else header.label
        return np.atleast_1d(label)

    def label_shape(self) -> tuple[int, ...]:
        return (4 + self._width,)

    def _prepare(self, record: bytes, name: str, draw: random.Random, data, label) -> int:
        o = self._options
        number, stored, image = self.unpacked(record, name)
        head, objects = split_label(stored, name)
        if o.resize > 0:
            with named(name):
                image = resized_short(image, o, draw)
        image = self._recoloured(image, draw)
        if draw.random() < o.rand_mirror_prob:
            image = image.flip(1)
            objects[:, [1, 3]] = 1 - objects[:, [3, 1]]
        if draw.random() < o.rand_pad_prob:
            image, objects = self._padded(image, objects, draw)
        if draw.random() < o.rand_crop_prob:
            image, objects = self._cropped(image, objects, draw)
        image = self._fitted(image, draw)
        height, width = image.shape[:2]
        if (height, width) != tuple(o.data_shape[1:]):
            data.zero_()
        normalized(image, self._plain, draw, data[:, :height, :width])
        values = np.concatenate([head, objects.ravel()])
        label[...] = o.label_pad_value
        label[0, :4] = image.shape[2], height, width, len(values)
        label[0, 4 : 4 + len(values)] = values
        return number

    def _recoloured(self, image: torch.Tensor, draw: random.Random) -> torch.Tensor:
        o = self._options
        if image.shape[2] == 3:
            limits = (
                (o.max_random_hue, o.random_hue_prob),
                (o.max_random_saturation, o.random_saturation_prob),
                (o.max_random_illumination, o.random_illumination_prob),
            )
            spans = [span if draw.random() < p else 0 for span, p in limits]
            if any(spans):
                image = hsl_shifted(image, *spans, draw)
        if draw.random() < o.random_contrast_prob:
            factor = 1 + draw.uniform(-o.max_random_contrast, o.max_random_contrast)
            image = as_bytes(colours.brightness(image.float(), factor))
        return image

    def _padded(self, image: torch.Tensor, objects: np.ndarray, draw: random.Random) -> tuple:
        """The image somewhere in a larger one."""
        o = self._options
        h, w = image.shape[:2]
        scale = draw.uniform(1.0, max(1.0, o.max_pad_scale))
        new_h, new_w = int(h * scale), int(w * scale)
        y, x = draw.randint(0, new_h - h), draw.randint(0, new_w - w)
        image = bordered(
            image, (y, new_h - h - y, x, new_w - w - x), 0, (o.fill_value,) * image.shape[2]
        )
        objects = objects.copy()
        objects[:, 1:5] = (objects[:, 1:5] * (w, h, w, h) + (x, y, x, y)) / np.tile(
            (new_w, new_h), 2
        )
        return image, objects

    def _cropped(self, image: torch.Tensor, objects: np.ndarray, draw: random.Random) -> tuple:
        """A part of the image that one of the samplers has drawn; the image where none fits."""
        h, w = image.shape[:2]
        for sampler in draw.sample(self._samplers, len(self._samplers)):
            for _ in range(sampler.trials):
                box = _drawn_box(sampler, h, w, draw)
                if not _is_in_ranges(box, objects, sampler):
                    continue
                cropped = self._objects_in(box, objects)
                if len(cropped):
                    x, y = round(box[0] * w), round(box[1] * h)
                    right, bottom = round(box[2] * w), round(box[3] * h)
                    rows = slice(y, max(bottom, y + 1))
                    columns = slice(x, max(right, x + 1))
                    return image[rows, columns], cropped
        return image, objects

    def _objects_in(self, box: np.ndarray, objects: np.ndarray) -> np.ndarray:
        """The objects in a crop, their boxes relative to it."""
        o = self._options
        if o.crop_emit_mode == "center":
            middle = (objects[:, 1:3] + objects[:, 3:5]) / 2
            inside = ((middle >= box[:2]) & (middle <= box[2:])).all(1)
        else:
            common, _, area = _areas(box, objects)
            inside = common > o.emit_overlap_thresh * area
        found = objects[inside].copy()
        size = np.tile(box[2:] - box[:2], 2)
        found[:, 1:5] = ((found[:, 1:5] - np.tile(box[:2], 2)) / size).clip(0, 1)
        return found

    def _fitted(self, image: torch.Tensor, draw: random.Random) -> torch.Tensor:
        o = self._options
        _, want_h, want_w = o.data_shape
        if o.resize_mode != "force":
            h, w = image.shape[:2]
            # As MXNet computes them: in float32, whose rounding decides at whole numbers.
            scale = min(np.float32(want_h) / np.float32(h), np.float32(want_w) / np.float32(w))
            if o.resize_mode == "shrink":
                scale = min(scale, np.float32(1))
            want_h, want_w = (max(1, int(np.float32(n) * scale)) for n in (h, w))
        return resized_by(image, want_w, want_h, o.inter_method, draw)


def _drawn_box(sampler: SimpleNamespace, h: int, w: int, draw: random.Random) -> np.ndarray:
    """A box (xmin, ymin, xmax, ymax), in parts of the image."""
    scale = max(draw.uniform(*sampler.scales), 1 / max(h, w))
    # Of width by height in pixels: in parts of the image, the height counts h / w times as much.
    least, most = (limit * h / w for limit in sampler.aspect_ratios)
    ratio = draw.uniform(max(least, scale**2), min(most, 1 / scale**2))
    width, height = min(1.0, scale * math.sqrt(ratio)), min(1.0, scale / math.sqrt(ratio))
    x, y = draw.uniform(0, 1 - width), draw.uniform(0, 1 - height)
    return np.array([x, y, x + width, y + height])


def _areas(box: np.ndarray, objects: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """The areas that a box shares with each object, its own area, and those of the objects."""
    low, high = np.maximum(objects[:, 1:3], box[:2]), np.minimum(objects[:, 3:5], box[2:])
    common = (high - low).clip(0).prod(1)
    area = (objects[:, 3:5] - objects[:, 1:3]).clip(0).prod(1)
    return common, float((box[2:] - box[:2]).prod()), area


def _is_in_ranges(box: np.ndarray, objects: np.ndarray, sampler: SimpleNamespace) -> bool:
    """Whether an object has what the sampler asks for; any box does where it asks for nothing."""
    asked = [sampler.overlaps, sampler.sample_coverages, sampler.object_coverages]
    if all(limits == (0.0, 1.0) for limits in asked):
        return True
    common, own, area = _areas(box, objects)
    with np.errstate(divide="ignore", invalid="ignore"):  # objects without an area: in no range
        found = common / (own + area - common), common / own, common / area
    fits = [(ratio >= least) & (ratio <= most) for ratio, (least, most) in zip(found, asked)]
    return bool(np.logical_and.reduce(fits).any())
