"""Custom operators in MXNet's own way: what CustomOp and CustomOpProp mean."""

import numpy as np
import pytest


@pytest.fixture
def nd(mx):
    return mx.nd


def close(array, expected, tolerance=1e-5):
    np.testing.assert_allclose(array.asnumpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.fixture
def define(mx):
    """Register an operator from functions; its name is unique to the call."""
    count = iter(range(1000))

    def define(forward, backward=None, arguments=("data",), outputs=("output",), **rules):
        name = f"test_{forward.__name__}_{next(count)}_{id(forward)}"
        top = rules.pop("need_top_grad", True)
        attributes = rules.pop("attributes", {})

        class Op(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                return forward(self, is_train, req, in_data, out_data, aux)

            def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
                return backward(self, req, out_grad, in_data, out_data, in_grad, aux)

        class Prop(mx.operator.CustomOpProp):
            def __init__(self, **text):
                super().__init__(need_top_grad=top)
                self.text = text
                attributes.update(text)

            def list_arguments(self):
                return list(arguments)

            def list_outputs(self):
                return list(outputs)

            def create_operator(self, ctx, in_shapes, in_dtypes):
                op = Op()
                op.text, op.ctx = self.text, ctx
                return op

        for rule, function in rules.items():
            setattr(Prop, rule, function)
        mx.operator.register(name)(Prop)
        return name

    return define


def square(op, is_train, req, x, y, aux):
    op.assign(y[0], req[0], x[0] * x[0])


def square_grad(op, req, dy, x, y, dx, aux):
    op.assign(dx[0], req[0], 2 * x[0] * dy[0])


def test_forward_and_backward(mx, nd, define):
    name = define(square, square_grad)
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type=name)
    y.backward(nd.array([1, 10, 100]))
    close(y, [1, 4, 9])
    close(x.grad, [2, 40, 600])


def test_numpy_inside(mx, nd, define):
    def forward(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], nd.array(np.tanh(x[0].asnumpy())))

    def backward(op, req, dy, x, y, dx, aux):
        op.assign(dx[0], req[0], nd.array(dy[0].asnumpy() * (1 - y[0].asnumpy() ** 2)))

    x = nd.array([[0.5, -2.0]])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type=define(forward, backward))
    y.backward()
    close(y, np.tanh(x.asnumpy()))
    close(x.grad, 1 - np.tanh(x.asnumpy()) ** 2)


def test_attributes_are_text(mx, nd, define):
    seen = {}
    name = define(square, attributes=seen)
    nd.Custom(
        nd.ones((2,)), op_type=name, shape=(8, 16), flag=True, scale=0.1, text="x"
    ).wait_to_read()
    assert seen == {"shape": "(8, 16)", "flag": "True", "scale": "0.1", "text": "x"}


@pytest.mark.engine("torch")  # MXNet hangs or dies on inputs by name
def test_inputs_by_name(nd, define):
    def subtract(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], x[0] - x[1])

    name = define(subtract, arguments=("left", "right"), infer_shape=lambda p, s: (s, [s[0]], []))
    a, b = nd.array([5.0]), nd.array([3.0])
    close(nd.Custom(right=b, left=a, op_type=name), [2])
    close(nd.Custom(a, right=b, op_type=name), [2])
    with pytest.raises(TypeError, match="'middle' is unknown"):
        nd.Custom(a, middle=b, op_type=name)
    with pytest.raises(TypeError, match="right is missing"):
        nd.Custom(left=a, op_type=name)
    with pytest.raises(TypeError, match="expected left, right"):
        nd.Custom(a, op_type=name)


def test_infer_shape_of_two_lists_and_mixed_sequences(nd, define):
    def rows(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], nd.sum(x[0], axis=1))

    name = define(rows, infer_shape=lambda prop, shapes: ((shapes[0],), [[shapes[0][0]]]))
    close(nd.Custom(nd.ones((3, 4)), op_type=name), [4, 4, 4])


def test_several_outputs(mx, nd, define):
    def parts(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], x[0] * 2)
        op.assign(y[1], req[1], x[0] * 3)

    def parts_grad(op, req, dy, x, y, dx, aux):
        op.assign(dx[0], req[0], dy[0] * 2 + dy[1] * 3)

    name = define(parts, parts_grad, outputs=("double", "triple"))
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        a, b = nd.Custom(x, op_type=name)
        c = a + 10 * b
    c.backward()
    close(x.grad, [32, 32])


