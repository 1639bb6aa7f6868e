"""How it learns."""

from __future__ import annotations

from collections.abc import Callable

from .values import integer_from, rate, wrong

__all__ = ["OPTIMIZERS", "add_learning"]

# The arguments of each optimizer; --lr replaces the learning rate.
OPTIMIZERS: dict[str, dict[str, float]] = {
    "adam": {"learning_rate": 0.005},
    "sgd": {"learning_rate": 0.3, "momentum": 0.9},
}


def add_learning(add: Callable, program: str) -> None:
    add("--epochs", type=integer_from(1), default=30, metavar="N", help="passes over the data (30)")
    add(
        "--batch-size", type=integer_from(1), default=64, metavar="N", help="samples in a step (64)"
    )
    lr = ", ".join(f"{row['learning_rate']} for {name}" for name, row in OPTIMIZERS.items())
    add(
        "--optimizer",
        type=optimizer,
        default="adam",
        metavar="NAME",
        help="adam, or sgd with momentum (adam)",
    )
    add("--lr", type=rate, metavar="RATE", help=f"learning rate ({lr})")
    add(
        "--seed",
        type=integer_from(0),
        default=0,
        metavar="N",
        help="of initialization and order (0)",
    )

    if program != "train.module":  # its net is always a graph
        add(
            "--hybridize",
            choices=["none", "recorded", "compiled", "step"],
            default="none",
            metavar="MODE",
            help="none, recorded, compiled or step: see below (none)",
        )


def optimizer(text: str) -> str:
    if text not in OPTIMIZERS:
        raise wrong(text, " or ".join(OPTIMIZERS))
    return text
