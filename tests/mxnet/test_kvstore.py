"""The store: what is pushed is summed, an optimizer may run in it."""

import numpy as np
import pytest
from recorded import Recorded

from layers.engine import mx, nd

create = mx.kv.create


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("kvstore", pytestconfig.getoption("--record"))
    yield values
    values.write()


def pulled(store, key, size=2):
    out = nd.zeros(size)
    store.pull(key, out=out)
    return out.asnumpy().tolist()


def test_one_process():
    store = create("device")
    assert (store.type, store.rank, store.num_workers) == ("device", 0, 1)
    assert store.is_capable("optimizer")


def test_push_sums():
    store = create("local")
    store.init("a", nd.ones(2))
    assert pulled(store, "a") == [1, 1]
    store.push("a", [nd.ones(2, ctx=mx.cpu(i)) * (i + 1) for i in range(3)])
    assert pulled(store, "a") == [6, 6]


def test_several_keys():
    store = create("local")
    store.init([1, 2], [nd.ones(2), nd.ones(2)])
    store.push([1, 2], [[nd.ones(2)], [nd.ones(2), nd.ones(2)]])
    assert [pulled(store, k) for k in (1, 2)] == [[1, 1], [2, 2]]


@pytest.mark.engine("torch")
def test_what_is_kept_is_ones_own():
    store, value = create("local"), nd.ones(2)
    store.init("a", value)
    store.push("a", value)
    value[:] = 5
    assert pulled(store, "a") == [1, 1]


def test_an_optimizer():
    store = create("local")
    store.init(3, nd.ones(2))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.25))
    store.push(3, [nd.ones(2), nd.ones(2)])
    assert pulled(store, 3) == [0.5, 0.5]


def test_broadcast():
    out = [nd.zeros(2), nd.zeros(2, ctx=mx.cpu(1))]
    create("local").broadcast("z", nd.ones(2) * 4, out=out)
    assert [o.asnumpy().tolist() for o in out] == [[4, 4], [4, 4]]


@pytest.mark.engine("torch")
def test_pushpull():
    store, values = create("device"), [nd.ones(2), nd.ones(2)]
    store.init("a", nd.zeros(2))
    store.pushpull("a", values)
    assert [v.asnumpy().tolist() for v in values] == [[2, 2], [2, 2]]


@pytest.mark.engine("torch")
def test_states(tmp_path):
    stores = [create("local") for _ in range(2)]
    for store in stores:
        store.init(3, nd.ones(2))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.25, momentum=0.9))
    stores[0].push(3, nd.ones(2))
    stores[0].save_optimizer_states(tmp_path / "s")
    stores[1].load_optimizer_states(tmp_path / "s")
    for store in stores:
        store._arrays[3][:] = 1
        store.push(3, nd.ones(2))
    np.testing.assert_array_equal(*(pulled(store, 3) for store in stores))


@pytest.mark.engine("torch")
def test_states_of_other_arrays(tmp_path):
    stores = [create("local") for _ in range(2)]
    for store, size in zip(stores, (2, 3)):
        store.init(3, nd.ones(size))
        store.set_optimizer(mx.optimizer.SGD(learning_rate=0.25, momentum=0.9))
    stores[0].push(3, nd.ones(2))
    stores[0].save_optimizer_states(tmp_path / "s")
    with pytest.raises(ValueError, match=r"s: the state of parameter 3 is \(2,\) float32"):
        stores[1].load_optimizer_states(tmp_path / "s")
    stores[1].push(3, nd.ones(3))


def test_values_of_one_key_are_summed():
    store, calls = create("local"), []
    store.init("a", nd.ones(2))
    store._set_updater(lambda key, received, kept: calls.append((key, received.asnumpy().tolist())))
    store.push(["a", "a"], [nd.ones(2), nd.ones(2) * 2])
    nd.waitall()
    assert calls == [(b"a", [3, 3])]  # MXNet gives an updater bytes, and an Optimizer text


def test_an_updater_changes_what_is_kept():
    store = create("device")
    store.init(3, nd.ones(2))

    def add(key, received, kept):
        kept += received * key

    store._set_updater(add)
    store.push(3, [nd.ones(2), nd.ones(2)])
    assert pulled(store, 3) == [7, 7]


