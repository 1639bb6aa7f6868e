"""``python -m train.module``: the same training with Symbol and Module; see `train.symbolic`."""

from __future__ import annotations

import sys

from .__main__ import main as train

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Train with Module; return the exit status, which ``--help`` explains."""
    return train(argv, "train.module", ".symbolic", "module_of")


if __name__ == "__main__":
    sys.exit(main())
