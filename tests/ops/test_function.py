"""`customop` and `def_grad`: operators of plain functions, and what is told of wrong ones."""

import copy
import gc
import inspect
import logging
import pickle
import threading

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd
from layers.ops import Operator
from layers.ops.function import Primitive, customop


@customop("numpy")
def cross_entropy(x, label):
    """Mean of -log softmax(x)[label]."""
    p = np.exp(x - x.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return -np.log(p[np.arange(len(p)), label]).mean()


@cross_entropy.def_grad
def cross_entropy_dx(ans, x, label):
    def grad(g):
        p = np.exp(x - x.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(p)), label] -= 1
        return g * p / len(p)

    return grad


@customop("numpy")
def product(x, w, power=1):
    return x * w**power


product.def_grad(lambda ans, x, w, power=1: lambda g: g * w**power)
product.def_grad(lambda ans, x, w, power=1: lambda g: g * x * power * w ** (power - 1), "w")


@customop("mxnet")
def cube(x):
    return x * x * x


cube.def_grad(lambda ans, x: lambda g: 3 * g * x * x)


@customop("numpy")
def halves(x):
    return x[: len(x) // 2] * 1, np.sin(x)


def halves_dx(ans, x):
    first, second = ans
    assert first.shape == (len(x) // 2,)

    def grad(g):
        dx = g[1] * np.cos(x)
        dx[: len(first)] += g[0]
        return dx

    return grad


halves.def_grad(halves_dx)


def recorded(function, *inputs):
    arrays = [nd.array(a, dtype=getattr(a, "dtype", "float32")) for a in inputs]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = function(*arrays)
    return y, arrays


def gradients(function, *inputs):
    """The gradients of the sum of what a function gives."""
    y, arrays = recorded(function, *inputs)
    y.backward()
    return [a.grad.asnumpy().tolist() for a in arrays]


# Decorating


def test_it_keeps_name_docstring_and_signature():
    assert isinstance(cross_entropy, Primitive) and cross_entropy.type == "numpy"
    assert cross_entropy.__name__ == "cross_entropy"
    assert cross_entropy.__doc__ == "Mean of -log softmax(x)[label]."
    assert str(inspect.signature(product)) == "(x, w, power=1)"
    assert inspect.unwrap(product)(3, 2, power=2) == 12
    assert isinstance(product.operator, Operator) and product.inputs == ("x", "w")
    assert "product(x, w, power=1)>" in repr(product)


def test_a_decorator_without_parentheses_is_told():
    with pytest.raises(TypeError, match="given 'f'\n  expected @customop\\('numpy'\\)"):

        @customop
        def f(x):
            return x


@pytest.mark.parametrize("type", ["minpy", "torch", ""])
def test_types_are_checked(type):
    with pytest.raises(ValueError, match="expected 'numpy' or 'mxnet'"):
        customop(type)


def test_only_functions_become_operators():
    with pytest.raises(TypeError, match="expected a function"):
        customop("numpy")(3)
    with pytest.raises(ValueError, match="outputs is 0"):
        customop("numpy", outputs=0)


# Gradients


def test_def_grad_is_a_chain_and_the_last_counts():
    @customop("numpy")
    def f(x, w):
        return x * w

    first = f.def_grad(lambda ans, x, w: lambda g: g * 0).def_grad_zero(1)
    assert first is f
    assert gradients(f, [2.0], [3.0]) == [[0], [0]]
    f.def_grad(lambda ans, x, w: lambda g: g * w).def_grad(lambda ans, x, w: lambda g: g * x, "w")
    assert gradients(f, [2.0], [3.0]) == [[3], [2]]
    by_name = gradients(lambda x, w: nd.Custom(x, w, op_type=f.name), [2.0], [3.0])
    assert by_name == [[3], [2]]


@pytest.mark.parametrize(
    "argnum, error, told",
    [
        (2, ValueError, "no argument 2\n  expected of 0: x, 1: w"),
        ("y", ValueError, "no argument 'y'"),
        (-1, TypeError, "argnum is -1\n  expected the number of an argument"),
        (True, TypeError, "argnum is True"),
        (None, TypeError, "argnum is None"),
    ],
)
def test_argnum_is_checked(argnum, error, told):
    @customop("numpy")
    def f(x, w):
        return x * w

    for register in (f.def_grad, f.def_grad_kw):
        with pytest.raises(error, match=told):
            register(lambda ans, x, w: None, argnum)
    with pytest.raises(error, match=told):
        f.def_grad_zero(argnum)


def test_makers_are_checked():
    @customop("numpy")
    def f(x, w, axis=None):
        return x * w

    with pytest.raises(TypeError, match="gradient of x is made by 3\n  expected a function"):
        f.def_grad(3)
    with pytest.raises(TypeError, match=r"(?s)lambda.*\(ans, x\)\n  expected .* \(ans, x, w, axis"):
        f.def_grad(lambda ans, x: None)
    with pytest.raises(ValueError, match="expected different arguments"):
        f.def_multiple_grad(lambda ans, x, w: None, [0, 0])


def test_several_gradients_together():
    calls = []

    @customop("numpy")
    def f(x, w, b):
        return x * w + b

    def maker(ans, x, w, b):
        calls.append(ans.tolist())
        return lambda g: [g * x, g * w]

    f.def_multiple_grad(maker, (1, "x")).def_grad(lambda ans, x, w, b: lambda g: g, 2)
    assert gradients(f, [2.0], [3.0], [1.0]) == [[3], [2], [1]]
    assert calls == [[7]]
    x = nd.array([5.0])
    x.attach_grad()
    with autograd.record():
        y = f(x, nd.array([4.0]), nd.array([1.0]))
    y.backward()
    assert x.grad.asscalar() == 4
    f.def_grad(lambda ans, x, w, b: lambda g: g * 10, 0)  # the last call counts
    assert gradients(f, [2.0], [3.0], [1.0]) == [[10], [2], [1]]


@pytest.mark.engine("torch")  # MXNet loses exceptions of callbacks
def test_another_number_of_gradients_is_told():
    @customop("numpy")
    def f(x, w):
        return x * w

    f.def_multiple_grad(lambda ans, x, w: lambda g: [g], (0, 1))
    y, _ = recorded(f, [1.0], [1.0])
    with pytest.raises(ValueError, match="gave 1 gradients\n  expected a list of 2: of x, w"):
        y.backward()


def test_gradients_of_arguments_given_by_name():
    assert gradients(lambda x, w: product(x, w=w), [2.0], [3.0]) == [[3], [2]]
    assert gradients(lambda x, w: product(w=w, x=x, power=2), [2.0], [3.0]) == [[9], [12]]
    assert gradients(lambda w: product(2.0, w=w), [3.0]) == [[2]]


def test_makers_may_take_what_has_a_default_by_name_or_not_at_all():
    @customop("numpy")
    def f(x, scale=2.0, *, shift=0.0):
        return x * scale + shift

    f.def_grad(lambda ans, x, **given: lambda g: g * given["scale"])
    assert gradients(lambda x: f(x, 5.0), [1.0]) == [[5]]
    f.def_grad(lambda ans, x, *, scale: lambda g: g * scale)
    assert gradients(lambda x: f(x, scale=7.0), [1.0]) == [[7]]
    f.def_grad(lambda ans, x: lambda g: g * 2)
    assert gradients(f, [1.0]) == [[2]]


@pytest.mark.engine("torch")
def test_a_maker_is_not_deprived_of_what_is_given():
    @customop("numpy")
    def f(x, scale=2.0):
        return x * scale

    f.def_grad(lambda ans, x: lambda g: g * 2)
    y, _ = recorded(lambda x: f(x, 3.0), [1.0])
    with pytest.raises(TypeError, match="scale is given, and <lambda> does not take it"):
        y.backward()


def test_several_results():
    (p, q), (x,) = recorded(halves, [0.0, 1.0, 2.0, 3.0])
    assert p.shape == (2,) and q.shape == (4,)
    autograd.backward([p, q], [nd.array([10.0, 20.0]), nd.ones((4,)) * 2])
    expected = 2 * np.cos(np.arange(4.0)) + [10, 20, 0, 0]
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-6)
    y, (x,) = recorded(lambda x: halves(x)[0] * 3, [0.0, 1.0])
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 0]


