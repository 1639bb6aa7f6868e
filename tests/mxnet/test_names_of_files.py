"""Names in files: data that may be any text, and never names or source of what PyTorch makes."""

import builtins
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")

import layers.mxnet as mx  # noqa: E402 - torch first
from layers.mxnet import gluon, nd, sym  # noqa: E402 - torch first
from layers.mxnet._files.exchange import write  # noqa: E402 - torch first

pytestmark = pytest.mark.engine("torch")

# A name that ends a string of source, and the function that the string is in; and that is a call.
ENDS = 'x")\rexec("__import__(\'builtins\')\\x2eran = 1")\rdef g(self, args_0):\r    v = ("'
CALLS = 'y", exec("__import__(\'builtins\')\\x2eran = 1")) or ("'
NAMES = {
    "hostile": [ENDS, CALLS],
    "awkward": ["forward", "class", "a.b", "p0", "p1", "val_0", "\u202e\n{0}%s\0", "x", "xx"],
    "common": ["x", "xx"],
}


@pytest.fixture
def nothing_runs(monkeypatch):
    monkeypatch.setattr("builtins.ran", 0, raising=False)
    yield
    assert not builtins.ran


def parts(names):
    """A graph with parameters of these names, and nodes of the same; and their values."""
    y = sym.var("data")
    for name in names:
        y = sym.broadcast_mul(y, sym.var(name, shape=(3,)), name=name)
    return y * 2 + 1, {name: nd.arange(1, 4) + i for i, name in enumerate(names)}


def block_of(symbol, values):
    block = gluon.SymbolBlock(symbol, sym.var("data"))
    block.initialize()
    block(nd.array(x))  # shapes are known
    for name, value in values.items():
        block.params[name].set_data(value)
    return block


x = np.ones((1, 3), "float32")


def expected(values):
    return 2 * np.prod([value.asnumpy() for value in values.values()], axis=0)[None] + 1


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_a_module_has_the_names_in_its_state_dict_alone(names, nothing_runs):
    symbol, values = parts(names)
    block = gluon.nn.HybridSequential()
    block.add(block_of(symbol, values))
    module, given = block.to_torch().eval(), torch.from_numpy(x)
    assert list(module.state_dict()) == list(block._collect_params_with_prefix())
    assert len(module.names) == len(names)
    assert list(module.names) == [n for n, _ in module.named_parameters()]
    assert list(module.names) == [f"p{i}" for i in range(len(names))]
    compiled = torch.compile(module, backend="eager")
    np.testing.assert_allclose(compiled(given).detach(), expected(values))
    torch._dynamo.reset()
    for strict in False, True:
        program = torch.export.export(module, (given,), strict=strict)
        np.testing.assert_allclose(program.module()(given).detach(), expected(values))
    torch._dynamo.reset()


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_programs_have_the_names_in_a_table(names, nothing_runs, tmp_path):
    symbol, values = parts(names)
    write(tmp_path / "net.pt2", symbol, values, [x.shape])
    told = {"names.json": ""}
    program = torch.export.load(tmp_path / "net.pt2", extra_files=told)
    np.testing.assert_allclose(program.module()(torch.from_numpy(x)).detach(), expected(values))
    table = json.loads(told["names.json"])
    assert sorted(table.values()) == sorted(names) and table.keys() == program.state_dict.keys()
    for own, name in table.items():
        np.testing.assert_array_equal(program.state_dict[own].detach(), values[name].asnumpy())


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_onnx_files_have_the_names(names, nothing_runs, tmp_path):
    pytest.importorskip("onnxscript", reason="of the extra `exchange`")
    onnx = pytest.importorskip("onnx", reason="of the extra `exchange`")
    symbol, values = parts(names)
    write(tmp_path / "net.onnx", symbol, values, [x.shape])
    found = {t.name: t for t in onnx.load(tmp_path / "net.onnx").graph.initializer}
    for name in names:
        value = onnx.numpy_helper.to_array(found[name])
        np.testing.assert_array_equal(value, values[name].asnumpy())
    again = mx.contrib.onnx.import_to_gluon(tmp_path / "net.onnx")
    np.testing.assert_allclose(again(nd.array(x)).asnumpy(), expected(values))
    again.export(str(tmp_path / "again"))  # as `convert` does
    files = tmp_path / "again-symbol.json", tmp_path / "again-0000.params"
    mx.onnx.export_model(*files, [x.shape], onnx_file_path=tmp_path / "again.onnx")


def test_an_onnx_file_cannot_have_any_name(tmp_path):
    pytest.importorskip("onnxscript", reason="of the extra `exchange`")
    symbol = sym.broadcast_mul(sym.var("data"), sym.var("\ud800"))
    with pytest.raises(mx.MXNetError, match="the name '.ud800'.*\n  expected"):
        mx.onnx.export_model(symbol, {"\ud800": nd.ones(3)}, [(1, 3)], np.float32, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_outputs_of_one_name_have_different_ones_in_an_onnx_file(tmp_path):
    pytest.importorskip("onnxscript", reason="of the extra `exchange`")
    onnx = pytest.importorskip("onnx", reason="of the extra `exchange`")
    first, second = (f(sym.var("data"), name="same") for f in (sym.exp, sym.sqrt))
    group, path = sym.Group([first, second, first]), tmp_path / "net.onnx"
    mx.onnx.export_model(group, {}, [x.shape], onnx_file_path=path)
    names = [output.name for output in onnx.load(path).graph.output]
    assert names[0] == "same_output" and len({*names}) == 3
    found = mx.contrib.onnx.import_to_gluon(path)(nd.array(x))
    for y, expected in zip(found, (np.exp(x), np.sqrt(x), np.exp(x))):
        np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-5)
