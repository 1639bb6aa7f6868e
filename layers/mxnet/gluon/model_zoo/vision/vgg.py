"""VGG (Simonyan and Zisserman 2014)."""

from __future__ import annotations

from ....base import ParameterError
from ....initializer import Xavier
from ... import nn
from ...block import HybridBlock
from ._trained import loaded

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]


class VGG(HybridBlock):
    """Stages of convolutions of 3 by 3, and three affine maps.

    Parameters
    ----------
    layers : list of int
        Convolutions of each stage.
    filters : list of int
        Channels of each stage.
    classes : int
    batch_norm : bool
        Normalize after each convolution.

    Inputs: (n, 3, 224, 224). Outputs: (n, classes).

    Raises
    ------
    ParameterError
        There are not as many of `filters` as of `layers`.
    """

    def __init__(self, layers, filters, classes=1000, batch_norm=False, **kwargs):
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise ParameterError(
                f"VGG: {len(layers)} layers and {len(filters)} filters\n  expected as many"
            )
        with self.name_scope():
            self.features = self._make_features(layers, filters, batch_norm)
            for _ in range(2):
                self.features.add(self._dense(4096, activation="relu"), nn.Dropout(rate=0.5))
            self.output = self._dense(classes)

    @staticmethod
    def _dense(units: int, **kwargs) -> nn.Dense:
        return nn.Dense(units, weight_initializer="normal", bias_initializer="zeros", **kwargs)

    def _make_features(self, layers, filters, batch_norm):
        features = nn.HybridSequential(prefix="")
        for count, channels in zip(layers, filters):
            for _ in range(count):
                weights = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                features.add(
                    nn.Conv2D(channels, kernel_size=3, padding=1, weight_initializer=weights)
                )
                if batch_norm:
                    features.add(nn.BatchNorm())
                features.add(nn.Activation("relu"))
            features.add(nn.MaxPool2D(strides=2))
        return features

    def hybrid_forward(self, F, x):
        """The score of each class."""
        return self.output(self.features(x))


# By the number of layers: convolutions and channels of each stage.
vgg_spec = {
    11: ([1, 1, 2, 2, 2], [64, 128, 256, 512, 512]),
    13: ([2, 2, 2, 2, 2], [64, 128, 256, 512, 512]),
    16: ([2, 2, 3, 3, 3], [64, 128, 256, 512, 512]),
    19: ([2, 2, 4, 4, 4], [64, 128, 256, 512, 512]),
}


def get_vgg(num_layers: int, pretrained: bool = False, ctx=None, root=None, **kwargs) -> VGG:
    """A VGG of 11, 13, 16 or 19 layers; with ``batch_norm=True`` a normalized one."""
    layers, filters = vgg_spec[num_layers]
    normalized = "_bn" if kwargs.get("batch_norm") else ""
    net = VGG(layers, filters, **kwargs)
    return loaded(net, f"vgg{num_layers}{normalized}", pretrained, ctx, root)


def vgg11(**kwargs) -> VGG:
    """VGG of 11 layers."""
    return get_vgg(11, **kwargs)


def vgg13(**kwargs) -> VGG:
    """VGG of 13 layers."""
    return get_vgg(13, **kwargs)


def vgg16(**kwargs) -> VGG:
    """VGG of 16 layers."""
    return get_vgg(16, **kwargs)


def vgg19(**kwargs) -> VGG:
    """VGG of 19 layers."""
    return get_vgg(19, **kwargs)


def vgg11_bn(**kwargs) -> VGG:
    """Normalized VGG of 11 layers."""
    return get_vgg(11, **kwargs | {"batch_norm": True})


def vgg13_bn(**kwargs) -> VGG:
    """Normalized VGG of 13 layers."""
    return get_vgg(13, **kwargs | {"batch_norm": True})


def vgg16_bn(**kwargs) -> VGG:
    """Normalized VGG of 16 layers."""
    return get_vgg(16, **kwargs | {"batch_norm": True})


def vgg19_bn(**kwargs) -> VGG:
    """Normalized VGG of 19 layers."""
    return get_vgg(19, **kwargs | {"batch_norm": True})
