"""np_shape semantics: arrays with a size of 0 or of the shape (), and -1 for an unknown size."""

from __future__ import annotations

import threading

import numpy as np
import pytest

torch_only = pytest.mark.engine("torch")


def in_a_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture(autouse=True)
def off(mx):
    mx.util.set_np_shape(0)
    yield
    mx.util.set_np_shape(0)


def test_the_switch_is_of_a_thread(mx):
    assert mx.util.set_np_shape(True) is False
    assert mx.is_np_shape() and not in_a_thread(mx.is_np_shape)
    assert mx.util.set_np_shape(False) is True
    assert mx.is_np_shape() is mx.util.is_np_shape() is False


def test_the_switch_of_all_threads(mx):
    mx.util.set_np_shape(2)
    assert mx.is_np_shape() and in_a_thread(mx.is_np_shape)
    assert in_a_thread(lambda: (mx.set_np_shape(0), mx.is_np_shape())) == (True, False)
    assert mx.is_np_shape() and not in_a_thread(mx.is_np_shape)


@torch_only
def test_another_value_is_refused(mx):
    with pytest.raises(ValueError, match="active is 3\n  expected True or False, or 2"):
        mx.set_np_shape(3)


def test_scopes(mx):
    with mx.np_shape():
        with mx.np_shape(False):
            assert not mx.is_np_shape()
        with mx.np_shape(None):
            assert mx.is_np_shape()
    assert not mx.is_np_shape()
    with pytest.raises(KeyError), mx.np_shape(True):
        raise KeyError
    assert not mx.is_np_shape()


def test_functions_and_classes(mx):
    @mx.use_np_shape
    def function():
        """Doc."""
        return mx.is_np_shape()

    @mx.use_np_shape
    class Both:
        def __init__(self):
            self.made = mx.is_np_shape()

        def method(self):
            return mx.is_np_shape()

        @property
        def value(self):
            return mx.is_np_shape()

    assert function() and function.__name__ == "function" and function.__doc__ == "Doc."
    both = Both()
    assert both.made and both.method() and both.value and isinstance(both, Both)
    assert not mx.is_np_shape()
    with pytest.raises(TypeError):
        mx.use_np_shape(3)


MADE = {
    "zeros": lambda nd, shape: nd.zeros(shape),
    "ones": lambda nd, shape: nd.ones(shape, dtype="int32"),
    "uniform": lambda nd, shape: nd.random.uniform(shape=shape),
    "normal": lambda nd, shape: nd.random.normal(shape=shape),
    "randint": lambda nd, shape: nd.random.randint(0, 3, shape=shape),
}


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("name", MADE)
def test_arrays_are_made_with_it_alone(mx, name, shape):
    with pytest.raises(mx.MXNetError):
        MADE[name](mx.nd, shape).wait_to_read()
    with mx.np_shape():
        y = MADE[name](mx.nd, shape)
        assert y.shape == shape and y.asnumpy().shape == shape


@torch_only  # MXNet names an index of its own
def test_rows_of_an_array_without_axes(mx):
    with (
        mx.np_shape(),
        pytest.raises(ValueError, match="row_sparse: .* is \\(\\)\n  expected at least one"),
    ):
        mx.nd.ones(()).tostype("row_sparse")


def test_without_a_shape_one_number_is_drawn(mx):
    with mx.np_shape():
        assert mx.nd.random.uniform().shape == (1,)


# What gives which shape, of x of (2, 3), x0 of (0, 3), z of (2, 0, 3) and s of ().
SHAPES = {
    "s + x": (2, 3),
    "s == s": (),
    "-s": (),
    "nd.exp(x0)": (0, 3),
    "nd.broadcast_add(nd.ones((1, 3)), x0)": (0, 3),
    "nd.sum(s)": (1,),
    "nd.sum(x0)": (1,),
    "nd.sum(x0, axis=0)": (3,),
    "nd.prod(z, axis=1)": (2, 3),
    "nd.argmax(z, axis=0)": (0, 3),
    "nd.norm(x0)": (1,),
    "x[0, 1]": (),
    "x[0][1]": (),
    "x[1:1]": (0, 3),
    "x[[]]": (0, 3),
    "s[()]": (),
    "x0.reshape((-1,))": (0,),
    "z.reshape((-1, 3))": (0, 3),
    "nd.stack(s, s)": (2,),
    "nd.expand_dims(s, axis=0)": (1,),
    "nd.squeeze(nd.ones((1, 1)))": (1,),
    "nd.concat(x0, x, dim=0)": (2, 3),
    "nd.tile(z, (2, 2, 2))": (4, 0, 6),
    "nd.take(x, s)": (3,),
    "nd.take(x, x0)": (0, 3, 3),
    "nd.one_hot(s, 3)": (3,),
    "nd.one_hot(x0, 3)": (0, 3, 3),
    "nd.Embedding(x0, x, 2, 3)": (0, 3, 3),
    "nd.dot(x0, x.T)": (0, 2),
    "nd.batch_dot(z, nd.ones((2, 3, 2)))": (2, 0, 2),
    "nd.softmax(z)": (2, 0, 3),
    "nd.SwapAxis(z, 0, 1)": (0, 2, 3),
    "nd.topk(x0)": (0, 1),
    "nd.shape_array(s)": (0,),
    "nd.cast(x0, 'int32')": (0, 3),
    "nd.split(nd.ones(2), 2, axis=0, squeeze_axis=True)[1]": (),
    "nd.linalg.det(nd.eye(2))": (),
    "nd.contrib.allclose(x, x)": (),
    "nd.contrib.index_array(s)": (0,),
    "nd.contrib.index_array(x0, axes=(1,))": (0, 3, 1),
}


