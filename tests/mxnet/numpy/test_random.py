"""``mx.np.random``: the moments of the distributions, their shapes, and the seed."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def numpy_interface(mx):
    with mx.util.np_shape(True), mx.util.np_array(True):
        yield


EULER = 0.5772156649
# The draw: its mean and its deviation.
MOMENTS = {
    "uniform(-1, 3, {})": (1, 4 / 12**0.5),
    "normal(2, 3, {})": (2, 3),
    "logistic(1, 2, {})": (1, 2 * np.pi / 3**0.5),
    "gumbel(1, 2, {})": (1 + 2 * EULER, 2 * np.pi / 6**0.5),
    "exponential(2, {})": (2, 2),
    "rayleigh(2, {})": (2 * (np.pi / 2) ** 0.5, 2 * (2 - np.pi / 2) ** 0.5),
    "gamma(3, 2, {})": (6, 12**0.5),
    "beta(2, 3, {})": (0.4, 0.2),
    "chisquare(4, {})": (4, 8**0.5),
    "lognormal(0, 0.5, {})": (np.exp(0.125), (np.expm1(0.25) * np.exp(0.25)) ** 0.5),
    "weibull(2, {})": (np.pi**0.5 / 2, (1 - np.pi / 4) ** 0.5),
    "pareto(6, {})": (0.2, (6 / 25 / 4) ** 0.5),
    "power(2, {})": (2 / 3, 18**-0.5),
    "randint(0, 5, {})": (2, 2**0.5),
    "choice(5, {})": (2, 2**0.5),
}


@pytest.mark.parametrize("draw", MOMENTS)
def test_moments(mx, draw, engine):
    if engine == "mxnet" and draw.startswith("chisquare"):
        pytest.skip("MXNet's have the mean 1")
    mx.random.seed(1)
    found = eval("r." + draw.format(20000), {"r": mx.np.random}).asnumpy()  # of the rows above
    mean, deviation = MOMENTS[draw]
    assert found.shape == (20000,)
    assert abs(found.mean() - mean) < 6 * deviation / 20000**0.5
    assert abs(found.std() - deviation) < 0.08 * deviation


@pytest.mark.parametrize("size", [None, (), 3, (2, 3), (0, 2)], ids=str)
def test_shapes(mx, size):
    expected = () if size is None else (size,) if size == 3 else size
    assert mx.np.random.uniform(size=size).shape == expected
    assert mx.np.random.normal(mx.np.zeros(3), 1.0, (2, 3)).shape == (2, 3)
    assert mx.np.random.randint(5, size=size).shape == expected
    assert mx.npx.random.normal_n(mx.np.zeros(3), 1.0, batch_shape=(2,)).shape == (2, 3)


def test_the_seed(mx):
    def drawn():
        mx.npx.random.seed(3)
        return mx.np.random.normal(size=4).asnumpy()

    assert np.array_equal(drawn(), drawn())


def test_draws_have_gradients(mx):
    loc, scale = mx.np.zeros(3), mx.np.ones(3)
    for array in (loc, scale):
        array.attach_grad()
    with mx.autograd.record():
        y = mx.np.random.normal(loc, scale)
    y.backward()
    assert loc.grad.tolist() == [1, 1, 1]
    np.testing.assert_allclose(scale.grad.asnumpy(), y.asnumpy(), 1e-5)


def test_choice_multinomial_and_shuffle(mx):
    drawn = mx.np.random.choice(mx.np.array([3.0, 5.0]), 20, p=mx.np.array([0.0, 1.0]))
    assert set(drawn.tolist()) == {5}
    assert sorted(mx.np.random.choice(4, 4, replace=False).tolist()) == [0, 1, 2, 3]
    counts = mx.np.random.multinomial(10, [0.5, 0.5], size=(3,))
    assert counts.shape == (3, 2) and counts.sum(axis=1).tolist() == [10] * 3
    x = mx.np.arange(5)
    mx.np.random.shuffle(x)
    assert sorted(x.tolist()) == [0, 1, 2, 3, 4]


def test_wrong_parameters(mx):
    with pytest.raises(ValueError):
        mx.np.random.gamma(0, 1).asnumpy()
    with pytest.raises(ValueError):
        mx.npx.random.bernoulli(prob=mx.np.array([2.0])).asnumpy()
    with pytest.raises(ValueError):
        mx.npx.random.bernoulli(prob=0.5, logit=0.0)
