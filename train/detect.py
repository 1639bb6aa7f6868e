"""``python -m train.detect``: learn to detect objects, with the loop of ``python -m train``."""

from __future__ import annotations

import sys

from .__main__ import run_training

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Train a detector; returns the exit status, which ``--help`` explains."""
    return run_training("train.detect", ".detecting", argv)


if __name__ == "__main__":
    sys.exit(main())
