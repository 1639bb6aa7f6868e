"""The programs of the documentation run, and print what the documentation says."""

import re
from importlib.util import find_spec
from pathlib import Path

import forks
import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A file that a program needs beside it: a block whose first line has its name.
FILE = re.compile(r"^```\w+ (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A program that is followed by what it prints: a line or more for each engine, after its name.
SHOWN = re.compile(
    r"^```python\n((?:(?!```).*\n)*)```\n\n```text\n((?:(?!```).*\n)*)```", re.MULTILINE
)
NAME = {"torch": "layers.mxnet", "mxnet": "MXNet"}
WIDTH = 15  # of the column with the names
# What shows that a program needs a package which may not be there.
PACKAGES = {
    "onnx.": "onnxscript",
    ".safetensors": "safetensors",
    "import kernel": "numba",
    "import torch": "torch",
}


def missing(text):
    return [p for sign, p in PACKAGES.items() if sign in text and find_spec(p) is None]


def programs(path):
    return PROGRAM.findall(path.read_text("utf-8"))


def files(path):
    return FILE.findall(path.read_text("utf-8"))


def continued(path):
    """The programs of a page as one."""
    return "".join(text for text in programs(path) if not missing(text))


def shown(path):
    """The programs of a page with what they print, by engine."""
    text, cases = path.read_text("utf-8"), []
    for found in SHOWN.finditer(text):
        title = re.findall(r"^##+ (.*)", text[: found.start()], re.MULTILINE)[-1]
        printed, name = {}, ""
        for line in found[2].splitlines():
            name = line[:WIDTH].strip() or name
            printed.setdefault(name, []).append(line[WIDTH:])
        cases.append(pytest.param(found[1], printed, id=title))
    return cases


README = [
    pytest.param(text, id=f"README-{i}") for i, text in enumerate(programs(ROOT / "README.md"))
]
# Pages that compile graphs, or whose every program starts processes, take a minute.
LONG = "getting-started", "hybridize", "layers", "leaving-mxnet", "mxnet-programs", "operators"
PAGES = [
    pytest.param(
        continued(path),
        files(path),
        id=path.stem,
        marks=pytest.mark.slow if path.stem in LONG else (),
    )
    for path in sorted((ROOT / "docs").glob("*.md"))
    if programs(path) and not SHOWN.search(path.read_text("utf-8"))
]
DIFFERENCES = ROOT / "docs/differences.md"


def run(text, folder, files=()):
    if packages := missing(text):
        pytest.skip(f"{packages[0]} is not installed")
    for name, content in files:
        (folder / name).write_text(content, "utf-8")
    program = folder / "program.py"
    program.write_text(text, "utf-8")
    done = forks.run(["-W", "ignore", str(program)], cwd=folder, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("text", README)
def test_program(text, tmp_path):
    run(text, tmp_path)


@pytest.mark.engine("torch")
@pytest.mark.slow
@pytest.mark.parametrize("text, files", PAGES)
def test_page(text, files, tmp_path):
    run(text, tmp_path, files)


def on_both(parameters):
    return [p for p in parameters if "import layers.mxnet" not in p.values[0]]


@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("text", on_both(README))
def test_program_on_mxnet(text, tmp_path):
    run(text, tmp_path)


@pytest.mark.slow_on("mxnet")
@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("text, files", on_both(PAGES))
def test_page_on_mxnet(text, files, tmp_path):
    run(text, tmp_path, files)


@pytest.mark.parametrize("text, printed", shown(DIFFERENCES))
@pytest.mark.filterwarnings("ignore")
def test_difference(text, printed, engine, capsys):
    """Each program of the page, after the imports that it begins with."""
    expected = printed[NAME[engine]]
    if expected[0].startswith("#"):
        pytest.skip(f"what it does on {NAME[engine]} cannot be tested: {expected[0]}")
    variables = {}
    exec(programs(DIFFERENCES)[0], variables)
    try:
        exec(compile(text, DIFFERENCES.name, "exec"), variables)
        raised = []
    except Exception as error:
        raised = [f"{type(error).__name__}: {error}".splitlines()[0]]
        if ": " not in expected[-1]:  # the name alone
            raised = [type(error).__name__]
    assert capsys.readouterr().out.strip().splitlines() + raised == expected


def test_there_are_programs():
    assert README and PAGES and on_both(PAGES)
    assert len(shown(DIFFERENCES)) == len(programs(DIFFERENCES)) - 1