def test_several_results_that_are_said():
    @customop("numpy", outputs=2)
    def both(x):
        return tuple(np.split(x, 2))

    both.def_grad(lambda ans, x: lambda g: np.concatenate(g))
    (p, q), (x,) = recorded(both, [1.0, 2.0])
    autograd.backward([p, q], [nd.array([10.0]), nd.array([20.0])])
    assert x.grad.asnumpy().tolist() == [10, 20]


@pytest.mark.engine("torch")
def test_another_number_of_results_is_told():
    @customop("numpy")
    def both(x):
        return tuple(np.split(x, 2))

    with pytest.raises(
        ValueError, match=r"gave 2 results\n  expected 1; customop\(\.\.\., outputs=2"
    ):
        both(nd.ones((2,)))


def test_none_and_zero():
    @customop("numpy")
    def f(x, w):
        return x * w

    f.def_grad(lambda ans, x, w: lambda g: None).def_grad_zero(argnum=1)
    assert gradients(f, [2.0], [3.0]) == [[0], [0]]

    @customop("mxnet")
    def g(x, w):
        return x * w

    g.def_grad(lambda ans, x, w: lambda g: None).def_grad_zero(argnum=1)
    assert gradients(g, [2.0], [3.0]) == [[0], [0]]


@pytest.mark.engine("torch")  # MXNet also asks for gradients that nobody wants: zero there
def test_no_gradient_is_told_when_one_is_asked_for():
    @customop("numpy")
    def f(x, w):
        return x * w

    f.def_grad(lambda ans, x, w: lambda g: g * w)
    assert f(nd.ones((1,)), nd.ones((1,))).asscalar() == 1
    y, _ = recorded(f, [2.0], [3.0])
    with pytest.raises(
        RuntimeError, match=r"f': w asks .*\n  expected def_grad.*argnum='w'"
    ) as told:
        y.backward()
    assert "detach" in str(told.value)
    assert gradients(lambda x: f(x, nd.ones((1,))), [2.0]) == [[1]]
    f.def_grad(lambda ans, x, w: lambda g: g * x, "w")
    assert gradients(f, [2.0], [3.0]) == [[3], [2]]


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "given, told",
    [
        (lambda x: x[:1], r"gradient of x is \(1,\) float32\n  expected \(2,\) float32"),
        (lambda x: 1.0, r"gradient of x is \(1,\)"),
        (lambda x: "much", r"gradient of x is str\n  expected an array of NumPy or a number"),
        (lambda x: nd.array(x), r"gradient of x is NDArray\n.*or customop\('mxnet'\)"),
    ],
)
def test_what_a_gradient_gives_is_checked(given, told):
    @customop("numpy")
    def f(x):
        return x * 2

    f.def_grad(lambda ans, x: lambda g: given(x))
    y, _ = recorded(f, [1.0, 2.0])
    with pytest.raises((ValueError, TypeError), match=told):
        y.backward()


