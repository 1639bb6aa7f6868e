"""Bags of embeddings: beside NumPy, padding, offsets, weights, memory, in graphs."""

from contextlib import nullcontext

import numpy as np
import pytest
from peak import peak_of
from ways import each

from layers import EmbeddingBag, engine, kernels
from layers.check import check_operator
from layers.engine import autograd, gluon, mx, nd
from layers.ops import embedding_bag, row_numbers

IDS = np.array([[1, 3, 3], [0, 6, -1], [-1, -1, -1], [5, -1, 1]])  # -1 is padding
STARTS = np.array([0, 3, 3, 5])
RANDOM = np.random.RandomState(0)
W, WEIGHTS, HEAD = RANDOM.randn(7, 4), RANDOM.uniform(0.5, 2, IDS.shape), RANDOM.randn(4, 4)


@pytest.fixture(params=["kernel", "formula"])
def formula(request):
    """The kernel, and the formula in its place; MXNet has the formula alone."""
    with kernels(request.param == "kernel"):
        yield


def expected(bags, weights, mode):
    """y, dw and the gradients of the weights, in NumPy, bag by bag."""
    y, dw, dweights = np.zeros((len(bags), 4)), np.zeros(W.shape), []
    for i, (bag, factors) in enumerate(zip(bags, weights)):
        size = max(1, sum(j != -1 for j in bag)) if mode == "mean" else 1
        for j, factor in zip(bag, factors):
            known = j != -1
            y[i] += known * factor * W[j] / size
            dw[j] += known * factor * HEAD[i] / size
            dweights.append(known * (W[j] * HEAD[i]).sum())
    return y, dw, dweights


def results(given, weights=None, dtype="float32", **attributes):
    w = nd.array(W, dtype=dtype)
    arrays = [w] if weights is None else [w, weights]
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        y = embedding_bag(w, *given, weights=weights, **attributes)
    y.backward(nd.array(HEAD, dtype=dtype))
    return [y, *(a.grad for a in arrays)]


