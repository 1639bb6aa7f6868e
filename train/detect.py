"""``python -m train.detect``: learn to detect objects, with the loop of ``python -m train``."""

from __future__ import annotations

import sys

from .__main__ import main as train

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Train a detector; return the exit status, which ``--help`` explains."""
    return train(argv, "train.detect", ".detecting", "detector_of")


if __name__ == "__main__":
    sys.exit(main())
