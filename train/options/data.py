"""The data to learn from."""

from __future__ import annotations

from collections.abc import Callable

from .values import names, size, some_of

__all__ = ["AUGMENT", "MIXES", "add_data", "add_images"]

MIXES = ("mixup", "cutmix")  # which mix labels too
AUGMENT = ("flip", "crop", "color", "rotate", "randaugment", *MIXES)
AUGMENT_HELP = f"change images at random: {', '.join(AUGMENT[:-1])} and {AUGMENT[-1]} (none)"


def add_data(add: Callable) -> None:
    add("--data", default="digits", metavar="DATA", help="see below (digits)")
    add("--validation", metavar="DATA", help="held-out samples, in the form of --data")
    add(
        "--task",
        choices=["classification", "regression"],
        default="classification",
        metavar="TASK",
        help="classification or regression (classification)",
    )
    add("--target", metavar="COLUMN", help="what to predict from a table (its last column)")
    add("--features", type=names, default=(), metavar="A,B", help="columns to use (all others)")
    add("--ignore", type=names, default=(), metavar="A,B", help="columns not to use (none)")
    add("--image-size", type=size, metavar="H,W", help="resize images to H x W pixels")
    add("--augment", type=some_of(AUGMENT), default=(), metavar="A,B", help=AUGMENT_HELP)
    add("--skip-broken", action="store_true", help="leave out images that cannot be read")


def add_images(add: Callable) -> None:
    """The data of a detector."""
    add("--data", default="scenes", metavar="DATA", help="see below (scenes)")
    add("--validation", metavar="DATA", help="held-out samples, in the form of --data")
