"""Operators: one file, one formula, forward and gradients; and the ways of writing one."""

from .dense import dense
from .gradient import gradient_clip, gradient_reversal, gradient_scale
from .lsq import lsq
from .norm import group_norm, layer_norm, rms_norm
from .relu import relu
from .rotary import rotary
from .sigmoid import sigmoid
from .softmax import softmax, softmax_cross_entropy
from .sparsemax import sparsemax
from .straight import straight_round, straight_sign
from .ways.class_form import operator
from .ways.function import customop
from .ways.kernel import Kernel, kernel
from .ways.library import Library
from .ways.operator import Operator
from .ways.primitive import Custom
from .ways.registration import CustomRegOp, DataType, custom_info_register

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
    "gradient_clip",
    "gradient_reversal",
    "gradient_scale",
    "group_norm",
    "kernel",
    "layer_norm",
    "lsq",
    "operator",
    "relu",
    "rms_norm",
    "rotary",
    "sigmoid",
    "softmax",
    "softmax_cross_entropy",
    "sparsemax",
    "straight_round",
    "straight_sign",
]