def test_output_with_one_used_gradient(mx, nd, define):
    def parts(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], x[0] * 2)
        op.assign(y[1], req[1], x[0] * 3)

    def parts_grad(op, req, dy, x, y, dx, aux):
        op.assign(dx[0], req[0], dy[0] * 2 + dy[1] * 3)

    name = define(parts, parts_grad, outputs=("double", "triple"))
    x = nd.array([1.0])
    x.attach_grad()
    with mx.autograd.record():
        double = nd.Custom(x, op_type=name)[0]
    double.backward()
    close(x.grad, [2])


@pytest.mark.parametrize("write", ["assign", "whole", "slices", "parts", "number", "numpy"])
def test_ways_of_writing(mx, nd, define, write):
    def forward(op, is_train, req, x, y, aux):
        value = x[0] * 2
        if write == "assign":
            op.assign(y[0], req[0], value)
        elif write == "whole":
            y[0][:] = value
        elif write == "slices":
            y[0][0:1] = value[0:1]
            y[0][1:] = value[1:]
        elif write == "parts":
            for i in range(2):
                for j in range(3):
                    y[0][i, j] = value[i, j].asscalar()
        elif write == "number":
            op.assign(y[0], req[0], 7)
        else:
            op.assign(y[0], req[0], value.asnumpy())

    x = nd.array(np.arange(6).reshape(2, 3))
    y = nd.Custom(x, op_type=define(forward))
    close(y, np.full((2, 3), 7) if write == "number" else x.asnumpy() * 2)


@pytest.mark.engine("torch")  # MXNet leaves what was in memory
def test_what_is_not_written_is_zero(mx, nd, define):
    def nothing(op, *_):
        pass

    x = nd.ones((3,))
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type=define(nothing, nothing))
    x.grad[:] = 5
    y.backward()
    close(y, [0, 0, 0])
    close(x.grad, [0, 0, 0])


def test_assign_requests(mx):
    op, nd = mx.operator.CustomOp(), mx.nd
    for req, expected in (("null", 1), ("write", 5), ("inplace", 5), ("add", 6)):
        dst = nd.ones((2,))
        op.assign(dst, req, nd.full((2,), 5))
        close(dst, [expected] * 2)


def test_req_is_null_for_inputs_without_gradient(mx, nd, define):
    seen = []

    def add(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], x[0] + x[1])

    def add_grad(op, req, dy, x, y, dx, aux):
        seen[:] = req
        op.assign(dx[0], req[0], dy[0])
        op.assign(dx[1], req[1], dy[0])

    name = define(add, add_grad, arguments=("a", "b"))
    a, b = nd.ones((2,)), nd.ones((2,))
    a.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(a, b, op_type=name)
    y.backward()
    a.grad.wait_to_read()
    assert seen == ["write", "null"]


def test_gradients_add_up(mx, nd, define):
    name = define(square, square_grad)
    x = nd.array([3.0])
    x.attach_grad("add")
    for _ in range(2):
        with mx.autograd.record():
            y = nd.Custom(x, op_type=name) + nd.Custom(x, op_type=name)
        y.backward()
    close(x.grad, [24])


def test_loss_needs_no_head_gradient(mx, nd, define):
    def forward(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], nd.softmax(x[0]))

    def backward(op, req, dy, x, y, dx, aux):
        op.assign(dx[0], req[0], y[0] - nd.one_hot(x[1], 3))

    name = define(
        forward,
        backward,
        arguments=("data", "label"),
        need_top_grad=False,
        infer_shape=lambda prop, s: ([s[0], (s[0][0],)], [s[0]], []),
    )
    x, label = nd.array([[1.0, 2.0, 3.0]]), nd.array([2])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, label, op_type=name)
    y.backward()
    p = np.exp([1, 2, 3]) / np.exp([1, 2, 3]).sum()
    close(x.grad, [p - [0, 0, 1]])


