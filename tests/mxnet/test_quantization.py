"""Graphs on 8-bit integers: their structure is MXNet's, and what they compute is near the net's."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from repeated import first_alone

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "quantized_graphs.json"
torch_only = pytest.mark.engine("torch")


@pytest.fixture
def quantization(mx, monkeypatch):
    # In oneDNN's graphs MXNet does not see the outputs that it looks for.
    monkeypatch.setenv("MXNET_SUBGRAPH_BACKEND", "NONE")
    from importlib import import_module

    return import_module(f"{mx.__name__}.contrib.quantization")


def conv(mx, x, name, **options):
    given = {"kernel": (3, 3), "num_filter": 4, "pad": (1, 1), "name": name} | options
    return mx.sym.Convolution(x, **given)


def relu(mx, x, name):
    return mx.sym.Activation(x, act_type="relu", name=name)


def residual(mx):
    sym, x = mx.sym, mx.sym.var("data")
    normed = sym.BatchNorm(conv(mx, x, "c0", no_bias=True), fix_gamma=False, name="bn")
    first = relu(mx, normed, "r0")
    y = relu(mx, sym.elemwise_add(conv(mx, first, "c1"), first, name="add"), "r1")
    y = sym.Pooling(y, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
    y = sym.Concat(y, sym.sqrt(y, name="sqrt"), dim=1, name="cat")
    y = sym.Flatten(sym.Pooling(y, kernel=(2, 2), pool_type="avg", name="mean"), name="flat")
    return sym.SoftmaxOutput(sym.FullyConnected(y, num_hidden=5, name="fc"), name="softmax")


def leaky(mx):
    y = conv(mx, mx.sym.LeakyReLU(conv(mx, mx.sym.var("data"), "c0"), name="leaky"), "c1")
    return mx.sym.broadcast_add(y, mx.sym.elemwise_mul(y, y, name="mul"), name="sum")


def split(mx):
    parts = mx.sym.split(conv(mx, mx.sym.var("data"), "c0"), num_outputs=2, axis=1, name="parts")
    return mx.sym.Group([conv(mx, parts[1], "c1"), relu(mx, conv(mx, parts[0], "c2"), "r")])


def words(mx):
    x = mx.sym.Embedding(mx.sym.var("data"), input_dim=9, output_dim=4, name="table")
    w = mx.sym.var("shared_weight")
    y = mx.sym.FullyConnected(x, w, num_hidden=4, no_bias=True, flatten=False, name="f0")
    y = mx.sym.FullyConnected(y, w, num_hidden=4, no_bias=True, flatten=False, name="f1")
    return mx.sym.Activation(y, act_type="tanh", name="t")


CASES = {
    "residual": (residual, {"quantized_dtype": "auto"}),
    "residual, full": (residual, {"quantize_mode": "full", "calib_mode": "none"}),
    "residual, entropy": (residual, {"calib_mode": "entropy", "quantized_dtype": "uint8"}),
    "residual without": (
        residual,
        {"excluded_sym_names": ["c1", "bn"], "excluded_op_names": ["Concat"]},
    ),
    "leaky": (leaky, {}),
    "leaky, full": (leaky, {"quantize_mode": "full"}),
    "split": (split, {"quantize_mode": "full", "quantized_dtype": "uint8"}),
    "split, smart": (split, {}),
    "words": (words, {}),
    "words, full": (words, {"quantize_mode": "full"}),
}


def parameters(mx, graph, shape):
    """Arrays for all variables but the data: the same on each engine."""
    shapes, _, states = graph.infer_shape(data=shape)
    named = dict(zip(graph.list_arguments(), shapes))
    random = np.random.RandomState(3)
    args = {
        name: mx.nd.array(random.standard_normal(size) / 2)
        for name, size in named.items()
        if name not in ("data", "softmax_label")
    }
    return args, {n: mx.nd.ones(s) for n, s in zip(graph.list_auxiliary_states(), states)}


def examples(mx, shape, like_words):
    random = np.random.RandomState(4)
    data = random.randint(0, 9, shape) if like_words else random.standard_normal(shape)
    return mx.nd.array(data)


def described(graph):
    """The nodes: operator, name, attributes, inputs; the ranges apart."""
    found = json.loads(graph.tojson())
    nodes, ranges = [], {}
    for node in found["nodes"]:
        attrs = dict(node.get("attrs", {})) if node["op"] != "null" else {}
        ends = [attrs.pop(f"{end}_calib_range", None) for end in ("min", "max")]
        if ends[0] is not None:
            ranges[node["name"]] = [float(end) for end in ends]
        inputs = [[found["nodes"][i]["name"], k] for i, k, *_ in node["inputs"]]
        nodes.append([node["op"], node["name"], attrs, inputs])
    return {"nodes": nodes, "ranges": ranges, "outputs": graph.list_outputs()}


CUT = "ignore:quantized_dtype='uint8' has no numbers below 0"


@pytest.mark.filterwarnings(CUT)
@pytest.mark.parametrize("name", CASES)
def test_structure_and_ranges(mx, quantization, engine, name, pytestconfig):
    make, options = CASES[name]
    graph, options = make(mx), {"calib_mode": "naive"} | options
    shape = (8, 3) if make is words else (8, 3, 6, 6)
    args, states = parameters(mx, graph, shape)
    if options["calib_mode"] != "none":
        label = mx.nd.zeros(8) if make is residual else None
        options["calib_data"] = mx.io.NDArrayIter(examples(mx, shape, make is words), label, 4)
        options["label_names"] = None if label is None else ["softmax_label"]
    quantized, q_args, _ = quantization.quantize_model(graph, args, states, **options)
    found = described(quantized)
    found["parameters"] = {
        n: a.asnumpy().ravel()[:5].tolist() for n, a in sorted(q_args.items()) if "quantize" in n
    }
    golden = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if pytestconfig.getoption("--record"):
        golden[name] = found
        lines = [f"{json.dumps(key)}: {json.dumps(golden[key])}" for key in CASES if key in golden]
        GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return
    expected = golden[name]
    assert found["nodes"] == expected["nodes"]
    assert found["outputs"] == expected["outputs"]
    # Two ranges of one divergence, up to rounding, may be far apart.
    near = 0.05 if options["calib_mode"] == "entropy" else 1e-4
    for what in "ranges", "parameters":
        assert found[what].keys() == expected[what].keys()
        for key, value in expected[what].items():
            np.testing.assert_allclose(found[what][key], value, near, 2e-6, err_msg=key)


@torch_only
@pytest.mark.filterwarnings(CUT)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "auto"])
@pytest.mark.parametrize("name", ["residual", "split", "words"])
def test_computes_nearly_the_same(mx, quantization, name, dtype):
    make, options = CASES[name][0], {"quantize_mode": "full"}
    graph, shape = make(mx), (8, 3) if name == "words" else (8, 3, 6, 6)
    args, states = parameters(mx, graph, shape)
    data = examples(mx, shape, name == "words")
    if dtype == "uint8":  # numbers below 0 are cut
        data = data.abs()
        args = {n: a.abs() for n, a in args.items()}
    it = mx.io.NDArrayIter(data, None, 4)
    quantized, q_args, q_states = quantization.quantize_model(
        graph, args, states, calib_mode="naive", calib_data=it, quantized_dtype=dtype, **options
    )
    given = {"data": data}
    if "softmax_label" in graph.list_arguments():
        given["softmax_label"] = mx.nd.zeros(8)
    expected = graph.bind(mx.cpu(), args | given, aux_states=states).forward()
    again = mx.sym.load_json(quantized.tojson())
    found = again.bind(mx.cpu(), q_args | given, aux_states=q_states, grad_req="null").forward()
    for y, z in zip(found, expected):
        assert y.dtype == np.float32 and y.shape == z.shape
        assert (y - z).abs().max().asscalar() < 0.06 * z.abs().max().asscalar()


@torch_only
@pytest.mark.parametrize("calib_mode", first_alone(["naive", "entropy"]))
def test_values_that_uint8_cuts_are_named(mx, quantization, calib_mode):
    """MXNet cuts them too, and says nothing. What relu would make 0 is not among them."""
    y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="first")
    y = mx.sym.FullyConnected(relu(mx, y, "relu"), num_hidden=2, name="last")
    args, _ = parameters(mx, y, (8, 3))
    data = examples(mx, (8, 3), False)

    def quantize(data, dtype):
        batches = mx.io.NDArrayIter(data, None, 4)
        quantization.quantize_model(
            y, args, {}, calib_mode=calib_mode, calib_data=batches, quantized_dtype=dtype
        )

    with pytest.warns(UserWarning, match="below 0") as caught:
        quantize(data, "uint8")
    low = f"{data.min().asscalar():.4g}"
    assert f"data ({low} to " in str(caught[0].message)
    assert "last_output (-" in str(caught[0].message)
    assert "first_output" not in str(caught[0].message)
    quantize(data, "auto")
    with pytest.warns(UserWarning, match=r"in last_output \(-"):
        quantize(data.abs(), "uint8")


def test_histograms_are_combined(quantization):
    """The bins are as wide as before; there are as many more on each side as are needed."""
    counts, edges = np.array([1, 0, 2]), np.array([-3.0, -1.0, 1.0, 3.0])
    old = counts, edges, -2.0, 2.5, 3.0
    found = quantization.combine_histogram(old, np.array([-4.0, 0.5, 2.0]), -4.0, 2.0, 4.0)
    assert found[0].tolist() == [1, 1, 1, 3, 0]
    np.testing.assert_allclose(found[1], [-5, -3, -1, 1, 3, 5])
    assert found[2:] == (-4.0, 2.5, 5.0)
    found = quantization.combine_histogram(old, np.array([0.5, 2.0]), 0.5, 2.0, 2.0)
    assert found[0].tolist() == [1, 1, 3]
    assert found[2:] == (-2.0, 2.5, 3.0)


@torch_only
def test_collector_of_a_caller(mx, quantization):
    graph = leaky(mx)
    args, states = parameters(mx, graph, (2, 3, 6, 6))

    class Fixed:
        min_max_dict = {}

        def collect(self, name, array):
            self.min_max_dict[name] = (-1.0, float(array.size))

    quantized, q_args, _, collector = quantization.quantize_graph(
        graph, args, states, calib_mode="customize", LayerOutputCollector=Fixed()
    )
    with pytest.raises(ValueError, match="the collector has seen no outputs"):
        quantization.calib_graph(quantized, q_args, states, collector, "customize")
    for name in collector.include_layer:
        collector.collect(name, mx.nd.ones((3,)))
    quantized, _, _ = quantization.calib_graph(quantized, q_args, states, collector, "customize")
    assert {*map(tuple, described(quantized)["ranges"].values())} == {(-1.0, 3.0)}


@torch_only
@pytest.mark.parametrize(
    "options, message",
    [
        ({"calib_mode": "best"}, "calib_mode is 'best'\n  expected one of .*entropy"),
        ({"calib_mode": "naive"}, "calib_data is None with calib_mode='naive'"),
        ({"quantized_dtype": "int4"}, "quantized_dtype is 'int4'"),
        ({"quantize_mode": "all"}, "quantize_mode is 'all'"),
        ({"excluded_sym_names": "c0"}, "excluded_sym_names is 'c0'\n  expected a list"),
        (
            {"calib_mode": "best", "calib_data": None},
            "calib_mode is 'best'\n  expected one of .*'none', 'naive', 'entropy', 'customize'",
        ),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_mistakes(mx, quantization, options, message):
    graph = leaky(mx)
    args, states = parameters(mx, graph, (2, 3, 6, 6))
    it = None if options == {"calib_mode": "naive"} else mx.io.NDArrayIter(mx.nd.ones((2, 3, 6, 6)))
    with pytest.raises(ValueError, match=message):
        quantization.quantize_model(graph, args, states, **({"calib_data": it} | options))


@pytest.mark.parametrize(
    "excluded, told",
    [
        (
            {"excluded_op_names": ["Convolution", "Conv"]},
            r"no operator \['Conv'\], .*\n.*'Convolution'",
        ),
        ({"excluded_sym_names": ["c9", "c0"]}, r"no layer \['c9'\], .*\n.*'c0'"),
    ],
)
def test_names_to_be_left_out_that_do_not_exist(mx, quantization, excluded, told):
    """Programs have lists for a whole family of models; MXNet says nothing."""
    graph = leaky(mx)
    args, states = parameters(mx, graph, (2, 3, 6, 6))
    own = mx.__name__ != "mxnet"
    with pytest.warns(UserWarning, match=told) if own else nullcontext():
        quantized, _, _ = quantization.quantize_model(
            graph, args, states, ctx=mx.cpu(), calib_mode="none", **excluded
        )
    assert "c0_output" in quantized.get_internals().list_outputs()


@torch_only
def test_operators_that_are_left_out(mx, quantization):
    graph = leaky(mx)
    args, states = parameters(mx, graph, (2, 3, 6, 6))
    for names, left, not_there in (
        (["Convolution", "Pooling", "_sg_mkldnn_conv"], "Convolution", "_contrib_quantized_conv"),
        (["_mul"], "elemwise_mul", "_contrib_quantized_elemwise_mul"),  # an alias
    ):
        quantized, _, _ = quantization.quantize_model(
            graph, args, states, excluded_op_names=names, calib_mode="none", quantize_mode="full"
        )
        operators = [node[0] for node in described(quantized)["nodes"]]
        assert left in operators and not_there not in operators


def digits(mx):
    data = pytest.importorskip("sklearn.datasets").load_digits()
    order = np.random.RandomState(0).permutation(len(data.images))
    x = (data.images / 16).astype("float32")[order, None]
    return mx.nd.array(x), mx.nd.array(data.target[order])


def trained(mx, net, x, label, epochs):
    mx.random.seed(0)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.002})
    for _ in range(epochs):
        for i in range(0, len(x), 50):
            with mx.autograd.record():
                value = loss(net(x[i : i + 50]), label[i : i + 50])
            value.backward()
            trainer.step(50)
    return net


def accuracy(net, x, label):
    return float((net(x).argmax(1).asnumpy() == label.asnumpy()).mean())


def small_net(mx):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="small_")
    with net.name_scope():
        net.add(nn.Conv2D(16, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D())
        net.add(nn.Conv2D(16, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
    return net


@torch_only
@pytest.mark.parametrize("calib_mode", ["naive", "entropy"])
@pytest.mark.parametrize(
    "name, epochs", [("small", 2), pytest.param("resnet18_v1", 3, marks=pytest.mark.slow)]
)
def test_accuracy_stays(mx, quantization, name, epochs, calib_mode, monkeypatch, tmp_path):
    """Within half a point of the float net's; the small one has learned less, and may lose 2."""
    if name == "small":  # so many bins cost seconds
        collector = quantization._LayerHistogramCollector
        monkeypatch.setattr(collector.__init__, "__defaults__", (801, None, None))
        net = small_net(mx)
    else:
        net = mx.gluon.model_zoo.vision.get_model(name, classes=10, thumbnail=True)
    x, label = digits(mx)
    net = trained(mx, net, x[:1300], label[:1300], epochs)
    batches = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x[:200], label[:200]), 50)
    quantized = quantization.quantize_net(net, "auto", calib_mode=calib_mode, calib_data=batches)
    before = accuracy(net, x[1300:], label[1300:])
    allowed = 0.02 if name == "small" else 0.005
    assert accuracy(quantized, x[1300:], label[1300:]) >= before - allowed
    quantized.export(str(tmp_path / "net"))
    files = str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    again = mx.gluon.SymbolBlock.imports(*files)
    again.hybridize(static_alloc=True, static_shape=True)
    for _ in range(3):
        np.testing.assert_array_equal(again(x[:9]).asnumpy(), quantized(x[:9]).asnumpy())
    kept = {p.dtype for n, p in again.collect_params().items() if n.endswith("weight_quantize")}
    assert kept == {np.int8}


