"""Normalizations: beside the plain composition, in 16 bits, at extremes, in graphs, in memory."""

import numpy as np
import pytest
from ways import each

from layers import GroupNormBlock, LayerNormBlock, RMSNormBlock, engine, kernels, ops
from layers.engine import autograd, gluon, mx, nd


def layer(x, gamma, beta):
    centered = nd.broadcast_sub(x, nd.mean(x, axis=-1, keepdims=True))
    return scaled(centered, nd.mean(nd.square(centered), axis=-1, keepdims=True) + 1e-5, gamma) + (
        nd.broadcast_like(beta.reshape((1,) * (x.ndim - 1) + (-1,)), x)
    )


def rms(x, gamma):
    return scaled(x, nd.mean(nd.square(x), axis=-1, keepdims=True) + 1e-6, gamma)


def scaled(x, square, gamma):
    weight = gamma.reshape((1,) * (x.ndim - 1) + (-1,))
    return nd.broadcast_mul(nd.broadcast_mul(x, nd.rsqrt(square)), weight)


def group(x, gamma, beta):
    """Of two groups."""
    groups = x.reshape((0, 2, -1))
    centered = nd.broadcast_sub(groups, nd.mean(groups, axis=-1, keepdims=True))
    square = nd.mean(nd.square(centered), axis=-1, keepdims=True) + 1e-5
    normal = nd.broadcast_mul(centered, nd.rsqrt(square)).reshape(x.shape)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return nd.broadcast_add(nd.broadcast_mul(normal, gamma.reshape(shape)), beta.reshape(shape))


def two_groups(x, gamma, beta):
    return ops.group_norm(x, gamma, beta, num_groups=2)


# The operator, the composition, the axis of the channels, how many parameters, shapes of x.
NORMS = {
    "layer": (ops.layer_norm, layer, -1, 2, [(4, 7), (2, 1, 3, 5), (1, 2)]),
    "rms": (ops.rms_norm, rms, -1, 1, [(4, 7), (2, 1, 3, 5), (1, 2)]),
    "group": (two_groups, group, 1, 2, [(3, 4, 5), (2, 6, 3, 1), (3, 4)]),
}
CASES = [(name, shape) for name, row in NORMS.items() for shape in row[-1]]


def arrays(name, shape, dtype="float32", seed=0, scale=1.0):
    _, _, axis, count, _ = NORMS[name]
    random = np.random.RandomState(seed)
    made = [nd.array(scale * (random.randn(*shape) + 0.3), dtype=dtype)]
    for _ in range(count):
        made.append(nd.array(random.uniform(0.5, 2, shape[axis]), dtype=dtype))
    for a in made:
        a.attach_grad()
    return made


def head(shape, dtype="float32"):
    return nd.array(np.random.RandomState(7).randn(*shape), dtype=dtype)


def results(function, given):
    with autograd.record():
        y = function(*given)
    y.backward(head(y.shape, given[0].dtype))
    return [y.asnumpy(), *(a.grad.asnumpy() for a in given)]


@pytest.mark.parametrize("dtype, rtol", [("float32", 2e-5), ("float64", 1e-12)])
@pytest.mark.parametrize("name, shape", CASES)
def test_beside_the_composition(name, shape, dtype, rtol):
    ours, plain, *_ = NORMS[name]
    found = results(ours, arrays(name, shape, dtype))
    expected = results(plain, arrays(name, shape, dtype))
    for a, b in zip(found, expected):
        assert a.dtype == np.dtype(dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * 10)


@pytest.mark.engine("torch")  # where kernels are in the place of formulas
@pytest.mark.parametrize("name", ["layer", "rms"])
def test_the_formulas(name):
    ours, plain, *_ = NORMS[name]
    expected = results(plain, arrays(name, (2, 3, 7)))
    with kernels(False):
        found = results(ours, arrays(name, (2, 3, 7)))
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-4)


