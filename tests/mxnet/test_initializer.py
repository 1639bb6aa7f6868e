"""Initializers: what they fill, which of them a name chooses, JSON, and how numbers are spread."""

import json
import logging
import warnings

import numpy as np
import pytest

from layers.engine import mx, nd

init = mx.init


def filled(initializer, shape=(4, 3), name="fc_weight", value=7.0, **attrs):
    array = nd.full(shape, value)
    initializer(init.InitDesc(name, attrs), array)
    return array.asnumpy()


@pytest.mark.parametrize(
    "end, value",
    [("weight", 5), ("bias", 0), ("gamma", 1), ("beta", 0), ("running_min", 0), ("moving_max", 1)],
)
def test_the_name_says_what(end, value):
    assert (filled(init.Constant(5), name=f"layer0_{end}") == value).all()


@pytest.mark.parametrize("name", ["foo", "bn_moving_mean", "weight_scale", "h_Weight"])
def test_a_name_that_says_nothing(name):
    with pytest.raises(ValueError, match=name):
        filled(init.One(), name=name)


@pytest.mark.parametrize(
    "name, value",
    [
        ("fc_weight", 5),
        ("bn_moving_mean", 0),
        ("bn_moving_var", 1),
        ("bn_moving_inv_var", 0),
        ("bn_moving_avg", 0),
        ("stn_loc_weight", 0),
    ],
)
def test_a_plain_name(name, value):
    array = nd.full((2, 2), 7)
    with pytest.warns(DeprecationWarning):
        init.Constant(5)(name, array)
    assert (array.asnumpy() == value).all()


def test_a_transformers_bias_is_the_identity():
    array = nd.zeros((6,))
    with pytest.warns(DeprecationWarning):
        init.Zero()("stn_loc_bias", array)
    assert array.asnumpy().tolist() == [1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    "own", ["ones", '["constant", {"value": 1}]', init.One()], ids=["name", "JSON", "Initializer"]
)
def test_an_attribute_goes_first(own):
    assert (filled(init.Zero(), name="foo", __init__=own) == 1).all()


def test_a_subclass_decides():
    class Mine(init.Initializer):
        def _init_weight(self, name, arr):
            arr[:] = 3

        def _init_default(self, name, arr):
            arr[:] = 4

    assert (filled(Mine()) == 3).all()
    assert (filled(Mine(), name="foo") == 4).all()


def test_the_base_fills_no_weight():
    with pytest.raises(NotImplementedError):
        filled(init.Initializer())


@pytest.mark.parametrize(
    "value", [2.5, np.arange(3.0), nd.array([0, 1, 2])], ids=lambda v: type(v).__name__
)
def test_constant(value):
    found = filled(init.Constant(value), shape=(3,))
    expected = value.asnumpy() if isinstance(value, nd.NDArray) else value
    np.testing.assert_array_equal(found, np.broadcast_to(expected, (3,)))


@pytest.mark.parametrize(
    "name, json",
    [
        ("xavier", '["xavier", {"rnd_type": "uniform", "factor_type": "avg", "magnitude": 3}]'),
        ("normal", '["normal", {"sigma": 0.01}]'),
        ("zeros", '["zero", {}]'),
        ("ones", '["one", {}]'),
        ("msraprelu", '["msraprelu", {"factor_type": "avg", "slope": 0.25}]'),
    ],
)
def test_json(name, json):
    made = init.create(name)
    assert made.dumps() == json
    assert init.create(json) == made


def test_create_in_all_ways():
    expected = init.Normal(3)
    assert init.create("normal", 3) == expected
    assert init.create("Normal", sigma=3) == expected
    assert init.create({"initializer": "normal", "sigma": 3}) == expected
    assert init.create('{"initializer": "normal", "sigma": 3}') == expected
    assert init.create(initializer="normal", sigma=3) == expected
    assert init.create(expected) is expected
    assert init.Constant(nd.array([1, 2])).dumps() == '["constant", {"value": [1.0, 2.0]}]'


