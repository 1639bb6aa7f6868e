"""Optimizers, by their names and settings."""

from __future__ import annotations

import inspect
import math
import reprlib
from collections.abc import Mapping
from numbers import Real
from typing import Any

from layers.engine import mx

from . import Refused
from .config import OPTIMIZERS, Config
from .settings import expect, positive, rates

__all__ = [
    "check_arguments",
    "names",
    "numbers_of",
    "settings_of",
]

# What other options set, or the Trainer does.
ELSEWHERE = {
    "learning_rate": "--lr",
    "wd": "--weight-decay",
    "lr_scheduler": "--schedule",
    "multi_precision": "--precision",
    "rescale_grad": "--batch-size",
    "begin_num_update": "",
    "param_dict": "",
    "param_idx2name": "",
    "sym": "",
    "aggregate_num": "",
    "use_fused_step": "",
}
SLOWEST = 0.01  # the learning rate of an optimizer that names none, as MXNet has it


def names() -> list[str]:
    """Return the names in `mx.optimizer`, without private ones and that of its test."""
    found = {*mx.optimizer.Optimizer.opt_registry} - {"test"}
    return sorted(name for name in found if not name.startswith("_"))


def settings_of(config: Config) -> dict[str, Any]:
    """Return the arguments of the optimizer that the program's settings ask for.

    Raises
    ------
    Refused
        There is no such optimizer, or it has no such setting, or not with such a value.
    """
    name = config.optimizer
    if name not in names():
        raise Refused(f"--optimizer: expected one of {', '.join(names())}, not {name!r}")
    accepted = parameters_of(mx.optimizer.Optimizer.opt_registry[name])
    own = [parameter for parameter in accepted if parameter not in ELSEWHERE]
    for parameter, value in config.optimizer_option.items():
        if option := ELSEWHERE.get(parameter):
            raise Refused(f"--optimizer-option {parameter}: it is set by {option}")
        if parameter not in own:
            raise Refused(
                f"--optimizer-option {parameter}: {name} has no such option; expected "
                + (f"some of {', '.join(own)}" if own else "no --optimizer-option")
            )
        check(f"--optimizer-option {parameter}", value, accepted[parameter])
    slowest = accepted["learning_rate"] or SLOWEST
    settings = {"learning_rate": slowest} | OPTIMIZERS.get(name, {}) | config.optimizer_option
    settings |= {"learning_rate": config.lr["*"]} if "*" in config.lr else {}
    settings |= {"wd": config.weight_decay} if config.weight_decay else {}
    return settings


def check_arguments(optimizer: Any, params: Any, rate: Any) -> dict[str, Any]:
    """Return the settings of an optimizer of `fit`, with those of the table of this package.

    Of rates by patterns that of ``"*"`` is the optimizer's.

    Raises
    ------
    Refused
        There is no such optimizer, or it has no such setting, or not with such a value.
    """
    if params is not None and not isinstance(params, Mapping):
        raise Refused(
            f"optimizer_params: expected settings by their names, not {reprlib.repr(params)}"
        )
    if isinstance(rate, Mapping):
        rate = expect(rates, "learning_rate", dict(rate)).get("*")
    rate = expect(positive, "learning_rate", rate)
    settings = {**(params or {}), **({} if rate is None else {"learning_rate": rate})}
    if isinstance(optimizer, mx.optimizer.Optimizer):
        if settings:
            raise Refused(
                f"{'optimizer_params' if params else 'learning_rate'}: expected None beside "
                f"optimizer, which is {type(optimizer).__name__}(...); give {', '.join(settings)} "
                "where it is made"
            )
        return {}
    if not isinstance(optimizer, str) or optimizer.lower() not in names():
        raise Refused(
            f"optimizer: expected an Optimizer or one of {', '.join(names())}, "
            f"not {reprlib.repr(optimizer)}"
        )
    accepted = parameters_of(mx.optimizer.Optimizer.opt_registry[optimizer.lower()])
    if unknown := [name for name in settings if name not in accepted]:
        raise Refused(
            f"optimizer_params: {optimizer} has no {unknown[0]!r}; expected some of "
            f"{', '.join(accepted)}"
        )
    for name, value in settings.items():
        if isinstance(accepted[name], Real):
            check(f"optimizer_params: {name}", value, accepted[name])
    return OPTIMIZERS.get(optimizer.lower(), {}) | settings


def numbers_of(optimizer: Any, settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the settings that are numbers, with the defaults of those that are not given.

    Of an optimizer that has been made already none: what it has may have changed since.
    """
    if not isinstance(optimizer, str):
        return {}
    accepted = parameters_of(mx.optimizer.Optimizer.opt_registry[optimizer.lower()])
    found = accepted | dict(settings)
    numbers = {name: value for name, value in found.items() if isinstance(value, Real)}
    return {n: v if isinstance(v, int | float) else float(v) for n, v in numbers.items()}


def check(what: str, value: Any, default: Any) -> None:
    """Refuse what is no number, or not finite, where the default is one, or none is given.

    Raises
    ------
    Refused
        The value is no number, or not finite, and has to be one.
    """
    number = isinstance(value, int | float) and abs(value) < math.inf
    wanted = isinstance(default, int | float) or (default is None and value is not None)
    if wanted and not number:
        raise Refused(f"{what}: expected a number, not {value!r}")


def parameters_of(kind: type) -> dict[str, Any]:
    """Return the arguments of a class with their defaults: its own, and those it passes on."""
    found: dict[str, Any] = {}
    for parent in kind.__mro__:
        if "__init__" not in vars(parent) or parent is object:
            continue
        parameters = [*inspect.signature(parent.__init__).parameters.values()][1:]
        named = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        found = {p.name: p.default for p in named} | found
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return found
