"""CUDA graphs of hybridized blocks: their logic on the CPU, where a stand-in does things again."""

import logging
import pickle

import pytest

pytestmark = pytest.mark.engine("torch")


def stand_in():
    """What captures on the CPU: it redoes PyTorch's operators, and no Python, in that memory."""
    import torch
    from torch.utils import _pytree as pytree
    from torch.utils._python_dispatch import TorchDispatchMode

    class Tape(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.calls = []

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            y = function(*args, **(kwargs or {}))
            self.calls.append((function, args, kwargs or {}, y))
            return y

    def memory(tensor):
        return tensor.untyped_storage().data_ptr()

    def captured(function, stream, pool=None):
        tape = Tape()
        with tape, torch.no_grad():
            results = function()

        @torch.no_grad()
        def replay():
            for function, *given, y in tape.calls:
                args, kwargs = pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, given)
                taken = {memory(t) for t in pytree.tree_leaves(given) if torch.is_tensor(t)}
                made = function(*args, **kwargs)
                for held, value in zip(pytree.tree_leaves(y), pytree.tree_leaves(made)):
                    if torch.is_tensor(held) and memory(held) not in taken:
                        held.detach().copy_(value)

        return results, replay, None

    return captured


@pytest.fixture
def made(mx, monkeypatch):
    """What is captured, on a GPU by CUDA."""
    from layers.mxnet._graph import cuda_graph, kinds

    listed = []
    on_gpu = mx.current_context().device_type == "gpu"
    capture = cuda_graph.captured if on_gpu else stand_in()

    def record(*args):
        listed.append(capture(*args))
        return listed[-1]

    monkeypatch.setattr(cuda_graph, "captured", record)
    monkeypatch.setattr(cuda_graph, "can_capture", lambda context: True)
    kinds.warn.cache_clear()
    return listed


@pytest.fixture
def launches(made, monkeypatch):
    """The launches of what was captured."""
    from layers.mxnet._graph import cuda_graph

    counted = []
    launch = cuda_graph.Launch.forward
    monkeypatch.setattr(
        cuda_graph.Launch, "forward", lambda self, ts: counted.append(self) or launch(self, ts)
    )
    return counted


def net_of(mx, *layers, static=True):
    net = mx.gluon.nn.HybridSequential()
    for layer in layers:
        net.add(layer)
    net.initialize(mx.init.Xavier())
    net.hybridize(static_alloc=static, static_shape=static)
    return net


def train(mx, net, x):
    """Record forward and backward."""
    with mx.autograd.record():
        y = net(x)
    y.backward()


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


def test_inference_is_captured_at_the_third_call(mx, launches, made):
    net = mlp(mx)
    plain = same(net, mx, static=False)
    results = []
    for _ in range(5):
        x = batch(mx)
        results.append((x, x.copy(), net(x), plain(x)))
    for x, same_x, y, expected in results:  # which later calls have left alone
        assert_near(x, same_x)
        assert_near(y, expected)
    assert len(launches) == 3 and len(made) == 1


def test_training_is_captured(mx, launches, made):
    net = mlp(mx)
    plain = same(net, mx, static=False)
    trainers = [
        mx.gluon.Trainer(n.collect_params(), "sgd", {"momentum": 0.9}) for n in (net, plain)
    ]
    for _ in range(6):
        x = batch(mx)
        for n, trainer in zip((net, plain), trainers):
            with mx.autograd.record():
                loss = n(x).square().sum()
            loss.backward()
            trainer.step(4)
        for p, q in zip(net.collect_params().values(), plain.collect_params().values()):
            assert_near(p.grad(), q.grad())
            assert_near(p.data(), q.data())
    assert len(launches) == 4 and len(made) == 2  # forward and backward


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
    for _ in range(5):
        a, b = batch(mx), batch(mx)
        for n in (net, plain):
            with mx.autograd.record():
                loss = (n(a) * n(b)).sum()
            loss.backward()
        for p, q in zip(net.collect_params().values(), plain.collect_params().values()):
            assert_near(p.grad(), q.grad())
    assert len(launches) == 3  # of a, whose memory is in use when b comes


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
    for _ in range(2):
        train(mx, net, batch(mx))
    for n in range(1, 4):
        with mx.autograd.record():
            net(batch(mx))  # nobody asks for its gradients
        assert len(launches) == n


