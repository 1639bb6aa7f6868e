"""DenseNet (Huang et al. 2016, Densely connected convolutional networks)."""

from __future__ import annotations

from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent, Identity
from ._trained import loaded

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]


def _normalized(channels: int, kernel: int, **kwargs) -> list[HybridBlock]:
    """Normalization, relu and a convolution."""
    convolution = nn.Conv2D(channels, kernel_size=kernel, use_bias=False, **kwargs)
    return [nn.BatchNorm(), nn.Activation("relu"), convolution]


def _dense_layer(growth_rate: int, bn_size: int, dropout: float) -> HybridConcurrent:
    """A layer whose outputs are its inputs and `growth_rate` new channels."""
    new = nn.HybridSequential(prefix="")
    new.add(*_normalized(bn_size * growth_rate, 1), *_normalized(growth_rate, 3, padding=1))
    if dropout:
        new.add(nn.Dropout(dropout))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(Identity(), new)
    return both


class DenseNet(HybridBlock):
    """Blocks of layers, each of which sees the outputs of all before it in the block.

    Parameters
    ----------
    num_init_features : int
        Channels of the first convolution.
    growth_rate : int
        Channels that a layer adds.
    block_config : list of int
        Layers of each block.
    bn_size : int
        A layer's inner channels, as a multiple of `growth_rate`.
    dropout : float
    classes : int

    Inputs: (n, 3, 224, 224). Outputs: (n, classes).
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: list[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **kwargs,
    ):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                nn.Conv2D(num_init_features, kernel_size=7, strides=2, padding=3, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.MaxPool2D(pool_size=3, strides=2, padding=1),
            )
            channels = num_init_features
            for stage, layers in enumerate(block_config, 1):
                block = nn.HybridSequential(prefix=f"stage{stage}_")
                with block.name_scope():
                    for _ in range(layers):
                        block.add(_dense_layer(growth_rate, bn_size, dropout))
                self.features.add(block)
                channels += layers * growth_rate
                if stage < len(block_config):  # half of the channels, half of the size
                    channels //= 2
                    transition = nn.HybridSequential(prefix="")
                    transition.add(*_normalized(channels, 1), nn.AvgPool2D(pool_size=2, strides=2))
                    self.features.add(transition)
            self.features.add(
                nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(pool_size=7), nn.Flatten()
            )
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        """The score of each class."""
        return self.output(self.features(x))


# By the number of layers: channels at first, channels that a layer adds, layers of each block.
densenet_spec = {
    121: (64, 32, [6, 12, 24, 16]),
    161: (96, 48, [6, 12, 36, 24]),
    169: (64, 32, [6, 12, 32, 32]),
    201: (64, 32, [6, 12, 48, 32]),
}


def get_densenet(
    num_layers: int, pretrained: bool = False, ctx=None, root=None, **kwargs
) -> DenseNet:
    """A DenseNet of 121, 161, 169 or 201 layers."""
    net = DenseNet(*densenet_spec[num_layers], **kwargs)
    return loaded(net, f"densenet{num_layers}", pretrained, ctx, root)


def densenet121(**kwargs) -> DenseNet:
    """DenseNet of 121 layers."""
    return get_densenet(121, **kwargs)


def densenet161(**kwargs) -> DenseNet:
    """DenseNet of 161 layers, wider than the others."""
    return get_densenet(161, **kwargs)


def densenet169(**kwargs) -> DenseNet:
    """DenseNet of 169 layers."""
    return get_densenet(169, **kwargs)


def densenet201(**kwargs) -> DenseNet:
    """DenseNet of 201 layers."""
    return get_densenet(201, **kwargs)
