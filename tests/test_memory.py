"""A thousand training steps leave memory flat."""

import gc

import numpy as np
import pytest

from layers import DenseBlock, SigmoidBlock, SoftmaxLoss
from layers.engine import autograd, gluon, mx, nd


def resident():
    """Resident memory of this process, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


@pytest.mark.slow
def test_a_thousand_steps(engine):
    net = gluon.nn.HybridSequential()
    net.add(DenseBlock(64, 64), SigmoidBlock(), DenseBlock(64, 10))
    net.initialize(mx.init.Xavier())
    loss = SoftmaxLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    x = nd.array(np.random.RandomState(0).randn(256, 64))
    label = nd.array(np.arange(256) % 10)

    def steps(count):
        for _ in range(count):
            with autograd.record():
                value = loss(net(x), label)
            value.backward()
            trainer.step(256)
            value.wait_to_read()
        nd.waitall()
        gc.collect()
        return resident(), len(gc.get_objects())

    try:
        before, objects = steps(200)
    except FileNotFoundError:
        pytest.skip("resident memory is read from /proc, which is not here")
    after, more = steps(1000)
    allowed = {"torch": 24, "mxnet": 100}[engine]  # of pools, for all that ran before too
    assert after - before < allowed, f"grew from {before:.1f} to {after:.1f} MB"
    if engine == "torch":
        assert more - objects < 200, f"grew from {objects} to {more} objects"
