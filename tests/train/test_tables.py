"""Tables: columns by their names, and lines that are refused."""

import csv
import json

import numpy as np
import pytest
from repeated import first_alone

from train import Refused, predict_program
from train.__main__ import main
from train.data import Reading, load

NAMES = ("setosa", "versicolor")


@pytest.fixture
def table(tmp_path):
    def save(text, name="data.csv"):
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return str(tmp_path / name)

    return save


def lines(count=20, target="kind", head="age,length,width,kind"):
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
    assert data.columns == ("age", "length", "width") and data.target == "kind"
    assert data.task.classes == NAMES
    for x, y in ((data.x, data.y), (data.held_out_x, data.held_out_y)):
        np.testing.assert_array_equal(x[:, 0] % 2, y)
        np.testing.assert_array_equal(x[:, 1:], np.stack([x[:, 0] + 0.5, x[:, 0] * 10], 1))


@pytest.mark.parametrize(
    "how, columns",
    [
        ({"ignore": ("age",)}, ("length", "width")),
        ({"features": ("width", "length")}, ("width", "length")),
        ({"features": ("width", "age"), "ignore": ("age",)}, ("width",)),
        ({"target": "age", "ignore": ("kind",), "regression": True}, ("length", "width")),
    ],
    ids=str,
)
def test_columns_by_name(table, how, columns):
    data = load(table(lines()), how=Reading(**how))
    assert data.columns == columns
    by_name = {"age": 0.0, "length": 0.5, "width": 0.0}
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
FOURTH = "4,4.5,40,setosa"  # line 6


def with_length(text):
    return LINES.replace(FOURTH, f"4,{text},40,setosa")


