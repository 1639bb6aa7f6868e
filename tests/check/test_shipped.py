"""Every operator and layer of this library passes its own checker."""

import numpy as np
import pytest

import layers
from layers import ops
from layers.check import check_layer, check_operator
from layers.engine import gluon
from layers.ops import Operator

LABEL = np.array([0, 2, 1, 2])
YES = np.array([[0, 1, 1, 0, 1]] * 4)

OPERATORS = {
    "dense": [((4, 3), (5, 3), (5,)), ((4, 3), (5, 3)), ((2, 1, 4, 3), (5, 3), (5,))],
    "embedding_bag": [
        ((5, 3), np.array([[0, 2, 2], [4, 1, 0]])),
        ((5, 3), np.array([0, 2, 2, 4, 1]), np.array([0, 2, 2]), (5,)),
    ],
    "focal": [((4, 5), YES)],
    "geglu_tanh": [((4, 3), (4, 3)), ((2, 1, 3), (2, 1, 3))],
    "gelu_tanh": [((4, 3),), ((2, 1, 3, 2),)],
    "gradient_clip": [((4, 3),), ((2, 1, 5),)],
    "gradient_reversal": [((4, 3),), ((2, 1, 5), np.array([0.5]))],
    "gradient_scale": [((4, 3),), ((2, 1, 5), np.array([0.5]))],
    "group_norm": [((2, 4, 3), (4,), (4,)), ((3, 2), (2,), (2,))],
    "hard_swish": [((4, 3),), ((2, 1, 3, 2),)],
    "info_nce": [((4, 3), (4, 3))],
    "layer_norm": [((4, 3), (3,), (3,)), ((2, 1, 5), (5,), (5,))],
    "linear_cross_entropy": [
        ((4, 3), (5, 3), LABEL),
        ((2, 2, 3), (5, 3), LABEL.reshape(2, 2), (5,)),
    ],
    "lsq": [((4, 3), np.array([0.01])), ((2, 1, 5), np.array([0.1]))],
    "relu": [((4, 3),), ((2, 1, 3, 2),)],
    "rms_norm": [((4, 3), (3,)), ((2, 1, 5), (5,))],
    "rotary": [((3, 4),), ((2, 1, 3, 6),)],
    "row_numbers": [(np.zeros((2, 3)),)],
    "scaled_dot_product_attention": [
        ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)),
        ((2, 1, 3, 2), (2, 1, 4, 2), (2, 1, 4, 3), np.array([4, 2])),
    ],
    "sigmoid": [((4, 3),)],
    "sigmoid_cross_entropy": [((4, 5), (4, 5))],
    "softmax_cross_entropy": [((4, 5), LABEL)],
    "softmax_output": [((4, 5), LABEL), ((1, 3), LABEL[:1])],
    "softplus": [((4, 3),), ((2, 1, 3, 2),)],
    "sparsemax": [((4, 5),), ((2, 3, 1, 7),)],
    "straight_round": [((4, 3),), ((2, 1, 5),)],
    "straight_sign": [((4, 3),), ((2, 1, 5),)],
    "swiglu": [((4, 3), (4, 3)), ((2, 1, 3), (2, 1, 3))],
    "swish": [((4, 3),), ((2, 1, 3, 2),)],
    "triplet": [((4, 3), (4, 3), (4, 3))],
}
LAYERS = {
    "CTCLoss": [(layers.CTCLoss, (2, 6, 4), np.array([[0, 1], [2, -1]]))],
    "ContrastiveLoss": [(layers.ContrastiveLoss, (4, 3), (4, 3), np.array([0, 1, 1, 0]))],
    "DenseBlock": [
        (lambda: layers.DenseBlock(3, 5, activation="sigmoid"), (4, 3)),
        (lambda: layers.DenseBlock(0, 5, quantize=8), (4, 3)),
        (lambda: layers.DenseBlock(3, 5, quantize=4, quantize_inputs=True), (4, 3)),
    ],
    "EmbeddingBag": [
        (lambda: layers.EmbeddingBag(5, 3, mode="mean"), np.array([[0, 2, 2], [4, 1, 0]]))
    ],
    "FocalLoss": [(layers.FocalLoss, (4, 5), YES)],
    "GELUBlock": [
        (layers.GELUBlock, (4, 3)),
        (lambda: layers.GELUBlock(approximate=True), (4, 3)),
    ],
    "GeGLU": [(lambda: layers.GeGLU(3, 4, 3, bias=True, approximate=True), (2, 1, 3))],
    "GradientClipBlock": [(lambda: layers.GradientClipBlock(value=0.5), (4, 3))],
    "GradientReversalBlock": [(lambda: layers.GradientReversalBlock(scale=0.5), (4, 3))],
    "GradientScaleBlock": [(lambda: layers.GradientScaleBlock(scale=0.5), (4, 3))],
    "GroupNormBlock": [(lambda: layers.GroupNormBlock(num_groups=2), (2, 4, 3))],
    "HardSwishBlock": [(layers.HardSwishBlock, (4, 3))],
    "HuberLoss": [(layers.HuberLoss, (4, 3), (4, 3))],
    "InfoNCELoss": [(lambda: layers.InfoNCELoss(temperature=0.5, symmetric=True), (4, 3), (4, 3))],
    "LSQBlock": [(lambda: layers.LSQBlock(bits=4), (4, 3))],
    "LayerNormBlock": [(layers.LayerNormBlock, (4, 3))],
    "LinearCrossEntropyLoss": [(lambda: layers.LinearCrossEntropyLoss(3, 5), (4, 3), LABEL)],
    "MishBlock": [(layers.MishBlock, (4, 3))],
    "MultiHeadAttention": [
        (lambda: layers.MultiHeadAttention(0, 4, num_heads=2, causal=True), (2, 3, 5)),
        (lambda: layers.MultiHeadAttention(0, 4, num_heads=2, bias=False), (2, 3, 5), (2, 4, 6)),
    ],
    "OperatorBlock": [(lambda: layers.OperatorBlock(ops.dense, params=["b"]), (4, 3), (5, 3))],
    "RMSNormBlock": [(layers.RMSNormBlock, (4, 3))],
    "ReLUBlock": [(layers.ReLUBlock, (4, 3))],
    "Remat": [(lambda: layers.Remat(layers.DenseBlock(3, 5, activation="relu")), (4, 3))],
    "RotaryBlock": [(lambda: layers.RotaryBlock(offset=5), (2, 3, 4))],
    "ScaledDotProductAttention": [
        (layers.ScaledDotProductAttention, (2, 1, 3, 4), (2, 1, 3, 4), (2, 1, 3, 4)),
    ],
    "SigmoidBlock": [(layers.SigmoidBlock, (4, 3))],
    "SigmoidLoss": [(layers.SigmoidLoss, (4, 5), (4, 5))],
    "SoftmaxLoss": [(lambda: layers.SoftmaxLoss(weight=0.5), (4, 5), LABEL)],
    "SoftplusBlock": [(layers.SoftplusBlock, (4, 3))],
    "SparsemaxBlock": [(layers.SparsemaxBlock, (4, 5))],
    "StraightRoundBlock": [(layers.StraightRoundBlock, (4, 3))],
    "StraightSignBlock": [(layers.StraightSignBlock, (4, 3))],
    "SwiGLU": [(lambda: layers.SwiGLU(3, 4, 5, bias=False), (4, 3))],
    "SwishBlock": [(layers.SwishBlock, (4, 3)), (lambda: layers.SwishBlock(beta=1.5), (4, 3))],
    "TripletLoss": [(layers.TripletLoss, (4, 3), (4, 3), (4, 3))],
}


