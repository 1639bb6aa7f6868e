"""The Trainer: steps on one context and several, stale gradients, states, memory."""

import gc
import tracemalloc
from operator import is_

import numpy as np
import pytest
from recorded import Recorded

from layers.engine import autograd, gluon, mx, nd

nn, Trainer = gluon.nn, gluon.Trainer
ONE, TWO = [mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]
TOLERANCE = 1e-6, 1e-7  # relative, absolute


def net(contexts=ONE):
    made = nn.Sequential()
    made.add(nn.Dense(3, in_units=2, activation="tanh"), nn.Dense(1, in_units=3))
    made.initialize(ctx=contexts)
    random = np.random.RandomState(0)
    for block in made:
        for parameter in (block.weight, block.bias):
            parameter.set_data(nd.array(random.randn(*parameter.shape)))
    return made


BATCH = np.random.RandomState(1).randn(6, 2)


def backward(network, contexts=ONE, scale=1.0):
    parts = gluon.utils.split_and_load(nd.array(BATCH * scale), contexts)
    with autograd.record():
        losses = [network(part).square().sum() for part in parts]
    autograd.backward(losses)


def weights(network, k=0):
    parameters = [p for block in network for p in (block.weight, block.bias)]
    return [p.list_data()[k].asnumpy() for p in parameters]


def train(network, trainer, contexts=ONE, steps=5):
    for i in range(steps):
        backward(network, contexts, 1 + i / 10)
        trainer.step(len(BATCH))


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("gluon_trainer", pytestconfig.getoption("--record"))
    yield values
    values.write()


OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.1},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("contexts", [ONE, TWO], ids=["1 context", "2 contexts"])
@pytest.mark.parametrize("on_kvstore", [None, False], ids=["", "update_on_kvstore=False"])
def test_steps(recorded, name, contexts, on_kvstore):
    """However many contexts there are, the weights are the same, and the same on each."""
    network = net(contexts)
    trainer = Trainer(
        network.collect_params(), name, OPTIMIZERS[name], update_on_kvstore=on_kvstore
    )
    train(network, trainer, contexts)
    recorded.check(name, weights(network), *TOLERANCE)
    for k in range(len(contexts)):
        for found, expected in zip(weights(network, k), weights(network)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("on_kvstore", [None, False], ids=["", "update_on_kvstore=False"])
def test_compressed_gradients(recorded, on_kvstore):
    network = net(TWO)
    trainer = Trainer(
        network.collect_params(),
        *("sgd", OPTIMIZERS["sgd"]),
        compression_params={"type": "2bit", "threshold": 0.5},
        update_on_kvstore=on_kvstore,
    )
    train(network, trainer, TWO)
    recorded.check("compressed", weights(network), *TOLERANCE)


def test_compression_that_the_kvstore_has_not():
    for options in ({"kvstore": "local"}, {"kvstore": "teststore"}):
        network = net(TWO)
        compression = {"type": "2bit", "threshold": 0.5}
        trainer = Trainer(
            network.collect_params(), "sgd", compression_params=compression, **options
        )
        with pytest.raises(Exception, match="(?i)compress"):
            train(network, trainer, TWO)
    network = net()  # on one context there is no kvstore
    train(network, Trainer(network.collect_params(), "sgd", compression_params={"type": "x"}))


def test_parameters_of_a_dict_are_sorted():
    network = net()
    parameters = network.collect_params()
    assert [p.name for p in Trainer(parameters, "sgd")._params] == sorted(parameters.keys())


def test_lists_and_rates():
    network = net()
    network[0].weight.lr_mult = 0.0
    before = weights(network)
    trainer = Trainer(list(network.collect_params().values()), "sgd", {"learning_rate": 0.1})
    train(network, trainer, steps=1)
    moved = [(a != b).any() for a, b in zip(before, weights(network))]
    assert moved == [False, True, True, True]
    trainer.set_learning_rate(0.5)
    assert trainer.learning_rate == 0.5
    assert trainer.optimizer.lr == 0.5


def test_an_optimizer_of_ones_own():
    class Half(mx.optimizer.Optimizer):
        def update(self, index, weight, grad, state):
            weight[:] = weight * 0.5

    network = net()
    before = weights(network)
    train(network, Trainer(network.collect_params(), Half()), steps=2)
    for found, expected in zip(weights(network), before):
        np.testing.assert_array_equal(found, expected / 4)


def begun(**settings):
    """A network, its Trainer, and the numbers of its weights there."""
    network = net()
    trainer = Trainer(network.collect_params(), "adam", settings)
    index = [i for i, p in enumerate(trainer.list_params()) if p.name.endswith("weight")]
    return network, trainer, index


@pytest.mark.engine("torch")  # of our own
def test_what_a_trainer_trains():
    network, trainer, _ = begun()
    assert trainer.list_ctx() == ONE
    assert trainer.list_params() == [p for _, p in sorted(network.collect_params().items())]


@pytest.mark.engine("torch")  # of our own
def test_an_update_elsewhere_is_counted_and_scaled():
    _, trainer, index = begun(begin_num_update=3)
    states = trainer.begin_update(4, index)
    shapes = [trainer.list_params()[i].shape for i in index]
    assert [tuple(a.shape for a in state) for state in states] == [(s, s) for s in shapes]
    optimizer = trainer.optimizer
    assert optimizer.rescale_grad == 1 / 4 and optimizer.num_update == 4
    assert optimizer.update_counts([*index, 77], 0) == [4, 4, 3]
    assert optimizer.update_counts(index, 1) == [3, 3]
    assert all(map(is_, trainer.begin_update(4, index), states))
    assert optimizer.update_counts(index, 0) == [5, 5]


@pytest.mark.engine("torch")  # of our own
def test_an_update_elsewhere_that_fails_is_not_counted():
    network, trainer, index = begun()
    twin, other, _ = begun()
    for one, steps in ((network, trainer), (twin, other)):
        backward(one)
        steps.step(6)
    trainer.begin_update(6, index)
    trainer.undo_update()
    assert trainer.optimizer.update_counts(index, 0) == [1, 1]
    assert trainer.optimizer.num_update == 1
    for one, steps in ((network, trainer), (twin, other)):
        backward(one)
        steps.step(6)
    for ours, theirs in zip(weights(network), weights(twin)):
        np.testing.assert_array_equal(ours, theirs)


def test_frozen_parameters_stay():
    network = net()
    trainer = Trainer(network.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 0.1})
    network[0].collect_params().setattr("grad_req", "null")
    before = weights(network)
    train(network, trainer, steps=1)
    moved = [(a != b).any() for a, b in zip(before, weights(network))]
    assert moved == [False, False, True, True]


