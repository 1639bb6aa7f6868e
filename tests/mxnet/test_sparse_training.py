"""Training with row_sparse weights and gradients: optimizers, stores, the Trainer, Module."""

import numpy as np
import pytest
from recorded import Recorded

from layers.engine import mx, nd

ROWS = [0, 3], [1, 3], [0, 4]  # of the gradients of three steps
CASES = {
    "sgd": ("sgd", {}),
    "decay": ("sgd", {"wd": 0.1, "clip_gradient": 0.3}),
    "not lazy": ("sgd", {"wd": 0.1, "lazy_update": False}),
    "momentum": ("sgd", {"momentum": 0.9, "wd": 0.1, "clip_gradient": 0.3}),
    "momentum, not lazy": ("sgd", {"momentum": 0.9, "wd": 0.1, "lazy_update": False}),
    "adam": ("adam", {"wd": 0.1, "clip_gradient": 0.3}),
    "adam, not lazy": ("adam", {"lazy_update": False}),
    "adagrad": ("adagrad", {"clip_gradient": 0.3}),
    "ftrl": ("ftrl", {"wd": 0.1, "clip_gradient": 0.3}),
    "groupadagrad": ("groupadagrad", {"clip_gradient": 0.2}),
    "nag": ("nag", {"momentum": 0.9}),
    "centered": ("rmsprop", {"centered": True}),
    **{n: (n, {}) for n in ("signum", "rmsprop", "nadam", "adadelta", "dcasgd", "lamb", "lars")},
    **{n: (n, {}) for n in ("ccsgd", "lbsgd")},
}


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("sparse_training", pytestconfig.getoption("--record"))
    yield values
    values.write()


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


def row_sparse(values, rows, n=5, ctx=None):
    return nd.sparse.row_sparse_array((values, rows), shape=(n, *np.shape(values)[1:]), ctx=ctx)


def gradients(seed=0):
    random = np.random.RandomState(seed)
    return [row_sparse(random.randn(2, 3).astype("float32"), rows) for rows in ROWS]


def parts(state):
    listed = state if isinstance(state, (tuple, list)) else [state]
    return [part for part in listed if part is not None]


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", CASES)
def test_updates(recorded, name, stype):
    """Values and storage types of a weight and its states."""
    kind, settings = CASES[name]
    optimizer = mx.optimizer.create(kind, learning_rate=0.1, **settings)
    updater = mx.optimizer.get_updater(optimizer)
    weight = nd.array(np.random.RandomState(1).randn(5, 3)).tostype(stype)
    for gradient in gradients():
        updater(0, gradient, weight)
    states = parts(updater.states[0])
    of_weight = kind in ("sgd", "adam") and settings.get("lazy_update", True)
    of_weight |= kind not in ("sgd", "adam", "nag", "nadam", "adadelta")
    assert weight.stype == stype
    assert {s.stype for s in states} <= {stype if of_weight else "default"}
    values = [x.asnumpy() for x in [weight, *states]]
    recorded.check(f"{name} {stype}", values, 1e-5, 1e-6)


def test_a_sparse_gradient_with_a_decay_that_adagrad_has_not():
    updater = mx.optimizer.get_updater(mx.optimizer.AdaGrad(wd=0.1))
    weight = nd.ones((5, 3))
    with pytest.raises(RuntimeError):
        updater(0, gradients()[0], weight)
        nd.waitall()


def test_rows_of_a_gradient_are_all_that_changes():
    updater = mx.optimizer.get_updater(mx.optimizer.Adam(wd=0.5))
    weight = nd.ones((5, 3))
    updater(0, gradients()[0], weight)
    changed = (weight.asnumpy() != 1).any(1)
    assert changed.tolist() == [True, False, False, True, False]


@pytest.mark.engine("torch")
def test_an_update_of_few_rows_writes_into_the_table():
    """Copied once, a table of any size takes the time of the rows."""
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    weight = nd.ones((5, 3)).tostype("row_sparse")
    arrays, places = [], []
    for gradient in gradients():
        updater(0, gradient, weight)
        arrays = [weight, *updater.states[0]]
        places.append(weight._stored.values.data_ptr())
    assert len({*places}) == 1
    kept = [array.detach() for array in arrays]
    before = [array.asnumpy() for array in kept]
    updater(0, gradients(1)[0], weight)
    assert weight._stored.values.data_ptr() != places[0]
    assert not np.array_equal(weight.asnumpy(), before[0])
    np.testing.assert_array_equal(kept[0].asnumpy(), before[0])


