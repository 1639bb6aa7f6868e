"""AlexNet (Krizhevsky 2014, One weird trick for parallelizing convolutional networks)."""

from __future__ import annotations

from ... import nn
from ...block import HybridBlock
from ._trained import loaded

__all__ = ["AlexNet", "alexnet"]


class AlexNet(HybridBlock):
    """Five convolutions and three affine maps.

    Parameters
    ----------
    classes : int

    Inputs: (n, 3, 224, 224). Outputs: (n, classes).
    """

    def __init__(self, classes: int = 1000, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = nn.HybridSequential(prefix="")
            with self.features.name_scope():
                self.features.add(
                    nn.Conv2D(64, kernel_size=11, strides=4, padding=2, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Conv2D(192, kernel_size=5, padding=2, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Conv2D(384, kernel_size=3, padding=1, activation="relu"),
                    nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
                    nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
                    nn.MaxPool2D(pool_size=3, strides=2),
                    nn.Flatten(),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                    nn.Dense(4096, activation="relu"),
                    nn.Dropout(0.5),
                )
            self.output = nn.Dense(classes)

    def hybrid_forward(self, F, x):
        """The score of each class."""
        return self.output(self.features(x))


def alexnet(pretrained: bool = False, ctx=None, root=None, **kwargs) -> AlexNet:
    """AlexNet."""
    return loaded(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)
