"""Empty arrays inside np_shape: an operator gives empty outputs, and zeros for its parameters."""

import numpy as np
import pytest

import layers
from layers import ops
from layers.engine import autograd, mx, nd

pytestmark = pytest.mark.engine("torch")

PAIR, NORM = [(0, 3), (0, 3)], [(3,), (3,)]
CASES = {
    "dense": [[(0, 3), (5, 3), (5,)], [(2, 0, 3), (5, 3)], [(2, 4, 0), (5, 0)]],
    "embedding_bag": [[(5, 3), (0, 4)], [(5, 3), (2, 0)], [(5, 3), (0,), (2,), (0,)]],
    "focal": [PAIR],
    "geglu_tanh": [PAIR],
    "gelu_tanh": [[(0, 3)]],
    "gradient_clip": [[(0, 3)]],
    "gradient_reversal": [[(0, 3)]],
    "gradient_scale": [[(0, 3)]],
    "group_norm": [[(0, 3, 2), *NORM], [(2, 3, 0), *NORM], [(2, 0, 3), (0,), (0,)]],
    "hard_swish": [[(0, 3)]],
    "info_nce": [PAIR],
    "layer_norm": [[(0, 3), *NORM], [(2, 0, 3), *NORM], [(2, 4, 0), (0,), (0,)]],
    "linear_cross_entropy": [[(0, 3), (5, 3), (0,)], [(2, 0, 3), (5, 3), (2, 0), (5,)]],
    "lsq": [[(0, 3), (1,)]],
    "relu": [[(0, 3)]],
    "rms_norm": [[(0, 3), (3,)], [(2, 0, 3), (3,)], [(2, 4, 0), (0,)]],
    "rotary": [[(0, 4)], [(0, 3, 4)], [(2, 3, 0)]],
    "row_numbers": [[(0, 3)]],
    "scaled_dot_product_attention": [
        [(0, 2, 3, 4), (0, 2, 5, 4), (0, 2, 5, 6)],
        [(2, 2, 0, 4), (2, 2, 5, 4), (2, 2, 5, 4), (2,)],
    ],
    "sigmoid": [[(0, 3)]],
    "sigmoid_cross_entropy": [PAIR],
    "softmax_cross_entropy": [[(0, 3), (0,)]],
    "softmax_output": [[(0, 3), (0,)]],
    "softplus": [[(0, 3)]],
    "sparsemax": [[(0, 3)], [(2, 0, 3)], [(2, 0)]],
    "straight_round": [[(0, 3)]],
    "straight_sign": [[(0, 3)]],
    "swiglu": [PAIR],
    "swish": [[(0, 3)]],
    "triplet": [[(0, 3)] * 3],
}


def test_every_operator_has_a_case():
    assert CASES.keys() == {n for n in ops.__all__ if isinstance(getattr(ops, n), ops.Operator)}


@pytest.mark.parametrize("by_kernel", [True, False], ids=["kernel", "formula"])
@pytest.mark.parametrize(
    "name, shapes", [(n, shapes) for n, rows in CASES.items() for shapes in rows]
)
def test_empty_arrays(name, shapes, by_kernel):
    op = getattr(ops, name)
    with mx.np_shape(), layers.kernels(by_kernel):
        inputs = [nd.ones(s) if 0 not in s else nd.zeros(s) for s in shapes]
        if name == "embedding_bag" and len(shapes) > 2:
            inputs[2] = nd.zeros(shapes[2])  # bags begin at 0
        known = zip(op.inputs, inputs)
        differentiated = [x for n, x in known if n in op.needs and n not in ("label", "mask")]
        for x in differentiated:
            x.attach_grad()
        with autograd.record():
            y = op(*inputs)
        if differentiated:
            y.backward()
        assert not y.asnumpy().any()
        for x in differentiated:
            assert x.grad.shape == x.shape and np.array_equal(x.grad.asnumpy(), np.zeros(x.shape))


@pytest.mark.parametrize(
    "name, shapes",
    [
        ("softmax_cross_entropy", [(4, 0), (4,)]),
        ("linear_cross_entropy", [(4, 3), (0, 3), (4,)]),
        ("embedding_bag", [(0, 3), (2, 2)]),
        ("scaled_dot_product_attention", [(2, 1, 3, 4), (2, 1, 0, 4), (2, 1, 0, 4)]),
    ],
)
def test_what_has_no_answer_is_refused(name, shapes):
    with mx.np_shape(), pytest.raises(mx.MXNetError, match=f"operator 'layers.{name}': .*\n  exp"):
        getattr(ops, name)(*map(nd.zeros, shapes))
