"""The matrix product: both libraries give the same, with gradients, for every kind of operand."""

import os
from importlib import import_module

import pytest

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    torch = import_module("torch")
    gemm = import_module("layers.mxnet._table.product")
    base = import_module("layers.mxnet.base")
    cpu = import_module("layers.mxnet._cpu")

TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 2e-2, "float16": 2e-3}
SIZES = [(1, 1, 1), (4, 3, 5), (1, 7, 1), (33, 65, 17), (3, 1, 64), (0, 3, 5), (4, 0, 5), (4, 3, 0)]
sizes = pytest.mark.parametrize("n, k, m", SIZES, ids=lambda size: str(size))


@pytest.fixture(params=["mkl", "onednn"])
def rule(request):
    """The rule in force; for onednn every float32 product on the CPU goes there."""
    if request.param == "onednn" and not gemm._available():
        pytest.skip("this PyTorch is built without oneDNN")
    before = gemm._rule, gemm._least, gemm._least_compiled
    gemm.choose(request.param)
    yield request.param
    gemm._rule, gemm._least, gemm._least_compiled = before


@pytest.fixture
def asked(monkeypatch):
    """How often oneDNN was asked."""
    calls = []
    compute = gemm._onednn
    monkeypatch.setattr(gemm, "_onednn", lambda *args: calls.append(1) or compute(*args))
    return calls


def rand(*shape, dtype="float32"):
    given = torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape) + 7 * len(shape)))
    return (given - 0.5).to(getattr(torch, dtype))


def reference(x, w, b=None):
    y = x.double() @ w.double().t()
    return y if b is None else y + b.double()


def agree(found, expected):
    name = str(found.dtype).removeprefix("torch.")
    assert found.shape == expected.shape
    torch.testing.assert_close(found.double(), expected.double(), rtol=0, atol=TOLERANCE[name] * 8)


def test_gradients_that_are_asked_for_twice(mx, rule):
    x, w = mx.nd.ones((2, 3)), mx.nd.ones((4, 3))
    w.attach_grad()
    with mx.autograd.record():
        y = mx.nd.FullyConnected(x, w, num_hidden=4, no_bias=True)
    y.backward()
    with pytest.raises(mx.MXNetError, match="used up"):
        y.backward()


@sizes
def test_linear(rule, n, k, m):
    x, w, b = rand(n, k), rand(m, k), rand(m)
    agree(gemm.linear(x, w, b), reference(x, w, b))
    agree(gemm.linear(x, w), reference(x, w))


@sizes
def test_mm(rule, n, k, m):
    a, b = rand(n, k), rand(k, m)
    agree(gemm.mm(a, b), reference(a, b.t()))
    agree(gemm.mm(rand(k, n).t(), rand(m, k).t()), reference(rand(k, n).t(), rand(m, k)))


@sizes
def test_bmm(rule, n, k, m):
    a, b = rand(3, n, k), rand(3, k, m)
    agree(gemm.bmm(a, b), a.double() @ b.double())
    agree(gemm.bmm(a[:0], b[:0]), a[:0].double() @ b[:0].double())


VIEWS = {
    "transposed": lambda n, k: rand(k, n).t(),
    "every second row": lambda n, k: rand(2 * n, k)[::2],
    "every second column": lambda n, k: rand(n, 2 * k)[:, ::2],
    "part of the columns": lambda n, k: rand(n, k + 3)[:, 2 : 2 + k],
    "one row repeated": lambda n, k: rand(1, k).expand(n, k),
    "one column repeated": lambda n, k: rand(n, 1).expand(n, k),
    "one number repeated": lambda n, k: rand(1, 1).expand(n, k),
    "from inside": lambda n, k: rand(n * k + 5)[5:].view(n, k),
}


@pytest.mark.parametrize("of_w", VIEWS)
@pytest.mark.parametrize("of_x", VIEWS)
def test_views(rule, of_x, of_w):
    x, w, b = VIEWS[of_x](4, 6), VIEWS[of_w](5, 6), rand(10)[::2]
    agree(gemm.linear(x, w, b), reference(x, w, b))
    agree(gemm.mm(x, w.t()), reference(x, w))


