"""Modules: trained by fit, used, saved and read, on one context and several."""

import logging
from collections import namedtuple
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

WRONG = (AssertionError, RuntimeError, ValueError)


@pytest.fixture(autouse=True)
def seed(mx):
    np.random.seed(0)
    mx.random.seed(0)


def mlp(mx, end=None):
    x = mx.sym.Variable("data")
    for i, size in enumerate((16, 8, 3), 1):
        x = mx.sym.FullyConnected(x, num_hidden=size, name=f"fc{i}")
        if i < 3:
            x = mx.sym.Activation(x, act_type="relu", name=f"relu{i}")
    return end(x) if end else mx.sym.SoftmaxOutput(x, name="softmax")


@pytest.fixture
def data(mx):
    """Three clouds of points: an iterator over them, in batches of 20."""
    labels = np.arange(120) % 3
    points = np.eye(3)[labels] @ np.array([[3, 0, 0, 1], [0, 3, 0, 1], [0, 0, 3, 1]])
    points += np.random.RandomState(1).normal(0, 0.5, points.shape)
    return mx.io.NDArrayIter(points, labels, 20, shuffle=True)


@pytest.fixture
def small(mx):
    """A module of one layer, bound and initialized, in batches of 4; and its data."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    x = np.random.RandomState(2).rand(10, 2)
    iterator = mx.io.NDArrayIter(x, np.arange(10) % 3, 4)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind(iterator.provide_data, iterator.provide_label)
    module.init_params(mx.init.Uniform(1.0))
    return module, iterator


def accuracy(module, data):
    return dict(module.score(data, "acc"))["accuracy"]


def trained(mx, net, data, contexts=None, epochs=8, **options):
    module = mx.mod.Module(net, context=contexts or mx.cpu())
    options = {"optimizer_params": {"learning_rate": 0.5, "momentum": 0.5}} | options
    module.fit(data, initializer=mx.init.Xavier(), num_epoch=epochs, **options)
    return module


@pytest.mark.parametrize("count", [1, 2])
def test_fit(mx, data, count):
    module = trained(mx, mlp(mx), data, [mx.cpu(i) for i in range(count)])
    assert accuracy(module, data) == 1


@pytest.mark.parametrize(
    "optimizer, rate", [("adam", 0.05), ("rmsprop", 0.02), ("nag", 0.3), ("adagrad", 0.2)]
)
def test_optimizers(mx, data, optimizer, rate):
    module = trained(
        mx, mlp(mx), data, optimizer=optimizer, optimizer_params={"learning_rate": rate}
    )
    assert accuracy(module, data) > 0.95


@pytest.fixture(scope="session")
def softmax(mx):
    """A loss in NumPy: it needs no gradient from above, and tells the shape of the labels."""

    class Softmax(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            x = in_data[0].asnumpy()
            y = np.exp(x - x.max(axis=1, keepdims=True))
            self.assign(out_data[0], req[0], mx.nd.array(y / y.sum(axis=1, keepdims=True)))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            labels = in_data[1].asnumpy().ravel().astype(int)
            y = out_data[0].asnumpy()
            y[np.arange(len(labels)), labels] -= 1
            self.assign(in_grad[0], req[0], mx.nd.array(y))

    class SoftmaxProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], [in_shape[0][0]]], [in_shape[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return Softmax()

    mx.operator.register("module_softmax")(SoftmaxProp)
    return "module_softmax"


def test_a_custom_loss(mx, data, softmax):
    net = mlp(mx, lambda x: mx.symbol.Custom(data=x, name="softmax", op_type=softmax))
    assert net.list_arguments()[-1] == "softmax_label"
    module = trained(mx, net, data)
    assert accuracy(module, data) == 1


def test_custom_equals_built_in(mx, data, softmax):
    data = mx.io.NDArrayIter(data.data[0][1], data.label[0][1], 20)
    custom = mlp(mx, lambda x: mx.symbol.Custom(data=x, name="softmax", op_type=softmax))
    start = trained(mx, mlp(mx), data, epochs=1).get_params()[0]
    found = [
        trained(mx, net, data, arg_params=start, epochs=2).get_params()[0]["fc3_weight"].asnumpy()
        for net in (mlp(mx), custom)
    ]
    np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-5)


def test_what_fit_logs_and_calls(mx, data, caplog, tmp_path):
    caplog.set_level(logging.INFO)
    seen = []
    trained(
        mx,
        mlp(mx),
        data,
        epochs=2,
        eval_data=data,
        batch_end_callback=[
            lambda p: seen.append((p.epoch, p.nbatch)),
            mx.callback.Speedometer(20, 2),
        ],
        epoch_end_callback=mx.callback.do_checkpoint(str(tmp_path / "net")),
        eval_end_callback=lambda p: seen.append("evaluated"),
    )
    epochs = [[(epoch, n) for n in range(6)] + ["evaluated"] for epoch in range(2)]
    assert seen == epochs[0] + epochs[1]
    for text in ("Epoch[1] Train-accuracy=", "Epoch[1] Validation-accuracy=", "Batch [0-2]"):
        assert text in caplog.text
    assert (tmp_path / "net-0002.params").exists()


def test_lr_scheduler(mx, data):
    scheduler = mx.lr_scheduler.FactorScheduler(step=6, factor=0.5)
    options = {"learning_rate": 0.4, "lr_scheduler": scheduler}
    module = trained(mx, mlp(mx), data, epochs=3, optimizer_params=options)
    assert module._optimizer.learning_rate == pytest.approx(0.1)


def test_bound(mx, small):
    module, _ = small
    assert module.data_shapes == [("data", (4, 2))]
    assert module.label_shapes == [("softmax_label", (4,))]
    assert module.output_shapes == [("softmax_output", (4, 3))]
    names = module.data_names, module.label_names, module.output_names
    assert names == (["data"], ["softmax_label"], ["softmax_output"])


def test_a_batch_may_be_of_any_class(mx):
    """MXNet's own tutorials predict with a namedtuple of the data alone."""
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params(mx.init.One())
    batch = namedtuple("Batch", ["data"])
    for size in 2, 4:
        module.forward(batch([mx.nd.ones((size, 3))]))
        assert module.get_outputs()[0].asnumpy().tolist() == [[3]] * size


