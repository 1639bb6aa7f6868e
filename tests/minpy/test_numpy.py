"""`layers.minpy.numpy`: each name against NumPy's own."""

import numpy as np
import pytest

import layers.minpy.numpy as mnp
from layers.engine import autograd, nd

X = np.array([[0.5, 0.25, -0.75], [0.125, -0.5, 0.875]], dtype="float32")
Y = np.array([[0.5, -2.0, 0.75], [1.5, 2.0, -0.875]], dtype="float32")
POSITIVE, LARGE, ROW = np.abs(X), 1 + np.abs(X), Y[0]
INTEGERS = np.array([[3, -1, 2], [4, 0, 5]])

UNARY = ["exp", "expm1", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"]
UNARY += ["arcsinh", "arctanh", "degrees", "radians", "abs", "absolute", "fabs", "sign", "square"]
UNARY += ["floor", "ceil", "trunc", "fix", "negative", "reciprocal", "cbrt", "deg2rad", "rad2deg"]
UNARY += ["zeros_like", "ones_like", "ravel", "transpose", "std", "var", "argmax", "argmin"]
UNARY += ["sum", "prod", "max", "min", "mean", "amax", "amin", "sort", "argsort", "array"]
UNARY += ["asarray"]
BINARY = ["add", "subtract", "multiply", "divide", "true_divide", "equal", "not_equal", "less"]
BINARY += ["less_equal", "greater", "greater_equal", "maximum", "minimum"]
REDUCED = ["sum", "prod", "max", "min", "mean", "std", "var", "amax", "amin"]

CASES = [
    *[(name, (X,), {}) for name in UNARY],
    *[(name, (POSITIVE,), {}) for name in ("log", "log2", "log10", "log1p", "sqrt")],
    ("arccosh", (LARGE,), {}),
    ("power", (POSITIVE, Y), {}),
    ("power", (POSITIVE, 2), {}),
    *[(name, (X, Y), {}) for name in BINARY],
    *[(name, (X, ROW), {}) for name in BINARY],
    *[(name, (X, 0.5), {}) for name in BINARY],
    *[(name, (0.5, Y), {}) for name in BINARY],
    *[(name, (X,), {"axis": 1}) for name in (*REDUCED, "argmax", "argmin")],
    *[(name, (X,), {"axis": 0, "keepdims": True}) for name in REDUCED],
    ("mean", (INTEGERS,), {}),
    ("sum", (INTEGERS,), {}),
    ("exp", (INTEGERS,), {}),
    ("divide", (INTEGERS, 2), {}),
    ("multiply", (INTEGERS, 1.5), {}),
    ("add", (INTEGERS, INTEGERS), {}),
    ("zeros", ((2, 3),), {}),
    ("ones", ((2,),), {}),
    ("full", ((2, 1), 3.0), {}),
    ("arange", (5,), {}),
    ("arange", (1, 6, 2), {}),
    ("arange", (0, 1, 0.25), {}),
    ("linspace", (0, 1, 5), {}),
    ("eye", (3,), {}),
    ("eye", (2, 3), {"k": 1}),
    ("clip", (X, -0.5, 0.25), {}),
    ("dot", (X, Y.T.copy()), {}),
    ("dot", (X, ROW), {}),
    ("dot", (ROW, ROW), {}),
    ("reshape", (X, (3, 2)), {}),
    ("reshape", (X, -1), {}),
    ("transpose", (X[None], (2, 0, 1)), {}),
    ("swapaxes", (X[None], 0, 2), {}),
    ("expand_dims", (X, 1), {}),
    ("squeeze", (X[None],), {}),
    ("squeeze", (X[None],), {"axis": 0}),
    ("broadcast_to", (ROW, (2, 3)), {}),
    ("concatenate", ((X, Y),), {"axis": 1}),
    ("stack", ((X, Y),), {"axis": 1}),
    ("hstack", ((X, Y),), {}),
    ("hstack", ((ROW, ROW),), {}),
    ("vstack", ((X, ROW),), {}),
    ("outer", (ROW, X), {}),
    ("tile", (X, (2, 1)), {}),
    ("repeat", (X, 2), {"axis": 0}),
    ("repeat", (X, 2), {}),
    ("flip", (X, 1), {}),
    ("where", (X > 0, X, Y), {}),
    ("where", (X > 0, X, 0.0), {}),
    ("where", (X > 0, 1.0, INTEGERS), {}),
    ("sort", (X,), {"axis": 0}),
    ("take", (X, np.array([1, 0])), {"axis": 1}),
    ("take", (X, np.array([1, 4])), {}),
]


def name_of(case):
    name, args, kwargs = case
    shown = [str(a.shape) if isinstance(a, np.ndarray) else type(a).__name__ for a in args]
    return f"{name}({', '.join(shown)}{kwargs or ''})"


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_it_is_numpys(case):
    name, args, kwargs = case
    expected = np.atleast_1d(getattr(np, name)(*args, **kwargs))
    found = getattr(mnp, name)(*args, **kwargs)
    assert isinstance(found, nd.NDArray) and found.shape == expected.shape
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_every_name_has_a_case():
    dtypes = {n for n in mnp.__all__ if isinstance(getattr(mnp, n), type)}
    numbers = {"e", "inf", "nan", "newaxis", "pi"}
    assert set(mnp.__all__) - dtypes - numbers - {"random"} == {name for name, _, _ in CASES}


def test_dtypes():
    for given in ([1.0], [[1, 2]], [True], 3):
        assert mnp.array(given).dtype == np.float32
    assert mnp.array([2], dtype=mnp.int64).dtype == mnp.array(np.array([2])).dtype == np.int64
    assert mnp.array(np.ones(2)).dtype == np.float64
    assert mnp.arange(3).dtype == np.float32 and mnp.arange(3, dtype=mnp.int32).dtype == np.int32
    assert mnp.array([1.5], dtype=mnp.int32).asnumpy().tolist() == [1]
    assert mnp.argmax(X).dtype == np.int64
    assert mnp.exp(np.ones(2)).dtype == np.float64
    x = nd.array([1.0])
    assert mnp.asarray(x) is x and mnp.array(x) is not x


def test_whole_numbers_in_lists_are_not_cut():
    assert (mnp.array([1, 2]) * 0.5).asnumpy().tolist() == [0.5, 1]
    assert (mnp.arange(3) / 2).asnumpy().tolist() == [0, 0.5, 1]
    rows = nd.array(X)[mnp.array([1, 0])]  # indices may be of any dtype
    assert rows.asnumpy().tolist() == X[[1, 0]].tolist()
    assert mnp.take(X, [1, 4]).asnumpy().tolist() == np.take(X, [1, 4]).tolist()


def test_gradients_flow():
    x = nd.array(POSITIVE)
    x.attach_grad()
    with autograd.record():
        y = mnp.sum(mnp.log(x) * mnp.sum(mnp.square(x), axis=1, keepdims=True))
    y.backward()
    total = (POSITIVE**2).sum(axis=1, keepdims=True)
    expected = total / POSITIVE + 2 * POSITIVE * np.log(POSITIVE).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)


def test_what_is_absent_says_what_is_there():
    with pytest.raises(
        AttributeError, match=r"no 'fft'\n  expected one of abs, .*zeros_like; inside"
    ):
        mnp.fft  # noqa: B018 - its lookup is the test
    with pytest.raises(AttributeError, match="no 'maximun'; did you mean 'maximum'?"):
        mnp.maximun  # noqa: B018 - its lookup is the test
    assert not hasattr(mnp, "np_") and "exp" in dir(mnp)
    assert (mnp.exp.__name__, mnp.exp.__doc__) == ("exp", "Return `numpy.exp` of NDArrays.")


def test_what_would_mean_something_else_is_refused():
    with pytest.raises(ValueError, match=r"reshape: \(0, -1\)\n  expected sizes above 0"):
        mnp.reshape(X, (0, -1))
    with pytest.raises(NotImplementedError, match="expected one or two axes"):
        mnp.dot(X[None], Y.T.copy())
