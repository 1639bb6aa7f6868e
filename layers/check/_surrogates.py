"""Operators whose gradients are no derivatives, and the functions with these derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .. import engine
from ..ops.ways.operator import Operator
from ._checker import Checker
from ._report import Unchecked


@contextmanager
def surrogates() -> Iterator[set[str]]:
    """Return a context in which operators with a surrogate compute the surrogate.

    It yields a set, which receives a description of each surrogate that runs.

    Raises
    ------
    Unchecked
        An operator ran that has no surrogate, but a reason.
    """
    used: set[str] = set()
    reasons: list[str] = []
    forwards = {op: op.forward for op in engine.adapter().registered() if op.surrogate is not None}
    for op in forwards:
        is_text = isinstance(op.surrogate, str)
        _set_forward(op, _noted(op, reasons) if is_text else _surrogate(op, used))
    try:
        yield used
    except Exception:
        if not reasons:  # with a reason, a difference is expected: the gradient is no derivative
            raise
    finally:
        for op, forward in forwards.items():
            _set_forward(op, forward)
    if reasons:
        raise Unchecked(f"it is no derivative: {reasons[0]}")


def without_derivative(checker: Checker) -> str:
    """Describe the gradients of a subject that are no derivatives of its outputs, or return ""."""
    trial = checker.trial.in_python(checker.values)
    try:
        with surrogates() as used:
            trial.forward(checker.values)
    except Unchecked as reason:
        return str(reason)
    return f"they are of {' and '.join(sorted(used))}" if used else ""


def _set_forward(op: Operator, forward: Callable) -> None:
    op.forward = forward
    op.forget_calls()


def _noted(op: Operator, reasons: list[str]) -> Callable:
    """Return a forward that runs the original and notes that it ran."""
    original = op.forward

    def forward(*inputs, **attributes):
        reasons.append(f"{op.surrogate} ({op.__name__})")
        return original(*inputs, **attributes)

    return forward


def _surrogate(op: Operator, used: set[str]) -> Callable:
    """Return a forward that runs the surrogate and returns as many arrays."""

    def forward(*inputs, **attributes):
        used.add(f"the surrogate of {op.__name__}")
        y = op.ask(op.surrogate, dict(zip(op.inputs, inputs)) | attributes)
        outputs = y if isinstance(y, (list, tuple)) else (y,)
        return (*outputs, *outputs[:1] * len(op.saves))

    return forward
