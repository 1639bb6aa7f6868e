"""The programs of the documentation run."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A file that a program needs beside it: a block whose first line has its name.
FILE = re.compile(r"^```\w+ (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What shows that a program needs a package which may not be there.
PACKAGES = {"onnx.": "onnxscript", ".safetensors": "safetensors", "import kernel": "numba"}


def missing(text):
    return [p for sign, p in PACKAGES.items() if sign in text and find_spec(p) is None]


def programs(path):
    return PROGRAM.findall(path.read_text("utf-8"))


def files(path):
    return FILE.findall(path.read_text("utf-8"))


def continued(path):
    """The programs of a page as one."""
    return "".join(text for text in programs(path) if not missing(text))


README = [
    pytest.param(text, id=f"README-{i}") for i, text in enumerate(programs(ROOT / "README.md"))
]
PAGES = [
    pytest.param(continued(path), files(path), id=path.stem)
    for path in sorted((ROOT / "docs").glob("*.md"))
]


def run(text, folder, files=()):
    if packages := missing(text):
        pytest.skip(f"{packages[0]} is not installed")
    for name, content in files:
        (folder / name).write_text(content, "utf-8")
    program = folder / "program.py"
    program.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("text", README)
def test_program(text, tmp_path):
    run(text, tmp_path)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("text, files", PAGES)
def test_page(text, files, tmp_path):
    run(text, tmp_path, files)


def on_both(parameters):
    return [p for p in parameters if "import layers.mxnet" not in p.values[0]]


@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("text", on_both(README))
def test_program_on_mxnet(text, tmp_path):
    run(text, tmp_path)


@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("text, files", on_both(PAGES))
def test_page_on_mxnet(text, files, tmp_path):
    run(text, tmp_path, files)


def test_there_are_programs():
    assert len(README) >= 3 and PAGES and on_both(PAGES)
