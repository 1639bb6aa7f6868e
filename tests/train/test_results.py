"""The folder of a run: all of its files or none, however it ends."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from train import Refused, callbacks, results
from train.state import Epoch, Run
from train.task import Task

pytestmark = pytest.mark.slow_on("mxnet")

TASK = Task(("a", "b"))
ROOT = Path(__file__).resolve().parents[2]


def epochs(count):
    return [Epoch(i, 2 / i, 1 - 0.5 / i, 2.5 / i, 0.5, 0.25, 9) for i in range(1, count + 1)]


class Net:
    """What was learned, as a text."""

    files = ("model.params",)

    def save(self, folder, config):
        (folder / "model.params").write_text("parameters")


FILES = results.files(Net())


def settle(out, names):
    with results.opened(out, names):
        pass


def run_of(net, epochs):
    return Run(net, None, [], len(epochs), TASK, history=epochs)


def written(out, epochs, net, config, title="", **how):
    with results.opened(out, results.files(net), **how):
        results.write_results(out, run_of(net, epochs), config, title, TASK)


def test_write(tmp_path):
    out = tmp_path / "a/b"
    with results.opened(out, FILES):
        pass
    assert not out.parent.exists()
    written(out, epochs(3), Net(), {"seed": 4}, "a title")
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    assert json.loads((out / "config.json").read_text()) == {"seed": 4, "files": [*FILES]}
    umask = os.umask(0)
    os.umask(umask)
    for path in out.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def failing(error):
    def fail(*_):
        raise error

    return fail


@pytest.mark.parametrize(
    "error, raised",
    [(OSError(28, "No space left on device"), Refused), (KeyboardInterrupt(), KeyboardInterrupt)],
    ids=["full", "Ctrl-C"],
)
def test_all_or_nothing(tmp_path, monkeypatch, error, raised):
    written(tmp_path, epochs(3), Net(), {})
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(results, "curves", failing(error))
    for out in (tmp_path, tmp_path / "new/folder"):
        with pytest.raises(raised):
            written(out, epochs(9), Net(), {})
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_where_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("file", "file/below", "x" * 300):
        with pytest.raises(Refused, match="^--out .*: cannot write there: "):
            settle(tmp_path / name, FILES)
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(Refused, match="it is a file, or a link that leads nowhere"):
        settle(tmp_path / "link", FILES)
    (tmp_path / "link").unlink()
    (tmp_path / "curves.png").mkdir()
    with pytest.raises(Refused, match="curves.png is a folder"):
        settle(tmp_path, FILES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "file"]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    for out in (tmp_path, tmp_path / "below"):
        with pytest.raises(Refused, match="Permission denied"):
            settle(out, FILES)


# Runs whose files all have the run's number in them.
RUNS = """
import json, os, shutil, signal, sys, time
from pathlib import Path
from types import SimpleNamespace
from train import results
from train.state import Epoch

out, slow = Path(sys.argv[1]), 0.0

class Net:
    files = ("model.params", "model-symbol.json")
    def __init__(self, run, files=files):
        self.files = files
        self.run = run
    def save(self, folder, config):
        for name in self.files:
            (folder / name).write_text(f"run {self.run}")
            time.sleep(slow)

def curves(run, path, title, task):
    path.write_text(title)

def history(run, path):
    path.write_text(f"run {run.history}")

results.curves, results.write_history = curves, history

def write(run, *files):
    with results.opened(out, ()):
        named = SimpleNamespace(history=run, learner=Net(run, *files))
        results.write_results(out, named, {"run": run}, f"run {run}", None)

def settle(out, names):
    with results.opened(out, names):
        pass

def run_of(path):
    text = path.read_text()
    return f"run {json.loads(text)['run']}" if path.name == "config.json" else text

def runs():
    return {run_of(path) for path in out.iterdir() if path.is_file()}

def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def in_a_process(program, out):
    subprocess.run(
        [sys.executable, "-c", RUNS + program, out],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_killed_at_any_moment(tmp_path):
    """At each of its calls of the system: the files are never of two runs, and nothing stays.

    The two runs have different files. What settles the folder after the first is killed, too.
    """
    program = """
FILES = {"run 0": ("model.params", "model-symbol.json"),
         "run 1": ("model-symbol.json", "model-0000.params")}
copy = out.with_name("copy")

def killed_at(moment, function, *args):
    pid = os.fork()
    if pid == 0:
        left = iter(range(moment, -1, -1))
        def hook(event, args):
            if event.partition(".")[0] in ("os", "open") and next(left, None) == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        function(*args)
        os._exit(0)
    status = wait(pid)
    assert len(runs()) <= 1, (moment, runs())
    return status != 0

def settled():
    settle(out, ())
    (run,) = runs()
    names = sorted(path.name for path in out.iterdir())
    assert names == sorted(["history.csv", "curves.png", "config.json", *FILES[run]]), (run, names)
    return run

seen, moment, killed, again = set(), 0, True, 0
while killed:
    shutil.rmtree(out, ignore_errors=True)
    write(0, FILES["run 0"])
    killed = killed_at(moment, write, 1, FILES["run 1"])
    if any(path.name.startswith(".") for path in out.iterdir()):
        shutil.copytree(out, copy)
        second = 0
        while killed_at(second, settle, out, ()):
            settled()
            shutil.rmtree(out)
            shutil.copytree(copy, out)
            second += 1
        again = max(again, second)
        shutil.rmtree(copy)
    seen.add(settled())
    moment += 1
assert moment > 20 and again > 15 and seen == {*FILES}, (moment, again, seen)
"""
    in_a_process(program, tmp_path / "out")


def test_files_that_an_earlier_run_has_not_written_stay(tmp_path):
    written(tmp_path, epochs(1), Net(), {})
    (tmp_path / "model-0000.params").write_text("of somebody else")
    (tmp_path / "notes.txt").write_text("of somebody else")
    there = {*FILES, "model-0000.params", "notes.txt"}
    written(tmp_path, epochs(2), Net(), {})
    assert {path.name for path in tmp_path.iterdir()} == there


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"files": 3}', '{"files": ["notes.txt", "../notes.txt", []]}', "[" * 9999],
    ids=range(6),
)
def test_a_config_of_somebody_else(tmp_path, text):
    out = tmp_path / "out"
    out.mkdir()
    for path in (out / "notes.txt", tmp_path / "notes.txt"):
        path.write_text("of somebody else")
    (out / "config.json").write_text(text)
    written(out, epochs(2), Net(), {})
    assert {path.name for path in out.iterdir()} == {*FILES, "notes.txt"}
    assert (tmp_path / "notes.txt").exists()