@pytest.mark.engine("torch")  # in MXNet 1.9.1 the places of undeclared arrays cannot be rebuilt
def test_what_backward_does_not_depend_on_is_empty(mx, nd, define):
    seen = {}

    def backward(op, req, dy, x, y, dx, aux):
        seen.update(dy=dy[0].shape, x=x[0].size, y=y[0].size)
        op.assign(dx[0], req[0], dy[0])

    name = define(
        square, backward, declare_backward_dependency=lambda prop, dy, x, y: [dy[0], y[0]]
    )
    x = nd.ones((3,))
    x.attach_grad()
    with mx.autograd.record():
        out = nd.Custom(x, op_type=name)
    out.backward()
    assert seen == {"dy": (3,), "x": 0, "y": 3}


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "read", [lambda x: x.sum(), lambda x: x * 2, lambda x: x.asnumpy(), lambda x: x + 1]
)
def test_what_backward_does_not_depend_on_is_not_read(mx, nd, define, read):
    def backward(op, req, dy, x, y, dx, aux):
        read(x[0])
        op.assign(dx[0], req[0], dy[0])

    name = define(square, backward, declare_backward_dependency=lambda prop, dy, x, y: [dy[0]])
    x = nd.ones((3,))
    x.attach_grad()
    with mx.autograd.record():
        out = nd.Custom(x, op_type=name)
    with pytest.raises(mx.base.MXNetError, match=r"in_data\[0\] is read in backward, and declare_"):
        out.backward()


def test_states_are_updated_in_place(mx, nd, define):
    def forward(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], x[0])
        aux[0][:] = aux[0] + x[0]

    name = define(
        forward,
        list_auxiliary_states=lambda prop: ["total"],
        infer_shape=lambda prop, s: (s, [s[0]], [s[0]]),
    )
    total = nd.zeros((2,))
    for _ in range(3):
        nd.Custom(nd.array([1.0, 2.0]), total, op_type=name).wait_to_read()
    close(total, [3, 6])


HYBRIDIZE = {
    "eager": None,
    "replayed": {},
    "recorded": {"static_alloc": True, "static_shape": True},
}


@pytest.mark.parametrize("flags", HYBRIDIZE.values(), ids=HYBRIDIZE)
def test_a_state_that_is_a_parameter_with_a_gradient(mx, nd, define, flags):
    def forward(op, is_train, req, x, y, aux):
        aux[0][:] = aux[0] + x[0]
        op.assign(y[0], req[0], x[0] * 2)

    def backward(op, req, dy, x, y, dx, aux):
        op.assign(dx[0], req[0], dy[0] * 2)

    name = define(
        forward,
        backward,
        list_auxiliary_states=lambda self: ["total"],
        infer_shape=lambda self, shapes: (shapes, [shapes[0]], [shapes[0]]),
    )

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.total = self.params.get("total", shape=(2,), init="zeros")

        def hybrid_forward(self, F, x, total):
            return F.Custom(x, total, op_type=name)

    net = Net()
    net.initialize()
    if flags is not None:
        net.hybridize(**flags)
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    for _ in range(3):
        with mx.autograd.record():
            y = net(x)
        y.backward()
        close(x.grad, [2, 2])
    close(net.total.data(), [3, 6])
    close(net.total.grad(), [0, 0])


def test_a_state_of_the_table_that_has_a_gradient(mx, nd):
    ones = [nd.ones((2,)) for _ in range(4)]
    for array in ones:
        array.attach_grad()
    with mx.autograd.record():
        y = nd.BatchNorm(nd.array([[1.0, 2.0], [3.0, 4.0]]), *ones, fix_gamma=False, momentum=0.5)
    y.backward()
    close(ones[2], [1.5, 2.0])


def test_nested_autograd(mx, nd, define):
    def forward(op, is_train, req, x, y, aux):
        inner = x[0].copy()
        inner.attach_grad()
        with mx.autograd.record():
            z = inner * inner * inner
        z.backward()
        op.assign(y[0], req[0], inner.grad)

    def backward(op, req, dy, x, y, dx, aux):
        inner = x[0].copy()
        inner.attach_grad()
        with mx.autograd.record():
            z = 3 * inner * inner
        z.backward(dy[0])
        op.assign(dx[0], req[0], inner.grad)

    x = nd.array([2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type=define(forward, backward)) * 10
    y.backward()
    close(y, [120])
    close(x.grad, [120])


def test_what_a_prop_keeps_of_shapes_is_for_its_operator(mx, nd, define):
    """Whatever it was asked for in between."""

    def infer_shape(self, shapes):
        self.size = shapes[0][0]
        return shapes, [[1]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        op = Op()
        op.size = self.size
        return op

    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], nd.array([self.size]))

    name = define(square, infer_shape=infer_shape, create_operator=create_operator)
    symbol = mx.sym.Custom(mx.sym.var("data"), op_type=name)
    for size in (2, 3, 2, 3):
        symbol.infer_shape(data=(7,))
        close(nd.Custom(nd.ones((size,)), op_type=name), [size])


