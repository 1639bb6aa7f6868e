"""Hostile files of options, in JSON and YAML: other values, names, tags, aliases and bytes."""

from __future__ import annotations

import json
import random
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path

from train.command_line import parse

from .values import changed_bytes, changed_text, changed_tree

OPTIONS = {
    **{"data": "iris.csv", "features": ["a", "b, c"], "ignore": ["x"], "target": "t"},
    **{"image-size": [32, 48], "hidden": [7, 5], "epochs": 2, "lr": 1e-05, "warmup": 2},
    **{"optimizer_option": {"beta1": 0.8, "lazy_update": False}, "residual": True, "seed": None},
    **{"ctx": "cpu:1", "out": "runs/a", "task": "classification", "patience": 3},
}
OF_YAML = [": !!int ", ": !!bool ", ": !!timestamp ", ": &a ", ": *a", ": 2001-99-99 ", ": 1:1:1 "]
OF_YAML += [": 0b_ ", ": 0x ", ": = ", ": | ", "? ", ": !!python/object/apply:os.getpid "]


def make(rng: random.Random) -> dict[str, bytes]:
    """Make a file of options, whole in a third of the cases."""
    options = {name: value for name, value in OPTIONS.items() if rng.random() < 0.5}
    tree = {"options": options} if rng.random() < 0.3 else options
    change = rng.randrange(6)
    tree = changed_tree(rng, tree) if change in (0, 1) else tree
    text = json.dumps(tree)
    if rng.random() < 0.5 or not find_spec("yaml"):
        return {"a.json": changed_text(rng, text) if change == 2 else text.encode()}
    if change == 3:
        text = text.replace(": ", rng.choice(OF_YAML), rng.choice([1, 3]))
    content = text.encode("utf-8", "surrogatepass")  # JSON is YAML, too
    return {"a.yaml": changed_bytes(rng, content) if change == 2 else content}


def read(folder: Path) -> Namespace:
    """Read the file as that of --config."""
    [path] = folder.iterdir()
    return parse(["--config", str(path)])
