"""`Custom`: MindSpore's way of writing an operator, on NDArrays and Symbols."""

import copy
import gc
import logging
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from layers import OperatorBlock
from layers.engine import autograd, gluon, mx, nd
from layers.ops.ways.function import customop
from layers.ops.ways.kernel import KernelError, kernel
from layers.ops.ways.primitive import Custom
from layers.ops.ways.registration import (
    CustomRegOp,
    DataType,
    RegistrationError,
    custom_info_register,
)


def same(*given):
    return given[0]


def square(x):
    return x * x


def square_bprop(x, out, dout):
    return (2 * x * dout,)


SQUARE = Custom(square, same, same, "pyfunc", square_bprop)


def pyfunc(func, out_shape=same, out_dtype=same, bprop=None, **more):
    return Custom(func, out_shape, out_dtype, "pyfunc", bprop, **more)


def differentiated(op, *values, dtype="float32", head=None):
    """The outputs and the gradients of the inputs."""
    arrays = [nd.array(v, dtype=dtype) for v in values]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = op(*arrays)
    heads = list(y) if isinstance(y, tuple) else [y]
    autograd.backward(heads, head and [nd.array(h, dtype=dtype) for h in head])
    return [y.asnumpy() for y in heads], [a.grad.asnumpy() for a in arrays]


@pytest.fixture
def refused(capsys):
    """Whether a call fails with a message, which MXNet prints and does not raise."""

    def check(call, message):
        with pytest.raises(Exception) as caught:
            call()
        assert re.search(message, notes(caught.value) + capsys.readouterr().out, re.DOTALL)

    return check


def notes(error):
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


# What it computes


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_forward_and_gradient(dtype):
    (y,), (dx,) = differentiated(SQUARE, [1.0, 4.0, 9.0], dtype=dtype, head=[[1, 10, 100]])
    assert y.tolist() == [1, 16, 81] and dx.tolist() == [2, 80, 1800]
    assert y.dtype == dx.dtype == np.dtype(dtype)


@pytest.mark.engine("torch")  # of NumPy, MXNet has no bfloat16
def test_bfloat16_is_float32_in_numpy():
    seen = []

    def double(x):
        seen.append(x.dtype)
        return x * 2

    y = pyfunc(double)(nd.array([1.0, 2.0], dtype="bfloat16"))
    assert seen == [np.float32] and y.asnumpy().tolist() == [2, 4]
    assert y.dtype == nd.ones((1,), dtype="bfloat16").dtype
    y = pyfunc(double, out_dtype="bfloat16")(nd.array([1.0, 2.0]))
    assert y.dtype == nd.ones((1,), dtype="bfloat16").dtype and y.asnumpy().tolist() == [2, 4]


def test_several_outputs_and_inputs():
    op = pyfunc(
        lambda a, b: (a * b, a + b),
        lambda a, b: (a, b),
        lambda a, b: (a, b),
        lambda a, b, out, dout: [dout[0] * b + dout[1], dout[0] * a + out[1] * 0 + dout[1]],
    )
    ys, grads = differentiated(op, [2.0, 3.0], [5.0, 7.0], head=[[1, 1], [10, 10]])
    assert [y.tolist() for y in ys] == [[10, 21], [7, 10]]
    assert [g.tolist() for g in grads] == [[15, 17], [12, 13]]


def test_the_gradient_of_an_unused_output_is_zeros():
    seen = []

    def bprop(x, out, dout):
        seen.extend(d.asnumpy().tolist() for d in dout)
        return (dout[0] + dout[1],)

    op = pyfunc(lambda x: (x * 1, x * 1), lambda x: (x, x), lambda x: (x, x), bprop)
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = op(x)[0] * 3
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 3] and seen == [[3, 3], [0, 0]]


def test_a_tuple_of_one_output():
    x = nd.ones((2, 3))
    for func in (lambda x: (x + 1,), lambda x: x + 1):
        (y,) = Custom(func, ((2, 3),), ("float32",), "pyfunc")(x)
        assert y.asnumpy().tolist() == [[2, 2, 2], [2, 2, 2]]


def test_values_in_the_place_of_functions():
    total = pyfunc(lambda x: np.sum(x), (), np.float32)
    assert total(nd.ones((2, 3))).asnumpy().tolist() == [6]
    pair = pyfunc(lambda x: (x[0], x.sum(0, "int64")), ((3,), [3]), ("float32", np.dtype("int64")))
    y, z = pair(nd.ones((2, 3)))
    assert (y.shape, z.shape, z.dtype) == ((3,), (3,), np.int64)


def test_bools():
    x = nd.array([1.0, -1.0])
    positive = pyfunc(lambda x: x > 0, same, "bool")
    assert positive(x).asnumpy().tolist() == [True, False]
    assert pyfunc(np.logical_not)(positive(x)).asnumpy().tolist() == [False, True]


