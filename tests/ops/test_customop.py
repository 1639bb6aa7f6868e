"""What MXNet's CustomOp and CustomOpProp mean, beyond the calls of tests/mxnet/test_operator.py."""

import numpy as np
import pytest
from gallery import assert_close, operator

from layers.engine import autograd, gluon, mx, nd, sym


class Doubles(mx.operator.CustomOp):
    """y = 2 x"""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], 2 * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * out_grad[0])


def registered(name, **parts):
    """The name of y = 2 x, with some of it written otherwise."""
    made = type(
        "Changed", (Doubles,), {n: parts.pop(n) for n in ("forward", "backward") if n in parts}
    )
    operator(name, **parts)(made)
    return name


def called(name, *values, heads=None, **attributes):
    inputs = [nd.array(v) for v in values]
    for x in inputs:
        x.attach_grad()
    with autograd.record():
        y = nd.Custom(*inputs, op_type=name, **attributes)
    y.backward(heads)
    return y, [x.grad for x in inputs]


# How it is called


def test_callbacks_get_keywords():
    """By the documented names, whatever the order of the parameters."""

    def forward(self, *, aux, out_data, in_data, req, is_train):
        assert is_train and req == ["write"] and aux == []
        self.assign(out_data[0], req[0], in_data[0] * 3)

    def backward(self, *, aux, in_grad, out_data, in_data, out_grad, req):
        self.assign(in_grad[0], req[0], out_grad[0] * 3)

    y, (dx,) = called(registered("customop_keywords", forward=forward, backward=backward), [1, 2])
    assert_close([y, dx], [[3, 6], [3, 3]])


def test_an_array_as_an_attribute_is_numpys_text():
    seen = []
    name = registered("customop_text", attributes={"stds": seen.append, "flag": seen.append})
    called(name, [1], stds=np.array([0.1, 0.2]), flag=np.float32(2))
    assert seen == ["[0.1 0.2]", str(np.float32(2))]


@pytest.mark.engine("torch")  # MXNet crashes
def test_an_array_in_the_place_of_an_ndarray_is_an_attribute():
    """As in MXNet; the operator does not know it, and says so."""
    name = registered("customop_numpy", arguments=("data", "weight"))
    with pytest.raises(Exception, match="weight"):
        nd.Custom(nd.ones((2,)), op_type=name, weight=np.ones(2)).wait_to_read()


# In a Symbol


def weighted(prop, shapes):
    """The weight's shape from the data's, the label's too."""
    data = shapes[0]
    return [data, (7, data[1]), (data[0],)], ((data[0], 7),)


def test_missing_inputs_become_variables_of_told_shapes():
    name = registered("customop_missing", arguments=["data", "weight", "label"], shapes=weighted)
    graph = sym.Custom(data=sym.var("x"), op_type=name, name="own")
    assert graph.list_arguments() == ["x", "own_weight", "own_label"]
    assert graph.list_outputs() == ["own_output"]
    assert graph.infer_shape(x=(4, 3)) == ([(4, 3), (7, 3), (4,)], [(4, 7)], [])
    executor = graph.simple_bind(mx.current_context(), x=(4, 3))
    assert executor.arg_dict["own_weight"].shape == (7, 3)


def test_dtypes_go_through_unless_told():
    plain = sym.Custom(sym.var("x"), op_type=registered("customop_types"), name="own")
    told = registered("customop_told", types=lambda prop, t: (t, [np.int32], []))
    integer = sym.Custom(sym.var("x"), op_type=told, name="own")
    for dtype in (np.float16, np.float64):
        assert plain.infer_type(x=dtype)[1] == [dtype]
        assert integer.infer_type(x=dtype)[1] == [np.int32]
    assert nd.Custom(nd.ones((2,), dtype="float16"), op_type=told).dtype == np.int32


def counting(prop, shapes):
    return shapes, [shapes[0]], [(1,)]


def count_up(self, is_train, req, in_data, out_data, aux):
    aux[0][:] = aux[0] + 1
    self.assign(out_data[0], req[0], in_data[0] * 2)


def test_states_are_auxiliary():
    name = registered("customop_states", forward=count_up, states=["count"], shapes=counting)
    graph = sym.Custom(sym.var("x"), op_type=name, name="own")
    assert graph.list_auxiliary_states() == ["own_count"]
    assert graph.list_arguments() == ["x"]
    executor = graph.simple_bind(mx.current_context(), x=(2,))
    for _ in range(3):
        executor.forward(is_train=True)
        executor.backward(nd.ones((2,)))
        executor.outputs[0].wait_to_read()  # MXNet does not wait for a state that it writes
    assert executor.aux_dict["own_count"].asnumpy() == [3]
    assert "own_count" not in executor.grad_dict


