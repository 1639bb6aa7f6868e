"""Gradients against numeric ones, first and second; and where numbers end."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engine import autograd, nd
from ._report import Failure, Unchecked, told
from ._trial import PRECISION, Point, Trial, Values, compare, number, settle, shown

if TYPE_CHECKING:
    from ._checks import Checker

SAMPLE = 32  # elements of an input that are moved one by one; what is larger is sampled


def gradient(it: Checker, name: str) -> str:
    """The gradient of an input is the numeric one."""
    here, x = it.here, it.values[name]
    if name in it.subject.silent:
        raise Unchecked(it.subject.silent[name])
    it.expect_differentiable()
    _expect_finite_outputs(it)
    if name not in here.gradients:
        here.gradients |= _asked(it, name)
    found = here.gradients[name]
    if not found.any() and x.size and (x == np.round(x)).all() and it.subject.loss is None:
        raise Unchecked("it is 0, and the input holds whole numbers only: a label?")
    return check_gradient(it.trial, here, name)


def _asked(it: Checker, name: str) -> Values:
    """All gradients, or where that fails, one."""
    here = it.here
    try:
        return it.trial.gradients(here.values, here.heads, it.subject.wanted)
    except Exception:  # it may be another input's
        settle()
        return it.trial.gradients(here.values, here.heads, (name,))


def _expect_finite_outputs(it: Checker) -> None:
    for name, y in zip(it.subject.outputs, it.here.outputs):
        if wrong := int((~np.isfinite(y)).sum()):
            raise Unchecked(
                f"{wrong} of {y.size} values of {name} are not finite: give inputs inside "
                "its domain"
            )


def check_gradient(trial: Trial, point: Point, name: str) -> str:
    """Compare a gradient with differences; tell how near it is."""
    eps, atol, rtol = PRECISION[trial.dtype]
    x, gradient = point.values[name], point.gradients[name]
    if gradient.shape != x.shape:
        raise Failure(f"it is {gradient.shape}, and {name} is {x.shape}")

    def objective(step: np.ndarray) -> float:
        return trial.objective(point.values | {name: x + step}, point.heads)

    places = _places(x)
    slopes = np.array([_slope_at(objective, x, at, eps) for at in places])
    found = np.array([gradient[at] for at in places], dtype="float64")
    distance = np.abs(found - slopes)
    allowed = atol * max(1.0, np.abs(slopes).max(initial=0)) + rtol * np.abs(slopes)
    if wrong := int((~(distance <= allowed)).sum()):
        worst = int(np.nanargmax(np.where(np.isnan(distance), np.inf, distance - allowed)))
        raise Failure(
            f"{number(found[worst])} at {shown(places[worst])}, numeric "
            f"{number(slopes[worst])}; {wrong} of {len(places)} elements are wrong"
        )
    text = f"max difference {number(distance.max(initial=0))}"
    if len(places) == x.size:
        return text
    direction = np.random.RandomState(2).standard_normal(x.shape)
    slope = _slope(objective, direction, eps)
    if wrong := _wrong_along(direction, gradient, slope, atol, rtol):
        raise Failure(
            f"{wrong} along a random direction, numeric {number(slope)}; "
            f"the {len(places)} elements tried one by one are right"
        )
    return f"{text}; {len(places)} of {x.size} elements, and a random direction"


def _places(x: np.ndarray) -> list[tuple]:
    """Where differences are taken."""
    places = list(np.ndindex(*x.shape))
    if len(places) <= SAMPLE:
        return places
    chosen = np.random.RandomState(0).choice(len(places), SAMPLE, replace=False)
    return [places[i] for i in sorted(chosen)]


def _slope(function: Callable, direction: np.ndarray, eps: float) -> float:
    """The slope of a function of a step, by central differences."""
    return (function(eps * direction) - function(-eps * direction)) / eps / 2


def _slope_at(function: Callable, x: np.ndarray, at: tuple, eps: float) -> float:
    direction = np.zeros_like(x)
    direction[at] = 1
    return _slope(function, direction, eps * max(1.0, float(abs(x[at]))))


def _wrong_along(direction, gradient, slope: float, atol: float, rtol: float) -> str:
    """The slope that a gradient has along a direction, where it is far from the numeric one."""
    parts = gradient.astype("float64") * direction
    found, scale = float(parts.sum()), max(1.0, abs(slope), float(np.abs(parts).sum()))
    return "" if abs(found - slope) <= atol * scale + rtol * abs(slope) else number(found)


def head_gradient(it: Checker) -> str:
    """A loss has the same gradients whatever comes from above."""
    here, names = it.here, it.expect_gradients()
    found = it.trial.gradients(here.values, [3 * dy for dy in here.heads], names)
    for name in names:
        what = f"with another head gradient, that of {name}"
        compare(what, here.gradients[name], found[name], 1e-12)
    if it.subject.loss is None:
        raise Unchecked("ignored, which is right for a loss only, at the end of a net")
    return "not used: it is a loss"


def second_order(it: Checker) -> str:
    """Second derivatives are right, or refused."""
    names = it.expect_gradients()
    _expect_finite_outputs(it)
    random = np.random.RandomState(3)
    factors = {n: random.uniform(0.5, 1.5, it.values[n].shape) for n in names}
    try:
        found = _differentiated(it, factors)
    except Exception as error:  # refused, as it should be where it cannot be right
        return f"refused: {told(error).partition(';')[0]}"
    return _check_second(it, factors, found)


def _differentiated(it: Checker, factors: Values) -> Values:
    """Gradients of the sum of factors times gradients, by input; of heads too."""
    trial, here = it.trial, it.here
    arrays = trial.place(here.values, dict.fromkeys(factors, "write"))
    heads = [nd.array(dy, ctx=trial.context, dtype=trial.dtype) for dy in here.heads]
    for dy in heads:
        dy.attach_grad()
    trial.seed()
    with autograd.record():
        y = it.subject.call(arrays)
        # By a product, not as head_grads: those MXNet takes for constants.
        pairs = [(a, dy) for a, dy in zip(y, heads) if np.dtype(a.dtype).kind == "f"]
        scalar = sum((a * dy).sum() for a, dy in pairs)
        variables = [arrays[n] for n in factors]
        first = autograd.grad(scalar, variables, create_graph=True, retain_graph=True)
        weighted = zip(first, factors.values())
        total: Any = sum((g * nd.array(v, dtype=trial.dtype)).sum() for g, v in weighted)
    total.backward()
    found = {n: arrays[n].grad.asnumpy() for n in factors}
    return found | {f"d{n}": dy.grad.asnumpy() for n, dy in zip(it.subject.outputs, heads)}


def _check_second(it: Checker, factors: Values, found: Values) -> str:
    """Compare with differences of the gradients, along a random direction in each input."""
    eps, atol, rtol = PRECISION[it.trial.dtype]
    values, heads = it.values, it.here.heads
    tops = [f"d{n}" for n in it.subject.outputs]
    random, far = np.random.RandomState(4), 0.0
    for name, second in found.items():

        def total(step: np.ndarray, name=name) -> float:
            moved = values | {name: values[name] + step} if name in values else values
            above = [dy + step if n == name else dy for n, dy in zip(tops, heads)]
            gradients = it.trial.gradients(moved, above, tuple(factors))
            return sum(
                float((gradients[n].astype("float64") * v).sum()) for n, v in factors.items()
            )

        direction = random.standard_normal(second.shape)
        numeric = _slope(total, direction, eps)
        if wrong := _wrong_along(direction, second, numeric, 10 * atol, rtol):
            what = wrong if second.any() else "0 in silence"
            raise Failure(f"in {name} it is {what}, numeric {number(numeric)}")
        far = max(far, abs(float((second.astype("float64") * direction).sum()) - numeric))
    return f"max difference {number(far)}"


def finite(it: Checker) -> str:
    """The gradients are numbers where the outputs are."""
    names, gradients = it.expect_gradients(), it.here.gradients
    _expect_finite_outputs(it)
    for name in names:
        if not np.isfinite(gradients[name]).all():
            raise Failure(f"y is finite, and the gradient of {name} is not")
    seen = ["at these inputs"]
    for where, factor in (("at 0", 0.0), ("at 1000 times the inputs", 1000.0)):
        values = {n: v * factor if n in names else v for n, v in it.values.items()}
        if _finite_at(it, values, where):
            seen.append(where)
    return ", ".join(seen)


def _finite_at(it: Checker, values: Values, where: str) -> bool:
    """Whether the outputs are finite there; the gradients must not be NaN then."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if not all(np.isfinite(y).all() for y in it.trial.forward(values)):
                return False
            gradients = it.trial.gradients(values, it.here.heads, tuple(it.here.gradients))
        except Exception:  # outside its domain
            return False
    for name, gradient in gradients.items():
        if np.isnan(gradient).any():
            raise Failure(f"{where}, the outputs are finite and the gradient of {name} is NaN")
    return True
