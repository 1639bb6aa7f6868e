"""Parameters that are frozen, or have learning rates of their own, by patterns of their names."""

import json

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd
from train import Refused, callbacks, fit
from train.__main__ import main
from train.command_line import parse

RNG = np.random.default_rng(4)
Y = np.arange(60) % 3
X = (np.eye(3, 4)[Y] * 3 + RNG.normal(size=(60, 4))).astype("float32")
ENTROPY = gluon.loss.SoftmaxCrossEntropyLoss()
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2}
NAMES = ["features.0.bias", "features.0.weight", "output.bias", "output.weight"]


class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = gluon.nn.HybridSequential()
            self.features.add(gluon.nn.Dense(5, activation="relu", in_units=4))
            self.output = gluon.nn.Dense(3, in_units=5)

    def hybrid_forward(self, F, x):
        return self.output(self.features(x))


def net(ctx=None):
    made = Net()
    mx.random.seed(3)
    made.initialize(mx.init.Xavier(), ctx=ctx)
    return made


def arrays(made):
    return {
        name: p.list_data()[0].asnumpy() for name, p in made._collect_params_with_prefix().items()
    }


def one_step(rates):
    """The parameters after a step of gradient descent with a rate for each."""
    made, found = net(), {}
    with autograd.record():
        loss = ENTROPY(made(nd.array(X)), nd.array(Y)).mean()
    loss.backward()
    for name, p in made._collect_params_with_prefix().items():
        found[name] = (p.data() - rates[name] * p.grad()).asnumpy()
    return found


MODES = [
    {},
    {"hybridize": "recorded"},
    {"accumulate": 3, "batch_size": 20},
    {"ctx": [mx.cpu(0), mx.cpu(1)]},
    {"clip": 1e6},
    pytest.param({"hybridize": "compiled"}, marks=[pytest.mark.engine("torch"), pytest.mark.slow]),
    pytest.param({"hybridize": "step"}, marks=pytest.mark.engine("torch")),
    pytest.param({"precision": "bfloat16"}, marks=pytest.mark.engine("torch")),
]


@pytest.mark.parametrize("how", MODES, ids=str)
def test_one_step(how):
    made = net(how.get("ctx"))
    rates = {"*": 0.1, "output.*": 0.5, "output.bias": 0.2}
    how = {"optimizer": "sgd", "optimizer_params": {"momentum": 0}, "batch_size": 60} | how
    fit(made, (X, Y), ENTROPY, freeze=["features.*.bias"], learning_rate=rates, **how)
    expected = one_step(dict(zip(NAMES, (0, 0.1, 0.2, 0.5))))
    tolerance = TOLERANCE[how.get("precision", "float32")]
    for name, array in arrays(made).items():
        np.testing.assert_allclose(array, expected[name], rtol=0, atol=tolerance, err_msg=name)
    parameters = made.collect_params().values()
    assert {(p.grad_req, p.lr_mult) for p in parameters} == {("write", 1.0)}


def test_a_schedule_changes_all_rates_alike():
    """At the end of half a cosine both are 0; in the middle both are half."""
    made, before = net(), arrays(net())
    how = {"optimizer": "sgd", "optimizer_params": {"momentum": 0}, "batch_size": 60}
    schedule = callbacks.Schedule("step", every=1, factor=1e-9)
    fit(
        made, (X, Y), ENTROPY, epochs=3, learning_rate={"*": 1e-9, "output.*": 0.5},
        callbacks=[schedule], **how,
    )  # fmt: skip
    expected = one_step(dict(zip(NAMES, (0, 0, 0.5, 0.5))))
    for name, array in arrays(made).items():
        np.testing.assert_allclose(array, expected[name], rtol=0, atol=1e-5)
    assert any((array != before[name]).any() for name, array in arrays(made).items())