def test_what_create_operator_is_told(mx, nd, define):
    """The shapes of inputs and of states."""
    told = []

    def forward(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], x[0])

    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            forward(self, is_train, req, in_data, out_data, aux)

    def create_operator(self, ctx, shapes, dtypes):
        told.append((ctx, shapes, dtypes))
        return Op()

    name = define(
        forward,
        list_auxiliary_states=lambda self: ["state"],
        infer_shape=lambda self, shapes: (shapes, [shapes[0]], [[7]]),
        create_operator=create_operator,
    )
    nd.Custom(nd.ones((2, 3)), nd.zeros(7), op_type=name).wait_to_read()
    mx.sym.Custom(mx.sym.var("x"), op_type=name).simple_bind(mx.cpu(), x=(2, 3)).forward()
    for ctx, shapes, dtypes in told:
        assert ctx == mx.cpu() and shapes == [[2, 3], [7]]
        assert dtypes in ([0, 0], [np.float32, np.float32])  # MXNet has numbers of its own
    assert len(told) >= 2


@pytest.mark.engine("torch")  # MXNet's gradient is zeros
def test_no_backward(mx, nd, define):
    class Negative(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], -in_data[0])

    name = define(test_no_backward, create_operator=lambda *_: Negative())
    x = nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type=name)
    with pytest.raises(
        NotImplementedError, match="Negative has no backward, and a gradient is"
    ) as told:
        y.backward()
    said = [str(told.value), *getattr(told.value, "__notes__", [])]  # Python 3.10 has no notes
    assert f"in backward of Custom '{name}'" in "".join(said)


@pytest.mark.engine("torch")  # MXNet computes nothing, and says nothing
def test_no_create_operator(mx, nd):
    @mx.operator.register("test_no_create_operator")
    class Prop(mx.operator.CustomOpProp):
        pass

    calls = [
        lambda: nd.Custom(nd.ones(3), op_type="test_no_create_operator"),
        lambda: mx.sym.Custom(mx.sym.var("x"), op_type="test_no_create_operator").eval(
            x=nd.ones(3)
        ),
    ]
    for call in calls:
        with pytest.raises(
            NotImplementedError, match="Prop has no create_operator\n  expected def"
        ):
            call()


@pytest.mark.engine("torch")
def test_a_prop_is_made_once_for_its_attributes(mx, nd, define):
    made = []

    def create(self, *_):
        made.append(self)
        return Op()

    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0])

    name = define(square, create_operator=create)
    for shape in ((2,), (3,), (2,)):
        nd.Custom(nd.ones(shape), op_type=name)
        nd.Custom(data=nd.ones(shape), op_type=name)
        mx.sym.Custom(mx.sym.var("data"), op_type=name).eval(data=nd.ones(shape))
    assert len(made) == 9 and len({*map(id, made)}) == 1
    nd.Custom(nd.ones((2,)), op_type=name, other=1)
    assert made[-1] is not made[0]


@pytest.mark.engine("torch")  # MXNet runs it on another thread, with that thread's switches
def test_switches_inside(mx, nd, define):
    seen = []

    def forward(op, is_train, req, x, y, aux):
        seen.append((is_train, mx.autograd.is_training(), mx.autograd.is_recording()))
        op.assign(y[0], req[0], x[0])

    name = define(forward)
    x = nd.ones((1,))
    x.attach_grad()
    with mx.autograd.record():
        nd.Custom(x, op_type=name)
        assert mx.autograd.is_recording() and mx.autograd.is_training()
    nd.Custom(x, op_type=name)
    assert seen == [(True, True, False), (False, False, False)]


def test_the_object_lives_from_forward_to_backward(mx, nd, define):
    def forward(op, is_train, req, x, y, aux):
        op.kept = float(x[0].asnumpy().sum())
        op.assign(y[0], req[0], x[0])

    def backward(op, req, dy, x, y, dx, aux):
        op.assign(dx[0], req[0], dy[0] * op.kept)

    name = define(forward, backward)
    x, z = nd.array([1.0, 2.0]), nd.array([10.0, 20.0])
    x.attach_grad()
    z.attach_grad()
    with mx.autograd.record():
        total = nd.Custom(x, op_type=name) + nd.Custom(z, op_type=name)
    total.backward()
    close(x.grad, [3, 3])
    close(z.grad, [30, 30])