@pytest.mark.engine("torch")
def test_an_operator_that_gives_the_weight_writes_into_it():
    weight = nd.ones((5, 3)).tostype("row_sparse")
    places, before = [], weight.copy()
    for gradient in gradients():
        assert nd.sparse.sgd_update(weight, gradient, out=weight, lr=0.1) is weight
        places.append(weight._stored.values.data_ptr())
        before = nd.sparse.sgd_update(before, gradient, lr=0.1)  # another array each time
    assert len({*places}) == 1
    np.testing.assert_array_equal(weight.asnumpy(), before.asnumpy())


@pytest.mark.engine("torch")  # MXNet's output is the table, and its gradient of the new values
@pytest.mark.parametrize("keep", ["copy", "identity", "output", "gradient"])
def test_what_was_computed_before_an_update_stays(keep):
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1.0))
    weight = nd.ones((5, 3)).tostype("row_sparse")
    for gradient in gradients()[:2]:  # from then on the table is the weight's own
        updater(0, gradient, weight)
    values = weight.asnumpy()
    if keep == "copy":
        kept = weight.copy()
    elif keep == "output":
        (kept,) = mx.sym.var("w", stype="row_sparse").bind(mx.cpu(), {"w": weight}).forward()
    elif keep == "identity":
        kept = nd.identity(weight)
    else:
        x = nd.ones((2, 5)).tostype("csr")
        x.attach_grad()
        with mx.autograd.record():
            y = nd.sparse.dot(x, weight)
        values = np.tile(values.sum(1), (2, 1))
    updater(0, gradients()[2], weight)
    if keep == "gradient":
        y.backward()
        kept = x.grad
    np.testing.assert_allclose(kept.asnumpy(), values, 1e-5)


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", ["nag", "lars", "lbsgd", "groupadagrad", "sgd"])
def test_a_gradient_stays_as_it_is(name, stype):
    """With the rows that are stored, of zeros too."""
    updater = mx.optimizer.get_updater(mx.optimizer.create(name))
    gradient = row_sparse(np.float32([[0, 0], [1, 1]]), [1, 3])
    updater(0, gradient, nd.ones((5, 2)).tostype(stype))
    assert gradient.indices.asnumpy().tolist() == [1, 3]


@pytest.mark.engine("torch")
def test_states_of_a_table_of_ten_million_rows_take_the_rows_that_are_used():
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    weight = nd.sparse.zeros("row_sparse", (10_000_000, 8))
    for rows in ([5, 9_999_999], [5, 70]):
        updater(0, row_sparse(np.ones((2, 8), "float32"), rows, 10_000_000), weight)
    for array in (weight, *updater.states[0]):
        assert array.indices.asnumpy().tolist() == [5, 70, 9_999_999]


@pytest.mark.engine("torch")
def test_a_weight_of_16_bits():
    optimizer = mx.optimizer.SGD(learning_rate=0.5, momentum=0.9, multi_precision=True)
    updater = mx.optimizer.get_updater(optimizer)
    for stype in ("default", "row_sparse"):
        weight = nd.ones((5, 3), dtype="float16").tostype(stype)
        updater(stype, row_sparse(np.ones((2, 3), "float16"), [0, 3]), weight)
        assert weight.asnumpy()[:, 0].tolist() == [0.5, 1, 1, 0.5, 1] and weight.stype == stype


# Stores


def ones(rows, value=1.0, ctx=None):
    return row_sparse(np.full((len(rows), 2), value, "float32"), rows, 4, ctx)


def pulled(store, key="a", stype="default", **options):
    out = nd.zeros((4, 2)).tostype(stype)
    store.pull(key, out=out, **options)
    return out.asnumpy()[:, 0].tolist()


def rows_pulled(store, row_ids, key="a"):
    out = nd.zeros((4, 2)).tostype("row_sparse")
    store.row_sparse_pull(key, out=out, row_ids=nd.array(row_ids))
    return out.indices.asnumpy().tolist(), out.data.asnumpy()[:, 0].tolist()


