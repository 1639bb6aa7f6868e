"""``python -m train.report``: one page, which needs nothing else and trusts nothing in a run."""

import base64
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import forks
import numpy as np
import pytest
from PIL import Image

from layers import nets
from layers.engine import nd, sym
from train import module, report
from train.__main__ import main
from train.report import figures
from train.report.measured import Measured, importance
from train.report.names import REARRANGING, names_of
from train.report.page import network_of, new_folder
from train.report.read import RunReport
from train.scores import ROWS

pytestmark = pytest.mark.slow_on("mxnet")

OWN = """
from layers import operator
from layers.engine import gluon

@operator
class square_of_report:
    'y = x²'
    def forward(x):
        return x * x

    def dx(dy, x):
        return 2 * x * dy

class Square(gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return square_of_report(x)

def build(shape, outputs):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4), Square(), gluon.nn.Dense(outputs))
    return net
"""
CLASSES = ("<script>alert(1)</script>", "a & b", 'quoted "c"')
SHORT = ["--epochs", "3", "--hidden", "8", "--lr", "0.02"]


class Page(HTMLParser):
    """The elements, texts and attributes of a page; each element is closed where it was opened."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.text, self.open, self.tags, self.texts, self.addresses = text, [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [v for n, v in attributes if n in ("src", "href", "xlink:href", "action")]
        if tag not in ("meta", "img", "br", "wbr"):  # which have no end
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if text.strip() and self.open[-1] != "style":
            self.texts.append(text)

    def rows(self, after):
        """The cells of the first table after a heading."""
        table = self.text.split(f">{after}</", 1)[1].split("<table", 1)[1].split("</table>")[0]
        rows = re.findall("<tr>(.*?)</tr>", table, re.DOTALL)
        cells = [re.findall("<t[dh].*?</t[dh]>", row) for row in rows]
        return [[re.sub("<[^>]*>", "", cell) for cell in row] for row in cells]


@pytest.fixture
def say(capsys):
    def say(*argv, status=0):
        assert report.main([str(word) for word in argv]) == status
        found = capsys.readouterr()
        assert bool(found.err) == bool(status)
        return found.err if status else found.out

    return say


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs with classes, with numbers, of the other program, and with pictures."""
    root = tmp_path_factory.mktemp("runs")
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    x = kind[:, None] + rng.normal(size=(60, 2)) / 2
    np.savez(root / "kind.npz", x=x, y=np.array(CLASSES)[kind])
    np.savez(root / "price.npz", x=x, y=1000 + 50 * kind)
    pixels = rng.normal(size=(60, 4, 5)) + kind[:, None, None] / 4
    np.savez(root / "picture.npz", x=pixels, y=kind)
    for name, program, more in (
        ("kind", main, []),
        ("module", module.main, ["--data", str(root / "kind.npz"), "--optimizer", "sgd"]),
        ("price", main, ["--task", "regression"]),
        ("picture", main, []),
    ):
        data = ["--data", str(root / f"{name}.npz")] if "--data" not in more else []
        assert program([*SHORT, *data, *more, "--out", str(root / name)]) in (0, 3)
    return root


def page_of(say, tmp_path, *folders):
    said = say(*folders, "--out", tmp_path / "r.html")
    assert str(tmp_path / "r.html") in said
    return Page((tmp_path / "r.html").read_text(encoding="utf-8"))


def test_it_needs_nothing_from_outside(say, runs, tmp_path):
    page = page_of(say, tmp_path, *(runs / n for n in ("kind", "module", "price", "picture")))
    assert page.tags.count("svg") == 2 * 2 + 3 + 1 and page.tags.count("html") == 1
    assert not {"script", "link", "iframe", "object"} & {*page.tags}
    assert all(address.startswith(("data:image/png;base64,", "#")) for address in page.addresses)
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page.text)
    assert "http:" not in outside and "https:" not in outside and "@import" not in outside


