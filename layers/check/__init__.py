"""Checker of operators and layers, which reports one line per check.

``check_operator(dense, (4, 3), (5, 3))`` runs a custom operator in all ways in which a program may
run it, and compares its gradients with numeric ones. ``python -m layers.check package.module:dense
--input 4x3 --input 5x3`` does so from the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine import gluon, nd
from ._checker import Checker
from ._checks import run_checks
from ._report import Check, CheckFailed, Report, WrongArguments, describe_error
from ._subject import make_subject

__all__ = ["Check", "CheckFailed", "Report", "check_layer", "check_operator"]


def check_operator(
    op: Any,
    /,
    *inputs: Any,
    loss: Callable | None = None,
    wrt: Sequence[str] | None = None,
    compiled: bool = True,
    seeded: bool = False,
    quick: bool = False,
    progress: Callable[[str], Any] | None = None,
    **attributes: Any,
) -> Report:
    """Check an operator: its declarations, gradients, use of arrays, and results everywhere.

    Parameters
    ----------
    op : Operator, type, str or callable
        An operator, however it was written; a CustomOpProp, or the name of a registered one; or a
        function of NDArrays.
    *inputs : NDArray, numpy.ndarray, tuple of int or None
        The inputs in the operator's order, including states. A tuple is a shape, which is filled
        with seeded random values between 0.2 and 1, of both signs; gradients are then also compared
        for larger and smaller values, and at 0. Floats become float64. Inputs of integers, such as
        labels, are not differentiated. None leaves out an optional input.
    loss : callable, optional
        ``loss(y, label)``, by the names of outputs, inputs and attributes: the function that has
        these gradients, if the outputs do not have them. By default the operator's own `loss`.
    wrt : str or sequence of str, optional
        The inputs to differentiate; by default all that have a gradient.
    compiled : bool
        If True, compile the operator too, which takes seconds.
    seeded : bool
        If True, seed `mx.random` and `numpy.random` before each call, for operators that use random
        numbers on purpose.
    quick : bool
        If True, check only declarations, arrays, gradients and graph, without other sizes, dtypes
        and contexts, compiled code and second derivatives.
    progress : callable, optional
        A function that is called with the name of each check before the check; `print` shows them.
    **attributes
        The operator's attributes.

    Returns
    -------
    Report
        The results of all checks. An exception of the operator is a failed check in it.

    Raises
    ------
    TypeError
        `op` is no operator, or takes another number of inputs.
    """
    options = {"compiled": compiled, "seeded": seeded, "quick": quick, "progress": progress}
    return _check(op, inputs, attributes, loss, wrt, options)


def check_layer(
    block: Any,
    /,
    *inputs: Any,
    loss: Callable | None = None,
    wrt: Sequence[str] | None = None,
    compiled: bool = True,
    seeded: bool = False,
    quick: bool = False,
    progress: Callable[[str], Any] | None = None,
) -> Report:
    """Check a layer, with its parameters as inputs; a copy is checked, the layer stays untouched.

    Parameters
    ----------
    block : gluon.Block
        The layer, initialized or not.
    *inputs, loss, wrt, compiled, seeded, quick, progress
        See `check_operator`.

    Returns
    -------
    Report

    Raises
    ------
    WrongArguments
        A TypeError: `block` is no Block, or takes another number of inputs.
    """
    if not isinstance(block, gluon.Block):
        raise WrongArguments(f"check_layer: {block!r} ({type(block).__name__})\n  expected a Block")
    options = {"compiled": compiled, "seeded": seeded, "quick": quick, "progress": progress}
    return _check(block, inputs, {}, loss, wrt, options)


def _check(given: Any, inputs: tuple, attributes: dict, loss, wrt, options: dict) -> Report:
    arrays = [_values(x, i) for i, x in enumerate(inputs)]
    try:
        subject = make_subject(given, arrays, attributes)
    except WrongArguments:
        raise
    except Exception as error:  # from the operator, where it names its inputs
        kind = "layer" if isinstance(given, gluon.Block) else "operator"
        name = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
        return Report(f"{kind} {name}", [Check("runs", "failed", describe_error(error))])
    if loss is not None:
        subject.loss, subject.is_loss = loss, True
    drawn = [a for x, a in zip(inputs, arrays) if isinstance(x, tuple)]
    subject.drawn = {n for n, v in subject.values.items() if any(v is a for a in drawn)}
    subject.choose_gradients(wrt)
    return run_checks(Checker(subject, **options))


def _values(x: Any, i: int) -> np.ndarray | None:
    """Return the values of an input: of an array, or seeded random ones for a shape."""
    if x is None:
        return None
    if isinstance(x, tuple):
        random = np.random.RandomState(i)
        return random.uniform(0.2, 1, x) * random.choice([-1.0, 1.0], x)
    if isinstance(x, (bool, int, float)):
        raise WrongArguments(
            f"input {i} is the number {x}\n"
            f"  expected an array or a shape; a number in a function, lambda x: operator(x, {x})"
        )
    x = x.asnumpy() if isinstance(x, nd.NDArray) else np.asarray(x)
    if x.dtype.kind not in "fiub":
        raise WrongArguments(
            f"input {i} is {x!r}\n  expected an array of numbers, or a shape (4, 3)"
        )
    return np.atleast_1d(x.astype("float64") if x.dtype.kind == "f" else x)
