"""The checker of operators and layers: a report with a line per check.

``check_operator(dense, (4, 3), (5, 3))`` runs a custom operator in every way that a program may,
and compares its gradients with numeric ones; ``python -m layers.check package.module:dense --input
4x3 --input 5x3`` does it from the command line.
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
    """Check an operator: what it declares, its gradients, what it does to arrays, where it runs.

    Parameters
    ----------
    op : Operator, type, str or callable
        An operator, written in any way; a CustomOpProp, or the name of a registered one; a function
        of NDArrays.
    *inputs : NDArray, numpy.ndarray, tuple of int or None
        In the operator's order, states with them. A tuple is a shape, which is filled with seeded
        random values between 0.2 and 1, of both signs; gradients are then compared for larger and
        smaller values too, and at 0. Floats are made float64; what holds
        integers, such as a label, is not differentiated. None leaves an optional input out.
    loss : callable, optional
        ``loss(y, label)``, by the names of outputs, inputs and attributes: what the gradients are
        those of, if not of the outputs. By default the operator's own `loss`.
    wrt : str or sequence of str, optional
        The inputs to differentiate; by default all that have a gradient.
    compiled : bool
        Whether to compile it too, which takes seconds.
    seeded : bool
        Seed `mx.random` and `numpy.random` before each call: for operators that draw on purpose.
    quick : bool
        Check what it declares, its arrays, its gradients and its graph, and nothing else: no other
        sizes, dtypes and contexts, no compiled code, no second derivative.
    progress : callable, optional
        It is called with the name of each check before this is made; `print` shows them.
    **attributes
        Of the operator.

    Returns
    -------
    Report
        No exception of the operator leaves the checker: it is the failure of a line.

    Raises
    ------
    TypeError
        `op` is no operator, or the inputs are not as many as it takes.
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
    """Check a layer, its parameters among its inputs; a copy is checked, the layer is untouched.

    Parameters
    ----------
    block : gluon.Block
        Initialized or not.
    *inputs, loss, wrt, compiled, seeded, quick, progress
        As of `check_operator`.

    Returns
    -------
    Report

    Raises
    ------
    WrongArguments
        A TypeError: `block` is no Block, or the inputs are not as many as it takes.
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
    except Exception as error:  # the operator's, where it says which inputs it has
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
    """The values of an input: of an array, or seeded random ones for a shape."""
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
