"""Sums of products of 8-bit integers are exact, by whichever kernel."""

import pytest

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")

from layers.mxnet._table import int8  # noqa: E402 - it needs torch

pytestmark = pytest.mark.engine("torch")
RANGE = {torch.int8: (-128, 128), torch.uint8: (0, 256)}


def drawn(dtype, *shape, extreme=False):
    torch.manual_seed(len(shape) + shape[0])
    low, high = RANGE[dtype]
    if extreme:  # odd numbers, so that a sum that is rounded shows it
        return torch.full(shape, (low or high) + (1 if low else -1), dtype=dtype)
    return torch.randint(low, high, shape).to(dtype)


@pytest.fixture(params=["PyTorch's kernels", "none of them"])
def kernels(request, monkeypatch):
    if request.param == "none of them":
        for name in "_product_is_exact", "_convolution_is_exact":
            monkeypatch.setattr(int8, name, lambda: False)


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("dtype", RANGE, ids=str)
def test_linear(kernels, dtype, extreme):
    for n, k, m in (1, 1, 1), (3, 5, 2), (7, 1031, 9), (32, 64, 32):
        x, w = drawn(dtype, n, k, extreme=extreme), drawn(torch.int8, m, k, extreme=extreme)
        assert torch.equal(int8.linear(x, w), (x.long() @ w.long().T).int())


@pytest.mark.parametrize("extreme", [False, True])
@pytest.mark.parametrize("dtype", RANGE, ids=str)
@pytest.mark.parametrize(
    "x, w, settings",
    [
        ((1, 3, 5, 4), (2, 3, 3, 3), ((1, 1), (1, 1), (1, 1), 1)),
        ((2, 300, 5, 4), (33, 300, 3, 3), ((2, 1), (1, 2), (1, 1), 1)),
        ((1, 40, 7, 9), (32, 40, 3, 3), ((1, 1), (0, 0), (2, 2), 1)),
        ((1, 2, 40, 41), (32, 2, 33, 33), ((1, 1), (0, 0), (1, 1), 1)),
        ((2, 4, 7, 5), (6, 2, 3, 3), ((1, 1), (1, 1), (1, 1), 2)),
        ((2, 4, 9), (6, 4, 3), ((1,), (1,), (1,), 1)),
        ((1, 4, 5, 4, 3), (6, 4, 2, 2, 2), ((1, 1, 1), (1, 0, 1), (1, 1, 1), 1)),
    ],
    ids=lambda value: "x".join(map(str, value)) if isinstance(value[0], int) else "",
)
def test_convolution(kernels, dtype, extreme, x, w, settings):
    x, w = drawn(dtype, *x, extreme=extreme), drawn(torch.int8, *w, extreme=extreme)
    *spatial, groups = settings
    zeros = (0,) * len(spatial[0])
    expected = torch.convolution(x.double(), w.double(), None, *spatial, False, zeros, groups)
    y = int8.convolution(x, w, *settings)
    assert y.is_contiguous() and torch.equal(y, expected.to(torch.int32))
