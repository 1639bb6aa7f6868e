"""`train.predict` and `train.evaluate`, and predictions in pieces, as their program has them."""

import io
import json
import sys

import forks
import numpy as np
import pytest
from PIL import Image

from train import Refused, evaluate, predict
from train.__main__ import main
from train.data import tables
from train.predict_program import main as program
from train.prediction import Predictions, Tally, predictions
from train.rows import write_parquet
from train.scores import margins

pytestmark = pytest.mark.slow_on("mxnet")
pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs with a table of classes, of numbers, and with images; and their data."""
    root, rng = tmp_path_factory.mktemp("prediction"), np.random.default_rng(0)
    x, n = rng.normal(size=(200, 2)), 200
    table = pandas.DataFrame({
        "name": [f"=N{i}" for i in range(n)], "a": x[:, 0], "b": x[:, 1],
        "city": np.where(x[:, 0] > 0, "Rome", "Oslo"), "kind": np.where(x.sum(1) > 0, "up", "down"),
    })  # fmt: skip
    table.to_csv(root / "kind.csv", index=False)
    table.assign(kind=1000 + 50 * x.sum(1)).to_csv(root / "price.csv", index=False)
    for kind, value in (("dark", 20), ("light", 220)):
        (root / "images" / kind).mkdir(parents=True)
        for i in range(6):
            pixels = rng.integers(0, 20, (4, 4), np.uint8) + value
            Image.fromarray(pixels.astype("uint8")).save(root / f"images/{kind}/{i}.png")
    options = {"kind": [], "price": ["--task", "regression"], "images": []}
    for name, more in options.items():
        data = root / (name if name == "images" else f"{name}.csv")
        argv = ["--data", data, "--epochs", "20", "--hidden", "8", "--lr", "0.02", *more]
        assert main([*map(str, argv), "--out", str(root / f"run-{name}")]) == 0
    return root


def said(capsys, *argv, status=0):
    capsys.readouterr()
    assert program([str(word) for word in argv]) == status
    return capsys.readouterr()


@pytest.mark.parametrize(
    "first", ["import train.predict", "import train.predict_program", "from train import predict"]
)
def test_the_name_is_the_function_in_any_order(first):
    then = (
        "import train.predict, train; from train import predict; import train.predict as third\n"
        "print({each.__module__ for each in (predict, train.predict, third)})"
    )
    done = forks.run(["-c", f"{first}\n{then}"])
    assert done.stdout == "{'train.prediction'}\n", done.stderr


def test_pieces_say_what_the_whole_says(runs, monkeypatch, capsys):
    run, data = runs / "run-kind", runs / "kind.csv"
    whole = said(capsys, run, data, "--probabilities")
    assert whole.out.count("\n") == 201 and "\n200,'=N199," in whole.out
    monkeypatch.setattr(tables, "PIECE", 5 * 7)
    assert len([*predictions(run, data)]) == 29
    pieces = said(capsys, run, data, "--probabilities")
    assert pieces.err == whole.err == ""
    pieces, whole = (pandas.read_csv(io.StringIO(each.out)) for each in (pieces, whole))
    pandas.testing.assert_frame_equal(pieces, whole, rtol=1e-5)


def test_the_standard_input(runs, monkeypatch, capsys):
    run, content = runs / "run-kind", (runs / "kind.csv").read_bytes()
    whole = said(capsys, run, runs / "kind.csv")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert said(capsys, run, "-") == whole
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content + b"\xff\n")))
    told = said(capsys, run, "-", status=2).err
    assert told.startswith("train.predict: the standard input: it is not UTF-8; expected")


@pytest.mark.parametrize(
    "end, told",
    [
        ("x,y\n", "line 204 has 2 values; expected 5, as line 1"),
        ('x,1,1,"Rome,up\n', "line 204 cannot be read: unexpected end of data"),
        ("x,1,one,Rome,up\n", "line 204, column b is 'one'; expected a number"),
    ],
)
def test_errors_have_the_line_of_the_file(runs, tmp_path, monkeypatch, end, told):
    lines = (runs / "kind.csv").read_text() + "\n\n" + end
    (tmp_path / "a.csv").write_text(lines)
    monkeypatch.setattr(tables, "PIECE", 5 * 9)
    with pytest.raises(Refused, match=told):
        list(predictions(runs / "run-kind", tmp_path / "a.csv"))


def test_values_not_learned_are_counted_over_all_pieces(runs, tmp_path, monkeypatch):
    table = pandas.read_csv(runs / "kind.csv")
    table.loc[::10, "city"] = ["Bern", "Kyiv"] * 10
    table.loc[::50, "a"] = None
    monkeypatch.setattr(tables, "PIECE", 5 * 9)
    table.to_csv(tmp_path / "a.csv", index=False)
    tally = Tally()
    list(tally.count(predictions(runs / "run-kind", tmp_path / "a.csv")))
    assert tally.samples == 200
    first, second = tally.notes
    assert first.startswith("column a: 4 values are missing or of another kind; the median")
    assert second == (
        "column city: 20 values are taken as others, of which nothing was learned: Bern, Kyiv"
    )


@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet"])
def test_packed_tables_in_pieces(runs, tmp_path, monkeypatch, suffix):
    table, path = pandas.read_csv(runs / "kind.csv"), tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        table["city"] = table["city"].astype("category")
        table.to_parquet(path, row_group_size=50)
    else:
        table.to_csv(path, index=False)
    monkeypatch.setattr(tables, "PIECE", 5 * 30)
    found = [*predictions(runs / "run-kind", path)]
    assert len(found) > 6
    expected = predict(runs / "run-kind", runs / "kind.csv").values
    np.testing.assert_allclose(np.concatenate([each.values for each in found]), expected)


def test_a_line_without_an_end_is_refused(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST", 1000)
    (tmp_path / "a.csv").write_text("a,b,city\n1,2,Rome\n" + "1" * 5000)
    with pytest.raises(Refused, match="line 3 has more than 1,000 characters"):
        predict(runs / "run-kind", tmp_path / "a.csv")


def test_formats_by_suffix(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "PIECE", 5 * 30)
    run, data = runs / "run-kind", runs / "kind.csv"
    rows = {}
    for kind in ("json", "jsonl", "csv"):
        said(capsys, run, data, "--out", tmp_path / f"a.{kind}")
    rows["json"] = json.loads((tmp_path / "a.json").read_text())
    rows["jsonl"] = [*map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())]
    rows["csv"] = pandas.read_csv(tmp_path / "a.csv").to_dict("records")
    for row in rows["csv"]:
        row["name"] = row["name"].removeprefix("'")  # a formula, quoted
    assert rows["json"] == rows["jsonl"] == rows["csv"] and len(rows["csv"]) == 200
    assert said(capsys, run, data, "--format", "jsonl").out.startswith('{"row": 1, "name": "=N0"')


def test_parquet(runs, tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(tables, "PIECE", 5 * 30)
    run, data = runs / "run-kind", runs / "kind.csv"
    said(capsys, run, data, "--out", tmp_path / "a.parquet", "--probabilities")
    found, expected = pandas.read_parquet(tmp_path / "a.parquet"), predict(run, data)
    assert [*found] == ["row", "name", "class", "probability", "probability_down", "probability_up"]
    assert (found["class"] == expected.labels).all() and found["name"][7] == "=N7"
    np.testing.assert_allclose(found["probability_up"], expected.values[:, 1], rtol=1e-6)
    told = said(capsys, run, data, "--format", "parquet", status=2).err
    assert told == "train.predict: --format parquet: it is no text; expected --out FILE.parquet\n"


def test_parquet_of_columns_that_are_called_like_ours(tmp_path):
    pytest.importorskip("pyarrow")
    kept = {"row": ["x"], "class": ["y"], "probability": ["z"], "other": ["\udcff"]}
    found = Predictions(["a", "b"], np.array([[0.25, 0.75]]), kept=kept)
    (tmp_path / "a.parquet").write_bytes(b"".join(write_parquet([found], False)))
    (row,) = pandas.read_parquet(tmp_path / "a.parquet").to_dict("records")
    assert row == {"row": 1, "class": "b", "probability": 0.75, "other": "\\udcff"}


def test_parquet_without_any_object(tmp_path):
    pytest.importorskip("pyarrow")
    found = Predictions(["a"], np.array([[[-1.0, 0, 0, 0, 0, 0]]]), ("a.png",), (8, 8))
    (tmp_path / "a.parquet").write_bytes(b"".join(write_parquet([found], False)))
    table = pandas.read_parquet(tmp_path / "a.parquet")
    assert [*table] == ["file", "class", "probability", "left", "upper", "right", "lower"]


def test_broken_images(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("train.prediction.BATCH", 2)
    for i in range(7):
        (tmp_path / f"{i}.png").write_bytes((runs / f"images/dark/{i % 6}.png").read_bytes())
    for i in (2, 3, 6):  # of which two are a whole piece
        (tmp_path / f"{i}.png").write_bytes(b"no image")
    told = said(capsys, runs / "run-images", tmp_path, status=2).err
    assert "2 of 2 images are broken" in told
    done = said(capsys, runs / "run-images", tmp_path, "--skip-broken")
    assert done.out.count("dark") == 4
    assert done.err.startswith(f"3 broken images are left out: {tmp_path}/2.png, ")
    for path in tmp_path.iterdir():
        path.write_bytes(b"no image")
    told = said(capsys, runs / "run-images", tmp_path, "--skip-broken", status=2).err
    assert "0.png is no image" in told


def test_a_data_frame_is_predicted_as_its_file(runs):
    run, table = runs / "run-kind", pandas.read_csv(runs / "kind.csv")
    found, expected = predict(run, table), predict(str(run), str(runs / "kind.csv"))
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-6)
    assert found.labels.tolist() == expected.labels.tolist() and found.numbers is None
    assert found.probabilities.shape == (200, 2) and found.classes == ["down", "up"]
    assert found.kept == expected.kept == {"name": [f"=N{i}" for i in range(200)]}
    assert predict(run, table[["a", "b", "city"]], keep=["a"]).kept["a"][:1] == [str(table.a[0])]
    with pytest.raises(Refused, match="data: it has no column city"):
        predict(run, table[["a", "b"]])


def test_arrays_and_numbers(runs):
    run = runs / "run-images"
    found = predict(run, np.full((3, 4, 4), 220))
    assert found.labels.tolist() == ["light"] * 3
    with pytest.raises(Refused, match="^data is \\(3, 5\\); expected"):
        predict(run, np.zeros((3, 5)))
    with pytest.raises(Refused, match="expected a path, a DataFrame or an array of numbers, not"):
        predict(run, [["a"]])
    found = predict(runs / "run-price", runs / "price.csv")
    assert found.labels is None and found.probabilities is None and found.numbers.shape == (200,)
    assert abs(found.numbers - pandas.read_csv(runs / "price.csv").kind).mean() < 30


def test_evaluate(runs, tmp_path):
    table = pandas.read_csv(runs / "kind.csv")
    found = evaluate(runs / "run-kind", runs / "kind.csv")
    assert found == pytest.approx(evaluate(runs / "run-kind", table), rel=1e-6)
    right = (predict(runs / "run-kind", table).labels == table.kind).mean()
    assert found["accuracy"] == right and {*found} > {"f1", "log_loss", "roc_auc"}
    assert evaluate(runs / "run-kind", table, ["f1"]).keys() == {"f1"}
    assert evaluate(runs / "run-images", runs / "images", "accuracy") == {"accuracy": 1.0}
    x, y = np.full((2, 4, 4), 220), ["light", "dark"]
    assert evaluate(runs / "run-images", (x, y), "accuracy") == {"accuracy": 0.5}
    prices = evaluate(runs / "run-price", runs / "price.csv")
    assert {*prices} == {"r2", "mae", "rmse", "median_absolute_error"} and prices["r2"] > 0.5
    with pytest.raises(Refused, match="metrics: 'r2' is not for this run; expected accuracy, b"):
        evaluate(runs / "run-kind", table, ["r2"])
    with pytest.raises(Refused, match="data: y\\[0\\] is heavy; expected one of the classes"):
        evaluate(runs / "run-images", (x, ["heavy", "dark"]))
    with pytest.raises(Refused, match="data: it has no column kind"):
        evaluate(runs / "run-kind", table.drop(columns="kind"))
    np.savez(tmp_path / "a.npz", x=x, y=y)
    assert evaluate(runs / "run-images", tmp_path / "a.npz", "accuracy") == {"accuracy": 0.5}


def test_intervals(runs, tmp_path, capsys):
    run, data = runs / "run-price", runs / "price.csv"
    found = predict(run, data, interval=0.9)
    y = pandas.read_csv(data).kind.to_numpy()
    lower, upper = found.interval.T
    assert 0.8 < ((lower <= y) & (y <= upper)).mean() < 1
    wider = predict(run, data, interval=0.95)
    assert (wider.interval[:, 1] > upper).all() and predict(run, data).interval is None
    head, first = said(capsys, run, data, "--interval", "0.9").out.splitlines()[:2]
    assert head == "row,name,value,lower,upper"
    value, low, high = map(float, first.split(",")[2:])
    assert (low, high) == pytest.approx((lower[0], upper[0])) and value == pytest.approx(
        (low + high) / 2
    )
    told = said(capsys, run, data, "--interval", "0.99", status=2).err  # of 40 held out
    expected = "interval 0.99: of its held-out samples the run has 0.5, 0.8, 0.9, 0.95"
    assert told == f"train.predict: {expected}\n"
    told = said(capsys, runs / "run-kind", runs / "kind.csv", "--interval", "0.9", status=2).err
    assert "the run has no interval" in told


def test_margins():
    """Of 9 samples nine of ten are within the largest distance, and no more can be said."""
    assert margins(np.arange(9.0)[::-1]) == {"0.5": 4.0, "0.8": 7.0, "0.9": 8.0}
    assert margins(np.array([])) == {}


@pytest.mark.engine("torch")
def test_what_works_with_nothing_else_installed(runs):
    """After ``pip install .`` alone; each package that is missing is named where it is needed."""
    gone = "tqdm pandas sklearn scipy matplotlib yaml PIL pyarrow optuna safetensors tensorboard"
    done = forks.run(["-c", f"""
