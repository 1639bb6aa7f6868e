"""Attention: beside the plain composition, masks, 16 bits, extremes, memory, in graphs."""

from importlib import import_module

import numpy as np
import pytest
from peak import peak_of
from ways import each

from layers import MultiHeadAttention, ScaledDotProductAttention, engine, kernels
from layers.engine import autograd, gluon, mx, nd, sym
from layers.ops import scaled_dot_product_attention

module = import_module("layers.ops.scaled_dot_product_attention")
WITH_AND_WITHOUT = {"argnames": "formula", "argvalues": [False, True], "ids": ["kernel", "formula"]}


@pytest.fixture(autouse=True)
def in_the_formula(request, monkeypatch):
    """The formula in place of the kernel, in blocks that these small arrays need."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is None or not callspec.params.get("formula"):
        yield
        return
    monkeypatch.setattr(module, "SIDE", 3)
    monkeypatch.setattr(module, "BLOCK", 20)
    with kernels(False):
        yield


def plain(q, k, v, allowed=None, causal=False, scale=None):
    """The composition in NumPy's float64: y, and the gradients of Σ dy y."""
    q, k, v = (a.astype("float64") for a in (q, k, v))
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    s = np.einsum("bhid,bhjd->bhij", q, k) * scale
    keep = np.ones(s.shape, bool) if allowed is None else allowed[:, None, None, :] * (s == s)
    if causal:
        keep = keep & np.tri(*s.shape[-2:], k=s.shape[-1] - s.shape[-2], dtype=bool)
    p = np.exp(np.where(keep, s, -np.inf) - np.where(keep, s, -1e300).max(-1, keepdims=True))
    p = np.where(keep, p, 0) / np.maximum(np.where(keep, p, 0).sum(-1, keepdims=True), 1e-300)
    y = np.einsum("bhij,bhjd->bhid", p, v)
    dy = head(y.shape)
    dp = np.einsum("bhid,bhjd->bhij", dy, v)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    dq, dk = np.einsum("bhij,bhjd->bhid", ds, k), np.einsum("bhij,bhid->bhjd", ds, q)
    return y, dq, dk, np.einsum("bhij,bhid->bhjd", p, dy)


def head(shape):
    return np.random.RandomState(7).randn(*shape)


def arrays(batch=2, heads=3, queries=7, keys=8, d=4, e=4, scale=1.0):
    random = np.random.RandomState(1)
    shapes = [(batch, heads, n, size) for n, size in ((queries, d), (keys, d), (keys, e))]
    return [scale * random.randn(*s) for s in shapes]


def results(function, given, mask=(), dtype="float32", **attributes):
    given = [nd.array(a, dtype=dtype) for a in given]
    for a in given:
        a.attach_grad()
    with autograd.record():
        y = function(*given, *mask, **attributes)
    y.backward(nd.array(head(y.shape), dtype=dtype))
    assert y.dtype == np.dtype(dtype)
    return [a.asnumpy() for a in (y, *(a.grad for a in given))]


def compare(found, expected, rtol=1e-5):
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


SHAPES = [{}, {"queries": 8}, {"e": 5}, {"queries": 1}, {"keys": 1}, {"queries": 9, "keys": 4}]


@pytest.mark.parametrize(**WITH_AND_WITHOUT)
@pytest.mark.parametrize("dtype, rtol", [("float32", 2e-5), ("float64", 1e-11)])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_beside_the_composition(sizes, causal, dtype, rtol, formula):
    given = arrays(**sizes)
    found = results(scaled_dot_product_attention, given, dtype=dtype, causal=causal, scale=0.7)
    compare(found, plain(*given, causal=causal, scale=0.7), rtol)


@pytest.mark.parametrize(**WITH_AND_WITHOUT)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [0.0, -0.7])
def test_scales_that_are_not_positive(scale, causal, formula):
    given = arrays(queries=8)
    found = results(scaled_dot_product_attention, given, causal=causal, scale=scale)
    compare(found, plain(*given, causal=causal, scale=scale), 2e-5)


