"""Clipping, accumulation, 16 bits, averaging and schedules: what a step computes with them."""

from contextlib import nullcontext

import numpy as np
import pytest

from layers import nets
from layers.engine import gluon, mx, nd
from train import Diverged, Refused, fit, module
from train.__main__ import main
from train.averaging import Average
from train.checkpoint import Checkpoint
from train.command_line import parse
from train.data import Data
from train.description import DATA
from train.learner import Learner, loss_of
from train.optimizers import check_arguments, names, settings_of
from train.scaling import with_scaling
from train.schedules import Schedule, schedule
from train.state import Callback, Meter
from train.task import Task

MODES = ["none", "recorded"]
N = 24
CONFIG = {"data": dict.fromkeys(DATA), "network": {"outputs": "scores"}}


def points(n=N, classes=3):
    rng = np.random.default_rng(5)
    y = np.arange(n) % classes
    x = (np.eye(classes, 4)[y] * 3 + rng.normal(size=(n, 4))).astype("float32")
    ones = np.ones((1, 1), "float32")
    return Data(
        x,
        y.astype("float32"),
        x[:6],
        y[:6].astype("float32"),
        Task(("a", "b", "c")),
        (4,),
        0 * ones,
        ones,
    )


def learner(ctx=None, mode="none", optimizer="sgd", lr=0.1, **options):
    mx.random.seed(0)
    data, ctx = points(), ctx or [mx.cpu()]
    net = with_scaling(nets.mlp(4, (8,), 3, activation="tanh"), data)
    net.initialize(ctx=ctx)
    trainer = gluon.Trainer(
        net.collect_params(), optimizer, {"learning_rate": lr}, update_on_kvstore=False
    )
    return Learner(net, loss_of(data.task), trainer, ctx, mode, 4, casts=True, **options)


def learned(subject, steps=3):
    data, meter = points(), Meter("")
    for _ in range(steps):
        subject.learn(data.x, data.y, meter)
    meter.read()
    return weights(subject)


def weights(subject):
    return [p.list_data()[0].astype("float32").asnumpy() for p in subject.learned]


