"""The dtypes that a function of a library reads: said, or float32, and no array of another."""

import shutil

import numpy as np
import pytest

from layers import OperatorBlock
from layers.engine import autograd, gluon, mx, nd
from layers.ops import Custom
from layers.ops.ways.registration import CustomRegOp, DataType

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler (cc)")

SOURCE = """
#include <stdint.h>
#include <string.h>
#define ARGUMENTS int n, void **p, int *axes, int64_t **shapes, const char **types, void *s, void *e
int scale(ARGUMENTS) {
  const float *x = p[0];
  const int32_t *k = p[1];
  float *y = p[2];
  for (int64_t i = 0; i < shapes[0][0]; i++) y[i] = x[i] * k[i];
  return 0;
}
int scale_grad(ARGUMENTS) {
  const float *dy = p[0];
  const int32_t *k = p[1];
  float *dx = p[2];
  for (int64_t i = 0; i < shapes[0][0]; i++) dx[i] = dy[i] * k[i];
  return 0;
}
int twice(ARGUMENTS) {
  for (int64_t i = 0; i < shapes[0][0]; i++)
    if (strcmp(types[0], "float64") == 0) ((double *)p[1])[i] = 2 * ((double *)p[0])[i];
    else ((float *)p[1])[i] = 2 * ((float *)p[0])[i];
  return 0;
}
int plus_one(ARGUMENTS) {
  for (int64_t i = 0; i < shapes[0][0]; i++) ((float *)p[1])[i] = ((float *)p[0])[i] + 1;
  return 0;
}
int axes_beyond(ARGUMENTS) {
  ((float *)p[1])[0] = shapes[0][1] + shapes[0][2] + shapes[0][3];
  return 0;
}
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "scale.c").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAYERS_CACHE", str(folder))
        yield lambda name, **options: Custom(
            f"{folder / 'scale.c'}:{name}", lambda x, *_: x, lambda x, *_: x, "aot", **options
        )


@pytest.fixture
def told(capsys):
    """The message of what a call raises; MXNet raises where it waits, and prints the message."""

    def message(call):
        with pytest.raises((TypeError, mx.base.MXNetError)) as caught:
            call().asnumpy()
        return str(caught.value) + capsys.readouterr().out

    return message


WAYS = {
    "eager": lambda op: op,
    "by name": lambda op: lambda *x: nd.Custom(*x, op_type=op.operator_of(len(x)).name),
    "block": lambda op: OperatorBlock(op.operator_of(1)),
    "plain": lambda op: in_graph(op),
    "recorded": lambda op: in_graph(op, static_alloc=True, static_shape=True),
    "compiled": lambda op: in_graph(op, backend="aot_eager"),
}


def in_graph(op, **options):
    net = gluon.nn.HybridLambda(lambda F, x: op(x) * 1)
    net.hybridize(**options)
    return net


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float64", "int32", "int64", "uint8"])
def test_only_float32_unless_said(functions, way, dtype, told):
    call = WAYS[way](functions("plus_one"))
    assert call(nd.array([1.0, 2.0])).asnumpy().tolist() == [2, 3]
    message = told(lambda: call(nd.array([1, 2], dtype=dtype)))
    assert f"inputs of {dtype}\n  expected float32" in message
    assert f'Custom(..., dtypes="{dtype}") if its code reads these' in message
    assert call(nd.array([1.0, 2.0])).asnumpy().tolist() == [2, 3]


def test_a_smaller_dtype_is_cast_up(functions):
    op = functions("plus_one", bprop=lambda x, y, dy: dy)
    y = op(nd.array([1, 2], dtype="float16"))
    assert y.dtype is np.float16 and y.asnumpy().tolist() == [2, 3]


@pytest.mark.engine("torch")
@pytest.mark.parametrize("dtypes", [None, "any"])
def test_bfloat16_is_cast_up(functions, dtypes):
    y = functions("plus_one", dtypes=dtypes)(nd.array([1, 2], dtype="bfloat16"))
    assert np.dtype(y.dtype).itemsize == 2 and y.astype("float32").asnumpy().tolist() == [2, 3]


def test_numbers_are_inputs_too(functions, told):
    op = functions("scale", dtypes="float32 int32")
    assert "inputs of float32, float32" in told(lambda: op(nd.ones((1,)), 2.0))
    op = functions("plus_one")
    assert "inputs of int64" in told(lambda: op(3))


def test_each_input_has_its_dtype(functions, told):
    back = functions("scale_grad", dtypes="float32 int32")
    op = functions("scale", dtypes="float32 int32", bprop=lambda x, k, y, dy: (back(dy, k), None))
    assert op.operator.inputs == ("x0", "x1")
    x, k = nd.array([1.0, 2.0]), nd.array([3, 4], dtype="int32")
    x.attach_grad()
    for call in (op, lambda *a: nd.Custom(*a, op_type=op.operator.name)):
        with autograd.record():
            y = call(x, k)
        y.backward()
        assert y.asnumpy().tolist() == [3, 8] and x.grad.asnumpy().tolist() == [3, 4]
        message = told(lambda call=call: call(x, k.astype("float32")))
        assert "inputs of float32, float32\n  expected float32 int32, or" in message
    assert op(x, k.astype("int8")).asnumpy().tolist() == [3, 8]


def test_a_gradient_is_refused_too(functions, told):
    back = functions("scale_grad")
    op = functions("scale", dtypes="float32 int32", bprop=lambda x, k, y, dy: (back(dy, k), None))
    x, k = nd.array([1.0, 2.0]), nd.array([3, 4], dtype="int32")
    x.attach_grad()

    def gradient():
        with autograd.record():
            y = op(x, k)
        y.backward()
        return x.grad

    assert "scale_grad" in (message := told(gradient))
    assert "inputs of float32, int32\n  expected float32 float32" in message


def test_one_of_several(functions, told):
    op = functions("twice", dtypes=["float32", "float64"])
    for dtype in ("float16", "float32", "float64"):
        y = op(nd.array([1, 2], dtype=dtype))
        assert np.dtype(y.dtype).name == dtype and y.asnumpy().tolist() == [2, 4]
    assert "expected float32; float64, or" in told(lambda: op(nd.ones((2,), dtype="int32")))
    assert functions("twice", dtypes="any")(nd.ones((2,), dtype="float64")).asnumpy().sum() == 4


def test_registration_without_dtypes_is_float32(functions, told):
    info = CustomRegOp().input(0, "x").output(0, "y").target("CPU")
    op = functions("plus_one", reg_info=info)
    assert "inputs of float64" in told(lambda: op(nd.ones((2,), dtype="float64")))


def test_a_function_in_numpy_may_say_them(told):
    def double(x):
        return x * 2

    op = Custom(double, lambda x: x, lambda x: x, "pyfunc", dtypes="float64")
    seen = op(nd.array([1.0, 2.0]))
    assert seen.dtype is np.float32 and seen.asnumpy().tolist() == [2, 4]
    assert "expected float64" in told(lambda: op(nd.ones((2,), dtype="int32")))


@pytest.mark.parametrize(
    "dtypes, message",
    [
        ("float23", "dtypes has 'float23'\n  expected dtypes with spaces"),
        ("", "dtypes has ''"),
        ("bfloat16", "dtypes has 'bfloat16'"),
        (np.float32, r"dtypes is <class 'numpy.float32'> \(type\)\n  expected text"),
        (["float32", np.float32], "expected text"),
        ([], "expected text"),
        (["float32", "float32 int32"], "for 1 and 2 inputs\n  expected rows"),
    ],
)
def test_what_says_no_dtypes(functions, dtypes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        functions("scale", dtypes=dtypes)


def test_dtypes_that_are_said_twice_or_do_not_fit(functions):
    info = CustomRegOp().input(0, "x").output(0, "y").target("CPU")
    f32 = info.dtype_format(DataType.F32_Default, DataType.F32_Default)
    with pytest.raises(ValueError, match="dtypes='float32', and dtype_format in reg_info"):
        functions("plus_one", reg_info=f32, dtypes="float32")
    with pytest.raises(ValueError, match=r"2 inputs in dtypes\n  expected x0, as plus_one takes"):
        functions(
            "plus_one",
            reg_info=CustomRegOp().input(0, "x").output(0, "y").target("CPU"),
            dtypes="float32 int32",
        )
    with pytest.raises(ValueError, match="2 inputs in dtypes\n  expected x, as"):
        Custom(lambda x: x, lambda x: x, lambda x: x, "pyfunc", dtypes="float32 int32")
    row = CustomRegOp().input(0, "x").output(0, "y").target("CPU")
    row.dtype_format(DataType.BF16_Default, DataType.BF16_Default)
    with pytest.raises(ValueError, match="bfloat16 in reg_info of a library\n  expected float32"):
        functions("plus_one", reg_info=row)


def test_axes_that_an_array_has_not_are_of_size_0(functions):
    assert functions("axes_beyond")(nd.ones((2,))).asnumpy()[0] == 0
