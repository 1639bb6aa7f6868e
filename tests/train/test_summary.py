"""The table of a network's layers."""

import pytest

from layers import nets
from layers.engine import gluon, nd
from train.summary import summarize, table


def of(net, *shape):
    net.initialize()
    return summarize(net, nd.zeros(shape))


def test_a_perceptron():
    found = of(nets.mlp(6, (4,), 3, activation="relu"), 5, 6)
    assert [(layer.name, layer.kind, layer.shape) for layer in found.layers] == [
        ("0", "DenseBlock", (4,)),
        ("1", "ReLUBlock", (4,)),
        ("2", "DenseBlock", (3,)),
    ]
    assert [layer.parameters for layer in found.layers] == [28, 0, 15]
    assert [layer.flops for layer in found.layers] == [2 * 24, 0, 2 * 12]
    assert (found.parameters, found.flops, found.outputs) == (43, 72, (3,))


@pytest.mark.parametrize(
    "layer, x, flops",
    [
        (gluon.nn.Dense(5), (2, 3, 4), 2 * 12 * 5),
        (gluon.nn.Dense(5, flatten=False), (2, 3, 4), 2 * 3 * 4 * 5),
        (gluon.nn.Conv2D(5, 3), (2, 4, 6, 7), 2 * 4 * 9 * 5 * 4 * 5),
        (gluon.nn.Conv2D(4, 3, groups=2), (2, 4, 6, 7), 2 * 2 * 9 * 4 * 4 * 5),
        (gluon.nn.Conv2DTranspose(5, 3), (2, 4, 6, 7), 2 * 4 * 9 * 5 * 6 * 7),
        (gluon.nn.Embedding(9, 4), (2, 4), 0),
        (gluon.nn.BatchNorm(), (2, 4), 0),
        (gluon.rnn.LSTM(5, layout="NTC"), (2, 3, 4), 2 * 3 * 4 * 5 * (4 + 5)),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else str(value),
)
def test_flops(layer, x, flops):
    assert of(layer, *x).flops == flops


def test_attention_counts_its_products():
    found = of(nets.vit((1, 4, 4), 3, hidden_channels=8, depth=1, num_heads=2), 2, 16)
    attention = next(row for row in found.layers if row.kind == "MultiHeadAttention")
    assert attention.flops == 4 * (2 * 4 * 8 * 8) + 4 * 4 * 4 * 8
    assert found.flops == sum(row.flops for row in found.layers)
    assert found.parameters == sum(row.parameters for row in found.layers)


def test_a_layer_that_is_called_twice():
    class Twice(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a = gluon.nn.Dense(4, in_units=4)

        def hybrid_forward(self, F, x):
            return self.a(self.a(x))

    found = of(Twice(), 3, 4)
    assert [(row.parameters, row.flops) for row in found.layers] == [(20, 64)]
    assert found.parameters == 20


def test_large_networks_are_shown_by_their_own_list():
    found = of(nets.vit((1, 4, 4), 3, hidden_channels=8, depth=9, num_heads=2), 2, 16)
    assert [row.kind for row in found.layers].count("Residual") == 18
    assert found.flops == sum(row.flops for row in found.layers)


def test_the_table():
    lines = table(of(nets.mlp(6, (4,), 3), 5, 6)).splitlines()
    assert lines[0].split() == ["layer", "output", "parameters", "FLOPs"]
    assert lines[1].split() == ["0", "DenseBlock", "4", "28", "48"]
    assert lines[-1].split() == ["in", "all", "43", "72"]
    assert len({len(line) for line in (lines[0], lines[1], lines[-1])}) == 1


def test_hooks_are_taken_away():
    net = nets.mlp(6, (4,), 3)
    of(net, 5, 6)
    assert not net._forward_hooks and not net[0]._forward_hooks