def test_one_run_at_a_time(tmp_path):
    out = tmp_path / "out"
    with results.opened(out, FILES):
        for _ in range(2):
            with pytest.raises(Refused, match="another training is writing there"):
                settle(out, FILES)
    assert not out.exists()
    settle(out, FILES)


def test_what_holds_a_run(tmp_path):
    """Not a folder in which nothing was learned yet."""
    written(tmp_path / "a", epochs(1), Net(), {})
    with pytest.raises(Refused, match="it holds another run: curves.png; expected --overwrite"):
        written(tmp_path / "a", epochs(1), Net(), {}, replace=False)
    (tmp_path / "b/checkpoints/epoch-0001").mkdir(parents=True)
    with pytest.raises(Refused, match="it holds another run: epoch-0001; "):
        written(tmp_path / "b", epochs(1), Net(), {}, replace=False)
    results.remove_results(tmp_path / "b")
    results.write_first_config(tmp_path / "b", {})
    (tmp_path / "b/history.csv").write_text("epoch,loss\n")
    written(tmp_path / "b", epochs(1), Net(), {}, replace=False)


def test_results_without_a_checkpoint_are_not_replaced_by_resuming(tmp_path):
    (tmp_path / "model.params").write_text("precious")
    with pytest.raises(Refused) as refused:
        written(tmp_path, epochs(1), Net(), {}, replace=False, resume=True)
    assert str(refused.value) == (
        f"--out {tmp_path}: it holds a run without a checkpoint to go on from: model.params; "
        "expected --overwrite, or another folder"
    )
    (tmp_path / "checkpoints/epoch-0001").mkdir(parents=True)
    written(tmp_path, epochs(1), Net(), {}, replace=False, resume=True)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name, text", [("config.json", '{"epochs": 3}'), ("history.csv", "a,b")])
def test_files_of_nobodys_run_are_not_replaced(tmp_path, name, text, resume):
    """As a config.json of one's own would be by --config config.json --out . without this."""
    (tmp_path / name).write_text(text)
    with pytest.raises(Refused) as refused:
        written(tmp_path, epochs(1), Net(), {}, replace=False, resume=resume)
    line = f"--out {tmp_path}: its {name} is of no run; expected another folder, or --overwrite, "
    assert str(refused.value) == f"{line}which replaces it"
    assert [path.read_text() for path in tmp_path.iterdir()] == [text]
    (tmp_path / "checkpoints/epoch-0001").mkdir(parents=True)  # whose history.csv it is
    written(tmp_path, epochs(1), Net(), {}, replace=False, resume=True)


def test_history_is_written_after_every_epoch(tmp_path):
    path = tmp_path / "history.csv"
    run = Run(None, None, None, 3, TASK, history=epochs(1))
    history = callbacks.History(path)
    history.begin(run)
    for done in epochs(3)[1:]:
        history.after_epoch(run, done)
        lines = path.read_text().splitlines()
        assert len(lines) == done.epoch + 1 and lines[-1].startswith(f"{done.epoch},")
    written(tmp_path / "out", epochs(3), Net(), {})
    assert path.read_bytes() == (tmp_path / "out/history.csv").read_bytes()


def test_a_history_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device")

    run = Run(None, None, None, 3, TASK, history=epochs(1))
    history = callbacks.History(tmp_path / "history.csv")
    history.begin(run)
    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(Refused, match="history.csv cannot be written: No space left on device"):
        history.after_epoch(run, epochs(2)[1])


def test_files_that_cannot_be_moved_are_not_lost(tmp_path):
    (tmp_path / "config.json").mkdir()
    refused = pytest.raises(Refused, match="; the files are in .*finished$")
    with refused, results.opened(tmp_path, ()):
        results.write_results(tmp_path, run_of(Net(), epochs(3)), {}, "", TASK)
    (tmp_path / "config.json").rmdir()
    settle(tmp_path, FILES)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
