"""Optimizers: MXNet's values after a few steps; rates, states, weights of 16 bits, one's own."""

import copy
import json

import numpy as np
import pytest
from recorded import Recorded

from layers.engine import autograd, gluon, mx, nd

SHAPES = {"fc_weight": (3, 4), "fc_bias": (4,), "conv_weight": (2, 1, 3, 1)}
STEPS = 5
TOLERANCE = 1e-6, 5e-7  # relative, absolute: float32 after 5 steps of up to 0.1

RULES = {
    "sgd": [{}, {"momentum": 0.9}],
    "nag": [{}, {"momentum": 0.9}],
    "signum": [{}, {"momentum": 0.0}, {"momentum": 0.5, "wd_lh": 0.01}],
    "adam": [{}, {"beta1": 0.8, "beta2": 0.9, "epsilon": 1e-3}],
    "adamax": [{}],
    "nadam": [{}],
    "adagrad": [{"eps": 1e-3}],
    "adadelta": [{"rho": 0.8}],
    "rmsprop": [{}, {"centered": True}, {"clip_weights": 0.5}, {"centered": True, "gamma2": 0.5}],
    "ftrl": [{}, {"lamda1": 0.1, "beta": 2.0}],
    "ccsgd": [{"momentum": 0.9}],
    "dcasgd": [{}, {"lamda": 2.0}],
    "ftml": [{}, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}],
    "lamb": [
        {},
        {"beta1": 0.8, "bias_correction": False},
        {"lower_bound": 3.0, "upper_bound": 3.5, "epsilon": 1e-3},
    ],
    "lars": [
        {"eta": 0.1},
        {"momentum": 0.9, "eta": 0.1, "eps": 1e-3},
        {"momentum": 0.5, "eta": 0.1, "momentum_correction": False},
    ],
    "lbsgd": [
        {"batch_scale": 2, "warmup_epochs": 1},
        {"momentum": 0.9, "batch_scale": 2, "warmup_strategy": "power2", "updates_per_epoch": 2},
        {"momentum": 0.9, "batch_scale": 3, "warmup_strategy": "sqrt", "begin_epoch": 1},
        {"momentum": 0.5, "warmup_strategy": "lars", "warmup_epochs": 0},
        {"batch_scale": 2, "warmup_strategy": "none", "updates_per_epoch": 1, "warmup_epochs": 3},
    ],
}
SETTINGS = [
    {},
    {"learning_rate": 0.1, "wd": 0.1},
    {"learning_rate": 0.1, "wd": 0.1, "clip_gradient": 0.02},
    {"rescale_grad": 0.25, "wd": 0.01},
]
CASES = [
    pytest.param(name, rule | other, id=f"{name} {json.dumps(rule | other)}")
    for name, rules in RULES.items()
    for rule in rules
    for other in SETTINGS
]


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("optimizer_steps", pytestconfig.getoption("--record"))
    yield values
    values.write()


def arrays(random, scale=1.0, dtype="float32"):
    values = [random.randn(*shape) * scale for shape in SHAPES.values()]
    return [nd.array(v, dtype=dtype) for v in values]


def run(optimizer, listed=True, steps=STEPS, dtype="float32"):
    """Weights after a few steps."""
    random = np.random.RandomState(0)
    weights = arrays(random, dtype=dtype)
    updater = mx.optimizer.get_updater(optimizer)
    for _ in range(steps):
        grads = arrays(random, 0.1, dtype)
        if listed:
            updater(list(range(len(SHAPES))), grads, weights)
        else:
            for i, (w, g) in enumerate(zip(weights, grads)):
                updater(i, g, w)
    return [w.asnumpy() for w in weights]


def make(name, **settings):
    optimizer = mx.optimizer.create(name, param_idx2name=dict(enumerate(SHAPES)), **settings)
    optimizer.set_lr_mult({"conv_weight": 0.5})
    return optimizer


@pytest.mark.parametrize("name, settings", CASES)
def test_steps(recorded, request, name, settings):
    recorded.check(request.node.callspec.id, run(make(name, **settings)), *TOLERANCE)


