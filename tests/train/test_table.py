"""Tables: columns by their names, and lines that are refused."""

import csv
import json
import re

import numpy as np
import pytest
from repeated import first_alone

from train import Refused
from train.__main__ import main
from train.data import Reading, load
from train.data.table import read_csv

NAMES = ("setosa", "versicolor")


@pytest.fixture
def table(tmp_path):
    def save(text, name="data.csv"):
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return str(tmp_path / name)

    return save


def lines(count=20, target="kind", head="id,length,width,kind"):
    rows = [f"{i},{i + 0.5},{10 * i},{NAMES[i % 2]}" for i in range(count)]
    return "\n".join([head, *rows]) + "\n"


def refusal(name, **how):
    with pytest.raises(Refused) as refused:
        load(name, how=Reading(**how))
    line = str(refused.value)
    assert line.startswith(f"--data {name}: ") and "\n" not in line
    return line.removeprefix(f"--data {name}: ")


def test_the_last_column_is_the_target(table):
    data = load(table(lines()))
    assert data.columns == ("id", "length", "width") and data.target == "kind"
    assert data.task.classes == NAMES
    for x, y in ((data.x, data.y), (data.held_out_x, data.held_out_y)):
        np.testing.assert_array_equal(x[:, 0] % 2, y)
        np.testing.assert_array_equal(x[:, 1:], np.stack([x[:, 0] + 0.5, x[:, 0] * 10], 1))


@pytest.mark.parametrize(
    "how, columns",
    [
        ({"ignore": ("id",)}, ("length", "width")),
        ({"features": ("width", "length")}, ("width", "length")),
        ({"features": ("width", "id"), "ignore": ("id",)}, ("width",)),
        ({"target": "id", "ignore": ("kind",), "regression": True}, ("length", "width")),
    ],
    ids=str,
)
def test_columns_by_name(table, how, columns):
    data = load(table(lines()), how=Reading(**how))
    assert data.columns == columns
    by_name = {"id": 0.0, "length": 0.5, "width": 0.0}
    expected = np.array([[by_name[name] for name in columns]])
    both = np.concatenate([data.x, data.held_out_x])
    np.testing.assert_array_equal(both[both[:, 0].argmin()], expected[0])


@pytest.mark.parametrize(
    "text",
    [
        lines().replace(",", ";"),
        lines().replace(",", "\t"),
        lines().replace("\n", "\r\n"),
        "\ufeff" + lines(),
        lines().replace(",", " , "),
        lines().replace("\n", "\n\n"),
        lines().replace("length", '"length"').replace("setosa", '"setosa"'),
    ],
    ids=["semicolons", "tabs", "CR LF", "a byte order mark", "spaces", "empty lines", "quotes"],
)
def test_how_tables_are_written(table, text):
    expected, found = load(table(lines())), load(table(text, "other.csv"))
    np.testing.assert_array_equal(found.x, expected.x)
    np.testing.assert_array_equal(found.y, expected.y)
    assert (found.columns, found.task.classes) == (expected.columns, expected.task.classes)


def test_numbers_are_classes_by_their_values(table):
    data = load(table("x,y\n" + "".join(f"{i},{v}\n" for i, v in enumerate(["10", "9.0"] * 5))))
    assert data.task.classes == ("9", "10")


@pytest.mark.parametrize(
    "labels, classes",
    [
        (["007", "7", "x"], ("007", "7", "x")),
        (["007", "7"], ("007", "7")),
        (["7", "7.0", "-1", "0"], ("-1", "0", "7")),
        (["01", "02"], ("01", "02")),
    ],
)
def test_labels_with_leading_zeros_are_texts(table, labels, classes):
    rows = "".join(f"{i},{labels[i % len(labels)]}\n" for i in range(24))
    assert load(table(f"x,kind\n{rows}")).task.classes == classes


def test_numbers_to_predict_may_have_leading_zeros(table):
    rows = "".join(f"{i},0{i}\n" for i in range(24))
    assert {*load(table(f"x,size\n{rows}"), how=Reading(regression=True)).y} < {*range(24)}


LINES = lines()


