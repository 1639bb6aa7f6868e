"""A Symbol bound to arrays: forward, backward, the requests for gradients."""

import forks
import numpy as np
import pytest


def values(arrays):
    return {n: None if a is None else a.asnumpy().tolist() for n, a in arrays.items()}


@pytest.fixture
def product(mx):
    return mx.sym.Variable("x") * mx.sym.Variable("w")


@pytest.fixture
def bound(mx, product):
    def bound(grad_req="write", **options):
        x, w = mx.nd.array([1, 2]), mx.nd.array([3, 4])
        gradients = [mx.nd.zeros(2), mx.nd.zeros(2)]
        return product.bind(mx.cpu(), [x, w], gradients, grad_req, **options)

    return bound


def test_forward_and_backward(mx, bound):
    executor = bound()
    (y,) = executor.forward(is_train=True)
    executor.backward(mx.nd.array([1, 10]))
    assert y.asnumpy().tolist() == [3, 8]
    assert values(executor.grad_dict) == {"x": [3, 40], "w": [1, 20]}
    assert [a.asnumpy().tolist() for a in executor.arg_arrays] == [[1, 2], [3, 4]]
    (name,) = executor.output_dict
    assert name.endswith("_output") and executor.output_dict[name].asnumpy().tolist() == [3, 8]


@pytest.mark.parametrize("heads, expected", [("yy", 60), ("yzy", 610), ("xyx", 160), ("ycy", 600)])
def test_an_output_that_is_there_several_times(mx, heads, expected):
    x = mx.sym.Variable("x")
    y = x * x
    known = {"x": x, "y": y, "z": x + 1, "c": mx.sym.BlockGrad(y)}
    graph = mx.sym.Group([known[name] for name in heads])
    executor = graph.bind(mx.cpu(), {"x": mx.nd.array([3])}, {"x": mx.nd.zeros(1)})
    executor.forward(is_train=True)
    executor.backward([mx.nd.array([10**i]) for i in range(len(heads))])
    assert executor.grad_dict["x"].asscalar() == expected  # with the last gradient alone


def test_requests(mx, bound):
    executor = bound({"x": "add", "w": "null"})
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(2)])
    assert executor.grad_dict["x"].asnumpy().tolist() == [6, 8]
    assert executor.grad_dict["w"].asnumpy().tolist() == [0, 0]


def test_head_gradients_by_name(mx):
    x = mx.sym.var("x")
    graph = mx.sym.Group([mx.sym.square(x, name="a"), mx.sym.square(x, name="b")])
    executor = graph.bind(mx.cpu(), {"x": mx.nd.array([3])}, {"x": mx.nd.zeros(1)})
    executor.forward(is_train=True)
    executor.backward({"b_output": mx.nd.array([10]), "a_output": mx.nd.array([1])})
    assert executor.grad_dict["x"].asscalar() == 66
    with pytest.raises(LookupError if mx.__name__ == "mxnet" else ValueError, match="b_output"):
        executor.backward({"a_output": mx.nd.array([1])})


def test_new_values(mx, bound):
    executor = bound()
    assert executor.forward(x=mx.nd.array([5, 5]))[0].asnumpy().tolist() == [15, 20]
    assert executor.arg_dict["x"].asnumpy().tolist() == [5, 5]
    with pytest.raises(TypeError, match="z"):
        executor.forward(z=mx.nd.array([5, 5]))
    with pytest.raises(ValueError, match=r"\(3,\)"):
        executor.forward(x=mx.nd.array([5, 5, 5]))


def test_a_loss_needs_no_head_gradient(mx):
    net = mx.sym.SoftmaxOutput(mx.sym.Variable("x"), name="softmax")
    executor = net.simple_bind(mx.cpu(), x=(2, 3))
    executor.forward(is_train=True, softmax_label=mx.nd.array([0, 2]))
    executor.backward()
    third = 1 / 3
    expected = [[third - 1, third, third], [third, third, third - 1]]
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), expected, rtol=1e-5)