@pytest.mark.parametrize("momentum_correction", [True, False])
def test_lars_corrects_the_momentum(recorded, request, momentum_correction):
    weight = nd.array([1.0, 2.0, 3.0])
    optimizer = mx.optimizer.LARS(
        momentum=0.9, eta=0.1, wd=0.1, learning_rate=0.1, momentum_correction=momentum_correction
    )
    state = optimizer.create_state(0, weight)
    for gradient in [0.5, -1.0, 0.25], [1.0, 0.5, -0.5], [0.0, 0.0, 0.0]:
        optimizer.update(0, weight, nd.array(gradient), state)
        optimizer.set_learning_rate(0.5 * optimizer.learning_rate)
    recorded.check(request.node.callspec.id, [weight.asnumpy(), state.asnumpy()], *TOLERANCE)


def test_group_adagrad():
    weight, grad = nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([[2.0, 4.0], [0.0, 3.0]])
    optimizer = mx.optimizer.create("groupadagrad", learning_rate=0.5, rescale_grad=0.5)
    state = optimizer.create_state(0, weight)
    optimizer.update(0, weight, grad, state)
    expected = [[1 - 0.5 / 2.5**0.5, 2 - 1 / 2.5**0.5], [3, 4 - 0.5 * 2**0.5]]
    np.testing.assert_allclose(weight.asnumpy(), expected, 1e-4)
    np.testing.assert_allclose(state.asnumpy(), [[2.5], [1.125]])


@pytest.mark.engine("torch")
def test_group_adagrad_has_no_decay():
    weight = nd.ones((2, 2))
    optimizer = mx.optimizer.contrib.GroupAdaGrad(wd=0.1)
    with pytest.raises(ValueError, match="wd is 0.1\n  expected 0"):
        optimizer.update(0, weight, weight, optimizer.create_state(0, weight))


@pytest.mark.engine("torch")
@pytest.mark.parametrize("name, settings", CASES)
def test_at_once_is_one_by_one(name, settings):
    at_once, one_by_one = run(make(name, **settings)), run(make(name, **settings), listed=False)
    for found, expected in zip(at_once, one_by_one):
        np.testing.assert_allclose(found, expected, 1e-7, 1e-7)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("settings", [{}, {"momentum": 0.9}, {"wd": 0.5, "clip_gradient": 0.5}])
def test_all_of_a_large_weight_is_changed(settings, dtype):
    weight, grad = nd.ones((8, 16), dtype=dtype), nd.ones((8, 16), dtype=dtype)
    optimizer = mx.optimizer.SGD(learning_rate=0.25, **settings)
    optimizer.update(0, weight, grad, optimizer.create_state(0, weight))
    change = 0.25 * (settings.get("clip_gradient", 1.0) + settings.get("wd", 0.0))
    np.testing.assert_array_equal(weight.asnumpy(), np.full((8, 16), 1 - change, dtype))


@pytest.mark.parametrize("name", ["sgd", "nag", "adam", "rmsprop", "lars"])
def test_multi_precision(recorded, request, name):
    optimizer = make(name, multi_precision=True, learning_rate=0.1)
    found = run(optimizer, listed=False, dtype="float16")
    assert found[0].dtype == np.float16
    recorded.check(request.node.callspec.id, found, 1e-3, 1e-3)


def test_low_precision_without_master_warns():
    with pytest.warns(UserWarning, match="multi_precision"):
        mx.optimizer.SGD().create_state_multi_precision(0, nd.ones(2, dtype="float16"))


def test_rates():
    optimizer = mx.optimizer.SGD(
        param_idx2name={0: "a_weight", 1: "a_bias", 2: "a_gamma"}, wd=0.1, learning_rate=1.0
    )
    assert [optimizer._get_wd(i) for i in range(4)] == [0.1, 0.0, 0.1, 0.1]
    optimizer.set_wd_mult({"a_weight": 0.5, 2: 3.0})
    optimizer.set_lr_mult({"a_bias": 3.0})
    assert optimizer._get_wds([0, 1, 2]) == pytest.approx([0.05, 0.0, 0.3])
    assert optimizer._get_lrs([0, 1, 5]) == [1.0, 3.0, 1.0]


def test_rates_of_parameters():
    parameter = mx.gluon.Parameter("w", shape=(2,), lr_mult=3, wd_mult=0.2)
    optimizer = mx.optimizer.SGD(param_dict={0: parameter}, wd=0.1, learning_rate=1.0)
    assert optimizer._get_lrs([0, 1]) == [3.0, 1.0]
    assert optimizer._get_wds([0, 1]) == pytest.approx([0.02, 0.1])


