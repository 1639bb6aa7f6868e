"""Functions of `sym.contrib` that are put together from operators of the table."""

from __future__ import annotations

import math

from . import op
from .symbol import Symbol

__all__ = ["adamw_update", "mp_adamw_update", "rand_zipfian"]

_random, _cast = op.functions()["random_uniform"], op.functions()["cast"]
_internal = op.functions("_")
_log, _exp = op.functions()["log"], op.functions()["exp"]


def rand_zipfian(
    true_classes: Symbol, num_sampled: int, range_max: int
) -> tuple[Symbol, Symbol, Symbol]:
    """Classes drawn by Zipf's law, and how often classes are to be expected among them.

    The same as `nd.contrib.rand_zipfian`.
    """
    scale = math.log(range_max + 1)
    drawn = _exp(_random(0, scale, shape=(num_sampled,), dtype="float64"))
    sampled = (_cast(drawn, dtype="int64") - 1) % range_max
    true, found = (
        _log((c + 2) / (c + 1)) / scale * num_sampled
        for c in (_cast(true_classes, dtype="float64"), _cast(sampled, dtype="float64"))
    )
    return sampled, true, found


def adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: None = None,
    name: str | None = None,
    **kwargs,
) -> Symbol:
    """Adam with the decay apart; see `nd.contrib.adamw_update`."""
    settings = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd}
    settings |= {"clip_gradient": clip_gradient, "name": name} | kwargs
    return _internal["_adamw_update"](weight, grad, mean, var, _scale(rescale_grad), **settings)


def mp_adamw_update(
    weight: Symbol,
    grad: Symbol,
    mean: Symbol,
    var: Symbol,
    weight32: Symbol,
    rescale_grad: Symbol | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: None = None,
    name: str | None = None,
    **kwargs,
) -> Symbol:
    """`adamw_update` of `weight32`, a weight of 16 bits in float32."""
    arrays = weight, grad, mean, var, weight32, _scale(rescale_grad)
    settings = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd}
    settings |= {"clip_gradient": clip_gradient, "name": name} | kwargs
    return _internal["_mp_adamw_update"](*arrays, **settings)


def _scale(rescale_grad: Symbol | float) -> Symbol:
    if isinstance(rescale_grad, Symbol):
        return rescale_grad
    return _internal["_full"](shape=(1,), value=rescale_grad)
