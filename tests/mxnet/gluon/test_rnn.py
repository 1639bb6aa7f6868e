"""Recurrent layers and cells, held to what MXNet's give: texts, parameters, values and gradients.

MXNet's are recorded in tests/golden/gluon/rnn.npz, under ``case:name``.
"""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd

nn, rnn, sym = gluon.nn, gluon.rnn, mx.sym
GOLDEN = Path(__file__).resolve().parents[2] / "golden/gluon/rnn.npz"
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}

LAYERS = [
    "RNN(3)",
    "RNN(3, 2, 'tanh', 'NTC', 0.2, True, input_size=2)",
    "LSTM(3)",
    "LSTM(3, 2, 'NTC', bidirectional=True)",
    "LSTM(3, dtype='float64', prefix='deep_')",
    "GRU(3)",
    "GRU(3, 3, 'NTC', 0.5, prefix='deep_')",
    "GRU(3, 2, bidirectional=True, input_size=2)",
    "LSTM(4, 2, projection_size=3)",
    "LSTM(4, bidirectional=True, projection_size=3)",
]
CELLS = [
    "RNNCell(3)",
    "RNNCell(2, 'relu', input_size=2)",
    "LSTMCell(3)",
    "LSTMCell(3, activation='softsign', recurrent_activation='tanh')",
    "GRUCell(3, prefix='deep_')",
    "DropoutCell(0.0)",
    "ResidualCell(GRUCell(2))",
    "ZoneoutCell(LSTMCell(3))",
    "BidirectionalCell(LSTMCell(3), GRUCell(2))",
    "row(SequentialRNNCell, LSTMCell(2), ResidualCell(RNNCell(2)), GRUCell(3))",
    "row(HybridSequentialRNNCell, LSTMCell(3), BidirectionalCell(RNNCell(2), RNNCell(1)))",
    "ResidualCell(BidirectionalCell(RNNCell(1), RNNCell(1)))",
]
UNROLLED = [
    {},
    {"layout": "TNC", "merge_outputs": True},
    {"valid": True, "merge_outputs": True},
]
INITIALIZERS = "i2h_weight_initializer h2h_weight_initializer i2h_bias_initializer "
INITIALIZERS += "h2h_bias_initializer "
ARGUMENTS = {  # of each class, by position, as MXNet has them
    "RNN": "hidden_size num_layers activation layout dropout bidirectional "
    + INITIALIZERS
    + "input_size dtype",
    "LSTM": "hidden_size num_layers layout dropout bidirectional input_size "
    + INITIALIZERS
    + "projection_size h2r_weight_initializer state_clip_min state_clip_max state_clip_nan dtype",
    "GRU": "hidden_size num_layers layout dropout bidirectional input_size "
    + INITIALIZERS
    + "dtype",
    "RNNCell": "hidden_size activation " + INITIALIZERS + "input_size prefix params",
    "LSTMCell": "hidden_size "
    + INITIALIZERS
    + "input_size prefix params activation recurrent_activation",
    "GRUCell": "hidden_size " + INITIALIZERS + "input_size prefix params",
    "DropoutCell": "rate axes prefix params",
    "ZoneoutCell": "base_cell zoneout_outputs zoneout_states",
    "ResidualCell": "base_cell",
    "ModifierCell": "base_cell",
    "BidirectionalCell": "l_cell r_cell output_prefix",
    "SequentialRNNCell": "prefix params",
    "HybridSequentialRNNCell": "prefix params",
    "RecurrentCell": "prefix params",
    "HybridRecurrentCell": "prefix params",
}


@pytest.fixture(autouse=True)
def _count_from_zero():
    with mx.name.NameManager():
        yield


@pytest.fixture(scope="module")
def golden(pytestconfig):
    record = pytestconfig.getoption("--record")
    values = {} if record else dict(np.load(GOLDEN))
    yield values
    if record:
        np.savez_compressed(GOLDEN, **values)


