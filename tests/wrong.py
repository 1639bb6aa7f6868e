"""Operators and layers with one mistake each, which the checker must find; the last are right."""

import numpy as np

from layers.engine import gluon, mx, nd
from layers.ops import operator

random = np.random.RandomState(0)


class Custom(mx.operator.CustomOp):
    """y = x², right in every respect; the wrong ones change one of these."""

    def __init__(self):
        super().__init__()

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], 2 * out_grad[0] * in_data[0])


class IgnoresAdd(Custom):
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        in_grad[0][:] = 2 * out_grad[0] * in_data[0]


class WritesIntoItsInput(Custom):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * in_data[0])
        in_data[0][:] = 0


class WritesIntoItsHeadGradient(Custom):
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        out_grad[0][:] = out_grad[0] * 2
        self.assign(in_grad[0], req[0], out_grad[0] * in_data[0])


class KeepsItsOutput(Custom):
    def forward(self, is_train, req, in_data, out_data, aux):
        super().forward(is_train, req, in_data, out_data, aux)
        self.y = out_data[0]


class CountsOnSelf(Custom):
    calls = 0

    def forward(self, is_train, req, in_data, out_data, aux):
        self.calls += 1
        super().forward(is_train, req, in_data, out_data, aux)


class PutsItsOutputInTheList(Custom):
    def forward(self, is_train, req, in_data, out_data, aux):
        out_data[0] = in_data[0] * in_data[0]


class WritesHalf(Custom):
    def forward(self, is_train, req, in_data, out_data, aux):
        out_data[0][:2] = in_data[0][:2] * in_data[0][:2]


class FailsInForward(Custom):
    def forward(self, is_train, req, in_data, out_data, aux):
        raise KeyError("missing")


class FailsInBackward(Custom):
    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        raise KeyError("missing")


def prop(op, shape=lambda s: s, dtype=lambda t: t):
    """A CustomOpProp of one input for a CustomOp."""

    class Prop(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            return [in_shape[0]], [shape(in_shape[0])], []

        def infer_type(self, in_type):
            return in_type, [dtype(in_type[0])], []

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return op()

    Prop.__name__ = Prop.__qualname__ = f"{op.__name__}Prop"
    return Prop


class TutorialDense(mx.operator.CustomOp):
    """The gradient of the weight as that of the data, and none for the weight."""

    def __init__(self, bias):
        super().__init__()
        self.bias = bias

    def forward(self, is_train, req, in_data, out_data, aux):
        x, weight = in_data[0].asnumpy(), in_data[1].asnumpy()
        self.assign(out_data[0], req[0], nd.array(x.dot(weight.T) + self.bias))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        x, dy = in_data[0].asnumpy(), out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], nd.array(dy.T.dot(x)))


class TutorialDenseProp(mx.operator.CustomOpProp):
    def __init__(self, bias="0"):
        super().__init__(True)
        self.bias = float(bias)

    def list_arguments(self):
        return ["data", "weight"]

    def infer_shape(self, in_shape):
        return in_shape, [(in_shape[0][0], in_shape[1][0])], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return TutorialDense(self.bias)


