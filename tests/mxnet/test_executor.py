"""A Symbol bound to arrays: forward, backward, the requests for gradients."""

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


def test_eval(mx, product):
    (y,) = product.eval(x=mx.nd.array([1, 2]), w=mx.nd.array([3, 4]))
    assert y.asnumpy().tolist() == [3, 8]


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


@pytest.mark.engine("torch")  # MXNet gives the callback bytes
def test_monitor_of_everything(mx, product):
    seen = []
    executor = mx.sym.FullyConnected(product, num_hidden=2, name="fc", no_bias=True).simple_bind(
        mx.cpu(), x=(1, 3), w=(1, 3)
    )
    executor.set_monitor_callback(lambda name, _: seen.append(name), monitor_all=True)
    executor.forward()
    output = product.list_outputs()[0]
    before = [output.replace("output", side) for side in ("lhs", "rhs")]
    assert seen == ["x", "w", *before, output, "fc_weight", "fc_data", "fc_weight", "fc_output"]


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


@pytest.mark.engine("torch")  # MXNet goes on with what the last forward left
def test_backward_without_forward(bound):
    with pytest.raises(RuntimeError, match=r"expected forward\(\) before it"):
        bound().backward()


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