@pytest.mark.parametrize("name", ["nope", None, 3])
@pytest.mark.engine("torch")
def test_create_what_is_not_there(name):
    with pytest.raises(ValueError, match="initializer"):
        init.create(name)


def test_register():
    @init.register
    class Seven(init.Initializer):
        def _init_weight(self, name, arr):
            arr[:] = 7

    assert (filled(init.create("seven"), value=0) == 7).all()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        init.register(type("Seven", (init.Initializer,), {}))
    assert "seven" in str(caught[0].message)


# Spread. The standard error of the deviation of n numbers is below its 1 / √n.


def spread(initializer, shape):
    mx.random.seed(1)
    values = filled(initializer, shape)
    assert abs(values.mean()) < 5 * values.std() / np.sqrt(values.size)
    return values.std(), np.abs(values).max()


def test_uniform():
    deviation, largest = spread(init.Uniform(0.5), (200, 100))
    assert deviation == pytest.approx(0.5 / np.sqrt(3), rel=0.03)
    assert 0.49 < largest <= 0.5


def test_normal():
    deviation, largest = spread(init.Normal(0.5), (200, 100))
    assert deviation == pytest.approx(0.5, rel=0.03)
    assert largest > 1.6


@pytest.mark.parametrize("shape", [(100, 200), (60, 50, 3, 3)], ids=str)
@pytest.mark.parametrize("factor", ["avg", "in", "out"])
@pytest.mark.parametrize("kind", ["uniform", "gaussian"])
def test_xavier(shape, factor, kind):
    size = np.prod(shape[2:], dtype=int)
    inputs, outputs = shape[1] * size, shape[0] * size
    scale = np.sqrt(2 / {"avg": (inputs + outputs) / 2, "in": inputs, "out": outputs}[factor])
    deviation, largest = spread(init.Xavier(kind, factor, 2), shape)
    if kind == "gaussian":
        assert deviation == pytest.approx(scale, rel=0.03)
    else:
        assert deviation == pytest.approx(scale / np.sqrt(3), rel=0.03)
        assert largest == pytest.approx(scale, rel=0.01)


def test_msra():
    deviation, _ = spread(init.MSRAPrelu("in", 0.5), (100, 200))
    assert deviation == pytest.approx(np.sqrt(2 / 1.25 / 200), rel=0.03)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("shape", [(3, 2, 2), (5, 2)], ids=str)
def test_orthogonal(shape, kind):
    matrix = filled(init.Orthogonal(2, kind), shape).reshape(shape[0], -1)
    matrix = matrix if len(matrix) <= len(matrix.T) else matrix.T
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(len(matrix)), atol=1e-5)


@pytest.mark.parametrize("make", [init.Xavier, init.Normal, init.Uniform, init.Orthogonal])
def test_the_same_seed_gives_the_same(make):
    draws = []
    for seed in (3, 3, 4):
        mx.random.seed(seed)
        np.random.seed(seed)  # Orthogonal's on MXNet
        draws.append(filled(make(), (8, 8)))
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