def test_simple_bind(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=4, name="fc")
    executor = net.simple_bind(mx.cpu(), x=(2, 3))
    shapes = {n: a.shape for n, a in executor.arg_dict.items()}
    assert shapes == {"x": (2, 3), "fc_weight": (4, 3), "fc_bias": (4,)}
    assert executor.grad_dict["fc_weight"].shape == (4, 3)
    assert executor.forward()[0].shape == (2, 4)
    executor = net.simple_bind(mx.cpu(), grad_req="null", x=(2, 3))
    assert values(executor.grad_dict) == {"x": None, "fc_weight": None, "fc_bias": None}


@pytest.mark.engine("torch")
def test_a_misspelt_argument_of_simple_bind(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    with pytest.raises(ValueError, match="more of data, fc_weight.*\n  ignored: dat, which"):
        net.simple_bind(mx.cpu(), dat=(2, 3))


@pytest.mark.engine("torch")  # MXNet leaves them, unless what BatchNorm gave is used again
def test_states(mx):
    net = mx.sym.BatchNorm(mx.sym.Variable("x"), name="bn", momentum=0.5)
    executor = net.simple_bind(mx.cpu(), x=(2, 3))
    executor.forward(is_train=True, x=mx.nd.array([[1, 2, 3], [3, 4, 5]]))
    assert executor.aux_dict["bn_moving_mean"].asnumpy().tolist() == [1, 1.5, 2]
    assert list(executor.aux_dict) == ["bn_moving_mean", "bn_moving_var"]


def test_parameters(mx, bound):
    executor = bound()
    executor.copy_params_from({"w": mx.nd.array([7, 8])})
    assert executor.forward()[0].asnumpy().tolist() == [7, 16]
    with pytest.raises(ValueError, match="q"):
        executor.copy_params_from({"q": mx.nd.array([7, 8])})
    executor.copy_params_from({"q": mx.nd.array([7, 8])}, allow_extra_params=True)


def test_reshape(mx, bound):
    executor = bound()
    smaller = executor.reshape(x=(1,), w=(1,))
    assert values(smaller.arg_dict) == {"x": [1], "w": [3]}  # the memory is that of the larger
    assert smaller.forward(x=mx.nd.array([2]), w=mx.nd.array([5]))[0].asnumpy().tolist() == [10]
    smaller.forward(is_train=True)
    smaller.backward(mx.nd.ones(1))
    assert values(smaller.grad_dict) == {"x": [5], "w": [2]}
    assert values(executor.arg_dict) == {"x": [2, 2], "w": [5, 4]}
    assert values(executor.grad_dict) == {"x": [5, 0], "w": [2, 0]}


def test_reshape_that_is_not_meant(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc")
    executor = net.simple_bind(mx.cpu(), x=(4, 3))
    with pytest.raises(RuntimeError):  # the weights would be others
        executor.reshape(x=(4, 2))
    with pytest.raises(RuntimeError):  # there is no memory for more
        executor.reshape(x=(5, 3))
    assert executor.reshape(partial_shaping=True, x=(4, 2)).arg_dict["fc_weight"].shape == (2, 2)
    assert executor.reshape(allow_up_sizing=True, x=(5, 3)).forward()[0].shape == (5, 2)
    smaller = executor.reshape(x=(2, 3))
    assert smaller.arg_dict["fc_weight"] is not None
    smaller.arg_dict["fc_weight"][:] = 3
    assert (executor.arg_dict["fc_weight"].asnumpy() == 3).all()


def test_outputs_are_the_same_arrays_at_each_forward(mx, bound):
    executor = bound()
    (before,) = executor.outputs
    (first,) = executor.forward()
    part = first[1:]
    executor.forward(is_train=True, x=mx.nd.array([10, 10]))
    for y in (before, first, *executor.outputs, *executor.output_dict.values()):
        assert y.asnumpy().tolist() == [30, 40]
    assert part.asnumpy().tolist() == [40]
    executor.backward(first)
    assert values(executor.grad_dict)["x"] == [90, 160]


@pytest.mark.engine("torch")  # MXNet leaves the first size
def test_outputs_of_another_size(mx):
    y = mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("mask"))
    executor = y.bind(mx.cpu(), {"x": mx.nd.array([1, 2, 3]), "mask": mx.nd.array([1, 0, 1])})
    (first,) = executor.forward()
    assert executor.forward(mask=mx.nd.array([0, 1, 0]))[0].asnumpy().tolist() == [2]
    assert first.asnumpy().tolist() == [1, 3]


def test_reshape_shares_the_outputs(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2, name="fc", no_bias=True)
    large = net.simple_bind(mx.cpu(), x=(3, 1), grad_req="write")
    (held,) = large.forward(x=mx.nd.ones((3, 1)), fc_weight=mx.nd.array([[1], [2]]))
    small = large.reshape(x=(2, 1))
    assert small.outputs[0].asnumpy().tolist() == [[1, 2]] * 2
    small.forward(is_train=True, x=mx.nd.array([[3], [4]]))
    for y in (held, large.outputs[0]):
        assert y.asnumpy().tolist() == [[3, 6], [4, 8], [1, 2]]
    small.backward(mx.nd.ones((2, 2)))
    assert small.grad_dict["fc_weight"].asnumpy().tolist() == [[7], [7]]
    larger = large.reshape(allow_up_sizing=True, x=(4, 1))
    larger.arg_dict["x"][:] = 5
    larger.forward()
    assert held.asnumpy().tolist() == [[3, 6], [4, 8], [1, 2]]
    large.forward()
    assert held.asnumpy().tolist() == [[3, 6], [4, 8], [1, 2]]
    assert small.outputs[0].asnumpy().tolist() == [[3, 6], [4, 8]]


@pytest.fixture
def groups(mx):
    """A graph with two groups, y = x² and z = y v w, and operators without one."""
    with mx.AttrScope(ctx_group="a"):
        x, v = mx.sym.var("x"), mx.sym.var("v")
        y = mx.sym.square(x, name="y")
    product = mx.sym.elemwise_mul(y, v, name="product")
    with mx.AttrScope(ctx_group="b"):
        z = mx.sym.elemwise_mul(product, mx.sym.var("w"), name="z")
    return mx.sym.Group([y, z, mx.sym.sin(z, name="sin")])


def contexts(arrays):
    return [str(array.context) for array in arrays]


def test_groups_on_contexts_of_their_own(mx, groups):
    options = {"group2ctx": {"a": mx.cpu(1), "b": mx.cpu(2), "c": mx.cpu(3)}}
    shapes = {"x": (2,), "v": (2,), "w": (2,)}
    executor = groups.simple_bind(mx.cpu(0), **options, **shapes)
    for part in (executor, executor.reshape(x=(1,), v=(1,), w=(1,))):
        assert contexts(part.arg_arrays) == contexts(part.grad_arrays)
        assert contexts(part.arg_arrays) == ["cpu(1)", "cpu(1)", "cpu(2)"]
        assert contexts(part.outputs) == ["cpu(1)", "cpu(2)", "cpu(2)"]
    found = []
    for each in (executor, groups.simple_bind(mx.cpu(0), **shapes)):
        for name, value in {"x": [1, 2], "v": [3, 4], "w": [5, 6]}.items():
            each.arg_dict[name][:] = mx.nd.array(value)
        each.forward(is_train=True)
        assert contexts(each.forward(is_train=True)) == contexts(each.outputs)
        each.backward([mx.nd.array([1, 10]) for _ in each.outputs])  # from another context
        found.append([array.asnumpy().tolist() for array in each.outputs + each.grad_arrays])
    assert found[0] == found[1]
    assert contexts(executor.grad_arrays) == ["cpu(1)", "cpu(1)", "cpu(2)"]


def test_groups_of_arrays_that_are_given(mx, groups):
    args = {"x": mx.nd.ones(1, mx.cpu(1)), "v": mx.nd.ones(1), "w": mx.nd.ones(1, mx.cpu(2))}
    options = {"group2ctx": {"a": mx.cpu(1), "b": mx.cpu(2)}}
    executor = groups.bind(mx.cpu(), args, **options)
    assert contexts(executor.forward()) == ["cpu(1)", "cpu(2)", "cpu(2)"]
    elsewhere = {name: mx.nd.ones(1, mx.cpu(7)) for name in "xvw"}
    executor = groups.bind(mx.cpu(), elsewhere, **options)
    y, z, _ = executor.forward()
    assert contexts((y, z)) == ["cpu(1)", "cpu(2)"] and z.asscalar() == 1


def test_a_group_without_a_context(mx, groups):
    with pytest.raises(RuntimeError, match="group"):
        groups.simple_bind(mx.cpu(), group2ctx={"b": mx.cpu(1)}, x=(2,), v=(2,), w=(2,))


@pytest.mark.engine("torch")  # MXNet computes gradients where v's array is not, and refuses
def test_where_an_operator_without_a_group_computes(mx):
    seen = []

    class Where(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            seen.append((in_data[0].context, mx.current_context(), mx.nd.zeros(1).context))
            out_data[0][:] = in_data[0]

    @mx.operator.register("layers_where")
    class WhereProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            seen.append(ctx)
            return Where()

    with mx.AttrScope(ctx_group="a"):
        x = mx.sym.square(mx.sym.var("x"))
    y = mx.sym.Custom(x + mx.sym.exp(mx.sym.var("v")), op_type="layers_where")
    executor = y.simple_bind(mx.cpu(), group2ctx={"a": mx.cpu(1)}, x=(2,), v=(2,))
    shown = []
    executor.set_monitor_callback(lambda _, array: shown.append(str(array.context)), True)
    executor.forward(is_train=True)
    assert seen == [mx.cpu(1), (mx.cpu(1),) * 3]
    assert contexts(executor.arg_arrays) == ["cpu(1)", "cpu(0)"]
    assert {*shown} == {"cpu(0)", "cpu(1)"} and shown[-1] == "cpu(1)"


def test_eval(mx, product):
    (y,) = product.eval(x=mx.nd.array([1, 2]), w=mx.nd.array([3, 4]))
    assert y.asnumpy().tolist() == [3, 8]


@pytest.mark.engine("torch")
def test_what_is_missing_is_an_error_of_this_package(mx, product, bound):
    for call in (
        lambda: product.bind(mx.cpu(), [mx.nd.ones(2)]),
        lambda: product.bind(mx.cpu(), {"x": mx.nd.ones(2)}),
        lambda: bound().copy_params_from({"q": mx.nd.ones(2)}),
    ):
        with pytest.raises(mx.base.ArgumentError, match="expected"):
            call()


def test_what_is_missing(mx, product):
    with pytest.raises(ValueError, match="w"):
        product.bind(mx.cpu(), {"x": mx.nd.array([1, 2])})


@pytest.mark.parametrize(
    "make, types, weight",
    [
        (lambda sym, x: sym.Embedding(x, input_dim=3, output_dim=2), {"x": "int32"}, "float32"),
        (lambda sym, x: sym.FullyConnected(x, num_hidden=2), None, "float32"),
        (lambda sym, x: sym.FullyConnected(x, num_hidden=2), {"x": "float64"}, "float64"),
    ],
    ids=["indices", "none", "of the data"],
)
def test_dtypes(mx, make, types, weight):
    net = make(mx.sym, mx.sym.Variable("x"))
    executor = net.simple_bind(mx.cpu(), x=(4, 1), type_dict=types)
    assert np.dtype(executor.arg_arrays[1].dtype).name == weight
    assert np.dtype(executor.forward()[0].dtype).name == weight


def test_outputs_before_a_forward(bound):
    (y,) = bound().outputs
    assert y.shape == (2,)


def test_requests_of_each_kind(bound):
    with pytest.raises(ValueError, match="grad_req"):
        bound("often")
    executor = bound(["write", "null"])
    executor.forward(is_train=True)
    executor.backward(executor.outputs[0])
    assert values(executor.grad_dict)["x"] == [9, 32]


def test_monitor_of_everything(mx, product):
    seen = []
    graph = mx.sym.dot(product, product.get_internals()["w"], transpose_b=True, name="dot")
    executor = graph.simple_bind(mx.cpu(), x=(1, 3), w=(1, 3))
    executor.set_monitor_callback(lambda name, _: seen.append(name), monitor_all=True)
    executor.forward()
    output = product.list_outputs()[0]
    lhs, rhs = [output.replace("output", side) for side in ("lhs", "rhs")]
    expected = ["x", lhs, "w", rhs, output, "dot_lhs", "w", "dot_rhs", "dot_output"]
    assert seen == [name.encode() for name in expected]


@pytest.mark.engine("torch")
def test_a_monitored_graph_is_written_once(mx, product, monkeypatch):
    executor = product.simple_bind(mx.cpu(), x=(2,), w=(2,))
    executor.set_monitor_callback(lambda *_: None)
    executor.forward()
    monkeypatch.setattr("layers.mxnet.executor.Program", None)
    assert executor.forward()[0].shape == (2,)


@pytest.mark.engine("torch")
def test_monitor(mx, product):
    seen = {}
    executor = (product + 1).bind(mx.cpu(), [mx.nd.array([1, 2]), mx.nd.array([3, 4])])
    executor.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy().tolist()}))
    executor.forward()
    assert list(seen.values()) == [[3, 8], [4, 9]]


