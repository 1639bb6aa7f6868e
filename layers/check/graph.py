"""The same elsewhere: replayed, compiled, on other contexts, from a file, differentiated again."""

from __future__ import annotations

import copy
import logging
import pickle
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import engine
from ..engine import autograd, mx, nd
from .report import Failure, Unchecked
from .subject import Values
from .trial import PRECISION, Trial, compare, number, same

if TYPE_CHECKING:
    from .checker import Checker

__all__ = [
    "check_second_order",
    "compiled",
    "contexts",
    "finite_at",
    "on",
    "pickled",
    "replayed",
    "saved",
    "second_order",
]

NEAR = {"float64": 1e-7, "float32": 1e-4}  # in another order of the same operations


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


def _in_graph(it: Checker, **how) -> str:
    subject = it.subject.layer()
    subject.wanted, subject.is_loss = it.subject.wanted, it.subject.is_loss
    subject.block.hybridize(**how)
    with _noted() as notes:
        return _compared(it, subject) + "".join(notes[:1])


@contextmanager
def _noted() -> Iterator[list[str]]:
    """What an engine says of operators that it leaves as they are."""
    notes: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: notes.append(  # type: ignore[method-assign]
        f"; not compiled, {record.getMessage().rpartition(', and ')[2]}"
    )
    logger = logging.getLogger("layers")
    logger.addHandler(handler)
    try:
        yield notes
    finally:
        logger.removeHandler(handler)


def _compared(it: Checker, subject: Any) -> str:
    """How near a layer is to what is checked, at both batch sizes."""
    trial = Trial(subject, it.trial.dtype, it.trial.context, it.seeded)
    names, far = tuple(it.gradients), []
    for values in [it.values] if it.other is None else [it.values, it.other]:
        expected = it.trial.forward(values)
        heads = it.trial.heads(expected)
        try:
            far += _near(it, names, expected, values, heads, trial)
        except Failure as problem:
            if values is it.values:
                raise
            raise Failure(f"{it.moved(values)}: {problem}") from problem
    sizes = ", at both batch sizes" if it.other is not None else ""
    return f"max difference {number(max(far))}{sizes}"


def _near(it, names, expected, values, heads, trial, tolerance=None) -> list[float]:
    """How far the outputs and gradients of another trial are."""
    tolerance = tolerance or NEAR[it.trial.dtype]
    found = trial.forward(values)
    far = [compare(n, a, b, tolerance) for n, a, b in zip(it.subject.outputs, expected, found)]
    if names:
        known = it.trial.gradients(values, heads, names)
        gradients = trial.gradients(values, heads, names)
        far += [compare(f"the gradient of {n}", known[n], gradients[n], tolerance) for n in names]
    return far


def contexts() -> list[Any]:
    """The contexts beside cpu(0)."""
    return [mx.cpu(1)] + ([mx.gpu(0)] if mx.context.num_gpus() else [])


def on(it: Checker, context: Any) -> str:
    """On another context it gives the same, there."""
    trial = Trial(it.subject, it.trial.dtype, context, it.seeded)
    with autograd.train_mode():
        for name, y in zip(it.subject.outputs, it.subject.call(trial.place(it.values))):
            if y.context != context:
                raise Failure(f"{name} is on {y.context}")
    tolerance = NEAR[it.trial.dtype] if context.device_type == "cpu" else 1e-3
    names = tuple(it.gradients)
    far = _near(it, names, it.outputs, it.values, it.heads, trial, tolerance)
    return f"max difference {number(max(far))}"


def pickled(it: Checker) -> str:
    """It comes back from a pickle."""
    what = it.subject.pickled()
    try:
        size = len(pickle.dumps(what))
    except Exception as error:
        if "<locals>" in str(error) or "<lambda>" in str(error):
            raise Unchecked("it is, or has, what is defined inside a function") from error
        raise
    if not hasattr(it.subject, "parameters"):
        return "by its place"
    _expect_twin(it)
    return f"{size} bytes"


def _expect_twin(it: Checker) -> None:
    """A copy, made as by a pickle, gives the same."""
    arrays = it.trial.place(it.values)
    layer: Any = it.subject
    found = []
    for one in (layer.block, copy.deepcopy(layer.block)):
        it.trial.seed()
        y = one(*(arrays[n] for n in layer.inputs))
        found.append([a.asnumpy() for a in (y if isinstance(y, (list, tuple)) else [y])])
    for name, a, b in zip(it.subject.outputs, *found):
        if not same(a, b):
            raise Failure(f"{name} of the copy is another")


