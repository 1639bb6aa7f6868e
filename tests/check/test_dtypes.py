"""The checker tries every dtype, and puts guards around the arrays of compiled functions."""

import shutil

import numpy as np
import pytest

from layers.check import check_operator
from layers.engine import nd
from layers.ops import Custom, operator

needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler (cc)")

SOURCE = """
#include <stdint.h>
#define ARGUMENTS int n, void **p, int *axes, int64_t **shapes, const char **types, void *s, void *e
#define SIZE shapes[0][0] * shapes[0][1]
int twice(ARGUMENTS) {
  for (int64_t i = 0; i < SIZE; i++) ((float *)p[1])[i] = 2 * ((float *)p[0])[i];
  return 0;
}
int writes_past(ARGUMENTS) {
  for (int64_t i = 0; i <= SIZE; i++) ((float *)p[1])[i] = i < SIZE ? 2 * ((float *)p[0])[i] : 3;
  return 0;
}
int writes_before(ARGUMENTS) {
  for (int64_t i = -1; i < SIZE; i++) ((float *)p[1])[i] = i < 0 ? 3 : 2 * ((float *)p[0])[i];
  return 0;
}
int reads_past(ARGUMENTS) {
  const float *x = p[0];
  for (int64_t i = 0; i < SIZE; i++) ((float *)p[1])[i] = x[i] + x[SIZE];
  return 0;
}
int scaled(ARGUMENTS) {
  const float *x = p[0], *factor = p[1];
  for (int64_t i = 0; i < SIZE; i++) ((float *)p[2])[i] = x[i] * factor[i / shapes[0][1]];
  return 0;
}
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "guards.c").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAYERS_CACHE", str(folder))

        def made(name, shape=lambda x, *_: x, **options):
            return Custom(f"{folder / 'guards.c'}:{name}", shape, lambda x, *_: x, "aot", **options)

        yield made


def checked(op, *inputs):
    return check_operator(op, *inputs, compiled=False)


@needs_compiler
def test_a_right_function_of_a_library(functions):
    back = functions("twice")
    report = checked(functions("twice", bprop=lambda x, y, dy: back(dy)), (4, 3))
    assert report.passed, report
    taken, refused = report["dtypes"].text.split("; refused: ")
    assert {"float16", "float32"} <= {*taken.split(", ")} <= {"float16", "bfloat16", "float32"}
    assert {"float64", "bool", "int8", "uint8", "int32", "int64"} <= {*refused.split(", ")}
    assert report["memory"].text == "nothing beside its arrays; x0 (5, 3)"


@needs_compiler
@pytest.mark.parametrize("dtypes", ["any", ["float32", "float16"]])
def test_dtypes_that_a_function_does_not_read(functions, dtypes):
    """It says that it takes them, and reads float32 all the same."""
    text = checked(functions("twice", dtypes=dtypes), (4, 3))["dtypes"]
    assert text.status == "failed" and text.text.startswith("in float16, ")
    if dtypes != "any":  # then it is compared with float32, which is right
        assert "twice' writes past the end of params[1], 12 elements of float16" in text.text


@needs_compiler
@pytest.mark.parametrize(
    "name, told",
    [
        ("writes_past", "writes past the end of params[1], 12 elements of float32"),
        ("writes_before", "writes before params[1], 12 elements of float32"),
        ("reads_past", "y depends on memory beside its arrays, which it reads"),
    ],
)
def test_memory_beside_the_arrays(functions, name, told):
    text = checked(functions(name), (4, 3))["memory"]
    assert text.status == "failed" and told in text.text


@needs_compiler
def test_shapes_that_do_not_fit_are_to_be_refused(functions):
    """With a row more in x, the function reads past the end of its factors."""

    def shape(x, factor):
        if factor != x[:1]:
            raise ValueError(f"factor is {factor}, expected {x[:1]}")
        return x

    inputs = (4, 3), (4,)
    wrong = checked(functions("scaled"), *inputs)["memory"]
    assert wrong.status == "failed"
    assert wrong.text == "x0 (5, 3): y depends on memory beside its arrays, which it reads"
    right = checked(functions("scaled", shape), *inputs)["memory"]
    assert right.text == "nothing beside its arrays; x0 (5, 3), x1 (5,)"


def test_an_operator_that_is_wrong_in_a_dtype():
    @operator
    class shifted:
        def forward(x):
            small = np.dtype(x.dtype).itemsize == 2
            return x + (1 if small else 2)

        def dx(dy):
            return dy

        def shapes(x):
            return {"y": x}

    text = checked(shifted, (4, 3))["dtypes"]
    assert text.status == "failed" and text.text.startswith("in float16, y is ")
    assert text.text.endswith("; refuse it, or compute it right")


def test_a_label_of_any_dtype():
    @operator
    class picked:
        def forward(x, label):
            if np.dtype(label.dtype).kind == "f":
                raise TypeError("label is float")
            shift = 1 if np.dtype(label.dtype).name == "int64" else 0
            return nd.pick(x, label.astype("int32")) + shift

        def dx(dy, x, label):
            return nd.one_hot(label, depth=x.shape[1], dtype=x.dtype) * dy.expand_dims(1)

        def shapes(x):
            return {"label": x[:1], "y": x[:1]}

    label = np.array([0, 2, 1, 2], "int32")
    text = checked(picked, (4, 3), label)["dtypes"]
    assert text.status == "failed" and text.text.startswith("in int64 (label), y is ")
