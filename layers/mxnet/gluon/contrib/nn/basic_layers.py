"""Blocks side by side, BatchNorm over devices, and channels moved into pixels."""

from __future__ import annotations

import math
import warnings

from .... import ndarray
from ....base import ArgumentError, UnsupportedError
from ....context import num_gpus
from ...block import Block, HybridBlock
from ...nn import BatchNorm, HybridSequential, Sequential

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


class Concurrent(Sequential):
    """Blocks side by side: each on the same input, their outputs concatenated.

    Parameters
    ----------
    axis : int
        The axis of concatenation.

    Inputs: what each block takes. Outputs: all of theirs, along `axis`.
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x):
        """The outputs of all blocks, concatenated."""
        return ndarray.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class HybridConcurrent(HybridSequential):
    """HybridBlocks side by side: each on the same input, their outputs concatenated.

    Parameters
    ----------
    axis : int
        The axis of concatenation.

    Inputs: what each block takes. Outputs: all of theirs, along `axis`.
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F, x):
        """The outputs of all blocks, concatenated."""
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


class Identity(HybridBlock):
    """Returns its input: the branch of a HybridConcurrent that skips what the others compute.

    Inputs: any. Outputs: the same.
    """

    def hybrid_forward(self, F, x):
        """x."""
        return x


class SparseEmbedding(Block):
    """Rows of a learned table, by their numbers, which stores and updates no others than those.

    Value and gradient of the table are row_sparse; a Trainer must have its parameter before the
    first forward pass.

    Parameters
    ----------
    input_dim, output_dim : int
        The shape of the table.
    dtype : str or numpy type
    weight_initializer : str or Initializer, optional

    Inputs: x of numbers below input_dim, any shape. Outputs: (*x.shape, output_dim).
    """

    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None, **kwargs):
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": True,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            stype="row_sparse",
            grad_stype="row_sparse",
        )

    def forward(self, x):
        """The rows that x numbers."""
        return ndarray.Embedding(x, self.weight.row_sparse_data(x), **self._kwargs)

    def __repr__(self) -> str:
        row = self._kwargs
        return f"SparseEmbedding({row['input_dim']} -> {row['output_dim']}, {row['dtype']})"


class SyncBatchNorm(BatchNorm):
    """BatchNorm over the axis 1, with mean and variance over the batches of several devices.

    A context computes at once here, and cannot wait for what another will: one device only.

    Parameters
    ----------
    in_channels : int
    num_devices : int, optional
        1, as by default.
    momentum, epsilon, center, scale, use_global_stats
        As for `BatchNorm`, and so the initializers.

    Inputs: (n, channels, ...). Outputs: the same shape.

    Raises
    ------
    UnsupportedError
        `num_devices` is above 1.
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        running_mean_initializer="zeros",
        running_variance_initializer="ones",
        **kwargs,
    ):
        super().__init__(
            momentum=momentum,
            epsilon=epsilon,
            center=center,
            scale=scale,
            use_global_stats=use_global_stats,
            beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer,
            running_mean_initializer=running_mean_initializer,
            running_variance_initializer=running_variance_initializer,
            in_channels=in_channels,
            **kwargs,
        )
        if num_devices is None:
            if num_gpus() > 1:
                warnings.warn(
                    "SyncBatchNorm: num_devices is not given, taken as 1", UserWarning, stacklevel=2
                )
            num_devices = 1
        if num_devices > 1:
            raise UnsupportedError(
                f"SyncBatchNorm: num_devices is {num_devices}, and devices do not wait for each "
                "other here\n  expected 1, or BatchNorm on each device"
            )
        del self._kwargs["axis"]
        self._kwargs |= {"ndev": num_devices, "key": self.prefix}

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        """x, normalized."""
        return F.contrib.SyncBatchNorm(
            x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs
        )


class _PixelShuffle(HybridBlock):
    """What the shuffles have in common: factors, and the dimensions of a pixel."""

    _axes: int

    def __init__(self, factor):
        super().__init__()
        factors = (factor,) * self._axes if not isinstance(factor, (tuple, list)) else factor
        self._factors = tuple(int(f) for f in factors)
        if len(self._factors) != self._axes:
            raise ArgumentError(
                f"{type(self).__name__}: factor is {factor!r}\n"
                f"  expected a number, or {self._axes} of them"
            )

    def hybrid_forward(self, F, x):
        """x, with pixels in place of channels.

        (n, f1 f2 c, h, w) is split into (n, c, f1, f2, h, w); each factor is put behind its
        axis, (n, c, h, f1, w, f2), and joined with it.
        """
        axes = self._axes
        channels = (-4, -1, math.prod(self._factors))
        split = F.reshape(x, shape=(0, *channels, *(0,) * axes))
        first = 2
        for factor in self._factors[:-1]:
            rest = math.prod(self._factors[first - 1 :])
            split = F.reshape(split, shape=(*(0,) * first, -4, factor, rest, *(0,) * axes))
            first += 1
        order = [0, 1]
        for axis in range(axes):
            order += [2 + axes + axis, 2 + axis]
        moved = F.transpose(split, axes=tuple(order))
        return F.reshape(moved, shape=(0, 0, *(-3,) * axes))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factors})"


class PixelShuffle1D(_PixelShuffle):
    """Groups of `factor` channels become pixels: (n, f c, w) to (n, c, f w).

    Parameters
    ----------
    factor : int

    (Shi et al. 2016, Real-time single image and video super-resolution)
    """

    _axes = 1

    def __init__(self, factor: int):
        super().__init__(int(factor))
        self._factor = self._factors[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._factor})"


class PixelShuffle2D(_PixelShuffle):
    """Groups of channels become pixels: (n, f1 f2 c, h, w) to (n, c, f1 h, f2 w).

    Parameters
    ----------
    factor : int or tuple of two int
    """

    _axes = 2


class PixelShuffle3D(_PixelShuffle):
    """Groups of channels become pixels: (n, f1 f2 f3 c, d, h, w) to (n, c, f1 d, f2 h, f3 w).

    Parameters
    ----------
    factor : int or tuple of three int
    """

    _axes = 3
