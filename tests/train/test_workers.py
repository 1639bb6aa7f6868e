"""Training in several processes: ``torchrun -m train --kvstore dist_sync``."""

import csv
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from layers.engine import mx, nd
from train import Refused
from train.__main__ import main
from train.workers import Workers, lost

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["--epochs", "2", "--hidden", "8", "--lr", "0.05"]
LONG = ["--hidden", "8", "--optimizer", "sgd", "--lr", "0.01", "--checkpoint-steps", "5"]
FIT = """
import sys
import numpy as np
from layers import SoftmaxLoss
from layers.engine import gluon, mx
from train import callbacks, fit

rng = np.random.default_rng(0)
x, y = rng.normal(size=(50, 4)).astype("float32"), rng.integers(0, 3, 50)
net, w = gluon.nn.Dense(3), rng.uniform(size=50)
y[::3] = -1
history = fit(net, (x, y, w), SoftmaxLoss(ignore_label=-1), epochs=3, batch_size=7,
              validation=(x[:5], y[:5]), metric="accuracy",
              callbacks=[callbacks.Logging()], kvstore=sys.argv[2])
np.savez(sys.argv[1], net.weight.data().asnumpy(), [epoch.loss for epoch in history],
         [epoch.held_out_metric for epoch in history], [epoch.samples for epoch in history])
"""


def environment(**more):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return (
        os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "LAYERS_ENGINE": "torch"} | more
    )


