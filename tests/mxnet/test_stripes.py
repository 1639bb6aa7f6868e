"""Products whose results MKL cuts by rows alone: when, and that nothing else changes."""

import os
from importlib import import_module

import pytest

from layers import operator
from layers.engine import gluon, nd

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    torch = import_module("torch")
    cpu = import_module("layers.mxnet._cpu")
    product = import_module("layers.mxnet._table.product")
    stripes = import_module("layers.mxnet._table.stripes")


@operator
class square:
    def forward(x):
        return nd.dot(x, x)

    def shapes(x):
        return {"y": x}


@pytest.fixture
def numbers(monkeypatch):
    """The numbers of stripes that MKL is told; it computes on two threads."""
    told = []
    monkeypatch.setattr(stripes, "_set_stripes", told.append)
    monkeypatch.setattr(stripes.torch, "get_num_threads", lambda: 2)
    return told


@pytest.mark.parametrize("rows, faster", [(32, True), (128, True), (16, False), (48, False)])
def test_one_stripe_is_for_multiples_of_32_rows(numbers, rows, faster):
    product.mm(torch.ones(rows, 3), torch.ones(3, 5))
    assert numbers == [1, 0] * faster


def test_one_stripe_is_for_two_threads(numbers, monkeypatch):
    monkeypatch.setattr(stripes.torch, "get_num_threads", lambda: 4)
    product.mm(torch.ones(32, 3), torch.ones(3, 5))
    assert numbers == []


def test_the_setting_is_taken_back_after_an_error(numbers):
    with pytest.raises(RuntimeError):
        product.mm(torch.ones(32, 3), torch.ones(4, 5))
    assert numbers == [1, 0]


@pytest.mark.parametrize(
    "vendor, family, environment, is_there",
    [
        ("AuthenticAMD", 25, {}, True),
        ("AuthenticAMD", 26, {}, False),
        ("AuthenticAMD", None, {}, False),
        ("GenuineIntel", 25, {}, False),
        ("AuthenticAMD", 25, {"MKL_NUM_STRIPES": "2"}, False),
    ],
)
def test_it_is_used_where_it_was_measured(monkeypatch, vendor, family, environment, is_there):
    monkeypatch.delenv("MKL_NUM_STRIPES", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cpu, "vendor", lambda: vendor)
    monkeypatch.setattr(cpu, "family", lambda: family)
    library = type("Library", (), {"mkl_serv_set_num_stripes": 1})
    monkeypatch.setattr(stripes.ctypes, "CDLL", lambda path: library)
    assert (stripes._function() is not None) is is_there


def test_a_pytorch_without_mkl(monkeypatch):
    monkeypatch.delenv("MKL_NUM_STRIPES", raising=False)
    monkeypatch.setattr(cpu, "vendor", lambda: "AuthenticAMD")
    monkeypatch.setattr(cpu, "family", lambda: 25)
    monkeypatch.setattr(stripes.ctypes, "CDLL", lambda path: object())
    assert stripes._function() is None


@pytest.mark.parametrize(
    "shapes, faster",
    [
        ([(64, 8, 8)], True),
        ([(64, 8, 8), (10, 8, 8)], True),
        ([(64, 8, 8), (10, 8, 24)], False),
        ([(10, 8, 8)], False),
        ([], False),
    ],
)
def test_a_graph_goes_by_most_of_its_multiplications(numbers, shapes, faster):
    def graph():
        for n, k, m in shapes:
            torch.addmm(torch.ones(m), torch.ones(n, k), torch.ones(k, m))
        return "y"

    with stripes.Products() as products:
        graph()
    assert products.with_best_stripes(graph)() == "y"
    assert numbers == [1, 0] * faster


def test_recorded_products(numbers):
    net = gluon.nn.HybridLambda(lambda F, x: square(x))
    net.hybridize(static_alloc=True, static_shape=True)
    x = nd.random.normal(shape=(32, 32))
    first = net(x)
    net(x)  # what the first call did is compared with it
    del numbers[:]
    assert (net(x) == first).asnumpy().all()
    assert numbers == [1, 0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what inductor itself imports
def test_compiled_products(numbers):
    net = gluon.nn.HybridLambda(lambda F, x: F.dot(x, x))
    net.hybridize(backend="inductor")
    x = nd.random.normal(shape=(32, 32))
    first = net(x)
    del numbers[:]
    assert (net(x) == first).asnumpy().all()
    assert numbers == [1, 0]


def test_one_stripe_is_for_float32(numbers):
    product.mm(torch.ones(32, 3).double(), torch.ones(3, 5).double())
    assert numbers == []


SIZES = [(32, 5, 7), (32, 514, 18), (64, 784, 128), (128, 64, 784), (256, 300, 1)]


@pytest.mark.parametrize("n, k, m", SIZES)
def test_the_bits_are_the_same(n, k, m):
    if stripes._set_stripes is None:
        pytest.skip("this processor, or this PyTorch, has no use for it")
    a, b = torch.randn(n, k), torch.randn(m, k).t()
    assert torch.equal(stripes.in_one_stripe(torch.mm, a, b), torch.mm(a, b))
