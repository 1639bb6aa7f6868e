"""BatchNorm and relu behind convolutions, in prediction by an Executor."""

import numpy as np
import pytest

CASES = {
    "norm and relu": ({"no_bias": True}, {"fix_gamma": False}, True),
    "bias": ({}, {"fix_gamma": False, "eps": 0.1}, True),
    "gamma of 1": ({}, {}, False),
    "relu alone": ({}, None, True),
    "groups": ({"num_group": 2, "stride": (2, 2), "pad": (1, 0)}, {"fix_gamma": False}, True),
    "dilated": ({"dilate": (2, 1)}, {"fix_gamma": False, "use_global_stats": True}, True),
    "channels last": ({"layout": "NHWC"}, {"axis": 3}, True),
    "another axis": ({}, {"axis": 2}, True),
}
FOLDED = [name for name in CASES if name not in ("channels last", "another axis")]


def chain(mx, x, name, convolution, norm, relu):
    x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=4, name=f"c{name}", **convolution)
    x = x if norm is None else mx.sym.BatchNorm(x, name=f"n{name}", **norm)
    return mx.sym.Activation(x, act_type="relu", name=f"r{name}") if relu else x


def bound(mx, symbol, shape=(2, 4, 9, 10), dtype="float32"):
    executor = symbol.simple_bind(mx.cpu(), x=shape, type_dict={"x": dtype})
    random = np.random.RandomState(0)
    for name, array in [*executor.arg_dict.items(), *executor.aux_dict.items()]:
        spread = random.rand(*array.shape) + 0.5 if "var" in name else random.randn(*array.shape)
        array[:] = mx.nd.array(spread, dtype=array.dtype)
    return executor


def check(executor, again=2, rtol=1e-4):
    """Prediction, also where it is folded, is what the nodes one by one compute."""
    executor.set_monitor_callback(lambda name, array: None)
    expected = [y.asnumpy() for y in executor.forward()]
    executor.set_monitor_callback(None)
    for _ in range(again):
        for y, value in zip(executor.forward(), expected):
            np.testing.assert_allclose(y.asnumpy(), value, rtol, 1e-5)


def names(executor):
    return [node.op.name for node in executor._program_to_predict().nodes]


@pytest.mark.engine("torch")
@pytest.mark.parametrize("name", CASES)
def test_values(mx, name):
    shape = (2, 9, 10, 4) if name == "channels last" else (2, 4, 9, 10)
    executor = bound(mx, chain(mx, mx.sym.var("x"), "", *CASES[name]), shape)
    assert (len(names(executor)) == 1) == (name in FOLDED)
    check(executor)


@pytest.mark.engine("torch")
def test_what_is_written_is_seen(mx):
    executor = bound(mx, chain(mx, mx.sym.var("x"), "", *CASES["bias"]))
    check(executor)
    for array in [*executor.arg_dict.values(), *executor.aux_dict.values()]:
        array *= 1.5
        check(executor)
    executor.copy_params_from({"c_weight": mx.nd.ones((4, 4, 3, 3))})
    check(executor)
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 4, 7, 8)))
    check(executor)
    executor = executor.reshape(x=(1, 4, 8, 8), partial_shaping=True)
    check(executor)


@pytest.mark.engine("torch")
def test_what_others_use_stays(mx):
    x = chain(mx, mx.sym.var("x"), "0", {}, {}, False)
    inner = mx.sym.slice(x, begin=(None, None, 2, 2), end=(None,) * 4)
    twice = chain(mx, x, "1", {}, {}, True) + mx.sym.Activation(inner, act_type="relu")
    both = mx.sym.Group([mx.sym.exp(twice), twice.get_internals()["n1_output"]])
    executor = bound(mx, both)
    assert names(executor).count("BatchNorm") == 0 and "Activation" in names(executor)
    check(executor)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_dtypes(mx, dtype):
    executor = bound(mx, chain(mx, mx.sym.var("x"), "", {}, None, True), dtype=dtype)
    check(executor)
    assert executor.outputs[0].dtype == np.dtype(dtype)


@pytest.mark.engine("torch")
def test_mxnets_switch(mx, monkeypatch):
    monkeypatch.setenv("MXNET_SUBGRAPH_BACKEND", "NONE")
    executor = bound(mx, chain(mx, mx.sym.var("x"), "", *CASES["bias"]))
    assert names(executor) == ["Convolution", "BatchNorm", "Activation"]


@pytest.mark.engine("torch")
def test_beside_a_custom_operator(mx):
    class Twice(mx.operator.CustomOp):
        made = 0

        def __init__(self):
            Twice.made += 1

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("twice_beside_a_folded_convolution")
    class _(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Twice()

    x = chain(mx, mx.sym.var("x"), "", *CASES["bias"])
    executor = bound(mx, mx.sym.Custom(x, op_type="twice_beside_a_folded_convolution"))
    check(executor)
    made = Twice.made
    check(executor)
    assert Twice.made == made  # one is kept from call to call


def test_a_module(mx):
    """As MXNet, whose fold is on where it has oneDNN."""
    symbol = chain(mx, mx.sym.var("data"), "", *CASES["norm and relu"])
    module = mx.mod.Module(symbol, label_names=None)
    module.bind([("data", (1, 3, 8, 8))], for_training=False)
    module.init_params(mx.init.One())
    batch = mx.io.DataBatch([mx.nd.ones((1, 3, 8, 8))], None)
    for _ in range(3):
        module.forward(batch, is_train=False)
        np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), 27 / np.sqrt(1.001), 1e-5)
