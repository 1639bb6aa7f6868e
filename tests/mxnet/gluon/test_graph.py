"""Hybridized blocks, exported graphs, and blocks made of Symbols."""

import copy
import pickle

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Cannot decide type")


@pytest.fixture
def net(mx):
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="m_")
    with net.name_scope():
        net.add(nn.Dense(8, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(2))
    mx.random.seed(1)
    net.initialize(mx.init.Xavier())
    return net


@pytest.fixture
def x(mx):
    return mx.nd.array(np.random.RandomState(0).randn(4, 3))


def same(a, b, tolerance=1e-6):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=tolerance, atol=tolerance)


def test_a_graph_computes_what_the_blocks_do(mx, net, x):
    found = []
    for hybridize in (False, True):
        net.hybridize(hybridize)
        mx.random.seed(3)
        with mx.autograd.record(train_mode=False):
            y = net(x)
        y.backward()
        trained = [p for p in net.collect_params().values() if p.grad_req != "null"]
        found.append([y, *(p.grad() for p in trained)])
    for eager, replayed in zip(*found):
        same(eager, replayed)


def test_training_and_predicting_in_one_graph(mx, net, x):
    net.hybridize()
    mean = [p for p in net.collect_params().values() if p.name.endswith("running_mean")][0]
    first, again = net(x), net(x)
    same(first, again)
    assert (mean.data().asnumpy() == 0).all()
    with mx.autograd.record():
        dropped = net(x)
    dropped.backward()
    mx.nd.waitall()
    assert (mean.data().asnumpy() != 0).any()
    assert (dropped.asnumpy() != first.asnumpy()).any()


@pytest.mark.engine("torch")  # MXNet's dropout has another state in each mode
def test_the_same_seed_draws_the_same(mx, net, x):
    net(x)  # the parameters are drawn
    draws = []
    for hybridize in (False, True, True):
        net.hybridize(hybridize)
        mx.random.seed(7)
        with mx.autograd.record():
            draws.append(net(x).asnumpy())
    np.testing.assert_array_equal(draws[0], draws[1])
    np.testing.assert_array_equal(draws[0], draws[2])
    with mx.autograd.record():
        assert (net(x).asnumpy() != draws[0]).any()


@pytest.mark.engine("torch")  # MXNet keeps to the first structure of the inputs
def test_other_shapes_and_nested_inputs(mx):
    class Add(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, pair, c=None):
            y = pair[0] + pair[1]
            return (y, [y * 2, y if c is None else F.broadcast_add(y, c)])

    net, nd = Add(), mx.nd
    net.hybridize()
    for n in (1, 3):
        a, (b, c) = net([nd.ones((n, 2)), nd.ones((n, 2))])
        assert a.shape == b.shape == c.shape == (n, 2)
    _, (_, c) = net([nd.ones((1, 2)), nd.ones((1, 2))], nd.ones((1, 1)))
    assert c.asnumpy().tolist() == [[3, 3]]


def test_an_output_is_not_an_input(mx):
    class Same(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.identity(x), F.reshape(x, shape=(-1,))

    net, x = Same(), mx.nd.ones((2, 2))
    net.hybridize()
    y, z = net(x)
    x[:] = 5
    assert y.asnumpy().tolist() == [[1, 1], [1, 1]] and z.asnumpy().tolist() == [1, 1, 1, 1]


def test_export_and_import(mx, net, x, tmp_path):
    with pytest.raises(RuntimeError, match="hybridize"):
        net.export(str(tmp_path / "net"))
    net.hybridize()
    y = net(x)
    net.export(str(tmp_path / "net"), epoch=3)
    files = str(tmp_path / "net-symbol.json"), str(tmp_path / "net-0003.params")
    assert {n.split(":")[0] for n in mx.nd.load(files[1])} == {"arg", "aux"}
    block = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    same(block(x), y)
    block.hybridize()
    same(block(x), y)


def test_a_block_of_a_symbol(mx, net, x):
    net(x)
    data = mx.sym.var("data")
    out = net(data)
    inner = out.get_internals()["m_dense0_relu_fwd_output"]
    block = mx.gluon.SymbolBlock([inner, out], [data], params=net.collect_params())
    features, y = block(x)
    assert features.shape == (4, 8)
    same(y, net(x))
    assert block.collect_params()["m_batchnorm0_running_mean"].grad_req == "null"


def test_a_block_of_a_symbol_in_a_net(mx, net, x):
    data = mx.sym.var("data")
    outer = mx.gluon.nn.HybridSequential()
    outer.add(mx.gluon.SymbolBlock(net(data), data), mx.gluon.nn.Dense(5))
    outer.initialize()
    outer.hybridize()
    assert outer(x).shape == (4, 5)


@pytest.mark.engine("torch")
def test_an_error_in_a_graph_names_the_node(mx, net, x):
    net.hybridize()
    net(x)
    with pytest.raises(ValueError) as caught:
        net(mx.nd.ones((4, 7)))
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "weight is (8, 3), but data (4, 7) flattens to 7 columns" in told
    assert "in FullyConnected 'm_dense0_fwd' of the graph" in told


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "name, cure", [("shape", r"x\.reshape\(\(0, -1\)\)"), ("T", "transpose"), ("x", "an operator")]
)
def test_what_a_symbol_has_not_names_the_cure(mx, name, cure):
    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return getattr(x, name)

    net = Net()
    net.hybridize()
    with pytest.raises(
        AttributeError, match=f"{name!r}: it has no values.*\n  expected.*{cure}"
    ) as found:
        net(mx.nd.ones((2, 3)))
    assert found.value.obj is None  # which Python would look through for a name to suggest