def compare(case, found, golden, pytestconfig):
    """Hold what was found to what is recorded for a case, or record it."""
    if pytestconfig.getoption("--record"):
        golden |= {f"{case}:{name}": np.array(value) for name, value in found.items()}
        return
    expected = {k[len(case) + 1 :]: v for k, v in golden.items() if k.startswith(f"{case}:")}
    assert list(found) == list(expected)
    for name, value in found.items():
        if isinstance(value, str):
            assert value == str(expected[name]), name
        else:
            assert value.dtype == expected[name].dtype, name
            np.testing.assert_allclose(value, expected[name], **TOLERANCE, err_msg=name)


def numbers(seed, shape, dtype="float32"):
    return nd.array(np.random.RandomState(seed).uniform(-1, 1, shape), dtype=dtype)


def row(kind, *cells):
    """Cells in a row."""
    made = kind()
    for cell in cells:
        made.add(cell)
    return made


def make(text):
    """A layer or a cell, as Python makes it."""
    return eval(text, vars(rnn) | {"row": row})  # text of this file


def fill(block):
    """Set the parameters of a block."""
    parameters = block._collect_params_with_prefix()
    for i, parameter in enumerate(parameters.values()):
        parameter.set_data(numbers(i, parameter.shape))
    return parameters


def told(block, before, parameters):
    """All that a block says of itself."""
    lines = [before, repr(block), block.prefix, str(block.state_info(4))]
    return "\n".join(lines + [f"{name}: {p!r}" for name, p in parameters.items()])


def weighted(arrays):
    """A number that depends on each element of the arrays."""
    return sum((y * numbers(i, y.shape, y.dtype)).sum() for i, y in enumerate(arrays))


def gradients(arrays, parameters):
    """The gradients of arrays, by name, and of all parameters in one."""
    found = {f"d {name}": array.grad.asnumpy() for name, array in arrays.items()}
    flat = [p.grad().asnumpy().ravel() for p in parameters.values()]
    return found | ({"d parameters": np.concatenate(flat)} if flat else {})


def run_layer(text):
    """All that can be told of a layer: name -> array or text."""
    layer = make(text)
    before = repr(layer)
    layer.initialize()
    dtype = "float64" if "float64" in text else "float32"
    x = numbers(0, (4, 5, 2), dtype) if "NTC" in text else numbers(0, (5, 4, 2), dtype)
    layer(x)
    parameters = fill(layer)
    found = {"text": told(layer, before, parameters), "alone": layer(x).asnumpy()}
    states = layer.begin_state(4, func=lambda name, shape, **_: numbers(1, shape, dtype))
    arrays = {"x": x} | {f"s{i}": s for i, s in enumerate(states)}
    if "projection" in text:  # MXNet has no gradients for it on a CPU
        y, ends = layer(x, states)
    else:
        for array in arrays.values():
            array.attach_grad()
        with autograd.record(train_mode="0." not in text):
            y, ends = layer(x, states)
            total = weighted([y, *ends])
        total.backward()
        found |= gradients(arrays, parameters)
    return found | {f"y{i}": y.asnumpy() for i, y in enumerate([y, *ends])}


@pytest.mark.parametrize("text", LAYERS, ids=lambda text: text.replace(" ", ""))
def test_layer(text, golden, pytestconfig):
    compare(text, run_layer(text), golden, pytestconfig)


def run_cell(text, options):
    """The same of a cell, unrolled over sequences."""
    cell = make(text)
    before = repr(cell)
    cell.initialize()
    axis = options.get("layout", "NTC").index("T")
    x = numbers(0, (5, 4, 2) if axis == 0 else (4, 5, 2))
    if options.get("valid"):
        options = options | {"valid_length": nd.array([2, 5, 1, 4])}
    options = {name: value for name, value in options.items() if name != "valid"}
    cell.unroll(5, x, layout=options.get("layout", "NTC"))
    parameters = fill(cell)
    states = cell.begin_state(batch_size=4, func=lambda name, shape, **_: numbers(1, shape))
    arrays = {"x": x} | {f"s{i}": s for i, s in enumerate(states)}
    for array in arrays.values():
        array.attach_grad()
    with autograd.record():
        ys, ends = cell.unroll(5, x, states, **options)
        ys = list(ys) if isinstance(ys, list) else [ys]
        total = weighted([*ys, *ends])
    total.backward()
    found = {"text": told(cell, before, parameters)} | gradients(arrays, parameters)
    found["y"] = np.array([y.asnumpy() for y in ys])
    return found | {f"s{i}": s.asnumpy() for i, s in enumerate(ends)}