# Stale gradients


def test_no_backward():
    network = net()
    trainer = Trainer(network.collect_params(), "sgd")
    with pytest.raises(UserWarning, match="has not been updated by backward"):
        trainer.step(1)


@pytest.mark.parametrize("contexts", [ONE, TWO], ids=["1 context", "2 contexts"])
def test_a_second_step(contexts):
    network = net(contexts)
    trainer = Trainer(network.collect_params(), "sgd", update_on_kvstore=False)
    train(network, trainer, contexts, steps=1)
    before = weights(network)
    with pytest.raises(UserWarning, match=r"on context cpu\(0\)"):
        trainer.step(1)
    trainer.step(1, ignore_stale_grad=True)
    for found, expected in zip(weights(network), before):
        np.testing.assert_array_equal(found, expected)


def test_only_a_part_is_used():
    network = net()
    trainer = Trainer(network.collect_params(), "sgd", {"learning_rate": 0.1})
    before = weights(network)

    def backward_of_part():
        with autograd.record():
            loss = network[1](nd.ones((2, 3))).sum()
        loss.backward()

    backward_of_part()
    with pytest.raises(UserWarning, match=network[0].bias.name):
        trainer.step(1)
    for found, expected in zip(weights(network), before):
        np.testing.assert_array_equal(found, expected)
    trainer.step(1, ignore_stale_grad=True)
    moved = [(a != b).any() for a, b in zip(before, weights(network))]
    assert moved == [False, False, True, True]


@pytest.mark.engine("torch")
@pytest.mark.parametrize("on_kvstore", [None, False], ids=["", "update_on_kvstore=False"])
def test_a_context_without_a_batch(on_kvstore):
    """MXNet adds the gradient of an earlier step again, or lets the contexts drift apart."""

    def last_batch(contexts):
        network = net(contexts)
        trainer = Trainer(
            network.collect_params(), "sgd", OPTIMIZERS["sgd"], update_on_kvstore=on_kvstore
        )
        train(network, trainer, contexts, steps=2)
        backward(network, contexts[:1])
        trainer.step(6, ignore_stale_grad=True)
        return network

    alone, two = last_batch(ONE), last_batch(TWO)
    for expected, *found in zip(weights(alone), weights(two, 0), weights(two, 1)):
        np.testing.assert_array_equal(*found)
        np.testing.assert_allclose(found[0], expected, *TOLERANCE)


