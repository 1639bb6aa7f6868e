"""Errors that have the types of MXNet's, by which programs and their tests catch them."""

import pytest

OF_MXNETS_TYPE = {
    "mx.mod.Module(mx.sym.var('data') + 1, label_names=None).forward(None)": AssertionError,
    "mx.mod.Module(mx.sym.var('data') + 1, label_names=None).get_params()": AssertionError,
    "mx.mod.Module(mx.sym.var('data') + 1, label_names=None).output_shapes": AssertionError,
    "mx.gluon.rnn.GRUCell(2).unroll(3, [mx.sym.var('a'), mx.sym.var('b')])": AssertionError,
    "mx.gluon.rnn.ResidualCell(mx.gluon.rnn.GRUCell(2)).base_cell.begin_state(1)": AssertionError,
    "mx.gluon.data.ArrayDataset([1, 2], [1, 2, 3])": AssertionError,
    "mx.autograd.grad(mx.nd.ones(1), 3)": TypeError,
    "mx.sym.var('x', attr={'a': 1})": ValueError,
    "mx.sym.exp(mx.sym.var('x')).infer_shape((2,), x=(2,))": ValueError,
    "mx.sym.exp(mx.sym.var('x'))(mx.sym.var('y'), x=mx.sym.var('y'))": TypeError,
    "mx.sym.load(3)": TypeError,
    "mx.nd.ones((2,))['a']": ValueError,
    "mx.nd.save('x', 3)": ValueError,
    "mx.io.DataIter().next()": StopIteration,
    "mx.gluon.data.vision.transforms.CenterCrop(2)(mx.nd.ones((2, 4, 4, 3)))": ValueError,
}


@pytest.mark.parametrize("program", OF_MXNETS_TYPE)
def test_the_type_of_an_error_is_mxnets(mx, program):
    with pytest.raises(OF_MXNETS_TYPE[program]):
        eval(program)


def test_a_trainer_of_parameters_on_several_contexts(mx):
    parameters = [mx.gluon.Parameter(name, shape=(1,)) for name in "xy"]
    for i, parameter in enumerate(parameters):
        parameter.initialize(ctx=mx.cpu(i))
    with pytest.raises(AssertionError):
        mx.gluon.Trainer(parameters, "sgd").step(1)
