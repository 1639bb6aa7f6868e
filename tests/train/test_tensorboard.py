"""Results for TensorBoard."""

import sys

import pytest

from train import Refused
from train.__main__ import main
from train.callbacks import TensorBoard

pytestmark = pytest.mark.slow_on("mxnet")

ARGV = ["--hidden", "8"]


def test_it_is_not_installed(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(Refused, match="^TensorBoard: not installed: pip install tensorboard "):
        TensorBoard(tmp_path)
    argv = ["--tensorboard", str(tmp_path / "tb"), "--out", str(tmp_path / "out")]
    assert main([*ARGV, *argv]) == 2
    assert capsys.readouterr().err.startswith(
        "train: TensorBoard: not installed: pip install tensorboard"
    )


def test_the_first_process_writes():
    assert TensorBoard.first_only


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    folder = tmp_path / "file/below"
    (tmp_path / "file").write_text("")
    argv = [*ARGV, "--epochs", "1", "--out", str(tmp_path / "out")]
    assert main([*argv, "--tensorboard", str(folder)]) == 2
    line = capsys.readouterr().err
    assert line == f"train: {folder} cannot be written: Not a directory\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_it_shows(tmp_path):
    """Of a resumed training too."""
    name = "tensorboard.backend.event_processing.event_accumulator"
    module = pytest.importorskip(name, reason="tensorboard is not installed")
    argv = [*ARGV, "--tensorboard", str(tmp_path / "tb"), "--out", str(tmp_path / "out")]
    for epochs in ("2", "3"):
        assert main([*argv, "--epochs", epochs, "--resume"]) == 0
    events = module.EventAccumulator(str(tmp_path / "tb"))
    events.Reload()
    tags = ["accuracy", "held_out_accuracy", "held_out_loss", "loss", "samples_per_second"]
    assert sorted(events.Tags()["scalars"]) == tags
    losses = [(event.step, event.value) for event in events.Scalars("loss")]
    assert [step for step, _ in losses] == [1, 2, 3]
    rows = (tmp_path / "out/history.csv").read_text().splitlines()[1:]
    assert [value for _, value in losses] == pytest.approx(
        [float(row.split(",")[1]) for row in rows]
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_curves_that_are_there_already_are_told(tmp_path, capsys):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    folder = tmp_path / "tb"
    argv = [*ARGV, "--epochs", "1", "--tensorboard", str(folder)]
    assert main([*argv, "--out", str(tmp_path / "a")]) == 0
    told = f"--tensorboard {folder}: other curves are there already\n"
    assert told not in capsys.readouterr().err
    assert main([*argv, "--out", str(tmp_path / "b")]) == 0
    assert told in capsys.readouterr().err
