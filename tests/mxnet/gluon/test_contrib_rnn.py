"""Cells of gluon.contrib: values, names, what is dropped, and steps in one loop."""

from importlib import import_module

import numpy as np
import pytest
from recorded import Recorded

from layers.engine import autograd, gluon, mx, nd

torch_only = pytest.mark.engine("torch")
contrib = import_module(f"{mx.__name__}.gluon.contrib.rnn")
rnn = gluon.rnn

SHAPES = {1: (2, 4), 2: (2, 4, 3), 3: (2, 3, 4, 2)}
CELLS = {
    **{
        f"Conv{axes}D{kind}Cell": lambda axes=axes, kind=kind: getattr(
            contrib, f"Conv{axes}D{kind}Cell"
        )(SHAPES[axes], 3, 3, 3, i2h_pad=1, prefix="cell_")
        for axes in SHAPES
        for kind in ("RNN", "LSTM", "GRU")
    },
    "channels behind": lambda: contrib.Conv2DLSTMCell(
        (4, 3, 2), 3, (3, 1), (3, 5), (1, 0), (1, 2), (2, 1), conv_layout="NHWC", prefix="cell_"
    ),
    "relu": lambda: contrib.Conv1DGRUCell((2, 4), 3, 1, 1, activation="relu", prefix="cell_"),
    "LSTMPCell": lambda: contrib.LSTMPCell(4, 3, prefix="cell_"),
}


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("gluon_contrib_rnn", pytestconfig.getoption("--record"))
    yield values
    values.write()


def steps(cell):
    """Three steps of two sequences."""
    shape = getattr(cell, "_input_shape", (5,))
    return nd.array(np.random.RandomState(1).normal(size=(2, 3, *shape)))


def fill(cell):
    for number, p in enumerate(cell.collect_params().values()):
        p.set_data(nd.array(np.random.RandomState(number).normal(0, 0.5, p.shape)))


@pytest.mark.parametrize("name", CELLS)
def test_values(recorded, name):
    cell = CELLS[name]()
    cell.initialize()
    x = steps(cell)
    if name == "channels behind" and mx.__name__ == "mxnet":
        pytest.skip("MXNet has no convolution with the channels behind on a CPU")
    cell.unroll(3, x, merge_outputs=True)
    fill(cell)
    x.attach_grad()
    with autograd.record():
        y, states = cell.unroll(3, x, merge_outputs=True)
    y.backward(y)
    found = [array.asnumpy() for array in (y, states[-1])]
    for grad in (x.grad, *(p.grad() for p in cell.collect_params().values())):
        projection = np.random.RandomState(0).normal(size=grad.shape)
        found.append((grad.asnumpy() * projection).sum())
    if name == "channels behind":
        return  # held to the same cell with its channels in front, below
    recorded.check(name, found, 1e-4, 1e-5)
    cell.hybridize()
    again = cell.unroll(3, x, merge_outputs=True)[0].asnumpy()
    np.testing.assert_allclose(again, found[0], 1e-5, 1e-6)


@torch_only
def test_channels_behind():
    behind = CELLS["channels behind"]()
    front = contrib.Conv2DLSTMCell((2, 4, 3), 3, (3, 1), (3, 5), (1, 0), (1, 2), (2, 1))
    behind.initialize()
    front.initialize()
    fill(front)
    for a, b in zip(front.collect_params().values(), behind.collect_params().values()):
        value = a.data().asnumpy()
        b.set_data(nd.array(np.moveaxis(value, 1, -1) if value.ndim == 4 else value))
    x = steps(front)
    y = front.unroll(3, x, merge_outputs=True)[0].asnumpy()
    found = behind.unroll(3, nd.transpose(x, axes=(0, 1, 3, 4, 2)), merge_outputs=True)[0]
    np.testing.assert_allclose(np.moveaxis(found.asnumpy(), -1, 2), y, 1e-5, 1e-6)


@pytest.mark.parametrize(
    "name, shown, parameters",
    [
        ("Conv1DRNNCell", "Conv1DRNNCell(2 -> 3, tanh, NCW)", [(3, 2, 3), (3, 3, 3), (3,), (3,)]),
        (
            "Conv2DLSTMCell",
            "Conv2DLSTMCell(2 -> 12, tanh, NCHW)",
            [(12, 2, 3, 3), (12, 3, 3, 3), (12,), (12,)],
        ),
        (
            "channels behind",
            "Conv2DLSTMCell(2 -> 12, tanh, NHWC)",
            [(12, 3, 1, 2), (12, 3, 5, 3), (12,), (12,)],
        ),
        ("relu", "Conv1DGRUCell(2 -> 9, relu, NCW)", [(9, 2, 1), (9, 3, 1), (9,), (9,)]),
        (
            "LSTMPCell",
            "LSTMPCell(None -> 16 -> 3)",
            [(16, 0), (16, 3), (3, 4), (16,), (16,)],
        ),
    ],
)
def test_names(name, shown, parameters):
    cell = CELLS[name]()
    assert repr(cell) == shown
    names = ["i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"]
    if name == "LSTMPCell":
        names.insert(2, "h2r_weight")
    found = {name: tuple(p.shape) for name, p in cell.collect_params().items()}
    assert found == dict(zip([f"cell_{n}" for n in names], parameters))
    assert [info["__layout__"] for info in cell.state_info()] == [
        getattr(cell, "_conv_layout", "NC")
    ] * len(cell.state_info())
    x = [mx.sym.Variable(f"x{i}") for i in range(2)]
    y, states = cell.unroll(2, x)
    assert mx.sym.Group(y).list_outputs() == ["cell_t0_out_output", "cell_t1_out_output"]
    assert [s.name for s in states][1:] == ["cell_t1_state"] * (len(states) - 1)


