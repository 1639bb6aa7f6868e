"""mx.contrib.amp: lists, casts while it is on, scaled losses, converted models.

It cannot be switched off: what switches it on is a program of its own.
"""

import json
import textwrap
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import forks
import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd

LISTS = Path(__file__).parents[2] / "layers/mxnet/contrib/amp/lists/lists.txt"
KINDS = ("float16", "bfloat16")
torch_only = pytest.mark.engine("torch")
products_of_bfloat16 = pytest.mark.mxnet_needs("avx512bw")
amp = import_module(f"{mx.__name__}.contrib.amp")


def dtype(kind):
    return amp.amp.bfloat16 if kind == "bfloat16" else kind


@pytest.mark.engine("mxnet")
def test_the_lists_are_mxnets(pytestconfig):
    lines = []
    for module in ("symbol_fp16", "symbol_bf16"):
        for name, value in sorted(vars(getattr(amp.lists, module)).items()):
            if isinstance(value, list) and all(isinstance(item, str) for item in value):
                wrapped = textwrap.wrap(" ".join(value), 99, break_on_hyphens=False)
                lines += [f"{module}.{name}", *(f" {line}" for line in wrapped)]
    text = "\n".join(lines) + "\n"
    if pytestconfig.getoption("--record"):
        LISTS.write_text(text, "utf-8")
    assert LISTS.read_text("utf-8") == text


@pytest.mark.parametrize("kind", KINDS)
def test_lists(kind):
    assert amp.list_lp16_ops(dtype(kind))[:1] == ["Convolution"]
    assert "softmax" in amp.list_fp32_ops(dtype(kind))
    assert "BatchNorm" in amp.list_lp16_fp32_ops(dtype(kind))
    assert "broadcast_add" in amp.list_widest_type_cast(dtype(kind))
    assert "SoftmaxOutput" in amp.list_loss_output_functions(dtype(kind))
    assert ("LeakyReLU", "act_type", ["elu", "selu"]) in amp.list_conditional_fp32_ops(dtype(kind))
    in_float32 = amp.list_lp16_use_fp32_params(dtype(kind))
    assert kind == "float16" or in_float32["BatchNorm"][1:3] == ["gamma", "beta"]


def run(program, engine):
    code = f"import os\nos.environ['LAYERS_ENGINE'] = {engine!r}\n{textwrap.dedent(program)}"
    done = forks.run(["-W", "ignore", "-c", code])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


HEAD = """
import json
from importlib import import_module
from layers.engine import autograd, gluon, mx, nd
amp = import_module(f"{mx.__name__}.contrib.amp")
kind = lambda *arrays: [getattr(a.dtype, "__name__", "bfloat16") for a in arrays]
"""
EAGER = (
    HEAD
    + """
amp.init("bfloat16")
x, w, b, one = nd.ones((2, 3)), nd.ones((4, 3)), nd.zeros(4), nd.ones(4)
x.attach_grad()
with autograd.record():
    y = nd.FullyConnected(x, w, b, num_hidden=4)
    z = y.sum()
z.backward()
print(*kind(y, z, x.grad), x.grad.asnumpy().tolist())
print(*kind(nd.softmax(y), y + one, y * 2, nd.where(y, y, nd.ones((2, 4))), nd.dot(y, y.T)))
print(*kind(nd.BatchNorm(y, one, b, nd.zeros(4), nd.ones(4)), nd.Dropout(y), y.reshape((-1,))))
print(*kind(*[nd.Activation(y, act_type=a) for a in ("relu", "softrelu")]))
with autograd.record():
    y = nd.SoftmaxOutput(x, nd.zeros(2), grad_scale=0.5)
y.backward()
print(x.grad.asnumpy()[0].round().tolist())
"""
)


@products_of_bfloat16
def test_operators_cast_their_inputs(engine):
    assert run(EAGER, engine) == [
        "bfloat16 float32 float32 [[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]]",
        "float32 float32 float32 float32 float32",
        "bfloat16 float32 bfloat16",
        "bfloat16 float32",
        "[-21845.0, 10923.0, 10923.0]",
    ]


SYMBOLS = (
    HEAD
    + """
amp.init("bfloat16")
sym = mx.sym
y = sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc")
y = sym.Activation(y, act_type="softrelu", name="a") + sym.var("z")
y = sym.BatchNorm(sym.FullyConnected(y, num_hidden=2, name="last"), name="bn")
for node in json.loads(y.tojson(remove_amp_cast=False))["nodes"]:
    dtype = node.get("attrs", {}).get("dtype", "")
    print(node["op"], node["name"], dtype, *[i[0] for i in node["inputs"]])
print(*y.list_arguments())
print("amp" in y.tojson(), y.infer_shape(data=(2, 3))[0])
"""
)


