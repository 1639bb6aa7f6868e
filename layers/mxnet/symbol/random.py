"""Random draws as nodes of a graph, which draw anew each time that it is computed.

The parameters are numbers, or Symbols: then `shape` values are drawn for each of their elements.
"""

from __future__ import annotations

from ..base import ArgumentError
from . import op
from .symbol import Symbol

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


def _draw(name: str, parameters: dict, shape, dtype, kwargs: dict) -> Symbol:
    symbols = [isinstance(value, Symbol) for value in parameters.values()]
    if any(symbols) and not all(symbols):
        types = ", ".join(f"{k} is {type(v).__name__}" for k, v in parameters.items())
        raise ArgumentError(f"random.{name}: {types}\n  expected all numbers, or all Symbols")
    kwargs |= {k: v for k, v in (("shape", shape), ("dtype", dtype)) if v is not None}
    if any(symbols):
        return _internal[f"_sample_{name}"](*parameters.values(), **kwargs)
    return _internal[f"_random_{name}"](**parameters, **kwargs)


def uniform(low=0, high=1, shape=None, dtype=None, **kwargs):
    """Uniform on [low, high).

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are Symbols.
    """
    return _draw("uniform", {"low": low, "high": high}, shape, dtype, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, **kwargs):
    """Normal with mean `loc` and standard deviation `scale`.

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are Symbols.
    """
    return _draw("normal", {"loc": loc, "scale": scale}, shape, dtype, kwargs)


def randn(*shape, loc=0, scale=1, dtype=None, **kwargs):
    """Normal, with the shape as the arguments: ``randn(2, 3)``."""
    return normal(loc, scale, shape or None, dtype, **kwargs)


def exponential(scale=1, shape=None, dtype=None, **kwargs):
    """Exponential with mean `scale`."""
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, **kwargs):
    """Gamma with shape `alpha` and scale `beta`: mean alpha beta.

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are Symbols.
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def poisson(lam=1, shape=None, dtype=None, **kwargs):
    """Poisson with mean `lam`."""
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def negative_binomial(k=1, p=1, shape=None, dtype=None, **kwargs):
    """Failures before the `k`-th success, each with probability `p`: mean k (1 - p) / p.

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are Symbols.
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, **kwargs):
    """Counts with mean `mu` and variance mu + alpha mu².

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are Symbols.
    """
    parameters = {"mu": mu, "alpha": alpha}
    return _draw("generalized_negative_binomial", parameters, shape, dtype, kwargs)


def randint(low, high, shape=None, dtype=None, **kwargs):
    """Integers, uniform on [low, high); int32 by default.

    Raises
    ------
    ArgumentError
        Some of the parameters are numbers, and others are Symbols.
    """
    return _draw("randint", {"low": low, "high": high}, shape, dtype, kwargs)


def multinomial(data, shape=None, get_prob=True, dtype="int32", **kwargs):
    """Draws from the distributions in the rows of `data`, and their log probability.

    The second output is there by default, as in MXNet, whose `nd.random.multinomial` has it only
    on request.
    """
    kwargs |= {} if shape is None else {"shape": shape}
    return _internal["_sample_multinomial"](data, get_prob=get_prob, dtype=dtype, **kwargs)


def shuffle(data, **kwargs):
    """The rows in random order."""
    return _internal["_shuffle"](data, **kwargs)