@pytest.mark.parametrize(
    "text, reason",
    [
        (LINES.replace("4.5", ""), "line 6, column length is missing (''); expected a number"),
        (LINES.replace("4.5", "NA"), "line 6, column length is missing ('NA')"),
        (LINES.replace("4.5", "nan"), "line 6, column length is missing ('nan')"),
        (LINES.replace("4.5", "inf"), "line 6, column length is 'inf'; expected a number"),
        (LINES.replace("4.5", "1_0"), "line 6, column length is '1_0'; expected a number"),
        (LINES.replace("4.5", "Rome"), "line 6, column length is 'Rome'; expected a number"),
        (LINES.replace("4.5", "1e60"), "line 6 has the value 1e+60; 2 of 20 samples have one"),
        (LINES.replace("40,setosa", "40,"), "line 6, column kind is missing ('')"),
        (LINES.replace("40,setosa", "40,?"), "line 6, column kind is missing ('?')"),
        (LINES.replace("4.5,", ""), "line 6 has 3 values; expected 4, as line 1"),
        (LINES.replace("4.5", '"4.5'), "line 6 cannot be read: "),
        (LINES.replace("width", "id"), "line 1 has the column id twice"),
        (LINES.splitlines()[0], "it has no line after the first"),
        ("", "it is empty"),
        ("\n1,2\n", "it is empty"),
        ("1,2\n3,4\n", "line 1 begins with 1; expected the names of the columns"),
        (
            "5.1,3,setosa\n4.9,3,other\n",
            "line 1 begins with 5.1; expected the names of the columns",
        ),
        ("kind\na\nb\n", "it has no column but kind; expected features"),
        (
            (LINES * 900).replace("4.5", "4.5é", 1).encode("latin-1"),
            "line 6 is not UTF-8, at byte 0xe9; expected it saved as UTF-8",
        ),
        (LINES.encode("utf-16"), "line 1 is not UTF-8, at byte 0xff"),
        ("a,b\n" + "x" * 200_000 + ",1\n", "line 2 cannot be read: field larger than field limit"),
    ],
    ids=range(21),
)
def test_what_is_refused(table, text, reason):
    assert refusal(table(text)).startswith(reason)


@pytest.mark.parametrize(
    "how, reason",
    [
        ({"target": "color"}, "it has no column color; it has id, length, width, kind"),
        ({"features": ("size",)}, "it has no column size; it has id"),
        ({"ignore": ("x",)}, "it has no column x; it has id"),
        ({"ignore": ("kind",)}, "--ignore kind: it is the target; expected a --target of another"),
        ({"target": "id", "ignore": ("id",)}, "--ignore id: it is the target"),
        (
            {"features": ("id",), "ignore": ("width",)},
            "--ignore width: it is not among --features, so it is not used; expected one",
        ),
        ({"features": ("width", "kind")}, "--features kind: it is the target; expected a --target"),
        (
            {"features": ("id",), "target": "id"},
            "--features id: it is the target; expected a --tar",
        ),
        (
            {"regression": True},
            "line 2, column kind is 'setosa'; expected a number, for --task regression",
        ),
        ({"target": "length", "ignore": ("kind",)}, "line 2, column length is 0.5; expected cl"),
    ],
    ids=[
        *("target", "features", "ignore", "the target", "a target", "without effect"),
        *("learned from", "all that is learned from", "a number", "classes"),
    ],
)
def test_columns_that_do_not_fit(table, how, reason):
    assert refusal(table(lines()), **how).startswith(reason)


def test_no_table(tmp_path):
    assert refusal(str(tmp_path / "absent.csv")) == "there is no such file"


def test_a_validation_table_has_its_columns_in_any_order(table):
    first = table(lines())
    second = table("kind,more,width,length,id\nversicolor,?,3,2,1\n", "second.csv")
    data = load(first, second)
    np.testing.assert_array_equal(data.held_out_x, [[1, 2, 3]])
    assert data.held_out_y.tolist() == [1]
    with pytest.raises(Refused, match="--validation .*: line 2, column kind is rose; expected o"):
        load(first, table("kind,width,length,id\nrose,3,2,1\n", "third.csv"))
    with pytest.raises(Refused, match="--validation .*: it has no column id"):
        load(first, table("kind,width,length\nsetosa,3,2\n", "third.csv"))