@pytest.mark.engine("torch")
def test_fit_on_a_data_loader(mx):
    """It is told how to make an iterator of it, and the iterator does."""
    samples = mx.gluon.data.ArrayDataset(np.ones((4, 2), np.float32), np.zeros(4, np.float32))
    loader = mx.gluon.data.DataLoader(samples, 2)
    module = mx.mod.Module(mlp(mx))
    with pytest.raises(ValueError, match="type DataLoader\n  expected a DataIter; mx.contrib.io"):
        module.fit(loader, num_epoch=1)
    module.fit(mx.contrib.io.DataLoaderIter(loader), num_epoch=1)


@pytest.mark.engine("torch")  # MXNet needs provide_data in batches of a BucketingModule
def test_a_batch_of_any_class_for_a_bucketing_module(mx):
    def graph(key):
        return mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1), ["data"], None

    module = mx.mod.BucketingModule(graph, default_bucket_key=1)
    module.bind([("data", (2, 3))], for_training=False)
    module.init_params(mx.init.One())
    module.forward(namedtuple("Batch", ["data"])([mx.nd.ones((2, 3))]))
    assert module.get_outputs()[0].asnumpy().tolist() == [[3], [3]]


def test_predict(mx, small):
    module, iterator = small
    y = module.predict(iterator)
    assert y.shape == (10, 3)
    np.testing.assert_allclose(y.asnumpy().sum(axis=1), 1, rtol=1e-5)
    assert [b[0].shape[0] for b in module.predict(iterator, merge_batches=False)] == [4, 4, 2]
    assert module.predict(iterator, num_batch=1).shape == (4, 3)
    assert len(module.predict(iterator, always_output_list=True)) == 1
    batches = [(y[0].shape[0], n, b.pad) for y, n, b in module.iter_predict(iterator)]
    assert batches == [(4, 0, 0), (4, 1, 0), (2, 2, 2)]


def test_score(mx, small):
    module, iterator = small
    names = [name for name, _ in module.score(iterator, ["acc", "ce"], num_batch=1)]
    assert names == ["accuracy", "cross-entropy"]


def test_a_step(mx, small):
    module, iterator = small
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    before = module.get_params()[0]["fc_weight"].asnumpy()
    batch = next(iterator)
    module.forward_backward(batch)
    x, labels = batch.data[0].asnumpy(), batch.label[0].asnumpy().astype(int)
    dy = module.get_outputs()[0].asnumpy() - np.eye(3)[labels]
    module.update()
    expected = before - 0.1 * dy.T @ x / 4
    np.testing.assert_allclose(module.get_params()[0]["fc_weight"].asnumpy(), expected, rtol=1e-4)


def test_another_size(mx, small):
    module, _ = small
    batch = mx.io.DataBatch([mx.nd.ones((7, 2))], [mx.nd.ones(7)])
    module.forward(batch, is_train=True)
    module.backward()
    assert module.get_outputs()[0].shape == (7, 3)
    assert module.data_shapes == [("data", (7, 2))]
    with pytest.raises(WRONG, match="fc_weight"):
        module.forward(mx.io.DataBatch([mx.nd.ones((7, 3))], [mx.nd.ones(7)]))


@pytest.mark.filterwarnings("ignore:.*rescale_grad:UserWarning")
def test_contexts_share_a_batch(mx, small):
    one, iterator = small
    two = mx.mod.Module(one.symbol, context=[mx.cpu(0), mx.cpu(1)])
    two.bind([("data", (5, 2))], [("softmax_label", (5,))], inputs_need_grad=True)
    two.init_params(arg_params=one.get_params()[0], aux_params={})
    batch = mx.io.DataBatch([mx.nd.array(np.random.rand(5, 2))], [mx.nd.array([0, 1, 2, 0, 1])])
    for module in (one, two):
        module.init_optimizer(optimizer=mx.optimizer.SGD(learning_rate=1.0, rescale_grad=0.2))
        module.forward_backward(batch)
        module.update()
    outputs = [module.get_outputs()[0].asnumpy() for module in (one, two)]
    np.testing.assert_allclose(*outputs, rtol=1e-5)
    assert [y.shape for y in two.get_outputs(False)[0]] == [(2, 3), (3, 3)]
    assert two.get_input_grads()[0].shape == (5, 2)
    weights = [module.get_params()[0]["fc_weight"].asnumpy() for module in (one, two)]
    np.testing.assert_allclose(*weights, rtol=1e-5)
    assert two._optimizer.idx2name == {0: "fc_weight", 1: "fc_bias"}
    with pytest.raises(ValueError):
        module = mx.mod.Module(one.symbol, context=[mx.cpu(0), mx.cpu(1)])
        module.bind([("data", (1, 2))], [("softmax_label", (1,))])


