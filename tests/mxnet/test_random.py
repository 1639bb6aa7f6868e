"""Random draws: shapes, dtypes, moments, and the seed."""

import numpy as np
import pytest

MANY = 20000  # so that a mean is within 5 standard deviations of the right one in all but 1e-6


@pytest.fixture
def nd(mx):
    mx.random.seed(42)
    return mx.nd


DRAWS = {  # a draw of a shape; its mean and variance
    "uniform": (lambda nd, **k: nd.random.uniform(-1, 3, **k), 1, 16 / 12),
    "normal": (lambda nd, **k: nd.random.normal(2, 3, **k), 2, 9),
    "gamma": (lambda nd, **k: nd.random.gamma(4, 0.5, **k), 2, 1),
    "exponential": (lambda nd, **k: nd.random.exponential(2, **k), 2, 4),
    "poisson": (lambda nd, **k: nd.random.poisson(4, **k), 4, 4),
    "negative_binomial": (lambda nd, **k: nd.random.negative_binomial(4, 0.5, **k), 4, 8),
    "generalized_negative_binomial": (
        lambda nd, **k: nd.random.generalized_negative_binomial(2, 0.5, **k),
        2,
        4,
    ),
}
NUMBERS = pytest.mark.parametrize("draw, mean, variance", DRAWS.values(), ids=DRAWS)


@NUMBERS
def test_shapes_and_dtypes(mx, nd, draw, mean, variance):
    x = draw(nd)
    assert x.shape == (1,) and x.dtype is np.float32
    assert draw(nd, shape=3).shape == (3,)
    assert draw(nd, shape=(2, 3)).shape == (2, 3)
    for dtype in ("float16", "float64"):
        assert np.dtype(draw(nd, shape=(2,), dtype=dtype).dtype) == dtype
    assert draw(nd, ctx=mx.cpu(1)).context == mx.cpu(1)


@NUMBERS
def test_moments(nd, draw, mean, variance):
    values = draw(nd, shape=(MANY,)).asnumpy().astype("float64")
    assert abs(values.mean() - mean) < 5 * np.sqrt(variance / MANY)
    assert abs(values.var() / variance - 1) < 0.15


@NUMBERS
def test_out(nd, draw, mean, variance):
    out = nd.full((2, 3), -100)
    assert draw(nd, out=out) is out
    assert (out.asnumpy() > -100).all()
    assert draw(nd, shape=(2, 3), out=out) is out
    assert draw(nd, out=nd.zeros((2,), dtype="float64")).dtype is np.float64


@NUMBERS
def test_the_seed_repeats(mx, nd, draw, mean, variance):
    first = [draw(nd, shape=(5,)).asnumpy().tolist() for _ in range(2)]
    mx.random.seed(42)
    assert [draw(nd, shape=(5,)).asnumpy().tolist() for _ in range(2)] == first
    mx.random.seed(43)
    assert [draw(nd, shape=(5,)).asnumpy().tolist() for _ in range(2)] != first


def test_seeds(mx, nd):
    for ctx in ("all", mx.cpu(0)):
        drawn = []
        for _ in range(2):
            mx.random.seed(7, ctx=ctx)
            drawn.append(nd.random.uniform(shape=(4,)).asnumpy().tolist())
        assert drawn[0] == drawn[1]
    for seed in (0, -1, 2**31 - 1, 2**70, np.int64(3)):
        mx.random.seed(seed)
    for wrong in ("a", 1.5):
        with pytest.raises((ValueError, TypeError)):
            mx.random.seed(wrong)
    with pytest.raises(TypeError):
        mx.random.seed()


def test_other_draws_follow_the_seed(mx, nd):
    def draw():
        mx.random.seed(5)
        return [
            nd.random.randint(0, 100, shape=(5,)).asnumpy().tolist(),
            nd.random.shuffle(nd.arange(20)).asnumpy().tolist(),
            nd.random.multinomial(nd.array([0.25] * 4), shape=20).asnumpy().tolist(),
            nd.Dropout(nd.ones(20), p=0.5, mode="always").asnumpy().tolist(),
        ]

    assert draw() == draw()


