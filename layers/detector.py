"""Blocks of a single shot detector: feature maps, and a head for each map."""

from __future__ import annotations

from .dense import DenseBlock
from .engine import gluon, mx

__all__ = ["SSD", "DetectionHead"]


class SSD(gluon.HybridBlock):
    """Single shot detector: feature maps, and a head for each map; see `layers.nets.ssd_lite`.

    Inputs:
        - **x**: (n, channels, height, width)
    Outputs:
        - **scores**: (n, k, classes + 1)
        - **offsets**: (n, 4 k)
        - **anchors**: (1, k, 4)
    """

    def __init__(self, channels, classes, units, sizes, ratios, **kwargs):
        super().__init__(**kwargs)
        self._sizes, self._ratios = [tuple(each) for each in sizes], tuple(ratios)
        with self.name_scope():
            self.maps = gluon.nn.HybridSequential(prefix="maps_")
            self.heads = gluon.nn.HybridSequential(prefix="heads_")
            wide = channels
            with self.maps.name_scope():
                self.maps.add(_row([*_convolution(wide, units, 2), *_convolution(units, units)]))
                for i in range(len(sizes)):
                    before, wide = (wide, 4 * units) if i else (units, 2 * units)
                    self.maps.add(_row([*_convolution(before, wide, 2), *_convolution(wide, wide)]))
            with self.heads.name_scope():
                for i, each in enumerate(self._sizes):
                    wide, anchors = (4 if i else 2) * units, len(each) + len(self._ratios) - 1
                    self.heads.add(DetectionHead(wide, anchors, classes + 1))

    def hybrid_forward(self, F, x):
        scores, offsets, anchors = [], [], []
        x = self.maps[0](x)
        for i, sizes in enumerate(self._sizes):
            x = self.maps[i + 1](x)
            found = self.heads[i](x)
            scores.append(found[0])
            offsets.append(found[1])
            anchors.append(F.contrib.MultiBoxPrior(x, sizes=sizes, ratios=self._ratios))
        return F.concat(*scores, dim=1), F.concat(*offsets, dim=1), F.concat(*anchors, dim=1)


class DetectionHead(gluon.HybridBlock):
    """Head of a feature map: a depthwise convolution, then affine maps for scores and offsets.

    Inputs:
        - **x**: (n, channels, height, width)
    Outputs:
        - **scores**: (n, height * width * anchors, scores)
        - **offsets**: (n, height * width * anchors * 4)
    """

    def __init__(self, channels: int, anchors: int, scores: int, **kwargs):
        super().__init__(**kwargs)
        self._scores, xavier = scores, mx.init.Xavier()
        with self.name_scope():
            self.body = _row(_convolution(channels, channels, groups=channels))
            self.score = DenseBlock(channels, anchors * scores, weight_initializer=xavier)
            self.offset = DenseBlock(channels, anchors * 4, weight_initializer=xavier)

    def hybrid_forward(self, F, x):
        x = F.transpose(self.body(x), axes=(0, 2, 3, 1))  # the channels of a pixel as a row
        scores = F.reshape(self.score(x), shape=(0, -1, self._scores))
        return scores, F.reshape(self.offset(x), shape=(0, -1))


def _convolution(channels: int, filters: int, stride: int = 1, groups: int = 1) -> list:
    """Return the layers of a 3 x 3 convolution, batch normalization and relu."""
    # Use the engine's own relu: behind a convolution of oneDNN, Apache MXNet now and then gives a
    # custom operator wrong values, because the layout of the array is still being changed.
    relu = gluon.nn.Activation("relu")
    convolution = gluon.nn.Conv2D(
        filters, 3, stride, 1, groups=groups, use_bias=False, in_channels=channels,
        weight_initializer=mx.init.Xavier(magnitude=6),
    )  # fmt: skip
    return [convolution, gluon.nn.BatchNorm(in_channels=filters), relu]


def _row(layers: list):
    found = gluon.nn.HybridSequential()
    with found.name_scope():
        found.add(*layers)
    return found
