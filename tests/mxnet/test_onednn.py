"""Nodes that MXNet made of several operators for oneDNN, as in files of quantized nets."""

import json

import numpy as np
import pytest
from recorded import Recorded


class Graph:
    """Nodes of a graph in MXNet's format."""

    def __init__(self):
        self.nodes = []

    def add(self, op, name, inputs=(), attrs=None, **more):
        """Append a node; what it returns is its first output."""
        inputs = [[*at, 0] if isinstance(at, tuple) else [at, 0, 0] for at in inputs]
        attrs = {k: str(v) for k, v in (attrs or {}).items()}
        self.nodes.append({"op": op, "name": name, "inputs": inputs, "attrs": attrs, **more})
        return len(self.nodes) - 1

    def written(self, heads):
        variables = [i for i, node in enumerate(self.nodes) if node["op"] == "null"]
        return {"nodes": self.nodes, "arg_nodes": variables, "heads": [[h, 0, 0] for h in heads]}


def inside(bias, norm, act, added, fix_gamma=False, num_group=1, act_type="relu"):
    """What the node computes: a convolution and what follows it."""
    graph = Graph()
    names = ["data", "weight", *["bias"] * bias]
    sizes = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 4}
    settings = sizes | {"no_bias": not bias, "num_group": num_group}
    y = graph.add("Convolution", "conv", [graph.add("null", n) for n in names], settings)
    if norm:
        given = [graph.add("null", n) for n in ("gamma", "beta", "mean", "var")]
        y = graph.add("BatchNorm", "norm", [y, *given], {"eps": 1e-5, "fix_gamma": fix_gamma})
    if act and not added:
        y = graph.add("Activation", "act", [y], {"act_type": act_type})
    if added:
        y = graph.add("elemwise_add", "sum", [y, graph.add("null", "added")])
    if added and act:
        y = graph.add("Activation", "act", [y], {"act_type": act_type})
    return graph.written([y])


def quantized(calibrated, signed=True, signed_sum=True, **given):
    """A graph of quantized inputs and the node, whose range is `calibrated` or None."""
    inner, graph = inside(**given), Graph()
    names = [node["name"] for node in inner["nodes"] if node["op"] == "null"]
    at, ends = {}, []
    for name in names:
        at[name] = graph.add("null", name)
        if name in ("data", "added"):
            low = -2 if (signed if name == "data" else signed_sum) else 0
            attrs = {"out_type": "auto", "min_calib_range": low, "max_calib_range": 2}
            at[name] = graph.add("_contrib_quantize_v2", f"{name}_int", [at[name]], attrs)
            ends += [(at[name], 1), (at[name], 2)]
    attrs = {"quantized": "true"}
    flags = {"with_bn": "norm", "with_sum": "added"}
    attrs |= {flag: "true" for flag, name in flags.items() if given[name]}
    if given["act"]:
        attrs["with_postsum_act" if given["added"] else "with_act"] = "true"
    if calibrated:
        attrs |= dict(zip(("min_calib_range", "max_calib_range"), calibrated))
    inputs = [*at.values(), *ends]
    node = graph.add("_sg_mkldnn_conv", "fused", inputs, attrs, subgraphs=[inner])
    text = graph.written([node])
    text["heads"] += [[node, 1, 0], [node, 2, 0]]
    return json.dumps(text | {"attrs": {"mxnet_version": ["int", 10901]}})