def test_texts_are_escaped(say, runs, tmp_path):
    page = page_of(say, tmp_path, runs / "kind")
    assert not any("<script" in line for line in page.text.splitlines())
    for name in CLASSES:
        assert name in page.texts
    odd = tmp_path / "<img src=x>&"
    shutil.copytree(runs / "kind", odd)
    page = page_of(say, tmp_path, odd)
    assert "img" not in page.tags and str(odd) in page.texts


def test_confusions(say, runs, tmp_path):
    page = page_of(say, tmp_path, runs / "kind")
    head, *rows, last = page.rows("Confusions")
    assert len(head) == 5 and last[0] == "precision"
    counts = np.array([[0 if c == "·" else int(c) for c in row[1:4]] for row in rows])
    assert counts.sum() == 12 and (counts.sum(axis=1) == 4).all()
    config = json.loads((runs / "kind/config.json").read_text())
    right = counts.trace() / 12
    assert right == pytest.approx(config["result"]["held_out_accuracy"])
    assert f"{counts.trace()} of 12 held-out samples are right" in page.text
    assert [row[4] for row in rows] == [f"{n / 4:.0%}" for n in counts.diagonal()]


def test_numbers(say, runs, tmp_path):
    page = page_of(say, tmp_path, runs / "price")
    result = json.loads((runs / "price/config.json").read_text())["result"]
    head, *rows = page.rows("Metrics of the held-out samples")
    found = {name: (value, baseline) for name, value, baseline in rows}
    assert head == ["", "value", "mean"] and [*found] == [
        "R²", "mean absolute error", "root mean square error", "median absolute error"
    ]  # fmt: skip
    assert found["mean absolute error"][0] == f"{result['held_out_mae']:.4g}"
    assert found["R²"][0] == f"{result['held_out_r2']:.4f}"
    assert float(found["R²"][1]) <= 0  # the mean is that of other samples
    head, *rows = page.rows("Worst mistakes")
    assert head == ["true", "predicted", "off by", "x[0]", "x[1]"]
    off = [abs(float(row[2])) for row in rows]
    assert off == sorted(off, reverse=True)
    for row in rows:
        assert float(row[1]) - float(row[0]) == pytest.approx(float(row[2]), abs=0.1)


def test_pictures(say, runs, tmp_path):
    page = page_of(say, tmp_path, runs / "picture")
    sources = [address for address in page.addresses if address.startswith("data:")]
    assert sources
    for i, source in enumerate(sources):
        path = tmp_path / f"{i}.png"
        path.write_bytes(base64.b64decode(source.split(",")[1]))
        with Image.open(path) as image:
            assert image.size == (5, 4) and image.getextrema() == (0, 255)


def test_statistics(say, runs, tmp_path):
    page = page_of(say, tmp_path, runs / "kind")
    head, *rows = page.rows("Parameters")
    assert head[1:] == ["shape", "mean", "deviation", "norm", "least", "greatest", "zeros"]
    known = {row[0]: row for row in rows}
    config = json.loads((runs / "kind/config.json").read_text())
    mean = np.array(config["data"]["mean"])
    assert known["0.mean"][1] == "1 x 2"
    assert float(known["0.mean"][4]) == pytest.approx(np.linalg.norm(mean), rel=1e-3)
    assert known["1.0.weight"][1] == "8 x 2" and known["1.2.bias"][1] == "3"
    head, *rows = page.rows("Activations, on held-out samples")
    assert head[:3] == ["layer", "operator", "shape"]
    named = list(dict.fromkeys(row[0] for row in rows))  # MXNet's sigmoid is copied before it
    assert [re.sub(r"\d", "", name) for name in named] == [
        "standardize", "denseblock", "sigmoidblock", "denseblock"
    ]  # fmt: skip
    assert len({*named}) == 4
    assert [row[1] for row in rows[:3]] == ["broadcast_sub", "broadcast_div", "dense"]
    sigmoid = next(row for row in rows if row[1] == "sigmoid")
    assert sigmoid[2] == "12 x 8" and 0 < float(sigmoid[3]) < 1