@pytest.mark.parametrize("options", UNROLLED, ids=lambda options: ",".join(options))
@pytest.mark.parametrize("text", CELLS, ids=lambda text: text.replace(" ", ""))
def test_cell(text, options, golden, pytestconfig):
    compare(f"{text} {options}", run_cell(text, options), golden, pytestconfig)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments(name):
    parameters = inspect.signature(getattr(rnn, name)).parameters.values()
    found = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD]
    assert found == ARGUMENTS[name].split()


# A layer


@pytest.mark.parametrize("given", [False, True], ids=["", "states"])
@pytest.mark.parametrize("text", LAYERS, ids=lambda text: text.replace(" ", ""))
def test_hybridized_is_eager(text, given):
    layer = make(text)
    layer.initialize(mx.init.Uniform(1))
    dtype = "float64" if "float64" in text else "float32"
    x = numbers(0, (4, 4, 2), dtype)
    states = [layer.begin_state(4, func=lambda name, shape, **_: numbers(1, shape, dtype))]
    states = states if given else []

    def outputs():
        y = layer(x, *states)
        return [y[0], *y[1]] if given else [y]

    expected = outputs()
    layer.hybridize()
    for y, other in zip(outputs(), expected, strict=True):
        np.testing.assert_allclose(y.asnumpy(), other.asnumpy(), **TOLERANCE)


@pytest.mark.engine("torch")  # MXNet keeps the outputs of the first call
def test_hybridized_with_states_and_without():
    layer, x = rnn.LSTM(3), numbers(0, (4, 3, 2))
    layer.initialize()
    layer.hybridize()
    states = layer.begin_state(3)
    alone, (y, ends), again = layer(x), layer(x, states), layer(x)
    assert (alone.asnumpy() == y.asnumpy()).all() and (alone.asnumpy() == again.asnumpy()).all()
    assert [s.shape for s in ends] == [(1, 3, 3)] * 2


def network():
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(rnn.LSTM(3, 2, "NTC", bidirectional=True), rnn.GRU(2, layout="NTC"), nn.Dense(2))
    return net


def test_deferred_in_a_graph():
    net, x = network(), numbers(0, (4, 5, 3))
    net.initialize()
    net.hybridize()
    with autograd.record():
        y = net(x).sum()
    y.backward()
    assert net[0].l0_i2h_weight.shape == net[0].r0_i2h_weight.shape == (12, 3)
    assert net[0].l1_i2h_weight.shape == (12, 6) and net[1].l0_i2h_weight.shape == (6, 6)
    assert net[0].l0_h2h_weight.grad().asnumpy().any()


@pytest.mark.filterwarnings("ignore:Cannot decide type")  # MXNet's, for a file without values
def test_files(tmp_path):
    net, x = network(), numbers(0, (4, 5, 3))
    net.initialize()
    net.hybridize()
    expected = net(x).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    cell = [f"{p}_{k}" for k in ("weight", "bias") for p in ("i2h", "h2h")]
    names = {f"0._unfused.{i}.{side}_cell.{n}" for i in "01" for side in "lr" for n in cell}
    names |= {f"1._unfused.0.{n}" for n in cell} | {"2.weight", "2.bias"}
    assert set(nd.load(str(tmp_path / "net.params"))) == names
    other = network()
    other.load_parameters(str(tmp_path / "net.params"))
    assert (other(x).asnumpy() == expected).all()
    net.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    block = gluon.SymbolBlock.imports(*files)
    np.testing.assert_allclose(block(x).asnumpy(), expected, **TOLERANCE)
    block = gluon.SymbolBlock.imports(*files[:2])
    block.initialize()  # the shapes come from that of x
    assert block(x).shape == (4, 2)