def test_second_derivatives_are_computed_plainly(mx, launches):
    net = mlp(mx)
    plain = same(net, mx, static=False)
    x = batch(mx)
    x.attach_grad()
    for _ in range(2):
        train(mx, net, x)
    for _ in range(3):
        found = []
        for n in (net, plain):
            with mx.autograd.record():
                dx = mx.autograd.grad(n(x), x, create_graph=True)[0]
                z = dx.square().sum()
            z.backward()
            found.append(x.grad.copy())
        assert_near(*found)
    assert launches


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


def test_shapes_modes_and_moved_parameters(mx, launches, made):
    net = mlp(mx)
    plain = same(net, mx, static=False)
    for n in (4, 2, 4, 2, 4, 2):
        x = batch(mx, n)
        assert_near(net(x), plain(x))
    assert len(made) == 2
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
    assert "is not recorded, and runs as it is: Custom 'tests_captured_counting'" in caplog.text
    assert Counted.calls == 3


def test_own_operators_in_nd_are_captured(mx, launches):
    from layers import DenseBlock

    net, plain = DenseBlock(5, 3), DenseBlock(5, 3)
    net.initialize()
    plain.initialize()
    for p, q in zip(net.collect_params().values(), plain.collect_params().values()):
        q.set_data(p.data())
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(4):
        x = batch(mx)
        for n in (net, plain):
            with mx.autograd.record():
                n(x).sum().backward()
        assert_near(net.weight.grad(), plain.weight.grad())
    assert len(launches) == 2


def test_what_gives_other_values_is_not_launched(mx, launches, monkeypatch, caplog):
    from layers.mxnet._graph import cuda_graph

    def nothing(function, stream, pool=None):  # as on a GPU, when nothing of what runs is captured
        return function(), lambda: None, None

    monkeypatch.setattr(cuda_graph, "captured", nothing)
    net = mlp(mx)
    x = batch(mx)
    expected = net(x)
    for _ in range(3):
        assert_near(net(x), expected)
    assert not launches
    assert "captured, it gives other values" in caplog.text


def test_it_is_captured_again_in_a_copy(mx, launches, made):
    net = mlp(mx)
    x = batch(mx)
    for _ in range(3):
        y = net(x)
    other = pickle.loads(pickle.dumps(net))
    for _ in range(3):
        assert_near(other(x), y)
    assert len(made) == 2


def test_without_a_gpu_nothing_is_captured(mx):
    with mx.cpu():
        net = mlp(mx)
        x = batch(mx)
        first = net(x)
        for _ in range(3):
            assert_near(net(x), first)
    (graph,) = net._graphs.values()
    assert not graph.run.runs


def test_a_parameter_that_is_overwritten_before_the_backward_is_told(mx, launches):
    net = mlp(mx)
    x = batch(mx)
    for _ in range(2):
        train(mx, net, x)
    for _ in range(3):
        with mx.autograd.record():
            y = net(x)
        with pytest.raises(mx.base.MXNetError, match="overwritten"):
            net[1].weight.set_data(mx.nd.ones((3, 8)))
            y.backward()
        y = None
    assert launches


def test_gradients_are_used_up(mx, launches):
    net = mlp(mx)
    for _ in range(4):
        with mx.autograd.record():
            y = net(batch(mx))
        y.backward()
        with pytest.raises(mx.base.MXNetError, match="used up"):
            y.backward()
    assert len(launches) == 2


SCALE = 1.0