def test_bilinear():
    found = filled(init.Bilinear(), (2, 1, 4, 4))
    side = np.array([0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(found, np.broadcast_to(np.outer(side, side), (2, 1, 4, 4)))


def test_bilinear_that_is_not_square():
    found = filled(init.Bilinear(), (1, 1, 5, 4))[0, 0]
    np.testing.assert_allclose(found[4], [-0.0625, -0.1875, -0.1875, -0.0625])


def test_lstm_bias():
    found = filled(init.Zero(), (8,), "lstm_bias", __init__=init.LSTMBias(2.0))
    assert found.tolist() == [0, 0, 2, 2, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "initializer", [init.Xavier(), init.MSRAPrelu()], ids=lambda i: type(i).__name__
)
def test_a_vector_has_no_fans(initializer):
    with pytest.raises(ValueError, match="fc_weight"):
        filled(initializer, (4,))


@pytest.mark.parametrize("settings", [{"factor_type": "x"}, {"rnd_type": "x"}], ids=str)
def test_xavier_refuses(settings):
    with pytest.raises(ValueError, match=r"\w"):
        filled(init.Xavier(**settings))


def test_mixed():
    mixed = init.Mixed([".*bias", ".*"], [init.Zero(), init.One()])
    for name, value in (("a_bias", 0), ("a_weight", 1)):
        assert (filled(mixed, name=name) == value).all()
    with pytest.raises(ValueError, match="pattern"):
        filled(init.Mixed(["bias"], [init.Zero()]))


def test_load(tmp_path):
    file = str(tmp_path / "a.params")
    nd.save(file, {"arg:fc_weight": nd.ones((4, 3)), "aux:mean": nd.zeros(3)})
    load = init.Load(file, default_init=init.Constant(5))
    assert (filled(load) == 1).all()
    assert (filled(load, name="other_weight") == 5).all()


@pytest.mark.engine("torch")
def test_load_refuses():
    load = init.Load({"fc_weight": nd.ones((2,))})
    with pytest.raises(ValueError, match=r"fc_weight.*\(2,\)(.|\n)*\(4, 3\)"):
        filled(load)
    with pytest.raises(ValueError, match="a_bias"):
        filled(load, name="a_bias")


def test_verbosity(caplog):
    with caplog.at_level("INFO"):
        filled(init.One().set_verbosity(True, lambda array: "hello"))
        filled(init.One().set_verbosity(True), (2, 2))
        filled(init.One())
    assert [record.message.split(": ")[1] for record in caplog.records] == ["hello", "1.0"]
    assert "fc_weight" in caplog.text


# MXNet looks for an initializer of its own where there is none.
own_for_torch = pytest.param(True, id="own", marks=pytest.mark.engine("torch"))


@pytest.mark.parametrize("own", [pytest.param(False, id="asked"), own_for_torch])
@pytest.mark.parametrize("mode, gates", [("rnn_relu", 1), ("gru", 3), ("lstm", 4)])
def test_fused_rnn(mode, gates, own):
    chosen = init.Constant(3) if own else None
    fused = init.FusedRNN(chosen, 2, 2, mode, bidirectional=True, forget_bias=5)
    weights = 2 * 2 * gates * ((3 + 2) + (4 + 2))
    found = filled(init.One(), (weights + 16 * gates,), "rnn_parameters", __init__=fused.dumps())
    assert (found[:weights] == (3 if own else 1)).all()
    biases = found[weights:].reshape(8, gates, 2)
    forget = np.arange(gates) == 1 if mode == "lstm" else np.zeros(gates, bool)
    assert (biases[:, forget] == 5).all() and (biases[:, ~forget] == 0).all()


@pytest.mark.engine("torch")
def test_fused_rnn_of_another_size():
    fused = init.FusedRNN("xavier", 2, 1, "gru")
    with pytest.raises(ValueError, match=r"'p' is \(17,\)\n  expected it for .*\"gru\""):
        filled(init.One(), (17,), "p", __init__=fused.dumps())


@pytest.mark.parametrize("value", [[1.0, 2.0], 3])
def test_the_arguments_of_a_constant_are_json(mx, value):
    for given in [mx.nd.array(value), np.array(value)] if isinstance(value, list) else [value]:
        constant = mx.init.Constant(given)
        assert constant.dumps() == json.dumps(["constant", {"value": value}])
        assert constant._kwargs == {"value": value}


def test_what_is_logged_of_a_verbose_initialize(caplog):
    caplog.set_level(logging.INFO)
    mx.gluon.nn.Dense(2, in_units=2).initialize(mx.init.One(), verbose=True)
    assert any(r.getMessage().startswith("Initialized dense") for r in caplog.records)
