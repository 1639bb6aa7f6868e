"""How it learns."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from .. import Refused
from .data import MIXES
from .values import AddSetting, integer_from, not_negative, rate, setting, share

__all__ = [
    "HYBRIDIZE",
    "OPTIMIZERS",
    "PRECISIONS",
    "RECORDED",
    "SCHEDULES",
    "add_learning",
    "check_learning",
    "check_step",
]

# The settings of optimizers that are not the optimizer's own defaults, for the programs and for
# `fit`. Those that are given, by --lr and --optimizer-option or as arguments, replace them.
OPTIMIZERS: dict[str, dict[str, float]] = {
    "adam": {"learning_rate": 0.005},
    "sgd": {"learning_rate": 0.3, "momentum": 0.9},
}

# The settings of each schedule. `every` is in epochs, None for a third of all; `final` is a share
# of the learning rate.
SCHEDULES: dict[str, dict[str, Any]] = {
    "constant": {},
    "step": {"every": None, "factor": 0.1},
    "cosine": {"final": 0.0},
    "poly": {"power": 2.0, "final": 0.0},
}

# The arguments of `hybridize`. With "step", calls outside the compiled step are recorded.
RECORDED = {"static_alloc": True, "static_shape": True}
HYBRIDIZE = {
    "none": None,
    "recorded": RECORDED,
    "compiled": {"backend": "inductor"},
    "step": RECORDED,
}

PRECISIONS = ("float32", "bfloat16", "float16")


def add_learning(add: Callable, program: str) -> None:
    """The options of a program; `train.find_lr` has no epochs, and sets the learning rate."""
    if program != "train.find_lr":
        whole = integer_from(1)
        add("--epochs", type=whole, default=30, metavar="N", help="passes over the data (30)")
        add(
            "--patience",
            type=whole,
            metavar="N",
            help="end when so many epochs were not better than the best (never)",
        )
    add_step(add)
    if program != "train.find_lr":
        add_rate(add, scheduled=program != "train.module")
    if program != "train.module":  # it has a step of its own, and its net is always a graph
        modes = [*HYBRIDIZE]
        add_more(add, modes[:3] if program == "train.detect" else modes)
    if program in ("train", "train.detect"):
        add(
            "--average",
            type=share,
            metavar="DECAY",
            help="use the weights' moving mean, such as 0.99 (the last weights)",
        )


def add_step(add: Callable) -> None:
    positive = integer_from(1)
    add("--batch-size", type=positive, default=64, metavar="N", help="samples in a step (64)")
    add(
        "--optimizer",
        default="adam",
        metavar="NAME",
        help="adam, sgd with momentum, or any other of mx.optimizer: nag, lamb, ... (adam)",
    )
    add(
        "--optimizer-option",
        type=setting,
        action=AddSetting,
        default=[],
        metavar="NAME=VALUE",
        help="an option of the optimizer, such as beta1=0.95; again for more",
    )
    add("--weight-decay", type=not_negative, default=0.0, metavar="W", help="its wd (0)")
    add(
        "--seed",
        type=integer_from(0),
        default=0,
        metavar="N",
        help="of initialization and order (0)",
    )


def add_rate(add: Callable, scheduled: bool) -> None:
    rates = ", ".join(f"{row['learning_rate']} for {name}" for name, row in OPTIMIZERS.items())
    add("--lr", type=rate, metavar="RATE", help=f"learning rate ({rates}; else the optimizer's)")
    if not scheduled:
        return
    add(
        "--schedule",
        choices=[*SCHEDULES],
        default="constant",
        metavar="NAME",
        help="of the learning rate: constant, step, cosine or poly: see below (constant)",
    )
    add(
        "--schedule-option",
        type=setting,
        action=AddSetting,
        default=[],
        metavar="NAME=VALUE",
        help="an option of the schedule, such as final=0.01; again for more",
    )
    add(
        "--warmup",
        type=not_negative,
        default=0.0,
        metavar="EPOCHS",
        help="epochs in which the learning rate rises from 0 (0)",
    )


def add_more(add: Callable, modes: list[str]) -> None:
    add("--clip", type=rate, metavar="NORM", help="the gradients' norm is at most this (no limit)")
    add(
        "--accumulate",
        type=integer_from(1),
        default=1,
        metavar="N",
        help="batches whose gradients are added for one update (1)",
    )
    add(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        metavar="TYPE",
        help="float32, bfloat16, or on a GPU float16 (float32)",
    )
    add(
        "--hybridize",
        choices=modes,
        default="none",
        metavar="MODE",
        help=f"{', '.join(modes[:-1])} or {modes[-1]}: see below (none)",
    )


def check_learning(options: Namespace) -> None:
    """Refuse options that do not go together.

    Raises
    ------
    Refused
        A compiled step is asked for, and something between its parts; or a last layer that is fused
        with the loss, and no loss of classes in float32.
    """
    if getattr(options, "head", None) == "fused":
        if options.precision != "float32":
            raise Refused("--head fused: computes in float32; expected no --precision")
        if options.task == "regression":
            raise Refused("--head fused: has the loss of classes; expected --head dense")
    if mixes := [name for name in getattr(options, "augment", ()) if name in MIXES]:
        if not hasattr(options, "net"):
            raise Refused(f"--augment {mixes[0]}: the loss of Module takes no mixed labels")
        if options.head == "fused":
            raise Refused(f"--augment {mixes[0]}: mixes labels; expected --head dense")
    if getattr(options, "hybridize", "none") == "step":
        check_step(options.clip, options.accumulate, options.precision)


def check_step(clip: float | None, accumulate: int, precision: str) -> None:
    """Refuse what comes between gradient and update, where both are in one compiled graph.

    Raises
    ------
    Refused
        The message names the option.
    """
    asked = {
        "--clip": clip is not None,
        "--accumulate": accumulate > 1,
        "--precision float16": precision == "float16",
    }
    for option in [option for option, given in asked.items() if given]:
        raise Refused(
            f"{option}: not with --hybridize step, where gradient and update are one graph; "
            f"expected no {option}, or --hybridize none, recorded or compiled"
        )
