"""``layers-mxnet emit``: the emitted module computes the same, in a process without `layers`."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="layers.mxnet needs it")

import layers.mxnet as mx
from layers.mxnet import autograd, gluon, nd
from layers.mxnet._emit.main import main as emit

pytestmark = pytest.mark.engine("torch")
pytest.importorskip("safetensors")
RUFF = importlib.util.find_spec("ruff")
# Reads the emitted module of the current folder, and writes what it computes.
READ = """
import sys
import numpy as np
import torch

sys.path.insert(0, ".")
from net import load

given = np.load("given.npz")
net = load("net.safetensors")
found = {}
for mode in "eval", "train":
    net.train(mode == "train")
    net.zero_grad()
    inputs = [torch.from_numpy(given[n]) for n in sorted(given) if n[0] == "x"]
    for x in inputs:
        x.requires_grad_(x.is_floating_point())
    y = net(*inputs)
    y = y[0] if isinstance(y, (list, tuple)) else y
    (y * torch.from_numpy(given["dy"])).sum().backward()
    found[f"{mode} y"] = y.detach().numpy()
    for i, x in enumerate(inputs):
        found[f"{mode} x{i}"] = x.grad.numpy()
    for name, p in net.named_parameters():
        if p.grad is not None:
            found[f"{mode} {name}"] = p.grad.numpy()
np.savez("found.npz", **found)
assert "layers" not in sys.modules
"""


def export(net, folder, *shapes, write=None):
    """Return a net's values and gradients, in evaluation and training; it is written before."""
    net.initialize(mx.init.Xavier(), force_reinit=True)
    for p in net.collect_params().values():  # no parameter may be 0, or be left out unseen
        if p.shape and p.name.endswith(("bias", "beta", "running_mean")):
            p.initialize(mx.init.Uniform(0.5), force_reinit=True)
    net.hybridize()
    inputs = [nd.random.uniform(-1, 1, shape=shape) for shape in shapes]
    y = net(*inputs)
    dy = nd.random.normal(shape=(y[0] if isinstance(y, (list, tuple)) else y).shape)
    names = write(net) if write else net.export(str(folder / "net"))
    named = {f"x{i}": x.asnumpy() for i, x in enumerate(inputs)}
    np.savez(folder / "given.npz", dy=dy.asnumpy(), **named)
    expected = {}
    for mode in "eval", "train":
        for x in inputs:
            x.attach_grad()
        with autograd.record(train_mode=mode == "train"):
            y = net(*inputs)
            y = y[0] if isinstance(y, (list, tuple)) else y
        y.backward(dy)
        expected[f"{mode} y"] = y.asnumpy()
        expected |= {f"{mode} x{i}": x.grad.asnumpy() for i, x in enumerate(inputs)}
        for name, p in net.collect_params().items():
            if p.grad_req != "null":
                own = names[name] if write else name
                expected[f"{mode} {own}"] = p.grad().asnumpy()
    return expected


def check(folder, expected, paired=False):
    """Compare what the emitted module computes; each gradient of a parameter has its pair.

    If they are not `paired` by name, it is the one of the same shape that is nearest.
    """
    expect_clean(folder / "net.py")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", READ], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = dict(np.load(folder / "found.npz"))
    for name, value in expected.items():
        mode, own = name.split(" ")
        if paired or own == "y" or own[0] == "x" and own[1:].isdigit():
            assert distance(found.pop(name), value) < 1e-4, name
        else:
            same = {n: v for n, v in found.items() if n.startswith(mode) and v.shape == value.shape}
            best = min(same, key=lambda n: distance(same[n], value), default=None)
            assert best and distance(found.pop(best), value) < 1e-4, name
    assert not found


def distance(found, expected):
    return np.abs(found - expected).max() / max(1, np.abs(expected).max())


