"""The commands of docs/training.md run, one after another; its tables have what there is."""

import csv
import re
import shlex
import warnings
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image
from sklearn import datasets

from layers import engine
from train.data.scenes import scenes
from train.state import Callback, Run

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/training.md").read_text("utf-8")
COMMAND = re.compile(r"^\$ python -m (train\S*) (.*)$", re.MULTILINE)
EXCHANGE = ("onnx", "onnxruntime", "onnxscript", "safetensors")


def program(name):
    modules = {"train": "train.__main__", "train.predict": "train.predict_program"}
    return import_module(modules.get(name, name)).main


def is_possible(name, argv):
    """Whether the packages are there; MXNet writes no other format than its own."""
    if name == "train.detect" or any("build/scenes" in word for word in argv):
        return all(map(find_spec, ("gluoncv", "cv2")))
    if any("build/sweep" in word for word in argv):
        return find_spec("optuna")
    if "--to" not in argv or "mxnet" in argv:
        return True
    return engine.exchange() is not None and all(map(find_spec, EXCHANGE))


def write(path, names, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])


@pytest.mark.slow
def test_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    iris = datasets.load_iris()
    rows = [[*x, iris.target_names[y]] for x, y in zip(iris.data, iris.target)]
    write(tmp_path / "iris.csv", ["sepal", "width", "petal", "breadth", "species"], rows)
    write(tmp_path / "more.csv", ["species", "breadth", "petal", "width", "sepal"],
          [row[::-1] for row in rows[::50]])  # fmt: skip
    diabetes = datasets.load_diabetes()
    houses = [[i, y, *x] for i, (x, y) in enumerate(zip(diabetes.data, diabetes.target))]
    write(tmp_path / "houses.csv", ["id", "price", *diabetes.feature_names], houses)
    Image.fromarray(scenes(4).x[0]).save(tmp_path / "scene.png")
    commands = COMMAND.findall(PAGE)
    assert len(commands) >= 20
    for name, argv in commands:
        if not is_possible(name, shlex.split(argv)):
            continue
        with warnings.catch_warnings():
            if name == "train.detect":  # GluonCV's own, of Python and NumPy
                warnings.simplefilter("ignore")
            assert program(name)(shlex.split(argv)) == 0, argv
        assert capsys.readouterr().err == ""
    rows = list(csv.DictReader((tmp_path / "predictions.csv").read_text().splitlines()))
    right = [row["class"] == iris.target_names[y] for row, y in zip(rows, iris.target)]
    assert len(rows) == 150 and sum(right) > 140
    for name in ("predictions.json", "report.html", "iris-symbol.json"):
        assert (tmp_path / name).exists()


@pytest.mark.filterwarnings("ignore:Cannot decide type:UserWarning")  # MXNet's own, of `data`
def test_the_reader_of_a_run(tmp_path, capsys):
    """The page's own program says what `train.predict` says."""
    table = ["age,city,shop,kind"]
    for i in range(90):
        row = (
            i,
            "" if i % 9 == 0 else ("Rome", "Oslo")[i % 2],
            f"s{i % 15}",
            ("low", "high")[i > 40],
        )
        table.append(",".join(map(str, row)))
    table[5] = table[5].replace("4,", ",", 1)
    (tmp_path / "a.csv").write_text("\n".join(table))
    run = tmp_path / "run"
    argv = ["--data", tmp_path / "a.csv", "--epochs", "5", "--hidden", "8", "--out", run]
    assert program("train")([*map(str, argv)]) == 0
    (text,) = (
        each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "places" in each
    )
    exec(text, found := {})
    said = found["predict"](run, tmp_path / "a.csv")
    capsys.readouterr()
    assert program("train.predict")([str(run), str(tmp_path / "a.csv")]) == 0
    told = csv.DictReader(capsys.readouterr().out.splitlines())
    assert said == [row["class"] for row in told] and len({*said}) == 2


def rows(title):
    """The names in the first column of the table whose first row this is, without arguments."""
    _, _, table = PAGE.partition(f"| {title} |")
    lines = table.partition("\n\n")[0].splitlines()[2:]
    return [re.fullmatch(r"\| `(?:run\.)?(\w+)(?:\(.*?\))?` \| .* \|", line)[1] for line in lines]


def test_the_attributes_of_a_run():
    """`total`, `score` and what calls the callbacks are the loop's own."""
    known = [each.name for each in fields(Run)] + ["epoch", "best"]
    assert sorted(rows("attribute | what it is")) == sorted(known)
    run = Run(None, None, None, 3, None)
    assert run.epoch == 1 and all(hasattr(run, name) for name in known)


def test_the_methods_of_a_callback():
    methods = [name for name, value in vars(Callback).items() if callable(value)]
    assert sorted(rows("method | when it is called")) == sorted(methods)


def test_what_is_said_of_the_attributes_of_a_run():
    """Those of its parts that the table names."""
    from layers.engine import gluon
    from train import callbacks, fit

    named = re.findall(r"`(run\.\w+\.\w+)(?:\(\w*\))?`", PAGE.partition("| attribute |")[2])
    assert len(named) >= 10

    class Looks(callbacks.Callback):
        def after_step(self, run):
            values = [each.split(".") for each in named]
            found.extend(hasattr(getattr(run, part), name) for _, part, name in values)

    x, found = [[1.0], [2.0]], []
    fit(gluon.nn.Dense(1), (x, x), gluon.loss.L2Loss(), callbacks=[Looks()])
    assert found == [True] * len(named)