import sys
for name in {gone.split()!r}:
    sys.modules[name] = None  # which import takes for a module that is not there
import numpy as np
from layers.engine import gluon
from train import Refused, callbacks, evaluate, fit, predict
x, y, loss = np.ones((8, 4, 4)), np.arange(8) % 2, gluon.loss.SoftmaxCrossEntropyLoss()
saved = callbacks.Checkpoint({str(runs / "saved")!r}, overwrite=True)
fit(gluon.nn.Dense(2), (x, y), loss, metric="accuracy", validation=(x, y), callbacks=[saved])
run = {str(runs / "run-images")!r}
print(predict(run, x).values.shape)
for use in (
    lambda: evaluate(run, (x, ["dark"] * 8)),
    lambda: predict({str(runs / "run-kind")!r}, {str(runs / "kind.csv")!r}),
    lambda: predict(run, {str(runs / "images")!r}),
    lambda: fit(gluon.nn.Dense(2), (x, y), loss, callbacks=[callbacks.Logging()]),
):
    try:
        use()
    except Refused as error:
        print(str(error).partition("pip ")[2])
"""])  # fmt: skip
    expected = ["scikit-learn", "pandas", "pillow", "tqdm"]
    assert done.stdout.splitlines() == ["(8, 2)", *(f"install {name}" for name in expected)], done
