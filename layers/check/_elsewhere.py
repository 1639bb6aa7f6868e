"""The same elsewhere: other sizes and dtypes, replayed, compiled, on other contexts, kept."""

from __future__ import annotations

import logging
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import engine
from ..engine import mx, nd
from ._gradients import check_gradient
from ._report import Failure, Unchecked, told
from ._trial import PRECISION, Point, Trial, Values, compare, number, same

if TYPE_CHECKING:
    from ._checks import Checker

NEAR = {"float64": 1e-7, "float32": 1e-4}  # in another order of the same operations


def _farthest(it: Checker, trial: Trial, point: Point, tolerance: float, where: str = "") -> float:
    """How far another trial is, at most, from what is known at a point."""
    pairs = zip(it.subject.outputs, point.outputs, trial.forward(point.values))
    far = [compare(f"{where}{n}", a, b, tolerance) for n, a, b in pairs]
    found = trial.gradients(point.values, point.heads, tuple(point.gradients))
    far += [
        compare(f"{where}the gradient of {n}", point.gradients[n], b, tolerance)
        for n, b in found.items()
    ]
    return max(far)


def another_batch(it: Checker) -> str:
    """With another batch size, the shapes are as declared and the gradients right."""
    problems: list[Exception] = []
    for values in _batches(it):
        try:
            return _at(it, values)
        except Exception as problem:
            problems.append(problem)
    if not problems:
        raise Unchecked("no input has a batch axis")
    raise next((p for p in problems if not isinstance(p, Unchecked)), problems[0])


def _batches(it: Checker) -> Iterator[Values]:
    """Values with one more row: in all inputs that are as long as the first, in the first only."""
    subject = it.subject
    inputs = [n for n in it.values if n not in {*subject.states, *subject.parameters}]
    alike = [n for n in inputs if len(it.values[n]) == len(it.values[inputs[0]])]
    for chosen in (alike, inputs[:1])[: min(len(alike), 2)]:
        yield {n: _longer(v) if n in chosen else v for n, v in it.values.items()}


def _longer(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, x[:1] * 0.9 if x.dtype.kind == "f" else x[:1]])


def _moved(it: Checker, values: Values) -> str:
    """What has another shape in other values."""
    moved = [n for n in values if values[n].shape != it.values[n].shape]
    return ", ".join(f"{n} {values[n].shape}" for n in moved)


def _at(it: Checker, values: Values) -> str:
    what = _moved(it, values)
    shapes = _declared(it, values, what)
    try:
        if own := it.own(values):
            own.forward(values)
        outputs = it.trial.forward(values)
    except Exception as error:
        raise (Failure if shapes else Unchecked)(f"{what}: {told(error)}") from error
    it.other = other = Point(values, outputs, it.trial.heads(outputs))
    for name, y in zip(it.subject.outputs, outputs):
        if name in shapes and shapes[name] != y.shape:
            raise Failure(f"{what}: {name} is {y.shape}, declared {shapes[name]}")
    other.gradients = it.trial.gradients(values, other.heads, tuple(it.here.gradients))
    for name in other.gradients:
        if it.has_passed(f"gradient of {name}"):
            try:
                check_gradient(it.trial, other, name)
            except Failure as problem:
                raise Failure(f"{what}: the gradient of {name} is {problem}") from problem
    return what


def _declared(it: Checker, values: Values, what: str) -> dict[str, tuple]:
    """The shapes that are declared for these values, which the inputs have."""
    try:
        declared = it.subject.declared(values, it.trial.dtype)[0]
    except Exception as error:
        raise Unchecked(f"{what} is refused: {told(error)}") from error
    shapes = {n: tuple(shape) for n, shape in declared.items()}
    for name in values.keys() & shapes.keys():
        if shapes[name] != values[name].shape:
            raise Unchecked(f"{what} does not fit {name}")
    return shapes


def float32(it: Checker) -> str:
    """In float32 it gives the same."""
    if it.trial.seeded:
        raise Unchecked("in float32 it may draw other numbers")
    trial, tolerance = replace(it.trial, dtype="float32"), PRECISION["float32"][1]
    far = _farthest(it, trial, it.here, tolerance, "in float32, ")
    return f"max difference {number(far)} from float64"


def replayed(it: Checker) -> str:
    """Hybridized, it gives the same."""
    return _in_graph(it)


def compiled(it: Checker) -> str:
    """Compiled, it gives the same."""
    if not it.compiled:
        raise Unchecked("not asked for")
    if not engine.compiles():
        raise Unchecked("this engine replays only")
    return _in_graph(it, backend="inductor")


def _in_graph(it: Checker, **how: Any) -> str:
    subject, tolerance = it.subject.layer(), NEAR[it.trial.dtype]
    subject.block.hybridize(**how)
    trial = replace(it.trial, subject=subject)
    with _noted() as notes:
        far, sizes = _farthest(it, trial, it.here, tolerance), ""
        if it.other is not None:
            where, sizes = _moved(it, it.other.values), ", at both batch sizes"
            far = max(far, _farthest(it, trial, it.other, tolerance, f"{where}: "))
    return f"max difference {number(far)}{sizes}" + "".join(notes[:1])


@contextmanager
def _noted() -> Iterator[list[str]]:
    """What an engine says of operators that it leaves as they are."""
    notes: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: notes.append(  # type: ignore[method-assign]
        f"; not compiled, {record.getMessage().rpartition(', and ')[2]}"
    )
    logger = logging.getLogger("layers")
    logger.addHandler(handler)
    try:
        yield notes
    finally:
        logger.removeHandler(handler)


def contexts() -> list[Any]:
    """The contexts beside cpu(0)."""
    return [mx.cpu(1)] + ([mx.gpu(0)] if mx.context.num_gpus() else [])


def on(it: Checker, context: Any) -> str:
    """On another context it gives the same, there."""
    trial = replace(it.trial, context=context)
    for name, y in zip(it.subject.outputs, trial.call(trial.place(it.values))):
        if y.context != context:
            raise Failure(f"{name} is on {y.context}")
    tolerance = NEAR[it.trial.dtype] if context.device_type == "cpu" else 1e-3
    return f"max difference {number(_farthest(it, trial, it.here, tolerance))}"


def pickled(it: Checker) -> str:
    """It comes back from a pickle; of a layer, a copy, made as by a pickle, gives the same."""
    subject: Any = it.subject
    try:
        size = len(pickle.dumps(subject.shown))
    except Exception as error:
        if "<locals>" in str(error) or "<lambda>" in str(error):
            raise Unchecked("it is, or has, what is defined inside a function") from error
        raise
    if subject.block is None:
        return "by its place"
    arrays = it.trial.place(it.values)
    copied = replace(it.trial, subject=subject.twin())
    for name, a, b in zip(subject.outputs, it.trial.call(arrays), copied.call(arrays)):
        if not same(a.asnumpy(), b.asnumpy()):
            raise Failure(f"{name} of the copy is another")
    return f"{size} bytes"


def saved(it: Checker) -> str:
    """The parameters come back from a file."""
    subject: Any = it.subject
    if not subject.parameters:
        raise Unchecked("it has no parameters")
    it.trial.place(it.values)
    twin = subject.twin()
    for parameter in twin.parameters.values():
        parameter.set_data(nd.zeros_like(parameter.data()) + 5)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "it.params"))
        subject.block.save_parameters(path)
        twin.block.load_parameters(path)
    for name, parameter in twin.parameters.items():
        if not same(subject.parameters[name].data().asnumpy(), parameter.data().asnumpy()):
            raise Failure(f"{name} is another when it is loaded")
    return ", ".join(twin.parameters)