ARRAYS = {
    "uniform": (lambda nd, a, b, **k: nd.random.uniform(a, b, **k), lambda a, b: (a + b) / 2),
    "normal": (lambda nd, a, b, **k: nd.random.normal(a, b / 100, **k), lambda a, b: a),
    "gamma": (lambda nd, a, b, **k: nd.random.gamma(a, b, **k), lambda a, b: a * b),
    "exponential": (lambda nd, a, b, **k: nd.random.exponential(b, **k), lambda a, b: b),
    "poisson": (lambda nd, a, b, **k: nd.random.poisson(b, **k), lambda a, b: b),
}


@pytest.mark.parametrize("draw, mean", ARRAYS.values(), ids=ARRAYS)
def test_parameters_as_arrays(nd, draw, mean):
    a, b = nd.array([[1, 2, 3]]), nd.array([[2, 20, 200]])
    assert draw(nd, a, b).shape == (1, 3)
    assert draw(nd, a, b, shape=(4, 5)).shape == (1, 3, 4, 5)
    assert draw(nd, a, b, shape=4).shape == (1, 3, 4)
    assert draw(nd, a, b).dtype is np.float32
    values = draw(nd, a, b, shape=(MANY,)).asnumpy().astype("float64")
    np.testing.assert_allclose(values.mean(-1), mean(a.asnumpy(), b.asnumpy()), rtol=0.1)


def test_numbers_and_arrays_are_not_mixed(nd):
    with pytest.raises((AssertionError, TypeError)):
        nd.random.uniform(nd.array([0, 10]), 1)


def test_uniform_is_half_open(nd):
    values = nd.random.uniform(2, 3, shape=(MANY,)).asnumpy()
    assert values.min() >= 2 and values.max() < 3


def test_randn(nd):
    assert nd.random.randn(2, 3).shape == (2, 3)
    assert nd.random.randn(4).shape == (4,)
    x = nd.random.randn(MANY, loc=5, scale=0.1, dtype="float64")
    assert x.dtype is np.float64
    assert abs(x.asnumpy().mean() - 5) < 5e-3


def test_randint(nd):
    x = nd.random.randint(-2, 3, shape=(MANY,))
    assert x.dtype is np.int32 and nd.random.randint(0, 5).shape == (1,)
    values, counts = np.unique(x.asnumpy(), return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2]
    assert abs(counts / MANY - 0.2).max() < 0.02
    assert nd.random.randint(0, 5, shape=(2,), dtype="int64").dtype is np.int64
    out = nd.full((2, 3), -1, dtype="int32")
    nd.random.randint(0, 5, out=out)
    assert (out.asnumpy() >= 0).all()
    with pytest.raises(TypeError):
        nd.random.randint(5)


def test_multinomial(mx, nd):
    x = nd.random.multinomial(nd.array([0, 1]))
    assert x.shape == (1,) and x.dtype is np.int32 and x.asscalar() == 1
    rows = nd.array([[0, 1], [1, 0]])
    assert nd.random.multinomial(rows).asnumpy().tolist() == [1, 0]
    assert nd.random.multinomial(rows, shape=2).asnumpy().tolist() == [[1, 1], [0, 0]]
    assert nd.random.multinomial(rows, shape=(3, 2)).shape == (2, 3, 2)
    assert np.dtype(nd.random.multinomial(rows, dtype="float32").dtype) == "float32"
    index, log = nd.random.multinomial(nd.array([0.25, 0.75]), shape=MANY, get_prob=True)
    share = index.asnumpy().mean()
    assert abs(share - 0.75) < 0.02
    np.testing.assert_allclose(log.asnumpy(), np.log([0.25, 0.75])[index.asnumpy()], rtol=1e-5)