def test_names_of_layers():
    net = nets.vit((1, 8, 8), 3, patch=4, hidden_channels=8, depth=2, num_heads=2)
    net.initialize()
    net(nd.ones((1, 1, 8, 8)))
    found = names_of(net(sym.var("data")))
    layers = [layer for layer, operator in found.values() if operator not in REARRANGING]
    short = [re.sub(r"\d", "", layer) for layer in layers]
    attention = [f"multiheadattention_{name}" for name in ("query", "key", "value")]
    assert short[:3] == ["denseblock", "positions", "layernormblock"]
    assert short[3:6] == attention and "swiglu_gate" in short
    assert short[6] == "multiheadattention_scaleddotproductattention"
    assert names_of(sym.exp(sym.var("x"), name="mine")) == {"mine": ("mine", "exp")}


@pytest.mark.slow
def test_rows_of_many_columns(say, tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 12))
    np.savez(tmp_path / "wide.npz", x=x, y=x.sum(axis=1))
    wide = ["--data", str(tmp_path / "wide.npz"), "--task", "regression"]
    assert main([*SHORT, *wide, "--out", str(tmp_path / "wide")]) in (0, 3)
    page = page_of(say, tmp_path, tmp_path / "wide")
    head, *rows = page.rows("Worst mistakes")
    assert head[3:] == [f"x[{i}]" for i in range(8)] and {*map(len, rows)} == {len(head)}
    assert "The data has 12 columns; the first 8 are shown." in page.texts


def test_differences(say, runs, tmp_path):
    page = page_of(say, tmp_path, runs / "kind", runs / "module")
    _, *rows = page.rows("Differences")
    found = {name: (a, b) for name, a, b in rows}
    assert found["options.optimizer"] == ("adam", "sgd")
    assert found["optimizer.momentum"] == ("–", "0.9")
    assert "options.epochs" not in found and "options.out" not in found
    assert "Differences" not in page_of(say, tmp_path, runs / "kind").texts


def test_results(say, runs, tmp_path):
    page = page_of(say, tmp_path, *(runs / name for name in ("kind", "module", "price")))
    head, *rows = page.rows("Results")
    assert head[3:6] == ["best", "held-out loss", "held-out result"]
    found = {}
    for name, row in zip(("kind", "module", "price"), rows):
        config = json.loads((runs / name / "config.json").read_text())["result"]
        assert row[0] == str(runs / name) and row[2] == "3" and row[3] == str(config["epoch"])
        assert float(row[4]) == pytest.approx(config["held_out_loss"], rel=1e-3)
        found[name] = config.get("held_out_accuracy")
    assert re.fullmatch(r"[\d.]+ mae, R² -?\d\.\d{4}", rows[2][5])
    assert rows[0][5] == f"{found['kind']:.2%}"
    bold = re.findall('class="number best">([^<]*)<', page.text)
    best = max(found["kind"], found["module"])  # the price is of other data
    assert {*bold} == {f"{best:.2%}"} and len(bold) == list(found.values()).count(best)


def test_many_classes_are_listed(say, tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(40), 6)
    np.savez(tmp_path / "a.npz", x=rng.normal(size=(240, 3)), y=y)
    argv = ["--data", str(tmp_path / "a.npz"), "--epochs", "1", "--hidden", "4"]
    assert main([*argv, "--out", str(tmp_path / "run")]) in (0, 3)
    head, *rows = page_of(say, tmp_path, tmp_path / "run").rows("Confusions")
    assert head == ["true", "said", "times", "of the class"] and 0 < len(rows) <= 30
    times = [int(row[2]) for row in rows]
    assert times == sorted(times, reverse=True) and all(row[0] != row[1] for row in rows)


def test_the_command_repeats_the_run(say, runs, tmp_path):
    page = page_of(say, tmp_path, runs / "price")
    config = runs / "price" / "config.json"
    command = f"python -m train --config {config} --out {runs / 'price-2'}"
    assert command in page.texts
    options = dict(page.rows("Its options"))
    for name, value in (("task", "regression"), ("epochs", "3"), ("lr", "0.02"), ("target", "–")):
        assert options[name] == value
    modules = page_of(say, tmp_path, runs / "module")
    assert any(text.startswith("python -m train.module ") for text in modules.texts)