@pytest.mark.engine("torch")
def test_stale_on_the_kvstore_warns():
    network = net(TWO)
    trainer = Trainer(network.collect_params(), "sgd", {"learning_rate": 0.1})
    train(network, trainer, TWO, steps=1)
    before = weights(network)
    with pytest.warns(UserWarning, match="taken as 0"):
        trainer.step(1)
    for found, expected in zip(weights(network), before):
        np.testing.assert_array_equal(found, expected)


# The two halves of a step


def test_gradients_in_between():
    network = net(TWO)
    trainer = Trainer(network.collect_params(), "sgd", update_on_kvstore=False)
    backward(network, TWO)
    bias = network[1].bias
    expected = sum(g.asnumpy() for g in bias.list_grad())
    trainer.allreduce_grads()
    for grad in bias.list_grad():
        np.testing.assert_allclose(grad.asnumpy(), expected, 1e-6)
        grad[:] = 8
    before = bias.data(mx.cpu(0)).asscalar()
    trainer.update(2)
    for data in bias.list_data():
        assert data.asscalar() == pytest.approx(before - 0.01 * 4)


def test_gradients_stay_as_they_are():
    network = net(TWO)
    trainer = Trainer(network.collect_params(), "sgd")
    backward(network, TWO)
    before = [g.asnumpy() for g in network[0].weight.list_grad()]
    trainer.step(1)
    for found, expected in zip(network[0].weight.list_grad(), before):
        np.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("call", ["allreduce_grads", "update"])
def test_halves_on_the_kvstore(call):
    network = net(TWO)
    trainer = Trainer(network.collect_params(), "sgd")
    backward(network, TWO)
    with pytest.raises(AssertionError, match="update_on_kvstore"):
        getattr(trainer, call)(*[1] * (call == "update"))


def test_without_a_kvstore_contexts_go_their_own_ways():
    network = net(TWO)
    trainer = Trainer(network.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore=None)
    train(network, trainer, TWO, steps=1)
    assert (weights(network, 0)[0] != weights(network, 1)[0]).any()


def test_clip_between():
    network = net()
    trainer = Trainer(network.collect_params(), "sgd", {"learning_rate": 1.0})
    backward(network, scale=10)
    before = weights(network)
    trainer.allreduce_grads()
    grads = [p.grad() for p in network.collect_params().values()]
    gluon.utils.clip_global_norm(grads, 0.5)
    trainer.update(1)
    moved = sum(((a - b) ** 2).sum() for a, b in zip(before, weights(network)))
    assert np.sqrt(moved) == pytest.approx(0.5, rel=1e-4)


# Kvstores


def test_the_kvstore_is_made_at_the_first_step():
    network = net(TWO)
    trainer = Trainer(network.collect_params(), "sgd", OPTIMIZERS["sgd"])
    assert (trainer._kvstore, trainer._update_on_kvstore) == (None, None)
    assert not trainer._kv_initialized and len(trainer._params_to_init) == 4
    train(network, trainer, TWO, steps=1)
    assert trainer._kvstore.type == "device" and trainer._kv_initialized
    assert trainer._update_on_kvstore is True and not trainer._params_to_init
    assert trainer._kvstore._updater.optimizer is trainer.optimizer
    assert sorted(trainer._kvstore._updater.states) == [0, 1, 2, 3]
    assert all(p._trainer is trainer for p in trainer._params)


@pytest.mark.parametrize("kvstore", ["local", None], ids=str)
def test_one_context_needs_no_kvstore(kvstore):
    network = net()
    trainer = Trainer(network.collect_params(), "sgd", kvstore=kvstore)
    train(network, trainer, steps=1)
    assert trainer._kv_initialized
    assert (trainer._kvstore, trainer._update_on_kvstore) == (None, None)


