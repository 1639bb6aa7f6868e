"""NumPy's functions over axes. `axis` is one, several, () for none, or None for all of them."""

from __future__ import annotations

from typing import Literal

import torch

from ..base import ArgumentError
from .attributes import Axis, DType
from .reduce import _axes
from .registry import Tensor, family, op, zeros


def _over(name, a, axis, keepdims, function):
    """Return function(a, axes, keepdims), for no axes with each element alone."""
    if axis is not None and not axis:
        return function(a.unsqueeze(-1), (-1,), False)
    axes = _axes(name, a, axis)
    return function(a, axes, keepdims) if axes else function(a.reshape(1), (0,), False)


def _sum_type(a, dtype):
    return dtype or (torch.int64 if a is torch.bool else a)


def _float_type(a, dtype):
    return dtype or (a if a.is_floating_point else torch.float32)


def total(name, function, doc, start, *aliases):
    """Register y = function(a, axes, keepdims), in a dtype that may be given."""

    def template(function):
        def row(
            a: Tensor,
            axis: Axis = None,
            dtype: DType | None = None,
            keepdims: bool = False,
            initial: float | None = None,
            out=None,
        ) -> Tensor:
            a = a.to(_sum_type(a.dtype, dtype))
            y = _over(name, a, axis, keepdims, function)
            return y if initial is None else start(y, initial)

        return row

    row = family(template, function, f"_np_{name}", doc, *aliases)
    row.types(_sum_type)


def _prod(a, axes, keepdims):
    for axis in reversed(axes):
        a = torch.prod(a, axis, keepdims, dtype=a.dtype)
    return a


def _sum(a, axes, keepdims):
    return torch.sum(a, axes, keepdims, dtype=a.dtype)


total("sum", _sum, "The sum over axes, plus `initial`.", torch.add)
total("prod", _prod, "The product over axes, times `initial`.", torch.mul, "_np_product")


