"""Random draws as nodes of a graph: they draw anew each time that it is computed."""

from __future__ import annotations

from . import op

__all__ = [
    "exponential",
    "gamma",
    "multinomial",
    "normal",
    "poisson",
    "randint",
    "shuffle",
    "uniform",
]

_internal = op.functions("_")


def _draw(name: str, **given):
    return _internal[f"_random_{name}"](**{k: v for k, v in given.items() if v is not None})


def uniform(low=0, high=1, shape=None, dtype=None, **kwargs):
    """Uniform on [low, high)."""
    return _draw("uniform", low=low, high=high, shape=shape, dtype=dtype, **kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, **kwargs):
    """Normal with mean `loc` and standard deviation `scale`."""
    return _draw("normal", loc=loc, scale=scale, shape=shape, dtype=dtype, **kwargs)


def exponential(scale=1, shape=None, dtype=None, **kwargs):
    """Exponential with mean `scale`."""
    return _draw("exponential", lam=1.0 / scale, shape=shape, dtype=dtype, **kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, **kwargs):
    """Gamma with shape `alpha` and scale `beta`."""
    return _draw("gamma", alpha=alpha, beta=beta, shape=shape, dtype=dtype, **kwargs)


def poisson(lam=1, shape=None, dtype=None, **kwargs):
    """Poisson with mean `lam`."""
    return _draw("poisson", lam=lam, shape=shape, dtype=dtype, **kwargs)


def randint(low, high, shape=None, dtype=None, **kwargs):
    """Integers, uniform on [low, high)."""
    return _draw("randint", low=low, high=high, shape=shape, dtype=dtype, **kwargs)


def multinomial(data, **kwargs):
    """Draws from the distributions in the rows of `data`."""
    return _internal["_sample_multinomial"](data, **kwargs)


def shuffle(data, **kwargs):
    """The rows in random order."""
    return _internal["_shuffle"](data, **kwargs)
