"""The functions of ``mx.np.random`` and ``mx.npx.random``: a parameter is a number or an array."""

from __future__ import annotations

import numbers

import numpy as np

from . import arithmetic
from .front import front

random = front("numpy.random")
extension = front("numpy_extension.random")


def _size(size):
    return size if size is None or hasattr(size, "__len__") else (size,)


def _draw(F, name, parameters, size, dtype=None, ctx=None, out=None):
    """Call the operator `_npi_<name>`, with the parameters that are no numbers as inputs."""
    given, arrays = {}, []
    for key, value in parameters.items():
        is_number = isinstance(value, arithmetic.NUMBERS)
        given[key] = value if is_number else None
        arrays += [] if is_number else [F.as_operand(name, value, None)]
    options = {} if dtype is None else {"dtype": dtype}
    if out is not None and size is None:
        size = out.shape
    context = F.context(ctx)
    return getattr(F, f"_npi_{name}")(
        *arrays, **given, size=_size(size), ctx=context, out=out, **options
    )


@random
def uniform(F, low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None):
    """Draw numbers uniformly from [low, high)."""
    return _draw(F, "uniform", {"low": low, "high": high}, size, dtype, ctx, out)


@random
def normal(F, loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Draw from the normal distribution with mean `loc` and deviation `scale`."""
    return _draw(F, "normal", {"loc": loc, "scale": scale}, size, dtype, ctx, out)


@random
def lognormal(F, mean=0.0, sigma=1.0, size=None, dtype=None, ctx=None, out=None):
    """Draw numbers whose logarithms are normal."""
    return F.exp(F.modules["numpy.random"]["normal"](mean, sigma, size, dtype, ctx), out=out)


@random
def logistic(F, loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Draw from the logistic distribution."""
    return _draw(F, "logistic", {"loc": loc, "scale": scale}, size, None, ctx, out)


@random
def gumbel(F, loc=0.0, scale=1.0, size=None, ctx=None, out=None):
    """Draw from the Gumbel distribution."""
    return _draw(F, "gumbel", {"loc": loc, "scale": scale}, size, None, ctx, out)


@random
def gamma(F, shape, scale=1.0, size=None, dtype=None, ctx=None, out=None):
    """Draw from the gamma distribution, of mean `shape` times `scale`."""
    return _draw(F, "gamma", {"shape": shape, "scale": scale}, size, dtype, ctx, out)


@random
def exponential(F, scale=1.0, size=None, ctx=None, out=None):
    """Draw from the exponential distribution of mean `scale`."""
    return _draw(F, "exponential", {"scale": scale}, size, None, ctx, out)


@random
def rayleigh(F, scale=1.0, size=None, ctx=None, out=None):
    """Draw from the Rayleigh distribution of mode `scale`."""
    return _draw(F, "rayleigh", {"scale": scale}, size, None, ctx, out)


@random
def weibull(F, a, size=None, ctx=None, out=None):
    """Draw from the Weibull distribution of shape `a`."""
    return _draw(F, "weibull", {"a": a}, size, None, ctx, out)


@random
def pareto(F, a, size=None, ctx=None, out=None):
    """Draw from the Pareto II distribution of shape `a`."""
    return _draw(F, "pareto", {"a": a}, size, None, ctx, out)


@random
def power(F, a, size=None, ctx=None, out=None):
    """Draw numbers in [0, 1] with density a yᵃ⁻¹."""
    return _draw(F, "powerd", {"a": a}, size, None, ctx, out)


@random
def chisquare(F, df, size=None, dtype=None, ctx=None):
    """Draw from the chi-square distribution with `df` degrees of freedom."""
    draw = F.modules["numpy.random"]["gamma"]
    return draw(df / 2, 2.0, size, dtype, ctx)


@random
def beta(F, a, b, size=None, dtype=None, ctx=None):
    """Draw from the beta distribution."""
    draw = F.modules["numpy.random"]["gamma"]
    if size is None and not all(isinstance(n, arithmetic.NUMBERS) for n in (a, b)):
        a, b = F.add(a, F.multiply(b, 0)), F.add(b, F.multiply(a, 0))
    x, y = draw(a, 1.0, size, "float64", ctx), draw(b, 1.0, size, "float64", ctx)
    return (x / (x + y)).astype(dtype or "float32")


@random
def rand(F, *size, **kwargs):
    """Draw numbers uniformly from [0, 1), with the shape as the arguments."""
    return F.modules["numpy.random"]["uniform"](0, 1, size=size, **kwargs)


@random
def randn(F, *size, **kwargs):
    """Draw from the standard normal distribution, with the shape as the arguments."""
    return F.modules["numpy.random"]["normal"](0, 1, size=size, **kwargs)


@random
def randint(F, low, high=None, size=None, dtype=None, ctx=None, out=None):
    """Draw integers from low to high - 1; from 0 to low - 1 without high."""
    low, high = (0, low) if high is None else (low, high)
    shape = () if size is None else _size(size)
    kind = {"int": "int64", int: "int64"}.get(dtype, dtype) or "int64"
    options = {"low": low, "high": high, "shape": shape, "dtype": kind}
    return F._npi_random_randint(**options, ctx=F.context(ctx), out=out)


@random
def multinomial(F, n, pvals, size=None):
    """Draw how often each outcome comes in n draws."""
    if isinstance(pvals, np.ndarray):
        raise ValueError(
            "multinomial: pvals is a numpy.ndarray\n  expected a sequence, or an array of mx.np"
        )
    if isinstance(pvals, F.operand):
        return F._npi_multinomial(pvals, n=n, size=_size(size))
    values = [float(p) for p in pvals]
    if sum(values[:-1]) > 1 + 1e-12:
        raise ValueError(f"multinomial: the sum of pvals is {sum(values)}\n  expected 1")
    return F._npi_multinomial(n=n, pvals=tuple(values), size=_size(size))


@random
def multivariate_normal(F, mean, cov, size=None, check_valid=None, tol=None):
    """Draw from a normal distribution with a mean and a matrix of covariance."""
    for name, value in (("check_valid", check_valid), ("tol", tol)):
        if value is not None:
            raise NotImplementedError(f"multivariate_normal: {name} is {value!r}\n  expected None")
    return F._npi_multivariate_normal(mean, cov, size=_size(size))


@random
def choice(F, a, size=None, replace=True, p=None, ctx=None, out=None):
    """Draw elements of an array, or integers below `a`."""
    arrays = [] if isinstance(a, numbers.Integral) else [F.as_operand("choice", a, None)]
    if p is not None:
        arrays.append(F.as_operand("choice", p, None))
    options = {"a": None if len(arrays) > (p is not None) else a, "size": _size(size) or ()}
    options |= {"replace": replace, "weighted": p is not None}
    return F._npi_choice(*arrays, **options, ctx=F.context(ctx), out=out)


@random
def shuffle(F, x):
    """Bring the rows of an array in random order, in place."""
    F._npi_shuffle(x, out=x)


@extension
def bernoulli(F, prob=None, logit=None, size=None, dtype=None, ctx=None, out=None):
    """Draw 1 with a probability, or with that of a logit, else 0."""
    if (prob is None) is (logit is None):
        raise ValueError("bernoulli: prob and logit are given, or none\n  expected one of them")
    is_logit = prob is None
    value = logit if is_logit else prob
    options = {"prob": None, "logit": None, "is_logit": is_logit, "size": _size(size)}
    options |= {"dtype": dtype or "float32", "ctx": F.context(ctx), "out": out}
    if isinstance(value, arithmetic.NUMBERS):
        options["logit" if is_logit else "prob"] = value
        return F._npi_bernoulli(**options)
    return F._npi_bernoulli(value, **options)


@extension
def uniform_n(F, low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None):
    """Draw numbers uniformly, of `batch_shape` in front of the shape of the parameters."""
    return _draw(F, "uniform_n", {"low": low, "high": high}, batch_shape, dtype, ctx)


@extension
def normal_n(F, loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None):
    """Draw from the normal distribution, of `batch_shape` in front of the parameters' shape."""
    return _draw(F, "normal_n", {"loc": loc, "scale": scale}, batch_shape, dtype, ctx)
