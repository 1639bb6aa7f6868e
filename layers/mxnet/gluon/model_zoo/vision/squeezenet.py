"""SqueezeNet (Iandola et al. 2016)."""

from __future__ import annotations

from ....base import ParameterError
from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ._trained import loaded

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]


def _conv(channels: int, kernel: int, padding: int = 0) -> nn.HybridSequential:
    row = nn.HybridSequential(prefix="")
    row.add(nn.Conv2D(channels, kernel, padding=padding), nn.Activation("relu"))
    return row


def _fire(squeezed: int, expanded: int) -> nn.HybridSequential:
    """A convolution to few channels, then to many: half of them by 1 x 1, half by 3 x 3."""
    both = HybridConcurrent(axis=1, prefix="")
    row = nn.HybridSequential(prefix="")
    row.add(_conv(squeezed, 1))
    both.add(_conv(expanded, 1), _conv(expanded, 3, 1))
    row.add(both)
    return row


# The first convolution's channels and size; then channels of a fire module, or None: pooling.
_LAYERS = {
    "1.0": ((96, 7), [None, 16, 16, 32, None, 32, 48, 48, 64, None, 64]),
    "1.1": ((64, 3), [None, 16, 16, None, 32, 32, None, 48, 48, 64, 64]),
}


class SqueezeNet(HybridBlock):
    """Modules that squeeze the channels to few before they convolve.

    Parameters
    ----------
    version : {'1.0', '1.1'}
    classes : int

    Inputs: (n, 3, 224, 224). Outputs: (n, classes).

    Raises
    ------
    ParameterError
        The version is another.
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs):
        super().__init__(**kwargs)
        if version not in _LAYERS:
            raise ParameterError(f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected")
        (channels, kernel), rest = _LAYERS[version]
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            self.features.add(
                nn.Conv2D(channels, kernel_size=kernel, strides=2), nn.Activation("relu")
            )
            for squeezed in rest:
                if squeezed is None:
                    self.features.add(nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True))
                else:
                    self.features.add(_fire(squeezed, squeezed * 4))
            self.features.add(nn.Dropout(0.5))
            self.output = nn.HybridSequential(prefix="")
            self.output.add(
                nn.Conv2D(classes, kernel_size=1),
                nn.Activation("relu"),
                nn.AvgPool2D(13),
                nn.Flatten(),
            )

    def hybrid_forward(self, F, x):
        """The score of each class."""
        return self.output(self.features(x))


def get_squeezenet(
    version: str, pretrained: bool = False, ctx=None, root=None, **kwargs
) -> SqueezeNet:
    """A SqueezeNet of version '1.0' or '1.1'."""
    net = SqueezeNet(version, **kwargs)
    return loaded(net, f"squeezenet{version}", pretrained, ctx, root)


def squeezenet1_0(**kwargs) -> SqueezeNet:
    """SqueezeNet 1.0."""
    return get_squeezenet("1.0", **kwargs)


def squeezenet1_1(**kwargs) -> SqueezeNet:
    """SqueezeNet 1.1: as good as 1.0, with 2.4 times less to compute."""
    return get_squeezenet("1.1", **kwargs)