def test_numbers_are_passed_as_they_are():
    seen = []

    def scaled(x, factor, n):
        seen.append((factor, n))
        return x * np.float32(factor) ** n

    def bprop(x, factor, n, out, dout):
        return dout * factor**n, None, None

    op = pyfunc(scaled, bprop=bprop)
    (y,), (dx,) = differentiated(lambda x: op(x, 3.0, 2), [1.0, 2.0])
    assert y.tolist() == [9, 18] and dx.tolist() == [9, 9]
    assert op(nd.ones((1,)), np.float32(0.5), np.int64(1)).asnumpy().tolist() == [0.5]
    assert seen[0] == (3.0, 2) and [type(v) for v in seen[-1]] == [float, int]


def test_any_number_of_inputs():
    total = pyfunc(lambda *xs: sum(xs), bprop=lambda *args: (args[-1],) * (len(args) - 2))
    for count in (1, 3, 2):
        (y,), grads = differentiated(total, *[[1.0, 2.0]] * count)
        assert y.tolist() == [count, 2 * count] and [g.tolist() for g in grads] == [[1, 1]] * count
    assert pyfunc(np.add)(nd.ones((2,)), nd.ones((2,))).asnumpy().tolist() == [2, 2]


def test_no_inputs():
    op = pyfunc(lambda: np.arange(3, dtype=np.float32), lambda: (3,), lambda: "float32")
    assert op().asnumpy().tolist() == [0, 1, 2]


def test_inputs_are_the_operators_own():
    def spoils(x):
        x[:] = 7
        return x

    x = nd.ones((2,))
    assert pyfunc(spoils)(x).asnumpy().tolist() == [7, 7] and x.asnumpy().tolist() == [1, 1]


def test_strides_of_what_comes_back():
    x = nd.array(np.arange(6.0).reshape(2, 3))
    assert pyfunc(lambda x: x[::-1, ::-1])(x).asnumpy().tolist() == [[5, 4, 3], [2, 1, 0]]
    turned = pyfunc(lambda x: x.T, lambda s: s[::-1])(x)
    assert turned.asnumpy().tolist() == [[0, 3], [1, 4], [2, 5]]


def test_integers_have_no_gradient():
    def rows(x, i):
        return x[i]

    def bprop(x, i, out, dout):
        return nd.dot(nd.one_hot(i, 2).T, dout), None

    op = pyfunc(rows, lambda x, i: (i[0], x[1]), same, bprop)
    x, i = nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([1, 1, 0], dtype="int64")
    x.attach_grad()
    with autograd.record():
        y = op(x, i)
    y.backward()
    assert y.asnumpy().tolist() == [[3, 4], [3, 4], [1, 2]]
    assert x.grad.asnumpy().tolist() == [[1, 1], [2, 2]]


@pytest.mark.engine("mxnet")  # on `layers.mxnet` integers take no gradient
@pytest.mark.parametrize("given", [lambda i, dy: dy, lambda i, dy: i, lambda i, dy: "no"])
def test_a_gradient_for_integers_is_zeros(given):
    op = pyfunc(lambda x, i: x * 1, same, same, lambda x, i, y, dy: (dy, given(i, dy)))
    x, i = nd.array([1.0, 2.0]), nd.array([1, 1], dtype="int64")
    i.attach_grad()
    with autograd.record():
        y = op(x, i)
    y.backward()
    assert i.grad.asnumpy().tolist() == [0, 0] and i.grad.dtype == np.int64


def test_a_gradient_of_another_dtype(refused):
    op = pyfunc(square, bprop=lambda x, y, dy: dy.astype("float64"))
    message = r"the gradient of x is \(2,\) float64\n  expected \(2,\) float32"
    refused(lambda: differentiated(op, [1.0, 2.0]), message)


def test_two_operators_over_one_function_do_not_mix():
    x = nd.array(np.arange(6.0).reshape(2, 3))
    flat = pyfunc(np.ravel, lambda s: (s[0] * s[1],))
    wide = pyfunc(lambda x: x.reshape(3, 2), (3, 2))
    assert flat(x).shape == (6,) and wide(x).shape == (3, 2)
    a, b = (Custom(square, shape, "float32", "pyfunc") for shape in ((2, 3), (3, 2)))
    assert a.name != b.name
    assert a(x).shape == (2, 3) and b(x.reshape((3, 2))).shape == (3, 2)
    made = [pyfunc(lambda x, k=k: x * np.float32(k)) for k in (2, 3)]
    assert len({op.name for op in made}) == 2
    assert [op(x).asnumpy()[0, 1] for op in made] == [2, 3]


def around(held):
    """An operator of a function that has a value around it."""
    return pyfunc(lambda x: x * np.asarray(held, x.dtype).sum())


