"""ResNet (He et al. 2015, Deep residual learning) and v2 (2016, Identity mappings)."""

from __future__ import annotations

from ....base import ParameterError
from ... import nn
from ...block import HybridBlock
from ._trained import loaded

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
]


def _conv3x3(channels: int, stride: int, in_channels: int) -> nn.Conv2D:
    return nn.Conv2D(channels, 3, stride, padding=1, use_bias=False, in_channels=in_channels)


class _BlockV1(HybridBlock):
    """relu(body(x) + x), with a convolution of x where its shape differs."""

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.body = nn.HybridSequential(prefix="")
        self.body.add(*self._layers(channels, stride, in_channels))
        self.downsample = None
        if downsample:
            self.downsample = nn.HybridSequential(prefix="")
            self.downsample.add(
                nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels),
                nn.BatchNorm(),
            )

    def _layers(self, channels: int, stride: int, in_channels: int) -> list[HybridBlock]:
        raise NotImplementedError

    def hybrid_forward(self, F, x):
        """What is learned, added to x."""
        residual = x if self.downsample is None else self.downsample(x)
        return F.Activation(residual + self.body(x), act_type="relu")


class BasicBlockV1(_BlockV1):
    """Two convolutions of 3 by 3, added to the input.

    Parameters
    ----------
    channels : int
    stride : int
    downsample : bool
        Whether the input needs a convolution, since its shape is not the output's.
    in_channels : int
        0: the first call tells.

    Inputs: (n, in_channels, h, w). Outputs: (n, channels, h / stride, w / stride).
    """

    def _layers(self, channels, stride, in_channels):
        return [
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
            nn.BatchNorm(),
        ]


