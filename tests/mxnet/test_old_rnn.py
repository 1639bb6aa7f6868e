"""mx.rnn: cells that make graphs, against MXNet's graphs, values and gradients; sentences."""

import json
import random

import numpy as np
import pytest
from recorded import GOLDEN, Recorded

from layers.engine import mx, nd, sym

torch_only = pytest.mark.engine("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*NTC:UserWarning", "ignore:.*axes are exchanged")


def rnn():
    return mx.rnn


def stack():
    row = rnn().SequentialRNNCell()
    row.add(rnn().LSTMCell(2, prefix="a_", forget_bias=2.0))
    row.add(rnn().DropoutCell(0.3, prefix="d_"))
    row.add(rnn().ZoneoutCell(rnn().GRUCell(2, prefix="b_"), 0.1, 0.2))
    row.add(rnn().ResidualCell(rnn().RNNCell(2, activation="relu", prefix="c_")))
    return row


def both(left=None, right=None, **options):
    left = left or rnn().LSTMCell(2, prefix="l_")
    return rnn().BidirectionalCell(left, right or rnn().GRUCell(3, prefix="r_"), **options)


def fused(mode="lstm", prefix="f_", **options):
    return rnn().FusedRNNCell(2, mode=mode, prefix=prefix, **options)


def two_fused(second="gru"):
    row = rnn().SequentialRNNCell()
    row.add(fused("gru"))
    row.add(rnn().DropoutCell(0.2))
    row.add(fused(second, "g_", get_next_state=True))
    return row


CELLS = {
    "RNNCell": lambda: rnn().RNNCell(3),
    "LSTMCell": lambda: rnn().LSTMCell(3),
    "GRUCell": lambda: rnn().GRUCell(3),
    "in a row": stack,
    "in both directions": both,
    "in both, outputs named": lambda: both(output_prefix="out_"),
    "in both, fused": lambda: both(fused("gru"), fused("rnn_tanh", "g_")),
    "in both, one fused": lambda: both(fused("rnn_relu")),
    "in both, in a row": lambda: both(stack(), rnn().ResidualCell(rnn().RNNCell(2))),
    "fused": fused,
    "fused, with states": lambda: fused(get_next_state=True),
    "fused, deep": lambda: fused("gru", num_layers=2, bidirectional=True, get_next_state=True),
    "fused in a row": two_fused,
    "residual fused": lambda: rnn().ResidualCell(fused("rnn_tanh")),
    "unfused": lambda: fused(num_layers=2, dropout=0.5).unfuse(),
    "unfused, in both directions": lambda: fused(
        "rnn_relu", num_layers=2, bidirectional=True
    ).unfuse(),
    "dropout": lambda: rnn().DropoutCell(0.5),
    "zoneout": lambda: rnn().ZoneoutCell(rnn().LSTMCell(2), 0.0, 0.5),
}
CONVOLUTIONS = {
    f"Conv{kind}Cell": lambda kind=kind: getattr(rnn(), f"Conv{kind}Cell")(
        (1, 2, 4, 5), 3, i2h_kernel=(3, 2), h2h_kernel=(1, 3), h2h_dilate=(1, 2)
    )
    for kind in ("RNN", "LSTM", "GRU")
}
WAYS = {
    "NTC": {},
    "TNC merged": {"layout": "TNC", "merge_outputs": True},
    "NTC in steps": {"merge_outputs": False},
}


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    values = Recorded("old_rnn", pytestconfig.getoption("--record"))
    yield values
    values.write()


@pytest.fixture(scope="module")
def graphs(pytestconfig):
    """The nodes of graphs, as text."""
    path, recording = GOLDEN / "old_rnn_graphs.json", pytestconfig.getoption("--record")
    found = {} if recording else json.loads(path.read_text())

    def check(key, lines):
        assert found.setdefault(key, lines) == lines

    yield check
    if recording:
        rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(found.items())]
        path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def flat(symbols):
    if isinstance(symbols, sym.Symbol):
        return [symbols]
    return [one for each in symbols for one in flat(each)]