def stepped(mx, store, **options):
    """The weight of a Module after two steps with a kvstore, and the Module."""
    y = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    module = mx.mod.Module(
        mx.sym.SoftmaxOutput(y, name="softmax"), context=[mx.cpu(0), mx.cpu(1)], **options
    )
    module.bind([("data", (4, 2))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    module.init_optimizer(store, "sgd", {"learning_rate": 0.5, "momentum": 0.9})
    batch = mx.io.DataBatch([mx.nd.arange(8).reshape((4, 2))], [mx.nd.array([0, 1, 2, 0])])
    for _ in range(2):
        module.forward_backward(batch)
        module.update()
    return module.get_params()[0]["fc_weight"].asnumpy(), module


def test_a_store_of_ones_own(mx):
    """It is given each parameter by its name, and sums gradients."""
    calls = []

    class Mine(mx.kv.base.TestStore):
        def init(self, key, value):
            calls.append(("init", key))

        def pushpull(self, key, value, out=None, priority=0):
            calls.append((key, priority, len(value), out))
            super().pushpull(key, value, out, priority)

    found, module = stepped(mx, Mine())
    np.testing.assert_allclose(found, stepped(mx, "local")[0], 1e-6)
    assert calls[:2] == [("init", "fc_weight"), ("init", "fc_bias")]
    assert calls[2:4] == [("fc_weight", 0, 2, None), ("fc_bias", -1, 2, None)] == calls[4:]
    assert sorted(module._updater.states) == [0, 1, 2, 3]


def test_a_store_of_ones_own_that_updates(mx, tmp_path):
    class Mine(mx.kv.KVStoreBase):
        num_workers, type = 1, "mine"

        def __init__(self):
            self.kept, self.calls = {}, []

        def is_capable(self, capability):
            return True

        def set_optimizer(self, optimizer):
            self.updater = mx.optimizer.get_updater(optimizer)

        def broadcast(self, key, value, out, priority=0):
            self.kept[key] = value.copy()

        def pushpull(self, key, value, out=None, priority=0):
            self.updater(key, value[0] + value[1].as_in_context(mx.cpu(0)), self.kept[key])
            for array in out:
                array[:] = self.kept[key]

        def save_optimizer_states(self, fname, dump_optimizer=False):
            self.calls.append(fname)

        load_optimizer_states = save_optimizer_states

    store = Mine()
    found, module = stepped(mx, store)
    np.testing.assert_allclose(found, stepped(mx, "local")[0], 1e-6)
    module.save_optimizer_states("a")
    module.load_optimizer_states("b")
    assert store.calls == ["a", "b"]


@pytest.mark.engine("torch")  # MXNet wants an `init` too
def test_the_store_for_tests(mx):
    found, _ = stepped(mx, "teststore")
    np.testing.assert_allclose(found, stepped(mx, "local")[0], 1e-6)


@pytest.mark.engine("torch")
def test_no_store(mx):
    with pytest.raises(mx.base.MXNetError, match="kvstore is 3"):
        stepped(mx, 3)


def test_compressed_gradients(mx):
    compression = {"type": "2bit", "threshold": 0.1}
    found, _ = stepped(mx, "device", compression_params=compression)
    # Every step moves by a multiple of the threshold: gradients are divided by the batch size 4.
    steps = (1 - found) / (0.5 * 0.1 / 4)
    assert not np.allclose(found, stepped(mx, "device")[0])
    np.testing.assert_allclose(steps * 10, np.round(steps * 10), atol=1e-2)
    with pytest.raises(Exception, match="(?i)compress"):
        stepped(mx, "local", compression_params=compression)


@pytest.mark.filterwarnings("ignore:Parameters already initialized:UserWarning")  # MXNet's
def test_fixed_parameters(mx, data):
    module = mx.mod.Module(mlp(mx), fixed_param_names=["fc1_weight"])
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Xavier())
    before = {n: a.asnumpy() for n, a in module.get_params()[0].items()}
    module.fit(data, num_epoch=1)
    after = {n: a.asnumpy() for n, a in module.get_params()[0].items()}
    assert (before["fc1_weight"] == after["fc1_weight"]).all()
    assert (before["fc2_weight"] != after["fc2_weight"]).any()


def test_multipliers_of_variables(mx):
    weight = mx.sym.Variable("w", lr_mult=0.0, init=mx.init.One())
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), weight, num_hidden=3, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (4, 2))], [("softmax_label", (4,))])
    module.init_params()
    module.init_optimizer()
    module.forward_backward(mx.io.DataBatch([mx.nd.ones((4, 2))], [mx.nd.ones(4)]))
    module.update()
    parameters = module.get_params()[0]
    assert (parameters["w"].asnumpy() == 1).all() and parameters["fc_bias"].asnumpy().any()


def test_head_gradients(mx):
    net = mx.sym.broadcast_mul(mx.sym.Variable("data"), mx.sym.Variable("w", shape=(1, 2)))
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (3, 2))], inputs_need_grad=True)
    module.init_params(mx.init.One(), arg_params={"w": mx.nd.array([[2, 3]])}, aux_params={})
    module.forward(mx.io.DataBatch([mx.nd.ones((3, 2))]))
    module.backward([mx.nd.ones((3, 2)) * 10])
    assert module.get_input_grads()[0].asnumpy().tolist() == [[20, 30]] * 3


def test_states_of_batch_norm(mx, data):
    def end(x):
        return mx.sym.SoftmaxOutput(mx.sym.BatchNorm(x, name="bn"), name="softmax")

    module = trained(mx, mlp(mx, end), data, [mx.cpu(0), mx.cpu(1)], epochs=2)
    _, states = module.get_params()
    assert set(states) == {"bn_moving_mean", "bn_moving_var"}
    assert states["bn_moving_mean"].asnumpy().any()