def test_an_optimizer_knows_keys_that_are_text():
    store = create("device")
    store.init("w", nd.ones(2))
    store.set_optimizer(mx.optimizer.SGD(momentum=0.5))
    store.push("w", nd.ones(2))
    nd.waitall()
    assert list(store._updater.states) == ["w"]


GRADIENTS = [[0.1, 0.3, 0.6, -0.7, -0.2, 2.0], [0.2, 0.3, 0.4, -0.4, -0.3, -1.3]]


def test_gradients_in_two_bits(recorded):
    """What a sum leaves out comes with the next ones, for each of the contexts."""
    store = create("device")
    store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    store.init("a", nd.zeros(6))
    found = []
    for t in range(5):
        values = [nd.array(g, ctx=mx.cpu(k)) * (1 + t / 7) for k, g in enumerate(GRADIENTS)]
        store.push("a", values)
        found.append(pulled(store, "a", 6))
    store.init("one", nd.zeros(6))
    store.push("one", nd.array(GRADIENTS[0]))
    found.append(pulled(store, "one", 6))
    recorded.check("two bits", [np.array(found)], 0, 0)


@pytest.mark.parametrize(
    "given", [{"type": "1bit"}, {}, {"type": "2bit", "threshold": 0}, {"threshold": 1}, None]
)
def test_other_compressions(given):
    with pytest.raises((RuntimeError, AssertionError)):
        create("device").set_gradient_compression(given)


@pytest.mark.parametrize("kind", ["local", "teststore"])
def test_stores_that_do_not_compress(kind):
    with pytest.raises(Exception, match="(?i)compress"):
        create(kind).set_gradient_compression({"type": "2bit"})


@pytest.mark.engine("torch")  # MXNet fails later, on a thread of its own
def test_gradients_that_cannot_be_compressed():
    store = create("device")
    store.set_gradient_compression({"type": "2bit"})
    store.init(1, nd.zeros(2, dtype="int32"))
    with pytest.raises(TypeError, match="key .* is int32\n"):
        store.push(1, nd.ones(2, dtype="int32"))
    rows = nd.ones((3, 1)).tostype("row_sparse")
    store.init(2, rows)
    with pytest.raises(
        NotImplementedError, match="'device': .* row_sparse array \\(3, 1\\)\n  expected"
    ):
        store.push(2, rows)
    with pytest.raises(RuntimeError, match="threshold is 'x'"):
        store.set_gradient_compression({"type": "2bit", "threshold": "x"})


@pytest.mark.engine("torch")
def test_two_bits_are_packed_as_mxnet_sends_them():
    from layers.mxnet.kvstore._compression import TwoBit, _packed

    torch = pytest.importorskip("torch")
    sent = torch.tensor([0.5, -0.5, 0.0, 0.5, -0.5])
    codes = _packed(sent)
    assert codes.tolist() == [0b11_10_00_11, 0b10_00_00_00]
    assert TwoBit({"type": "2bit"})._unpacked(codes, sent).equal(sent)


def test_capabilities():
    for name, runs_optimizer in (("device", True), ("teststore", False)):
        assert create(name).is_capable("Optimizer") is runs_optimizer
        with pytest.raises(ValueError, match="speed"):
            create(name).is_capable("speed")


def test_the_store_for_tests_sums_and_copies():
    store, values = create("TestStore"), [nd.ones(2), nd.ones(2, ctx=mx.cpu(1)) * 2]
    out = [nd.zeros(2, ctx=mx.cpu(i)) for i in range(2)]
    store.broadcast("a", nd.ones(2) * 4, out=out)
    assert [o.asnumpy().tolist() for o in out] == [[4, 4], [4, 4]]
    store.pushpull("a", values, out=out)
    assert [o.asnumpy().tolist() for o in out] == [[3, 3], [3, 3]]
    assert values[0].asnumpy().tolist() == [1, 1]
    store.pushpull("a", values)
    assert [v.asnumpy().tolist() for v in values] == [[3, 3], [3, 3]]
    assert (store.type, store.rank, store.num_workers) == ("teststore", 0, 1)


