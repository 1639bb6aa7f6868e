"""What operators read beside their inputs: replayed, they see every change of it, as eagerly."""

import collections
import contextvars
import dataclasses
import enum
import functools
import itertools
import logging
import tempfile
import types

import numpy as np
import pytest

from layers import operator
from layers.engine import autograd, gluon, mx, nd
from layers.ops import customop

pytestmark = pytest.mark.engine("torch")
VALUES = (1.0, 1.0, 1.0, 1.0, 5.0, 5.0, 1.0, 2.0, 2.0, 2.0)
GLOBAL = 1.0
ACT = nd.identity


def helper(x):
    return x


counted = itertools.count()


def times(get):
    """An operator that multiplies by what a function gives."""

    @operator(name=f"test_reads.times{next(counted)}")
    class times:
        def forward(x):
            return x * get()

        def dx(dy):
            return dy * get()

        def shapes(x):
            return {"y": x}

    return times


class Scaling(mx.operator.CustomOp):
    """Multiplies by what a method gives."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * self.scale())

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.scale())


def custom(make):
    """A function of arrays, by the operator that `make` gives for each call."""
    name = f"test_reads.custom{next(counted)}"

    @mx.operator.register(name)
    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return make()

    def function(x):
        return (mx.sym if isinstance(x, mx.sym.Symbol) else nd).Custom(x, op_type=name)

    function.op_type = name
    return function


# Each gives a function of an array, and what sets its factor.


def set_global(value):
    globals()["GLOBAL"] = value


def a_global():
    def get():
        return GLOBAL

    return times(get), set_global


def a_helper():
    def get():
        return helper(1)

    def change(value):
        globals()["helper"] = lambda x: x * value

    return times(get), change


def a_closure():
    k = 1.0

    def change(value):
        nonlocal k
        k = value

    return times(lambda: k), change


def one_of_a_factory():
    def made():
        k = 1.0

        def change(value):
            nonlocal k
            k = value

        return lambda: k, change

    (one, _), (other, change) = made(), made()
    first, second = times(one), times(other)
    return lambda x: second(first(x)), change


def a_tuple():
    pair = (1.0, 0)

    def change(value):
        nonlocal pair
        pair = (value, 0)

    return times(lambda: pair[0]), change


def a_tuple_of_another_type():
    pair = (1,)

    def change(value):
        nonlocal pair
        pair = (int(value) if value == 1 else value,)

    return times(lambda: pair[0] * (2 if isinstance(pair[0], float) else 1)), change


def a_sign_of_zero():
    zero = 0.0

    def change(value):
        nonlocal zero
        zero = 0.0 if value == 1 else -0.0

    return times(lambda: 2.0 + np.copysign(1.0, zero)), change


def a_default():
    def get(k=1.0):
        return k

    return times(get), lambda value: setattr(get, "__defaults__", (value,))


def a_code():
    def get():
        return 1.0

    def change(value):
        get.__code__ = (lambda: 5.0).__code__ if value == 5 else (lambda: 2.0).__code__

    return times(get), change


def a_function_of_a_library():
    def forward(x):
        return ACT(x)

    def change(value):
        globals()["ACT"] = nd.identity if value == 1 else nd.negative

    double = operator(
        type("double", (), {"forward": forward, "dx": lambda dy: ACT(dy)}),
        name=f"test_reads.double{next(counted)}",
    )
    return double, change


def a_rule():
    thrice = customop("mxnet", outputs=1)(lambda x: x * 3)
    return thrice, lambda value: thrice.def_grad(lambda ans, x: lambda g: g * value)


def a_method():
    class Op(Scaling):
        def scale(self):
            return 1.0

    return custom(Op), lambda value: setattr(Op, "scale", lambda self: value)


def the_maker():
    class One(Scaling):
        def scale(self):
            return 1.0

    class Two(Scaling):
        def scale(self):
            return 2.0

    k = 1.0

    def make():
        return One() if k == 1 else Two()

    def change(value):
        nonlocal k
        k = value

    return custom(make), change


def another_class():
    def made(k):
        class Op(Scaling):
            def scale(self):
                return k

        return Op

    kind = made(1.0)

    def change(value):
        nonlocal kind
        kind = made(value)

    return custom(lambda: kind()), change


def a_function_that_says_it_is_numpys():
    k = 1.0

    def get():
        return k

    def change(value):
        nonlocal k
        k = value

    get.__module__ = "numpy"
    return times(get), change


def of_what_makes_it():
    class Op(Scaling):
        def scale(self):
            return 1.0

    function = custom(Op)
    prop = mx.operator.find(function.op_type)

    def change(value):
        other = type("Other", (Scaling,), {"scale": lambda self: value})
        prop.create_operator = lambda self, ctx, in_shapes, in_dtypes: other()

    return function, change


NOTED = [
    *(a_function_that_says_it_is_numpys, of_what_makes_it),
    *(a_global, a_helper, a_closure, one_of_a_factory, a_tuple, a_tuple_of_another_type),
    *(a_sign_of_zero, a_default, a_code, a_function_of_a_library, a_rule, a_method),
]


def an_attribute():
    config = types.SimpleNamespace(k=1.0)
    return times(lambda: config.k), lambda value: setattr(config, "k", value)


def a_data_class():
    @dataclasses.dataclass(frozen=True)
    class Config:
        k: float

    config = Config(1.0)
    return times(lambda: config.k), lambda value: object.__setattr__(config, "k", value)


def a_list():
    box = [1.0]
    return times(lambda: box[0]), lambda value: box.__setitem__(0, value)


def a_dict_of_functions():
    acts = {"act": lambda: 1.0}
    return times(lambda: acts["act"]()), lambda value: acts.update(act=lambda: value)


def a_bound_method():
    config = {"k": 1.0}
    get = config.get
    return times(lambda: get("k")), lambda value: config.update(k=value)


def an_array():
    k = np.ones(1)
    return times(lambda: float(k[0])), lambda value: k.fill(value)


def an_nd_array():
    k = nd.ones((1,))
    return times(lambda: k), lambda value: k.__setitem__(slice(None), value)


def a_partial():
    config = {"k": 1.0}
    get = functools.partial(config.__getitem__, "k")
    return times(lambda: get()), lambda value: config.update(k=value)


def a_cached_function():
    k = 1.0

    @functools.lru_cache
    def cached():
        return k

    def change(value):
        nonlocal k
        k = value
        cached.cache_clear()

    return times(lambda: cached()), change


def a_wrapped_function():
    k = 1.0

    def logged(f):
        @functools.wraps(f)
        def wrapper():
            return f() * k

        return wrapper

    def change(value):
        nonlocal k
        k = value

    one = logged(lambda: 1.0)
    return times(lambda: one()), change


def a_functions_attribute():
    def get():
        return get.k

    get.k = 1.0
    return times(get), lambda value: setattr(get, "k", value)


def an_operators_attribute():
    @operator(name=f"test_reads.leaky{next(counted)}")
    class leaky:
        def forward(x):
            return x * leaky.k

        def dx(dy):
            return dy * leaky.k

        def shapes(x):
            return {"y": x}

    leaky.k = 1.0
    return leaky, lambda value: setattr(leaky, "k", value)


def another_operator():
    inner, change = a_list()

    @operator(name=f"test_reads.outer{next(counted)}")
    class outer:
        def forward(x):
            return inner(x)

        def dx(dy):
            return inner(dy)

        def shapes(x):
            return {"y": x}

    return outer, change


def another_operator_by_its_name():
    inner, change = a_list()
    name = inner.name

    @operator(name=f"test_reads.outer{next(counted)}")
    class outer:
        def forward(x):
            return nd.Custom(x, op_type=name)

        def dx(dy):
            return nd.Custom(dy, op_type=name)

        def shapes(x):
            return {"y": x}

    return outer, change


def a_hybridized_block():
    inner, change = a_list()
    block = gluon.nn.HybridLambda(lambda F, x: inner(x))
    block.hybridize()

    @operator(name=f"test_reads.outer{next(counted)}")
    class outer:
        def forward(x):
            return block(x)

        def dx(dy):
            return block(dy)

        def shapes(x):
            return {"y": x}

    return outer, change


def a_default_that_changes():
    box = [1.0]

    def get(box=box):
        return box[0]

    return times(get), lambda value: box.__setitem__(0, value)


def a_keyword_default():
    config = {"k": 1.0}

    def get(*, config=config):
        return config["k"]

    return times(get), lambda value: config.update(k=value)


def a_property_of_an_enum():
    factors = {"on": 1.0}

    class Mode(enum.IntEnum):
        ON = 1

        @property
        def factor(self):
            return factors["on"]

    mode = Mode.ON
    return times(lambda: mode.factor), lambda value: factors.update(on=value)


def a_named_tuple():
    box = [1.0]

    class Config(collections.namedtuple("Config", "name")):
        def factor(self):
            return box[0]

    config = Config("c")
    return times(lambda: config.factor()), lambda value: box.__setitem__(0, value)


def a_number_with_attributes():
    class Number(float):
        k = 1.0

    number = Number(3)
    return times(lambda: number.k), lambda value: setattr(number, "k", value)


def a_context_variable():
    variable = contextvars.ContextVar("k", default=1.0)
    return times(lambda: variable.get()), variable.set


def a_function_of_numpys_making():
    box = [1.0]
    made = np.frompyfunc(lambda x: box[0] * x, 1, 1)
    return times(lambda: float(made(1.0))), lambda value: box.__setitem__(0, value)


def an_import():
    module = types.ModuleType("test_reads_module")
    module.k = 1.0
    import sys

    sys.modules["test_reads_module"] = module

    def get():
        from test_reads_module import k

        return k

    return times(get), lambda value: setattr(module, "k", value)


def a_module():
    module = types.ModuleType("test_reads_module")
    module.k = 1.0
    return times(lambda: module.k), lambda value: setattr(module, "k", value)


def a_class_in_it():
    k = 1.0

    def get():
        class Inner:
            value = k

        return Inner.value

    def change(value):
        nonlocal k
        k = value

    return times(get), change


def own(uses):
    """Of an attribute of the operator's class, used in some way."""

    def case():
        class Op(Scaling):
            k = 1.0
            scale = uses

        return custom(Op), lambda value: setattr(Op, "k", value)

    return case


