"""Random draws. Parameters may be numbers, or arrays: then `shape` is drawn for each element."""

from __future__ import annotations

from ..base import ArgumentError
from ..context import Context, current_context
from . import op
from .ndarray import NDArray

__all__ = [
    "exponential",
    "gamma",
    "multinomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]

_internal = op.functions("_")
globals().update(op.functions("_random_"))  # uniform_like and the others


def _draw(name: str, parameters: dict, shape, dtype, ctx, out) -> NDArray:
    given = {k: v for k, v in {"shape": shape, "dtype": dtype, "out": out}.items() if v is not None}
    arrays = [isinstance(value, NDArray) for value in parameters.values()]
    if all(arrays):
        return _internal[f"_sample_{name}"](*parameters.values(), **given)
    if any(arrays):
        kinds = ", ".join(f"{k} {type(v).__name__}" for k, v in parameters.items())
        raise ArgumentError(f"random.{name}: {kinds}\n  expected all numbers, or all NDArrays")
    context = out.context if out is not None else ctx or current_context()
    return _internal[f"_random_{name}"](**parameters, ctx=str(context), **given)


def uniform(low=0, high=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **_):
    """Uniform on [low, high); float32 and shape (1,) by default."""
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, ctx, out)


def normal(loc=0, scale=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **_):
    """Normal with mean `loc` and standard deviation `scale`."""
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, ctx, out)


def randn(*shape, loc=0, scale=1, dtype=None, ctx: Context | None = None, out=None):
    """Normal, with the shape as the arguments: ``randn(2, 3)``."""
    return normal(loc, scale, shape or None, dtype, ctx, out)


def exponential(scale=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **_):
    """Exponential with mean `scale`."""
    rate = 1.0 / scale
    return _draw("exponential", {"lam": rate}, shape, dtype, ctx, out)


def gamma(alpha=1, beta=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **_):
    """Gamma with shape `alpha` and scale `beta`."""
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, ctx, out)


def poisson(lam=1, shape=None, dtype=None, ctx: Context | None = None, out=None, **_):
    """Poisson with mean `lam`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, ctx, out)


def randint(low, high, shape=None, dtype=None, ctx: Context | None = None, out=None, **_):
    """Integers, uniform on [low, high); int32 by default."""
    return _draw("randint", {"low": low, "high": high}, shape, dtype, ctx, out)


def multinomial(data: NDArray, shape=None, get_prob=False, out=None, dtype="int32", **_):
    """Draws from the distributions in the rows of `data`; with their log probability on request."""
    given = {} if shape is None else {"shape": shape}
    return _internal["_sample_multinomial"](
        data, get_prob=get_prob, dtype=dtype, out=out, **given
    )


def shuffle(data: NDArray, **kwargs) -> NDArray:
    """A copy with the rows in random order."""
    return _internal["_shuffle"](data, **kwargs)