def test_a_state_is_a_parameter_of_a_block(engine):
    name = registered("customop_owned", forward=count_up, states=["count"], shapes=counting)

    class Counts(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.count = self.params.get(
                    "count", shape=(1,), init="zeros", grad_req="null", differentiable=False
                )

        def hybrid_forward(self, F, x, count):
            return F.Custom(x, count, op_type=name)

    for hybridize in (False, True):
        net = Counts()
        net.initialize()
        if hybridize:
            net.hybridize()
        x = nd.array([1.0])
        x.attach_grad()
        for _ in range(3):
            with autograd.record():
                y = net(x)
            y.backward()
        assert_close([net.count.data(), x.grad], [[3], [2]])


# Requests


@pytest.mark.parametrize("req", ["write", "add", "null"])
def test_requests_of_an_executor(req):
    name = registered(f"customop_{req}")
    x, dx = nd.array([1, 2]), nd.array([10, 20])
    graph = sym.Custom(sym.var("x"), op_type=name)
    executor = graph.bind(mx.current_context(), {"x": x}, {"x": dx}, req)
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(nd.array([1, 10]))
    assert_close([dx], [{"write": [2, 20], "add": [14, 60], "null": [10, 20]}[req]])


def overwrite(self, req, out_grad, in_data, out_data, in_grad, aux):
    in_grad[0][:] = 2 * out_grad[0]


@pytest.mark.engine("torch")  # MXNet keeps only the last gradient, in silence
def test_an_operator_that_ignores_add_adds_all_the_same():
    name = registered("customop_ignores", backward=overwrite)
    x = nd.array([1.0])
    x.attach_grad("add")
    for _ in range(2):
        with autograd.record():
            y = nd.Custom(x, op_type=name) + nd.Custom(x, op_type=name)
        y.backward()
    assert_close([x.grad], [[8]])
    dx = nd.array([1.0])
    graph = sym.Custom(sym.var("x"), op_type=name)
    executor = graph.bind(mx.current_context(), {"x": x}, {"x": dx}, "add")
    executor.forward(is_train=True)
    executor.backward(nd.array([1.0]))
    assert_close([dx], [[3]])


def test_a_parameter_used_twice():
    name = registered("customop_twice")

    class Twice(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.w = self.params.get("w", shape=(2,), init="ones")

        def hybrid_forward(self, F, x, w):
            return F.Custom(w, op_type=name) * x + F.Custom(w * x, op_type=name)

    for hybridize in (False, True):
        net = Twice()
        net.initialize()
        if hybridize:
            net.hybridize()
        with autograd.record():
            y = net(nd.array([3, 4]))
        y.backward()
        assert_close([net.w.grad()], [[12, 16]])


def test_a_loss_gets_no_head_gradient(engine):
    """Its place is there; with us it is empty."""
    seen = []

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        seen.append((len(out_grad), out_grad[0].size))
        self.assign(in_grad[0], req[0], in_data[0])

    name = registered("customop_loss", backward=backward, top=False)
    _, (dx,) = called(name, [5, 6], heads=nd.array([100, 100]))
    assert_close([dx], [[5, 6]])
    assert seen[0] == (1, 0) if engine == "torch" else seen[0][0] == 1


# Inside


@pytest.mark.engine("torch")  # MXNet runs it on another thread
def test_the_context_inside_is_that_of_the_inputs():
    before, seen = mx.current_context(), []

    def forward(self, is_train, req, in_data, out_data, aux):
        seen.append((mx.current_context(), nd.ones((1,)).context))
        self.assign(out_data[0], req[0], in_data[0] + nd.ones((1,)))

    x = nd.array([1.0], ctx=mx.cpu(1))
    assert nd.Custom(x, op_type=registered("customop_context", forward=forward)).context == mx.cpu(
        1
    )
    assert seen == [(mx.cpu(1), mx.cpu(1))]
    assert mx.current_context() == before


def cubed(x):
    """3 x² by autograd, on the array that the operator was given."""
    x.attach_grad()
    with autograd.record():
        y = x * x * x
    y.backward()
    return x.grad


@pytest.mark.engine("torch")  # in MXNet an array of the caller's loses its past by attach_grad
def test_autograd_on_what_the_operator_is_given():
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], cubed(in_data[0]))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        slope = cubed(in_data[0]) / in_data[0] * 2
        self.assign(in_grad[0], req[0], slope * out_grad[0])

    name = registered("customop_autograd", forward=forward, backward=backward)
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    gradient = x.grad
    with autograd.record():
        y = nd.Custom(x * 1, op_type=name)
        assert autograd.is_recording()
        z = (y * x).sum()
    z.backward()
    assert_close([y, x.grad], [[3, 12], [9, 36]])
    assert x.grad is gradient