def test_the_environment_can_say_where_to_update(monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    network = net(TWO)
    trainer = Trainer(network.collect_params(), "sgd")
    train(network, trainer, TWO, steps=1)
    assert trainer._update_on_kvstore is False


@pytest.mark.parametrize("kvstore", ["local", "device"])
def test_a_large_parameter_is_not_updated_on_the_local_kvstore(kvstore):
    weight = gluon.Parameter("w", shape=((1 << 24) + 1,), dtype="float16", init="zeros")
    weight.initialize(ctx=TWO)
    trainer = Trainer([weight], "sgd", kvstore=kvstore)
    trainer._init_kvstore()
    assert trainer._update_on_kvstore is (kvstore == "device")


def test_a_value_that_is_set_is_what_the_next_step_changes(tmp_path):
    network, file = net(TWO), str(tmp_path / "net.params")
    bias = network[1].bias
    network.save_parameters(file)
    trainer = Trainer(network.collect_params(), "sgd", {"learning_rate": 0.1})
    train(network, trainer, TWO, steps=1)
    network.load_parameters(file)
    assert not trainer._kv_initialized and trainer._kvstore is None
    before = bias.list_data()[0].asscalar()
    backward(network, TWO)
    expected = before - 0.1 * sum(g.asscalar() for g in bias.list_grad()) / 6
    trainer.step(6)
    for data in bias.list_data():
        assert data.asscalar() == pytest.approx(expected, rel=1e-5)


class Noted(mx.kv.KVStoreBase):
    """Sums as the store for tests does, and notes what it is asked for."""

    def __init__(self, runs_optimizer=False):
        self.calls, self.inner = [], mx.kv.create("teststore")
        self.runs_optimizer, self.optimizer = runs_optimizer, None

    type = "noted"

    def is_capable(self, capability):
        return self.runs_optimizer

    def set_optimizer(self, optimizer):
        self.optimizer = optimizer

    def broadcast(self, key, value, out, priority=0):
        self.calls.append(("broadcast", key, len(out)))
        self.inner.broadcast(key, value, out, priority)

    def pushpull(self, key, value, out=None, priority=0):
        self.calls.append(("pushpull", key, len(value), priority))
        if out is None:
            return self.inner.pushpull(key, value)
        for array in out:
            array[:] = 5

    def save_optimizer_states(self, fname, dump_optimizer=False):
        self.calls.append(("save", fname, dump_optimizer))

    def load_optimizer_states(self, fname):
        self.calls.append(("load", fname))
        self._updater = mx.optimizer.get_updater(self.optimizer)


@pytest.mark.parametrize("contexts", [ONE, TWO], ids=["1 context", "2 contexts"])
def test_a_store_of_ones_own_sums_the_gradients(contexts):
    network, alone, store = net(contexts), net(), Noted()
    trainer = Trainer(network.collect_params(), "sgd", OPTIMIZERS["sgd"], kvstore=store)
    train(network, trainer, contexts, steps=2)
    train(alone, Trainer(alone.collect_params(), "sgd", OPTIMIZERS["sgd"]), steps=2)
    assert trainer._kvstore is store and trainer._update_on_kvstore is False
    count = len(contexts)
    pushed = [("pushpull", i, count, -i) for i in range(4)]
    assert store.calls == [("broadcast", i, count) for i in range(4)] + pushed * 2
    for found, expected in zip(weights(network), weights(alone)):
        np.testing.assert_allclose(found, expected, *TOLERANCE)


def test_a_store_of_ones_own_runs_the_optimizer():
    network, store = net(TWO), Noted(runs_optimizer=True)
    trainer = Trainer(network.collect_params(), "sgd", kvstore=store)
    train(network, trainer, TWO, steps=1)
    assert store.optimizer is trainer.optimizer and trainer._update_on_kvstore is True
    assert all((w == 5).all() for k in (0, 1) for w in weights(network, k))
    trainer.save_states("file")
    trainer.load_states("file")
    assert store.calls[-2:] == [("save", "file", True), ("load", "file")]


def test_a_store_of_ones_own_is_given_the_optimizer_again_after_set_data():
    network, store = net(TWO), Noted(runs_optimizer=True)
    trainer = Trainer(network.collect_params(), "sgd", kvstore=store)
    train(network, trainer, TWO, steps=1)
    store.optimizer = None
    trainer._params[0].set_data(nd.zeros(trainer._params[0].shape))
    train(network, trainer, TWO, steps=1)
    assert store.optimizer is trainer.optimizer


def test_a_store_that_runs_no_optimizer_cannot_update():
    network = net(TWO)
    kvstore = mx.kv.create("teststore")
    trainer = Trainer(network.collect_params(), "sgd", kvstore=kvstore, update_on_kvstore=True)
    backward(network, TWO)
    with pytest.raises(ValueError, match="update_on_kvstore=False"):
        trainer.step(1)


# What does not fit


@pytest.mark.parametrize("params", [3, [3], "net"], ids=str)
def test_no_parameters(params):
    with pytest.raises(ValueError, match="Parameters"):
        Trainer(params, "sgd")


@pytest.mark.engine("torch")
def test_a_network_is_no_parameters():
    with pytest.raises(ValueError, match=r"expected net.collect_params\(\)"):
        Trainer(net(), "sgd")


@pytest.mark.engine("torch")
@pytest.mark.parametrize("params", [[], {}], ids=str)
def test_nothing_to_train(params):
    with pytest.raises(ValueError, match="Parameters"):
        Trainer(params, "sgd")


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "settings, error",
    [
        ({"kvstore": "dist_async"}, NotImplementedError),
        ({"kvstore": None, "update_on_kvstore": True}, ValueError),
    ],
    ids=str,
)
def test_what_there_is_not(settings, error):
    with pytest.raises(error, match=next(iter(settings)).split("_")[0]):
        Trainer(net().collect_params(), "sgd", **settings)


