"""Normalization layers, each around one operator, with a scale gamma and a shift beta."""

from __future__ import annotations

from typing import Any

from ._inputs import expect_kind, expect_sizes
from ._renamed import formerly
from .engine import adapter, expect, gluon, mxnet_error
from .ops import group_norm, layer_norm, rms_norm

__all__ = ["GroupNormBlock", "LayerNormBlock", "RMSNormBlock"]


class Normalization(gluon.HybridBlock):
    """Base of normalizations: the parameter gamma, and the options of gamma and beta."""

    gamma: gluon.Parameter

    def __init__(
        self, in_channels: int, epsilon: float, scale: bool, gamma_initializer, dtype: str, **kwargs
    ):
        expect_sizes(type(self).__name__, 0, in_channels=in_channels)
        super().__init__(**kwargs)
        self._attributes: dict[str, Any] = {"epsilon": float(epsilon)}
        self._make("gamma", in_channels, scale, gamma_initializer, dtype)

    def _make(self, name: str, in_channels: int, learned: bool, init, dtype: str) -> None:
        """Make a parameter; one that is not learned keeps its initial value."""
        with self.name_scope():
            made = self.params.get(
                name,
                shape=(in_channels,),
                dtype=dtype,
                init=init,
                allow_deferred_init=True,
                **({} if learned else {"grad_req": "null"}),  # a shared one keeps its grad_req
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
        Size of the last axis; 0 takes it from the first call's input.
    epsilon : float
        Added to the variance.
    center, scale : bool
        If True, beta and gamma are learned.
    gamma_initializer, beta_initializer : str or Initializer
    dtype : str

    Inputs:
        - **x**: (..., in_channels)
    Outputs:
        - **y**: the shape of x

    Raises
    ------
    ValueError
        `in_channels` is not a whole number from 0.

    J. L. Ba, J. R. Kiros, G. E. Hinton, Layer normalization, arXiv:1607.06450, 2016.
    """

    @formerly("in_channels epsilon center scale gamma_initializer beta_initializer dtype")
    def __init__(
        self,
        in_channels: int = 0,
        *,
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

    @classmethod
    def of(cls, old) -> LayerNormBlock:
        """Return a layer that replaces Gluon's and shares its Parameters: the output is the same.

        `gamma` and `beta` are the same Parameter objects, with their names and values. They are
        learned if they were before.

        Parameters
        ----------
        old : gluon.nn.LayerNorm or LayerNormBlock
            A layer that normalizes the last axis, -1. It need not be initialized yet.

        Returns
        -------
        LayerNormBlock
            (..., in_channels) to the same shape.

        Raises
        ------
        TypeError
            `old` is of another class, or of a class with a forward pass of its own.
        ValueError
            `old` normalizes another axis.
        """
        expect_kind(cls.__name__, old, (gluon.nn.LayerNorm, LayerNormBlock))
        if getattr(old, "_axis", -1) != -1:
            raise mxnet_error(
                ValueError, f"{cls.__name__}.of: the axis is {old._axis}\n  expected -1"
            )
        return cls(epsilon=_epsilon(old), **_shared(old))

    def hybrid_forward(self, F, x, gamma, beta):
        return layer_norm(x, gamma, beta, **self._attributes)


class RMSNormBlock(Normalization):
    """Normalization by the root mean square of the last axis, y = gamma x / √(mean x² + epsilon).

    Parameters
    ----------
    in_channels : int
        Size of the last axis; 0 takes it from the first call's input.
    epsilon : float
        Added to the mean square.
    scale : bool
        If True, gamma is learned.
    gamma_initializer : str or Initializer
    dtype : str

    Inputs:
        - **x**: (..., in_channels)
    Outputs:
        - **y**: the shape of x

    Raises
    ------
    ValueError
        `in_channels` is not a whole number from 0.

    B. Zhang, R. Sennrich, Root mean square layer normalization, NeurIPS 2019.
    """

    @formerly("in_channels epsilon scale gamma_initializer dtype")
    def __init__(
        self,
        in_channels: int = 0,
        *,
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

    Mean and variance are taken over the channels of one group and all positions of a sample. Each
    channel has its own gamma and beta; Gluon's GroupNorm has one for each group.

    Parameters
    ----------
    in_channels : int
        Number of channels; 0 takes it from the first call's input.
    num_groups : int
        Number of groups into which the channels, axis 1, are split. Other libraries take it by
        position, before the channels; here both are given by name.
    epsilon : float
        Added to the variance.
    center, scale : bool
        If True, beta and gamma are learned.
    gamma_initializer, beta_initializer : str or Initializer
    dtype : str

    Inputs:
        - **x**: (n, in_channels, ...)
    Outputs:
        - **y**: the shape of x

    Raises
    ------
    ValueError
        `in_channels` is not a whole number from 0, or `num_groups` not a whole number from 1 that
        divides it; in the first call, `num_groups` does not divide the channels of x.
    """

    beta: gluon.Parameter

    @formerly(
        "num_groups in_channels epsilon center scale gamma_initializer beta_initializer dtype"
    )
    def __init__(
        self,
        *,
        in_channels: int = 0,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        gamma_initializer="ones",
        beta_initializer="zeros",
        dtype: str = "float32",
        **kwargs,
    ):
        expect_sizes("GroupNormBlock", 0, in_channels=in_channels)
        expect_sizes("GroupNormBlock", num_groups=num_groups)
        if in_channels % num_groups:
            raise mxnet_error(
                ValueError,
                f"GroupNormBlock: num_groups is {num_groups}, in_channels is {in_channels}\n"
                "  expected groups of one size",
            )
        super().__init__(in_channels, epsilon, scale, gamma_initializer, dtype, **kwargs)
        self._make("beta", in_channels, center, beta_initializer, dtype)
        self._attributes["num_groups"] = num_groups

    @classmethod
    def of(cls, old, in_channels: int = 0) -> GroupNormBlock:
        """Return a layer that replaces Gluon's, with its parameters or their values: same output.

        For an InstanceNorm, `gamma` and `beta` are the same Parameter objects, and each channel is
        a group. Gluon's GroupNorm has one gamma and one beta for each group. For it, the Parameters
        are new, with the same names and the shape (in_channels,), and repeat each group's value for
        all its channels.

        Parameters
        ----------
        old : gluon.nn.GroupNorm, gluon.nn.InstanceNorm or GroupNormBlock
            A GroupNorm must be initialized.
        in_channels : int
            Number of channels, which a GroupNorm does not know. 0 takes the size of gamma of the
            other layers.

        Returns
        -------
        GroupNormBlock
            (n, in_channels, ...) to the same shape.

        Raises
        ------
        TypeError
            `old` is of none of these classes, or of a class with a forward pass of its own.
        ValueError
            `in_channels` is needed, or `old` normalizes another axis than 1.
        """
        kinds = (gluon.nn.GroupNorm, gluon.nn.InstanceNorm, GroupNormBlock)
        expect_kind(cls.__name__, old, kinds)
        if getattr(old, "_axis", 1) != 1:
            raise mxnet_error(
                ValueError, f"{cls.__name__}.of: the axis is {old._axis}\n  expected 1"
            )
        if isinstance(old, GroupNormBlock):
            groups = old._attributes["num_groups"]
            return cls(num_groups=groups, epsilon=_epsilon(old), **_shared(old))
        groups = old.gamma.shape[0] or in_channels
        if not in_channels and isinstance(old, gluon.nn.InstanceNorm):
            in_channels = groups
        if not in_channels:
            raise mxnet_error(
                ValueError,
                f"{cls.__name__}.of: in_channels is 0, and {type(old).__name__} does not know it\n"
                "  expected the number of channels",
            )
        if isinstance(old, gluon.nn.InstanceNorm):
            shared = _shared(old)
            shared["in_channels"] = in_channels
            return cls(num_groups=groups, epsilon=_epsilon(old), **shared)
        new = cls(
            in_channels=in_channels,
            num_groups=groups,
            epsilon=_epsilon(old),
            dtype=old.gamma.dtype,
            prefix=old.prefix,
        )
        for mine, its in ((new.gamma, old.gamma), (new.beta, old.beta)):
            mine.grad_req, mine.lr_mult, mine.wd_mult = its.grad_req, its.lr_mult, its.wd_mult
            mine.initialize(ctx=its.list_ctx())
            mine.set_data(its.list_data()[0].repeat(in_channels // groups))
        return new

    def hybrid_forward(self, F, x, gamma, beta):
        return adapter().in_plain_layout(F, group_norm, x, gamma, beta, **self._attributes)

    def __repr__(self) -> str:
        groups = self._attributes["num_groups"]
        return f"GroupNormBlock({self.gamma.shape[0] or None} in {groups} groups)"


def _epsilon(old) -> float:
    """Return the epsilon of a normalization of this library or of Gluon."""
    return old._attributes["epsilon"] if isinstance(old, Normalization) else old._epsilon


def _shared(old) -> dict[str, Any]:
    """Return the arguments that make a layer share gamma and beta of another one."""
    return {
        "in_channels": old.gamma.shape[0],
        "gamma_initializer": old.gamma.init,
        "beta_initializer": old.beta.init,
        "dtype": old.gamma.dtype,
        "prefix": old.prefix,
        "params": old.params,
    }