@pytest.mark.parametrize("name", ["digits", "held_out.npz", "x.npy,y.npy", "misspelt.cvs"])
def test_what_is_held_out_of_a_table_is_a_table(table, name):
    reason = f"^--validation {name}: it is no table; expected a .csv or .tsv file, as --data is$"
    with pytest.raises(Refused, match=reason):
        load(table(lines()), name)


def test_a_validation_table_needs_no_column_that_is_ignored(table):
    first = table(lines())
    second = table("kind,width,length\nversicolor,3,2\n", "second.csv")
    data = load(first, second, Reading(ignore=("id",)))
    np.testing.assert_array_equal(data.held_out_x, [[2, 3]])
    data = load(first, second, Reading(features=("id", "width"), ignore=("id",)))
    np.testing.assert_array_equal(data.held_out_x, [[3]])


def write(path, name):
    """A table that scikit-learn brings along."""
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*found.feature_names, "kind"])
        for x, y in zip(found.data.tolist(), found.target):
            writer.writerow([*x, found.target_names[y] if "target_names" in found else y])


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize(
    "name, right",
    first_alone([("iris", 0.96), ("wine", 0.97), ("breast_cancer", 0.95)]),
    ids=str,
)
def test_columns_of_different_sizes(tmp_path, name, right):
    """With one mean and deviation for all columns it was 74, 95 and 90 %."""
    write(tmp_path / "data.csv", name)
    assert main(["--data", str(tmp_path / "data.csv"), "--out", str(tmp_path / "out")]) == 0
    config = json.loads((tmp_path / "out/config.json").read_text())
    assert config["result"]["held_out_accuracy"] >= right
    assert len(config["data"]["mean"]) == len(config["data"]["columns"])


@pytest.mark.slow_on("mxnet")
def test_a_number_from_a_table(tmp_path, capsys):
    write(tmp_path / "data.csv", "diabetes")
    argv = ["--data", str(tmp_path / "data.csv"), "--task", "regression", "--target", "kind"]
    argv += ["--hidden", "8", "--epochs", "40", "--lr", "0.01", "--out", str(tmp_path / "out")]
    assert main(argv) == 0
    said = capsys.readouterr().out
    assert "a number in 'kind', 354 samples" in said and "R² 0." in said
    result = json.loads((tmp_path / "out/config.json").read_text())["result"]
    assert result["held_out_r2"] > 0.3 and 35 < result["held_out_mae"] < 55


def test_a_column_of_texts_can_be_ignored(tmp_path):
    path = tmp_path / "houses.csv"
    path.write_text("street name,size,price\nOak,2,3\n,1,2\n")
    found = "line 2, column street name is 'Oak'; expected a number, or --ignore 'street name'"
    with pytest.raises(Refused, match=re.escape(found)):
        read_csv(path, Reading(regression=True))
    with pytest.raises(Refused, match=r"'Oak'; expected a number$"):  # a prediction has no --ignore
        read_csv(path, Reading(features=("street name",), labelled=False))
    path.write_text("street name,size,price\n1,,3\n")
    with pytest.raises(Refused, match=r"column size is missing \(''\); expected a number$"):
        read_csv(path, Reading(regression=True))


def test_a_suffix_in_capitals(table):
    expected = load(table(lines()))
    for name in ("DATA.CSV", "DATA.Csv"):
        np.testing.assert_array_equal(load(table(lines(), name)).x, expected.x)


def test_names_with_a_comma_are_quoted(table):
    name = table('"a, b",c,kind\n1,2,x\n3,4,y\nHigh,5,x\n')
    expected = 'it has no column a; it has "a, b", c, kind'
    assert refusal(name, features=("a", "b")) == expected
    assert refusal(name, target="a") == expected
    column = """line 4, column "a, b" is 'High'; expected a number, or --ignore '"a, b"'"""
    assert refusal(name) == column
    assert refusal(name, target="a, b", ignore=("a, b",)).startswith("""--ignore '"a, b"': it is""")
