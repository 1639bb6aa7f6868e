"""`customop` and `def_grad`: operators of plain functions, and what is told of wrong ones."""

import inspect
import re

import numpy as np
import pytest
from functions import cross_entropy, cube, gradients, halves, product, recorded

from layers.engine import autograd, mx, nd
from layers.ops import Operator
from layers.ops.ways.function import Primitive, customop

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
    with pytest.raises(
        TypeError, match="given 'f'\n  expected @customop\\('numpy'\\), 'mxnet' or 'torch'"
    ):

        @customop
        def f(x):
            return x


@pytest.mark.parametrize("type", ["minpy", "jax", ""])
def test_types_are_checked(type):
    with pytest.raises(ValueError, match="expected 'numpy', 'mxnet' or 'torch'"):
        customop(type)


def test_only_functions_become_operators():
    with pytest.raises(TypeError, match="expected a function"):
        customop("numpy")(3)
    for outputs in (0, None, True, "2"):
        with pytest.raises(ValueError, match=f"outputs is {outputs!r}\n  expected their number"):
            customop("numpy", outputs=outputs)


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
        (2, ValueError, "no argument 2\n  expected one of 0: x, 1: w"),
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


@pytest.mark.engine("torch")
def test_another_number_of_results_is_told():
    @customop("numpy")
    def both(x):
        return x, x  # a graph has to know how many there are before it runs

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
        (lambda x: "much", r"of x is 'much' \(str\)\n  expected an array of NumPy or a number"),
        (lambda x: nd.array(x), r"gradient of x is NDArray \(2,\)\n.*or customop\('mxnet'\)"),
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

    with pytest.raises(TypeError, match="result 0 is None\n  expected an array of NumPy"):
        nothing(nd.ones((2,)))

    @customop("numpy")
    def text(x):
        return np.array(["a"])

    with pytest.raises(TypeError, match="dtype .* is unknown\n  expected one of float32"):
        text(nd.ones((2,)))

    @customop("mxnet")
    def number(x):
        return 1.0

    with pytest.raises(TypeError, match=r"is 1.0 \(float\)\n  expected an NDArray"):
        number(nd.ones((2,)))

    @customop("numpy")
    def f(x):
        return x * 2

    f.def_grad(lambda ans, x: ans)
    y, _ = recorded(f, [1.0])
    with pytest.raises(TypeError, match=r"<lambda> gave ndarray \(1,\)\n  expected a function of"):
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


def test_a_tuple_with_infinity_is_an_attribute_of_a_graph():
    @customop("mxnet")
    def first(x, bounds=(0, 1)):
        return x * len(bounds)

    block = mx.gluon.nn.HybridLambda(lambda F, x: first(x, bounds=(float("inf"), 1)))
    for _ in range(2):
        assert block(nd.ones((2,))).asnumpy().tolist() == [2, 2]
        block.hybridize()


@pytest.mark.engine("torch")
def test_attributes_that_text_cannot_tell():
    @customop("numpy")
    def f(x, apply):
        return apply(x)

    assert f(nd.ones((1,)), np.negative).asscalar() == -1
    with pytest.raises(TypeError, match="apply is <.*cannot be written as text"):
        f(mx.sym.Variable("x"), np.negative)


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: [[1, {}]], "[[1, {}]] (list)\n  expected an NDArray or"),
        (lambda: [nd.ones((1, 2))], "a list of NDArray (1, 2)\n  expected the arrays one by one"),
        (lambda: (np.ones(2), 3), "a tuple of ndarray (2,), 3 (int)\n  expected the arrays"),
        (lambda: {"k": nd.ones((4, 3))}, "dict\n  expected an NDArray or"),
    ],
    ids=["nested", "NDArray", "NumPy", "dict"],
)
def test_other_arguments_are_refused(make, told):
    with pytest.raises(TypeError, match=re.escape(f"w is {told}")):
        product(nd.ones((2,)), make())


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
    @customop("numpy", outputs=2)
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
        told = (
            r"no second .* what asnumpy\(\) gives, .*not record\n  expected .*customop\('mxnet'\)"
        )
        with pytest.raises(RuntimeError, match=told):
            autograd.grad(y, [x], create_graph=True)