def test_scheduler_counts_updates():
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1.0)
    optimizer = mx.optimizer.SGD(lr_scheduler=schedule)
    rates = []
    for _ in range(5):
        optimizer._update_count([0, 1])
        rates.append(optimizer.learning_rate)
    assert rates == [1.0, 1.0, 0.5, 0.5, 0.25]
    with pytest.raises(UserWarning):
        optimizer.set_learning_rate(0.1)


def test_any_function_is_a_scheduler():
    optimizer = mx.optimizer.SGD(lr_scheduler=lambda updates: 1 / updates)
    optimizer._update_count([0])
    optimizer._update_count([0])
    assert optimizer.learning_rate == 0.5


@pytest.mark.engine("torch")
def test_a_number_is_no_scheduler():
    with pytest.raises(ValueError, match="SGD: lr_scheduler is 3\n  expected an LRScheduler"):
        mx.optimizer.SGD(lr_scheduler=3)


def test_learning_rate_goes_before_the_schedulers():
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=1.0)
    assert mx.optimizer.SGD(learning_rate=0.3, lr_scheduler=schedule).learning_rate == 0.3


def test_ftrl_leaves_the_scheduler_its_rate():
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.5)
    ftrl = mx.optimizer.Ftrl(lr_scheduler=schedule, learning_rate=0.3)
    assert (ftrl.learning_rate, schedule.base_lr) == (0.5, 0.5)


def test_begin_num_update():
    optimizer = mx.optimizer.Adam(begin_num_update=7)
    optimizer._update_count(3)
    assert optimizer.num_update == 8


def test_unknown_name():
    with pytest.raises(ValueError, match="foo"):
        mx.optimizer.create("foo")


def test_unknown_argument():
    with pytest.raises(TypeError, match="foo"):
        mx.optimizer.create("adam", foo=1)


class Plain(mx.optimizer.Optimizer):
    """w -= lr g, one parameter at a time; counts its calls."""

    def create_state(self, index, weight):
        return nd.zeros((1,))

    def update(self, index, weight, grad, state):
        assert isinstance(weight, nd.NDArray)
        self._update_count(index)
        state += 1
        weight[:] = weight - self._get_lr(index) * self.rescale_grad * grad


def test_own_optimizer():
    mx.optimizer.register(Plain)
    own = mx.optimizer.create("plain", learning_rate=0.1)
    for found, expected in zip(run(own), run(mx.optimizer.SGD(learning_rate=0.1))):
        np.testing.assert_allclose(found, expected, 1e-6, 1e-7)
    assert own.num_update == STEPS


def test_own_update_of_a_built_in_is_called_one_by_one():
    class Noisy(mx.optimizer.Adam):
        calls = 0

        def update(self, index, weight, grad, state):
            self.calls += 1
            super().update(index, weight, grad * 2, state)

    noisy = Noisy(learning_rate=0.1)
    for found, expected in zip(
        run(noisy), run(mx.optimizer.Adam(learning_rate=0.1, rescale_grad=2))
    ):
        np.testing.assert_allclose(found, expected, 1e-6, 1e-7)
    assert noisy.calls == STEPS * len(SHAPES)


BY_IMPL = {"SGD", "NAG", "LARS", "LAMB"}
RATES = {"_get_lr", "_get_wd"}
EACH = {"create_state", "create_state_multi_precision", "update_multi_precision"}
BUILT_IN = """
    SGD NAG Signum FTML LARS LBSGD DCASGD SGLD Adam AdaGrad RMSProp AdaDelta Ftrl Adamax Nadam LAMB
"""


def called_by(optimizer_class, use):
    """The methods that are called of a subclass that defines them, each alone."""
    found = set()
    for method in EACH | RATES | {"update", "_update_impl"}:
        if not hasattr(optimizer_class, method):
            continue

        def own(self, *args, _method=method, **kwargs):
            found.add(_method)
            return getattr(optimizer_class, _method)(self, *args, **kwargs)

        use(type("Own", (optimizer_class,), {method: own})(learning_rate=0.1))
    return found