@pytest.mark.parametrize(
    "one, two",
    [
        (1, 2),
        (1, 1.0),
        (None, 1),
        ("a", "b"),
        ((1, (2, 3)), (1, (2, 4))),
        (np.ones(2), np.zeros(2)),
        (np.float32(1), np.float32(2)),
        (np.sin, np.cos),
    ],
)
def test_a_name_says_what_is_around_a_function(one, two):
    first, second, again = (around(held).name for held in (one, two, copy.deepcopy(one)))
    bare = len("Custom_lambda_01234567")
    assert first[:bare] != second[:bare] and first[:bare] == again[:bare]
    names = [pyfunc(lambda x, *, held=held: x * held).name for held in (one, two)]
    assert names[0][:bare] != names[1][:bare]


def test_a_name_stands_for_the_place_of_a_function_and_not_for_its_text():
    names = []
    for text in ("x", "x + 0"):
        space = {"__name__": "test_primitive.elsewhere"}
        exec(f"def square(x):\n    return {text}", space)
        names.append(pyfunc(space["square"]).name)
    assert names[1] == f"{names[0]}_1"
    assert not pyfunc(square).name.startswith(names[0])


def test_two_lambdas_of_one_function_are_numbered():
    one, two = pyfunc(lambda x: x + 1), pyfunc(lambda x: x + 2)
    assert two.name == f"{one.name}_1"
    assert [op(nd.zeros((1,))).asscalar() for op in (one, two)] == [1, 2]
    x = mx.sym.var("x")
    both = mx.sym.Group([one(x), two(x)])
    found = both.bind(mx.current_context(), {"x": nd.zeros((1,))}).forward()
    assert [y.asscalar() for y in found] == [1, 2]


def test_a_name_does_not_say_what_is_counted():
    first, second = (around(gluon.nn.Dense(2)).name for _ in range(2))
    assert second == f"{first}_1"


def test_a_name_is_the_same_for_the_same_registration():
    made = [pyfunc(square, reg_info=f32_info(target)).name for target in ("CPU", "CPU", "GPU")]
    assert made[0] in made[1] and made[0] not in made[2]


def test_a_parameter_named_as_an_output():
    op = pyfunc(lambda y, dy: y + dy, bprop=lambda y, dy, out, dout: (dout, dout * 2))
    (y,), grads = differentiated(op, [1.0], [2.0])
    assert y.tolist() == [3] and [g.tolist() for g in grads] == [[1], [2]]


# In graphs


class Twice(gluon.HybridBlock):
    def __init__(self, op):
        super().__init__()
        self.op = op

    def hybrid_forward(self, F, x):
        return self.op(self.op(x)) + 1


@pytest.mark.parametrize("hybridize", [False, True])
def test_in_a_block(hybridize):
    block = Twice(SQUARE)
    if hybridize:
        block.hybridize()
    (y,), (dx,) = differentiated(block, [1.0, 2.0])
    assert y.tolist() == [2, 17] and dx.tolist() == [4, 32]


def test_in_a_symbol_with_several_outputs_and_a_number():
    op = pyfunc(lambda x, k: (x * np.float32(k), x), lambda x, k: (x, x), lambda x, k: (x, x))
    y, z = op(mx.sym.var("x"), 3.0)
    x = nd.array([1.0, 2.0])
    for symbol, expected in ((y, [3, 6]), (z, [1, 2])):
        found = symbol.bind(mx.current_context(), {"x": x}).forward()[0]
        assert found.asnumpy().tolist() == expected
        assert symbol.infer_shape(x=(4, 5))[1] == [(4, 5)]


def test_by_name_and_as_a_layer():
    operator = SQUARE.operator
    assert operator.name == SQUARE.name
    assert nd.Custom(nd.array([3.0]), op_type=SQUARE.name).asnumpy().tolist() == [9]
    product = pyfunc(lambda x, w: x * w, bprop=lambda x, w, y, dy: (dy * w, dy * x))
    layer = OperatorBlock(product, params={"w": {"shape": (2,), "init": "ones"}})
    layer.initialize()
    x = nd.array([3.0, 4.0])
    with autograd.record():
        y = layer(x)
    y.backward()
    assert layer.w.grad().asnumpy().tolist() == [3, 4]


def test_by_name_where_the_number_of_inputs_is_open():
    with pytest.raises(TypeError, match="(?s)takes 0 inputs or more\n  expected.*reg_info"):
        pyfunc(lambda *xs: xs[0]).operator  # noqa: B018  the property is what is tested


@pytest.mark.engine("torch")
def test_a_parameter_whose_shape_nobody_tells():
    product = pyfunc(lambda x, w: x * w)
    layer = OperatorBlock(product, params=["w"])
    layer.initialize()
    with pytest.raises(ValueError, match="the shape of w is not known"):
        layer(nd.ones((2,)))


@pytest.fixture
def told(caplog):
    caplog.set_level(logging.INFO, "layers.mxnet.hybridize")
    return lambda: caplog.text


