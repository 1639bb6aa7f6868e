"""One operator: nodes of graphs hold the op itself, with attributes that are values."""

import numpy as np
import pytest

from layers import ops
from layers.engine import autograd, gluon, mx, nd, sym

pytestmark = pytest.mark.engine("torch")


@ops.operator(name="test_op.mixed")
class mixed:
    """y = by * x + b; the attributes have names that calls of nodes have, too."""

    def forward(x, b=None, *, by=2.0, context=1, training=0.5):
        y = x * by * context * training
        return y if b is None else y + b

    def dx(dy, *, by, context, training):
        return dy * by * context * training

    def db(dy):
        return dy


@mx.operator.register("test_op.prop")
class Prop(mx.operator.CustomOpProp):
    def __init__(self, by="2"):
        super().__init__()
        assert type(by) is str
        self.by = float(by)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        by = self.by

        class Times(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * by)

        return Times()


def node_of(y):
    return y._entries[0][0]


def test_a_node_has_the_op_of_its_operator():
    y = mixed(sym.var("x"), by=1 / 3)
    assert node_of(y).op is mixed._adapter
    assert node_of(y).attributes == {"by": 1 / 3, "no_b": True}
    assert type(node_of(y).attributes["by"]) is float
    assert node_of(sym.Custom(sym.var("x"), op_type=mixed.name, no_b=True)).op is mixed._adapter


def test_a_node_of_a_prop_has_the_op_of_its_attributes():
    from layers.mxnet._op.registered import find

    first, second, other = [
        node_of(sym.Custom(sym.var("x"), op_type="test_op.prop", by=by)) for by in (2, "2", 3)
    ]
    assert first.op is second.op is not other.op
    assert first.op is find("test_op.prop", {"by": 2})
    assert first.attributes == {} and first.attrs["by"] == "2"


@pytest.mark.parametrize("given", [{}, {"by": 0.1}, {"context": 3}, {"training": 0.25}])
@pytest.mark.parametrize("biased", [False, True])
def test_text_is_at_the_border_to_files(given, biased):
    x, b = nd.array([[1.0, 2.0]]), nd.array([[0.5, 0.25]])
    arrays = {"x": x, "b": b} if biased else {"x": x}
    y = mixed(*map(sym.var, arrays), **given)
    read = sym.load_json(y.tojson())
    assert node_of(read).op is node_of(y).op
    assert node_of(read).attributes == node_of(y).attributes
    expected = mixed(*arrays.values(), **given).asnumpy()
    for graph in (y, read):
        assert np.array_equal(graph.eval(**arrays)[0].asnumpy(), expected)


@pytest.mark.parametrize("biased", [False, True])
def test_the_symbol_of_a_recorded_call(biased):
    arrays = [nd.array([[1.0, 2.0]]), nd.array([[0.5, 0.25]])][: 1 + biased]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = mixed(*arrays, by=3.0)
    graph = autograd.get_symbol(y)
    names = graph.list_arguments()
    assert len(names) == len(arrays)
    assert np.array_equal(graph.eval(**dict(zip(names, arrays)))[0].asnumpy(), y.asnumpy())


@pytest.mark.parametrize("call", [nd.Custom, sym.Custom, None])
def test_an_unknown_attribute_is_refused(call):
    with pytest.raises(TypeError, match="it has no attribute 'bye'"):
        if call is None:
            text = sym.Custom(sym.var("x"), op_type=mixed.name, by=7.0, no_b=True).tojson()
            sym.load_json(text.replace('"by"', '"bye"'))
        else:
            x = nd.ones(2) if call is nd.Custom else sym.var("x")
            call(x, op_type=mixed.name, bye=1)


def test_gradient_rules_of_the_table_in_torch_func():
    import torch

    net = gluon.SymbolBlock(
        sym.SoftmaxOutput(sym.var("x"), sym.var("label")), [sym.var("x"), sym.var("label")]
    ).to_torch()
    x, label = torch.rand(4, 3), torch.tensor([0.0, 1, 2, 1])
    given = x.clone().requires_grad_()
    net(given, label).sum().backward()
    found = torch.func.grad(lambda x: net(x, label).sum())(x)
    assert torch.equal(found, given.grad)