def use_updater(optimizer):
    weights = [nd.ones((2,)), nd.ones((3,))]
    mx.optimizer.get_updater(optimizer)([0, 1], [w * 0.5 for w in weights], weights)


def use_trainer(optimizer):
    net = gluon.nn.Dense(2, in_units=2)
    net.initialize("ones")
    trainer = gluon.Trainer(net.collect_params(), optimizer)
    with autograd.record():
        y = net(nd.ones((1, 2)))
    y.backward()
    trainer.step(1)


@pytest.mark.parametrize("use", [use_updater, use_trainer])
@pytest.mark.parametrize("name", BUILT_IN.split())
@pytest.mark.filterwarnings("ignore:.* is not called, as in MXNet:UserWarning")
def test_the_methods_of_a_subclass_that_are_called(name, use):
    rates = {"SGD": set(), "LARS": set(), "AdaDelta": {"_get_wd"}}.get(name, RATES)
    update = {"_update_impl"} if name in BY_IMPL else {"update"}
    found = called_by(getattr(mx.optimizer, name), use)
    ignored = {"_update_impl"} if name not in BY_IMPL else set()
    assert found - ignored - ({"_get_lr"} - rates if name == "AdaDelta" else set()) == (
        EACH | rates | update
    )


@pytest.mark.engine("torch")
def test_an_update_that_is_not_called_warns():
    with pytest.warns(UserWarning, match=r"Own: its update\(\) is not called, as in MXNet"):
        type("Own", (mx.optimizer.SGD,), {"update": lambda self, *args: None})


@pytest.mark.engine("torch")
def test_a_replaced_name_warns():
    first, second = (type("Twice", (mx.optimizer.Optimizer,), {}) for _ in range(2))
    mx.optimizer.register(first)
    mx.optimizer.register(first)
    with pytest.warns(UserWarning, match="Twice"):
        mx.optimizer.register(second)
    assert type(mx.optimizer.create("twice")) is second


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_states_go_on(name):
    """Half the steps, states taken out and put into another updater, the other half."""

    def steps(updater, count, weight):
        for i in range(count):
            updater(0, nd.array([0.1 * (i + 1), -0.3]), weight)

    settings = {"learning_rate": 0.1} | ({"momentum": 0.9} if name == "sgd" else {})
    weight, expected = nd.ones(2), nd.ones(2)
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
    steps(updater, 3, expected)
    steps(updater, 3, expected)
    first = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
    steps(first, 3, weight)
    states = first.get_states(dump_optimizer=True)
    second = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
    second.set_states(states)
    steps(second, 3, weight)
    np.testing.assert_array_equal(weight.asnumpy(), expected.asnumpy())


def test_states_bring_the_optimizer_along():
    """Its settings, counts, factors of parameters and schedule, in place of those that are here."""
    schedule = mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.5)
    names = {0: "a_weight", 1: "a_bias"}
    first = mx.optimizer.get_updater(
        mx.optimizer.SGD(momentum=0.5, lr_scheduler=schedule, param_idx2name=names)
    )
    first.optimizer.set_lr_mult({"a_weight": 0.5})
    first.optimizer.set_wd_mult({0: 3.0})
    for _ in range(5):
        first(0, nd.ones(3), nd.ones(3))
    second = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1))
    second.set_states(first.get_states(dump_optimizer=True))
    found = second.optimizer
    assert (found.learning_rate, found.momentum, found.num_update) == (0.125, 0.5, 5)
    assert vars(found.lr_scheduler) == vars(schedule)
    assert found.lr_mult == {"a_weight": 0.5}
    assert found.wd_mult == {"a_bias": 0.0, 0: 3.0} and found.idx2name == names


@pytest.mark.engine("torch")
def test_factors_in_states_that_are_none():
    updater = mx.optimizer.get_updater(mx.optimizer.SGD())
    updater.optimizer.set_lr_mult({"a_weight": "x"})
    states = updater.get_states(dump_optimizer=True)
    with pytest.raises(
        ValueError, match="lr_mult of parameter 'a_weight' is 'x'\n  expected a num"
    ):
        updater.set_states(states)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("data", [b"", b"\x80\x04.", b"abc" * 100], ids=["none", "pickle", "text"])
def test_states_that_are_none(data):
    updater = mx.optimizer.get_updater(mx.optimizer.SGD())
    with pytest.raises(ValueError, match="states"):
        updater.set_states(data)