@pytest.mark.engine("torch")
def test_numpy_is_compiled_whole(told):
    op = pyfunc(lambda x: np.sin(x) * 2, bprop=lambda x, y, dy: (2 * nd.cos(x) * dy,))
    block = Twice(op)
    block.hybridize(backend="aot_eager")
    (y,), (dx,) = differentiated(block, [0.5, 1.0], dtype="float64")
    x = np.array([0.5, 1.0])
    np.testing.assert_allclose(y, 2 * np.sin(2 * np.sin(x)) + 1, 1e-12)
    np.testing.assert_allclose(dx, 2 * np.cos(2 * np.sin(x)) * 2 * np.cos(x), 1e-11)
    assert "is compiled" in told() and "not compiled" not in told()


@kernel
def doubled(x):
    y = output_tensor(x.shape, x.dtype)  # noqa: F821  a name of the language of kernels
    for i in range(x.shape[0]):
        y[i] = x[i] * 2.0
    return y


def drawing(x):
    return x * np.float32(np.random.rand() * 0 + 2)


class Doubling:
    def __call__(self, x):
        return x * 2


class DoublingGradient:
    def __call__(self, x, y, dy):
        return (2 * dy,)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "func, func_type, why",
    [
        (doubled, "hybrid", "a loop kernel"),
        (drawing, "pyfunc", "return x * np.float32(np.random.rand()"),
    ],
)
def test_what_is_not_compiled_runs_as_it_is(told, func, func_type, why):
    op = Custom(func, same, same, func_type, lambda x, y, dy: (2 * dy,))
    block = Twice(op)
    block.hybridize(backend="aot_eager")
    (y,), (dx,) = differentiated(block, [1.0, 2.0])
    assert y.tolist() == [5, 9] and dx.tolist() == [4, 4]
    assert "not compiled" in told() and why in told()


@pytest.mark.engine("torch")
def test_objects_that_can_be_called_are_compiled(told):
    block = Twice(Custom(Doubling(), same, same, "pyfunc", DoublingGradient()))
    block.hybridize(backend="aot_eager")
    (y,), (dx,) = differentiated(block, [1.0, 2.0])
    assert y.tolist() == [5, 9] and dx.tolist() == [4, 4]
    assert "is compiled" in told() and "not compiled" not in told()


# Kernels and libraries


def test_kernels_in_every_form():
    for func, func_type in (
        (doubled, "hybrid"), (doubled, "akg"), (doubled, "pyfunc"),
        (doubled.__wrapped__, "akg"), (doubled.__wrapped__, "hybrid"),
    ):  # fmt: skip
        op = Custom(func, same, same, func_type, bprop=lambda x, y, dy: 2 * dy)
        (y,), (dx,) = differentiated(op, [1.0, 2.0])
        assert y.tolist() == [2, 4] and dx.tolist() == [2, 2]


@kernel
def outer_and_count(a, b, k):
    y = output_tensor((a.shape[0], b.shape[0]), a.dtype)  # noqa: F821  the language's
    n = output_tensor((a.shape[0],), int32)  # noqa: F821  the language's
    for i in range(a.shape[0]):
        n[i] = 3
        for j in range(b.shape[0]):
            y[i, j] = a[i] * b[j] + k
    return y, n


def test_shapes_and_dtypes_are_inferred():
    op = Custom(outer_and_count)
    y, n = op(nd.array([1.0, 2.0]), nd.array([1.0, 10.0, 100.0]), 1.0)
    assert y.asnumpy().tolist() == [[2, 11, 101], [3, 21, 201]]
    assert n.asnumpy().tolist() == [3, 3] and n.dtype == np.int32
    y, n = op(mx.sym.var("a"), mx.sym.var("b"), 0.0)
    assert y.infer_shape(a=(4,), b=(5,))[1] == [(4, 5)]
    found = n.bind(mx.current_context(), {"a": nd.ones((4,))} | {"b": nd.ones((5,))}).forward()[0]
    assert found.asnumpy().tolist() == [3] * 4


@pytest.mark.engine("torch")  # of NumPy, MXNet has no bfloat16
def test_a_kernel_of_bfloat16_runs_in_float32():
    grad = Custom(outer_and_count, bprop=lambda a, b, k, y, dy: (nd.dot(dy[0], b), None, None))
    a, b = (nd.array(v, dtype="bfloat16") for v in ([1.0, 2.0], [1.0, 10.0, 100.0]))
    a.attach_grad()
    with autograd.record():
        y, n = grad(a, b, 0.0)
    y.backward()
    assert y.dtype == a.dtype and n.dtype == np.int32
    assert y.asnumpy().tolist() == [[1, 10, 100], [2, 20, 200]]
    assert a.grad.asnumpy().tolist() == [111, 111]
    y, n = Custom(outer_and_count)(a.astype("float32"), b, 0.0)
    assert y.dtype == np.float32