@pytest.mark.engine("torch")
def test_what_a_function_and_a_maker_give_is_checked():
    @customop("numpy")
    def nothing(x):
        x * 2

    with pytest.raises(TypeError, match="result 0 is NoneType\n  expected an array of NumPy"):
        nothing(nd.ones((2,)))

    @customop("numpy")
    def text(x):
        return np.array(["a"])

    with pytest.raises(TypeError, match="dtype .* is unknown\n  expected one of float32"):
        text(nd.ones((2,)))

    @customop("mxnet")
    def number(x):
        return 1.0

    with pytest.raises(TypeError, match="is float\n  expected an NDArray"):
        number(nd.ones((2,)))

    @customop("numpy")
    def f(x):
        return x * 2

    f.def_grad(lambda ans, x: ans)
    y, _ = recorded(f, [1.0])
    with pytest.raises(TypeError, match="<lambda> gave ndarray\n  expected a function of the up"):
        y.backward()


# Arguments


def test_labels_stay_integers_and_a_scalar_has_no_axes():
    seen = []

    @customop("numpy")
    def f(x, label):
        seen.append(label.dtype)
        return x[np.arange(2), label].sum()

    def maker(ans, x, label):
        seen.append((np.shape(ans), float(ans)))

        def grad(g):
            seen.append((np.shape(g), float(g)))
            dx = np.zeros_like(x)
            dx[np.arange(2), label] = g
            return dx

        return grad

    f.def_grad(maker)
    x = nd.array([[1.0, 2.0], [3.0, 4.0]])
    for label in (np.array([1, 0]), nd.array([1, 0], dtype="int64")):
        x.attach_grad()
        seen.clear()
        with autograd.record():
            y = 3 * f(x, label)
        y.backward()
        assert y.shape == (1,) and y.asscalar() == 15
        assert x.grad.asnumpy().tolist() == [[0, 3], [3, 0]]
        assert seen[-3:] == [np.int64, ((), 5.0), ((), 3.0)]


