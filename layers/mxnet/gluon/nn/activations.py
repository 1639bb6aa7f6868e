"""Activations as layers."""

from __future__ import annotations

from ... import initializer
from ..block import HybridBlock
from ..parameter import ParameterError

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "Swish"]


class Activation(HybridBlock):
    """An activation by its name, element by element.

    Parameters
    ----------
    activation : {'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'}

    Inputs: any shape. Outputs: the same shape.
    """

    def __init__(self, activation: str, **kwargs):
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def hybrid_forward(self, F, x):
        """The activation of x."""
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self) -> str:
        return f"Activation({self._act_type})"


class LeakyReLU(HybridBlock):
    """x where it is positive, alpha x elsewhere.

    Parameters
    ----------
    alpha : float
        The slope where x < 0, at least 0.

    Inputs: any shape. Outputs: the same shape.

    Raises
    ------
    ParameterError
        alpha is negative.
    """

    def __init__(self, alpha: float, **kwargs):
        if alpha < 0:
            raise ParameterError(f"LeakyReLU: alpha is {alpha}\n  expected at least 0")
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        """x or alpha x."""
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")

    def __repr__(self) -> str:
        return f"LeakyReLU({self._alpha})"


class PReLU(HybridBlock):
    """x where it is positive, alpha x elsewhere, with a learned alpha.

    Parameters
    ----------
    alpha_initializer : Initializer
        By default ``Constant(0.25)``.
    in_channels : int
        1: one alpha for all; else one for each channel, axis 1.

    Inputs: any shape. Outputs: the same shape.

    (He et al. 2015, Delving Deep into Rectifiers)
    """

    def __init__(self, alpha_initializer=None, in_channels: int = 1, **kwargs):
        super().__init__(**kwargs)
        init = initializer.Constant(0.25) if alpha_initializer is None else alpha_initializer
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=init)

    def hybrid_forward(self, F, x, alpha):
        """x or alpha x."""
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where it is positive, alpha (eˣ - 1) elsewhere.

    Parameters
    ----------
    alpha : float

    Inputs: any shape. Outputs: the same shape.

    (Clevert et al. 2015, Exponential Linear Units)
    """

    def __init__(self, alpha: float = 1.0, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        """x or alpha (eˣ - 1)."""
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """A scaled ELU, under which mean 0 and variance 1 persist through layers.

    Inputs: any shape. Outputs: the same shape.

    (Klambauer et al. 2017, Self-Normalizing Neural Networks)
    """

    def hybrid_forward(self, F, x):
        """The scaled ELU of x."""
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """x Φ(x), with the distribution function Φ of the normal distribution.

    Inputs: any shape. Outputs: the same shape.

    (Hendrycks and Gimpel 2016, Gaussian Error Linear Units)
    """

    def hybrid_forward(self, F, x):
        """x Φ(x)."""
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """x sigmoid(beta x).

    Parameters
    ----------
    beta : float

    Inputs: any shape. Outputs: the same shape.

    (Ramachandran et al. 2017, Searching for Activation Functions)
    """

    def __init__(self, beta: float = 1.0, **kwargs):
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F, x):
        """x sigmoid(beta x)."""
        return x * F.sigmoid(self._beta * x, name="fwd")