@pytest.mark.parametrize("shape", [(3,), (2, 4, 3), (2, 1, 4, 3), (2, 0, 3)], ids=str)
def test_leading_axes(rule, shape):
    x, w, b = rand(*shape), rand(5, 3), rand(5)
    agree(gemm.linear(x, w, b), reference(x, w, b))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_dtypes(rule, asked, dtype):
    x, w, b = rand(4, 3, dtype=dtype), rand(5, 3, dtype=dtype), rand(5, dtype=dtype)
    y = gemm.linear(x, w, b)
    assert y.dtype is x.dtype
    agree(y, reference(x, w, b))
    agree(gemm.mm(x, w.t()), reference(x, w))
    assert not asked


def test_other_devices(rule, asked):
    x, w = rand(4, 3).to("meta"), rand(5, 3).to("meta")
    assert gemm.linear(x, w).shape == gemm.mm(x, w.t()).shape == (4, 5)
    assert not asked


@pytest.mark.parametrize(
    "shapes", [((4, 3), (5, 2)), ((4, 3), (5, 3), (4,)), ((4, 3), (5,), None), ((4, 3), (2, 5, 3))]
)
def test_what_does_not_fit_is_refused(rule, shapes):
    operands = [None if shape is None else rand(*shape) for shape in shapes]
    with pytest.raises(RuntimeError) as expected:
        torch.nn.functional.linear(*operands)
    with pytest.raises(RuntimeError) as found:
        gemm.linear(*operands)
    assert str(found.value) == str(expected.value)


def test_mixed_dtypes_are_refused(rule):
    with pytest.raises(RuntimeError):
        gemm.linear(rand(4, 3), rand(5, 3, dtype="float64"))


@pytest.mark.parametrize("shape", [(4, 3), (2, 4, 3)], ids=str)
@pytest.mark.parametrize("wanted", ["xwb", "x", "w", "b", "xw"])
def test_gradients(rule, asked, shape, wanted):
    def gradients(double):
        given = {"x": rand(*shape), "w": rand(5, 3), "b": rand(5)}
        given = {n: v.double() if double else v for n, v in given.items()}
        leaves = [given[n].requires_grad_() for n in wanted]
        y = (torch.nn.functional if double else gemm).linear(*given.values())
        return torch.autograd.grad(y, leaves, rand(*shape[:-1], 5).to(y.dtype))

    for found, expected in zip(gradients(False), gradients(True)):
        agree(found, expected)
    assert len(asked) == (1 + len(wanted.replace("b", "")) if rule == "onednn" else 0)


@pytest.mark.parametrize("of", VIEWS)
def test_gradients_of_and_by_views(rule, of):
    def gradients(double):
        x, w = (VIEWS[of](n, 6) for n in (4, 5))
        dy = VIEWS[of](4, 5)
        x, w, dy = (v.double() if double else v for v in (x, w, dy))
        y = (torch.nn.functional if double else gemm).linear(x.requires_grad_(), w.requires_grad_())
        return torch.autograd.grad(y, (x, w), dy)

    for found, expected in zip(gradients(False), gradients(True)):
        agree(found, expected)


def test_second_order(rule):
    def gradients(double):
        given = [v.double() if double else v for v in (rand(4, 3), rand(5, 3), rand(5))]
        leaves = [v.requires_grad_() for v in given]
        y = (torch.nn.functional if double else gemm).linear(*leaves)
        first = torch.autograd.grad((y**3).sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum((g**2).sum() for g in first), leaves)

    for found, expected in zip(gradients(False), gradients(True)):
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-3)


def test_gradients_of_mm_and_bmm(rule):
    a, b = rand(3, 4, 6).requires_grad_(), rand(3, 6, 5).requires_grad_()
    expected = torch.autograd.grad((a.double() @ b.double()).pow(2).sum(), (a, b))
    for found, e in zip(torch.autograd.grad(gemm.bmm(a, b).pow(2).sum(), (a, b)), expected):
        agree(found, e)
    one = torch.autograd.grad(gemm.mm(a[1], b[1]).pow(2).sum(), (a, b))
    for found, e in zip(one, expected):
        agree(found[1], e[1])


def test_small_products_are_pytorchs(asked, monkeypatch):
    monkeypatch.setattr(gemm, "_least", 4 * 3 * 5 + 1)
    gemm.linear(rand(4, 3), rand(5, 3))
    gemm.mm(rand(4, 3), rand(3, 5))
    assert not asked
    gemm.linear(rand(4, 4), rand(5, 4))
    gemm.mm(rand(4, 4), rand(4, 5))
    gemm.bmm(rand(2, 4, 4), rand(2, 4, 5))
    assert len(asked) == (4 if gemm._available() else 0)