def test_cells_compute_what_the_layer_does():
    layer, x = rnn.LSTM(3, 2, "NTC", bidirectional=True), numbers(0, (4, 5, 2))
    layer.initialize(mx.init.Uniform(1))
    expected = layer(x).asnumpy()
    cells = row(
        rnn.SequentialRNNCell,
        *[rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.LSTMCell(3)) for _ in range(2)],
    )
    cells.initialize()
    cells.unroll(5, x)
    for name, parameter in cells._collect_params_with_prefix().items():
        values = layer._collect_params_with_prefix()[f"_unfused.{name}"]
        parameter.set_data(values.data())
    y, _ = cells.unroll(5, x, merge_outputs=True)
    np.testing.assert_allclose(y.asnumpy(), expected, **TOLERANCE)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: gluon.rnn.LSTM(3, 2, bidirectional=True, dropout=0.5, prefix="a_"),
        lambda: gluon.rnn.GRU(3, input_size=4, prefix="a_"),
        lambda: gluon.rnn.RNN(3, 2, activation="tanh", prefix="a_"),
    ],
)
def test_unfused(layer):
    layer = layer()
    layer.initialize()
    x = nd.array(numbers(1, (5, 2, 4)))
    expected = layer(x)
    cells = layer._unfuse()
    assert isinstance(cells, gluon.rnn.HybridSequentialRNNCell)
    shared = layer.collect_params()
    assert all(p is shared[name] for name, p in cells.collect_params().items())
    assert [*cells.collect_params()] == [*shared]
    y, _ = cells.unroll(5, x, layout="TNC", merge_outputs=True)
    np.testing.assert_allclose(y.asnumpy(), expected.asnumpy(), 1e-5, 1e-6)


def test_a_projection_has_no_cell():
    with pytest.raises((AssertionError, NotImplementedError), match="projection"):
        gluon.rnn.LSTM(3, projection_size=2)._unfuse()


def test_begin_state():
    layer = rnn.LSTM(3, 2, bidirectional=True, projection_size=2)
    h, s = layer.begin_state(5)
    assert (h.shape, s.shape) == ((4, 5, 2), (4, 5, 3)) and not h.asnumpy().any()
    (h,) = rnn.GRU(3).begin_state(5, func=nd.ones, ctx=mx.cpu(), dtype="float64")
    assert h.dtype == np.float64 and (h.asnumpy() == 1).all()
    (h,) = rnn.GRU(3).begin_state(5, func=nd.random.uniform)
    assert h.shape == (1, 5, 3) and (h.asnumpy() > 0).all()
    h, s = layer.begin_state(func=sym.zeros)
    assert [h.name, s.name] == [f"{layer.prefix}h0_0", f"{layer.prefix}h0_1"]
    layer.cast("float64")
    assert layer.begin_state(5)[0].dtype == np.float64
    cell = rnn.LSTMCell(3, prefix="cell_")
    assert [s.shape for s in cell.begin_state(5)] == [(5, 3)] * 2
    assert cell.begin_state(func=sym.zeros)[0].name == "cell_begin_state_2"


def test_initializers_of_ones_own():
    layer = rnn.LSTM(
        2, i2h_weight_initializer="ones", i2h_bias_initializer=mx.init.LSTMBias(3), input_size=2
    )
    layer.initialize(mx.init.Zero())
    assert (layer.l0_i2h_weight.data().asnumpy() == 1).all()
    assert not layer.l0_h2h_weight.data().asnumpy().any()
    assert layer.l0_i2h_bias.data().asnumpy().tolist() == [0, 0, 3, 3, 0, 0, 0, 0]


@pytest.mark.engine("torch")
def test_what_layers_refuse():
    with pytest.raises(AssertionError, match=r"layout is 'CTN'"):
        rnn.GRU(3, layout="CTN")
    with pytest.raises(ValueError, match=r"activation is 'sigmoid'\n  expected 'relu' or 'tanh'"):
        rnn.RNN(3, activation="sigmoid")
    layer, x = rnn.LSTM(3), numbers(0, (4, 3, 2))
    layer.initialize()
    layer(x)
    for args, message in (
        ((numbers(0, (4, 3, 5)),), r"as of 2 features, for data \(4, 3, 5\)"),
        ((x[0],), r"data is \(3, 2\)\n  expected 3 axes"),
        ((x, layer.begin_state(2)), r"state is \(1, 2, 3\) .*\n  expected state \(1, 3, 3\)"),
        ((x, layer.begin_state(3)[0]), r"LSTM: 1 states\n  expected 2"),
        ((x, None, nd.ones((3,))), r"sequence_length is given\n  .*use_sequence_length=True"),
    ):
        with pytest.raises(ValueError, match=message):
            layer(*args)
    with pytest.raises(ValueError, match=r"sequence_length is missing"):
        rnn.GRU(3, use_sequence_length=True)(x)