def test_a_net_whose_shapes_are_not_known_yet():
    made = gluon.nn.HybridSequential()
    made.add(gluon.nn.Dense(4), gluon.nn.Dense(3))
    made.initialize()
    fit(made, (X, Y), ENTROPY, freeze=["0.*"])
    assert {p.grad_req for p in made.collect_params().values()} == {"write"}


def test_a_training_that_is_resumed(tmp_path):
    def run(epochs, *more, **how):
        made = net()
        fit(made, (X, Y), ENTROPY, epochs=epochs, callbacks=[*more], **how)
        return arrays(made)

    how = {"freeze": ["output.*"], "learning_rate": {"*.bias": 0.1}}
    expected = run(3, **how)
    run(2, callbacks.Checkpoint(tmp_path), **how)
    found = run(3, resume=tmp_path, **how)
    for name in NAMES:
        np.testing.assert_array_equal(found[name], expected[name])
    for other in ({"freeze": ["output.*"]}, how | {"freeze": ["features.*"]}, {}):
        with pytest.raises(Refused, match="its (freeze|learning_rates) is "):
            run(3, resume=tmp_path, **other)


THERE = "expected a pattern of some of features.0.weight, features.0.bias, output.w"


@pytest.mark.parametrize(
    "how, reason",
    [
        ({"freeze": ["feature.*"]}, f"freeze: no parameter's name matches 'feature.*'; {THERE}"),
        ({"learning_rate": {"dense": 1}}, "learning_rate: no parameter's name matches 'dense'; "),
        ({"freeze": ["*"]}, "net: nothing is learned: all of its 4 parameters are frozen"),
        ({"freeze": 3}, "freeze: expected patterns of parameters' names, such as features.*, not"),
        ({"learning_rate": {"*": 0}}, "learning_rate: expected a number above 0"),
        ({"learning_rate": {3: 0.1}}, "learning_rate: expected a number above 0"),
        (
            {"learning_rate": {"*": 0.1}, "optimizer": mx.optimizer.SGD()},
            "learning_rate: expected None beside optimizer",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_refused(how, reason):
    made = net()
    with pytest.raises(Refused) as refused:
        fit(made, (X, Y), ENTROPY, **how)
    assert str(refused.value).startswith(reason)
    assert {p.grad_req for p in made.collect_params().values()} == {"write"}


def test_rates_beside_those_of_an_optimizer_that_is_made():
    made, optimizer = net(), mx.optimizer.SGD(learning_rate=0.1)
    rates = {"output.*": 0.5}
    fit(made, (X, Y), ENTROPY, optimizer=optimizer, learning_rate=rates, batch_size=60)
    expected = one_step(dict(zip(NAMES, (0.1, 0.1, 0.5, 0.5))))
    for name, array in arrays(made).items():
        np.testing.assert_allclose(array, expected[name], rtol=0, atol=1e-5)


def test_the_program(tmp_path, capsys):
    out = tmp_path / "out"
    argv = ["--hidden", "8", "--epochs", "1", "--out", str(out), "--net", "conv", "--units", "4"]
    argv = [*argv[2:], "--freeze", "0.*,4.weight", "--lr", "0.01", "--lr", "3.*=0.1"]
    assert main(argv) == 2
    assert "--lr: no parameter's name matches '3.*'; expected a pattern of some of 0.weight, " in (
        capsys.readouterr().err
    )
    argv[-1] = "1?.*=0.1"
    assert main([*argv, "--overwrite"]) == 0
    assert "\nfrozen: 0.weight" in capsys.readouterr().out
    options = json.loads((out / "config.json").read_text())["options"]
    assert options["lr"] == {"*": 0.01, "1?.*": 0.1} and options["freeze"] == ["0.*", "4.weight"]
    again = tmp_path / "again"
    assert main(["--config", str(out / "config.json"), "--out", str(again)]) == 0
    for name in ("history.csv", "model.params"):
        assert (out / name).read_bytes() == (again / name).read_bytes()
    with pytest.raises(Refused, match="--lr fc1.*: Module has one learning rate"):
        parse(["--lr", "fc1*=0.1"], "train.module")