@pytest.mark.parametrize("call", SHAPES)
def test_operators(mx, call):
    nd = mx.nd
    with mx.np_shape():
        given = {"x": nd.ones((2, 3)), "x0": nd.zeros((0, 3)), "z": nd.zeros((2, 0, 3))}
        y = eval(call, {"nd": nd, "s": nd.ones(())} | given)  # of the rows above
        assert y.shape == SHAPES[call] and y.asnumpy().shape == SHAPES[call]


@pytest.mark.parametrize("name", ["max", "min"])
def test_the_largest_of_nothing(mx, name):
    with mx.np_shape(), pytest.raises(mx.MXNetError):
        getattr(mx.nd.zeros((5, 0)), name)().wait_to_read()


def test_gradients(mx):
    nd = mx.nd
    with mx.np_shape():
        x, x0 = nd.array([1, 2, 3]), nd.zeros((0, 3))
        for each in (x, x0):
            each.attach_grad()
        with mx.autograd.record():
            y = 2 * x[1]
            y0 = (2 * x0).sum()
        y.backward()
        y0.backward()
    assert y.shape == () and x.grad.asnumpy().tolist() == [0, 2, 0]
    assert y0.shape == (1,) and x0.grad.shape == (0, 3)


# What is inferred of graphs: the shapes that are given, and what is told without and with it.
GRAPHS = [
    ("x", {}, ([()], [()]), ([None], [None])),
    ("x + y", {"x": (-1, 3)}, ([(0, 3)] * 2, [(0, 3)]), ([(-1, 3)] * 2, [(-1, 3)])),
    ("x + y", {"x": (0, 3)}, ([(0, 3)] * 2, [(0, 3)]), ([(0, 3)] * 2, [(0, 3)])),
    ("x + y", {"x": ()}, ([(), ()], [()]), ([(), ()], [()])),
    ("sym.sum(x)", {"x": (0, 3)}, ([(0, 3)], [(1,)]), ([(0, 3)], [(1,)])),
    ("sym.transpose(x)", {"x": (-1, 3)}, ([(0, 3)], [(3, 0)]), ([(-1, 3)], [(3, -1)])),
    ("sym.zeros((-1, 3)) + x", {"x": (2, 3)}, ([(2, 3)], [(2, 3)]), ([(2, 3)], [(2, 3)])),
    (
        "sym.FullyConnected(x, num_hidden=4, no_bias=True)",
        {"x": (-1, 3)},
        ([(0, 3), (4, 3)], [(0, 4)]),
        ([(-1, 3), (4, 3)], [(-1, 4)]),
    ),
    (
        "sym.Concat(x, y, dim=0)",
        {"x": (-1, 3), "y": (2, 3)},
        ([(0, 3), (2, 3)], [(0, 3)]),
        ([(-1, 3), (2, 3)], [(-1, 3)]),
    ),
    (
        "sym.where(x, y, y)",
        {"x": (-1, 2), "y": (-1, 2)},
        ([(0, 2), (0, 2)], [()]),
        ([(-1, 2), (-1, 2)], [None]),
    ),
]


@pytest.mark.parametrize(("graph", "given", "without", "told"), GRAPHS, ids=str)
def test_shapes_of_graphs(mx, graph, given, without, told):
    names = {"sym": mx.sym, "x": mx.sym.var("x"), "y": mx.sym.var("y")}
    symbol = eval(graph, names)  # of the rows above
    assert symbol.infer_shape_partial(**given)[:2] == without
    with mx.np_shape():
        assert symbol.infer_shape_partial(**given)[:2] == told


