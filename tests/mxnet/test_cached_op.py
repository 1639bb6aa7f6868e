"""`nd.CachedOp`: a graph as a function of arrays."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def call(mx):
    x, w = mx.sym.var("x"), mx.sym.var("w")
    return mx.nd.CachedOp(x * w + 1)


def test_a_graph_is_called(mx, call):
    x, w = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    assert call(x, w).asnumpy().tolist() == [4, 9]
    out = mx.nd.zeros(2)
    call(x, w, out=out)
    assert out.asnumpy().tolist() == [4, 9]
    assert call(mx.nd.ones((2, 1)), mx.nd.ones((2, 1))).shape == (2, 1)


def test_several_outputs(mx):
    x = mx.sym.var("x")
    both = mx.nd.CachedOp(mx.sym.Group([x + 1, 2 * x]))(mx.nd.array([3]))
    assert [y.asscalar() for y in both] == [4, 6]


@pytest.mark.engine("torch")
def test_a_graph_without_variables(mx):
    call = mx.nd.CachedOp(mx.sym.ones((2, 3)))
    assert call().asnumpy().tolist() == [[1, 1, 1]] * 2 and call().context == mx.cpu(0)
    assert call(default_ctx=mx.cpu(1)).context == mx.cpu(1)
    with mx.cpu(2):
        assert call().context == mx.cpu(2)


def test_gradients(mx, call):
    x, w = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    for each in (x, w):
        each.attach_grad()
    with mx.autograd.record():
        y = call(x, w) * 2
    y.backward()
    assert x.grad.asnumpy().tolist() == [6, 8] and w.grad.asnumpy().tolist() == [2, 4]


@pytest.mark.engine("torch")
def test_it_is_a_part_of_the_graph_that_was_recorded(mx, call):
    x, w = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.exp(call(x, w))
    assert len(mx.autograd.get_symbol(y).list_arguments()) == 2


@pytest.mark.engine("torch")
def test_wrong_arrays_are_refused(mx, call):
    with pytest.raises(mx.MXNetError, match=r"called with \(NDArray\)\n  expected .*'x', 'w'"):
        call(mx.nd.ones(2))
    with pytest.raises(mx.MXNetError, match="float"):
        call(mx.nd.ones(2), 3.0)


def test_an_array_s_state(mx):
    """As old pickles have it."""
    x = mx.nd.array(np.arange(6).reshape(2, 3))
    y = mx.nd.zeros(1)
    y.__setstate__(x.__getstate__())
    assert y.asnumpy().tolist() == x.asnumpy().tolist() and y.dtype == np.float32


def test_keys_of_contiguous_memory(mx):
    is_contiguous = mx.nd.NDArray._basic_indexing_slice_is_contiguous
    assert is_contiguous((slice(1, 2), slice(None)), (3, 4))
    assert is_contiguous((slice(2, 3), slice(1, 3)), (3, 4))
    assert not is_contiguous((slice(None), slice(1, 3)), (3, 4))
    assert not is_contiguous((slice(None, None, -1), slice(None)), (3, 4))
