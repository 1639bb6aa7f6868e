"""Parameters by patterns of their names: frozen, or with learning rates of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

from layers.engine import gluon

from . import Refused
from .data import listed

__all__ = ["freezing", "frozen", "set_rates"]


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


def frozen(net: gluon.Block, patterns: Sequence[str], option: str = "freeze") -> list[str]:
    """Freeze parameters, and return the names of those that were learned; raises as `matching`."""
    found: dict[str, gluon.Parameter] = {}
    for pattern in patterns:
        found |= matching(net, option, pattern)
    found = {name: p for name, p in found.items() if p.grad_req != "null"}
    for parameter in found.values():
        parameter.grad_req = "null"
    return [*found]


@contextmanager
def freezing(net: gluon.Block, freeze: Sequence[str] | None) -> Iterator[list[str]]:
    """Freeze parameters inside the `with` statement; their names.

    After it all parameters are learned, and at the rates, as before it. Raises as `matching`.
    """
    before = [(p, p.grad_req, p.lr_mult) for p in named(net).values()]
    try:
        yield frozen(net, freeze or ())
    finally:
        for parameter, grad_req, lr_mult in before:
            parameter.grad_req, parameter.lr_mult = grad_req, lr_mult


def set_rates(
    net: gluon.Block, rates: Any, optimizer: Any, option: str = "learning_rate"
) -> dict[str, float]:
    """Give parameters rates of their own, as multiples of that which a schedule changes.

    Return the rates by patterns: none, where they are one number. Of several patterns that match a
    name the last one counts. Raises as `matching`.
    """
    if not isinstance(rates, Mapping):
        return {}
    schedule = optimizer.lr_scheduler
    base = schedule.base_lr if schedule else optimizer.learning_rate
    for pattern, rate in rates.items():
        for parameter in matching(net, option, pattern).values():
            parameter.lr_mult = rate / base
    return dict(rates)
