"""Functions of `nd.contrib` that are put together from operators of the table."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from ..base import ArgumentError
from ..context import Context
from . import op
from ._create import array
from .ndarray import NDArray

__all__ = [
    "adamw_update",
    "isfinite",
    "isinf",
    "isnan",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
    "rand_zipfian",
]

_random, _internal = op.functions()["random_uniform"], op.functions("_")


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, else 0, in the dtype of data."""
    return _told(torch.isinf, data)


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor NaN, else 0, in the dtype of data."""
    return _told(torch.isfinite, data)


def isnan(data: NDArray) -> NDArray:
    """1 where an element is NaN, else 0, in the dtype of data."""
    return _told(torch.isnan, data)


def _told(function, data: NDArray) -> NDArray:
    tensor = data._tensor.detach()
    return NDArray(function(tensor).to(tensor.dtype), data.context)


def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn by Zipf's law, P(c) = log((c + 2) / (c + 1)) / log(range_max + 1).

    Parameters
    ----------
    true_classes : NDArray
        (n,)
    num_sampled : int
        How many are drawn.
    range_max : int
        The number of classes.
    ctx : Context, optional
        Where they are drawn; by default where `true_classes` are.

    Returns
    -------
    samples, true_counts, sampled_counts
        The classes that were drawn, int64; how often each of `true_classes`, and each of those
        drawn, is to be expected among them, float64.
    """
    scale = math.log(range_max + 1)
    drawn = _random(
        0, scale, shape=(num_sampled,), dtype="float64", ctx=ctx or true_classes.context
    )
    sampled = (drawn.exp().astype("int64") - 1) % range_max
    true, found = (
        ((c + 2) / (c + 1)).log() / scale * num_sampled
        for c in (true_classes.astype("float64"), sampled.astype("float64"))
    )
    return sampled, true, found


def _scale(rescale_grad: NDArray | float, like: NDArray) -> NDArray:
    """A number as an array beside another."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(like.context)
    return array([rescale_grad], like.context)


def adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs,
) -> NDArray:
    """Adam with the decay apart, w - eta (lr m / (√v + epsilon) + wd w).

    Nothing changes where `rescale_grad`, a number or an array of one, is 0, infinite or NaN.
    """
    settings = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd}
    settings |= {"clip_gradient": clip_gradient, "out": out, "name": name} | kwargs
    arrays = weight, grad, mean, var, _scale(rescale_grad, weight)
    return _internal["_adamw_update"](*arrays, **settings)


def mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs,
) -> NDArray:
    """`adamw_update` of `weight32`, a weight of 16 bits in float32."""
    settings = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "wd": wd}
    settings |= {"clip_gradient": clip_gradient, "out": out, "name": name} | kwargs
    arrays = weight, grad, mean, var, weight32, _scale(rescale_grad, weight)
    return _internal["_mp_adamw_update"](*arrays, **settings)


def _flat(name: str, *lists: Sequence[NDArray]) -> list[NDArray]:
    """All arrays of the first weight, then all of the second, and so on.

    lists : weights, grads, mean, var and maybe weights32
    """
    counts = [len(arrays) for arrays in lists]
    if len({*counts}) > 1 or not counts[0]:
        names = ("weights", "grads", "mean", "var", "weights32")
        shown = ", ".join(f"{n} {count}" for n, count in zip(names, counts))
        raise ArgumentError(
            f"{name}: the numbers of arrays are {shown}\n"
            "  expected one or more weights, and as many of each of the others"
        )
    return [array for group in zip(*lists) for array in group]


def _multi_adamw(lists: Sequence, rescale_grad, number: int, **settings) -> list[NDArray]:
    """`adamw_update` of many weights, given a list for each of its arrays."""
    name = "_multi_mp_adamw_update" if len(lists) == 5 else "_multi_adamw_update"
    arrays = [*_flat(name, *lists), _scale(rescale_grad, lists[0][0])]
    return _internal[name](*arrays, num_weights=number or len(lists[0]), **settings)


def multi_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: Sequence[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs,
) -> list[NDArray]:
    """`adamw_update` of many weights, with a rate, a decay and an eta for each.

    Raises
    ------
    ArgumentError
        There are no weights, or not as many of the other arrays.
    """
    lists = weights, grads, mean, var
    settings = {"lrs": lrs, "wds": wds, "etas": etas, "out": out, "name": name} | kwargs
    return _multi_adamw(lists, rescale_grad, size, **settings)


def multi_mp_adamw_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: Sequence[NDArray] | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs,
) -> list[NDArray]:
    """`mp_adamw_update` of many weights, with a rate, a decay and an eta for each.

    Raises
    ------
    ArgumentError
        There are no weights, or not as many of the other arrays.
    """
    lists = weights, grads, mean, var, weights32
    settings = {"lrs": lrs, "wds": wds, "etas": etas, "out": out, "name": name} | kwargs
    return _multi_adamw(lists, rescale_grad, size, **settings)


def _multi_lamb(lists: Sequence, number: int, **settings) -> list[NDArray]:
    """A step of LAMB for many weights, given a list for each array of its states."""
    name = "_multi_mp_lamb_update" if len(lists) == 5 else "_multi_lamb_update"
    return _internal[name](*_flat(name, *lists), num_tensors=number or len(lists[0]), **settings)


def multi_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: Sequence[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs,
) -> list[NDArray]:
    """A step of LAMB for many weights, with a count of steps, a rate and a decay for each.

    Raises
    ------
    ArgumentError
        There are no weights, or not as many of the other arrays.
    """
    settings = {"step_count": step_count, "learning_rates": lrs, "wds": wds, "out": out} | kwargs
    return _multi_lamb((weights, grads, mean, var), num_tensors, **settings)


def multi_mp_lamb_update(
    weights: Sequence[NDArray],
    grads: Sequence[NDArray],
    mean: Sequence[NDArray],
    var: Sequence[NDArray],
    weights32: Sequence[NDArray],
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: Sequence[NDArray] | None = None,
    num_tensors: int = 0,
    **kwargs,
) -> list[NDArray]:
    """`multi_lamb_update` of `weights32`, weights of 16 bits in float32.

    Raises
    ------
    ArgumentError
        There are no weights, or not as many of the other arrays.
    """
    settings = {"step_count": step_count, "learning_rates": lrs, "wds": wds, "out": out} | kwargs
    return _multi_lamb((weights, grads, mean, var, weights32), num_tensors, **settings)