@pytest.mark.parametrize("kind", ["local", "device"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_a_store_sums_rows(kind, stype):
    store = mx.kv.create(kind)
    store.init("a", nd.ones((4, 2)).tostype(stype))
    assert pulled(store) == [1, 1, 1, 1]
    store.push("a", [ones([0]), ones([0, 2], 2, mx.cpu(1))])
    assert pulled(store) == [3, 0, 2, 0]
    store.push("a", ones([3]))
    assert pulled(store) == [0, 0, 0, 1]
    out = nd.zeros((4, 2))
    store.pushpull("a", [ones([1]), ones([2])], out=out)
    assert out.asnumpy()[:, 0].tolist() == [0, 1, 1, 0]
    store.push("a", nd.ones((4, 2)))
    assert pulled(store) == [1, 1, 1, 1]


def test_sparse_arrays_are_left_out_of_a_pull():
    store = mx.kv.create()
    store.init("a", nd.ones((4, 2)).tostype("row_sparse"))
    assert pulled(store, stype="row_sparse") == [0, 0, 0, 0]
    assert pulled(store, stype="row_sparse", ignore_sparse=False) == [1, 1, 1, 1]
    values = [ones([1]), ones([2])]
    store.pushpull("a", values)
    assert [v.indices.asnumpy().tolist() for v in values] == [[1], [2]]


def test_rows_are_pulled():
    store = mx.kv.create()
    store.init(["a", "b"], [nd.ones((4, 2)).tostype("row_sparse"), ones([2], 5)])
    assert rows_pulled(store, [[1, 3], [1, 1]]) == ([1, 3], [1, 1])
    assert pulled(store, "b") == [0, 0, 5, 0]
    out = [ones([0]) for _ in range(2)]
    store.row_sparse_pull("a", out=out, row_ids=[nd.array([0]), nd.array([2, 1])])
    assert [x.indices.asnumpy().tolist() for x in out] == [[0], [1, 2]]
    store.row_sparse_pull("a", out=out, row_ids=nd.array([3]))
    assert [x.indices.asnumpy().tolist() for x in out] == [[3], [3]]


def test_what_cannot_be_pulled_by_rows():
    store = mx.kv.create()
    store.init(["a", "b"], [nd.ones((4, 2)), nd.ones((4, 2)).tostype("row_sparse")])
    with pytest.raises(RuntimeError):
        rows_pulled(store, [0])
    with pytest.raises(RuntimeError):
        store.row_sparse_pull("b", out=nd.ones((4, 2)), row_ids=nd.array([0]))
    with pytest.raises(AssertionError):
        store.row_sparse_pull("b", out=ones([0]))


@pytest.mark.engine("torch")  # MXNet reads beyond the array
@pytest.mark.parametrize("row", [-1, 4])
def test_rows_that_are_not_there_cannot_be_pulled(row):
    store = mx.kv.create()
    store.init("a", nd.ones((4, 2)).tostype("row_sparse"))
    with pytest.raises(ValueError, match=rf"row_ids go from {min(row, 1)} to {max(row, 1)}"):
        rows_pulled(store, [1, row])


def zeros_of_rows(*shape):
    return nd.sparse.zeros("row_sparse", shape)


UNFIT = {  # what is pulled, into what, by which row_ids; and what the message says
    "a-dense-key": (
        "a",
        zeros_of_rows(4, 2),
        nd.array([0]),
        "key 'a' is of storage type 'default'",
    ),
    "into-dense": (
        "b",
        nd.ones((4, 2)),
        nd.array([0]),
        "key 'b': out is of storage type 'default'",
    ),
    "shape": ("b", zeros_of_rows(4, 3), nd.array([0]), "key 'b': out is (4, 3)\n  expected (4, 2)"),
    "no-array": ("b", 3, nd.array([0]), "key 'b': out has 3 (int)"),
    "a-list": ("b", zeros_of_rows(4, 2), [1, 2], "key 'b': row_ids has 1 (int)"),
    "too-many": ("b", zeros_of_rows(4, 2), [nd.array([0])] * 2, "key 'b': 2 row_ids for 1 arrays"),
    "beyond": ("b", zeros_of_rows(4, 2), nd.array([4]), "key 'b': row_ids go from 4 to 4"),
}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("case", UNFIT)
def test_what_cannot_be_pulled_by_rows_is_told_with_the_key(case):
    key, out, row_ids, text = UNFIT[case]
    store = mx.kv.create()
    store.init(["a", "b"], [nd.ones((4, 2)), nd.ones((4, 2)).tostype("row_sparse")])
    with pytest.raises(mx.MXNetError) as refused:
        store.row_sparse_pull(key, out=out, row_ids=row_ids)
    assert text in str(refused.value)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_an_array_of_another_shape_is_not_pulled_into(stype):
    store = mx.kv.create()
    store.init(7, nd.ones((4, 2)).tostype(stype))
    with pytest.raises(ValueError, match=r"pull: key 7: out is \(4, 3\)\n  expected \(4, 2\)"):
        store.pull(7, out=nd.zeros((4, 3)).tostype(stype), ignore_sparse=False)


def test_an_optimizer_of_a_store_is_given_rows():
    store = mx.kv.create("device")
    store.init("a", nd.ones((4, 2)).tostype("row_sparse"))
    store.set_optimizer(mx.optimizer.SGD(momentum=0.5, learning_rate=1.0))
    store.push("a", [ones([0]), ones([0, 2])])
    store.push("a", ones([1]))
    assert pulled(store) == [-1, 0, 0, 1]
    state = store._updater.states["a"]
    assert (state.stype, state.asnumpy()[:, 0].tolist()) == ("row_sparse", [-2, -1, -1, 0])


# The Trainer


def table(stype="default", grad_stype="row_sparse", contexts=2, **options):
    """A parameter of zeros and its Trainer."""
    parameter = mx.gluon.Parameter("x", shape=(5, 1), stype=stype, grad_stype=grad_stype)
    parameter.initialize(init="zeros", ctx=[mx.cpu(k) for k in range(contexts)])
    settings = {"learning_rate": 0.1, "momentum": 0.5}
    return parameter, mx.gluon.Trainer([parameter], "sgd", settings, **options)


def values(parameter):
    rows = nd.arange(5)
    sparse = parameter._stype == "row_sparse"
    return (parameter.row_sparse_data(rows) if sparse else parameter.data(mx.cpu(0))).asnumpy()[
        :, 0
    ]


def step(parameter, trainer, rows):
    """A step by a gradient of 1 for each of these rows, on every context."""
    numbers = [nd.array(rows, ctx=context) for context in parameter.list_ctx()]
    with mx.autograd.record():
        if parameter._stype == "row_sparse":
            arrays = [parameter.row_sparse_data(n) for n in numbers]
        else:
            arrays = parameter.list_data()
        sums = [
            nd.Embedding(n, w, input_dim=5, output_dim=1, sparse_grad=True).sum()
            for n, w in zip(numbers, arrays)
        ]
    mx.autograd.backward(sums)
    trainer.step(1)


@pytest.mark.parametrize("contexts", [1, 2])
@pytest.mark.parametrize("kind", ["local", "device"])
@pytest.mark.parametrize(
    "stype, asked, on_store",
    [
        ("default", None, False), ("default", True, True), ("default", False, False),
        ("row_sparse", None, True),
    ],
)  # fmt: skip
def test_a_trainer_with_rows(kind, stype, asked, on_store, contexts):
    if contexts == 1 and asked:
        pytest.skip("MXNet fails for update_on_kvstore=True on one context")
    parameter, trainer = table(stype, contexts=contexts, kvstore=kind, update_on_kvstore=asked)
    for rows in ([0, 2], [0, 3]):
        step(parameter, trainer, rows)
    expected = np.array([-0.25, 0, -0.1, -0.1, 0]) * contexts
    np.testing.assert_allclose(values(parameter), expected, 1e-5)
    stored = contexts > 1 or stype == "row_sparse"
    assert trainer._update_on_kvstore is (on_store if stored else None)


def test_rows_that_must_be_updated_on_a_store():
    parameter, trainer = table("row_sparse", update_on_kvstore=False)
    with pytest.raises(ValueError, match="update_on_kvstore=False"):
        step(parameter, trainer, [0])
    for stype in ("default", "row_sparse"):
        parameter, trainer = table(stype, kvstore="teststore")
        with pytest.raises((ValueError, AssertionError)):
            step(parameter, trainer, [0])


def test_a_row_sparse_parameter_has_one_trainer():
    parameter, trainer = table("row_sparse")
    with pytest.raises(RuntimeError, match="(?i)trainer"):
        mx.gluon.Trainer([parameter], "sgd")
    parameter._set_trainer(None)
    parameter._set_trainer(trainer)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # MXNet's open file
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_states_with_rows_go_on(tmp_path, stype):
    found = []
    for loads in (False, True):
        parameter, trainer = table(stype)
        step(parameter, trainer, [0, 2])
        trainer.save_states(str(tmp_path / "states"))
        if loads:
            trainer.load_states(str(tmp_path / "states"))
        step(parameter, trainer, [0, 3])
        found.append(values(parameter))
    np.testing.assert_array_equal(*found)


@pytest.mark.engine("torch")
def test_a_compiled_step_leaves_rows_to_the_trainer():
    for stype, expected in (("default", False), ("row_sparse", False)):
        assert table(stype, contexts=1)[1].updates_here is expected
    assert table("default", "default", contexts=1)[1].updates_here


# Module


def linear(contexts, store, **settings):
    """A Module with csr data and a row_sparse weight, after two epochs; and what was asked."""
    weight = mx.sym.Variable("weight", shape=(6, 2), stype="row_sparse")
    y = mx.sym.sparse.dot(mx.sym.Variable("data", stype="csr"), weight)
    y = mx.sym.broadcast_add(y, mx.sym.Variable("bias", shape=(2,)))
    module = mx.mod.Module(
        mx.sym.SoftmaxOutput(y, mx.sym.Variable("softmax_label"), name="softmax"),
        context=[mx.cpu(k) for k in range(contexts)],
    )
    random, data, asked = np.random.RandomState(0), np.zeros((8, 6)), []
    data[np.arange(8), random.randint(0, 4, 8)] = random.rand(8) + 1
    csr = nd.array(data).tostype("csr")
    batches = mx.io.NDArrayIter(csr, nd.arange(8) % 2, 4, last_batch_handle="discard")

    def rows(batch):
        asked.append(batch.data[0].shape)
        return {"weight": nd.arange(6)}

    module.bind([("data", (4, 6))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    module.init_optimizer(store, "sgd", {"learning_rate": 0.5} | settings)
    for _ in range(2):
        batches.reset()
        for batch in batches:
            told = {"sparse_row_id_fn": rows} if module._kvstore else {}
            module.prepare(batch, **told)
            module.forward_backward(batch)
            module.update()
    return module, asked


@pytest.mark.parametrize("settings", [{}, {"momentum": 0.9}], ids=["sgd", "momentum"])
@pytest.mark.parametrize("contexts, by_name", [(1, True), (1, False), (2, True), (2, False)])
def test_a_module_with_rows(recorded, contexts, by_name, settings):
    module, asked = linear(contexts, "local" if by_name else mx.kv.create("device"), **settings)
    found = module.get_params()[0]
    assert (found["weight"].stype, found["bias"].stype) == ("row_sparse", "default")
    if contexts > 1 or not by_name:
        assert asked == [(4, 6)] * 4
    values = [found[name].asnumpy() for name in ("weight", "bias")]
    recorded.check(f"module {settings}", values, 1e-5, 1e-6)


@pytest.mark.engine("torch")
def test_rows_of_a_parameter_that_is_not_there():
    module, _ = linear(1, mx.kv.create())
    for wrong in ([1], {"nothing": nd.ones(1)}):
        with pytest.raises(ValueError, match="sparse_row_id_fn"):
            module.prepare(None, sparse_row_id_fn=lambda batch, wrong=wrong: wrong)


# Operators


UPDATES = {
    "sgd_update": (0, {"wd": 0.1}),
    "sgd_update, not lazy": (0, {"wd": 0.1, "lazy_update": False}),
    "sgd_mom_update": (1, {"wd": 0.1, "momentum": 0.9}),
    "sgd_mom_update, not lazy": (1, {"wd": 0.1, "momentum": 0.9, "lazy_update": False}),
    "adam_update": (2, {}),
    "ftrl_update": (2, {"wd": 0.1}),
    "adagrad_update": (1, {"clip_gradient": 0.5}),
}


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", UPDATES)
def test_operators_that_update(recorded, name, stype):
    count, settings = UPDATES[name]
    weight = nd.array(np.random.RandomState(1).randn(5, 3)).tostype(stype)
    states = [nd.zeros((5, 3)).tostype(stype) for _ in range(count)]
    update = getattr(nd.sparse, name.split(",")[0])
    for gradient in gradients():
        update(weight, gradient, *states, out=weight, lr=0.1, **settings)
    assert {x.stype for x in (weight, *states)} == {stype}
    values = [x.asnumpy() for x in (weight, *states)]
    recorded.check(f"operator {name} {stype}", values, 1e-5, 1e-6)


@pytest.mark.parametrize(
    "of_weight, of_state", [("row_sparse", "default"), ("default", "row_sparse")]
)
@pytest.mark.parametrize("update", ["sgd_mom_update", "adam_update"])
def test_a_lazy_update_wants_states_stored_as_the_weight(update, of_weight, of_state):
    weight = nd.ones((3, 2)).tostype(of_weight)
    states = [nd.ones((3, 2)).tostype(of_state) for _ in range(1 + (update == "adam_update"))]
    options = {"lr": 0.25, "out": weight} | ({} if len(states) == 2 else {"momentum": 0.5})
    getattr(nd, update)(
        weight, nd.sparse.row_sparse_array(([[1, 1]], [1]), shape=(3, 2)), *states, **options
    )
    assert (weight.asnumpy() != 1).all()
