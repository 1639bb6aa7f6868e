"""Layers that round, with gradients that let a net learn nevertheless."""

from __future__ import annotations

from math import sqrt

from ._renamed import formerly
from .activation import Elementwise
from .engine import autograd, expect, gluon, mx, nd
from .ops import lsq, straight_round, straight_sign
from .ops.lsq import limits

__all__ = ["LSQBlock", "StraightRoundBlock", "StraightSignBlock"]


class StraightRoundBlock(Elementwise):
    """Rounding, y = round(x), with the gradient of y = x; halves are rounded away from zero.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    Y. Bengio, N. Léonard, A. Courville, Estimating or propagating gradients through stochastic
    neurons for conditional computation, arXiv:1308.3432, 2013.
    """

    operator = straight_round


class StraightSignBlock(Elementwise):
    """Sign, y = 1 where x ≥ 0, else -1, with the gradient of y = min(max(x, -1), 1).

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    M. Courbariaux, I. Hubara, D. Soudry, R. El-Yaniv, Y. Bengio, Binarized neural networks,
    arXiv:1602.02830, 2016.
    """

    operator = straight_sign


class LSQBlock(gluon.HybridBlock):
    """Activations rounded to multiples of a learned scale.

    y = s round(clip(x / s, -p, q)) for b bits, with p = 2ᵇ⁻¹ and q = 2ᵇ⁻¹ - 1, or p = 0 and q = 2ᵇ
    - 1 if not signed. This is fake quantization: y has the dtype of x. The first call sets the
    scale from x, to 2 mean|x| / √q. If that call only traces a graph, as in a net that is
    hybridized before its first call, the values of x are not known. The scale then starts as for
    mean|x| = 0.8, the value of a standard normal distribution. To avoid that, call the net once
    before `hybridize`.

    Parameters
    ----------
    bits : int
        From 2 to 16, or from 1 if not signed.
    signed : bool
        False for x that is never negative, such as the output of relu.
    dtype : str

    Inputs:
        - **x**: (n, ...), any shape
    Outputs:
        - **y**: the shape of x

    Raises
    ------
    ValueError
        `bits` is not a whole number in the range above.

    S. K. Esser et al., Learned step size quantization, ICLR 2020.
    """

    @formerly("bits signed dtype")
    def __init__(self, *, bits: int = 8, signed: bool = True, dtype: str = "float32", **kwargs):
        super().__init__(**kwargs)
        self._levels = {"bits": bits, "signed": signed}
        with self.name_scope():
            self.scale = scale_of_inputs(self.params, "scale", dtype, **self._levels)

    def __call__(self, x):
        expect(self.name, (x,))
        start(self.scale, x, **self._levels)
        return super().__call__(x)

    def hybrid_forward(self, F, x, scale):
        return lsq(x, scale, per_sample=True, **self._levels)

    def __repr__(self) -> str:
        levels = ", ".join(f"{name}={value}" for name, value in self._levels.items())
        return f"{type(self).__name__}({levels})"


class FromWeight(mx.init.Initializer):
    """Initializer that sets a scale to 2 mean|w| / √q of a weight's values at that time."""

    def __init__(self, weight, bits: int):
        super().__init__()
        self.weight, self.bits = weight, bits

    def _init_weight(self, name, arr):
        arr[:] = first_scale(self.weight.list_data()[0], self.bits, signed=True)


def scale_of_weight(params, name: str, weight, bits: int):
    """Return a scale that is initialized at the first call, when the weight has its values."""
    limits(bits, signed=True)
    return _scale(params, name, weight.dtype, FromWeight(weight, bits))


def scale_of_inputs(params, name: str, dtype: str, bits: int, signed: bool):
    """Return a scale that is initialized at the first call, where `start` sets it."""
    unknown = 2 * 0.8 / sqrt(limits(bits, signed)[1])
    return _scale(params, name, dtype, mx.init.Constant(unknown))


def _scale(params, name: str, dtype, init):
    # An unknown shape defers the initialization to the first call; a file may be loaded before it.
    return params.get(
        name, shape=(0,), dtype=dtype, init=init, wd_mult=0.0, allow_deferred_init=True
    )


def start(scale, x, bits: int, signed: bool) -> None:
    """Set the scale of inputs from the inputs of the first call."""
    try:
        scale.list_data()
    except gluon.parameter.DeferredInitializationError:
        if isinstance(x, nd.NDArray):
            with autograd.pause():
                first = nd.array([first_scale(x, bits, signed)], dtype=scale.dtype)
            scale.set_data(first)
    except RuntimeError:
        pass  # not initialized; the call itself will raise the error


def first_scale(x, bits: int, signed: bool) -> float:
    """Return 2 mean|x| / √q, or 1 if all x are 0."""
    size = float(nd.mean(nd.abs(x.astype("float32"))).asscalar())
    return 2 * size / sqrt(limits(bits, signed)[1]) or 1.0