@pytest.mark.engine("torch")
def test_compiled(caplog):
    net, x = network(), numbers(0, (4, 5, 3))
    net.initialize(mx.init.Uniform(1))

    def gradient():
        with autograd.record():
            y = net(x)
        y.backward()
        return y.asnumpy(), net[0].l0_i2h_weight.grad().asnumpy()

    expected = gradient()
    net.hybridize(backend="aot_eager")
    for found, other in zip(gradient(), expected, strict=True):
        np.testing.assert_allclose(found, other, **TOLERANCE)
    assert "replayed" not in caplog.text


@pytest.mark.engine("torch")
@pytest.mark.parametrize("active", [False, True], ids=["", "hybridized"])
def test_lengths(active):
    layer, x = rnn.GRU(3, layout="NTC", use_sequence_length=True), numbers(0, (2, 4, 3))
    layer.initialize()
    layer.hybridize(active)
    y = layer(x, sequence_length=nd.array([2, 4])).asnumpy()
    assert y[0, :2].all() and not y[0, 2:].any() and y[1].all()
    _, (h,) = layer(x, layer.begin_state(2), nd.array([2, 4]))
    np.testing.assert_allclose(h.asnumpy()[0], [y[0, 1], y[1, 3]], **TOLERANCE)


# A cell


@pytest.mark.engine("torch")  # MXNet's states have no batch in a graph
@pytest.mark.parametrize("text", CELLS, ids=lambda text: text.replace(" ", ""))
def test_unrolled_in_a_graph(text):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.cell = make(text.replace("row(Sequential", "row(HybridSequential"))

        def hybrid_forward(self, F, x, lengths):
            merged, states = self.cell.unroll(4, x, merge_outputs=True, valid_length=lengths)
            listed, _ = self.cell.unroll(4, x, merge_outputs=False)
            return merged, listed, states

    net, x, lengths = Net(), numbers(0, (3, 4, 2)), nd.array([2, 4, 1])
    net.initialize(mx.init.Uniform(1))
    merged, listed, states = net(x, lengths)
    expected = [merged, *listed, *states]
    net.hybridize()
    merged, listed, states = net(x, lengths)
    for y, other in zip([merged, *listed, *states], expected, strict=True):
        np.testing.assert_allclose(y.asnumpy(), other.asnumpy(), **TOLERANCE)


@pytest.mark.parametrize("text", ["RNNCell(3)", "LSTMCell(3)", "GRUCell(3)"])
def test_hybridized_cell(text):
    cell, x = make(text), numbers(0, (4, 2))
    cell.initialize(mx.init.Uniform(1))
    states = cell.begin_state(4, func=lambda name, shape, **_: numbers(1, shape))
    y, ends = cell(x, states)
    cell.hybridize()
    again, others = cell(x, states)
    for a, b in zip([y, *ends], [again, *others], strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), **TOLERANCE)


def test_dropout_cell():
    cell, x = rnn.DropoutCell(0.4), nd.ones((50, 4, 50))
    assert (cell.unroll(4, x, merge_outputs=True)[0].asnumpy() == 1).all()
    for merge in True, False:
        with autograd.record():
            y, states = cell.unroll(4, x, merge_outputs=merge)
        y = y if merge else nd.stack(*y, axis=1)
        assert states == [] and abs((y.asnumpy() == 0).mean() - 0.4) < 0.03