@pytest.mark.parametrize("name", NORMS)
def test_float16_is_rounded_once(name):
    """Statistics and products are float32, so that only x, the results and dy are rounded."""
    ours, plain, *_, shapes = NORMS[name]
    given = arrays(name, shapes[0], "float16", scale=300)  # the squares are beyond float16
    exact = [a.astype("float64") for a in given]
    for a in exact:
        a.attach_grad()
    with autograd.record():
        y = plain(*exact)
    y.backward(head(y.shape, "float16").astype("float64"))
    expected = [y.asnumpy(), *(a.grad.asnumpy() for a in exact)]
    for a, b in zip(results(ours, given), expected):
        assert a.dtype == np.float16
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=2e-6)


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("dtype, large", [("float32", 1e15), ("float16", 6e4)])
def test_extreme_values_give_no_nan(name, dtype, large):
    ours, *_, shapes = NORMS[name]
    for value in (0, 1, large, -large):
        given = arrays(name, shapes[0], dtype)
        given[0][:] = value
        if name != "group":
            given[0][1:, 0] = -value
        assert all(np.isfinite(a).all() for a in results(ours, given))


@pytest.mark.parametrize("name", ["layer", "group"])
def test_a_mean_that_is_large_beside_the_deviation(name):
    ours, plain, *_, shapes = NORMS[name]
    given = arrays(name, shapes[0])
    given[0][:] = given[0] + 1000
    exact = [a.astype("float64") for a in given]
    for a in exact:
        a.attach_grad()
    with autograd.record():
        y = plain(*exact)
    y.backward(head(y.shape).astype("float64"))
    expected = [y.asnumpy(), *(a.grad.asnumpy() for a in exact)]
    for a, b in zip(results(ours, given), expected):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "name, kept",
    [
        ("layer", [(4, 1), (4, 1), (4, 7), (7,), (7,)]),
        ("rms", [(4, 1), (4, 7), (7,)]),
        ("group", [(3, 2), (3, 2), (3, 4, 5), (4,), (4,)]),
    ],
)
def test_what_is_kept(name, kept):
    """The inputs and the statistics, which are float32 if the inputs are float16."""
    import torch

    seen = []
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t)
    given = arrays(name, NORMS[name][-1][0], "float16")
    with hooks, autograd.record():
        NORMS[name][0](*given)
    assert sorted(tuple(t.shape) for t in seen) == kept
    statistics = [t.dtype for t in seen if tuple(t.shape) in [(4, 1), (3, 2)]]
    assert {*statistics} == {torch.float32}


@pytest.mark.engine("torch")  # MXNet tells of it at a later call
def test_a_gamma_of_another_size():
    with pytest.raises(mx.MXNetError, match=r"rhs is \(1, 7\)"):
        ops.rms_norm(nd.ones((4, 8)), nd.ones(7))


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
@pytest.mark.parametrize("with_kernels", [True, False], ids=["kernel", "formula"])
@pytest.mark.parametrize("name", NORMS)
def test_second_derivatives(name, with_kernels):
    ours, plain, *_, shapes = NORMS[name]

    def penalty(function):
        given = arrays(name, shapes[0], "float64")
        with autograd.record():
            y = function(*given)
            (dx,) = autograd.grad((y * y * y).sum(), [given[0]], create_graph=True)
            value = (dx * dx).sum()
        value.backward()
        return [a.grad.asnumpy() for a in given]

    with kernels(with_kernels):
        found = penalty(ours)
    for a, b in zip(found, penalty(plain)):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


# Blocks

BLOCKS = {
    "layer": LayerNormBlock,
    "rms": RMSNormBlock,
    "group": lambda in_channels=0, **more: GroupNormBlock(
        num_groups=2, in_channels=in_channels, **more
    ),
}