def test_parameters_on_different_contexts():
    one, other = net([mx.cpu(0)]), net([mx.cpu(1)])
    with pytest.raises((AssertionError, ValueError), match=r"cpu\(1\)"):
        Trainer([one[0].weight, other[0].weight], "sgd")


def test_not_initialized():
    with pytest.raises(RuntimeError, match="not been initialized"):
        Trainer(nn.Dense(3).collect_params(), "sgd")


def test_shapes_that_are_not_known_yet():
    network = nn.Dense(3)
    network.initialize()
    trainer = Trainer(network.collect_params(), "sgd")
    with pytest.raises(RuntimeError, match=network.weight.name):
        trainer.step(1)
    with autograd.record():
        loss = network(nd.ones((2, 4))).sum()
    loss.backward()
    trainer.step(2)


def test_arguments_beside_an_optimizer():
    with pytest.raises((AssertionError, ValueError), match="optimizer_params"):
        Trainer(net().collect_params(), mx.optimizer.SGD(), {"learning_rate": 0.1})


def test_a_step_inside_record():
    network = net()
    trainer = Trainer(network.collect_params(), "sgd")
    backward(network)
    with pytest.raises(RuntimeError), autograd.record():
        network(nd.array(BATCH)).sum().backward()
        trainer.step(1)


# States

SCHEDULERS = {
    "factor": lambda: mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1),
    "multi": lambda: mx.lr_scheduler.MultiFactorScheduler([2, 4], 0.5, base_lr=0.1),
    "poly": lambda: mx.lr_scheduler.PolyScheduler(9, 0.1),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # MXNet's open file
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("contexts", [ONE, TWO], ids=["1 context", "2 contexts"])
@pytest.mark.parametrize("on_kvstore", [None, False], ids=["", "update_on_kvstore=False"])
def test_go_on(tmp_path, name, contexts, on_kvstore):
    """Steps, save, load into a new Trainer, steps: the same as all steps in one go."""

    def trainer_of(network):
        schedule = mx.lr_scheduler.FactorScheduler(2, 0.5)
        settings = OPTIMIZERS[name] | {"lr_scheduler": schedule}
        parameters = network.collect_params()
        return Trainer(parameters, name, settings, update_on_kvstore=on_kvstore)

    whole = net(contexts)
    train(whole, trainer_of(whole), contexts, 6)

    network, file = net(contexts), str(tmp_path / "states")
    first = trainer_of(network)
    train(network, first, contexts, 3)
    first.save_states(file)
    second = trainer_of(network)
    second.load_states(file)
    for i in range(3, 6):
        backward(network, contexts, 1 + i / 10)
        second.step(len(BATCH))
    assert second.learning_rate == pytest.approx(0.1 * 0.5**2)
    for found, expected in zip(weights(network), weights(whole)):
        np.testing.assert_array_equal(found, expected)


def test_settings_go_on(tmp_path):
    """Also what was changed on the way: a rate, the base of a schedule."""

    def trainer():
        schedule = mx.lr_scheduler.FactorScheduler(2, 0.5)
        return Trainer(net().collect_params(), "sgd", {"lr_scheduler": schedule})

    first, second = trainer(), trainer()
    first.optimizer.lr_scheduler.base_lr = 0.7
    first.optimizer.wd = 0.3
    first.save_states(str(tmp_path / "states"))
    second.load_states(str(tmp_path / "states"))
    assert second.learning_rate == 0.7
    assert second.optimizer.wd == 0.3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # MXNet's open file