class TutorialSoftmax(mx.operator.CustomOp):
    """As the tutorial writes it, but for np.int: right, as a cross entropy's gradient."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], nd.array(y / y.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(np.int64)
        y = out_data[0].asnumpy()
        y[np.arange(len(label)), label] -= 1
        self.assign(in_grad[0], req[0], nd.array(y))


class TutorialSoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0][:1]], [in_shape[0]], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return TutorialSoftmax()


def cross_entropy(output, label):
    return -nd.log(nd.pick(output, label))


@operator
class drops_its_head_gradient:
    """Cross entropy, its gradient without dy."""

    def forward(x, label):
        return -nd.pick(nd.log_softmax(x), label)

    def dx(dy, x, label):
        return nd.softmax(x) - nd.one_hot(label, depth=x.shape[1], dtype=x.dtype)

    def shapes(x):
        return {"label": x[:1], "y": x[:1]}


@operator
class lies_about_its_shape:
    def forward(x):
        return nd.sum(x, axis=1)

    def dx(dy, x):
        return nd.broadcast_like(dy.expand_dims(1), x)

    def shapes(x):
        return {"y": x}


@operator
class lies_about_its_type:
    def forward(x):
        return x * 2

    def dx(dy):
        return dy * 2

    def types(x):
        return {"y": "int32"}


@operator
class draws:
    def forward(x):
        return x + nd.array(random.rand(*x.shape), dtype=x.dtype)

    def dx(dy):
        return dy


@operator
class draws_in_backward:
    def forward(x):
        return x * 2

    def dx(dy):
        return dy * (2 + 1e-9 * random.rand())


@operator
class returns_its_input:
    def forward(x):
        return x

    def dx(dy):
        return dy


BUFFERS = {}


@operator
class returns_one_buffer:
    def forward(x):
        key = (x.shape, x.dtype, x.context)
        BUFFERS.setdefault(key, nd.zeros(x.shape, ctx=x.context, dtype=x.dtype))[:] = x * 2
        return BUFFERS[key]

    def dx(dy):
        return dy * 2


@operator
class writes_into_its_input:
    def forward(x):
        y = x * 2
        x[:] = 0
        return y

    def dx(dy):
        return dy * 2


@operator
class divides_by_four:
    """The mean over a batch of four."""

    def forward(x):
        return nd.mean(x, axis=0)

    def dx(dy, x):
        return nd.broadcast_like(dy.expand_dims(0), x) / 4

    def shapes(x):
        return {"y": x[1:]}


@operator
class runs_with_four_only:
    def forward(x):
        return x + nd.ones((4, 1), dtype=x.dtype)

    def dx(dy):
        return dy

    def shapes(x):
        return {"y": x}


@operator
class zero_second_derivative:
    """y = x³, the gradient through NumPy: constant to a second differentiation."""

    def forward(x):
        return x * x * x

    def dx(dy, x):
        return dy * nd.array(3 * x.detach().asnumpy() ** 2, dtype=x.dtype)


@operator
class not_a_number_at_zero:
    def forward(x):
        return nd.sqrt(nd.sum(x * x, axis=1))

    def dx(dy, x, y):
        return nd.broadcast_mul(x, (dy / y).expand_dims(1))

    def shapes(x):
        return {"y": x[:1]}


@operator
class a_loss_that_draws:
    """Its gradient is that of the sum of its outputs, times a number."""

    def forward(x):
        return x * x

    def dx(x):
        return 2 * x * random.rand()


class WrongReplayed(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x * 2 if F is nd else x * 3


class WrongCompiled(gluon.HybridBlock):
    factor = 2

    def hybridize(self, active=True, backend=None, **kwargs):
        self.factor = 3 if backend else 2
        super().hybridize(active, **kwargs)

    def hybrid_forward(self, F, x):
        return x * self.factor


class WrongWithFive(gluon.HybridBlock):
    """Right with four rows, and where it is not hybridized."""

    def hybrid_forward(self, F, x):
        factor = 1 if F is not nd or len(x) == 4 else 2
        return x * factor


class FailsInInit(mx.operator.CustomOpProp):
    def __init__(self):
        raise ValueError("no such operator")


@operator
class counts:
    """Right: a state that is declared."""

    states = ("count",)

    def forward(x, count):
        count[:] = count + 1
        return x * 1

    def dx(dy):
        return dy

    def shapes(x):
        return {"y": x, "count": (1,)}


@operator
class largest:
    """Right: no gradient, and an output of another dtype."""

    def forward(x):
        return nd.argmax(x, axis=1).astype("int32")

    def shapes(x):
        return {"y": x[:1]}

    def types(x):
        return {"y": "int32"}