def test_backward_that_raises_is_not_called_unasked(nd, define):
    def backward(op, *_):
        raise AssertionError("must not be called")

    close(nd.Custom(nd.array([2.0]), op_type=define(square, backward)), [4])


def test_float64_keeps_its_type(mx, nd, define):
    name = define(square, square_grad)
    x = nd.array([1 / 3], dtype="float64")
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type=name)
    y.backward()
    assert y.dtype == x.grad.dtype == np.float64
    close(y, [1 / 9], 1e-15)


@pytest.mark.engine("torch")  # MXNet 1.9.1 crashes without inputs
def test_no_inputs(mx, nd, define):
    def constant(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], nd.ones((2, 2)))

    name = define(
        constant,
        arguments=(),
        infer_shape=lambda prop, s: ([], [(2, 2)], []),
        infer_type=lambda prop, t: ([], [np.float32], []),
    )
    close(nd.Custom(op_type=name), np.ones((2, 2)))
    assert nd.Custom(op_type=name, ctx="cpu(1)").context == mx.cpu(1)


@pytest.mark.engine("torch")  # MXNet prints the exception and raises another, or hangs
@pytest.mark.parametrize(
    "phase", ["__init__", "infer_shape", "infer_type", "create_operator", "forward", "backward"]
)
def test_an_exception_reaches_the_caller(mx, nd, define, phase):
    class Mistake(Exception):
        pass

    def fail(*args, **kwargs):
        raise Mistake(f"in {phase}")

    rules = {} if phase in ("forward", "backward") else {phase: fail}
    name = define(fail if phase == "forward" else square, fail, **rules)
    x = nd.ones((2, 3))
    x.attach_grad()
    with pytest.raises(Mistake) as caught:
        with mx.autograd.record():
            y = nd.Custom(x, op_type=name)
        y.backward()
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert f"in {phase} of Custom '{name}'" in told
    assert phase == "__init__" or "data (2, 3) float32" in told
    assert not mx.autograd.is_recording()
    close(nd.Custom(x, op_type=define(square)), np.ones((2, 3)))


@pytest.mark.engine("torch")
def test_declared_counts_are_checked(nd, define):
    for shapes, told in (
        (lambda p, s: (s, [], []), "gave 0 entries"),
        (lambda p, s: (s,), "gave 1 lists"),
        (lambda p, s: ([(5,)], [s[0]], []), r"expected \(5,\)"),
    ):
        with pytest.raises(ValueError, match=told):
            nd.Custom(nd.ones((2,)), op_type=define(square, infer_shape=shapes))


@pytest.mark.engine("torch")  # MXNet writes NaN
@pytest.mark.parametrize("req", ["write", "inplace", "add"])
def test_assign_refuses_none(mx, nd, req):
    y = nd.ones((2,))
    with pytest.raises(ValueError, match="assign: src is None"):
        mx.operator.CustomOp().assign(y, req, None)
    mx.operator.CustomOp().assign(y, "null", None)
    assert y.asnumpy().tolist() == [1, 1]


@pytest.mark.engine("torch")
def test_unknown_operator_names_the_nearest(mx, nd, define):
    define(square)
    mx.operator.register("test_known_name")(mx.operator.CustomOpProp)
    with pytest.raises(mx.MXNetError, match="test_known_name"):
        nd.Custom(nd.ones((2,)), op_type="test_known_nam")


@pytest.mark.engine("torch")  # MXNet lets the caller's array be overwritten
def test_writing_into_an_input_does_not_reach_the_caller(nd, define):
    def careless(op, is_train, req, x, y, aux):
        x[0][:] = 0
        op.assign(y[0], req[0], x[0])

    x = nd.ones((3,))
    close(nd.Custom(x, op_type=define(careless)), [0, 0, 0])
    close(x, [1, 1, 1])


def test_an_input_as_output_is_a_copy(nd, define):
    def identity(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], x[0])

    x = nd.ones((3,))
    y = nd.Custom(x, op_type=define(identity))
    y[:] = 5
    close(x, [1, 1, 1])
    x[:] = 7
    close(y, [5, 5, 5])