@pytest.mark.parametrize("saved_kind", SCHEDULERS)
@pytest.mark.parametrize("present_kind", [None, "factor", "poly"])
@pytest.mark.parametrize("contexts", [ONE, TWO], ids=["1 context", "2 contexts"])
def test_the_schedule_of_the_file_goes_on(tmp_path, saved_kind, present_kind, contexts):
    """Whatever schedule the new Trainer has, or none, as a resumed script may leave it out."""

    def trainer_of(network, kind):
        settings = {"lr_scheduler": SCHEDULERS[kind]()} if kind else {"learning_rate": 7.0}
        return Trainer(network.collect_params(), "sgd", settings)

    network, file = net(contexts), str(tmp_path / "states")
    first = trainer_of(network, saved_kind)
    train(network, first, contexts, steps=3)
    first.save_states(file)
    second = trainer_of(network, present_kind)
    second.load_states(file)
    schedule = second.optimizer.lr_scheduler
    assert type(schedule) is type(SCHEDULERS[saved_kind]())
    assert vars(schedule) == vars(first.optimizer.lr_scheduler)
    for _ in range(3):
        train(network, first, contexts, steps=1)
        train(network, second, contexts, steps=1)
        assert second.learning_rate == first.learning_rate
        assert second.optimizer.num_update == first.optimizer.num_update


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # MXNet's open file
def test_a_file_without_a_schedule_takes_it_away(tmp_path):
    first = Trainer(net().collect_params(), "sgd", {"learning_rate": 0.25})
    first.save_states(str(tmp_path / "states"))
    settings = {"lr_scheduler": mx.lr_scheduler.FactorScheduler(2, 0.5)}
    second = Trainer(net().collect_params(), "sgd", settings)
    second.load_states(str(tmp_path / "states"))
    assert second.optimizer.lr_scheduler is None and second.learning_rate == 0.25


class Falling(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update):
        return self.base_lr / (1 + num_update)


@pytest.mark.engine("torch")  # MXNet imports whatever the file names
def test_a_schedule_of_a_class_that_is_not_here(tmp_path):
    file = saved(tmp_path, net(), "sgd", {"lr_scheduler": Falling(0.25)})
    message = refused(file, net(), "sgd")
    assert "Falling', a class that no file brings along" in message and "is none" in message
    settings = {"lr_scheduler": mx.lr_scheduler.FactorScheduler(2)}
    assert "there is FactorScheduler" in refused(file, net(), "sgd", settings)
    trainer = Trainer(net().collect_params(), "sgd", {"lr_scheduler": Falling(9.0)})
    trainer.load_states(file)
    assert trainer.learning_rate == 0.125


@pytest.mark.engine("torch")  # MXNet has one for each context
@pytest.mark.parametrize("on_kvstore, count", [(None, 1), (True, 1), (False, 2)])
def test_states_are_kept_once_where_one_update_is_for_all_contexts(tmp_path, on_kvstore, count):
    network, file = net(TWO), tmp_path / "states"
    trainer = Trainer(network.collect_params(), "adam", update_on_kvstore=on_kvstore)
    train(network, trainer, TWO, steps=1)
    trainer.save_states(file)
    trainer.load_states(file)
    assert [len(updater.states) for updater in trainer._updaters] == [4] * count


def saved(tmp_path, network, *optimizer):
    trainer = Trainer(network.collect_params(), *optimizer)
    train(network, trainer, steps=1)
    trainer.save_states(tmp_path / "states")
    return tmp_path / "states"


def refused(file, network, *optimizer):
    """The error of loading; the trainer is as it was."""
    trainer = Trainer(network.collect_params(), *optimizer)
    with pytest.raises(ValueError, match=file.name) as caught:
        trainer.load_states(file)
    assert not trainer._updaters[0].states
    train(network, trainer, steps=1)
    return str(caught.value)


@pytest.mark.engine("torch")
def test_states_of_another_optimizer(tmp_path):
    text = refused(saved(tmp_path, net(), "adam"), net(), "sgd", {"momentum": 0.9})
    assert "Adam" in text
    assert "SGD" in text


@pytest.mark.engine("torch")
def test_states_of_another_network(tmp_path):
    wide = nn.Sequential()
    wide.add(nn.Dense(5, in_units=2, activation="tanh"), nn.Dense(1, in_units=5))
    wide.initialize()
    text = refused(saved(tmp_path, wide, "adam"), net(), "adam")
    assert "(5,)" in text
    assert "(3,)" in text