def nodes(graph):
    """Operator, name, inputs and initializer of each node, a line each."""
    described = json.loads(graph.tojson())
    return [
        " ".join(
            [node["op"], node["name"], *(f"{i}:{k}" for i, k, *_ in node["inputs"])]
            + [value for key, value in node.get("attrs", {}).items() if key.startswith("__")]
        )
        for node in described["nodes"]
    ]


def heads(outputs, states):
    """One graph of outputs and states, which may be the same."""
    return sym.Group(flat(outputs) + flat(states))


def values(graph, shapes):
    """The outputs, and a projection of each gradient."""
    executor = graph.simple_bind(mx.cpu(), grad_req="write", **shapes)
    for number, (_, array) in enumerate(sorted(executor.arg_dict.items())):
        array[:] = np.random.RandomState(number).normal(0, 0.5, array.shape)
    outputs = executor.forward(is_train=False)
    found = [y.asnumpy() for y in outputs]
    return executor, found


def gradients(executor):
    outputs = executor.forward(is_train=True)
    executor.backward([y.copy() for y in outputs])
    grads = sorted(executor.grad_dict.items())
    return [(g.asnumpy() * np.random.RandomState(0).normal(size=g.shape)).sum() for _, g in grads]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CELLS)
def test_graphs_and_values(recorded, graphs, name, way):
    with mx.name.NameManager():
        graph = heads(*CELLS[name]().unroll(3, sym.Variable("data"), **WAYS[way]))
    shapes = {"data": (3, 2, 2) if "TNC" in way else (2, 3, 2)}
    graphs(f"{name}, {way}", nodes(graph))
    executor, found = values(graph, shapes)
    drops = any(node.startswith("Dropout") for node in nodes(graph))
    if not drops:
        found += gradients(executor)
    recorded.check(f"{name}, {way}", found, 1e-4, 1e-5)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(recorded, graphs, name):
    with mx.name.NameManager():
        steps = [sym.Variable(f"x{i}") for i in range(2)]
        cell = CONVOLUTIONS[name]()
        graph = heads(*cell.unroll(2, steps))
    graphs(name, nodes(graph))
    executor, found = values(graph, {"x0": (2, 2, 4, 5), "x1": (2, 2, 4, 5)})
    recorded.check(name, found + gradients(executor), 1e-4, 1e-5)
    assert cell.state_shape[0] == (0, 3, 4, 6)


PACKED = {
    "LSTMCell": lambda: rnn().LSTMCell(2),
    "GRUCell": lambda: rnn().ZoneoutCell(rnn().GRUCell(2, prefix="g_")),
    "RNNCell": lambda: rnn().ResidualCell(rnn().RNNCell(2)),
    "in both directions": lambda: both(),
    "fused": lambda: fused(),
    "fused, deep": lambda: fused("gru", num_layers=3, bidirectional=True),
    "fused in a row": lambda: two_fused("rnn_relu"),
}


@pytest.mark.parametrize("name", PACKED)
def test_weights_of_gates(recorded, name):
    cell = PACKED[name]()
    graph = heads(*cell.unroll(3, sym.Variable("data"), merge_outputs=True))
    executor = graph.simple_bind(mx.cpu(), data=(2, 3, 2))
    packed = {k: v for k, v in executor.arg_dict.items() if k != "data"}
    for number, (_, array) in enumerate(sorted(packed.items())):
        array[:] = np.random.RandomState(number).normal(size=array.shape)
    gates = cell.unpack_weights({**packed, "other": nd.ones(1)})
    recorded.check(name, [gates[key].asnumpy() for key in sorted(gates)], 1e-6)
    assert gates.pop("other") is not None
    assert name == "RNNCell" or not gates.keys() & packed.keys()
    again = cell.pack_weights(gates)
    assert again.keys() == packed.keys()
    for key, value in packed.items():
        np.testing.assert_array_equal(again[key].asnumpy(), value.asnumpy())


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
def test_unfused_cells_are_the_fused_one(mode):
    cell = rnn().FusedRNNCell(3, 2, mode, bidirectional=True, prefix="f_")
    found = []
    weights = None
    for each in (cell, cell.unfuse()):
        y, _ = each.unroll(3, sym.Variable("data"), merge_outputs=True)
        executor = y.simple_bind(mx.cpu(), data=(2, 3, 4))
        if weights is None:
            packed = executor.arg_dict["f_parameters"]
            packed[:] = np.random.RandomState(0).normal(size=packed.shape)
            weights = cell.unpack_weights({"f_parameters": packed})
        executor.copy_params_from(each.pack_weights(weights))
        x = np.random.RandomState(1).normal(size=(2, 3, 4))
        found.append(executor.forward(data=nd.array(x))[0].asnumpy())
    np.testing.assert_allclose(*found, 1e-5, 1e-6)