def test_parameters(mx, small):
    module, _ = small
    weight = mx.nd.ones((3, 2))
    with pytest.raises(WRONG, match="fc_bias"):
        module.set_params({"fc_weight": weight}, {})
    module.set_params({"fc_weight": weight}, {}, allow_missing=True)
    assert (module.get_params()[0]["fc_weight"].asnumpy() == 1).all()
    with pytest.raises(WRONG):
        module.set_params({"fc_weight": mx.nd.ones((3, 5)), "fc_bias": mx.nd.ones(3)}, {})


def test_parameters_in_a_file(mx, small, tmp_path):
    module, _ = small
    weight = module.get_params()[0]["fc_weight"].asnumpy()
    module.save_params(str(tmp_path / "net.params"))
    module.init_params(mx.init.Zero(), force_init=True)
    module.load_params(str(tmp_path / "net.params"))
    assert (module.get_params()[0]["fc_weight"].asnumpy() == weight).all()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # MXNet's open file
def test_a_checkpoint_goes_on(mx, data, tmp_path):
    """Three steps, and two with a checkpoint and a load between: the same weights."""
    prefix, shapes = str(tmp_path / "net"), (data.provide_data, data.provide_label)
    options = {"optimizer_params": {"learning_rate": 0.1, "momentum": 0.9}}
    batch = next(data)

    def step(module):
        module.forward_backward(batch)
        module.update()
        return module.get_params()[0]["fc1_weight"].asnumpy()

    module = mx.mod.Module(mlp(mx))
    module.bind(*shapes)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(**options)
    step(module)
    module.save_checkpoint(prefix, 3, save_optimizer_states=True)
    loaded = mx.mod.Module.load(prefix, 3, load_optimizer_states=True)
    assert loaded.params_initialized and not loaded.binded
    loaded.bind(*shapes)
    loaded.init_optimizer(**options)
    np.testing.assert_allclose(step(loaded), step(module), rtol=1e-6)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["net-0003.params", "net-0003.states", "net-symbol.json"]


@pytest.mark.engine("torch")
def test_states_of_another_module(mx, data, tmp_path):
    def trained(hidden):
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="fc1")
        module = mx.mod.Module(mx.sym.SoftmaxOutput(x, name="softmax"))
        module.bind(data.provide_data, data.provide_label)
        module.init_params(mx.init.Xavier())
        module.init_optimizer(optimizer="adam")
        module.forward_backward(next(data))
        module.update()
        return module

    trained(8).save_optimizer_states(tmp_path / "s")
    other = trained(9)
    with pytest.raises(ValueError, match=r"s: the state of parameter 0 is \(8, \d+\) float32"):
        other.load_optimizer_states(tmp_path / "s")
    other.update()


def test_a_checkpoint_of_mxnet(mx):
    """`tests/golden/module-*` is what MXNet 1.9.1 has saved."""
    prefix = str(Path(__file__).parents[1] / "golden" / "module")
    module = mx.mod.Module.load(prefix, 1)
    module.bind([("data", (2, 2))], [("softmax_label", (2,))], for_training=False)
    y = module.predict(mx.nd.array([[1, 2], [3, 4]])).asnumpy()
    x = np.array([[1, 2], [3, 4]]) @ np.array([[1, 0, -1], [0, 1, 1]]) + [0.5, 0, 0]
    x = (x - 1) / np.sqrt(4 + 1e-3)
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5)


def test_what_was_not_called(mx, small):
    bound, iterator = small
    module = mx.mod.Module(bound.symbol)
    batch = next(iterator)
    for call in (module.init_params, module.init_optimizer, lambda: module.forward(batch)):
        with pytest.raises(WRONG):
            call()
    with pytest.raises(WRONG):
        bound.update()
    with pytest.raises(WRONG):
        bound.get_input_grads()
    with pytest.raises(WRONG):
        bound.fit(iterator)


@pytest.mark.parametrize("what", ["data_names", "fixed_param_names", "state_names"])
def test_names_that_are_no_arguments(mx, small, what):
    with pytest.raises(ValueError, match=r"nowhere"):
        mx.mod.Module(small[0].symbol, **{what: ["nowhere"]})


def test_monitor(mx, small):
    module, iterator = small
    monitor = mx.mon.Monitor(1, pattern=".*output")
    module.install_monitor(monitor)
    monitor.tic()
    module.forward(next(iterator), is_train=True)
    assert [row[1] for row in monitor.toc()] == ["fc_output", "softmax_output"]


class Lengths:
    """Sentences of two lengths, as batches with a key."""

    batch_size, default_bucket_key = 8, 6

    def __init__(self, mx):
        self.mx = mx
        self.provide_data, self.provide_label = self.shapes(6)

    def shapes(self, key):
        return [self.mx.io.DataDesc("data", (8, key))], [self.mx.io.DataDesc("softmax_label", (8,))]

    def reset(self):
        pass

    def __iter__(self):
        random = np.random.RandomState(3)
        for _ in range(20):
            for key in (6, 3):
                labels = random.randint(0, 2, 8)
                words = random.randint(0, 5, (8, key)) + 5 * labels[:, None]
                shapes = self.shapes(key)
                yield self.mx.io.DataBatch(
                    [self.mx.nd.array(words)],
                    [self.mx.nd.array(labels)],
                    0,
                    bucket_key=key,
                    provide_data=shapes[0],
                    provide_label=shapes[1],
                )


