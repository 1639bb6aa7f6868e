"""The network: layers of this library in a row."""

from __future__ import annotations

from layers import DenseBlock, SigmoidBlock
from layers.engine import gluon, mx

__all__ = ["mlp"]

# A sigmoid's slope is at most 1/4. Weights four times as large as a linear layer's, that is a
# magnitude 16 times Xavier's 3, bring signals and gradients through it in their size.
SIGMOID = 48


def mlp(inputs: int, hidden: list[int], classes: int):
    """Multi-layer perceptron, score = W₃ s(W₂ s(W₁ x + b₁) + b₂) + b₃ with the logistic s.

    Parameters
    ----------
    inputs : int
        Features of a sample.
    hidden : list of int
        Units of each hidden layer.
    classes : int

    Returns
    -------
    HybridSequential
        (n, inputs) to (n, classes): scores, before softmax. Its parameters await `initialize`.
    """
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        for units in hidden:
            net.add(DenseBlock(inputs, units, weight_initializer=mx.init.Xavier(magnitude=SIGMOID)))
            net.add(SigmoidBlock())
            inputs = units
        net.add(DenseBlock(inputs, classes, weight_initializer=mx.init.Xavier()))
    return net
