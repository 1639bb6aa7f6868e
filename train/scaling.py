"""The scaling of features and targets, and the codes of categories, as blocks around a network.

So an exported graph takes features as they are in the data, and gives numbers in their own unit.
"""

from __future__ import annotations

import numpy as np

from layers.engine import gluon, mx

from .data import Data

__all__ = [
    "Encode",
    "Rescale",
    "Standardize",
    "encoded",
    "embedded",
    "embedding_init",
    "width",
    "with_scaling",
]

FEW = 13  # so many codes become an input each, but for 0, the others; of more an Embedding learns


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


class Encode(Standardize):
    """The columns of a table: numbers scaled, and codes as an input each or as Embeddings.

    Parameters
    ----------
    mean, std : array (1, numbers)
    codes : tuple of int
        How many values each of the last columns has: 0, 1, ...; 0 stands for all others.

    Inputs:
        - **x**: (n, numbers + codes)
    Outputs:
        - **y**: (n, width)
    """

    def __init__(self, mean: np.ndarray, std: np.ndarray, codes: tuple[int, ...], **kwargs):
        gluon.HybridBlock.__init__(self, **kwargs)
        self.codes, self.numbers, self.dtype = codes, mean.shape[1], "float32"
        with self.name_scope():
            if self.numbers:
                self.mean = self.params.get_constant("mean", mean)
                self.std = self.params.get_constant("std", std)
            for i, shape in embedded(codes).items():
                setattr(
                    self,
                    f"codes{i}_weight",
                    self.params.get(f"codes{i}_weight", shape=shape, init=embedding_init()),
                )

    def hybrid_forward(self, F, x, **arrays):
        y = encoded(F, x, self.numbers, self.codes, arrays)
        return y if self.dtype == "float32" else F.cast(y, dtype=self.dtype)


def embedding_init():
    """Return the initializer of Embeddings: about as wide as inputs that are scaled."""
    return mx.init.Normal(0.5)


def embedded(codes: tuple[int, ...]) -> dict[int, tuple[int, int]]:
    """Return the shapes of the Embeddings, by the places of the codes that have one."""
    return {i: (n, min(32, round(n**0.5) + 1)) for i, n in enumerate(codes) if n > FEW}


def width(numbers: int, codes: tuple[int, ...]) -> int:
    """Return the number of inputs of a net, for so many numbers and these codes."""
    shapes = embedded(codes)
    return numbers + sum(shapes[i][1] if i in shapes else n - 1 for i, n in enumerate(codes))


def encoded(F, x, numbers: int, codes: tuple[int, ...], arrays: dict):
    """Return the columns of a table for a net; `arrays` are mean, std, and codes0_weight, ..."""
    parts = []
    if numbers:
        y = F.slice_axis(x, axis=1, begin=0, end=numbers)
        parts.append(F.broadcast_div(F.broadcast_sub(y, arrays["mean"]), arrays["std"]))
    shapes = embedded(codes)
    for i, count in enumerate(codes):
        code = F.slice_axis(x, axis=1, begin=numbers + i, end=numbers + i + 1)
        code = F.reshape(code, shape=(-1,))
        if i in shapes:
            rows, columns = shapes[i]
            table = arrays[f"codes{i}_weight"]
            parts.append(F.Embedding(code, table, input_dim=rows, output_dim=columns))
        else:
            parts.append(F.slice_axis(F.one_hot(code, depth=count), axis=1, begin=1, end=count))
    return F.concat(*parts, dim=1)


def with_scaling(net, data: Data):
    """Return a network between its scalings: of the features, and of the number predicted.

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
        first = Encode(data.mean, data.std, data.codes) if data.codes else None
        scaled.add(first or Standardize(data.mean, data.std))
        scaled.add(net)
        if not data.task.classes:
            mean, std = (np.full((1, 1), v, "float32") for v in (data.task.mean, data.task.std))
            scaled.add(Rescale(mean, std))
    return scaled
