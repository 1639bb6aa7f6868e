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