def test_an_attribute_of_a_kernel_is_registered():
    def scaled(x, factor):
        y = output_tensor(x.shape, x.dtype)  # noqa: F821  the language's
        for i in range(x.shape[0]):
            y[i] = x[i] * factor
        return y

    info = CustomRegOp().input(0, "x").output(0, "y").attr("factor", "required", "float", value=2.5)
    for rules in ((same, same), ()):
        op = Custom(scaled, *rules, func_type="akg", reg_info=info.target("CPU"))
        assert op(nd.array([2.0, 4.0])).asnumpy().tolist() == [5, 10]
    assert op(mx.sym.var("x")).infer_shape(x=(3,))[1] == [(3,)]

    def another(x, scale):
        return scaled(x, scale)

    with pytest.raises(ValueError, match="(?s)reg_info has the attribute 'factor'.*scale"):
        Custom(another, same, same, "pyfunc", reg_info=info)
    bare = CustomRegOp().attr("factor", "required", "float").target("CPU")
    with pytest.raises(ValueError, match="attribute 'factor' in reg_info has no value"):
        Custom(lambda x, factor: x, same, same, "pyfunc", reg_info=bare)


SOURCE = """
#include <stdint.h>
int scale(int n, void **p, int *ndims, int64_t **shapes, const char **types, void *s, void *e) {
  for (int64_t i = 0; i < shapes[0][0]; i++) ((float*)p[1])[i] = 2.0f * ((float*)p[0])[i];
  return 0;
}
"""


def test_a_library(tmp_path, refused):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    (tmp_path / "scale.c").write_text(SOURCE)
    text = f"{tmp_path / 'scale.c'}:scale"
    op = Custom(text, same, same, "aot", bprop=lambda x, y, dy: (2 * dy,))
    (y,), (dx,) = differentiated(op, [1.0, 2.0])
    assert y.tolist() == [2, 4] and dx.tolist() == [2, 2]
    (y,), (dx,) = differentiated(Twice(op), [1.0, 2.0])
    assert y.tolist() == [5, 9] and dx.tolist() == [4, 4]
    with pytest.raises(TypeError, match="out_dtype is None"):
        Custom(text, same, None, "aot")
    op = Custom(text, None, same, "aot")
    refused(lambda: op(nd.ones((2,))).asnumpy(), "out_shape is None, and scale has no InferShape")


