"""Every function of ``mx.np`` against NumPy, and against MXNet's values in tests/golden/np.npz."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from case import check, untouched
from np_cases import CASES

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "np.npz"
# MXNet itself calls NumPy in ways that NumPy warns of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
torch_only = pytest.mark.engine("torch")
UNTOUCHED = 7


@pytest.fixture(autouse=True)
def numpy_interface(mx):
    with mx.util.np_shape(True), mx.util.np_array(True):
        yield


def variables(mx, case, dtype=None):
    """The inputs as arrays, and those that have a gradient."""
    arrays = [
        mx.np.array(v, dtype=dtype if dtype and v.dtype.kind == "f" else v.dtype)
        for v in case.values()
    ]
    with_gradient = {}
    for i, (array, given) in enumerate(zip(arrays, case.inputs)):
        if case.grad and given.grad and np.dtype(array.dtype).kind == "f":
            array.attach_grad()
            array.grad[()] = UNTOUCHED
            with_gradient[f"d{i}"] = array
    return arrays, with_gradient


def run(mx, case, compute=None, dtype=None):
    """Everything that comes out of a case: y0, y1, ... and the gradients d0, d1, ..."""
    arrays, with_gradient = variables(mx, case, dtype)
    named = dict(zip("xyz", arrays))
    if with_gradient:
        with mx.autograd.record():
            ys = compute(*arrays) if compute else case.evaluate(np=mx.np, npx=mx.npx, **named)
    else:
        ys = compute(*arrays) if compute else case.evaluate(np=mx.np, npx=mx.npx, **named)
    assert all(type(y) is mx.np.ndarray for y in ys)
    found = {f"y{i}": y.asnumpy() for i, y in enumerate(ys)}
    real = [i for i, y in enumerate(ys) if found[f"y{i}"].dtype.kind == "f"]
    if with_gradient and real:
        heads = case.heads([found[f"y{i}"] for i in real])
        heads = [mx.np.array(h, dtype=h.dtype) for h in heads]
        if differentiate(mx, [ys[i] for i in real], heads):
            found |= {name: x.grad.asnumpy() for name, x in with_gradient.items()}
    return found


def differentiate(mx, ys, heads):
    """Go backward from the outputs; False if MXNet has no gradient for an operator."""
    try:
        mx.autograd.backward(ys, heads)
    except mx.base.MXNetError as error:
        if "non-differentiable" in str(error):
            return False
        raise
    return True


@pytest.fixture(scope="module")
def golden():
    values = {}
    if GOLDEN.exists():
        for key, value in np.load(GOLDEN).items():
            case, _, name = key.rpartition(":")
            values.setdefault(case, {})[name] = value
    return values


def test_recorded(mx, engine, pytestconfig):
    """Record MXNet's values."""
    if engine != "mxnet" or not pytestconfig.getoption("--record"):
        pytest.skip("nothing is recorded")
    recorded = {}
    for case in CASES.values():
        if case.like_mxnet:
            found = {n: v for n, v in run(mx, case).items() if not untouched(n, v)}
            recorded |= {f"{case.id}:{name}": value for name, value in found.items()}
    np.savez_compressed(GOLDEN, **recorded)


each = pytest.mark.parametrize("case", [pytest.param(c, id=i) for i, c in CASES.items()])


@each
def test_like_mxnet(mx, case, golden, pytestconfig):
    if not case.like_mxnet or pytestconfig.getoption("--record"):
        pytest.skip("MXNet has no such value" if not case.like_mxnet else "it is being written")
    found, expected = run(mx, case), golden[case.id]
    gradients = {name for name in found if name.startswith("d")}
    assert found.keys() - gradients <= expected.keys() <= found.keys()
    for name, value in expected.items():
        if case.mxnet_gradient or name not in gradients:
            check(name, found[name], value)


class OfNumPy:
    """NumPy, with the names that it has not any more."""

    product, sometrue = staticmethod(np.prod), staticmethod(np.any)
    round_, row_stack = staticmethod(np.round), staticmethod(np.vstack)

    def __getattr__(self, name):
        return getattr(np, name)

    def percentile(self, *args, interpolation="linear", **kwargs):
        return np.percentile(*args, method=interpolation, **kwargs)


