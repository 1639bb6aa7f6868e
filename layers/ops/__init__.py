"""Operators: one file, one formula, forward and gradients; and the ways of writing one."""

from .dense import dense
from .function import customop
from .kernel import Kernel, kernel
from .library import Library
from .operator import Operator, operator
from .primitive import Custom
from .registration import CustomRegOp, DataType, custom_info_register
from .relu import relu
from .sigmoid import sigmoid
from .softmax import softmax, softmax_cross_entropy

__all__ = [
    "Custom",
    "CustomRegOp",
    "DataType",
    "Kernel",
    "Library",
    "Operator",
    "custom_info_register",
    "customop",
    "dense",
    "kernel",
    "operator",
    "relu",
    "sigmoid",
    "softmax",
    "softmax_cross_entropy",
]