@pytest.mark.parametrize(**WITH_AND_WITHOUT)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("kind", ["keys", "lengths"])
def test_masks(kind, dtype, causal, formula):
    """Of one sample all keys are left out: its output and gradients are 0."""
    if dtype == "bool" and (kind == "lengths" or engine.name() == "mxnet"):
        pytest.skip("a number of keys is no bool; MXNet's arrays have no bool")
    given, lengths = arrays(batch=4), np.array([8, 3, 0, 1])
    allowed = np.arange(8) < lengths[:, None]
    if kind == "keys":
        allowed = allowed & (np.arange(8) != 1)  # any of them
    mask = nd.array(allowed if kind == "keys" else lengths, dtype=dtype)
    found = results(scaled_dot_product_attention, given, [mask], causal=causal)
    compare(found, plain(*given, allowed, causal))
    assert all((a[2] == 0).all() for a in found)


@pytest.mark.parametrize(**WITH_AND_WITHOUT)
def test_queries_before_all_keys_attend_to_none(formula):
    given = arrays(queries=9, keys=4)
    y, dq, *_ = results(scaled_dot_product_attention, given, causal=True)
    assert (y[:, :, :5] == 0).all() and (dq[:, :, :5] == 0).all() and (y[:, :, 5:] != 0).all()


@pytest.mark.parametrize(**WITH_AND_WITHOUT)
@pytest.mark.parametrize("dtype, rtol", [("float16", 2e-3), ("bfloat16", 2e-2)])
def test_16_bits(dtype, rtol, formula):
    if dtype == "bfloat16" and engine.name() == "mxnet":
        pytest.skip("MXNet has no bfloat16")
    given = [nd.array(a, dtype=dtype).astype("float64").asnumpy() for a in arrays()]
    found = [nd.array(a, dtype=dtype) for a in given]
    for a in found:
        a.attach_grad()
    with autograd.record():
        y = scaled_dot_product_attention(*found, causal=True)
    y.backward(nd.array(head(y.shape), dtype=dtype))
    compare(
        [a.astype("float64").asnumpy() for a in (y, *(a.grad for a in found))],
        plain(*given, causal=True),
        3 * rtol,
    )


@pytest.mark.parametrize(**WITH_AND_WITHOUT)
def test_large_scores_give_no_nan(formula):
    given = arrays(scale=1e4)
    found = results(scaled_dot_product_attention, given, causal=True)
    assert all(np.isfinite(a).all() for a in found)
    compare(found[:1], plain(*given, causal=True)[:1], 1e-3)


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
@pytest.mark.parametrize(**WITH_AND_WITHOUT)
def test_second_derivatives(formula):
    def penalty(function):
        given = [nd.array(a, dtype="float64") for a in arrays(queries=8)]
        for a in given:
            a.attach_grad()
        with autograd.record():
            y = function(*given)
            (dq,) = autograd.grad((y * y * y).sum(), [given[0]], create_graph=True)
            value = (dq * dq).sum()
        value.backward()
        return [a.grad.asnumpy() for a in given]

    def composition(q, k, v):
        s = nd.linalg_gemm2(q, k, transpose_b=True) / 2
        later = nd.array(np.triu(np.full((8, 8), -1e30), 1), dtype="float64").reshape((1, 1, 8, 8))
        return nd.linalg_gemm2(nd.softmax(nd.broadcast_add(s, later), axis=-1), v)

    compare(
        penalty(lambda *a: scaled_dot_product_attention(*a, causal=True)),
        penalty(composition),
        1e-9,
    )


@pytest.mark.engine("torch")  # MXNet tells of it at a later call
@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3, 4), (2, 3, 4), (2, 3, 4)],
        [(2, 3, 4, 5), (2, 3, 4, 6), (2, 3, 4, 5)],
        [(2, 3, 4, 5), (2, 2, 4, 5), (2, 2, 4, 5)],
        [(2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 4, 5)],
        [(2, 3, 4, 5), (2, 3, 4, 5), (2, 3, 4, 5), (2, 5)],
        [(2, 3, 4, 5), (2, 3, 0, 5), (2, 3, 0, 5)],
    ],
)
def test_wrong_shapes(shapes):
    with pytest.raises(ValueError) as caught, mx.util.np_shape():
        scaled_dot_product_attention(*[nd.zeros(s) for s in shapes])
    told = str(caught.value)
    assert f"q is {shapes[0]}, k is {shapes[1]}, v is {shapes[2]}" in told
    assert "expected q (batch, heads, queries, d), k (batch, heads, keys, d)" in told


