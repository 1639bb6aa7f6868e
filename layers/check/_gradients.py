"""Comparison of first and second derivatives with numeric ones, and search for NaN in them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine import autograd, nd
from ._checker import Checker
from ._report import Failure, Unchecked, describe_error
from ._surrogates import surrogates, without_derivative
from ._trial import OtherShape, Trial, arrays_like, drop_pending_errors
from ._values import PRECISION, Results, Values, compare, format_index, format_number

SAMPLE = 32  # elements that are moved one by one; of a larger input, a random sample
KINK = "not differentiable"
# By precision. Drawn inputs lie between 0.2 and 1, but a gradient may be wrong elsewhere. The steps
# of float32 are too large for smaller inputs.
FACTORS = {"float64": (4.0, -4.0, 40.0, 0.01), "float32": (4.0, -4.0)}


def gradient(checker: Checker, name: str) -> str:
    """Check that the gradient of an input is the numeric one."""
    known, x = checker.reference, checker.values[name]
    if name in checker.subject.without_gradient:
        raise Unchecked(checker.subject.without_gradient[name])
    if (other := getattr(checker.backward_error, "input", None)) not in (None, name):
        raise Unchecked(f"the gradient of {other} has the wrong shape")
    checker.expect_differentiable()
    _expect_finite_outputs(checker)
    if name not in known.gradients:
        known.gradients |= _compute(checker, name)
    found = known.gradients[name]
    if not found.any() and x.size and (x == np.round(x)).all() and checker.subject.loss is None:
        raise Unchecked("it is 0, and the input holds whole numbers only: a label?")
    try:
        text = check_gradient(checker.trial, known, name)
    except Failure as problem:
        if updated := _updated_states(checker, name):
            raise Failure(
                f"{problem}\nbackward gets {updated} as forward leaves it, and with its value of "
                "before the gradient is right: keep that in `saves`, or as an output"
            ) from problem
        raise
    return text + _elsewhere(checker, name)


def _elsewhere(checker: Checker, name: str) -> str:
    """Compare the gradient where a drawn input is larger, smaller, of the other sign, and 0.

    If the shape of an output changes with the values, there is nothing to compare.
    """
    if name not in checker.subject.drawn:
        return ""
    with suppress(OtherShape):
        return _compare_elsewhere(checker, name)
    return ""


def _compare_elsewhere(checker: Checker, name: str) -> str:
    trial, x = checker.trial, checker.values[name]
    for factor in FACTORS[trial.dtype]:
        known = _results_at(checker, name, factor * x)
        if known is not None and not _fits_along_a_direction(trial, known, name):
            _expect_gradient(trial, known, name, f"at {format_number(factor)} times the input")
    if x.size:
        first = (0,) * x.ndim
        at_zero = x.copy()
        at_zero[first] = 0
        known = _results_at(checker, name, at_zero)
        if known is not None and np.isfinite(known.gradients[name]).all():
            text = _expect_gradient(trial, known, name, "with a 0", [first])
            _, mark, kink = text.partition(f"; {KINK}")
            return mark + kink
    return ""


def _results_at(checker: Checker, name: str, x: np.ndarray) -> Results | None:
    """Return outputs and gradient for another value of an input; None outside its domain."""
    trial, heads, values = checker.trial, checker.reference.heads, checker.values | {name: x}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            outputs = trial.forward(values)
            gradients = trial.gradients(values, heads, (name,))
        except Exception:
            drop_pending_errors()
            return None
    fits = all(y.shape == dy.shape and np.isfinite(y).all() for y, dy in zip(outputs, heads))
    return Results(values, outputs, heads, gradients) if fits else None


def _fits_along_a_direction(trial: Trial, known: Results, name: str) -> bool:
    """True if the gradient along a random direction is the numeric one; takes only two calls."""
    eps, atol, rtol = PRECISION[trial.dtype]
    x = known.values[name]
    direction = np.random.RandomState(2).standard_normal(x.shape)
    with surrogates():
        python = trial.in_python(known.values)
        slope = _slope(
            lambda step: python.objective(known.values | {name: x + step}, known.heads),
            direction,
            eps,
        )
    return not _wrong_along(direction, known.gradients[name], slope, atol, rtol)


def _expect_gradient(trial: Trial, known: Results, name: str, where: str, places=None) -> str:
    """Compare a gradient element by element; the error says where it is wrong."""
    try:
        return check_gradient(trial, known, name, places)
    except OtherShape:
        raise
    except Failure as problem:
        raise Failure(
            f"{where}, {problem}\n"
            "an input that is given as an array is compared at its values alone"
        ) from problem


def _updated_states(checker: Checker, name: str) -> str:
    """Return the states that forward updates, if their former values make a gradient right."""
    unprotected, known = checker.unprotected(), checker.reference
    if unprotected is None or not checker.subject.states:
        return ""
    arrays = unprotected.place(known.values)
    before = {n: arrays[n].asnumpy() for n in checker.subject.states}
    outputs = unprotected.call(arrays)
    updated = [n for n, v in before.items() if not np.array_equal(v, arrays[n].asnumpy())]
    for n in updated:
        arrays[n][:] = nd.array(before[n], dtype=arrays[n].dtype)
    found = unprotected.backward(outputs, arrays_like(outputs, known.heads))
    gradients = known.gradients | {name: found[name].asnumpy()}
    try:
        check_gradient(checker.trial, replace(known, gradients=gradients), name)
    except Failure:
        return ""
    return ", ".join(updated)


def _compute(checker: Checker, name: str) -> Values:
    """Return all gradients, or, if this fails, only the gradient of `name`."""
    known = checker.reference
    try:
        return checker.trial.gradients(known.values, known.heads, checker.subject.differentiated)
    except Exception:  # the error may be another input's
        drop_pending_errors()
        return checker.trial.gradients(known.values, known.heads, (name,))


def _expect_finite_outputs(checker: Checker) -> None:
    for name, y in zip(checker.subject.outputs, checker.reference.outputs):
        if wrong := int((~np.isfinite(y)).sum()):
            raise Unchecked(
                f"{wrong} of {y.size} values of {name} are not finite: give inputs inside "
                "its domain"
            )


def check_gradient(
    trial: Trial, known: Results, name: str, places: list[tuple] | None = None
) -> str:
    """Compare a gradient with central differences, and describe the difference.

    `places` are the elements to compare; by default all, or a sample.
    """
    with surrogates() as used:
        try:
            python = trial.in_python(known.values)
            text = _compare_with_differences(python, known, name, used, places)
        except Failure as problem:
            if used and trial.subject.operator is None:  # later operators get other values
                raise Unchecked(f"it is not that{_of(used)}: check that operator") from problem
            raise
    return text + _of(used)


def _compare_with_differences(
    trial: Trial, known: Results, name: str, used: set[str], places: list[tuple] | None
) -> str:
    eps, atol, rtol = PRECISION[trial.dtype]
    x, gradient = known.values[name], known.gradients[name]
    if gradient.shape != x.shape:
        raise Failure(f"it is {gradient.shape}, and {name} is {x.shape}")

    def objective(step: np.ndarray) -> float:
        return trial.objective(known.values | {name: x + step}, known.heads)

    looked_at = _sampled_indices(x) if places is None else places
    slopes = np.array([_slope_at(objective, x, at, eps) for at in looked_at])
    found = np.array([gradient[at] for at in looked_at], dtype="float64")
    distance = np.abs(found - slopes)
    near = atol * max(1.0, np.abs(slopes).max(initial=0))
    allowed = near + rtol * np.abs(slopes)
    if trial.dtype == "float32" and not (distance <= near).all():
        halves = np.array([_slope_at(objective, x, at, eps / 2) for at in looked_at])
        allowed = np.minimum(allowed, near + _inexactness(slopes, halves))
    is_kink = np.zeros(len(looked_at), bool)
    for i in np.flatnonzero(~(distance <= allowed)):
        is_kink[i] = _is_between_slopes(objective, x, looked_at[i], eps, found[i], near)
    if wrong := int((~(distance <= allowed) & ~is_kink).sum()):
        distance[is_kink] = 0
        worst = int(np.nanargmax(np.where(np.isnan(distance), np.inf, distance - allowed)))
        raise Failure(
            f"{format_number(found[worst])} at {format_index(looked_at[worst])}, numeric "
            f"{format_number(slopes[worst])}{_of(used)}; "
            f"{wrong} of {len(looked_at)} elements are wrong{_factor(found, slopes, allowed)}"
        )
    text = f"max difference {format_number(distance[~is_kink].max(initial=0))}"
    if is_kink.any():
        first = looked_at[int(np.argmax(is_kink))]
        text += f"; {KINK} where {name} is {format_number(x[first])}"
    if places is not None or len(looked_at) == x.size:
        return text
    direction = np.random.RandomState(2).standard_normal(x.shape)
    slope = _slope(objective, direction, eps)
    if wrong := _wrong_along(direction, gradient, slope, atol, rtol):
        raise Failure(
            f"{wrong} along a random direction, numeric {format_number(slope)}{_of(used)}; "
            f"the {len(looked_at)} elements tried one by one are right"
        )
    return f"{text}; {len(looked_at)} of {x.size} elements, and a random direction"


def _is_between_slopes(
    objective: Callable, x: np.ndarray, at: tuple, eps: float, found: float, near: float
) -> bool:
    """True if a function has a kink, and its gradient lies between the slopes on both sides."""
    step = np.zeros_like(x)
    step[at] = eps * max(1.0, float(abs(x[at])))
    here = objective(np.zeros_like(x))
    slopes = [(objective(sign * step) - here) / (sign * step[at]) for sign in (1, -1)]
    return bool(min(slopes) - near <= found <= max(slopes) + near)


def _factor(found: np.ndarray, slopes: np.ndarray, allowed: np.ndarray) -> str:
    """Describe the common factor between all gradients and the numeric ones, if there is one."""
    square = float((slopes * slopes).sum())
    factor = float((found * slopes).sum()) / square if square and len(slopes) > 1 else 0.0
    if not factor or not (np.abs(found - factor * slopes) <= allowed).all():
        return ""
    return f"; each is {format_number(factor)} times the numeric one"


def _inexactness(slopes: np.ndarray, halves: np.ndarray) -> float:
    """Return an error bound of central differences, from half the step; infinity if unknown."""
    with np.errstate(invalid="ignore"):
        far = float(np.abs(slopes - halves).max(initial=0))
    return np.inf if np.isnan(far) else 2 * far


def _of(used: set[str]) -> str:
    """Name the surrogates whose numeric gradients were compared, if any, for a message."""
    return f", of {' and '.join(sorted(used))}" if used else ""


def _sampled_indices(x: np.ndarray) -> list[tuple]:
    """Return the elements of an input that are moved one by one."""
    if x.size <= SAMPLE:
        return list(np.ndindex(*x.shape))
    chosen = np.random.RandomState(0).choice(x.size, SAMPLE, replace=False)
    return list(zip(*np.unravel_index(np.sort(chosen), x.shape)))


def _slope(function: Callable, direction: np.ndarray, eps: float) -> float:
    """Return the slope of a function of a step, by central differences."""
    return (function(eps * direction) - function(-eps * direction)) / eps / 2


def _slope_at(function: Callable, x: np.ndarray, at: tuple, eps: float) -> float:
    direction = np.zeros_like(x)
    direction[at] = 1
    return _slope(function, direction, eps * max(1.0, float(abs(x[at]))))


def _wrong_along(direction, gradient, slope: float, atol: float, rtol: float) -> str:
    """Return the slope of a gradient along a direction as text if it is wrong, else ""."""
    parts = gradient.astype("float64") * direction
    found, scale = float(parts.sum()), max(1.0, abs(slope), float(np.abs(parts).sum()))
    return "" if abs(found - slope) <= atol * scale + rtol * abs(slope) else format_number(found)


def head_gradient(checker: Checker) -> str:
    """Check that a loss has the same gradients for each head gradient."""
    known, names = checker.reference, checker.expect_gradients()
    found = checker.trial.gradients(known.values, [3 * dy for dy in known.heads], names)
    for name in names:
        what = f"with another head gradient, that of {name}"
        compare(what, known.gradients[name], found[name], 1e-12)
    if checker.subject.loss is None:
        raise Unchecked("ignored, which is right for a loss only, at the end of a net")
    return "not used: it is a loss"


def second_order(checker: Checker) -> str:
    """Check that second derivatives are right, or refused."""
    names = checker.expect_gradients()
    _expect_finite_outputs(checker)
    random = np.random.RandomState(3)
    factors = {n: random.uniform(0.5, 1.5, checker.values[n].shape) for n in names}
    try:
        found = _differentiated(checker, factors)
    except Exception as error:  # refused: the right thing to do if it cannot be right
        return f"refused: {describe_error(error).splitlines()[0]}"
    try:
        return _check_second(checker, factors, found)
    except Failure:
        if why := without_derivative(checker):
            raise Unchecked(f"the gradients are no derivatives: {why}") from None
        raise


def _differentiated(checker: Checker, factors: Values) -> Values:
    """Return the gradients, by input and head, of the sum of factors times gradients."""
    trial, known = checker.trial, checker.reference
    arrays = trial.place(known.values, dict.fromkeys(factors, "write"))
    heads = [nd.array(dy, ctx=trial.context, dtype=trial.dtype) for dy in known.heads]
    for dy in heads:
        dy.attach_grad()
    trial.seed()
    with autograd.record():
        y = checker.subject.call(arrays)
        # Multiply instead of passing head_grads, which MXNet takes for constants.
        pairs = [(a, dy) for a, dy in zip(y, heads) if np.dtype(a.dtype).kind == "f"]
        scalar = sum((a * dy).sum() for a, dy in pairs)
        variables = [arrays[n] for n in factors]
        first = autograd.grad(scalar, variables, create_graph=True, retain_graph=True)
        weighted = zip(first, factors.values())
        total: Any = sum((g * nd.array(v, dtype=trial.dtype)).sum() for g, v in weighted)
    total.backward()
    found = {n: arrays[n].grad.asnumpy() for n in factors}
    return found | {f"d{n}": dy.grad.asnumpy() for n, dy in zip(checker.subject.outputs, heads)}


def _check_second(checker: Checker, factors: Values, found: Values) -> str:
    """Compare with differences of the gradients, along a random direction in each input."""
    eps, atol, rtol = PRECISION[checker.trial.dtype]
    values, heads = checker.values, checker.reference.heads
    tops = [f"d{n}" for n in checker.subject.outputs]
    random, far = np.random.RandomState(4), 0.0
    for name, second in found.items():

        def total(step: np.ndarray, name=name) -> float:
            moved = values | {name: values[name] + step} if name in values else values
            above = [dy + step if n == name else dy for n, dy in zip(tops, heads)]
            gradients = checker.trial.gradients(moved, above, tuple(factors))
            return sum(
                float((gradients[n].astype("float64") * v).sum()) for n, v in factors.items()
            )

        direction = random.standard_normal(second.shape)
        numeric = _slope(total, direction, eps)
        if wrong := _wrong_along(direction, second, numeric, 10 * atol, rtol):
            what = wrong if second.any() else "0 in silence"
            raise Failure(f"in {name} it is {what}, numeric {format_number(numeric)}")
        far = max(far, abs(float((second.astype("float64") * direction).sum()) - numeric))
    return f"max difference {format_number(far)}"


def finite(checker: Checker) -> str:
    """Check that the gradients are finite where the outputs are."""
    names, gradients = checker.expect_gradients(), checker.reference.gradients
    _expect_finite_outputs(checker)
    for name in names:
        if not np.isfinite(gradients[name]).all():
            raise Failure(f"y is finite, and the gradient of {name} is not")
    seen = ["at these inputs"]
    for where, factor in (("at 0", 0.0), ("at 1000 times the inputs", 1000.0)):
        values = {n: v * factor if n in names else v for n, v in checker.values.items()}
        if _finite_at(checker, values, where):
            seen.append(where)
    return ", ".join(seen)


def _finite_at(checker: Checker, values: Values, where: str) -> bool:
    """Return True if the outputs are finite for these values; fail if a gradient is NaN there."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if not all(np.isfinite(y).all() for y in checker.trial.forward(values)):
                return False
            gradients = checker.trial.gradients(
                values, checker.reference.heads, tuple(checker.reference.gradients)
            )
        except Exception:  # outside its domain
            return False
    for name, gradient in gradients.items():
        if np.isnan(gradient).any():
            raise Failure(f"{where}, the outputs are finite and the gradient of {name} is NaN")
    return True
