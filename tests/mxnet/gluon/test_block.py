"""Blocks: names, parameters, files, calls; MXNet's behaviour where no test says otherwise."""

import copy
import gc
import pickle
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd

nn = gluon.nn
CPU0, CPU1 = mx.cpu(0), mx.cpu(1)


@pytest.fixture(autouse=True)
def _count_from_zero():
    with mx.name.NameManager():
        yield


class Net(gluon.HybridBlock):
    """Children in all the ways that they are named."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = nn.Dense(4, activation="relu")
            self.features = nn.HybridSequential()
            with self.features.name_scope():
                self.features.add(nn.Dense(3), nn.Dense(2))
            self.open = nn.HybridSequential(prefix="")
            with self.open.name_scope():
                self.open.add(nn.Dense(2))
            self.named = nn.Dense(2, prefix="named_")
            self.scale = self.params.get("scale", shape=(1,), init="ones")

    def hybrid_forward(self, F, x, scale):
        x = self.features(self.first(x))
        return F.broadcast_mul(self.named(self.open(x)), scale)


NAMES = [
    "scale",
    "dense0_weight",
    "dense0_bias",
    "hybridsequential0_dense0_weight",
    "hybridsequential0_dense0_bias",
    "hybridsequential0_dense1_weight",
    "hybridsequential0_dense1_bias",
    "dense1_weight",
    "dense1_bias",
    "named_weight",
    "named_bias",
]
STRUCTURAL = [
    "scale",
    "first.weight",
    "first.bias",
    "features.0.weight",
    "features.0.bias",
    "features.1.weight",
    "features.1.bias",
    "open.0.weight",
    "open.0.bias",
    "named.weight",
    "named.bias",
]


def x_of(*shape, ctx=None):
    return nd.array(np.random.RandomState(0).uniform(-1, 1, shape), ctx=ctx)


def used(net, *shape, ctx=None):
    """The net, initialized and called once."""
    net.initialize(ctx=ctx)
    net(x_of(*(shape or (2, 5)), ctx=ctx if isinstance(ctx, mx.Context) else None))
    return net


def row(*layers, **kwargs):
    net = nn.HybridSequential(**kwargs)
    with net.name_scope():
        net.add(*(layers or (nn.Dense(3, activation="relu"), nn.BatchNorm(), nn.Dense(2))))
    return net


def same(one, other):
    np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6, atol=1e-7)


# Names


@pytest.mark.engine("torch")
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_child_that_was_left_out_of_initialize(hybridized):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(4), nn.Dense(2))
    if hybridized:
        net.hybridize()
    net[0].initialize()
    told = r"'net_dense1_weight': it has not been initialized\n  expected initialize\(\) or load_p"
    with pytest.raises(RuntimeError, match=told):
        net(nd.ones((1, 3)))


def test_names():
    net = Net()
    assert net.prefix == "net0_" and net.name == "net0"
    assert list(net.collect_params()) == [f"net0_{name}" for name in NAMES]
    assert list(net.params) == ["net0_scale"]
    assert net.features.prefix == "net0_hybridsequential0_" and net.open.prefix == "net0_"
    assert net.first.act.prefix == "net0_dense0_relu_"


def test_names_without_a_prefix():
    nn.Dense(1)
    assert list(Net(prefix="").collect_params())[:2] == ["scale", "dense1_weight"]


def test_names_outside_of_a_scope():
    assert [nn.Dense(1).prefix, nn.Dense(1).prefix] == ["dense0_", "dense1_"]
    assert [Net().prefix, Net().prefix] == ["net0_", "net1_"]
    assert nn.Dense(1, prefix="a_").name == nn.Dense(1, prefix="a").name == "a"


def test_names_are_counted_on_in_a_scope_entered_again():
    net = Net()
    with net.name_scope():
        assert nn.Dense(1).prefix == "net0_dense2_"


def test_names_in_a_thread_of_its_own():
    nn.Dense(1)
    found = []
    thread = threading.Thread(target=lambda: found.append(nn.Dense(1).prefix))
    thread.start()
    thread.join()
    assert found == ["dense0_"]


def test_name_managers():
    nn.Dense(1)
    with mx.name.Prefix("outer_"):
        assert nn.Dense(1).weight.name == "outer_dense0_weight"
    with mx.name.NameManager():
        assert nn.Dense(1).prefix == "dense0_"
    assert nn.Dense(1).prefix == "dense1_"
    assert mx.name.Prefix("a_").get("b", "hint") == "a_b"


def test_an_exception_leaves_the_scopes_as_they_were():
    class Broken(gluon.Block):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.child = nn.Dense(1)
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Broken()
    assert nn.Dense(1).prefix == "dense0_"


@pytest.mark.engine("torch")
def test_a_scope_within_itself():  # MXNet: 'NoneType' object has no attribute '__exit__'
    net = Net()
    with net.name_scope(), net.name_scope():
        assert nn.Dense(1).prefix == "net0_dense2_"
    assert nn.Dense(1).prefix == "dense0_"


# Children and parameters


def test_structural_names():
    assert list(Net()._collect_params_with_prefix()) == STRUCTURAL


def test_select():
    net = Net()
    assert list(net.collect_params(".*bias|net0_scale")) == [
        f"net0_{name}" for name in NAMES if name == "scale" or name.endswith("bias")
    ]
    assert list(net.collect_params("bias")) == []


def test_parameters_are_shared():
    one = nn.Dense(2, in_units=3)
    other = nn.Dense(2, in_units=3, params=one.params)
    assert other.weight is one.weight and other.prefix == "dense1_"
    assert list(other.collect_params()) == list(one.collect_params())


def test_children_are_shared():
    one = Net(prefix="a_")
    other = Net(prefix="b_", params=one.collect_params())
    assert other.features[0].weight is one.features[0].weight and other.scale is one.scale
    assert list(other.collect_params()) == list(one.collect_params())


def test_attributes_keep_their_type():
    net = Net()
    net.first = nn.Dense(7)
    assert net.collect_params()["dense0_weight"].shape == (7, 0)
    for value in (3, None, nn.Flatten()):
        with pytest.raises(TypeError, match="first"):
            net.first = value
    with pytest.raises(AssertionError, match="Parameter"):
        net.scale = gluon.Parameter("other", shape=(1,))
    net.plain = 1
    net.plain = nn.Dense(1)
    assert net._children["plain"] is net.plain


def test_children_of_hybrid_blocks():
    for child in (nn.Sequential(), nn.Lambda("relu")):
        with pytest.raises(ValueError, match="HybridBlock"):
            Net().child = child
        with pytest.raises(ValueError, match="HybridSequential"):
            nn.HybridSequential().add(child)


@pytest.mark.engine("torch")
def test_children_are_blocks():  # MXNet fails later
    with pytest.raises(ValueError, match="3"):
        nn.Sequential().add(3)

    class Early(gluon.Block):
        def __init__(self):
            self.child = nn.Dense(1)

    with pytest.raises(AttributeError, match=r"super\(\).__init__"):
        Early()


def test_blocks_in_a_list_are_not_found():
    class Listed(gluon.Block):
        def __init__(self):
            super().__init__()
            self.children = {"a": [nn.Dense(1)]}

    with pytest.warns(UserWarning, match="Listed.children.* unregistered container"):
        assert list(Listed().collect_params()) == []


@pytest.mark.engine("torch")  # MXNet writes one of the two
def test_two_parameters_of_one_structural_name(tmp_path):
    net = gluon.nn.Sequential()
    inner = nn.Sequential()
    inner.add(nn.Dense(2, in_units=3))
    net.register_child(inner, "a")
    net.register_child(nn.Dense(4, in_units=3), "a.0")
    net.initialize()
    nd.save(str(tmp_path / "a.params"), {"a.0.weight": nd.ones((4, 3))})
    before = (tmp_path / "a.params").read_bytes()
    for use in (
        lambda: net.save_parameters(str(tmp_path / "a.params")),
        lambda: net.load_parameters(str(tmp_path / "a.params")),
        lambda: net.save(str(tmp_path / "a")),
        net.to_torch,
    ):
        with pytest.raises(ValueError, match=r"two parameters are called 'a\.0\.weight', by the"):
            use()
    assert [p.name for p in tmp_path.iterdir()] == ["a.params"]
    assert (tmp_path / "a.params").read_bytes() == before
    shared = nn.Sequential()
    shared.register_child(inner, "a")
    shared.register_child(inner[0], "a.0")
    assert [*shared._collect_params_with_prefix()] == ["a.0.weight", "a.0.bias"]


@pytest.mark.engine("torch")  # MXNet replaces the other
def test_a_number_that_is_the_name_of_another_child():
    net = nn.Sequential()
    net.register_child(nn.Dense(1), "1")
    with pytest.raises(ValueError, match="there is a child '1' already"):
        net.add(nn.Dense(1))
    net.register_child(replacing := nn.Dense(1), "1")
    assert net[0] is replacing


def test_register_child():
    net = gluon.Block()
    net.register_child(nn.Dense(1))
    net.register_child(nn.Dense(1), "named")
    net.register_child(nn.Dense(1))
    assert list(net._collect_params_with_prefix()) == [
        f"{name}.{kind}" for name in ("0", "named", "2") for kind in ("weight", "bias")
    ]


def test_apply_goes_to_children_first():
    seen = []
    net = Net()
    assert net.apply(lambda block: seen.append(block.name)) is net
    assert seen[:2] == ["net0_dense0_relu", "net0_dense0"]
    assert seen[-2:] == ["net0_named", "net0"] and len(seen) == 9


def test_repr():
    assert repr(Net(prefix="")) == (
        "Net(\n"
        "  (first): Dense(None -> 4, Activation(relu))\n"
        "  (features): HybridSequential(\n"
        "    (0): Dense(None -> 3, linear)\n"
        "    (1): Dense(None -> 2, linear)\n"
        "  )\n"
        "  (open): HybridSequential(\n"
        "    (0): Dense(None -> 2, linear)\n"
        "  )\n"
        "  (named): Dense(None -> 2, linear)\n"
        ")"
    )
    assert repr(nn.HybridSequential()) == "HybridSequential(\n\n)"


def test_cast():
    net = used(Net())
    net.cast("float64")
    assert {p.data().dtype for p in net.collect_params().values()} == {np.float64}
    assert net(x_of(2, 5).astype("float64")).dtype == np.float64


# The first call


def test_the_first_call_tells_the_shapes():
    net = Net()
    net.initialize()
    assert net.first.weight.shape == (4, 0)
    with pytest.raises(gluon.parameter.DeferredInitializationError):
        net.first.weight.data()
    assert net(x_of(2, 5)).shape == (2, 2)
    assert [net.first.weight.shape, net.features[1].weight.shape] == [(4, 5), (2, 3)]
    assert repr(net.first) == "Dense(5 -> 4, Activation(relu))"
    with pytest.raises(RuntimeError):
        net(x_of(2, 6))


def test_the_first_call_inside_record():
    net = Net()
    net.initialize()
    with autograd.record():
        y = net(x_of(2, 5)).sum()
    y.backward()
    assert np.abs(net.first.weight.grad().asnumpy()).sum() > 0
    assert np.abs(net.scale.grad().asnumpy()).sum() > 0


def test_one_parameter_awaited_by_two_operators():
    class Twice(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = self.params.get("w", shape=(3, 0), allow_deferred_init=True)

        def hybrid_forward(self, F, x, w):
            one = F.FullyConnected(x, w, no_bias=True, num_hidden=3)
            return one + F.FullyConnected(x, w, no_bias=True, num_hidden=3)

    net = Twice()
    net.initialize("ones")
    with autograd.record():
        y = net(x_of(2, 5))
        total = y.sum()
    total.backward()
    same(y, 2 * nd.dot(x_of(2, 5), net.w.data(), transpose_b=True))
    same(net.w.grad(), 2 * nd.broadcast_to(x_of(2, 5).sum(0, keepdims=True), (3, 5)))


class Shift(gluon.HybridBlock):
    """A parameter whose shape no operator tells."""

    def __init__(self):
        super().__init__()
        self.w = self.params.get("w", shape=(0,), allow_deferred_init=True)

    def hybrid_forward(self, F, x, w):
        return F.broadcast_add(x, w)


def test_infer_shape_of_ones_own():
    class Told(Shift):
        def infer_shape(self, x, *_):
            self.w.shape = (x.shape[-1],)

    net = Told()
    net.initialize("ones")
    same(net(x_of(2, 3)), x_of(2, 3) + 1)
    assert net.w.shape == (3,)


def test_a_shape_that_nothing_tells():
    net = Shift()
    net.initialize()
    with pytest.raises((RuntimeError, ValueError), match="shift0_w"):
        net(x_of(2, 3))


@pytest.mark.engine("torch")
@pytest.mark.parametrize("use", [lambda w: w.shape, lambda w: 2 * w, lambda w: w[0]])
def test_a_shape_that_is_needed_too_early(use):
    class Early(Shift):
        def hybrid_forward(self, F, x, w):
            return use(w)

    net = Early()
    net.initialize()
    with pytest.raises(RuntimeError, match="'early0_w'.*not known yet"):
        net(x_of(2, 3))


def test_infer_shape_of_the_network():
    net = Net()
    net.initialize()
    net.infer_shape(x_of(2, 5))
    assert net.first.weight.shape == (4, 5)


def test_not_initialized():
    with pytest.raises(RuntimeError, match="net0_scale.*not been initialized"):
        Net()(x_of(2, 5))


def at_once(call, times=8):
    """What `call` returns in so many threads, which start together and take turns often."""
    start, found, interval = threading.Barrier(times), [], sys.getswitchinterval()

    def run():
        start.wait()
        found.append(call())

    threads = [threading.Thread(target=run) for _ in range(times)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == times
    return found


@pytest.mark.engine("torch")
def test_the_first_call_by_threads_at_once(monkeypatch):  # MXNet mixes up their scopes
    made, mark = [], gluon.Parameter._mark

    class Slow(mx.init.Initializer):
        def _init_weight(self, name, arr):
            made.append(name)
            time.sleep(0.01)
            arr[:] = 1

    def slow_mark(parameter, arrays):
        time.sleep(0.01)
        return mark(parameter, arrays)

    def call():
        with autograd.record():
            return net(x)

    monkeypatch.setattr(gluon.Parameter, "_mark", slow_mark)
    net, x = Net(), x_of(2, 5) + 1
    net.initialize(Slow())
    for y in at_once(call):
        same(y, net(x))
        net.collect_params().zero_grad()
        y.backward()
        assert all(p.grad().asnumpy().any() for p in net.collect_params().values())
    assert len(made) == len(set(made)) == 5  # weights; the others have initializers of their own


@pytest.mark.engine("torch")
def test_calls_by_threads_at_once():
    net = used(Net())
    x = [x_of(2, 5, ctx=CPU0) * (i + 1) for i in range(8)]
    expected = [net(value) for value in x]
    found = at_once(lambda: [net(value) for value in x for _ in range(5)])
    for results in found:
        for i, y in enumerate(results):
            same(y, expected[i // 5])


@pytest.mark.engine("torch")
@pytest.mark.parametrize("known", [True, False], ids=["one graph", "each makes it"])
def test_a_hybridized_net_by_threads_at_once(known):
    net = row()
    net.initialize()
    net.hybridize()
    x = x_of(4, 5) + 1
    if known:
        net(x)

    lock = threading.Lock()  # the parameters have one gradient for all

    def call():
        given = x.copy()
        given.attach_grad()
        found = []
        for _ in range(5):
            with autograd.record(train_mode=False):
                y = net(given)
            with lock:
                y.backward()
            found += [y, given.grad.copy(), net(given)]
        return found

    results = at_once(call)
    net.hybridize(False)
    expected = call()
    for found in results:
        for one, other in zip(found, expected):
            same(one, other)


# Calls


def test_arrays_are_taken_from_the_context_of_the_input():
    class Told(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            assert mx.current_context() == x.context
            return F.zeros((1,))

    net = used(Net(), ctx=CPU0)
    with pytest.raises(RuntimeError, match=r"cpu\(1\)"):
        net(x_of(2, 5, ctx=CPU1))
    net.collect_params().reset_ctx([CPU0, CPU1])
    assert net(x_of(2, 5, ctx=CPU1)).context == CPU1
    same(net(x_of(2, 5, ctx=CPU1)), net(x_of(2, 5)))
    assert Told()(x_of(1, ctx=mx.cpu(3))).context == mx.cpu(3)
    assert mx.current_context() == CPU0


class Echo(gluon.HybridBlock):
    def hybrid_forward(self, F, x, *args):
        assert F is nd
        return [x, list(args)]


def test_inputs():
    x = x_of(1)
    assert Echo()(x, None, 3, "a", [x, [None]])[1] == [None, 3, "a", [x, [None]]]
    assert Echo()([x, x])[0] == [x, x]
    assert Echo()(None, x)[1] == [x]


@pytest.mark.parametrize("x", [3, None, "a", np.ones(3), []], ids=repr)
def test_an_array_is_needed(x):
    with pytest.raises(ValueError, match="at least one NDArray|one NDArray or one Symbol"):
        Echo()(x)


def test_forward_of_ones_own():
    class Own(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.child = nn.Dense(2, in_units=3)

        def forward(self, x, double=False):
            return self.child(x) * (2 if double else 1)

    net = Own()
    net.initialize()
    same(net(x_of(2, 3), True), 2 * net(x_of(2, 3)))


@pytest.mark.parametrize("base", [gluon.Block, gluon.HybridBlock])
def test_forward_is_missing(base):
    with pytest.raises(NotImplementedError):
        base()(x_of(1))


def test_hooks():
    net, seen = used(nn.Dense(3)), []
    before = net.register_forward_pre_hook(lambda *args: seen.append(args))
    after = net.register_forward_hook(lambda *args: seen.append(args))
    x = x_of(2, 5)
    y = net(x)
    assert seen == [(net, (x,)), (net, (x,), y)]
    before.detach()
    net(x)
    assert len(seen) == 3
    after.detach()
    after.detach()
    net(x)
    assert len(seen) == 3
    with net.register_forward_hook(lambda *args: seen.append(args)):
        net(x)
    net(x)
    assert len(seen) == 4


def test_what_a_hook_returns_is_left():
    net = used(nn.Dense(3))
    net.register_forward_hook(lambda *_: 5)
    assert net(x_of(2, 5)).shape == (2, 3)


def test_infer_type():
    net = nn.Dense(3)
    net.initialize()
    net.infer_type(x_of(2, 5))
    assert net.weight.dtype in (np.float32, "float32")


def test_an_input_that_is_none_before_a_symbol():
    class Either(gluon.HybridBlock):
        def hybrid_forward(self, F, a, b):
            return b if a is None else a + b

    class Outer(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.inner = Either()

        def hybrid_forward(self, F, a, b):
            return self.inner(a, self.inner(a, b))

    one = mx.nd.ones(2)
    for first, expected in [(None, [1, 1]), (one, [3, 3])]:
        net = Outer()
        net.hybridize()
        for _ in range(2):
            assert net(first, one).asnumpy().tolist() == expected


def test_a_sequential_of_hybrid_blocks_warns():
    net = nn.Sequential()
    net.add(nn.Dense(2))
    with pytest.warns(UserWarning, match="HybridSequential"):
        net.hybridize()


def test_flatten_and_regroup():
    a, b, c = (x_of(1) for _ in range(3))
    flat, form = gluon.block._flatten([a, [b, None], (c,)], "input")
    assert form == [0, [0, -1], [0]] and [id(v) for v in flat] == [id(v) for v in (a, b, None, c)]
    assert gluon.block._flatten(a, "input") == ([a], 0)
    assert gluon.block._regroup([1, 2, None, 3], form) == [1, [2, None], [3]]
    assert gluon.block._regroup([1, 2, 3], 0) == 1 and gluon.block._regroup([1, 2, 3], 2) == [1, 2]
    with pytest.raises(ValueError, match="3"):
        gluon.block._flatten([3], "input")
    with pytest.raises(ValueError, match="None"):
        gluon.block._regroup([1, 2, 3, 4], form)


# hybridize


def test_hybridize():
    net = used(Net())
    expected = net(x_of(2, 5))
    for flags in ({}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}):
        net.hybridize(**flags)
        same(net(x_of(2, 5)), expected)
        same(net(x_of(3, 5))[:2], net(x_of(3, 5))[:2])
    net.hybridize(False)
    same(net(x_of(2, 5)), expected)


def test_hybridize_keeps_the_flags():
    net = nn.Sequential()
    net.add(nn.Dense(1), nn.Lambda("relu"), row(nn.Dense(1)))
    net.hybridize(static_alloc=True, inline_limit=3, forward_bulk_size=4)
    for block in (net[0], net[2], net[2][0]):
        assert block._active and dict(block._flags) == {
            "static_alloc": True,
            "static_shape": False,
            "inline_limit": 3,
            "forward_bulk_size": 4,
        }
    net.hybridize(active=False)
    assert not net[0]._active


@pytest.mark.engine("torch")
def test_hybridize_refuses_at_once():  # MXNet at the first call, or never
    for net in (Net(), row(), nn.Dense(1)):
        with pytest.raises(TypeError, match="(?s)'static_aloc'.*static_alloc"):
            net.hybridize(static_aloc=True)
        with pytest.raises(TypeError, match="static_alloc"):
            net.hybridize(static_shape=True)
        assert not net._active
    with pytest.raises(ValueError, match="no backend 'nothing'"):
        nn.Dense(1).hybridize(backend="nothing", mode="max-autotune")


# Files


def test_save_and_load(tmp_path):
    path = str(tmp_path / "a.params")
    one, other = used(Net()), Net()
    one.save_parameters(path)
    assert list(nd.load(path)) == STRUCTURAL
    other.load_parameters(path)
    assert set(other.collect_params().list_ctx()) == {CPU0}
    same(other(x_of(2, 5)), one(x_of(2, 5)))


def test_load_to_a_context(tmp_path):
    path = str(tmp_path / "a.params")
    used(Net()).save_parameters(path)
    net = Net()
    net.load_parameters(path, ctx=[CPU0, CPU1])
    same(net(x_of(2, 5, ctx=CPU1)), net(x_of(2, 5)))
    with pytest.raises(AssertionError, match=r"cpu\(2\)"):
        net.load_parameters(path, ctx=mx.cpu(2))


def test_one_layer_has_names_without_dots(tmp_path):
    path = str(tmp_path / "a.params")
    one, other = used(nn.Dense(3)), nn.Dense(3)
    one.save_parameters(path)
    assert list(nd.load(path)) == ["weight", "bias"]
    other.load_parameters(path)
    same(other(x_of(2, 5)), one(x_of(2, 5)))


def test_save_needs_the_values(tmp_path):
    path = str(tmp_path / "a.params")
    net = Net()
    with pytest.raises(RuntimeError, match="not been initialized"):
        net.save_parameters(path)
    net.initialize()
    with pytest.raises(gluon.parameter.DeferredInitializationError):
        net.save_parameters(path)
    assert not (tmp_path / "a.params").exists()


def test_missing_and_extra(tmp_path):
    path = str(tmp_path / "a.params")
    used(row()).save_parameters(path)
    more = row()
    more.add(nn.Dense(7))
    with pytest.raises(AssertionError, match="(?s)'3.weight'.*missing.*'2.weight'.*allow_missing"):
        more.load_parameters(path)
    more.load_parameters(path, allow_missing=True)
    assert more[0].weight.shape == (3, 5) and more[3].weight.shape == (7, 0)
    less = row(nn.Dense(3))
    with pytest.raises(ValueError, match="(?s)'1.gamma'.*ignore_extra"):
        less.load_parameters(path)
    less.load_parameters(path, ignore_extra=True)
    assert less[0].weight.shape == (3, 5)
    with pytest.raises(AssertionError, match=r"(?s)\(4, 0\)|\(3, 5\)"):
        row(nn.Dense(4)).load_parameters(path, ignore_extra=True)


def test_shared_parameters_in_a_file(tmp_path):
    path = str(tmp_path / "a.params")
    one = nn.Dense(5, in_units=5)
    net = row(one, nn.Dense(5, in_units=5, params=one.params))
    net.initialize()
    net.save_parameters(path)
    assert list(nd.load(path)) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    net.save_parameters(path, deduplicate=True)
    assert list(nd.load(path)) == ["1.weight", "1.bias"]
    net.load_parameters(path)


def test_another_dtype(tmp_path):
    path = str(tmp_path / "a.params")
    net = used(row())
    net.cast("float16")
    net.save_parameters(path)
    with pytest.raises(AssertionError, match="cast_dtype"):
        row().load_parameters(path)
    for source, dtype in (("current", np.float32), ("saved", np.float16)):
        other = row()
        other.load_parameters(path, cast_dtype=True, dtype_source=source)
        assert other[0].weight.data().dtype == dtype and other[1].gamma.data().dtype == np.float32


def test_old_names(tmp_path):
    path = str(tmp_path / "a.params")
    one, other = used(row()), row()
    with pytest.warns(UserWarning, match="save_params is deprecated"):
        one.save_params(path)
    assert next(iter(nd.load(path))) == "dense0_weight"
    other.load_parameters(path)
    same(other(x_of(2, 5)), one(x_of(2, 5)))
    with pytest.warns(UserWarning, match="load_params is deprecated"):
        row().load_params(path)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("mark", ["", "arg:"])
@pytest.mark.parametrize("prefix", [None, "hybridsequential7_", "model_"], ids=str)
def test_full_names(tmp_path, mark, prefix):  # MXNet reads them through collect_params() only
    path = tmp_path / "a.params"
    one = used(row(prefix=prefix and prefix.replace("7", "3")))
    values = {mark + name: p.data() for name, p in one.collect_params().items()}
    nd.save(path, values)
    for again in (row(prefix=prefix), one):
        again.load_parameters(path)
        same(again(x_of(2, 5)), one(x_of(2, 5)))


@pytest.mark.engine("torch")
def test_other_full_names(tmp_path):
    path = tmp_path / "a.params"
    used(row(prefix="one_")).collect_params().save(path)
    with pytest.raises(AssertionError, match="(?s)'other_dense0_weight'.*'one_dense0_weight'"):
        row(prefix="other_").load_parameters(path)


@pytest.mark.engine("torch")
def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.params"):
        Net().load_parameters(tmp_path / "none.params")
    nd.save(tmp_path / "a.params", [x_of(1)])
    with pytest.raises(ValueError, match="no names"):
        Net().load_parameters(tmp_path / "a.params")
    nd.save(tmp_path / "a.params", {})
    with pytest.raises(AssertionError, match="missing"):
        Net().load_parameters(tmp_path / "a.params")


# summary

ONE = """\
--------------------------------------------------------------------------------
        Layer (type)                                Output Shape         Param #