def test_buckets(mx):
    def generate(key):
        x = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=10, output_dim=4, name="embedding")
        x = mx.sym.FullyConnected(mx.sym.mean(x, axis=1), num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(x, name="softmax"), ("data",), ("softmax_label",)

    lengths = Lengths(mx)
    module = mx.mod.BucketingModule(generate, default_bucket_key=6)
    options = {"optimizer": "adam", "optimizer_params": {"learning_rate": 0.05}}
    module.fit(lengths, initializer=mx.init.Xavier(), num_epoch=2, **options)
    right = total = 0
    for batch in lengths:
        module.forward(batch, is_train=False)
        y = module.get_outputs()[0].asnumpy().argmax(axis=1)
        right, total = right + (y == batch.label[0].asnumpy()).sum(), total + len(y)
    assert right == total
    assert set(module.get_params()[0]) == {"embedding_weight", "fc_weight", "fc_bias"}
    assert module.data_shapes == [("data", (8, 3))]


def test_modules_behind_each_other(mx, data):
    first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
    second = mx.sym.FullyConnected(mx.sym.Variable("hidden"), num_hidden=3, name="fc2")
    module = mx.mod.SequentialModule()
    module.add(mx.mod.Module(mx.sym.Activation(first, act_type="relu"), label_names=None))
    module.add(
        mx.mod.Module(mx.sym.SoftmaxOutput(second, name="softmax"), data_names=["hidden"]),
        take_labels=True,
        auto_wiring=True,
    )
    options = {"optimizer_params": {"learning_rate": 0.5}}
    module.fit(data, initializer=mx.init.Xavier(), num_epoch=8, **options)
    assert accuracy(module, data) == 1
    assert set(module.get_params()[0]) == {"fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"}


def test_values_for_no_parameter(mx, small):
    module, _ = small
    values = module.get_params()[0] | {"of_the_whole_net": mx.nd.ones(1)}
    module.set_params(values, {})
    module.set_params(values, {}, allow_missing=True, allow_extra=True)
    with pytest.raises(ValueError, match="of_the_whole_net"):
        module.set_params(values, {}, allow_missing=True)


def test_a_loss_in_python(mx, data):
    scores = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")

    def gradient(scores, labels):
        return mx.nd.softmax(scores) - mx.nd.one_hot(labels, 3)

    loss = mx.mod.PythonLossModule(grad_func=gradient)
    module = mx.mod.SequentialModule()
    module.add(mx.mod.Module(scores, label_names=None))
    module.add(loss, take_labels=True, auto_wiring=True)
    module.fit(data, num_epoch=4, optimizer_params={"learning_rate": 0.1})
    assert accuracy(module, data) > 0.9
    assert loss.get_params() == ({}, {})
    assert loss.output_shapes == [("pyloss_output", (20, 3))]


def test_a_python_loss_that_is_not_one(mx):
    for wrong in ({"grad_func": 1}, {"data_names": ("a", "b")}):
        with pytest.raises(WRONG):
            mx.mod.PythonLossModule(**wrong)
    module = mx.mod.PythonLossModule()
    for options in ({"grad_req": "add"}, {"data_shapes": [("x", (2, 3))]}):
        shapes = {"data_shapes": [("data", (2, 3))], "label_shapes": [("softmax_label", (2,))]}
        with pytest.raises(WRONG):
            module.bind(**shapes | options)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones(2)])
    module.forward(batch)
    with pytest.raises(NotImplementedError):
        module.backward()
    with pytest.raises(WRONG):
        module.backward([mx.nd.ones((2, 3))])


def test_names_made_up_in_buckets(mx):
    def generate(key):
        data = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
        return mx.sym.SoftmaxOutput(data, name="softmax"), ("data",), ("softmax_label",)

    mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
    module = mx.mod.BucketingModule(generate, default_bucket_key=6)
    module.bind([("data", (2, 6))], [("softmax_label", (2,))])
    module.init_params()
    module.switch_bucket(6, [("data", (2, 6))])
    module.switch_bucket(3, [("data", (4, 6))], [("softmax_label", (4,))])
    assert sorted(module.get_params()[0]) == ["fullyconnected0_bias", "fullyconnected0_weight"]


def test_buckets_in_files(mx, tmp_path, monkeypatch):
    def generated(size):
        x = mx.sym.slice_axis(mx.sym.Variable("data"), axis=1, begin=0, end=1)
        x = mx.sym.FullyConnected(x, num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(x, name="softmax"), ["data"], ["softmax_label"]

    monkeypatch.chdir(tmp_path)
    labels = [("softmax_label", (2,))]
    module = mx.mod.BucketingModule(generated, 3)
    module.bind([("data", (2, 3))], labels)
    module.init_params(mx.init.Uniform(1))
    module.switch_bucket(2, [("data", (2, 2))], labels)
    module.save_checkpoint("m", 7)
    files = ["m-0007.params", "m-2-symbol.json", "m-3-symbol.json", "m.buckets"]
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    again = mx.mod.BucketingModule.load("m", 7, sym_gen=generated, default_bucket_key=3)
    again.bind([("data", (2, 3))], labels)
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.ones(2)], bucket_key=3)
    batch.provide_data, batch.provide_label = (
        [mx.io.DataDesc("data", (2, 3))],
        [mx.io.DataDesc("softmax_label", (2,))],
    )
    found = []
    for each in (module, again):
        each.forward(batch, is_train=False)
        found.append(each.get_outputs()[0].asnumpy())
    assert (found[0] == found[1]).all()
    with pytest.raises(WRONG, match="sym_gen"):
        mx.mod.BucketingModule.load("m", 7)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "keys", [[], [[[1]]], [[0.5]], [[np.nan]], [[1e30]], [[1], [2]], {"a": [1]}]
)
def test_keys_of_buckets_that_are_none(mx, tmp_path, keys):
    arrays = [*map(mx.nd.array, keys)] if isinstance(keys, list) else {"a": mx.nd.array(keys["a"])}
    mx.nd.save(tmp_path / "m.buckets", arrays)
    with pytest.raises(mx.MXNetError, match=r"m\.buckets: these are no keys"):
        mx.mod.BucketingModule.load(tmp_path / "m", 0, lambda key: None, 3)