def test_backward_without_forward(mx, bound):
    executor = bound()
    executor.backward(mx.nd.array([1, 10]))
    assert values(executor.grad_dict) == {"x": [3, 40], "w": [1, 20]}


def test_backward_after_a_forward_for_prediction(mx):
    x = mx.sym.var("x")
    y = mx.sym.Dropout(x * x * x, p=0.5)
    bound = y.bind(mx.cpu(), {"x": mx.nd.array([2, 3])}, args_grad={"x": mx.nd.zeros(2)})
    assert bound.forward()[0].asnumpy().tolist() == [8, 27]
    bound.backward(mx.nd.array([1, 10]))
    assert bound.grad_dict["x"].asnumpy().tolist() == [12, 270]


@pytest.mark.engine("torch")
def test_gradients_are_not_the_heads_memory(mx):
    net = mx.sym.identity(mx.sym.Variable("x"))
    executor = net.bind(mx.cpu(), [mx.nd.ones(2)], [mx.nd.zeros(2)])
    head = mx.nd.array([1, 2])
    executor.forward(is_train=True)
    executor.backward(head)
    head[:] = 9
    assert executor.grad_dict["x"].asnumpy().tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"the head gradient is \(3,\)"):
        executor.backward(mx.nd.ones(3))


BACKWARD = """
import sys
from layers import mxnet as mx

x, unused = mx.sym.var("x"), mx.sym.var("unused")
y = mx.sym.Group([x * x, mx.sym.BlockGrad(unused)])
executor = y.simple_bind(mx.cpu(), x=(2,), unused=(2,))
executor.forward(is_train=True, x=mx.nd.array([1, 2]))
for _ in range(2):
    executor.backward([mx.nd.ones(2), mx.nd.ones(2)])
    print(*[g.asnumpy() for g in executor.grad_arrays])
print("sympy" in sys.modules)
"""


