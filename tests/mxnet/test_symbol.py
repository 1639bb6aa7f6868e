"""Symbols: names, inputs that make themselves, shapes, attributes, files; on both engines."""

import copy
import json
import pickle
import time
from importlib import import_module
from unittest.mock import Mock

import forks
import numpy as np
import pytest


@pytest.fixture
def sym(mx):
    with mx.name.NameManager():
        yield mx.sym


@pytest.fixture
def net(sym):
    x = sym.Variable("x")
    y = sym.Activation(sym.FullyConnected(x, num_hidden=4, name="fc"), act_type="relu")
    return sym.SoftmaxOutput(y, name="softmax")


def test_names(net):
    assert net.list_arguments() == ["x", "fc_weight", "fc_bias", "softmax_label"]
    assert net.list_outputs() == ["softmax_output"]
    assert net.list_auxiliary_states() == []
    internals = net.get_internals()
    assert internals.list_outputs() == [
        "x",
        "fc_weight",
        "fc_bias",
        "fc_output",
        "activation0_output",
        "softmax_label",
        "softmax_output",
    ]
    assert internals["fc_output"].name == "fc"
    assert repr(net.get_children()) == "<Symbol group [activation0, softmax_label]>"
    assert (repr(net), net.name) == ("<Symbol softmax>", "softmax")


def test_which_inputs_there_are(sym):
    x = sym.Variable("x")
    inputs = {
        "no bias": sym.FullyConnected(x, num_hidden=4, no_bias=True, name="f"),
        "prelu": sym.LeakyReLU(x, act_type="prelu", name="p"),
        "leaky": sym.LeakyReLU(x, name="q"),
        "concat": sym.Concat(x, x * 2, dim=1),
        "given": sym.FullyConnected(data=x, weight=sym.var("w"), num_hidden=4, name="g"),
    }
    assert {k: s.list_arguments() for k, s in inputs.items()} == {
        "no bias": ["x", "f_weight"],
        "prelu": ["x", "p_gamma"],
        "leaky": ["x"],
        "concat": ["x"],
        "given": ["x", "w", "g_bias"],
    }


def test_states(sym):
    y = sym.BatchNorm(sym.Variable("x"), name="bn")
    assert y.list_arguments() == ["x", "bn_gamma", "bn_beta"]
    assert y.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    shapes = y.infer_shape(x=(2, 3, 4, 4))
    assert shapes == ([(2, 3, 4, 4), (3,), (3,)], [(2, 3, 4, 4)], [(3,), (3,)])


def test_several_outputs(sym):
    parts = sym.split(sym.Variable("x"), num_outputs=3, name="s")
    assert parts.list_outputs() == ["s_output0", "s_output1", "s_output2"]
    assert parts[1].list_outputs() == ["s_output1"]
    assert [p.name for p in parts] == ["s", "s", "s"]
    assert sym.topk(sym.Variable("x"), k=2, ret_typ="both").list_outputs() == [
        "topk0_output0",
        "topk0_output1",
    ]


def test_group(sym):
    x = sym.Variable("x")
    both = sym.Group([sym.exp(x, name="a"), sym.log(x, name="b")])
    assert (both.list_outputs(), len(both), both.name) == (["a_output", "b_output"], 2, None)
    assert both["b_output"].name == "b"


@pytest.mark.parametrize(
    "make, name, op, scalar",
    [
        (lambda x, y: x + y, "_plus0", "elemwise_add", None),
        (lambda x, y: x - y, "_minus0", "elemwise_sub", None),
        (lambda x, y: x * y, "_mul0", "elemwise_mul", None),
        (lambda x, y: x / y, "_div0", "elemwise_div", None),
        (lambda x, y: x**y, "_power0", "_power", None),
        (lambda x, y: x > y, "_greater0", "_greater", None),
        (lambda x, y: x + 1, "_plusscalar0", "_plus_scalar", "1"),
        (lambda x, y: 1 - x, "_rminusscalar0", "_rminus_scalar", "1"),
        (lambda x, y: x / 2.5, "_divscalar0", "_div_scalar", "2.5"),
        (lambda x, y: x == 1, "_equal_scalar0", "_equal_scalar", "1"),
        (lambda x, y: -x, "_mulscalar0", "_mul_scalar", "-1.0"),
        (lambda x, y: np.sqrt(4) * x, "_mulscalar0", "_mul_scalar", "2.0"),
        (lambda x, y: np.float32(1) - x, "_rminusscalar0", "_rminus_scalar", "1.0"),
        (lambda x, y: np.int64(1) < x, "_greater_scalar0", "_greater_scalar", "1"),
    ],
)
def test_arithmetic(sym, make, name, op, scalar):
    z = make(sym.Variable("x"), sym.Variable("y"))
    node = json.loads(z.tojson())["nodes"][-1]
    assert (z.name, node["op"], node.get("attrs", {}).get("scalar")) == (name, op, scalar)


