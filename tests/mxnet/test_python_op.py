"""`NumpyOp` and `NDArrayOp`, the first way of writing operators, on which MXNet 1.9.1 crashes."""

import copy

import numpy as np
import pytest

pytestmark = [pytest.mark.engine("torch"), pytest.mark.filterwarnings("ignore:.*use mx.operator")]


@pytest.fixture(params=["NumpyOp", "NDArrayOp"])
def python_op(mx, request):
    return getattr(mx.operator, request.param)


def cube(python_op, **options):
    class Cube(python_op):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] ** 3

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = 3 * in_data[0] ** 2 * (out_grad[0] if out_grad else 1)

    return Cube(**options)


def test_a_value_and_a_gradient(mx, python_op):
    y = cube(python_op)(mx.sym.var("data"), name="mine")
    assert (y.list_arguments(), y.list_outputs()) == (["data"], ["mine_output"])
    bound = y.simple_bind(mx.cpu(), data=(3,))
    (out,) = bound.forward(is_train=True, data=mx.nd.array([1, 2, 3]))
    bound.backward(mx.nd.array([1, 10, 100]))
    assert out.asnumpy().tolist() == [1, 8, 27]
    assert bound.grad_dict["data"].asnumpy().tolist() == [3, 120, 2700]


def test_an_object_is_registered_once(mx, python_op):
    op = cube(python_op)
    types = [
        made(mx.sym.var("x")).list_attr()["op_type"]
        for made in (op, op, copy.copy(op), cube(python_op))
    ]
    assert types[0] == types[1] and len(set(types)) == 3


def test_a_loss_needs_no_gradient_of_its_output(mx, python_op):
    op = cube(python_op, need_top_grad=False)
    assert op.need_top_grad() is False
    bound = op(mx.sym.var("data")).simple_bind(mx.cpu(), data=(2,))
    bound.forward(is_train=True, data=mx.nd.array([1, 2]))
    bound.backward()
    assert bound.grad_dict["data"].asnumpy().tolist() == [3, 12]


def test_several_inputs_of_which_one_is_not_named(mx):
    class Softmax(mx.operator.NumpyOp):
        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]]

        def forward(self, in_data, out_data):
            y = np.exp(in_data[0])
            out_data[0][:] = y / y.sum(axis=1, keepdims=True)

        def backward(self, out_grad, in_data, out_data, in_grad):
            assert out_grad == []
            in_grad[0][:] = out_data[0]
            in_grad[0][np.arange(len(in_data[1])), in_data[1].astype(int)] -= 1

    op = Softmax(need_top_grad=False)
    y = op(data=mx.sym.var("data"), name="softmax")
    assert y.list_arguments() == ["data", "softmax_label"]
    again = mx.sym.load_json(y.tojson())
    bound = again.simple_bind(mx.cpu(), data=(1, 2))
    bound.forward(is_train=True, data=mx.nd.zeros((1, 2)), softmax_label=mx.nd.array([1]))
    bound.backward()
    assert bound.grad_dict["data"].asnumpy().tolist() == [[0.5, -0.5]]


def test_what_python_op_does_by_default(mx):
    op = mx.operator.PythonOp()
    assert (op.list_arguments(), op.list_outputs()) == (["data"], ["output"])
    assert op.infer_shape([(2, 3)]) == ([(2, 3)], [(2, 3)])
    bound = op(mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,))
    assert bound.forward(is_train=True, x=mx.nd.array([1, 2]))[0].asnumpy().tolist() == [1, 2]


def test_an_error_inside_is_that_error(mx, python_op):
    class Wrong(python_op):
        def forward(self, in_data, out_data):
            raise KeyError("mine")

    bound = Wrong()(mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,))
    with pytest.raises(KeyError, match="mine"):
        bound.forward(x=mx.nd.ones(2))


def test_each_object_is_an_operator_of_its_own(mx):
    class Times(mx.operator.NumpyOp):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, in_data, out_data):
            out_data[0][:] = self.factor * in_data[0]

    x = mx.sym.var("x")
    both = mx.sym.Group([Times(2)(x), Times(3)(x)])
    got = [y.asnumpy().tolist() for y in both.eval(x=mx.nd.ones(1))]
    assert got == [[2], [3]]


def test_the_gradients_that_are_needed(mx):
    op = mx.operator.NDArrayOp()
    assert op.declare_backward_dependency([1], [2], [3]) == [1, 2, 3]
    op = mx.operator.NDArrayOp(need_top_grad=False)
    assert op.declare_backward_dependency([1], [2], [3]) == [2, 3]
