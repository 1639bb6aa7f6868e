"""The package as pip installs it: a wheel of this repository, unpacked into a folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What a wheel is made of; pip would leave its build folder in the repository.
SOURCES = ("layers", "train", "setup.cfg", "pyproject.toml", "README.md", "LICENSE")


def install(folder: Path) -> Path:
    """Build a wheel and install it; the folder that it is in."""
    source, target = folder / "source", folder / "target"
    for name in SOURCES:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(place, source / name)
    pip(source, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), ".")
    (wheel,) = folder.glob("*.whl")
    pip(folder, "install", "--no-deps", "--no-index", "--target", str(target), str(wheel))
    return target


def pip(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run(target: Path, folder: Path, program: str, *arguments: str, paths=(), **variables: str):
    """Run a console script of what is installed, in a folder; `paths` are searched before it."""
    search = os.pathsep.join([*map(str, paths), str(target)])
    return subprocess.run(
        [target / "bin" / program, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": search, **variables},
        capture_output=True,
        text=True,
    )