# Where it computes, and for what


@pytest.fixture
def grouped(mx):
    """A graph whose first layer is in one group, and the second in another."""
    with mx.AttrScope(ctx_group="a"):
        x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc_a")
    with mx.AttrScope(ctx_group="b"):
        return mx.sym.FullyConnected(x, num_hidden=2, name="fc_b")


GROUPS = {
    "a context for all": (lambda cpu: {"a": cpu(2), "b": cpu(3)}, [(2, 3), (2, 3)]),
    "in lists": (lambda cpu: {"a": [cpu(2)], "b": [cpu(3), cpu(4)]}, [(2, 3), (2, 4)]),
    "a dict for each": (
        lambda cpu: [{"a": cpu(2), "b": cpu(3)}, {"a": cpu(4), "b": cpu(5)}],
        [(2, 3), (4, 5)],
    ),
    "no groups in one": (lambda cpu: [None, {"a": cpu(4), "b": cpu(5)}], [(0, 0), (4, 5)]),
}


@pytest.mark.parametrize("groups", GROUPS)
def test_groups(mx, grouped, groups):
    make, expected = GROUPS[groups]
    found = []
    for options in ({"group2ctxs": make(mx.cpu)}, {}):
        contexts = [mx.cpu(0), mx.cpu(1)]
        module = mx.mod.Module(grouped, label_names=None, context=contexts, **options)
        module.bind([("data", (4, 3))], inputs_need_grad=True)
        values = {n: mx.nd.ones(s) for n, s in zip(*shapes_of(grouped, (4, 3)))}
        module.init_params(arg_params=values, aux_params={})
        module.init_optimizer(optimizer_params={"learning_rate": 1.0})
        module.forward(mx.io.DataBatch([mx.nd.array(np.arange(12).reshape((4, 3)))]))
        module.backward([mx.nd.ones((4, 2))])
        module.update()
        arrays = [
            *module.get_outputs(),
            *module.get_input_grads(),
            *module.get_params()[0].values(),
        ]
        found.append([array.asnumpy().tolist() for array in arrays])
        if options:
            for executor, (a, b) in zip(module._exec_group.execs, expected):
                for arrays in (executor.arg_dict, executor.grad_dict):
                    assert arrays["fc_a_weight"].context == mx.cpu(a)
                    assert arrays["fc_b_bias"].context == mx.cpu(b)
                assert executor.outputs[0].context == mx.cpu(b)
    assert found[0] == found[1]


def shapes_of(symbol, shape):
    shapes, _, _ = symbol.infer_shape(data=shape)
    return symbol.list_arguments()[1:], shapes[1:]


def test_groups_of_a_wrong_number_of_contexts(mx, grouped):
    groups = {"a": mx.cpu(2), "b": mx.cpu(3)}
    contexts = [mx.cpu(0), mx.cpu(1)]
    for wrong in ([groups], [groups] * 3, groups | {"b": [mx.cpu(3)] * 3}, groups | {"a": []}):
        with pytest.raises(WRONG, match="group2ctxs"):
            module = mx.mod.Module(grouped, label_names=None, context=contexts, group2ctxs=wrong)
            module.bind([("data", (4, 3))])


@pytest.mark.engine("torch")
@pytest.mark.parametrize("groups, match", [([{}] * 3, "length 3"), ({"a": []}, "'a'.*length 0")])
def test_the_length_of_groups_is_said(mx, grouped, groups, match):
    contexts = [mx.cpu(0), mx.cpu(1)]
    with pytest.raises(mx.base.ArgumentError, match=f"{match}\n  expected 2"):
        mx.mod.Module(grouped, label_names=None, context=contexts, group2ctxs=groups)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("given, match", [({}, "neither"), ({"states": [], "value": 1}, "both")])
def test_which_states_are_given_is_said(mx, small, given, match):
    with pytest.raises(mx.base.ArgumentError, match=match):
        small[0].set_states(**given)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "run, told",
    [
        (lambda mod, m: m.bind([("x", (1,))], None, False, True), "for_training is False"),
        (lambda mod, m: mod.SequentialModule().bind([]), "there are no modules"),
        (
            lambda mod, m: mod.SequentialModule().add(m).bind([], shared_module=3),
            "shared_module is 3",
        ),
        (lambda mod, m: mod.BucketingModule(None), "default_bucket_key is None"),
        (lambda mod, m: mod.PythonModule([], [], []).update_metric(None, [], True), "is True"),
        (lambda mod, m: _bound_loss(mod).backward([1]), "out_grads is of type list"),
        (lambda mod, m: _bound_loss(mod).set_states(value=1), "the module has no states"),
    ],
    ids=["bind", "none", "shared", "key", "sliced", "gradients", "states"],
)
def test_what_was_given_is_said(mx, run, told):
    module = mx.mod.Module(mx.sym.var("x") * 2, ["x"], None)
    with pytest.raises(mx.MXNetError, match=f"{told}.*\n  expected"):
        run(mx.mod, module)


def _bound_loss(mod):
    loss = mod.PythonLossModule()
    loss.bind([("data", (2, 3))], [("softmax_label", (2,))])
    return loss