@pytest.mark.parametrize("of", ["teststore", None], ids=str)
def test_what_a_store_does_not_define(of):
    store = create(of) if of else mx.kv.KVStoreBase()
    for call in (
        lambda: store.set_optimizer(mx.optimizer.SGD()),
        lambda: store.save_optimizer_states("f"),
        lambda: store.load_optimizer_states("f"),
        lambda: of or store.type,
        lambda: of or store.rank,
        lambda: of or store.num_workers,
        lambda: of or store.is_capable("optimizer"),
        lambda: of or store.broadcast(1, nd.ones(1), [nd.ones(1)]),
        lambda: of or store.pushpull(1, [nd.ones(1)]),
    ):
        try:
            assert call() == of
        except NotImplementedError:
            pass


@pytest.fixture
def registry():
    before = dict(mx.kv.KVStoreBase.kv_registry)
    yield mx.kv.KVStoreBase.kv_registry
    mx.kv.KVStoreBase.kv_registry.clear()
    mx.kv.KVStoreBase.kv_registry.update(before)


def test_a_store_is_registered_by_the_name_of_its_class(registry):
    @mx.kv.KVStoreBase.register
    class Mine(mx.kv.KVStoreBase):
        pass

    assert type(create("mine")) is type(create("MINE")) is Mine is registry["mine"]
    with pytest.warns(UserWarning, match="(?i)mine"):
        mx.kv.KVStoreBase.register(type("Mine", (Mine,), {}))
    assert create("mine").__class__ is not Mine
    with pytest.raises(AssertionError):
        mx.kv.KVStoreBase.register("mine")


def test_a_registered_class_need_not_be_a_subclass(registry):
    @mx.kv.KVStoreBase.register
    class Mine:
        broadcast = mx.kv.base.TestStore.broadcast
        pushpull = mx.kv.base.TestStore.pushpull
        is_capable = staticmethod(mx.kv.base.TestStore.is_capable)
        type = "mine"

    w = mx.gluon.Parameter("w", shape=(1,))
    w.initialize("zeros", ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = mx.gluon.Trainer([w], "sgd", {"learning_rate": 1}, kvstore="mine")
    with mx.autograd.record():
        ys = [x * 2 for x in w.list_data()]
    mx.autograd.backward(ys)
    trainer.step(1)
    assert [x.asscalar() for x in w.list_data()] == [-4, -4]


@pytest.mark.engine("torch")  # MXNet fails at the first step
def test_a_registered_class_without_the_methods_of_a_store(registry):
    mx.kv.KVStoreBase.register(type("Mine", (), {"broadcast": None}))
    w = mx.gluon.Parameter("w", shape=(1,))
    w.initialize()
    with pytest.raises(ValueError, match="Mine has no is_capable, pushpull"):
        mx.gluon.Trainer([w], "sgd", kvstore="mine")


def test_refused():
    store = create("local")
    store.init("a", nd.ones(2))
    with pytest.raises(RuntimeError, match="a"):
        store.init("a", nd.ones(2))
    with pytest.raises(RuntimeError, match="b"):
        store.pull("b", out=nd.ones(2))


CALLS = {
    "init": lambda store, key: store.init(key, nd.ones(2)),
    "push": lambda store, key: store.push(key, nd.ones(2)),
    "pull": lambda store, key: store.pull(key, out=nd.ones(2)),
    "pushpull": lambda store, key: store.pushpull(key, nd.ones(2), out=nd.ones(2)),
    "broadcast": lambda store, key: store.broadcast(key, nd.ones(2), out=nd.ones(2)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("known, other", [(3, "a"), ("a", 3)])
def test_keys_of_two_types(known, other, call):
    store = create("local")
    store.init(known, nd.ones(2))
    with pytest.raises(mx.MXNetError, match="is an? [si].+ already|Mixed key types"):
        call(store, other)
    assert pulled(store, known) == [1, 1]


@pytest.mark.parametrize("keys", [[3, "a"], ["a", 3]])
def test_keys_of_two_types_in_a_list(keys):
    store = create("local")
    with pytest.raises(AssertionError, match="expected all ints, or all strings|inconsistent type"):
        store.init(keys, [nd.ones(2), nd.ones(2)])
    store.init(4, nd.ones(2))
    assert pulled(store, 4) == [1, 1]


@pytest.mark.engine("torch")
def test_other_types():
    with pytest.raises(NotImplementedError, match="'faraway'(.|\n)*device(.|\n)*dist_sync"):
        create("faraway")
    with pytest.raises(TypeError, match="3"):
        create(3)
