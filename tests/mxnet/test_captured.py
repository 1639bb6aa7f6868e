"""CUDA graphs of hybridized blocks: their logic on the CPU, where a stand-in does things again."""

import logging
import pickle

import pytest

pytestmark = pytest.mark.engine("torch")


class Again:
    """What captures on the CPU: it calls the function again, and copies into the same memory."""

    made = 0

    def __init__(self, function, device, pool=None):
        self.function, self.results, self.pool = function, function(), None
        type(self).made += 1

    def replay(self):
        for held, value in zip(self.results, self.function()):
            if held is not None:
                held.copy_(value)


@pytest.fixture
def captured(monkeypatch):
    """The module, on the CPU; counts what is captured."""
    from layers.mxnet.symbol import _captured, _compiled

    monkeypatch.setattr(_captured, "Recorder", Again)
    monkeypatch.setattr(_captured, "on_gpu", lambda context: True)
    monkeypatch.setattr(Again, "made", 0)
    _compiled.warn.cache_clear()
    return _captured


@pytest.fixture
def launches(captured, monkeypatch):
    """Counts the launches of what was captured."""
    counted = []
    launch = captured.Launch.forward
    monkeypatch.setattr(
        captured.Launch, "forward", lambda self, ts: counted.append(self) or launch(self, ts)
    )
    return counted


def net_of(mx, *layers, static=True):
    net = mx.gluon.nn.HybridSequential()
    for layer in layers:
        net.add(layer)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=static, static_shape=static)
    return net


def mlp(mx, **kwargs):
    nn = mx.gluon.nn
    return net_of(mx, nn.Dense(8, in_units=5, activation="tanh"), nn.Dense(3, in_units=8), **kwargs)


def same(net, mx, **kwargs):
    """Another net with the same parameters."""
    other = mlp(mx, **kwargs)
    for p, q in zip(net.collect_params().values(), other.collect_params().values()):
        q.set_data(p.data())
    return other


def batch(mx, n=4):
    return mx.nd.random.uniform(-1, 1, (n, 5))


def assert_near(a, b):
    assert abs(a - b).max().asscalar() < 1e-6


def test_inference_is_captured_at_the_second_call(mx, launches):
    net = mlp(mx)
    plain = same(net, mx, static=False)
    results = []
    for _ in range(4):
        x = batch(mx)
        results.append((net(x), plain(x)))
    for y, expected in results:  # which later calls have left alone
        assert_near(y, expected)
    assert len(launches) == 3 and Again.made == 1


def test_training_is_captured(mx, launches):
    net = mlp(mx)
    plain = same(net, mx, static=False)
    trainers = [
        mx.gluon.Trainer(n.collect_params(), "sgd", {"momentum": 0.9}) for n in (net, plain)
    ]
    for _ in range(5):
        x = batch(mx)
        for n, trainer in zip((net, plain), trainers):
            with mx.autograd.record():
                loss = n(x).square().sum()
            loss.backward()
            trainer.step(4)
        for p, q in zip(net.collect_params().values(), plain.collect_params().values()):
            assert_near(p.grad(), q.grad())
            assert_near(p.data(), q.data())
    assert len(launches) == 4 and Again.made == 2  # forward and backward


def test_gradients_of_inputs(mx, launches):
    net = mlp(mx)
    for _ in range(3):
        x = batch(mx)
        x.attach_grad()
        with mx.autograd.record():
            y = net(2 * x)
        y.backward()
        with mx.autograd.record():
            z = mx.nd.dot(
                mx.nd.tanh(mx.nd.FullyConnected(2 * x, *values(net[0]), num_hidden=8)),
                net[1].weight.data().T,
            )
        expected = mx.autograd.grad(z, x)[0]
        assert_near(x.grad, expected)
    assert launches


def values(dense):
    return dense.weight.data(), dense.bias.data()


def test_a_call_before_the_backward_of_another_has_memory_of_its_own(mx, launches):
    net = mlp(mx)
    plain = same(net, mx, static=False)
    for _ in range(4):
        a, b = batch(mx), batch(mx)
        for n in (net, plain):
            with mx.autograd.record():
                loss = (n(a) * n(b)).sum()  # the second is replayed
            loss.backward()
        for p, q in zip(net.collect_params().values(), plain.collect_params().values()):
            assert_near(p.grad(), q.grad())
    assert len(launches) == 4  # the first call of all is run as it is, and so b is captured there