def test_a_run_is_repeated_into_a_new_folder(tmp_path):
    for name in ("a", "a-2", "a-3"):
        (tmp_path / name).mkdir()
    assert new_folder(tmp_path / "a") == str(tmp_path / "a-4")
    assert new_folder(Path(".")) == "run-2"


@pytest.mark.slow
def test_data_that_is_gone_or_has_changed(say, runs, tmp_path):
    config = json.loads((runs / "kind/config.json").read_text())
    shutil.copytree(runs / "kind", tmp_path / "run")
    secret = tmp_path / "private.csv"
    secret.write_text("a,b\nSECRET,x\n2,y\n")
    for name, reason in (
        (str(tmp_path / "absent.npz"), "absent.npz: there is no such file"),
        (str(runs / "picture.npz"), "is not what it was trained with: classes"),
        (3, "config.json names no data"),
        (str(secret), "there are 2 samples; expected 5 or more"),
    ):
        config["options"]["data"] = name
        (tmp_path / "run/config.json").write_text(json.dumps(config))
        assert reason in say(tmp_path / "run", "--out", tmp_path / "r.html")
        page = Page((tmp_path / "r.html").read_text())
        assert any("goes without" in " ".join(text.split()) for text in page.texts)
        assert reason not in page.text and "SECRET" not in page.text
        assert "Confusions" not in page.texts and "Parameters" in page.texts
        assert page.tags.count("svg") == 2


def test_the_data_that_a_config_names_is_told_and_may_be_left_closed(
    runs, tmp_path, say, monkeypatch
):
    shutil.copytree(runs / "kind", tmp_path / "run")
    path = tmp_path / "run" / "config.json"
    config = json.loads(path.read_text())
    config["options"]["data"] = str(tmp_path / "private.csv")
    path.write_text(json.dumps(config))
    (tmp_path / "private.csv").write_text("a,b\n1,x\n2,y\n")
    page = tmp_path / "page.html"
    assert f"reads {tmp_path / 'private.csv'}" in say(tmp_path / "run", "--out", page)
    monkeypatch.setattr("train.report.read.load", None)  # which would open it
    told = say(tmp_path / "run", "--no-data", "--out", page)
    assert "private" not in told
    assert "private.csv" not in Page(page.read_text()).texts


def test_only_a_report_is_replaced(say, runs, tmp_path):
    out = tmp_path / "r.html"
    for _ in range(2):
        say(runs / "kind", "--out", out)
    page = "<!DOCTYPE html>\n<html><head><title>A page of mine</title></head></html>"
    out.write_text(page)
    line = say(runs / "kind", "--out", out, status=2)
    assert "it exists, and is no report; expected another file" in line
    assert out.read_text() == page


def test_what_cannot_be_reported(say, runs, tmp_path):
    assert "it is no run" in say(tmp_path, "--out", tmp_path / "r.html", status=2)
    assert "is named twice" in say(runs / "kind", runs / "kind", status=2)
    assert "required: RUN" in say(status=2)
    line = say(runs / "kind", "--operators", "absent.py", status=2)
    assert "--operators absent.py: there is no file absent.py" in line
    assert "--out" in say(runs / "kind", "--out", tmp_path, status=2)
    before = (runs / "kind.npz").read_bytes()
    line = say(runs / "kind", "--out", runs / "kind.npz", status=2)
    assert "it exists, and is no report; expected another file" in line
    assert (runs / "kind.npz").read_bytes() == before
    shutil.copytree(runs / "kind", tmp_path / "run")
    for text, reason in (("", "no epochs"), ("epoch,loss\n1,a\n", "cannot be read")):
        (tmp_path / "run/history.csv").write_text(text)
        line = say(tmp_path / "run", "--out", tmp_path / "r.html", status=2)
        assert reason in line and line.count("\n") == 1
    assert not (tmp_path / "r.html").exists()