@pytest.mark.engine("torch")
def test_what_the_operator_keeps_is_its_own(nd, define):
    kept = []

    def keeper(op, is_train, req, x, y, aux):
        kept.append(x[0] * 2)
        op.assign(y[0], req[0], kept[-1])

    y = nd.Custom(nd.ones((2,)), op_type=define(keeper))
    kept[0][:] = 9
    close(y, [2, 2])
    y[:] = 4
    close(kept[0], [9, 9])


def test_an_output_that_is_written_can_be_recorded_with(mx, nd, define):
    found = []

    def doubled(self, is_train, req, x, y, aux):
        w = nd.ones((2,))
        w.attach_grad()
        self.assign(y[0], req[0], x[0] * 2)
        with mx.autograd.record():
            z = w * y[0]
        z.backward()
        found.append(w.grad.asnumpy().tolist())

    nd.Custom(nd.array([1, 2]), op_type=define(doubled)).wait_to_read()
    assert found == [[2, 4]]


@pytest.mark.engine("torch")
def test_second_derivative_is_refused(mx, nd, define):
    x = nd.array([3.0])
    x.attach_grad()
    with mx.autograd.record():
        y = nd.Custom(x, op_type=define(square, square_grad))
        (dx,) = mx.autograd.grad(y, [x], create_graph=True)
    close(dx, [6])
    with pytest.raises(RuntimeError, match="no second derivative"):
        dx.backward()


def test_registering_the_same_class_again_is_silent(mx):
    class Prop(mx.operator.CustomOpProp):
        pass

    for _ in range(2):
        assert mx.operator.register("test_again")(Prop) is Prop
    assert "FullyConnected" in mx.operator.get_all_registered_operators()


@pytest.mark.engine("torch")
def test_another_class_of_the_name_warns(mx):
    mx.operator.register("test_taken")(type("First", (mx.operator.CustomOpProp,), {}))
    with pytest.warns(UserWarning, match="'test_taken'"):
        mx.operator.register("test_taken")(type("Second", (mx.operator.CustomOpProp,), {}))


@pytest.mark.engine("torch")
def test_out(mx, nd, define):
    def parts(op, is_train, req, x, y, aux):
        op.assign(y[0], req[0], x[0] * 2)
        op.assign(y[1], req[1], x[0] * 3)

    name = define(parts, outputs=("double", "triple"))
    a, b = nd.zeros((2,)), nd.zeros((2,))
    out = [a, b]
    assert nd.Custom(nd.ones((2,)), op_type=name, out=out) is out
    close(a, [2, 2])
    close(b, [3, 3])
    assert out[0] is a


@pytest.mark.engine("torch")
def test_an_attribute_called_operator(mx, nd, define):
    name = define(square)
    mx.operator.find(name).operator = object
    close(nd.Custom(nd.array([2.0]), op_type=name), [4])


@pytest.mark.engine("torch")
@pytest.mark.parametrize("phase", ["forward", "backward"])
def test_an_exception_in_a_function(mx, nd, phase):
    class Fails(mx.autograd.Function):
        def forward(self, x):
            return [][0] if phase == "forward" else x * 2

        def backward(self, dy):
            return [][0]

    x = nd.ones((2, 3))
    x.attach_grad()
    with pytest.raises(IndexError) as caught:
        with mx.autograd.record():
            y = Fails()(x)
        y.backward()
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert f"in {phase} of Function 'Fails' ((2, 3) float32)" in told


def returning(self, is_train, req, in_data, out_data, aux):
    return in_data[0] * 2


def returned(self, req, out_grad, in_data, out_data, in_grad, aux):
    return out_grad[0] * 2


@pytest.mark.engine("torch")  # MXNet gives zeros, in silence
def test_what_is_returned_instead_of_written(mx, nd, define):
    x = nd.ones((2,))
    x.attach_grad()
    name = define(returning)
    told = r"forward returned NDArray, and wrote nothing into out_data\n  expected self\.assign"
    with pytest.raises(TypeError, match=told):
        nd.Custom(x, op_type=name)
    name = define(square, returned)
    with mx.autograd.record():
        y = nd.Custom(x, op_type=name)
    with pytest.raises(TypeError, match="backward returned NDArray, and wrote nothing into in_gra"):
        y.backward()


