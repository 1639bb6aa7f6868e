"""Checks of results for other sizes and dtypes, in graphs, on other contexts, from files."""

from __future__ import annotations

import logging
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import engine
from ..engine import mx, nd
from ._checker import Checker
from ._gradients import check_gradient
from ._report import Failure, Unchecked, describe_error
from ._trial import Trial
from ._values import PRECISION, Results, Values, compare, format_number, is_identical

NEAR = {"float64": 1e-7, "float32": 1e-4}  # tolerances for the same operations in another order


def _compare_trial(
    checker: Checker, trial: Trial, known: Results, tolerance: float, where: str = ""
) -> float:
    """Compare another trial with known results; return the largest difference."""
    pairs = zip(checker.subject.outputs, known.outputs, trial.forward(known.values))
    differences = [compare(f"{where}{n}", a, b, tolerance) for n, a, b in pairs]
    found = trial.gradients(known.values, known.heads, tuple(known.gradients))
    differences += [
        compare(f"{where}the gradient of {n}", known.gradients[n], b, tolerance)
        for n, b in found.items()
    ]
    return max(differences)


def another_batch(checker: Checker) -> str:
    """Check the declared shapes and the gradients for another batch size."""
    problems: list[Exception] = []
    for values in larger_batches(checker):
        try:
            return _check_batch(checker, values)
        except Exception as problem:
            problems.append(problem)
    if not problems:
        raise Unchecked("no input has a batch axis")
    raise next((p for p in problems if not isinstance(p, Unchecked)), problems[0])


def larger_batches(checker: Checker) -> Iterator[Values]:
    """Yield values with one more row in all inputs as long as the first, then only in the first."""
    subject = checker.subject
    inputs = [n for n in checker.values if n not in {*subject.states, *subject.parameters}]
    as_long = [n for n in inputs if len(checker.values[n]) == len(checker.values[inputs[0]])]
    for chosen in (as_long, inputs[:1])[: min(len(as_long), 2)]:
        yield {n: _with_another_row(v) if n in chosen else v for n, v in checker.values.items()}


def _with_another_row(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, x[:1] * 0.9 if x.dtype.kind == "f" else x[:1]])


def changed_shapes(checker: Checker, values: Values) -> str:
    """Return text that names the inputs whose shapes differ in other values."""
    changed = [n for n in values if values[n].shape != checker.values[n].shape]
    return ", ".join(f"{n} {values[n].shape}" for n in changed)


def _check_batch(checker: Checker, values: Values) -> str:
    what = changed_shapes(checker, values)
    shapes = _declared_shapes(checker, values, what)
    try:
        if unprotected := checker.unprotected(values):
            unprotected.forward(values)
        outputs = checker.trial.forward(values)
    except Exception as error:
        raise (Failure if shapes else Unchecked)(f"{what}: {describe_error(error)}") from error
    checker.larger_batch = other = Results(values, outputs, checker.trial.heads(outputs))
    for name, y in zip(checker.subject.outputs, outputs):
        if name in shapes and shapes[name] != y.shape:
            raise Failure(f"{what}: {name} is {y.shape}, declared {shapes[name]}")
    other.gradients = checker.trial.gradients(
        values, other.heads, tuple(checker.reference.gradients)
    )
    for name in other.gradients:
        if checker.has_passed(f"gradient of {name}"):
            try:
                check_gradient(checker.trial, other, name)
            except Failure as problem:
                raise Failure(f"{what}: the gradient of {name} is {problem}") from problem
    return what


def _declared_shapes(checker: Checker, values: Values, what: str) -> dict[str, tuple]:
    """Return the shapes that are declared for these values; the inputs must have them."""
    try:
        declared = checker.subject.declared(values, checker.trial.dtype)[0]
    except Exception as error:
        raise Unchecked(f"{what} is refused: {describe_error(error)}") from error
    shapes = {n: tuple(shape) for n, shape in declared.items()}
    for name in values.keys() & shapes.keys():
        if shapes[name] != values[name].shape:
            raise Unchecked(f"{what} does not fit {name}")
    return shapes


