"""Checkpoints: what is written and read."""

import logging
from importlib import import_module

import numpy as np
import pytest


@pytest.fixture
def saved(mx, tmp_path):
    prefix = str(tmp_path / "net")
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    net = mx.sym.BatchNorm(net, name="bn")
    arguments = {"fc_weight": mx.nd.array([[1, 2], [3, 4]]), "fc_bias": mx.nd.zeros(2)}
    mx.model.save_checkpoint(prefix, 7, net, arguments, {"bn_moving_mean": mx.nd.ones(2)})
    return prefix


def test_a_checkpoint(mx, saved):
    net, arguments, states = mx.model.load_checkpoint(saved, 7)
    assert net.list_arguments() == ["x", "fc_weight", "fc_bias", "bn_gamma", "bn_beta"]
    assert arguments["fc_weight"].asnumpy().tolist() == [[1, 2], [3, 4]]
    assert {n: a.asnumpy().tolist() for n, a in states.items()} == {"bn_moving_mean": [1, 1]}
    assert set(mx.model.load_params(saved, 7)[0]) == {"fc_weight", "fc_bias"}


def test_names_in_the_file(mx, saved):
    names = set(mx.nd.load(f"{saved}-0007.params"))
    assert names == {"arg:fc_weight", "arg:fc_bias", "aux:bn_moving_mean"}


def test_parameters_alone(mx, tmp_path):
    mx.model.save_checkpoint(str(tmp_path / "net"), 12345, None, {"w": mx.nd.ones(1)}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["net-12345.params"]


def test_no_parameters(mx, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    prefix = str(tmp_path / "net")
    mx.model.save_checkpoint(prefix, 1, None, {}, {})
    assert mx.model.load_params(prefix, 1) == ({}, {})
    assert "is empty" in caplog.text


@pytest.mark.engine("torch")  # MXNet passes over such names, or fails to split them
@pytest.mark.parametrize("name", ["w", "gradient:w"])
def test_what_is_no_checkpoint(mx, tmp_path, name):
    mx.nd.save(str(tmp_path / "net-0001.params"), {name: mx.nd.ones(1)})
    with pytest.raises(
        mx.MXNetError, match=rf"net-0001.params: .*{name}.*\n  expected arg: or aux:"
    ):
        mx.model.load_params(tmp_path / "net", 1)


@pytest.mark.engine("torch")  # in MXNet it is an MXNetError
def test_a_file_that_is_not_there(mx, tmp_path):
    with pytest.raises(FileNotFoundError):
        mx.model.load_checkpoint(tmp_path / "net", 1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # MXNet's
def test_feed_forward(mx, tmp_path):
    mx.random.seed(0)
    np.random.seed(0)
    labels = np.arange(90) % 3
    points = 3 * np.eye(3)[labels] + np.random.normal(0, 0.3, (90, 3))
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    net = mx.sym.SoftmaxOutput(net, name="softmax")
    options = {"num_epoch": 5, "learning_rate": 0.5, "numpy_batch_size": 20}
    model = mx.model.FeedForward.create(net, points, labels, **options)
    y = model.predict(points)
    assert isinstance(y, np.ndarray) and (y.argmax(axis=1) == labels).all()
    assert model.score(mx.io.NDArrayIter(points, labels, 20)) == 1
    again, data, zeros = model.predict(points, return_data=True)
    np.testing.assert_allclose(again, y)
    assert data.shape == (90, 3) and zeros.shape == (90,)
    model.save(str(tmp_path / "net"))
    loaded = mx.model.FeedForward.load(str(tmp_path / "net"), 5)
    np.testing.assert_allclose(loaded.predict(points), y, rtol=1e-6)


# Private functions, which programs with loops of their own import


@pytest.mark.parametrize(
    "store, contexts, size, updates",
    [("local", 1, 1, None), ("local", 2, 1, True), ("device", 2, 1 << 25, True)]
    + [("local", 2, 1 << 25, False), (None, 2, 1, None)],
)
def test_create_kvstore(mx, store, contexts, size, updates):
    class Large:
        shape = (size,)

    Large.size = size
    made, on_store = model(mx)._create_kvstore(store, contexts, {"w": Large})
    assert (None if made is None else on_store) is updates and on_store is bool(updates)
    with pytest.raises(TypeError):
        model(mx)._create_kvstore(3, 2, {})


def test_updates_on_a_store_and_beside_it(mx):
    weights = [[mx.nd.ones(2), mx.nd.ones(2, ctx=mx.cpu(1))], [mx.nd.ones(1)] * 2]
    gradients = [[mx.nd.ones(2), mx.nd.ones(2, ctx=mx.cpu(1)) * 2], [None, None]]
    values, names = {"w": mx.nd.ones(2) * 9, "x": mx.nd.ones(1)}, ["w", "x"]
    store = mx.kv.create("local")
    model(mx)._initialize_kvstore(store, weights, values, names, True)
    assert weights[0][1].asnumpy().tolist() == [9, 9]
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1.0))
    model(mx)._update_params(weights, gradients, updater, 2)
    assert [w.asnumpy().tolist() for w in weights[0]] == [[8, 8], [7, 7]]
    calls = []
    model(mx)._update_params(weights, gradients, lambda i, *_: calls.append([*i]), 2, store, names)
    assert calls == [[0], [1]] and gradients[0][0].asnumpy().tolist() == [3, 3]  # the sum
    store = mx.kv.create("local")
    model(mx)._initialize_kvstore(store, weights, values, names, False)
    assert weights[0][0].asnumpy().tolist() == [8, 8]
    store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
    model(mx)._update_params_on_kvstore(weights, gradients, store, names)
    assert [w.asnumpy().tolist() for w in weights[0]] == [[3, 3], [3, 3]]


def model(mx):
    return import_module(f"{mx.__name__}.model")
