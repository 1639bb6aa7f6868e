"""`grad` and `value_and_grad`, on functions of Tensors."""

import numpy as np
import pytest

import layers.mindspore as ms
import layers.mindspore.ops as ops
from layers.engine import autograd


def product(x, y, z):
    return x * y * z


X, Y, Z = (ms.Tensor([a, a + 1.0]) for a in (1.0, 3.0, 5.0))


def listed(gradients):
    if isinstance(gradients, tuple):
        return [listed(g) for g in gradients]
    return gradients.asnumpy().tolist()


@pytest.mark.parametrize(
    "position, expected",
    [(0, [15, 24]), (2, [3, 8]), ((1,), [[5, 12]]), ((2, 0), [[3, 8], [15, 24]])],
)
def test_positions(position, expected):
    assert listed(ms.grad(product, position)(X, Y, Z)) == expected
    value, gradients = ms.value_and_grad(product, position)(X, Y, Z)
    assert listed(value) == [15, 48] and listed(gradients) == expected


def test_the_sum_of_all_outputs():
    both = ms.grad(lambda x: (x * x, [3 * x, "text"]))
    assert listed(both(X)) == [5, 7]
    assert listed(X) == [1, 2]


def test_what_an_output_does_not_depend_on():
    assert listed(ms.grad(lambda x, y: y * 2, (0, 1))(X, Y)) == [[0, 0], [2, 2]]
    assert listed(ms.grad(lambda x: ms.Tensor([1.0]))(X)) == [0, 0]
    assert listed(ms.grad(lambda x: x > 1)(X)) == [0, 0]
    infinite = ms.Tensor([np.inf, np.nan])
    assert listed(ms.grad(lambda x, y: y * 2, (0, 1))(infinite, Y)) == [[0, 0], [2, 2]]


def test_the_same_tensor_twice():
    assert listed(ms.grad(lambda a, b: a * a * b, (0, 1))(X, X)) == [[2, 8], [1, 4]]


@pytest.mark.engine("torch")  # MXNet loses the sign where it makes the array
def test_negative_zero_stays():
    value, dx = ms.value_and_grad(lambda x: 1 / x)(ms.Tensor([-0.0]))
    assert value.item() == -np.inf and dx.item() == -np.inf


def test_more_that_is_returned():
    def function(x, y):
        return x * y, x + y, "text"

    gradient, more = ms.grad(function, 0, has_aux=True)(X, Y)
    assert listed(gradient) == [3, 4] and listed(more[0]) == [4, 6] and more[1] == "text"
    value, gradient = ms.value_and_grad(function, (0, 1), has_aux=True)(X, Y)
    assert listed(value[0]) == [3, 8] and listed(gradient) == [[3, 4], [1, 2]]
    with pytest.raises(TypeError, match="fn gave Tensor\n  expected a tuple"):
        ms.grad(lambda x: x, has_aux=True)(X)


def test_weights():
    w, unused = ms.Parameter([10.0, 20.0], "w"), ms.Parameter([np.inf], "unused")

    def function(x):
        return x * w * w

    assert listed(ms.grad(function, None, w)(X)) == [20, 80]
    assert listed(ms.grad(function, None, [w, unused])(X)) == [[20, 80], [0]]
    assert listed(ms.grad(function, 0, (w,))(X)) == [[100, 400], [[20, 80]]]
    _, (dx, (dw,)) = ms.value_and_grad(function, (0,), [w])(X)
    assert listed(dx) == [[100, 400]] and listed(dw) == [20, 80]


def test_gradients_of_gradients():
    second = ms.grad(ms.grad(ops.sin))(X)
    np.testing.assert_allclose(second.asnumpy(), -np.sin(X.asnumpy()), 1e-6)


@pytest.mark.engine("torch")  # MXNet has no second derivative of products
def test_gradients_of_gradients_of_products():
    cube = ms.grad(lambda x: x * x * x)
    assert listed(cube(X)) == [3, 12]
    assert listed(ms.grad(cube)(X)) == [6, 12]
    inner = ms.grad(lambda x: ms.grad(lambda y: x * y * y)(Y))  # 2xy, by x
    assert listed(inner(X)) == [6, 8]


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
def test_gradients_of_a_customs_gradient():
    op = ops.Custom(
        lambda x: x**3, lambda x: x, lambda x: x, "pyfunc", lambda x, y, dy: 3 * x * x * dy
    )
    assert listed(ms.grad(ms.grad(op))(X)) == [6, 12]
    assert listed(ms.grad(ms.grad(ms.grad(op)))(X)) == [6, 6]


def test_several_outputs_of_a_custom():
    op = ops.Custom(
        lambda a, b: (a * b, a + b),
        lambda a, b: (a, b),
        lambda a, b: (a, b),
        "pyfunc",
        lambda a, b, out, dout: (dout[0] * b + dout[1], dout[0] * a + dout[1]),
    )
    y, z = op(X, Y)
    assert isinstance(y, ms.Tensor) and listed((y, z)) == [[3, 8], [4, 6]]
    assert listed(ms.grad(lambda a, b: op(a, b), (0, 1))(X, Y)) == [[4, 5], [2, 3]]
    assert listed(ms.grad(lambda a, b: op(a, b)[1] * 2, (0, 1))(X, Y)) == [[2, 2], [2, 2]]
    (y, _) = op(X.array, Y.array)
    assert not isinstance(y, ms.Tensor) and y.asnumpy().tolist() == [3, 8]


def test_bprop_has_tensors_where_it_is_called_with_arrays():
    op = ops.Custom(
        lambda x: x * x, lambda x: x, lambda x: x, "pyfunc", lambda x, y, dy: ops.mul(2 * x, dy)
    )
    x = X.array.copy()
    x.attach_grad()
    with autograd.record():
        y = op(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 4]


@pytest.mark.engine("torch")  # MXNet prints an exception of a callback and raises another
def test_bprop_gives_tensors():
    op = ops.Custom(lambda x: x, lambda x: x, lambda x: x, "pyfunc", lambda x, y, dy: dy.asnumpy())
    with pytest.raises(TypeError, match="bprop gave ndarray for x"):
        ms.grad(op)(X)


@pytest.mark.parametrize(
    "made, error, told",
    [
        (lambda: ms.grad(3), TypeError, r"fn is 3 \(int\)"),
        (lambda: ms.grad(product, None), ValueError, "grad_position and weights are None"),
        (lambda: ms.grad(product, "0"), TypeError, "grad_position is '0'"),
        (lambda: ms.grad(product, True), TypeError, "grad_position is True"),
        (lambda: ms.grad(product, ()), TypeError, r"grad_position is \(\)"),
        (lambda: ms.grad(product, (0, -1)), ValueError, "expected ints from 0"),
        (lambda: ms.grad(product, 0, [X]), TypeError, "(?s)weights is .*expected floating P"),
        (lambda: ms.grad(product, 3)(X, Y, Z), IndexError, "grad_position 3, and 3 inputs"),
        (lambda: ms.grad(product)(1.0, Y, Z), TypeError, "input 0 is of float\n  expected a floa"),
        (lambda: ms.grad(product)(ms.Tensor([1]), Y, Z), TypeError, "input 0 is of int64"),
        (lambda: ms.grad(lambda x: None)(X), TypeError, "fn gave NoneType"),
    ],
)
def test_mistakes(made, error, told):
    with pytest.raises(error, match=told):
        made()
    assert not autograd.is_recording()


def test_an_exception_ends_recording():
    with pytest.raises(ZeroDivisionError):
        ms.grad(lambda x: 1 / 0)(X)
    assert not autograd.is_recording()