@pytest.mark.slow_on("mxnet")
def test_symbols_have_casts(engine):
    assert run(SYMBOLS, engine) == [
        "null data ",
        "amp_cast amp_cast0 bfloat16 0",
        "null fc_weight ",
        "amp_cast amp_cast1 bfloat16 2",
        "null fc_bias ",
        "amp_cast amp_cast2 bfloat16 4",
        "FullyConnected fc  1 3 5",
        "amp_cast amp_cast3 float32 6",
        "Activation a  7",
        "null z ",
        "amp_multicast amp_multicast0  8 9",
        "elemwise_add _plus0  10 10",
        "amp_cast amp_cast4 bfloat16 11",
        "null last_weight ",
        "amp_cast amp_cast5 bfloat16 13",
        "null last_bias ",
        "amp_cast amp_cast6 bfloat16 15",
        "FullyConnected last  12 14 16",
        "null bn_gamma ",
        "null bn_beta ",
        "null bn_moving_mean ",
        "null bn_moving_var ",
        "BatchNorm bn  17 18 19 20 21",
        "data fc_weight fc_bias z last_weight last_bias bn_gamma bn_beta",
        "False [(2, 3), (4, 3), (4,), (2, 4), (2, 4), (2,), (2,), (2,)]",
    ]


TRAINING = (
    HEAD
    + """
amp.init("bfloat16")
mx.random.seed(0)
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(8, activation="tanh"), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
net.initialize(mx.init.Xavier())
net.hybridize()
loss = gluon.loss.SoftmaxCrossEntropyLoss()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.05})
amp.init_trainer(trainer)
x = nd.array([[i % 2, i % 3, i % 5] for i in range(30)])
label = nd.array([i % 2 for i in range(30)])
for i in range(30):
    with autograd.record():
        y = net(x)
        l = loss(y, label)
        with amp.scale_loss(l, trainer) as scaled:
            autograd.backward(scaled)
    if i == 9:
        amp.unscale(trainer)
        assert trainer._scale == 1 and abs(net[2].bias.grad().asnumpy()).max() < 100
    trainer.step(30)
print(*kind(y, l, scaled, net[0].weight.data()), *kind(net[1].running_mean.data()))
print(bool(l.mean().asscalar() < 0.1), scaled.asnumpy()[0] / l.asnumpy()[0])
weight = net[2].bias.data().asnumpy()
with autograd.record():
    with amp.scale_loss([loss(net(x), label) * 1e38], trainer) as scaled:
        autograd.backward(scaled)
trainer.step(30)
print((net[2].bias.data().asnumpy() == weight).all(), trainer._amp_loss_scaler._next_loss_scale)
other = gluon.Trainer(net.collect_params(), "sgd")
amp.init_trainer(other)
print(other._amp_loss_scaler is trainer._amp_loss_scaler)
try:
    amp.init_trainer(trainer.optimizer)
except TypeError:
    print("no trainer")
"""
)


@products_of_bfloat16
def test_a_net_is_trained(engine):
    assert run(TRAINING, engine) == [
        "bfloat16 float32 float32 float32 float32",
        "True 65536.0",
        "True 32768.0",
        "False",
        "no trainer",
    ]


SAVED = (
    HEAD
    + """
amp.init("bfloat16")
def made():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=3))
    return net
net, x = made(), nd.ones((2, 3))
net.initialize()
net.hybridize()
net(x)
net.save("PREFIX")
found = made()
found.load("PREFIX")
print(*kind(net(x), found(x)))
print("amp_cast" in open("PREFIX-model.json").read())
"""
)
AGAIN = """
found.hybridize()
print(*kind(found(x)))
"""


def test_a_saved_net_has_no_casts(tmp_path, engine):
    """MXNet cannot hybridize a net again that it has loaded."""
    program = SAVED + AGAIN * (engine == "torch")
    found = run(program.replace("PREFIX", str(tmp_path / "net")), engine)
    assert found == ["bfloat16 float32", "False", *["bfloat16"] * (engine == "torch")]