@pytest.mark.parametrize("how", [{}, {"static_alloc": True, "static_shape": True}], ids=str)
@pytest.mark.parametrize("first", [True, False])
def test_a_graph_follows_a_gradient_that_is_registered_later(how, first):
    @ops.customop("mxnet")
    def scaled(x):
        return x * 4

    if first:
        scaled.def_grad(lambda ans, x: lambda g: g * 12)
    net = gluon.nn.HybridLambda(lambda F, x: scaled(x))
    net.hybridize(**how)
    x = nd.ones((2,))
    x.attach_grad()
    if first:
        with autograd.record():
            y = net(x)
        y.backward()
        assert x.grad.asnumpy().tolist() == [12, 12]
    else:
        net(x)
    scaled.def_grad(lambda ans, x: lambda g: g * 7)
    if how:  # what was recorded stays until then
        net.hybridize(**how)
    with autograd.record():
        y = net(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [7, 7]


@pytest.mark.parametrize("hybridize", [None, {}, {"static_alloc": True, "static_shape": True}])
def test_a_gradient_that_is_an_input_has_memory_of_its_own(hybridize):
    @ops.operator
    class half_square:
        def forward(x):
            return x * x / 2

        def dx(x):
            return x

    net = gluon.nn.HybridLambda(lambda F, x: half_square(x))
    if hybridize is not None:
        net.hybridize(**hybridize)
    for _ in range(4):
        x = nd.array([1.0, 2.0])
        x.attach_grad()
        with autograd.record():
            y = net(x)
        y.backward()
        x -= 0.5 * x.grad
        assert x.grad.asnumpy().tolist() == [1, 2]


def test_calls_that_raise_are_no_attempts_to_record(caplog):
    fails = [True]

    @ops.operator
    class sometimes:
        def forward(x):
            if fails[0]:
                raise ValueError("not yet")
            return x * 2

        def dx(dy):
            return dy * 2

    net = gluon.nn.HybridLambda(lambda F, x: sometimes(x))
    net.hybridize(static_alloc=True, static_shape=True)
    x = nd.ones((2,))
    x.attach_grad()
    for fails[0] in [True] * 10 + [False] * 3:
        try:
            with autograd.record():
                y = net(x)
            y.backward()
        except ValueError:
            assert fails[0]
    assert "no gradient was asked for" not in caplog.text


def test_a_state_has_to_be_there():
    with pytest.raises(TypeError, match="the state 'count' may be left out"):

        @ops.operator
        class counts:
            states = ("count",)

            def forward(x, count=None):
                return x


@pytest.mark.parametrize("op_type", ["test_op.mixed", "test_op.prop"])
@pytest.mark.parametrize("in_graph", [False, True])
def test_an_array_is_no_attribute(op_type, in_graph):
    with pytest.raises(ValueError, match="an input is an NDArray, in a graph a Symbol"):
        if in_graph:
            sym.Custom(data=nd.ones((2,)), op_type=op_type)
        else:
            nd.Custom(data=sym.var("x"), op_type=op_type)


def test_a_loss_tells_how_it_gets_a_second_derivative():
    @ops.operator
    class loss:
        def forward(x):
            return x * x

        def dx(x):
            return 2 * x

    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with pytest.raises(Exception, match="expected dy among the parameters of its gradients"):
        with autograd.record():
            (dx,) = autograd.grad(loss(x), [x], create_graph=True)
        dx.backward()


@pytest.mark.parametrize("low", [False, True])
def test_mixed_precision_casts_the_inputs_of_a_prop(low, monkeypatch):
    import torch

    from layers.mxnet._state import State
    from layers.mxnet._table import precision

    seen = []

    class Seen(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            seen.append(np.dtype(in_data[0].dtype).name)
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("test_op.seen")
    class SeenProp(mx.operator.CustomOpProp):
        low_precision = low

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Seen()

    monkeypatch.setattr(State, "precision", precision.Policy(torch.float16, (), (), (), ()))
    x = nd.ones((2,))
    nd.Custom(x, op_type="test_op.seen")
    sym.Custom(sym.var("x"), op_type="test_op.seen").eval(x=x)
    assert seen == ["float16" if low else "float32"] * 2


def test_a_module_that_is_imported_and_has_no_such_operator(monkeypatch):
    import sys
    import types

    monkeypatch.setitem(sys.modules, "imported_ops", types.ModuleType("imported_ops"))
    text = mixed(sym.var("x")).tojson().replace(mixed.name, "imported_ops.mixed")
    for given in (text, text.replace("tests.mxnet.test_op", "imported_ops")):
        with pytest.raises(mx.base.MXNetError) as caught:
            sym.load_json(given)
        assert "'imported_ops.mixed' is not registered, and " in str(caught.value)
        assert " is imported\n" in str(caught.value) and mixed.name in str(caught.value)
