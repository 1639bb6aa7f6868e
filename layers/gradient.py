"""Layers that return their input unchanged, and change the gradient in backward."""

from __future__ import annotations

from math import inf

from ._inputs import expect_number
from ._renamed import formerly
from .activation import Elementwise
from .engine import expect, gluon, mx
from .ops import Operator, gradient_clip, gradient_reversal, gradient_scale

__all__ = ["GradientClipBlock", "GradientReversalBlock", "GradientScaleBlock"]


class Scaled(gluon.HybridBlock):
    """A layer whose gradient is multiplied by its scale."""

    operator: Operator

    @formerly("scale dtype")
    def __init__(self, *, scale: float = 1.0, dtype: str = "float32", **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.scale = self.params.get(
                "scale",
                shape=(1,),
                dtype=dtype,
                init=mx.init.Constant(float(scale)),
                grad_req="null",
                differentiable=False,
            )

    def __call__(self, x):
        expect(self.name, (x,))
        return super().__call__(x)

    def hybrid_forward(self, F, x, scale):
        return self.operator(x, scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class GradientReversalBlock(Scaled):
    """Identity, y = x, whose gradient is multiplied by -scale, for adversarial training.

    The layers after it learn to solve a task, and the layers before it to prevent that. The scale
    is a Parameter that is not learned. It can be changed at any time, also in a hybridized net,
    with ``block.scale.set_data(nd.array([0.3]))``.

    Parameters
    ----------
    scale : float
        Initial value of the scale.
    dtype : str

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    Y. Ganin, V. Lempitsky, Unsupervised domain adaptation by backpropagation, ICML 2015.
    """

    operator = gradient_reversal


class GradientScaleBlock(Scaled):
    """Identity, y = x, whose gradient is multiplied by a scale.

    The scale is a Parameter that is not learned. It can be changed at any time, also in a
    hybridized net, with ``block.scale.set_data(nd.array([0.3]))``.

    Parameters
    ----------
    scale : float
        Initial value of the scale.
    dtype : str

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x
    """

    operator = gradient_scale


class GradientClipBlock(Elementwise):
    """Identity, y = x, whose gradient is clipped by elements to ±value, then to a norm of `norm`.

    Parameters
    ----------
    value : float
        Greatest absolute value of an element; by default there is no limit.
    norm : float
        Greatest norm of the whole array; by default there is no limit.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    Raises
    ------
    ValueError
        A limit is not above 0.
    """

    operator = gradient_clip

    @formerly("value norm")
    def __init__(self, *, value: float = inf, norm: float = inf, **kwargs):
        super().__init__(**kwargs)
        who, expected = "GradientClipBlock", "a number above 0"
        expect_number(who, expected, lambda v: v > 0, value=value, norm=norm)
        self._limits = {"value": float(value), "norm": float(norm)}

    def hybrid_forward(self, F, x):
        return self.operator(x, **self._limits)

    def __repr__(self) -> str:
        limits = ", ".join(f"{name}={limit:g}" for name, limit in self._limits.items())
        return f"{type(self).__name__}({limits})"