def cases(table):
    return [
        pytest.param(name, row, id=f"{name}, {i}" if i else name)
        for name, rows in table.items()
        for i, row in enumerate(rows)
    ]


@pytest.mark.parametrize("name, inputs", cases(OPERATORS))
def test_operator(name, inputs):
    op = getattr(ops, name)
    report = check_operator(op, *inputs, compiled=False).raise_on_failure()
    gradients = [c for c in report if c.name.startswith("gradient of")]
    if isinstance(op.surrogate, str):  # there is nothing to compare with
        assert all(op.surrogate in c.text for c in gradients) and gradients
        return
    passed = [c for c in gradients if c.status == "passed"]
    assert len(passed) == sum(isinstance(x, tuple) for x in inputs)


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("name, case", cases(LAYERS))
def test_layer(name, case):
    make, *inputs = case
    report = check_layer(make(), *inputs, compiled=False).raise_on_failure()
    gradients = [c for c in report if c.name.startswith("gradient of")]
    assert any(c.status == "passed" or "it is no derivative" in c.text for c in gradients)


@pytest.mark.engine("torch")  # MXNet compiles nothing
@pytest.mark.slow
def test_compiled():
    report = check_operator(ops.dense, *OPERATORS["dense"][0]).raise_on_failure()
    assert report["compiled = eager"].text.endswith("at both batch sizes")


def test_each_has_a_case():
    operators = {n for n in ops.__all__ if isinstance(getattr(ops, n), Operator)}
    assert operators == set(OPERATORS), "OPERATORS above has an example of each operator"
    public = {n: getattr(layers, n) for n in layers.__all__}
    blocks = {n for n, it in public.items() if isinstance(it, type) and issubclass(it, gluon.Block)}
    assert blocks == set(LAYERS), "LAYERS above has an example of each block"


@pytest.mark.engine("torch")  # MXNet computes the gelu of float64 in float32
def test_exact_geglu():
    check_layer(layers.GeGLU(3, 4, 5, bias=False), (4, 3), compiled=False).raise_on_failure()
