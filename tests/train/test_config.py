"""``--config``: options from a file, and a run that is repeated."""

import json
import time
from importlib.util import find_spec

import pytest

from layers._errors import quoted
from train import Refused
from train.__main__ import main
from train.command_line import parse

OPTIONS = {
    "data": "iris.csv",
    "features": ["a", "b, c"],
    "image-size": [32, 48],
    "hidden": [7, 5],
    "epochs": 2,
    "lr": 1e-05,
    "optimizer_option": {"beta1": 0.8, "lazy_update": False},
    "residual": True,
    "ctx": "cpu:1",
    "seed": None,
    "out": "runs/a",
}
LINE = [
    "--data", "iris.csv", "--features", 'a,"b, c"', "--image-size", "32,48", "--hidden", "7,5",
    "--epochs", "2", "--lr", "1e-5", "--optimizer-option", "beta1=0.8",
    "--optimizer-option", "lazy_update=false", "--residual", "--ctx", "cpu:1", "--out", "runs/a",
]  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write(content, name="config.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def test_it_is_as_on_the_command_line(write):
    path = write(OPTIONS)
    options = vars(parse(["--config", str(path)]))
    assert options == vars(parse(LINE)) | {"config": path}


def test_the_command_line_takes_precedence(write):
    path = write({"epochs": 5, "lr": 0.5, "optimizer_option": [["a", 1], ["b", 2], ["b", 3]]})
    options = parse(["--config", str(path), "--epochs", "7", "--optimizer-option", "a=4"])
    assert (options.epochs, options.lr) == (7, {"*": 0.5})
    assert options.optimizer_option == {"a": 4, "b": 3}


def test_the_out_of_a_run_is_not_taken(write):
    path = write({"options": {"epochs": 5, "out": "runs/a"}, "engine": {"name": "x"}})
    options = parse(["--config", str(path)])
    assert options.epochs == 5 and str(options.out) != "runs/a"


@pytest.mark.skipif(find_spec("yaml") is None, reason="pyyaml is not installed")
def test_yaml(write):
    path = write("epochs: 5\nhidden: [7, 5]\n", "config.yaml")
    options = parse(["--config", str(path)])
    assert (options.epochs, options.hidden) == (5, [7, 5])
    path = write("lr: 1e-3\nweight-decay: 2E-04\ndata: 1e3.csv\n", "config.yaml")
    options = parse(["--config", str(path)])
    assert (options.lr, options.weight_decay, options.data) == ({"*": 1e-3}, 2e-4, "1e3.csv")
    for content, reason in (("a: [", "it is not YAML: "), ("- 3", "expected settings by their n")):
        with pytest.raises(Refused, match=reason) as refused:
            parse(["--config", str(write(content, "config.yml"))])
        assert "\n" not in str(refused.value)


@pytest.mark.skipif(find_spec("yaml") is None, reason="pyyaml is not installed")
@pytest.mark.parametrize(
    "content",
    [
        "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 5)),
        "epochs: &n 5\nseed: *n",
        "a: &a\n  epochs: 5\n<<: *a",
        "epochs: !!int ''",
        "residual: !!bool maybe",
        "seed: !!timestamp now",
        "epochs: !!python/object/apply:os.getpid []",
    ],
)
def test_yaml_has_no_aliases_and_tags(write, content):
    with pytest.raises(Refused, match="config.yaml: line [1-3] has an alias or a tag of YAML; exp"):
        parse(["--config", str(write(content, "config.yaml"))])


def test_yaml_is_not_installed(write, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(Refused, match="config.yaml: YAML needs: pip install pyyaml; JSON does not"):
        parse(["--config", str(write("epochs: 5", "config.yaml"))])


@pytest.mark.parametrize(
    "content, reason",
    [
        ({"epoch": 3}, "there is no setting 'epoch'; expected some of data, "),
        ({"resume": True}, "there is no setting 'resume'"),
        ({"epochs": "3"}, "epochs: expected a whole number from 1, not '3'"),
        ({"epochs": 2.5}, "epochs: expected a whole number from 1, not 2.5"),
        ({"epochs": True}, "epochs: expected a whole number from 1, not True"),
        ({"epochs": [3, 4]}, "epochs: expected a whole number from 1, not [3, 4]"),
        ({"epochs": {"a": 1}}, "epochs: expected a whole number from 1, not {'a': 1}"),
        (
            {"lr": "fast"},
            "lr: expected a number above 0, such as 0.01, or PATTERN=RATE, not 'fast'",
        ),
        ({"residual": "yes"}, "residual: expected true or false, not 'yes'"),
        ({"data": 3}, "data: expected text, not 3"),
        ({"hidden": [3, "x"]}, "hidden: expected sizes of layers, such as 128 or 128,64, not"),
        ({"task": "ranking"}, "task: expected one of classification, regression, not 'ranking'"),
        ({"optimizer-option": 3}, "optimizer-option: expected a name and its value, such as "),
        ({"optimizer_option": [3]}, "optimizer_option: expected a name and its value, such as "),
        ([3], "expected settings by their names"),
        ({"features": "a\rb"}, "features: expected names of columns, each once, such as"),
        ({"a" * 100_000: 1}, f"there is no setting {quoted('a' * 100_000)}; expected some"),
        ("{", "it is not JSON: "),
        ("[" * 100_000, "it is not JSON: "),
    ],
)
def test_what_is_wrong(write, content, reason):
    path = write(content)
    with pytest.raises(Refused) as refused:
        parse(["--config", str(path)])
    assert str(refused.value).startswith(f"--config {path}: {reason}")


NET = "got/net.py:build"
MARK = "import pathlib; pathlib.Path('was-run').touch()\n"
BUILD = """
from layers.engine import gluon
def build(shape, outputs): return gluon.nn.Dense(outputs)
"""


@pytest.mark.parametrize("program", ["train", "train.detect"])
@pytest.mark.parametrize("content", [{"net": NET}, {"options": {"net": NET}}], ids=["file", "run"])
def test_a_net_of_python_is_named_on_the_command_line_too(write, program, content):
    path = write(content)
    told = f"{path}: its net is '{NET}', a Python file that would be run; expected --net {NET} on "
    with pytest.raises(Refused) as refused:
        parse(["--config", str(path)], program)
    assert str(refused.value).startswith(told)
    for net in (NET, "other.py:build"):
        assert parse(["--config", str(path), "--net", net], program).net == net


def test_a_resumed_net_of_python_is_named_again(tmp_path):
    of_run(tmp_path, argv := ["--net", NET, "--out", str(tmp_path)])
    with pytest.raises(Refused, match=f"^{tmp_path}/config.json: its net is '{NET}', a Python"):
        parse(["--resume", "--out", str(tmp_path)])
    assert parse([*argv, "--resume"]).net == NET


@pytest.mark.skipif(not find_spec("yaml"), reason="reads YAML")
def test_yaml_that_takes_long_is_refused_at_once(write):
    begin = time.process_time()
    for content, reason in (
        ("[" * 60_000, "it is not YAML: maximum recursion"),
        ("a: [" + "1, " * 30_000 + "1]", "it has 90,006 characters; expected at most 65,536"),
    ):
        with pytest.raises(Refused, match=reason):
            parse(["--config", str(write(content, "config.yaml"))])
    assert time.process_time() - begin < 5


def test_a_config_from_elsewhere_runs_nothing(write, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "got").mkdir()
    (tmp_path / "got/net.py").write_text(MARK + BUILD)
    path = write({"options": {"net": NET, "epochs": 1}}, "got/config.json")
    for argv in (["--config", str(path), "--out", "out"], ["--resume", "--out", "got"]):
        assert main(argv) == 2
        assert "a Python file that would be run" in capsys.readouterr().err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["got"]
    assert main(["--config", str(path), "--out", "out", "--net", NET]) == 0
    assert (tmp_path / "was-run").exists()


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(Refused, match="absent.json: No such file or directory"):
        parse(["--config", str(tmp_path / "absent.json")])


@pytest.mark.slow_on("mxnet")
def test_a_run_is_repeated_bit_for_bit(tmp_path):
    argv = ["--epochs", "2", "--hidden", "16,8", "--optimizer", "nadam", "--lr", "0.003"]
    argv += ["--optimizer-option", "beta1=0.8", "--seed", "3", "--dropout", "0.2", "--norm", "rms"]
    argv += ["--schedule", "cosine", "--schedule-option", "final=0.1", "--clip", "1"]
    assert main([*argv, "--out", str(tmp_path / "a")]) == 0
    config = str(tmp_path / "a/config.json")
    assert main(["--config", config, "--out", str(tmp_path / "b")]) == 0
    for name in ("history.csv", "model.safetensors"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    first, second = (json.loads((tmp_path / n / "config.json").read_text()) for n in "ab")
    assert first["options"] | {"out": ""} == second["options"] | {"out": ""}


SETTINGS = {
    "--optimizer-option": ["beta1=0.8", "beta2=0.9"],
    "--schedule-option": ["final=0.1"],
}


def of_run(folder, argv):
    """Write the config.json that a run with these options has."""
    content = {"options": parse(argv).as_json() | {"out": str(folder)}, "files": ["history.csv"]}
    (folder / "config.json").write_text(json.dumps(content))


def test_the_same_command_line_resumes(tmp_path):
    argv = ["--schedule", "cosine", "--out", str(tmp_path)]
    argv += [word for name, values in SETTINGS.items() for v in values for word in (name, v)]
    of_run(tmp_path, argv)
    options = parse([*argv, "--resume"])
    assert options.optimizer_option == {"beta1": 0.8, "beta2": 0.9}
    assert options.schedule_option == {"final": 0.1}
    assert parse(["--resume", "--out", str(tmp_path)]).schedule_option == {"final": 0.1}
    with pytest.raises(Refused, match="^--resume: --schedule-option is .*0.2.*, and .*0.1"):
        parse([*argv, "--resume", "--schedule-option", "final=0.2"])


def test_a_resumed_run_reads_the_file_too(write, tmp_path):
    """What differs is refused as if it were on the command line."""
    folder = tmp_path / "run"
    folder.mkdir()
    content = {"batch_size": 9, "lr": None, "optimizer-option": {"beta1": 0.8}, "out": str(folder)}
    argv = ["--config", str(write(content)), "--optimizer-option", "beta2=0.9"]
    of_run(folder, [*argv, "--lr", "0.5"])
    options = parse([*argv, "--resume"])
    assert (options.batch_size, options.lr, options.out) == (9, {"*": 0.5}, folder)
    write(content | {"epochs": 7})
    assert parse([*argv, "--resume"]).epochs == 7
    write(content | {"batch_size": 8})
    with pytest.raises(Refused, match=f"^--resume: --batch-size is 8, and 9 in {folder}/config.js"):
        parse([*argv, "--resume"])
    assert parse([*argv, "--resume", "--batch-size", "9"]).batch_size == 9


def test_what_is_no_run_is_not_resumed(write, tmp_path):
    path = write({"batch_size": 9})
    with pytest.raises(Refused, match=f"^--resume: {path} is of no run; expected another --out"):
        parse(["--config", str(path), "--out", str(tmp_path), "--resume"])


def test_a_run_is_resumed_with_its_own_options(tmp_path, capsys):
    out = str(tmp_path)
    assert main(["--epochs", "1", "--hidden", "8", "--seed", "3", "--out", out]) == 0
    assert main(["--epochs", "2", "--resume", "--out", out]) == 0
    options = json.loads((tmp_path / "config.json").read_text())["options"]
    assert (options["epochs"], options["hidden"], options["seed"]) == (2, [8], 3)
    capsys.readouterr()
    assert main(["--resume", "--out", out, "--batch-size", "9"]) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"train: --resume: --batch-size is 9, and 64 in {out}/config.json; only")
