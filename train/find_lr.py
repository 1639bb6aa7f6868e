"""``python -m train.find_lr``: a learning rate for a training, from a few steps."""

from __future__ import annotations

import sys

from .command_line import parse
from .config import FIND_LR
from .program import ExitStatus, start_engine

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Find a learning rate; return the exit status, which ``--help`` explains."""
    with ExitStatus(FIND_LR, "interrupted; no file was written") as status:
        config = parse(argv, FIND_LR)
        start_engine(config.engine, ("matplotlib",))
        from .range_test import find  # not before the engine has started

        status.code = 0 if find(config) else 3
    return status.code


if __name__ == "__main__":
    sys.exit(main())
