"""List of checks in order, and the dependencies between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..ops.ways.guards import guarded
from . import _arrays, _dtypes, _environments, _gradients, _kernels, _runs
from ._checker import Checker
from ._closure import advise
from ._report import Check, Failure, Report, Unchecked, describe_error
from ._trial import drop_pending_errors
from ._values import Results


def run_checks(checker: Checker) -> Report:
    """Make all checks of a subject, and report them."""
    with guarded() as checker.guards:  # writes past a library's arrays do no harm
        for name, function, *needs in _checks(checker):
            if checker.progress is not None:
                checker.progress(name)
            checker.report.checks.append(_line(checker, name, function, needs))
    drop_pending_errors()
    if checker.has_passed("runs"):
        checker.report.advice += advise(checker.subject)
    return checker.report


def _checks(checker: Checker) -> Iterator[tuple]:
    """Yield for each check its name, the function that makes it, and its further arguments."""
    run, reason = _runs.first_run(checker)
    yield "runs", _runs.runs, run
    if checker.subject.declares and run.reached:
        yield "shapes", _runs.declared, run, "shapes"
        yield "types", _runs.declared, run, "types"
    if run.problem:
        yield "everything else", _not_checked, run.problem
        return
    checker.trial = run.trial
    checker.reference = Results(checker.values, run.outputs, run.trial.heads(run.outputs))
    checker.backward_error = _arrays.error_in_backward(checker)
    yield "float64", _runs.float64, reason
    yield "deterministic", _runs.deterministic
    if not checker.has_passed("deterministic"):
        yield "everything else", _not_checked, "its outputs or gradients differ from call to call"
        return
    yield "inputs unchanged", _arrays.inputs
    yield "outputs its own", _arrays.outputs
    yield "states", _arrays.states
    for name in (n for n in checker.values if n not in checker.subject.states):
        yield f"gradient of {name}", _gradients.gradient, name
    if checker.subject.differentiated:
        if checker.subject.is_loss:
            yield "head gradient", _gradients.head_gradient
        for req in ("write", "add", "null"):
            yield f"req {req}", _arrays.requests, req
    if checker.quick:
        yield "hybridized = eager", _environments.hybridized
        yield "everything else", _not_checked, "a quick check is asked for"
        return
    yield from _checks_elsewhere(checker)
    if checker.subject.differentiated:
        yield "second order", _gradients.second_order
        yield "finite", _gradients.finite


def _checks_elsewhere(checker: Checker) -> Iterator[tuple]:
    """Yield the checks that call the subject in another way, or in another place."""
    yield "another batch size", _environments.another_batch
    if checker.trial.dtype == "float64":
        yield "float32", _environments.float32
    yield "dtypes", _dtypes.dtypes
    if checker.subject.has_kernel:
        yield "kernel = formula", _kernels.kernel
    if checker.guards.calls:
        yield "memory", _dtypes.memory
    yield "hybridized = eager", _environments.hybridized
    yield "compiled = eager", _environments.compiled
    for context in _environments.contexts():
        yield f"{context} = cpu(0)", _environments.on_context, context
    if checker.subject.pickled is not None:
        yield "pickle", _environments.pickled
    if checker.subject.block is not None:
        yield "parameters' file", _environments.saved


def _not_checked(checker: Checker, reason: str) -> str:
    raise Unchecked(reason)


def _line(checker: Checker, name: str, function: Callable, needs: list[Any]) -> Check:
    try:
        return Check(name, "passed", function(checker, *needs))
    except Unchecked as reason:
        return Check(name, "not checked", str(reason))
    except Failure as problem:
        return Check(name, "failed", str(problem))
    except Exception as error:  # an error of the operator, of any kind: it is the result
        drop_pending_errors()
        return Check(name, "failed", describe_error(error))