@pytest.mark.engine("torch")
def test_states_set_only_what_is_there():
    """A file cannot add attributes, nor replace what is no number."""
    optimizer = mx.optimizer.Adam()
    updater = mx.optimizer.get_updater(optimizer)
    before = set(vars(optimizer))
    optimizer.update_hook = "x"
    states = updater.get_states(dump_optimizer=True)
    del optimizer.update_hook
    updater.set_states(states.replace(b"beta1", b"param"))
    assert set(vars(optimizer)) == before


@pytest.mark.engine("torch")
def test_a_weight_of_other_strides():
    """The kernels look at memory alone; a transposed weight must not come out scrambled."""
    for name in ("sgd", "adam"):
        random = np.random.RandomState(0)
        values, grads = random.randn(3, 4), random.randn(3, 4)
        plain = nd.array(values)
        strided = nd.NDArray(nd.array(values.T).to_torch().t(), mx.cpu())
        for weight in (plain, strided):
            updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1))
            updater(0, nd.array(grads), weight)
        np.testing.assert_array_equal(plain.asnumpy(), strided.asnumpy())


def test_factors_of_a_symbol(mx):
    weight = mx.sym.Variable("w_weight", lr_mult=0.5, wd_mult=2)
    graph = weight + mx.sym.Variable("b_bias", wd_mult=3) + mx.sym.Variable("a_bias")
    names = {0: "w_weight", 1: "b_bias", 2: "a_bias"}
    sgd = mx.optimizer.SGD(learning_rate=1.0, wd=0.5, sym=graph, param_idx2name=names)
    assert [sgd._get_lr(i) for i in names] == [0.5, 1, 1]
    assert [sgd._get_wd(i) for i in names] == [1, 1.5, 0]
    sgd.set_lr_mult({"b_bias": 3})  # beside those of the graph
    assert [sgd._get_lr(i) for i in names] == [0.5, 3, 1]


@pytest.mark.engine("torch")
def test_gradients_that_come_in_one_array_are_summed():
    """In MXNet the first of them is the array itself, which the second is written into."""
    updater = mx.optimizer.get_updater(mx.optimizer.create("lbsgd", batch_scale=2))
    weight, grad = nd.zeros((2,)), nd.ones((2,))
    updater(0, grad, weight)
    assert weight.asnumpy().tolist() == [0, 0]
    grad[:] = 3
    updater(0, grad, weight)
    np.testing.assert_allclose(weight.asnumpy(), -0.01 * 2 * (1 + 2 / 160), 1e-6)


@pytest.mark.engine("torch")
def test_a_batch_scale_that_is_none():
    with pytest.raises(mx.MXNetError, match="batch_scale is 0"):
        mx.optimizer.create("lbsgd", batch_scale=0)


def test_sgld_is_half_a_step_and_noise():
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgld", learning_rate=0.04, wd=0.5))
    weight = nd.ones((100, 100))
    updater(0, nd.full((100, 100), 3), weight)
    w = weight.asnumpy()
    assert abs(w.mean() - (1 - 0.02 * 3.5)) < 6 * 0.2 / 100 and abs(w.std() - 0.2) < 0.02


@pytest.mark.engine("torch")
def test_dcasgd_with_momentum():
    """MXNet asks whether an array is true there, and raises ValueError."""
    settings = {"learning_rate": 0.1, "momentum": 0.5, "lamda": 2.0}
    updater = mx.optimizer.get_updater(mx.optimizer.create("dcasgd", **settings))
    weight, w, before, m = nd.ones((2,)), 1.0, 1.0, 0.0
    for g in 1.0, 2.0, 3.0:
        updater(0, nd.full((2,), g), weight)
        m = 0.5 * m - 0.1 * (g + 2.0 * g * g * (w - before))
        w, before = w + m, w
    np.testing.assert_allclose(weight.asnumpy(), [w, w], 1e-6)


@pytest.mark.parametrize("name, settings", [("sgd", {"momentum": 0.9}), ("adam", {})])
@pytest.mark.parametrize("first, second", [("float32", "float64"), ("float64", "float32")])
def test_a_weight_that_is_cast_after_its_first_update(mx, name, settings, first, second):
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
    weight = mx.nd.ones(3, dtype=first)
    updater(0, mx.nd.ones(3, dtype=first), weight)
    with pytest.raises(mx.base.MXNetError):
        updater(0, mx.nd.ones(3, dtype=second), weight.astype(second))
        mx.nd.waitall()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("precise", [False, True])