@pytest.mark.slow
def test_operators_of_ones_own(say, tmp_path, engine):
    """They are gone from the process where the file has not run, as they are in another one."""
    file = tmp_path / "squares.py"
    file.write_text(OWN)
    argv = [
        *SHORT[:2],
        "--engine",
        engine,
        "--net",
        f"{file}:build",
        "--out",
        str(tmp_path / "run"),
    ]
    script = f"import sys; from train.__main__ import main; sys.exit(main({argv}))"
    done = forks.run(["-c", script])
    assert done.returncode == 0, done.stderr
    line = say(tmp_path / "run", "--out", tmp_path / "r.html", status=2)
    assert "with --operators FILE.py that file is run first" in line and line.count("\n") == 1
    argv = (tmp_path / "run", "--out", tmp_path / "r.html", "--operators")
    say(*argv, file)
    assert "Activations, on held-out samples" in Page((tmp_path / "r.html").read_text()).texts


def test_help(capsys):
    with pytest.raises(SystemExit) as left:
        report.main(["--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0 and max(map(len, text.splitlines())) <= 100
    for word in ("RUN", "--out", "--engine", "--operators", "examples:", "exit status:"):
        assert word in text


def test_an_optimizer_whose_name_is_no_text():
    run = SimpleNamespace(config={"optimizer": {"name": 3}, "network": {"units": [4, 3]}})
    assert network_of(run) == "4 - 3, – parameters"


def test_the_best_epoch_is_the_one_that_the_run_says():
    first, second = ({"epoch": i, "held_out_accuracy": i / 2} for i in (1.0, 2.0))
    run = SimpleNamespace(classes=["a", "b"], outputs="scores")
    for result, best in (({"epoch": 1}, first), ({"epoch": 3}, None), (None, None)):
        report = RunReport(Path("run"), {"result": result}, run, [first, second], [])
        assert report.best is best


def test_numbers_of_epochs_that_are_far_apart():
    """The shorter run is no stub at the left."""

    def curves(*counts):
        runs = [
            SimpleNamespace(colour=i, best=None, epochs=epochs(n)) for i, n in enumerate(counts)
        ]
        return figures.curves(runs, "loss")

    def epochs(count):
        return [{"epoch": i, "loss": 1 / i} for i in range(1, count + 1)]

    assert "epoch, logarithmic" in curves(3, 15) and "logarithmic" not in curves(4, 15)
    assert ">20<" in curves(3, 60)


# Metrics, calibration, importance


def test_calibration():
    """Of samples of which the network is 80 % sure, 60 % are right; of the others all."""
    y = np.array([1, 1, 1, 0, 0] + [1] * 5)
    p = np.array([0.8] * 5 + [0.95] * 5)
    said = Measured(y[:, None], y, np.stack([1 - p, p], axis=1), np.array([0.5, 0.5]))
    np.testing.assert_allclose(said.calibration, [[0.8, 0.6, 5], [0.95, 1, 5]])
    assert said.calibration_error == pytest.approx((0.2 + 0.05) / 2)


def test_thresholds_of_two_classes():
    y, p = np.array([1, 0, 0, 0, 1]), np.array([0.85, 0.65, 0.15, 0.05, 0.45])
    said = Measured(y[:, None], y, np.stack([1 - p, p], axis=1), np.array([0.5, 0.5]))
    rows = {threshold: rest for threshold, *rest in said.thresholds}
    assert said.rarer == 1 and [*rows] == [f"{i / 10:.1f}" for i in range(1, 10)]
    assert rows["0.2"] == ["66.7%", "100.0%", "0.8000"]
    assert rows["0.7"] == ["100.0%", "50.0%", "0.6667"]


def test_importance_is_of_the_columns_that_are_used():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    y = (x[:, 1] > 0).astype(int)

    def predict(x):
        p = (x[:, 1] + 0.01 * x[:, 3] > 0).astype(float)
        return np.stack([1 - p, p], axis=1)

    columns = {"no": [0], "yes": [1], "two": [2, 3]}
    found = importance(predict, x, y, columns, ROWS["accuracy"])
    assert [each.column for each in found][0] == "yes" and 0.4 < found[0].mean < 0.6
    assert {each.column: each.mean for each in found}["no"] == 0
    assert found == importance(predict, x, y, columns, ROWS["accuracy"])
    worse = importance(lambda x: x[:, 1:2], x, x[:, 1], columns, ROWS["mae"])
    assert worse[0].column == "yes" and worse[0].mean > 0.5  # an error that is greater


def test_metrics_and_importance_of_two_classes(say, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    lines = [f"{a:.4f},{b:.4f},{'<b>' if a > 0.8 else 'ok'}" for a, b in x]
    (tmp_path / "two.csv").write_text("\n".join(["left,<i>right,kind", *lines]))
    argv = ["--data", str(tmp_path / "two.csv"), "--metric", "f1", "--epochs", "12", "--lr", "0.05"]
    assert main([*argv, "--hidden", "8", "--out", str(tmp_path / "two")]) in (0, 3)
    page = page_of(say, tmp_path, tmp_path / "two", "--importance")
    head, *rows = page.rows("Metrics of the held-out samples")
    assert head == ["", "value", "most frequent class"]
    assert [row[0] for row in rows][3] == "F1 of the rarer class, &lt;b&gt;"
    head, *rows = page.rows("Importance of columns")
    assert head[:3] == ["column", "worse by", "deviation"]
    assert [row[0] for row in rows] == ["left", "&lt;i&gt;right"]
    assert "Calibration" in page.texts and len(page.rows("Calibration")) == 10
    assert {"b", "i"} & {*page.tags} <= {"i"} and page.tags.count("i") == 3  # of the legend
    config = json.loads((tmp_path / "two/config.json").read_text())
    assert f"{config['result']['held_out_f1']:.4f} f1" in page.text
    assert "have no columns" not in say(
        tmp_path / "two", "--importance", "--out", tmp_path / "r.html"
    )


def test_samples_without_columns_have_no_importance(say, runs, tmp_path):
    said = say(runs / "picture", "--importance", "--out", tmp_path / "r.html")
    assert f"{runs / 'picture'}: --importance: its samples have no columns" in said


# Where the data is


@pytest.fixture
def moved(tmp_path, monkeypatch):
    """A run of data that it names relative to the folder `made`; the report is made in `other`."""
    for name in ("made", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "made")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    np.save("x.npy", x)
    np.save("y.npy", y)
    np.savez("d.npz", x=x, y=y)
    for out, data in (("one", "d.npz"), ("pair", "x.npy,y.npy")):
        assert main(["--data", data, "--epochs", "1", "--hidden", "4", "--out", out]) == 0
    monkeypatch.chdir(tmp_path / "other")
    return tmp_path / "made"


def test_relative_data_is_found_from_another_folder(say, moved, tmp_path):
    for run, files in (("one", f"{moved}/d.npz"), ("pair", f"{moved}/x.npy,{moved}/y.npy")):
        said = say(moved / run, "--out", tmp_path / "r.html")
        assert f"{moved / run}: reads {files}\n" in said
        assert "Confusions" in Page((tmp_path / "r.html").read_text()).texts


def test_data_of_the_command_line(say, moved, tmp_path):
    """A project that was copied: the folder where it was made is not there."""
    moved.rename(tmp_path / "copied")
    run = tmp_path / "copied/one"
    assert "d.npz: there is no such file" in say(run, "--out", tmp_path / "r.html")
    data = tmp_path / "copied/d.npz"
    said = say(run, "--data", data, "--out", tmp_path / "r.html")
    assert f"{run}: reads {data}\n" in said
    assert "Confusions" in Page((tmp_path / "r.html").read_text()).texts
    line = say(run, "--validation", data, "--out", tmp_path / "r.html", status=2)
    assert "--validation: expected --data" in line


def test_outputs_that_are_not_finite(say, runs, tmp_path):
    shutil.copytree(runs / "kind", tmp_path / "run")
    file = str(tmp_path / "run/model-0000.params")
    nd.save(file, {name: array * np.nan for name, array in nd.load(file).items()})
    line = say(tmp_path / "run", "--out", tmp_path / "r.html", status=2)
    assert line == f"train.report: {tmp_path / 'run'}: the network's outputs are not finite\n"