@pytest.mark.parametrize(
    "text, reason",
    [
        (with_length("inf"), "line 6, column length is 'inf'; expected a number, or --ignore or"),
        (with_length("1e999"), "line 6, column length is '"),  # pandas 2 makes inf of it
        (with_length("1_0"), "line 6, column length is '1_0'; expected a number"),
        (with_length("Rome"), "line 6, column length is 'Rome'; expected a number, or --ignore"),
        (LINES.replace(FOURTH, "4,4.5,40,"), "line 6, column kind is missing; expected a target"),
        (LINES.replace(FOURTH, "4,4.5,40,?"), "line 6, column kind is missing; expected a target"),
        (LINES.replace("setosa", "NA"), "line 2, column kind is missing (10 are); expected a t"),
        (LINES.replace("4,4.5,", "4,"), "line 6 has 3 values; expected 4, as line 1"),
        (LINES.replace(FOURTH, f"{FOURTH},5"), "line 6 has 5 values; expected 4, as line 1"),
        (with_length('"4.5'), "line 6 cannot be read: "),
        (with_length("4\0"), "line 6 cannot be read: it has a NUL; expected text, or the --enco"),
        (LINES.replace("width", "age"), "line 1 has the column age twice"),
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
            "line 6 is not UTF-8, at byte 0xe9; expected it saved as UTF-8, or the --encoding",
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
        ({"target": "color"}, "it has no column color; it has age, length, width, kind"),
        ({"features": ("size",)}, "it has no column size; it has age"),
        ({"ignore": ("x",)}, "it has no column x; it has age"),
        ({"ignore": ("kind",)}, "--ignore kind: it is the target; expected a --target of another"),
        ({"target": "age", "ignore": ("age",)}, "--ignore age: it is the target"),
        (
            {"features": ("age",), "ignore": ("width",)},
            "--ignore width: it is not among --features, so it is not used; expected one",
        ),
        ({"features": ("width", "kind")}, "--features kind: it is the target; expected a --target"),
        (
            {"features": ("age",), "target": "age"},
            "--features age: it is the target; expected a --tar",
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
    second = table("kind,more,width,length,age\nversicolor,?,3,2,1\n", "second.csv")
    data = load(first, second)
    np.testing.assert_array_equal(data.held_out_x, [[1, 2, 3]])
    assert data.held_out_y.tolist() == [1]
    with pytest.raises(Refused, match="--validation .*: line 2, column kind is rose; expected o"):
        load(first, table("kind,width,length,age\nrose,3,2,1\n", "third.csv"))
    with pytest.raises(Refused, match="--validation .*: it has no column age"):
        load(first, table("kind,width,length\nsetosa,3,2\n", "third.csv"))


@pytest.mark.parametrize("name", ["digits", "held_out.npz", "x.npy,y.npy", "misspelt.cvs"])
def test_what_is_held_out_of_a_table_is_a_table(table, name):
    reason = (
        f"^--validation {name}: it is no table; expected a .csv, .tsv, .parquet or .xlsx file, as"
    )
    with pytest.raises(Refused, match=reason):
        load(table(lines()), name)


def test_a_validation_table_needs_no_column_that_is_ignored(table):
    first = table(lines())
    second = table("kind,width,length\nversicolor,3,2\n", "second.csv")
    data = load(first, second, Reading(ignore=("age",)))
    np.testing.assert_array_equal(data.held_out_x, [[2, 3]])
    data = load(first, second, Reading(features=("age", "width"), ignore=("age",)))
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


def test_a_suffix_in_capitals(table):
    expected = load(table(lines()))
    for name in ("DATA.CSV", "DATA.Csv"):
        np.testing.assert_array_equal(load(table(lines(), name)).x, expected.x)


def test_names_with_a_comma_are_quoted(table):
    name = table('"a, b",c,kind\n1,2,x\n3,4,y\nHigh,5,x\n')
    expected = 'it has no column a; it has "a, b", c, kind'
    assert refusal(name, features=("a", "b")) == expected
    assert refusal(name, target="a") == expected
    assert refusal(name, target="a, b", ignore=("a, b",)).startswith("""--ignore '"a, b"': it is""")


# Kinds of columns


PENGUINS = (
    ["N1", "Biscoe", 39.1, 3750, "male", "2007-11-11", True],
    ["N2", "Dream", None, 3800, "female", "2008-05-02", False],
    ["N3", "Torgersen", 40.3, 3250, None, "2009-01-30", False],
    ["N4", "Biscoe", 36.7, 3450, "female", "2007-12-24", True],
)
HEAD = ["tag", "island", "bill", "mass", "sex", "seen", "banded", "kind"]


def penguins(path, count=60):
    """A table with a column of each kind, some values of which are missing."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEAD)
        for i in range(count):
            row = list(PENGUINS[i % 4])
            row[0], row[3] = f"N{i}", row[3] + i
            writer.writerow([*row, NAMES[i % 2]])
    return path


def kinds(data):
    return {column.name: column.kind for column in data.table}


def test_kinds_are_found_by_looking(tmp_path):
    data = load(str(penguins(tmp_path / "a.csv")))
    assert kinds(data) == {
        "tag": "id", "island": "category", "bill": "number", "mass": "number",
        "sex": "category", "seen": "date", "banded": "boolean",
    }  # fmt: skip
    numbers = ("bill", "bill is missing", "mass", "seen", "banded")
    assert data.columns == (*numbers, "island", "sex", "seen: month", "seen: weekday")
    assert data.codes == (4, 4, 13, 8) and data.mean.shape == (1, 5)
    by_name = dict(zip(data.columns, data.x[data.x[:, 2] == 3801 + 4].T))  # the second kind of row
    assert not by_name or set(by_name["bill is missing"]) <= {0, 1}
    (told, *_) = data.notes
    assert told.splitlines()[0].split() == ["column", "kind", "missing", "what", "is", "done"]
    assert [line.split()[:3] for line in told.splitlines()[1:]] == [
        ["tag", "id", "0"], ["island", "category", "0"], ["bill", "number", "15"],
        ["mass", "number", "0"], ["sex", "category", "15"], ["seen", "date", "0"],
        ["banded", "boolean", "0"],
    ]  # fmt: skip


def test_what_a_row_becomes(tmp_path):
    from train.data.columns import encode
    from train.data.tables import read_table

    path = penguins(tmp_path / "a.csv")
    data = load(str(path))
    x, notes = encode(data.table, read_table(path, Reading(labelled=False)))
    median = np.median([39.1, 40.3, 36.7])
    assert x[0].tolist() == [39.1, 0, 3750, 13828, 1, 1, 3, 11, 7]  # a Sunday
    assert x[1].tolist() == [median, 1, 3801, 14001, 0, 2, 2, 5, 5]
    assert x[2].tolist()[:7] == [40.3, 0, 3252, 14274, 0, 3, 1] and notes == []


@pytest.mark.parametrize(
    "values, kind",
    [
        (["a", "b"], "category"),
        (["yes", "no"], "boolean"),
        (["TRUE", "False", ""], "boolean"),
        ([1, 0], "number"),
        (["1", "x"], "category"),
        (["2024-01-02", "2024-03-04"], "date"),
        (["2024-01-02 10:00:00", "2024-03-04 11:12:13"], "date"),
        (["31.12.2023", "1.2.2024"], "date"),
        (["12/31/2023", "1/2/2024"], "date"),
        (["31/12/2023", "1/2/2024"], "date"),
        (["", "NA"], "empty"),
        (range(40), "number"),
        ([f"a{i}" for i in range(40)], "id"),
        ([f"a{i}" for i in range(20)], "text"),
        ([f"a{i}" for i in range(8)], "category"),
    ],
    ids=str,
)
def test_kinds(table, values, kind):
    values = [*values]
    rows = "".join(f"{i},{values[i % len(values)]},{NAMES[i % 2]}\n" for i in range(40))
    assert kinds(load(table(f"x,what,kind\n{rows}")))["what"] == kind


@pytest.mark.parametrize("name, kind", [("Id", "id"), ("user_id", "id"), ("userID", "id"),
                                        ("humid", "number"), ("day", "number")])  # fmt: skip
def test_numbers_that_are_ids(table, name, kind):
    rows = "".join(f"{i / 2},{i},{NAMES[i % 2]}\n" for i in range(40))
    assert kinds(load(table(f"x,{name},kind\n{rows}")))[name] == kind


def test_kinds_that_are_given(tmp_path, table):
    path = str(penguins(tmp_path / "a.csv"))
    given = ("tag:category", "banded:category", "mass:category")
    found = load(path, how=Reading(columns=given))
    assert kinds(found)["banded"] == "category" and kinds(found)["tag"] == "text"
    (banded,) = (column for column in found.table if column.name == "banded")
    assert banded.values == ["False", "True"]
    for given, reason in (
        ("island:number", "line 2, column island is 'Biscoe' (60 such values); expected a number"),
        ("island:date", "--columns island:date: not all values are dates; expected ISO8601"),
        ("island:colour", "--columns island:colour: expected a name and one of number, boolean"),
        ("island", "--columns :island: expected a name and one of"),
        ("hue:number", "it has no column hue; it has tag, island"),
    ):
        assert refusal(path, columns=(given,)).startswith(reason)


def test_numbers_are_categories_by_their_values(table):
    rows = "".join(f"{i},{('1', '1.0', '2', '')[i % 4]},{NAMES[i % 2]}\n" for i in range(40))
    data = load(table(f"x,what,kind\n{rows}"), how=Reading(columns=("what:category",)))
    assert data.table[1].values == ["", "1", "2"]


def test_all_troubles_are_told_at_once(table):
    rows = [f"{i},{i % 7},{i},x" for i in range(40)]
    rows[3], rows[4], rows[5] = "oops,1,3,x", "4,nine,4,y", "5,2,5,"
    line = refusal(table("a,b,b,kind\n" + "\n".join(rows)))
    assert "line 5, column a is 'oops'" in line and "line 1 has the column b twice" in line
    assert "line 7, column kind is missing" in line and line.count("; also ") == 2


def test_a_column_that_is_there_twice_can_be_ignored(table):
    name = table("a,b,b,kind\n" + "".join(f"{i},1,2,{NAMES[i % 2]}\n" for i in range(20)))
    assert refusal(name).startswith("line 1 has the column b twice; expected different names")
    assert load(name, how=Reading(ignore=("b",))).columns == ("a",)
    assert load(name, how=Reading(features=("a",))).columns == ("a",)


@pytest.mark.parametrize("first", ["", "Unnamed: 0"])
def test_the_index_of_pandas_is_left_out(table, first):
    rows = "".join(f"{i},{i / 2},{NAMES[i % 2]}\n" for i in range(20))
    name, called = table(f"{first},x,kind\n{rows}"), first or "index"
    found = load(name)
    assert found.columns == ("x",) and kinds(found)[called] == "index"
    assert f"{called}  " in found.notes[0] and "left out" in found.notes[0]
    assert load(name, how=Reading(features=(called, "x"))).columns == (called, "x")
    assert load(name, how=Reading(columns=(f"{called}:number",))).columns == (called, "x")
    assert load(name, how=Reading(ignore=(called,))).columns == ("x",)


@pytest.mark.parametrize("header", [",", ""])
def test_a_comma_at_the_end_of_each_line(table, header):
    expected = load(table(LINES))
    lines = LINES.splitlines()
    text = "\n".join([lines[0] + header, *(f"{line}," for line in lines[1:])])
    found = load(table(text, "other.csv"))
    np.testing.assert_array_equal(found.x, expected.x)
    assert found.columns == expected.columns and found.target == "kind"


# Forms of files


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zip"])
def test_packed_tables(tmp_path, suffix):
    pandas = pytest.importorskip("pandas")
    path = penguins(tmp_path / "a.csv")
    packed = tmp_path / f"b.csv{suffix}"
    pandas.read_csv(path).to_csv(packed, index=False)
    np.testing.assert_array_equal(load(str(packed)).x, load(str(path)).x)


@pytest.mark.parametrize("suffix, package", [(".parquet", "pyarrow"), (".xlsx", "openpyxl")])
def test_other_forms(tmp_path, suffix, package, monkeypatch):
    other = tmp_path / f"a{suffix}"
    other.write_bytes(b"")
    with monkeypatch.context() as without:
        without.setitem(__import__("sys").modules, package, None)
        assert refusal(str(other)) == f"{package} is not installed: pip install {package}"
    pytest.importorskip(package)
    assert refusal(str(other)).startswith("it cannot be read: ")
    pandas = pytest.importorskip("pandas")
    path = penguins(tmp_path / "a.csv")
    frame = pandas.read_csv(path, parse_dates=["seen"])
    frame["island"] = frame["island"].astype("category")
    frame.to_parquet(other) if suffix == ".parquet" else frame.to_excel(other, index=False)
    found, expected = load(str(other)), load(str(path))
    assert found.table == expected.table
    np.testing.assert_array_equal(found.x, expected.x)


def test_a_packed_table_that_is_too_large(tmp_path):
    import gzip

    path = tmp_path / "a.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 12_000_000)
    assert refusal(str(path)).startswith("unpacked it has more than 3")
    path.write_bytes(path.read_bytes()[:500])
    assert refusal(str(path)).startswith("it cannot be read: ")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1", "cp1252", "utf-8"])
def test_encodings(tmp_path, encoding):
    path = tmp_path / "a.csv"
    text = "größe,kind\n" + "".join(f"{i},{('süß', 'herb')[i % 2]}\n" for i in range(20))
    path.write_bytes(text.encode(encoding))
    found = load(str(path), how=Reading(encoding=encoding))
    assert found.columns == ("größe",) and found.task.classes == ("herb", "süß")


def test_an_encoding_that_is_none(table):
    for name in ("klingon", "hex", ""):
        assert "there is none; expected utf-8, utf-16" in refusal(table(LINES), encoding=name)
    assert refusal(table(LINES.encode() + b"\x81"), encoding="ascii").startswith(
        "it is not in ascii"
    )


@pytest.mark.parametrize("decimal, thousands", [(",", "."), (".", ",")])
def test_decimal_marks(tmp_path, decimal, thousands):
    def write(name, show):
        with (tmp_path / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["amount", "day", "kind"])
            writer.writerows(
                [show(1234.5 * i), f"{1 + i}.02.2024", NAMES[i % 2]] for i in range(20)
            )
        return str(tmp_path / name)

    marks = str.maketrans({".": decimal, ",": thousands})
    plain = write("a.csv", str)
    other = write("b.csv", lambda value: f"{value:,}".translate(marks))
    line = refusal(other)
    assert "column amount is" in line and "expected --decimal , for decimal commas" in line
    found, expected = load(other, how=Reading(decimal=decimal)), load(plain)
    assert kinds(found) == {"amount": "number", "day": "date"}
    np.testing.assert_array_equal(found.x, expected.x)


# Large and small numbers


def test_whole_numbers_are_classes_exactly(table):
    ids = [2**53, 2**53 + 1, 1234567890123456789, 1234567890123456790, 10**30, -5]
    rows = "".join(f"{i},{ids[i % 6]}\n" for i in range(60))
    found = load(table(f"x,user\n{rows}"))
    assert found.task.classes == tuple(map(str, sorted(ids)))
    both = zip(np.concatenate([found.x, found.held_out_x]), [*found.y, *found.held_out_y])
    assert all(found.task.classes[int(y)] == str(ids[int(x[0]) % 6]) for x, y in both)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_whole_numbers_of_arrays_are_classes_exactly(tmp_path, dtype):
    ids = np.array([2**53, 2**53 + 1, 2**63 - 1], dtype)
    np.savez(tmp_path / "a.npz", x=np.arange(30.0)[:, None], y=np.resize(ids, 30))
    found = load(str(tmp_path / "a.npz"))
    assert found.task.classes == tuple(map(str, ids.tolist()))


SCALES = [(1.7e12, 600_000), (1e-300, 1e-301), (1e300, 1e299), (0, 1e-310), (3e38, 1e38), (5, 1)]


@pytest.mark.parametrize("form", ["csv", "npz"])
@pytest.mark.parametrize("place, size", SCALES, ids=str)
def test_columns_keep_their_digits(tmp_path, place, size, form):
    values = place + size * np.random.RandomState(0).uniform(-1, 1, 50)
    path = tmp_path / f"a.{form}"
    if form == "csv":
        path.write_text(
            "x,y\n" + "".join(f"{v!r},{i % 2}\n" for i, v in enumerate(values.tolist()))
        )
    else:
        np.savez(path, x=values[:, None], y=np.arange(50) % 2)
    data = load(str(path))
    both = np.concatenate([data.x, data.held_out_x])
    scaled = np.sort(((both - data.mean) / data.std)[:, 0])
    assert len(np.unique(both)) == 50 and np.isfinite(scaled).all() and 0.5 < scaled.std() < 2
    expected = np.sort(values / size - place / size)
    expected = (expected - expected.mean()) / expected.std() * scaled.std() + scaled.mean()
    np.testing.assert_allclose(scaled, expected, atol=1e-4)
    np.testing.assert_allclose(np.sort(data.shift.back(both)[:, 0]), np.sort(values), rtol=1e-6)
    assert data.shift.is_none == (place == 5)


@pytest.mark.parametrize("place, size", SCALES, ids=str)
def test_targets_keep_their_digits(tmp_path, place, size):
    values = place + size * np.random.RandomState(0).uniform(-1, 1, 50)
    np.savez(tmp_path / "a.npz", x=np.arange(50.0)[:, None], y=values)
    data = load(str(tmp_path / "a.npz"), how=Reading(regression=True))
    both = np.concatenate([data.y, data.held_out_y])
    assert len(np.unique(both)) == 50 and data.task.std > 1e-30
    found = np.sort(data.target_shift.back(both[:, None])[:, 0])
    np.testing.assert_allclose(found, np.sort(values), rtol=1e-6)
    np.testing.assert_allclose(
        (found - found.mean()) / size, (np.sort(values) - values.mean()) / size, atol=1e-4
    )


def test_many_whole_numbers_ask_for_the_task(table):
    rows = "".join(f"{i},{i * 7 % 50}\n" for i in range(100))
    name = table(f"x,y\n{rows}")
    expected = "column y has 50 different whole numbers in 100 samples; expected --task regression"
    assert refusal(name, asked=True).startswith(expected)
    assert len(load(name).task.classes) == 50
    few = table("x,y\n" + "".join(f"{i},{i % 20}\n" for i in range(100)), "b.csv")
    assert len(load(few, how=Reading(asked=True)).task.classes) == 20


# Runs


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("program", first_alone(["train", "module"]))
def test_a_run_and_its_predictions(tmp_path, capsys, program):
    from train import module

    path, out = penguins(tmp_path / "a.csv"), tmp_path / "out"
    argv = ["--data", str(path), "--epochs", "40", "--hidden", "8", "--out", str(out)]
    assert {"train": main, "module": module.main}[program](argv) == 0
    said = capsys.readouterr().out
    assert "island  category" in said and "are of the largest class, " in said
    result = json.loads((out / "config.json").read_text())["result"]
    assert result["held_out_accuracy_of_largest_class"] == 0.5 and result["held_out_accuracy"] == 1
    text = path.read_text().splitlines()
    row = text[1].replace("Biscoe", "Skye").replace("39.1", "").replace("3750", "NA")
    (tmp_path / "b.csv").write_text("\n".join([text[0], *text[1:4], row]))
    argv = [str(out), str(tmp_path / "b.csv"), "--keep", "island"]
    assert predict_program.main(argv) == 0
    found = capsys.readouterr()
    rows = [*csv.DictReader(found.out.splitlines())]
    assert [row["class"] for row in rows[:3]] == [NAMES[i % 2] for i in range(3)]
    assert [row["tag"] for row in rows] == ["N0", "N1", "N2", "N0"]
    assert [row["island"] for row in rows] == ["Biscoe", "Dream", "Torgersen", "Skye"]
    assert found.err.splitlines() == [
        "column island: 1 values are taken as others, of which nothing was learned: Skye",
        "column mass: 1 values are missing or of another kind; the median "
        + found.err.rpartition("median ")[2].rstrip(),
    ]


@pytest.mark.slow_on("mxnet")
def test_predictions_of_numbers_far_from_0(tmp_path, capsys):
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text("i,y\n" + "".join(f"{i},{1700000000 + i}\n" for i in range(100)))
    argv = ["--data", str(path), "--task", "regression", "--epochs", "60", "--lr", "0.01"]
    assert main([*argv, "--hidden", "16", "--out", str(out)]) == 0
    assert predict_program.main([str(out), str(path)]) == 0
    rows = [
        *csv.DictReader(
            capsys.readouterr().out.partition("row,")[2].join(["row,", ""]).splitlines()
        )
    ]
    errors = [abs(float(row["value"]) - 1700000000 - i) for i, row in enumerate(rows)]
    measured = json.loads((out / "config.json").read_text())["result"]["held_out_mae"]
    assert len({row["value"] for row in rows}) == 100
    assert 0 < np.mean(errors) < 5 and 0.2 < np.mean(errors) / measured < 5


def test_a_large_table_is_read_in_a_moment(tmp_path):
    import time

    pandas = pytest.importorskip("pandas")
    values = np.random.RandomState(0).normal(size=(20_000, 20))
    frame = pandas.DataFrame(values).add_prefix("x")
    frame.assign(city=np.resize(["a", "b", "c"], 20_000), y=np.arange(20_000) % 3).to_csv(
        tmp_path / "a.csv", index=False
    )
    begin = time.process_time()
    load(str(tmp_path / "a.csv"))
    assert time.process_time() - begin < 5


@pytest.mark.slow_on("mxnet")
@pytest.mark.parametrize("program", first_alone(["train", "module"]))
def test_categories_of_many_values_and_nothing_else(tmp_path, capsys, program):
    from train import module

    shops = [f"s{i % 20}" for i in range(200)]
    rows = [f"{shop},{NAMES[int(shop[1:]) % 2]}" for shop in shops]
    path, out = tmp_path / "a.csv", tmp_path / "out"
    path.write_text("\n".join(["shop,kind", *rows]))
    argv = ["--data", str(path), "--epochs", "30", "--hidden", "16", "--out", str(out)]
    assert {"train": main, "module": module.main}[program](argv) == 0
    config = json.loads((out / "config.json").read_text())
    assert config["data"]["codes"] == [21] and config["data"]["mean"] == []
    assert config["result"]["held_out_accuracy"] == 1
    capsys.readouterr()
    assert predict_program.main([str(out), str(path)]) == 0
    found = [*csv.DictReader(capsys.readouterr().out.splitlines())]
    assert [row["class"] for row in found] == [row.partition(",")[2] for row in rows]
