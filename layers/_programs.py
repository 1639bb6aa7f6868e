"""Console scripts of the training package, and the name under which a program was started.

A user's own program is often called ``train.py``, and ``python -m train`` in its folder would run
that program. A console script does not search the current folder for modules, but it does search
PYTHONPATH, which may contain that folder. So these scripts take the package `train` from the folder
in which the package `layers` lies.
"""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

__all__ = ["command", "detect", "export", "find_lr", "predict", "report", "sweep", "train"]


def command(script: str, module: str) -> str:
    """Return the command that starts the running program: its script, or ``python -m module``."""
    return script if Path(sys.argv[0]).stem == script else f"python -m {module}"


def run(module: str) -> int:
    """Run the `main` of a module of the package `train` that is installed beside this package."""
    folder = Path(__file__).resolve().parents[1]
    spec = PathFinder.find_spec("train", [str(folder)])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"there is no package 'train' in {folder}", name="train")
    package = sys.modules["train"] = module_from_spec(spec)
    spec.loader.exec_module(package)
    return import_module(module).main()


train = partial(run, "train.__main__")
detect = partial(run, "train.detect")
find_lr = partial(run, "train.find_lr")
predict = partial(run, "train.predict_program")
report = partial(run, "train.report")
export = partial(run, "train.export")
sweep = partial(run, "train.sweep")
