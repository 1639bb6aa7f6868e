"""The account of the epochs."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from repeated import first_alone

from train.epochs import curves, table, write_history
from train.state import Epoch, Run
from train.task import Task

ROOT = Path(__file__).resolve().parents[2]
CLASSES, NUMBER = Task(("a", "b")), Task((), 5.0, 2.0)


def epochs(count):
    rows = range(1, count + 1)
    return [Epoch(i, 2 / i, 1 - 0.5 / i, 2.5 / i, 0.9 if i == 7 else 0.5, 0.25, 9) for i in rows]


def run(rows, task, partial=False):
    return Run(None, None, [], len(rows), task, history=rows, partial=partial)


@pytest.mark.parametrize("count, lines", [(1, 1), (7, 7), (10, 10), (30, 11), (1000, 11)])
def test_table(count, lines):
    head, *rows = table(run(epochs(count), CLASSES)).splitlines()
    assert len(rows) == lines
    assert int(rows[-1].split()[0]) == count
    assert sum(row.endswith("best") for row in rows) == 1
    assert next(row for row in rows if "best" in row).split()[0] == str(7 if count >= 7 else 1)
    assert max(map(len, rows)) <= 80
    assert (
        head.index("seconds") + len("seconds") == len(head) == len(rows[-1].removesuffix("  best"))
    )


@pytest.mark.parametrize("loss", [0.0, 99999.0, 1e5, 12345678901.0, 3.4e38])
def test_columns_stay_apart(loss):
    rows = [Epoch(i, loss, 1.0, loss / i, 0.5, 12345.0, 9) for i in (1, 2**31 - 1)]
    head, *lines = table(run(rows, CLASSES)).splitlines()
    assert {len(line.removesuffix("  best")) for line in lines} == {len(head)} and len(head) <= 80
    for line, row in zip(lines, rows):
        epoch, learned, _, held_out, *_ = line.split()
        assert int(epoch) == row.epoch and line.split()[5] == "12345.00"
        assert float(learned) == pytest.approx(row.loss, rel=1e-3)
        assert float(held_out) == pytest.approx(row.held_out_loss, rel=1e-3, abs=1e-4)


def test_an_epoch_that_ended_early_is_not_the_best():
    whole, early = Epoch(1, 1.0, 0.5, 1.0, 0.5, 0.2, 9), Epoch(2, 1.0, 0.9, 1.0, 0.9, 0.1, 4)
    assert table(run([whole, early], CLASSES, partial=True)).splitlines()[1].endswith("best")
    assert table(run([early], CLASSES, partial=True)).splitlines()[1].endswith("best")


def test_history_says_what_is_in_it(tmp_path):
    path = tmp_path / "history.csv"
    write_history(run(epochs(3), CLASSES), path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = ["epoch", "loss", "accuracy", "held_out_loss", "held_out_accuracy", "samples"]
    assert [list(row) for row in rows] == [columns] * 3
    assert [[float(row[c]) for c in columns] for row in rows] == [
        [getattr(epoch, c.replace("accuracy", "metric")) for c in columns] for epoch in epochs(3)
    ]


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize(
    "count, task",
    first_alone([(1, CLASSES), (60, NUMBER), (1, NUMBER), (60, CLASSES)]),
    ids=lambda value: getattr(value, "name", value),
)
def test_curves(tmp_path, monkeypatch, count, task):
    from matplotlib import image
    from matplotlib.figure import Figure

    figures, save = [], Figure.savefig

    def savefig(self, path, **more):
        figures.append(self)
        save(self, path, **more)

    monkeypatch.setattr(Figure, "savefig", savefig)
    title = "the $\\title of a$file.npz\nsamples in $it\\n\na network $of layers$"
    curves(run(epochs(count), task), tmp_path / "curves.png", title, task)
    assert (tmp_path / "curves.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    pixels = image.imread(tmp_path / "curves.png")
    assert pixels.shape[:2] == (540, 1200)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50
    (figure,) = figures
    assert figure.get_suptitle() == "the $\\title of a$file.npz"
    assert figure.get_supxlabel().splitlines() == ["samples in $it\\n", "a network $of layers$"]
    for axes in figure.axes:
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert labels[0] == "training: mean over the epoch" and labels[1].startswith("held out")
        (marked,) = (line for line in axes.lines if line.get_marker() == "o")
        top = (7 if task.classes else 60) if count > 7 else 1  # as the metrics above are
        assert list(marked.get_xdata()) == [top] and labels[2] == f"best: epoch {top}"


def test_characters_that_the_font_does_not_have(tmp_path):
    """They are boxes in the picture; a warning would be an error here."""
    curves(run(epochs(2), CLASSES), tmp_path / "curves.png", "日本.csv\n犬", CLASSES)


def test_without_a_home_matplotlib_says_nothing():
    code = "import train.screen\nwith train.screen.quiet_matplotlib():\n    import matplotlib"
    env = {"PATH": "", "PYTHONPATH": str(ROOT), "HOME": "/proc/none"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_of_a_number_the_least_error_is_the_best(tmp_path):
    rows = [Epoch(i, 1.0, 20.0, 1.0, error, 1.0, 9) for i, error in ((1, 3.0), (2, 2.5), (3, 4.0))]
    head, *lines = table(run(rows, NUMBER)).splitlines()
    assert "held-out mae" in head and lines[1].endswith("best") and " 2.5 " in lines[1]
    write_history(run(rows, NUMBER), tmp_path / "history.csv")
    names = (tmp_path / "history.csv").read_text().splitlines()[0]
    assert names == "epoch,loss,mae,held_out_loss,held_out_mae,samples"