def test_parameters_are_shared():
    params = rnn().RNNParams("both_")
    cells = [rnn().RNNCell(2, prefix=f"{i}_", params=params) for i in range(2)]
    y = [cell(sym.Variable("data"), cell.begin_state())[0] for cell in cells]
    names = set(sym.Group(y).list_arguments())
    assert sorted(names) == sorted({"data", *(f"both_{n}" for n in INNER)})
    assert params.get("i2h_weight") is params.get("i2h_weight")


INNER = ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")


def test_states():
    cell = rnn().LSTMCell(4)
    assert cell.state_info == [{"shape": (0, 4), "__layout__": "NC"}] * 2
    assert stack().state_shape == [(0, 2)] * 4
    assert fused(num_layers=2, bidirectional=True).state_shape == [(4, 0, 2)] * 2
    first, second = cell.begin_state(func=sym.Variable)
    assert [first.name, second.name] == ["lstm_begin_state_0", "lstm_begin_state_1"]
    y, _ = cell.unroll(2, [sym.Variable("a"), sym.Variable("b")], [first, second])
    assert {"a", "b", first.name, second.name} < set(sym.Group(y).list_arguments())
    around = rnn().ZoneoutCell(cell)
    with pytest.raises((AssertionError, ValueError), match="(?s)LSTMCell|modifier cell"):
        cell.begin_state()
    assert [s.name for s in around.begin_state()] == ["lstm_begin_state_0", "lstm_begin_state_1"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rnn().LSTMCell(2).unroll(2, None),
        lambda: rnn().LSTMCell(2).unroll(3, [sym.Variable("a")]),
        lambda: rnn().LSTMCell(2).unroll(2, sym.Group([sym.Variable("a"), sym.Variable("b")])),
        lambda: rnn().DropoutCell("half"),
        lambda: rnn().ZoneoutCell(fused()),
        lambda: rnn().ZoneoutCell(both()),
        lambda: fused().unroll(2, sym.Variable("a"), layout="NCT"),
        lambda: rnn().SequentialRNNCell(rnn().RNNParams()).add(rnn().RNNCell(2)),
        lambda: both(params=rnn().RNNParams()),
        lambda: rnn().ConvRNNCell((1, 2, 4, 4), 2, h2h_kernel=(2, 2)),
        lambda: fused()(sym.Variable("x"), []),
        lambda: both()(sym.Variable("x"), []),
    ],
)
def test_what_cannot_be(wrong):
    with pytest.raises((AssertionError, ValueError, NotImplementedError)):
        wrong()


@torch_only
def test_weights_that_do_not_fit():
    with pytest.raises(ValueError, match="f_parameters has 3 elements\n  expected those of 1 lay"):
        fused().unpack_weights({"f_parameters": nd.ones(3)})
    gates = fused().unpack_weights({"f_parameters": nd.ones(4 * 2 * (3 + 2 + 2))})
    gates["f_l0_h2h_o_bias"] = nd.ones(5)
    with pytest.raises(ValueError, match=r"f_l0_h2h_o_bias is \(5,\)\n  expected \(2,\)"):
        fused().pack_weights(gates)