def test_shuffle(nd):
    x = nd.arange(60).reshape((20, 3))
    y = nd.random.shuffle(x)
    assert x.asnumpy().tolist() == np.arange(60).reshape(20, 3).tolist()
    assert y.asnumpy().tolist() != x.asnumpy().tolist()
    assert sorted(y.asnumpy().tolist()) == x.asnumpy().tolist()


ALIASES = {
    "nd.uniform": lambda mx: mx.nd.uniform(low=1, high=2, shape=(2,)),
    "nd.normal": lambda mx: mx.nd.normal(loc=0, scale=1, shape=(2,)),
    "nd.random_uniform": lambda mx: mx.nd.random_uniform(0, 1, (2,)),
    "nd.random_normal": lambda mx: mx.nd.random_normal(shape=(2,)),
    "nd.random_gamma": lambda mx: mx.nd.random_gamma(alpha=1, beta=1, shape=(2,)),
    "nd.random_exponential": lambda mx: mx.nd.random_exponential(lam=1, shape=(2,)),
    "nd.random_poisson": lambda mx: mx.nd.random_poisson(shape=(2,)),
    "nd.random_randint": lambda mx: mx.nd.random_randint(low=0, high=2, shape=(2,)),
    "nd.sample_normal": lambda mx: mx.nd.sample_normal(mx.nd.zeros(2), mx.nd.ones(2)),
    "nd.sample_uniform": lambda mx: mx.nd.sample_uniform(mx.nd.zeros(1), mx.nd.ones(1), shape=2)[0],
    "nd.sample_multinomial": lambda mx: mx.nd.sample_multinomial(mx.nd.array([0, 1]), shape=2),
    "nd.shuffle": lambda mx: mx.nd.shuffle(mx.nd.arange(2)),
    "uniform_like": lambda mx: mx.nd.random.uniform_like(mx.nd.zeros(2)),
    "normal_like": lambda mx: mx.nd.random.normal_like(mx.nd.zeros(2)),
    "random.uniform": lambda mx: mx.random.uniform(0, 1, (2,)),
    "random.normal": lambda mx: mx.random.normal(0, 1, shape=(2,)),
    "random.randint": lambda mx: mx.random.randint(0, 3, shape=(2,)),
    "random.randn": lambda mx: mx.random.randn(2),
    "random.gamma": lambda mx: mx.random.gamma(shape=(2,)),
    "random.exponential": lambda mx: mx.random.exponential(shape=(2,)),
    "random.poisson": lambda mx: mx.random.poisson(shape=(2,)),
    "random.multinomial": lambda mx: mx.random.multinomial(mx.nd.array([0, 1]), shape=2),
    "random.shuffle": lambda mx: mx.random.shuffle(mx.nd.arange(2)),
}


@pytest.mark.parametrize("draw", ALIASES.values(), ids=ALIASES)
def test_other_names(mx, draw):
    assert draw(mx).shape == (2,)


def test_unknown_arguments(mx, nd):
    with pytest.raises((mx.MXNetError, TypeError), match="foo"):
        nd.random.uniform(shape=(2,), foo=1)


BAD = {
    "uniform(5,1)": lambda nd: nd.random.uniform(5, 1),
    "normal(0,-1)": lambda nd: nd.random.normal(0, -1),
    "exponential(-1)": lambda nd: nd.random.exponential(-1),
    "gamma(0,1)": lambda nd: nd.random.gamma(0, 1),
    "gamma(1,-1)": lambda nd: nd.random.gamma(1, -1),
    "gamma_like(-1)": lambda nd: nd.random.gamma_like(alpha=-1, data=nd.ones(2)),
    "poisson(-1)": lambda nd: nd.random.poisson(-1),
    "negative_binomial(-1,0.5)": lambda nd: nd.random.negative_binomial(-1, 0.5),
    "negative_binomial(1,-0.5)": lambda nd: nd.random.negative_binomial(1, -0.5),
    "generalized_negative_binomial(-1,1)": lambda nd: nd.random.generalized_negative_binomial(
        -1, 1
    ),
    "generalized_negative_binomial(1,-1)": lambda nd: nd.random.generalized_negative_binomial(
        1, -1
    ),
    "randint(5,0)": lambda nd: nd.random.randint(5, 0),
    "randint(0.5,5)": lambda nd: nd.random.randint(0.5, 5),
    "uniform(int32)": lambda nd: nd.random.uniform(dtype="int32"),
    "uniform(shape=,out=)": lambda nd: nd.random.uniform(shape=(2, 2), out=nd.zeros((2, 3))),
}


