"""Names in files reach a terminal without what it obeys, and make no lines of their own."""

import logging
import traceback
import warnings
from contextlib import contextmanager

import pytest

pytest.importorskip("torch", reason="the readers are those of layers.mxnet")

from layers._errors import legible, listed, printable, quoted
from layers.mxnet import (
    MXNetError,
    autograd,
    convert,
    cpu,
    gluon,
    init,
    io,
    mod,
    monitor,
    nd,
    sym,
    viz,
)
from layers.mxnet.tools import im2rec

pytestmark = pytest.mark.engine("torch")

BAD = "\x1b[2J\x1b]0;x\x07\x9b2J\u202e\u2028\r\nLINE"
LONG = "w" * 100_000


def expect_harmless(text: str, most: int = 12_000) -> None:
    lines = text.split("\n")
    assert all(line.isprintable() for line in lines), ascii(text)
    assert not any(line.startswith("LINE") for line in lines), ascii(text)
    assert "LINE" in text or "ww" in text, text  # the name is there, and only escaped
    assert len(text) < most, len(text)


@contextmanager
def harmless_error(kind=MXNetError):
    with pytest.raises(kind) as raised:
        yield
    error = raised.value
    expect_harmless("\n".join([str(error), *getattr(error, "__notes__", [])]))
    expect_harmless("".join(traceback.format_exception_only(error)))


def test_texts():
    assert printable("a\tb\n", keep="\n") == "a\\tb\n" and printable("é 猫") == "é 猫"
    assert printable("\x1b\x9b\u202e\ud800") == "\\x1b\\x9b\\u202e\\ud800"
    assert legible("a" * 200) == f"{'a' * 50} ... {'a' * 50}"
    assert listed("abc", 2) == "a, b, ... (3 in all)" and listed([]) == ""
    assert quoted("\x1b") == "'\\x1b'"
    assert str(MXNetError("a\x1b\n b")) == "a\\x1b\n b"
    assert len(str(MXNetError("a" * 10**6))) < 20_000


@pytest.fixture(params=[BAD, LONG], ids=["escapes", "long"])
def name(request):
    return request.param


@pytest.fixture
def graph(name):
    y = sym.FullyConnected(
        sym.var("data"), sym.var(name), num_hidden=3, no_bias=True, name=f"{name}0"
    )
    return sym.Activation(y, act_type="relu", name=f"{name}1")


@pytest.fixture
def folder(graph, name, tmp_path, monkeypatch):
    """A checkpoint, `whole`; one that lacks an array; and a file of arrays."""
    monkeypatch.chdir(tmp_path)
    for file in "whole", "lacks":
        (tmp_path / f"{file}-symbol.json").write_text(graph.tojson())
    nd.save("whole-0000.params", {f"arg:{name}": nd.ones((3, 4))})
    nd.save("lacks-0000.params", {f"arg:{name}2": nd.ones((3, 4))})
    nd.save("a.params", {name: nd.ones((2,))} | {f"b{i}": nd.ones((2,)) for i in range(50)})
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "--list a.params",
        "--list whole",
        "lacks b.onnx --shape 2x4",
        "--list lacks a.params",
    ],
)
def test_convert(folder, line, capsys):
    convert.main(line.split())
    said = capsys.readouterr()
    expect_harmless(said.out + said.err)


def test_tables_and_reprs(graph, name, capsys):
    viz.print_summary(graph, {"data": (2, 4)})
    viz.print_summary(graph)
    expect_harmless(capsys.readouterr().out)
    block = gluon.SymbolBlock(graph, [sym.var("data")])
    for shown in block.collect_params(), block.params[name]:
        expect_harmless(repr(shown))
    for shown in block, graph, sym.Group([graph] * 300), sym.var(name):
        expect_harmless(repr(shown), 4000)
    with harmless_error():
        viz.print_summary(graph, {"data": (0, 4)})


