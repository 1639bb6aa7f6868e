"""Checks of the names of an operator's inputs, outputs and rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...engine import mxnet_error

if TYPE_CHECKING:
    from .operator import Operator

__all__ = ["expect_name", "parameter_names", "validate"]


def expect_name(who: str, name: Any) -> None:
    """Refuse a name of an operator that is not text, or is empty."""
    if name is not None and not (isinstance(name, str) and name):
        raise mxnet_error(TypeError, f"{who}: name is {name!r}\n  expected text, or None")


def validate(operator: Operator) -> None:
    """Refuse an operator with a duplicate or unknown name.

    Raises
    ------
    TypeError
        A name is duplicate or unknown; the message has it.
    """
    if unknown := sorted(set(operator.states) - set(operator.inputs)):
        raise mxnet_error(
            TypeError,
            f"operator {operator.name!r}: the state {unknown[0]!r} is no input of forward\n"
            f"  expected one of {', '.join(operator.inputs)}",
        )
    if optional := sorted(set(operator.states) & set(operator.optional)):
        raise mxnet_error(
            TypeError,
            f"operator {operator.name!r}: the state {optional[0]!r} may be left out\n"
            f"  expected {optional[0]} without a default: forward always updates it",
        )
    if shared := sorted(set(operator.inputs) & set(operator.outputs)):
        raise mxnet_error(
            TypeError,
            f"operator {operator.name!r}: {shared[0]!r} is an input and an output\n"
            "  expected different names",
        )
    for what, names in (("inputs", operator.inputs), ("outputs", operator.outputs)):
        if len({*names}) < len(names):
            raise mxnet_error(
                TypeError,
                f"operator {operator.name!r}: {what} are {', '.join(names)}\n"
                "  expected different names",
            )
    _validate_saves(operator)
    _validate_renamed(operator)
    _validate_surrogate(operator)
    for input_name, names in operator.needs.items():
        if unknown := [n for n in names if n not in operator.known]:
            raise mxnet_error(
                TypeError,
                f"operator {operator.name!r}: the gradient of {input_name} needs {unknown[0]!r}\n"
                f"  expected one of {', '.join(sorted(operator.known))}",
            )


def _validate_renamed(operator: Operator) -> None:
    taken = (*operator.inputs, *operator.attributes)
    for former, now in operator.renamed.items():
        if former in taken or now not in operator.attributes:
            raise mxnet_error(
                TypeError,
                f"operator {operator.name!r}: renamed has {former!r} for {now!r}\n"
                "  expected a former name that is not in use, for the name of an attribute",
            )


def _validate_saves(operator: Operator) -> None:
    taken = (
        *operator.inputs,
        *operator.attributes,
        *operator.outputs,
        *(f"d{n}" for n in operator.outputs),
    )
    for i, name in enumerate(operator.saves):
        if name in (*taken, *operator.saves[:i]):
            raise mxnet_error(
                TypeError,
                f"operator {operator.name!r}: it saves {name!r}, which is a name already\n"
                f"  expected a name beside {', '.join(taken)}",
            )
        if not any(name in names for names in operator.needs.values()):
            raise mxnet_error(
                TypeError,
                f"operator {operator.name!r}: it saves {name!r}, which no gradient takes\n"
                f"  expected {name} among the parameters of a gradient",
            )


def _validate_surrogate(operator: Operator) -> None:
    given = operator.surrogate
    if given is None or (isinstance(given, str) and given.strip()):
        return
    if not callable(given):
        raise mxnet_error(
            TypeError,
            f"operator {operator.name!r}: surrogate is {given!r}\n"
            "  expected a function, or text that says why there is none",
        )
    known = (*operator.inputs, *operator.attributes)
    names = parameter_names(given)
    if unknown := [n for n in names or () if n not in known]:
        raise mxnet_error(
            TypeError,
            f"operator {operator.name!r}: surrogate has the parameter {unknown[0]!r}\n"
            f"  expected one of {', '.join(known)}",
        )


def parameter_names(rule: Callable) -> tuple[str, ...] | None:
    """Return the names of a rule's parameters; None if it takes all values by ``**known``."""
    parameters = inspect.signature(rule).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return None if takes_any else tuple(parameters)