def test_casts_that_are_outputs_are_saved(mx):
    x = mx.sym.amp_cast(mx.sym.Variable("data"), dtype="float16", name="before")
    y = mx.sym.FullyConnected(x, num_hidden=3, name="dense")
    last = mx.sym.amp_cast(
        mx.sym.amp_cast(y, dtype="float32", name="inner"), dtype="float16", name="last"
    )
    nodes = json.loads(mx.sym.Group([last, x]).tojson())["nodes"]
    assert [n["name"] for n in nodes if n["op"] == "amp_cast"] == ["last", "before"]
    nodes = json.loads(mx.sym.relu(last).tojson())["nodes"]
    assert not [n for n in nodes if n["op"] == "amp_cast"]


IN_FLOAT16 = TRAINING.replace("bfloat16", "float16")


@torch_only
def test_a_net_is_trained_in_float16(engine):
    """MXNet has no FullyConnected of float16 on a CPU. There the scale is too large at first."""
    found = run(IN_FLOAT16.replace("1e38", "1e30"), engine)
    assert found[0].split()[0] == "float16" and found[1].startswith("True")
    assert found[2].startswith("True")


def test_loss_scaler():
    scaler = amp.loss_scaler.LossScaler()
    fine, broken = nd.ones(3), nd.array([1, np.inf])
    fixed = SimpleNamespace(_grad=None)
    assert not scaler.has_overflow([SimpleNamespace(_grad=[fine]), fixed])
    assert scaler.has_overflow([SimpleNamespace(_grad=[g]) for g in (fine, broken)])
    assert (scaler.loss_scale, scaler._next_loss_scale) == (2.0**16, 2.0**15)
    scaler._scale_seq_len = 2
    for expected in 2.0**15, 2.0**15, 2.0**16:
        assert not scaler.has_overflow([SimpleNamespace(_grad=[fine])])
        assert scaler.loss_scale == expected


@torch_only
@pytest.mark.parametrize("broken", [0, 1])
def test_an_overflow_on_any_context_is_seen(broken):
    """MXNet looks at the first one only, and has NaN in the weights in both cases."""
    contexts = [mx.cpu(0), mx.cpu(1)]
    layer = gluon.nn.Dense(1, in_units=2, use_bias=False)
    layer.initialize(mx.init.One(), ctx=contexts)
    trainer = gluon.Trainer(layer.collect_params(), "sgd")
    trainer._amp_loss_scaler = amp.loss_scaler.LossScaler()
    inputs = [nd.ones((1, 2), ctx=context) for context in contexts]
    inputs[broken][:] = np.nan
    with autograd.record():
        losses = [layer(x) for x in inputs]
    autograd.backward(losses)
    trainer.step(1)
    assert [w.asnumpy().tolist() for w in layer.weight.list_data()] == [[[1, 1]], [[1, 1]]]
    assert trainer._amp_loss_scaler._next_loss_scale == 2.0**15


# Converted models


def graph():
    sym = mx.sym
    y = sym.Convolution(sym.var("data"), kernel=(1, 1), num_filter=2, name="conv")
    y = sym.Activation(sym.BatchNorm(y, name="bn"), act_type="relu", name="relu")
    first, second = [sym.FullyConnected(y, num_hidden=4, name=n) for n in ("fc1", "fc2")]
    y = sym.elemwise_add(first, second, name="add")
    y = sym.exp(sym.elemwise_add(y, sym.var("z"), name="add_z"), name="e")
    return sym.FullyConnected(y, num_hidden=2, name="last")


def computed(symbol, values, states):
    return symbol.bind(mx.cpu(), values, aux_states=states).forward()[0]


def nodes(symbol):
    """Each node as text, with the nodes that its inputs come from; casts have no names."""
    rows = json.loads(symbol.tojson(remove_amp_cast=False))["nodes"]
    found = []
    for row in rows:
        cast = row["op"].startswith("amp")
        attrs = row.get("attrs", {})
        shown = [attrs.get("dtype") if cast else row["name"], attrs.get("__dtype__")]
        found.append([row["op"], *filter(None, shown), *[i[:2] for i in row["inputs"]]])
    return found


PARAMS = {
    **{"conv_weight": (2, 3, 1, 1), "conv_bias": (2,), "bn_gamma": (2,), "bn_beta": (2,)},
    **{"fc1_weight": (4, 2), "fc1_bias": (4,), "fc2_weight": (4, 2), "fc2_bias": (4,)},
    **{"last_weight": (2, 4), "last_bias": (2,)},
}
STATES = {"bn_moving_mean": (2,), "bn_moving_var": (2,)}
SETTINGS = [
    {},
    {"cast_optional_params": True},
    {"excluded_sym_names": ["fc1", "bn"]},
    {"target_dtype_ops": ["FullyConnected"], "fp32_ops": ["Convolution", "BatchNorm"]},
    {"conditional_fp32_ops": [("Activation", "act_type", ["relu"])]},
]


