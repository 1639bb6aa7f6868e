"""`layers.minpy`: the program of its documentation, `core.grad` and `core.grad_and_loss`."""

import threading

import numpy
import pytest

from layers.engine import autograd, nd
from layers.minpy import context, core, customop, primitive
from layers.minpy import numpy as mnp

X = numpy.array([[1.0, 2.0, 3.0], [0.0, 0.0, 1.0]], dtype="float32")
Y = numpy.array([2, 0])


@customop("numpy")
def my_softmax(x, y):
    probs = numpy.exp(x - numpy.max(x, axis=1, keepdims=True))
    probs /= numpy.sum(probs, axis=1, keepdims=True)
    N = x.shape[0]
    loss = -numpy.sum(numpy.log(probs[numpy.arange(N), y])) / N
    return loss


def my_softmax_grad(ans, x, y):
    def grad(g):
        N = x.shape[0]
        probs = numpy.exp(x - numpy.max(x, axis=1, keepdims=True))
        probs /= numpy.sum(probs, axis=1, keepdims=True)
        probs[numpy.arange(N), y] -= 1
        probs /= N
        return probs

    return grad


my_softmax.def_grad(my_softmax_grad)


@customop("numpy")
def scaled_softmax(x, y):
    return my_softmax.__wrapped__(x, y)


scaled_softmax.def_grad(lambda ans, x, y: lambda g: g * my_softmax_grad(ans, x, y)(g))
GRADIENT = numpy.array([[0.0450, 0.1224, -0.1674], [-0.3940, 0.1060, 0.2881]])


def test_the_documents_program():
    gradient, loss = core.grad_and_loss(my_softmax)(X, Y)
    assert loss.shape == (1,) and loss.asscalar() == pytest.approx(0.97952539, abs=1e-6)
    numpy.testing.assert_allclose(gradient.asnumpy(), GRADIENT, atol=1e-4)


def test_the_documents_gradient_drops_what_comes_from_above():
    """Its text ignores g, so three times the loss has the gradient of the loss; g does arrive."""
    as_printed = core.grad(lambda x, y: 3 * my_softmax(x, y))(X, Y)
    right = core.grad(lambda x, y: 3 * scaled_softmax(x, y))(X, Y)
    numpy.testing.assert_allclose(as_printed.asnumpy(), GRADIENT, atol=1e-4)
    numpy.testing.assert_allclose(right.asnumpy(), 3 * GRADIENT, atol=3e-4)


def test_one_argument_or_several():
    def f(x, y):
        return nd.sum(x * x * y)

    x, y = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    assert core.grad(f)(x, y).asnumpy().tolist() == [6, 16]
    assert core.grad(f, 1)(x, y).asnumpy().tolist() == [1, 4]
    (dy, dx), value = core.grad_and_loss(f, [1, 0])(x, y)
    assert [dy.asnumpy().tolist(), dx.asnumpy().tolist()] == [[1, 4], [6, 16]]
    assert value.asscalar() == 19
    (only,) = core.grad(f, [1])(x, y)
    assert only.asnumpy().tolist() == [1, 4]


def test_a_result_that_is_no_scalar_is_summed():
    assert core.grad(lambda x: x * x)(nd.array([1.0, 2.0])).asnumpy().tolist() == [2, 4]


def test_numbers_lists_and_integers():
    def square(x):
        return x * x

    assert core.grad(square)(3.0).asnumpy().tolist() == [6]
    assert core.grad(square)([1, 2]).asnumpy().tolist() == [2, 4]
    gradient = core.grad(square)(numpy.array([1, 2]))
    assert gradient.dtype == numpy.float32 and gradient.asnumpy().tolist() == [2, 4]
    assert core.grad(square)(numpy.ones(2)).dtype == numpy.float64


def test_inputs_and_their_gradients_are_not_changed():
    x, label = X.copy(), nd.array(Y, dtype="int32")
    kept = nd.array([5.0])
    kept.attach_grad()
    core.grad(lambda x, y: kept * my_softmax(x, y))(x, label)
    assert (x == X).all() and label.asnumpy().tolist() == [2, 0]
    assert kept.grad.asscalar() == 0
    assert core.grad(lambda a: kept * a)(kept).asscalar() == 5  # of `a`, which is a copy