def test_a_result_of_one_element_keeps_its_axis():
    shapes = []

    @customop("numpy")
    def f(x):
        return x.sum(axis=1)

    def maker(ans, x):
        shapes.append(ans.shape)
        return lambda g: g[:, None] * np.ones_like(x)

    f.def_grad(maker)
    assert gradients(f, [[1.0, 2.0]]) == [[[1, 1]]]
    assert shapes == [(1,)]


def test_scalars_are_attributes():
    assert gradients(lambda x: product(x, 3.0), [2.0]) == [[3]]
    assert gradients(lambda x: product(x, np.float32(3.0), 2), [2.0]) == [[9]]
    assert gradients(lambda w: product(2.0, w), [3.0]) == [[2]]


def test_one_and_true_and_one_point_zero_are_different():
    @customop("numpy")
    def f(x, n):
        return x * {int: 1, bool: 2, float: 3}[type(n)]

    x = nd.ones((1,))
    assert [f(x, n).asscalar() for n in (1, True, 1.0, 1)] == [1, 2, 3, 1]


def test_attributes_of_all_kinds():
    @customop("numpy")
    def f(x, axes, mode="sum", scale=1, rest=None):
        return getattr(x, mode)(axis=axes) * scale + (rest is not None)

    x = nd.ones((2, 3, 4))
    assert f(x, (0, 1)).asnumpy().tolist() == [6] * 4
    assert f(x, [0, 2], "mean", 0.5).asnumpy().tolist() == [0.5] * 3
    assert f(x, None, scale=float("inf")).asscalar() == np.inf
    assert f(x, (0, 1), rest="something").asnumpy().tolist() == [7] * 4


@pytest.mark.engine("torch")
def test_attributes_that_text_cannot_tell():
    @customop("numpy")
    def f(x, apply):
        return apply(x)

    assert f(nd.ones((1,)), np.negative).asscalar() == -1
    with pytest.raises(TypeError, match="apply is <.*not to be told as text"):
        f(mx.sym.Variable("x"), np.negative)


@pytest.mark.parametrize("value", [{}, [nd], (np.ones(2),)], ids=["dict", "module", "array"])
def test_other_arguments_are_refused(value):
    if value == [nd]:
        value = [nd.ones((1,))]
    with pytest.raises(TypeError, match=r"w is or has .*\n  expected an NDArray"):
        product(nd.ones((2,)), value)


def test_wrong_calls():
    x = nd.ones((1,))
    for call, told in (
        (lambda: product(x), "missing a required argument: 'w'"),
        (lambda: product(x, x, 1, 2), "too many positional arguments"),
        (lambda: product(x, x, pover=2), "unexpected keyword argument 'pover'"),
    ):
        with pytest.raises(TypeError, match=told + r"\n  expected product\(x, w, power=1\)"):
            call()


def test_arrays_that_may_be_left_out():
    @customop("numpy")
    def f(x, b=None):
        return x if b is None else x + b

    f.def_grad(lambda ans, x, b: lambda g: g).def_grad(lambda ans, x, b: lambda g: g * 2, "b")
    assert gradients(f, [1.0]) == [[1]]
    assert gradients(f, [1.0], [2.0]) == [[1], [2]]
    assert gradients(lambda x: f(x, None), [1.0]) == [[1]]
    assert gradients(lambda x, b: f(b=b, x=x), [1.0], [2.0]) == [[1], [2]]


def test_any_number_of_arrays():
    @customop("numpy")
    def total(*xs, scale=1.0, **more):
        return scale * sum(xs) + sum(more.values())

    for i in range(3):
        total.def_grad(lambda ans, *xs, scale, **more: lambda g: g * scale * len(xs), i)
    total.def_grad_kw(lambda ans, *xs, scale, **more: lambda g: g * 10, "extra")
    assert gradients(lambda a, b: total(a, b, scale=2.0), [1.0], [5.0]) == [[4], [4]]
    assert gradients(lambda a, b, c: total(a, b, c), [1.0], [5.0], [2.0]) == [[3], [3], [3]]
    assert gradients(lambda a, b: total(a, extra=b), [1.0], [5.0]) == [[1], [10]]


