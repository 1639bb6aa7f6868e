"""Random draws. The parameters are numbers, or arrays: then `shape` values for each element.

By default one number is drawn, of shape (1,) and float32, on the current context; with `out`, one
for each of its elements, in its dtype.
"""

from __future__ import annotations

from typing import Any

from ..base import ArgumentError
from ..context import Context, current_context
from . import op
from .ndarray import NDArray

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]

_internal = op.functions("_")
globals().update(op.functions("_random_"))  # uniform_like and the others


def _draw(name: str, parameters: dict, shape, dtype, ctx, out, kwargs: dict) -> Any:
    arrays = [isinstance(value, NDArray) for value in parameters.values()]
    if any(arrays) and not all(arrays):
        types = ", ".join(f"{k} is {type(v).__name__}" for k, v in parameters.items())
        raise ArgumentError(f"random.{name}: {types}\n  expected all numbers, or all NDArrays")
    options = {"shape": shape, "dtype": dtype, "out": out}
    if out is not None and not any(arrays):
        options["shape"], options["dtype"] = shape or out.shape, dtype or out.dtype
    options = {k: v for k, v in options.items() if v is not None} | kwargs
    if any(arrays):
        return _internal[f"_sample_{name}"](*parameters.values(), **options)
    context = out.context if out is not None else ctx or current_context()
    return _internal[f"_random_{name}"](**parameters, ctx=str(context), **options)


def uniform(low=0, high=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **kwargs):
    """Uniform on [low, high).

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are NDArrays.
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **kwargs):
    """Normal with mean `loc` and standard deviation `scale`.

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are NDArrays.
    """
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out, kwargs)


def randn(*shape, loc=0, scale=1, dtype=None, ctx: Context | None = None, out=None, **kwargs):
    """Normal, with the shape as the arguments: ``randn(2, 3)``."""
    return normal(loc, scale, shape or None, dtype, ctx, out, **kwargs)


def exponential(scale=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **kwargs):
    """Exponential with mean `scale`."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, ctx, out, kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **kwargs):
    """Gamma with shape `alpha` and scale `beta`: mean alpha beta.

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are NDArrays.
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out, kwargs)


def poisson(lam=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **kwargs):
    """Poisson with mean `lam`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out, kwargs)


def negative_binomial(
    k=1, p=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **kwargs
):
    """Failures before the `k`-th success, each with probability `p`: mean k (1 - p) / p.

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are NDArrays.
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, ctx, out, kwargs)


def generalized_negative_binomial(
    mu=1, alpha=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **kwargs
):
    """Counts with mean `mu` and variance mu + alpha mu².

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are NDArrays.
    """
    parameters = {"mu": mu, "alpha": alpha}
    return _draw("generalized_negative_binomial", parameters, shape, dtype, ctx, out, kwargs)


def randint(low, high, shape=None, dtype=None, ctx: Context | None = None, out=None, **kwargs):
    """Integers, uniform on [low, high); int32 by default.

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are NDArrays.
    """
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out, kwargs)


def multinomial(data: NDArray, shape=None, get_prob=False, out=None, dtype="int32", **kwargs):
    """Draws from the distributions in the rows of `data`; `get_prob` adds their log probability."""
    kwargs |= {} if shape is None else {"shape": shape}
    return _internal["_sample_multinomial"](data, get_prob=get_prob, dtype=dtype, out=out, **kwargs)


def shuffle(data: NDArray, **kwargs) -> NDArray:
    """A copy with the rows in random order."""
    return _internal["_shuffle"](data, **kwargs)