@pytest.fixture(scope="module")
def recorded(pytestconfig):
    path = Path(__file__).parents[1] / "golden/amp.json"
    recording = pytestconfig.getoption("--record")
    values = {} if recording else json.loads(path.read_text())
    yield values
    if recording:
        path.write_text(json.dumps(values, indent=0, sort_keys=True) + "\n")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: ",".join(s) or "default")
@pytest.mark.parametrize("names", [None, ["data", "z"]], ids=["all", "data"])
def test_where_the_casts_are(recorded, request, pytestconfig, kind, settings, names):
    found = amp.convert_symbol(graph(), kind, data_names=names, **settings)
    assert found.list_arguments() == graph().list_arguments()
    key = request.node.callspec.id
    if pytestconfig.getoption("--record"):
        recorded[key] = nodes(found)
    assert nodes(found) == recorded[key]


def values(shapes):
    random = np.random.RandomState(0)
    return {n: nd.array(random.rand(*shape) / 2) for n, shape in shapes.items()}


@products_of_bfloat16
@pytest.mark.parametrize("settings", SETTINGS[:3], ids=lambda s: ",".join(s) or "default")
def test_a_converted_model_computes_the_same(settings):
    params, states = values(PARAMS), values(STATES)
    data = values({"data": (2, 3, 1, 1), "z": (2, 4)})
    expected = computed(graph(), data | params, states).asnumpy()
    converted = amp.convert_model(graph(), dict(params), dict(states), "bfloat16", **settings)
    symbol, params, states = converted
    y = computed(symbol, data | params, states)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y.asnumpy(), expected, 0.05)
    assert (y.asnumpy() != expected).any()
    cast = settings.get("cast_optional_params", False)
    for name in PARAMS:
        in_target = cast and not name.startswith("bn")
        assert (params[name].dtype == np.float32) is not in_target, name