def test_a_library_in_a_graph_that_is_loaded(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    (tmp_path / "scale.c").write_text(SOURCE)
    op = Custom(f"{tmp_path / 'scale.c'}:scale", same, same, "aot")
    with pytest.raises(TypeError, match="it takes 0 inputs or more"):
        op.operator  # noqa: B018 - asking for it is the test
    op(mx.sym.var("x"))
    y = nd.Custom(nd.array([1.0, 2.0]), op_type=f"{op.name}_1")  # as graphs name it
    assert y.asnumpy().tolist() == [2, 4]


def test_one_function_with_different_attributes():
    def scaled(x, factor):
        return x * np.float32(factor)

    def info(factor):
        told = CustomRegOp().input(0, "x").output(0, "y").attr("factor", value=factor)
        return told.target("CPU")

    funcs = {"pyfunc": scaled}
    if shutil.which("c++"):
        funcs["aot"] = f"{Path(__file__).parent / 'sources' / 'prepared.cc'}:scale"
    for func_type, func in funcs.items():
        ops = [Custom(func, same, same, func_type, reg_info=info(n)) for n in (2, 3)]
        assert [op(nd.ones((1,))).asscalar() for op in ops] == [2, 3]
        assert ops[0].name != ops[1].name


# Registration


def f32_info(target="CPU"):
    chain = CustomRegOp().input(0, "x").output(0, "y")
    return chain.dtype_format(DataType.F32_Default, DataType.F32_Default).target(target)


def test_dtypes_are_cast_up_and_back(refused):
    seen = []

    def double(x):
        seen.append(x.dtype.name)
        return x * 2

    op = pyfunc(double, bprop=lambda x, y, dy: (2 * dy,), reg_info=f32_info())
    for dtype in ("float16", "float32"):
        (y,), (dx,) = differentiated(op, [1.0, 2.0], dtype=dtype)
        assert y.dtype == dx.dtype == np.dtype(dtype) and y.tolist() == [2, 4]
    assert set(seen) == {"float32"}
    wide = nd.ones((2,), dtype="float64")
    refused(lambda: op(wide).asnumpy(), "inputs of float64.*cast up to one of: float32")


def test_what_the_cast_operator_gives_is_checked(refused):
    op = pyfunc(lambda x: x.astype("float64"), reg_info=f32_info())
    x = nd.ones((2,), dtype="float16")
    refused(lambda: op(x).asnumpy(), "output 0 is .*float64.*expected float32.*out_dtype")


def test_the_argument_comes_before_the_decorator(refused):
    @custom_info_register(f32_info("Ascend"))
    def double(x):
        return x * 2

    op = pyfunc(double)
    refused(lambda: op(nd.ones((2,))).asnumpy(), "called on CPU\n  expected Ascend")
    assert pyfunc(double, reg_info=f32_info())(nd.ones((2,))).asnumpy().tolist() == [2, 2]
    with pytest.raises(RegistrationError, match="two reg_info for CPU: inputs were .* and are"):
        pyfunc(double, reg_info=[f32_info(), CustomRegOp().target("CPU")])


def test_inputs_of_the_registration_are_the_functions():
    info = CustomRegOp().input(0, "a").input(1, "b").output(0, "y").target("CPU")
    with pytest.raises(ValueError, match=r"(?s)2 inputs in reg_info \(a, b\).*expected x"):
        pyfunc(square, reg_info=info)
    total = pyfunc(lambda *xs: sum(xs), reg_info=info)
    assert total.operator.inputs == ("x0", "x1")
    with pytest.raises(TypeError, match="1 inputs"):
        total(nd.ones((2,)))


# What is told


@pytest.mark.parametrize(
    "made, error, message",
    [
        (lambda: Custom(square, same, same, "tbe"), NotImplementedError, "'tbe' needs Ascend's"),
        (lambda: Custom("f", same, same, "aicpu"), NotImplementedError, "'aicpu' needs Ascend's"),
        (lambda: Custom("f", same, same, "julia"), NotImplementedError, "'julia' needs the Julia"),
        (lambda: Custom(square, same, same, "cuda"), ValueError, "func_type 'cuda'\n  expected"),
        (lambda: pyfunc("square"), TypeError, r"func is 'square' \(str\)\n  expected a function"),
        (lambda: Custom("f", same, same), TypeError, "expected a function"),
        (lambda: Custom(square, same, same, "aot"), TypeError, "expected the text 'file:function'"),
        (lambda: pyfunc(square, bprop=True), TypeError, r"bprop is True \(bool\)"),
        (lambda: pyfunc(square, None), TypeError, "out_shape is None"),
        (lambda: pyfunc(square, same, None), TypeError, "out_dtype is None"),
        (lambda: pyfunc(square, 3), TypeError, r"out_shape is 3 \(int\)"),
        (lambda: pyfunc(square, "3"), TypeError, r"out_shape is '3' \(str\)"),
        (lambda: pyfunc(square, (2, -1)), TypeError, r"out_shape is \(2, -1\)"),
        (lambda: pyfunc(square, (2.0,)), TypeError, r"out_shape is \(2.0,\)"),
        (lambda: pyfunc(square, same, "flaot"), TypeError, "out_dtype is 'flaot'"),
        (lambda: pyfunc(square, same, 32), TypeError, "out_dtype is 32"),
        (lambda: pyfunc(square, same, ()), ValueError, "expected at least one output"),
        (lambda: pyfunc(square, ((2,), (2,)), "float32"), TypeError, r"out_shape is \(\(2,\)"),
        (
            lambda: pyfunc(square, ((2,),), ("int8",) * 2),
            ValueError,
            "expected a tuple of 2 shapes",
        ),
        (lambda: pyfunc(square, reg_info=3), TypeError, "reg_info is 3"),
        (
            lambda: Custom(lambda x: np.exp(x), same, same),
            KernelError,
            "'hybrid' is a loop kernel; a function in NumPy is func_type='pyfunc'",
        ),
    ],
)
def test_mistakes_in_a_definition(made, error, message):
    with pytest.raises(error) as caught:
        made()
    assert "\n  expected" in str(caught.value) and re.search(message, notes(caught.value))


def test_mistakes_in_a_call():
    x = nd.ones((2,))
    for call, message in (
        (lambda: SQUARE(), r"0 inputs\n  expected square\(x"),
        (lambda: SQUARE(x, x), r"2 inputs\n  expected square\(x"),
        (lambda: SQUARE(x=x), "unexpected keyword argument 'x'"),
        (lambda: SQUARE(None), r"x is None \(NoneType\)\n  expected an NDArray, a Symbol or a num"),
        (lambda: SQUARE("1"), r"x is '1' \(str\)\n  expected"),
        (lambda: SQUARE(np.ones(2)), r"x is .*array.* \(ndarray\)\n  expected"),
        (lambda: SQUARE([1.0]), r"x is \[1.0\] \(list\)\n  expected"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


@pytest.mark.parametrize(
    "func, shape, dtype, message",
    [
        (square, (3, 3), same, r"\(2, 3\)\n  expected.*\(3, 3\)"),
        (square, (3, 2), same, r"\(2, 3\)\n  expected.*\(3, 2\)"),
        (square, same, "float64", r"output 0 is \(2, 3\) float32\n  expected float64, which out_d"),
        (square, same, "int32", r"output 0 is \(2, 3\) float32\n  expected int32"),
        (lambda x: None, same, same, "output 0 is NoneType\n  expected an array of NumPy, float32"),
        (lambda x: [x], same, same, "output 0 is list"),
        (lambda x: (x, x), same, same, "output 0 is tuple"),
        (lambda x: 1.5, (), "int32", "output 0 is float\n  expected an array of NumPy, int32"),
        (square, ((2, 3),) * 2, ("float32",) * 2, "gave 1 outputs\n  expected a tuple of 2"),
        (lambda x: (x, "no"), ((2, 3),) * 2, ("float32",) * 2, "output 1 is str"),
    ],
)
def test_what_comes_back_is_checked(func, shape, dtype, message, refused):
    op = pyfunc(func, shape, dtype)

    def call():
        y = op(nd.ones((2, 3)))
        (y[0] if isinstance(y, tuple) else y).asnumpy()

    for _ in range(2):
        refused(call, f"operator 'Custom_.*{message}")


@pytest.mark.engine("torch")  # MXNet prints an exception of a callback and raises another
@pytest.mark.parametrize(
    "given, error, message",
    [
        (lambda x, dy: (dy,) * 2, ValueError, "gave 2 gradients\n  expected 1, of x"),
        (lambda x, dy: (), ValueError, "gave 0 gradients"),
        (lambda x, dy: dy.asnumpy(), TypeError, r"ndarray for x\n.* \(nd.array"),
        (
            lambda x, dy: (dy[:1],),
            ValueError,
            r"the gradient of x is \(1,\) float32\n  expected \(2,\) float",
        ),
        (lambda x, dy: dy.astype("float64"), ValueError, r"x is \(2,\) float64"),
        (lambda x, dy: "no", TypeError, "gave str for x"),
    ],
)
def test_what_bprop_gives_is_checked(given, error, message):
    op = pyfunc(square, bprop=lambda x, out, dout: given(x, dout))
    with pytest.raises(error, match=message):
        differentiated(op, [1.0, 2.0])


def test_bare_lists_and_none():
    for given in (lambda dy: dy * 2, lambda dy: [dy * 2], lambda dy: (dy * 2,)):
        op = pyfunc(lambda x: x * 2, bprop=lambda x, out, dout, given=given: given(dout))
        assert differentiated(op, [1.0])[1][0].tolist() == [2]
    assert differentiated(pyfunc(square, bprop=lambda *_: None), [1.0])[1][0].tolist() == [0]
    op = pyfunc(lambda a, b: a * b, bprop=lambda a, b, y, dy: (None, dy * a))
    assert [g.tolist() for g in differentiated(op, [2.0], [3.0])[1]] == [[0], [2]]


def test_without_a_bprop_only_the_gradient_is_an_error(refused):
    op = pyfunc(square)
    assert op(nd.array([3.0])).asnumpy().tolist() == [9]
    refused(lambda: differentiated(op, [3.0]), r"has no bprop\n  expected Custom\(..., bprop=...\)")


@pytest.mark.engine("torch")
@pytest.mark.parametrize("phase", ["forward", "backward", "out_shape", "out_dtype"])
def test_an_exception_is_itself_with_a_note(phase):
    broken = [phase]

    def fails(now, value):
        if now in broken:
            raise LookupError("missing")
        return value

    op = pyfunc(
        lambda x: fails("forward", x * x),
        lambda s: fails("out_shape", s),
        lambda t: fails("out_dtype", t),
        lambda x, y, dy: fails("backward", (2 * x * dy,)),
    )
    with pytest.raises(LookupError, match="missing") as caught:
        differentiated(op, [1.0, 2.0])
    assert f"in {phase} of operator 'Custom_lambda" in notes(caught.value)
    assert ("float32" if phase == "out_dtype" else "(2,)") in notes(caught.value)
    assert not autograd.is_recording()
    broken.clear()
    assert differentiated(op, [1.0, 2.0])[1][0].tolist() == [2, 4]


@pytest.mark.engine("torch")
def test_second_derivative():
    x = nd.array([2.0])
    x.attach_grad()

    def first(op):
        return autograd.grad(op(x), [x], create_graph=True)[0]

    with autograd.record():
        y = first(pyfunc(lambda x: x**3, bprop=lambda x, y, dy: (3 * x * x * dy,)))
    y.backward()
    assert x.grad.asscalar() == 12
    half = pyfunc(lambda x, dy: 2 * x * dy)
    with autograd.record():
        y = first(pyfunc(square, bprop=lambda x, y, dy: (half(x, dy),)))
    assert y.asscalar() == 4
    with pytest.raises(NotImplementedError, match="has no bprop"):
        y.backward()


def test_a_copy_is_another_operator():
    op = pyfunc(square, bprop=square_bprop)
    other = copy.deepcopy(op)
    assert other.name != op.name and "Custom_square" in repr(op)
    assert differentiated(other, [3.0])[1][0].tolist() == [6]


def test_a_chain_and_threads():
    chain = pyfunc(lambda x: x + 1, bprop=lambda x, y, dy: (dy,))

    def fifty(x):
        for _ in range(50):
            x = chain(x)
        return SQUARE(x)

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda k: differentiated(fifty, [float(k)]), range(16)))
    for k, ((y,), (dx,)) in enumerate(found):
        assert (y[0], dx[0]) == ((k + 50) ** 2, 2 * (k + 50))


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


@pytest.mark.slow
def test_a_thousand_calls_leave_memory_flat(engine):
    op = Custom(doubled, bprop=lambda x, y, dy: (SQUARE(x) * 0 + 2 * dy,))
    x = nd.ones((10000,))
    x.attach_grad()

    def calls(count):
        for _ in range(count):
            with autograd.record():
                y = SQUARE(op(x))
            y.backward()
            nd.waitall()
        gc.collect()
        return resident(), len(gc.get_objects())

    try:
        before, objects = calls(100)
    except FileNotFoundError:
        pytest.skip("resident memory is read from /proc, which is not here")
    after, more = calls(1000)
    # An array of each call that stays would be 38 MB more; the allocator keeps some itself.
    assert after - before < {"torch": 24, "mxnet": 60}[engine], f"{before:.1f} to {after:.1f} MB"
    if engine == "torch":
        assert more - objects < 100


@pytest.mark.slow
@pytest.mark.engine("torch")  # MXNet keeps what is registered
def test_a_thousand_operators_are_freed():
    x = nd.ones((3,))

    def make(count):
        for _ in range(count):
            with autograd.record():
                pyfunc(lambda x: x * 2, bprop=lambda x, y, dy: dy)(x).wait_to_read()
        gc.collect()
        return len(gc.get_objects())

    before = make(10)
    assert make(200) - before < 500


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
def test_a_second_derivative_through_a_custom_without_bprop():
    slope = Custom(lambda x, dy: 2 * x * dy, lambda x, dy: x, lambda x, dy: x, "pyfunc")
    square = Custom(
        lambda x: x * x, lambda x: x, lambda x: x, "pyfunc", bprop=lambda x, y, dy: (slope(x, dy),)
    )
    x = nd.array([1.0, 2])
    x.attach_grad()
    with pytest.raises(NotImplementedError, match="a second derivative is asked for"):
        with autograd.record():
            (dx,) = autograd.grad(square(x), [x], create_graph=True)
        dx.backward()


@pytest.mark.parametrize("make", ["customop", "Custom"])
def test_a_name_of_ones_own(make):
    name = f"named_by_its_{make}"
    if make == "Custom":
        twice = Custom(lambda x: 2 * x, lambda x: x, lambda x: x, "pyfunc", name=name)
        made, arguments = twice.__reduce__()
        assert made(*arguments).name == name
        assert twice.operator.name == name
    else:
        twice = customop("numpy", name=name)(lambda x: 2 * x)
    assert twice.name == name
    node = twice(mx.sym.var("x"))
    assert f'"op_type": "{name}"' in node.tojson()
    y = mx.sym.load_json(node.tojson()).eval(x=nd.array([1.0, 2]))[0]
    assert y.asnumpy().tolist() == [2, 4]


@pytest.mark.parametrize("name", ["", 3])
def test_no_name(name):
    with pytest.raises(TypeError, match="name is .*\n  expected text, or None"):
        customop("numpy", name=name)
    with pytest.raises(TypeError, match="name is .*\n  expected text, or None"):
        Custom(lambda x: x, lambda x: x, lambda x: x, "pyfunc", name=name)


@pytest.mark.parametrize("name", ["test_primitive.at_once", None])
def test_a_name_is_registered_where_the_operator_is_made(name):
    made = Custom(square, same, same, "pyfunc", square_bprop, name=name)
    name = name or made.operator.name
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, op_type=name)
    y.backward()
    assert y.asnumpy().tolist() == [1, 4, 9] and x.grad.asnumpy().tolist() == [2, 4, 6]


