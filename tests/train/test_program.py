"""``python -m train`` and ``python -m train.module`` as a whole."""

import csv
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import warnings
from dataclasses import replace
from pathlib import Path

import forks
import numpy as np
import pytest
from PIL import Image
from repeated import first_alone

from layers import nets
from layers.engine import gluon, mx, nd
from train import module, results
from train.__main__ import main
from train.callbacks import Logging
from train.data import ArrayBatches, load
from train.learner import Learner
from train.scaling import with_scaling
from train.state import Meter, Run
from train.task import Task

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["--epochs", "2", "--hidden", "8"]
FILES = (*results.files(Learner), "checkpoints")
MODULE_FILES = [name for name in FILES if name != "model.params"]  # the rest is named as Gluon's


@pytest.fixture
def run(tmp_path, capsys):
    """Call the program, with results in tmp_path/out; its status and what it said."""

    def run(*argv, main=main):
        status = main([*argv, "--out", str(tmp_path / "out"), "--overwrite"])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


@pytest.fixture(scope="module")
def digits(tmp_path_factory, engine):
    """The folder of a run with no option but where to."""
    out = tmp_path_factory.mktemp("digits")
    assert main(["--engine", engine, "--out", str(out)]) == 0
    return out


def history(out):
    with (out / "history.csv").open(newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


@pytest.mark.slow_on("mxnet")
def test_it_reads_digits(digits):
    """The claim: 97 % of digits that it has not seen, in about a minute."""
    rows = history(digits)
    assert [row["epoch"] for row in rows] == list(range(1, 31))
    assert rows[-1]["held_out_accuracy"] >= 0.97
    result = json.loads((digits / "config.json").read_text())["result"]
    assert result["held_out_accuracy"] == max(row["held_out_accuracy"] for row in rows)
    assert result["epochs_done"] == 30
    assert sorted(path.name for path in digits.iterdir()) == sorted(FILES)


@pytest.mark.slow_on("mxnet")
def test_the_picture_says_what_was_trained(digits, engine):
    with Image.open(digits / "curves.png") as image:
        title, details = image.text["Title"], image.text["Description"]
    right = (
        r"digits: 9\d\.\d\d% of the held-out samples right \(10\.03% are of the largest class, 1\)"
    )
    assert re.fullmatch(right, title)
    for what in ("1,438 samples", "64 - 256 - 128 - 10", "adam", "0.005", engine):
        assert what in details


OPTIONS = {
    "data": "digits",
    "validation": None,
    "steps_per_epoch": None,
    "max_steps": None,
    "max_time": None,
    "limit_batches": None,
    "overfit_batches": None,
    "fast_dev_run": False,
    "profile": False,
    "augment": [],
    "skip_broken": False,
    "task": None,
    "target": None,
    "columns": [],
    "encoding": "utf-8",
    "decimal": None,
    "features": [],
    "ignore": [],
    "image_size": None,
    "net": "mlp",
    "hidden": [256, 128],
    "activation": "sigmoid",
    "norm": None,
    "dropout": 0.0,
    "residual": False,
    "patch": None,
    "units": None,
    "depth": None,
    "heads": None,
    "pretrained": None,
    "head": None,
    "class_weight": None,
    "weights": None,
    "holdout": None,
    "epochs": 30,
    "batch_size": 64,
    "optimizer": "adam",
    "optimizer_option": {},
    "lr": 0.005,
    "weight_decay": 0.0,
    "schedule": "constant",
    "schedule_option": {},
    "warmup": 0.0,
    "clip": None,
    "accumulate": 1,
    "precision": "float32",
    "average": None,
    "freeze": [],
    "folds": None,
    "repeat": None,
    "seed": 0,
    "hybridize": "none",
    "ctx": "cpu:0",
    "out": "",
    "checkpoint_steps": None,
    "kvstore": "device",
    "patience": None,
    "metric": None,
    "tensorboard": None,
}


def test_quiet(run):
    status, out, err = run(*SHORT, "--quiet")
    assert (status, out, err) == (0, "", "")
    status, out, err = run(*SHORT, "--quiet", "--data", "absent.csv")
    assert (status, out) == (2, "") and "absent.csv: there is no such file" in err


@pytest.mark.slow_on("mxnet")
def test_config_says_how_to_do_it_again(digits, engine):
    config = json.loads((digits / "config.json").read_text())
    options = config["options"]
    assert options | {"out": ""} == OPTIONS | {"engine": engine}
    assert engine == "mxnet" or config["engine"]["threads"] >= 1
    assert config["engine"]["name"] == engine and config["engine"]["version"] == mx.__version__
    assert config["libraries"]["numpy"] == np.__version__
    assert config["data"] | {"mean": 0, "std": 0} == {
        "samples": 1438, "held_out": 359, "shape": [8, 8], "mean": 0, "std": 0,
        "task": "classification", "classes": list("0123456789"), "columns": [], "pixels": 16,
        "resized": False, "skipped": {}, "codes": [], "table": [], "offset": 0, "unit": 1,
        "split": {"holdout": None, "seed": 0},
        "target": {"name": None, "mean": 0, "std": 1, "offset": 0, "unit": 1},
    }  # fmt: skip
    parameters = 64 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    assert config["network"] == {
        "net": "mlp", "units": [64, 256, 128, 10], "parameters": parameters,
        "inputs": ["data"], "outputs": "scores",
    }  # fmt: skip


@pytest.mark.slow_on("mxnet")
def test_the_parameters_are_those_of_the_result(digits):
    config, data = json.loads((digits / "config.json").read_text()), load("digits")
    units = config["network"]["units"]
    net = with_scaling(nets.mlp(units[0], units[1:-1], units[-1]), replace(data, mean=data.std))
    net.load_parameters(str(digits / "model.params"))
    right = net(nd.array(data.held_out_x)).asnumpy().argmax(1) == data.held_out_y
    assert right.mean() == pytest.approx(config["result"]["held_out_accuracy"])


@pytest.mark.slow_on("mxnet")
def test_the_exported_net_is_that_of_the_result(digits):
    config, data = json.loads((digits / "config.json").read_text()), load("digits")
    files = [str(digits / name) for name in ("model-symbol.json", "model-0000.params")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MXNet's, of the type of data
        net = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    right = net(nd.array(data.held_out_x)).asnumpy().argmax(1) == data.held_out_y
    assert right.mean() == pytest.approx(config["result"]["held_out_accuracy"])


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("ctx", first_alone(["cpu", "cpu:0,cpu:1"]))
def test_with_module(run, tmp_path, ctx):
    """The same options, the same numbers, and a checkpoint of what they say."""
    assert run("--epochs", "3", "--ctx", ctx)[0] == 0
    rows = history(tmp_path / "out")
    status, said, errors = run("--epochs", "3", "--ctx", ctx, main=module.main)
    assert (status, errors) == (0, "") and "64 - 256 - 128 - 10: 50,826 parameters" in said
    for row, gluons in zip(history(tmp_path / "out"), rows):
        assert row == pytest.approx(gluons, rel=1e-3)
    config, data = json.loads((tmp_path / "out/config.json").read_text()), load("digits")
    trained = mx.mod.Module.load(str(tmp_path / "out/model"), 0)
    x = nd.array(data.held_out_x)
    trained.bind([("data", x.shape)], [("softmax_label", x.shape[:1])], for_training=False)
    trained.forward(mx.io.DataBatch([x]), is_train=False)
    right = trained.get_outputs()[0].asnumpy().argmax(1) == data.held_out_y
    assert right.mean() == pytest.approx(config["result"]["held_out_accuracy"])


def test_a_number_with_module(run, tmp_path):
    """The same numbers by gradient descent, to which the size of a gradient matters."""
    from sklearn.datasets import load_diabetes

    found = load_diabetes()
    np.savez(tmp_path / "data.npz", x=found.data, y=found.target)
    argv = ["--data", str(tmp_path / "data.npz"), "--task", "regression", "--epochs", "3"]
    argv += ["--optimizer", "sgd", "--lr", "0.01", "--hidden", "8"]
    assert run(*argv)[0] == 0
    rows = history(tmp_path / "out")
    status, said, errors = run(*argv, main=module.main)
    assert (status, errors) == (0, "") and "R² " in said
    assert list(rows[0])[2] == "mae" and 20 < rows[-1]["held_out_mae"] < 80
    for row, gluons in zip(history(tmp_path / "out"), rows):
        assert row == pytest.approx(gluons, rel=1e-3)


@pytest.mark.slow_on("mxnet")
@pytest.mark.slow
def test_module_from_the_command_line(engine, tmp_path):
    argv = ["-m", "train.module", *SHORT, "--engine", engine, "--out", str(tmp_path / "out")]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = forks.run(argv, env=env, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(MODULE_FILES)
    done = forks.run(["-m", "train.module", "--lr", "no"], env=env)
    expected = "expected a number above 0, such as 0.01, or PATTERN=RATE, not 'no'"
    assert done.stderr == f"train.module: --lr: {expected}\n"


def test_module_with_too_few_held_out_samples(run, tmp_path):
    np.savez(tmp_path / "data.npz", x=np.eye(6), y=np.arange(6))
    argv = ["--data", str(tmp_path / "data.npz"), "--ctx", "cpu:0,cpu:1", "--task", "regression"]
    status, _, errors = run(*SHORT, *argv, main=module.main)
    assert status == 2
    assert errors == "train.module: --ctx: not a held-out sample for each of 2 contexts\n"


@pytest.mark.slow_on("mxnet")
def test_recorded(run, tmp_path):
    assert run(*SHORT)[0] == 0
    eager = history(tmp_path / "out")
    assert run(*SHORT, "--hybridize", "recorded")[0] == 0
    for row, other in zip(history(tmp_path / "out"), eager):
        assert row == pytest.approx(other, rel=1e-4)
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["options"]["hybridize"] == "recorded"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)


@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("mode", ["compiled", "step"])
def test_mxnet_compiles_nothing(run, tmp_path, mode):
    status, said, errors = run("--hybridize", mode)
    assert (status, said) == (2, "") and not list(tmp_path.iterdir())
    expected = "expected hybridize none or recorded"
    assert errors == f"train: hybridize {mode}: needs the engine torch; {expected}\n"


@pytest.mark.engine("torch")
def test_a_step_is_compiled_for_one_context(run, tmp_path):
    status, said, errors = run("--hybridize", "step", "--ctx", "cpu:0,cpu:1")
    assert (status, said) == (2, "") and not list(tmp_path.iterdir())
    assert errors == "train: hybridize step: compiles for one context; ctx has 2\n"


def test_what_it_says(run, tmp_path):
    status, said, errors = run(*SHORT)
    assert status == 0 and errors == ""
    assert said.startswith("digits: 10 classes, 1,438 samples to learn from, 359 held out\n")
    assert "64 - 8 - 10: 610 parameters, adam with learning rate 0.005" in said
    assert re.search(r"^ +2 .*%.*%", said, re.M) and "samples/s" in said
    assert str(tmp_path / "out") in said.splitlines()[-1]


@pytest.mark.slow_on("mxnet")
def test_the_same_seed_gives_the_same_files(run, tmp_path):
    first, second = [], []
    for files, seed in ((first, "5"), (second, "5"), ([], "6")):
        assert run(*SHORT, "--seed", seed)[0] == 0
        files += [
            (tmp_path / "out" / name).read_bytes() for name in ("history.csv", "model.params")
        ]
        if seed == "6":
            assert files[0] != first[0]
    assert first == second


@pytest.mark.slow_on("mxnet")
def test_several_contexts(run, tmp_path):
    assert run(*SHORT)[0] == 0
    one = history(tmp_path / "out")
    assert run(*SHORT, "--ctx", "cpu:0,cpu:1")[0] == 0
    for row, alone in zip(history(tmp_path / "out"), one):
        assert row == pytest.approx(alone, rel=1e-4)
    assert json.loads((tmp_path / "out/config.json").read_text())["options"]["ctx"] == "cpu:0,cpu:1"


def test_an_npz(run, tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 2, 3))
    np.savez(tmp_path / "data.npz", x=x, y=(x.sum((1, 2)) > 0).astype(int))
    status, said, _ = run(*SHORT, "--data", str(tmp_path / "data.npz"), "--optimizer", "sgd")
    assert status == 0 and "2 classes, 32 samples to learn from, 8 held out" in said
    assert json.loads((tmp_path / "out/config.json").read_text())["data"]["shape"] == [2, 3]


@pytest.mark.parametrize(
    "argv, reason",
    [
        (["--epochs", "0"], "--epochs: expected a whole number from 1, not '0'"),
        (["--ctx", "gpu:999"], "--ctx gpu:999: "),
        (["--ctx", "cpu:0,cpu:1", "--batch-size", "1"], "--batch-size 1: "),
        (["--data", "absent.npz"], "--data absent.npz: there is no such file"),
        (["--data", "mnist:/absent"], "--data mnist:/absent: there is no /absent/train-images"),
        (["--nope"], "unrecognized arguments: --nope\n"),
        (["--bacth-size=3"], "unrecognized arguments: --bacth-size=3; did you mean --batch-size?"),
        (["--activation", "sillu"], "--net mlp: activation is 'sillu'; expected one of geglu, "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done(run, tmp_path, argv, reason):
    status, said, errors = run(*argv)
    assert (status, said) == (2, "")
    assert errors.startswith(f"train: {reason}") and errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_out_is_looked_at_before_the_data(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["--out", str(tmp_path / "file/out"), "--data", "absent.npz"]) == 2
    assert re.match(r"train: --out .*: cannot write there: .*\n$", capsys.readouterr().err)


def test_the_disk_is_full_at_the_end(run, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(results, "curves", fail)
    status, _, errors = run(*SHORT, "--epochs", "1")
    assert status == 2 and errors == f"train: --out {tmp_path / 'out'}: No space left on device\n"
    left = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert left == ["checkpoints", "config.json", "history.csv"]
    monkeypatch.undo()
    assert run(*SHORT, "--epochs", "1", "--resume")[0] == 0


def test_a_loss_that_is_not_finite(run, tmp_path):
    status, _, errors = run(*SHORT, "--lr", "3e38")
    assert status == 3
    assert re.fullmatch(
        r"train: epoch 1, step 2: the loss is (nan|inf); in step 2 the output of layer 1.\d "
        r"\(\w+Block\) is the first that is (nan|inf); try a --lr below 3e\+38\n",
        errors,
    )
    left = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert left == ["config.json", "history.csv"]


def test_a_loss_far_above_that_of_guessing(run, tmp_path):
    """It is told by the exit status, too; the files show what happened."""
    status, said, errors = run(*SHORT, "--lr", "10")
    assert status == 3 and "samples/s" in said
    assert re.fullmatch(
        r"train: epoch 2: the loss is \S+, before the training it was 2\.\d+, and that of guessing "
        r"is 2.303; try a --lr below 10\n",
        errors,
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)


def test_a_short_training_that_begins_far_above_guessing(run, tmp_path):
    """It falls, so that no lower rate is advised, and it is no failure."""
    (tmp_path / "far.py").write_text(
        "from layers.engine import gluon, mx\n"
        "def build(shape, outputs):\n"
        "    return gluon.nn.Dense(outputs, weight_initializer=mx.init.Normal(9))\n"
    )
    x = np.random.default_rng(0).normal(size=(100, 4))
    np.savez(tmp_path / "sums.npz", x=x, y=x.sum(axis=1))
    net, data = f"{tmp_path / 'far.py'}:build", str(tmp_path / "sums.npz")
    argv = ["--net", net, "--data", data, "--task", "regression", "--epochs", "2"]
    status, said, errors = run(*argv)
    assert status == 0 and "samples/s" in said
    assert re.fullmatch(
        r"epoch 2: the loss is \S+, before the training it was \S+, and that of guessing is 1: it "
        r"has learned little yet; try more --epochs or another --lr\n",
        errors,
    )


@pytest.mark.parametrize("main", [main, module.main], ids=["gluon", "module"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_what_was_learned(run, tmp_path, monkeypatch, main, number):
    step, steps = Logging.after_step, []
    monkeypatch.setattr("train.callbacks.SIGNALS", [number])  # it may be ignored in the tests
    before = signal.signal(number, signal.SIG_DFL)

    def interrupted(self, run):
        steps.append(run.step)
        if len(steps) == 29:
            signal.raise_signal(number)
        return step(self, run)

    monkeypatch.setattr(Logging, "after_step", interrupted)
    status, said, errors = run("--epochs", "5", "--hidden", "8", main=main)
    assert signal.signal(number, before) is signal.SIG_DFL
    assert status == 128 + number and len(steps) == 30
    assert re.fullmatch(
        r"train\S*: interrupted in epoch 2, after 4\d\d of its 1,438 samples; "
        r"the files are of the best whole epoch, 1, and --resume goes on\n",
        errors,
    )
    rows = history(tmp_path / "out")
    assert [row["epoch"] for row in rows] == [1, 2] and 400 < rows[1]["samples"] < 500
    result = json.loads((tmp_path / "out/config.json").read_text())["result"]
    assert result["samples"] == 1438 and result["epochs_done"] == 2
    files = FILES if "train:" in errors else MODULE_FILES
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(files)
    assert "samples/s" in said


def test_ctrl_c_while_files_are_written(run, tmp_path, monkeypatch, capsys):
    """Once, they are finished first; twice, there is what was there before."""
    curves, count = results.curves, 1

    def interrupted(*args):
        for _ in range(count):
            signal.raise_signal(signal.SIGINT)
        curves(*args)

    monkeypatch.setattr(results, "curves", interrupted)
    status, _, errors = run(*SHORT)
    assert status == 130
    assert errors == "train: interrupted after the last epoch; the files are complete\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    count = 2
    status = main([*SHORT, "--out", str(tmp_path / "other")])
    errors = capsys.readouterr().err
    assert (status, errors) == (130, "train: interrupted at once\n")
    left = sorted(path.name for path in (tmp_path / "other").iterdir())
    assert left == ["checkpoints", "config.json", "history.csv"]


@pytest.mark.slow
def test_both_programs_into_one_folder(run, tmp_path):
    """The files are those of the last run alone."""
    assert {*FILES, *MODULE_FILES} == {*results.NAMES, "checkpoints"}
    for program, files in ((main, FILES), (module.main, MODULE_FILES), (main, FILES)):
        status, _, errors = run(*SHORT, "--epochs", "1", main=program)
        assert (status, errors) == (0, "")
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(files)


def test_ctrl_c_before_it_learns(run, tmp_path, monkeypatch):
    monkeypatch.setattr("train.run.load", lambda *_: signal.raise_signal(signal.SIGINT))
    status, _, errors = run(*SHORT)
    assert (status, errors) == (130, "train: interrupted at once\n")
    assert not list(tmp_path.iterdir())


def test_in_another_thread(run, tmp_path):
    statuses = []
    thread = threading.Thread(target=lambda: statuses.append(run(*SHORT, "--epochs", "1")[0]))
    thread.start()
    thread.join()
    assert statuses == [0]


def test_the_bar(monkeypatch):
    class Terminal(list):
        write, encoding = list.append, "utf-8"

        def flush(self):
            pass

        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar, meter = Logging(), Meter("epoch 1")
    run = Run(None, ArrayBatches([0] * 20, [0] * 20, 10), None, 2, Task(("a", "b")), meter=meter)
    bar.begin(run)
    meter.add([nd.array([[0.5, 1]] * 10)])
    bar.after_step(run)
    bar.end(run)
    said = "".join(terminal)
    assert "epoch 1/2" in said and "samples/s" in said and " left" in said
    assert "loss 0.5000, accuracy 100.00%" in said


def test_an_engine_that_is_not_this_one(run, engine, monkeypatch):
    monkeypatch.setenv("LAYERS_ENGINE", engine)  # put back afterwards
    other = {"torch": "mxnet", "mxnet": "torch"}[engine]
    status, _, errors = run("--engine", other)
    assert (status, errors) == (
        2,
        f"train: --engine {other}: this process runs on {engine} already\n",
    )


def subprocess_run(*argv, **env):
    clean = {name: value for name, value in os.environ.items() if name != "LAYERS_ENGINE"}
    return subprocess.run(
        [sys.executable, *argv],
        env={**clean, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_from_the_command_line(engine, tmp_path):
    argv = ["-m", "train", *SHORT, "--engine", engine, "--out", str(tmp_path / "out")]
    done = subprocess_run(*argv)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{engine} on cpu:0" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    done = subprocess_run("-m", "train", "--lr", "no")
    assert done.returncode == 2
    assert (
        done.stderr
        == "train: --lr: expected a number above 0, such as 0.01, or PATTERN=RATE, not 'no'\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "end",
    first_alone(["| head -n 1", ">/dev/full", "2>&-", "<&- >&- 2>&-"]),
)
def test_what_cannot_be_printed(engine, tmp_path, end):
    """The training and the files do not depend on it."""
    argv = [*SHORT, "--engine", engine, "--out", str(tmp_path / "out")]
    line = f"set -o pipefail; {shlex.join([sys.executable, '-m', 'train', *argv])} {end}"
    done = subprocess.run(
        ["bash", "-c", line],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)


@pytest.mark.slow
def test_a_terminal_that_is_gone(engine, tmp_path):
    """As after a lost connection: SIGHUP, and a bar that cannot be written."""
    argv = ["--epochs", "1000", "--engine", engine, "--out", str(tmp_path / "out")]
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))  # room for the bar
    with subprocess.Popen(
        [sys.executable, "-m", "train", *argv],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    ) as process:
        os.close(end)
        try:
            while b"samples/s" not in os.read(terminal, 10000):
                pass
            os.close(terminal)
            process.send_signal(signal.SIGHUP)
            assert process.wait(60) == 128 + signal.SIGHUP
        finally:
            process.kill()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)


def test_ctrl_c_ends_the_process(engine, tmp_path):
    """With steps still to be computed, over which MXNet hangs at exit."""
    argv = ["--hidden", "512,512", "--epochs", "1000", "--out", str(tmp_path / "out")]
    with subprocess.Popen(
        [sys.executable, "-m", "train", "--engine", engine, *argv],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline().startswith("digits: ")
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130 and errors.startswith("train: interrupted in epoch ")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)


@pytest.mark.parametrize(
    "missing, expected",
    [
        (
            "mxnet",
            "train: the engine 'mxnet' needs mxnet, which is not installed; expected pip install "
            "'mxnet==1.9.1' 'numpy<1.24', or another LAYERS_ENGINE",
        ),
        ("tqdm", "train: not installed: pip install tqdm\n"),
    ],
)
def test_a_library_that_is_not_installed(missing, expected, tmp_path):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; from train.__main__ import main; "
        f"sys.exit(main(['--engine', 'mxnet', '--out', {str(tmp_path / 'out')!r}]))"
    )
    done = subprocess_run("-c", code)
    assert done.returncode == 2
    assert done.stderr.startswith(expected) and done.stderr.count("\n") == 1


def test_help_starts_no_engine():
    code = (
        "import sys; from train.__main__ import main\n"
        "try: main(['--help'])\n"
        "finally: print({'torch', 'mxnet', 'matplotlib', 'sklearn'} & {*sys.modules})"
    )
    done = subprocess_run("-c", code)
    assert done.stdout.splitlines()[-1] == "set()" and "examples:" in done.stdout