@pytest.mark.filterwarnings("ignore:Cannot decide shape")
def test_shapes(net):
    told = ([(5, 3), (4, 3), (4,), (5,)], [(5, 4)], [])
    assert net.infer_shape(x=(5, 3)) == told
    assert net.infer_shape(fc_weight=(4, 7)) == (None, None, None)
    assert net.infer_shape_partial() == ([(), (), (), ()], [()], [])
    assert net.infer_type(x="float32")[1] == [np.float32]


def test_shapes_that_do_not_fit(mx, net):
    with pytest.raises(mx.MXNetError, match="fc"):
        net.infer_shape(x=(5, 3), fc_weight=(4, 7))
    with pytest.raises(mx.MXNetError):
        net.infer_shape(nothing=(5, 3))


BOTH_WAYS = {
    "elementwise": lambda sym, x, y: sym.elemwise_add(x, sym.exp(y)),
    "the other side": lambda sym, x, y: sym.elemwise_mul(sym.exp(y), x),
    "a chain": lambda sym, x, y: x - sym.clip(sym.Activation(y * 2, act_type="relu"), 0, 1),
    "any number": lambda sym, x, y: sym.add_n(x, y, x),
    "comparison": lambda sym, x, y: x == sym.log_softmax(y),
    "a type": lambda sym, x, y: sym.cast(x, dtype="float16") * sym.cast(y, dtype="float16"),
}


@pytest.mark.parametrize("make", BOTH_WAYS.values(), ids=BOTH_WAYS)
def test_shapes_both_ways(sym, make):
    z = make(sym, sym.Variable("x"), sym.Variable("y"))
    for name in "xy":
        assert z.infer_shape(**{name: (2, 3)})[1] == [(2, 3)]


def test_shapes_of_what_is_chosen_from(sym):
    z = sym.where(sym.Variable("c"), sym.Variable("x"), sym.Variable("y"))
    for name in "xy":
        assert z.infer_shape(c=(2,), **{name: (2, 3)})[1] == [(2, 3)]


PARTIAL = {
    "fully connected": (
        lambda sym, x, y: sym.FullyConnected(x, num_hidden=4, name="f"),
        {"x": (0, 3)}, [(0, 3), (4, 3), (4,)], [(0, 4)],
    ),
    "convolution": (
        lambda sym, x, y: sym.Convolution(x, kernel=(3, 3), num_filter=8, name="c"),
        {"x": (0, 3, 0, 8)}, [(0, 3, 0, 8), (8, 3, 3, 3), (8,)], [(0, 8, 0, 6)],
    ),
    "the channels": (
        lambda sym, x, y: sym.Convolution(x, kernel=(3, 3), num_filter=8, name="c"),
        {"x": (2, 0, 8, 8)}, [(2, 0, 8, 8), (8, 0, 3, 3), (8,)], [(2, 8, 6, 6)],
    ),
    "pooling everything": (
        lambda sym, x, y: sym.Pooling(x, global_pool=True, kernel=(1, 1)),
        {"x": (2, 3, 0, 0)}, [(2, 3, 0, 0)], [(2, 3, 1, 1)],
    ),
    "each has what the other has not": (
        lambda sym, x, y: x + y,
        {"x": (0, 3), "y": (2, 0)}, [(2, 3), (2, 3)], [(2, 3)],
    ),
    "one of two": (lambda sym, x, y: x + y, {"x": (0, 3)}, [(0, 3), (0, 3)], [(0, 3)]),
    "concat": (
        lambda sym, x, y: sym.concat(x, y, dim=1),
        {"x": (0, 3), "y": (2, 4)}, [(2, 3), (2, 4)], [(2, 7)],
    ),
    "reshape": (lambda sym, x, y: sym.reshape(x, shape=(-1, 4)), {"x": (0, 4)}, [(0, 4)], [(0, 4)]),
    "sum": (lambda sym, x, y: sym.sum(x, axis=1), {"x": (2, 0)}, [(2, 0)], [(2,)]),
    "transpose": (
        lambda sym, x, y: sym.transpose(x, axes=(1, 0)), {"x": (0, 4)}, [(0, 4)], [(4, 0)],
    ),
    "pick": (lambda sym, x, y: sym.pick(x, y), {"x": (2, 3)}, [(2, 3), (2,)], [(2,)]),
    "less than nothing": (lambda sym, x, y: sym.exp(x), {"x": (2, -1)}, [(2, 0)], [(2, 0)]),
}  # fmt: skip


