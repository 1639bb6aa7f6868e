"""Inception v3 (Szegedy et al. 2015, Rethinking the inception architecture)."""

from __future__ import annotations

from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ._trained import loaded

__all__ = ["Inception3", "inception_v3"]


def _row(*blocks: HybridBlock) -> nn.HybridSequential:
    row = nn.HybridSequential(prefix="")
    row.add(*blocks)
    return row


def _conv(channels: int, kernel, strides=1, padding=0) -> nn.HybridSequential:
    """A convolution, normalization and relu."""
    return _row(
        nn.Conv2D(channels, kernel, strides=strides, padding=padding, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )


def _averaged(channels: int) -> nn.HybridSequential:
    """The mean of neighbours, then a convolution of each pixel."""
    return _row(nn.AvgPool2D(pool_size=3, strides=1, padding=1), _conv(channels, 1))


def _along(channels: int, size: int, vertical: bool) -> nn.HybridSequential:
    """A convolution along one axis."""
    kernel, padding = (1, size), (0, size // 2)
    return _conv(
        channels, kernel[::-1] if vertical else kernel, padding=padding[:: -1 if vertical else 1]
    )


def _beside(*branches: HybridBlock, prefix: str = "") -> HybridConcurrent:
    both = HybridConcurrent(axis=1, prefix=prefix)
    both.add(*branches)
    return both


def _a(pooled: int) -> list[HybridBlock]:
    return [
        _row(_conv(64, 1)),
        _row(_conv(48, 1), _conv(64, 5, padding=2)),
        _row(_conv(64, 1), _conv(96, 3, padding=1), _conv(96, 3, padding=1)),
        _averaged(pooled),
    ]


def _b() -> list[HybridBlock]:
    return [
        _row(_conv(384, 3, strides=2)),
        _row(_conv(64, 1), _conv(96, 3, padding=1), _conv(96, 3, strides=2)),
        _row(nn.MaxPool2D(pool_size=3, strides=2)),
    ]


def _c(channels: int) -> list[HybridBlock]:
    return [
        _row(_conv(192, 1)),
        _row(_conv(channels, 1), _along(channels, 7, False), _along(192, 7, True)),
        _row(
            _conv(channels, 1),
            _along(channels, 7, True),
            _along(channels, 7, False),
            _along(channels, 7, True),
            _along(192, 7, False),
        ),
        _averaged(192),
    ]


def _d() -> list[HybridBlock]:
    return [
        _row(_conv(192, 1), _conv(320, 3, strides=2)),
        _row(_conv(192, 1), _along(192, 7, False), _along(192, 7, True), _conv(192, 3, strides=2)),
        _row(nn.MaxPool2D(pool_size=3, strides=2)),
    ]


def _split() -> HybridConcurrent:
    return _beside(_row(_along(384, 3, False)), _row(_along(384, 3, True)))


def _e() -> list[HybridBlock]:
    return [
        _row(_conv(320, 1)),
        _row(_row(_conv(384, 1)), _split()),
        _row(_row(_conv(448, 1), _conv(384, 3, padding=1)), _split()),
        _averaged(192),
    ]


class Inception3(HybridBlock):
    """Modules of convolutions of several sizes side by side.

    Parameters
    ----------
    classes : int

    Inputs: (n, 3, 299, 299). Outputs: (n, classes).
    """

    def __init__(self, classes: int = 1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                _conv(32, 3, strides=2),
                _conv(32, 3),
                _conv(64, 3, padding=1),
                nn.MaxPool2D(pool_size=3, strides=2),
                _conv(80, 1),
                _conv(192, 3),
                nn.MaxPool2D(pool_size=3, strides=2),
            )
            for name, make, *channels in _MODULES:
                module = _beside(prefix=f"{name}_")
                with module.name_scope():
                    module.add(*make(*channels))
                self.features.add(module)
            self.features.add(nn.AvgPool2D(pool_size=8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        """The score of each class."""
        return self.output(self.features(x))


_MODULES = [
    ("A1", _a, 32),
    ("A2", _a, 64),
    ("A3", _a, 64),
    ("B", _b),
    ("C1", _c, 128),
    ("C2", _c, 160),
    ("C3", _c, 160),
    ("C4", _c, 192),
    ("D", _d),
    ("E1", _e),
    ("E2", _e),
]


def inception_v3(pretrained: bool = False, ctx=None, root=None, **kwargs) -> Inception3:
    """Inception v3, for images of 299 by 299."""
    return loaded(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)
