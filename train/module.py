"""``python -m train.module``: the same training with Symbol and Module; see `train.symbolic`."""

from __future__ import annotations

import sys

from .__main__ import run_training

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Train with Module; returns the exit status, which ``--help`` explains."""
    return run_training("train.module", ".symbolic", argv)


if __name__ == "__main__":
    sys.exit(main())
