"""What each name of GluonCV's model zoo is, and which input it wants."""

import re
from dataclasses import dataclass, field
from typing import Any

CUSTOM = {"classes": ["one", "two", "three"]}


@dataclass
class Model:
    """A name of the zoo: its kind, the shapes of its inputs, and the arguments that make it."""

    name: str
    kind: str
    shapes: list[tuple[int, ...]]
    small: bool
    arguments: dict[str, Any] = field(default_factory=dict)


def image(height, width=None, channels=3, count=1):
    return [(count, channels, height, width or height)]


def video(frames, size):
    return [(1, 3, frames, size, size)]


# By patterns, the first that fits: the kind, the shapes at full size, those that are small
# and quick to run, and more arguments of the small one.
ROWS = [
    (r"resnet.*kinetics400_int8", "int8", image(224, count=7), image(64, count=7), {}),
    (r"vgg16_ucf101_int8", "int8", image(224, count=3), None, {}),
    (r"inceptionv3.*_int8", "int8", image(299, count=3), None, {}),
    (r"^(psp|deeplab)_.*_int8", "int8", image(480), None, {}),
    (r"siamrpn", "tracker", [(1, 3, 127, 127), (1, 3, 287, 287)], None, {}),
    (r"monodepth2.*posenet", "pose of a camera", image(192, 640, 6), image(64, 64, 6), {}),
    (r"monodepth2", "depth", image(192, 640), image(64, 64), {}),
    (r"^(simple|mobile|alpha)_pose", "pose", image(256, 192), image(64), {}),
    (r"ssd_300|^vgg16_atrous", "ssd", image(300), None, {}),
    (r"ssd_512_vgg16", "ssd", image(512), None, {}),
    (r"ssd_512", "ssd", image(512), image(256), {}),
    (r"yolo3", "yolo", image(416), image(96), {}),
    (r"center_net", "center_net", image(512), image(64), {}),
    (r"rcnn", "rcnn", image(600, 800), image(128), {}),
    (r"fastscnn", "segmenter", image(1024), image(256), {"crop_size": 256}),
    (r"hrnet.*_s$", "segmenter", image(480), image(96), {}),
    (r"hrnet.*_c$", "classifier", image(224), image(64), {}),
    (r"citys|icnet", "segmenter", image(480), image(96), {"crop_size": 96}),
    (r"deeplab_resnest", "segmenter", image(480), image(224), {"crop_size": 224}),
    (r"^(fcn|psp|deeplab|danet)_", "segmenter", image(480), image(96), {"crop_size": 96}),
    (r"cifar", "classifier", image(32), image(32), {}),
    (r"slowfast_(4x16)", "classifier", video(36, 224), video(36, 64), {}),
    (r"slowfast_(8x8)", "classifier", video(40, 224), video(40, 64), {}),
    (r"slowfast_(16x8)", "classifier", video(80, 224), video(80, 64), {}),
    (r"c3d_", "classifier", video(16, 112), None, {}),
    (r"r2plus1d_", "classifier", video(16, 112), video(8, 56), {}),
    (r"^p3d_", "classifier", video(16, 224), video(16, 160), {}),
    (r"i3d_inceptionv3", "classifier", video(32, 299), None, {}),
    (r"i3d_slow", "classifier", video(16, 224), video(16, 64), {}),
    (r"i3d_", "classifier", video(32, 224), video(32, 64), {}),
    (r"inceptionv3|xception", "classifier", image(299), None, {}),
    (r"nasnet_[567]", "classifier", image(331), None, {}),
    (r"^(resnet|se_resnet|resnext|se_resnext|senet|mobilenet|darknet)", "classifier", image(224),
     image(64), {}),
    (r"", "classifier", image(224), None, {}),
]  # fmt: skip


def model(name, small=False):
    """The model of a name, at the size that it wants, or at one that is small and quick."""
    found = next(row for row in ROWS if re.search(row[0], name))
    _, kind, shapes, small_shapes, more = found
    arguments = {"pretrained": False, "pretrained_base": False}
    if kind in ("ssd", "yolo", "rcnn") and "custom" in name:
        arguments |= CUSTOM
    if name.endswith("_int8"):
        kind = "int8"
    if small and small_shapes:
        shapes, arguments = small_shapes, arguments | more
    return Model(name, kind, shapes, small, arguments)
