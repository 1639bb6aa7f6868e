"""The data to learn from."""

from __future__ import annotations

from collections.abc import Callable

from .values import names, size

__all__ = ["add_data", "add_images"]


def add_data(add: Callable) -> None:
    add("--data", default="digits", metavar="DATA", help="see below (digits)")
    add("--validation", metavar="DATA", help="held-out samples, in the form of --data")
    add(
        "--task",
        choices=["classification", "regression"],
        metavar="TASK",
        help="classification or regression (classification, unless targets look like numbers)",
    )
    add("--target", metavar="COLUMN", help="what to predict from a table (its last column)")
    add("--features", type=names, default=(), metavar="A,B", help="columns to use (all others)")
    add("--ignore", type=names, default=(), metavar="A,B", help="columns not to use (none)")
    add("--columns", type=names, default=(), metavar="A:KIND,...", help="kinds: see below (found)")
    add("--encoding", default="utf-8", metavar="NAME", help="of a table: utf-16, ... (utf-8)")
    add("--decimal", choices=[",", "."], metavar="MARK", help="decimal mark of a table: , or . (.)")
    add("--image-size", type=size, metavar="H,W", help="resize images to H x W pixels")


def add_images(add: Callable) -> None:
    """The data of a detector."""
    add("--data", default="scenes", metavar="DATA", help="see below (scenes)")
    add("--validation", metavar="DATA", help="held-out samples, in the form of --data")
