"""16 bits in `fit`: what the net is given, and how it is left."""

import numpy as np
import pytest

from layers.engine import gluon, mx, nd
from train import Refused, fit

ENTROPY = gluon.loss.SoftmaxCrossEntropyLoss()


class Words(gluon.HybridBlock):
    """Notes the inputs that it is given, the numbers of words."""

    def __init__(self):
        super().__init__()
        self.seen = set()
        self.embedding, self.dense = gluon.nn.Embedding(100_000, 4), gluon.nn.Dense(3)

    def forward(self, x):
        self.seen |= {(np.dtype(x.dtype).name, word) for word in x.asnumpy().ravel().tolist()}
        return super().forward(x)

    def hybrid_forward(self, F, x):
        return self.dense(self.embedding(x))


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "word, given, dtype",
    [(777, "int32", "int32"), (777, "uint16", "int32"), (65793, "int64", "int64")],
)
def test_16_bits_do_not_round_the_numbers_of_words(word, given, dtype):
    x, y = np.full((12, 2), word, given), np.arange(12) % 3
    for data in ((x, y), [(x, y)], [(nd.array(x, dtype=dtype), y)]):
        block = Words()
        fit(block, data, ENTROPY, validation=data, metric="accuracy",
            precision="bfloat16", accumulate=2)  # fmt: skip
        assert block.seen == {(dtype, word)}


@pytest.mark.engine("torch")
def test_16_bits_have_pixels_exactly():
    pixels, y = np.arange(256, dtype="uint8").reshape(64, 4), np.arange(64) % 3
    losses = [
        fit(gluon.nn.Dense(3), (x, y), ENTROPY, precision="bfloat16")[0].loss
        for x in (pixels, pixels.astype("float32"))
    ]
    assert losses[0] == losses[1]


@pytest.mark.engine("torch")
def test_features_that_16_bits_round_are_refused():
    x, y = np.full((24, 4), 777), np.arange(24) % 3
    with pytest.raises(Refused, match=r"^net: of x \(2, 4\) of data: .*data is int64"):
        fit(gluon.nn.Dense(3), (x, y), ENTROPY, precision="bfloat16")


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_whole_numbers_in_float32(dtype):
    """A net of features, or of the numbers of words, learns from them as from those of float32."""
    x, y = np.arange(24).reshape(12, 2), np.arange(12) % 3
    for make in (Words, lambda: gluon.nn.Dense(3)):
        losses = [
            fit(make(), (x.astype(each), y), ENTROPY, epochs=2) for each in (dtype, "float32")
        ]
        assert [e.loss for e in losses[0]] == [e.loss for e in losses[1]]


@pytest.mark.engine("torch")
def test_a_training_that_is_refused_leaves_the_net_and_the_optimizer():
    block, optimizer, ctx = gluon.nn.Dense(3), mx.optimizer.SGD(), [mx.cpu(0), mx.cpu(1)]
    x, y = np.zeros((2, 4), "float32"), np.arange(2)
    with pytest.raises(Refused, match="^data: a batch of 2 samples, learned in 2 parts; expected "):
        fit(block, (x, y), ENTROPY, optimizer=optimizer, ctx=ctx, precision="bfloat16",
            accumulate=2)  # fmt: skip
    assert {block.weight.dtype, block.weight.data().dtype} <= {"float32", np.float32}
    assert block.weight.grad_req == "write" and not optimizer.multi_precision


@pytest.mark.engine("torch")
@pytest.mark.parametrize("before", [False, True])
def test_an_optimizer_is_left_with_the_precision_that_it_had(before):
    optimizer = mx.optimizer.Adam(multi_precision=before)
    x, y = np.zeros((6, 4), "float32"), np.arange(6) % 3
    fit(gluon.nn.Dense(3), (x, y), ENTROPY, optimizer=optimizer, precision="bfloat16")
    assert optimizer.multi_precision is before