def by_a_helper(op):
    return op.k


def alias(self):
    me, _ = self, 1
    return me.k


def other_name(this):
    return this.k


OWN = {
    "self.k": lambda self: self.k,
    "type(self).k": lambda self: type(self).k,
    "helper(self)": lambda self: by_a_helper(self),
    "alias": alias,
    "this.k": other_name,
    "(lambda: self.k)()": lambda self: (lambda: self.k)(),
}


def of_its_making():
    k = 1.0

    class Op(Scaling):
        def __init__(self):
            super().__init__()
            self.k = k

        def scale(self):
            return self.k

    def change(value):
        nonlocal k
        k = value

    return custom(Op), change


def of_the_class_that_is_made():
    class One(Scaling):
        k = 1.0

        def scale(self):
            return 1.0

    class Two(Scaling):
        def scale(self):
            return 2.0

    return custom(lambda: One() if One.k == 1 else Two()), lambda value: setattr(One, "k", value)


def overridden(part):
    """By what is no function, in a class that extends one with a function of that name."""

    def case():
        class Base(Scaling):
            def scale(self):
                return 1.0

        class Op(Base):
            k = 1.0

        Op.scale = part
        return custom(Op), lambda value: setattr(Op, "k", value)

    return case


class Descriptor:
    def __get__(self, instance, owner):
        return lambda: owner.k