@pytest.mark.parametrize("options", each())
@pytest.mark.parametrize("name", NORMS)
def test_a_block(name, options, caplog):
    caplog.set_level("INFO", "layers")
    _, plain, axis, count, shapes = NORMS[name]
    x, *parameters = given = arrays(name, shapes[0])
    net = gluon.nn.HybridSequential()
    net.add(BLOCKS[name]())
    net.initialize()
    if options is not None:
        net.hybridize(**options)
    net(x).wait_to_read()
    block = net[0]
    own = [block.gamma, block.beta][:count] if count > 1 else [block.gamma]
    for parameter, value in zip(own, parameters):
        assert parameter.shape == (shapes[0][axis],)
        parameter.set_data(value)
    for _ in range(3):
        with autograd.record():
            y = net(x)
        y.backward(head(y.shape))
    found = [y.asnumpy(), x.grad.asnumpy(), *(p.grad().asnumpy() for p in own)]
    for a, b in zip(found, results(plain, given)):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
    warned = [r for r in caplog.records if r.name.startswith("layers") and r.levelno > 20]
    assert not (engine.compiles() and warned)


@pytest.mark.parametrize("name", NORMS)
def test_parameters_have_the_names_of_gluons(name):
    block = BLOCKS[name](4, prefix="norm_")
    names = ["norm_gamma", "norm_beta"] if name != "rms" else ["norm_gamma"]
    assert list(block.collect_params()) == names
    block.initialize()
    assert block.gamma.data().asnumpy().tolist() == [1] * 4
    more = {"scale": False} | ({} if name == "rms" else {"center": False})
    fixed = BLOCKS[name](4, **more)
    assert {p.grad_req for p in fixed.collect_params().values()} == {"null"}
    fixed.initialize()
    x = head((3, 4))
    np.testing.assert_allclose(fixed(x).asnumpy(), block(x).asnumpy())


def test_epsilon_and_dtype():
    x = nd.array([[1.0, -1.0]])
    for make in (LayerNormBlock, RMSNormBlock, lambda **more: GroupNormBlock(num_groups=1, **more)):
        block = make(epsilon=3.0)
        block.initialize()
        np.testing.assert_allclose(block(x).asnumpy(), [[0.5, -0.5]], rtol=1e-6)
        half = make(dtype="float16")
        half.initialize()
        y = half(x.astype("float16"))
        assert y.dtype == np.float16
        np.testing.assert_allclose(y.asnumpy(), [[1, -1]], rtol=1e-3)


def test_gluons_parameters_are_read(tmp_path):
    theirs, ours = gluon.nn.LayerNorm(), LayerNormBlock()
    x = head((3, 4))
    theirs.initialize(mx.init.Uniform(1))
    theirs(x).wait_to_read()
    theirs.gamma.set_data(nd.array([1, 2, 3, 4]))
    theirs.save_parameters(str(tmp_path / "norm.params"))
    ours.load_parameters(str(tmp_path / "norm.params"))
    np.testing.assert_allclose(ours(x).asnumpy(), theirs(x).asnumpy(), rtol=1e-5, atol=1e-6)


def test_repr():
    assert repr(LayerNormBlock()) == "LayerNormBlock(None)"
    assert repr(RMSNormBlock(6)) == "RMSNormBlock(6)"
    assert repr(GroupNormBlock(in_channels=6, num_groups=2)) == "GroupNormBlock(6 in 2 groups)"


def test_groups_that_do_not_divide():
    with pytest.raises(ValueError, match="num_groups is 4, in_channels is 6\n  expected groups of"):
        GroupNormBlock(in_channels=6, num_groups=4)
    with pytest.raises(ValueError, match="num_groups is 0"):
        GroupNormBlock(num_groups=0)


@pytest.mark.engine("torch")  # MXNet tells of it at a later call
def test_groups_that_do_not_divide_the_channels_of_x():
    with pytest.raises(ValueError, match=r"x is \(2, 3, 4\), num_groups is 2\n  expected x \(n, c"):
        two_groups(*[nd.ones(s) for s in ((2, 3, 4), (3,), (3,))])
    block = GroupNormBlock(num_groups=2)
    block.initialize()
    with pytest.raises(ValueError, match=r"x is \(2, 3, 4\), num_groups is 2"):
        block(nd.ones((2, 3, 4)))