def test_shapes_of_graphs():
    cell = CELLS["Conv2DLSTMCell"]()
    y, _ = cell.unroll(2, [mx.sym.Variable(f"x{i}") for i in range(2)])
    shapes = mx.sym.Group(y).infer_shape(x0=(5, 2, 4, 3), x1=(5, 2, 4, 3))[1]
    assert shapes == [(5, 3, 4, 3)] * 2


def test_channels_that_the_first_call_tells():
    cell = contrib.Conv1DLSTMCell((0, 4), 3, (3,), (3,))
    cell.initialize()
    cell.unroll(2, nd.ones((2, 2, 5, 4)))
    assert cell.i2h_weight.shape == (12, 5, 3)


def test_kernels_are_odd():
    with pytest.raises(AssertionError, match="h2h_kernel.* 2"):
        contrib.Conv2DLSTMCell((2, 4, 3), 3, 3, 2)


def dropping(inputs, states, outputs):
    cell = contrib.VariationalDropoutCell(rnn.RNNCell(50, prefix="r_"), inputs, states, outputs)
    cell.initialize(mx.init.One())
    return cell


def test_the_same_elements_are_dropped_at_all_steps():
    cell = dropping(0, 0, 0.5)
    with autograd.record():
        y = cell.unroll(3, nd.ones((2, 3, 4)), merge_outputs=True)[0].asnumpy()
        again = cell.unroll(3, nd.ones((2, 3, 4)), merge_outputs=True)[0].asnumpy()
    dropped = y == 0
    assert 0.25 < dropped.mean() < 0.75
    assert (dropped == dropped[:, :1]).all()
    assert (dropped[0] != dropped[1]).any()
    assert ((again == 0) != dropped).any()
    np.testing.assert_allclose(y[~dropped], 2 * np.tanh(4), 0.01)  # the states saturate
    y = cell.unroll(3, nd.ones((2, 3, 4)), merge_outputs=True)[0].asnumpy()
    assert (y != 0).all()


@pytest.mark.parametrize("hybridize", [False, True])
def test_what_is_dropped(hybridize):
    for rates in ((0.5, 0, 0), (0, 0.5, 0)):
        cell = dropping(*rates)
        cell.initialize(mx.init.Constant(0.01), force_reinit=True)
        cell.hybridize(hybridize)
        x = nd.ones((1, 3, 40))
        with autograd.record():
            a, b = (cell.unroll(3, x, merge_outputs=True)[0].asnumpy() for _ in range(2))
        assert (a != b).any()
        plain = cell.unroll(3, x, merge_outputs=True)[0].asnumpy()
        first = (a[:, 0] == plain[:, 0]).all()
        assert first == bool(rates[1])  # at the first step the states are 0


def test_a_cell_that_drops():
    cell = dropping(0.1, 0.2, 0.3)
    assert repr(cell) == "VariationalDropoutCell(p_out = 0.3, p_state = 0.2)"
    assert cell.prefix == "r_vardrop"
    assert [info["shape"] for info in cell.state_info(2)] == [(2, 50)]
    both = rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3))
    with pytest.raises((ValueError, AssertionError), match="BidirectionalCell"):
        contrib.VariationalDropoutCell(both, drop_states=0.1)
    cell = contrib.VariationalDropoutCell(both, drop_inputs=0.5, drop_outputs=0.5)
    cell.initialize()
    with autograd.record():
        y = cell.unroll(3, nd.ones((2, 3, 4)), merge_outputs=True)[0].asnumpy()
    assert ((y == 0) == (y == 0)[:, :1]).all()


class Loop(gluon.HybridBlock):
    def __init__(self, cell, layout, **options):
        super().__init__()
        self.cell, self.layout, self.options = cell, layout, options

    def hybrid_forward(self, F, x, states, valid_length=None):
        unroll = contrib.rnn_cell.dynamic_unroll
        return unroll(
            self.cell, x, states, layout=self.layout, valid_length=valid_length, **self.options
        )


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell"])
@pytest.mark.parametrize("lengths", [None, [1, 3, 2]])
def test_dynamic_unroll(kind, layout, lengths):
    cell = getattr(rnn, kind)(4, input_size=5)
    cell.initialize(mx.init.Uniform(1))
    x = nd.array(np.random.rand(*((3, 3, 5))))
    states = [nd.array(np.random.rand(3, 4)) for _ in cell.state_info()]
    valid = None if lengths is None else nd.array(lengths)
    expected, ends = cell.unroll(3, x, states, layout, True, valid)
    for hybridize in (False, True):
        loop = Loop(cell, layout)
        loop.hybridize(hybridize)
        y, found = loop(x, states) if valid is None else loop(x, states, valid)
        np.testing.assert_allclose(y.asnumpy(), expected.asnumpy(), 1e-5, 1e-6)
        for a, b in zip(found, ends):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-6)


@torch_only
def test_dynamic_unroll_drops_the_same_elements_at_all_steps():
    cell = rnn.RNNCell(50, input_size=4)
    cell.initialize(mx.init.One())
    with autograd.record():
        y, _ = Loop(cell, "NTC", drop_outputs=0.5)(nd.ones((2, 3, 4)), cell.begin_state(2))
    dropped = y.asnumpy() == 0
    assert 0.25 < dropped.mean() < 0.75
    assert (dropped == dropped[:, :1]).all()
