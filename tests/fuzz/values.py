"""Random values: shapes, arrays, numbers, and the text that may stand for an attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from .program import Expression, array, literal

Draw = Callable[[st.SearchStrategy], Any]
Shape = tuple[int, ...]

FLOATS = ("float32",) * 6 + ("float64",) * 2 + ("float16",)
INTEGERS = ("int32", "int64", "uint8", "int8")
DTYPES = FLOATS * 3 + INTEGERS + ("int32", "bool")
SIZES = (2, 3, 1, 4, 5, 7)
NUMBERS = (1, 2, 0.5, 0, -1, 3, -0.25, 1.7, 100, 1e-3)


def one(draw: Draw, *choices: Any) -> Any:
    """One of the choices; the first is the simplest."""
    return draw(st.sampled_from(choices))


def rarely(draw: Draw, times: int = 20) -> bool:
    """True once in so many times."""
    # Hypothesis prefers the ends of a range, so it is a number between them.
    return draw(st.integers(0, times - 1)) == times // 2


def shape(draw: Draw, least: int = 1, most: int = 4) -> Shape:
    """A shape of so many axes; rarely one of them is empty."""
    axes = draw(st.integers(least, most))
    sizes = [one(draw, *SIZES) for _ in range(axes)]
    if axes and rarely(draw, 60):
        sizes[draw(st.integers(0, axes - 1))] = 0
    return tuple(sizes)


def broadcastable(draw: Draw, to: Shape) -> Shape:
    """A shape that broadcasts with another of as many axes."""
    return tuple(one(draw, s, s, 1, *((3,) if s == 1 else ())) for s in to)


def _special(random, shape):
    rare = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e4, 0.5]
    return random.choice(rare, shape)


DRAWN: dict[str, Callable[[np.random.RandomState, Shape], np.ndarray]] = {
    "normal": lambda random, shape: random.standard_normal(shape).round(2),
    "ties": lambda random, shape: random.randint(-2, 3, shape),
    "positive": lambda random, shape: random.uniform(0.1, 3, shape).round(2),
    "unit": lambda random, shape: random.uniform(0, 1, shape).round(3),
    "indices": lambda random, shape: random.randint(0, 3, shape),
    "beyond": lambda random, shape: random.randint(-3, 8, shape),
    "counts": lambda random, shape: random.randint(1, 3, shape),
    "special": _special,
    "fractions": lambda random, shape: random.uniform(-1, 4, shape).round(1),
    "definite": lambda random, shape: _definite(random, shape),
}


def _definite(random, shape):
    a = random.uniform(-1, 1, shape).round(1)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return a
    return np.matmul(a, np.swapaxes(a, -1, -2)) + 2 * np.eye(shape[-1])


def values(draw: Draw, shape: Shape, dtype: str = "float32", kind: str | None = None) -> np.ndarray:
    """An array of a kind that `DRAWN` names."""
    if kind is None:
        kind = one(draw, "ties", "normal", "normal", "normal", "unit", "positive", "special")
    random = np.random.RandomState(draw(st.integers(0, 20)))
    drawn = np.asarray(DRAWN[kind](random, shape))
    if not dtype.startswith("float"):
        if kind in ("normal", "unit", "special", "fractions"):
            drawn = random.randint(-5, 6, shape)
        drawn = abs(drawn) if dtype in ("uint8", "bool") else drawn
    return drawn.astype(dtype)


def tensor(
    draw: Draw, shape: Shape, dtype: str | None = None, kind: str | None = None
) -> Expression:
    """An NDArray."""
    return array(values(draw, shape, dtype or one(draw, *DTYPES), kind))


def _as_numpys(draw: Draw, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_as_numpys(draw, part) for part in value)
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        return one(draw, np.int64, np.int32)(value)
    return one(draw, np.float64, np.float32)(value) if isinstance(value, float) else value


def spelled(draw: Draw, value: Any) -> Expression:
    """An attribute's value: as it is, rarely as text, as NumPy's, as 1 for True, as a list."""
    if rarely(draw, 12) and not isinstance(value, str):
        return str(value)
    if rarely(draw, 12):
        return literal(_as_numpys(draw, value))
    if isinstance(value, bool):
        return int(value) if rarely(draw, 12) else value
    if isinstance(value, tuple) and rarely(draw, 12):
        return literal(list(value))
    return literal(value)