@pytest.mark.engine("torch")
def test_backward_imports_no_sympy():
    """PyTorch's own check of the head gradients' shapes would, and take 0.4 s for it."""
    found = forks.run(["-c", BACKWARD])
    lines = found.stdout.splitlines()
    assert lines == ["[2. 4.] [0. 0.]"] * 2 + ["False"], found.stderr


class Counted:
    """A CustomOpProp whose second input and state are of other dtypes than its first input."""

    def list_arguments(self):
        return ["data", "number"]

    def list_auxiliary_states(self):
        return ["count"]

    def infer_shape(self, in_shape):
        return [in_shape[0], [1]], [in_shape[0]], [[1]]

    def infer_type(self, in_type):
        return [in_type[0], np.int32], [in_type[0]], [np.int64]


def test_arrays_of_the_dtypes_that_an_operator_tells(mx):
    class Count(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] + 1)
            aux[0][:] += 1

    @mx.operator.register("test_executor_counted")
    class Prop(Counted, mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Count()

    y = mx.sym.Custom(mx.sym.var("x"), mx.sym.var("n"), op_type="test_executor_counted")
    executor = y.simple_bind(mx.cpu(), "null", {"x": "float64"}, x=(2,))
    assert [a.dtype for a in executor.arg_arrays] == [np.float64, np.int32]
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [1, 1]
    [count] = executor.aux_arrays
    assert (count.dtype, count.asnumpy().tolist()) == (np.int64, [1])


def test_what_is_no_argument_s_shape_is_ignored(mx):
    y = mx.sym.exp(mx.sym.var("x"))
    assert y.simple_bind(mx.cpu(), x=(2,), axis=1, mode="clip", z=(3,)).forward()[0].shape == (2,)


def test_the_gradient_of_integers_is_overwritten_by_zeros(mx):
    y = mx.sym.softmax(mx.sym.var("x"), mx.sym.var("n"), use_length=True)
    executor = y.simple_bind(mx.cpu(), x=(2, 3), n=(2,), type_dict={"x": "float32", "n": "int32"})
    executor.grad_dict["n"][:] = 7
    executor.forward(is_train=True, n=mx.nd.array([1, 3], dtype="int32"))
    executor.backward(mx.nd.ones((2, 3)))
    assert executor.grad_dict["n"].asnumpy().tolist() == [0, 0]


def test_the_graph_tells_how_many_numbers_there_are(mx):
    def sums(shape, **options):
        y = mx.sym.arange(3, infer_range=True, **options) + mx.sym.zeros(shape)
        return y.eval()[0].asnumpy().tolist()

    assert sums((4,)) == [3, 4, 5, 6]
    assert sums((5,), step=2, repeat=2) == [3, 3, 5, 5, 7]
    assert sums((2, 2), dtype="float32") == [[3, 4], [5, 6]]
    alone = mx.sym.arange(3, infer_range=True)
    with pytest.raises(mx.MXNetError):
        alone.eval()


def test_the_shape_behind_a_transposition(mx):
    known, unknown = mx.sym.ones((2, 3)), mx.sym.ones((-1, -1))
    assert (known + mx.sym.transpose(unknown)).bind(mx.cpu(), {}).forward()[0].shape == (2, 3)
    x = mx.sym.var("x")
    shapes = (mx.sym.zeros((2, 3, 4)) + mx.sym.transpose(x, axes=(1, 2, 0))).infer_shape()
    assert shapes[0] == [(4, 2, 3)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_gradients_of_the_first_outputs(mx, count):
    """A loss needs none; what is too much is left out."""
    x = mx.sym.Variable("x")
    executor = mx.sym.Group([x * 2, mx.sym.MakeLoss(x * 3)]).simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((2,))] * count)
    assert executor.grad_dict["x"].asnumpy().tolist() == [5, 5]


def test_an_output_that_needs_a_gradient(mx):
    x = mx.sym.Variable("x")
    executor = mx.sym.Group([x * 2, x * 3]).simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True)
    with pytest.raises((ValueError, RuntimeError)):
        executor.backward([mx.nd.ones((2,))])


@pytest.mark.parametrize("flag", [1, 0, True, np.int32(1), np.bool_(True)])
def test_is_train_may_be_a_number(mx, flag):
    symbol = mx.sym.Dropout(mx.sym.Variable("x") * 2, p=0.5)
    executor = symbol.simple_bind(mx.cpu(), x=(200,))
    executor.arg_dict["x"][:] = 1
    found = executor.forward(is_train=flag)[0].asnumpy()
    assert {*found.tolist()} == ({0, 4} if flag else {2})