def test_a_second_backward(mx, launches):
    net = mlp(mx)
    x = batch(mx)
    for _ in range(3):
        with mx.autograd.record():
            y = net(x)
        y.backward(retain_graph=True)
        first = net[0].weight.grad().copy()
        y.backward()
        assert_near(net[0].weight.grad(), first)
    with mx.autograd.record():
        y = net(x)
    y.backward(retain_graph=True)
    with mx.autograd.record():
        net(batch(mx))
    with pytest.raises(mx.base.MXNetError, match="was called again since its gradients were comp"):
        y.backward()


def test_what_is_forgotten_blocks_nothing(mx, launches):
    net = mlp(mx)
    for n in range(4):
        with mx.autograd.record():
            net(batch(mx))  # nobody asks for its gradients
        assert len(launches) == n


def test_second_derivatives_are_refused(mx, launches):
    net = mlp(mx)
    x = batch(mx)
    x.attach_grad()
    for _ in range(2):
        with mx.autograd.record():
            y = net(x)
            dx = mx.autograd.grad(y, x, create_graph=True)[0]
            z = dx.square().sum()
    with pytest.raises(mx.base.MXNetError, match="no second derivative"):
        z.backward()


def test_states_and_random_numbers(mx, launches):
    nn = mx.gluon.nn
    nets = []
    for static in (True, False):
        mx.random.seed(3)
        net = net_of(
            mx, nn.Dense(6, in_units=5), nn.BatchNorm(in_channels=6), nn.Dropout(0.5), static=static
        )
        nets.append(net)
    for net in nets:
        mx.random.seed(5)
        for _ in range(4):
            x = batch(mx, 8)
            with mx.autograd.record():
                net(x).sum().backward()
    means = [net[1].running_mean.data() for net in nets]
    assert_near(*means)
    assert_near(*[net[0].weight.grad() for net in nets])
    assert launches


def test_shapes_modes_and_moved_parameters(mx, launches):
    net = mlp(mx)
    plain = same(net, mx, static=False)
    for n in (4, 2, 4, 2, 4):
        x = batch(mx, n)
        assert_near(net(x), plain(x))
    made = Again.made
    assert made == 2
    net.collect_params().reset_ctx(mx.current_context())
    for n in (net, plain):
        n[0].weight.set_data(mx.nd.ones((8, 5)))
    for _ in range(3):
        x = batch(mx)
        assert_near(net(x), plain(x))


class Counted:
    calls = 0


def test_operators_that_cannot_be_captured(mx, launches, caplog):
    caplog.set_level(logging.INFO, "layers.mxnet.hybridize")

    @mx.operator.register("tests_captured_counting")
    class CountingProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Counting()

    class Counting(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            Counted.calls += 1
            self.assign(out_data[0], req[0], in_data[0] * 2)

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.Custom(x, op_type="tests_captured_counting")

    net = Net()
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        assert net(mx.nd.ones((2,))).asnumpy().tolist() == [2, 2]
    assert not launches
    assert "is no CUDA graph, and is replayed: " in caplog.text
    assert len([r for r in caplog.records if "no CUDA graph" in r.message]) == 1


def test_own_operators_in_nd_are_captured(mx, launches):
    from layers import DenseBlock

    net, plain = DenseBlock(5, 3), DenseBlock(5, 3)
    net.initialize()
    plain.initialize()
    for p, q in zip(net.collect_params().values(), plain.collect_params().values()):
        q.set_data(p.data())
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        x = batch(mx)
        for n in (net, plain):
            with mx.autograd.record():
                n(x).sum().backward()
        assert_near(net.weight.grad(), plain.weight.grad())
    assert len(launches) == 2


def test_what_gives_other_values_is_not_launched(mx, launches, monkeypatch, caplog):
    monkeypatch.setattr(Again, "replay", lambda self: self.results[0].fill_(7))
    net = mlp(mx)
    x = batch(mx)
    expected = net(x)
    for _ in range(3):
        assert_near(net(x), expected)
    assert not launches
    assert "captured, it gives other values" in caplog.text


def test_it_is_captured_again_in_a_copy(mx, launches):
    net = mlp(mx)
    x = batch(mx)
    for _ in range(3):
        y = net(x)
    other = pickle.loads(pickle.dumps(net))
    for _ in range(3):
        assert_near(other(x), y)
    assert Again.made == 2


def test_without_a_gpu_nothing_is_captured(mx):
    net = mlp(mx)
    x = batch(mx)
    first = net(x)
    for _ in range(3):
        assert_near(net(x), first)
    (graph,) = net._graphs.values()
    assert not graph.run._launches