def test_the_error_of_a_cast_weight(mx, precise):
    """With multi_precision its numbers would be others than they should be."""
    gluon = mx.gluon
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize(mx.init.One())
    settings = {"learning_rate": 0.5, "momentum": 0.9, "multi_precision": precise}
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings)

    def step():
        with mx.autograd.record():
            loss = net(mx.nd.ones((2, 3), dtype=net.weight.dtype)).sum()
        loss.backward()
        trainer.step(2)

    step()
    net.cast("float16")
    with pytest.raises(TypeError, match="parameter 0 is float16, and its state is for float32\n"):
        step()
    net.cast("float32")
    step()


@pytest.mark.engine("torch")
def test_a_cast_weight_without_a_state(mx):
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.5))
    for dtype in ("float32", "float64"):
        weight = mx.nd.ones(3, dtype=dtype)
        updater(0, mx.nd.ones(3, dtype=dtype), weight)
        assert weight.asnumpy().tolist() == [0.5] * 3


def test_the_factors_of_an_operator_s_own_name_are_left_out(mx):
    y = mx.sym.FullyConnected(mx.sym.var("data"), name="fc", num_hidden=2, lr_mult=0.5)
    optimizer = mx.optimizer.SGD(sym=y, param_idx2name={0: "fc_weight"})
    assert optimizer.lr_mult == {"fc_weight": 0.5, "fc_bias": 0.5}


def of_shape(mx, state, shape):
    """A state like another, of arrays of ones."""
    if isinstance(state, tuple):
        return tuple(of_shape(mx, part, shape) for part in state)
    return state if state is None else mx.nd.ones(shape)


MOMENTUM = [("sgd", {"momentum": 0.9}), ("adam", {}), ("nag", {"momentum": 0.9}), ("adagrad", {})]


@pytest.mark.parametrize("shape", [(3, 3), (2, 5)], ids=str)
@pytest.mark.parametrize("name, settings", MOMENTUM, ids=[name for name, _ in MOMENTUM])
def test_a_state_of_another_shape(mx, name, settings, shape):
    """PyTorch's fused kernels do not look: they would write past the end of the memory."""
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
    weight, gradient = mx.nd.ones((5, 2)), mx.nd.ones((5, 2))
    updater(0, gradient, weight)
    updater.states[0] = of_shape(mx, updater.states[0], shape)
    with pytest.raises(mx.base.MXNetError):
        updater(0, gradient, weight)
        mx.nd.waitall()


@pytest.mark.parametrize("name, settings", MOMENTUM, ids=[name for name, _ in MOMENTUM])
def test_a_gradient_of_another_shape(mx, name, settings):
    optimizer = mx.optimizer.create(name, **settings)
    updater, weight = mx.optimizer.get_updater(optimizer), mx.nd.ones((5, 2))
    updater(0, mx.nd.ones((5, 2)), weight)
    with pytest.raises(mx.base.MXNetError):
        updater(0, mx.nd.ones((3, 2)), weight)
        mx.nd.waitall()
    with pytest.raises(mx.base.MXNetError):
        optimizer.update(0, weight, mx.nd.ones((3, 2)), optimizer.create_state(0, weight))
        mx.nd.waitall()


@pytest.mark.engine("torch")
def test_states_of_parameters_in_another_order(mx):
    a, b = mx.nd.ones((2, 3)), mx.nd.ones((5,))
    first = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    first([0, 1], [a, b], [a.copy(), b.copy()])
    names = {0: "bias", 1: "weight"}
    second = mx.optimizer.get_updater(mx.optimizer.create("adam", param_idx2name=names))
    second.set_states(first.get_states())
    with pytest.raises(ValueError, match=r"Adam: parameter 'bias' is \(5,\), and its state \(2, 3"):
        second([0, 1], [b, a], [b.copy(), a.copy()])


