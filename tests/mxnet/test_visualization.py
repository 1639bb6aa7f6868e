"""Tables and drawings of graphs."""

import re
import sys

import pytest


@pytest.fixture
def net(mx):
    sym = mx.sym
    with mx.name.NameManager():
        x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=8, pad=(1, 1), name="conv")
        x = sym.Activation(sym.BatchNorm(x, name="bn"), act_type="relu", name="relu")
        x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool")
        x = sym.concat(x, sym.broadcast_mul(x, sym.var("scale")), dim=1, name="cat")
        x = sym.FullyConnected(x, num_hidden=10, name="a_fully_connected_layer_with_a_long_name")
        return sym.SoftmaxOutput(x, name="softmax")


SHAPES = {"data": (2, 3, 8, 8), "scale": (1, 1, 1, 4)}


def table(text):
    """The rows of a summary: lists of name, shape, count and the layer before."""
    ends = [0, 52, 76, 88, 120]
    lines = [t for t in text.splitlines() if set(t) - set("_=")]
    return [[line[a:b].strip() for a, b in zip(ends, ends[1:])] for line in lines]


def test_summary(mx, net, capsys):
    mx.viz.print_summary(net, shape=SHAPES)
    text = capsys.readouterr().out
    assert {len(line) for line in text.splitlines() if "Total" not in line} == {120}
    rows = {row[0]: row[1:] for row in table(text) if row[0]}
    assert rows["Layer (type)"] == ["Output Shape", "Param #", "Previous Layer"]
    assert rows["data(null)"] == ["3x8x8", "0", ""]
    assert rows["conv(Convolution)"] == ["8x8x8", "224", "data"]
    assert rows["bn(BatchNorm)"] == ["8x8x8", "16", "conv"]
    assert rows["relu(Activation)"] == ["8x8x8", "0", "bn"]
    assert rows["cat(Concat)"] == ["16x4x4", "0", "pool"]
    assert rows["softmax(SoftmaxOutput)"] == ["10", "0", "a_fully_connected_layer_with_a_l"]
    cut = "a_fully_connected_layer_with_a_long_name(FullyConnec"
    assert rows[cut][::2] == ["10", "cat"]


@pytest.mark.engine("torch")  # MXNet counts 17 * 10 for the last layer
def test_summary_counts_parameters(mx, net, capsys):
    mx.viz.print_summary(net, shape=SHAPES)
    assert f"Total params: {224 + 16 + 256 * 10 + 10}\n" in capsys.readouterr().out
    x = mx.sym.var("x")
    shared = mx.sym.var("w")
    layers = [mx.sym.FullyConnected(x, shared, num_hidden=4, no_bias=True) for _ in range(2)]
    mx.viz.print_summary(layers[0] + layers[1], shape={"x": (5, 3)}, line_length=60)
    assert "Total params: 12\n" in capsys.readouterr().out


def test_summary_without_shapes(mx, net, capsys):
    mx.viz.print_summary(net)
    assert "conv(Convolution)" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:Cannot decide shape")
def test_what_cannot_be_shown(mx, net):
    with pytest.raises((mx.MXNetError, ValueError)):
        mx.viz.print_summary(net, shape={"data": (2, 3, 8, 8)})
    with pytest.raises(TypeError):
        mx.viz.print_summary("net")
    with pytest.raises(TypeError):
        mx.viz.plot_network("net")


def test_drawing(mx, net):
    pytest.importorskip("graphviz", reason="the package graphviz draws")
    drawing = mx.viz.plot_network(net, title="net", save_format="svg", shape=SHAPES)
    assert (drawing.name, drawing.format) == ("net", "svg")
    text = drawing.source
    assert "conv_weight" not in text and "bn_moving_mean" not in text
    assert "8x8x8" in text and "relu -> bn" in text
    assert "conv_weight" in mx.viz.plot_network(net, hide_weights=False).source
    assert "tomato" in mx.viz.plot_network(net, node_attrs={"color": "tomato"}).source


@pytest.mark.engine("torch")  # MXNet's drawing has the names as source
@pytest.mark.parametrize("name", ['<>]; x [URL="a"]; y [label=<>', "<b>:n", 'x\\" x\\', "x\n\\N"])
def test_names_are_no_source_of_a_drawing(mx, name):
    pytest.importorskip("graphviz", reason="the package graphviz draws")

    def lines(name):
        same = mx.sym.sqrt(mx.sym.var(f"{name} data"), name=name)
        drawing = mx.viz.plot_network(mx.sym.exp(same, name=name))
        return re.sub(r'label="(\\"|[^"\\]|\\\\)*"', "LABEL", drawing.source).splitlines()

    assert lines(name) == lines("a name")


@pytest.mark.engine("torch")
def test_drawing_without_the_package(mx, net, monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match="pip install graphviz"):
        mx.viz.plot_network(net)