def test_an_operator_that_calls_another():
    inner = registered("customop_inner")

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], nd.Custom(in_data[0], op_type=inner) + 1)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x = in_data[0].copy()
        x.attach_grad()
        with autograd.record():
            y = nd.Custom(x, op_type=inner)
        y.backward(out_grad[0])
        self.assign(in_grad[0], req[0], x.grad)

    y, (dx,) = called(registered("customop_outer", forward=forward, backward=backward), [1, 2])
    assert_close([y, dx], [[3, 5], [2, 2]])


# The life of the operator


def test_how_long_an_operator_lives():
    """A plain and a hybridized call make it anew; an executor makes it once, for a shape."""
    made, seen = [], []

    def forward(self, is_train, req, in_data, out_data, aux):
        if not any(self is op for op in made):
            made.append(self)
        self.calls = getattr(self, "calls", 0) + 1
        seen.append(self.calls)
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * self.calls)

    name = registered("customop_life", forward=forward, backward=backward)
    net = gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type=name))
    for hybridize in (False, True):
        if hybridize:
            net.hybridize(static_alloc=True)
        for _ in range(2):
            x = nd.ones((2,))
            x.attach_grad()
            with autograd.record():
                y = net(x)
            y.backward()
            assert_close([x.grad], [[1, 1]])
    assert (len(made), seen) == (4, [1, 1, 1, 1])
    executor = sym.Custom(sym.var("x"), op_type=name).simple_bind(mx.current_context(), x=(2,))
    for calls in (1, 2, 3):
        executor.forward(is_train=True)
        executor.backward(nd.ones((2,)))
        assert_close(executor.grad_arrays, [[calls, calls]])
    assert (len(made), seen[4:]) == (5, [1, 2, 3])


@pytest.mark.engine("torch")
def test_an_executor_that_is_watched_has_the_same_operators():
    def forward(self, is_train, req, in_data, out_data, aux):
        self.calls = getattr(self, "calls", 0) + 1
        self.assign(out_data[0], req[0], self.calls)

    name = registered("customop_watched", forward=forward)
    executor = sym.Custom(sym.var("x"), op_type=name).simple_bind(mx.current_context(), x=(1,))
    executor.forward()
    executor.set_monitor_callback(lambda *_: None)
    executor.forward()
    assert executor.forward()[0].asscalar() == 3


@pytest.mark.parametrize("mode", ["predict", "bound"])
def test_a_backward_that_raises_is_not_called_unasked(mode):
    def backward(self, *_, **__):
        raise AssertionError("must not be called")

    name = registered(f"customop_raises_{mode}", backward=backward)
    x = nd.array([2.0])
    if mode == "predict":
        x.attach_grad()
        net = gluon.nn.HybridLambda(lambda F, x: F.Custom(x, op_type=name))
        net.hybridize()
        assert_close([net(x)], [[4]])
        with autograd.record():
            y = x * nd.Custom(nd.array([5.0]), op_type=name)  # a constant
        y.backward()
        assert_close([x.grad], [[10]])
    else:
        graph = sym.Custom(sym.var("x"), op_type=name)
        executor = graph.bind(mx.current_context(), {"x": x}, grad_req="null")
        assert_close(executor.forward(is_train=False), [[4]])


def test_what_users_import():
    for name in ("CustomOp", "CustomOpProp", "register", "get_all_registered_operators"):
        assert callable(getattr(mx.operator, name))


# autograd.Function


def test_a_function_of_several_outputs():
    class Parts(autograd.Function):
        def forward(self, a, b):
            self.save_for_backward(a, b)
            return a * b, a + b

        def backward(self, dp, ds):
            a, b = self.saved_tensors
            return dp * b + ds, dp * a + ds

    a, b = nd.array([2.0]), nd.array([3.0])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        product, total = Parts()(a, b)
        y = 10 * product + total
    y.backward()
    assert_close([a.grad, b.grad], [[31], [21]])


@pytest.mark.engine("torch")  # MXNet ends in an AttributeError of its own
def test_a_prop_whose_init_does_not_call_that_of_its_base():
    @mx.operator.register("test_not_initialized")
    class Uninitialized(mx.operator.CustomOpProp):
        def __init__(self):
            pass

    with pytest.raises(AttributeError, match=r"Uninitialized.__init__ does not call super\(\)"):
        nd.Custom(nd.ones(2), op_type="test_not_initialized")
