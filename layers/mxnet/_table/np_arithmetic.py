"""NumPy's elementwise functions of two arrays, and of an array with a number.

Two dtypes meet as in PyTorch, and as int32 where that is int16, which MXNet has not. A number does
not change the kind of an array, but a float makes float32 of integers.
"""

from __future__ import annotations

import torch

from .broadcast import _by_tensor, _fit, _modulo
from .registry import Tensor, family, zeros


def arithmetic(name, function, doc, *aliases, commutes=False, constant=False, with_number=None):
    """Register `_npi_<name>`, y = function(x1, x2), and its forms with a number.

    They are `_npi_<name>_scalar`, which has the number on the right, and, unless the function
    `commutes`, `_npi_r<name>_scalar`. with_number(x, number) computes the first; by default the
    number becomes a tensor. The derivative of what is `constant` is 0.
    """

    def of_two(function):
        def row(x1: Tensor, x2: Tensor) -> Tensor:
            if x1.dtype is not x2.dtype:
                dtype = promoted(x1, x2)
                x1, x2 = x1.to(dtype), x2.to(dtype)
            return function(x1, x2)

        return row

    def of_number(function):
        def row(data: Tensor, scalar: float = 1.0, is_int: bool = True) -> Tensor:
            if is_int and not data.is_floating_point() and scalar % 1 == 0:
                scalar = int(scalar)
            return function(data, scalar)

        return row

    rows = [family(of_two, function, f"_npi_{name}", doc, *aliases)]
    right = with_number or _promoting(lambda x, number: function(x, number))
    rows += [family(of_number, right, f"_npi_{name}_scalar", f"{doc[:-1]}; x2 is the scalar.")]
    if not commutes:
        left = _promoting(lambda x, number: function(number, x))
        doc = f"{doc[:-1]}; x1 is the scalar."
        rows += [family(of_number, left, f"_npi_r{name}_scalar", doc)]
    for row in rows:
        row.types(_type_of(row.function))
        if constant:
            row.grad(zeros)
    return rows


def promoted(x1: Tensor, x2: Tensor) -> torch.dtype:
    """Return the dtype in which two arrays meet."""
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    return torch.int32 if dtype is torch.int16 else dtype


def _promoting(function):
    """Return function(x, number) that makes a tensor of the number, in the dtype of the result."""

    def compute(x, number):
        dtype = torch.result_type(x, number)
        return function(x.to(dtype), torch.tensor(number, dtype=dtype, device=x.device))

    return compute


def _type_of(function):
    """Return the rule of dtypes of a function: what it gives for arrays without elements."""

    def of_two(x1, x2):
        return function(torch.empty(0, dtype=x1), torch.empty(0, dtype=x2)).dtype

    def of_number(data, scalar, is_int):
        return function(torch.empty(0, dtype=data), scalar, is_int).dtype

    return of_number if "scalar" in function.__code__.co_varnames else of_two


def _of_floats(function):
    """Return a function of two tensors that makes float32 of integers."""

    def compute(x1, x2):
        if not x1.is_floating_point():
            x1, x2 = x1.float(), x2.float()
        return function(x1, x2)

    return compute


def _remainder(x1, x2):
    return torch.remainder(x1, x2) if x1.is_floating_point() else _modulo(x1, x2)


def _lcm(x1, x2):
    return torch.lcm(x1, x2) if x1.dtype is not torch.bool else x1 & x2


SUM, PRODUCT = "The sum, x1 + x2.", "The product, x1 x2."
arithmetic("add", torch.add, SUM, commutes=True, with_number=_by_tensor(torch.add))
arithmetic("subtract", torch.sub, "The difference, x1 - x2.", with_number=_by_tensor(torch.sub))
arithmetic("multiply", torch.mul, PRODUCT, commutes=True, with_number=_by_tensor(torch.mul))
arithmetic("true_divide", torch.div, "The quotient, x1 / x2.", with_number=_by_tensor(torch.div))
arithmetic("mod", _remainder, "The remainder of x1 / x2, with the sign of x2.")
arithmetic("power", torch.pow, "The power, x1 to the x2.", with_number=torch.pow)
maximum, *_ = arithmetic("maximum", torch.maximum, "The larger of x1 and x2.", commutes=True)
minimum, *_ = arithmetic("minimum", torch.minimum, "The smaller of x1 and x2.", commutes=True)
arithmetic("hypot", _of_floats(torch.hypot), "The hypotenuse, √(x1² + x2²).", commutes=True)
arithmetic("arctan2", _of_floats(torch.atan2), "The angle of the point (x2, x1), in radians.")
arithmetic("copysign", torch.copysign, "x1 with the sign of x2.")
arithmetic("ldexp", torch.ldexp, "x1 times 2 to the x2.")
arithmetic("lcm", _lcm, "The least common multiple of x1 and x2.", commutes=True)
arithmetic("bitwise_and", torch.bitwise_and, "The bits that x1 and x2 have both.", commutes=True)
arithmetic("bitwise_or", torch.bitwise_or, "The bits that x1 or x2 has.", commutes=True)
arithmetic("bitwise_xor", torch.bitwise_xor, "The bits that one of x1 and x2 has.", commutes=True)
for name, function, doc in (
    ("equal", torch.eq, "="),
    ("not_equal", torch.ne, "≠"),
    ("greater", torch.gt, ">"),
    ("greater_equal", torch.ge, "≥"),
    ("less", torch.lt, "<"),
    ("less_equal", torch.le, "≤"),
):
    doc = f"True where x1 {doc} x2."
    rules = {"commutes": True, "constant": True, "with_number": function}
    arithmetic(name, function, doc, **rules)


@maximum.grad
def _(dy, x1, x2):  # where they are equal, x1 takes it all
    return _fit(dy * (x1 >= x2), x1), _fit(dy * (x1 < x2), x2)


@minimum.grad
def _(dy, x1, x2):
    return _fit(dy * (x1 <= x2), x1), _fit(dy * (x1 > x2), x2)
