"""Graphs in files: those of old versions, made here, and those that MXNet wrote."""

import json
import time
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


# Files from outside

mxnets = pytest.mark.engine("torch")  # MXNet crashes on some, and reads others


def graph(*nodes, heads=None):
    """The text of a graph of a variable and these nodes: operator, attributes, inputs."""
    rows = [{"op": "null", "name": "x", "inputs": []}]
    for i, (op, attrs, inputs) in enumerate(nodes, 1):
        inputs = [[n, 0, 0] if isinstance(n, int) else n for n in inputs]
        rows.append({"op": op, "name": f"n{i}", "attrs": attrs, "inputs": inputs})
    return json.dumps({"nodes": rows, "arg_nodes": [0], "heads": heads or [[len(nodes), 0, 0]]})


def refusal(mx, tmp_path, text):
    """The message for a file, which names it."""
    path = tmp_path / "a-symbol.json"
    path.write_text(text)
    with pytest.raises(mx.MXNetError) as refused:
        mx.sym.load(path)
    assert str(path) in str(refused.value)
    return str(refused.value)


HOSTILE = {
    "a required attribute is missing": (
        graph(("SliceChannel", {}, [0])),
        "node 1 ('n1'): SliceChannel: num_outputs is missing",
    ),
    "a number of 5,000 digits": ('{"nodes": [' + "9" * 5000 + "]}", "not JSON"),
    "an attribute of 4,000 digits": (
        graph(("SliceChannel", {"num_outputs": "9" * 4000}, [0])),
        "expected an int of 64 bits",
    ),
    "an attribute of 5,000 digits": (
        graph(("SliceChannel", {"num_outputs": "9" * 5000}, [0])),
        "expected an int",
    ),
    "a billion outputs": (
        graph(("SliceChannel", {"num_outputs": "1000000000"}, [0])),
        "has 1000000000 outputs\n  expected 1 or more, and at most 65536",
    ),
    "no outputs": (graph(("SliceChannel", {"num_outputs": "0"}, [0])), "has 0 outputs"),
    "many nodes of many outputs": (
        graph(*[("SliceChannel", {"num_outputs": "30000"}, [0])] * 3),
        "node 3 ('n3') has 30000 outputs",
    ),
    "a dtype that Python would evaluate": (
        graph(("cast", {"dtype": "f4,(2"}, [0])),
        "Cast: dtype is 'f4,(2'",
    ),
    "more inputs than the operator has": (graph(("relu", {}, [0, 0])), "2 inputs\n  expected data"),
    "nested too deeply": ("[" * 100_000, "not JSON"),
}  # fmt: skip


@mxnets
@pytest.mark.parametrize("text, message", HOSTILE.values(), ids=HOSTILE)
def test_hostile_graphs(mx, tmp_path, text, message):
    assert message in refusal(mx, tmp_path, text)


@mxnets
@pytest.mark.parametrize(
    "key, value", [("__dtype__", "x"), ("__shape__", "(3, x)"), ("__shape__", "None")]
)
def test_what_a_variable_declares(mx, tmp_path, key, value):
    text = json.dumps(
        {
            "nodes": [{"op": "null", "name": "x", "attrs": {key: value}, "inputs": []}],
            "arg_nodes": [0],
            "heads": [[0, 0, 0]],
        }
    )
    assert f"variable 'x': {key} is '{value}'\n  expected " in refusal(mx, tmp_path, text)
    x = mx.sym.var("x")
    x._set_attr(**{key: value})
    with pytest.raises(mx.MXNetError, match=f"variable 'x': {key}"):
        mx.sym.relu(x).infer_type() if key == "__dtype__" else mx.sym.relu(x).infer_shape()


@mxnets
def test_messages_are_short(mx, tmp_path):
    long = "x" * 1_000_000
    for text in (
        graph(("SliceChannel", {"num_outputs": long}, [0])),
        graph((long, {}, [0])),
        graph(("Custom", {"op_type": long}, [0])),
        json.dumps({"nodes": [{"op": "null", "name": long, "inputs": long}], "heads": [[1, 0]]}),
        json.dumps({"nodes": [long]}),
        json.dumps({"nodes": [], "heads": long}),
        json.dumps({"nodes": [], "heads": [[long]]}),
    ):
        assert len(refusal(mx, tmp_path, text)) < 1000


@mxnets
def test_an_operator_that_does_not_take_what_a_file_gives(mx, tmp_path):
    @mx.operator.register("taken_from_a_file")
    class Prop(mx.operator.CustomOpProp):
        def __init__(self, size):
            super().__init__()
            self.size = int(size)

    attrs = {"op_type": "taken_from_a_file", "size": "x"}
    message = refusal(mx, tmp_path, graph(("Custom", attrs, [0])))
    assert "node 1 ('n1'): Custom does not take" in message and "ValueError" in message