@pytest.mark.engine("torch")
def test_the_file_of_an_unnamed_operator_says_how_it_is_registered(tmp_path):
    made = Custom(square, same, same, "pyfunc")
    path = tmp_path / "net.json"
    graph = made(mx.sym.var("x"))
    graph.save(str(path))
    text = path.read_text().replace(made.name, "Custom_square_00000000")
    path.write_text(text)
    with pytest.raises(mx.MXNetError, match="is imported\n  expected the Custom .* `operator`"):
        mx.sym.load(str(path))


@pytest.mark.engine("torch")  # MXNet writes it to its log
@pytest.mark.parametrize(
    "define",
    [
        lambda function, name: Custom(function, same, same, "pyfunc", name=name),
        lambda function, name: customop("numpy", name=name)(function),
    ],
)
def test_two_operators_of_one_name(define, recwarn):
    def function(module):
        def definition(x):
            return 2 * x

        definition.__module__, definition.__qualname__ = module, "definition"
        return definition

    name = f"test_primitive.taken_{id(define)}"
    define(function("one"), name)
    define(function("one"), name)  # as a cell of a notebook that is run again
    assert not recwarn.list
    with pytest.warns(UserWarning, match=f"{name}' of one is replaced by two.definition") as told:
        define(function("two"), name)
    assert told[0].filename == __file__
