"""Graphs in files: those of old versions, made here, and those that MXNet wrote."""

import json
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "symbols"

# What MXNet wrote before 0.9: param and attr for attrs, heads and inputs of two numbers, no
# version, no states, hidden attributes without underscores, those of inputs on the operator.
OLD = {
    "nodes": [
        {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1,
         "attr": {"ctx_group": "dev1", "lr_mult": "0.2", "mood": "fine"}},
        {"op": "null", "param": {}, "name": "fc_weight", "inputs": [], "backward_source_id": -1},
        {"op": "null", "param": {}, "name": "fc_bias", "inputs": [], "backward_source_id": -1},
        {"op": "FullyConnected", "param": {"no_bias": "False", "num_hidden": "4"}, "name": "fc",
         "inputs": [[0, 0], [1, 0], [2, 0]], "backward_source_id": -1,
         "attr": {"wd_mult": "0.3", "weight_lr_mult": "1.2"}},
        {"op": "null", "param": {}, "name": "bn_gamma", "inputs": [], "backward_source_id": -1},
        {"op": "null", "param": {}, "name": "bn_beta", "inputs": [], "backward_source_id": -1},
        {"op": "BatchNorm", "param": {"eps": "0.01", "fix_gamma": "True"}, "name": "bn",
         "inputs": [[3, 0], [4, 0], [5, 0]], "backward_source_id": -1},
        {"op": "Softmax", "param": {"grad_scale": "1"}, "name": "softmax", "inputs": [[6, 0]],
         "backward_source_id": -1},
    ],
    "arg_nodes": [0, 1, 2, 4, 5],
    "heads": [[7, 0]],
}  # fmt: skip


@pytest.fixture
def old(mx):
    return mx.sym.load_json(json.dumps(OLD))


def test_old_names(old):
    assert old.list_arguments() == [
        "data", "fc_weight", "fc_bias", "bn_gamma", "bn_beta", "softmax_label",
    ]  # fmt: skip
    assert old.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert old.list_outputs() == ["softmax_output"]


def test_old_attributes(old):
    attributes = old.attr_dict()
    assert attributes["data"].items() >= {"lr_mult": "0.2", "mood": "fine"}.items()
    assert attributes["data"]["__ctx_group__"] == "dev1"
    assert attributes["fc_weight"]["__lr_mult__"] == "1.2"
    fc = {"no_bias": "False", "num_hidden": "4", "__wd_mult__": "0.3", "wd_mult": "0.3"}
    assert attributes["fc"] == fc


def test_old_values(mx, old):
    executor = old.simple_bind(mx.cpu(), data=(2, 3))
    executor.arg_dict["data"][:] = mx.nd.array([[1, 2, 3], [3, 1, 2]])
    executor.arg_dict["fc_weight"][:] = mx.nd.arange(12).reshape((4, 3)) - 5
    executor.aux_dict["bn_moving_var"][:] = 99.99
    x = np.array([[1, 2, 3], [3, 1, 2]]) @ (np.arange(12).reshape(4, 3).T - 5) / 10
    expected = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), expected, rtol=1e-5)


def test_a_file_of_this_version_again(mx, old):
    again = mx.sym.load_json(old.tojson())
    assert json.loads(old.tojson())["attrs"] == {"mxnet_version": ["int", 10901]}
    assert again.list_arguments() == old.list_arguments()
    assert again.list_auxiliary_states() == old.list_auxiliary_states()
    assert again.tojson() == old.tojson()


@pytest.mark.parametrize("version, shape", [(None, (1,)), (904, (1,)), (905, (2,)), (99999, (2,))])
def test_argmax_without_axis_was_written_as_minus_one(mx, version, shape):
    nodes = [
        {"op": "null", "name": "x", "inputs": []},
        {"op": "argmax", "name": "y", "attr": {"axis": "-1"}, "inputs": [[0, 0, 0]]},
    ]
    graph = {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]]}
    if version:
        graph["attrs"] = {"mxnet_version": ["int", version]}
    y = mx.sym.load_json(json.dumps(graph))
    assert y.infer_shape(x=(2, 3))[1] == [shape]


def mlp(sym):
    x = sym.Variable("data", shape=(0, 6), dtype="float32")
    x = sym.FullyConnected(x, num_hidden=5, name="fc1", attr={"__lr_mult__": "2"})
    x = sym.LeakyReLU(sym.Dropout(x, 0.5, name="drop"), act_type="prelu", name="act")
    return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=3, no_bias=True), name="softmax")


def convolutions(sym):
    x = sym.Variable("data")
    y = sym.Convolution(x, kernel=(3, 3), num_filter=4, pad=(1, 1), name="c1")
    y = sym.Activation(sym.BatchNorm(y, fix_gamma=False, name="bn"), act_type="relu")
    z = sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    up = sym.UpSampling(z, scale=2, sample_type="nearest", name="up")
    up = sym.Deconvolution(up, kernel=(1, 1), num_filter=4, name="dec")
    return sym.Group([sym.mean(sym.concat(y, up, dim=1), axis=(2, 3)), sym.BlockGrad(z)])