@mxnets
def test_many_references_to_many_outputs(mx):
    """Each reference once had the names of all outputs made."""
    count = 20_000
    text = graph(
        ("SliceChannel", {"num_outputs": str(count)}, [0]),
        ("add_n", {"num_args": str(count)}, [[1, i, 0] for i in range(count)]),
        heads=[[1, i, 0] for i in range(count)],
    )
    begin = time.process_time()
    symbol = mx.sym.load_json(text)
    assert symbol.list_outputs()[-1] == f"n1_output{count - 1}"
    assert time.process_time() - begin < 5


@mxnets
def test_what_is_known_at_the_end_of_a_long_graph(mx):
    """Each node once took a visit of all nodes."""
    y = mx.sym.var("x")
    for _ in range(3000):
        y = mx.sym.relu(y)
    begin = time.process_time()
    y = mx.sym.elemwise_add(y, mx.sym.var("z"))
    assert y.infer_shape(z=(2, 3))[0] == [(2, 3), (2, 3)]
    assert y.infer_type(z="float16")[0] == [np.float16, np.float16]
    assert time.process_time() - begin < 5


@mxnets
def test_many_variables_of_no_type(mx):
    """Each variable that was given the default once took a visit of all nodes."""
    import torch

    from layers.mxnet.symbol import _infer as infer

    y = mx.sym.Group([mx.sym.cast(mx.sym.var(f"x{i}"), dtype="int32") for i in range(3000)])
    begin = time.process_time()
    types = infer.types(y._graph.nodes, {})
    assert [types[entry] for entry in y._entries] == [torch.int32] * 3000
    assert time.process_time() - begin < 5


@mxnets
def test_a_program_of_many_heads_and_of_sizes_that_nothing_tells(mx):
    """Each node was looked for among all heads; without variables there was a SyntaxError."""
    count = 8000
    nodes = [("_zeros", {"shape": "(0,)"}, []) for _ in range(count)]
    symbol = mx.sym.load_json(graph(*nodes, heads=[[i + 1, 0, 0] for i in range(count)]))
    begin = time.process_time()
    block = mx.gluon.SymbolBlock(symbol, [mx.sym.var("x")])
    assert time.process_time() - begin < 5
    assert len(block(mx.nd.ones(2))) == count


# Variables of one name: they have one value, or MXNet gives one of the values to all


def saved(symbol, folder, name="a-symbol.json"):
    symbol.save(str(folder / name))
    return str(folder / name)


def difference(sym):
    """x - 2 x, of two variables that are both named x."""
    return sym.var("x") - 2 * sym.var("x")


@pytest.mark.filterwarnings("ignore:Cannot decide type")
def test_an_input_of_two_variables(mx, tmp_path):
    x = mx.nd.array([3.0])
    path = saved(difference(mx.sym), tmp_path)
    for inputs in ("x", ["x"]):
        assert mx.gluon.SymbolBlock.imports(path, inputs)(x).asscalar() == -3
    block = mx.gluon.SymbolBlock(difference(mx.sym), mx.sym.var("x"))
    x.attach_grad()
    for _ in range(3):
        with mx.autograd.record():
            y = block(x)
        y.backward()
        assert y.asscalar() == -3 and x.grad.asscalar() == -1
        block.hybridize(static_alloc=True, static_shape=True)


@pytest.mark.filterwarnings("ignore:Cannot decide type")
def test_a_parameter_of_two_variables(mx, tmp_path):
    path = saved(mx.sym.var("data") * mx.sym.var("w") + mx.sym.var("w"), tmp_path)
    mx.nd.save(str(tmp_path / "a.params"), {"arg:w": mx.nd.array([7.0])})
    block = mx.gluon.SymbolBlock.imports(path, "data", str(tmp_path / "a.params"))
    with mx.autograd.record():
        y = block(mx.nd.array([3.0]))
    y.backward()
    parameters = block.collect_params()
    assert list(parameters) == ["w"] and y.asscalar() == 28
    assert parameters["w"].grad().asscalar() == 4


@pytest.mark.engine("torch")  # MXNet writes a graph that knows nothing of the parameter
def test_a_parameter_with_the_name_of_an_input_is_not_exported(mx, tmp_path):
    class Scale(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="")
            self.scale = self.params.get("data", shape=(1,), init="ones")

        def hybrid_forward(self, F, x, scale):
            return x - 2 * scale

    net = Scale()
    net.initialize()
    net.hybridize()
    assert net(mx.nd.array([3.0])).asscalar() == 1
    with pytest.raises(mx.MXNetError, match="export: a parameter has the name of the input 'data'"):
        net.export(str(tmp_path / "net"))
    assert not list(tmp_path.iterdir())


