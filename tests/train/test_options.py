"""The command line."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import layers
from train import Refused
from train.command_line import parse
from train.config import settings_of

FIND_LR_ONLY = {"lowest": 1e-6, "highest": 10.0, "steps": 150}


def test_nothing_given():
    options = parse([])
    assert options.data == "digits"
    assert options.ctx == (("cpu", 0),)
    assert options.lr == {}  # which the optimizer decides
    assert (options.net, options.hidden, options.of_net("hidden")) == ("mlp", None, [256, 128])
    assert options.engine is None
    assert re.fullmatch(r"runs/\d{4}-\d\d-\d\d-\d{6}-digits", str(options.out))
    assert not options.overwrite
    assert options.hybridize == "none"


def test_the_symbolic_program_has_the_same_options():
    line = ["--out", "runs/a"]
    assert parse(line, "train.module") == replace(parse(line), program="train.module")
    for option in ("--hybridize recorded", "--net vit", "--clip 1", "--average 0.9"):
        with pytest.raises(Refused, match=option.split()[0]):
            parse(option.split(), "train.module")


def test_data_without_its_option(tmp_path):
    path = tmp_path / "wine.csv"
    path.touch()
    for program in ("train", "train.module", "train.detect"):
        with pytest.raises(Refused, match=f"arguments: {path}; did you mean --data {path}\\?$"):
            parse([str(path), "--epochs", "3"], program)
    with pytest.raises(Refused, match="arguments: 32$"):
        parse(["--hidden", "64", "32"])


EVERYTHING = {
    "augment": ("flip", "crop"),
    "skip_broken": True,
    "steps_per_epoch": None,
    "max_steps": None,
    "max_time": None,
    "limit_batches": None,
    "overfit_batches": None,
    "fast_dev_run": False,
    "profile": False,
    "metric": "rmse",
    "class_weight": None,
    "weights": "w",
    "holdout": "0.1",
    "folds": 3,
    "repeat": 2,
    "program": "train",
    "data": "mnist:/data",
    "validation": None,
    "task": "regression",
    "target": "price",
    "features": ("a", "b, c"),
    "ignore": ("id",),
    "columns": ("year:category",),
    "encoding": "utf-16",
    "decimal": ",",
    "image_size": (32, 48),
    "ctx": (("gpu", 0), ("cpu", 1)),
    "hidden": [7, 5, 3],
    "epochs": 2,
    "batch_size": 9,
    "net": "mlp",
    "activation": "swiglu",
    "norm": "rms",
    "dropout": 0.1,
    "residual": True,
    "patch": None,
    "units": None,
    "depth": None,
    "heads": None,
    "pretrained": None,
    "head": None,
    "optimizer": "sgd",
    "optimizer_option": {"momentum": 0.8, "lazy_update": False},
    "lr": {"*": 1e-3, "a.*": 0.1},
    "freeze": ("a.*", "b"),
    "weight_decay": 1e-4,
    "schedule": "step",
    "schedule_option": {"every": 2},
    "warmup": 0.5,
    "clip": 1.0,
    "accumulate": 4,
    "precision": "bfloat16",
    "average": 0.99,
    "seed": 4,
    "hybridize": "recorded",
    "out": Path("/home/someone/out"),
    "overwrite": True,
    "resume": True,
    "checkpoint_steps": 50,
    "config": None,
    "patience": 3,
    "tensorboard": Path("/home/someone/tb"),
    "quiet": True,
    "engine": "mxnet",
    "kvstore": "local",
}


def test_everything_given(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    line = (
        "--data mnist:/data --task regression --target price "
        "--features 'a,\"b, c\"' --ignore id --image-size 32,48 "
        "--columns year:category --encoding utf-16 --decimal , --augment crop,flip --skip-broken "
        "--ctx gpu,cpu:1 --hidden 7,5,3 --epochs 2 --batch-size 9 "
        "--optimizer sgd --lr 1e-3 --seed 4 --hybridize recorded --out ~/out --engine mxnet "
        "--net mlp --activation swiglu --norm rms --dropout 0.1 --residual --weight-decay 1e-4 "
        "--optimizer-option momentum=0.8 --optimizer-option lazy_update=false --schedule step "
        "--schedule-option every=2 --warmup 0.5 --clip 1 --accumulate 4 --precision bfloat16 "
        "--average 0.99 --overwrite --resume --checkpoint-steps 50 --patience 3 "
        "--kvstore local --tensorboard ~/tb --metric rmse --weights w --holdout 0.1 "
        "--folds 3 --repeat 2 --freeze a.*,b --lr a.*=0.1 --quiet"
    )
    assert vars(parse(shlex.split(line))) == FIND_LR_ONLY | EVERYTHING


@pytest.mark.parametrize(
    "option, value, expected",
    [
        ("--ctx", "tpu", "such as cpu, gpu or gpu:0,gpu:1"),
        ("--ctx", "", "such as cpu"),
        ("--ctx", "gpu:", "such as cpu"),
        ("--ctx", "gpu:-1", "such as cpu"),
        ("--ctx", "cpu,cpu:0", "each once"),
        ("--hidden", "", "such as 128 or 128,64"),
        ("--hidden", "0", "such as 128"),
        ("--hidden", "8,-8", "such as 128"),
        ("--hidden", "8,", "such as 128"),
        ("--hidden", "8x8", "such as 128"),
        ("--hidden", "99999999999", "such as 128"),
        ("--epochs", "0", "a whole number from 1"),
        ("--epochs", "1.5", "a whole number from 1"),
        ("--batch-size", "-3", "a whole number from 1"),
        ("--batch-size", "many", "a whole number from 1"),
        ("--lr", "0", "a number above 0"),
        ("--lr", "-0.1", "a number above 0"),
        ("--lr", "nan", "a number above 0"),
        ("--lr", "inf", "a number above 0"),
        ("--lr", "fast", "a number above 0"),
        ("--seed", "-1", "a whole number from 0"),
        ("--seed", str(2**31), "a whole number from 0"),
        ("--task", "ranking", "classification"),
        ("--features", "", "names of columns"),
        ("--features", "a,,b", "names of columns"),
        ("--ignore", "a,a", "each once"),
        ("--image-size", "0", "such as 32 or 32,48"),
        ("--image-size", "8,8,3", "such as 32 or 32,48"),
        (
            "--net",
            "magic",
            "mlp, mixer, vit, conv, resnet, gluoncv:NAME, or a function in a file such as my.py:b",
        ),
        ("--net", "my.py", "such as my.py:build"),
        ("--norm", "group", "layer"),
        ("--dropout", "1", "from 0 to below 1"),
        ("--average", "1", "from 0 to below 1"),
        ("--optimizer-option", "momentum", "such as momentum=0.9"),
        ("--weight-decay", "-1", "a number from 0"),
        ("--schedule", "exponential", "cosine"),
        ("--warmup", "long", "a number from 0"),
        ("--clip", "0", "a number above 0"),
        ("--accumulate", "0", "a whole number from 1"),
        ("--precision", "int8", "bfloat16"),
        ("--hybridize", "all", "recorded"),
        ("--engine", "tensorflow", "torch"),
    ],
)
def test_what_an_option_may_not_be(option, value, expected):
    with pytest.raises(Refused) as refused:
        parse([f"{option}={value}"])
    line = str(refused.value)
    assert line.startswith(f"{option}: ") and expected in line and repr(value) in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "argv, expected",
    [
        ("--net vit --hidden 8", "--hidden: the net vit has no such option; .*--heads"),
        ("--net mixer --residual", "--residual: the net mixer has no such option"),
        ("--patch 2", "--patch: the net mlp has no such option; expected some of --hidden"),
        (
            "--net my.py:build --norm rms",
            "--norm: the net my.py:build .* expected no --norm: its file",
        ),
        ("--hybridize step --clip 1", "clip: not with hybridize step, .* expected no clip"),
        ("--hybridize step --accumulate 2", "accumulate: not with hybridize step"),
        ("--hybridize step --precision float16", "precision float16: not with hybridize step"),
    ],
)
def test_options_that_do_not_go_together(argv, expected):
    with pytest.raises(Refused, match=expected):
        parse(argv.split())


@pytest.mark.parametrize(
    "text, value",
    [("a=1", 1), ("a=1e-3", 1e-3), ("a=True", True), ("a=none", None), ("a= linear", "linear")],
)
def test_values_of_settings(text, value):
    assert parse(["--optimizer-option", text]).optimizer_option == {"a": value}


def test_of_a_setting_that_is_given_again_the_last_value_is_taken():
    argv = ["--optimizer-option=a=1", "--optimizer-option=b=2", "--optimizer-option=a=3"]
    assert parse(argv).optimizer_option == {"a": 3, "b": 2}


@pytest.mark.parametrize("option", ["--out", "--data"])
def test_a_name_that_is_not_utf8(option):
    with pytest.raises(Refused, match=r"^'x\\udcff' is not UTF-8$"):
        parse([option, "x\udcff"])


@pytest.mark.parametrize("argv", [["--nope"], ["more"], ["--lr"], ["--epoch", "3"]], ids=" ".join)
def test_unknown_arguments(argv):
    with pytest.raises(Refused, match=argv[0]):
        parse(argv)


def test_the_version(capsys):
    with pytest.raises(SystemExit) as left:
        parse(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"layers {layers.__version__}\n"


@pytest.mark.parametrize("program", ["train", "train.module", "train.detect"])
def test_help_names_every_option_and_status(capsys, program):
    with pytest.raises(SystemExit) as left:
        parse(["--help"], program)
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert f"python -m {program} --" in text
    for setting in settings_of(program):
        assert f"--{setting.name.replace('_', '-')}" in text
    assert "examples:" in text and "exit status:" in text
    assert max(map(len, text.splitlines())) <= 100