@op
def _npi_mean(
    a: Tensor,
    axis: Axis = None,
    dtype: DType | None = None,
    out=None,
    keepdims: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The mean over axes; of integers in float32."""
    kind = _float_type(a.dtype, dtype)
    exact = torch.promote_types(_float_type(a.dtype, None), torch.float32)
    exact = torch.promote_types(exact, kind)  # of integers, too, it is a dtype of floats
    return _over("mean", a.to(exact), axis, keepdims, torch.mean).to(kind)


_npi_mean.types(_float_type)


def spread(name, function, doc):
    """Register y = function(a, axes, ddof, keepdims)."""

    def template(function):
        def row(
            a: Tensor,
            axis: Axis = None,
            dtype: DType | None = None,
            out=None,
            ddof: int = 0,
            keepdims: bool = False,
        ) -> Tensor:
            kind = _float_type(a.dtype, dtype)
            exact = torch.float64 if torch.float64 in (a.dtype, kind) else torch.float32

            def compute(x, axes, keep):
                return function(x, axes, correction=ddof, keepdim=keep)

            return _over(name, a.to(exact), axis, keepdims, compute).to(kind)

        return row

    family(template, function, f"_npi_{name}", doc).types(_float_type)


spread("var", torch.var, "The variance over axes, Σ(a - mean)² / (n - ddof).")
spread("std", torch.std, "The standard deviation over axes, the square root of the variance.")


def extreme(name, function, doc, *aliases):
    """Register y = function(a, axes, keepdims); each of the equal ones has the whole gradient."""

    def template(function):
        def row(
            a: Tensor,
            axis: Axis = None,
            keepdims: bool = False,
            initial: float | None = None,
            out=None,
        ) -> Tensor:
            return _over(name, a, axis, keepdims, function)

        return row

    row = family(template, function, f"_np_{name}", doc, *aliases)

    @row.grad
    def _(dy, y, a, axis):
        shape = list(a.shape)
        for i in () if axis == () else _axes(name, a, axis):
            shape[i] = 1
        return dy.reshape(shape) * (a == y.reshape(shape))


extreme("max", torch.amax, "The largest value over axes.", "_np_amax")
extreme("min", torch.amin, "The smallest value over axes.", "_np_amin")


def truth(name, function, doc, *aliases):
    """Register y = function(a != 0, axes, keepdims)."""

    def template(function):
        def row(a: Tensor, axis: Axis = None, keepdims: bool = False, out=None) -> Tensor:
            return _over(name, a != 0, axis, keepdims, function)

        return row

    row = family(template, function, f"_np_{name}", doc, *aliases)
    row.types(lambda: torch.bool)
    row.grad(zeros)


truth("all", torch.all, "True where no value over axes is 0.")
truth("any", torch.any, "True where a value over axes is not 0.", "_np_sometrue")


def place(name, function, doc):
    """Register y = function(a, axis), int64; without an axis into the flattened array."""

    def template(function):
        def row(a: Tensor, axis: int | None = None, out=None, keepdims: bool = False) -> Tensor:
            if a.dtype is torch.bool:
                a = a.to(torch.uint8)
            if axis is None:
                y = function(a.reshape(-1), 0)
                return y.reshape([1] * a.dim()) if keepdims else y
            return function(a, axis, keepdims)

        return row

    row = family(template, function, f"_npi_{name}", doc)
    row.types(lambda: torch.int64)
    row.grad(zeros)


place("argmax", torch.argmax, "The index of the largest value along an axis.")
place("argmin", torch.argmin, "The index of the smallest value along an axis.")


@op
def _npi_average(
    a: Tensor,
    weights: Tensor | None = None,
    axis: Axis = None,
    returned: bool = False,
    weighted: bool = True,
) -> tuple[Tensor, Tensor]:
    """The mean over axes, weighted by `weights`; and the sum of the weights."""
    if weights is None:
        mean = _over("average", a, axis, False, torch.mean)
        return mean, torch.full_like(mean, a.numel() / max(mean.numel(), 1))
    if weights.shape != a.shape and weights.dim() == 1 and axis is not None:
        weights = weights.reshape([-1 if i == axis[0] % a.dim() else 1 for i in range(a.dim())])
    weights = weights.to(a.dtype).expand(a.shape)
    sums = _over("average", weights, axis, False, torch.sum)
    return _over("average", a * weights, axis, False, torch.sum) / sums, sums


@_npi_average.takes
def _(weighted):
    return ["a", "weights"] if weighted else ["a"]


@_npi_average.gives
def _(returned):
    return 2 if returned else 1


@op
def _npi_percentile(
    a: Tensor,
    q: Tensor | None = None,
    axis: Axis = None,
    interpolation: Literal["linear", "lower", "higher", "midpoint", "nearest"] = "linear",
    keepdims: bool = False,
    q_scalar: float | None = None,
) -> Tensor:
    """The q-th percentiles over axes; of integers in float32."""
    x = a.to(_float_type(a.dtype, None))
    exact = x.double()  # so that the places between the elements are NumPy's
    if q is None:
        q = torch.tensor(q_scalar, dtype=exact.dtype, device=a.device)
    if q.numel() and not 0 <= float(q.min()) <= float(q.max()) <= 100:
        raise ArgumentError(f"percentile: q is {q.tolist()}\n  expected numbers from 0 to 100")
    axes = _axes("percentile", a, axis)
    rest = [i for i in range(a.dim()) if i not in axes]
    rows = exact.permute(*rest, *axes).reshape([a.shape[i] for i in rest] + [-1])
    points = q.to(exact.dtype).reshape(-1) / 100
    y = torch.quantile(rows, points, -1, interpolation=interpolation)
    if keepdims:
        y = y.reshape([-1] + [1 if i in axes else n for i, n in enumerate(a.shape)])
    return y.reshape(q.shape + y.shape[1:]).to(x.dtype)


_npi_percentile.types(lambda a: _float_type(a, None))


@_npi_percentile.takes
def _(q_scalar):
    return ["a", "q"] if q_scalar is None else ["a"]
