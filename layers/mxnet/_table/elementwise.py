"""One input, one output of its shape, element by element; and what looks only at the shape."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from .._dtype import name as dtype_name
from ..base import DTypeError
from .attributes import DType
from .registry import REQUIRED, Tensor, Ufunc, family, op, zeros


def unary(name, function, doc, *aliases, **rules):
    """Register y = function(data), in data's dtype: for integers the result is truncated."""

    def template(function):
        def row(data: Tensor) -> Tensor:
            y = function(data)
            return y if y.dtype is data.dtype else y.to(data.dtype)

        return row

    return family(template, function, name, doc, *aliases, same=True, **rules)


def np_unary(name, function, doc, *aliases, constant=False):
    """Register `_npi_<name>`, y = function(x): float32 of integers, where integers have no result.

    The derivative of what is `constant` is 0.
    """

    def template(function):
        def row(x: Tensor) -> Tensor:
            return function(x)

        return row

    row = family(template, function, f"_npi_{name}", doc, *aliases, kind=Ufunc, same=True)
    row.types(lambda x: function(torch.empty(0, dtype=x)).dtype)
    row.of_numbers = getattr(np, name)
    if constant:
        row.grad(zeros)
    return row


def ufunc(name, function, doc, *aliases, constant=False):
    """Register a row of `unary` and one of `np_unary`."""
    row = unary(name, function, doc, *aliases)
    if constant:
        row.grad(zeros)
    return row, np_unary(name, function, doc, constant=constant)


def _erf(x):
    # Of integers it is 1 from where float64 has no number between: in float32 from 4 on.
    return torch.erf(x if x.is_floating_point() else x.double())


unary("abs", torch.abs, "The absolute value.")
np_unary("absolute", torch.abs, "The absolute value.", "_npi_abs")
ufunc("negative", torch.neg, "The negative, -x.")
ufunc("reciprocal", torch.reciprocal, "The reciprocal, 1 / x.")
ufunc("square", torch.square, "The square, x².")
ufunc("sqrt", torch.sqrt, "The square root.")
unary("rsqrt", torch.rsqrt, "The reciprocal of the square root, 1 / √x.")
ufunc("exp", torch.exp, "The exponential, eˣ.")
ufunc("expm1", torch.expm1, "eˣ - 1, exact near zero.")
ufunc("log", torch.log, "The natural logarithm.")
ufunc("log2", torch.log2, "The logarithm to base 2.")
ufunc("log10", torch.log10, "The logarithm to base 10.")
ufunc("log1p", torch.log1p, "log(1 + x), exact near zero.")
ufunc("sin", torch.sin, "The sine of radians.")
ufunc("cos", torch.cos, "The cosine of radians.")
ufunc("tan", torch.tan, "The tangent of radians.")
ufunc("arcsin", torch.asin, "The inverse sine, in radians.")
ufunc("arccos", torch.acos, "The inverse cosine, in radians.")
ufunc("arctan", torch.atan, "The inverse tangent, in radians.")
ufunc("sinh", torch.sinh, "The hyperbolic sine.")
ufunc("cosh", torch.cosh, "The hyperbolic cosine.")
ufunc("tanh", torch.tanh, "The hyperbolic tangent.")
ufunc("arcsinh", torch.asinh, "The inverse hyperbolic sine.")
ufunc("arccosh", torch.acosh, "The inverse hyperbolic cosine.")
ufunc("arctanh", torch.atanh, "The inverse hyperbolic tangent.")
ufunc("degrees", torch.rad2deg, "Radians as degrees, 180 x / π.")
ufunc("radians", torch.deg2rad, "Degrees as radians, π x / 180.")
unary("erf", _erf, "The error function.")
unary("erfinv", torch.erfinv, "The inverse of the error function.")
unary("gammaln", torch.lgamma, "The logarithm of the absolute value of the gamma function.")
unary("sigmoid", torch.sigmoid, "The logistic function, 1 / (1 + e⁻ˣ).")
unary("softsign", F.softsign, "x / (1 + |x|).")
unary("relu", torch.relu, "The positive part, max(x, 0).")