================================================================================
               Input                                      (2, 5)               0
        Activation-1                                      (2, 3)               0
             Dense-2                                      (2, 3)              18
         BatchNorm-3                                      (2, 3)              12
             Dense-4                                      (2, 2)               8
================================================================================
Parameters in forward computation graph, duplicate included
   Total params: 38
   Trainable params: 32
   Non-trainable params: 6
Shared params in forward computation graph: 0
Unique parameters in model: 38
--------------------------------------------------------------------------------
"""
TWO = """\
               Input              [(2, 4), (3, 4)], (1, 2, 5)               0
             Dense-1                                      (2, 4)              20
             Dense-2                                      (2, 4)              20
             Dense-3                                      (3, 4)              20
               Two-4              (2, 4), [(1, 2, 5), (3, 4)]               1
"""


def test_summary(capsys):
    net = used(row())
    net.summary(x_of(2, 5))
    assert capsys.readouterr().out == ONE
    net(x_of(2, 5))
    assert not net[0]._forward_hooks


def test_summary_of_nested_shapes_and_shared_parameters(capsys):
    class Two(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.a = nn.Dense(4, in_units=4)
            self.b = nn.Dense(4, in_units=4, params=self.a.params)
            self.k = self.params.get_constant("k", nd.ones((1,)))

        def hybrid_forward(self, F, x, y, k):
            return [self.b(self.a(x[0])), (y, self.a(x[1]))]

    net = Two()
    net.initialize()
    net.summary([x_of(2, 4), x_of(3, 4)], x_of(1, 2, 5))
    out = capsys.readouterr().out
    assert [line.split() for line in TWO.splitlines()] == [
        line.split() for line in out.splitlines()[3:8]
    ]
    assert "Total params: 61\n" in out and "Trainable params: 60\n" in out
    assert "graph: 40\n" in out and "model: 21\n" in out


@pytest.mark.engine("torch")
def test_summary_before_the_first_call(capsys):  # MXNet counts a Symbol's call too
    net = row()
    net.initialize()
    net.summary(x_of(2, 5))
    assert capsys.readouterr().out == ONE


@pytest.mark.parametrize("part", [0, slice(None)], ids=["a block inside", "all"])
def test_summary_does_not_know_what_a_graph_has_inside(part, capsys):
    net = used(row())
    hybridized = net if part else net[part]
    hybridized.hybridize()
    with pytest.raises(AssertionError, match=hybridized.name):
        net.summary(x_of(2, 5))
    hybridized.hybridize(False)
    net.summary(x_of(2, 5))
    assert capsys.readouterr().out == ONE
    assert not any(block._forward_hooks for block in net)


# Errors


def notes(error):
    return getattr(error.value, "__notes__", None) or str(error.value).split("\n")


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("symbol", [0, 1])
def test_arrays_and_symbols_do_not_mix(hybridized, symbol):
    class Add(gluon.HybridBlock):
        def hybrid_forward(self, F, a, b=None):
            return a if b is None else a + b

    net, x = Add(), nd.ones(2)
    net.hybridize(hybridized)
    inputs = [x, x]
    inputs[symbol] = mx.sym.var("a")
    for _ in range(2):
        with pytest.raises(ValueError):
            net(*inputs)
        assert net(x, x).asnumpy().tolist() == [2, 2]
    for nothing in ([None], [None, None]):
        with pytest.raises(ValueError):
            net(*nothing)


@pytest.mark.engine("torch")  # MXNet returns it, or says "Expected a list of symbols as input"
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_forgotten_return(hybridized):
    class Exp(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            F.exp(x)

    for net, place in ((Exp(), "in Exp(x (2, 3))"), (row(Exp(), nn.Dense(2)), ", net.0")):
        net.initialize()
        net.hybridize(hybridized)
        with pytest.raises(ValueError, match="Exp: hybrid_forward returned None") as caught:
            net(x_of(2, 3))
        assert any(place in note for note in notes(caught))


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    ("function", "error", "told"),
    [
        (
            lambda F, x: np.exp(x),
            NotImplementedError,
            "has none before it is run\n  expected .* F.exp",
        ),
        (
            lambda F, x: np.stack([x, x]),
            NotImplementedError,
            "has none before it is run\n  expected",
        ),
        (lambda F, x: x + F.array([1]), AttributeError, "'array'\n  expected an input, or in a Bl"),
    ],
)
def test_numpy_in_a_graph(function, error, told):
    net = nn.HybridLambda(function)
    net.hybridize()
    with pytest.raises(error, match=told):
        net(x_of(2, 3))


@pytest.mark.engine("torch")
def test_an_error_in_tracing_names_the_line():
    class Inner(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x.reshape((x.shape[0], -1))

    net = row(nn.Dense(3), row(nn.Dense(2), Inner()))
    net.initialize()
    net.hybridize()
    with pytest.raises(AttributeError, match="no attribute 'shape'") as caught:
        net(x_of(2, 5))
    said = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert "), net.1.1\n  at " in said and "test_block.py:" in said
    assert said.endswith("of the graph: return x.reshape((x.shape[0], -1))")
    net.hybridize(False)
    assert net(x_of(2, 5)).shape == (2, 2)


@pytest.mark.engine("torch")  # MXNet names HybridBlock.__init__
@pytest.mark.parametrize("make", [lambda **k: nn.Dense(3, **k), lambda **k: Net(**k)])
def test_an_argument_that_nobody_knows(make):
    with pytest.raises(TypeError, match="(Dense|Net): unknown argument 'activaton'\n.*prefix"):
        make(activaton="relu")


@pytest.mark.engine("torch")
def test_an_error_says_where():
    net = used(Net())
    with pytest.raises(ValueError, match="FullyConnected") as error:
        net(x_of(5, 2, 4))
    assert notes(error)[-1] == "  in Dense(x (5, 2, 4)), net.first"
    net.features._children["0"] = nn.Dense(2, in_units=7)
    net.features[0].initialize()
    with pytest.raises(ValueError, match="FullyConnected") as error:
        net(x_of(2, 5))
    assert notes(error)[-1] == "  in Dense(x (2, 4)), net.features.0"
    with pytest.raises(ValueError) as error:
        net.first(x_of(5, 2, 4))
    assert notes(error)[-1] == "  in Dense(x (5, 2, 4))"


@pytest.mark.engine("torch")
def test_the_error_is_the_users_own():
    class Raises(gluon.HybridBlock):
        def hybrid_forward(self, F, x, states, flag, *more):
            raise LookupError("mine")

    class Parent(gluon.Block):
        def __init__(self):
            super().__init__()
            self.hidden = [Raises()]

        def forward(self, x):
            return self.hidden[0](x, [x, None], True, "y" * 99)

    with pytest.raises(LookupError, match="mine") as error:
        Parent()(x_of(2, 3))
    call = "x (2, 3), states [(2, 3), None], flag True, str"
    assert notes(error)[-1] == f"  in Raises({call}), net.raises0"


@pytest.mark.engine("torch")
def test_an_error_says_where_on_python_3_10(monkeypatch):  # which has no notes
    errors = sys.modules["layers._errors"]
    monkeypatch.setattr(errors, "sys", SimpleNamespace(version_info=(3, 10)))
    net = used(row())
    with pytest.raises(ValueError) as error:
        net(x_of(5, 2, 4))
    assert str(error.value).endswith("\n  in Dense(x (5, 2, 4)), net.0")
    assert str(error.value).count("Dense(") == 1


@pytest.mark.engine("torch")
def test_a_key_stays_alone_on_python_3_10(monkeypatch):
    errors = sys.modules["layers._errors"]
    monkeypatch.setattr(errors, "sys", SimpleNamespace(version_info=(3, 10)))
    assert errors.note(KeyError("key"), "  in forward").args == ("key",)


# Life and death


@pytest.mark.engine("torch")
def test_blocks_die_at_once():  # MXNet's when the garbage collector comes
    gc.collect()
    gc.disable()
    try:
        net = used(Net())
        with autograd.record():
            net(x_of(2, 5)).backward()
        dead = [weakref.ref(net), weakref.ref(net.first), weakref.ref(net.first.weight)]
        del net
        assert [ref() for ref in dead] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))],
    ids=["deepcopy", "pickle"],
)
def test_copies_live_on_their_own(again):
    net = used(Net())
    other = again(net)
    same(other(x_of(2, 5)), net(x_of(2, 5)))
    with autograd.record():
        y = other(x_of(2, 5)).sum()
    y.backward()
    assert np.abs(other.first.weight.grad().asnumpy()).sum() > 0
    assert np.abs(net.first.weight.grad().asnumpy()).sum() == 0
    assert other.features[0].weight is other.collect_params()[net.features[0].weight.name]
    with other.name_scope():
        assert nn.Dense(1).prefix == "net0_dense2_"


def test_a_symbol_block_of_row_sparse_variables():
    x = mx.sym.var("x")
    w = mx.sym.var("w", stype="row_sparse", shape=(3, 2))
    with pytest.raises(AssertionError, match="row_sparse"):
        gluon.SymbolBlock(mx.sym.sparse.dot(x, w), [x])
