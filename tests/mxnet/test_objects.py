"""Objects have the attributes that MXNet's have, private ones too, or a reason why not."""

import json
import re

import pytest
from api import objects

torch_only = pytest.mark.engine("torch")
RECORDED = json.loads(objects.RECORDED.read_text("utf-8")) if objects.RECORDED.exists() else {}


@pytest.mark.engine("mxnet")
@pytest.mark.filterwarnings("ignore")
def test_the_attributes_are_mxnets(mx, pytestconfig):
    found = objects.record(mx)
    if pytestconfig.getoption("--record"):
        lines = [f" {json.dumps(name)}: {json.dumps(names)}" for name, names in found.items()]
        objects.RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    assert found == json.loads(objects.RECORDED.read_text("utf-8"))


@pytest.fixture(scope="module")
def used():
    mx = pytest.importorskip("layers.mxnet")
    return objects.used(mx)


@torch_only
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECORDED)
def test_an_object_has_them(used, name):
    missing = [key for key in RECORDED[name] if not hasattr(used[name], key)]
    places = [f"{name}.{key}" for key in missing]
    assert not [p for p in places if not any(re.fullmatch(x, p) for x in objects.ABSENT)]


@torch_only
@pytest.mark.parametrize("pattern", objects.ABSENT)
def test_reasons_are_for_what_is_absent(used, pattern):
    absent = [
        f"{name}.{key}" for name, keys in RECORDED.items() for key in keys
        if not hasattr(used[name], key)
    ]  # fmt: skip
    assert any(re.fullmatch(pattern, place) for place in absent)


@pytest.mark.filterwarnings("ignore")
def test_formats_of_a_hybridized_block(mx):
    class Nested(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, pair):
            return [x + pair[0], [pair[1]]]

    net, x = Nested(), mx.nd.ones((2,))
    assert net._in_format is net._out_format is None and net._cached_graph == ()
    net.hybridize()
    net(x, [x, x])
    assert net._in_format == [0, [0, 0]] and net._out_format == [0, [0]]
    inputs, outputs = net._cached_graph
    assert len(inputs) == 3 and len(outputs.list_outputs()) == 2
    net.hybridize()
    assert net._cached_graph == () and net._in_format == [0, [0, 0]]


@pytest.mark.filterwarnings("ignore")
def test_the_output_format_of_a_symbol_block_can_be_set(mx):
    a, b = mx.sym.var("a"), mx.sym.var("b")
    net, x = mx.gluon.SymbolBlock(mx.sym.Group([a * 2, b * 3]), [a, b]), mx.nd.ones((2,))
    assert net._in_format == [0, 0]
    net._out_format = [0, [0]]
    first, [second] = net(x, x)
    assert first.asnumpy().tolist() == [2, 2] and second.asnumpy().tolist() == [3, 3]


@pytest.mark.filterwarnings("ignore")
def test_the_name_of_a_block_can_be_set(mx):
    net = mx.gluon.nn.Dense(2, prefix="a_")
    net._name = "b"
    assert (net.name, net.prefix, net.weight.name) == ("b", "a_", "a_weight")


def test_contexts_of_a_parameter(mx):
    p = mx.gluon.Parameter("w", shape=(2, 2))
    assert p._ctx_list is p._ctx_map is p._data is p._grad is p._trainer is None
    p.initialize(ctx=[mx.cpu(1), mx.cpu(3)])
    assert p._ctx_list == [mx.cpu(1), mx.cpu(3)]
    assert p._ctx_map == [[], [None, 0, None, 1]]


COPIED = """
    _var _data _grad _ctx_list _ctx_map _trainer _deferred_init _differentiable _grad_req _stype
    _grad_stype
"""


def test_a_parameter_that_takes_what_another_has(mx):
    class Wrapped(mx.gluon.Parameter):
        def __init__(self, other):
            super().__init__(name=other.name, shape=other._shape, dtype=other.dtype)
            for name in COPIED.split():
                setattr(self, name, getattr(other, name))

    p = mx.gluon.Parameter("w", shape=(2,))
    p.initialize(mx.init.One())
    wrapped = Wrapped(p)
    assert wrapped.data() is p.data() and wrapped.list_ctx() == p.list_ctx()
    with mx.autograd.record():
        y = (wrapped.data() * 3).sum()
    y.backward()
    assert wrapped.grad().asnumpy().tolist() == p.grad().asnumpy().tolist() == [3, 3]


@torch_only
def test_a_gradient_can_be_set(mx):
    p, gradient = mx.gluon.Parameter("w", shape=(2,)), mx.nd.zeros((2,))
    p.initialize(mx.init.One())
    p._grad = [gradient]
    with mx.autograd.record():
        y = (p.data() * 3).sum()
    y.backward()
    assert gradient.asnumpy().tolist() == [3, 3]


@pytest.mark.filterwarnings("ignore")
def test_a_kvstore_has_the_parameters_of_a_module_by_their_names(mx):
    fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(fc, name="softmax"))
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    store, out = mx.kv.create("local"), mx.nd.zeros((2, 3))
    module.init_optimizer(kvstore=store)
    assert module._update_on_kvstore
    batch = mx.io.DataBatch([mx.nd.ones((2, 3))], [mx.nd.zeros((2,))])
    for _ in range(2):
        store.pull("fc_weight", out=out)
        assert (out.asnumpy() == module.get_params()[0]["fc_weight"].asnumpy()).all()
        module.forward_backward(batch)
        module.update()
    store.pull("fc_weight", out=out)
    before = out.asnumpy()
    store.push("fc_weight", mx.nd.ones((2, 3)))
    store.pull("fc_weight", out=out)
    assert abs(before - out.asnumpy() - 0.005).max() < 1e-6  # learning rate / batch size