OVERRIDDEN = {
    "classmethod": classmethod(lambda cls: cls.k),
    "property": property(lambda self: lambda: self.k),
    "descriptor": Descriptor(),
}


def of_another_class():
    class Config(mx.operator.CustomOp):
        k = 1.0

    class Op(Scaling):
        def scale(self):
            return Config().k

    return custom(Op), lambda value: setattr(Config, "k", value)


def of_a_metaclass():
    k = 1.0

    class Meta(type):
        def __call__(cls):
            made = super().__call__()
            made.scale = lambda: k
            return made

    class Op(Scaling, metaclass=Meta):
        def scale(self):
            return 1.0

    def change(value):
        nonlocal k
        k = value

    return custom(Op), change


def a_decorated_function():
    import torch

    box = [1.0]

    @torch.no_grad()
    def get():
        return box[0]

    return times(lambda: get()), lambda value: box.__setitem__(0, value)


def the_globals_of_a_function():
    box = GLOBALS.setdefault("box", [1.0])
    return times(lambda: len_of.__globals__["GLOBALS"]["box"][0]), lambda v: box.__setitem__(0, v)


GLOBALS = {}


def len_of(x):
    return len(x)


def a_docstring():
    def told():
        """1"""

    def get():
        f = told
        return float(len(f.__doc__))

    return times(get), lambda value: setattr(told, "__doc__", "1" * int(value))


def what_says_it_is_a_builtin():
    made = {"__name__": "builtins"}
    exec("class float:\n    k = 1.0", made)
    kind = made["float"]
    return times(lambda: kind.k), lambda value: setattr(kind, "k", value)


def state_of_numpy():
    ways = {1.0: "warn", 5.0: "ignore", 2.0: "print"}
    return (
        times(lambda: len(np.geterr()["divide"])),
        lambda value: np.seterr(divide=ways[value]),
    )