def net():
    made = gluon.nn.HybridSequential()
    made.add(gluon.nn.Dense(4, in_units=3), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    made.add(gluon.nn.HybridLambda("softmax"))
    made.initialize(mx.init.Xavier())
    made.hybridize()
    return made


@products_of_bfloat16
@pytest.mark.filterwarnings("ignore:Cannot decide type")
@pytest.mark.parametrize("cast", [False, True])
def test_a_converted_block(tmp_path, cast):
    block, x = net(), nd.array([[1, 2, 3], [0, -1, 1]])
    expected = block(x).asnumpy()
    options = {"ctx": mx.cpu(), "cast_optional_params": cast}
    found = amp.convert_hybrid_block(block, "bfloat16", **options)
    y = found(x).asnumpy()
    np.testing.assert_allclose(y, expected, 0.05)
    found.hybridize()
    np.testing.assert_array_equal(found(x).asnumpy(), y)
    dtypes = {str(np.dtype(p.dtype)) for p in found.collect_params().values()}
    assert len(dtypes) == 1 + cast and "float32" in dtypes
    for remove in True, False:
        found.export(str(tmp_path / "net"), remove_amp_cast=remove)
        assert ("amp_cast" in (tmp_path / "net-symbol.json").read_text()) is not remove


def test_files_have_no_casts_unless_they_are_asked_for(tmp_path):
    plain = mx.sym.softmax(graph(), name="softmax")
    converted = amp.convert_symbol(plain, "bfloat16")
    path = str(tmp_path / "net.json")
    converted.save(path)
    assert mx.sym.load(path).tojson() == converted.tojson() and "amp" not in converted.tojson()
    assert [row[:2] for row in nodes(mx.sym.load(path))] == [row[:2] for row in nodes(plain)]
    converted.save(path, remove_amp_cast=False)
    assert nodes(mx.sym.load(path)) == nodes(converted)
    for remove in True, False:
        mx.model.save_checkpoint(str(tmp_path / "net"), 1, converted, {}, {}, remove)
        text = (tmp_path / "net-symbol.json").read_text()
        assert ("amp_multicast" in text) is not remove


@torch_only
def test_a_parameter_that_is_also_used_in_float32_is_cast_in_the_graph():
    """MXNet gives the other operator its 16 bits."""
    w = mx.sym.var("w")
    both = mx.sym.Group(
        [
            mx.sym.exp(w, name="exp0"),
            mx.sym.FullyConnected(mx.sym.var("x"), w, num_hidden=3, no_bias=True),
        ]
    )
    found = amp.convert_symbol(both, "float16", data_names=["x"], cast_optional_params=True)
    assert ["null", "w", "0"] in nodes(found) and ["exp", "exp0", [0, 0]] in nodes(found)


def bucketing_module():
    def generate(key):
        y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc", flatten=False)
        return mx.sym.softmax(y, name=f"softmax{key}"), ["data"], None

    module = mx.mod.BucketingModule(generate, 4)
    module.bind([("data", (2, 4, 3))], for_training=False)
    module.init_params(mx.init.Xavier())
    return module


@products_of_bfloat16
def test_a_bucketing_module():
    module = bucketing_module()
    batch = mx.io.DataBatch([nd.ones((2, 4, 3))], None, bucket_key=4)
    batch.provide_data, batch.provide_label = [("data", (2, 4, 3))], None
    module.forward(batch, is_train=False)
    expected = module.get_outputs()[0].asnumpy()
    found = amp.amp.convert_bucketing_module(module, "bfloat16")
    found.bind([("data", (2, 4, 3))], for_training=False)
    found.forward(batch, is_train=False)
    np.testing.assert_allclose(found.get_outputs()[0].asnumpy(), expected, 0.02)
    assert "amp_cast" in found.symbol.tojson(remove_amp_cast=False)


@torch_only
def test_nodes_of_some_buckets_are_left_out():
    module = bucketing_module()
    module.switch_bucket(5, [("data", (2, 5, 3))])
    found = amp.amp.convert_bucketing_module(
        module, "bfloat16", excluded_sym_names=["fc", "softmax5"]
    )
    for key in 4, 5:
        found.bind([("data", (2, 4, 3))], for_training=False, force_rebind=True)
        found.switch_bucket(key, [("data", (2, key, 3))])
        assert "amp_cast" not in found.symbol.tojson(remove_amp_cast=False)


@torch_only
def test_a_block_with_an_input_that_it_does_not_use():
    class First(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return F.softmax(x)

    block, x = First(), nd.ones((2, 3))
    block.hybridize()
    block(x, x)
    found = amp.convert_hybrid_block(block, "bfloat16", ctx=mx.cpu())
    np.testing.assert_allclose(found(x, x).asnumpy(), 1 / 3, 0.01)


UNKNOWN = {
    "symbol": lambda names: amp.convert_symbol(graph(), excluded_sym_names=names),
    "model": lambda names: amp.convert_model(graph(), {}, {}, excluded_sym_names=names),
    "module": lambda names: amp.amp.convert_bucketing_module(
        bucketing_module(), excluded_sym_names=names
    ),
}


@pytest.mark.engine("torch")  # MXNet writes a line on the standard error
@pytest.mark.parametrize("convert", UNKNOWN.values(), ids=UNKNOWN)
def test_a_name_to_be_left_out_that_does_not_exist(convert):
    told = r"excluded_sym_names has \['fcc'\], which is no node of the graph"
    with pytest.warns(UserWarning, match=told):
        convert(["fcc"])


WRONG = [
    (lambda: amp.init("int8"), "the dtype is 'int8'\n  expected 'float16' or 'bfloat16'"),
    (lambda: amp.init(fp32_ops=["nothing"]), "'nothing' is in none of MXNet's lists"),
    (
        lambda: amp.convert_symbol(graph(), fp32_ops=["Convolution"]),
        "'Convolution' is in target_dtype_ops and in fp32_ops",
    ),
    (lambda: amp.convert_symbol(3), "sym is 3\n  expected a Symbol"),
    (
        lambda: amp.convert_symbol(graph(), excluded_sym_names="fc1"),
        "excluded_sym_names is 'fc1'\n  expected a list of names",
    ),
    (
        lambda: amp.convert_symbol(graph(), data_names=["z", "dat"]),
        "data_names has 'dat', which is no variable of the graph\n  expected .*'data'",
    ),
    (
        lambda: amp.convert_symbol(graph(), data_names=["fc1"]),
        "data_names has 'fc1', which is no variable of the graph",
    ),
    (
        lambda: amp.convert_symbol(graph(), data_names="data"),
        "data_names is 'data'\n  expected a list of names",
    ),
    (
        lambda: amp.convert_symbol(graph(), data_names=[3]),
        r"data_names is \[3\]\n  expected a list of names",
    ),
    (
        lambda: amp.convert_symbol(graph(), conditional_fp32_ops=[("Activation", "act_type")]),
        r"\('Activation', 'act_type'\) is in conditional_fp32_ops\n  expected \(operator, ",
    ),
    (
        lambda: amp.convert_symbol(graph(), excluded_sym_names=3),
        "excluded_sym_names is 3\n  expected a list of names",
    ),
    (lambda: amp.init_trainer(3), r"mixed precision is off\n  expected amp.init\(\)"),
    (lambda: amp.unscale(3), "the trainer is of type int\n  expected a gluon.Trainer"),
    (lambda: amp.convert_hybrid_block(3), "convert_hybrid_block: 3\n  expected a HybridBlock"),
    (
        lambda: amp.convert_hybrid_block(gluon.nn.Dense(1)),
        r"Dense has no graph\n  expected hybridize\(\), and one call",
    ),
    (lambda: amp.amp.convert_bucketing_module(3), "3\n  expected a BucketingModule"),
]


@torch_only
@pytest.mark.parametrize("call, message", WRONG)
def test_wrong_arguments(call, message):
    with pytest.raises(mx.MXNetError, match=message):
        call()
    assert not autograd.is_recording()


@torch_only
def test_a_trainer_without_a_scaler():
    trainer = gluon.Trainer(net().collect_params(), "sgd")
    for name, use in (
        ("scale_loss", lambda: amp.scale_loss(nd.ones(1), trainer).__enter__()),
        ("unscale", lambda: amp.unscale(trainer)),
    ):
        message = rf"{name}: no scaler\n  expected amp.init_trainer\(trainer\) before it"
        with pytest.raises(mx.MXNetError, match=message):
            use()


OWN = """
    import numpy as np
    import layers
    from layers.engine import autograd, gluon, mx, nd
    from layers.mxnet.contrib import amp

    net = gluon.nn.HybridSequential()
    norm = layers.LayerNormBlock()
    attention = layers.MultiHeadAttention(0, 8, num_heads=2)
    net.add(layers.DenseBlock(0, 8, activation="relu"), norm, attention)
    net.add(layers.GradientScaleBlock(scale=0.5), layers.SwiGLU(8, 6, 8, bias=False))
    net.add(layers.LSQBlock())
    net.add(layers.DenseBlock(8, 4, quantize=8))
    net.initialize(mx.init.Xavier())
    loss, x = layers.LinearCrossEntropyLoss(4, 5), nd.random.normal(shape=(2, 3, 8))
    loss.initialize(mx.init.Xavier())

    def results():
        with autograd.record():
            y = net(x)
            value = loss(y, nd.array([[0, 1, 2], [3, 4, 0]]))
        value.backward()
        return [value.asnumpy(), norm.gamma.grad().asnumpy()], y.to_torch().dtype

    expected, _ = results()
    amp.init(KIND)
    for options in None, {}, {"static_alloc": True, "static_shape": True}:
        if options is not None:
            net.hybridize(**options)
        for _ in range(2):
            found, dtype = results()
        print(dtype)
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=0.1, atol=0.1)
"""


@torch_only
@pytest.mark.parametrize("kind", KINDS)
def test_the_librarys_own_operators(kind, engine):
    """They compute in the dtype that they are given: dense and attention in 16 bits."""
    assert run(OWN.replace("KIND", repr(kind)), engine) == [f"torch.{kind}"] * 3


@torch_only
def test_an_operator_says_that_it_takes_16_bits(monkeypatch):
    import torch

    from layers import operator
    from layers.engine import nd, sym
    from layers.mxnet._state import State
    from layers.mxnet._table import precision

    dtypes = []

    class plain:
        def forward(x):
            dtypes.append(str(x._tensor.dtype))
            return x + 0

        def dx(dy):
            return dy

        def shapes(x):
            return {"y": x}

    class low(plain):
        low_precision = True
        forward, dx, shapes = plain.forward, plain.dx, plain.shapes

    monkeypatch.setattr(State, "precision", precision.Policy(torch.bfloat16, (), (), (), ()))
    for given in plain, low:
        own = operator(given, name=f"test_amp_{given.__name__}")
        for dtype in "float32", "bfloat16":
            x = nd.ones(2).astype(dtype)
            own(x)
            own(sym.var("x")).eval(x=x)
    assert dtypes == ["torch.float32"] * 4 + ["torch.bfloat16"] * 4
    with pytest.raises(TypeError, match="low_precision is 1 .int.\n  expected True or False"):
        operator(type("wrong", (low,), {"low_precision": 1}))