@pytest.mark.engine("torch")
@pytest.mark.parametrize("sizes", [(1024, 1024), (1024, 700)])
def test_the_formula_makes_no_array_of_all_scores(sizes):
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    made = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            found = function(*args, **(kwargs or {}))
            if isinstance(found, torch.Tensor):
                made.append(found.numel())
            return found

    queries, keys = sizes
    given = arrays(2, 2, queries, keys)
    with Watch(), kernels(False):
        results(scaled_dot_product_attention, given, [nd.array([keys, 300])])
    assert max(made) <= module.BLOCK / 4 < 2 * 2 * queries * keys / 8


PEAK = """
def attention(length):
    q, k, v = given = [nd.full((1, 8, length, 64), 0.1) for _ in range(3)]
    return step(given, lambda: ops.scaled_dot_product_attention(q, k, v, causal=True))


attention(64)
print(attention(2048))
"""


@pytest.mark.engine("torch")
def test_the_peak_of_memory():
    """The output and the gradients take 16 MB, the matrix of scores takes 134 MB."""
    found = peak_of(PEAK)
    assert found < 40, found  # 25 MB


# Blocks


@pytest.mark.parametrize("options", each())
@pytest.mark.parametrize("mask", [None, [8, 3]])
def test_a_block(mask, options, caplog):
    caplog.set_level("INFO", "layers")
    block, given = ScaledDotProductAttention(causal=True), arrays(queries=8)
    masks = [] if mask is None else [nd.array(mask)]
    allowed = None if mask is None else np.arange(8) < np.array(mask)[:, None]
    if options is not None:
        block.hybridize(**options)
    for _ in range(3):
        compare(results(block, given, masks), plain(*given, allowed, True))
    warned = [r for r in caplog.records if r.name.startswith("layers") and r.levelno > 20]
    assert not (engine.compiles() and warned)


def started(block):
    mx.random.seed(1)
    block.initialize(mx.init.Xavier())
    return block


def by_hand(block, x, memory, allowed=None):
    """The layer's formula of its own parameters, in NumPy."""
    heads = block._heads

    def dense(layer, x):
        return x @ layer.weight.data().asnumpy().T + layer.bias.data().asnumpy()

    def split(x):
        return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)

    layers = zip((block.query, block.key, block.value), (x, memory, memory))
    y = plain(*[split(dense(layer, a)) for layer, a in layers], allowed)[0]
    return dense(block.out, y.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1))


@pytest.mark.parametrize("options", each())
def test_multi_head_attention(options):
    random = np.random.RandomState(3)
    x, memory = random.randn(2, 5, 6), random.randn(2, 4, 3)
    itself, cross = (
        started(MultiHeadAttention(0, 8, num_heads=2)),
        started(MultiHeadAttention(0, 8, num_heads=4)),
    )
    masked, lengths = started(MultiHeadAttention(0, 8, num_heads=4)), nd.array([5, 2])
    for block in (itself, cross, masked):
        for layer in (block.query, block.key, block.value, block.out):
            layer.bias.set_data(nd.array(random.randn(8)))
        if options is not None:
            block.hybridize(**options)
    a, b = nd.array(x), nd.array(memory)
    for _ in range(2):
        compare([itself(a).asnumpy()], [by_hand(itself, x, x)], 1e-4)
        compare([cross(a, b).asnumpy()], [by_hand(cross, x, memory)], 1e-4)
        allowed = np.arange(5) < np.array([5, 2])[:, None]
        compare([masked(a, a, lengths).asnumpy()], [by_hand(masked, x, x, allowed)], 1e-4)


def test_causal_attention_does_not_see_what_follows():
    block = started(MultiHeadAttention(8, 8, num_heads=2, causal=True))
    x = np.random.RandomState(3).randn(2, 5, 8)
    first = block(nd.array(x)).asnumpy()
    x[:, 3:] += 1
    second = block(nd.array(x)).asnumpy()
    np.testing.assert_allclose(first[:, :3], second[:, :3], rtol=1e-6)
    assert (first[:, 3:] != second[:, 3:]).any()


@pytest.mark.parametrize("way", ["eager", "plain"])
@pytest.mark.parametrize(
    "shapes, told",
    [
        ([(4, 8)], r"x is \(4, 8\)\n  expected x \(batch, length, size\).* is a batch of one"),
        ([(2, 3, 4, 8)], r"x is \(2, 3, 4, 8\)\n"),
        ([(2, 3, 8), (3, 8)], r"x is \(2, 3, 8\), memory is \(3, 8\)\n"),
        ([(2, 3, 8), (3, 4, 8)], r"memory is \(3, 4, 8\)\n"),
        ([(2, 3, 8), (2, 3, 8), (3,)], r"mask is \(3,\)\n"),
    ],
)
def test_inputs_of_other_shapes(shapes, told, way):
    net = gluon.nn.HybridSequential() if len(shapes) == 1 and way == "eager" else None
    block = started(MultiHeadAttention(0, 8, num_heads=2))
    if way == "plain":
        block.hybridize()
    if net is not None:  # the check is there where a net calls the block, too
        net.add(block)
    with pytest.raises(ValueError, match=f"MultiHeadAttention: .*{told}"):
        (net or block)(*[nd.ones(s) for s in shapes])


