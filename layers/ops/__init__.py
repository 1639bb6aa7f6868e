"""Operators, one formula per file, with forward and gradients; and the ways of writing operators.

Class labels and row ids are whole numbers from 0, of any dtype. With PyTorch on a CPU, an invalid
one is an IndexError, eagerly and in a graph: the lookup refuses it. Compiled code refuses invalid
ids, but not labels. Where nothing is refused, the nearest valid class or row is taken: in compiled
code, on Apache MXNet, and on a GPU, where a check would have to wait for the GPU. `softmax_output`
treats an invalid label as SoftmaxOutput does: the gradient is then y. Blocks such as
`layers.SoftmaxLoss` check their inputs themselves, on both engines.
"""

from .._errors import did_you_mean
from .._renamed import deprecate
from .dense import dense
from .embedding_bag import embedding_bag
from .focal import focal
from .geglu_tanh import geglu_tanh
from .gelu_tanh import gelu_tanh
from .gradient_clip import gradient_clip
from .gradient_reversal import gradient_reversal
from .gradient_scale import gradient_scale
from .group_norm import group_norm
from .hard_swish import hard_swish
from .info_nce import info_nce
from .layer_norm import layer_norm
from .linear_cross_entropy import linear_cross_entropy
from .lsq import lsq
from .relu import relu
from .rms_norm import rms_norm
from .rotary import rotary
from .row_numbers import row_numbers
from .scaled_dot_product_attention import scaled_dot_product_attention
from .sigmoid import sigmoid
from .sigmoid_cross_entropy import sigmoid_cross_entropy
from .softmax_cross_entropy import softmax_cross_entropy
from .softmax_output import softmax_output
from .softplus import softplus
from .sparsemax import sparsemax
from .straight_round import straight_round
from .straight_sign import straight_sign
from .swiglu import swiglu
from .swish import swish
from .triplet import triplet
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
    "embedding_bag",
    "focal",
    "geglu_tanh",
    "gelu_tanh",
    "gradient_clip",
    "gradient_reversal",
    "gradient_scale",
    "group_norm",
    "hard_swish",
    "info_nce",
    "kernel",
    "layer_norm",
    "linear_cross_entropy",
    "lsq",
    "operator",
    "relu",
    "rms_norm",
    "rotary",
    "row_numbers",
    "scaled_dot_product_attention",
    "sigmoid",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "softmax_output",
    "softplus",
    "sparsemax",
    "straight_round",
    "straight_sign",
    "swiglu",
    "swish",
    "triplet",
]


def __getattr__(name: str) -> object:
    if name == "softmax":
        deprecate("layers.ops.softmax is deprecated\n  write layers.ops.softmax_output")
        return softmax_output
    hint = did_you_mean(name, () if name.startswith("_") else __all__)
    message = f"module {__name__!r} has no attribute {name!r}{hint}"
    raise AttributeError(message, name=name)  # without a name, Python adds its own hint