class BottleneckV1(_BlockV1):
    """Convolutions to a quarter of the channels, of 3 by 3 there, and back, added to the input.

    Parameters, inputs and outputs are those of `BasicBlockV1`.
    """

    def _layers(self, channels, stride, in_channels):
        return [
            nn.Conv2D(channels // 4, kernel_size=1, strides=stride),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels // 4, 1, channels // 4),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, kernel_size=1, strides=1),
            nn.BatchNorm(),
        ]


class _BlockV2(HybridBlock):
    """Normalization and relu before each convolution, and nothing after the sum."""

    def _finish(self, channels: int, stride: int, downsample: bool, in_channels: int) -> None:
        self.downsample = None
        if downsample:
            self.downsample = nn.Conv2D(
                channels, 1, stride, use_bias=False, in_channels=in_channels
            )

    def hybrid_forward(self, F, x):
        """What is learned, added to x."""
        residual = x
        for number, (norm, convolution) in enumerate(self._pairs()):
            x = F.Activation(norm(x), act_type="relu")
            if number == 0 and self.downsample is not None:
                residual = self.downsample(x)
            x = convolution(x)
        return x + residual


class BasicBlockV2(_BlockV2):
    """Two convolutions of 3 by 3, each after its normalization, added to the input.

    Parameters, inputs and outputs are those of `BasicBlockV1`.
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self._finish(channels, stride, downsample, in_channels)

    def _pairs(self):
        return (self.bn1, self.conv1), (self.bn2, self.conv2)


class BottleneckV2(_BlockV2):
    """Convolutions to a quarter of the channels and back, each after its normalization.

    Parameters, inputs and outputs are those of `BasicBlockV1`.
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.bn1 = nn.BatchNorm()
        self.conv1 = nn.Conv2D(channels // 4, kernel_size=1, strides=1, use_bias=False)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels // 4, stride, channels // 4)
        self.bn3 = nn.BatchNorm()
        self.conv3 = nn.Conv2D(channels, kernel_size=1, strides=1, use_bias=False)
        self._finish(channels, stride, downsample, in_channels)

    def _pairs(self):
        return (self.bn1, self.conv1), (self.bn2, self.conv2), (self.bn3, self.conv3)


class _ResNet(HybridBlock):
    """What both versions have in common: the beginning, and the stages."""

    def _check(self, layers, channels) -> None:
        if len(layers) != len(channels) - 1:
            raise ParameterError(
                f"{type(self).__name__}: {len(layers)} layers and {len(channels)} channels\n"
                "  expected one more of channels: those of the beginning"
            )

    def _begin(self, channels: int, thumbnail: bool) -> list[HybridBlock]:
        if thumbnail:
            return [_conv3x3(channels, 1, 0)]
        return [
            nn.Conv2D(channels, 7, 2, 3, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(3, 2, 1),
        ]

    def _make_layer(self, block, layers, channels, stride, stage_index, in_channels=0):
        stage = nn.HybridSequential(prefix=f"stage{stage_index}_")
        with stage.name_scope():
            downsample = channels != in_channels
            stage.add(block(channels, stride, downsample, in_channels=in_channels, prefix=""))
            for _ in range(layers - 1):
                stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
        return stage

    def _add_stages(self, block, layers, channels) -> None:
        for i, count in enumerate(layers):
            stride = 1 if i == 0 else 2
            before, after = channels[i], channels[i + 1]
            self.features.add(self._make_layer(block, count, after, stride, i + 1, before))

    def hybrid_forward(self, F, x):
        """The score of each class."""
        return self.output(self.features(x))


class ResNetV1(_ResNet):
    """Stages of blocks that are added to their inputs.

    Parameters
    ----------
    block : class
        `BasicBlockV1` or `BottleneckV1`.
    layers : list of int
        Blocks of each stage.
    channels : list of int
        Channels of the beginning, and of each stage.
    classes : int
    thumbnail : bool
        Begin with one small convolution: for images of 32 by 32.

    Inputs: (n, 3, 224, 224). Outputs: (n, classes).

    Raises
    ------
    ParameterError
        There is not one more of `channels` than of `layers`.
    """

    def __init__(self, block, layers, channels, classes=1000, thumbnail=False, **kwargs):
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(*self._begin(channels[0], thumbnail))
            self._add_stages(block, layers, channels)
            self.features.add(nn.GlobalAvgPool2D())
            self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """`ResNetV1` with normalization and relu before each convolution.

    Parameters, inputs and outputs are those of `ResNetV1`, with the blocks of version 2.

    Raises
    ------
    ParameterError
        There is not one more of `channels` than of `layers`.
    """

    def __init__(self, block, layers, channels, classes=1000, thumbnail=False, **kwargs):
        super().__init__(**kwargs)
        self._check(layers, channels)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(nn.BatchNorm(scale=False, center=False))
            self.features.add(*self._begin(channels[0], thumbnail))
            self._add_stages(block, layers, channels)
            self.features.add(
                nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten()
            )
            self.output = nn.Dense(classes, in_units=channels[-1])


# By the number of layers: the name of the block, blocks of each stage, channels.
resnet_spec = {
    18: ("basic_block", [2, 2, 2, 2], [64, 64, 128, 256, 512]),
    34: ("basic_block", [3, 4, 6, 3], [64, 64, 128, 256, 512]),
    50: ("bottle_neck", [3, 4, 6, 3], [64, 256, 512, 1024, 2048]),
    101: ("bottle_neck", [3, 4, 23, 3], [64, 256, 512, 1024, 2048]),
    152: ("bottle_neck", [3, 8, 36, 3], [64, 256, 512, 1024, 2048]),
}
resnet_net_versions = [ResNetV1, ResNetV2]
resnet_block_versions = [
    {"basic_block": BasicBlockV1, "bottle_neck": BottleneckV1},
    {"basic_block": BasicBlockV2, "bottle_neck": BottleneckV2},
]


def get_resnet(
    version: int, num_layers: int, pretrained: bool = False, ctx=None, root=None, **kwargs
) -> HybridBlock:
    """A ResNet.

    Parameters
    ----------
    version : {1, 2}
    num_layers : {18, 34, 50, 101, 152}
    pretrained, ctx, root, **kwargs
        As for all models.

    Raises
    ------
    ParameterError
        Version or number is another.
    """
    if num_layers not in resnet_spec:
        raise ParameterError(
            f"Invalid number of layers: {num_layers}. Options are {[*resnet_spec]}"
        )
    if version not in (1, 2):
        raise ParameterError(f"Invalid resnet version: {version}. Options are 1 and 2.")
    block_name, layers, channels = resnet_spec[num_layers]
    block = resnet_block_versions[version - 1][block_name]
    net = resnet_net_versions[version - 1](block, layers, channels, **kwargs)
    return loaded(net, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


def resnet18_v1(**kwargs) -> ResNetV1:
    """ResNet of 18 layers."""
    return get_resnet(1, 18, **kwargs)


def resnet34_v1(**kwargs) -> ResNetV1:
    """ResNet of 34 layers."""
    return get_resnet(1, 34, **kwargs)


def resnet50_v1(**kwargs) -> ResNetV1:
    """ResNet of 50 layers."""
    return get_resnet(1, 50, **kwargs)


def resnet101_v1(**kwargs) -> ResNetV1:
    """ResNet of 101 layers."""
    return get_resnet(1, 101, **kwargs)


def resnet152_v1(**kwargs) -> ResNetV1:
    """ResNet of 152 layers."""
    return get_resnet(1, 152, **kwargs)


def resnet18_v2(**kwargs) -> ResNetV2:
    """ResNet v2 of 18 layers."""
    return get_resnet(2, 18, **kwargs)


def resnet34_v2(**kwargs) -> ResNetV2:
    """ResNet v2 of 34 layers."""
    return get_resnet(2, 34, **kwargs)


def resnet50_v2(**kwargs) -> ResNetV2:
    """ResNet v2 of 50 layers."""
    return get_resnet(2, 50, **kwargs)


def resnet101_v2(**kwargs) -> ResNetV2:
    """ResNet v2 of 101 layers."""
    return get_resnet(2, 101, **kwargs)


def resnet152_v2(**kwargs) -> ResNetV2:
    """ResNet v2 of 152 layers."""
    return get_resnet(2, 152, **kwargs)
