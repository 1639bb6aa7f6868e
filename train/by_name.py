"""Parameters by patterns of their names: frozen, or with learning rates of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

from layers.engine import gluon

from . import Refused
from .data import listed

__all__ = ["freeze", "restored", "set_rates"]


def named(net: gluon.Block) -> dict[str, gluon.Parameter]:
    """Return the parameters by the names that `save_parameters` gives them."""
    return net._collect_params_with_prefix()


def matching(net: gluon.Block, option: str, pattern: str) -> dict[str, gluon.Parameter]:
    """Return the parameters whose whole names match a pattern of `fnmatch`.

    Raises
    ------
    Refused
        There is none; the message has the names that there are.
    """
    found = {name: p for name, p in named(net).items() if fnmatchcase(name, pattern)}
    if not found:
        raise Refused(
            f"{option}: no parameter's name matches {pattern!r}; expected a pattern of some of "
            f"{listed([*named(net)])}"
        )
    return found


def freeze(net: gluon.Block, patterns: Sequence[str], option: str = "freeze") -> list[str]:
    """Have parameters not learned, and return their names; raises as `matching`."""
    found: dict[str, gluon.Parameter] = {}
    for pattern in patterns:
        found |= matching(net, option, pattern)
    for parameter in found.values():
        parameter.grad_req = "null"
    return [*found]


def set_rates(
    net: gluon.Block, rates: Mapping[str, float], optimizer: Any, option: str = "learning_rate"
) -> None:
    """Give parameters rates of their own, as multiples of that which a schedule changes.

    Of several patterns that match a name the last one counts. Raises as `matching`.
    """
    schedule = optimizer.lr_scheduler
    base = schedule.base_lr if schedule else optimizer.learning_rate
    for pattern, rate in rates.items():
        for parameter in matching(net, option, pattern).values():
            parameter.lr_mult = rate / base


@contextmanager
def restored(net: gluon.Block) -> Iterator[None]:
    """After the `with` statement parameters are learned, and at the rates, as before it."""
    before = [(p, p.grad_req, p.lr_mult) for p in named(net).values()]
    try:
        yield
    finally:
        for parameter, grad_req, lr_mult in before:
            parameter.grad_req, parameter.lr_mult = grad_req, lr_mult
