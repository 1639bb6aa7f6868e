"""`layers.minpy.numpy.random`: shapes, dtypes and ranges as NumPy's, and one seed for all."""

import numpy as np
import pytest

import layers.minpy.numpy.random as random
from layers.engine import nd

DRAWN = {  # mean and deviation
    "rand": (lambda: random.rand(50, 40), 0.5, 12**-0.5),
    "random": (lambda: random.random((50, 40)), 0.5, 12**-0.5),
    "random_sample": (lambda: random.random_sample(2000), 0.5, 12**-0.5),
    "randn": (lambda: random.randn(50, 40), 0, 1),
    "uniform": (lambda: random.uniform(-3, 3, (50, 40)), 0, 3**0.5),
    "normal": (lambda: random.normal(4, 2, (50, 40)), 4, 2),
    "randint": (lambda: random.randint(3, 9, (50, 40)), 5.5, (35 / 12) ** 0.5),
    "choice": (lambda: random.choice(6, (50, 40)), 2.5, (35 / 12) ** 0.5),
}


@pytest.mark.parametrize("name", DRAWN)
def test_moments(name):
    draw, mean, deviation = DRAWN[name]
    random.seed(1)
    x = draw()
    assert isinstance(x, nd.NDArray) and x.size == 2000
    assert x.dtype == (np.int64 if name in ("randint", "choice") else np.float32)
    found = x.asnumpy().astype("float64")
    assert abs(found.mean() - mean) < 6 * deviation / 2000**0.5
    assert abs(found.std() - deviation) < 0.1 * deviation
    random.seed(1)
    assert (draw().asnumpy() == x.asnumpy()).all()
    assert (draw().asnumpy() != x.asnumpy()).any()


def test_one_number():
    for x in random.rand(), random.randn(), random.uniform(), random.normal(), random.randint(5):
        assert x.shape == (1,)
    assert set(random.randint(2, size=100).asnumpy()) == {0, 1}


def test_orders():
    random.seed(0)
    x = nd.array(np.arange(20).reshape(10, 2))
    rows = random.permutation(x).asnumpy()
    assert (rows != x.asnumpy()).any() and sorted(rows[:, 0]) == list(range(0, 20, 2))
    assert (rows[:, 1] == rows[:, 0] + 1).all()
    assert sorted(random.permutation(7).asnumpy()) == list(range(7))
    before = x.asnumpy()
    random.shuffle(x)
    assert (x.asnumpy() != before).any() and sorted(x.asnumpy()[:, 1]) == list(range(1, 20, 2))


def test_rows_beyond_what_float32_counts(monkeypatch):
    asked = []
    take = nd.take
    monkeypatch.setattr(nd, "take", lambda x, order: asked.append(order.dtype) or take(x, order))
    random.shuffle(nd.zeros((3, 2)))
    random.permutation(3)
    random.choice(3, 2, replace=False)
    assert asked == [np.int64] * 3  # float32 has no odd numbers from 2**24 on


def test_choices():
    x = random.choice(nd.array([3, 5, 7]), (2, 3))
    assert x.shape == (2, 3) and set(x.asnumpy().ravel()) <= {3, 5, 7}
    assert sorted(random.choice(4, 4, replace=False).asnumpy()) == [0, 1, 2, 3]
    assert random.choice(9).shape == (1,)
    with pytest.raises(ValueError, match="choice: 5 of 4 elements\n  expected replace=True"):
        random.choice(4, 5, replace=False)
