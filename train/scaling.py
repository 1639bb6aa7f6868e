"""The scaling of features and targets, as blocks before and after a network.

So an exported graph takes features as they are in the data, and gives numbers in their own unit.
"""

from __future__ import annotations

import numpy as np

from layers.engine import gluon

from .data import Data

__all__ = ["Rescale", "Standardize", "with_scaling"]


class Standardize(gluon.HybridBlock):
    """y = (x - mean) / std, with constants that are saved with the parameters.

    Parameters
    ----------
    mean, std : array (1, features) or (1, 1)

    Inputs:
        - **x**: (n, features)
    Outputs:
        - **y**: (n, features)
    """

    def __init__(self, mean: np.ndarray, std: np.ndarray, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.mean = self.params.get_constant("mean", mean)
            self.std = self.params.get_constant("std", std)
        self.dtype = "float32"

    def cast(self, dtype):
        """Compute in float32 still, in which features are; only what comes of it is cast."""
        super().cast("float32")  # which forgets the graph, too
        self.dtype = dtype

    def hybrid_forward(self, F, x, mean, std):
        y = F.broadcast_div(F.broadcast_sub(x, mean), std)
        return y if self.dtype == "float32" else F.cast(y, dtype=self.dtype)


class Rescale(Standardize):
    """y = x std + mean, the inverse."""

    def hybrid_forward(self, F, x, mean, std):
        x = x if self.dtype == "float32" else F.cast(x, dtype="float32")
        return F.broadcast_add(F.broadcast_mul(x, std), mean)


def with_scaling(net, data: Data):
    """The network between its scalings: of the features, and of the number that it predicts.

    Parameters
    ----------
    net : HybridBlock
        (n, features) to (n, outputs), of features with mean 0 and deviation 1.

    Returns
    -------
    HybridSequential
        Of features as they are. Its constants are `0.mean` and `0.std`, and `2.mean` and `2.std`
        where a number is predicted; the names of the network's parameters begin with `1`.
    """
    scaled = gluon.nn.HybridSequential()
    with scaled.name_scope():
        scaled.add(Standardize(data.mean, data.std))
        scaled.add(net)
        if not data.task.classes:
            mean, std = (np.full((1, 1), v, "float32") for v in (data.task.mean, data.task.std))
            scaled.add(Rescale(mean, std))
    return scaled
