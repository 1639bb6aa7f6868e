"""The programs of the documentation run."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# What shows that a program needs a package which may not be there.
PACKAGES = {"onnx.": "onnxscript", ".safetensors": "safetensors"}


def missing(text):
    return [p for sign, p in PACKAGES.items() if sign in text and find_spec(p) is None]


def programs(path):
    return PROGRAM.findall(path.read_text("utf-8"))


def continued(path):
    """The programs of a page as one."""
    return "".join(text for text in programs(path) if not missing(text))


README = [
    pytest.param(text, id=f"README-{i}") for i, text in enumerate(programs(ROOT / "README.md"))
]
PAGES = [
    pytest.param(continued(path), id=path.stem) for path in sorted((ROOT / "docs").glob("*.md"))
]


def run(text, folder):
    if packages := missing(text):
        pytest.skip(f"{packages[0]} is not installed")
    program = folder / "program.py"
    program.write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", program], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("text", README + PAGES)
def test_program(text, tmp_path):
    run(text, tmp_path)


@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("text", [p for p in README if "layers.mxnet" not in p.values[0]])
def test_program_on_mxnet(text, tmp_path):
    run(text, tmp_path)


def test_there_are_programs():
    assert len(README) >= 3 and PAGES