def values(num_group=1):
    draw = np.random.default_rng(11)
    return {
        "data": draw.uniform(-2, 2, (2, 4, 5, 6)),
        "weight": draw.normal(0, 0.3, (4, 4 // num_group, 3, 3))
        * np.exp(draw.normal(size=(4, 1, 1, 1))),
        "bias": draw.normal(size=4),
        "gamma": draw.uniform(0.5, 1.5, 4),
        "beta": draw.normal(size=4),
        "mean": draw.normal(size=4),
        "var": draw.uniform(0.5, 2, 4),
        "added": draw.uniform(-2, 2, (2, 4, 5, 6)),
    }


def outputs(mx, symbol, given):
    states = symbol.list_auxiliary_states()
    arrays = {k: mx.nd.array(v) for k, v in given.items()}
    bound = symbol.bind(
        mx.cpu(),
        {name: arrays[name] for name in symbol.list_arguments()},
        aux_states={name: arrays[name] for name in states},
        grad_req="null",
    )
    return bound.forward()


PLAIN = {"bias": False, "norm": False, "act": False, "added": False}
CASES = {
    "plain": (None, {}),
    "bias, from uint8": (None, {"bias": True, "signed": False}),
    "range": ((-4, 3), {}),
    "range, bias": ((-4, 3), {"bias": True, "signed": False}),
    "relu": ((0, 5), {"bias": True, "act": True}),
    "norm": ((-4, 5), {"norm": True}),
    "norm, fixed gamma, relu": ((0, 5), {"norm": True, "fix_gamma": True, "act": True}),
    "groups": ((-4, 5), {"bias": True, "norm": True, "num_group": 4}),
    "sum": ((-7, 6), {"bias": True, "norm": True, "added": True}),
    "sum, relu": ((0, 6), {"norm": True, "added": True, "act": True}),
    "sum of uint8": ((-7, 6), {"added": True, "signed_sum": False}),
    "sum of uint8, relu": ((0, 6), {"added": True, "act": True, "signed_sum": False}),
}


@pytest.fixture(scope="module")
def golden(request):
    found = Recorded("onednn", request.config.getoption("--record"))
    yield found
    found.write()


@pytest.mark.mxnet_needs("avx512_vnni")
@pytest.mark.parametrize("name", CASES)
def test_a_convolution_of_integers(mx, golden, name):
    calibrated, more = CASES[name]
    text = quantized(calibrated, **PLAIN | more)
    symbol, given = mx.sym.load_json(text), values(more.get("num_group", 1))
    found = outputs(mx, symbol, given)
    kind = "int32" if not calibrated else "uint8" if more.get("act") else "int8"
    assert [y.dtype for y in found] == [np.dtype(kind), np.float32, np.float32]
    golden.check(name, [y.asnumpy() for y in found], 1e-6)
    again = outputs(mx, mx.sym.load_json(symbol.tojson()), given)
    assert all((a.asnumpy() == b.asnumpy()).all() for a, b in zip(found, again))


def test_a_filter_of_zeros_gives_the_bias(mx):
    given = values()
    given["weight"][1] = 0
    text = quantized((-4, 4), **PLAIN | {"bias": True})
    y, *_ = outputs(mx, mx.sym.load_json(text), given)
    expected = round(given["bias"][1] * 127.5 / 4)
    assert (y.asnumpy()[:, 1] == np.clip(expected, -128, 127)).all()


def fused(op, inner, attrs=None):
    """A graph of one node, with variables as its inputs."""
    graph = Graph()
    names = [node["name"] for node in inner["nodes"] if node["op"] == "null"]
    inputs = [graph.add("null", name) for name in names]
    node = graph.add(op, "fused", inputs, attrs, subgraphs=[inner])
    return json.dumps(graph.written([node]) | {"attrs": {"mxnet_version": ["int", 10901]}})


def test_a_convolution_of_numbers(mx):
    given = PLAIN | {"bias": True, "act": True}
    inner = inside(**given)
    symbol = mx.sym.load_json(fused("_sg_mkldnn_conv", inner, {"with_act": "true"}))
    (y,) = outputs(mx, symbol, values())
    (expected,) = outputs(mx, mx.sym.load_json(json.dumps(inner)), values())
    np.testing.assert_allclose(y.asnumpy(), expected.asnumpy(), 1e-5, 1e-5)


def test_an_affine_map_of_numbers(mx):
    graph = Graph()
    inputs = [graph.add("null", name) for name in ("data", "weight", "bias")]
    y = graph.add("FullyConnected", "dense", inputs, {"num_hidden": 3})
    inner = graph.written([graph.add("Activation", "act", [y], {"act_type": "relu"})])
    text = fused("_sg_mkldnn_fully_connected", inner, {"with_eltwise": "True"})
    draw = np.random.default_rng(2)
    given = {
        "data": draw.normal(size=(2, 5)),
        "weight": draw.normal(size=(3, 5)),
        "bias": draw.normal(size=3),
    }
    (y,) = outputs(mx, mx.sym.load_json(text), given)
    expected = np.maximum(given["data"] @ given["weight"].T + given["bias"], 0)
    np.testing.assert_allclose(y.asnumpy(), expected, 1e-5, 1e-5)


def test_shapes_and_types_are_inferred(mx):
    symbol = mx.sym.load_json(quantized((0, 6), **PLAIN | {"norm": True, "act": True}))
    arguments, shapes, states = symbol.infer_shape(data=(2, 4, 5, 6))
    assert dict(zip(symbol.list_arguments(), arguments)) == {
        "data": (2, 4, 5, 6),
        "weight": (4, 4, 3, 3),
        "gamma": (4,),
        "beta": (4,),
    }
    assert shapes == [(2, 4, 5, 6), (1,), (1,)]
    assert states == [(4,), (4,)]
    assert symbol.list_auxiliary_states() == ["mean", "var"]


@pytest.mark.engine("torch")  # MXNet computes something, or ends the process
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"calibrated": None, "added": True}, "a sum has no range"),
        ({"act": True, "act_type": "tanh"}, "its graph is Convolution, Activation"),
    ],
)
def test_what_is_refused(mx, change, words):
    text = quantized(**{"calibrated": (-1, 1)} | PLAIN | change)
    with pytest.raises(mx.MXNetError, match=words):
        mx.sym.load_json(text)


@pytest.mark.engine("torch")  # MXNet has it
def test_a_quantized_affine_map_is_refused(mx):
    inner = inside(**PLAIN)
    text = fused("_sg_mkldnn_fully_connected", inner, {"quantized": "true"})
    with pytest.raises(mx.MXNetError, match="it is quantized"):
        mx.sym.load_json(text)