def a_file_of_numbers():
    path = tempfile.mkstemp()[1]
    np.savetxt(path, [1.0])
    return times(lambda: float(np.loadtxt(path))), lambda value: np.savetxt(path, [value])


def named_like_a_method():
    class One(Scaling):
        k = 1.0

        def scale(self):
            return self.k

    class Other(Scaling):
        def scale(self):
            return self.k()

        def k(self):
            return 1.0

    one, other = custom(One), custom(Other)
    return lambda x: other(one(x)), lambda value: setattr(One, "k", value)


REFUSED = [
    *(an_attribute, a_data_class, a_list, a_dict_of_functions, a_bound_method, an_array),
    *(an_nd_array, a_partial, a_cached_function, a_wrapped_function, a_functions_attribute),
    *(an_operators_attribute, another_operator, another_operator_by_its_name),
    a_hybridized_block,
    *(a_default_that_changes, a_keyword_default, a_property_of_an_enum, a_named_tuple),
    *(a_number_with_attributes, a_context_variable, a_function_of_numpys_making, an_import),
    *(a_module, a_class_in_it, of_its_making, named_like_a_method),
    *(of_the_class_that_is_made, another_class, the_maker, of_another_class, of_a_metaclass),
    *(a_decorated_function, the_globals_of_a_function, what_says_it_is_a_builtin, a_docstring),
    *(state_of_numpy, a_file_of_numbers, *map(overridden, OVERRIDDEN.values())),
]


def found(function, change, is_hybrid):
    """What calls give, with the factor changed before; and between forward and backward."""
    net = gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize(is_hybrid)
    values = []
    for between in (False, True):
        for value in VALUES:
            x = nd.array([1, 2])
            x.attach_grad()
            if not between:
                change(value)
            with autograd.record():
                y = net(x)
            if between:
                change(value)
            y.backward()
            values.append([*y.asnumpy(), *x.grad.asnumpy()])
    return values


@pytest.fixture(autouse=True)
def _as_before():
    with np.errstate():
        yield


@pytest.mark.parametrize("case", [*NOTED, *REFUSED, *map(own, OWN.values())])
def test_every_change_is_seen(case):
    function, change = case()
    expected = found(function, change, False)
    assert len({tuple(v) for v in expected}) > 1
    np.testing.assert_array_equal(found(function, change, True), expected)


@pytest.mark.parametrize("case", NOTED)
def test_what_is_plain_is_noted(case, phases):
    function, change = case()
    net = gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize()
    change(1.0)
    for _ in range(3):
        phases.clear()
        product(net)
    assert not phases


@pytest.mark.parametrize("case", [*REFUSED, *map(own, OWN.values())])
def test_what_may_change_is_told(case, phases, caplog):
    function, change = case()
    net = gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize()
    with caplog.at_level(logging.DEBUG, "layers.mxnet.hybridize"):
        for _ in range(3):
            phases.clear()
            product(net)
    assert phases
    assert 1 <= caplog.text.count("runs in each call: ") <= 2  # of one inside, too


def product(net):
    x = nd.array([1, 2])
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    return y


# What code does beside computing


def test_what_it_prints_is_printed(capsys):
    def get():
        print("here")
        return 2.0

    net = gluon.nn.HybridLambda(lambda F, x: operators(x))
    operators = times(get)
    net.hybridize()
    for _ in range(4):
        product(net)
    assert capsys.readouterr().out == "here\n" * 8


def test_what_it_counts_is_counted():
    log = []

    def get():
        log.append(1)
        return 2.0

    function = times(get)
    net = gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize()
    for _ in range(4):
        product(net)
    assert len(log) == 8


def test_what_it_writes_is_written(tmp_path):
    path = str(tmp_path / "seen.npy")

    @operator
    class saved:
        def forward(x):
            np.save(path, float(x.shape[0]))
            return x + 0

        def shapes(x):
            return {"y": x}

    net = gluon.nn.HybridLambda(lambda F, x: saved(x))
    net.hybridize()
    for _ in range(4):
        (tmp_path / "seen.npy").unlink(missing_ok=True)
        net(nd.ones((2,)))
        assert np.load(path) == 2


def test_what_it_does_to_its_inputs_is_done_once():
    @operator
    class counting:
        def forward(x, n):
            n.to_torch().add_(1)
            return x + 0

        def shapes(x):
            return {"n": x, "y": x}

    net = gluon.nn.HybridLambda(lambda F, x, n: counting(x, n))
    net.hybridize()
    n = nd.zeros((2,))
    for i in range(5):
        net(nd.ones((2,)), n)
        assert n[0].asscalar() == i + 1


