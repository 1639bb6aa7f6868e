"""The network."""

from __future__ import annotations

from collections.abc import Callable

from .values import sizes

__all__ = ["add_net"]


def add_net(add: Callable) -> None:
    add(
        "--hidden",
        type=sizes,
        default=[256, 128],
        metavar="N,N",
        help="units of the hidden layers (256,128)",
    )
