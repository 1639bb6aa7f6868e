"""``python -m layers.check``: what it prints, and its exit status."""

import os
import sys
from pathlib import Path

import forks
import pytest

from layers import ops
from layers.check import check_operator
from layers.check.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
QUICK = ["--no-compile"]


def test_all_passed(capsys):
    status = main(["layers.ops:dense", "--input", "4x3", "--input", "5x3", *QUICK])
    out = capsys.readouterr().out
    assert status == 0 and "gradient of w" in out
    assert out.startswith("operator layers.dense: x (4, 3), w (5, 3)")
    assert out.splitlines()[-1].endswith("0 failed, 1 not checked")


def test_a_quick_check(capsys):
    assert main(["layers.ops:dense", "--input", "4x3", "--input", "5x3", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "gradient of w" in out and "hybridized = eager" in out
    assert "a quick check is asked for" in out
    assert not any(name in out for name in ("second order", "compiled", "dtypes", "batch size"))


def test_a_terminal_shows_the_check_that_is_made(capsys, monkeypatch):
    given = ["layers.ops:relu", "--input", "4x3", "--quick"]
    main(given)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    main(given)
    told = capsys.readouterr().err.split("\r\033[K")
    assert "gradient of x" in told and told[-1] == ""


def test_progress_names_each_check():
    told = []
    report = check_operator(ops.relu, (4, 3), compiled=False, progress=told.append)
    assert told == [c.name for c in report] and len(told) > 10


def test_one_failed(capsys):
    status = main(["wrong:drops_its_head_gradient", "--input", "4x5", "--label", "4:5", *QUICK])
    out = capsys.readouterr().out
    assert status == 1 and "failed       gradient of x" in out


def test_attributes_and_a_loss(capsys):
    given = ["--input", "4x3", "--input", "5x3", "--attribute", "bias=0.5"]
    assert main(["layers.ops:dense", *given, *QUICK]) == 0
    assert "bias=0.5" in capsys.readouterr().out
    given = ["--input", "4x5", "--label", "4:5", "--loss", "wrong:cross_entropy"]
    assert main(["wrong:TutorialSoftmaxProp", *given, *QUICK]) == 0


def test_a_layer(capsys):
    given = ["--attribute", "in_channels=3", "--attribute", "channels=2", "--input", "4x3"]
    assert main(["layers:DenseBlock", *given, *QUICK]) == 0
    assert "gradient of weight" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, told",
    [
        ([], "required: name"),
        (["layers.ops"], "expected package.module:name"),
        (["layers.ops:dens"], "there is no 'dens' in layers.ops"),
        (["layers.opsx:dense"], "No module named 'layers.opsx'"),
        (["layers.ops:dense", "--input", "4y"], "'4y': expected a shape such as 4x3"),
        (["layers.ops:dense", "--input", "4x3:int99"], "'int99': expected a dtype"),
        (["layers.ops:softmax", "--label", "4:x"], "expected a shape and a number"),
        (["layers.ops:dense", "--attribute", "bias"], "expected name=value"),
        (
            ["ops/mine.py:cube"],
            "'ops/mine.py:cube'\n  expected package.module:name, such as ops.mi",
        ),
        (["ops/mine.py"], "'ops/mine.py'\n  expected package.module:name, such as ops.mine:name"),
        (["layers.ops:relu"], "0 inputs\n  expected 1: x\n  each is given by --input 4x3 or"),
        (["layers.ops:dense", "--input", "4x3"], "1 inputs\n  expected 2 to 3: x, w, b"),
        (["layers.ops:relu", "--input", "4x3", "--attribute", "k=3"], "no attribute 'k'"),
    ],
)
def test_wrong_arguments(arguments, told, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert told in capsys.readouterr().err


BLOCK = (
    "from layers.engine import gluon\n\nclass Mine(gluon.HybridBlock):\n    def __init__(self):\n"
)


@pytest.mark.parametrize(
    "source, told",
    [
        ("N = 1 + 'a'\n", "TypeError: unsupported operand type(s) for +: 'int' and 'str'{place}"),
        ("\n\nundefined\n", "NameError: name 'undefined' is not defined (broken.py, line 3)"),
        ("import missing_one\n", "No module named 'missing_one' (broken.py, line 1)"),
        ("def f(:\n", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ("import sys\nsys.exit(0)\n", "SystemExit: 0 (broken.py, line 2)"),
        (BLOCK + "        self.x = undefined\n", "is not defined (broken.py, line 5)"),
    ],
    ids=["type", "name", "import", "syntax", "exit", "constructor"],
)
def test_errors_in_the_module_have_their_place(source, told, tmp_path, monkeypatch, capsys):
    """They are no failed checks."""
    (tmp_path / "broken.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    with pytest.raises(SystemExit) as stopped:
        main(["broken:Mine", *QUICK])
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    assert stopped.value.code == 2
    assert told.format(place=" (broken.py, line 1)") in capsys.readouterr().err


@pytest.mark.slow_on("mxnet")
def test_as_a_command():
    command = ["-m", "layers.check", "layers.ops:relu", "--input", "4x3", *QUICK]
    result = forks.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("operator layers.relu: x (4, 3)")