def close(found, expected, tolerance=1e-6):
    for w, v in zip(found, expected, strict=True):
        np.testing.assert_allclose(w, v, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode, parts", [("none", 2), ("none", 5), ("recorded", 3)])
def test_accumulation_is_one_big_batch(mode, parts):
    close(
        learned(learner(mode=mode, accumulate=parts, optimizer="adam")),
        learned(learner(optimizer="adam")),
        1e-5,
    )


def test_accumulation_over_contexts():
    ctx = [mx.cpu(0), mx.cpu(1)]
    close(learned(learner(ctx, accumulate=3, clip=0.1)), learned(learner(clip=0.1)), 1e-5)


@pytest.mark.parametrize("mode", MODES)
def test_clipping_is_by_the_norm_of_all(mode):
    free, clipped = (learner(mode=mode, clip=clip) for clip in (None, 0.05))
    before = weights(free)
    steps = [
        np.concatenate([(w - v).ravel() for w, v in zip(learned(each, 1), before)])
        for each in (free, clipped)
    ]
    assert np.linalg.norm(steps[0]) > 0.1 * 0.05
    assert np.linalg.norm(steps[1]) == pytest.approx(0.1 * 0.05, rel=1e-4)
    np.testing.assert_allclose(
        steps[1] * np.linalg.norm(steps[0]), steps[0] * np.linalg.norm(steps[1]), atol=1e-7
    )
    close(learned(learner(mode=mode, clip=1e6)), learned(learner()), 1e-5)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("mode", [*MODES, pytest.param("step", marks=pytest.mark.slow)])
def test_bfloat16_learns_as_float32(mode, tmp_path):
    low, full = learner(mode=mode, precision="bfloat16"), learner()
    close(learned(low), learned(full), 0.02)
    assert str(low.learned[0].data()._tensor.dtype) == "torch.bfloat16"
    low.save(tmp_path, CONFIG)
    x = points().x
    exported = gluon.SymbolBlock.imports(
        str(tmp_path / "model-symbol.json"), ["data"], str(tmp_path / "model-0000.params")
    )
    y = exported(nd.array(x))
    assert y.dtype == np.float32
    np.testing.assert_allclose(y.asnumpy(), low.forward(nd.array(x)).asnumpy(), atol=0.05)
    learned(low, 1)  # it goes on
    low.finish()
    assert low.net(nd.array(x)).dtype == np.float32


@pytest.mark.engine("torch")
@pytest.mark.slow
def test_all_of_it_compiled():
    """Clipping, accumulation and averaging with a compiled net, as with one that is not."""
    found = []
    for mode in ("none", "compiled"):
        subject = learner(mode=mode, clip=0.05, accumulate=2)
        subject.average = Average(0.5)
        learned(subject)
        subject.use_average(True)
        found.append(weights(subject))
    close(*found, 1e-5)


@pytest.mark.engine("torch")
def test_float16_leaves_out_steps_that_overflow():
    """On a CPU, where it computes too, though slowly: no user has it there."""
    low, data = learner(precision="float16"), points()
    assert low.scale == 2**16
    meters = []
    for _ in range(30):
        meters.append(Meter(""))
        low.learn(data.x, data.y, meters[-1])
    losses = [meter.read()[0] for meter in meters]
    assert losses[0] == losses[1]  # 2¹⁶ is above what float16 has
    assert losses[-1] < losses[0] / 2 and 1 < low.scale < 2**16
    before = weights(low)
    low.learn(data.x * np.float32(np.inf), data.y, Meter(""))
    close(weights(low), before, 0)


@pytest.mark.engine("torch")
@pytest.mark.skipif(not mx.context.num_gpus(), reason="no GPU: float16 is refused on a CPU")
@pytest.mark.parametrize("mode", ["none", "recorded", "compiled"])
def test_float16_learns_on_a_gpu(mode):
    """As float32 does, once the factor of the loss is small enough."""
    data, losses = points(), []
    for precision in ("float16", "float32"):
        subject = learner([mx.gpu(0)], mode, precision=precision)
        learned(subject, 60)
        subject.learn(data.x, data.y, last := Meter(""))
        losses.append(last.read()[0])
        assert subject.scale == 1 or precision == "float16" and subject.scale < 2**16
    assert losses[0] == pytest.approx(losses[1], rel=0.3)


@pytest.mark.engine("torch")
def test_small_updates_are_not_lost_in_bfloat16():
    low, full = (learner(precision=p, lr=1e-4) for p in ("bfloat16", "float32"))
    before = weights(full)
    moved = [np.abs(w - v).max() for w, v in zip(learned(full, 60), before)]
    found = [np.abs(w - v).max() for w, v in zip(learned(low, 60), before)]
    assert max(found) > max(moved) / 2


@pytest.mark.engine("mxnet")
def test_precisions_that_mxnet_does_not_have():
    with pytest.raises(Refused, match="^precision bfloat16: this engine cannot compute in it"):
        fit(gluon.nn.Dense(3), (np.zeros((4, 2), "f"), np.zeros(4, "f")),
            gluon.loss.SoftmaxCrossEntropyLoss(), precision="bfloat16")  # fmt: skip


def test_float16_needs_a_gpu():
    with pytest.raises(Refused, match=r"^precision float16: needs a GPU \(ctx gpu\)"):
        fit(gluon.nn.Dense(3), (np.zeros((4, 2), "f"), np.zeros(4, "f")),
            gluon.loss.SoftmaxCrossEntropyLoss(), precision="float16")  # fmt: skip


def test_a_precision_that_there_is_not():
    with pytest.raises(Refused, match="^precision: expected one of float32, .*, not 'bf16'"):
        fit(gluon.nn.Dense(3), (np.zeros((4, 2), "f"), np.zeros(4, "f")),
            gluon.loss.SoftmaxCrossEntropyLoss(), precision="bf16")  # fmt: skip


@pytest.mark.parametrize("mode, decay", [("none", 0.0), ("none", 0.9), ("recorded", 0.5)])
def test_the_average_is_the_weighted_mean(mode, decay, tmp_path):
    subject, seen = learner(mode=mode), []
    subject.average = Average(decay)
    plain = learner()
    for t in range(1, 6):
        learned(subject, 1)
        seen.append(learned(plain, 1))
        if t in (2, 5):
            data, meter = points(), Meter("")
            subject.evaluate(data.held_out_x, data.held_out_y, meter)
            shares = decay ** np.arange(t)[::-1] if decay else np.eye(t)[-1]
            mean = [np.average(ws, axis=0, weights=shares) for ws in zip(*seen)]
            close(weights(subject), mean, 1e-5)
            subject.save(tmp_path, CONFIG)
            net = with_scaling(nets.mlp(4, (8,), 3, activation="tanh"), points())
            net.load_parameters(str(tmp_path / "model.params"))
            ws = [p.data().asnumpy() for p in net.collect_params().values() if p.grad_req != "null"]
            close(ws, mean, 1e-5)
    subject.use_average(False)
    close(weights(subject), seen[-1], 1e-5)


def test_the_average_is_resumed():
    straight, first, again = learner(), learner(), learner()
    for subject in (straight, first, again):
        subject.average = Average(0.8)
    learned(straight, 5)
    learned(first, 3)
    again.average.restore(first.average.state())
    for parameter, value in zip(again.learned, weights(first)):
        parameter.set_data(nd.array(value))
    learned(again, 2)
    close(weights(again), weights(straight), 1e-6)
    again.use_average(True)
    straight.use_average(True)
    close(weights(again), weights(straight), 1e-6)


def average_in_fit(net, average, rate=0.1, **how):
    """Train a net on the points."""
    x, y = points().x, points().y
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    how = {"callbacks": [average], "batch_size": 6, "optimizer": "sgd"} | how
    fit(net, (x, y), loss, learning_rate=rate, **how)
    return [p.data(p.list_ctx()[0]).asnumpy() for p in net.collect_params().values()]


def test_an_average_that_is_used_again(tmp_path):
    """It forgets the net before, also where the other training is a resumed one."""
    average = Average(0.9)
    average_in_fit(gluon.nn.Dense(3), average)
    found = average_in_fit(gluon.nn.Dense(3), average, rate=0.2)
    close(found, average_in_fit(gluon.nn.Dense(3), Average(0.9), rate=0.2), 0)
    how = {"callbacks": [average, Checkpoint(tmp_path)], "resume": tmp_path}
    average_in_fit(gluon.nn.Dense(3), average, rate=0.2, **how)
    found = average_in_fit(gluon.nn.Dense(3), average, rate=0.2, epochs=3, **how)
    close(found, average_in_fit(gluon.nn.Dense(3), Average(0.9), rate=0.2, epochs=3), 0)


def test_a_resumed_average_is_where_the_weights_are(tmp_path):
    for epochs in (1, 2):
        average, how = Average(0.9), {"ctx": mx.cpu(1), "resume": tmp_path, "epochs": epochs}
        callbacks = [average, Checkpoint(tmp_path)]
        average_in_fit(gluon.nn.Dense(3), average, callbacks=callbacks, **how)
        assert {mean.context for mean in average.means} == {mx.cpu(1)}


def test_what_an_average_cannot_be():
    for decay in (1, -0.1, "most"):
        with pytest.raises(
            Refused, match=f"^decay: expected .* below 1, not {decay!r}$"
        ) as refused:
            Average(decay)
        assert isinstance(refused.value, ValueError)


# Schedules


def rates(name, epochs=6, steps=10, warmup=0.0, **settings):
    rate = schedule(name, 0.4, epochs=epochs, steps=steps, warmup=warmup, settings=settings)
    return np.array([rate(update) for update in range(1, epochs * steps + 1)])


def test_schedules():
    t = np.arange(1, 61)
    np.testing.assert_allclose(rates("constant"), 0.4)
    np.testing.assert_allclose(rates("cosine"), 0.2 * (1 + np.cos(np.pi * t / 60)), atol=1e-9)
    np.testing.assert_allclose(rates("cosine", final=0.5)[-1], 0.2)
    np.testing.assert_allclose(rates("poly", power=1), 0.4 * (1 - t / 60), atol=1e-9)
    steps = np.where(t <= 20, 0.4, np.where(t <= 40, 0.04, 0.004))
    np.testing.assert_allclose(rates("step"), steps)
    np.testing.assert_allclose(rates("step", every=5, factor=0.5)[[49, 50]], [0.4, 0.2])


@pytest.mark.parametrize("name", ["constant", "step", "cosine", "poly"])
def test_warm_up(name):
    found = rates(name, warmup=1.5)
    np.testing.assert_allclose(found[:14], 0.4 * np.arange(1, 15) / 15)
    assert found.argmax() in (14, 15) and found.max() == pytest.approx(0.4)
    assert (np.diff(found[15:]) <= 1e-12).all()


@pytest.mark.parametrize(
    "name, warmup, settings, expected",
    [
        ("spiral", 0, {}, "name: expected one of constant, step, cosine, poly, not 'spiral'"),
        ("cosine", 0, {"every": 2}, "every: cosine has no such option; expected some of final"),
        ("step", 0, {"factor": 2}, "factor: expected a factor above 0, at most 1, not 2"),
        ("step", 0, {"every": "two"}, "every: expected a number of epochs above 0, not 'two'"),
        (["cosine"], 0, {}, r"name: expected one of constant, .*, not \['cosine'\]"),
        ("cosine", -1, {}, "warmup: expected a number from 0, not -1"),
        ("cosine", "long", {}, "warmup: expected a number from 0, not 'long'"),
    ],
)
def test_what_a_schedule_cannot_be(name, warmup, settings, expected):
    with pytest.raises(Refused, match=f"^{expected}"):
        Schedule(name, warmup, **settings)


def test_a_schedule_in_fit():
    x, y = points().x, points().y
    net, loss, rates = gluon.nn.Dense(3), gluon.loss.SoftmaxCrossEntropyLoss(), []

    class Watch(Callback):
        def after_step(self, run):
            rates.append(run.learner.trainer.learning_rate)

    how = {"epochs": 4, "batch_size": 6, "accumulate": 2}  # two steps of 12 in an epoch
    rate = {"optimizer": "sgd", "learning_rate": 0.6}
    fit(net, (x, y), loss, **how, **rate, callbacks=[Schedule("poly", 1, power=1), Watch()])
    assert rates == pytest.approx([0.3, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0], abs=1e-9)
    with pytest.raises(Refused, match="^warmup: expected 0 to below the 4 epochs, not 4"):
        fit(net, (x, y), loss, epochs=4, callbacks=[Schedule("poly", 4)])


def test_a_training_has_one_schedule():
    rates = [Schedule("cosine"), Schedule("constant")]
    data, loss = (np.zeros((4, 2), "f"), np.zeros(4, "f")), gluon.loss.SoftmaxCrossEntropyLoss()
    with pytest.raises(Refused, match="^callbacks: there are 2 Schedules; expected one$"):
        fit(gluon.nn.Dense(3), data, loss, callbacks=rates)


def test_a_schedule_begins_with_each_training(tmp_path):
    """Of one optimizer, whose updates are counted on, and where a training is resumed."""
    optimizer, rates = mx.optimizer.SGD(learning_rate=0.6), []

    class Watch(Callback):
        def after_step(self, run):
            rates.append(run.learner.trainer.learning_rate)
            if stops and len(rates) == 5:
                run.stop = "enough"

    x, y = points().x, points().y
    for stops, resume in ((False, None), (True, None), (False, tmp_path)):
        net, loss = gluon.nn.Dense(3), gluon.loss.SoftmaxCrossEntropyLoss()
        with_schedule = [
            Schedule("poly", 1, power=1),
            Watch(),
            Checkpoint(tmp_path, overwrite=True),
        ]
        fit(net, (x, y), loss, epochs=4, batch_size=12, optimizer=optimizer, resume=resume,
            callbacks=with_schedule)  # fmt: skip
        if not stops:
            assert rates == pytest.approx([0.3, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0], abs=1e-9)
            rates.clear()


@pytest.mark.parametrize("how", ["normal", "stopped", "interrupted", "diverged"])
def test_the_optimizer_has_its_scheduler_again(how):
    """However the training ends."""

    class End(Callback):
        def after_step(self, run):
            assert run.learner.trainer.optimizer.lr_scheduler is not earlier
            if how == "stopped":
                run.stop = "enough"
            if how == "interrupted":
                raise KeyboardInterrupt
            if how == "diverged":
                raise Diverged("the loss is nan")

    earlier = mx.lr_scheduler.FactorScheduler(step=1000)
    x, y, loss = points().x, points().y, gluon.loss.SoftmaxCrossEntropyLoss()
    optimizer = mx.optimizer.SGD(learning_rate=0.1, lr_scheduler=earlier)
    raised = {"interrupted": KeyboardInterrupt, "diverged": Diverged}.get(how)
    with pytest.raises(raised) if raised else nullcontext():
        fit(gluon.nn.Dense(3), (x, y), loss, optimizer=optimizer, callbacks=[Schedule(), End()])
    assert optimizer.lr_scheduler is earlier


def test_an_optimizer_goes_on_without_a_schedule():
    x, y, loss = points().x, points().y, gluon.loss.SoftmaxCrossEntropyLoss()
    optimizer = mx.optimizer.SGD(learning_rate=0.1)
    fit(gluon.nn.Dense(3), (x, y), loss, optimizer=optimizer, callbacks=[Schedule()])
    assert optimizer.lr_scheduler is None and optimizer.learning_rate == 0.1


# Optimizers


OPTIMIZERS = (
    "adagrad adadelta adam adamax dcasgd ftml ftrl lamb lbsgd nadam nag rmsprop sgd sgld signum"
)


@pytest.mark.parametrize("name", OPTIMIZERS.split())
def test_every_optimizer_takes_a_step(name):
    assert name in names()
    options = parse(["--optimizer", name, "--weight-decay", "0.01"])
    subject = learner()
    trainer = gluon.Trainer(
        subject.net.collect_params(), name, settings_of(options), update_on_kvstore=False
    )
    other = Learner(subject.net, subject.loss, trainer, subject.ctx)
    before = weights(other)
    after = learned(other, 1)
    assert all(np.isfinite(w).all() for w in after)
    assert any((w != v).any() for w, v in zip(before, after))


@pytest.mark.parametrize(
    "argv, expected",
    [
        ("--optimizer magic", "--optimizer: expected one of .*adam.*, not 'magic'"),
        ("--optimizer-option mu=1", "mu: adam has no such option; expected some of .*beta1"),
        ("--optimizer-option wd=1", "wd: it is set by --weight-decay"),
        ("--optimizer-option sym=1", "sym: adam has no such option"),
        (
            "--optimizer sgd --optimizer-option momentum=abc",
            "momentum: expected a number, not .abc.",
        ),
        ("--optimizer-option clip_gradient=a", "clip_gradient: expected a number, not .a."),
        ("--optimizer-option beta1=none", "beta1: expected a number, not None"),
        ("--optimizer-option epsilon=nan", "epsilon: expected a number, not nan"),
    ],
)
def test_what_an_optimizer_does_not_have(argv, expected):
    with pytest.raises(Refused, match=expected):
        settings_of(parse(argv.split()))


@pytest.mark.engine("torch")
@pytest.mark.parametrize("main", [main, module.main], ids=["gluon", "module"])
def test_a_parameter_that_an_optimizer_cannot_update(main, tmp_path, capsys):
    assert main(["--optimizer", "groupadagrad", "--out", str(tmp_path / "out")]) == 2
    line = capsys.readouterr().err
    assert line.endswith("GroupAdaGrad: weight is (256,); expected (rows, columns)\n")


def test_options_reach_the_optimizer():
    argv = "--optimizer nag --optimizer-option momentum=0.7 --weight-decay 0.1 --lr 0.2"
    options = parse(argv.split())
    assert settings_of(options) == {"learning_rate": 0.2, "momentum": 0.7, "wd": 0.1}
    options = parse(["--optimizer-option", "beta1=0.5"])
    assert settings_of(options) == {"learning_rate": 0.005, "beta1": 0.5}


@pytest.mark.parametrize("name", names())
def test_fit_learns_with_the_settings_of_the_program(name):
    expected = settings_of(parse(["--optimizer", name]))
    rate = {"learning_rate": expected["learning_rate"]}  # the optimizer's own, but for two
    assert rate | check_arguments(name, None, None) == expected
    options = parse(["--optimizer", name, "--lr", "0.2"])
    assert check_arguments(name, None, 0.2) == settings_of(options)
    assert check_arguments("SGD", {"momentum": 0}, None)["momentum"] == 0


def test_the_learning_rate_of_fit():
    """It is the table's, in the net that is trained."""
    rates = []

    class Rate(Callback):
        def after_epoch(self, run, epoch):
            rates.append(run.learner.trainer.learning_rate)

    data = points()
    fit(gluon.nn.Dense(3), (data.x, data.y), gluon.loss.SoftmaxCELoss(), callbacks=[Rate()])
    assert rates == [0.005]
