"""Normalizations, each a layer around an operator, with its scale gamma and shift beta."""

from __future__ import annotations

from .engine import expect, gluon
from .ops import group_norm, layer_norm, rms_norm

__all__ = ["GroupNormBlock", "LayerNormBlock", "RMSNormBlock"]


class Normalization(gluon.HybridBlock):
    """What normalizations share: a scale gamma, by default 1, and options of both parameters."""

    gamma: gluon.Parameter

    def __init__(
        self, in_channels: int, epsilon: float, scale: bool, gamma_initializer, dtype: str, **kwargs
    ):
        super().__init__(**kwargs)
        self._attributes = {"eps": float(epsilon)}
        self._make("gamma", in_channels, scale, gamma_initializer, dtype)

    def _make(self, name: str, in_channels: int, learned: bool, init, dtype: str) -> None:
        """Make a parameter; one that is not learned keeps its first values."""
        with self.name_scope():
            made = self.params.get(
                name,
                shape=(in_channels,),
                dtype=dtype,
                init=init,
                grad_req="write" if learned else "null",
                allow_deferred_init=True,
            )
        setattr(self, name, made)

    def __call__(self, x):
        expect(self.name, (x,))
        return super().__call__(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.gamma.shape[0] or None})"


class LayerNormBlock(Normalization):
    """Layer normalization of the last axis, y = gamma (x - mean) / √(variance + epsilon) + beta.

    Parameters
    ----------
    in_channels : int
        Size of the last axis; with 0 it is that of the first call's input.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether beta and gamma are learned.
    gamma_initializer, beta_initializer : str or Initializer
    dtype : str

    Inputs:
        - **x**: (..., in_channels)
    Outputs:
        - **y**: the shape of x

    J. L. Ba, J. R. Kiros, G. E. Hinton, Layer normalization, arXiv:1607.06450, 2016.
    """

    def __init__(
        self,
        in_channels: int = 0,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        gamma_initializer="ones",
        beta_initializer="zeros",
        dtype: str = "float32",
        **kwargs,
    ):
        super().__init__(in_channels, epsilon, scale, gamma_initializer, dtype, **kwargs)
        self._make("beta", in_channels, center, beta_initializer, dtype)

    def hybrid_forward(self, F, x, gamma, beta):
        return layer_norm(x, gamma, beta, **self._attributes)


class RMSNormBlock(Normalization):
    """Normalization by the root mean square of the last axis, y = gamma x / √(mean x² + epsilon).

    Parameters
    ----------
    in_channels : int
        Size of the last axis; with 0 it is that of the first call's input.
    epsilon : float
        Added to the mean square.
    scale : bool
        Whether gamma is learned.
    gamma_initializer : str or Initializer
    dtype : str

    Inputs:
        - **x**: (..., in_channels)
    Outputs:
        - **y**: the shape of x

    B. Zhang, R. Sennrich, Root mean square layer normalization, NeurIPS 2019.
    """

    def __init__(
        self,
        in_channels: int = 0,
        epsilon: float = 1e-6,
        scale: bool = True,
        gamma_initializer="ones",
        dtype: str = "float32",
        **kwargs,
    ):
        super().__init__(in_channels, epsilon, scale, gamma_initializer, dtype, **kwargs)

    def hybrid_forward(self, F, x, gamma):
        return rms_norm(x, gamma, **self._attributes)


class GroupNormBlock(Normalization):
    """Group normalization, y = gamma (x - mean) / √(variance + epsilon) + beta.

    Mean and variance are those of a sample's channels of one group, over all places. Each channel
    has its own gamma and beta; those of Gluon's GroupNorm are one for each group.

    Parameters
    ----------
    num_groups : int
        How many groups the channels, axis 1, make.
    in_channels : int
        How many channels there are; with 0 as many as in the first call's input.
    epsilon : float
        Added to the variance.
    center, scale : bool
        Whether beta and gamma are learned.
    gamma_initializer, beta_initializer : str or Initializer
    dtype : str

    Inputs:
        - **x**: (n, in_channels, ...)
    Outputs:
        - **y**: the shape of x

    Raises
    ------
    ValueError
        `num_groups` is less than 1, or does not divide `in_channels`.
    """

    def __init__(
        self,
        num_groups: int = 1,
        in_channels: int = 0,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        gamma_initializer="ones",
        beta_initializer="zeros",
        dtype: str = "float32",
        **kwargs,
    ):
        if num_groups < 1 or in_channels % num_groups:
            raise ValueError(
                f"GroupNormBlock: num_groups is {num_groups}, in_channels is {in_channels}\n"
                "  expected groups of one size"
            )
        super().__init__(in_channels, epsilon, scale, gamma_initializer, dtype, **kwargs)
        self._make("beta", in_channels, center, beta_initializer, dtype)
        self._attributes["groups"] = num_groups

    def hybrid_forward(self, F, x, gamma, beta):
        return group_norm(x, gamma, beta, **self._attributes)

    def __repr__(self) -> str:
        groups = self._attributes["groups"]
        return f"GroupNormBlock({self.gamma.shape[0] or None} in {groups} groups)"