def test_groups_in_buckets(mx, grouped):
    module = mx.mod.BucketingModule(
        lambda _: (grouped, ["data"], None),
        default_bucket_key=0,
        context=[mx.cpu(0)],
        group2ctxs=[{"a": mx.cpu(1), "b": mx.cpu(2)}],
    )
    module.bind([("data", (2, 3))])
    executor = module._buckets[0]._exec_group.execs[0]
    assert executor.arg_dict["fc_a_weight"].context == mx.cpu(1)


REQUESTS = [
    ({}, "add", "null add add null"),
    ({"inputs_need_grad": True}, "add", "add add add null"),
    ({"fixed": ["fc_bias"]}, "add", "null add null null"),
    ({}, ["add", "null", "write", "add"], "add null write add"),
    ({}, {"fc_bias": "add", "data": "write"}, "write write add null"),
    ({"inputs_need_grad": True}, {"fc_bias": "null"}, "write write null null"),
    ({"fixed": ["fc_bias"]}, {"fc_weight": "add"}, "null add null null"),
    ({"for_training": False}, {"fc_weight": "add"}, "null null null null"),
]


@pytest.mark.parametrize("options, given, expected", REQUESTS, ids=str)
def test_requests_of_gradients(mx, small, options, given, expected):
    options = dict(options)
    module = mx.mod.Module(small[0].symbol, fixed_param_names=options.pop("fixed", None))
    module.bind([("data", (4, 2))], [("softmax_label", (4,))], grad_req=given, **options)
    names = ["data", "fc_weight", "fc_bias", "softmax_label"]
    assert module._exec_group.grad_req == dict(zip(names, expected.split()))
    gradients = module._exec_group.execs[0].grad_dict
    assert [gradients[n] is None for n in names] == [r == "null" for r in expected.split()]


def kinds(arrays):
    """The shapes and contexts of arrays inside lists."""
    if isinstance(arrays, (list, tuple)):
        return [kinds(array) for array in arrays]
    return (arrays.shape, str(arrays.context)) if hasattr(arrays, "context") else arrays


def test_the_arrays_of_a_group_of_executors(mx):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    x = mx.sym.BatchNorm(x, name="bn") + mx.sym.var("state")
    names = ["fc_weight", "fc_bias", "bn_gamma", "bn_beta"]

    def group(count=2, **options):
        options = {"for_training": True, "inputs_need_grad": False} | options
        return mx.mod.executor_group.DataParallelExecutorGroup(
            mx.sym.SoftmaxOutput(x, name="softmax"),
            [mx.cpu(k) for k in range(count)],
            [1] * count,
            [mx.io.DataDesc("data", (4, 2))],
            [mx.io.DataDesc("softmax_label", (4,))],
            names,
            state_names=["state"],
            **options,
        )

    found = group(fixed_param_names=["fc_bias"], grad_req={"fc_weight": "add"})
    both = ["cpu(0)", "cpu(1)"]
    parts = [slice(0, 2), slice(2, 4)]
    assert found.slices == parts and found.batch_size == 4
    assert kinds(found.data_arrays) == [[[p, ((2, 2), c)] for p, c in zip(parts, both)]]
    assert kinds(found.label_arrays) == [[[p, ((2,), c)] for p, c in zip(parts, both)]]
    assert kinds(found.param_arrays) == [[(s, c) for c in both] for s in [(3, 2), *[(3,)] * 3]]
    assert kinds(found.grad_arrays[:2]) == [[((3, 2), c) for c in both], [None, None]]
    assert kinds(found.aux_arrays) == [[((3,), c) for c in both]] * 2
    assert kinds(found.state_arrays) == [[((2, 3), c) for c in both]]
    assert found.input_grad_arrays is None
    assert (found.data_names, found.label_names) == (["data"], ["softmax_label"])
    assert (found.arg_names[1:5], found.aux_names) == (names, ["bn_moving_mean", "bn_moving_var"])
    assert (found.output_names, found.num_outputs) == (["softmax_output"], 1)
    assert found.data_layouts == found.label_layouts == found.output_layouts == [0]
    assert found.get_output_shapes() == [("softmax_output", (4, 3))]
    assert [sorted(part) for part in found.shared_data_arrays] == [
        ["data", "softmax_label", "state"]
    ] * 2
    assert group(for_training=False).grad_arrays is None
    assert kinds(group(1, inputs_need_grad=True).input_grad_arrays) == [[((4, 2), "cpu(0)")]]


def test_a_group_of_executors_computes(mx):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    group = mx.mod.executor_group.DataParallelExecutorGroup(
        mx.sym.Group([net + mx.sym.var("state"), net * 2]),
        [mx.cpu(0), mx.cpu(1)],
        [1, 1],
        [mx.io.DataDesc("data", (2, 1))],
        None,
        ["fc_weight"],
        True,
        True,
        state_names=["state"],
    )
    group.set_params({"fc_weight": mx.nd.array([[3]])}, {})
    with pytest.raises(ValueError, match="nowhere"):
        group.set_params({"nowhere": mx.nd.ones(1)}, {})
    group.set_params({"nowhere": mx.nd.ones(1)}, {}, allow_extra=True)
    group.set_states(value=1)
    group.forward(mx.io.DataBatch([mx.nd.array([[1], [2]])]))
    first, second = group.get_outputs()
    assert first.asnumpy().tolist() == [[4], [7]] and second.asnumpy().tolist() == [[6], [12]]
    assert [y.asnumpy().tolist() for y in group.get_outputs(False)[0]] == [[[4]], [[7]]]
    assert [y.asnumpy().tolist() for y in group.get_outputs(True, 1, 2)] == [[[6], [12]]]
    group.backward([mx.nd.array([[1], [10]]), mx.nd.zeros((2, 1))])
    assert group.get_input_grads()[0].asnumpy().tolist() == [[3], [30]]
    assert [g.asscalar() for g in group.grad_arrays[0]] == [1, 20]
    group.param_arrays[0][1][:] = 5
    values = {"fc_weight": mx.nd.zeros((1, 1))}
    group.get_params(values, {})
    assert values["fc_weight"].asscalar() == 4  # the mean over the contexts
    assert [array.asscalar() for array in group.get_states(False)[0]] == [1, 1]


