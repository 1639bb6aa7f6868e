"""Checkpoints: a training goes on from them as if it had never stopped."""

import errno
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from repeated import first_alone

from layers import nets
from layers.engine import gluon, mx, nd
from layers.saving import restore_numbers
from train import Refused, arguments, callbacks, checkpoint, fit, module, saved
from train.__main__ import main
from train.checkpoint import Checkpoint
from train.saved import checkpoints, read

ROOT = Path(__file__).resolve().parents[2]
Y = np.arange(60) % 3
X = (np.eye(3, 4)[Y] * 3 + np.random.default_rng(4).normal(size=(60, 4))).astype("float32")
SOFTMAX = gluon.loss.SoftmaxCrossEntropyLoss()


def net(units=8):
    """One with random draws, and states that are no parameters to learn."""
    block = gluon.nn.HybridSequential()
    block.add(gluon.nn.Dense(units), gluon.nn.BatchNorm(), gluon.nn.Dropout(0.4), gluon.nn.Dense(3))
    return block


@contextmanager
def told(line):
    """What is warned of has this in it; MXNet warns of what it imports, too."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield
    assert any(re.search(line, str(each.message)) for each in warned)


class StopAt(callbacks.Callback):
    def __init__(self, epoch, step=None):
        self.at = epoch, step

    def after_step(self, run):
        if (run.epoch, run.step) == self.at:
            run.stop = "that is it"

    def after_epoch(self, run, epoch):
        if (epoch.epoch, None) == self.at:
            run.stop = "that is it"


class Killed(callbacks.Callback):
    def __init__(self, epoch, step):
        self.at = epoch, step

    def after_step(self, run):
        if (run.epoch, run.step) == self.at:
            raise ZeroDivisionError


def train(*others, block=None, epochs=4, **how):
    block = block or net()
    how = {"optimizer": "adam", "learning_rate": 0.02, "batch_size": 8, "metric": "accuracy"} | how
    validation = X[:20], Y[:20]
    history = fit(block, (X, Y), SOFTMAX, validation=validation, epochs=epochs, callbacks=others,
                  **how)  # fmt: skip
    numbers = [(e.loss, e.metric, e.held_out_loss, e.held_out_metric, e.samples) for e in history]
    named = block._collect_params_with_prefix()
    return numbers, {name: p.data(p.list_ctx()[-1]).asnumpy() for name, p in named.items()}


def assert_equal(found, expected):
    assert found[0] == expected[0]
    assert found[1].keys() == expected[1].keys()
    for name, array in expected[1].items():
        np.testing.assert_array_equal(found[1][name], array)


@pytest.mark.parametrize("ctx", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]], ids=str)
@pytest.mark.parametrize("stop", [(2, None), (1, 3), (3, 8)], ids=str)
def test_a_resumed_training_is_bitwise_the_same(tmp_path, stop, ctx):
    expected = train(ctx=ctx)
    train(StopAt(*stop), Checkpoint(tmp_path), ctx=ctx)
    found = train(Checkpoint(tmp_path), resume=tmp_path, ctx=ctx)
    assert_equal(found, expected)


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("name", ["nadam", "sgd", "ftml", "lamb", "rmsprop", "nag", "adadelta"])
def test_with_every_kind_of_state(tmp_path, name):
    """Arrays, pairs and none, and numbers among the optimizer's attributes."""
    how = {"optimizer": name, "optimizer_params": {"wd": 0.01}}
    if name in ("sgd", "nag"):
        how["optimizer_params"] = {"momentum": 0.9}
    expected = train(**how)
    train(StopAt(2, 5), Checkpoint(tmp_path), **how)
    assert_equal(train(resume=tmp_path, **how), expected)


@pytest.mark.engine("torch")  # MXNet's own process has crashed in long runs of such graphs
@pytest.mark.parametrize(
    "mode",
    [
        "recorded",
        pytest.param("compiled", marks=pytest.mark.slow),
        pytest.param("step", marks=pytest.mark.slow),
    ],
)
def test_a_graph_goes_on(tmp_path, mode):

    def how():  # operators of the library, whose first call is compared with them as they are
        return {"block": nets.mlp(4, (64, 64), 3, dropout=0.4), "hybridize": mode}

    expected = train(**how())
    train(StopAt(2, 5), Checkpoint(tmp_path), **how())
    assert_equal(train(resume=tmp_path, **how()), expected)


