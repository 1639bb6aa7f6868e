"""Two inputs whose shapes broadcast, two of one shape, and an array with a scalar.

Both inputs have one dtype, which the result has too. Integers divide to integers, rounded towards
zero; a number that meets integers is truncated first.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch

from .._dtype import name as dtype_name
from ..base import ArgumentError, DTypeError, ShapeError
from .attributes import Axis, Shape
from .registry import Tensor, family, op, zeros

HALF_MAX = 65504.0  # the largest number of float16
# With a number of these PyTorch computes as with a tensor of it.
KEPT_DTYPES = torch.float32, torch.float64


def broadcast(name, function, doc, *aliases, **rules):
    """Register y = function(lhs, rhs), both of one dtype; a size of 1 is repeated to fit."""

    def template(function):
        def row(lhs: Tensor, rhs: Tensor) -> Tensor:
            if lhs.dtype is not rhs.dtype:
                raise _mixed(name, lhs, rhs)
            return function(lhs, rhs)

        return row

    row = family(template, function, name, doc, *aliases, **rules)
    row.shaped(_broadcast_shape)
    return row


def _broadcast_shape(lhs, rhs):
    fits = all(m == n or 1 in (m, n) for m, n in zip(reversed(lhs), reversed(rhs)))
    return np.broadcast_shapes(lhs, rhs) if fits else None


def elementwise(name, function, doc, *aliases, **rules):
    """Register y = function(lhs, rhs), both of one dtype and one shape."""

    def template(function):
        def row(lhs: Tensor, rhs: Tensor) -> Tensor:
            if lhs.dtype is not rhs.dtype:
                raise _mixed(name, lhs, rhs)
            if lhs.shape != rhs.shape:
                raise ShapeError(
                    f"{name}: lhs is {tuple(lhs.shape)}, rhs is {tuple(rhs.shape)}\n"
                    "  expected one shape; the broadcast_ operators take others"
                )
            return function(lhs, rhs)

        return row

    return family(template, function, name, doc, *aliases, same=True, **rules)


def scalar(name, function, doc, *aliases, beyond=None, **rules):
    """Register y = function(data, scalar).

    `beyond(scalar, dtype)` gives what stands for a number that the integers of data cannot be;
    without it such a number is refused. Floats that are too large for data are infinite.
    """

    def template(function):
        def row(data: Tensor, scalar: float = 1.0, is_int: bool = True) -> Tensor:
            if data.is_floating_point():
                return function(data, _rounded(float(scalar), data.dtype))
            data = data.to(_promoted(data.dtype, is_int))
            if not is_int:
                return function(data, float(scalar))
            whole = _whole(scalar, data.dtype)
            if whole is None and beyond is None:
                raise ArgumentError(
                    f"{name}: the number is {scalar}, the array is {dtype_name(data.dtype)}\n"
                    "  expected a number that it can hold, or an array of floats"
                )
            return function(data, beyond(scalar, data.dtype) if whole is None else whole)

        return row

    row = family(template, function, name, doc, *aliases, same=True, **rules)
    row.types(_type)
    return row


def comparison(name, function, doc):
    """Register broadcast_<name>, _<name> and _<name>_scalar: 0 or 1, in the dtype of the inputs."""

    def compare(x, y):
        if isinstance(y, Tensor) and x.shape != y.shape:
            return function(x, y).to(x.dtype)
        return function(x, y, out=torch.empty_like(x))  # at once: half the time

    old = name.title()
    logical = name.startswith("logical")
    on_number = _array(compare) if logical else compare
    broadcast(f"broadcast_{name}", compare, f"1 where {doc}, else 0.").grad(zeros)
    elementwise(f"_{name}", compare, f"1 where {doc}, else 0.", f"_{old}").grad(zeros)
    alias = f"_{old.replace('_', '')}Scalar"
    doc = f"1 where {doc}, else 0; y is the scalar."
    scalar(f"_{name}_scalar", on_number, doc, alias, beyond=_truth if logical else _endless).grad(
        zeros
    )


def _type(data, is_int):
    return data if data.is_floating_point else _promoted(data, is_int)


def _promoted(dtype, is_int):
    """The dtype in which integers meet a number. `is_int`: the number is an integer."""
    if not is_int:
        return torch.float64
    return torch.int64 if dtype is torch.bool else dtype


def _rounded(number, dtype):
    """A float as MXNet converts it to a dtype.

    It is infinite if it is beyond the largest number of the dtype by half a unit or more. For
    float16 it is also rounded to the nearest number of the dtype, so that 1e-10 is 0.
    """
    if -HALF_MAX <= number <= HALF_MAX:  # within all of them
        return number if dtype is not torch.float16 else float(np.float16(number))
    info = torch.finfo(dtype)
    if not abs(number) > info.max:  # nor NaN
        return number
    nearest = math.inf if abs(number) >= info.max * (1 + info.eps / 4) else info.max
    return math.copysign(nearest, number)


def _whole(number, dtype):
    """A number truncated to an integer of a dtype; None for one that the dtype cannot be.

    Integers of 8 bits count modulo 256, as in C.
    """
    info = torch.iinfo(torch.int32 if dtype.itemsize == 1 else dtype)
    if not info.min - 1 < number < info.max + 1:  # nor NaN
        return None
    whole = int(number)
    if dtype.itemsize > 1:
        return whole
    return whole & 255 if dtype is torch.uint8 else (whole + 128 & 255) - 128


# What stands for a number that the integers of an array cannot be.


def _endless(number, dtype):
    """Infinity: it compares with integers as the number does. NaN stays."""
    return number if math.isnan(number) else math.copysign(math.inf, number)


def _truth(number, dtype):
    """1: the number is not 0."""
    return 1


def _end(number, dtype):
    """The largest or least integer, which is to the others as the number is."""
    info = torch.iinfo(dtype)
    return info.max if number > 0 else info.min


def _mixed(name, lhs, rhs):
    return DTypeError(
        f"{name}: lhs is {dtype_name(lhs.dtype)}, rhs is {dtype_name(rhs.dtype)}\n"
        "  expected one dtype; astype changes it"
    )


def _array(function, *, first=False):
    """function(tensor, tensor), called with a tensor and a number, which may come `first`."""
    if first:
        return lambda x, number: function(x.new_full((), number), x)
    return lambda x, number: function(x, x.new_full((), number))


def _divide(x, y):
    return torch.div(x, y, rounding_mode=None if x.is_floating_point() else "trunc")


def _modulo(x, y):
    if not x.is_floating_point():
        return torch.remainder(x, torch.where(y == 0, 1, y))
    return torch.where(y == 0, 0.0, torch.remainder(x, y))


def _by_tensor(function, negate=None):
    """Return function(x, number), for which a number becomes a tensor once.

    PyTorch makes one in each call, which takes it as long as the sum of a small array. `negate` is
    called in place of the function for -1.
    """

    def compute(x, number):
        if negate is not None and number == -1:
            return negate(x)
        # 0.0 and -0.0 would be one number to the cache, and x may be a tracer's tensor.
        if number and x.dtype in KEPT_DTYPES and type(x) is Tensor and x.is_cpu:
            if not torch.compiler.is_dynamo_compiling():
                number = _tensor_of(number, x.dtype)
        return function(x, number)

    return compute


@lru_cache(maxsize=1024)
def _tensor_of(number, dtype):
    with torch.inference_mode(False):  # one made there could not be used while autograd records
        return torch.tensor(number, dtype=dtype, device="cpu")


def _power(x, y):
    if x.is_floating_point():
        return torch.pow(x, y)
    return torch.pow(x.double(), y).long().to(x.dtype)


def _hypot(x, y):
    if x.is_floating_point():
        return torch.hypot(x, y)
    return torch.hypot(x.double(), y.double()).to(x.dtype)


broadcast("broadcast_add", torch.add, "The sum, x + y.", "broadcast_plus")
broadcast("broadcast_sub", torch.sub, "The difference, x - y.", "broadcast_minus")
broadcast("broadcast_mul", torch.mul, "The product, x y.")
broadcast("broadcast_div", _divide, "The quotient, x / y.")
mod = broadcast(
    "broadcast_mod", _modulo, "The remainder of x / y, with the sign of y; 0 where y is 0."
)
broadcast("broadcast_power", _power, "The power, xʸ.")
broadcast("broadcast_hypot", _hypot, "The hypotenuse, √(x² + y²).")
maximum = broadcast("broadcast_maximum", torch.maximum, "The larger of x and y.")
minimum = broadcast("broadcast_minimum", torch.minimum, "The smaller of x and y.")

elementwise("elemwise_add", torch.add, "The sum, x + y.", "_add", "_plus", "_Plus")
elementwise("elemwise_sub", torch.sub, "The difference, x - y.", "_sub", "_minus", "_Minus")
elementwise("elemwise_mul", torch.mul, "The product, x y.", "_mul", "_Mul")
elementwise("elemwise_div", _divide, "The quotient, x / y.", "_div", "_Div")
elementwise("_grad_add", torch.add, "The sum, x + y, of two gradients.")
elementwise("_scatter_elemwise_div", _divide, "The quotient, x / y.")
mod_ = elementwise(
    "_mod", _modulo, "The remainder of x / y, with the sign of y; 0 where y is 0.", "_Mod"
)
elementwise("_power", _power, "The power, xʸ.", "_Power")
elementwise("_hypot", _hypot, "The hypotenuse, √(x² + y²).", "_Hypot")
maximum_ = elementwise("_maximum", torch.maximum, "The larger of x and y.", "_Maximum")
minimum_ = elementwise("_minimum", torch.minimum, "The smaller of x and y.", "_Minimum")

scalar("_plus_scalar", _by_tensor(torch.add), "The sum, x + scalar.", "_PlusScalar")
scalar("_minus_scalar", _by_tensor(torch.sub), "The difference, x - scalar.", "_MinusScalar")
scalar("_scatter_plus_scalar", torch.add, "The sum, x + scalar.")
scalar("_scatter_minus_scalar", torch.sub, "The difference, x - scalar.")
scalar("_rminus_scalar", _by_tensor(torch.rsub), "The difference, scalar - x.", "_RMinusScalar")
# -x is a product by -1 in MXNet's API. PyTorch's own negation takes half the time.
scalar("_mul_scalar", _by_tensor(torch.mul, torch.neg), "The product, x scalar.", "_MulScalar")
scalar("_div_scalar", _by_tensor(_divide), "The quotient, x / scalar.", "_DivScalar")
scalar("_rdiv_scalar", _array(_divide, first=True), "The quotient, scalar / x.", "_RDivScalar")
mod_scalar = scalar(
    "_mod_scalar",
    _array(_modulo),
    "The remainder of x / scalar, with the sign of scalar; 0 where that is 0.",
    "_ModScalar",
)
rmod_scalar = scalar(
    "_rmod_scalar",
    _array(_modulo, first=True),
    "The remainder of scalar / x, with the sign of x; 0 where x is 0.",
    "_RModScalar",
)
scalar("_power_scalar", _power, "The power, x to the scalar.", "_PowerScalar")
scalar("_rpower_scalar", _array(_power, first=True), "The power, scalar to the x.", "_RPowerScalar")
scalar("_hypot_scalar", _array(_hypot), "The hypotenuse, √(x² + scalar²).", "_HypotScalar")
scalar(
    "_maximum_scalar",
    torch.clamp_min,
    "The larger of x and the scalar.",
    "_MaximumScalar",
    beyond=_end,
)
scalar(
    "_minimum_scalar",
    torch.clamp_max,
    "The smaller of x and the scalar.",
    "_MinimumScalar",
    beyond=_end,
)

comparison("equal", torch.eq, "x = y")
comparison("not_equal", torch.ne, "x ≠ y")
comparison("greater", torch.gt, "x > y")
comparison("greater_equal", torch.ge, "x ≥ y")
comparison("lesser", torch.lt, "x < y")
comparison("lesser_equal", torch.le, "x ≤ y")
comparison("logical_and", torch.logical_and, "x and y are not 0")
comparison("logical_or", torch.logical_or, "x or y is not 0")
comparison("logical_xor", torch.logical_xor, "one of x and y is not 0")


@maximum.grad
@maximum_.grad
def _(dy, lhs, rhs):  # where they are equal, lhs takes it all
    return _fit(dy * (lhs >= rhs), lhs), _fit(dy * (lhs < rhs), rhs)


@minimum.grad
@minimum_.grad
def _(dy, lhs, rhs):
    return _fit(dy * (lhs <= rhs), lhs), _fit(dy * (lhs > rhs), rhs)


@mod.grad
@mod_.grad
def _(dy, lhs, rhs):  # also where rhs is 0
    return _fit(dy, lhs), _fit(-dy * torch.floor(lhs / rhs), rhs)


@mod_scalar.grad
def _(dy):
    return dy


@rmod_scalar.grad
def _(dy, data, scalar):
    return -dy * torch.floor(float(scalar) / data)


def _fit(dx, x):
    """The gradient of a broadcast input."""
    return dx if dx.shape == x.shape else dx.sum_to_size(x.shape)


@op(view=True, same=True)
def _identity_with_attr_like_rhs(lhs: Tensor, rhs: Tensor) -> Tensor:
    """lhs itself, whose shape is that of rhs."""
    return lhs


@op("broadcast_axes", view=True)
def broadcast_axis(data: Tensor, axis: Shape = (), size: Shape = ()) -> Tensor:
    """The values repeated along axes whose size is 1, to the sizes given."""
    if len(axis) != len(size):
        raise ArgumentError(
            f"broadcast_axis: axis is {axis}, size is {size}\n  expected one size for each axis"
        )
    shape = list(data.shape)
    for a, n in zip(axis, size):
        shape[a] = n
    return data.expand(shape)


@op(view=True)
def broadcast_to(data: Tensor, shape: Shape = ()) -> Tensor:
    """The values repeated to a shape; 0 in it keeps the size of data."""
    if len(shape) != data.dim():
        raise ShapeError(
            f"broadcast_to: data is {tuple(data.shape)}, shape is {tuple(shape)}\n"
            "  expected as many axes; reshape and expand_dims add some"
        )
    return data.expand([n or old for n, old in zip(shape, data.shape)])


@op(view=True)
def broadcast_like(
    lhs: Tensor, rhs: Tensor, lhs_axes: Axis = None, rhs_axes: Axis = None
) -> Tensor:
    """lhs repeated to the shape of rhs, or along `lhs_axes` to the sizes of `rhs_axes`."""
    given = lhs_axes or (), rhs_axes or ()
    if len(given[0]) != len(given[1]) or (not given[0] and lhs.dim() != rhs.dim()):
        raise ShapeError(
            f"broadcast_like: lhs is {tuple(lhs.shape)}, rhs is {tuple(rhs.shape)}, lhs_axes is "
            f"{lhs_axes}, rhs_axes is {rhs_axes}\n  expected as many axes of both"
        )
    if lhs_axes is None:
        return lhs.expand(rhs.shape)
    shape = list(lhs.shape)
    for a, b in zip(lhs_axes, rhs_axes):
        shape[a] = rhs.shape[b]
    return lhs.expand(shape)


@op("ElementWiseSum", same=True)
def add_n(*args: Tensor) -> Tensor:
    """The sum of any number of arrays of one shape."""
    if len(args) == 1:
        return args[0].clone()
    total = args[0] + args[1]
    for x in args[2:]:
        total = total + x
    return total