def test_shapes_that_are_slow_there_are_pytorchs(asked, monkeypatch):
    monkeypatch.setattr(gemm, "_least", 1)
    monkeypatch.setattr(gemm, "_rule", "auto")
    gemm.linear(rand(1, 300), rand(300, 300))  # a matrix by a vector
    gemm.mm(rand(300, 4).t(), rand(300, 5))  # a copy of what is transposed
    assert not asked


def test_compiled_code_keeps_the_plain_product(rule, asked, monkeypatch):
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    agree(gemm.linear(rand(4, 3), rand(5, 3)), reference(rand(4, 3), rand(5, 3)))
    assert not asked


CPUS = [  # and the least number of multiplications for oneDNN in compiled code; None: never
    ("AuthenticAMD", 25, "AVX512", 2**23),
    ("AuthenticAMD", 26, "AVX512", 6_000_000),
    ("AuthenticAMD", 27, "AVX512", 6_000_000),
    ("AuthenticAMD", None, "AVX512", 2**23),
    ("AuthenticAMD", 26, "AVX2", None),
    ("GenuineIntel", 6, "AVX512", None),
    ("", None, "DEFAULT", None),
]


@pytest.fixture
def state(monkeypatch):
    """The rule is put back afterwards."""
    for name in ("_least", "_least_compiled", "_rule"):
        monkeypatch.setattr(gemm, name, getattr(gemm, name))
    monkeypatch.delenv("LAYERS_GEMM", raising=False)
    monkeypatch.setattr(gemm, "_available", lambda: True)


@pytest.mark.parametrize("vendor, family, capability, expected", CPUS)
def test_auto_goes_by_the_cpu(state, monkeypatch, vendor, family, capability, expected):
    told = {"vendor_id": vendor, "cpu family": f"cpu family : {family}" if family else ""}
    monkeypatch.setattr(cpu, "_line", told.get)
    monkeypatch.setattr(cpu.platform, "processor", str)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    gemm.choose()
    assert gemm._least_compiled == (gemm.NEVER if expected is None else expected)
    assert gemm._least == (gemm.NEVER if expected is None else max(expected, gemm.CALLED))
    assert gemm.describe()["cpu"] == f"{vendor} {capability}".strip()


@pytest.mark.parametrize("name, least", [("mkl", None), ("onednn", 1)])
def test_the_environment_overrides(state, monkeypatch, name, least):
    monkeypatch.setenv("LAYERS_GEMM", name)
    gemm.choose()
    described = gemm.describe()
    assert (described["rule"], described["onednn_from_multiplications"]) == (name, least)


def test_an_unknown_rule(state, monkeypatch):
    monkeypatch.setenv("LAYERS_GEMM", "fastest")
    with pytest.raises(
        base.ArgumentError, match="'fastest' is unknown\n  expected one of auto, mkl"
    ):
        gemm.choose()


def test_without_onednn(state, monkeypatch):
    monkeypatch.setattr(gemm, "_available", lambda: False)
    gemm.choose("onednn")
    agree(gemm.linear(rand(4, 3), rand(5, 3)), reference(rand(4, 3), rand(5, 3)))
    assert gemm.describe()["onednn_from_multiplications"] is None


OPERATORS = [
    ("FullyConnected", ((4, 3), (5, 3), (5,)), {"num_hidden": 5}),
    ("dot", ((4, 3), (3, 5)), {}),
    ("dot", ((2, 4, 3), (5, 3)), {"transpose_b": True}),
    ("batch_dot", ((2, 4, 3), (2, 3, 5)), {}),
]


@pytest.mark.parametrize("name, shapes, attributes", OPERATORS)
def test_operators_go_through_it(mx, monkeypatch, asked, name, shapes, attributes):
    if not gemm._available():
        pytest.skip("this PyTorch is built without oneDNN")
    monkeypatch.setattr(gemm, "_least", 1)
    monkeypatch.setattr(gemm, "_rule", "onednn")
    getattr(mx.nd, name)(*[mx.nd.ones(s) for s in shapes], **attributes)
    assert asked