def test_errors_of_graphs(graph, name):
    with harmless_error():
        graph.simple_bind(cpu(), data=(0, 0))
    with harmless_error():
        graph.infer_shape(data=(2, 4), **{name: (3, 7)})
    with harmless_error():
        graph.bind(cpu(), {"data": nd.ones((2, 4))})
    block = gluon.SymbolBlock(graph, [sym.var("data")])
    with harmless_error():
        block.params[name].data()
    with harmless_error():
        gluon.SymbolBlock(graph, [sym.var(name), sym.var(name)])
    with harmless_error():
        gluon.SymbolBlock(graph, [sym.var(name), sym.var("data")])(nd.ones((2, 4)))


def test_errors_of_symbols(graph, name):
    x, others = sym.var(name), [sym.var(f"{name}{i}") for i in range(300)]
    many = sym.Group([graph, *others])
    for wrong in (
        lambda: many.simple_bind(cpu(), **{f"{name}x": 3}),
        lambda: many(graph, **{name: graph}),
        lambda: many(**{f"{name}x": graph}),
        lambda: graph(x, x, x, x),
        lambda: graph(**{name: name}),
        lambda: many.infer_shape((2, 4), **{name: (3, 4)}),
        lambda: graph.infer_shape(*[(2, 4)] * 9),
        lambda: graph.infer_shape(**{name: name}),
        lambda: graph.infer_shape(**{f"{name}x": (3, 4)}),
        lambda: graph.gradient([name] * 300),
        lambda: sym.FullyConnected(x, x, x, x, x, x, x, x, x, x, name=name, num_hidden=2),
        lambda: sym.FullyConnected(x, name=name, num_hidden=2, **{"weight": name}),
        lambda: many.bind(cpu(), [nd.ones(3)]),
        lambda: many.bind(cpu(), {}),
        lambda: graph[f"{name}x"],
        lambda: sym.var(name, **{name: 3}),
        lambda: x._set_attr(**{name: 3}),
        lambda: sym.Group([x, name]),
    ):
        with harmless_error((MXNetError, ValueError, TypeError)):
            wrong()


def test_errors_of_files(folder, name):
    net = gluon.nn.Dense(3, in_units=4)
    with harmless_error():
        net.load_parameters("whole-0000.params")
    with harmless_error():
        gluon.SymbolBlock.imports("lacks-symbol.json", ["data"], "lacks-0000.params")
    with harmless_error():
        gluon.SymbolBlock.imports("whole-symbol.json", [f"{name}3"], "whole-0000.params")


def test_logs_and_warnings(graph, name, caplog):
    caplog.set_level(logging.DEBUG)
    module = mod.Module(graph, label_names=None)
    watch = monitor.Monitor(1, pattern=".*")
    module.bind([("data", (2, 4))], for_training=False)
    module.init_params(init.Load({name: nd.ones((3, 4))}, verbose=True))
    module.install_monitor(watch)
    watch.tic()
    module.forward(io.DataBatch([nd.ones((2, 4))]), is_train=False)
    watch.toc_print()
    for record in caplog.records:
        if "LINE" in record.getMessage() or "ww" in record.getMessage():
            expect_harmless(record.getMessage().rstrip("\t"))
    assert any("LINE" in r.getMessage() or "www" in r.getMessage() for r in caplog.records)


def test_warnings(graph, name):
    block = gluon.SymbolBlock(graph, [sym.var("data")])
    block.initialize()
    block(nd.ones((2, 4)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        block.collect_params()[name].initialize()
        mod.Module(graph, data_names=["data"], label_names=[f"{name}4"])
        graph.optimize_for(name)
    assert len(caught) == 3
    for each in caught:
        expect_harmless(str(each.message))
    trainer = gluon.Trainer(block.collect_params(), "sgd")
    with pytest.raises(UserWarning) as raised, autograd.record():
        trainer.step(1)
    expect_harmless(str(raised.value))


def test_im2rec(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "images" / BAD.replace("\n", "").replace("\r", "")
    place.mkdir(parents=True)
    (place / "a.png").write_bytes(b"no image")
    assert im2rec.main(["--list", "--recursive", "data", "images"]) == 0
    assert im2rec.main(["data", "images"]) == 1
    said = capsys.readouterr()
    expect_harmless(said.out)
    expect_harmless(said.err)
