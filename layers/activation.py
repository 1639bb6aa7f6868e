"""Activation layers, each around one operator."""

from __future__ import annotations

from functools import partial

from ._inputs import package_of
from ._renamed import formerly
from .engine import adapter, expect, gluon, mxnet_error
from .ops import Operator, gelu_tanh, hard_swish, relu, sigmoid, softplus, sparsemax, swish

__all__ = [
    "GELUBlock",
    "HardSwishBlock",
    "MishBlock",
    "ReLUBlock",
    "SigmoidBlock",
    "SoftplusBlock",
    "SparsemaxBlock",
    "SwishBlock",
]


class Elementwise(gluon.HybridBlock):
    """A layer without parameters that applies an operator of one input.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x
    """

    operator: Operator
    replaces: tuple[str, ...] = ()  # kinds that `of` accepts, named as by `activation_of`

    @classmethod
    def of(cls, old) -> Elementwise:
        """Return a layer that replaces one of Gluon's or GluonCV's with the same formula.

        Parameters
        ----------
        old : Block
            A `gluon.nn.Activation` of this kind, or another activation without parameters.

        Returns
        -------
        Elementwise
            A layer of this class.

        Raises
        ------
        TypeError
            `old` computes something else.
        """
        if type(old) is not cls and activation_of(old) not in cls.replaces:
            raise mxnet_error(
                TypeError,
                f"{cls.__name__}.of: {type(old).__name__} is {activation_of(old)!r}\n"
                f"  expected {' or '.join(cls.replaces) or 'no layer: Gluon has none like it'}",
            )
        return cls(prefix=old.prefix, **cls._options_of(old))

    @staticmethod
    def _options_of(old) -> dict:
        return {}

    def __call__(self, x):
        expect(self.name, (x,))
        return super().__call__(x)

    def hybrid_forward(self, F, x):
        return adapter().in_plain_layout(F, self.operator, x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class SigmoidBlock(Elementwise):
    """Logistic function, y = 1 / (1 + e⁻ˣ), of each element.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    P.-F. Verhulst, Recherches mathématiques sur la loi d'accroissement de la population, 1845.
    """

    operator = sigmoid
    replaces = ("sigmoid",)


class ReLUBlock(Elementwise):
    """Rectifier, y = max(x, 0), of each element; its slope at 0 is 0.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    V. Nair, G. E. Hinton, Rectified linear units improve restricted Boltzmann machines, ICML 2010.
    """

    operator = relu
    replaces = ("relu",)


class SoftplusBlock(Elementwise):
    """Smooth rectifier, y = log(1 + eˣ), of each element.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    C. Dugas et al., Incorporating second-order functional knowledge for better option pricing,
    NIPS 2000.
    """

    operator = softplus
    replaces = ("softrelu",)


class MishBlock(Elementwise):
    """Mish, y = x tanh(log(1 + eˣ)), of any shape.

    It is composed of built-in operators; this library has no operator for it.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    D. Misra, Mish: a self regularized non-monotonic activation function, arXiv:1908.08681, 2019.
    """

    def hybrid_forward(self, F, x):
        return x * F.tanh(F.Activation(x, act_type="softrelu"))


class HardSwishBlock(Elementwise):
    """Hard swish, y = x min(max(x + 3, 0), 6) / 6, of each element.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    A. Howard et al., Searching for MobileNetV3, arXiv:1905.02244, 2019.
    """

    operator = hard_swish
    replaces = ("HardSwish",)


class SwishBlock(Elementwise):
    """Swish, y = x σ(βx) with the logistic function σ, of any shape.

    Parameters
    ----------
    beta : float
        β in the formula; 1 gives the SiLU.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    S. Elfwing, E. Uchibe, K. Doya, Sigmoid-weighted linear units for neural network function
    approximation in reinforcement learning, arXiv:1702.03118, 2017; P. Ramachandran, B. Zoph,
    Q. V. Le, Searching for activation functions, arXiv:1710.05941, 2017.
    """

    operator = swish
    replaces = ("Swish",)

    @staticmethod
    def _options_of(old) -> dict:
        beta = old._attributes.get("beta", 1) if isinstance(old, SwishBlock) else old._beta
        return {"beta": beta}

    @formerly("beta")
    def __init__(self, *, beta: float = 1.0, **kwargs):
        super().__init__(**kwargs)
        self._attributes = {} if beta == 1 else {"beta": beta}

    def hybrid_forward(self, F, x):
        return adapter().in_plain_layout(F, swish, x, **self._attributes)

    def __repr__(self) -> str:
        return f"SwishBlock({', '.join(f'{n}={v}' for n, v in self._attributes.items())})"


class GELUBlock(Elementwise):
    """Gaussian error linear unit, y = x Φ(x), of any shape.

    Φ is the distribution function of the standard normal distribution. The exact form is the
    built-in operator ``LeakyReLU(act_type="gelu")``, which keeps only x for backward; the
    approximate form is `layers.ops.gelu_tanh`.

    Parameters
    ----------
    approximate : bool
        If True, compute Φ with tanh, as in BERT and GPT-2; if False, exactly.

    Inputs:
        - **x**: any shape
    Outputs:
        - **y**: the shape of x

    D. Hendrycks, K. Gimpel, Gaussian error linear units (GELUs), arXiv:1606.08415, 2016.
    """

    operator = gelu_tanh
    replaces = ("GELU",)

    @staticmethod
    def _options_of(old) -> dict:
        return {"approximate": getattr(old, "_approximate", False)}

    @formerly("approximate")
    def __init__(self, *, approximate: bool = False, **kwargs):
        super().__init__(**kwargs)
        self._approximate = approximate

    def hybrid_forward(self, F, x):
        if self._approximate:
            return adapter().in_plain_layout(F, gelu_tanh, x)
        return F.LeakyReLU(x, act_type="gelu")

    def __repr__(self) -> str:
        return f"GELUBlock({'approximate=True' if self._approximate else ''})"


class SparsemaxBlock(Elementwise):
    """Sparse probabilities over the last axis, y = max(x - tau, 0), with tau such that Σ y = 1.

    Inputs:
        - **x**: (..., k) logits
    Outputs:
        - **y**: (..., k) probabilities, some of them 0

    A. F. T. Martins, R. F. Astudillo, From softmax to sparsemax: a sparse model of attention and
    multi-label classification, ICML 2016.
    """

    operator = sparsemax


def activation_of(old) -> str:
    """Return the kind of an activation, or the name of its class.

    A class of Gluon or GluonCV is named without its module. Any other class may compute something
    else under the same name, so it is named with its module.
    """
    kind = type(old)
    if kind is gluon.nn.Activation:
        return old._act_type
    is_known = package_of(kind) in ("gluon", "gluoncv")
    return kind.__name__ if is_known else f"{kind.__module__}.{kind.__qualname__}"


_BLOCKS = {
    "gelu": GELUBlock,
    "gelu_tanh": partial(GELUBlock, approximate=True),
    "hard_swish": HardSwishBlock,
    "mish": MishBlock,
    "relu": ReLUBlock,
    "sigmoid": SigmoidBlock,
    "silu": SwishBlock,
    "softplus": SoftplusBlock,
    "swish": SwishBlock,
}
_OTHERS = ("tanh", "softrelu", "softsign")  # Gluon has layers for these
ACTIVATIONS = tuple(sorted((*_BLOCKS, *_OTHERS)))


def activate(who, activation):
    """Return the activation for a layer's argument: a name, a function or Block, or None.

    Raises
    ------
    ValueError
        The argument is neither a function nor the name of an activation.
    """
    if activation is None or callable(activation):
        return activation
    if activation in _BLOCKS:
        return _BLOCKS[activation]()
    if activation not in _OTHERS:
        raise mxnet_error(
            ValueError,
            f"{who}: activation is {activation!r}\n  expected a function, or one of "
            + ", ".join(ACTIVATIONS),
        )
    return gluon.nn.Activation(activation)