def compare(found, wanted, rtol=1e-5):
    for a, b in zip(found, wanted):
        a = a.astype("float64").asnumpy()
        np.testing.assert_allclose(a.ravel(), np.ravel(b), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("kind", ["float32", "int32"])
@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("dtype, rtol", [("float32", 1e-5), ("float64", 1e-12), ("float16", 4e-3)])
def test_rows_of_ids(mode, kind, dtype, rtol, formula):
    ids, ones = nd.array(IDS, dtype=kind), np.ones(IDS.shape)
    found = results([ids], dtype=dtype, mode=mode, padding=-1)
    assert {a.dtype for a in found} == {np.dtype(dtype).type}
    compare(found, expected(IDS, ones, mode), rtol)
    full = np.abs(IDS)
    compare(results([nd.array(full, dtype=kind)], mode=mode), expected(full, ones, mode))


@pytest.mark.parametrize("dtype, rtol", [("float32", 1e-5), ("float16", 4e-3)])
def test_weights(dtype, rtol, formula):
    found = results([nd.array(IDS)], nd.array(WEIGHTS, dtype=dtype), dtype, padding=-1)
    compare(found, expected(IDS, WEIGHTS, "sum"), rtol)
    assert found[2].shape == IDS.shape


def test_a_row_that_many_ids_name_has_its_whole_gradient_in_16_bits(formula):
    w = nd.ones((2, 4), dtype="float16")
    w.attach_grad()
    with autograd.record():
        y = embedding_bag(w, nd.zeros((4, 3000)))
    y.backward()
    assert (w.grad.asnumpy() == [[12000] * 4, [0] * 4]).all()


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("starts", [STARTS, [0, 2, 4, 6], [0, 0, 6, 6]])
def test_offsets(starts, mode, formula):
    ids = np.array([1, 3, 3, 0, 6, 3])
    bags = np.split(ids, starts[1:])
    ones = [np.ones(len(bag)) for bag in bags]
    found = results([nd.array(ids), nd.array(starts)], mode=mode)
    compare(found, expected(bags, ones, mode))
    if mode == "sum":
        weights = np.split(WEIGHTS.ravel()[:6], starts[1:])
        given = [nd.array(ids), nd.array(starts, dtype="int32")]
        found = results(given, nd.array(WEIGHTS.ravel()[:6]))
        compare(found, expected(bags, weights, "sum"))


OUTSIDE = [
    ([[[0, 7]]], IndexError, "ids have 7\n  expected numbers of rows of w, 0 to 6, or `padd"),
    ([[[0, -1]]], IndexError, "ids have -1\n"),
    ([[[0, 1.5]]], IndexError, "ids have a number that is not whole\n"),
    ([[[0, np.nan]]], IndexError, "ids have a number that is not whole\n"),
    ([[0, 1, 2], [0, 2, 1]], ValueError, "offsets are not in ascending order from 0, or exc"),
    ([[0, 1, 2], [0, 1.5, 2]], ValueError, "offsets are not in ascending order from 0, or exc"),
    ([[0, 1, 2], [1, 2, 3]], ValueError, "exceed the 3 ids\n  expected where each bag begins"),
    ([[0, 1, 2], [0, 2, 9]], ValueError, "offsets"),
    ([[0, 1, 2], [0, 2**24, 1]], ValueError, "offsets"),
]


class Around(gluon.HybridBlock):
    """A net around a block, which sees no arrays in its graph."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def hybrid_forward(self, F, *inputs):
        return self.block(*inputs)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("options", each())
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("given, error, told", OUTSIDE)
def test_ids_and_offsets_that_lie_outside(given, error, told, dtype, options):
    arrays = [nd.array(a) for a in given]
    block = Around(EmbeddingBag(7, 4, dtype=dtype))
    block.initialize()
    if options is None:
        with pytest.raises(error, match=told):
            embedding_bag(nd.ones((7, 4), dtype=dtype), *arrays)
        return
    block.hybridize(**options)
    if options:  # in which the check is a part of the graph, whose error is PyTorch's own
        right = [[[0, 1]]] if len(given) == 1 else [[0, 1, 2], [0, 1, 3]]
        for _ in range(3):
            block(*[nd.array(a) for a in right])
        error, told = RuntimeError, "a number of no row|not in ascending order"
    with pytest.raises(error, match=told):
        block(*arrays).wait_to_read()


@pytest.mark.parametrize("options", each("compiled"))
@pytest.mark.parametrize(
    "given, error, told",
    [
        ([[[0, 7]]], IndexError, r"ids has 7\.0\n  expected whole numbers from 0 to 6"),
        ([[[0, -2]]], IndexError, "ids has -2"),
        ([[[0, 1.5]]], IndexError, r"ids has 1\.5"),
        ([[[0, np.nan]]], IndexError, "ids has nan"),
        ([[0, 1, 2], [0, 2, 1]], ValueError, r"offsets are \[0. 2. 1.\] for 3 ids\n  expect"),
        ([[0, 1, 2], [1, 2, 3]], ValueError, "offsets are .*\n.*, from 0 to at most 3"),
        ([[0, 1, 2], [0, 1.5, 2]], ValueError, r"offsets are \[0.  1.5 2. \] for 3"),
        ([[0, 1, 2], [0, 2, 9]], ValueError, "offsets"),
    ],
)
def test_ids_and_offsets_that_a_block_refuses(given, error, told, options):
    block = EmbeddingBag(7, 4)
    block.initialize()
    if options is not None:
        block.hybridize(**options)
    with pytest.raises(error, match=f"EmbeddingBag: {told}"):
        block(*[nd.array(a) for a in given])
    padded = EmbeddingBag(7, 4, padding=-1)
    padded.initialize()
    with pytest.raises(IndexError, match="has 9.0\n  expected whole .* 0 to 6, or padding -1"):
        padded(nd.array([[-1, 9]]))


@pytest.mark.parametrize("hybridize", [False, True])
def test_inputs_by_name(hybridize):
    ids, weights = nd.array(IDS), nd.array(WEIGHTS)
    blocks = [EmbeddingBag(7, 4, padding=-1) for _ in range(2)]
    for block in blocks:
        block.initialize(mx.init.One())
        block.hybridize(hybridize)
    found, wanted = blocks[0](ids, weights=weights), blocks[1](ids, None, weights)
    np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())
    with pytest.raises(TypeError, match="no input 'bags'\n  expected ids, offsets=None, weights"):
        blocks[0](ids, bags=weights)


@pytest.mark.parametrize("starts", [[0, 2, 1], [1, 2, 3], [0, 2, 9], [-1, 0, 1]], ids=str)
@pytest.mark.engine("mxnet")  # with PyTorch on a CPU they are an error
def test_offsets_in_another_order_read_nothing_else(starts):
    """Each id is of one bag, whichever; Apache MXNet would end the process."""
    w = nd.array(W)
    w.attach_grad()
    with autograd.record():
        y = embedding_bag(w, nd.array([0, 1, 2]), nd.array(starts))
    y.backward()
    np.testing.assert_allclose(y.sum(axis=0).asnumpy(), W[:3].sum(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(w.grad.asnumpy()[:, 0], [1, 1, 1, 0, 0, 0, 0])


@pytest.mark.engine("mxnet")  # with PyTorch on a CPU they are an error
def test_ids_outside_name_the_nearest_row():
    y = results([nd.array([[-5, 9], [0, 6], [0, 0], [6, 6]])])[0].asnumpy()
    np.testing.assert_allclose(y[0], W[0] + W[6], rtol=1e-5)
    np.testing.assert_allclose(y[0], y[1])


@pytest.mark.engine("torch")  # MXNet has no second derivative of custom operators
@pytest.mark.parametrize("weighted", [False, True])
def test_second_derivatives(weighted):
    def penalty(function):
        w, weights = nd.array(W, dtype="float64"), nd.array(WEIGHTS, dtype="float64")
        w.attach_grad(), weights.attach_grad()
        with autograd.record():
            y = function(w, nd.array(np.abs(IDS)), weights)
            (dw,) = autograd.grad((y * y * y).sum(), [w], create_graph=True)
            value = (dw * dw).sum()
        value.backward()
        return [w.grad.asnumpy(), weights.grad.asnumpy()]

    def composition(w, ids, weights):
        rows = nd.take(w, ids)
        rows = rows * weights.expand_dims(2) if weighted else rows
        return nd.sum(rows, axis=1)

    def ours(w, ids, weights):
        return embedding_bag(w, ids, weights=weights if weighted else None)

    for a, b in zip(penalty(ours), penalty(composition)):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.engine("torch")
def test_no_array_of_all_rows():
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    made = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            found = function(*args, **(kwargs or {}))
            made.extend(t.numel() for t in [found] if isinstance(t, torch.Tensor))
            return found

    w, ids = nd.ones((50, 64)), nd.array(np.arange(400).reshape(8, 50) % 50)
    w.attach_grad()
    with Watch(), autograd.record():
        y = embedding_bag(w, ids)
    with Watch():
        y.backward()
    assert max(made) == 50 * 64 < 400 * 64  # the gradient


@pytest.mark.engine("torch")  # MXNet tells of it at a later call
@pytest.mark.parametrize(
    "shapes, attributes, told",
    [
        (
            [(4, 3), (5,)],
            {},
            r"w is \(4, 3\), ids is \(5,\).*\n  expected w \(m, d\), and ids \(n, k",
        ),
        ([(4, 3), (2, 5), (2,)], {}, r"ids is \(2, 5\), offsets is \(2,\)"),
        ([(4, 3), (5,), (2,)], {"padding": 1}, "padding is 1\n  expected offsets .*no padding"),
        ([(4, 3), (2, 5)], {"mode": "max"}, "mode is 'max'.*\n  expected the mode 'sum' or 'mean'"),
        ([(4, 3), (2, 5), None, (5,)], {}, r"weights is \(5,\).*\n  expected weights of the shape"),
        (
            [(4, 3), (2, 5), None, (2, 5)],
            {"mode": "mean"},
            "expected weights .* for the mode 'sum'",
        ),
    ],
)
def test_wrong_arguments(shapes, attributes, told):
    with pytest.raises(ValueError, match=told):
        embedding_bag(*[None if s is None else nd.zeros(s) for s in shapes], **attributes)


# The block


@pytest.mark.parametrize("options", each())
def test_a_block(options):
    ids = np.array([1, 3, 3, 0, 6, 3])
    bags = np.split(ids, STARTS[1:])
    ones, weights = [[1] * 6] * 4, np.split(WEIGHTS.ravel()[:6], STARTS[1:])
    calls = [
        ({"mode": "mean", "padding": -1}, [IDS], expected(IDS, np.ones(IDS.shape), "mean")),
        ({"mode": "mean"}, [ids, STARTS], expected(bags, ones, "mean")),
        ({}, [ids, STARTS, WEIGHTS.ravel()[:6]], expected(bags, weights, "sum")),
        ({"padding": -1}, [IDS, None, WEIGHTS], expected(IDS, WEIGHTS, "sum")),
    ]
    for attributes, given, wanted in calls:
        block = EmbeddingBag(7, 4, **attributes)
        block.initialize()
        block.weight.set_data(nd.array(W))
        if options is not None:
            block.hybridize(**options)
        arrays = [None if a is None else nd.array(a) for a in given]
        for _ in range(3):
            with autograd.record():
                y = block(*arrays)
            y.backward(nd.array(HEAD))
        compare([y, block.weight.grad()], wanted)


SPARSE = [
    ({}, (IDS.clip(0),)),
    ({"padding": -1, "mode": "mean"}, (IDS,)),
    ({"padding": 1}, (IDS.clip(0),)),  # a number that the rows of ids have, too
    ({"mode": "mean"}, (IDS.ravel().clip(0), STARTS)),
    ({"padding": -1}, (IDS, None, WEIGHTS)),
]


@pytest.mark.parametrize("options", each())
@pytest.mark.parametrize("attributes, given", SPARSE)
def test_a_sparse_gradient_is_that_of_a_dense_one(attributes, given, options):
    trained = []
    for sparse_grad in (False, True):
        block = EmbeddingBag(7, 4, sparse_grad=sparse_grad, **attributes)
        block.initialize()
        block.weight.set_data(nd.array(W))
        if options is not None:
            block.hybridize(**options)
        trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1})
        for _ in range(3):
            with autograd.record():
                y = block(*[None if a is None else nd.array(a) for a in given])
                loss = (y * nd.array(HEAD)).sum()
            loss.backward()
            gradient = block.weight.grad()
            trainer.step(1)
        assert gradient.stype == ("row_sparse" if sparse_grad else "default")
        trained.append([a.asnumpy() for a in (y, gradient, block.weight.data())])
    for found, wanted in zip(*trained):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("sparse_grad", [False, True])
@pytest.mark.parametrize("options", each())
def test_ids_that_are_no_row_are_refused_inside_a_graph(options, sparse_grad):
    net = gluon.nn.HybridSequential()
    net.add(EmbeddingBag(7, 4, padding=-1, sparse_grad=sparse_grad))
    net.initialize()
    if options is not None:
        net.hybridize(**options)
    for ids in ([[1, 9]], [[1, 1.5]], [[1, -3]], [[1, np.nan]]):
        for training in (False, True, True, True):
            for given, expected in ([[1, -1]], nullcontext()), (ids, pytest.raises(IndexError)):
                with expected, autograd.record() if training else nullcontext():
                    y = net(nd.array(given))
            if training:
                y.backward()


@pytest.mark.engine("torch")
def test_a_graph_tells_that_an_id_is_not_whole():
    net = gluon.nn.HybridSequential()
    net.add(EmbeddingBag(7, 4))
    net.initialize()
    net.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        net(nd.array([[1, 2]]))
    with pytest.raises(RuntimeError, match="ids have a number of no row, expected 0 to 6"):
        net(nd.array([[1, 2.5]]))


def test_numbers_of_rows():
    check_operator(row_numbers, IDS, rows=7, padding=-1).raise_on_failure()
    given = nd.array([[0, 6, -1]], dtype="int32")
    found = row_numbers(given, rows=7, padding=-1)
    assert found.dtype == np.int32 and found.asnumpy().tolist() == [[0, 6, 0]]
    if engine.name() == "torch":
        with pytest.raises(IndexError, match="ids have -1\n  expected whole numbers from 0 to 6"):
            row_numbers(given, rows=7)
    else:
        assert row_numbers(given, rows=3).asnumpy().tolist() == [[0, 2, 0]]


def test_an_optimizer_leaves_the_rows_that_no_id_names():
    block = EmbeddingBag(7, 4, sparse_grad=True)
    block.initialize()
    block.weight.set_data(nd.array(W))
    trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1, "wd": 0.5})
    with autograd.record():
        loss = block(nd.array([[1, 3], [3, 6]])).sum()
    loss.backward()
    trainer.step(1)
    assert block.weight.grad().indices.asnumpy().tolist() == [1, 3, 6]
    left = [0, 2, 4, 5]
    found = block.weight.data().asnumpy()
    np.testing.assert_array_equal(found[left], W[left].astype("float32"))
    assert (found[[1, 3, 6]] != W[[1, 3, 6]].astype("float32")).all()


PEAK = """
from layers import EmbeddingBag
from layers.mxnet import gluon

block = EmbeddingBag(1000000, 64, sparse_grad=True)
block.initialize("zeros")
trainer = gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.1})
ids = nd.arange(1000).reshape((100, 10)) * 997


def train():
    with autograd.record():
        y = block(ids)
    y.backward()
    trainer.step(1)
    block.weight.data().wait_to_read()


train()
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
for _ in range(3):
    train()
print((status("VmHWM") - before) / 1e6)
"""


@pytest.mark.engine("torch")
def test_a_sparse_gradient_makes_no_array_of_the_size_of_the_table():
    """The table takes 256 MB."""
    found = peak_of(PEAK)
    assert found < 20, found


def test_names_repr_and_mistakes():
    block = EmbeddingBag(7, 4, mode="mean", prefix="bag_")
    assert list(block.collect_params()) == ["bag_weight"]
    assert repr(block) == "EmbeddingBag(7 -> 4, mean)"
    block.initialize(mx.init.One())
    assert block(nd.array([[1, 2]])).asnumpy().tolist() == [[1, 1, 1, 1]]
    with pytest.raises(ValueError, match="mode is 'max'\n  expected 'sum' or 'mean'"):
        EmbeddingBag(7, 4, mode="max")
    with pytest.raises(ValueError, match="input_dim is 0"):
        EmbeddingBag(0, 4)
