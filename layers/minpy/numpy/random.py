"""Some of `numpy.random`'s functions, which return NDArrays; MinPy's `minpy.numpy.random`.

They use the engine's random generator; `seed` seeds it. Numbers are float32 or int64. Without a
`size`, the result is one number in an array of shape (1,).
"""

from __future__ import annotations

import numpy as np

from ...engine import mx, nd

__all__ = [
    "choice",
    "normal",
    "permutation",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "seed",
    "shuffle",
    "uniform",
]


def seed(seed: int) -> None:
    """Seed the engine's random generator."""
    mx.random.seed(seed)


def _shape(size) -> tuple[int, ...]:
    if size is None:
        return (1,)
    return (size,) if isinstance(size, (int, np.integer)) else tuple(size)


def rand(*sizes: int):
    """Return random numbers from 0 to below 1, in an array of these sizes."""
    return uniform(size=sizes or None)


def randn(*sizes: int):
    """Return normally distributed numbers, mean 0 and deviation 1, in an array of these sizes."""
    return normal(size=sizes or None)


def random_sample(size=None):
    """Return random numbers from 0 to below 1."""
    return uniform(size=size)


random = random_sample


def uniform(low=0.0, high=1.0, size=None):
    """Return random numbers from `low` to below `high`."""
    return nd.random.uniform(low, high, shape=_shape(size))


def normal(loc=0.0, scale=1.0, size=None):
    """Return normally distributed numbers with mean `loc` and deviation `scale`."""
    return nd.random.normal(loc, scale, shape=_shape(size))


def randint(low, high=None, size=None):
    """Return random integers from `low` to below `high`, or from 0 to below a single bound."""
    low, high = (0, low) if high is None else (low, high)
    return nd.random.randint(low, high, shape=_shape(size), dtype="int64")


def permutation(x):
    """Return the numbers below x, or a copy of an array, in random order along the first axis."""
    if isinstance(x, (int, np.integer)):
        x = nd.array(np.arange(x), dtype="int64")
    order = nd.argsort(nd.random.uniform(shape=(x.shape[0],)), dtype="int64")
    return nd.take(x, order)


def shuffle(x) -> None:
    """Shuffle an array in place along its first axis."""
    x[:] = permutation(x)


def choice(a, size=None, replace=True):
    """Return random elements of an array of one axis, or of the numbers below `a`.

    Without `replace`, no element is chosen twice.

    Raises
    ------
    ValueError
        Without `replace`, more elements are requested than there are.
    """
    x = nd.array(np.arange(a), dtype="int64") if isinstance(a, (int, np.integer)) else a
    shape = _shape(size)
    count = int(np.prod(shape))
    if replace:
        return nd.take(x, randint(x.shape[0], size=shape))
    if count > x.shape[0]:
        raise ValueError(f"choice: {count} of {x.shape[0]} elements\n  expected replace=True")
    return permutation(x)[:count].reshape(shape)