def test_a_file_that_may_not_grow(tmp_path):
    """The system's own error, in a process that may write but few bytes into a file."""
    resource = pytest.importorskip("resource", reason="not on Windows")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limits[1]))
    try:
        with pytest.raises(Refused, match="epoch-0001 cannot be written: .*there is none before"):
            train(Checkpoint(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "first, then, told",
    [
        (("cosine", 1), ("step", 1), "its schedule is cosine, that of this training step"),
        (("step", 1), ("step", 0), "the schedule's warmup is 1 in it, and 0 in this training"),
        (
            ("step", 0, 2),
            ("step", 0),
            "the schedule's every is 2 in it, and the default in this training",
        ),
        (
            ("step", 0),
            ("step", 0, 2),
            "the schedule's every is the default in it, and 2 in this training",
        ),
    ],
)
def test_another_schedule_is_refused(tmp_path, first, then, told):
    def schedule(name, warmup, *every):
        return callbacks.Schedule(name, warmup, **({"every": every[0]} if every else {}))

    train(StopAt(2), schedule(*first), Checkpoint(tmp_path))
    block = net()
    block.initialize()
    before = block(nd.ones((1, 4))).asnumpy()
    with pytest.raises(Refused, match=f"no checkpoint in .* can be used: epoch-0002: {told}"):
        train(schedule(*then), block=block, resume=tmp_path)
    np.testing.assert_array_equal(block(nd.ones((1, 4))).asnumpy(), before)


@pytest.mark.parametrize("first", [{}, {"clip": 0.1}], ids=str)
@pytest.mark.parametrize(
    "changed, told",
    [
        ({"clip": 0.5}, "its clip is (None|0.1), that of this training 0.5"),
        ({"batch_size": 12}, "its batch_size is 8, that of this training 12"),
        ({"accumulate": 2}, "its accumulate is 1, that of this training 2"),
        ({"precision": "bfloat16"}, "its precision is float32, that of this training bfloat16"),
    ],
    ids=str,
)
@pytest.mark.engine("torch")  # MXNet has no bfloat16
def test_another_argument_is_refused(tmp_path, first, changed, told):
    train(StopAt(1), Checkpoint(tmp_path), **first)
    with pytest.raises(Refused, match=told):
        train(resume=tmp_path, **first | changed)


def test_another_average_is_refused(tmp_path):
    train(StopAt(1), callbacks.Average(0.9), Checkpoint(tmp_path))
    with pytest.raises(Refused, match=r"its Average has decay 0\.9, that of this training 0\.5"):
        train(callbacks.Average(0.5), resume=tmp_path)


@pytest.mark.filterwarnings("ignore:Please import:DeprecationWarning")  # MXNet's of SciPy
@pytest.mark.parametrize(
    "kind, argument", [(callbacks.Schedule, "cosine"), (callbacks.EarlyStopping, 3)]
)
def test_a_callback_that_is_left_out_or_new_is_told(tmp_path, kind, argument):
    name = kind.__name__
    train(StopAt(2), kind(argument), Checkpoint(tmp_path / "with"))
    with told(f"epoch-0002 is of a training with the callback {name},"):
        train(resume=tmp_path / "with")
    train(StopAt(2), Checkpoint(tmp_path / "without"))
    with told(f"without the callback {name}, which begins here"):
        train(kind(argument), resume=tmp_path / "without")


def test_a_training_that_ended_early_goes_on_with_more_patience(tmp_path):
    """Nothing is told of it: warnings are errors."""
    how = {"epochs": 40, "learning_rate": 1e-9}
    ended = train(callbacks.EarlyStopping(2), Checkpoint(tmp_path), **how)
    assert train(callbacks.EarlyStopping(2), resume=tmp_path, **how)[0] == ended[0]
    found = train(callbacks.EarlyStopping(4), resume=tmp_path, **how)
    assert len(ended[0]) < len(found[0]) < 40


def test_a_scheduler_of_the_optimizer_goes_on(tmp_path):
    def how():
        scheduler = mx.lr_scheduler.FactorScheduler(step=5, factor=0.7)
        return {"optimizer_params": {"lr_scheduler": scheduler}}

    expected = train(**how())
    train(StopAt(2, 5), Checkpoint(tmp_path), **how())
    assert_equal(train(resume=tmp_path, **how()), expected)


def test_a_net_whose_names_sort_otherwise_goes_on(tmp_path):
    def block(first, second):
        found = gluon.nn.HybridSequential()
        found.add(gluon.nn.Dense(8, prefix=first), gluon.nn.Dense(3, prefix=second))
        return found

    expected = train(block=block("dense1_", "dense2_"))
    train(StopAt(2, 5), Checkpoint(tmp_path), block=block("dense9_", "dense10_"))
    assert_equal(train(resume=tmp_path, block=block("dense1_", "dense2_")), expected)


def test_a_schedule_and_the_mean_of_weights_go_on(tmp_path):
    """Learning goes on with the weights themselves, though the mean is what is saved."""

    def others():
        return [callbacks.Schedule("cosine", 1), callbacks.Average(0.9)]

    expected = train(*others())
    for stop in ((2, 5), (3, None)):
        saving = Checkpoint(tmp_path, overwrite=True)
        train(*others(), saving, StopAt(*stop))
        assert_equal(train(*others(), resume=tmp_path), expected)


@pytest.mark.engine("torch")
def test_in_sixteen_bits(tmp_path):
    def block():
        found = gluon.nn.HybridSequential()
        found.add(gluon.nn.Dense(8), gluon.nn.Dropout(0.4), gluon.nn.Dense(3))
        return found

    expected = train(block=block(), precision="bfloat16", accumulate=2)
    train(StopAt(2, 3), Checkpoint(tmp_path), block=block(), precision="bfloat16", accumulate=2)
    found = train(block=block(), resume=tmp_path, precision="bfloat16", accumulate=2)
    assert_equal(found, expected)


def test_the_state_of_callbacks_goes_on(tmp_path):
    class Counts(callbacks.Callback):
        def __init__(self):
            self.steps = 0

        def after_step(self, run):
            self.steps += 1

        def state(self):
            return {"steps": np.array(self.steps)}

        def restore(self, state):
            self.steps = int(state["steps"])

    train(Counts(), StopAt(2, 5), Checkpoint(tmp_path))
    again = Counts()
    train(again, resume=tmp_path)
    assert again.steps == 4 * 8


def test_which_are_kept(tmp_path):
    numbers, _ = train(Checkpoint(tmp_path, keep=2, every=3), epochs=9)
    best = max(range(9), key=lambda i: (numbers[i][3], -numbers[i][2])) + 1
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"epoch-{best:04}", "epoch-0009", "epoch-0009-step-000006"}