def float32(checker: Checker) -> str:
    """Check that the results are the same in float32."""
    if checker.trial.seeded:
        raise Unchecked("in float32 it may draw other numbers")
    trial, tolerance = replace(checker.trial, dtype="float32"), PRECISION["float32"][1]
    difference = _compare_trial(checker, trial, checker.reference, tolerance, "in float32, ")
    return f"max difference {format_number(difference)} from float64"


def hybridized(checker: Checker) -> str:
    """Check that the results are the same when hybridized."""
    return _in_graph(checker)


def compiled(checker: Checker) -> str:
    """Check that the results are the same when compiled."""
    if not checker.compiled:
        raise Unchecked("not asked for")
    if not engine.compiles():
        raise Unchecked("this engine compiles nothing")
    return _in_graph(checker, backend="inductor")


def _in_graph(checker: Checker, **options: Any) -> str:
    subject, tolerance = checker.subject.layer(), NEAR[checker.trial.dtype]
    subject.block.hybridize(**options)
    trial = replace(checker.trial, subject=subject)
    with _logged_refusals() as refusals:
        difference, sizes = _compare_trial(checker, trial, checker.reference, tolerance), ""
        if (larger := checker.larger_batch) is not None:
            where, sizes = f"{changed_shapes(checker, larger.values)}: ", ", at both batch sizes"
            difference = max(difference, _compare_trial(checker, trial, larger, tolerance, where))
    return f"max difference {format_number(difference)}{sizes}" + "".join(refusals[:1])


@contextmanager
def _logged_refusals() -> Iterator[list[str]]:
    """Yield a list that collects log messages about operators that the engine does not compile."""
    refusals: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: refusals.append(  # type: ignore[method-assign]
        f"; not compiled, {record.getMessage().rpartition(', and ')[2]}"
    )
    logger = logging.getLogger("layers")
    logger.addHandler(handler)
    engine.adapter().warn_again()  # an earlier check, or the program, may have logged them
    try:
        yield refusals
    finally:
        logger.removeHandler(handler)


def contexts() -> list[Any]:
    """Return the contexts to check besides cpu(0)."""
    return [mx.cpu(1)] + ([mx.gpu(0)] if mx.context.num_gpus() else [])


def on_context(checker: Checker, context: Any) -> str:
    """Check that the results on another context are the same, and that the outputs are on it."""
    trial = replace(checker.trial, context=context)
    for name, y in zip(checker.subject.outputs, trial.call(trial.place(checker.values))):
        if y.context != context:
            raise Failure(f"{name} is on {y.context}")
    tolerance = NEAR[checker.trial.dtype] if context.device_type == "cpu" else 1e-3
    difference = _compare_trial(checker, trial, checker.reference, tolerance)
    return f"max difference {format_number(difference)}"


def pickled(checker: Checker) -> str:
    """Check that the subject can be pickled; a deep copy of a layer must give the same outputs."""
    subject: Any = checker.subject
    try:
        size = len(pickle.dumps(subject.pickled))
    except Exception as error:
        if "<locals>" in str(error) or "<lambda>" in str(error):
            raise Unchecked("it, or a part of it, is defined inside a function") from error
        raise
    if subject.block is None:
        return "by its place"
    arrays = checker.trial.place(checker.values)
    copied = replace(checker.trial, subject=subject.twin())
    for name, a, b in zip(subject.outputs, checker.trial.call(arrays), copied.call(arrays)):
        if not is_identical(a.asnumpy(), b.asnumpy()):
            raise Failure(f"{name} of the copy is another")
    return f"{size} bytes"


def saved(checker: Checker) -> str:
    """Check that the parameters are the same after they are saved and loaded."""
    subject: Any = checker.subject
    if not subject.parameters:
        raise Unchecked("it has no parameters")
    checker.trial.place(checker.values)
    twin = subject.twin()
    for parameter in twin.parameters.values():
        parameter.set_data(nd.zeros_like(parameter.data()) + 5)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "layer.params"))
        subject.block.save_parameters(path)
        twin.block.load_parameters(path)
    for name, parameter in twin.parameters.items():
        if not is_identical(subject.parameters[name].data().asnumpy(), parameter.data().asnumpy()):
            raise Failure(f"{name} is another when it is loaded")
    return ", ".join(twin.parameters)
