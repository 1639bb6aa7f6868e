"""What a monitor of a graph is shown: the outputs of all nodes, and in an Executor gradients."""

import pytest


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
    named = [(name, operator) for name, operator, _ in shown]
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
    assert shown == [f"{net[0].name}_fwd_output"]


@pytest.mark.engine("torch")
def test_an_executor_without_its_monitor_again(mx, graph):
    bound = graph.simple_bind(mx.cpu(), data=(1, 2), y_label=(1, 2))
    shown = []
    bound.set_monitor_callback(lambda name, x: shown.append(name))
    bound.forward(is_train=True)
    bound.set_monitor_callback(None)
    bound.forward(is_train=True)
    bound.backward()
    assert shown == ["fc_output", "act_output", "y_output"]