def test_the_files(tmp_path):
    """Anyone can read the parameters."""
    _, weights = train(Checkpoint(tmp_path), epochs=1)
    (path,) = checkpoints(tmp_path)
    names = ["model.params", "model.safetensors", "state.json", "state.safetensors"]
    assert sorted(p.name for p in path.iterdir()) == names
    for name, array in nd.load(str(path / "model.params")).items():
        np.testing.assert_array_equal(array.asnumpy(), weights[name])
    block = net()
    block.load_parameters(str(path / "model.params"))
    block(nd.array(X))
    assert read(path).content["epochs_done"] == 1


def test_the_best_is_what_remains(tmp_path):
    """With the held-out labels wrong it becomes worse."""
    block = net()
    how = {"validation": (X[:20], 2 - Y[:20]), "batch_size": 8, "learning_rate": 0.02, "epochs": 5}
    saving = Checkpoint(tmp_path, restore_best=True)
    history = fit(block, (X, Y), SOFTMAX, callbacks=[saving], **how)
    losses = [epoch.held_out_loss for epoch in history]
    assert losses.index(min(losses)) < 4
    loss = SOFTMAX(block(nd.array(X[:20])), nd.array(2 - Y[:20])).asnumpy().mean()
    assert loss == pytest.approx(min(losses), rel=1e-5)


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def change(path):
    path.write_text(path.read_text().replace('"epochs_done": 3', '"epochs_done": 2'))


def claim(path):
    content = json.loads(path.read_text()) | {"format": "of somebody else"}
    path.write_text(json.dumps(content))


def reform(path):
    """An index whose hash is right, by somebody who knows how it is computed."""
    content = json.loads(path.read_text()) | {"files": 3}
    del content["sha256"]
    path.write_text(json.dumps(content | {"sha256": saved.hash_of(content)}))


DAMAGE = {
    "of another form": ("state.json", reform, "state.json is not as a checkpoint's: model.safet"),
    "cut": ("model.safetensors", lambda p: os.truncate(p, 100), "model.safetensors: bytes 100; ex"),
    "flipped": ("state.safetensors", flip, "state.safetensors: sha256 "),
    "gone": ("model.params", Path.unlink, "model.params: No such file or directory"),
    "no index": ("state.json", Path.unlink, "state.json: No such file or directory"),
    "no json": ("state.json", lambda p: os.truncate(p, 100), "state.json: it is no checkpoint's"),
    "a list": ("state.json", lambda p: p.write_text("[]"), "state.json: it is no checkpoint's"),
    "changed": ("state.json", change, "state.json: it was changed"),
    "foreign": ("state.json", claim, "state.json: it is no checkpoint's: ValueError(\"its format"),
}