@pytest.mark.engine("torch")
@pytest.mark.parametrize("size", [0, 1, 30, 200, -1])
def test_states_cut_short(tmp_path, size):
    file = saved(tmp_path, net(), "adam")
    file.write_bytes(file.read_bytes()[:size])
    refused(file, net(), "adam")


@pytest.mark.engine("torch")
def test_a_pickle_is_not_read(tmp_path):
    file = tmp_path / "states"
    file.write_bytes(b"\x80\x04cos\nsystem\n(S'exit 1'\ntR.")
    refused(file, net(), "adam")


# Where in the optimizer of a file something is changed, to what, and what is said of it. The
# states are those of a parameter.
HOSTILE_STATES = {
    "a list": (None, [], "not the states of an optimizer"),
    "three": (None, ({}, None, None), "not the states of an optimizer"),
    "no optimizer": (None, ({}, 3), "not the states of an optimizer"),
    "counts are null": (("_all_index_update_counts",), None, "counts is None\n  expected names"),
    "no counts": (("_all_index_update_counts", 0), 3, "counts is 3\n  expected names"),
    "a device": (("_all_index_update_counts", "x"), {}, "counts are of device 'x'\n  expected"),
    "a huge count": (("_all_index_update_counts", 0, 0), 10**400, "a number of more than 64 bits"),
    "a count of -1": (("_all_index_update_counts", 0, 0), -1, "parameter 0 was updated -1 times"),
    "no count": (("_all_index_update_counts", 0, 0), float("nan"), "was updated nan times"),
    "text as a state": ((0,), "x", "a state is 'x'\n  expected an array"),
    "a deep state": ((0,), [[[[[[[[[[]]]]]]]]]], "8 deep at most"),
    "no state": ((0,), None, "the state of parameter 0 is none"),
    "text": (("wd",), "x", "Adam: wd is 'x'\n  expected a number"),
    "null": (("wd",), None, "Adam: wd is None\n  expected a number"),
    "a dict": (("wd",), {}, "Adam: wd is {}\n  expected a number"),
    "a huge number": (("num_update",), 10**400, "a number of more than 64 bits"),
    "a huge index": ((2**64,), None, "a number of more than 64 bits"),
    "beta": (("beta1",), 1, "beta1 is 1\n  expected 0 to below 1"),
    "begin": (("begin_num_update",), -1, "begin_num_update is -1"),
    "factor": (("lr_scheduler", "factor"), 2, "factor is 2\n  expected at most 1"),
}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("path, value, message", HOSTILE_STATES.values(), ids=HOSTILE_STATES)
def test_hostile_states(tmp_path, path, value, message):
    """Nothing is changed, and training goes on."""
    optimizer = "adam", {"lr_scheduler": SCHEDULERS["factor"]()}
    file = saved(tmp_path, net(), *optimizer)
    alter(file, path, value)
    network = net()
    trainer = Trainer(network.collect_params(), *optimizer)
    train(network, trainer, steps=1)
    before = facts(trainer)
    with pytest.raises(ValueError, match=file.name) as refused:
        trainer.load_states(file)
    assert message in str(refused.value) and len(str(refused.value)) < 600
    assert facts(trainer) == before
    train(network, trainer, steps=1)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "kind, name, value",
    [
        ("factor", "step", 0), ("factor", "warmup_steps", -1), ("factor", "warmup_mode", "x"),
        ("multi", "step", []), ("multi", "step", [2, "x"]), ("multi", "step", [3, 2]),
        ("multi", "cur_step_ind", -1), ("multi", "cur_step_ind", 3), ("multi", "factor", -3),
        ("poly", "max_update", 0), ("poly", "max_update", 2.5), ("poly", "max_steps", 3),
        ("factor", "step", "x"),
    ],
)  # fmt: skip
def test_hostile_schedules(tmp_path, kind, name, value):
    file = saved(tmp_path, net(), "sgd", {"lr_scheduler": SCHEDULERS[kind]()})
    alter(file, ("lr_scheduler", name), value)
    trainer = Trainer(net().collect_params(), "sgd", {"lr_scheduler": SCHEDULERS[kind]()})
    before = facts(trainer)
    with pytest.raises(ValueError, match=file.name):
        trainer.load_states(file)
    assert facts(trainer) == before
    refused(file, net(), "sgd")