def shapes(sym):
    x, y = sym.Variable("data"), sym.Variable("other")
    first, second = sym.split(x, num_outputs=2, axis=1, name="halves")
    z = sym.slice(first * 2.5 - second, begin=(None, 1), end=(None, None)).reshape((0, -1, 1))
    z = sym.broadcast_add(z, sym.transpose(y, axes=(0, 2, 1)))
    return sym.Group([sym.topk(z, k=2, ret_typ="both"), sym.clip(1 / (z * z + 1e-5), 0, 9)])


def words(sym):
    x = sym.Embedding(sym.Variable("data"), input_dim=7, output_dim=4, name="emb")
    x = sym.LayerNorm(x, name="ln")
    x = sym.SequenceMask(x, sym.Variable("length"), use_sequence_length=True, axis=1)
    x = sym.take(sym.softmax(sym.batch_dot(x, x, transpose_b=True)), sym.zeros((1,)), axis=1)
    return sym.where(x > 0.2, x, sym.zeros_like(sym.cast(x, dtype=np.float32)))


GRAPHS = {
    "mlp": (mlp, {"data": (4, 6)}),
    "convolutions": (convolutions, {"data": (2, 3, 8, 8)}),
    "shapes": (shapes, {"data": (2, 6), "other": (2, 3, 2)}),
    "words": (words, {"data": (2, 5), "length": (2,)}),
}
every_graph = pytest.mark.parametrize("name", GRAPHS)


def facts(symbol, shapes):
    """What must not change on the way through a file."""
    return {
        "arguments": symbol.list_arguments(),
        "outputs": symbol.list_outputs(),
        "states": symbol.list_auxiliary_states(),
        "shapes": [[list(s) for s in part] for part in symbol.infer_shape(**shapes)],
        "attributes": {k: dict(sorted(v.items())) for k, v in sorted(symbol.attr_dict().items())},
    }


def computed(mx, symbol, shapes):
    """The outputs, and the gradients where training draws nothing, for values made of names."""
    requests = {n: "null" if n in shapes else "write" for n in symbol.list_arguments()}
    executor = symbol.simple_bind(mx.cpu(), grad_req=requests, **shapes)
    for i, (name, array) in enumerate(sorted({**executor.arg_dict, **executor.aux_dict}.items())):
        values = np.cos(np.arange(array.size) * (i + 0.7)).reshape(array.shape)
        if name in ("length", "softmax_label") or name == "data" and "length" in shapes:
            values = np.arange(array.size).reshape(array.shape) % 3
        array[:] = np.abs(values) if name.endswith("var") else values
    found = [y.asnumpy() for y in executor.forward(is_train=False)]
    if "Dropout" not in symbol.tojson():
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones_like(y) for y in executor.outputs])
        gradients = sorted((n, g) for n, g in executor.grad_dict.items() if g is not None)
        found += [g.asnumpy() for _, g in gradients]
    return found


@every_graph
def test_a_file_of_mxnet(mx, name, pytestconfig):
    make, given = GRAPHS[name]
    path = GOLDEN / f"{name}.json"
    if pytestconfig.getoption("--record"):
        with mx.name.NameManager():
            symbol = make(mx.sym)
        values = [np.round(v.astype("float64"), 7).tolist() for v in computed(mx, symbol, given)]
        record = {"symbol": json.loads(symbol.tojson()), "facts": facts(symbol, given)}
        path.write_text(json.dumps(record | {"values": values}, separators=(",", ":")) + "\n")
    record = json.loads(path.read_text())
    symbol = mx.sym.load_json(json.dumps(record["symbol"]))
    assert facts(symbol, given) == record["facts"]
    for found, expected in zip(computed(mx, symbol, given), record["values"], strict=True):
        np.testing.assert_allclose(found, np.array(expected), rtol=1e-4, atol=1e-5)


@every_graph
def test_ours_is_the_file_of_mxnet(mx, name):
    with mx.name.NameManager():
        symbol = GRAPHS[name][0](mx.sym)
    record = json.loads((GOLDEN / f"{name}.json").read_text())
    ours, mxnets = json.loads(symbol.tojson()), record["symbol"]
    # It also counts outputs that nobody sees, such as Dropout's mask; no reader looks at it.
    assert ours.pop("node_row_ptr")[:2] == mxnets.pop("node_row_ptr")[:2]
    assert ours == mxnets


@pytest.mark.engine("torch")
def test_a_wrong_file_is_told(mx, tmp_path):
    x = mx.sym.var("data")
    y = mx.sym.Convolution(x, kernel=(3, 3), num_filter=2, name="first")
    files = str(tmp_path / "m-symbol.json"), str(tmp_path / "m-0000.params")
    y.save(files[0])
    mx.nd.save(files[1], {"arg:first_weight": mx.nd.ones((2, 1, 3, 3)) * 1.1})
    with pytest.raises(mx.MXNetError, match=r"m-0000\.params'.*\n  expected the text of a graph"):
        mx.gluon.SymbolBlock.imports(files[1], ["data"], files[0])
    with pytest.raises(mx.MXNetError, match=r"m-symbol\.json, header: this is JSON"):
        mx.gluon.SymbolBlock.imports(files[0], ["data"], files[0])
    with pytest.raises(TypeError, match=r"node 3 \('first'\): Convolution: kernel is '\(3, x\)'"):
        mx.sym.load_json(y.tojson().replace("(3, 3)", "(3, x)"))
