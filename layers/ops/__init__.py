"""Operators: one file, one formula, forward and gradients."""

from .dense import dense
from .operator import Operator, operator
from .relu import relu
from .sigmoid import sigmoid
from .softmax import softmax, softmax_cross_entropy

__all__ = [
    "Operator",
    "dense",
    "operator",
    "relu",
    "sigmoid",
    "softmax",
    "softmax_cross_entropy",
]
