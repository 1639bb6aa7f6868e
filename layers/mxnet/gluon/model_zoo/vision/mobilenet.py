"""MobileNet (Howard et al. 2017) and MobileNet v2 (Sandler et al. 2018)."""

from __future__ import annotations

from ... import nn
from ...block import HybridBlock
from ._trained import loaded

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_25",
    "mobilenet0_5",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]


class RELU6(HybridBlock):
    """The positive part, at most 6."""

    def hybrid_forward(self, F, x):
        """x from 0 to 6."""
        return F.clip(x, 0, 6, name="relu6")


def _conv(
    row: nn.HybridSequential,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    pad: int = 0,
    groups: int = 1,
    active: bool = True,
    relu6: bool = False,
) -> None:
    """Put a convolution at the end of a row, with normalization and relu."""
    row.add(nn.Conv2D(channels, kernel, stride, pad, groups=groups, use_bias=False))
    row.add(nn.BatchNorm(scale=True))
    if active:
        row.add(RELU6() if relu6 else nn.Activation("relu"))


class LinearBottleneck(HybridBlock):
    """More channels, a convolution of each by itself, then fewer; added to the input where it fits.

    Parameters
    ----------
    in_channels, channels : int
        Of input and output.
    t : int
        How many times as many channels there are within.
    stride : int

    Inputs: (n, in_channels, h, w). Outputs: (n, channels, h / stride, w / stride).
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs):
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        within = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            _conv(self.out, within, relu6=True)
            _conv(self.out, within, 3, stride, 1, groups=within, relu6=True)
            _conv(self.out, channels, active=False)

    def hybrid_forward(self, F, x):
        """The new channels."""
        out = self.out(x)
        return F.elemwise_add(out, x) if self.use_shortcut else out


class MobileNet(HybridBlock):
    """Convolutions of each channel by itself, each followed by one of each pixel.

    Parameters
    ----------
    multiplier : float
        The share of the channels.
    classes : int

    Inputs: (n, 3, 224, 224). Outputs: (n, classes).
    """

    # Channels after each pair of convolutions, and the stride of its first one.
    _PAIRS = (
        [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
        + [(512, 1)] * 5
        + [(1024, 2), (1024, 1)]
    )

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                before = int(32 * multiplier)
                _conv(self.features, before, kernel=3, stride=2, pad=1)
                for channels, stride in self._PAIRS:
                    _conv(self.features, before, 3, stride, 1, groups=before)
                    before = int(channels * multiplier)
                    _conv(self.features, before)
                self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        """The score of each class."""
        return self.output(self.features(x))


class MobileNetV2(HybridBlock):
    """Bottlenecks that are wide within, and narrow where they are added up.

    Parameters
    ----------
    multiplier : float
        The share of the channels.
    classes : int

    Inputs: (n, 3, 224, 224). Outputs: (n, classes).
    """

    # How wide within, channels, how many bottlenecks, the stride of the first one.
    _STAGES = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                before = int(32 * multiplier)
                _conv(self.features, before, kernel=3, stride=2, pad=1, relu6=True)
                for t, channels, count, stride in self._STAGES:
                    after = int(channels * multiplier)
                    for i in range(count):
                        step = stride if i == 0 else 1
                        self.features.add(LinearBottleneck(before, after, t, step))
                        before = after
                last = int(1280 * multiplier) if multiplier > 1.0 else 1280
                _conv(self.features, last, relu6=True)
                self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())

    def hybrid_forward(self, F, x):
        """The score of each class."""
        return self.output(self.features(x))


def _named(multiplier: float) -> str:
    """A multiplier as names of models have it: 0.5, 0.25, 1.0."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text in ("1.00", "0.50") else text


def get_mobilenet(
    multiplier: float, pretrained: bool = False, ctx=None, root=None, **kwargs
) -> MobileNet:
    """A MobileNet with a share of the channels."""
    net = MobileNet(multiplier, **kwargs)
    return loaded(net, f"mobilenet{_named(multiplier)}", pretrained, ctx, root)


def get_mobilenet_v2(
    multiplier: float, pretrained: bool = False, ctx=None, root=None, **kwargs
) -> MobileNetV2:
    """A MobileNet v2 with a share of the channels."""
    net = MobileNetV2(multiplier, **kwargs)
    return loaded(net, f"mobilenetv2_{_named(multiplier)}", pretrained, ctx, root)


def mobilenet1_0(**kwargs) -> MobileNet:
    """MobileNet with all channels."""
    return get_mobilenet(1.0, **kwargs)


def mobilenet0_75(**kwargs) -> MobileNet:
    """MobileNet with three quarters of the channels."""
    return get_mobilenet(0.75, **kwargs)


def mobilenet0_5(**kwargs) -> MobileNet:
    """MobileNet with half of the channels."""
    return get_mobilenet(0.5, **kwargs)


def mobilenet0_25(**kwargs) -> MobileNet:
    """MobileNet with a quarter of the channels."""
    return get_mobilenet(0.25, **kwargs)


def mobilenet_v2_1_0(**kwargs) -> MobileNetV2:
    """MobileNet v2 with all channels."""
    return get_mobilenet_v2(1.0, **kwargs)


def mobilenet_v2_0_75(**kwargs) -> MobileNetV2:
    """MobileNet v2 with three quarters of the channels."""
    return get_mobilenet_v2(0.75, **kwargs)


def mobilenet_v2_0_5(**kwargs) -> MobileNetV2:
    """MobileNet v2 with half of the channels."""
    return get_mobilenet_v2(0.5, **kwargs)


def mobilenet_v2_0_25(**kwargs) -> MobileNetV2:
    """MobileNet v2 with a quarter of the channels."""
    return get_mobilenet_v2(0.25, **kwargs)
