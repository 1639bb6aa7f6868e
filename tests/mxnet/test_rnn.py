"""The operator RNN beyond its cases: names in graphs, lengths of sequences, gradients, errors."""

import numpy as np
import pytest

from layers.engine import autograd, mx, nd

sym = mx.sym
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
each_mode = pytest.mark.parametrize("mode", GATES)
with_projection = pytest.mark.parametrize(
    "mode, projection", [*((mode, None) for mode in GATES), ("lstm", 3)], ids=str
)
both_directions = pytest.mark.parametrize("bidirectional", [False, True], ids=["", "bidirectional"])


def arrays(mode, bidirectional, steps=4, layers=2, projection=None, dtype="float32"):
    """data, parameters and states for 3 sequences of size 2, and the attributes of the operator."""
    random, directions = np.random.RandomState(0), 1 + bidirectional
    size, h = 5, projection or 5
    count = sum(
        directions * (GATES[mode] * size * (k + h + 2) + (projection or 0) * size)
        for k in [2] + [directions * h] * (layers - 1)
    )
    shapes = [(steps, 3, 2), (count,), (layers * directions, 3, h)]
    shapes += [(layers * directions, 3, size)] * (mode == "lstm")
    given = {"mode": mode, "bidirectional": bidirectional, "state_size": size, "num_layers": layers}
    given |= {"state_outputs": True} | ({"projection_size": projection} if projection else {})
    return [nd.array(random.uniform(-1, 1, s), dtype=dtype) for s in shapes], given


@pytest.mark.parametrize("lengths", [False, True], ids=["", "lengths"])
@each_mode
def test_symbol(mode, lengths):
    given = {"mode": mode, "state_size": 5, "num_layers": 2, "bidirectional": True}
    s = sym.RNN(sym.var("x"), name="n", use_sequence_length=lengths, **given)
    cell = ["n_state_cell"] if mode == "lstm" else []
    length = ["n_sequence_length"] if lengths else []
    assert s.list_arguments() == ["x", "n_parameters", "n_state", *cell, *length]
    assert s.list_outputs() == ["n_output"]
    shapes, outputs, _ = s.infer_shape(x=(4, 3, 2))
    size = 2 * 5 * GATES[mode] * ((2 + 5 + 2) + (10 + 5 + 2))
    states = [(4, 3, 5)] * (1 + len(cell))
    assert shapes == [(4, 3, 2), (size,), *states, *[(3,)] * lengths]
    assert outputs == [(4, 3, 10)]
    s = sym.RNN(sym.var("x"), name="n", state_outputs=True, **given)
    ends = ["n_state_output", "n_statecell_output"][: len(states)]
    assert s.list_outputs() == ["n_output", *ends]
    assert s.infer_shape(x=(4, 3, 2))[1] == [(4, 3, 10), *states]


def test_shapes_of_parts_are_told():
    parts = [sym.var("w", shape=(15, 0)), sym.var("r", shape=(15, 5)), sym.var("b", shape=(30,))]
    packed = sym._internal._rnn_param_concat(*[p.reshape(-1) for p in parts], dim=0)
    zeros = sym.zeros((1, 0, 5))
    s = sym.RNN(sym.var("x"), packed, zeros, mode="gru", state_size=5, num_layers=1, name="n")
    assert dict(zip(s.list_arguments(), s.infer_shape(x=(4, 3, 2))[0]))["w"] == (15, 2)
    executor = s.simple_bind(mx.cpu(), x=(4, 3, 2))
    assert executor.forward()[0].shape == (4, 3, 5)  # states of no sequences are zeros for all


@pytest.mark.engine("torch")  # MXNet computes all steps of all sequences on a CPU, and says nothing
@both_directions
@with_projection
def test_lengths(mode, projection, bidirectional):
    inputs, given = arrays(mode, bidirectional, projection=projection)
    lengths = [2, 4, 1]
    for array in inputs:
        array.attach_grad()
    with autograd.record():
        length = nd.array(lengths)
        y, *ends = nd.RNN(*inputs, sequence_length=length, use_sequence_length=True, **given)
        sum((v * v).sum() for v in (y, *ends)).backward()
    found = [array.grad.asnumpy() for array in inputs]
    assert not found[0][2:, 0].any() and not y[1:, 2].asnumpy().any()
    with autograd.record():
        total = nd.zeros((1,))
        for i, steps in enumerate(lengths):
            data, parameters, *states = inputs
            one = [s[:, i : i + 1] for s in states]
            alone, *alone_ends = nd.RNN(data[:steps, i : i + 1], parameters, *one, **given)
            np.testing.assert_allclose(y.asnumpy()[:steps, i], alone.asnumpy()[:, 0], 1e-5, 1e-6)
            for end, other in zip(ends, alone_ends):
                np.testing.assert_allclose(end.asnumpy()[:, i], other.asnumpy()[:, 0], 1e-5, 1e-6)
            total = total + sum((v * v).sum() for v in (alone, *alone_ends))
        total.backward()
    for gradient, array in zip(found, inputs):
        np.testing.assert_allclose(gradient, array.grad.asnumpy(), 1e-4, 1e-5)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("mode", ["gru", "lstm"])
