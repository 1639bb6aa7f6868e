"""The folder of a run: all of its files or none, however it ends."""

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from train import Refused, results
from train.loop import Epoch
from train.task import Task

TASK = Task(("a", "b"))
ROOT = Path(__file__).resolve().parents[2]


def epochs(count):
    return [Epoch(i, 2 / i, 1 - 0.5 / i, 2.5 / i, 0.5, 0.25, 9) for i in range(1, count + 1)]


class Net:
    """What was learned, as a text."""

    files = ("model.params",)

    def save(self, folder):
        (folder / "model.params").write_text("parameters")


FILES = results.files(Net())


def test_write(tmp_path):
    out = tmp_path / "a/b"
    results.check(out, FILES)
    assert not out.parent.exists()
    results.write(out, epochs(3), Net(), {"seed": 4}, "a title", TASK)
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
    results.write(tmp_path, epochs(3), Net(), {}, "", TASK)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(results, "curves", failing(error))
    for out in (tmp_path, tmp_path / "new/folder"):
        with pytest.raises(raised):
            results.write(out, epochs(9), Net(), {}, "", TASK)
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_where_it_cannot_write(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("file", "file/below", "x" * 300):
        with pytest.raises(Refused, match="^--out .*: cannot write there: "):
            results.check(tmp_path / name, FILES)
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(Refused, match="it is a file, or a link that leads nowhere"):
        results.check(tmp_path / "link", FILES)
    (tmp_path / "link").unlink()
    (tmp_path / "curves.png").mkdir()
    with pytest.raises(Refused, match="curves.png is a folder"):
        results.check(tmp_path, FILES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "file"]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    for out in (tmp_path, tmp_path / "below"):
        with pytest.raises(Refused, match="Permission denied"):
            results.check(out, FILES)


# Runs whose files all have the run's number in them.
RUNS = """
import json, os, shutil, signal, sys, time
from pathlib import Path
from train import results
from train.loop import Epoch

out, slow = Path(sys.argv[1]), 0.0

class Net:
    files = ("model.params", "model-symbol.json")
    def __init__(self, run, files=files):
        self.files = files
        self.run = run
    def save(self, folder):
        for name in self.files:
            (folder / name).write_text(f"run {self.run}")
            time.sleep(slow)

def curves(epochs, path, title, task):
    path.write_text(title)

def history(epochs, path, task):
    path.write_text(f"run {epochs}")

results.curves, results.history = curves, history

def write(run, *files):
    results.write(out, run, Net(run, *files), {"run": run}, f"run {run}", None)

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
    results.check(out, ())
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
        while killed_at(second, results.check, out, ()):
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
    results.write(tmp_path, epochs(1), Net(), {}, "", TASK)
    (tmp_path / "model-0000.params").write_text("of somebody else")
    (tmp_path / "notes.txt").write_text("of somebody else")
    there = {*FILES, "model-0000.params", "notes.txt"}
    results.write(tmp_path, epochs(2), Net(), {}, "", TASK)
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
    results.write(out, epochs(2), Net(), {}, "", TASK)
    assert {path.name for path in out.iterdir()} == {*FILES, "notes.txt"}
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_three_into_one_folder(tmp_path):
    program = """
slow = 0.02
for attempt in range(3):
    pids = []
    for run in range(3):
        pids.append(os.fork())
        if pids[-1] == 0:
            write(run)
            os._exit(0)
    assert [wait(pid) for pid in pids] == [0, 0, 0]
    assert len(runs()) == 1, runs()
    assert sorted(path.name for path in out.iterdir()) == sorted(results.files(Net))
"""
    in_a_process(program, tmp_path / "out")


def test_a_folder_that_is_removed_while_it_waits(tmp_path):
    out = tmp_path / "out"
    with results.locked(out):
        thread = threading.Thread(target=results.write, args=(out, epochs(1), Net(), {}, "", TASK))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive() and not list(out.iterdir())
        out.rmdir()
    thread.join()
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)


def test_files_that_cannot_be_moved_are_not_lost(tmp_path):
    (tmp_path / "config.json").mkdir()
    with pytest.raises(Refused, match="; the files are in .*finished$"):
        results.write(tmp_path, epochs(3), Net(), {}, "", TASK)
    (tmp_path / "config.json").rmdir()
    results.check(tmp_path, FILES)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
