"""Training by gradients of reduced variance: SVRGModule, and the optimizers beside it."""

from importlib import import_module

import numpy as np
import pytest

SETTINGS = {
    "sgd": {"learning_rate": 0.05},
    "momentum": {"learning_rate": 0.05, "momentum": 0.9, "wd": 0.01},
    "adam": {"learning_rate": 0.05},
}


def svrg(mx, name):
    return import_module(f"{mx.__name__}.contrib.svrg_optimization.{name}")


def data_of(mx, **settings):
    """Three numbers of which a fourth is a linear function, in batches of 16 of 50."""
    x = np.random.RandomState(0).randn(50, 3).astype("float32")
    y = x @ np.float32([1, -2, 0.5]) + 0.3
    return mx.io.NDArrayIter(x, y, 16, label_name="line_label", **settings)


def line(mx):
    y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(y, mx.sym.var("line_label"))


def module(mx, **settings):
    made = svrg(mx, "svrg_module").SVRGModule(
        line(mx), label_names=["line_label"], **{"update_freq": 2} | settings
    )
    data = data_of(mx)
    made.bind(data.provide_data, data.provide_label)
    made.init_params(mx.init.Constant(0.1))
    made.init_optimizer("local", "sgd", {"learning_rate": 0.1})
    return made, data


def weights(module):
    arrays, _ = module.get_params()
    return [round(float(v), 4) for n in ("fc_weight", "fc_bias") for v in arrays[n].asnumpy().flat]


FITTED = {  # as MXNet has them after one epoch
    "sgd": [0.3462, -0.3746, 0.1496, 0.0189],
    "momentum": [0.655, -0.9697, 0.2089, 0.0448],
    "adam": [0.299, -0.0999, 0.2937, 0.1434],
}


@pytest.mark.parametrize("name", SETTINGS)
def test_an_svrg_module_fits(mx, name):
    kind = svrg(mx, "svrg_module").SVRGModule
    made = kind(line(mx), label_names=["line_label"], update_freq=1)
    optimizer = "adam" if name == "adam" else "sgd"
    made.fit(
        data_of(mx),
        eval_metric="mse",
        optimizer=optimizer,
        optimizer_params=SETTINGS[name],
        initializer=mx.init.Constant(0.1),
        num_epoch=1,
    )
    np.testing.assert_allclose(weights(made), FITTED[name], atol=2e-4)


def test_the_steps_of_an_svrg_module(mx):
    """The numbers are MXNet's: g(w) - g(w0) + the mean of g(w0), by hand."""
    made, data = module(mx)
    made.update_full_grads(data)
    data.reset()
    for batch in data:
        made.forward_backward(batch)
        made.update()
    np.testing.assert_allclose(weights(made), [0.5527, -0.7832, 0.2015, 0.0343], atol=2e-4)


def test_the_mean_gradient_of_an_svrg_module(mx):
    made, data = module(mx)
    made.update_full_grads(data)
    data.reset()
    sums, parts = 0, 0
    for batch in data:
        made.forward(batch, is_train=True)
        made.backward()
        sums = sums + made._exec_group.grad_arrays[0][0].asnumpy()
        parts += 1 - batch.pad / 16
    mean = made._param_dict[0]["fc_weight"].asnumpy()
    np.testing.assert_allclose(mean, sums / parts, rtol=1e-5)


@pytest.mark.engine("torch")
def test_the_mean_gradient_is_computed_anew(mx):
    """MXNet adds it to what the last call has left."""
    made, data = module(mx)
    made.update_full_grads(data)
    first = made._param_dict[0]["fc_weight"].asnumpy()
    made.update_full_grads(data)
    assert np.array_equal(made._param_dict[0]["fc_weight"].asnumpy(), first)


@pytest.mark.engine("torch")
def test_an_svrg_module_on_two_contexts_is_that_on_one(mx):
    found = []
    for context in (mx.cpu(), [mx.cpu(0), mx.cpu(1)]):
        kind = svrg(mx, "svrg_module").SVRGModule
        made = kind(line(mx), label_names=["line_label"], context=context, update_freq=2)
        options = {"initializer": mx.init.Constant(0.1), "num_epoch": 3, "eval_metric": "mse"}
        made.fit(data_of(mx), optimizer_params={"learning_rate": 0.05}, **options)
        found.append(weights(made))
    np.testing.assert_allclose(*found, rtol=1e-4)


@pytest.mark.engine("torch")
def test_an_svrg_module_without_full_gradients_is_a_module(mx):
    made, data = module(mx)
    plain = mx.mod.Module(line(mx), label_names=["line_label"])
    plain.bind(data.provide_data, data.provide_label)
    plain.init_params(mx.init.Constant(0.1))
    plain.init_optimizer("local", "sgd", {"learning_rate": 0.1})
    batch = data.next()
    for one in (made, plain):
        one.forward_backward(batch)
        one.update()
    assert weights(made) == weights(plain)


def test_an_svrg_module_for_other_shapes(mx):
    made, _ = module(mx)
    made.reshape([("data", (8, 3))], [("line_label", (8,))])
    assert made._mod_aux.data_shapes[0].shape == made.data_shapes[0].shape == (8, 3)


@pytest.mark.parametrize("frequency, kind", [(0, ValueError), ("2", TypeError), (None, TypeError)])
def test_the_frequency_of_an_svrg_module(mx, frequency, kind):
    with pytest.raises(kind, match="update_freq"):
        module(mx, update_freq=frequency)


@pytest.mark.parametrize("index, after", [(0, [0.9, 0.8]), ("w", [0.9, 0.8]), (1, [1, 2])])
def test_the_optimizer_of_a_store_with_full_gradients(mx, index, after):
    kind = svrg(mx, "svrg_optimizer")._SVRGOptimizer
    names = {0: "w", 1: "w_full"}
    optimizer = kind(default_optimizer="sgd", learning_rate=0.1, param_idx2name=names)
    weight, gradient = mx.nd.ones(2), mx.nd.array([1, 2])
    optimizer.update(index, weight, gradient, optimizer.create_state(index, weight))
    np.testing.assert_allclose(weight.asnumpy(), after, rtol=1e-6)


@pytest.mark.engine("torch")
def test_a_weight_without_a_name_has_no_optimizer(mx):
    optimizer = svrg(mx, "svrg_optimizer")._SVRGOptimizer(mx.optimizer.SGD())
    with pytest.raises(ValueError, match="parameter 5 has no name"):
        optimizer.create_state(5, mx.nd.ones(2))