def test_lengths_by_position_and_in_a_graph(mode):
    inputs, given = arrays(mode, False)
    given["use_sequence_length"] = True
    lengths = nd.array([2, 4, 1])
    expected = nd.RNN(*inputs, sequence_length=lengths, **given)
    found = nd.RNN(*inputs, lengths, **given)
    s = sym.RNN(sym.var("data"), name="n", **given)
    values = dict(zip(s.list_arguments(), [*inputs, lengths]))
    bound = s.bind(mx.cpu(), values).forward()
    for a, b, c in zip(expected, found, bound):
        assert (a.asnumpy() == b.asnumpy()).all() and (a.asnumpy() == c.asnumpy()).all()


@pytest.mark.engine("torch")  # MXNet's are wrong for float64 with more than one layer
@both_directions
@with_projection
def test_gradients(mode, projection, bidirectional):
    import torch

    from layers.mxnet._table import registry

    inputs, given = arrays(mode, bidirectional, 2, projection=projection, dtype="float64")
    tensors = [array.to_torch().requires_grad_() for array in inputs]
    run = registry.get("RNN").run
    torch.autograd.gradcheck(lambda *a: run(*a, training=True, **given), tensors, fast_mode=True)


@pytest.mark.engine("torch")  # MXNet drops nothing for float32 on a CPU
@each_mode
def test_dropout(mode):
    inputs, given = arrays(mode, False)
    given["state_outputs"] = False
    plain = nd.RNN(*inputs, **given).asnumpy()
    assert (nd.RNN(*inputs, p=0.5, **given).asnumpy() == plain).all()
    with autograd.record():
        one, other = (nd.RNN(*inputs, p=0.5, **given).asnumpy() for _ in range(2))
    assert (one != other).any() and (one != plain).any()
    inputs, given = arrays(mode, False, layers=1)
    with autograd.record():
        found = nd.RNN(*inputs, p=0.5, **given)[0].asnumpy()
    np.testing.assert_allclose(found, nd.RNN(*inputs, **given)[0].asnumpy(), 1e-5, 1e-6)


@pytest.mark.engine("torch")
def test_refused():
    inputs, given = arrays("gru", False, layers=1)
    data, parameters, state = inputs
    for replaced, message in (
        ((data[0], parameters, state), r"data is \(3, 2\)\n  expected 3 axes"),
        ((nd.ones((4, 3, 7)), parameters, state), r"as of 2 features, for data \(4, 3, 7\)"),
        ((data, parameters[1:], state), r"\(134,\) for data .*\n  expected parameters \(135,\)"),
        ((data, parameters, state[:, :1]), r"state is \(1, 1, 5\) .*\n  expected .* \(1, 3, 5\)"),
        ((data, parameters, state, state), r"state_cell is .*\n  expected state_cell None"),
    ):
        with pytest.raises(ValueError, match=message):
            nd.RNN(*replaced, **given)
    with pytest.raises(ValueError, match=r"state_cell is None .*\n  expected state_cell \(1, 3, 5"):
        nd.RNN(data, nd.ones((180,)), state, **given | {"mode": "lstm"})
    for attributes in {"lstm_state_clip_min": -1, "lstm_state_clip_max": 1}, {"projection_size": 3}:
        with pytest.raises(NotImplementedError, match=r"expected None"):
            nd.RNN(*inputs, **given | attributes)
    for attributes in {"p": 1.5}, {"num_layers": 0}:
        with pytest.raises(ValueError, match=r"expected 1 or more, and a probability"):
            nd.RNN(*inputs, **given | attributes)
    given["use_sequence_length"] = True
    with pytest.raises(ValueError, match=r"sequence_length is None .*\n  .* \(3,\)"):
        nd.RNN(*inputs, **given)
    for lengths in [0, 1, 1], [5, 1, 1]:
        with pytest.raises(ValueError, match=r"expected numbers from 1 to 4"):
            nd.RNN(*inputs, sequence_length=nd.array(lengths), **given)