@pytest.mark.engine("torch")
def test_a_symbol_refuses_shapes_that_the_operator_refuses(mx, define):
    def infer_shape(self, shapes):
        return [shapes[0], shapes[0]], [shapes[0]], []

    name = define(square, arguments=("a", "b"), infer_shape=infer_shape)
    y = mx.sym.Custom(mx.sym.var("a"), mx.sym.var("b"), op_type=name, name="both")
    assert y.infer_shape(a=(2, 3))[0] == [(2, 3), (2, 3)]
    with pytest.raises(ValueError, match=r"'both': b is \(5,\)\n  expected \(2, 3\)"):
        y.infer_shape(a=(2, 3), b=(5,))


@pytest.mark.engine("torch")
def test_a_symbol_of_too_many_inputs(mx, define):
    a, b = mx.sym.var("a"), mx.sym.var("b")
    with pytest.raises(TypeError, match="2 arguments by position\n  expected data"):
        mx.sym.Custom(a, b, op_type=define(square))
    with pytest.raises(TypeError, match="by position"):
        mx.sym.relu(a, b)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "registered, asked",
    [("p7.test_near", "test_near"), ("test_far", "p7.test_far"), ("p7.test_mid", "p8.test_mid")],
)
def test_a_name_of_another_module_is_told(mx, nd, registered, asked):
    mx.operator.register(registered)(type("Prop", (mx.operator.CustomOpProp,), {}))
    with pytest.raises(mx.base.MXNetError) as caught:
        nd.Custom(nd.ones((1,)), op_type=asked)
    first, _, told = str(caught.value).partition("\n")
    assert first == f"Custom: operator '{asked}' is not registered"
    assert f"registered here: {registered}\n" in told and f"or with name='{asked}'" in told


@pytest.mark.engine("torch")
@pytest.mark.parametrize("op_type, told", [(3, "3 (int)"), (b"x", "b'x' (bytes)")])
def test_a_name_that_is_no_text(mx, nd, op_type, told):
    with pytest.raises(mx.base.MXNetError) as caught:
        nd.Custom(nd.ones((1,)), op_type=op_type)
    assert str(caught.value).startswith(f"Custom: op_type is {told}\n  expected the name")


NAMES = [  # of attributes, which are also those of what the library and Symbols pass themselves
    *("context", "ctx", "training", "device", "is_train", "req", "phase", "function", "shape"),
    *("attributes", "operators", "inputs", "states", "num_args", "F"),
    *("lr_mult", "ctx_group"),
]


@pytest.fixture(params=NAMES)
def named(request, mx):
    """An operator that multiplies by an attribute, and the arguments of a call with 3."""
    name = request.param

    class Times(mx.operator.CustomOp):
        def __init__(self, factor):
            self.factor = factor

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * self.factor)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * self.factor)

    class Prop(mx.operator.CustomOpProp):
        def __init__(self, **given):
            super().__init__()
            self.factor = float(given[name])

        def create_operator(self, ctx, shapes, dtypes):
            return Times(self.factor)

    mx.operator.register(f"test_name_{name}")(Prop)
    return {"op_type": f"test_name_{name}", name: 3}


def test_an_attribute_of_any_name(mx, named):
    assert mx.nd.Custom(mx.nd.array([2.0]), **named).asscalar() == 6


@pytest.mark.engine("torch")  # MXNet's process crashes at times, some tests later
def test_an_attribute_of_any_name_in_a_graph(mx, named):
    x = mx.nd.array([2.0])
    y = mx.sym.Custom(mx.sym.var("data"), **named)
    for symbol in (y, mx.sym.load_json(y.tojson())):
        assert symbol.eval(mx.cpu(), data=x)[0].asscalar() == 6
    for flags in ({}, {"static_alloc": True, "static_shape": True}):
        net = mx.gluon.nn.HybridLambda(lambda F, x: F.Custom(x, **named))
        net.hybridize(**flags)
        x.attach_grad()
        for _ in range(3):
            with mx.autograd.record():
                y = net(x)
            y.backward()
            assert (y.asscalar(), x.grad.asscalar()) == (6, 3)


def test_the_arguments_of_an_operator(mx):
    count, names, types = mx.operator.get_operator_arguments("Activation")
    assert (count, names) == (2, ["data", "act_type"])
    assert types == [
        "NDArray-or-Symbol",
        "{'relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'}, required",
    ]
    types = dict(zip(*mx.operator.get_operator_arguments("Convolution")[1:]))
    assert types["stride"] == "Shape(tuple), optional, default=[]"
    assert types["no_bias"] == "boolean, optional, default=0"
    assert types["cudnn_tune"].endswith("'off'},optional, default='None'")