def test_zoneout_cell():
    cell, x = rnn.ZoneoutCell(rnn.RNNCell(50, input_size=2), 0.4, 0.2), numbers(0, (50, 2))
    cell.initialize(mx.init.Uniform(1))
    states = cell.begin_state(batch_size=50, func=lambda name, shape, **_: numbers(1, shape))
    plain, (end,) = cell.base_cell(x, states)
    y, (h,) = cell(x, states)
    assert (y.asnumpy() == plain.asnumpy()).all() and (h.asnumpy() == end.asnumpy()).all()
    cell.reset()
    with autograd.record():
        first, ends = cell(x, states)
        second, _ = cell(x, ends)
    kept = first.asnumpy() == 0
    assert abs(kept.mean() - 0.4) < 0.05
    assert (first.asnumpy()[~kept] == plain.asnumpy()[~kept]).all()
    assert abs((ends[0].asnumpy() == states[0].asnumpy()).mean() - 0.2) < 0.05
    assert abs((second.asnumpy() == first.asnumpy()).mean() - 0.4) < 0.05


@pytest.mark.engine("torch")
def test_what_cells_refuse():
    cell, x = rnn.LSTMCell(3), numbers(0, (2, 4, 3))
    cell.initialize()
    for inputs in x, [x[:, 0]] * 4, []:
        with pytest.raises(ValueError, match=r"the inputs have . steps\n  expected length=5"):
            cell.unroll(5, inputs)
    with pytest.raises(ValueError, match=r"LSTMCell: 1 states\n  expected 2"):
        cell(x[:, 0], cell.begin_state(2)[:1])
    with pytest.raises(ValueError, match=r"layout is 'NC'"):
        cell.unroll(4, x, layout="NC")
    both = rnn.BidirectionalCell(rnn.GRUCell(3), rnn.GRUCell(3))
    with pytest.raises(NotImplementedError, match=r"no single step\n  expected unroll"):
        both(x[:, 0], both.begin_state(2))
    with pytest.raises(ValueError, match=r"expected a ZoneoutCell around each"):
        rnn.ZoneoutCell(both)
    with pytest.raises(NotImplementedError, match="state_info is not defined"):
        rnn.RecurrentCell().begin_state(2)


def test_states_of_a_cell_inside_of_another():
    for base in rnn.LSTMCell(3), row(rnn.HybridSequentialRNNCell, rnn.LSTMCell(3)):
        outer = rnn.ModifierCell(rnn.ResidualCell(base) if isinstance(base, rnn.LSTMCell) else base)
        for cell in base, outer.base_cell:
            with pytest.raises(AssertionError):
                cell.begin_state(batch_size=1)
        assert [s.shape for s in outer.begin_state(batch_size=1, func=nd.zeros)] == [(1, 3)] * 2


# Private functions, which programs with cells of their own import

STEPS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]  # of two sequences


def steps_of(found):
    return [x.asnumpy().ravel().tolist() for x in found]


@pytest.mark.parametrize("layout, axis", [("NTC", 1), ("TNC", 0)])
def test_format_sequence(layout, axis):
    format_sequence = rnn.rnn_cell._format_sequence
    steps = [nd.array(x).reshape((2, 1)) for x in STEPS]
    merged = nd.stack(*steps, axis=axis)
    for inputs in (steps, merged):
        found, *rest = format_sequence(3, inputs, layout, False)
        assert steps_of(found) == STEPS and rest == [axis, mx.nd, 2]
        found, *rest = format_sequence(3, inputs, layout, True)
        assert found.asnumpy().tolist() == merged.asnumpy().tolist() and rest == [axis, mx.nd, 2]
        assert format_sequence(3, inputs, layout, None)[0] is inputs
        with pytest.raises(AssertionError):
            format_sequence(4, inputs, layout, False)
    assert format_sequence(3, merged, layout, True, layout[1::-1] + "C")[0].shape == (
        merged.shape[1],
        merged.shape[0],
        1,
    )
    for inputs, wrong in ((None, layout), (merged, "NCC")):
        with pytest.raises(AssertionError):
            format_sequence(3, inputs, wrong, False)
    found, *rest = format_sequence(3, mx.sym.var("x"), layout, False)
    assert len(found) == 3 and rest == [axis, mx.sym, 0]
    found, *_ = format_sequence(3, [mx.sym.var("x")] * 3, layout, True)
    assert isinstance(found, mx.sym.Symbol)


