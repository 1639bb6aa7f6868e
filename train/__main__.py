"""``python -m train``: train with Gluon."""

from __future__ import annotations

import sys
from importlib import import_module

from .command_line import parse
from .program import exit_status, start_engine

__all__ = ["main", "run_training"]


def main(argv: list[str] | None = None) -> int:
    """Train with Gluon; returns the exit status, which ``--help`` explains."""
    return run_training("train", ".blocks", argv)


def run_training(program: str, module: str, argv: list[str] | None) -> int:
    """Train with the `Learner` of a module of this package; returns the program's exit status."""

    def train() -> None:
        options = parse(argv, program)
        start_engine(options.engine, ("matplotlib", "tqdm"))
        from .run import run  # not before the engine has started

        run(options, import_module(module, __package__).Learner)

    return exit_status(program, train, "interrupted at once")


if __name__ == "__main__":
    sys.exit(main())