def doubling(mx, inner):
    """A net of two inputs; the second one has a default."""

    class Net(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def hybrid_forward(self, F, x, other=None):
            return self.inner(x if other is None else F.concat(x, other, dim=1))

    net = Net()
    net.initialize()
    return net


@torch_only
def test_the_first_batch_is_looked_at(mx, quantization):
    """Also of an iterator that has no other one."""
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    batches = mx.io.NDArrayIter(mx.nd.ones((4, 3)) * 7, mx.nd.ones(4), 4)
    quantized = quantization.quantize_net(net, "int8", calib_mode="naive", calib_data=batches)
    ranges = described(quantized(mx.sym.var("data")))["ranges"]
    assert ranges["data_quantize"] == [7, 7]
    with pytest.raises(ValueError, match="has 0 arrays\n  expected 1, the network's inputs"):
        quantization.quantize_net(net, "int8", calib_mode="naive", calib_data=batches)


@torch_only
@pytest.mark.parametrize("kind", ["numpy", "NDArray", "Dataset", "list of numpy"])
def test_calibration_data_without_batches(mx, quantization, kind):
    net = mx.gluon.nn.Dense(2, in_units=3)
    net.initialize()
    data = np.ones((4, 3), "float32")
    given = {
        "numpy": (data, r"calib_data is a ndarray of \(4, 3\), which has no batches"),
        "NDArray": (mx.nd.array(data), r"calib_data is a NDArray of \(4, 3\)"),
        "Dataset": (mx.gluon.data.ArrayDataset(data), r"calib_data is a ArrayDataset of 4"),
        "list of numpy": ([data], "a batch of calib_data has a ndarray\n  expected NDArrays"),
    }
    calib_data, message = given[kind]
    with pytest.raises(ValueError, match=message):
        quantization.quantize_net(net, calib_mode="naive", calib_data=calib_data)


@torch_only
def test_small_values_have_a_range(mx, quantization):
    """A range is written with all its digits."""
    net = mx.gluon.nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    x = mx.nd.array([[1e-7, 2e-7, 3e-7]])
    quantized = quantization.quantize_net(net, "int8", calib_mode="naive", calib_data=[x])
    np.testing.assert_allclose(quantized(x).asnumpy(), net(x).asnumpy(), 0.02)
    ranges = described(quantized(mx.sym.var("data")))["ranges"]
    assert ranges["data_quantize"][1] == np.float32(3e-7)


@torch_only
def test_how_many_inputs_a_batch_has(mx, quantization):
    """Those without a default, or as many as data_shapes tells; the others may be labels."""
    batches = [(mx.nd.ones((4, 3)), mx.nd.ones((4, 2)))]
    options = {"quantized_dtype": "int8", "calib_mode": "naive", "calib_data": batches}
    net = doubling(mx, mx.gluon.nn.Dense(2))
    assert quantization.quantize_net(net, **options)(mx.nd.ones((4, 3))).shape == (4, 2)
    net = doubling(mx, mx.gluon.nn.Dense(2))
    quantized = quantization.quantize_net(net, data_shapes=[(4, 3), (4, 2)], **options)
    assert quantized(mx.nd.ones((4, 3)), mx.nd.ones((4, 2))).shape == (4, 2)


@torch_only
def test_an_error_of_the_net_is_shown(mx, quantization):
    batches = [(mx.nd.ones((4, 3)), mx.nd.ones((4, 2)))]
    net = doubling(mx, mx.gluon.nn.Dense(2, in_units=3))
    with pytest.raises(ValueError, match=r"\(4, 5\)"):
        quantization.quantize_net(
            net, calib_mode="naive", calib_data=batches, data_shapes=[(4, 3), (4, 2)]
        )


@torch_only
def test_layers_that_are_left_out(mx, quantization):
    net = small_net(mx)
    net.initialize()
    quantized = quantization.quantize_net_v2(
        net,
        quantized_dtype="int8",
        exclude_layers_match=["conv0", "dense"],
        exclude_operators=["BatchNorm"],
        data_shapes=[(2, 1, 8, 8)],
    )
    x = mx.nd.random.normal(shape=(3, 1, 8, 8))
    operators = [n[0] for n in described(quantized(mx.sym.var("data")))["nodes"]]
    assert operators.count("Convolution") == operators.count("FullyConnected") == 1
    assert operators.count("BatchNorm") == 2
    assert operators.count("_contrib_quantized_conv") == 1
    np.testing.assert_allclose(quantized(x).asnumpy(), net(x).asnumpy(), 0.1, 0.02)
    with pytest.warns(UserWarning, match=r"no layer \['small_conv0'\].*\n.*'small_conv0_fwd'"):
        quantization.quantize_net(net, exclude_layers=["small_conv0"], data_shapes=[(2, 1, 8, 8)])
    with pytest.raises(ValueError, match="calib_data is None with calib_mode='naive'"):
        quantization.quantize_net(net, calib_mode="naive")
    with pytest.raises(ValueError, match="calib_mode is 'foo'\n  expected one of .*'entropy'"):
        quantization.quantize_net(net, calib_mode="foo")
    with pytest.raises(ValueError, match="expected a HybridBlock"):
        quantization.quantize_net(mx.gluon.Block())
