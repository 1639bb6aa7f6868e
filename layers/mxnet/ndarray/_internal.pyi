"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

def _npi_absolute(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The absolute value."""
def _npi_abs(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The absolute value."""
def _npi_negative(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The negative, -x."""
def _npi_reciprocal(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The reciprocal, 1 / x."""
def _npi_square(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The square, x²."""
def _npi_sqrt(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The square root."""
def _npi_exp(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The exponential, eˣ."""
def _npi_expm1(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """eˣ - 1, exact near zero."""
def _npi_log(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The natural logarithm."""
def _npi_log2(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The logarithm to base 2."""
def _npi_log10(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The logarithm to base 10."""
def _npi_log1p(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """log(1 + x), exact near zero."""
def _npi_sin(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sine of radians."""
def _npi_cos(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The cosine of radians."""
def _npi_tan(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The tangent of radians."""
def _npi_arcsin(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse sine, in radians."""
def _npi_arccos(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse cosine, in radians."""
def _npi_arctan(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse tangent, in radians."""
def _npi_sinh(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hyperbolic sine."""
def _npi_cosh(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hyperbolic cosine."""
def _npi_tanh(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hyperbolic tangent."""
def _npi_arcsinh(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse hyperbolic sine."""
def _npi_arccosh(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse hyperbolic cosine."""
def _npi_arctanh(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse hyperbolic tangent."""
def _npi_degrees(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Radians as degrees, 180 x / π."""
def _npi_radians(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Degrees as radians, π x / 180."""
def _npi_sign(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sign: -1, 0 or 1."""
def _npi_floor(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The largest integer not above x."""
def _npi_ceil(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The smallest integer not below x."""
def _npi_trunc(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The integer part: rounded towards zero."""
def _npi_fix(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The integer part: rounded towards zero."""
def _npi_logical_not(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x is 0, else 0."""
def _copy(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The same values, as a new array."""
def _npi_rint(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The nearest integer; halves go to the even one."""
def _npi_bitwise_not(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The integer whose bits are the others."""
def _npi_isnan(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x is NaN."""
def _npi_isinf(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x is infinite."""
def _npi_isfinite(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x is finite."""
def _npi_isposinf(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x is infinity."""
def _npi_isneginf(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x is minus infinity."""
def _npi_around(x: NDArray, decimals: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The nearest numbers of so many decimals; halves go to the even one."""
def _npi_nan_to_num(x: NDArray, copy: bool = True, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The values, with numbers in place of NaN and of the infinities: by default the largest."""
def _npi_cbrt(x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The cube root."""
def _add(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + y."""
def _plus(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + y."""
def _Plus(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + y."""
def _sub(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - y."""
def _minus(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - y."""
def _Minus(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - y."""
def _mul(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The product, x y."""
def _Mul(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The product, x y."""
def _div(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x / y."""
def _Div(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x / y."""
def _grad_add(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + y, of two gradients."""
def _scatter_elemwise_div(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x / y."""
def _mod(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of x / y, with the sign of y; 0 where y is 0."""
def _Mod(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of x / y, with the sign of y; 0 where y is 0."""
def _power(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The power, xʸ."""
def _Power(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The power, xʸ."""
def _hypot(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hypotenuse, √(x² + y²)."""
def _Hypot(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hypotenuse, √(x² + y²)."""
def _maximum(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The larger of x and y."""
def _Maximum(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The larger of x and y."""
def _minimum(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The smaller of x and y."""
def _Minimum(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The smaller of x and y."""
def _plus_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + scalar."""
def _PlusScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + scalar."""
def _minus_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - scalar."""
def _MinusScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - scalar."""
def _scatter_plus_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + scalar."""
def _scatter_minus_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - scalar."""
def _rminus_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The difference, scalar - x."""
def _RMinusScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The difference, scalar - x."""
def _mul_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The product, x scalar."""
def _MulScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The product, x scalar."""
def _div_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x / scalar."""
def _DivScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x / scalar."""
def _rdiv_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, scalar / x."""
def _RDivScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, scalar / x."""
def _mod_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of x / scalar, with the sign of scalar; 0 where that is 0."""
def _ModScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of x / scalar, with the sign of scalar; 0 where that is 0."""
def _rmod_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of scalar / x, with the sign of x; 0 where x is 0."""
def _RModScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of scalar / x, with the sign of x; 0 where x is 0."""
def _power_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The power, x to the scalar."""
def _PowerScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The power, x to the scalar."""
def _rpower_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The power, scalar to the x."""
def _RPowerScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The power, scalar to the x."""
def _hypot_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The hypotenuse, √(x² + scalar²)."""
def _HypotScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The hypotenuse, √(x² + scalar²)."""
def _maximum_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The larger of x and the scalar."""
def _MaximumScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The larger of x and the scalar."""
def _minimum_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The smaller of x and the scalar."""
def _MinimumScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The smaller of x and the scalar."""
def _equal(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x = y, else 0."""
def _Equal(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x = y, else 0."""
def _equal_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x = y, else 0; y is the scalar."""
def _EqualScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x = y, else 0; y is the scalar."""
def _not_equal(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≠ y, else 0."""
def _Not_Equal(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≠ y, else 0."""
def _not_equal_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≠ y, else 0; y is the scalar."""
def _NotEqualScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≠ y, else 0; y is the scalar."""
def _greater(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x > y, else 0."""
def _Greater(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x > y, else 0."""
def _greater_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x > y, else 0; y is the scalar."""
def _GreaterScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x > y, else 0; y is the scalar."""
def _greater_equal(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≥ y, else 0."""
def _Greater_Equal(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≥ y, else 0."""
def _greater_equal_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≥ y, else 0; y is the scalar."""
def _GreaterEqualScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≥ y, else 0; y is the scalar."""
def _lesser(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x < y, else 0."""
def _Lesser(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x < y, else 0."""
def _lesser_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x < y, else 0; y is the scalar."""
def _LesserScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x < y, else 0; y is the scalar."""
def _lesser_equal(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≤ y, else 0."""
def _Lesser_Equal(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≤ y, else 0."""
def _lesser_equal_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≤ y, else 0; y is the scalar."""
def _LesserEqualScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x ≤ y, else 0; y is the scalar."""
def _logical_and(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x and y are not 0, else 0."""
def _Logical_And(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x and y are not 0, else 0."""
def _logical_and_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x and y are not 0, else 0; y is the scalar."""
def _LogicalAndScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x and y are not 0, else 0; y is the scalar."""
def _logical_or(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x or y is not 0, else 0."""
def _Logical_Or(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where x or y is not 0, else 0."""
def _logical_or_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x or y is not 0, else 0; y is the scalar."""
def _LogicalOrScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where x or y is not 0, else 0; y is the scalar."""
def _logical_xor(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where one of x and y is not 0, else 0."""
def _Logical_Xor(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """1 where one of x and y is not 0, else 0."""
def _logical_xor_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where one of x and y is not 0, else 0; y is the scalar."""
def _LogicalXorScalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where one of x and y is not 0, else 0; y is the scalar."""
def _identity_with_attr_like_rhs(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """lhs itself, whose shape is that of rhs."""
def _square_sum(data: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The sum of squares over axes."""
def _np_cumsum(a: NDArray, axis: int | None = None, dtype: Any | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The sums of the elements up to each along an axis, by default of the flattened array."""
def _split_v2(data: NDArray, indices: int | tuple[int, ...] = ..., axis: int = 1, squeeze_axis: bool = False, sections: int = 0, out: Any = None, name: Any = None) -> Result:
    """Parts along an axis: from each index to the next, or `sections` of nearly one size."""
def _scatter_set_nd(lhs: NDArray, rhs: NDArray, indices: NDArray, shape: int | tuple[int, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """lhs with rhs[i] at indices[0, i], ..., indices[m - 1, i]."""
def _slice_assign(lhs: NDArray, rhs: NDArray, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """lhs with rhs at [begin:end:step]."""
def _crop_assign(lhs: NDArray, rhs: NDArray, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """lhs with rhs at [begin:end:step]."""
def _slice_assign_scalar(data: NDArray, scalar: float = 0.0, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """data with a number at [begin:end:step]."""
def _crop_assign_scalar(data: NDArray, scalar: float = 0.0, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """data with a number at [begin:end:step]."""
def _ravel_multi_index(data: NDArray, shape: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The number of each element that coordinates name, counted row by row.

    data : (axes, n)      y : (n,)      shape : of the array; its first size may be -1
    """
def _unravel_index(data: NDArray, shape: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The coordinates of elements from their numbers, counted row by row: (...) to (axes, ...).

    shape : of the array; its first size may be -1
    """
def _histogram(data: NDArray, bins: NDArray | None = None, bin_cnt: int | None = None, range: float | tuple[float, ...] | None = None, out: Any = None, name: Any = None) -> Result:
    """How many values lie in each bin, as int64, and the edges of the bins.

    The edges are `bins`, ascending, or those of `bin_cnt` bins that share the `range` evenly. Each
    bin has its lower edge, the last one both; values outside are not counted.
    """
def _rnn_param_concat(*data: NDArray, dim: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """The arrays one after the other along an axis: the `parameters` of RNN from flat parts."""
def _random_uniform(low: float = 0.0, high: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """Draws uniform on [low, high)."""
def _sample_uniform(low: Any, high: Any, shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """For each element of the parameters, `shape` draws uniform on [low, high)."""
def _random_normal(loc: float = 0.0, scale: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """Draws from the normal distribution with mean loc (mu) and deviation scale (sigma)."""
def _sample_normal(mu: Any, sigma: Any, shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """For each element of the parameters, `shape` draws from the normal distribution with mean loc (mu) and deviation scale (sigma)."""
def _random_exponential(lam: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """Draws with density λ exp(-λy), mean 1 / λ."""
def _sample_exponential(lam: Any, shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """For each element of the parameters, `shape` draws with density λ exp(-λy), mean 1 / λ."""
def _random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """Draws of shape alpha and scale beta, mean αβ."""
def _sample_gamma(alpha: Any, beta: Any, shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """For each element of the parameters, `shape` draws of shape alpha and scale beta, mean αβ."""
def _random_poisson(lam: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """Draws counts with mean λ."""
def _sample_poisson(lam: Any, shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """For each element of the parameters, `shape` draws counts with mean λ."""
def _random_negative_binomial(k: int = 1, p: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """Draws the failures before the k-th success, each with probability p."""
def _sample_negative_binomial(k: Any, p: Any, shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """For each element of the parameters, `shape` draws the failures before the k-th success, each with probability p."""
def _random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """Draws counts with mean μ and variance μ + αμ²."""
def _sample_generalized_negative_binomial(mu: Any, alpha: Any, shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None) -> Result:
    """For each element of the parameters, `shape` draws counts with mean μ and variance μ + αμ²."""
def _random_randint(low: int = ..., high: int = ..., shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> NDArray:
    """Integers, each from low to high - 1 as likely; int32 where no dtype is given."""
def _sample_multinomial(data: NDArray, shape: int | tuple[int, ...] = (), get_prob: bool = False, dtype: Any = ..., out: Any = None, name: Any = None) -> Result:
    """Indices drawn with the probabilities in the last axis of data; `shape` of them for each row.

    With `get_prob` also the logarithms of their probabilities, whose gradient is that of data.
    """
def _sample_unique_zipfian(range_max: int = ..., shape: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> Result:
    """In each row different classes by Zipf's law, and how many draws it took to find them.

    P(c) = log((c + 2) / (c + 1)) / log(range_max + 1); int64, (n, m) and (n,)
    """
def _shuffle(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The same rows in random order."""
def _random_pdf_uniform(sample: Any, low: Any, high: Any, is_log: bool = False, out: Any = None, name: Any = None) -> Result:
    """The density 1 / (high - low), also where a sample lies outside; with `is_log` its logarithm."""
def _random_pdf_normal(sample: Any, mu: Any, sigma: Any, is_log: bool = False, out: Any = None, name: Any = None) -> Result:
    """The density of the normal distribution with mean mu and deviation sigma; with `is_log` its logarithm."""
def _random_pdf_gamma(sample: Any, alpha: Any, beta: Any, is_log: bool = False, out: Any = None, name: Any = None) -> Result:
    """The density of the gamma distribution of shape alpha and rate beta, mean α / β; with `is_log` its logarithm."""
def _random_pdf_exponential(sample: Any, lam: Any, is_log: bool = False, out: Any = None, name: Any = None) -> Result:
    """The density λ exp(-λx); with `is_log` its logarithm."""
def _random_pdf_poisson(sample: Any, lam: Any, is_log: bool = False, out: Any = None, name: Any = None) -> Result:
    """The density λˣ exp(-λ) / x!; with `is_log` its logarithm."""
def _random_pdf_negative_binomial(sample: Any, k: Any, p: Any, is_log: bool = False, out: Any = None, name: Any = None) -> Result:
    """The density of the failures before the k-th success, each with probability p; with `is_log` its logarithm."""
def _random_pdf_generalized_negative_binomial(sample: Any, mu: Any, alpha: Any, is_log: bool = False, out: Any = None, name: Any = None) -> Result:
    """The density of counts with mean μ and variance μ + αμ²; with `is_log` its logarithm."""
def _random_pdf_dirichlet(sample: Any, alpha: Any, is_log: bool = False, out: Any = None, name: Any = None) -> Result:
    """The density of the Dirichlet distribution: samples (..., m, k) for alpha (..., k); with `is_log` its logarithm."""
def _zeros(shape: int | tuple[int, ...] = (), ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """Zeros."""
def _ones(shape: int | tuple[int, ...] = (), ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """Ones."""
def _full(shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any = ..., value: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """One value everywhere."""
def _eye(N: int = ..., M: int = 0, k: int = 0, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """Ones on the k-th diagonal of an N x M array (N x N where M is 0), zeros elsewhere."""
def _arange(start: float = ..., stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """Values from start up to stop, which is left out; from 0 to start where there is no stop.

    Each comes `repeat` times. In a graph with `infer_range` and without a stop: from start on, as
    many as the graph around it needs.
    """
def _linspace(start: float = ..., stop: float = ..., num: int = ..., endpoint: bool = True, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """`num` values evenly from start to stop, which is left out without `endpoint`."""
def _adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, rescale_grad: NDArray, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, eta: float = ..., clip_gradient: float = -1.0, out: Any = None, name: Any = None) -> NDArray:
    """Adam with the decay apart, w - eta (lr m / (√v + epsilon) + wd w).

    rescale_grad : (1,), or the first of more; nothing changes where it is 0, infinite or NaN, as
    after an overflow
    """
def _mp_adamw_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, weight32: NDArray, rescale_grad: NDArray, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, eta: float = ..., clip_gradient: float = -1.0, out: Any = None, name: Any = None) -> NDArray:
    """_adamw_update of `weight32`, a weight of 16 bits in float32."""
def _multi_adamw_update(*data: NDArray, lrs: float | tuple[float, ...] = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wds: float | tuple[float, ...] = ..., etas: float | tuple[float, ...] = ..., clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None) -> Result:
    """_adamw_update of many weights.

    data : weight, grad, mean, var of each weight; then rescale_grad
    """
def _multi_lamb_update(*data: NDArray, learning_rates: float | tuple[float, ...] = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, wds: float | tuple[float, ...] = ..., rescale_grad: float = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0, clip_gradient: float = -1.0, bias_correction: bool = True, step_count: int | tuple[int, ...] = ..., num_tensors: int = 1, out: Any = None, name: Any = None) -> Result:
    """Both phases of lamb_update, of many weights.

    data : weight, grad, mean, var of each weight
    """
def _multi_mp_adamw_update(*data: NDArray, lrs: float | tuple[float, ...] = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wds: float | tuple[float, ...] = ..., etas: float | tuple[float, ...] = ..., clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None) -> Result:
    """_mp_adamw_update of many weights.

    data : weight, grad, mean, var, weight32 of each weight; then rescale_grad
    """
def _multi_mp_lamb_update(*data: NDArray, learning_rates: float | tuple[float, ...] = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, wds: float | tuple[float, ...] = ..., rescale_grad: float = 1.0, lower_bound: float = -1.0, upper_bound: float = -1.0, clip_gradient: float = -1.0, bias_correction: bool = True, step_count: int | tuple[int, ...] = ..., num_tensors: int = 1, out: Any = None, name: Any = None) -> Result:
    """Both phases of mp_lamb_update, of many weights.

    data : weight, grad, mean, var, weight32 of each weight
    """
def _copyto(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Use x.copyto(y)."""
def _imdecode(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Use mx.image.imdecode."""
def _onehot_encode(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Use nd.onehot_encode."""
def _set_value(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Write x[:] = value."""
def _zeros_without_dtype(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Use nd.zeros with a dtype."""
def _npi_add(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x1 + x2."""
def _npi_add_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x1 + x2; x2 is the scalar."""
def _npi_subtract(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x1 - x2."""
def _npi_subtract_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x1 - x2; x2 is the scalar."""
def _npi_rsubtract_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x1 - x2; x1 is the scalar."""
def _npi_multiply(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The product, x1 x2."""
def _npi_multiply_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The product, x1 x2; x2 is the scalar."""
def _npi_true_divide(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x1 / x2."""
def _npi_true_divide_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x1 / x2; x2 is the scalar."""
def _npi_rtrue_divide_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x1 / x2; x1 is the scalar."""
def _npi_mod(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of x1 / x2, with the sign of x2."""
def _npi_mod_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of x1 / x2, with the sign of x2; x2 is the scalar."""
def _npi_rmod_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The remainder of x1 / x2, with the sign of x2; x1 is the scalar."""
def _npi_power(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The power, x1 to the x2."""
def _npi_power_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The power, x1 to the x2; x2 is the scalar."""
def _npi_rpower_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The power, x1 to the x2; x1 is the scalar."""
def _npi_maximum(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The larger of x1 and x2."""
def _npi_maximum_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The larger of x1 and x2; x2 is the scalar."""
def _npi_minimum(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The smaller of x1 and x2."""
def _npi_minimum_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The smaller of x1 and x2; x2 is the scalar."""
def _npi_hypot(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hypotenuse, √(x1² + x2²)."""
def _npi_hypot_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The hypotenuse, √(x1² + x2²); x2 is the scalar."""
def _npi_arctan2(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The angle of the point (x2, x1), in radians."""
def _npi_arctan2_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The angle of the point (x2, x1), in radians; x2 is the scalar."""
def _npi_rarctan2_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The angle of the point (x2, x1), in radians; x1 is the scalar."""
def _npi_copysign(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """x1 with the sign of x2."""
def _npi_copysign_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """x1 with the sign of x2; x2 is the scalar."""
def _npi_rcopysign_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """x1 with the sign of x2; x1 is the scalar."""
def _npi_ldexp(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """x1 times 2 to the x2."""
def _npi_ldexp_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """x1 times 2 to the x2; x2 is the scalar."""
def _npi_rldexp_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """x1 times 2 to the x2; x1 is the scalar."""
def _npi_lcm(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The least common multiple of x1 and x2."""
def _npi_lcm_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The least common multiple of x1 and x2; x2 is the scalar."""
def _npi_bitwise_and(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The bits that x1 and x2 have both."""
def _npi_bitwise_and_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The bits that x1 and x2 have both; x2 is the scalar."""
def _npi_bitwise_or(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The bits that x1 or x2 has."""
def _npi_bitwise_or_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The bits that x1 or x2 has; x2 is the scalar."""
def _npi_bitwise_xor(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The bits that one of x1 and x2 has."""
def _npi_bitwise_xor_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The bits that one of x1 and x2 has; x2 is the scalar."""
def _npi_equal(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 = x2."""
def _npi_equal_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 = x2; x2 is the scalar."""
def _npi_not_equal(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 ≠ x2."""
def _npi_not_equal_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 ≠ x2; x2 is the scalar."""
def _npi_greater(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 > x2."""
def _npi_greater_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 > x2; x2 is the scalar."""
def _npi_greater_equal(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 ≥ x2."""
def _npi_greater_equal_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 ≥ x2; x2 is the scalar."""
def _npi_less(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 < x2."""
def _npi_less_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 < x2; x2 is the scalar."""
def _npi_less_equal(x1: NDArray, x2: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 ≤ x2."""
def _npi_less_equal_scalar(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """True where x1 ≤ x2; x2 is the scalar."""
def _np_sum(a: NDArray, axis: int | tuple[int, ...] | None = None, dtype: Any | None = None, keepdims: bool = False, initial: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The sum over axes, plus `initial`."""
def _np_prod(a: NDArray, axis: int | tuple[int, ...] | None = None, dtype: Any | None = None, keepdims: bool = False, initial: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The product over axes, times `initial`."""
def _np_product(a: NDArray, axis: int | tuple[int, ...] | None = None, dtype: Any | None = None, keepdims: bool = False, initial: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The product over axes, times `initial`."""
def _npi_mean(a: NDArray, axis: int | tuple[int, ...] | None = None, dtype: Any | None = None, out: Any = None, keepdims: bool = False, initial: float | None = None, name: Any = None) -> NDArray:
    """The mean over axes; of integers in float32."""
def _npi_var(a: NDArray, axis: int | tuple[int, ...] | None = None, dtype: Any | None = None, out: Any = None, ddof: int = 0, keepdims: bool = False, name: Any = None) -> NDArray:
    """The variance over axes, Σ(a - mean)² / (n - ddof)."""
def _npi_std(a: NDArray, axis: int | tuple[int, ...] | None = None, dtype: Any | None = None, out: Any = None, ddof: int = 0, keepdims: bool = False, name: Any = None) -> NDArray:
    """The standard deviation over axes, the square root of the variance."""
def _np_max(a: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, initial: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The largest value over axes."""
def _np_amax(a: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, initial: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The largest value over axes."""
def _np_min(a: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, initial: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The smallest value over axes."""
def _np_amin(a: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, initial: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The smallest value over axes."""
def _np_all(a: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """True where no value over axes is 0."""
def _np_any(a: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """True where a value over axes is not 0."""
def _np_sometrue(a: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """True where a value over axes is not 0."""
def _npi_argmax(a: NDArray, axis: int | None = None, out: Any = None, keepdims: bool = False, name: Any = None) -> NDArray:
    """The index of the largest value along an axis."""
def _npi_argmin(a: NDArray, axis: int | None = None, out: Any = None, keepdims: bool = False, name: Any = None) -> NDArray:
    """The index of the smallest value along an axis."""
def _npi_average(a: NDArray, weights: NDArray | None = None, axis: int | tuple[int, ...] | None = None, returned: bool = False, weighted: bool = True, out: Any = None, name: Any = None) -> Result:
    """The mean over axes, weighted by `weights`; and the sum of the weights."""
def _npi_percentile(a: NDArray, q: NDArray | None = None, axis: int | tuple[int, ...] | None = None, interpolation: Literal['linear', 'lower', 'higher', 'midpoint', 'nearest'] = 'linear', keepdims: bool = False, q_scalar: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The q-th percentiles over axes; of integers in float32."""
def _np_reshape(a: NDArray, newshape: int | tuple[int, ...] = ..., order: str = 'C', out: Any = None, name: Any = None) -> NDArray:
    """The elements in another shape, in which -1 is the size that remains."""
def _npx_reshape(a: NDArray, newshape: int | tuple[int, ...] = ..., reverse: bool = False, order: str = 'C', out: Any = None, name: Any = None) -> NDArray:
    """The elements in another shape.

    -1 is the size that remains, -2 keeps a size, -3 leaves out one of 1, -4 keeps all that remain,
    -5 joins two, -6 splits one into the two that follow; `reverse` reads all of it from the right.
    """
def _npi_reshape(a: NDArray, newshape: int | tuple[int, ...] = ..., reverse: bool = False, order: str = 'C', out: Any = None, name: Any = None) -> NDArray:
    """The elements in another shape.

    -1 is the size that remains, -2 keeps a size, -3 leaves out one of 1, -4 keeps all that remain,
    -5 joins two, -6 splits one into the two that follow; `reverse` reads all of it from the right.
    """
def _np_transpose(a: NDArray, axes: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The axes in another order; reversed where none is given."""
def _np_squeeze(a: NDArray, axis: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """Without the axes of size 1: all of them, or those given."""
def _np_moveaxis(a: NDArray, source: int | tuple[int, ...] = ..., destination: int | tuple[int, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """Axes in other places; the others keep their order."""
def _np_roll(a: NDArray, shift: int | tuple[int, ...] | None = None, axis: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The elements moved along axes, the last ones to the beginning."""
def _npi_flip(m: NDArray, axis: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The elements in reverse order along axes, by default all."""
def _npi_rot90(m: NDArray, k: int = 1, axes: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The elements turned by k times 90 degrees in the plane of two axes."""
def _npi_broadcast_to(array: NDArray, shape: int | tuple[int, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """The values repeated to a shape."""
def _np_copy(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The same values, as a new array."""
def _npi_swapaxes(a: NDArray, dim1: int = 0, dim2: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """Two axes in each other's place."""
def _npi_expand_dims(a: NDArray, axis: int | tuple[int, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """New axes of size 1, at these places of the result."""
def _npi_vstack(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The arrays as rows of one, one after the other."""
def _npi_column_stack(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The arrays as columns of one."""
def _npi_hstack(*data: NDArray, dim: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """The arrays one after the other along axis 1, or 0 where there is one axis."""
def _npi_dstack(*data: NDArray, dim: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """The arrays one after the other along axis 2."""
def _npi_concatenate(*data: NDArray, dim: int | None = 1, out: Any = None, name: Any = None) -> NDArray:
    """The arrays one after the other along an axis; None: all of them flattened."""
def _npi_stack(*data: NDArray, axis: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The arrays one after the other along a new axis."""
def _np_atleast_1d(*arys: NDArray, num_args: int = 1, out: Any = None, name: Any = None) -> Result:
    """The arrays with 1 axes or more."""
def _np_atleast_2d(*arys: NDArray, num_args: int = 1, out: Any = None, name: Any = None) -> Result:
    """The arrays with 2 axes or more."""
def _np_atleast_3d(*arys: NDArray, num_args: int = 1, out: Any = None, name: Any = None) -> Result:
    """The arrays with 3 axes or more."""
def _npi_split(ary: NDArray, indices: int | tuple[int, ...] = ..., axis: int = 0, squeeze_axis: bool = False, sections: int = 0, out: Any = None, name: Any = None) -> Result:
    """Parts along an axis: so many equal `sections`, or one from each index to the next."""
def _npi_dsplit(ary: NDArray, indices: int | tuple[int, ...] = ..., axis: int = 0, squeeze_axis: bool = False, sections: int = 0, out: Any = None, name: Any = None) -> Result:
    """Parts along an axis: so many equal `sections`, or one from each index to the next."""
def _npi_hsplit(ary: NDArray, indices: int | tuple[int, ...] = ..., axis: int = 1, squeeze_axis: bool = False, sections: int = 0, out: Any = None, name: Any = None) -> Result:
    """Parts along axis 1, or 0 where there is one axis; as of `split`."""
def _npi_array_split(ary: NDArray, sections: int = ..., axis: int = 0, out: Any = None, name: Any = None) -> Result:
    """So many parts along an axis, of which the first are one longer where they cannot be equal."""
def _npi_resize(a: NDArray, new_shape: int | tuple[int, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """The elements in another shape, again and again; zeros where there are none."""
def _npi_tile(A: NDArray, reps: int | tuple[int, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """The array repeated along each axis."""
def _np_repeat(a: NDArray, repeats: int | tuple[int, ...] = ..., axis: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """Each element so many times, along an axis; by default of the flattened array."""
def _np_diag(array: NDArray, k: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The k-th diagonal of a matrix, or the matrix of a diagonal."""
def _np_diagflat(array: NDArray, k: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The matrix whose k-th diagonal has all the elements."""
def _npi_tril(m: NDArray, k: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The matrices with zeros above the k-th diagonal; of one axis, a matrix of equal rows."""
def _np_diagonal(a: NDArray, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """The diagonal of the plane of two axes, as the last axis."""
def _np_trace(a: NDArray, offset: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """The sum of a diagonal of the plane of two axes."""
def _npi_pad(x: NDArray, pad_width: int | tuple[int, ...] | tuple[int | tuple[int, ...], ...] = ..., mode: Literal['constant', 'edge', 'maximum', 'minimum', 'reflect', 'symmetric'] = 'constant', constant_value: float = 0.0, reflect_type: str = 'even', out: Any = None, name: Any = None) -> NDArray:
    """Elements added before and after, (before, after) for each axis.

    They are `constant_value`, the element at the edge, the largest or the smallest of the axis,
    or the elements in reverse order without the one at the edge, or with it.
    """
def _npi_clip(a: NDArray, a_min: float | None = ..., a_max: float | None = ..., out: Any = None, name: Any = None) -> NDArray:
    """The values, none below `a_min` or above `a_max`; None bounds nothing."""
def _npi_diff(a: NDArray, n: int = 1, axis: int = -1, out: Any = None, name: Any = None) -> NDArray:
    """The n-th differences between neighbours along an axis."""
def _npi_ediff1d(ary: NDArray, to_begin: NDArray | None = None, to_end: NDArray | None = None, to_begin_arr_given: bool = False, to_end_arr_given: bool = False, to_begin_scalar: float | None = None, to_end_scalar: float | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The differences between the elements that follow each other, with others around them."""
def _npi_sort(a: NDArray, axis: int | None = -1, is_ascend: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The values in order along an axis; without one all of them."""
def _npi_argsort(a: NDArray, axis: int | None = -1, is_ascend: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The indices that bring the values in order, int64."""
def _npi_unique(ar: NDArray, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None, out: Any = None, name: Any = None) -> Result:
    """The values in order, each once, and what is asked for of where they are, as int64."""
def _npi_take(a: NDArray, indices: NDArray, axis: int | None = 0, mode: Literal['raise', 'clip', 'wrap'] = 'raise', out: Any = None, name: Any = None) -> NDArray:
    """The slices of `a` at the indices, whose shape takes the place of the axis."""
def _npi_where(condition: NDArray, x: NDArray, y: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """x where the condition is not 0, else y."""
def _npi_where_lscalar(condition: NDArray, x: NDArray, scalar: float = 0.0, out: Any = None, name: Any = None) -> NDArray:
    """x where the condition is not 0, else the scalar."""
def _npi_where_rscalar(condition: NDArray, y: NDArray, scalar: float = 0.0, out: Any = None, name: Any = None) -> NDArray:
    """The scalar where the condition is not 0, else y."""
def _npi_where_scalar2(condition: NDArray, x: float = 0.0, y: float = 0.0, out: Any = None, name: Any = None) -> NDArray:
    """x where the condition is not 0, else y, which are numbers; float32."""
def _npx_nonzero(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The indices of the elements that are not 0, a row for each: int64."""
def _npi_nonzero(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The indices of the elements that are not 0, a row for each: int64."""
def _npi_slice(data: NDArray, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """The elements at [begin:end:step] of the first axes, as NumPy has them."""
def _npi_boolean_mask(data: NDArray, index: NDArray, axis: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The elements where a mask of the axes from `axis` on is not 0."""
def _npi_boolean_mask_assign_scalar(data: NDArray, mask: NDArray, value: float = ..., start_axis: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The data with a number where the mask is not 0."""
def _npi_boolean_mask_assign_tensor(data: NDArray, mask: NDArray, value: NDArray, start_axis: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The data with other values where the mask is not 0."""
def _npi_bincount(x: NDArray, weights: NDArray | None = None, minlength: int = 0, has_weights: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """Count each integer from 0 on in an array, or sum its weights."""
def _npi_diag_indices_from(arr: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The indices of the diagonal, a row for each axis: int64."""
def _npx_constraint_check(x: NDArray, msg: str = 'Constraint violated.', out: Any = None, name: Any = None) -> NDArray:
    """True, a bool of the shape (), where no element is 0.

    Raises
    ------
    ArgumentError
        An element is 0: with the message.
    """
def _npi_unravel_index(indices: NDArray, shape: int | tuple[int, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """The indices of places of the flattened array, a row for each axis."""
def _npi_delete(arr: NDArray, obj: NDArray | None = None, start: int | None = None, stop: int | None = None, step: int | None = None, int_ind: int | None = None, axis: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The array without the slices at some places along an axis."""
def _npi_insert_scalar(arr: NDArray, values: NDArray | None = None, val: float | None = None, start: int | None = None, stop: int | None = None, step: int | None = None, int_ind: int | None = None, axis: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The array with values before one place along an axis."""
def _npi_insert_slice(arr: NDArray, values: NDArray | None = None, val: float | None = None, start: int | None = None, stop: int | None = None, step: int | None = None, int_ind: int | None = None, axis: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The array with values before the places of a slice."""
def _npi_insert_tensor(arr: NDArray, values: NDArray | None = None, obj: NDArray | None = None, val: float | None = None, start: int | None = None, stop: int | None = None, step: int | None = None, int_ind: int | None = None, axis: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The array with values before the places of an array."""
def _npi_zeros(shape: int | tuple[int, ...] = (), ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """Zeros."""
def _npi_ones(shape: int | tuple[int, ...] = (), ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """Ones."""
def _npi_identity(shape: int | tuple[int, ...] = (), ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """A matrix of ones on the diagonal, and zeros elsewhere."""
def _npi_full(shape: int | tuple[int, ...] = (), ctx: str = '', dtype: Any = ..., value: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """One value everywhere."""
def _npi_full_like(a: NDArray, fill_value: float = ..., dtype: Any | None = None, ctx: str = '', out: Any = None, name: Any = None) -> NDArray:
    """One value everywhere, in the shape of an array."""
def _npi_arange(start: float = ..., stop: float | None = None, step: float = 1.0, repeat: int = 1, infer_range: bool = False, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """Values from start up to stop, which is left out; from 0 to start where there is no stop."""
def _npi_linspace(start: float = ..., stop: float = ..., num: int = 50, endpoint: bool = True, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """`num` values evenly from start to stop, which is left out without `endpoint`."""
def _npi_logspace(start: float = ..., stop: float = ..., num: int = 50, endpoint: bool = True, base: float = 10.0, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """`num` powers of the base, whose exponents are evenly from start to stop."""
def _npi_eye(N: int = ..., M: int | None = None, k: int = 0, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """Ones on the k-th diagonal of an N x M array (N x N without M), zeros elsewhere."""
def _npi_indices(dimensions: int | tuple[int, ...] = ..., dtype: Any = ..., ctx: str = '', out: Any = None, name: Any = None) -> NDArray:
    """The indices of the elements of an array: along each axis, one after the other."""
def _npi_hanning(M: int | None = None, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """The Hann window of M points."""
def _npi_hamming(M: int | None = None, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """The Hamming window of M points."""
def _npi_blackman(M: int | None = None, ctx: str = '', dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """The Blackman window of M points."""
def _npi_uniform(input1: Any = None, input2: Any = None, low: float | None = None, high: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', dtype: Any = ..., out: Any = None, name: Any = None) -> Result:
    """Draws uniform on [low, high)."""
def _npi_uniform_n(input1: Any = None, input2: Any = None, low: float | None = None, high: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', dtype: Any = ..., out: Any = None, name: Any = None) -> Result:
    """Draws uniform on [low, high)."""
def _npi_normal(input1: Any = None, input2: Any = None, loc: float | None = None, scale: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', dtype: Any = ..., out: Any = None, name: Any = None) -> Result:
    """Draws from the normal distribution with mean loc and deviation scale."""
def _npi_normal_n(input1: Any = None, input2: Any = None, loc: float | None = None, scale: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', dtype: Any = ..., out: Any = None, name: Any = None) -> Result:
    """Draws from the normal distribution with mean loc and deviation scale."""
def _npi_gumbel(input1: Any = None, input2: Any = None, loc: float | None = None, scale: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', out: Any = None, name: Any = None) -> Result:
    """Draws from the Gumbel distribution with mode loc."""
def _npi_logistic(input1: Any = None, input2: Any = None, loc: float | None = None, scale: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', out: Any = None, name: Any = None) -> Result:
    """Draws from the logistic distribution with mean loc."""
def _npi_gamma(input1: Any = None, input2: Any = None, shape: float | None = None, scale: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', dtype: Any = ..., out: Any = None, name: Any = None) -> Result:
    """Draws of a shape and a scale, mean shape scale."""
def _npi_exponential(input1: Any = None, scale: float | None = 1.0, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', out: Any = None, name: Any = None) -> Result:
    """Draws from the exponential distribution with mean scale."""
def _npi_rayleigh(input1: Any = None, scale: float | None = 1.0, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', out: Any = None, name: Any = None) -> Result:
    """Draws from the Rayleigh distribution with mode scale."""
def _npi_weibull(input1: Any = None, a: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', out: Any = None, name: Any = None) -> Result:
    """Draws from the Weibull distribution of shape a."""
def _npi_pareto(input1: Any = None, a: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', out: Any = None, name: Any = None) -> Result:
    """Draws from the Pareto II distribution of shape a."""
def _npi_powerd(input1: Any = None, a: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', out: Any = None, name: Any = None) -> Result:
    """Draws in [0, 1) with density a yᵃ⁻¹."""
def _npi_bernoulli(input1: NDArray | None = None, prob: float | None = None, logit: float | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', dtype: Any = ..., is_logit: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """Draws 1 with a probability, or with that of a logit, else 0."""
def _npi_multinomial(a: NDArray | None = None, n: int = ..., pvals: float | tuple[float, ...] | None = None, size: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """How often each outcome comes in n draws with the probabilities pvals: (size, outcomes)."""
def _npi_multivariate_normal(mean: NDArray, cov: NDArray, size: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """Draws from normal distributions with a mean and a matrix of covariance."""
def _npi_choice(input1: NDArray | None = None, input2: NDArray | None = None, a: int | None = None, size: int | tuple[int, ...] | None = None, ctx: str = 'cpu', replace: bool = True, weighted: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """Draws elements of an array, or integers below a, evenly or by weights."""
def _np_dot(a: NDArray, b: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum over the last axis of a and the second to last of b, its only one if it has one."""
def _npi_matmul(a: NDArray, b: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The product of matrices, or of stacks of them, whose other axes broadcast."""
def _npi_tensordot(a: NDArray, b: NDArray, a_axes_summed: int | tuple[int, ...] = ..., b_axes_summed: int | tuple[int, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """The sum of the products over axes of a and of b."""
def _npi_tensordot_int_axes(a: NDArray, b: NDArray, axes: int = ..., out: Any = None, name: Any = None) -> NDArray:
    """The sum of the products over so many last axes of a and first ones of b."""
def _npi_einsum(*data: NDArray, subscripts: str = '', optimize: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The sum of products that `subscripts` describe: ``'ij,jk->ik'``."""
def _npi_inv(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse."""
def _npi_det(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The determinant."""
def _npi_slogdet(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sign, and ln |det a|."""
def _npi_cholesky(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The lower triangular l, a = l lᵀ."""
def _npi_svd(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """u, s and vᵀ, a = u diag(s) vᵀ, without the columns that s leaves out."""
def _npi_eig(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The eigenvalues and eigenvectors, which have to be real."""
def _npi_eigvals(a: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The eigenvalues, which have to be real."""
def _npi_eigh(a: NDArray, UPLO: Literal['L', 'U'] = 'L', out: Any = None, name: Any = None) -> Result:
    """The eigenvalues and eigenvectors of symmetric matrices, of which one triangle is read."""
def _npi_eigvalsh(a: NDArray, UPLO: Literal['L', 'U'] = 'L', out: Any = None, name: Any = None) -> NDArray:
    """The eigenvalues of symmetric matrices, of which one triangle is read."""
def _npi_norm(x: NDArray, ord: str | None = None, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The norm of vectors or matrices, as of `numpy.linalg.norm`."""
def _npi_solve(a: NDArray, b: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The x of a x = b."""
def _npi_pinv(a: NDArray, rcond: NDArray, hermitian: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The pseudo-inverse; singular values below rcond times the largest are taken as 0."""
def _npi_pinv_scalar_rcond(a: NDArray, rcond: float = 1e-15, hermitian: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The pseudo-inverse; singular values below rcond times the largest are taken as 0."""
def _npi_tensorinv(a: NDArray, ind: int = 2, out: Any = None, name: Any = None) -> NDArray:
    """The inverse as to tensordot over `ind` axes."""
def _npi_tensorsolve(a: NDArray, b: NDArray, a_axes: int | tuple[int, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """The x of tensordot(a, x, axes=x.ndim) = b, with `a_axes` of a moved to its end."""
def _npi_polyval(p: NDArray, x: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The polynomial with the coefficients p, the highest power first, at x."""
def _npx_activation(data: NDArray, act_type: Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., out: Any = None, name: Any = None) -> NDArray:
    """max(x, 0), 1 / (1 + e⁻ˣ), log(1 + eˣ), x / (1 + |x|) or tanh x, as `act_type` says."""
def _npx_batch_norm(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray, moving_var: NDArray, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None) -> Result:
    """gamma (x - mean) / √(var + eps) + beta, for each channel; gamma is taken as 1 by `fix_gamma`.

    Training takes mean and variance (Σ(x - mean)² / n) of the batch, and moves the moving ones:
    moving = momentum moving + (1 - momentum) batch. Otherwise, and with `use_global_stats`, the
    moving ones are taken. With `output_mean_var` also the mean and 1 / √(var + eps).

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    """
def _npx_cast(data: NDArray, dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """The values in another dtype; floats become integers by truncation."""
def _npx_convolution(data: NDArray, weight: NDArray, bias: NDArray | None = None, kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC'] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The correlation of data with each of `num_filter` kernels, in 1, 2 or 3 dimensions.

    data : (n, c, ...)      weight : (num_filter, c / num_group, *kernel)      bias : (num_filter,)

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    ArgumentError
        `bias` is given with `no_bias`, or missing without it.
    """
def _npx_deconvolution(data: NDArray, weight: NDArray, bias: NDArray | None = None, kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), adj: int | tuple[int, ...] = (), target_shape: int | tuple[int, ...] = (), num_filter: int = ..., num_group: int = 1, workspace: int = 512, no_bias: bool = True, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC'] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The transpose of Convolution: what its gradient does to the data.

    data : (n, c, ...)      weight : (c, num_filter / num_group, *kernel)      bias : (num_filter,)

    The size is stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj, or `target_shape`, from
    which pad and adj then follow.

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    ArgumentError
        `target_shape` cannot be reached; or `bias` is given with `no_bias`, or missing without it.
    """
def _npx_dropout(data: NDArray, p: float = 0.5, mode: Literal['always', 'training'] = 'training', axes: int | tuple[int, ...] = (), cudnn_off: bool | None = False, out: Any = None, name: Any = None) -> NDArray:
    """0 with probability p, else x / (1 - p); x itself when not training, unless mode is 'always'.

    On `axes` one draw holds for all.

    Raises
    ------
    ArgumentError
        `p` is not from 0 to 1.
    """
def _npx_embedding(data: NDArray, weight: NDArray, input_dim: int = ..., output_dim: int = ..., dtype: Any = ..., sparse_grad: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The rows of `weight` at the indices in `data`; those outside take the nearest row.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)

    With `sparse_grad` the gradient of a variable has its rows alone, if it is kept as row_sparse.

    Raises
    ------
    ShapeError
        `weight` is not (input_dim, output_dim).
    """
def _npx_batch_flatten(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """All axes but the first as one: (n, a, b) becomes (n, a b), and (n,) becomes (n, 1)."""
def _npx_fully_connected(data: NDArray, weight: NDArray, bias: NDArray | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """The affine map, y = x Wᵀ + b.

    data : (n, ...), taken as (n, k); without `flatten` (..., k)      weight : (num_hidden, k)
    bias : (num_hidden,)      y : (n, num_hidden), or (..., num_hidden)

    Raises
    ------
    ShapeError
        `weight` or `bias` has another shape than `num_hidden` and `data` ask for.
    ArgumentError
        `bias` is given with `no_bias`, or missing without it.
    """
def _npx_layer_norm(data: NDArray, gamma: NDArray, beta: NDArray, axis: int = -1, eps: float = 1e-05, output_mean_var: bool = False, out: Any = None, name: Any = None) -> Result:
    """gamma (x - mean) / √(var + eps) + beta, with mean and variance over an axis.

    gamma, beta : (data.shape[axis],)

    With `output_mean_var` also the mean and √(var + eps), the axis with size 1.

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    """
def _npx_leaky_relu(data: NDArray, gamma: NDArray | None = None, act_type: Literal['elu', 'gelu', 'leaky', 'prelu', 'rrelu', 'selu'] = 'leaky', slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, out: Any = None, name: Any = None) -> Result:
    """x where it is positive, and below:

    leaky: slope x. elu: slope (eˣ - 1). prelu: gamma x, one gamma, one for each channel, or one for
    each example and channel.
    rrelu: when training a slope drawn from lower_bound to upper_bound for each element, else their
    mean; a second output has the slopes that were drawn, or zeros. selu is a scaled elu, gelu is
    x Φ(x).

    Raises
    ------
    ArgumentError
        `gamma` is missing for prelu, or given for another `act_type`.
    """
def _npx_pooling(data: NDArray, kernel: int | tuple[int, ...] = (), pool_type: Literal['avg', 'lp', 'max', 'sum'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: Literal['full', 'same', 'valid'] = 'valid', stride: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), p_value: int | None = None, count_include_pad: bool | None = None, layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC', 'NWC'] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The largest, the mean, the sum or the p-norm (Σxᵖ)^(1/p) of each window.

    The output's size is (size + 2 pad - kernel) / stride + 1, rounded down by ``valid`` and up by
    ``full``; by ``same`` it is size / stride, rounded up. `global_pool` has one window, of
    everything. `count_include_pad` says whether the mean counts the padding.

    data : (n, c, ...)

    Raises
    ------
    ArgumentError
        `p_value` is not 1, 2 or 3 where `pool_type` is 'lp'.
    ShapeError
        The kernel does not fit into the padded axis, or is not larger than the padding.
    """
def _npx_rnn(data: NDArray, parameters: NDArray, state: NDArray, state_cell: NDArray | None = None, sequence_length: NDArray | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: Literal['gru', 'lstm', 'rnn_relu', 'rnn_tanh'] = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, out: Any = None, name: Any = None) -> Result:
    """Recurrent layers, one above the other, each over all t steps of n sequences.

    rnn_tanh, rnn_relu: h' = f(W x + b + R h + c).
    lstm: s' = σ(f) s + σ(i) tanh(g), h' = σ(o) tanh(s'), where i, f, g, o are W x + b + R h + c.
    gru: h' = (1 - σ(z)) tanh(W x + b + σ(r) (R h + c)) + σ(z) h, with r, z as the gates of lstm.

    data : (t, n, k)      parameters : (size,), see below
    state : (num_layers, n, state_size), h before the first step
    state_cell : as state, s before the first step; for lstm only
    y : (t, n, state_size), h of the last layer; with `state_outputs` also the last h, and s

    `parameters` has W and R of each layer, then b and c of each, the rows in the order of gates
    i, f, g, o and r, z, n. `bidirectional` puts beside each layer one that runs from the last step
    to the first: twice the layers and states, and h of both in one, in y and for the next layer.
    `p` is the rate of dropout between layers, in training. With `projection_size` lstm multiplies
    h by one matrix more, which stands behind R; this is the size of h then, but not of s. With
    `use_sequence_length`, sequence_length : (n,) has the number of steps of each sequence; behind
    them y is 0. A state for n = 0 stands for zeros.

    Raises
    ------
    ArgumentError
        `num_layers` is less than 1, or `p` is not a probability.
    UnsupportedError
        The states of an LSTM are to be clipped, or a projection is asked of another mode or is no
        smaller than the state.
    ShapeError
        A parameter or a state has another shape than `data` and the attributes ask for.
    """
def _npx_roi_pooling(data: NDArray, rois: NDArray, pooled_size: int | tuple[int, ...] = ..., spatial_scale: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The largest values in the bins of each region, which has whole pixels; 0 in empty bins.

    data : (n, c, h, w)      rois : (r, 5)      y : (r, c, *pooled_size)

    (Girshick 2015, Fast R-CNN)

    Raises
    ------
    ShapeError
        `data` or `rois` has another shape than these, or `pooled_size` is not two positive sizes.
    """
def _npx_sequence_mask(data: NDArray, sequence_length: NDArray | None = None, use_sequence_length: bool = False, value: float = 0.0, axis: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """`value` after the end of each sequence.

    data : (time, batch, ...), with axis 1 (batch, time, ...)      sequence_length : (batch,)

    Raises
    ------
    ShapeError
        `data` has fewer than 2 axes, or `sequence_length` is not a length for each sequence.
    ArgumentError
        `sequence_length` is given without `use_sequence_length`, or missing with it.
    """
def _npx_multibox_detection(cls_prob: NDArray, loc_pred: NDArray, anchor: NDArray, clip: bool = True, threshold: float = 0.01, background_id: int = 0, nms_threshold: float = 0.5, force_suppress: bool = False, variances: float | tuple[float, ...] = (0.1, 0.1, 0.2, 0.2), nms_topk: int = -1, out: Any = None, name: Any = None) -> NDArray:
    """The boxes that a detector has found, best first: rows of class, score and box.

    cls_prob : (b, classes + 1, n), the first is background, whatever `background_id` says
    loc_pred : (b, 4n)      anchor : (1, n, 4)      y : (b, n, 6)

    An anchor counts whose likeliest class has `threshold` or more. A box takes the class -1 that
    has an intersection over union of `nms_threshold` or more with a better one of its class, or of
    any with `force_suppress`, and so do all but the best `nms_topk`, where it is positive; those
    come last, in the order of the anchors. Behind the boxes are rows of -1. With an
    `nms_threshold` that is not in (0, 1] all stay, in the order of the anchors.
    """
def _npx_multibox_prior(data: NDArray, sizes: float | tuple[float, ...] = (1.0,), ratios: float | tuple[float, ...] = (1.0,), clip: bool = False, steps: float | tuple[float, ...] = (-1.0, -1.0), offsets: float | tuple[float, ...] = (0.5, 0.5), out: Any = None, name: Any = None) -> NDArray:
    """Anchors around the pixels of an image, in parts of its width and height.

    data : (n, c, h, w)      y : (1, h w a, 4), a = len(sizes) + len(ratios) - 1

    The anchors of a pixel have each of the sizes with the first ratio, and each other ratio with
    the first size: heights size / √ratio, widths size √ratio h / w. The pixels are `steps` apart,
    (y, x), or 1 / h and 1 / w where these are not positive; `offsets` are their centres in them.
    """
def _npx_multibox_target(anchor: NDArray, label: NDArray, cls_pred: NDArray, overlap_threshold: float = 0.5, ignore_label: float = -1.0, negative_mining_ratio: float = -1.0, negative_mining_thresh: float = 0.5, minimum_negative_samples: int = 0, variances: float | tuple[float, ...] = (0.1, 0.1, 0.2, 0.2), out: Any = None, name: Any = None) -> Result:
    """What a detector is to predict for its anchors, from the boxes in the images.

    anchor : (1, n, 4)      label : (b, m, 5), class and box; behind the first class -1 no boxes
    cls_pred : (b, classes + 1, n)
    y : offsets (b, 4n), where they count (b, 4n), classes (b, n)

    Each box is matched with the anchor that covers it best, the best pair first, and each other
    anchor with its best box where their intersection over union is above `overlap_threshold`; its
    class is that of the box plus 1. The others are background, 0. With a `negative_mining_ratio`
    only so many times the matched ones are: of those below `negative_mining_thresh` the least
    likely to be predicted as background; the rest, and all anchors of an image without boxes, get
    `ignore_label`. `minimum_negative_samples` has no effect, as in MXNet.
    """
def _npx_arange_like(data: NDArray, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: str = '', axis: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """start, start + step, ... in the shape of data, or along one axis as a vector.

    Each comes `repeat` times. For integers start and step are truncated.
    """
def _npx__image_adjust_lighting(data: NDArray, alpha: float | tuple[float, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """Another light, as AlexNet adds it: each principal component of colours times its alpha.

    data : (h, w, c), c is 1, which changes nothing, or 3      alpha : three numbers
    """
def _npx__image_crop(data: NDArray, x: int = ..., y: int = ..., width: int = ..., height: int = ..., out: Any = None, name: Any = None) -> NDArray:
    """The part of an image whose upper left pixel is in row y and column x.

    data : (h, w, c) or (n, h, w, c)      y : (height, width, c) or (n, height, width, c)
    """
def _npx__image_flip_left_right(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The image mirrored, left to right.

    data : (h, w, c), c is 1 or 3
    """
def _npx__image_flip_top_bottom(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The image mirrored, top to bottom.

    data : (h, w, c), c is 1 or 3
    """
def _npx__image_normalize(data: NDArray, mean: float | tuple[float, ...] = (0.0, 0.0, 0.0, 0.0), std: float | tuple[float, ...] = (1.0, 1.0, 1.0, 1.0), out: Any = None, name: Any = None) -> NDArray:
    """Channels with other means and deviations, y = (data - mean) / std.

    data : (c, h, w) or (n, c, h, w), c is 1 or 3      mean, std : one number, or one per channel
    """
def _npx__image_random_brightness(data: NDArray, min_factor: float = ..., max_factor: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The image times a factor that is drawn from [min_factor, max_factor).

    data : (h, w, c), c is 1 or 3
    """
def _npx__image_random_color_jitter(data: NDArray, brightness: float = ..., contrast: float = ..., saturation: float = ..., hue: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """Brightness, contrast, saturation and hue changed, in random order.

    data : (h, w, c), c is 1 or 3

    Each by a factor from [max(0, 1 - a), 1 + a), where a is its argument; one of 0 is left out.
    """
def _npx__image_random_contrast(data: NDArray, min_factor: float = ..., max_factor: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The differences from the mean brightness times a factor from [min_factor, max_factor).

    data : (h, w, c), c is 1 or 3
    """
def _npx__image_random_flip_left_right(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The image, mirrored left to right with probability 1/2.

    data : (h, w, c), c is 1 or 3
    """
def _npx__image_random_flip_top_bottom(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The image, mirrored top to bottom with probability 1/2.

    data : (h, w, c), c is 1 or 3
    """
def _npx__image_random_hue(data: NDArray, min_factor: float = ..., max_factor: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The colours turned by 360 degrees times a factor from [min_factor, max_factor).

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
def _npx__image_random_lighting(data: NDArray, alpha_std: float = 0.05, out: Any = None, name: Any = None) -> NDArray:
    """Another light, with alphas that are drawn with deviation `alpha_std`.

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
def _npx__image_random_saturation(data: NDArray, min_factor: float = ..., max_factor: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The differences of a pixel's channels from its brightness times a factor that is drawn.

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
def _npx__image_resize(data: NDArray, size: int | tuple[int, ...] = (), keep_ratio: bool = False, interp: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """Images in another size, of uint8, float32 or float64.

    data : (h, w, c) or (n, h, w, c)
    size : (width, height); or one number for both, with `keep_ratio` for the shorter side
    interp : 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos over 8 x 8 pixels
    """
def _npx__image_to_tensor(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Pixels as a network takes them: the channels first, and from 0 to 1, y = data / 255.

    data : (h, w, c) or (n, h, w, c)      y : (c, h, w) or (n, c, h, w), float32
    """
def _npx_batch_dot(lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['csr', 'default', 'row_sparse'] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The product of each pair of matrices.

    lhs : (..., n, k)      rhs : (..., k, m)      y : (..., n, m)
    """
def _npx_erf(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The error function."""
def _npx_erfinv(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse of the error function."""
def _npx_gamma(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The gamma function; NaN at -1, -2, ..."""
def _npx_gammaln(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The logarithm of the absolute value of the gamma function."""
def _npx_gather_nd(data: NDArray, indices: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """y[i] = data[indices[0, i], ..., indices[m - 1, i]], for every place i.

    data : (a1, ..., an)      indices : (m, ...)      y : (..., a(m+1), ..., an)

    Raises
    ------
    ShapeError
        `indices` has fewer than 2 axes, or its first is longer than the number of axes that there
        are.
    """
def _npx_log_softmax(data: NDArray, axis: int = -1, temperature: float | None = None, dtype: Any | None = None, use_length: bool | None = False, out: Any = None, name: Any = None) -> NDArray:
    """The logarithm of softmax.

    Raises
    ------
    UnsupportedError
        `use_length` is True: there is no length.
    """
def _npx_one_hot(indices: NDArray, depth: int = ..., on_value: float = 1.0, off_value: float = 0.0, dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """`on_value` at the index and `off_value` elsewhere, along a new last axis of size `depth`."""
def _npx_pick(data: NDArray, index: NDArray, axis: int | None = -1, keepdims: bool = False, mode: Literal['clip', 'wrap'] = 'clip', out: Any = None, name: Any = None) -> NDArray:
    """One element along an axis for each place of the others.

    index : the shape of data without the axis, or with size 1 there

    Raises
    ------
    UnsupportedError
        `axis` is None.
    ShapeError
        `index` does not have the shape of `data` without the axis.
    """
def _npx_relu(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The positive part, max(x, 0)."""
def _npx_reshape_like(lhs: NDArray, rhs: NDArray, lhs_begin: int | None = None, lhs_end: int | None = None, rhs_begin: int | None = None, rhs_end: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The elements of lhs in the shape of rhs; what is replaced is the sizes from begin to end.

    Raises
    ------
    ShapeError
        The new shape has another number of elements.
    """
def _npx_shape_array(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The shape, as an int64 array."""
def _npx_sigmoid(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The logistic function, 1 / (1 + e⁻ˣ)."""
def _npx_slice(data: NDArray, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """data[begin:end:step] on the first axes; a step may be negative."""
def _npx_smooth_l1(data: NDArray, scalar: float = 1.0, out: Any = None, name: Any = None) -> NDArray:
    """Quadratic near zero, linear beyond: (σx)² / 2 where |x| < 1/σ², else |x| - 1 / 2σ².

    σ is `scalar`. For integers it is truncated, and so is the result.
    """
def _npx_softmax(data: NDArray, length: NDArray | None = None, axis: int = -1, temperature: float | None = None, dtype: Any | None = None, use_length: bool | None = False, out: Any = None, name: Any = None) -> NDArray:
    """exp(x / temperature) over its sum along an axis.

    With `use_length` over the first `length` elements only, and 0 after them.

    length : the shape of data without the axis

    Raises
    ------
    ArgumentError
        `length` is given without `use_length`, or missing with it.
    """
def _npx_topk(data: NDArray, axis: int | None = -1, k: int = 1, ret_typ: Literal['both', 'indices', 'mask', 'value'] = 'indices', is_ascend: bool = False, dtype: Any = ..., out: Any = None, name: Any = None) -> Result:
    """The k largest values along an axis, or the smallest with `is_ascend`; all where k is not
    positive.

    Returns their indices, their values, ``both`` (values, indices), or a mask of ones.

    Raises
    ------
    ArgumentError
        `k` is greater than the number of values.
    """
def _npi_cast(data: NDArray, dtype: Any = ..., out: Any = None, name: Any = None) -> NDArray:
    """The values in another dtype; floats become integers by truncation."""
def _npi_random_randint(low: int = ..., high: int = ..., shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None) -> NDArray:
    """Integers, each from low to high - 1 as likely; int32 where no dtype is given."""
def _npi_rnn_param_concat(*data: NDArray, dim: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """The arrays one after the other along an axis: the `parameters` of RNN from flat parts."""
def _npi_shuffle(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The same rows in random order."""
def _npi_slice_assign(lhs: NDArray, rhs: NDArray, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """lhs with rhs at [begin:end:step]."""
def _npi_slice_assign_scalar(data: NDArray, scalar: float = 0.0, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """data with a number at [begin:end:step]."""
def _npi_scatter_set_nd(lhs: NDArray, rhs: NDArray, indices: NDArray, shape: int | tuple[int, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """lhs with rhs[i] at indices[0, i], ..., indices[m - 1, i]."""
def _npi_gather_nd(data: NDArray, indices: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """y[i] = data[indices[0, i], ..., indices[m - 1, i]], for every place i.

    data : (a1, ..., an)      indices : (m, ...)      y : (..., a(m+1), ..., an)

    Raises
    ------
    ShapeError
        `indices` has fewer than 2 axes, or its first is longer than the number of axes that there
        are.
    """
def _npi_histogram(data: NDArray, bins: NDArray | None = None, bin_cnt: int | None = None, range: float | tuple[float, ...] | None = None, out: Any = None, name: Any = None) -> Result:
    """How many values lie in each bin, as int64, and the edges of the bins.

    The edges are `bins`, ascending, or those of `bin_cnt` bins that share the `range` evenly. Each
    bin has its lower edge, the last one both; values outside are not counted.
    """