def test_parameters_of_any_name():
    @customop("numpy")
    def f(y, output, dy, function=2, phase=1, tensors=0):
        return y * output * dy * function * phase + tensors

    f.def_grad(lambda ans, y, output, dy, function, phase, tensors: lambda g: g * phase * function)
    f.def_grad_zero("output").def_grad_zero("dy")
    assert gradients(lambda y: f(y, [], 1, 3, phase=2) if 0 else f(y, 1, 1, 3, phase=2), [1.0]) == [
        [6]
    ]
    assert f(nd.ones((1,)), nd.ones((1,)), nd.ones((1,))).asscalar() == 2


def test_one_argument_twice():
    assert gradients(lambda x: product(x, x), [3.0]) == [[6]]
    assert gradients(lambda x: product(x, 2 * x) + product(x, x), [3.0]) == [[18]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dtypes_are_kept(dtype):
    @customop("numpy")
    def f(x, rate):
        return x.astype("float64").sum(axis=1) * rate, x.argmax(axis=1)

    f.def_grad(lambda ans, x, rate: lambda g: np.ones(x.shape) * g[0][:, None] * rate)
    x = nd.array([[1.0, 2.0]], dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y, place = f(x, 3)
    y.backward()
    assert (y.dtype, x.grad.dtype) == (np.dtype(dtype), np.dtype(dtype))
    assert x.grad.asnumpy().tolist() == [[3, 3]] and place.asnumpy().tolist() == [1]


def test_the_first_floating_input_tells_the_dtype():
    @customop("numpy")
    def look_up(index, table):
        return table[index] / 4

    table = nd.array([1.0, 2.0, 3.0])
    y = look_up(np.array([2, 0]), table)
    assert y.dtype == np.float32 and y.asnumpy().tolist() == [0.75, 0.25]


def test_inputs_are_not_changed():
    @customop("numpy")
    def f(x):
        x *= 2
        return x

    x, values = nd.array([1.0, 2.0]), np.array([1.0, 2.0])
    assert f(x).asnumpy().tolist() == f(values).asnumpy().tolist() == [2, 4]
    assert x.asnumpy().tolist() == values.tolist() == [1, 2]


# Gradients of gradients


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
def test_second_order_is_right_or_refused():
    x = nd.array([2.0])
    x.attach_grad()
    with autograd.record():
        (first,) = autograd.grad(cube(x), [x], create_graph=True)
        (second,) = autograd.grad(first, [x], create_graph=True)
    second.backward()
    assert [first.asscalar(), second.asscalar(), x.grad.asscalar()] == [12, 12, 6]

    @customop("mxnet")
    def power(x, w):
        return x**w

    def maker(ans, x, w):
        return lambda g: [g * w * ans / x, g * ans * nd.log(x)]

    power.def_multiple_grad(maker, (0, 1))
    w = nd.array([3.0])
    with autograd.record():
        (first,) = autograd.grad(power(x, w), [x], create_graph=True)
    first.backward()
    assert [first.asscalar(), x.grad.asscalar()] == [12, 12]

    with autograd.record():
        y = product(x, 3.0)
        with pytest.raises(RuntimeError, match="second derivative through asnumpy"):
            autograd.grad(y, [x], create_graph=True)


# By name, in graphs, as methods


class Net(gluon.HybridBlock):
    """Three times the cross entropy of 2 x, by name; and half of the product with itself."""

    def hybrid_forward(self, F, x, label):
        loss = F.Custom(2 * x, label, op_type=cross_entropy.name)
        return 3 * loss + F.sum(product(x, x, 2)) * 0.5


def losses(net, x, label):
    x = nd.array(x)
    x.attach_grad()
    with autograd.record():
        y = net(x, label)
    y.backward()
    return y.asnumpy(), x.grad.asnumpy()


X, LABEL = np.random.RandomState(0).randn(4, 3), nd.array([0, 2, 1, 0], dtype="int32")


def expected(x, label):
    p = np.exp(2 * x - (2 * x).max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    hot = np.eye(3)[label]
    y = -3 * np.log((p * hot).sum(axis=1)).mean() + 0.5 * (x**3).sum()
    return np.array([y]), 6 * (p - hot) / len(x) + 1.5 * x**2


def assert_near(found, wanted):
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hybrid", [False, True])
def test_in_a_block(hybrid):
    net = Net()
    net.hybridize(hybrid)
    for _ in range(2):
        assert_near(losses(net, X, LABEL), expected(X, [0, 2, 1, 0]))
    assert_near(losses(net, X[:2], LABEL[:2]), expected(X[:2], [0, 2]))


def test_in_a_symbol():
    x = mx.sym.Variable("x")
    y = mx.sym.Custom(x=x, w=mx.sym.Variable("w"), op_type=product.name, power=2)
    assert y.list_arguments() == ["x", "w"]
    arrays = {"x": nd.array([2.0]), "w": nd.array([3.0])}
    executor = y.bind(mx.current_context(), arrays, args_grad={n: nd.zeros((1,)) for n in arrays})
    assert executor.forward(is_train=True)[0].asscalar() == 18
    executor.backward(nd.ones((1,)))
    assert [g.asscalar() for g in executor.grad_arrays] == [9, 12]
    _, shapes, _ = cross_entropy(x, mx.sym.Variable("label")).infer_shape(x=(4, 3), label=(4,))
    assert shapes == [(1,)]


def test_annotated_parameters_are_attributes_by_name():
    @customop("numpy")
    def annotated(x, factor: float, mode: "str | None" = None):
        return x * factor if mode is None else x

    x = nd.ones((1,))
    assert annotated.inputs == ("x",)
    assert nd.Custom(x, op_type=annotated.name, factor=3.0).asscalar() == 3
    assert nd.Custom(x, op_type=annotated.name, factor="inf").asscalar() == np.inf
    assert nd.Custom(x, op_type=annotated.name, factor=3, mode="keep").asscalar() == 1


class Scaled(gluon.HybridBlock):
    """Its operators are methods."""

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    @customop("numpy")
    def scale(self, x, power=1):
        """x factor ** power"""
        return x * self.factor**power

    scale.def_grad(lambda ans, self, x, power=1: lambda g: g * self.factor**power)

    def hybrid_forward(self, F, x):
        return self.scale(x) + self.scale(x, power=2)


class Doubly(Scaled):
    @customop("numpy")
    def scale(self, x, power=1):
        return 2 * x * self.factor**power

    scale.def_grad(lambda ans, self, x, power=1: lambda g: 2 * g * self.factor**power)

    def both(self, x):
        return self.scale(x) - super().scale(x)


@pytest.mark.parametrize("hybrid", [False, True])
def test_methods(hybrid):
    for made in (Scaled(3.0), Scaled(5.0)):
        made.hybridize(hybrid)
        factor = made.factor
        assert gradients(made, [1.0]) == [[factor + factor**2]]
        made.factor = 2.0
        assert gradients(made, [1.0]) == [[6]]


def test_a_method_is_one_of_its_instance_and_class():
    one, other = Scaled(3.0), Doubly(3.0)
    x = nd.ones((1,))
    assert [one.scale(x).asscalar(), other.scale(x).asscalar(), other.both(x).asscalar()] == [
        3,
        6,
        3,
    ]
    assert one.scale is one.scale and isinstance(Scaled.scale, Primitive)
    assert str(inspect.signature(one.scale)) == "(x, power=1)"
    assert one.scale.__doc__ == "x factor ** power"
    assert Scaled.scale.__get__(other)(x).asscalar() == 3


class Plain:
    """A class whose instances are copied and pickled."""

    def __init__(self, factor):
        self.factor = factor

    @customop("numpy")
    def scale(self, x):
        return x * self.factor

    scale.def_grad(lambda ans, self, x: lambda g: g * self.factor)


def test_copies_and_pickles():
    made = Plain(3.0)
    x = nd.ones((1,))
    assert made.scale(x).asscalar() == 3
    for twin in (copy.deepcopy(made), copy.copy(made)):
        twin.factor = 5.0
        assert [twin.scale(x).asscalar(), made.scale(x).asscalar()] == [5, 3]
    assert copy.deepcopy(product) is product


@pytest.mark.engine("torch")
def test_it_is_pickled_by_its_place():
    from layers.ops import function

    module = type(function)("pickled_operators")
    exec("def double(x):\n    return 2 * x", vars(module))
    double = module.double
    double.__module__ = "pickled_operators"
    module.double = customop("numpy")(double)
    import sys

    sys.modules["pickled_operators"] = module
    try:
        assert pickle.loads(pickle.dumps(module.double)) is module.double
    finally:
        del sys.modules["pickled_operators"]


@pytest.mark.engine("torch")  # MXNet's registry keeps all operators
def test_instances_go():
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        assert Plain(2.0).scale(nd.ones((1,))).asscalar() == 2
    gc.collect()
    assert len(gc.get_objects()) - before < 300


# Compiled


def told(caplog):
    """What was logged of operators."""
    return [r.getMessage() for r in caplog.records if r.name == "layers.mxnet.hybridize"]


@pytest.mark.engine("torch")
def test_numpy_is_compiled_into_the_graph(caplog):
    import torch

    caplog.set_level(logging.INFO, "layers.mxnet.hybridize")
    net = Net()
    net.hybridize(backend="inductor")
    torch._dynamo.utils.counters.clear()
    for _ in range(2):
        assert_near(losses(net, X, LABEL), expected(X, [0, 2, 1, 0]))
    names = cross_entropy.name, product.name
    assert sorted(told(caplog)) == [f"operator {n!r} is compiled" for n in names]
    assert not torch._dynamo.utils.counters["graph_break"]


FACTOR = 2.0


@customop("numpy")
def by_factor(x):
    return x * FACTOR


by_factor.def_grad(lambda ans, x: lambda g: g * FACTOR)


@customop("numpy")
def tries(x):
    try:
        return x * 2
    except ValueError:
        return x


def tries_dx(ans, x):
    return lambda g: g * 2


@pytest.mark.engine("torch")
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")  # PyTorch's, of its compiler
def test_what_is_read_may_change_and_what_cannot_be_compiled_is_not(monkeypatch, caplog):
    class Factor(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return tries(by_factor(x + 1))

    tries.def_grad(tries_dx)
    net = Factor()
    net.hybridize(backend="aot_eager")
    assert gradients(net, [1.0]) == [[4]]
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert gradients(net, [1.0]) == [[10]]
    (said,) = told(caplog)
    assert f"{tries.name!r} is not compiled, and runs as it is: try in tries" in said


# Failures, memory, threads


@pytest.mark.engine("torch")  # MXNet loses exceptions of callbacks
@pytest.mark.parametrize("where", ["forward", "maker", "grad"])
def test_an_exception_is_the_users_own_with_a_note(where):
    failing = [where]

    @customop("numpy")
    def f(x, scale=2):
        return {}["key"] if failing == ["forward"] else x * scale

    def maker(ans, x, scale):
        if failing == ["maker"]:
            raise KeyError("key")
        return lambda g: {}["key"] if failing == ["grad"] else g * scale

    f.def_grad(maker)
    with pytest.raises(KeyError) as caught:
        gradients(f, [[1.0, 2.0]])
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    phase = "forward" if where == "forward" else "backward"
    assert f"in {phase} of operator {f.name!r}" in told and "(1, 2) float32" in told
    assert not autograd.is_recording()
    failing.clear()
    assert gradients(f, [[1.0, 2.0]]) == [[[2, 2]]]


@pytest.mark.engine("torch")
def test_a_thousand_calls_leave_memory_flat():
    x, w = nd.ones((4, 4)), nd.ones((4, 4))
    x.attach_grad()
    made = Plain(2.0)

    def calls(count):
        for i in range(count):
            with autograd.record():
                y = made.scale(product(x, w, power=float(i))) + product(x, 2.0)
            y.backward()
        gc.collect()
        return len(gc.get_objects())

    before = calls(300)
    assert calls(1000) - before < 200


def test_eight_threads():
    @customop("numpy")
    def f(x, w, n):
        return x * w * n

    f.def_grad(lambda ans, x, w, n: lambda g: g * w * n)
    f.def_grad(lambda ans, x, w, n: lambda g: g * x * n, 1)
    wrong, start = [], threading.Barrier(8)

    def work(number):
        try:
            start.wait()
            for _ in range(20):
                if gradients(lambda x, w: f(x, w, number), [2.0], [3.0]) != [
                    [3 * number],
                    [2 * number],
                ]:
                    wrong.append(number)
        except Exception as error:  # told in the main thread
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(t.is_alive() for t in threads)
