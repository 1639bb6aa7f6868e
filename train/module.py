"""``python -m train.module``: the same training with Symbol and Module; see `train.symbolic`."""

from __future__ import annotations

import os
import sys

from .__main__ import program

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Train with Module; returns the exit status, which ``--help`` explains."""
    os.environ.setdefault("MXNET_SUBGRAPH_VERBOSE", "0")  # MXNet would name its own parts on stderr
    return program("train.module", ".symbolic", argv)


if __name__ == "__main__":
    sys.exit(main())