def test_numbers_that_have_no_text(phases):
    huge = 10**5000 + 1

    def get():
        return 1 if huge else 2

    function = times(get)
    net = gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize()
    for _ in range(4):
        phases.clear()
        huge = 10**5000 + 1
        product(net)
    assert not phases


def test_globals_without_builtins():
    names = {}
    get = types.FunctionType((lambda: len((1, 2))).__code__, names)
    function = times(get)
    net = gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize()
    for _ in range(4):
        assert product(net)[0].asscalar() == 2


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_generators_draw_in_each_call(kind):
    @operator(name=f"test_reads.drawn{next(counted)}")
    class drawn:
        def forward(x):
            return x + float(kind().uniform())

        def shapes(x):
            return {"y": x}

    net = gluon.nn.HybridLambda(lambda F, x: drawn(x))
    net.hybridize()
    assert len({net(nd.zeros((1,))).asscalar() for _ in range(5)}) == 5


def test_time_goes_on():
    import time

    function = times(lambda: time.perf_counter())
    net = gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize()
    x = nd.ones((1,), dtype="float64")
    assert len({net(x).asscalar() for _ in range(4)}) == 4


def test_random_numbers_are_drawn_in_each_call():
    @operator
    class noisy:
        def forward(x):
            return x + nd.random.uniform(shape=x.shape)

        def shapes(x):
            return {"y": x}

    @operator
    class dropped:
        def forward(x):
            return nd.Dropout(x, p=0.5, mode="always")

        def shapes(x):
            return {"y": x}

    for function in (noisy, dropped):
        net = gluon.nn.HybridLambda(lambda F, x, function=function: function(x))
        x, values = nd.ones((50,)), {}
        for is_hybrid in (False, True):
            net.hybridize(is_hybrid)
            mx.random.seed(3)
            values[is_hybrid] = [net(x).asnumpy() for _ in range(5)]
        np.testing.assert_array_equal(values[True], values[False])
        assert not (values[True][3] == values[True][4]).all()


def test_values_are_looked_at_in_each_call():
    @operator
    class signed:
        def forward(x):
            return x * 2 if x.sum().asscalar() > 0 else x * 3

        def dx(dy, x):
            return dy * 2 if x.sum().asscalar() > 0 else dy * 3

        def shapes(x):
            return {"y": x}

    net = gluon.nn.HybridLambda(lambda F, x: signed(x))
    net.hybridize()
    for value in (1, 1, 1, -1, 1, -1):
        x = nd.full((2,), value)
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward()
        assert x.grad[0].asscalar() == (2 if value > 0 else 3) == y[0].asscalar() / value


def test_training_or_not():
    class Trained(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * (2 if is_train else 3))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * (2 if autograd.is_training() else 3))

    function = custom(Trained)
    net = gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize()
    x = nd.ones((2,))
    x.attach_grad()
    for _ in range(4):
        for train_mode, factor in ((True, 2), (False, 3)):
            with autograd.record(train_mode=train_mode):
                y = net(x)
            y.backward(train_mode=train_mode)
            assert y[0].asscalar() == x.grad[0].asscalar() == factor
        assert net(x)[0].asscalar() == 3


def test_attributes_are_their_own():
    @operator
    class multiplied:
        def forward(x, *, a: float = 1.0):
            return x * a

        def dx(dy, a):
            return dy * a

        def shapes(x):
            return {"y": x}

    net = gluon.nn.HybridLambda(lambda F, x: multiplied(multiplied(x, a=3), a=2))
    net.hybridize()
    for _ in range(4):
        assert product(net).asnumpy().tolist() == [6, 12]


def test_errors_of_values_are_those_of_the_operator():
    @operator
    class divided:
        def forward(x, k):
            return x / k

        def shapes(x):
            return {"k": x, "y": x}

    net = gluon.nn.HybridLambda(lambda F, x, k: divided(x, k))
    x = nd.array([6, 6], dtype="int32")
    for is_hybrid in (False, True):
        net.hybridize(is_hybrid)
        for k in (1, 2, 3, 0, 6, 0):
            if k:
                assert net(x, nd.full((2,), k, dtype="int32"))[0].asscalar() == 6 // k
                continue
            with pytest.raises(mx.base.MXNetError, match="ZeroDivisionError") as caught:
                net(x, nd.full((2,), k, dtype="int32"))
            assert any("in forward of operator" in note for note in caught.value.__notes__)