def test_states_to_begin_with():
    begin = rnn.rnn_cell._get_begin_state
    cell, x = rnn.LSTMCell(5), nd.ones((2, 3, 4), ctx=mx.cpu(1))
    for inputs in (x, [x[:, 0]]):
        states = begin(cell, mx.nd, None, inputs, 2)
        assert [s.shape for s in states] == [(2, 5)] * 2
        assert all(s.context == mx.cpu(1) for s in states)
    assert begin(cell, mx.nd, [1], x, 2) == [1]


def test_masked_and_reversed_sequences():
    steps, valid = [nd.array(x).reshape((2, 1)) for x in STEPS], nd.array([1, 2])
    masked = [[1, 2], [0, 4], [0, 0]]
    mask = rnn.rnn_cell._mask_sequence_variable_length
    assert steps_of(mask(mx.nd, steps, 3, valid, 0, False)) == masked
    merged = nd.stack(*steps, axis=1)
    found = mask(mx.nd, merged, 3, valid, 1, True)
    assert found.asnumpy()[:, :, 0].T.tolist() == masked
    reverse = rnn.rnn_cell._reverse_sequences
    assert steps_of(reverse(steps, 3)) == STEPS[::-1]
    assert steps_of(reverse(steps, 3, valid)) == [[1, 4], [3, 2], [5, 6]]
    assert len(reverse([mx.sym.var("x")] * 3, 3, mx.sym.var("n"))) == 3


@pytest.mark.engine("torch")
@pytest.mark.parametrize("layer", ["GRU", "LSTM"])
def test_the_symbol_of_a_recorded_layer_packs_its_parameters(mx, layer):
    """It computes RNN of their parts; the graph is MXNet's."""
    net = getattr(rnn, layer)(3, bidirectional=True, input_size=2)
    net.initialize()
    x = nd.ones((4, 1, 2))
    x.attach_grad()
    with autograd.record():
        y = net(x)
    nodes = json.loads(autograd.get_symbol(y).tojson())["nodes"]
    *parts, pack, last = [node["op"] for node in nodes if node["op"] != "null"]
    assert (*parts, pack, last) == (*["Reshape"] * 8, "_rnn_param_concat", "RNN")
    assert next(n["attrs"] for n in nodes if n["op"] == pack) == {"dim": "0", "num_args": "8"}


@pytest.mark.engine("torch")
def test_a_hybridized_layer_whose_zero_states_are_also_given_back(mx):
    """Its states are zeros of a size that only the call tells, and something else uses them."""
    net = rnn.LSTM(3, input_size=2)
    net.initialize()

    class WithStates(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.net = net

        def hybrid_forward(self, F, x):
            begin = self.net.begin_state(0 if F is mx.sym else 5, func=F.zeros)
            y, _ = self.net(x, begin)
            return y, begin[0] + 1

    block = WithStates()
    x = nd.ones((4, 5, 2))
    expected = [a.asnumpy() for a in block(x)]
    block.hybridize()
    for found, right in zip(block(x), expected):
        np.testing.assert_allclose(found.asnumpy(), right, **TOLERANCE)


def test_states_of_an_unknown_batch_size_may_be_chosen_from():
    """0 rows are as many as the batch has, also through `where` and other operators."""

    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.cell = gluon.rnn.LSTMCell(5)

        def hybrid_forward(self, F, x, pad):
            begin = self.cell.begin_state(func=F.zeros, batch_size=x.shape[0] if F is nd else 0)
            mask = F.repeat(F.slice_axis(pad, axis=1, begin=0, end=1), repeats=5, axis=1)
            state = [F.where(mask, b, b + 1) for b in begin]
            return self.cell.unroll(3, x, state, layout="NTC", merge_outputs=True)[0]

    x, pad = nd.random.uniform(shape=(4, 3, 2)), nd.array([[0, 1, 0], [1, 1, 1]] * 2)
    net = Net()
    net.initialize(mx.init.Uniform(0.5))
    expected = net(x, pad).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x, pad).asnumpy(), expected, atol=1e-6)