def expect_clean(path):
    """Compile a file without a warning, and have it checked and formatted by ruff."""
    subprocess.run([sys.executable, "-W", "error", "-m", "py_compile", path], check=True)
    if RUFF:
        for command in ["check"], ["format", "--check", "--diff"]:
            ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(path)]
            done = subprocess.run(ruff, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr


def sequential(*layers):
    net = gluon.nn.HybridSequential()
    net.add(*layers)
    return net


def mlp():
    layer = gluon.nn.Dense
    return sequential(layer(6, activation="relu"), layer(5, use_bias=False), layer(3)), (4, 7)


def lenet():
    nn = gluon.nn
    return sequential(
        nn.Conv2D(6, 5, activation="relu"),
        nn.MaxPool2D(2),
        nn.Conv2D(8, 3, padding=1, activation="tanh"),
        nn.AvgPool2D(3, 2, padding=1),
        nn.Dense(12, activation="sigmoid"),
        nn.Dense(10),
    ), (2, 1, 16, 16)


def pieces():
    nn = gluon.nn
    return sequential(
        nn.Conv2D(4, 3, groups=2, strides=(1, 2), in_channels=2),
        nn.BatchNorm(scale=False, epsilon=1e-3, momentum=0.8),
        nn.PReLU(),
        nn.InstanceNorm(scale=True),
        nn.Conv2DTranspose(3, 2, strides=2),
        nn.LeakyReLU(0.1),
        nn.GlobalAvgPool2D(),
        nn.Flatten(),
        nn.LayerNorm(),
        nn.Swish(),
    ), (3, 2, 8, 9)


def zoo(name, size):
    return lambda: (gluon.model_zoo.vision.get_model(name, classes=5), (2, 3, size, size))


NETS = {
    "mlp": mlp,
    "lenet": lenet,
    "pieces": pieces,
    "resnet18_v1": zoo("resnet18_v1", 64),
    "mobilenet0.25": zoo("mobilenet0.25", 64),
}


@pytest.mark.parametrize("name", NETS)
def test_files_become_source(name, tmp_path):
    """Outputs and all gradients are the net's, within 1e-4."""
    net, shape = NETS[name]()
    expected = export(net, tmp_path, shape)
    files = [str(tmp_path / f) for f in ("net-symbol.json", "net-0000.params", "net.py")]
    shown = ["--shape", "x".join(map(str, shape))] if name == "pieces" else []
    assert emit([files[0], "--params", files[1], "-o", files[2], *shown]) == 0
    check(tmp_path, expected)


TREES = {
    "lenet": lenet,
    "pieces": pieces,
    "resnet18_v1": zoo("resnet18_v1", 64),
    "mobilenetv2_0.25": zoo("mobilenetv2_0.25", 64),
}


@pytest.mark.parametrize("name", TREES)
def test_blocks_become_classes(name, tmp_path):
    """Outputs and gradients are the net's; each weight has the name that `emit` returns."""
    net, shape = TREES[name]()
    expect_same(net, tmp_path, shape)


def expect_same(net, folder, *shapes):
    """Emit a Block, and compare; each weight has the name that `emit` returns."""
    expected = export(
        net, folder, *shapes, write=lambda net: mx.emit(net, folder / "net.py", [*shapes])
    )
    check(folder, expected, paired=True)


def test_repeated_parts_are_one_class(tmp_path):
    """Blocks that differ in numbers alone are one class, named after them."""
    net = gluon.model_zoo.vision.resnet18_v1(classes=3)
    net.initialize()
    net(nd.zeros((1, 3, 32, 32)))
    mx.emit(net, tmp_path / "net.py", [(1, 3, 32, 32)])
    source = (tmp_path / "net.py").read_text()
    assert source.count("class BasicBlockV1(nn.Module):") == 1
    assert "class ResNetV1(nn.Module):" in source
    assert source.count("  BasicBlockV1(in_channels=64),\n") == 2
    assert "self.output = nn.Linear(512, 3)" in source


class Twice(gluon.HybridBlock):
    """A layer that is called twice, a parameter of its own, and several inputs and outputs."""

    def __init__(self):
        super().__init__(prefix="twice_")
        with self.name_scope():
            self.shared = gluon.nn.Dense(4, in_units=4)
            self.body = sequential(gluon.nn.Dense(4, in_units=4), gluon.nn.LayerNorm(in_channels=4))
            self.scale = self.params.get("scale", shape=(1, 4), init=mx.init.Uniform(1))

    def hybrid_forward(self, F, x, other, scale):
        x = self.body(self.shared(F.relu(self.shared(x))))
        parts = F.split(F.broadcast_mul(self.body(x), scale) + other, num_outputs=2)
        return [F.concat(*parts[::-1], F.mean(other, axis=1, keepdims=True)), parts[0]]


def test_shared_layers_are_called_twice(tmp_path):
    """What a Block calls twice is one module, with the sum of the gradients."""
    net = Twice()
    expect_same(net, tmp_path, (3, 4), (3, 4))
    assert (tmp_path / "net.py").read_text().count("nn.Linear(4, 4)") == 2


def of_library(name, *args, **settings):
    def make():
        from layers import nets

        return getattr(nets, name)(*args, **settings)

    return make


LIBRARY = {
    "mlp": (of_library("mlp", 6, (8, 7), 3, activation="relu", norm="batch"), (4, 6)),
    "gated": (
        of_library("mlp", 6, (8,), 3, activation="swiglu", norm="rms", residual=True),
        (4, 6),
    ),
    "mixer": (of_library("mixer", (1, 4, 4), 3, hidden_channels=8), (2, 1, 4, 4)),
    "vit": (of_library("vit", (1, 4, 4), 3, hidden_channels=8, num_heads=2), (2, 1, 4, 4)),
}


@pytest.mark.parametrize("name", LIBRARY)
def test_nets_of_this_library(name, tmp_path):
    make, shape = LIBRARY[name]
    expect_same(make(), tmp_path, shape)
    assert "autograd.Function" not in (tmp_path / "net.py").read_text()


def test_operators_keep_their_gradients(tmp_path):
    """A user's operator is a function with the gradients that were written, wrong ones too."""
    import myops

    from layers import OperatorBlock, operator

    @operator
    class doubled:
        def forward(x, w):
            return nd.broadcast_mul(nd.tanh(x), w)

        def dx(dy, x):
            return dy * nd.square(x) * 2

        def dw(dy, x):
            return nd.sum(dy * x, axis=0, keepdims=True)

        def shapes(x):
            return {"w": (1, x[1]), "y": x}

    @operator
    class in_numpy:
        def forward(x):
            a = x.asnumpy()
            return nd.array(a / (1 + np.exp(-a)), dtype=x.dtype)

        def dx(dy, x):
            return nd.array(dy.asnumpy() * np.cos(x.asnumpy()))

    class Doubled(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            with self.name_scope():
                self.w = self.params.get("w", shape=(1, 5), init=mx.init.Uniform(1))

        def hybrid_forward(self, F, x, w):
            return doubled(x, w)

    net = sequential(
        gluon.nn.Dense(5, in_units=4),
        Doubled(),
        OperatorBlock(myops.short),
        OperatorBlock(myops.saving),
        OperatorBlock(in_numpy),
        OperatorBlock(myops.in_numpy),
        OperatorBlock(myops.short),
    )
    expect_same(net, tmp_path, (3, 4))
    source = (tmp_path / "net.py").read_text()
    assert source.count("class Short(torch.autograd.Function)") == 1
    assert "class Doubled(torch.autograd.Function)" in source


def test_operators_that_cannot_be_written_are_named(tmp_path):
    """A class of mx.operator, and code that branches on values, are named with the reason."""
    from layers import OperatorBlock, operator

    @operator
    class branching:
        def forward(x):
            return x if float(x.asnumpy().sum()) > 0 else -x

        def dx(dy):
            return dy

    net = sequential(gluon.nn.Dense(5, in_units=4), OperatorBlock(branching))
    net.initialize()
    with pytest.raises(mx.base.UnsupportedError, match="branching.*depends on the values"):
        mx.emit(net, tmp_path / "net.py", [(3, 4)])
    assert not (tmp_path / "net.py").exists()


HEADS = {
    "SoftmaxOutput": (3,),
    "LinearRegressionOutput": (3, 3),
    "LogisticRegressionOutput": (3, 3),
    "MAERegressionOutput": (3, 3),
}


@pytest.mark.parametrize("head", HEADS)
def test_heads_have_the_gradient_of_their_loss(head, tmp_path):
    """With a label the gradient is the loss's; without one the net predicts."""
    import torch

    y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    y = getattr(mx.sym, head)(y, mx.sym.var("out_label"), name="out", grad_scale=0.5)
    run = y.simple_bind(mx.cpu(), data=(3, 4))
    given = {n: nd.random.uniform(-1, 1, shape=a.shape) for n, a in run.arg_dict.items()}
    given["out_label"] = nd.array(np.arange(np.prod(HEADS[head])).reshape(HEADS[head]) % 3)
    expected = run.forward(is_train=True, **given)[0].asnumpy()
    run.backward()
    y.save(str(tmp_path / "net-symbol.json"))
    nd.save(str(tmp_path / "net.params"), {f"arg:{n}": given[n] for n in ("fc_weight", "fc_bias")})
    files = [str(tmp_path / n) for n in ("net-symbol.json", "net.params", "net.py")]
    assert emit([files[0], "--params", files[1], "-o", files[2]]) == 0
    expect_clean(tmp_path / "net.py")
    own = {}
    exec(compile((tmp_path / "net.py").read_text(), "net", "exec"), own)
    net = own["load"](tmp_path / "net.safetensors")
    x, label = (torch.from_numpy(given[n].asnumpy()) for n in ("data", "out_label"))
    np.testing.assert_allclose(net(x).detach(), expected, rtol=1e-5, atol=1e-6)
    net(x, label).sum().backward()
    wanted = run.grad_dict["fc_weight"].asnumpy()
    np.testing.assert_allclose(net.fc.weight.grad, wanted, rtol=1e-4, atol=1e-6)


def test_shapes_are_in_comments(tmp_path):
    """Without arrays, shapes give the sizes of the layers, and no weights are written."""
    net, shape = lenet()
    export(net, tmp_path, shape)
    target = tmp_path / "net.py"
    given = [str(tmp_path / "net-symbol.json"), "-o", str(target)]
    assert emit(given) == 1
    assert emit([*given, "--shape", "1x1x16x16"]) == 0
    assert " = nn.Conv2d(1, 6, kernel_size=5)\n" in target.read_text()
    assert "(x))  # (n, 6, 12, 12)\n" in target.read_text()
    assert not target.with_suffix(".safetensors").exists()
    assert emit([*given, "--shape", "1x1x16x16"]) == 1  # it exists
    expect_clean(target)


# Names of files

HOSTILE = [
    "x'; import os #",
    'x"""; import os; """',
    "x\nimport os\n",
    "x\\",
    "__import__('os').system('x')",
    "a.b",
    "class",
    "match",
    "forward",
    "training",
    "__init__",
    "self",
    "torch",
    "nn",
    "eval",
    "ｘ",
    "été",
    "x" * 1000,
    "",
    "1",
    "{x}",
    "%s",
    "\u202e",
    "\U0001f600",
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_file_is_in_the_source(name, tmp_path):
    """Names of nodes and variables are plain identifiers, or others are made."""
    import torch

    from layers.mxnet._emit.graph import part_of_graph
    from layers.mxnet._emit.write import source_and_weights

    data = mx.sym.var(f"{name}data")
    y = mx.sym.FullyConnected(data, num_hidden=3, name="replaced1")
    y = mx.sym.broadcast_add(y, mx.sym.var("replaced2", shape=(1, 3)))
    y = mx.sym.SoftmaxOutput(y, mx.sym.var("replaced3"), name="replaced4")
    text = y.tojson()
    for i in range(1, 5):
        text = text.replace(f'"replaced{i}"', json.dumps(name if i < 3 else f"{name}{i}"))
    text = text.replace("replaced1_", json.dumps(name)[1:-1])
    graph = mx.sym.load_json(text)
    names = [n for n in graph.list_inputs() if n not in (f"{name}data", f"{name}3")]
    shapes = [(3, 4), (3,), (1, 3)]
    arrays = {n: nd.ones(shape) for n, shape in zip(names, shapes)}
    part, world = part_of_graph(graph, arrays, [(2, 4)])
    values = {n: arrays[n.name]._tensor for n in world.parameters}
    source, state, _ = source_and_weights(part, world, values)
    for known in "import os", "__import__", "system", "a.b", "été", "ｘ", "x" * 41, "\\", "'":
        assert known not in source
    assert source.isascii()
    own = {}
    exec(compile(source, "net", "exec"), own)
    net = own["Net"]()
    net.load_state_dict(state)
    found = net(torch.ones(2, 4)).detach()
    np.testing.assert_allclose(found, np.full((2, 3), 1 / 3), rtol=1e-6)


def test_all_that_lacks_is_named(tmp_path, capsys):
    """One error names each operator without a form in PyTorch, and the nodes."""
    x = mx.sym.var("data")
    y = mx.sym.Dropout(mx.sym.contrib.fft(x), axes=(0,), name="drop\x1b")
    mx.sym.Group([y, mx.sym.khatri_rao(x, x, name="k")]).save(str(tmp_path / "net-symbol.json"))
    given = [str(tmp_path / "net-symbol.json"), "--shape", "3x3", "-o", str(tmp_path / "net.py")]
    assert emit(given) == 1
    told = capsys.readouterr().err
    assert "_contrib_fft" in told and "khatri_rao" in told and "axes are given" in told
    assert "\x1b" not in told and not (tmp_path / "net.py").exists()


def test_help(capsys):
    """``layers-mxnet emit --help`` and ``layers-mxnet --help`` tell of it."""
    from layers.mxnet.__main__ import main

    with pytest.raises(SystemExit):
        main(["emit", "--help"])
    assert "-o FILE.py" in capsys.readouterr().out
    main(["--help"])
    assert "emit" in capsys.readouterr().out