ufunc("sign", torch.sign, "The sign: -1, 0 or 1.", constant=True)
ufunc("floor", torch.floor, "The largest integer not above x.", constant=True)
ufunc("ceil", torch.ceil, "The smallest integer not below x.", constant=True)
ufunc("trunc", torch.trunc, "The integer part: rounded towards zero.", constant=True)
ufunc("fix", torch.trunc, "The integer part: rounded towards zero.", constant=True)
ufunc("logical_not", torch.logical_not, "1 where x is 0, else 0.", constant=True)
for name, function in ("zeros", torch.zeros_like), ("ones", torch.ones_like):
    doc = f"{name.capitalize()}, in the shape and dtype of data; `dtype` and `ctx` have no effect."
    unary(f"{name}_like", function, doc, ignores=("dtype", "ctx")).grad(zeros)


def _itself(x):
    return x


unary("_copy", _itself, "The same values, as a new array.", "identity", view=True)
block = unary(
    "BlockGrad", _itself, "The same values; no gradient passes.", "stop_gradient", view=True
)
block.grad(zeros)


def _round(x):  # not x + 0.5 rounded down, which takes the float32 below 0.5 to 1
    whole = torch.trunc(x)
    return whole + torch.sign(x) * ((x - whole).abs() >= 0.5)


def _rint(x):
    below = torch.floor(x)
    return below + (x - below > 0.5)


unary("round", _round, "The nearest integer; halves go away from zero.").grad(zeros)
unary("rint", _rint, "The nearest integer; halves go down.").grad(zeros)
np_unary("rint", torch.round, "The nearest integer; halves go to the even one.", constant=True)
np_unary("bitwise_not", torch.bitwise_not, "The integer whose bits are the others.")
for name, function, doc in (
    ("isnan", torch.isnan, "NaN"),
    ("isinf", torch.isinf, "infinite"),
    ("isfinite", torch.isfinite, "finite"),
    ("isposinf", torch.isposinf, "infinity"),
    ("isneginf", torch.isneginf, "minus infinity"),
):
    np_unary(name, function, f"True where x is {doc}.", constant=True)


@op
def _npi_around(x: Tensor, decimals: int = 0, out=None) -> Tensor:
    """The nearest numbers of so many decimals; halves go to the even one."""
    if x.is_floating_point():
        return torch.round(x, decimals=decimals)
    if decimals >= 0:
        return x.clone()
    return (torch.round(x.double() / 10**-decimals) * 10**-decimals).to(x.dtype)


_npi_around.grad(zeros)


