"""The programs of the documentation run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAMS = [
    pytest.param(text, id=f"{path.stem}-{i}")
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    for i, text in enumerate(PROGRAM.findall(path.read_text("utf-8")))
]


def run(text, folder):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", text], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("text", PROGRAMS)
def test_program(text, tmp_path):
    run(text, tmp_path)


@pytest.mark.engine("mxnet")
@pytest.mark.parametrize("text", [p for p in PROGRAMS if "install()" not in p.values[0]])
def test_program_on_mxnet(text, tmp_path):
    run(text, tmp_path)


def test_there_are_programs():
    assert len(PROGRAMS) >= 3