@mxnets
def test_an_executor_for_variables_of_one_name(mx):
    """MXNet gives some values to the wrong variable, some gradients in parts, and refuses some."""
    y, one = difference(mx.sym), mx.nd.ones((1,))
    bound = y.bind(mx.cpu(), {"x": one * 3}, {"x": mx.nd.zeros((1,))})
    same = y.bind(mx.cpu(), [array := one * 3, array], {"x": mx.nd.zeros((1,))})
    for executor in (bound, same, bound.reshape(x=(1,)), y.simple_bind(mx.cpu(), x=(1,))):
        executor.forward(is_train=True, x=one * 3)
        executor.backward(one)
        assert executor.outputs[0].asscalar() == -3
        assert executor.grad_dict["x"].asscalar() == -1
    assert y.eval(mx.cpu(), x=one)[0].asscalar() == -1
    assert y.infer_shape((2,), (2,)) == y.infer_shape(x=(2,)) == ([(2,), (2,)], [(2,)], [])
    for refused in (
        lambda: y.bind(mx.cpu(), [one, one + 1]),
        lambda: y.bind(mx.cpu(), {"x": one}, [one, one + 1]),
        lambda: y.bind(mx.cpu(), {"x": one}, {"x": one + 1}, ["write", "add"]),
        lambda: y.infer_shape((2,), (3,)),
        lambda: y(mx.sym.var("a"), mx.sym.var("b")),
        lambda: mx.gluon.SymbolBlock(y, [mx.sym.var("x"), mx.sym.var("x")]),
    ):
        with pytest.raises(mx.MXNetError, match="named 'x'|different names"):
            refused()


@mxnets
def test_variables_of_one_name_and_two_shapes(mx):
    y = mx.sym.concat(mx.sym.var("x", shape=(2,)), mx.sym.var("x", shape=(3,)), dim=0)
    assert y.infer_shape() == ([(2,), (3,)], [(5,)], [])
    with pytest.raises(mx.MXNetError, match=r"named 'x', .* \(\(2,\), .* and \(\(3,\), "):
        y.simple_bind(mx.cpu())
    with pytest.raises(mx.MXNetError, match=r"bind: more than one variable is named 'x'"):
        mx.mod.Module(y + mx.sym.var("data"), label_names=None).bind([("data", (5,))])


@mxnets
def test_a_state_with_the_name_of_an_argument(mx, tmp_path):
    x, mean = mx.sym.var("data"), mx.sym.var("bn_gamma")
    y = mx.sym.BatchNorm(x, moving_mean=mean, name="bn", fix_gamma=False, eps=1e-12)
    arrays = [mx.nd.array(v) for v in ([[1.0], [3.0]], [5.0], [0.0], [1.0], [1.0])]
    executor = y.bind(mx.cpu(), arrays[:3], aux_states=arrays[3:])
    np.testing.assert_allclose(executor.forward()[0].asnumpy(), [[0], [10]])
    path = saved(y, tmp_path)
    with pytest.raises(mx.MXNetError, match=r"a-symbol\.json': .*'bn_gamma' exists already"):
        mx.gluon.SymbolBlock.imports(path, "data")


@mxnets
def test_names_of_inputs(mx, tmp_path):
    """A variable may have the name of an output."""
    y = mx.sym.relu(mx.sym.var("y_output"), name="y") + mx.sym.var("x")
    path = saved(y, tmp_path)
    block = mx.gluon.SymbolBlock.imports(path, ["y_output", "x"])
    assert block(mx.nd.ones(2), mx.nd.ones(2)).asnumpy().tolist() == [2, 2]
    for names, message in (("z", "no input 'z'"), (["x", "x"], ".*expected different names")):
        with pytest.raises(mx.MXNetError, match=rf"(?s)a-symbol\.json': .*{message}"):
            mx.gluon.SymbolBlock.imports(path, names)


@pytest.mark.engine("torch")  # MXNet refuses such an attribute
def test_attributes_like_those_of_old_files_stay_where_they_are(mx):
    """As often as a graph is saved: only files of before 0.9 have an input's on the operator."""
    attr = {"data_lr_mult": "5"}
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc", attr=attr)
    for _ in range(3):
        found = symbol.attr_dict()
        assert found["fc"]["data_lr_mult"] == "5" and "__lr_mult__" not in found.get("data", {})
        symbol = mx.sym.load_json(symbol.tojson())