def torchrun(count, *program, cwd, **more):
    command = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run", "--standalone"]
    return subprocess.run(
        [*command, "--nproc-per-node", str(count), *map(str, program)],
        env=environment(LAYERS_DIST_TIMEOUT="60", **more),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_other_processes_need_the_kvstore(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(Refused, match="torchrun has started 2 processes; expected dist_sync"):
        Workers("device")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert Workers("device").count == 1


def one_by_one(count, *arguments, cwd, **more):
    """Start processes without torchrun, which would end all of them with the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    given = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    command = [sys.executable, "-m", "train", "--kvstore", "dist_sync", *map(str, arguments)]
    started = []
    for rank in range(count):
        env = environment(RANK=str(rank), LAYERS_DIST_TIMEOUT="60", **given, **more)
        with (cwd / f"said-{rank}").open("w") as said:
            started.append(
                subprocess.Popen(
                    command, env=env, cwd=cwd, stdout=said, stderr=subprocess.PIPE, text=True
                )
            )
    return started


def history(out):
    with (out / "history.csv").open(newline="") as file:
        return [[float(value) for value in row] for row in list(csv.reader(file))[1:]]


def parameters(out):
    return {name: array.asnumpy() for name, array in nd.load(str(out / "model.params")).items()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-5)


def check_program(count, tmp_path, *options):
    done = torchrun(
        count,
        "-m",
        "train",
        "--kvstore",
        "dist_sync",
        *SHORT,
        *options,
        "--out",
        "run",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(re.findall(r"^epoch +loss", done.stdout, re.MULTILINE)) == 1  # one process shows
    alone = tmp_path / "alone"
    assert main([*SHORT, *options, "--engine", "torch", "--out", str(alone)]) == 0
    np.testing.assert_allclose(history(tmp_path / "run"), history(alone), rtol=1e-4)
    assert_same(parameters(tmp_path / "run"), parameters(alone))


@pytest.mark.engine("torch")
def test_two_processes_train_as_one_does(tmp_path):
    check_program(2, tmp_path)


@pytest.mark.slow
@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "count, options",
    [
        (2, ["--hybridize", "recorded"]),
        (2, ["--ctx", "cpu:0,cpu:1"]),
        (2, ["--hybridize", "step"]),
        (4, []),
        (3, ["--batch-size", "10", "--optimizer", "sgd"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_processes_train_as_one_does(count, options, tmp_path):
    check_program(count, tmp_path, *options)


@pytest.mark.engine("torch")
@pytest.mark.skipif(not mx.context.num_gpus(), reason="no GPU: nccl sums what is on GPUs")
@pytest.mark.parametrize("options", [[], ["--precision", "float16"], ["--hybridize", "recorded"]])
def test_each_gpu_trains_in_a_process(options, tmp_path):
    """With nccl, which takes one process for each GPU, be it a single one."""
    check_program(mx.context.num_gpus(), tmp_path, "--ctx", "gpu", *options)


@pytest.mark.slow
@pytest.mark.engine("torch")
def test_fit(tmp_path):
    """Also where a process has no sample of a batch: 3 held-out samples in 4 processes."""
    program = tmp_path / "program.py"
    program.write_text(FIT)
    done = torchrun(4, program, tmp_path / "four.npz", "dist_sync", cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(re.findall("^epoch 1/3", done.stdout, re.MULTILINE)) == 1
    alone = [sys.executable, program, tmp_path / "one.npz", "device"]
    subprocess.run(alone, env=environment(), check=True, capture_output=True)
    with np.load(tmp_path / "four.npz") as found, np.load(tmp_path / "one.npz") as expected:
        for name in expected.files:
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-5)


@pytest.fixture
def long_run(tmp_path):
    """Two processes that train for long."""
    options = [*LONG, "--epochs", "100000", "--out", "run"]
    processes = one_by_one(2, *options, cwd=tmp_path, PYTHONUNBUFFERED="1")
    try:
        wait_until_trained(tmp_path / "said-0", processes)
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def wait_until_trained(said, processes):
    for _ in range(1200):
        if "parameters" in said.read_text():
            time.sleep(1)
            return
        assert all(process.poll() is None for process in processes), processes[0].stderr.read()
        time.sleep(0.1)
    raise AssertionError("it has not begun")


@pytest.mark.slow
@pytest.mark.engine("torch")
def test_a_signal_to_one_process_ends_all_after_a_step(long_run, tmp_path):
    long_run[1].send_signal(signal.SIGTERM)
    said = [process.communicate(timeout=100)[1] for process in long_run]
    assert [process.returncode for process in long_run] == [0, 128 + signal.SIGTERM], said
    assert (tmp_path / "run" / "model.params").exists()
    check_resumed(tmp_path)


@pytest.mark.slow
@pytest.mark.engine("torch")
def test_a_killed_process_ends_the_others(long_run, tmp_path):
    long_run[1].kill()
    said = long_run[0].communicate(timeout=100)[1]
    assert long_run[0].returncode == 4
    line = said.splitlines()[-1]
    assert line.startswith("train: process 0 of 2: another one has ended, or does not answer (")
    assert ".cc:" not in line and line.endswith("the one that failed first says why")
    check_resumed(tmp_path)


def check_resumed(folder):
    """All checkpoints are whole, and what goes on from the last is as one process has it."""
    from train.saved import checkpoints, position, read

    found = checkpoints(folder / "run" / "checkpoints")
    assert all(read(path) for path in found)
    epochs = str(position(found[0])[0] + 2)
    program = "-m", "train", "--kvstore", "dist_sync", *LONG, "--epochs", epochs, "--resume"
    done = torchrun(2, *program, "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    alone = folder / "alone"
    assert main([*LONG, "--epochs", epochs, "--engine", "torch", "--out", str(alone)]) == 0
    np.testing.assert_allclose(history(folder / "run"), history(alone), rtol=1e-3)


@pytest.mark.engine("torch")
def test_without_torchrun(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    assert main(["--kvstore", "dist_sync", "--out", str(tmp_path / "out")]) == 2
    assert "torchrun --nproc-per-node 2" in capsys.readouterr().err


@pytest.mark.engine("mxnet")
def test_on_mxnet(tmp_path, capsys):
    assert main(["--kvstore", "dist_sync", "--out", str(tmp_path / "out")]) == 2
    assert "kvstore dist_sync: needs --engine torch" in capsys.readouterr().err


def test_one_process_has_all():
    workers = Workers()
    assert workers.part([1, 2, 3]) == [1, 2, 3] and workers.sums([1, 2.5]) == [1, 2.5]
    assert workers.contexts([("gpu", 0)]) == [("gpu", 0)]


def test_the_parts_of_a_batch():
    workers = Workers()
    workers.count, parts = 3, []
    for workers.rank in range(3):
        parts.append(workers.part([*range(8)]))
    assert sum(parts, []) == [*range(8)] and sorted(map(len, parts)) == [2, 3, 3]


def test_each_process_of_a_machine_has_a_gpu_of_its_own(monkeypatch):
    workers = Workers()
    workers.count = 2
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert workers.contexts([("gpu", 0)]) == [("gpu", 1)]
    assert workers.contexts([("cpu", 0)]) == [("cpu", 0)]
    assert workers.contexts([("gpu", 0), ("gpu", 1)]) == [("gpu", 0), ("gpu", 1)]


def test_all_refuse_what_differs(monkeypatch):
    """Also the one whose number is the mean."""
    workers = Workers()
    workers.count = 3
    monkeypatch.setattr(workers, "each", lambda _: [[1.0], [2.0], [3.0]])
    for workers.rank in range(3):
        told = rf"^the step is \[{workers.rank + 1}.0\] here, and .*; expected the same in all$"
        with pytest.raises(Refused, match=told):
            workers.expect_same("the step", [workers.rank + 1])


def test_one_process_refuses_for_all():
    workers = Workers()
    with pytest.raises(Refused, match="^my reason$"), workers.agreeing():
        raise Refused("my reason")
    workers.sums = lambda numbers: [number + 1 for number in numbers]  # another one refuses
    with (
        pytest.raises(Refused, match="^another process cannot train; its own line says why$"),
        workers.agreeing(),
    ):
        pass


@pytest.mark.parametrize("error", [Refused, OSError, MemoryError, AssertionError])
def test_whatever_fails_is_told_to_the_others(error):
    workers, told = Workers(), []
    workers.sums = lambda numbers: told.append(numbers) or numbers
    with pytest.raises(error, match="^my reason$"), workers.agreeing():
        raise error("my reason")
    assert told == [[True]]


def test_more_processes_than_samples(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Workers, "__init__", lambda self, _: vars(self).update(of_many()))
    assert main([*SHORT, "--batch-size", "3", "--out", str(tmp_path / "out")]) == 2
    assert "--batch-size 3: not a sample for each of 4 contexts" in capsys.readouterr().err


def of_many():
    return {"kvstore": "device", "rank": 0, "count": 4, "store": None}


def test_a_loss_is_one_sentence():
    error = RuntimeError("kvstore 'dist_sync': process 1 of 2 has lost another process")
    reason = "[../third_party/gloo/pair.cc:534] Connection closed by peer [127.0.0.1]:7."
    error.lost_process = "process 1 of 2", reason
    assert str(lost(error)) == (
        "process 1 of 2: another one has ended, or does not answer (Connection closed by peer "
        "[127.0.0.1]:7); the one that failed first says why"
    )
    assert lost(RuntimeError("kvstore 'dist_sync': RANK not set")) is None


def test_only_what_is_lost_is_told_so():
    with pytest.raises(RuntimeError, match="kvstore: process"), Workers().training():
        raise RuntimeError("kvstore: process 0 of 1")
    with pytest.raises(Refused), Workers().training():
        raise Refused("no")


@pytest.mark.slow
@pytest.mark.engine("torch")
def test_a_loss_that_explodes_ends_all(tmp_path):
    options = ["--optimizer", "sgd", "--lr", "5000", "--epochs", "3", "--out", "run"]
    begun = time.time()
    done = torchrun(2, "-m", "train", "--kvstore", "dist_sync", *options, cwd=tmp_path)
    assert done.returncode == 1 and time.time() - begun < 55  # none waited for another one
    said = re.findall("^train: epoch 1: the loss has grown.*$", done.stderr, re.MULTILINE)
    # The launcher may end the other process before it has said the same.
    assert "; at its end layer 1." in said[0] and {*said} == {said[0]}


@pytest.mark.slow
@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "option, value, reason",
    [
        ("--data", "nowhere.csv", "--data nowhere.csv: there is no such file"),
        ("--net", "nowhere.py:f", "--net nowhere.py:f: there is no file nowhere.py"),
        ("--optimizer", "none", "--optimizer: expected one of "),
    ],
    ids=["data", "net", "optimizer"],
)
def test_what_one_refuses_all_refuse(option, value, reason, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\nfrom train.__main__ import main\n"
        "more = sys.argv[1:] if os.environ['RANK'] == '1' else []\n"
        'print(f\'\\nstatus {main(["--kvstore", "dist_sync", *more])}\')\n'
    )
    done = torchrun(2, program, option, value, cwd=tmp_path)
    assert done.stdout.split() == ["status", "2"] * 2
    assert f"train: {reason}" in done.stderr
    assert "train: another process cannot train; its own line says why" in done.stderr


# What process 1 gives differs.
FIT_TOGETHER = """
import os
import numpy as np
from layers import SoftmaxLoss
from layers.engine import gluon
from train import Lost, Refused, callbacks, fit

rank = int(os.environ["RANK"])
rng = np.random.default_rng(0)
x, y = rng.normal(size=(50, 4)).astype("float32"), rng.integers(0, 3, 50)
told = open(f"told-{rank}", "w")

def together(x, *others, **more):
    net = gluon.nn.Dense(3)
    how = {"batch_size": 7, "epochs": 3, "learning_rate": 0.3, "validation": (x[:9], 2 - y[:9])}
    try:
        fit(net, (x, y), SoftmaxLoss(), callbacks=others, kvstore="dist_sync", **how, **more)
        print("sum", net.weight.data().sum().asscalar(), file=told, flush=True)
    except (Refused, Lost) as error:
        print(f"{type(error).__name__}: {error}", file=told, flush=True)

class Ends(callbacks.Callback):
    def after_step(self, run):
        if rank:
            os._exit(0)

together(x, ctx=None if rank else "nothing")
together(x * (np.nan if rank else 1))
together(x, callbacks.Checkpoint("saved", keep=9, restore_best=True))
folder = "saved" if rank else "new"
together(x, callbacks.Checkpoint("new"), callbacks.Checkpoint("saved"), resume=folder)
together(x, callbacks.Checkpoint("saved"))
together(x, Ends())
"""


@pytest.mark.slow
@pytest.mark.engine("torch")
def test_processes_of_fit(tmp_path):
    """They refuse together, have the same net at the end, and tell of one that is lost."""
    program = tmp_path / "program.py"
    program.write_text(FIT_TOGETHER)
    done = torchrun(2, program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    first, second = ((tmp_path / f"told-{rank}").read_text().splitlines() for rank in range(2))
    other = "Refused: another process cannot train; its own line says why"
    assert first[:2] == ["Refused: ctx: expected a Context such as mx.gpu(0), or several, not "
                         "'nothing'", other]  # fmt: skip
    assert second[0] == other and second[1].startswith("Refused: data: x[0] has the value nan")
    assert first[2] == second[2] and first[2].startswith("sum ")
    differs = "Refused: whether there is a checkpoint in the folder, its epoch and its step is "
    assert first[3].startswith(f"{differs}[0.0, 0.0, 0.0] here")
    assert second[3].startswith(f"{differs}[1.0, 3.0, 0.0] here")
    assert first[4].startswith("Refused: saved holds checkpoints of a training, up to epoch-0003; ")
    assert second[4] == other
    assert first[5].startswith("Lost: process 0 of 2: another one has ended, or does not answer (")
    assert (len(first), len(second)) == (6, 5)