def alter(file, path, value):
    """Write a file of states anew, with another value: of a parameter, or in the optimizer."""
    from layers.mxnet._files import pickled

    content = pickled.reads(file.read_bytes(), "file")
    if path is None:
        content = value
    else:
        *path, last = path
        inner = content[0] if last == 0 and not path else content[1]
        for key in path:
            inner = (inner.attributes if isinstance(inner, pickled.Record) else inner)[key]
        (inner.attributes if isinstance(inner, pickled.Record) else inner)[last] = value
    file.write_bytes(b"".join(pickled.pieces(content)))


def facts(trainer):
    """What a file of states could change."""
    optimizer = trainer.optimizer
    plain = {k: v for k, v in vars(optimizer).items() if isinstance(v, int | float | str | None)}
    states = {i: [part.asnumpy().tolist() for part in _parts(state)]
              for i, state in trainer._updaters[0].states.items()}  # fmt: skip
    counts = repr(optimizer._all_index_update_counts)
    return plain, counts, dict(vars(optimizer.lr_scheduler)), states


def _parts(state):
    return [] if state is None else state if isinstance(state, tuple) else [state]


@pytest.mark.engine("torch")
def test_a_state_may_be_none_where_the_argument_may(tmp_path):
    file = saved(tmp_path, net(), "sgd", {"momentum": 0.5})
    network = net()
    trainer = Trainer(network.collect_params(), "sgd", {"clip_gradient": 3.0, "momentum": 0.9})
    trainer.load_states(file)
    assert trainer.optimizer.clip_gradient is None and trainer.optimizer.momentum == 0.5


@pytest.mark.engine("torch")
def test_states_are_those_of_the_settings_beside_them(tmp_path):
    """With another momentum there are other states; and a scheduler is no number."""
    file = saved(tmp_path, net(), "sgd", {"momentum": 0.0})
    alter(file, ("momentum",), 0.9)
    assert "the state of parameter 0 is none" in refused(file, net(), "sgd")
    alter(file, ("momentum",), 0.0)
    alter(file, ("lr_scheduler",), 3)
    assert "lr_scheduler is 3\n  expected a scheduler" in refused(file, net(), "sgd")
    scheduler = SCHEDULERS["factor"]()
    file = saved(tmp_path, net(), "sgd", {"lr_scheduler": SCHEDULERS["factor"]()})
    alter(file, ("lr_scheduler", "base_lr"), 0.25)
    trainer = Trainer(net().collect_params(), "sgd", {"lr_scheduler": scheduler})
    trainer.load_states(file)
    assert trainer.optimizer.lr_scheduler is scheduler and trainer.learning_rate == 0.25


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "name, lr, error", [("adamax", 1e300, "RuntimeError: value"), ("ftrl", 0, "ZeroDivisionError")]
)
def test_settings_with_which_there_is_no_step(tmp_path, name, lr, error):
    file = saved(tmp_path, net(), name)
    alter(file, ("lr",), lr)
    assert f"with its settings there is no step: {error}" in refused(file, net(), name)


@pytest.mark.engine("torch")
def test_billions_of_updates_at_once(tmp_path):
    file = saved(tmp_path, net(), "adam", {"lr_scheduler": SCHEDULERS["factor"]()})
    alter(file, ("_all_index_update_counts",), {0: dict.fromkeys(range(4), 10**18)})
    network = net()
    trainer = Trainer(network.collect_params(), "adam", {"lr_scheduler": SCHEDULERS["factor"]()})
    trainer.load_states(file)
    train(network, trainer, steps=1)
    assert trainer.learning_rate == 1e-8  # stop_factor_lr


def test_no_file(tmp_path):
    trainer = Trainer(net().collect_params(), "sgd")
    with pytest.raises(FileNotFoundError):
        trainer.load_states(str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError):
        trainer.save_states(str(tmp_path / "none" / "states"))


@pytest.mark.slow
@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "name", ["adam", *(pytest.param(n, marks=pytest.mark.slow) for n in ("sgd", "rmsprop"))]
)
@pytest.mark.parametrize(
    "contexts",
    [pytest.param(ONE, marks=pytest.mark.slow), TWO],
    ids=["1 context", "2 contexts"],
)
def test_a_thousand_steps_leave_memory_flat(name, contexts):
    network = net(contexts)
    trainer = Trainer(network.collect_params(), name)
    train(network, trainer, contexts, 20)
    gc.collect()
    tracemalloc.start()
    try:
        train(network, trainer, contexts, 5)
        gc.collect()
        objects, (before, _) = len(gc.get_objects()), tracemalloc.get_traced_memory()
        train(network, trainer, contexts, 1000 if contexts is ONE else 300)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(gc.get_objects()) - objects < 20
    assert after - before < 10_000