def saved(it: Checker) -> str:
    """The parameters come back from a file."""
    layer: Any = it.subject
    if not layer.parameters:
        raise Unchecked("it has no parameters")
    it.trial.place(it.values)
    twin = layer.layer()
    for parameter in twin.parameters.values():
        parameter.set_data(nd.zeros_like(parameter.data()) + 5)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "it.params"))
        layer.block.save_parameters(path)
        twin.block.load_parameters(path)
    for name, parameter in twin.parameters.items():
        if not same(layer.parameters[name].data().asnumpy(), parameter.data().asnumpy()):
            raise Failure(f"{name} is another when it is loaded")
    return ", ".join(twin.parameters)


# Differentiated again


def second_order(it: Checker, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Gradients of the gradients' sum with random factors, by input; of heads too."""
    trial = it.trial
    arrays = trial.place(it.values, dict.fromkeys(names, "write"))
    heads = [nd.array(dy, ctx=trial.context, dtype=trial.dtype) for dy in it.heads]
    for dy in heads:
        dy.attach_grad()
    trial.seed()
    with autograd.record():
        y = it.subject.call(arrays)
        # By a product, not as head_grads: those MXNet takes for constants.
        pairs = [(a, dy) for a, dy in zip(y, heads) if np.dtype(a.dtype).kind == "f"]
        scalar = sum((a * dy).sum() for a, dy in pairs)
        variables = [arrays[n] for n in names]
        first = autograd.grad(scalar, variables, create_graph=True, retain_graph=True)
        factors = [nd.array(v, dtype=trial.dtype) for v in _factors(it, names).values()]
        total: Any = sum((g * v).sum() for g, v in zip(first, factors))
    total.backward()
    found = {n: arrays[n].grad.asnumpy() for n in names}
    return found | {f"d{n}": dy.grad.asnumpy() for n, dy in zip(it.subject.outputs, heads)}


def _factors(it: Checker, names: tuple[str, ...]) -> Values:
    random = np.random.RandomState(3)
    return {n: random.uniform(0.5, 1.5, it.values[n].shape) for n in names}


def check_second_order(it: Checker, names: tuple[str, ...], found: Values) -> str:
    """Compare with differences of the gradients, along a random direction in each input."""
    factors = _factors(it, names)
    eps, atol, rtol = PRECISION[it.trial.dtype]
    random, far = np.random.RandomState(4), 0.0

    def total(values: Values, heads: list) -> float:
        gradients = it.trial.gradients(values, heads, names)
        return float(sum((gradients[n].astype("float64") * factors[n]).sum() for n in names))

    for name, second in found.items():
        direction = random.standard_normal(second.shape)
        ends = []
        for step in (eps * direction, -eps * direction):
            values, heads = it.values, it.heads
            if name in values:
                values = values | {name: values[name] + step}
            else:
                moved = [f"d{n}" for n in it.subject.outputs].index(name)
                heads = [dy + step if i == moved else dy for i, dy in enumerate(heads)]
            ends.append(total(values, heads))
        numeric = (ends[0] - ends[1]) / eps / 2
        value = float((second.astype("float64") * direction).sum())
        scale = max(1.0, abs(numeric), float(np.abs(second * direction).sum()))
        far = max(far, abs(value - numeric))
        if not abs(value - numeric) <= 10 * atol * scale + rtol * abs(numeric):
            what = "0 in silence" if not second.any() else number(value)
            raise Failure(f"in {name} it is {what}, numeric {number(numeric)}")
    return f"max difference {number(far)}"


# Where numbers end


def finite_at(it: Checker, values: Values, where: str) -> bool:
    """Whether the outputs are finite there; the gradients must not be NaN then."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            outputs = it.trial.forward(values)
            if not all(np.isfinite(y).all() for y in outputs):
                return False
            gradients = it.trial.gradients(values, it.heads, tuple(it.gradients))
        except Exception:  # outside its domain
            return False
    for name, gradient in gradients.items():
        if np.isnan(gradient).any():
            raise Failure(f"{where}, the outputs are finite and the gradient of {name} is NaN")
    return True