@pytest.mark.parametrize("make, given, arguments, outputs", PARTIAL.values(), ids=PARTIAL)
def test_sizes_that_are_not_known(sym, make, given, arguments, outputs):
    z = make(sym, sym.Variable("x"), sym.Variable("y"))
    assert z.infer_shape_partial(**given) == (arguments, outputs, [])


def test_shapes_that_differ(mx, sym):
    z = sym.Variable("x") + sym.Variable("y")
    with pytest.raises(mx.MXNetError, match=r"2, ?4"):
        z.infer_shape(x=(2, 3), y=(2, 4))
    with pytest.raises(TypeError, match="x"):
        z.infer_shape(x=3)


@pytest.fixture
def begun(mx, sym):
    """A step of a recurrent cell, as MXNet exports it: zeros for what batch there will be."""
    h = sym.FullyConnected(sym.zeros((0, 4), name="begin"), num_hidden=4, name="h2h")
    i = sym.FullyConnected(sym.Variable("x"), num_hidden=4, name="i2h")
    return sym.concat(h + i, sym.zeros((0, 4)), dim=1)


def test_zeros_of_a_size_that_is_not_known(begun):
    arguments, outputs, _ = begun.infer_shape(x=(2, 3))
    assert arguments == [(4, 4), (4,), (2, 3), (4, 3), (4,)] and outputs == [(2, 8)]


def test_zeros_take_the_size_of_each_call(mx, begun):
    names = ["h2h_weight", "h2h_bias", "i2h_weight", "i2h_bias"]
    values = [mx.nd.ones(s) for s in ((4, 4), (4,), (4, 3), (4,))]
    for count in (2, 5):
        (y,) = begun.eval(ctx=mx.cpu(), x=mx.nd.ones((count, 3)), **dict(zip(names, values)))
        assert y.asnumpy().tolist() == [[5] * 4 + [0] * 4] * count


@pytest.mark.engine("torch")
@pytest.mark.slow
def test_zeros_take_their_size_when_compiled(mx, begun, caplog):
    net = mx.gluon.SymbolBlock(begun, mx.sym.var("x"))
    net.initialize(mx.init.One())
    net.hybridize(backend="eager")
    for count in (2, 5):
        assert net(mx.nd.ones((count, 3))).shape == (count, 8)
    assert "not compiled" not in caplog.text


@pytest.mark.filterwarnings("ignore:Cannot decide shape")
def test_shapes_that_are_not_told(sym):
    z = sym.broadcast_add(sym.Variable("x"), sym.exp(sym.Variable("y")))
    assert z.infer_shape(x=(2, 3)) == (None, None, None)


ATTRIBUTES = [
    (lambda sym, x: sym.Convolution(x, kernel=(3, 3), num_filter=8, stride=[2, 2], layout=None),
     {"kernel": "(3, 3)", "num_filter": "8", "stride": "[2, 2]", "layout": "None"}),
    (lambda sym, x: sym.cast(x, dtype=np.float16), {"dtype": "float16"}),
    (lambda sym, x: x.astype("int32"), {"dtype": "int32"}),
    (lambda sym, x: sym.softmax(x, dtype=np.dtype("float64")), {"dtype": "float64"}),
    (lambda sym, x: sym.Embedding(x, input_dim=3, output_dim=4, dtype=np.float64),
     {"dtype": "float64", "input_dim": "3", "output_dim": "4"}),
    (lambda sym, x: sym.sum(x, (0, 1), True), {"axis": "(0, 1)", "keepdims": "True"}),
    (lambda sym, x: sym.sum(x, axis=None, keepdims=1), {"axis": "None", "keepdims": "1"}),
    (lambda sym, x: sym.slice(x, begin=(0, None), end=(2, None)),
     {"begin": "(0, None)", "end": "(2, None)"}),
    (lambda sym, x: sym.Dropout(x, 0.3), {"p": "0.3"}),
    (lambda sym, x: 1e-5 * x, {"scalar": "1e-05"}),
    (lambda sym, x: sym.concat(x, x, dim=1), {"dim": "1", "num_args": "2"}),
    (lambda sym, x: sym.UpSampling(x, scale=2, sample_type="bilinear", num_filter=2),
     {"num_args": "1", "num_filter": "2", "sample_type": "bilinear", "scale": "2"}),
    (lambda sym, x: sym.split_v2(x, (1, 3), axis=1),
     {"axis": "1", "indices": "[0, 1, 3]", "sections": "0", "squeeze_axis": "False"}),
    (lambda sym, x: sym.random.uniform(x, x, shape=(2, 3)), {"shape": "(2, 3)"}),
    (lambda sym, x: sym.random.normal(shape=3, dtype="float64"),
     {"loc": "0", "scale": "1", "shape": "3", "dtype": "float64"}),
    (lambda sym, x: sym.random.multinomial(x), {"dtype": "int32", "get_prob": "True"}),
    (lambda sym, x: sym.zeros((2, 3)), {"dtype": "float32", "shape": "(2, 3)"}),
]  # fmt: skip