def test_names_repr_and_mistakes():
    block = MultiHeadAttention(6, 8, num_heads=2, prefix="m_")
    names = [f"m_{n}_{p}" for n in ("query", "key", "value", "out") for p in ("weight", "bias")]
    assert list(block.collect_params()) == names
    assert repr(block) == "MultiHeadAttention(6 -> 8, 2 heads)"
    assert repr(ScaledDotProductAttention()) == "ScaledDotProductAttention()"
    assert repr(ScaledDotProductAttention(causal=True, scale=0.5)) == (
        "ScaledDotProductAttention(causal=True, scale=0.5)"
    )
    with pytest.raises(
        ValueError, match="channels is 8, num_heads is 3\n  expected channels that are a"
    ):
        MultiHeadAttention(0, 8, num_heads=3)
    assert isinstance(block, gluon.HybridBlock)


@pytest.mark.parametrize("hybridize", [False, True])
def test_inputs_by_name(hybridize):
    x, lengths = nd.array(np.random.RandomState(3).randn(2, 5, 8)), nd.array([5, 2])
    block, plain_block = started(MultiHeadAttention(0, 8, num_heads=2)), ScaledDotProductAttention()
    for each_block in (block, plain_block):
        each_block.hybridize(hybridize)
    expected = block(x, x, lengths).asnumpy()
    np.testing.assert_array_equal(block(x=x, memory=x, mask=lengths).asnumpy(), expected)
    heads = x.reshape((2, 1, 5, 8))
    expected = plain_block(heads, heads, heads, lengths).asnumpy()
    found = plain_block(q=heads, k=heads, v=heads, mask=lengths).asnumpy()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_mask_without_a_memory(hybridize):
    x, lengths = nd.array(np.random.RandomState(3).randn(2, 5, 8)), nd.array([5, 2])
    block = started(MultiHeadAttention(0, 8, num_heads=2))
    expected = block(x, x, lengths).asnumpy()
    block.hybridize(hybridize)
    np.testing.assert_allclose(block(x, mask=lengths).asnumpy(), expected, rtol=1e-5)


def test_inputs_that_there_are_not():
    block, x = started(MultiHeadAttention(0, 8, num_heads=2)), nd.ones((2, 5, 8))
    with pytest.raises(
        TypeError,
        match="Attention: it has no input '(query|key|value)'\n  expected "
        "x, memory=None, mask=None",
    ):
        block(query=x, key=x, value=x)
    with pytest.raises(TypeError, match="MultiHeadAttention: it is given 4 inputs\n  expected x"):
        block(x, x, x, x)
    with pytest.raises(TypeError, match="ScaledDotProductAttention: v is missing\n  expected q, k"):
        ScaledDotProductAttention()(x, x)


def test_shapes_of_values_that_are_not_known():
    y = scaled_dot_product_attention(*map(sym.var, "qkv"))
    (q, *_), (found,), _ = y.infer_shape_partial(q=(2, 2, 3, 4))
    assert q == (2, 2, 3, 4) and not found
    (found,) = y.infer_shape_partial(q=(2, 2, 3, 4), k=(2, 2, 5, 4), v=(2, 2, 5, 6))[1]
    assert found == (2, 2, 3, 6)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("length", [9, -1, 2.5])
def test_lengths_that_no_keys_have(length, hybridize):
    x, lengths = nd.random.normal(shape=(2, 3, 8)), nd.array([3, length])
    single, several = ScaledDotProductAttention(), started(MultiHeadAttention(0, 8, num_heads=2))
    for block, given in (single, [x.expand_dims(1)] * 3), (several, [x, x]):
        block.hybridize(hybridize)
        block(*given, nd.array([3, 0]))
        told = rf"mask has {length}.*\n  expected .* from 0 to 3, the number of keys"
        with pytest.raises(IndexError, match=told):
            block(*given, lengths)
