"""``python -m train.find_lr``: a learning rate for a training, from a few steps."""

from __future__ import annotations

import sys

from .command_line import parse
from .config import FIND_LR
from .program import exit_status, start_engine

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Find a learning rate; returns the exit status, which ``--help`` explains."""

    def work() -> int:
        config = parse(argv, FIND_LR)
        start_engine(config.engine, ("matplotlib",))
        from .range_test import find  # not before the engine has started

        return 0 if find(config) else 3

    return exit_status(FIND_LR, work, "interrupted; no file was written")


if __name__ == "__main__":
    sys.exit(main())