@pytest.mark.filterwarnings("ignore:Cannot decide shape")
def test_a_size_of_0_is_known_or_not(mx):
    symbol = mx.sym.var("x") + mx.sym.var("y")
    assert symbol.infer_shape(x=(0, 3)) == (None, None, None)
    assert symbol.infer_shape(x=(0, 3), y=(2, 3))[1] == [(2, 3)]
    with mx.np_shape():
        assert symbol.infer_shape(x=(0, 3))[1] == [(0, 3)]
        assert symbol.infer_shape(x=(), y=())[1] == [()]
        with pytest.raises(mx.MXNetError):
            symbol.infer_shape(x=(0, 3), y=(2, 3))


# MXNet's simple_bind of an array without elements damages the memory of graphs bound later.
@pytest.mark.parametrize("shape", [(), pytest.param((0, 3), marks=torch_only)], ids=str)
def test_graphs_compute_such_arrays(mx, shape):
    x = mx.sym.var("x")
    with mx.np_shape():
        executor = (mx.sym.exp(x) + mx.sym.ones(shape)).simple_bind(mx.cpu(), x=shape)
        assert executor.forward()[0].shape == shape
        executor.backward([mx.nd.ones(shape)])
        assert executor.grad_arrays[0].shape == shape


def test_a_graph_says_that_it_was_made_so(mx):
    x = mx.sym.var("x")
    with mx.np_shape():
        assert '"is_np_shape"' in x.tojson()
    assert '"is_np_shape"' not in x.tojson()


def test_a_declared_shape(mx):
    x = mx.sym.var("x", shape=(-1, 3))
    assert x.infer_shape_partial()[1] == [(0, 3)]
    with mx.np_shape():
        assert x.infer_shape_partial()[1] == [(-1, 3)]
        assert mx.sym.var("x", shape=()).infer_shape()[1] == [()]


@pytest.mark.parametrize("hybridize", [False, True])
def test_parameters_whose_shape_is_not_known(mx, hybridize):
    with mx.np_shape():
        net = mx.gluon.nn.Dense(4)
        assert net.weight.shape == (4, -1)
        net.initialize()
        if hybridize:
            net.hybridize()
        assert net(mx.nd.ones((2, 5))).shape == (2, 4)
        assert net.weight.shape == (4, 5)


@torch_only  # MXNet cannot compute a matrix product without rows
def test_a_layer_of_an_empty_batch(mx):
    with mx.np_shape():
        net = mx.gluon.nn.Dense(4)
        net.initialize()
        assert net(mx.nd.zeros((0, 5))).shape == (0, 4) and net.weight.shape == (4, 5)


def test_a_parameter_without_axes(mx):
    one = mx.gluon.Parameter("one", shape=(), init="ones")
    with pytest.raises(ValueError, match=r"one"):
        one.initialize()
    with mx.np_shape():
        one.initialize()
        assert one.shape == one.data().shape == () and one.data().asscalar() == 1
        with pytest.raises(ValueError, match="two"):
            mx.gluon.Parameter("two", shape=(0, 3)).initialize()


def test_known_shapes(mx):
    known = mx.gluon.utils.shape_is_known
    assert [known(s) for s in (None, (), (0, 1), (2, 1))] == [False, False, False, True]
    with mx.np_shape():
        assert [known(s) for s in (None, (), (0, 1), (-1, 1))] == [False, True, True, False]


def test_files(mx, tmp_path):
    arrays = [mx.nd.array(np.zeros((2, 0))), mx.nd.array([1, 2])]
    paths = {on: str(tmp_path / f"{on}.params") for on in (False, True)}
    for on, path in paths.items():
        with mx.np_shape(on):
            mx.nd.save(path, arrays)
    for on in paths:
        with mx.np_shape(on):
            assert [x.shape for x in mx.nd.load(paths[on])] == [(2, 0), (2,)]
            with pytest.raises(mx.MXNetError, match="semantics"):
                mx.nd.load(paths[not on])
    mx.util.set_np_shape(2)
    assert mx.nd.load(paths[False])[1].shape == mx.nd.load(paths[True])[1].shape == (2,)


@torch_only  # MXNet's recurrent layers do not know the size of a batch then
@pytest.mark.parametrize("hybridize", [False, True])
def test_recurrent_layers(mx, hybridize):
    with mx.np_shape():
        for net in (mx.gluon.rnn.LSTM(4), mx.gluon.rnn.GRU(4, bidirectional=True)):
            net.initialize()
            if hybridize:
                net.hybridize()
            assert net(mx.nd.ones((3, 2, 5))).shape[:2] == (3, 2)
        cell = mx.gluon.rnn.LSTMCell(4)
        cell.initialize()
        outputs, _ = cell.unroll(3, mx.nd.ones((2, 3, 5)), merge_outputs=True)
        assert outputs.shape == (2, 3, 4)
