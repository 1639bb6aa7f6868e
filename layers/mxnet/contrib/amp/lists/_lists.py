"""The lists of operators, read from lists.txt, which is recorded from MXNet."""

from __future__ import annotations

from pathlib import Path

CONDITIONAL_FP32_FUNCS = [
    ("Activation", "act_type", ["softrelu"]),
    ("LeakyReLU", "act_type", ["elu", "selu"]),
]


def read(module: str) -> dict[str, list[str]]:
    """The lists of a module, by their names."""
    found: dict[str, list[str]] = {}
    here = ""
    for line in (Path(__file__).parent / "lists.txt").read_text("utf-8").splitlines():
        if line.startswith(" "):
            found.setdefault(here, []).extend(line.split())
        else:
            here = line
    return {
        name.removeprefix(f"{module}."): listed
        for name, listed in found.items()
        if name.startswith(f"{module}.")
    }
