"""MindSpore's names over `layers`: Tensors, Cells, custom operators and their gradients.

    import layers.mindspore as ms
    import layers.mindspore.ops as ops
    from layers.mindspore.nn import Cell

It has the part of MindSpore that custom operators need; for other names it raises an
AttributeError. Both modes run a Cell's code as it is written, and neither compiles it.
"""

from . import context, dtype, nn, ops
from ._absent import absent
from ._grad import grad, value_and_grad
from ._tensor import Parameter, Tensor
from .context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context
from .dtype import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Parameter",
    "Tensor",
    "bfloat16",
    "bool_",
    "context",
    "dtype",
    "float16",
    "float32",
    "float64",
    "get_context",
    "grad",
    "int16",
    "int32",
    "int64",
    "int8",
    "nn",
    "ops",
    "set_context",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "value_and_grad",
]

__getattr__ = absent(__name__, __all__)