@torch_only
@each
def test_like_numpy(mx, case):
    if not case.like_numpy:
        pytest.skip("NumPy has no such function")
    expected = case.evaluate(np=OfNumPy(), **dict(zip("xyz", case.values())))
    found = [v for n, v in run(mx, case).items() if n.startswith("y")]
    assert [y.shape for y in found] == [np.shape(y) for y in expected]
    kinds = ["biuf".index(np.asarray(y).dtype.kind) // 2 for y in expected]
    assert ["biuf".index(y.dtype.kind) // 2 for y in found] == kinds or case.inputs == []
    for y, of_numpy in zip(found, expected):
        rtol, atol = (1e-2, 1e-2) if y.dtype == np.float16 else (1e-5, 1e-5)
        np.testing.assert_allclose(y, of_numpy, rtol, atol)


@torch_only
@each
def test_in_a_graph(mx, case):
    if not case.in_graph or not case.inputs:
        pytest.skip("a Symbol has no such function")

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, *args):
            return case.evaluate(np=F.np, npx=F.npx, **dict(zip("xyz", args)))

    net = Net()
    net.hybridize()
    expected = run(mx, case)
    found = run(mx, case, net)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, 1e-6, 1e-6, err_msg=name)


@torch_only
@each
def test_gradients_are_numeric_ones(mx, case):
    arrays, with_gradient = variables(mx, case, "float64")
    if not with_gradient:
        pytest.skip("no input has a gradient")
    found = run(mx, case, dtype="float64")
    ys = [v for n, v in found.items() if n.startswith("y") and v.dtype.kind == "f"]
    if not ys:
        pytest.skip("no output has a gradient")

    def total(values):
        named = {n: mx.np.array(v, dtype=v.dtype) for n, v in zip("xyz", values)}
        outputs = [y.asnumpy() for y in case.evaluate(np=mx.np, npx=mx.npx, **named)]
        real = [y for y in outputs if y.dtype.kind == "f"]
        return sum((y * h).sum() for y, h in zip(real, case.heads(ys)))

    values = [a.asnumpy() for a in arrays]
    for name in with_gradient:
        i = int(name[1:])
        numeric = np.zeros_like(values[i])
        for place in np.ndindex(values[i].shape):
            ends = []
            for step in (1e-6, -1e-6):
                moved = [v.copy() for v in values]
                moved[i][place] += step
                ends.append(total(moved))
            numeric[place] = (ends[0] - ends[1]) / 2e-6
        finite = np.isfinite(numeric)
        np.testing.assert_allclose(found[name][finite], numeric[finite], 1e-4, 1e-6, err_msg=name)


@torch_only
def test_every_row_is_called(mx, monkeypatch):
    from layers.mxnet._state import State
    from layers.mxnet._table import registry

    called = set()

    def profile(category, name, function):
        called.add(name)
        return function

    monkeypatch.setattr(State, "profile", staticmethod(profile))
    for case in CASES.values():
        run(mx, case)
    random = mx.np.random
    for draw in ("uniform", "normal", "gumbel", "logistic", "exponential", "rayleigh"):
        getattr(random, draw)(size=3)
    for draw in ("gamma", "weibull", "pareto", "power"):
        getattr(random, draw)(2.0, size=3)
    random.multinomial(3, [0.5, 0.5])
    random.choice(3)
    random.multivariate_normal(mx.np.zeros(2), mx.np.eye(2))
    mx.npx.random.bernoulli(0.5)
    mx.npx.random.uniform_n(), mx.npx.random.normal_n()
    rows = {registry.get(name) for name in registry.names() if name.startswith("_np")}
    missing = {row.name for row in rows if row.name.startswith("_np")} - called
    assert missing == {
        # Only graphs of MXNet have these.
        "_npi_slice",
        "_npi_boolean_mask",
        "_npi_boolean_mask_assign_scalar",
        "_npi_boolean_mask_assign_tensor",
        "_npi_pinv",
    }
