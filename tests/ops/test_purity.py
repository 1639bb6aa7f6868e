"""Purity is said: by whom, how, and what it is where nothing is said."""

import pickle

import numpy as np
import pytest

from layers import operator
from layers.engine import autograd, gluon, mx, nd
from layers.ops import Custom, Operator, customop, kernel


def identity(x):
    return x


def gradient(x, out, dout):
    return (dout,)


def make_operator(**said):
    gradients = {"x": lambda dy: dy}
    return Operator("test_purity.made", identity, inputs=("x",), gradients=gradients, **said)


def make_class(**said):
    @operator(name="test_purity.class", **said)
    class same:
        def forward(x):
            return nd.identity(x)

        def dx(dy):
            return dy

    return same


def make_class_that_says(**said):
    body = {"forward": identity, "dx": lambda dy: dy, **said}
    return operator(type("same", (), body), name="test_purity.body")


def make_function(**said):
    return customop("numpy", **said)(identity)


def make_bound(**said):
    class Scale:
        @customop("numpy", **said)
        def apply(self, x):
            return x

    return Scale().apply


def make_primitive(**said):
    return Custom(identity, identity, identity, "pyfunc", gradient, **said)


MADE = {
    make.__name__: make
    for make in (
        make_operator,
        make_class,
        make_class_that_says,
        make_function,
        make_bound,
        make_primitive,
    )
}


def definition(made):
    """The `Operator` that a way of writing one ends in."""
    return made if isinstance(made, Operator) else made.operator


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_functions_are_pure_unless_they_say_otherwise(make):
    assert definition(make()).pure is True
    assert definition(make(pure=True)).pure is True
    assert definition(make(pure=False)).pure is False


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
@pytest.mark.parametrize("said", [0, "False", np.bool_(True)])
def test_anything_but_a_bool_is_refused(make, said):
    with pytest.raises(TypeError, match=rf"pure is .*\({type(said).__name__}\)\n  expected True"):
        make(pure=said)


def test_an_argument_of_the_decorator_goes_before_an_attribute_of_the_class():
    @operator(name="test_purity.both", pure=True)
    class same:
        pure = False

        def forward(x):
            return x

    assert same.pure is True


def test_purity_holds_for_every_set_of_arrays():
    @customop("numpy", pure=False)
    def add(x, w):
        return x + w

    add.def_grad(lambda ans, x, w: lambda g: g)
    assert add(nd.array([1.0]), 2.0).asscalar() == 3
    assert {made.pure for made in add._operators.values()} == {False}
    assert len(add._operators) == 2


def test_a_loop_kernel_is_pure_and_its_bprop_may_not_be():
    @kernel
    def twice(x):
        y = output_tensor(x.shape, x.dtype)  # noqa: F821  (of the kernels' language)
        for i in range(x.shape[0]):
            y[i] = x[i] * 2.0
        return y

    assert Custom(twice).operator.pure is True
    assert Custom(twice, pure=False).operator.pure is False


def test_purity_is_pickled():
    assert pickle.loads(pickle.dumps(make_primitive(pure=False))).pure is False


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_an_operator_that_is_not_pure_computes_the_same(make):
    op = make(pure=False)
    x = nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = op(x)
    assert y.asnumpy().tolist() == [1, 2, 3]
    if make in (make_operator, make_class, make_class_that_says, make_primitive):
        y.backward()
        assert x.grad.asnumpy().tolist() == [1, 1, 1]


class Same(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


def register(name, said, where="class"):
    """Register a Prop that says `said` of its purity, or nothing."""

    @mx.operator.register(name)
    class SameProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=True)
            if where == "instance":
                self.pure = said

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Same()

    if where == "class" and said is not None:
        SameProp.pure = said
    return name


@pytest.mark.parametrize("where", ["class", "instance"])
@pytest.mark.parametrize("said", [None, True, False])
def test_a_prop_says_it_of_its_operator(engine, said, where):
    name = register(f"test_purity.{said}.{where}", said, where)
    assert nd.Custom(nd.array([1.0, 2.0]), op_type=name).asnumpy().tolist() == [1, 2]
    if engine == "torch":
        assert call_of(name).pure is said


def call_of(name):
    """The call of a registered operator, as it is about to run."""
    from layers.mxnet._op.registered import find

    return find(name, {}).prepare([nd.array([1.0])._tensor], {}, mx.cpu())[0]


@pytest.mark.engine("torch")
def test_a_prop_that_says_anything_else_is_refused():
    name = register("test_purity.wrong", "yes")
    expected = (
        r"'test_purity.wrong': pure is 'yes' \(str\)\n  expected True or False\n  in SameProp"
    )
    with pytest.raises(TypeError, match=expected):
        nd.Custom(nd.array([1.0]), op_type=name)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("pure", [True, False])
def test_calls_of_functions_say_what_their_operators_say(pure):
    call = make_class(pure=pure)._adapter.call(mx.cpu(), {}, [])
    assert call.pure is pure


SEEN = []


def appending(x):
    SEEN.append(x.shape)
    return x * 2


def make_appending_primitive():
    return Custom(appending, identity, identity, "pyfunc", gradient)


def make_appending_function():
    return customop("numpy")(appending)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("make", [make_appending_primitive, make_appending_function])
def test_a_refusal_names_the_users_file_and_line(make, caplog):
    op = make()
    net = gluon.nn.HybridLambda(lambda F, x: op(x))
    net.hybridize(backend="aot_eager")
    assert net(nd.array([1.0])).asscalar() == 2
    place = f"{__file__}:{appending.__code__.co_firstlineno + 1}: SEEN.append(x.shape)"
    assert f"changes {__name__}.SEEN, which outlives a call ({place})" in caplog.text


@pytest.mark.engine("torch")
def test_a_function_of_autograd_is_not_pure():
    from layers.mxnet._op.function import FunctionCall

    class Same(autograd.Function):
        def forward(self, x):
            return x

        def backward(self, dy):
            return dy

    assert FunctionCall(Same(), [nd.array([1.0])]).pure is False