@pytest.mark.parametrize("draw", BAD.values(), ids=BAD)
def test_bad_parameters(mx, nd, draw):
    with pytest.raises(mx.MXNetError):
        draw(nd).asnumpy()


@pytest.mark.engine("torch")
def test_ends_the_wrong_way_round_are_told(mx, nd):
    for draw, text in (
        (lambda: nd.random.uniform(5, 1), "random.uniform: low is 5, high is 1\n  expected low <="),
        (lambda: nd.random.randint(5, 5), "random.randint: low is 5, high is 5\n  expected low <"),
    ):
        with pytest.raises(mx.MXNetError) as refused:
            draw()
        assert text in str(refused.value)


@pytest.mark.parametrize("as_array", [False, True], ids=["number", "array"])
def test_generalized_negative_binomial_without_dispersion(mx, nd, as_array):
    """Poisson's: the variance is the mean."""
    mu, alpha = (nd.array([3]), nd.array([0])) if as_array else (3, 0)
    x = nd.random.generalized_negative_binomial(mu, alpha, shape=(MANY,)).asnumpy()
    assert abs(x.mean() - 3) < 0.1 and abs(x.var() - 3) < 0.2


def test_what_is_drawn_is_a_constant(mx, nd):
    x = nd.ones((3,))
    x.attach_grad()
    with mx.autograd.record():
        noise = nd.random.normal(shape=(3,))
        y = x * noise
    y.backward()
    assert x.grad.asnumpy().tolist() == noise.asnumpy().tolist()


def test_the_graph_tells_the_shape_of_what_is_drawn(mx):
    x = mx.sym.var("x")
    for drawn in (mx.sym.random.normal(), mx.sym.random.randint(0, 9), mx.sym.random.uniform()):
        assert (drawn + x).infer_shape(x=(2, 3))[1] == [(2, 3)]
    y = (mx.sym.random.uniform(1, 2) + x).eval(x=mx.nd.zeros((40, 50)))[0].asnumpy()
    assert y.shape == (40, 50) and len(set(y.flat)) > 1500 and y.min() >= 1
    assert mx.sym.random.normal().infer_shape_partial()[1] == [()]
    assert mx.sym.random.randn(2, data=x).list_arguments() == []


DENSITIES_OF_COUNTS = {
    "poisson": [[1.5]],
    "negative_binomial": [[2], [0.4]],
    "generalized_negative_binomial": [[2], [0.5]],
}


@pytest.mark.parametrize("name", DENSITIES_OF_COUNTS)
def test_densities_have_no_gradient_by_counts(mx, nd, name):
    counts, *parameters = map(nd.array, ([[0, 1, 4]], *DENSITIES_OF_COUNTS[name]))
    for x in (counts, *parameters):
        x.attach_grad()
    with mx.autograd.record():
        y = getattr(nd, f"random_pdf_{name}")(counts, *parameters, is_log=True)
    y.backward()
    assert counts.grad.asnumpy().tolist() == [[0, 0, 0]]
    assert all(x.grad.asnumpy().any() for x in parameters)


def test_the_density_of_one_dirichlet_sample_each(nd):
    alpha, samples = nd.array([[1.7, 2.2], [1.85, 1.7]]), nd.array([[0.2, 0.8], [0.5, 0.5]])
    y = nd.random_pdf_dirichlet(samples, alpha)
    assert y.asnumpy() == pytest.approx([1.312668, 1.396398], rel=1e-5)