def test_checkpoints(tmp_path):
    cell = fused("gru", num_layers=2)
    y, _ = cell.unroll(2, sym.Variable("data"))
    packed = nd.array(np.arange(3 * 2 * (3 + 2 + 2) + 3 * 2 * (2 + 2 + 2)))
    prefix = f"{tmp_path}/model"
    callback = rnn().do_rnn_checkpoint(cell, prefix, 2)
    callback(0, y, {"f_parameters": packed}, {})
    assert not [*tmp_path.iterdir()]
    callback(1, y, {"f_parameters": packed}, {"state": nd.ones(1)})
    assert "arg:f_l1_h2h_z_weight" in nd.load(f"{prefix}-0002.params")
    graph, args, states = rnn().load_rnn_checkpoint(cell, prefix, 2)
    assert graph.list_arguments() == y.list_arguments() and states["state"].shape == (1,)
    np.testing.assert_array_equal(args["f_parameters"].asnumpy(), packed.asnumpy())
    rnn().save_rnn_checkpoint([cell], prefix, 3, y, {"f_parameters": packed}, {})
    assert rnn().load_rnn_checkpoint([cell], prefix, 3)[1].keys() == {"f_parameters"}


@torch_only
def test_rnn_unroll(mx):
    with pytest.warns(UserWarning, match="deprecated"):
        y, _ = rnn().rnn_unroll(rnn().RNNCell(2), 2, input_prefix="in_")
    assert {"in_t0_data", "in_t1_data"} < set(sym.Group(y).list_arguments())


WORDS = [["a", "b", "c"], ["b", "d"], ["a"]]


@pytest.mark.parametrize(
    "options, sentences, vocab",
    [
        ({}, [[0, 1, 2], [1, 3], [0]], {"\n": -1, "a": 0, "b": 1, "c": 2, "d": 3}),
        (
            {"start_label": 1, "invalid_label": 2, "invalid_key": "#"},
            [[1, 3, 4], [3, 5], [1]],
            {"#": 2, "a": 1, "b": 3, "c": 4, "d": 5},
        ),
        (
            {"vocab": {"a": 0, "b": 1, "c": 2}, "unknown_token": "?", "start_label": 5},
            [[0, 1, 2], [1, 5], [0]],
            {"a": 0, "b": 1, "c": 2, "?": 5},
        ),
    ],
)
def test_encode_sentences(options, sentences, vocab):
    assert rnn().encode_sentences(WORDS, **options) == (sentences, vocab)


@pytest.mark.engine("torch")  # MXNet numbers the unknown token anew for each unknown word
@pytest.mark.parametrize(
    "vocab, number, invalid", [({"?": 7}, 7, -1), ({"?": 2}, 2, -1), ({}, 2, -1), ({}, 3, 2)]
)
def test_the_number_of_unknown_words(vocab, number, invalid):
    vocab = {"a": 0, "b": 1} | vocab
    found = rnn().encode_sentences(WORDS, vocab, unknown_token="?", invalid_label=invalid)
    assert found == ([[0, 1, number], [1, number], [0]], {"a": 0, "b": 1, "?": number})


def test_an_unknown_word():
    with pytest.raises((AssertionError, ValueError), match="b"):
        rnn().encode_sentences(WORDS, {"a": 0})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"buckets": [2, 4], "invalid_label": 0},
        {"layout": "TN", "dtype": "int32", "data_name": "x", "label_name": "y"},
    ],
)
def test_sentences_in_buckets(recorded, options, capsys):
    sentences = [[i + 1] * (1 + i % 5) for i in range(23)]
    random.seed(1)
    np.random.seed(1)
    iterator = rnn().BucketSentenceIter(sentences, 2, **options)
    found = [iterator.default_bucket_key, iterator.buckets]
    for _ in range(2):
        for batch in iterator:
            assert batch.provide_data[0].shape == batch.data[0].shape
            assert batch.provide_data[0].name == iterator.data_name
            assert batch.label[0].dtype == np.dtype(options.get("dtype", "float32"))
            found += [batch.bucket_key, batch.data[0].asnumpy(), batch.label[0].asnumpy()]
        iterator.reset()
    recorded.check(f"buckets {options}", found, 0)
    assert iterator.provide_label[0].layout == options.get("layout", "NT")
    discarded = 4 if "buckets" in options else 0
    assert capsys.readouterr().out == (
        f"WARNING: discarded {discarded} sentences longer than the largest bucket.\n"
    )


@pytest.mark.parametrize("options", [{"layout": "TC"}, {"batch_size": 99}])
def test_buckets_that_cannot_be(options):
    with pytest.raises(ValueError):
        rnn().BucketSentenceIter([[1, 2], [3]], **{"batch_size": 1, **options})