@op
def _npi_nan_to_num(
    x: Tensor,
    copy: bool = True,
    nan: float | None = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """The values, with numbers in place of NaN and of the infinities: by default the largest."""
    return torch.nan_to_num(x, 0.0 if nan is None else nan, posinf, neginf)


@_npi_nan_to_num.grad
def _(dy, x):
    return dy * torch.isfinite(x)


def _gamma(x):
    y = torch.lgamma(x).exp()
    whole = torch.floor(x)
    y = torch.where((x < 0) & (whole % 2 != 0), -y, y)
    y = torch.where((x < 0) & (x == whole), torch.nan, y)
    return torch.where(x == 0, torch.reciprocal(x), y)  # infinity with the sign of the 0


gamma = unary("gamma", _gamma, "The gamma function; NaN at -1, -2, ...")


@gamma.grad
def _(dy, y, data):
    return dy * y * torch.digamma(data)


def _power_of_size(exponent):
    """The function |x|ᵉ with the sign of x, also that of a 0."""
    return lambda x: torch.copysign(x.abs().pow(exponent), x)


cbrt, np_cbrt = ufunc("cbrt", _power_of_size(1 / 3), "The cube root.")
rcbrt = unary("rcbrt", _power_of_size(-1 / 3), "1 over the cube root.")


@cbrt.grad
@np_cbrt.grad
def _(dy, y):
    return dy / (3 * y * y)


@rcbrt.grad
def _(dy, y, data):
    return dy * y / (-3 * data)


@op(same=True)
def hard_sigmoid(data: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """The sigmoid in three straight pieces, αx + β between 0 and 1.

    Raises
    ------
    DTypeError
        `data` has no floating-point numbers.
    """
    if not data.is_floating_point():
        raise DTypeError(
            f"hard_sigmoid: data is {dtype_name(data.dtype)}\n  expected floating-point numbers"
        )
    return torch.clamp(alpha * data + beta, 0, 1)


@hard_sigmoid.grad
def _(dy, y, alpha):
    return dy * alpha * ((y > 0) & (y < 1))


@op(same=True)
def clip(data: Tensor, a_min: float = REQUIRED, a_max: float = REQUIRED) -> Tensor:
    """The values, none below `a_min` or above `a_max`; for integers these are truncated."""
    if not data.is_floating_point():
        a_min, a_max = _bound(a_min, data), _bound(a_max, data)
    if a_min <= a_max:
        return torch.clamp(data, a_min, a_max)
    # A bound of NaN bounds nothing, and of two in the wrong order a_max is looked at first.
    return torch.where(data > a_max, a_max, torch.where(data < a_min, a_min, data))


@clip.grad
def _(dy, data, a_min, a_max):
    plain = data.dtype in (torch.float32, torch.float64) and -math.inf < a_min <= a_max < math.inf
    if not plain or torch.compiler.is_compiling():
        return dy * ~((data < a_min) | (data > a_max))
    # A third of the time. `threshold_backward` leaves out the bound itself, and passes NaN.
    below, above = _beside(a_min, -1, data.dtype), _beside(a_max, 1, data.dtype)
    dx = torch.ops.aten.threshold_backward(dy, data, below)
    return torch.ops.aten.threshold_backward(dx, -data, -above)


def _beside(bound: float, direction: int, dtype: torch.dtype) -> float:
    """What lies in a direction between a bound, as the dtype has it, and the dtype's next number.

    Beside 0 the first number that has all its digits: smaller ones a processor may take for 0.
    """
    info = torch.finfo(dtype)
    fraction, exponent = math.frexp(bound)
    bound = math.ldexp(round(fraction * 2 / info.eps) * info.eps / 2, exponent)
    return bound + direction * max(0.6 * info.eps * abs(bound), info.tiny)


def _bound(value, data):
    info = torch.iinfo(data.dtype)
    return int(max(info.min, min(value, info.max)))


@op(same=True)
def smooth_l1(data: Tensor, scalar: float = 1.0) -> Tensor:
    """Quadratic near zero, linear beyond: (σx)² / 2 where |x| < 1/σ², else |x| - 1 / 2σ².

    σ is `scalar`. For integers it is truncated, and so is the result.
    """
    is_float = data.is_floating_point()
    # PyTorch squares a float16 as such, which is infinite from 256 on.
    x = data if is_float and data.dtype is not torch.float16 else data.float()
    square = float(scalar if is_float else int(scalar)) ** 2
    bound = 1 / square if square else torch.inf
    zero = x.new_zeros(()).expand_as(x)
    y = F.smooth_l1_loss(x, zero, reduction="none", beta=bound)
    return y if x is data else y.to(data.dtype)


@op(same=True, names_input=True)
def _contrib_quadratic(data: Tensor, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Tensor:
    """a x² + b x + c; for integers the result is truncated."""
    return ((a * data + b) * data + c).to(data.dtype)


@op(view=True, same=True)
def _contrib_gradientmultiplier(data: Tensor, scalar: float = 1.0, is_int: bool = True) -> Tensor:
    """data itself; its gradient is multiplied by `scalar`."""
    return data


@_contrib_gradientmultiplier.grad
def _(dy, scalar):
    return dy * scalar


@unary("_contrib_round_ste", _round, "The nearest integer, with the gradient of data itself.").grad
@unary("_contrib_sign_ste", torch.sign, "The sign, with the gradient of data itself.").grad
def _(dy):
    return dy


@op("cast", same=True)
def Cast(data: Tensor, dtype: DType = REQUIRED) -> Tensor:
    """The values in another dtype; floats become integers by truncation."""
    return data.to(dtype, copy=True)


@op(whole=("condition",))
def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition is not 0, else y; one condition may choose a row each."""
    chosen = condition != 0
    if chosen.dim() < x.dim():
        chosen = chosen.reshape(-1, *[1] * (x.dim() - 1))
    return torch.where(chosen, x, y)


@where.infer
def _(x):
    return {"y": x}


@where.infer
def _(y):
    return {"x": y}


@where.shaped
def _(condition, x, y):
    return x if x == y and condition in (x, x[:1]) else None


@where.typed
def _(x):
    return {"y": x}


@where.typed
def _(y):
    return {"x": y}


@where.types
def _(x):
    return x


@op
def shape_array(data: Tensor) -> Tensor:
    """The shape, as an int64 array."""
    return torch.tensor(data.shape, dtype=torch.int64, device=data.device)


@op
def size_array(data: Tensor) -> Tensor:
    """The number of elements, as an int64 array of one."""
    return torch.tensor([data.numel()], dtype=torch.int64, device=data.device)


@shape_array.shaped
def _(data):
    return (len(data),)


@size_array.shaped
def _():
    return (1,)


@shape_array.types
@size_array.types
def _():
    return torch.int64
