"""What a program of several processes does, for tests/mxnet/test_distributed.py.

Each scenario gets a kvstore and the number of samples of all processes, takes the part of its
process, and returns arrays. In one process, with the kvstore 'device', it takes all samples.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import layers.mxnet as mx
from layers.mxnet import autograd, gluon, nd
from layers.mxnet.contrib.amp.loss_scaler import LossScaler
from layers.mxnet.kvstore import _buckets

SAMPLES = 8
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(SAMPLES, 5)).astype("float32"), RNG.integers(0, 3, SAMPLES)
SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def part(kv):
    """The samples of this process."""
    share = SAMPLES // kv.num_workers
    return slice(kv.rank * share, (kv.rank + 1) * share)


def made(kv, ctx=None, sizes=(16, 16, 3)):
    """A net whose initial values differ from process to process."""
    mx.random.seed(kv.rank)
    net = gluon.nn.HybridSequential()
    for units in sizes:
        net.add(gluon.nn.Dense(units, activation="tanh"))
    net.initialize(ctx=ctx)
    return net


def trainer_of(net, kv, **options):
    settings = {"learning_rate": 0.5, "momentum": 0.9}
    return gluon.Trainer(net.collect_params(), "sgd", settings, kvstore=kv, **options)


def go_back(net, x, y):
    with autograd.record():
        losses = gluon.loss.SoftmaxCELoss()(net(nd.array(x)), nd.array(y))
    losses.backward()


def values(net):
    return [p.data(p.list_ctx()[0]).asnumpy() for p in net.collect_params().values()]


def trained(kv, steps=4, hybridize=None, step=None, **options):
    net = made(kv)
    if hybridize is not None:
        net.hybridize(**hybridize)
    trainer = trainer_of(net, kv, **options)
    for _ in range(steps):
        go_back(net, X[part(kv)], Y[part(kv)])
        trainer.step(SAMPLES) if step is None else step(trainer)
    return values(net)


@scenario
def by_trainer(kv):
    return trained(kv)


@scenario
def with_gradients_summed(kv):
    return trained(kv, update_on_kvstore=False)


@scenario
def in_two_calls(kv):
    def step(trainer):
        trainer.allreduce_grads()
        trainer.update(SAMPLES)

    return trained(kv, step=step, update_on_kvstore=False)


@scenario
def hybridized(kv):
    return trained(kv, hybridize={"static_alloc": True, "static_shape": True})


@scenario
def with_a_state(kv):
    """The states are saved and loaded between steps."""
    net = made(kv)
    trainer = trainer_of(net, kv)
    for i in range(4):
        go_back(net, X[part(kv)], Y[part(kv)])
        trainer.step(SAMPLES)
        if i == 1:
            path = Path(os.environ["FOLDER"]) / f"states-{kv.num_workers}-{kv.rank}"
            trainer.save_states(str(path))
            trainer = trainer_of(net, kv)
            trainer.load_states(str(path))
    return values(net)


@scenario
def with_a_value_set(kv):
    """All processes set a value between steps, and change the size of the batch."""
    net = made(kv)
    trainer = trainer_of(net, kv)
    for i in range(4):
        go_back(net, X[part(kv)], Y[part(kv)])
        trainer.step(SAMPLES * (i + 1))
        net[1].bias.set_data(nd.ones(16) * i)
    return values(net)


@scenario
def on_two_contexts(kv):
    contexts = [mx.cpu(0), mx.cpu(1)]
    net = made(kv, contexts)
    trainer, loss = trainer_of(net, kv), gluon.loss.SoftmaxCELoss()
    for _ in range(4):
        xs = gluon.utils.split_and_load(X[part(kv)], contexts)
        ys = gluon.utils.split_and_load(Y[part(kv)], contexts)
        with autograd.record():
            losses = [loss(net(x), y) for x, y in zip(xs, ys)]
        autograd.backward(losses)
        trainer.step(SAMPLES)
    return values(net)


@scenario
def with_gradients_added(kv):
    net = made(kv)
    net.collect_params().setattr("grad_req", "add")
    trainer = trainer_of(net, kv)
    for _ in range(3):
        for _ in range(2):
            go_back(net, X[part(kv)], Y[part(kv)])
        trainer.step(SAMPLES)
        net.collect_params().zero_grad()
    return values(net)


@scenario
def with_two_backwards(kv):
    """The gradient of the second counts."""
    net = made(kv)
    trainer = trainer_of(net, kv)
    for _ in range(3):
        go_back(net, -X[part(kv)], Y[part(kv)])
        go_back(net, X[part(kv)], Y[part(kv)])
        trainer.step(SAMPLES)
    return values(net)


@scenario
def with_gradients_changed(kv):
    """What a program does to its gradients before the step counts."""
    net = made(kv)
    trainer = trainer_of(net, kv)
    for _ in range(3):
        go_back(net, X[part(kv)], Y[part(kv)])
        for p in net.collect_params().values():
            p.grad()[:] *= 0.5
        trainer.step(SAMPLES)
    return values(net)


@scenario
def with_parts_unused(kv):
    """A branch is used for the last samples alone, another never."""
    nets = [made(kv, sizes=sizes) for sizes in ((6, 3), (4, 3), (2,))]
    for net in nets:
        net(nd.array(X))
    parameters = [p for net in nets for p in net.collect_params().values()]
    trainer = gluon.Trainer(parameters, "sgd", {"learning_rate": 1, "wd": 0.1}, kvstore=kv)
    for _ in range(3):
        first, last = (slice(0, 4), slice(4, 8))
        parts = [(nets[0], first), (nets[1], last)]
        mine = [(net, s) for net, s in parts if overlap(s, part(kv))]
        with autograd.record():
            losses = [
                gluon.loss.SoftmaxCELoss()(net(nd.array(X[i])), nd.array(Y[i]))
                for net, s in mine
                for i in [overlap(s, part(kv))]
            ]
        autograd.backward(losses)
        trainer.step(SAMPLES, ignore_stale_grad=True)
    return [a for net in nets for a in values(net)]


def overlap(a, b):
    start, stop = max(a.start, b.start), min(a.stop, b.stop)
    return slice(start, stop) if start < stop else None


WORDS = RNG.integers(0, 12, (SAMPLES, 3)).astype("float32")


def trained_on_words(kv, ctx=None, optimizer="sgd", **options):
    """A sparse embedding, whose rows differ from process to process, before dense layers."""
    mx.random.seed(kv.rank)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Embedding(12, 4, sparse_grad=True), gluon.nn.Dense(3))
    net.initialize(ctx=ctx)
    settings = {"learning_rate": 0.5}
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings, kvstore=kv, **options)
    loss = gluon.loss.SoftmaxCELoss()
    for i in range(4):
        contexts = ctx or [mx.cpu()]
        words = gluon.utils.split_and_load(np.maximum(WORDS[part(kv)] - i, 0), contexts)
        labels = gluon.utils.split_and_load(Y[part(kv)], contexts)
        with autograd.record():
            losses = [loss(net(x), y) for x, y in zip(words, labels)]
        autograd.backward(losses)
        trainer.step(SAMPLES)
    return values(net)


@scenario
def with_sparse_gradients(kv):
    return trained_on_words(kv)


@scenario
def with_sparse_gradients_of_adam(kv):
    return trained_on_words(kv, optimizer="adam", update_on_kvstore=True)


@scenario
def with_sparse_gradients_on_two_contexts(kv):
    return trained_on_words(kv, [mx.cpu(0), mx.cpu(1)])


@scenario
def with_a_row_sparse_parameter(kv):
    """A step in which the first process alone has a gradient, too."""
    mx.random.seed(kv.rank)
    table = gluon.Parameter("table", shape=(12, 4), stype="row_sparse", grad_stype="row_sparse")
    table.initialize(mx.init.Uniform())
    settings = {"learning_rate": 0.5, "momentum": 0.9}
    trainer = gluon.Trainer([table], "sgd", settings, kvstore=kv)
    every = nd.arange(12)
    trainer._prepare()
    for i in range(4):
        words = WORDS[part(kv)] if i != 2 else WORDS[:4] if kv.rank == 0 else None
        if words is not None:
            with autograd.record():
                rows = nd.sparse.Embedding(
                    nd.array(words), table.row_sparse_data(every), input_dim=12, output_dim=4,
                    sparse_grad=True,
                )  # fmt: skip
                y = (rows * rows).sum()
            y.backward()
        trainer.step(SAMPLES)
    return [table.row_sparse_data(every).asnumpy()]


@scenario
def by_module_with_csr_data(kv):
    weight = mx.sym.Variable("weight", shape=(5, 3), stype="row_sparse")
    y = mx.sym.sparse.dot(mx.sym.Variable("data", stype="csr"), weight)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(y, name="softmax"))
    size = SAMPLES // kv.num_workers
    data = nd.array(np.where(X > 0.3, X, 0)[part(kv)]).tostype("csr")
    samples = mx.io.NDArrayIter(data, nd.array(Y[part(kv)]), batch_size=size,
                                last_batch_handle="discard")  # fmt: skip
    mx.random.seed(kv.rank)
    settings = {"learning_rate": 0.5, "momentum": 0.9}
    module.fit(samples, num_epoch=4, kvstore=kv, optimizer_params=settings)
    return [array.asnumpy() for _, array in sorted(module.get_params()[0].items())]


@scenario
def by_module(kv):
    data = mx.sym.var("data")
    hidden = mx.sym.FullyConnected(data, num_hidden=6, name="a")
    out = mx.sym.FullyConnected(mx.sym.tanh(hidden), num_hidden=3, name="b")
    symbol = mx.sym.SoftmaxOutput(out, name="softmax")
    mx.random.seed(kv.rank)
    module = mx.mod.Module(symbol)
    size = SAMPLES // kv.num_workers
    samples = mx.io.NDArrayIter(X[part(kv)], Y[part(kv)].astype("float32"), batch_size=size)
    settings = {"learning_rate": 0.5, "momentum": 0.9}
    module.fit(samples, num_epoch=4, kvstore=kv, optimizer_params=settings)
    return [array.asnumpy() for _, array in sorted(module.get_params()[0].items())]


# What has no counterpart in one process. These return what the test expects of each process.


def by_keys(kv):
    """init, push, pull, pushpull, broadcast, set_optimizer."""
    n, mine = kv.num_workers, float(kv.rank + 1)
    total = n * (n + 1) / 2
    out = nd.zeros(2)
    found = []

    def pulled(key):
        kv.pull(key, out=out)
        found.append(out.asscalar() if out.size == 1 else float(out.asnumpy()[0]))

    kv.init("a", nd.ones(2) * mine)
    pulled("a")  # the first process's
    kv.push("a", [nd.ones(2) * mine, nd.ones(2, ctx=mx.cpu(1)) * mine])
    pulled("a")
    summed = nd.ones(2) * mine
    kv.pushpull("a", summed)
    found.append(float(summed.asnumpy()[0]))
    kv.broadcast("b", nd.ones(2) * mine, out=[out])
    found.append(float(out.asnumpy()[0]))
    kv.barrier()
    kv.init("c", nd.ones(2))
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.25))
    kv.push("c", nd.ones(2) * mine)
    pulled("c")
    assert found == [1, 2 * total, total, 1, 1 - 0.25 * total], found


def by_rows(kv):
    """row_sparse arrays: init, push, row_sparse_pull, an optimizer."""
    n, shape = kv.num_workers, (6, 2)

    def rows_of(numbers, value):
        return nd.sparse.row_sparse_array((nd.ones((len(numbers), 2)) * value, numbers), shape)

    def pulled(key):
        out = nd.sparse.zeros("row_sparse", shape)
        kv.row_sparse_pull(key, out=out, row_ids=nd.arange(6))
        return out.asnumpy()[:, 0].tolist()

    kv.init("a", rows_of([0, 5][: 2 - kv.rank % 2], kv.rank + 1.0))
    assert pulled("a") == [1, 0, 0, 0, 0, 1]  # the first process's
    kv.push("a", rows_of([0, kv.rank + 1], kv.rank + 1.0))
    expected = [n * (n + 1) / 2, *range(1, n + 1), *[0] * (5 - n)]
    assert pulled("a") == expected
    kv.push("a", rows_of([3], 2.0) if kv.rank == 0 else nd.sparse.zeros("row_sparse", shape))
    assert pulled("a") == [0, 0, 0, 2, 0, 0]
    kv.push("a", nd.sparse.zeros("row_sparse", shape))
    assert pulled("a") == [0] * 6
    kv.init("b", rows_of([*range(6)], 1.0))
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.25))
    kv.push("b", rows_of([0, kv.rank + 1], kv.rank + 1.0))
    assert pulled("b") == [1 - 0.25 * total for total in expected]
    try:
        kv.push("b", rows_of([0], 1.0).astype("float64" if kv.rank else "float32"))
    except ValueError as error:
        assert f"process {kv.rank}: row_sparse (6, 2) float" in str(error)
    else:
        raise AssertionError("not refused")
    kv.set_gradient_compression({"type": "2bit"})
    try:
        kv.push("b", rows_of([0], 1.0))
    except NotImplementedError as error:
        assert "compression of a row_sparse array (6, 2)" in str(error)
    else:
        raise AssertionError("not refused")


def compressed(kv):
    """Each process sends two bits of an element, and the rest with later gradients."""
    rows = np.array([[0.3, 0.7, -2.0, 0.1, -0.25]]) * (1 + np.arange(kv.num_workers))[:, None] / 2
    rest, kept, expected = np.zeros_like(rows), np.zeros(5), []
    for _ in range(4):
        rest += rows
        sent = np.where(np.abs(rest) >= 0.5, np.sign(rest) / 2, 0)
        rest -= sent
        kept = kept - sent.sum(0)
        expected.append((sent.sum(0), kept))
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    kv.init("a", nd.zeros(5))
    weight = gluon.Parameter("w", shape=(5,))
    weight.initialize("zeros")
    settings = {"kvstore": mx.kv.create("dist_sync"), "compression_params": {"type": "2bit"}}
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1.0}, **settings)
    mine = nd.array(rows[kv.rank])
    for summed, after in expected:
        out = nd.zeros(5)
        kv.push("a", mine)
        kv.pull("a", out=out)
        np.testing.assert_allclose(out.asnumpy(), summed, atol=1e-6)
        with autograd.record():
            loss = (weight.data() * mine).sum()
        loss.backward()
        trainer.step(1)
        np.testing.assert_allclose(weight.data().asnumpy(), after, atol=1e-6)


def overlapping(kv):
    """Gradients are sent while backward computes others, from the second step on."""
    net = made(kv)
    trainer = trainer_of(net, kv)
    sent = []
    for _ in range(3):
        go_back(net, X[part(kv)], Y[part(kv)])
        sums = trainer._gradient_sums
        sent.append((sums._next, len(sums._buckets)))
        trainer.step(SAMPLES)
    assert sent[0] == (0, 0) and sent[1][0] == sent[1][1] > 1 and sent[2] == sent[1], sent


def overflowing(kv):
    """An infinite gradient in one process: all leave the step out, and halve the loss scale."""
    w = gluon.Parameter("w", shape=(2,))
    w.initialize("ones")
    trainer = gluon.Trainer([w], "sgd", {"learning_rate": 1}, kvstore=kv)
    trainer._amp_loss_scaler = scaler = LossScaler()
    scale = scaler.loss_scale
    for factor in (float("inf") if kv.rank == 1 else 1.0, 1.0):
        with autograd.record():
            y = (w.data() * factor).sum()
        y.backward()
        trainer.step(kv.num_workers)
    assert w.data().asnumpy().tolist() == [0, 0]
    assert scaler.loss_scale == scale / 2


def with_other_nets(kv):
    w = gluon.Parameter("w", shape=(2 + kv.rank,))
    w.initialize()
    try:
        gluon.Trainer([w], "sgd", kvstore=kv)
    except ValueError as error:
        assert f"process {kv.rank}: ({2 + kv.rank},) float32" in str(error), error
    else:
        raise AssertionError("not refused")


def with_a_stale_gradient(kv):
    """Without `ignore_stale_grad`: taken as 0 where another has one; else all raise."""
    used, unused = (gluon.Parameter(n, shape=(1,), init="zeros") for n in ("used", "unused"))
    for p in (used, unused):
        p.initialize()
    trainer = gluon.Trainer(
        [used, unused], "sgd", {"learning_rate": 1}, kvstore=kv, update_on_kvstore=False
    )
    with autograd.record():
        y = used.data() * 2 if kv.rank == 0 else nd.ones(1)
    if kv.rank == 0:
        y.backward()
    try:
        trainer.step(1)
    except UserWarning as error:
        assert "unused" in str(error)
    else:
        raise AssertionError("not refused")
    trainer.step(1, ignore_stale_grad=True)
    assert (used.data().asscalar(), unused.data().asscalar()) == (-2, 0)


ASSERTIONS = [
    by_keys,
    by_rows,
    compressed,
    overlapping,
    overflowing,
    with_other_nets,
    with_a_stale_gradient,
]


def run(folder):
    """All scenarios, one after another; the arrays go to the folder."""
    _buckets.BYTES = 600  # several buckets for small nets
    kv = mx.kv.create("dist_sync")
    for name, function in SCENARIOS.items():
        np.savez(folder / f"{name}-{kv.rank}.npz", *function(kv))
    for function in ASSERTIONS:
        function(mx.kv.create("dist_sync"))
        (folder / f"{function.__name__}-{kv.rank}").touch()


def lose(folder):
    """Step until one of the processes is lost, in the way that ``LOST`` says."""
    how, rank = os.environ["LOST"].split()
    kv = mx.kv.create("dist_sync")
    net = made(kv)
    trainer = trainer_of(net, kv)
    for step in range(1000):
        if step == 3 and kv.rank == int(rank):
            (folder / "lost").touch()
            os.kill(os.getpid(), getattr(signal, how))
        go_back(net, X[part(kv)], Y[part(kv)])
        trainer.step(SAMPLES)
        time.sleep(0.01)


if __name__ == "__main__":
    {"run": run, "lose": lose}[sys.argv[1]](Path(sys.argv[2]))