def test_keywords_pass():
    def f(x, weight=None, power=1):
        return nd.sum(weight * x**power)

    gradient = core.grad(f)(nd.array([2.0]), weight=numpy.array([3.0], "float32"), power=2)
    assert gradient.asscalar() == 12


@pytest.mark.engine("torch")  # MXNet has no second derivative of its arithmetic of arrays
def test_gradients_of_gradients():
    def cube(x):
        return x * x * x

    x = nd.array([2.0])
    assert core.grad(core.grad(cube))(x).asscalar() == 12
    assert core.grad(core.grad(core.grad(cube)))(x).asscalar() == 6
    with autograd.record():  # the same array in two places is two arguments
        first = core.grad(lambda a, b: a * a * b)
        assert core.grad(lambda x: first(x, x))(x).asscalar() == 8


@pytest.mark.parametrize(
    "argnum, error, told",
    [
        (-1, TypeError, "argnum is -1"),
        ("x", TypeError, "argnum is 'x'"),
        (True, TypeError, "argnum is True"),
        ((0, 0), ValueError, "expected different arguments"),
        ([], ValueError, "expected different arguments"),
    ],
)
def test_argnum_is_checked(argnum, error, told):
    with pytest.raises(error, match=told):
        core.grad(my_softmax, argnum)


def test_a_wrong_call_is_told():
    with pytest.raises(ValueError, match="grad of my_softmax: argnum is 2, and 2 arguments"):
        core.grad(my_softmax, 2)(X, Y)
    with pytest.raises(TypeError, match="its result is float\n  expected an NDArray"):
        core.grad(lambda x: 3.0)(X)
    assert not autograd.is_recording()


def test_the_function_keeps_its_name():
    assert core.grad(my_softmax).__name__ == "my_softmax"


def test_conversions():
    x = numpy.array([1, 2])
    both = core.numpy_to_minpy([x, 3])
    assert isinstance(both[0], nd.NDArray) and both[0].dtype == numpy.int64 and both[1] == 3
    back = core.minpy_to_numpy((both[0], "a"))
    assert type(back) is tuple and back[0].tolist() == [1, 2] and back[1] == "a"

    @core.return_numpy
    @core.convert_args
    def product(a, b):
        """A product."""
        assert isinstance(a, nd.NDArray) and isinstance(b, nd.NDArray)
        return a * b

    assert product(x, b=x).tolist() == [1, 4] and product.__doc__ == "A product."


def test_a_context_for_all_arrays():
    before = context.current_context()
    thread = threading.Thread(target=context.set_context, args=(context.cpu(1),))
    thread.start()
    thread.join()
    assert context.current_context() == before  # of another thread
    made = []

    def work():
        context.set_context(context.cpu(1))
        made.append(mnp.zeros(2).context)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert made == [context.cpu(1)]


def test_a_context_within_another():
    before = context.current_context()
    with context.cpu(1):
        context.set_context(context.cpu(2))
        assert mnp.zeros(2).context == context.cpu(2)
    assert context.current_context() == before


def test_a_program_about_an_operator():
    """A classifier whose loss is an operator in NumPy, trained by its gradient."""

    @primitive.customop("numpy")
    def loss(x, y):
        p = numpy.exp(x - x.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return -numpy.log(p[numpy.arange(len(x)), y]).mean()

    def gradient(ans, x, y):
        def back(g):
            p = numpy.exp(x - x.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            p[numpy.arange(len(x)), y] -= 1
            return g * p / len(x)

        return back

    loss.def_grad(gradient)
    mnp.random.seed(0)
    x = mnp.random.randn(40, 3)
    label = (x.asnumpy().sum(axis=1) > 0).astype("int64")
    w = mnp.random.randn(3, 2) * 0.1
    step = core.grad_and_loss(lambda w: loss(mnp.dot(x, w), label))
    losses = []
    for _ in range(60):
        dw, value = step(w)
        w = w - 2 * dw
        losses.append(float(value.asnumpy().ravel()[0]))
    assert losses[0] > 0.6 and losses[-1] < 0.2
