"""What a monitor of a graph is shown: the outputs of all nodes, and in an Executor gradients."""

import cases  # noqa: F401 - fills CASES
import pytest
from case import CASES, function

# What operators of one input name it; of all others a monitor is shown `input0`.
NAMED = {
    "data": """Dropout L2Normalization LeakyReLU MakeLoss Pad Pooling SequenceMask SequenceLast
        SequenceReverse SliceChannel SwapAxis _contrib_BilinearResize2D _image_normalize
        _image_to_tensor _split_v2 depth_to_space diag log_softmax moments repeat reverse softmax
        space_to_depth squeeze tile all_finite GridGenerator LRN im2col col2im Pooling_v1 _histogram
        _contrib_quadratic _contrib_index_array _contrib_MultiBoxPrior
        _contrib_quantize_asym _contrib_quantize_v2 ravel_multi_index unravel_index""",
    "a": "cumsum",
    "indices": "one_hot",
    "A": """_linalg_det _linalg_extractdiag _linalg_extracttrian _linalg_gelqf _linalg_inverse
        _linalg_makediag _linalg_maketrian _linalg_potrf _linalg_potri _linalg_slogdet
        _linalg_sumlogdiag _linalg_syevd _linalg_syrk""",
    "lam": "_sample_exponential _sample_poisson",
    "arg0": "Concat UpSampling add_n stack Crop khatri_rao _rnn_param_concat",
    "array_0": "multi_sum_sq",
}
NAMED = {operator: name for name, operators in NAMED.items() for operator in operators.split()}
FUSED = {"_contrib_interleaved_matmul_selfatt_qk"}  # MXNet has them inside another node
ONE_INPUT = {
    c.operator: c
    for c in reversed(CASES.values())
    if len(c.inputs) == 1 and not c.ours and c.operator not in FUSED
}


def arrays_of(mx):
    return {
        "data": mx.nd.array([[0.05, 0.1]]),
        "fc_weight": mx.nd.array([[0.15, 0.2], [0.25, 0.3]]),
        "fc_bias": mx.nd.array([0.35, 0.35]),
        "y_label": mx.nd.array([[0.01, 0.99]]),
    }


@pytest.fixture
def graph(mx):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.LinearRegressionOutput(
        mx.sym.Activation(x, act_type="tanh", name="act"), name="y"
    )


def test_an_executor_shows_gradients(mx, graph):
    arrays = arrays_of(mx)
    requests = {"data": "null", "y_label": "null", "fc_weight": "write", "fc_bias": "write"}
    grads = {name: mx.nd.zeros(x.shape) for name, x in arrays.items() if "fc" in name}
    bound = graph.bind(mx.cpu(), arrays, grads, requests)
    shown = {}
    monitor = mx.mon.Monitor(1, stat_func=lambda x: x.copy())
    monitor.install(bound)
    monitor.tic()
    bound.forward(is_train=True)
    bound.backward()
    shown = {name: x.asnumpy() for _, name, x in monitor.queue}
    assert [*shown] == [
        *("fc_output", "act_output", "y_output"),
        *("y_backward_output0", "y_backward_output1", "act_backward_output"),
        *("fc_backward_output0", "fc_backward_output1", "fc_backward_output2"),
    ]
    assert (shown["fc_backward_output1"] == bound.grad_dict["fc_weight"].asnumpy()).all()
    dy = shown["y_output"] - arrays["y_label"].asnumpy()
    assert shown["y_backward_output0"] == pytest.approx(dy / 2)


@pytest.mark.parametrize("name", ONE_INPUT)
def test_an_input_without_a_name_is_shown_with_its_number(mx, name):
    case = ONE_INPUT[name]
    symbol = function(mx.sym, name)(mx.sym.var("x"), name="n", **case.attributes)
    [value] = case.values()
    bound = symbol.bind(mx.cpu(), {"x": mx.nd.array(value, dtype=value.dtype)}, grad_req="null")
    shown = []
    bound.set_monitor_callback(lambda name, _: shown.append(name.decode()), monitor_all=True)
    bound.forward()
    assert shown[:2] == ["x", f"n_{NAMED.get(name, 'input0')}"]


@pytest.mark.parametrize(
    "name, number, shown",
    [("amp_multicast", "num_outputs", "data_0"), ("multi_all_finite", "num_arrays", "array_0")],
)
def test_one_input_of_any_number(mx, name, number, shown):
    symbol = getattr(mx.sym, name)(mx.sym.var("x"), name="n", **{number: 1})
    bound = symbol.bind(mx.cpu(), {"x": mx.nd.ones((2,))}, grad_req="null")
    names = []
    bound.set_monitor_callback(lambda name, _: names.append(name.decode()), monitor_all=True)
    bound.forward()
    mx.nd.waitall()
    assert names == ["x", f"n_{shown}", "n_output"]


@pytest.mark.engine("torch")  # MXNet's passes numbers for arrays
@pytest.mark.parametrize("everything", [False, True])
def test_a_block_shows_what_its_graph_computes(mx, everything):
    net = mx.gluon.nn.HybridSequential(prefix="n_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.Activation("relu"))
    net.initialize()
    net.hybridize()
    shown = []
    net.register_op_hook(lambda *row: shown.append(row), everything)
    x = mx.nd.ones((2, 3))
    with mx.autograd.record():
        y = net(x)
    y.backward()
    named = [(name.decode(), operator.decode()) for name, operator, _ in shown]
    outputs = [("n_dense0_fwd_output", "FullyConnected"), ("n_relu0_fwd_output", "Activation")]
    assert [row for row in named if row[0].endswith("output")] == outputs
    assert (("n_dense0_fwd_weight", "FullyConnected") in named) is everything
    assert (shown[-1][2].asnumpy() == y.asnumpy()).all()
    assert net[0].weight.grad().shape == (2, 3)


@pytest.mark.engine("torch")
def test_a_block_that_is_no_graph_passes_the_hook_on(mx):
    net = mx.gluon.nn.Sequential()
    net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.Lambda("relu"))
    net.initialize()
    net[0].hybridize()
    shown = []
    net.register_op_hook(lambda name, *_: shown.append(name))
    net(mx.nd.ones((2, 3)))
    assert shown == [f"{net[0].name}_fwd_output".encode()]


@pytest.mark.engine("torch")
def test_an_executor_without_its_monitor_again(mx, graph):
    bound = graph.simple_bind(mx.cpu(), data=(1, 2), y_label=(1, 2))
    shown = []
    bound.set_monitor_callback(lambda name, x: shown.append(name))
    bound.forward(is_train=True)
    bound.set_monitor_callback(None)
    bound.forward(is_train=True)
    bound.backward()
    assert shown == [b"fc_output", b"act_output", b"y_output"]