@pytest.mark.engine("torch")
def test_an_updater_is_copied_after_an_update(mx):
    updater, weight = mx.optimizer.get_updater(mx.optimizer.create("adam")), mx.nd.ones(3)
    updater(0, mx.nd.ones(3), weight)
    copied = copy.deepcopy(updater)
    copied(0, mx.nd.ones(3), weight)
    assert copied.states[0][0].asnumpy().tolist() != updater.states[0][0].asnumpy().tolist()


def test_the_optimizer_for_tests(mx):
    optimizer = mx.optimizer.create("test", rescale_grad=2.0)
    weight = mx.nd.ones(2)
    state = optimizer.create_state(0, weight)
    assert state.asnumpy().tolist() == [0, 0]
    optimizer.update(0, weight, mx.nd.array([1, 2]), state)
    assert weight.asnumpy().tolist() == state.asnumpy().tolist() == [3, 5]


@pytest.mark.parametrize("name", ["sgd", "adam", "rmsprop"])
@pytest.mark.engine("torch")  # MXNet silently uses the new value
def test_a_weight_updated_before_backward(name):
    weight = nd.ones(3)
    weight.attach_grad()
    with autograd.record():
        loss = weight * weight
    mx.optimizer.get_updater(mx.optimizer.create(name))(0, nd.ones(3), weight)
    with pytest.raises(mx.MXNetError, match="overwritten"):
        loss.backward()


# Counts of updates go along with the parameters


def scheduled(mx, contexts, optimizer="adam"):
    weight = mx.gluon.Parameter("weight", shape=(1,))
    weight.initialize(mx.init.One(), ctx=contexts)
    schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=0.1)
    options = {"learning_rate": 0.1, "lr_scheduler": schedule}
    return weight, mx.gluon.Trainer([weight], optimizer, options, update_on_kvstore=False)


def train(mx, weight, trainer, steps):
    for _ in range(steps):
        for ctx in weight.list_ctx():
            with mx.autograd.record():
                y = weight.data(ctx) * weight.data(ctx)
            y.backward()
        trainer.step(len(weight.list_ctx()))
    return [weight.data(ctx).asscalar() for ctx in weight.list_ctx()], trainer.optimizer.num_update


MOVES = [
    ([0], [1]),
    ([1], [0]),
    ([0, 1], [2, 3]),
    ([2, 3], [0, 1]),
    ([0, 1], [1, 2]),
    ([0], [1, 2]),
]


@pytest.mark.engine("torch")  # MXNet counts from 0 on another context
@pytest.mark.parametrize("before, after", MOVES, ids=str)
def test_states_that_are_loaded_on_another_context(mx, tmp_path, before, after):
    expected = train(mx, *scheduled(mx, [mx.cpu(i) for i in before]), 9)
    weight, trainer = scheduled(mx, [mx.cpu(i) for i in before])
    train(mx, weight, trainer, 5)
    trainer.save_states(str(tmp_path / "states"))
    moved, another = scheduled(mx, [mx.cpu(i) for i in after])
    moved.set_data(weight.data(weight.list_ctx()[0]))
    another.load_states(str(tmp_path / "states"))
    found = train(mx, moved, another, 4)
    assert found[1] == expected[1] == 9
    np.testing.assert_allclose(found[0], expected[0][:1] * len(after), rtol=1e-6)


@pytest.mark.engine("torch")
def test_parameters_that_are_moved(mx):
    expected = train(mx, *scheduled(mx, [mx.cpu(0)]), 9)
    weight, trainer = scheduled(mx, [mx.cpu(0)])
    for ctx, steps in ((1, 3), (0, 2), (1, 4)):
        weight.reset_ctx(mx.cpu(ctx))
        found = train(mx, weight, trainer, steps)
    assert found == expected


@pytest.mark.engine("torch")
def test_an_updater_that_goes_back_to_earlier_states(mx):
    optimizer = mx.optimizer.SGD(learning_rate=0.1)
    updater = mx.optimizer.get_updater(optimizer)
    weights = [mx.nd.ones((1,), ctx=mx.cpu(i)) for i in range(2)]
    updater(0, weights[0], weights[0].copy())
    states = updater.get_states(dump_optimizer=True)
    for _ in range(3):
        updater(0, weights[1].copy(), weights[1])
    assert optimizer.num_update == 4
    updater.set_states(states)
    updater(0, weights[1].copy(), weights[1])
    assert optimizer.num_update == 2