@pytest.mark.engine("torch")
def test_wrong_imports(mx, net, x, tmp_path):
    net.hybridize()
    net(x)
    files = net.export(str(tmp_path / "net"))
    with pytest.raises(TypeError, match="no input 'nothing'"):
        mx.gluon.SymbolBlock.imports(files[0], "nothing")
    (tmp_path / "net-symbol.json").write_text("{")
    with pytest.raises(mx.MXNetError, match="net-symbol.json.*not JSON"):
        mx.gluon.SymbolBlock.imports(files[0], "data")


@pytest.mark.engine("torch")
def test_outputs_share_no_memory(mx):
    class Several(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            y = x * 2
            return y, F.reshape(y, shape=(-1,)), y, F.broadcast_to(F.exp(y), shape=(3, 2))

    net = Several()
    net.hybridize()
    a, b, c, d = net(mx.nd.ones((1, 2)))
    a[:] = 0
    d[0, 0] = 5
    assert b.asnumpy().tolist() == [2, 2] and c.asnumpy().tolist() == [[2, 2]]
    assert (d.asnumpy() == 5).sum() == 1


@pytest.mark.engine("torch")
def test_a_parameter_named_as_an_input(mx):
    class Add(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__(prefix="")
            self.data = self.params.get("data", shape=(2,), init="zeros")

        def hybrid_forward(self, F, x, data):
            return F.broadcast_add(x, data)

    net = Add()
    net.initialize()
    net.hybridize()
    assert net(mx.nd.array([1, 2])).asnumpy().tolist() == [1, 2]


@pytest.mark.engine("torch")
@pytest.mark.filterwarnings("ignore:.*unregistered container")
def test_a_block_that_is_not_registered(mx):
    class Hidden(mx.gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.inside = [mx.gluon.nn.Dense(2, in_units=2)]

        def hybrid_forward(self, F, x):
            return self.inside[0](x)

    net = Hidden()
    net.inside[0].initialize()
    net.hybridize()
    with pytest.raises(ValueError, match=r"register_child"):
        net(mx.nd.ones((1, 2)))


@pytest.mark.engine("torch")
def test_a_hybridized_block_is_copied_and_pickled(net, x):
    net.hybridize()
    y = net(x)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        same(twin(x), y)


@pytest.mark.filterwarnings("ignore:.*there is no backend")
def test_optimize_for(mx, net, x, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = net(x)
    assert net.optimize_for(x, backend="MKLDNN") is None
    same(net(x), expected)
    net.export("m")
    assert (tmp_path / "m-symbol.json").exists()
    with pytest.raises(ValueError, match="backend"):
        net.optimize_for(x)


@pytest.mark.engine("torch")
def test_optimize_for_compiles(net, x):
    net.hybridize()
    expected = net(x)
    with pytest.warns(UserWarning, match="no backend 'TensorRT'"):
        net.optimize_for(x, backend="TensorRT")
    net.optimize_for(x, backend="eager", static_alloc=True)
    (graph,) = net._graphs.values()
    assert graph.run is not graph.program and len(graph.run.runs) == 1
    same(net(x), expected)


@pytest.mark.engine("torch")
def test_an_unknown_backend_is_refused(mx, net, x, monkeypatch):
    with pytest.raises(ValueError, match="no backend 'inductr'\n  expected 'inductor'; there are"):
        net.hybridize(backend="inductr")
    with pytest.raises(ValueError, match="no backend 'nonsense'\n  expected one of .*inductor"):
        net.optimize_for(x, backend="nonsense")
    with pytest.warns(UserWarning, match="no backend 'MKLDNN'; the graph runs as it is"):
        net.hybridize(backend="MKLDNN")
    for name in ("inductr", "MKLDNN"):
        monkeypatch.setenv("LAYERS_HYBRIDIZE_BACKEND", name)
        with pytest.raises(ValueError, match=f"^LAYERS_HYBRIDIZE_BACKEND: .* backend '{name}'"):
            net.hybridize()


def test_shapes_before_the_parameters_are_made(mx, x):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(2))
    net.infer_shape(x)
    shapes = [p.shape for p in net.collect_params().values()]
    assert shapes == [(4, 3), (4,), (4,), (4,), (4,), (4,), (2, 4), (2,)]
    net.initialize()
    assert net[2].weight.data().shape == (2, 4)


@pytest.fixture
def files(net, x, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    net.hybridize()
    net(x)
    net.export("m")
    return "m-symbol.json", "data", "m-0000.params"


@pytest.mark.engine("torch")  # MXNet names one of them ""
def test_no_parameter_is_lost_where_names_begin_alike(mx):
    data = mx.sym.var("data")
    block = mx.gluon.SymbolBlock(data * mx.sym.var("w") * mx.sym.var("ww"), data)
    assert sorted(block._collect_params_with_prefix()) == ["w", "ww"]


@pytest.mark.engine("torch")  # MXNet takes them for Python's arguments
@pytest.mark.parametrize("name", ["name", "self"])
def test_names_of_inputs_are_no_arguments_of_python(mx, name):
    y = mx.sym.var(name) * 2
    assert y.infer_shape(**{name: (2, 3)})[1] == [(2, 3)]
    assert y.infer_type(**{name: "float16"})[1] == [np.float16]
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.SymbolBlock(y, mx.sym.var(name)))
    net.hybridize()
    assert (net(mx.nd.ones((2, 3))).asnumpy() == 2).all()
    module = mx.mod.Module(y, data_names=[name], label_names=None)
    module.bind([(name, (2, 3))], for_training=False)


def test_an_input_by_its_name(mx, net, x, files):
    graph = mx.sym.load(files[0])
    block = mx.gluon.SymbolBlock(graph.get_internals()["m_dense0_fwd_output"], mx.sym.var("data"))
    block.load_parameters(files[2], ignore_extra=True)
    assert block(x).shape == (4, 8)


def test_missing_and_extra_in_a_file(mx, x, files):
    values = mx.nd.load(files[2])
    left_out = sorted(values)[0]
    mx.nd.save("less.params", {n: v for n, v in values.items() if n != left_out})
    mx.nd.save("more.params", values | {"arg:q": mx.nd.ones(1)})
    imports = mx.gluon.SymbolBlock.imports
    for name in ("less", "more"):
        with pytest.raises((AssertionError, RuntimeError), match="is not present|missing|q"):
            imports(*files[:2], f"{name}.params")
    imports(*files[:2], "less.params", allow_missing=True)
    assert imports(*files[:2], "more.params", ignore_extra=True)(x).shape == (4, 2)


def test_a_symbol_block_on_another_context_and_in_another_dtype(mx, x, files):
    block = mx.gluon.SymbolBlock.imports(*files)
    block.reset_ctx(mx.cpu(1))
    assert block(x.as_in_context(mx.cpu(1))).context == mx.cpu(1)
    block.cast("float16")
    dtypes = {p.name: np.dtype(p.dtype).name for p in block.collect_params().values()}
    assert dtypes["m_dense0_weight"] == "float16" and dtypes["m_batchnorm0_gamma"] == "float32"
    assert dtypes["m_batchnorm0_running_var"] == "float32"


def test_names_in_the_file_of_a_symbol_block(mx, files):
    mx.gluon.SymbolBlock.imports(*files).save_parameters("b.params")
    assert "dense0_weight" in mx.nd.load("b.params")


@pytest.mark.engine("torch")  # MXNet does not find what it wrote
def test_the_file_of_a_symbol_block(mx, x, files):
    block = mx.gluon.SymbolBlock.imports(*files)
    block.save_parameters("b.params")
    again = mx.gluon.SymbolBlock.imports(*files[:2])
    again.load_parameters("b.params")
    same(again(x), block(x))


@pytest.mark.engine("torch")
def test_what_hybridize_does_not_take(net):
    with pytest.raises(ValueError, match="active is 'inductor'\n  expected backend='inductor'"):
        net.hybridize("inductor")
    with pytest.raises(ValueError, match="mode is given, but no backend\n  expected backend="):
        net.hybridize(mode="max-autotune")
    with pytest.raises(ValueError, match="unknown flag 'static_aloc'"):
        net.hybridize(static_aloc=True)
    with pytest.raises(ValueError, match="no backend 'inducter'\n  expected 'inductor'"):
        net.hybridize(backend="inducter")


def test_a_symbol_block_gives_as_many_symbols_as_arrays(mx):
    """As GluonCV's feature pyramids have it, whose blocks go on with each of them."""
    data = mx.sym.var("data")
    outputs = [mx.sym.relu(data), mx.sym.tanh(data)]
    for given in (outputs, mx.sym.Group(outputs)):
        block = mx.gluon.SymbolBlock(given, [data])
        for x in (mx.nd.ones((2, 2)), mx.sym.var("x")):
            found = block(x)
            assert isinstance(found, list) and [type(y) for y in found] == [type(x)] * 2
    alone = mx.gluon.SymbolBlock(outputs[0], [data])(mx.sym.var("x"))
    assert isinstance(alone, mx.sym.Symbol) and alone.list_arguments() == ["x"]
