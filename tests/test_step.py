"""`compiled_step`: a whole training step in one call."""

import numpy as np
import pytest
from repeated import as_slow, first_alone

from layers import DenseBlock, SigmoidBlock, SoftmaxLoss, compiled_step


@pytest.fixture
def data(mx):
    x = np.random.RandomState(0).uniform(-1, 1, (12, 5))
    return mx.nd.array(x), mx.nd.array(np.arange(12) % 3)


def made(mx, optimizer="sgd", **settings):
    """A net, its loss and its trainer, the same ones at every call."""
    mx.random.seed(3)
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(DenseBlock(5, 7, activation="sigmoid"), mx.gluon.nn.Dense(3, in_units=7))
    net.initialize(mx.init.Uniform(0.5))
    loss = SoftmaxLoss()
    return net, loss, mx.gluon.Trainer(net.collect_params(), optimizer, settings)


def plain(mx, optimizer, **settings):
    """The same of built-in layers, which compile in no time."""
    mx.random.seed(3)
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(7, in_units=5), mx.gluon.nn.Dense(3, in_units=7))
    net.initialize(mx.init.Uniform(0.5))
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    return net, loss, mx.gluon.Trainer(net.collect_params(), optimizer, settings)


def stepped(mx, net, loss, trainer):
    """What `compiled_step` stands for."""

    def step(x, label, batch_size=None):
        with mx.autograd.record():
            losses = loss(net(x), label)
        losses.backward()
        trainer.step(batch_size or x.shape[0])
        return losses

    return step


def compared(mx, data, steps, make_parts, **options):
    """What `steps(step, *parts)` gives, and the parameters after it: by single calls and whole."""
    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, **options)):
        parts = make_parts()
        results = steps(make(mx, *parts), *parts)
        parameters = parts[0].collect_params().values()
        found.append([*results, *[p.data().asnumpy() for p in parameters]])
    for plain, whole in zip(*found, strict=True):
        np.testing.assert_allclose(whole, plain, rtol=1e-4, atol=1e-6)
    return found[-1]


OPTIMIZERS = {
    "sgd": {"learning_rate": 0.5, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.05},
}
EVERY = [
    as_slow(("sgd", {})),
    ("sgd", {"momentum": 0.9, "wd": 0.01, "clip_gradient": 0.01}),
    ("nag", {"momentum": 0.9, "wd": 0.01}),
    as_slow(("signum", {"wd": 0.01, "wd_lh": 0.01})),
    ("signum", {"momentum": 0.0}),
    as_slow(("adam", {"wd": 0.01})),
    ("adam", {"wd": 0.01, "clip_gradient": 0.01}),
    as_slow(("adamax", {"wd": 0.1})),
    ("nadam", {}),
    as_slow(("adagrad", {"wd": 0.1})),
    ("adadelta", {"wd": 0.1}),
    as_slow(("rmsprop", {"wd": 0.1})),
    ("rmsprop", {"centered": True, "clip_weights": 0.3}),
    as_slow(("ftrl", {"wd": 0.1})),
    as_slow(("ftml", {"wd": 0.01})),
    ("lamb", {"wd": 0.01, "upper_bound": 2.0}),
    as_slow(("dcasgd", {"momentum": 0.9, "wd": 0.01})),
]