def test_groups_of_executors_that_share(mx):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")

    def group(*shared):
        shapes = [mx.io.DataDesc("data", (2, 1))]
        return mx.mod.executor_group.DataParallelExecutorGroup(
            net, [mx.cpu(0)], [1], shapes, None, ["fc_weight"], True, False, *shared
        )

    first = group()
    second = group(first)
    for name in ("fc_weight", "data"):
        second.execs[0].arg_dict[name][:] = 7
        assert (first.execs[0].arg_dict[name].asnumpy() == 7).all()
    assert first.shared_data_arrays[0]["data"] is second.shared_data_arrays[0]["data"]
    first.reshape([mx.io.DataDesc("data", (4, 1))], None)
    assert first.batch_size == 4 and first.execs[0].outputs[0].shape == (4, 1)
    first.execs[0].arg_dict["fc_weight"][:] = 9
    assert second.param_arrays[0][0].asscalar() == 9


def sharing(mx, small, first, contexts):
    """A Module on `contexts` bound with the parameters of another one, on the contexts `first`."""
    shapes = [("data", (4, 2))], [("softmax_label", (4,))]
    shared = mx.mod.Module(small[0].symbol, context=[mx.cpu(i) for i in first])
    shared.bind(*shapes)
    shared.init_params()
    module = mx.mod.Module(small[0].symbol, context=[mx.cpu(i) for i in contexts])
    module.bind(*shapes, shared_module=shared)
    return module, shared


def test_fewer_contexts_share_parameters(mx, small):
    module, shared = sharing(mx, small, [2, 3], [2])
    [weight], [bias] = module._exec_group.param_arrays
    assert weight.context == bias.context == mx.cpu(2)
    weight[:] = 7
    assert (shared._exec_group.param_arrays[0][0].asnumpy() == 7).all()


@pytest.mark.engine("torch")  # MXNet leaves the arrays where they are
@pytest.mark.parametrize("contexts", [[2, 3], [0, 1, 2], [1]], ids=str)
def test_other_contexts_share_no_parameters(mx, small, contexts):
    with pytest.raises(mx.base.ArgumentError, match=r"cpu\(0\), cpu\(1\)"):
        sharing(mx, small, [0, 1], contexts)


def test_a_module_keeps_its_group_of_executors(mx, small):
    module, _ = small
    group = module._exec_group
    assert module._param_names == group.param_names == ["fc_weight", "fc_bias"]
    weight = group.param_arrays[0][0]
    module.forward(mx.io.DataBatch([mx.nd.ones((7, 2))], [mx.nd.ones(7)]), is_train=True)
    module.backward()
    assert module._exec_group is group and group.batch_size == 7
    group.grad_arrays[0][0][:] = 1
    before = weight.asnumpy()
    module.init_optimizer(optimizer_params={"learning_rate": 7.0})
    module.update()
    np.testing.assert_allclose(weight.asnumpy(), before - 1, rtol=1e-5)


def test_outputs_that_are_held(mx, small):
    module, iterator = small
    iterator.reset()
    module.forward(next(iterator), is_train=False)
    (held,) = module.get_outputs()
    before = held.asnumpy()
    module.forward(next(iterator), is_train=False)
    assert not (held.asnumpy() == before).all()  # they are the executor's
    assert (held.asnumpy() == module.get_outputs()[0].asnumpy()).all()


def test_names_that_loops_of_ones_own_check(mx):
    module = import_module(f"{mx.__name__}.module.base_module")
    net, a, b, shapes = mx.sym.var("a") + mx.sym.var("b"), ("a", (1,)), ("b", (2, 3)), [("l", (1,))]
    module._check_input_names(net, ["b", "a"], "data", True)
    with pytest.raises(ValueError):
        module._check_input_names(net, ["c"], "data", True)
    with pytest.warns(UserWarning):
        module._check_input_names(net, ["c"], "label", False)
    data, labels = module._parse_data_desc(["a", "b"], ["l"], [b, mx.io.DataDesc(*a)], shapes)
    assert [type(d) for d in data + labels] == [mx.io.DataDesc] * 3 and data == [b, a]
    with pytest.raises(ValueError):
        module._parse_data_desc(["a"], ["l"], [b], shapes)
    with pytest.warns(UserWarning):
        assert module._parse_data_desc(["a"], ["l"], [a], None) == ([a], None)


def test_a_callback_that_resets_the_metric(mx, small, caplog):
    """The line of an epoch has the metric as it is before the callbacks of the last batch."""
    module, iterator = small
    logger = logging.getLogger("own")
    module = mx.mod.Module(module.symbol, logger=logger)
    caplog.set_level(logging.INFO, "own")
    seen = []

    def reset(param):
        seen.append(param.eval_metric.get()[1])
        param.eval_metric.reset()

    module.fit(iterator, num_epoch=1, initializer=mx.init.One(), batch_end_callback=reset)
    lines = [r.getMessage() for r in caplog.records if "Train-accuracy" in r.getMessage()]
    assert lines == [f"Epoch[0] Train-accuracy={seen[-1]:f}"]