def test_what_operators_read_stays_until_hybridize_is_called_again(mx, launches, monkeypatch):
    from layers import operator

    @operator
    class scaled:
        def forward(x):
            return x * SCALE

        def dx(dy):
            return dy * SCALE

        def shapes(x):
            return {"y": x}

    net = mx.gluon.nn.HybridLambda(lambda F, x: scaled(x))
    net.hybridize(static_alloc=True, static_shape=True)
    for factor, count in ((1, 0), (1, 0), (1, 1), (5, 2)):
        monkeypatch.setitem(globals(), "SCALE", factor)
        assert net(mx.nd.ones((2,))).asnumpy().tolist() == [1, 1]
        assert len(launches) == count
    net.hybridize(static_alloc=True, static_shape=True)
    assert net(mx.nd.ones((2,))).asnumpy().tolist() == [5, 5]


def test_training_and_predicting_by_one_net(mx, launches):
    nn = mx.gluon.nn
    net = net_of(mx, nn.Dense(6, in_units=5), nn.BatchNorm(in_channels=6), nn.Dropout(0.5))
    x = batch(mx, 8)
    for _ in range(4):
        with mx.autograd.record():
            trained = net(x)
        trained.backward()
        with mx.autograd.record(train_mode=False):
            first, second = net(x), net(x)
        assert_near(first, second)  # nothing is dropped
        assert_near(net(x), second)
        assert first._tensor.requires_grad and not net(x)._tensor.requires_grad
        assert (trained == 0).sum().asscalar() > 0
    assert launches


def test_outputs_of_several_dtypes(mx, launches):
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.argmax(x, axis=1).astype("int32"), x * x, F.ones((2,))

    net = Net()
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(4):
        x = batch(mx)
        x.attach_grad()
        with mx.autograd.record():
            at, square, more = net(x)
        square.backward(mx.nd.ones((4, 5)) * 3)
        assert_near(x.grad, 6 * x)
        assert_near(more, mx.nd.ones((2,)))
        assert not more._tensor.requires_grad
        assert at.asnumpy().dtype == "int32"
        assert at.asnumpy().tolist() == x.argmax(axis=1).asnumpy().tolist()
    assert len(launches) == 2


def test_gradients_that_are_kept_stay(mx, launches):
    net = mlp(mx)
    x = batch(mx)
    x.attach_grad()
    kept = []
    for k in range(1, 6):
        with mx.autograd.record():
            y = net(x)
        kept.append(mx.autograd.grad(y, x, head_grads=mx.nd.ones_like(y) * k)[0])
    for k, gradient in enumerate(kept, 1):
        assert_near(gradient, k * kept[0])
    assert len(launches) == 3


def test_parameters_that_move_are_captured_anew(mx, launches, made):
    net = mlp(mx)
    net.collect_params().setattr("grad_req", "null")
    x = batch(mx)
    for k in range(40):
        net[0].weight.set_data(mx.nd.ones((8, 5)) * k)  # it has other memory then
        net[1].weight.set_data(mx.nd.ones((3, 8)))
        for _ in range(1 + k % 3):
            y = net(x)
        expected = 8 * mx.nd.tanh(k * x.sum(axis=1, keepdims=True))
        assert_near(y / 8, mx.nd.broadcast_to(expected, (4, 3)) / 8)
    (graph,) = net._graphs.values()
    assert len(graph.run.runs) == 1
    assert launches


def test_so_many_kinds(mx, launches, caplog):
    net = mlp(mx)
    for n in [*range(1, 40), *range(1, 40)]:
        net(batch(mx, n))
    (graph,) = net._graphs.values()
    assert len(graph.run.runs) == 32
    assert "runs as it is: it was called with 32 shapes, dtypes and modes before" in caplog.text


def test_what_an_operator_is_given_stays_the_callers(mx):
    from layers import operator

    @operator
    class marking:
        def forward(x):
            x.to_torch().requires_grad_()
            return x * 1

        def shapes(x):
            return {"y": x}

    x = mx.nd.ones((2,))
    marking(x)
    assert not x._tensor.requires_grad