@pytest.mark.parametrize("optimizer", first_alone(OPTIMIZERS))
def test_it_trains_as_the_single_calls_do(mx, data, optimizer):
    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts)):
        parts = made(mx, optimizer, **OPTIMIZERS[optimizer])
        net, _, trainer = parts
        step = make(mx, *parts)
        losses = [step(*data).asnumpy() for _ in range(3)]
        trainer.set_learning_rate(0.01)
        losses += [step(*data).asnumpy(), step(*data, batch_size=100).asnumpy()]
        found.append([*losses, *[p.data().asnumpy() for p in net.collect_params().values()]])
        assert not np.allclose(losses[0], losses[-1])
    for plain, whole in zip(*found):
        np.testing.assert_allclose(whole, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.engine("torch")
def test_it_is_one_graph(mx, data):
    import torch

    torch._dynamo.utils.counters.clear()
    step = compiled_step(*made(mx), backend="aot_eager")
    for _ in range(2):  # the operators are tried in the first, the second is compiled
        step(*data)
    counters = torch._dynamo.utils.counters
    assert not counters["graph_break"]
    before = counters["stats"]["unique_graphs"]
    step(*data)
    assert counters["stats"]["unique_graphs"] == before


@pytest.mark.engine("torch")
@pytest.mark.slow
def test_a_gradient_that_is_zero_but_for_rounding(mx, caplog):
    """That of a bias before BatchNorm: what is compiled and what is not round it differently."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3), nn.BatchNorm(), SigmoidBlock(), nn.Flatten(), DenseBlock(0, 3))
    net.initialize(mx.init.Xavier())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.9})
    x = mx.nd.array(np.random.RandomState(0).randn(12, 3, 8, 8))
    compiled_step(net, SoftmaxLoss(), trainer)(x, mx.nd.arange(12) % 3)
    assert "not compiled" not in caplog.text


@pytest.mark.engine("torch")
def test_frozen_parameters_and_gradients_that_are_added(mx, data):
    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, backend="aot_eager")):
        net, loss, trainer = made(mx)
        net[0].weight.grad_req = "null"
        net[1].weight.grad_req = "add"
        step = make(mx, net, loss, trainer)
        for _ in range(2):
            step(*data)
        net[1].bias.grad_req = "null"
        net[0].weight.grad_req = "write"
        step(*data)
        found.append([p.data().asnumpy() for p in net.collect_params().values()])
        found[-1].append(net[1].weight.grad().asnumpy())
    for plain, whole in zip(*found):
        np.testing.assert_allclose(whole, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
def test_operators_that_run_as_they_are(mx, data):
    class Noise(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            noise = mx.nd.array(np.random.uniform(size=in_data[0].shape))
            self.assign(out_data[0], req[0], in_data[0] + noise)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0])

    @mx.operator.register("test_step_noise")
    class NoiseProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Noise()

    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, backend="aot_eager")):
        net, loss, trainer = made(mx, learning_rate=0.5)
        net.add(mx.gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="test_step_noise")))
        step = make(mx, net, loss, trainer)
        np.random.seed(5)
        found.append([step(*data).asnumpy() for _ in range(3)])
    for plain, whole in zip(*found):
        np.testing.assert_allclose(whole, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
def test_a_layer_that_is_added_later(mx, data):
    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, backend="aot_eager")):
        parts = made(mx, learning_rate=0.5)
        step = make(mx, *parts)
        step(*data)
        parts[0].add(mx.gluon.nn.Activation("tanh"))
        found.append([step(*data).asnumpy() for _ in range(2)])
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
def test_an_attribute_of_an_operator_holds_from_hybridize_on(mx, data):
    class Scale(mx.operator.CustomOp):
        factor = 1.0

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], self.factor * in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], self.factor * out_grad[0])

    @mx.operator.register("test_step_scale")
    class ScaleProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Scale()

    found = []
    for make in (stepped, lambda mx, *parts: compiled_step(*parts, backend="aot_eager")):
        net, loss, trainer = made(mx, learning_rate=0.5)
        net.add(mx.gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type="test_step_scale")))
        step = make(mx, net, loss, trainer)
        Scale.factor = 1.0
        values = [step(*data).asnumpy() for _ in range(2)]
        Scale.factor = 2.0
        if make is not stepped:
            Scale.factor = 7.0  # until hybridize() the graph keeps what it has read
            values.append(step(*data).asnumpy())
            Scale.factor = 2.0
            net.hybridize()
        else:
            Scale.factor = 1.0
            values.append(step(*data).asnumpy())
            Scale.factor = 2.0
        found.append([*values, *[step(*data).asnumpy() for _ in range(2)]])
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
def test_what_cannot_be_stepped_is_refused(mx):
    net, loss, trainer = made(mx)
    with pytest.raises(mx.base.MXNetError, match="expected a HybridBlock"):
        compiled_step(lambda x: x, loss, None)
    with pytest.raises(mx.base.MXNetError, match="expected a Trainer"):
        compiled_step(net, loss, None)
    with pytest.raises(mx.base.MXNetError, match="has no unknown"):
        compiled_step(net, loss, trainer, unknown=1)
    with pytest.raises(mx.base.MXNetError, match="compiled_step: there is no backend 'TensorRT'"):
        compiled_step(net, loss, trainer, backend="TensorRT")
    step = compiled_step(net, loss, trainer, backend="eager")
    with pytest.raises(mx.base.MXNetError, match="expected NDArrays"):
        step(np.ones((2, 5)), mx.nd.zeros(2))
    assert step(mx.nd.ones((2, 5)), mx.nd.zeros(2)).shape == (2,)
    with mx.autograd.record(), pytest.raises(mx.MXNetError, match=r"inside autograd\.record\(\)"):
        step(mx.nd.ones((2, 5)), mx.nd.zeros(2))
    with pytest.raises(ValueError, match="the Trainer has 'net_.*, and no parameter of other"):
        compiled_step(mx.gluon.nn.Dense(2, prefix="other_"), loss, trainer)
    net.collect_params().reset_ctx([mx.cpu(0), mx.cpu(1)])
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(mx.base.MXNetError, match="expected one context"):
        compiled_step(net, loss, trainer)


@pytest.mark.engine("mxnet")
def test_mxnet_ignores_the_options_of_a_compiler(mx, data):
    step = compiled_step(*made(mx), backend="aot_eager", mode=None)
    assert step(*data).shape == data[1].shape
    with pytest.raises(TypeError, match="bckend"):
        compiled_step(*made(mx), bckend="aot_eager")


@pytest.mark.engine("torch")
def test_a_batch_of_nothing_is_told(mx, data):
    step = compiled_step(*made(mx))
    with pytest.raises(ValueError, match="batch_size is 0\n  expected a number above 0"):
        step(*[array[:0] for array in data])


def updates_inside(step) -> bool:
    """Whether all that was compiled has the update in it, and was not given up."""
    runs = step._runs.values()
    return all(r.program._update and r.runs and not r.reasons for r in runs)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(("optimizer", "settings"), EVERY, ids=str)
def test_every_optimizer_updates_inside_of_the_graph(mx, data, optimizer, settings):
    def steps(step, net, _, trainer):
        net[1].bias.lr_mult, net[0].bias.wd_mult = 2.0, 0.0
        losses = [step(*data).asnumpy() for _ in range(3)]
        trainer.set_learning_rate(0.02)
        losses += [step(*data).asnumpy(), step(*data, batch_size=100).asnumpy()]
        if hasattr(step, "trainer"):  # Nadam's schedule moves on with every weight, in Python
            assert updates_inside(step) is (optimizer != "nadam")
        counts = trainer.optimizer._index_update_count
        return [*losses, sorted(counts.values()), *[p.grad().asnumpy() for p in trainer._params]]

    compared(mx, data, steps, lambda: plain(mx, optimizer, **settings), backend="aot_eager")


@pytest.mark.engine("torch")
@pytest.mark.slow
def test_schedules_and_settings_that_change(mx, data, caplog):
    def parts():
        scheduler = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.5)
        return plain(mx, "sgd", lr_scheduler=scheduler, momentum=0.5)

    def steps(step, net, _, trainer):
        losses = [step(*data).asnumpy() for _ in range(5)]
        for momentum in np.linspace(0.5, 0.9, 12):
            trainer.optimizer.momentum = float(momentum)
            losses.append(step(*data).asnumpy())
        net[0].weight.lr_mult = 0.5
        trainer.optimizer.wd = 0.1
        return [*losses, step(*data).asnumpy()]

    compared(mx, data, steps, parts, backend="aot_eager")
    assert "the optimizer's settings change often" in caplog.text


@pytest.mark.engine("torch")
def test_parameters_and_states_that_are_replaced(mx, data, tmp_path):
    def steps(step, net, _, trainer):
        losses = [step(*data).asnumpy() for _ in range(2)]
        trainer.save_states(tmp_path / "states")
        net.save_parameters(str(tmp_path / "net.params"))
        losses += [step(*data).asnumpy()]
        trainer.load_states(tmp_path / "states")
        net.load_parameters(str(tmp_path / "net.params"))
        losses += [step(*data).asnumpy()]
        np.testing.assert_allclose(losses[-1], losses[-2], rtol=1e-5)
        net[0].bias.set_data(mx.nd.ones(7))
        net[0].weight.grad_req = "null"
        losses += [step(*data).asnumpy()]
        net[0].weight.set_data(mx.nd.ones((7, 5)))
        losses += [step(*data).asnumpy()]
        net[0].weight.grad_req = "write"  # its count is behind that of the others
        losses += [step(*data).asnumpy() for _ in range(2)]
        net[1].weight.grad_req = "add"
        return [*losses, *[step(*data).asnumpy() for _ in range(2)]]

    compared(mx, data, steps, lambda: plain(mx, "adam", learning_rate=0.1), backend="aot_eager")


@pytest.mark.engine("torch")
def test_a_call_that_fails_updates_nothing_and_counts_nothing(mx, data):
    net, loss, trainer = made(mx, "adam", learning_rate=0.1)
    step = compiled_step(net, loss, trainer, backend="aot_eager")
    step(*data)
    with pytest.raises(UserWarning, match="has not been updated"):  # its gradients are used up
        trainer.step(12)
    before = net[0].weight.data().asnumpy()
    with pytest.raises(mx.MXNetError, match=r"weight is \(7, 5\), but data \(3, 4\)"):
        step(mx.nd.ones((3, 4)), mx.nd.zeros(3))
    assert set(trainer.optimizer._index_update_count.values()) == {1}
    assert trainer.optimizer.num_update == 1
    np.testing.assert_array_equal(net[0].weight.data().asnumpy(), before)
    gradient = net[0].weight.grad()
    np.testing.assert_array_equal(gradient.asnumpy(), np.zeros((7, 5)))
    gradient[0] = 1  # into memory of its own
    np.testing.assert_array_equal(gradient.asnumpy().sum(axis=1), [5, *[0] * 6])


@pytest.mark.engine("torch")
def test_losses_and_gradients_that_are_weights_keep_their_values(mx, data):
    class Weight(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(3,), init="ones")

        def hybrid_forward(self, F, x, weight):
            return weight

    class Half(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, y, label):
            return y, 0.5 * y * y

    net = Weight()
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    step = compiled_step(net, Half(), trainer, backend="inductor")
    for expected in (1.0, 0.0, -0.5):  # w - 0.5 (1 + w)
        weight, half = step(*data, batch_size=1)
        np.testing.assert_array_equal(weight.asnumpy(), np.full(3, expected))
        np.testing.assert_array_equal(half.asnumpy(), np.full(3, expected**2 / 2))
        np.testing.assert_array_equal(net.weight.grad().asnumpy(), np.full(3, 1 + expected))


@pytest.mark.engine("torch")
def test_a_trainer_of_ones_own_makes_its_own_steps(mx, data):
    class Counting(mx.gluon.Trainer):
        steps = 0

        def step(self, *args, **kwargs):
            self.steps += 1
            super().step(*args, **kwargs)

    net, loss, _ = made(mx)
    trainer = Counting(net.collect_params(), "sgd")
    step = compiled_step(net, loss, trainer, backend="aot_eager")
    for _ in range(3):
        step(*data)
    assert trainer.steps == 3


@pytest.mark.engine("torch")
def test_a_net_that_is_frozen_is_refused(mx, data):
    net, loss, trainer = made(mx)
    net.collect_params().setattr("grad_req", "null")
    with pytest.raises(ValueError, match="no parameter is trained"):
        compiled_step(net, loss, trainer, backend="aot_eager")(*data)


@pytest.mark.engine("torch")
def test_little_is_looked_at_before_a_compiled_step(mx, data, monkeypatch):
    from layers.mxnet._graph import torch_compile

    kept = []

    def watched(entries):
        kept.append(_guards(entries))
        return kept[-1]

    _guards = torch_compile._arrays_from_outside
    monkeypatch.setattr(torch_compile, "_arrays_from_outside", watched)
    net, loss, trainer = made(mx)
    step = compiled_step(net, mx.gluon.loss.L2Loss(), trainer, backend="aot_eager")
    for _ in range(2):
        step(data[0], mx.nd.zeros((12, 3)))
    assert len(kept[-1]) > 100  # of which most are this library's own
    assert sum(kept[-1]) == 0


@pytest.mark.engine("torch")
def test_an_attribute_holds_from_hybridize_on(mx, data):
    class Scaled(mx.gluon.HybridBlock):
        scale = 1.0

        def hybrid_forward(self, F, y, label):
            return F.sum(y * self.scale, axis=1)

    def parts():
        net, _, trainer = plain(mx, "sgd", learning_rate=0.1)
        return net, Scaled(), trainer

    def steps(step, net, loss, _):
        losses = [step(*data).asnumpy()]
        loss.scale = 5.0
        loss.hybridize()
        return [*losses, step(*data).asnumpy()]

    compared(mx, data, steps, parts, backend="aot_eager")


@pytest.mark.engine("torch")
@pytest.mark.parametrize("optimizer", first_alone(OPTIMIZERS))
@pytest.mark.parametrize("replayed", [False, True])
def test_gradients_that_are_laid_out_otherwise(mx, data, monkeypatch, optimizer, replayed):
    from layers import operator
    from layers.mxnet._graph import compiled

    @operator(name="test_step_twice")
    class twice:
        def forward(x):
            return 2 * x

        def dx(dy):
            return 2 * dy

    class Transposed(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = self.params.get("w", shape=(3, 5), init=mx.init.Uniform(0.5))

        def hybrid_forward(self, F, x, w):
            first, second = F.expand_dims(x, 0), F.expand_dims(w, 0)
            y = F.batch_dot(first, second, transpose_b=True).reshape((-1, 3))
            return twice(y)

    def parts():
        mx.random.seed(3)
        net = Transposed()
        net.initialize()
        settings = OPTIMIZERS[optimizer]
        return net, SoftmaxLoss(), mx.gluon.Trainer(net.collect_params(), optimizer, settings)

    if replayed:
        monkeypatch.setattr(compiled, "MOST_KINDS", 0)
    # The first call runs as it is, for there are custom operators.
    compared(mx, data, lambda step, *_: [step(*data).asnumpy()], parts, backend="aot_eager")


@pytest.mark.engine("torch")
def test_frozen_parameters_are_compiled_once(mx, data, monkeypatch):
    from layers.mxnet._graph import compiled

    made, first_call = [], compiled._first_call
    monkeypatch.setattr(
        compiled, "_first_call", lambda *args: made.append(args) or first_call(*args)
    )
    net, loss, trainer = plain(mx, "sgd", learning_rate=0.1)
    step = compiled_step(net, loss, trainer, backend="aot_eager")
    weight, frozen = net[0].weight, []
    for req in ("write", "null", "write", "null"):
        weight.grad_req = req
        before = weight.data().asnumpy()
        step(*data)
        frozen.append((weight.data().asnumpy() == before).all())
    assert frozen == [False, True, False, True]
    assert len(made) == 3  # the second time that it is trained, its count is behind the others'


@pytest.mark.engine("torch")
def test_parameters_of_another_dtype_are_no_call_of_the_same_kind(mx, data):
    net, loss, trainer = plain(mx, "sgd", learning_rate=0.1)
    step = compiled_step(net, loss, trainer, backend="aot_eager")
    step(*data)
    for parameter in net.collect_params().values():
        parameter.cast("float64")
    with pytest.raises(mx.base.MXNetError, match="weight is float64"):
        step(*data)


@pytest.mark.engine("torch")
@pytest.mark.slow
def test_optimizers_and_trainers_that_are_changed(mx, data):
    class Slow(mx.optimizer.SGD):
        def _get_lrs(self, indices):
            return [lr / 10 for lr in super()._get_lrs(indices)]

    def another(trainer):
        trainer._init_optimizer("sgd", {"learning_rate": 1.0})

    def patched(trainer):
        step = trainer.step
        trainer.step = lambda batch_size: step(100 * batch_size)

    def moved(trainer):
        trainer.optimizer.momentum = 0.0

    def parts():
        return plain(mx, "sgd", learning_rate=0.1, momentum=0.9)

    for change in (another, patched, moved):

        def steps(step, net, _, trainer, change=change):
            losses = [step(*data).asnumpy() for _ in range(2)]
            change(trainer)
            return [*losses, *[step(*data).asnumpy() for _ in range(2)]]

        compared(mx, data, steps, parts, backend="aot_eager")

    def subclassed():
        net, loss, _ = plain(mx, "sgd")
        return net, loss, mx.gluon.Trainer(net.collect_params(), Slow(learning_rate=0.5))

    compared(mx, data, lambda step, *_: [step(*data).asnumpy()], subclassed, backend="aot_eager")


@pytest.mark.engine("torch")
def test_settings_may_be_numbers_of_numpy(mx, data, caplog):
    def steps(step, net, _, trainer):
        trainer.optimizer.wd = np.float64(0.1)
        net[0].weight.wd_mult, net[1].weight.lr_mult = np.float64(0.5), np.array(0.5)
        losses = [step(*data).asnumpy() for _ in range(2)]
        return losses if not hasattr(step, "trainer") or updates_inside(step) else []

    compared(mx, data, steps, lambda: plain(mx, "sgd", learning_rate=0.1), backend="aot_eager")


@pytest.mark.engine("torch")  # MXNet's step calls the loss with arrays, which looks at them
@pytest.mark.parametrize("units", [5, 0])
def test_a_label_of_another_length_is_told(mx, units):
    net = mx.gluon.nn.Dense(3, in_units=units, prefix="net_")
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    step = compiled_step(net, SoftmaxLoss(), trainer, backend="aot_eager")
    with pytest.raises(ValueError) as caught:
        step(mx.nd.ones((4, 5)), mx.nd.zeros(6))
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert told.endswith("\n  in the step of net (inputs (4, 5), label (6,))")


@pytest.mark.engine("torch")
def test_several_labels_are_told(mx):
    """They are told as such, and so is an input that is left out."""

    class Scaled(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, mask, weight):
            return F.broadcast_mul(x, weight)

    net = Scaled()
    net.weight = net.params.get("weight", shape=(1,))
    net.initialize()
    loss = mx.gluon.nn.HybridLambda(lambda F, x, labels: x - labels[0] - labels[1])
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    step = compiled_step(net, loss, trainer, backend="aot_eager")
    with pytest.raises(ValueError) as caught:
        step(mx.nd.ones((4, 5)), None, [mx.nd.zeros((4, 5)), mx.nd.zeros((6,))])
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert told.endswith("(inputs (4, 5), None, label [(4, 5), (6,)])")


def test_a_loss_with_weights_of_samples(mx, data):
    weights = mx.nd.arange(12).reshape((12, 1)) / 12
    trained = []
    for labels in (1, 2):
        net, loss, trainer = made(mx)
        if labels == 1:
            with mx.autograd.record():
                losses = loss(net(data[0]), data[1], weights)
            losses.backward()
            trainer.step(12)
        else:
            losses = compiled_step(net, loss, trainer, labels=2)(*data, weights)
        weight = list(net.collect_params().values())[0].data()
        trained.append((losses.asnumpy(), weight.asnumpy()))
    for found, wanted in zip(*trained):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
def test_sparse_gradients_are_refused(mx):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Embedding(10, 4, sparse_grad=True, prefix="ids_"), mx.gluon.nn.Dense(2))
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    told = "'ids_weight' or its gradient is sparse\n  expected sparse_grad=False"
    with pytest.raises(ValueError, match=told):
        compiled_step(net, SoftmaxLoss(), trainer)


@pytest.mark.engine("torch")
def test_labels_that_are_missing_are_told(mx, data):
    with pytest.raises(ValueError, match="labels is 0\n  expected how many arrays the loss takes"):
        compiled_step(*made(mx), labels=0)
    step = compiled_step(*made(mx), labels=2, backend="aot_eager")
    with pytest.raises(ValueError, match="given 2 arrays\n  expected inputs, and 2 arrays for the"):
        step(*data)
    with pytest.raises(ValueError, match="the label, which follows the inputs, is None"):
        step(data[0], None, data[1])


@pytest.mark.engine("torch")
def test_what_is_no_array_is_told(mx, data):
    step = compiled_step(*made(mx), backend="aot_eager")
    with pytest.raises(ValueError, match=r"an input is ndarray \(12, 5\)\n  expected NDArrays"):
        step(data[0].asnumpy(), data[1])
    with pytest.raises(ValueError, match="the label, which comes last, is None"):
        step(data[0], None)