@pytest.mark.parametrize("make, attributes", ATTRIBUTES)
def test_attributes_as_text(sym, make, attributes):
    text = make(sym, sym.Variable("x")).tojson()
    node = next(n for n in reversed(json.loads(text)["nodes"]) if n["op"] != "null")
    assert node["attrs"] == attributes
    assert sym.load_json(text).tojson() == text


def test_draws_from_symbols(sym):
    x, y = sym.Variable("x"), sym.Variable("y")
    assert sym.random.gamma(x, y, name="g").list_arguments() == ["x", "y"]
    assert sym.random.uniform_like(x).list_arguments() == ["x"]
    with pytest.raises((ValueError, AssertionError)):  # the latter is MXNet's
        sym.random.normal(x, 1)


TYPES = {
    "nothing": (lambda sym, x, y: x + y, {}, [None, None], [None]),
    "from the other side": (
        lambda sym, x, y: sym.exp(x) + y, {"y": "float64"}, ["float64"] * 2, ["float64"],
    ),
    "back through a layer": (
        lambda sym, x, y: sym.FullyConnected(x, num_hidden=2, no_bias=True, name="f") * y,
        {"y": "float64"}, ["float64"] * 3, ["float64"],
    ),
    "from a cast": (
        lambda sym, x, y: sym.cast(x, dtype="float16") + y, {}, [None, "float16"], ["float16"],
    ),
    "embedding": (
        lambda sym, x, y: sym.Embedding(x, input_dim=3, output_dim=2, name="e"),
        {"x": "int32"}, ["int32", "float32"], ["float32"],
    ),
    "a choice": (
        lambda sym, x, y: sym.where(sym.Variable("c"), x, y),
        {"c": "int32", "y": "float64"}, ["int32", "float64", "float64"], ["float64"],
    ),
    "indices": (
        lambda sym, x, y: sym.take(x, y), {"y": "int32"}, [None, "int32"], [None],
    ),
    "normalization": (
        lambda sym, x, y: sym.BatchNorm(x, name="b"),
        {"x": "float16"}, ["float16", "float32", "float32"], ["float16"],
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Cannot decide type")
@pytest.mark.parametrize("make, given, arguments, outputs", TYPES.values(), ids=TYPES)
def test_types(sym, make, given, arguments, outputs):
    def named(dtypes):
        return [dtype and np.dtype(dtype).name for dtype in dtypes]

    z = make(sym, sym.Variable("x"), sym.Variable("y"))
    told = z.infer_type_partial(**given)
    assert (named(told[0]), named(told[1])) == (arguments, outputs)
    whole = None not in arguments + outputs
    assert (z.infer_type(**given) == (None, None, None)) is not whole


def test_types_that_differ(mx, sym):
    with pytest.raises(mx.MXNetError, match="float16.*float32|float32.*float16"):
        (sym.Variable("x") + sym.Variable("y")).infer_type(x="float16", y="float32")


@pytest.mark.engine("torch")  # MXNet leaves the network without types
def test_a_label_tells_no_types(net):
    told = net.infer_type_partial(softmax_label="int32")
    assert told == ([None, None, None, np.int32], [None], [])


def test_nothing_is_written_into_a_symbol(mx, sym):
    x, y = sym.Variable("x"), sym.Variable("y")
    for write in ("__iadd__", "__isub__", "__imul__", "__itruediv__"):
        with pytest.raises(mx.base.NotImplementedForSymbol, match="x"):
            getattr(x, write)(y)


def test_what_only_arrays_have(mx, sym):
    x = sym.Variable("x")
    for name in ("asnumpy", "asscalar", "wait_to_read", "copy", "detach", "backward"):
        with pytest.raises(mx.base.NotImplementedForSymbol, match=name):
            getattr(x, name)()


def test_methods_that_are_functions(sym):
    x = sym.Variable("x")
    assert x.broadcast_to((2, 3)).attr("shape") == "(2, 3)"
    assert len(x.split_v2(2)) == 2 and x.as_nd_ndarray() is x
    assert sym.hypot(x, x).name == "_hypot0"


@pytest.mark.parametrize("options", [{}, {"inplace": True}], ids=["", "in place"])
def test_methods_of_arrays_that_may_be_in_place(sym, options):
    x = sym.Variable("x")
    for y, shape in (
        (x.flatten(**options), (2, 3)),
        (x.expand_dims(1, **options), (2, 1, 1, 3)),
        (x.expand_dims(axis=0, **options), (1, 2, 1, 3)),
        (x.squeeze(**options), (2, 3)),
        (x.squeeze(1, **options), (2, 3)),
        (x.squeeze(axis=1, name="y", **options), (2, 3)),
    ):
        assert y.infer_shape(x=(2, 1, 3))[1] == [shape]
    assert y.name == "y"
    assert x.flatten(**options).name == "flatten1" and x.squeeze().name == "squeeze2"


def test_the_operator_of_a_node(sym):
    net = sym.FullyConnected(sym.Variable("x"), num_hidden=3, name="fc")
    atomic = net._gen_atomic_symbol()
    assert atomic.list_arguments() == [] and atomic.list_outputs() == ["output"]
    assert atomic.attr("num_hidden") == "3"
    other = atomic(data=sym.Variable("y"), name="other")
    assert other.list_arguments() == ["y", "other_weight", "other_bias"]
    assert other.infer_shape(y=(2, 5))[1] == [(2, 3)]
    state = [sym.Variable(name) for name in ("parameters", "h", "c")]
    options = {"mode": "lstm", "state_size": 2, "num_layers": 1, "state_outputs": True}
    net = sym.RNN(sym.Variable("x"), *state, **options)
    assert len(net._gen_atomic_symbol()) == 3


@pytest.mark.engine("torch")  # MXNet ends the process
def test_what_has_no_operator_of_its_own(mx, sym):
    x = sym.Variable("x")
    for wrong in (x, sym.Group([x + 1, x + 2])):
        with pytest.raises(mx.MXNetError, match="expected outputs of one operator"):
            wrong._gen_atomic_symbol()


@pytest.mark.engine("torch")
def test_what_a_symbol_has_not(sym):
    for name in ("shape", "asnumpy", "nothing"):
        with pytest.raises(AttributeError, match=f"{name}': it has no values, and no shape, yet"):
            getattr(sym.Variable("x"), name)
    with pytest.warns(UserWarning, match="no backend 'TensorRT'"):
        assert sym.Variable("x").optimize_for("TensorRT").name == "x"
    with pytest.raises(TypeError, match="rhs is NDArray .2, 3"):
        from layers.mxnet import nd

        sym.broadcast_add(sym.Variable("x"), nd.ones((2, 3)))


def test_attributes(mx, sym):
    w = sym.Variable("w", shape=(2, 3), lr_mult=2, attr={"mood": "fine"}, __odd__="yes")
    assert w.list_attr()["__lr_mult__"] == "2" and w.attr("lr_mult") == "2"
    assert w.attr("mood") == "fine" and w.attr("__odd__") == "yes" and w.attr("none") is None
    with mx.AttrScope(ctx_group="dev1"):
        y = sym.FullyConnected(w, num_hidden=2, name="f")
    assert y.attr("ctx_group") == "dev1" and y.attr("num_hidden") == "2"
    assert y.attr_dict()["f_weight"]["__ctx_group__"] == "dev1"
    with pytest.raises(ValueError, match="foo"):
        sym.Variable("v", foo="bar")
    assert sym.Variable("v", stype="csr").list_attr() == {"__storage_type__": "2"}
    assert sym.Group([w, y]).attr("mood") is None
    with mx.AttrScope(a="1", b="1"), mx.AttrScope(b="2", c="2"):
        assert sym.Variable("v").list_attr() == {"a": "1", "b": "2", "c": "2"}
    with pytest.raises(ValueError):
        mx.AttrScope(a=1)
    with pytest.raises(ValueError):
        sym.Variable("v", attr={"__init__": 3})
    relu = sym.relu(w, attr={"__init__": 3})  # as GluonCV gives an initializer itself
    assert relu.attr("__init__") == "3"
    w._set_attr(mood="new", wd_mult="3")
    assert (w.attr("mood"), w.attr("wd_mult"), w.attr("__wd_mult__")) == ("new", "3", "3")
    with pytest.raises(ValueError):
        w._set_attr(mood=1)


def test_prefix(mx, sym):
    with mx.name.Prefix("pre_"):
        y, z = sym.exp(sym.Variable("x")), sym.exp(sym.Variable("x"), name="n")
    assert (y.name, z.name) == ("pre_exp0", "pre_n")


def test_composing(sym):
    f = sym.exp(sym.Variable("a"), name="f")
    g = f(a=sym.Variable("b") * 2)
    assert (f.list_arguments(), g.list_arguments()) == (["a"], ["b"])
    with pytest.raises(TypeError):
        f(a=3)


def test_json_there_and_back(net, sym, tmp_path):
    again = sym.load_json(net.tojson())
    assert json.loads(again.tojson()) == json.loads(net.tojson())
    net.save(str(tmp_path / "net.json"))
    assert sym.load(str(tmp_path / "net.json")).list_arguments() == net.list_arguments()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert twin.list_arguments() == net.list_arguments()


def test_json_is_mxnets(net):
    graph = json.loads(net.tojson())
    assert [node["op"] for node in graph["nodes"]] == [
        "null", "null", "null", "FullyConnected", "Activation", "null", "SoftmaxOutput",
    ]  # fmt: skip
    assert graph["arg_nodes"] == [0, 1, 2, 5] and graph["heads"] == [[6, 0, 0]]
    assert graph["node_row_ptr"] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert graph["attrs"] == {"mxnet_version": ["int", 10901]}
    assert graph["nodes"][3]["attrs"] == {"num_hidden": "4"}


def test_truth(mx, sym):
    with pytest.raises(mx.base.NotImplementedForSymbol, match="(?i)symbol"):
        bool(sym.Variable("x") == sym.Variable("x"))


@pytest.mark.engine("torch")  # MXNet reads past its arrays, or ends the process
@pytest.mark.parametrize(
    "change, told",
    [
        (lambda g: g.pop("nodes"), "no list of nodes"),
        (lambda g: g.update(heads=[]), "the heads are"),
        (lambda g: g["heads"][0].__setitem__(0, 99), "a head: an input is of node 99"),
        (lambda g: g["nodes"][3].update(op="__import__"), r"\('fc'\): there is no operator"),
        (lambda g: g["nodes"][3]["attrs"].update(num_hidden="os"), "num_hidden is 'os'"),
        (lambda g: g["nodes"][3]["inputs"][0].__setitem__(0, 6), "expected one of the 3 before"),
        (lambda g: g["nodes"][3]["inputs"][0].__setitem__(1, 5), "expected one of its 1"),
        (lambda g: g["nodes"][3].update(inputs=[["a"]]), r"expected \[node, output, 0\]"),
        (lambda g: g["nodes"].__setitem__(0, 7), "node 0 is 7"),
    ],
)
def test_files_are_untrusted(mx, net, sym, change, told):
    graph = json.loads(net.tojson())
    change(graph)
    with pytest.raises(mx.MXNetError, match=told):
        sym.load_json(json.dumps(graph))


@pytest.mark.engine("torch")
def test_a_deep_graph(sym):
    x = sym.Variable("x")
    for _ in range(5000):
        x = x + 1
    assert len(json.loads(x.tojson())["nodes"]) == 5001
    assert x.infer_shape(x=(2,))[1] == [(2,)]


@pytest.mark.engine("torch")
def test_a_deep_graph_runs(mx, sym):
    """The first call takes a time in proportion to the number of nodes, not to its square."""

    def seconds(depth):
        x = y = sym.Variable("x")
        for _ in range(depth):
            y = y + 1
        net = mx.gluon.SymbolBlock(y, x)
        net.hybridize(static_alloc=True, static_shape=True)
        before = time.perf_counter()
        assert net(mx.nd.ones((1,))).asscalar() == depth + 1
        return time.perf_counter() - before

    assert seconds(5000) < 30 * min(seconds(500) for _ in range(3))  # 100 times by its square


@pytest.mark.engine("torch")
def test_equal_steps_of_a_graph_are_inferred_once(sym, monkeypatch):
    """A run on PyTorch's meta device takes up to a millisecond, a graph of cells has thousands."""
    run = Mock(side_effect=sym.slice.operator.function)
    monkeypatch.setattr(sym.slice.operator, "function", run)
    x = sym.Variable("x")
    ends = [sym.slice(x * i, begin=(1, 2), end=(4, 7)) for i in range(100)]
    for _ in range(2):
        assert sym.Group(ends).infer_shape(x=(11, 13))[1] == [(3, 5)] * 100
    assert run.call_count == 1


@pytest.mark.parametrize("reverse", [False, True])
def test_nodes_stand_after_their_inputs_and_each_once(sym, reverse):
    """In the order in which a walk from the outputs leaves them, the first input first."""
    a, b = sym.Variable("a"), sym.Variable("b")
    first = sym.broadcast_add(a, b, name="first")
    second = sym.broadcast_mul(first, a, name="second")
    third = sym.broadcast_sub(b, second, name="third")
    ends = [third, sym.broadcast_div(second, first, name="fourth")]
    names = [s.name for s in sym.Group(ends[::-1] if reverse else ends).get_internals()]
    expected = (
        ["a", "b", "first", "second", "fourth", "third"]
        if reverse
        else ["b", "a", "first", "second", "third", "fourth"]
    )
    assert names == expected


def test_children_of_several_outputs_of_one_node(mx):
    parts = mx.sym.split(mx.sym.var("x"), num_outputs=3, name="parts")
    assert parts.get_children().list_outputs() == ["x"]
    both = mx.sym.Concat(parts[0], parts[0])
    assert both.get_children().list_outputs() == ["parts_output0", "parts_output0"]


def test_an_output_that_is_inferred_from_two_sides_has_one_shape(mx):
    x, y = mx.sym.var("x"), mx.sym.var("y")
    with pytest.raises(RuntimeError):
        (mx.sym.transpose(y) + (x + y)).simple_bind(mx.cpu(), x=(2, 3))
    bound = (mx.sym.transpose(y) + (x + y)).simple_bind(mx.cpu(), x=(3, 3))
    assert bound.arg_dict["y"].shape == (3, 3)


def test_the_data_of_a_convolution_from_its_output(mx):
    x = mx.sym.var("x", shape=(0, 10, 0, 0))
    y = mx.sym.Convolution(x, num_filter=2, kernel=(3, 3), dilate=(2, 2), pad=(1, 1), name="y")
    shapes, _, _ = (y + mx.sym.var("z", shape=(5, 2, 8, 9))).infer_shape()
    assert shapes[0] == (5, 10, 10, 11)


FIRST_SHAPES = """
import sys
import layers.mxnet as mx

x = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=4)
x = mx.sym.LeakyReLU(mx.sym.BatchNorm(x))
x = mx.sym.Concat(x, mx.sym.broadcast_mul(x, mx.sym.mean(x, axis=(2, 3), keepdims=True)))
x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pooling_convention="full")
x = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(x, num_hidden=3), name="softmax")
module = mx.mod.Module(x)
module.bind([("data", (2, 1, 9, 9))], [("softmax_label", (2,))])

cell = mx.rnn.SequentialRNNCell()
cell.add(mx.rnn.LSTMCell(5))
cell.add(mx.rnn.DropoutCell(0.5))
steps, _ = cell.unroll(3, mx.sym.Embedding(mx.sym.var("data"), input_dim=9, output_dim=4))
x = mx.sym.pick(mx.sym.topk(steps[2], k=2, ret_typ="value"), mx.sym.argmax(steps[2], axis=1))
x = mx.sym.where(x > 0, x, mx.sym.norm(mx.sym.one_hot(x, depth=3), axis=-1))
mx.mod.Module(mx.sym.MakeLoss(x), label_names=None).bind([("data", (2, 3))])

net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Embedding(5, 4), mx.gluon.nn.Dense(3), mx.gluon.nn.LayerNorm())
net.initialize()
net.hybridize()
print(module.output_shapes, net(mx.nd.zeros((2, 6))).shape)
print({"sympy", "torch._dynamo"} & {*sys.modules})
"""


@pytest.mark.engine("torch")
def test_the_first_shapes_import_no_compiler():
    """PyTorch's meta device would, for up to two seconds: the commonest operators have rules."""
    found = forks.run(["-c", FIRST_SHAPES])
    assert found.stdout == "[('softmax_output', (2, 3))] (2, 3)\nset()\n", found.stderr


def visits(mx, monkeypatch, steps):
    """The numbers of visits of nodes for shapes and dtypes, of an RNN of unknown batch size."""
    infer = import_module("layers.mxnet.symbol._infer")
    counts = []
    cell = mx.rnn.SequentialRNNCell()
    cell.add(mx.rnn.LSTMCell(5, prefix="a_"))
    cell.add(mx.rnn.GRUCell(5, prefix="b_"))
    outputs, _ = cell.unroll(steps, mx.sym.var("data"), merge_outputs=True)
    with monkeypatch.context() as patched:
        for name in ("_infer_node_shapes", "_infer_node_types"):
            visit, count = getattr(infer, name), []
            counts.append(count)

            def counted(node, found, visit=visit, count=count):
                count.append(node)
                visit(node, found)

            patched.setattr(infer, name, counted)
        outputs.infer_shape_partial(data=(0, steps, 4))
        outputs.infer_shape(data=(3, steps, 4))
        outputs.infer_type(data="float32")
    return [len(count) for count in counts]


@pytest.mark.engine("torch")
def test_inference_visits_each_node_a_few_times(mx, monkeypatch):
    few, many = visits(mx, monkeypatch, 10), visits(mx, monkeypatch, 40)
    assert all(0 < more <= 4.1 * less for less, more in zip(few, many)), (few, many)


def test_debug_str(sym):
    parts = sym.split(sym.FullyConnected(sym.var("x"), num_hidden=2, name="fc"), 2, name="parts")
    net = sym.BatchNorm(parts[1], name="bn", eps=0.5)
    assert sym.var("x").debug_str() == "Variable:x\n"
    assert sym.Group([net, sym.var("y")]).debug_str() == (
        "Symbol Outputs:\n\toutput[0]=bn(0)\n\toutput[1]=y(0)\n"
        "Variable:x\nVariable:fc_weight\nVariable:fc_bias\n"
        "--------------------\nOp:FullyConnected, Name=fc\nInputs:\n"
        "\targ[0]=x(0) version=0\n\targ[1]=fc_weight(0) version=0\n\targ[2]=fc_bias(0) version=0\n"
        "Attrs:\n\tnum_hidden=2\n"
        "--------------------\nOp:SliceChannel, Name=parts\nInputs:\n\targ[0]=fc(0)\n"
        "Attrs:\n\tnum_outputs=2\n"
        "Variable:bn_gamma\nVariable:bn_beta\nVariable:bn_moving_mean\nVariable:bn_moving_var\n"
        "--------------------\nOp:BatchNorm, Name=bn\nInputs:\n\targ[0]=parts(1)\n"
        "\targ[1]=bn_gamma(0) version=0\n\targ[2]=bn_beta(0) version=0\n"
        "\targ[3]=bn_moving_mean(0) version=1\n\targ[4]=bn_moving_var(0) version=1\n"
        "Attrs:\n\teps=0.5\nVariable:y\n"
    )


@pytest.mark.parametrize("name", ["concat", "stack", "add_n"])
def test_an_operator_of_any_number_of_inputs_needs_one(mx, name):
    for module in (mx.nd, mx.sym):
        with pytest.raises(mx.MXNetError):
            getattr(module, name)()


def test_a_part_of_an_axis_of_an_unknown_size(mx):
    """Its size is not known either: the axis may be shorter."""
    x = mx.sym.var("x")
    for y in (
        mx.sym.slice(x, begin=(1,), end=(3,)),
        mx.sym.slice(x, begin=(-2,), end=(None,)),
        mx.sym.slice_axis(x, axis=0, begin=1, end=3),
    ):
        assert y.infer_shape_partial(x=(0, 4))[1] == [(0, 4)]
    assert mx.sym.slice_axis(x, axis=1, begin=1, end=3).infer_shape_partial(x=(0, 4))[1] == [(0, 2)]
    parts = mx.sym.SliceChannel(x, num_outputs=2, axis=1)
    assert parts.infer_shape_partial(x=(0, 4))[1] == [(0, 2), (0, 2)]