@pytest.mark.parametrize("name, damage, reason", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_one_is_named_and_the_one_before_is_used(tmp_path, name, damage, reason):
    expected = train()
    train(Checkpoint(tmp_path), epochs=3)
    damage(tmp_path / "epoch-0003" / name)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = train(Checkpoint(tmp_path), resume=tmp_path)
    (line,) = (str(w.message) for w in warned if w.category is UserWarning)
    assert line.startswith("the checkpoint epoch-0003 is not used: ") and reason in line
    assert line.endswith("; epoch-0002 is used")
    assert_equal(found, expected)
    read(tmp_path / "epoch-0003")  # written anew
    for path in checkpoints(tmp_path):
        (path / "state.json").unlink()
    with pytest.raises(Refused, match="can be used: epoch-[0-9]+: state.json: No such file[^;]*$"):
        train(resume=tmp_path)


EPOCH = {"epoch": 1, "samples": 60, "seconds": 0.1, "loss": 1.0, "metric": 0.5}
EPOCH |= {"held_out_loss": 1.0, "held_out_metric": 0.5}
METER = dict.fromkeys(("samples", "steps", "loss", "metric", "counted", "seconds"), 1)
WRONG = {
    "no list": ({"history": 3}, "its history is 3; expected 1 epochs"),
    "too many epochs": ({"history": [EPOCH, EPOCH]}, "expected 1 epochs"),
    "another epoch": ({"history": [EPOCH | {"epoch": [1]}]}, "expected 1 epochs"),
    "a text": ({"history": [EPOCH | {"loss": "1"}]}, "epoch 1 has {'loss': '1'}; expected a num"),
    "a part": ({"history": [EPOCH | {"samples": 0.5}]}, "'samples': 0.5}; expected a whole number"),
    "no time": ({"history": [EPOCH | {"seconds": 0.0}]}, "epoch 1 took no time"),
    "more": ({"history": [EPOCH | {"more": [1]}]}, r"epoch 1 has {'epoch 1': \[1\]}; expected a n"),
    "a meter of texts": ({"meter": {"samples": "9"}}, "the meter has {'samples': '9'}; expected a"),
    "a long meter": ({"meter": METER | {"pending": 1}}, "the meter has"),
}


@pytest.mark.parametrize("changed, reason", WRONG.values(), ids=WRONG)
def test_an_index_with_other_types_is_refused(tmp_path, changed, reason):
    train(Checkpoint(tmp_path), epochs=1)
    path = tmp_path / "epoch-0001" / "state.json"
    content = json.loads(path.read_text()) | changed
    del content["sha256"]
    path.write_text(json.dumps(content | {"sha256": saved.hash_of(content)}))
    with pytest.raises(ValueError, match=f"state.json is not as a checkpoint's: .*{reason}"):
        read(path.parent)
    with pytest.raises(Refused, match="no checkpoint in .* can be used: epoch-0001: state.json"):
        train(resume=tmp_path)


ONE = np.ones(1, "float32")
STATES = {
    "learner/0/state/0/0": (ONE, "the state of parameter 0 has the shapes .* of this training"),
    "learner/0/state/0/2": (ONE, "the state of parameter 0 has the shapes .* of this training"),
    "learner/0/state/99": (ONE, "it has a state of parameter 99, the net has none"),
    "learner/0/state/0/" + "0/" * 2000: (ONE, "the name '.* has too many parts"),
    "learner/count/0/0": (np.array(-1), "a number of updates is -1; expected a count"),
    "learner/count/0/1": (np.ones(2), r"a number of updates is \[1.0, 1.0\]; expected a count"),
    "learner/optimizer/lr": (np.ones(2), r"its 'lr' is float64 \(2,\), and no number"),
    "learner/optimizer/wd": (np.array(True), "its 'wd' is bool .*, and no number"),
    "learner/context/1/a": (ONE, "contexts is 2, that of this training 1"),
    "learner/last/0": (ONE, r"'0' is \(1,\) in it, \(8, 4\) in the net"),
    "callback/Average.0/steps": (np.array(-3), "its Average is of -3 steps"),
    "callback/Average.0/decay": (np.ones(2), "the state of Average is not its own: "),
    "callback/Average.0/mean.0": (ONE, r"Average: its means in .*epoch-0001 are \[\(1,\)"),
}


@pytest.mark.parametrize("name", STATES, ids=lambda name: name[:30])
def test_a_state_of_another_form_is_refused(tmp_path, name):
    """One that somebody has written with the right hashes."""
    train(Checkpoint(tmp_path), callbacks.Average(0.9), epochs=1)
    restate(tmp_path / "epoch-0001", {name: STATES[name][0]})
    with pytest.raises(Refused, match=STATES[name][1]):
        train(callbacks.Average(0.9), resume=tmp_path)


def restate(path, arrays):
    """Put arrays into the state of a checkpoint, whose hashes are right then."""
    content = saved.tensors_as_bytes(read(path).state | arrays)
    (path / "state.safetensors").write_bytes(content)
    index = json.loads((path / "state.json").read_text())
    index["files"]["state.safetensors"] = saved.fingerprint(content)
    del index["sha256"]
    text = json.dumps(index | {"sha256": saved.hash_of(index)})
    (path / "state.json").write_text(text)


@pytest.mark.parametrize("name", ["callback", "callback/", "callback//a", "x\x1b[2J"])
def test_a_state_of_nobody_is_no_error(tmp_path, name):
    train(Checkpoint(tmp_path), epochs=1)
    restate(tmp_path / "epoch-0001", {name: ONE})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train(resume=tmp_path, epochs=1)


def test_one_of_another_net(tmp_path):
    train(Checkpoint(tmp_path), epochs=1)
    block = gluon.nn.Dense(3)
    with pytest.raises(Refused, match="has a parameter '.*', .* has none$"):
        train(block=block, resume=tmp_path)
    with pytest.raises(Refused, match=r"is \(8, 4\) in it, \(9, 4\) in the net"):
        train(block=net(9), resume=tmp_path)
    with pytest.raises(Refused, match="its seed is 0, that of this training 1"):
        train(resume=tmp_path, seed=1)
    with pytest.raises(Refused, match="its optimizer is Adam, that of this training SGD"):
        train(resume=tmp_path, optimizer="sgd")
    with pytest.raises(Refused, match="its learning_rate is 0.02, that of this training 0.5"):
        train(resume=tmp_path, learning_rate=0.5)
    with pytest.raises(Refused, match="its beta1 is 0.9, that of this training 0.5"):
        train(resume=tmp_path, optimizer_params={"beta1": 0.5})
    train(resume=tmp_path, optimizer_params={"beta1": 0.9}, epochs=1)  # the default
    train(resume=tmp_path, optimizer=mx.optimizer.Adam(), learning_rate=None, epochs=1)
    before = X[27].copy()  # which is not held out
    X[27, 2] += 1
    try:
        with pytest.raises(Refused, match="its data is 60 samples .* in 8 batches, that of this"):
            train(resume=tmp_path)
    finally:
        X[27] = before
    with pytest.raises(Refused, match="its validation data is 20 samples .*, that of .* None"):
        fit(net(), (X, Y), SOFTMAX, batch_size=8, optimizer="adam", resume=tmp_path)


def test_one_of_another_name(tmp_path):
    train(Checkpoint(tmp_path), epochs=2)
    shutil.rmtree(tmp_path / "epoch-0002")
    (tmp_path / "epoch-0001").rename(tmp_path / "epoch-0003-step-000004")
    with pytest.raises(Refused, match="state.json: it is that of epoch-0001$"):
        train(resume=tmp_path)


def test_a_folder_with_checkpoints_is_not_overwritten(tmp_path):
    train(Checkpoint(tmp_path), epochs=2)
    with pytest.raises(Refused, match="holds checkpoints of a training, up to epoch-0002; "):
        train(Checkpoint(tmp_path), epochs=1)
    train(Checkpoint(tmp_path, overwrite=True), epochs=1)
    assert [path.name for path in checkpoints(tmp_path)] == ["epoch-0001"]


@pytest.mark.parametrize("epochs", [1, 6])
def test_those_of_another_training_are_refused_where_one_is_resumed(tmp_path, epochs):
    ours, other = tmp_path / "ours", tmp_path / "other"
    train(Checkpoint(ours), epochs=2)
    train(Checkpoint(other, keep=6), block=net(5), epochs=epochs)
    held = [path.name for path in checkpoints(other)]
    with pytest.raises(Refused, match=f"other holds checkpoints .* up to epoch-000{epochs}; "):
        train(Checkpoint(other), resume=ours)
    assert [path.name for path in checkpoints(other)] == held
    train(Checkpoint(other, overwrite=True), resume=ours)
    assert checkpoints(other)[0].name == "epoch-0004"
    assert all(read(path).weights["0.weight"].shape == (8, 4) for path in checkpoints(other))


# MXNet's own, which `pytest.warns` raises again without the module that setup.cfg excepts.
@pytest.mark.filterwarnings("ignore:Please import `csr_matrix`:DeprecationWarning")
@pytest.mark.parametrize("what", ["of another training", "with another file"])
def test_one_that_may_not_be_replaced_is_refused_before_the_training(tmp_path, what):
    train(Checkpoint(tmp_path), epochs=3)
    later = tmp_path / "epoch-0003"
    if what == "of another training":
        restate(later, {"learner/last/0": ONE})
        reason = "there is one of another training"
    else:
        (later / "state.json").write_text("torn")
        (later / "notes.txt").write_text("mine")
        reason = "has 'notes.txt', which is of no checkpoint"
    begun = Begun()
    refused = pytest.raises(Refused, match=f"epoch-0002 is the last .* {reason}")
    with pytest.warns(UserWarning, match="epoch-0003 is not used"), refused:
        train(begun, Checkpoint(tmp_path), resume=tmp_path)
    assert not begun.epoch
    with pytest.warns(UserWarning, match="epoch-0002 is used"):
        train(Checkpoint(tmp_path / "other"), resume=tmp_path)
    with pytest.warns(UserWarning, match="epoch-0002 is used"):
        train(Checkpoint(tmp_path), resume=tmp_path, epochs=2)  # which comes to none


class Begun(callbacks.Callback):
    """Knows the epoch that was begun last."""

    epoch = 0

    def after_step(self, run):
        self.epoch = run.epoch


class Scores(callbacks.Callback):
    """Says how good each epoch is."""

    def __init__(self, *scores):
        self.scores, self.epoch = scores, 1

    def after_step(self, run):
        self.epoch = run.epoch

    def metric(self):
        return mx.metric.CustomMetric(lambda *_: self.scores[self.epoch - 1], "score")


def scored(*others, scores, **how):
    said = Scores(*scores)
    return train(*others, said, metric=said.metric(), epochs=len(scores), **how)


def assert_weights(found, path):
    for name, array in read(path).weights.items():
        np.testing.assert_array_equal(found[1][name], array)


def test_the_best_epoch_comes_along_into_another_folder(tmp_path):
    """From folder to folder, of which those before may be removed."""
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    scored(Checkpoint(first), StopAt(3, 5), scores=(1, 9, 2))
    scored(Checkpoint(second), resume=first, scores=(1, 9, 2, 3))
    assert {path.name for path in checkpoints(second)} == {f"epoch-000{i}" for i in (2, 3, 4)}
    shutil.copytree(first / "epoch-0002", tmp_path / "epoch-0002")
    shutil.rmtree(first)
    restoring = Checkpoint(third, restore_best=True)
    found = scored(restoring, resume=second, scores=(1, 9, 2, 3, 4, 5))
    assert_weights(found, tmp_path / "epoch-0002")
    found = scored(restoring, resume=third, scores=(1, 9, 2, 3, 4, 5))  # nothing is left to do
    assert_weights(found, tmp_path / "epoch-0002")


def test_a_killed_training_goes_on_in_the_other_folder(tmp_path):
    expected = train(epochs=3)
    train(Checkpoint(tmp_path / "first"), StopAt(2, 3))
    then = tmp_path / "then"
    with pytest.raises(ZeroDivisionError):
        train(Killed(2, 4), Checkpoint(then), resume=tmp_path / "first")
    assert checkpoints(then)[0].name == "epoch-0002-step-000003"
    assert_equal(train(Checkpoint(then), resume=then, epochs=3), expected)


@pytest.mark.parametrize("then", ["first", "then"])
def test_where_the_best_epoch_is_lost_the_best_of_the_others_counts(tmp_path, then):
    scored(Checkpoint(tmp_path / "first"), scores=(9, 1, 8, 3))
    os.truncate(tmp_path / "first" / "epoch-0001" / "model.params", 9)
    restoring = Checkpoint(tmp_path / then, restore_best=True)
    with told("best epoch is lost: epoch-0001: model.params: bytes 9"):
        found = scored(restoring, scores=(9, 1, 8, 3, 4), resume=tmp_path / "first")
    assert_weights(found, tmp_path / then / "epoch-0003")


def test_where_all_epochs_are_lost_what_is_learned_counts(tmp_path):
    scored(Checkpoint(tmp_path, every=4), StopAt(2, 4), scores=(9, 1))
    shutil.rmtree(tmp_path / "epoch-0001")
    with told("best epoch is lost: epoch-0001: state.json: No such"):
        found = scored(Checkpoint(tmp_path, restore_best=True), scores=(9, 1), resume=tmp_path)
    assert_weights(found, tmp_path / "epoch-0002")


@pytest.mark.filterwarnings("ignore:the checkpoint epoch-000[3-5] is not used")
@pytest.mark.parametrize("keep", [1, 2])
def test_torn_ones_are_not_kept_in_the_place_of_whole_ones(tmp_path, keep):
    scored(Checkpoint(tmp_path, keep=9), scores=(1, 2, 3, 4, 5))
    for epoch in (3, 4, 5):
        os.truncate(tmp_path / f"epoch-000{epoch}" / "state.json", 9)
    saving = Checkpoint(tmp_path, keep=keep, every=4)
    with pytest.raises(ZeroDivisionError):
        scored(saving, Killed(3, 5), resume=tmp_path, scores=(1, 2, 3, 4, 5))
    read(tmp_path / "epoch-0003-step-000004")


@pytest.mark.filterwarnings("ignore:the checkpoint epoch-0004 is not used")
def test_each_one_has_the_best_epoch_until_then(tmp_path):
    """The last one may be torn, and the training that goes on from that before it be stopped."""
    saving = Checkpoint(tmp_path, restore_best=True)
    scored(saving, scores=(8, 1, 2, 9))
    assert {path.name for path in checkpoints(tmp_path)} == {f"epoch-000{i}" for i in (1, 3, 4)}
    os.truncate(tmp_path / "epoch-0004" / "state.json", 9)
    found = scored(saving, StopAt(4, 3), resume=tmp_path, scores=(8, 1, 2, 9))
    assert_weights(found, tmp_path / "epoch-0001")


@pytest.mark.parametrize("name", ["file", "file/a"])
def test_a_folder_that_cannot_be_written_is_told_before_the_first_step(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=f"^{tmp_path}/{name} cannot be written: Not a directory$"):
        train(Killed(1, 1), Checkpoint(tmp_path / name))


@pytest.mark.filterwarnings("ignore:the checkpoint epoch-0004 is not used")
def test_only_checkpoints_are_removed(tmp_path):
    """Not a folder with other files, nor a file, whatever their names are."""
    for name in ("epoch-0007", "epoch-0008"):
        (tmp_path / name).mkdir()
    (tmp_path / "epoch-0007" / "mine").touch()
    (tmp_path / "epoch-0009").touch()
    told = "epoch-0007 has 'mine', which is of no checkpoint"
    with pytest.raises(Refused, match=f"{tmp_path} cannot be written: {told}"):
        train(Checkpoint(tmp_path, overwrite=True))
    (tmp_path / "epoch-0007" / "mine").rename(tmp_path / "mine")
    train(Checkpoint(tmp_path, overwrite=True), epochs=1)
    names = ["epoch-0001", "epoch-0009", "mine"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    (tmp_path / "epoch-0001" / "mine").touch()
    train(Checkpoint(tmp_path, keep=1), resume=tmp_path)
    assert (tmp_path / "epoch-0001" / "mine").exists()
    os.truncate(tmp_path / "epoch-0004" / "state.json", 9)
    (tmp_path / "epoch-0004" / "mine").touch()
    with pytest.raises(Refused, match="epoch-0004 has 'mine', which is of no checkpoint"):
        train(Checkpoint(tmp_path), resume=tmp_path)
    assert (tmp_path / "epoch-0004" / "mine").exists()


def test_counts_of_steps_and_of_checkpoints(tmp_path):
    for name, value in itertools.product(("every", "keep"), (0, True)):
        with pytest.raises(Refused, match=f"^{name}: expected a whole number from 1, not {value}$"):
            Checkpoint(tmp_path, **{name: value})


def test_a_folder_without_any(tmp_path):
    """The training begins if it saves checkpoints there, as that of the program does."""
    (tmp_path / "file").touch()
    for name, reason in (("new", "is not there"), ("", "has no checkpoint"), ("file", "is a file")):
        folder = tmp_path / name
        with pytest.raises(FileNotFoundError) as refused:
            train(Checkpoint(tmp_path / "other"), resume=folder)
        assert isinstance(refused.value, Refused)
        assert str(refused.value).startswith(f"resume: {folder} {reason}; expected a folder with ")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    expected = train(epochs=1)
    assert_equal(train(Checkpoint(tmp_path / "new"), resume=tmp_path / "new", epochs=1), expected)


def test_a_full_disk(tmp_path, monkeypatch):
    """A clear line, and the last checkpoint is whole."""
    write = Path.write_bytes

    def full(path, content):
        if "0003" in path.parent.name and path.name == "state.safetensors":
            write(path, content[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(Refused, match="epoch-0003 cannot be written: No space left.*epoch-0002 is"):
        train(Checkpoint(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["epoch-0001", "epoch-0002"]
    monkeypatch.undo()
    assert_equal(train(Checkpoint(tmp_path), resume=tmp_path), train())


# The program


ARGV = ["--epochs", "4", "--hidden", "16", "--checkpoint-steps", "5"]


def files(out):
    names = ("history.csv", "model.safetensors")
    return {name: (out / name).read_bytes() for name in names}


def run(main, out, *argv):
    return main([*ARGV, "--out", str(out), *argv])


@pytest.mark.parametrize(
    "main, ctx",
    first_alone([(main, "cpu"), (module.main, "cpu:0,cpu:1")]),
    ids=["gluon", "module"],
)
def test_the_program_resumes(tmp_path, capsys, main, ctx):
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert run(main, whole, "--ctx", ctx) == 0
    assert run(main, out, "--ctx", ctx, "--epochs", "2") == 0
    shutil.rmtree(out / "checkpoints/epoch-0002")  # back into the second epoch
    capsys.readouterr()
    assert run(main, out, "--ctx", ctx, "--resume") == 0
    said = capsys.readouterr().out
    assert "epoch-0002-step-000020: 1 epochs and 20 steps of the next are done" in said
    assert files(out) == files(whole)
    assert run(main, out, "--ctx", ctx, "--resume") == 0  # there is nothing left to do
    assert files(out) == files(whole)


@pytest.mark.slow_on("mxnet")
def test_a_run_is_written_again_that_was_killed_at_its_end(tmp_path):
    """Its network has no step left, so it has no graph."""
    out = tmp_path / "out"
    options = ["--epochs", "1", "--hybridize", "recorded"]
    assert run(main, out, *options) == 0
    whole = files(out)
    for path in out.glob("model*"):
        path.unlink()
    assert run(main, out, *options, "--resume") == 0
    assert files(out) == whole


@pytest.mark.slow_on("mxnet")
def test_another_run_is_not_overwritten(tmp_path, capsys):
    out = tmp_path / "out"
    assert run(main, out, "--epochs", "1") == 0
    before = files(out)
    assert run(main, out, "--epochs", "2") == 2
    line = capsys.readouterr().err
    assert line.startswith(f"train: --out {out}: it holds another run: ") and "--overwrite" in line
    assert files(out) == before
    assert run(main, out, "--epochs", "2", "--overwrite") == 0
    assert files(out) != before
    assert not (out / "checkpoints/epoch-0003").exists()


@pytest.mark.slow_on("mxnet")
def test_a_run_without_out_has_a_folder_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(ARGV) == main(ARGV) == 0
    assert len({*tmp_path.glob("runs/*-digits*/model.safetensors")}) == 2
    assert main([*ARGV, "--resume"]) == 2
    assert "--resume: expected --out too, the folder of the run" in capsys.readouterr().err


def test_two_at_once(tmp_path, capsys, monkeypatch):
    def load(*_):
        assert run(main, tmp_path / "out") == 2
        raise Refused("no more")

    monkeypatch.setattr("train.run.load", load)
    assert run(main, tmp_path / "out") == 2
    assert "another training is writing there\ntrain: no more" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def start(engine, out, *argv):
    return subprocess.Popen(
        [sys.executable, "-m", "train", *ARGV, "--engine", engine, "--out", out, *argv, "--resume"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow_on("mxnet")
def test_killed(engine, tmp_path):
    """Within its third epoch."""
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert run(main, whole) == 0
    with start(engine, out, "--epochs", "1000") as process:
        while not (out / "checkpoints/epoch-0003-step-000005").exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()
    for path in checkpoints(out / "checkpoints"):
        if path.name > "epoch-0003-step-000010":  # how far it came depends on the machine
            shutil.rmtree(path)
    assert run(main, out, "--resume") == 0
    assert files(out) == files(whole) and not list(out.rglob(".*"))


@pytest.mark.slow
def test_killed_at_twenty_moments(engine, tmp_path):
    """From the first file that it reads to the last one that it writes."""
    argv, moments, out = ["--epochs", "60"], random.Random(1), tmp_path / "out"
    assert run(main, tmp_path / "whole", *argv) == 0
    for _ in range(20):
        with start(engine, out, *argv) as process:
            process.stdout.readline()  # the data is read
            time.sleep(moments.uniform(0, 0.4))
            process.kill()
    with start(engine, out, *argv) as process:
        _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert files(out) == files(tmp_path / "whole") and not list(out.rglob(".*"))


def test_only_numbers_that_are_known_are_taken():
    """A file cannot set any attribute of an optimizer."""
    target = SimpleNamespace(lr=0.1, last=None, update=print)
    restore_numbers(target, "optimizer", {"optimizer/lr": np.array(0.5)})
    restore_numbers(target, "optimizer", {"optimizer/last": np.array(2)})
    assert (target.lr, target.last) == (0.5, 2)
    for name in ("update", "new"):
        with pytest.raises(ValueError, match=f"has a number '{name}', SimpleNamespace has none"):
            restore_numbers(target, "optimizer", {f"optimizer/{name}": np.array(2)})


class Says(callbacks.Callback):
    """Has this state."""

    def __init__(self, value):
        self.value = value

    def state(self):
        return {"value": self.value}

    def restore(self, state):
        self.value = state["value"]


def test_a_state_that_is_a_number(tmp_path):
    train(Says(7), Checkpoint(tmp_path), epochs=1)
    again = Says(0)
    train(again, resume=tmp_path, epochs=2)
    assert again.value == 7


@pytest.mark.parametrize("value", [None, {"a": 1}, "text"])
def test_a_state_that_is_no_array_of_numbers(tmp_path, value):
    reason = "callback Says: its state 'value' is .*; expected an array of numbers"
    with pytest.raises(Refused, match=reason):
        train(Says(value), Checkpoint(tmp_path), epochs=1)
    assert not list(tmp_path.iterdir())


def test_only_folders_of_its_own_are_removed(tmp_path):
    for name in (".my-epoch-backup", ".new-epoch-backup", ".new-epoch-0001", ".old-epoch-0001"):
        (tmp_path / name).mkdir()
    train(Checkpoint(tmp_path), epochs=1)
    found = sorted(path.name for path in tmp_path.iterdir())
    assert found == [".my-epoch-backup", ".new-epoch-backup", "epoch-0001"]


class Count(callbacks.Callback):
    def __init__(self):
        self.epochs = self.steps = 0

    def after_step(self, run):
        self.steps += 1

    def after_epoch(self, run, epoch):
        self.epochs += 1

    def state(self):
        return {"epochs": np.array(self.epochs), "steps": np.array(self.steps)}

    def restore(self, state):
        self.epochs, self.steps = int(state["epochs"]), int(state["steps"])


@pytest.mark.parametrize("stop", [(2, None), (2, 4)])
def test_the_state_of_a_callback_after_the_checkpoint_in_the_list(tmp_path, stop):
    count, again = Count(), Count()
    train(StopAt(*stop), Checkpoint(tmp_path, every=2), count)
    train(Checkpoint(tmp_path), again, resume=tmp_path)
    assert (again.epochs, again.steps) == (4, 4 * count.steps / (2 if stop[1] is None else 1.5))


def test_a_checkpoint_that_is_not_used_leaves_no_traces(tmp_path):
    """Neither in callbacks nor in the net."""
    train(Count(), Checkpoint(tmp_path / "a", keep=9), epochs=2)
    train(Count(), Checkpoint(tmp_path / "b", keep=9), block=net(9), epochs=3)
    shutil.copytree(tmp_path / "b" / "epoch-0003", tmp_path / "a" / "epoch-0003")
    count, block = Count(), net()
    with told(r"epoch-0003 is not used: .*; epoch-0002 is used"):
        train(count, block=block, resume=tmp_path / "a")
    assert count.epochs == 4

    class Refusing(Count):
        error = ValueError("it does not fit")

        def restore(self, state):
            raise self.error

    Refusing.__name__ = "Count"
    block = net(9)
    block.initialize()
    block(nd.array(X))
    before = block[0].weight.data().asnumpy()
    with pytest.raises(Refused, match="it does not fit"):
        train(Refusing(), block=block, resume=tmp_path / "b")
    Refusing.error = TypeError("a mistake in it")
    with pytest.raises(TypeError, match="a mistake in it"):
        train(Refusing(), block=block, resume=tmp_path / "b")
    np.testing.assert_array_equal(block[0].weight.data().asnumpy(), before)


def test_a_stop_at_a_step_that_is_saved_saves_it_once(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint, "write", lambda path, run, meter: written.append(path.name))
    train(StopAt(1, 4), Checkpoint(tmp_path, every=2))
    assert written == ["epoch-0001-step-000002", "epoch-0001-step-000004"]


def test_a_whole_one_of_another_training_is_not_replaced(tmp_path):
    train(Checkpoint(tmp_path / "a"), epochs=1)
    train(Checkpoint(tmp_path / "b", keep=9), epochs=2, batch_size=10)
    other = tmp_path / "a" / "epoch-0002"
    shutil.copytree(tmp_path / "b" / "epoch-0002", other)
    with (
        told("epoch-0002 is not used: its batch_size is 10, that of"),
        pytest.raises(Refused, match="epoch-0002 could not be written then: there is one"),
    ):
        train(Checkpoint(tmp_path / "a"), resume=tmp_path / "a")
    assert read(other).content["options"]["batch_size"] == 10


def test_numbers_of_numpy(tmp_path):
    """They are numbers for the checkpoint, too."""
    how = {
        "seed": np.int64(3),
        "epochs": np.int64(1),
        "batch_size": np.int32(8),
        "accumulate": np.int32(2),
        "clip": np.float32(3),
        "optimizer": "sgd",
    }
    train(Checkpoint(tmp_path), **how, learning_rate=np.float32(0.5))
    with pytest.raises(Refused, match="its learning_rate is 0.5, that of this training 0.25"):
        train(**how, learning_rate=np.float32(0.25), resume=tmp_path)
    train(**how | {"seed": 3, "clip": 3.0, "batch_size": 8}, learning_rate=0.5, resume=tmp_path)


def test_a_scheduler_that_only_one_training_has(tmp_path):
    factor = {"lr_scheduler": mx.lr_scheduler.FactorScheduler(2, 0.5)}
    train(Checkpoint(tmp_path / "with"), epochs=1, optimizer_params=dict(factor))
    train(Checkpoint(tmp_path / "without"), epochs=1)
    with pytest.raises(Refused, match="lr_scheduler is FactorScheduler, that of this training Non"):
        train(resume=tmp_path / "with")
    with pytest.raises(Refused, match="lr_scheduler is None, that of this training FactorSchedul"):
        train(optimizer_params=dict(factor), resume=tmp_path / "without")


def test_early_stopping_that_is_new_begins_where_the_training_goes_on(tmp_path):
    saving, stopping = Checkpoint(tmp_path), callbacks.EarlyStopping(2)
    scored(saving, scores=(9, 1, 1))
    with told("without the callback EarlyStopping, which begins here"):
        found = scored(saving, StopAt(4), stopping, scores=(9, 1, 1, 1, 1, 1), resume=tmp_path)
    assert len(found[0]) == 4
    found = scored(saving, stopping, scores=(9, 1, 1, 1, 1, 1), resume=tmp_path)
    assert len(found[0]) == 5


def test_one_of_more_contexts(tmp_path):
    def normed():
        block = gluon.nn.HybridSequential()
        block.add(gluon.nn.Dense(8), gluon.nn.BatchNorm(), gluon.nn.Dense(3))
        return block

    train(Checkpoint(tmp_path), block=normed(), epochs=1)
    with pytest.raises(Refused, match="of its contexts is 1, that of this training 2"):
        train(block=normed(), ctx=[mx.cpu(0), mx.cpu(1)], resume=tmp_path)


def test_a_state_that_lacks_something_is_told_with_the_callback(tmp_path):
    class More(Count):
        def restore(self, state):
            self.other = state["other"]

    More.__name__ = "Count"
    train(Count(), Checkpoint(tmp_path), epochs=1)
    with pytest.raises(Refused, match="epoch-0001: the state of Count has no 'other'"):
        train(More(), resume=tmp_path)


def test_a_folder_that_cannot_be_listed(tmp_path, monkeypatch):
    def forbidden(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(checkpoint, "checkpoints", forbidden)
    with pytest.raises(Refused, match="a cannot be written: Permission denied"):
        train(Checkpoint(tmp_path / "a"))
    monkeypatch.setattr(arguments, "checkpoints", forbidden)
    with pytest.raises(Refused, match="resume: .*a cannot be read: Permission denied"):
        train(resume=tmp_path / "a")
