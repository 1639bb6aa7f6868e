"""Normalizations as layers."""

from __future__ import annotations

import torch

from ... import _dtype
from ..block import HybridBlock


class _Normalization(HybridBlock):
    """What normalizations have in common: gamma and beta, and their settings as they are shown."""

    # Whether a parameter that is not learned can be, once its grad_req is set.
    _can_be_learned_later = True

    def _parameter(self, name: str, size: int, init, learned: bool):
        return self.params.get(
            name,
            grad_req="write" if learned else "null",
            shape=(size,),
            init=init,
            allow_deferred_init=True,
            differentiable=learned or self._can_be_learned_later,
        )

    def _shown_channels(self):
        return self.gamma.shape[0]

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())
        return f"{type(self).__name__}({settings}, in_channels={self._shown_channels()})"


class BatchNorm(_Normalization):
    """y = gamma (x - mean) / √(variance + epsilon) + beta, for each channel.

    Mean and variance are those of the batch in training, else running averages of these.

    Parameters
    ----------
    axis : int
        The axis of the channels.
    momentum : float
        The share of the old value in the running averages.
    epsilon : float
    center, scale : bool
        Whether beta and gamma are learned; else they are 0 and 1.
    use_global_stats : bool
        Use the running averages in training too.
    beta_initializer, gamma_initializer : str or Initializer
    running_mean_initializer, running_variance_initializer : str or Initializer
    in_channels : int
        0: the first call tells.

    Inputs: any shape with that axis. Outputs: the same shape.

    (Ioffe and Szegedy 2015, Batch Normalization)
    """

    _can_be_learned_later = False

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        running_mean_initializer="zeros",
        running_variance_initializer="ones",
        in_channels: int = 0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._kwargs = {
            "axis": axis,
            "eps": epsilon,
            "momentum": momentum,
            "fix_gamma": not scale,
            "use_global_stats": use_global_stats,
        }
        if in_channels:
            self.in_channels = in_channels
        self.gamma = self._parameter("gamma", in_channels, gamma_initializer, scale)
        self.beta = self._parameter("beta", in_channels, beta_initializer, center)
        mean_init, var_init = running_mean_initializer, running_variance_initializer
        self.running_mean = self._parameter("running_mean", in_channels, mean_init, False)
        self.running_var = self._parameter("running_var", in_channels, var_init, False)

    def cast(self, dtype) -> None:
        """Convert the parameters; 16 bits leave them float32."""
        of_16_bits = _dtype.to_torch(dtype) in (torch.float16, torch.bfloat16)
        super().cast("float32" if of_16_bits else dtype)

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        """x, normalized."""
        return F.BatchNorm(x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs)

    def _shown_channels(self):
        return self.gamma.shape[0] or None


class BatchNormReLU(BatchNorm):
    """`BatchNorm`, then the positive part."""

    def hybrid_forward(self, F, x, gamma, beta, running_mean, running_var):
        """The positive part of x, normalized."""
        return F.contrib.BatchNormWithReLU(
            x, gamma, beta, running_mean, running_var, name="fwd", **self._kwargs
        )


class InstanceNorm(_Normalization):
    """y = gamma (x - mean) / √(variance + epsilon) + beta, for each sample and channel.

    Parameters
    ----------
    axis : int
        The axis of the channels.
    epsilon : float
    center, scale : bool
        Whether beta and gamma are learned.
    beta_initializer, gamma_initializer : str or Initializer
    in_channels : int
        0: the first call tells.

    Inputs: at least 3 axes. Outputs: the same shape.

    (Ulyanov et al. 2016, Instance Normalization)
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels: int = 0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self.gamma = self._parameter("gamma", in_channels, gamma_initializer, scale)
        self.beta = self._parameter("beta", in_channels, beta_initializer, center)

    def hybrid_forward(self, F, x, gamma, beta):
        """x, normalized."""
        if self._axis == 1:
            return F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        x = x.swapaxes(1, self._axis)
        y = F.InstanceNorm(x, gamma, beta, name="fwd", eps=self._epsilon)
        return y.swapaxes(1, self._axis)


class LayerNorm(_Normalization):
    """y = gamma (x - mean) / √(variance + epsilon) + beta, along one axis.

    Parameters
    ----------
    axis : int
    epsilon : float
    center, scale : bool
        Whether beta and gamma are learned.
    beta_initializer, gamma_initializer : str or Initializer
    in_channels : int
        The size of the axis; 0: the first call tells.

    Inputs: any shape with that axis. Outputs: the same shape.

    (Ba et al. 2016, Layer Normalization)
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        in_channels: int = 0,
        prefix: str | None = None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {"eps": epsilon, "axis": axis, "center": center, "scale": scale}
        self._axis, self._epsilon = axis, epsilon
        self._center, self._scale = center, scale
        self.gamma = self._parameter("gamma", in_channels, gamma_initializer, scale)
        self.beta = self._parameter("beta", in_channels, beta_initializer, center)

    def hybrid_forward(self, F, data, gamma, beta):
        """The data, normalized."""
        return F.LayerNorm(data, gamma, beta, axis=self._axis, eps=self._epsilon)


class GroupNorm(_Normalization):
    """y = gamma (x - mean) / √(variance + epsilon) + beta, for each sample and group of channels.

    Parameters
    ----------
    num_groups : int
        How many groups the channels, axis 1, make.
    epsilon : float
    center, scale : bool
        Whether beta and gamma, one for each group, are learned.
    beta_initializer, gamma_initializer : str or Initializer

    Inputs: (n, c, ...). Outputs: the same shape.

    (Wu and He 2018, Group Normalization)
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        prefix: str | None = None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._kwargs = {
            "eps": epsilon,
            "num_groups": num_groups,
            "center": center,
            "scale": scale,
        }
        self._num_groups, self._epsilon = num_groups, epsilon
        self._center, self._scale = center, scale
        self.gamma = self._parameter("gamma", num_groups, gamma_initializer, scale)
        self.beta = self._parameter("beta", num_groups, beta_initializer, center)

    def hybrid_forward(self, F, data, gamma, beta):
        """The data, normalized."""
        return F.GroupNorm(data, gamma, beta, num_groups=self._num_groups, eps=self._epsilon)

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self._kwargs.items())
        return f"GroupNorm({settings})"
