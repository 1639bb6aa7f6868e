"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .symbol import Symbol

Operand = Symbol | float

def abs(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The absolute value."""
def negative(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The negative, -x."""
def reciprocal(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The reciprocal, 1 / x."""
def square(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The square, x²."""
def sqrt(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The square root."""
def rsqrt(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The reciprocal of the square root, 1 / √x."""
def exp(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The exponential, eˣ."""
def expm1(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """eˣ - 1, exact near zero."""
def log(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The natural logarithm."""
def log2(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logarithm to base 2."""
def log10(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logarithm to base 10."""
def log1p(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """log(1 + x), exact near zero."""
def sin(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sine of radians."""
def cos(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The cosine of radians."""
def tan(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The tangent of radians."""
def arcsin(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse sine, in radians."""
def arccos(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse cosine, in radians."""
def arctan(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse tangent, in radians."""
def sinh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The hyperbolic sine."""
def cosh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The hyperbolic cosine."""
def tanh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The hyperbolic tangent."""
def arcsinh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse hyperbolic sine."""
def arccosh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse hyperbolic cosine."""
def arctanh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse hyperbolic tangent."""
def degrees(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Radians as degrees, 180 x / π."""
def radians(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Degrees as radians, π x / 180."""
def erf(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The error function."""
def erfinv(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse of the error function."""
def gammaln(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logarithm of the absolute value of the gamma function."""
def sigmoid(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logistic function, 1 / (1 + e⁻ˣ)."""
def softsign(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """x / (1 + |x|)."""
def relu(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The positive part, max(x, 0)."""
def sign(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sign: -1, 0 or 1."""
def floor(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The largest integer not above x."""
def ceil(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The smallest integer not below x."""
def trunc(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The integer part: rounded towards zero."""
def fix(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The integer part: rounded towards zero."""
def logical_not(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x is 0, else 0."""
def zeros_like(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Zeros, in the shape and dtype of data; `dtype` and `ctx` have no effect."""
def ones_like(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Ones, in the shape and dtype of data; `dtype` and `ctx` have no effect."""
def identity(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The same values, as a new array."""
def BlockGrad(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The same values; no gradient passes."""
def stop_gradient(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The same values; no gradient passes."""
def round(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The nearest integer; halves go away from zero."""
def rint(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The nearest integer; halves go down."""
def gamma(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The gamma function; NaN at -1, -2, ..."""
def cbrt(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The cube root."""
def rcbrt(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 over the cube root."""
def hard_sigmoid(data: Symbol | None = ..., alpha: float = 0.2, beta: float = 0.5, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sigmoid in three straight pieces, αx + β between 0 and 1.

    Raises
    ------
    DTypeError
        `data` has no floating-point numbers.
    """
def clip(data: Symbol | None = ..., a_min: float = ..., a_max: float = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The values, none below `a_min` or above `a_max`; for integers these are truncated."""
def smooth_l1(data: Symbol | None = ..., scalar: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Quadratic near zero, linear beyond: (σx)² / 2 where |x| < 1/σ², else |x| - 1 / 2σ².

    σ is `scalar`. For integers it is truncated, and so is the result.
    """
def Cast(data: Symbol | None = ..., dtype: Any = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The values in another dtype; floats become integers by truncation."""
def cast(data: Symbol | None = ..., dtype: Any = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The values in another dtype; floats become integers by truncation."""
def where(condition: Symbol | None = ..., x: Symbol | None = ..., y: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """x where the condition is not 0, else y; one condition may choose a row each."""
def shape_array(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The shape, as an int64 array."""
def size_array(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The number of elements, as an int64 array of one."""
def broadcast_add(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum, x + y."""
def broadcast_plus(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum, x + y."""
def broadcast_sub(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The difference, x - y."""
def broadcast_minus(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The difference, x - y."""
def broadcast_mul(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The product, x y."""
def broadcast_div(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The quotient, x / y."""
def broadcast_mod(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The remainder of x / y, with the sign of y; 0 where y is 0."""
def broadcast_power(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The power, xʸ."""
def broadcast_hypot(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The hypotenuse, √(x² + y²)."""
def broadcast_maximum(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The larger of x and y."""
def broadcast_minimum(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The smaller of x and y."""
def elemwise_add(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum, x + y."""
def elemwise_sub(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The difference, x - y."""
def elemwise_mul(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The product, x y."""
def elemwise_div(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The quotient, x / y."""
def broadcast_equal(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x = y, else 0."""
def broadcast_not_equal(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x ≠ y, else 0."""
def broadcast_greater(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x > y, else 0."""
def broadcast_greater_equal(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x ≥ y, else 0."""
def broadcast_lesser(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x < y, else 0."""
def broadcast_lesser_equal(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x ≤ y, else 0."""
def broadcast_logical_and(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x and y are not 0, else 0."""
def broadcast_logical_or(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where x or y is not 0, else 0."""
def broadcast_logical_xor(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where one of x and y is not 0, else 0."""
def broadcast_axis(data: Symbol | None = ..., axis: int | tuple[int, ...] = (), size: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The values repeated along axes whose size is 1, to the sizes given."""
def broadcast_axes(data: Symbol | None = ..., axis: int | tuple[int, ...] = (), size: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The values repeated along axes whose size is 1, to the sizes given."""
def broadcast_to(data: Symbol | None = ..., shape: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The values repeated to a shape; 0 in it keeps the size of data."""
def broadcast_like(lhs: Symbol | None = ..., rhs: Symbol | None = ..., lhs_axes: int | tuple[int, ...] | None = None, rhs_axes: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """lhs repeated to the shape of rhs, or along `lhs_axes` to the sizes of `rhs_axes`."""
def add_n(*args: Symbol, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum of any number of arrays of one shape."""
def ElementWiseSum(*args: Symbol, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum of any number of arrays of one shape."""
def sum(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum over axes."""
def sum_axis(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum over axes."""
def mean(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The mean over axes."""
def prod(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The product over axes."""
def nansum(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum over axes, NaN taken as 0."""
def nanprod(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The product over axes, NaN taken as 1."""
def max(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The largest value over axes."""
def max_axis(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The largest value over axes."""
def min(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The smallest value over axes."""
def min_axis(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The smallest value over axes."""
def norm(data: Symbol | None = ..., ord: int = 2, axis: int | tuple[int, ...] | None = None, out_dtype: Any | None = None, keepdims: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The norm over axes: Σ|x| for ord 1, √Σx² for ord 2. Its gradient at 0 is 0.

    Raises
    ------
    ArgumentError
        `ord` is neither 1 nor 2.
    ShapeError
        An axis is not one of `data`, or is there twice.
    """
def argmax(data: Symbol | None = ..., axis: int | None = None, keepdims: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The index of the largest value along an axis, the first of equal ones, in data's dtype.

    Without an axis the index into the flattened array.
    """
def argmin(data: Symbol | None = ..., axis: int | None = None, keepdims: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The index of the smallest value along an axis, the first of equal ones, in data's dtype.

    Without an axis the index into the flattened array.
    """
def argmax_channel(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The index of the largest value along axis 1."""
def L2Normalization(data: Symbol | None = ..., eps: float = 1e-10, mode: Literal['channel', 'instance', 'spatial'] = 'instance', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """x / √(Σx² + eps), the sum over all of a sample, over its channels, or over each channel.

    data : (batch, channel, ...)

    Raises
    ------
    ArgumentError
        `data` has fewer than 3 axes, and `mode` is not 'instance'.
    """
def moments(data: Symbol | None = ..., axes: int | tuple[int, ...] | None = None, keepdims: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The mean and the variance Σ(x - mean)² / n over axes, None for all.

    Raises
    ------
    ShapeError
        An axis is not one of `data`, or is there twice.
    """
def cumsum(a: Symbol | None = ..., axis: int | None = None, dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sums of the elements up to each along an axis, by default of the flattened array."""
def Reshape(data: Symbol | None = ..., shape: int | tuple[int, ...] = (), reverse: bool = False, target_shape: int | tuple[int, ...] = (), keep_highest: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The elements in another shape.

    In `shape` 0 keeps a size, -1 is what remains, -2 keeps all that remain, -3 joins two, -4 splits
    one into the two that follow; `reverse` reads all of it from the right. An older form is
    `target_shape`, with 0 for what remains, and `keep_highest` to keep the first size.

    Raises
    ------
    ArgumentError
        There is neither `shape` nor `target_shape`.
    """
def reshape(data: Symbol | None = ..., shape: int | tuple[int, ...] = (), reverse: bool = False, target_shape: int | tuple[int, ...] = (), keep_highest: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The elements in another shape.

    In `shape` 0 keeps a size, -1 is what remains, -2 keeps all that remain, -3 joins two, -4 splits
    one into the two that follow; `reverse` reads all of it from the right. An older form is
    `target_shape`, with 0 for what remains, and `keep_highest` to keep the first size.

    Raises
    ------
    ArgumentError
        There is neither `shape` nor `target_shape`.
    """
def Flatten(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """All axes but the first as one: (n, a, b) becomes (n, a b), and (n,) becomes (n, 1)."""
def flatten(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """All axes but the first as one: (n, a, b) becomes (n, a b), and (n,) becomes (n, 1)."""
def transpose(data: Symbol | None = ..., axes: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The axes in another order; reversed where none is given.

    Raises
    ------
    ShapeError
        `axes` are not each of the axes once.
    """
def expand_dims(data: Symbol | None = ..., axis: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """A new axis of size 1 at `axis`."""
def squeeze(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Without the axes of size 1: all of them, or those given.

    Raises
    ------
    ShapeError
        An axis that is given does not have size 1.
    """
def SwapAxis(data: Symbol | None = ..., dim1: int = 0, dim2: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Two axes in each other's place."""
def swapaxes(data: Symbol | None = ..., dim1: int = 0, dim2: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Two axes in each other's place."""
def Concat(*data: Symbol, dim: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The arrays one after the other along an axis that they have.

    Raises
    ------
    DTypeError
        The arrays have different dtypes.
    """
def concat(*data: Symbol, dim: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The arrays one after the other along an axis that they have.

    Raises
    ------
    DTypeError
        The arrays have different dtypes.
    """
def stack(*data: Symbol, axis: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The arrays one after the other along a new axis.

    Raises
    ------
    DTypeError
        The arrays have different dtypes.
    """
def SliceChannel(data: Symbol | None = ..., num_outputs: int = ..., axis: int = 1, squeeze_axis: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """`num_outputs` equal parts along an axis; `squeeze_axis` drops it, where they have size 1.

    Raises
    ------
    ShapeError
        The axis cannot be divided into `num_outputs` equal parts, or not into parts of size 1.
    """
def split(data: Symbol | None = ..., num_outputs: int = ..., axis: int = 1, squeeze_axis: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """`num_outputs` equal parts along an axis; `squeeze_axis` drops it, where they have size 1.

    Raises
    ------
    ShapeError
        The axis cannot be divided into `num_outputs` equal parts, or not into parts of size 1.
    """
def slice(data: Symbol | None = ..., begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data[begin:end:step] on the first axes; a step may be negative."""
def crop(data: Symbol | None = ..., begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data[begin:end:step] on the first axes; a step may be negative."""
def slice_axis(data: Symbol | None = ..., axis: int = ..., begin: int = ..., end: int | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data[begin:end] on one axis. Unlike Python's, bounds outside the axis are errors.

    Raises
    ------
    ArgumentError
        The part is empty, or not within the axis.
    """
def slice_like(data: Symbol | None = ..., shape_like: Symbol | None = ..., axes: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The beginning of each axis, as long as that of `shape_like`; of all axes, or those given.

    Raises
    ------
    ShapeError
        An axis of `shape_like` is longer than that of `data`, or they have different numbers of
        axes and `axes` is not given.
    """
def reshape_like(lhs: Symbol | None = ..., rhs: Symbol | None = ..., lhs_begin: int | None = None, lhs_end: int | None = None, rhs_begin: int | None = None, rhs_end: int | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The elements of lhs in the shape of rhs; what is replaced is the sizes from begin to end.

    Raises
    ------
    ShapeError
        The new shape has another number of elements.
    """
def tile(data: Symbol | None = ..., reps: int | tuple[int, ...] = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The whole array repeated, as often as `reps` says along each of the last axes.

    Raises
    ------
    ArgumentError
        A number of `reps` is less than 1, or than 0 with NumPy's shapes.
    """
def repeat(data: Symbol | None = ..., repeats: int = ..., axis: int | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Each element repeated along an axis; without one the array is flattened first.

    0 repetitions leave nothing, not even the other axes: the shape is (0,).

    Raises
    ------
    ArgumentError
        `repeats` is less than 0.
    """
def reverse(data: Symbol | None = ..., axis: int | tuple[int, ...] = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The elements in opposite order along these axes."""
def flip(data: Symbol | None = ..., axis: int | tuple[int, ...] = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The elements in opposite order along these axes."""
def Pad(data: Symbol | None = ..., mode: Literal['constant', 'edge', 'reflect'] = ..., pad_width: int | tuple[int, ...] = ..., constant_value: float = 0.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Elements added around data (batch, channel, ...) of 4 or 5 axes.

    pad_width : before and after each axis, from the first on; the first two take none.

    Raises
    ------
    ArgumentError
        `data` does not have 4 or 5 axes, or `pad_width` is not two numbers for each, 0 for the
        first two axes.
    """
def pad(data: Symbol | None = ..., mode: Literal['constant', 'edge', 'reflect'] = ..., pad_width: int | tuple[int, ...] = ..., constant_value: float = 0.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Elements added around data (batch, channel, ...) of 4 or 5 axes.

    pad_width : before and after each axis, from the first on; the first two take none.

    Raises
    ------
    ArgumentError
        `data` does not have 4 or 5 axes, or `pad_width` is not two numbers for each, 0 for the
        first two axes.
    """
def depth_to_space(data: Symbol | None = ..., block_size: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """(n, b b c, h, w) becomes (n, c, h b, w b), for a block of size b.

    Raises
    ------
    ArgumentError
        `block_size` is less than 1.
    ShapeError
        `data` does not have 4 axes, has no elements, or has sizes that are no multiples of the
        block's.
    """
def space_to_depth(data: Symbol | None = ..., block_size: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """(n, c, h b, w b) becomes (n, b b c, h, w), for a block of size b.

    Raises
    ------
    ArgumentError
        `block_size` is less than 1.
    ShapeError
        `data` does not have 4 axes, has no elements, or has sizes that are no multiples of the
        block's.
    """
def diag(data: Symbol | None = ..., k: int = 0, axis1: int = 0, axis2: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The k-th diagonal over two axes, as the last axis; of one axis the matrix that has it.

    Raises
    ------
    ArgumentError
        There is no such diagonal.
    """
def take(a: Symbol | None = ..., indices: Symbol | None = ..., axis: int = 0, mode: Literal['clip', 'raise', 'wrap'] = 'clip', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The slices of `a` at the indices; the shape of the indices takes the place of the axis."""
def Embedding(data: Symbol | None = ..., weight: Symbol | None = ..., input_dim: int = ..., output_dim: int = ..., dtype: Any = ..., sparse_grad: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The rows of `weight` at the indices in `data`; those outside take the nearest row.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)

    With `sparse_grad` the gradient of a variable has its rows alone, if it is kept as row_sparse.

    Raises
    ------
    ShapeError
        `weight` is not (input_dim, output_dim).
    """
def one_hot(indices: Symbol | None = ..., depth: int = ..., on_value: float = 1.0, off_value: float = 0.0, dtype: Any = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """`on_value` at the index and `off_value` elsewhere, along a new last axis of size `depth`."""
def pick(data: Symbol | None = ..., index: Symbol | None = ..., axis: int | None = -1, keepdims: bool = False, mode: Literal['clip', 'wrap'] = 'clip', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """One element along an axis for each place of the others.

    index : the shape of data without the axis, or with size 1 there

    Raises
    ------
    UnsupportedError
        `axis` is None.
    ShapeError
        `index` does not have the shape of `data` without the axis.
    """
def choose_element_0index(data: Symbol | None = ..., index: Symbol | None = ..., axis: int | None = -1, keepdims: bool = False, mode: Literal['clip', 'wrap'] = 'clip', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """One element along an axis for each place of the others.

    index : the shape of data without the axis, or with size 1 there

    Raises
    ------
    UnsupportedError
        `axis` is None.
    ShapeError
        `index` does not have the shape of `data` without the axis.
    """
def fill_element_0index(lhs: Symbol | None = ..., mhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """A matrix with other values in some places: y[i, rhs[i]] = mhs[i], the rest from lhs.

    Raises
    ------
    ShapeError
        The shapes are not (n, m), (n,) and (n,).
    """
def batch_take(a: Symbol | None = ..., indices: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """One element of each row: y[i] = a[i, indices[i]]."""
def gather_nd(data: Symbol | None = ..., indices: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """y[i] = data[indices[0, i], ..., indices[m - 1, i]], for every place i.

    data : (a1, ..., an)      indices : (m, ...)      y : (..., a(m+1), ..., an)

    Raises
    ------
    ShapeError
        `indices` has fewer than 2 axes, or its first is longer than the number of axes that there
        are.
    """
def scatter_nd(data: Symbol | None = ..., indices: Symbol | None = ..., shape: int | tuple[int, ...] = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Zeros, with data[i] at indices[0, i], ..., indices[m - 1, i]; of equal indices one stays.

    Raises
    ------
    ShapeError
        `indices` has fewer than 2 axes, or its first is longer than the number of axes that there
        are.
    """
def SequenceMask(data: Symbol | None = ..., sequence_length: Symbol | None | None = None, use_sequence_length: bool = False, value: float = 0.0, axis: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """`value` after the end of each sequence.

    data : (time, batch, ...), with axis 1 (batch, time, ...)      sequence_length : (batch,)

    Raises
    ------
    ShapeError
        `data` has fewer than 2 axes, or `sequence_length` is not a length for each sequence.
    ArgumentError
        `sequence_length` is given without `use_sequence_length`, or missing with it.
    """
def SequenceLast(data: Symbol | None = ..., sequence_length: Symbol | None | None = None, use_sequence_length: bool = False, axis: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The last element of each sequence.

    data : (time, batch, ...), with axis 1 (batch, time, ...)      sequence_length : (batch,)

    Raises
    ------
    ShapeError
        `data` has fewer than 2 axes, or `sequence_length` is not a length for each sequence.
    ArgumentError
        `sequence_length` is given without `use_sequence_length`, or missing with it.
    """
def SequenceReverse(data: Symbol | None = ..., sequence_length: Symbol | None | None = None, use_sequence_length: bool = False, axis: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Each sequence in opposite order; what is after its end stays.

    data : (time, batch, ...)      sequence_length : (batch,)

    Raises
    ------
    ShapeError
        `data` has fewer than 2 axes, or `sequence_length` is not a length for each sequence.
    ArgumentError
        `axis` is not 0; or `sequence_length` is given without `use_sequence_length`, or missing
        with it.
    """
def ravel_multi_index(data: Symbol | None = ..., shape: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The number of each element that coordinates name, counted row by row.

    data : (axes, n)      y : (n,)      shape : of the array; its first size may be -1
    """
def unravel_index(data: Symbol | None = ..., shape: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The coordinates of elements from their numbers, counted row by row: (...) to (axes, ...).

    shape : of the array; its first size may be -1
    """
def sort(data: Symbol | None = ..., axis: int | None = -1, is_ascend: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The values in order."""
def argsort(data: Symbol | None = ..., axis: int | None = -1, is_ascend: bool = True, dtype: Any = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The indices that bring the values in order."""
def topk(data: Symbol | None = ..., axis: int | None = -1, k: int = 1, ret_typ: Literal['both', 'indices', 'mask', 'value'] = 'indices', is_ascend: bool = False, dtype: Any = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The k largest values along an axis, or the smallest with `is_ascend`; all where k is not
    positive.

    Returns their indices, their values, ``both`` (values, indices), or a mask of ones.

    Raises
    ------
    ArgumentError
        `k` is greater than the number of values.
    """
def dot(lhs: Symbol | None = ..., rhs: Symbol | None = ..., transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['csr', 'default', 'row_sparse'] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum over the last axis of lhs and the first of rhs.

    lhs : (..., k)      rhs : (k, ...)      y : (..., ...)

    `transpose_a` sums over the first axis of lhs, `transpose_b` over the last of rhs. Two vectors
    give (1,).
    """
def batch_dot(lhs: Symbol | None = ..., rhs: Symbol | None = ..., transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['csr', 'default', 'row_sparse'] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The product of each pair of matrices.

    lhs : (..., n, k)      rhs : (..., k, m)      y : (..., n, m)
    """
def linalg_gemm2(A: Symbol | None = ..., B: Symbol | None = ..., transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, axis: int = -2, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """alpha A B, for matrices whose rows are along `axis` and whose columns are the last axis."""
def linalg_gemm(A: Symbol | None = ..., B: Symbol | None = ..., C: Symbol | None = ..., transpose_a: bool = False, transpose_b: bool = False, alpha: float = 1.0, beta: float = 1.0, axis: int = -2, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """alpha A B + beta C, for matrices whose rows are along `axis`, their columns the last axis."""
def linalg_potrf(A: Symbol | None = ..., lower: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The lower triangular L with L Lᵀ = A, or without `lower` the upper one, Lᵀ.

    A is symmetric; that triangle of it is read.
    """
def linalg_syrk(A: Symbol | None = ..., transpose: bool = False, alpha: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """alpha A Aᵀ, with `transpose` alpha Aᵀ A."""
def linalg_trsm(A: Symbol | None = ..., B: Symbol | None = ..., transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """X with A X = alpha B for a triangular A; with `rightside` X A = alpha B.

    `lower` says which triangle of A is read, `transpose` takes Aᵀ for A.
    """
def linalg_trmm(A: Symbol | None = ..., B: Symbol | None = ..., transpose: bool = False, rightside: bool = False, lower: bool = True, alpha: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """alpha A B for a triangular A; with `rightside` alpha B A.

    `lower` says which triangle of A is read, `transpose` takes Aᵀ for A.
    """
def linalg_potri(A: Symbol | None = ..., lower: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """(A Aᵀ)⁻¹ for a lower triangular A, such as potrf gives; without `lower` (Aᵀ A)⁻¹."""
def linalg_inverse(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """A⁻¹."""
def linalg_det(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The determinant of each matrix: (..., n, n) to (...)."""
def linalg_slogdet(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sign of the determinant of each matrix, and ln |det A|: (..., n, n) to (...) twice."""
def linalg_sumlogdiag(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum of the logarithms of each matrix's diagonal: (..., n, n) to (...)."""
def linalg_extractdiag(A: Symbol | None = ..., offset: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The diagonal `offset` above the main one: (..., n, n) to (..., n - |offset|)."""
def linalg_makediag(A: Symbol | None = ..., offset: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Matrices of zeros, but for this diagonal: (..., n - |offset|) to (..., n, n)."""
def linalg_extracttrian(A: Symbol | None = ..., offset: int = 0, lower: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """A triangle of each matrix as a vector: (..., n, n) to (..., k(k + 1)/2), k = n - |offset|.

    The lower triangle with the diagonal is read row by row, the upper one column by column. With a
    negative `offset` it is what is on and below that diagonal, with a positive one what is on and
    above it, whatever `lower` says.
    """
def linalg_maketrian(A: Symbol | None = ..., offset: int = 0, lower: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Matrices of zeros but for a triangle: the inverse of extracttrian."""
def linalg_gelqf(A: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Q and L with A = L Q: the rows of Q are orthonormal, L is lower triangular.

    A : (..., m, n), m <= n      Q : (..., m, n)      L : (..., m, m)
    """
def khatri_rao(*args: Symbol, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The Kronecker product of the columns of matrices: (m, k), (n, k) ... to (m n ..., k).

    Raises
    ------
    ShapeError
        The arrays are not matrices of as many columns.
    """
def amp_cast(data: Symbol | None = ..., dtype: Any = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Floats in another dtype; integers are left as they are."""
def amp_multicast(*data: Symbol, num_outputs: int = ..., cast_narrow: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The arrays in the widest of their dtypes, with `cast_narrow` in the narrowest.

    Only float16, bfloat16 and float32 count. Arrays of other dtypes stay as they are.

    Raises
    ------
    ArgumentError
        `num_outputs` is not the number of arrays.
    """
def all_finite(data: Symbol | None = ..., init_output: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where all elements are finite, else 0: (...) to (1,)."""
def multi_all_finite(*data: Symbol, num_arrays: int = 1, init_output: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where all elements of all arrays are finite, else 0: any number of (...) to (1,).

    Raises
    ------
    UnsupportedError
        `init_output` is False.
    """
def FullyConnected(data: Symbol | None = ..., weight: Symbol | None = ..., bias: Symbol | None | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
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
def Activation(data: Symbol | None = ..., act_type: Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """max(x, 0), 1 / (1 + e⁻ˣ), log(1 + eˣ), x / (1 + |x|) or tanh x, as `act_type` says."""
def LeakyReLU(data: Symbol | None = ..., gamma: Symbol | None | None = None, act_type: Literal['elu', 'gelu', 'leaky', 'prelu', 'rrelu', 'selu'] = 'leaky', slope: float = 0.25, lower_bound: float = 0.125, upper_bound: float = 0.334, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
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
def softmax(data: Symbol | None = ..., length: Symbol | None | None = None, axis: int = -1, temperature: float | None = None, dtype: Any | None = None, use_length: bool | None = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """exp(x / temperature) over its sum along an axis.

    With `use_length` over the first `length` elements only, and 0 after them.

    length : the shape of data without the axis

    Raises
    ------
    ArgumentError
        `length` is given without `use_length`, or missing with it.
    """
def log_softmax(data: Symbol | None = ..., axis: int = -1, temperature: float | None = None, dtype: Any | None = None, use_length: bool | None = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logarithm of softmax.

    Raises
    ------
    UnsupportedError
        `use_length` is True: there is no length.
    """
def softmin(data: Symbol | None = ..., axis: int = -1, temperature: float | None = None, dtype: Any | None = None, use_length: bool | None = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """softmax of -x.

    Raises
    ------
    UnsupportedError
        `use_length` is True: there is no length.
    """
def SoftmaxActivation(data: Symbol | None = ..., mode: Literal['channel', 'instance'] = 'instance', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """softmax over the last axis, or over the channels (axis 1)."""
def softmax_cross_entropy(data: Symbol | None = ..., label: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The cross entropy, -Σᵢ log softmax(data[i])[label[i]], as (1,).

    data : (n, k)      label : (n,), indices

    Raises
    ------
    ShapeError
        The shapes are not (n, k) and (n,).
    """
def Dropout(data: Symbol | None = ..., p: float = 0.5, mode: Literal['always', 'training'] = 'training', axes: int | tuple[int, ...] = (), cudnn_off: bool | None = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """0 with probability p, else x / (1 - p); x itself when not training, unless mode is 'always'.

    On `axes` one draw holds for all.

    Raises
    ------
    ArgumentError
        `p` is not from 0 to 1.
    """
def BatchNorm(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., moving_mean: Symbol | None = ..., moving_var: Symbol | None = ..., eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """gamma (x - mean) / √(var + eps) + beta, for each channel; gamma is taken as 1 by `fix_gamma`.

    Training takes mean and variance (Σ(x - mean)² / n) of the batch, and moves the moving ones:
    moving = momentum moving + (1 - momentum) batch. Otherwise, and with `use_global_stats`, the
    moving ones are taken. With `output_mean_var` also the mean and 1 / √(var + eps).

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    """
def LayerNorm(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., axis: int = -1, eps: float = 1e-05, output_mean_var: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """gamma (x - mean) / √(var + eps) + beta, with mean and variance over an axis.

    gamma, beta : (data.shape[axis],)

    With `output_mean_var` also the mean and √(var + eps), the axis with size 1.

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    """
def InstanceNorm(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., eps: float = 0.001, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """gamma (x - mean) / √(var + eps) + beta, with mean and variance of each channel of a sample.

    data : (n, c, ...), 3 axes or more      gamma, beta : (c,)

    Raises
    ------
    ShapeError
        `data` has fewer than 3 axes, or a parameter has another shape than it asks for.
    """
def GroupNorm(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., num_groups: int = 1, eps: float = 1e-05, output_mean_var: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """gamma (x - mean) / √(var + eps) + beta, with mean and variance of a group of channels.

    data : (n, c, ...)      gamma, beta : (num_groups,), as in MXNet, not (c,)

    With `output_mean_var` also the mean and √(var + eps), (n, num_groups).

    Raises
    ------
    ShapeError
        `data` has fewer than 3 axes, its channels are no multiple of `num_groups`, or a parameter
        has another shape than that asks for.
    """
def Convolution(data: Symbol | None = ..., weight: Symbol | None = ..., bias: Symbol | None | None = None, kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC'] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The correlation of data with each of `num_filter` kernels, in 1, 2 or 3 dimensions.

    data : (n, c, ...)      weight : (num_filter, c / num_group, *kernel)      bias : (num_filter,)

    Raises
    ------
    ShapeError
        A parameter has another shape than `data` asks for.
    ArgumentError
        `bias` is given with `no_bias`, or missing without it.
    """
def Deconvolution(data: Symbol | None = ..., weight: Symbol | None = ..., bias: Symbol | None | None = None, kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), adj: int | tuple[int, ...] = (), target_shape: int | tuple[int, ...] = (), num_filter: int = ..., num_group: int = 1, workspace: int = 512, no_bias: bool = True, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC'] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
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
def Pooling(data: Symbol | None = ..., kernel: int | tuple[int, ...] = (), pool_type: Literal['avg', 'lp', 'max', 'sum'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: Literal['full', 'same', 'valid'] = 'valid', stride: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), p_value: int | None = None, count_include_pad: bool | None = None, layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC', 'NWC'] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
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
def UpSampling(*data: Symbol, scale: int = ..., num_filter: int = 0, sample_type: Literal['bilinear', 'nearest'] = ..., multi_input_mode: Literal['concat', 'sum'] = 'concat', workspace: int = 512, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Images (n, c, h, w) enlarged to (n, c, scale h, scale w).

    nearest: each pixel is repeated; several inputs are brought to the size of the first and joined
    along the channels, or added. bilinear: data and the weight of a Deconvolution, which
    initializer.Bilinear fills, (num_filter, 1, kernel, kernel) with kernel 2 scale - scale mod 2.

    Raises
    ------
    ShapeError
        `data` is not (n, c, h, w), or an input does not fit: its height and width have to divide
        the outputs', and inputs that are added need as many channels.
    ArgumentError
        For bilinear there are other inputs than data and weight, or no `num_filter`.
    """
def RNN(data: Symbol | None = ..., parameters: Symbol | None = ..., state: Symbol | None = ..., state_cell: Symbol | None | None = None, sequence_length: Symbol | None | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: Literal['gru', 'lstm', 'rnn_relu', 'rnn_tanh'] = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
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
def SoftmaxOutput(data: Symbol | None = ..., label: Symbol | None = ..., grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: Literal['batch', 'null', 'valid'] = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """softmax, with the gradient of the cross entropy, softmax(x) - onehot(label).

    data : (n, ...), taken as (n, k)      label : (n,), indices; or of data's shape, probabilities
    with `multi_output`   data : (n, k, ...)    label : (n, ...), or (n, m) of as many
    with `preserve_shape` data : (..., k)       label : (...)

    Labels equal to `ignore_label` give no gradient with `use_ignore`. The gradient is multiplied by
    `grad_scale`, and divided by 1 (``null``), by the number of labels (``batch``) or of those not
    ignored (``valid``); with `multi_output` and ``null`` by the number of labels in a sample.
    `smooth_alpha` moves that much of each label's weight to the other classes (not with
    `multi_output`). `out_grad` multiplies by the head gradient.

    Raises
    ------
    ShapeError
        `label` is neither of the shape of `data` nor an index for each distribution.
    """
def Softmax(data: Symbol | None = ..., label: Symbol | None = ..., grad_scale: float = 1.0, ignore_label: float = -1.0, multi_output: bool = False, use_ignore: bool = False, preserve_shape: bool = False, normalization: Literal['batch', 'null', 'valid'] = 'null', out_grad: bool = False, smooth_alpha: float = 0.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """softmax, with the gradient of the cross entropy, softmax(x) - onehot(label).

    data : (n, ...), taken as (n, k)      label : (n,), indices; or of data's shape, probabilities
    with `multi_output`   data : (n, k, ...)    label : (n, ...), or (n, m) of as many
    with `preserve_shape` data : (..., k)       label : (...)

    Labels equal to `ignore_label` give no gradient with `use_ignore`. The gradient is multiplied by
    `grad_scale`, and divided by 1 (``null``), by the number of labels (``batch``) or of those not
    ignored (``valid``); with `multi_output` and ``null`` by the number of labels in a sample.
    `smooth_alpha` moves that much of each label's weight to the other classes (not with
    `multi_output`). `out_grad` multiplies by the head gradient.

    Raises
    ------
    ShapeError
        `label` is neither of the shape of `data` nor an index for each distribution.
    """
def LinearRegressionOutput(data: Symbol | None = ..., label: Symbol | None = ..., grad_scale: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data itself, with the gradient of the squared error: grad_scale / k (y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """
def LogisticRegressionOutput(data: Symbol | None = ..., label: Symbol | None = ..., grad_scale: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """sigmoid, with the gradient of the cross entropy: grad_scale / k (y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """
def MAERegressionOutput(data: Symbol | None = ..., label: Symbol | None = ..., grad_scale: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data itself, with the gradient of the absolute error: grad_scale / k sign(y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """
def SVMOutput(data: Symbol | None = ..., label: Symbol | None = ..., margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data itself, with the gradient of a support vector machine's loss.

    data : (..., k)      label : (...), indices

    The loss is c Σ max(0, margin - s x)², with s = 1 for the class of the label and -1 for the
    others, c the `regularization_coefficient`; with `use_linear` without the square.

    Raises
    ------
    ShapeError
        `label` is not of the shape of `data` without its last axis.
    """
def MakeLoss(data: Symbol | None = ..., grad_scale: float = 1.0, valid_thresh: float = 0.0, normalization: Literal['batch', 'null', 'valid'] = 'null', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data itself, as a loss: its gradient is grad_scale, whatever comes from above.

    It is divided by 1 (``null``), by the product of all sizes of data but the last (``batch``), or
    by the number of elements larger than `valid_thresh` (``valid``).
    """
def make_loss(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data itself, as a loss: its gradient is 1, whatever comes from above."""
def CTCLoss(data: Symbol | None = ..., label: Symbol | None = ..., data_lengths: Symbol | None | None = None, label_lengths: Symbol | None | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """-log p(label | softmax(data)), of all ways to spread the labels over time.

    data : (time, batch, classes), before softmax      label : (batch, length)
    data_lengths, label_lengths : (batch,)             y : (batch,)

    One class is blank: 'first', 0, or 'last', classes - 1. Without `label_lengths` the labels of a
    sample end before the first 0, or with 'last' before the first -1. Labels that do not fit into
    the time have loss and gradient 0. A label that is no class is an error, but on a GPU and in
    compiled code it is taken for the nearest class.

    (Graves et al. 2006, Connectionist temporal classification)

    Raises
    ------
    ShapeError
        `data` or `label` has other axes than these, there are more labels than steps of time, or
        lengths are not one for each example.
    ArgumentError
        Lengths are given without the option that uses them, or missing with it.
    """
def ctc_loss(data: Symbol | None = ..., label: Symbol | None = ..., data_lengths: Symbol | None | None = None, label_lengths: Symbol | None | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """-log p(label | softmax(data)), of all ways to spread the labels over time.

    data : (time, batch, classes), before softmax      label : (batch, length)
    data_lengths, label_lengths : (batch,)             y : (batch,)

    One class is blank: 'first', 0, or 'last', classes - 1. Without `label_lengths` the labels of a
    sample end before the first 0, or with 'last' before the first -1. Labels that do not fit into
    the time have loss and gradient 0. A label that is no class is an error, but on a GPU and in
    compiled code it is taken for the nearest class.

    (Graves et al. 2006, Connectionist temporal classification)

    Raises
    ------
    ShapeError
        `data` or `label` has other axes than these, there are more labels than steps of time, or
        lengths are not one for each example.
    ArgumentError
        Lengths are given without the option that uses them, or missing with it.
    """
def random_uniform(low: float = 0.0, high: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws uniform on [low, high)."""
def uniform(low: float = 0.0, high: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws uniform on [low, high)."""
def sample_uniform(low: Any = ..., high: Any = ..., shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """For each element of the parameters, `shape` draws uniform on [low, high)."""
def random_normal(loc: float = 0.0, scale: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws from the normal distribution with mean loc (mu) and deviation scale (sigma)."""
def normal(loc: float = 0.0, scale: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws from the normal distribution with mean loc (mu) and deviation scale (sigma)."""
def sample_normal(mu: Any = ..., sigma: Any = ..., shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """For each element of the parameters, `shape` draws from the normal distribution with mean loc (mu) and deviation scale (sigma)."""
def random_exponential(lam: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws with density λ exp(-λy), mean 1 / λ."""
def sample_exponential(lam: Any = ..., shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """For each element of the parameters, `shape` draws with density λ exp(-λy), mean 1 / λ."""
def random_gamma(alpha: float = 1.0, beta: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws of shape alpha and scale beta, mean αβ."""
def sample_gamma(alpha: Any = ..., beta: Any = ..., shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """For each element of the parameters, `shape` draws of shape alpha and scale beta, mean αβ."""
def random_poisson(lam: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws counts with mean λ."""
def sample_poisson(lam: Any = ..., shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """For each element of the parameters, `shape` draws counts with mean λ."""
def random_negative_binomial(k: int = 1, p: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws the failures before the k-th success, each with probability p."""
def sample_negative_binomial(k: Any = ..., p: Any = ..., shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """For each element of the parameters, `shape` draws the failures before the k-th success, each with probability p."""
def random_generalized_negative_binomial(mu: float = 1.0, alpha: float = 1.0, shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Draws counts with mean μ and variance μ + αμ²."""
def sample_generalized_negative_binomial(mu: Any = ..., alpha: Any = ..., shape: int | tuple[int, ...] = (), dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """For each element of the parameters, `shape` draws counts with mean μ and variance μ + αμ²."""
def random_randint(low: int = ..., high: int = ..., shape: int | tuple[int, ...] | None = None, ctx: str = '', dtype: Any | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Integers, each from low to high - 1 as likely; int32 where no dtype is given."""
def sample_multinomial(data: Symbol | None = ..., shape: int | tuple[int, ...] = (), get_prob: bool = False, dtype: Any = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Indices drawn with the probabilities in the last axis of data; `shape` of them for each row.

    With `get_prob` also the logarithms of their probabilities, whose gradient is that of data.
    """
def shuffle(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The same rows in random order."""
def random_pdf_uniform(sample: Any = ..., low: Any = ..., high: Any = ..., is_log: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The density 1 / (high - low), also where a sample lies outside; with `is_log` its logarithm."""
def random_pdf_normal(sample: Any = ..., mu: Any = ..., sigma: Any = ..., is_log: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The density of the normal distribution with mean mu and deviation sigma; with `is_log` its logarithm."""
def random_pdf_gamma(sample: Any = ..., alpha: Any = ..., beta: Any = ..., is_log: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The density of the gamma distribution of shape alpha and rate beta, mean α / β; with `is_log` its logarithm."""
def random_pdf_exponential(sample: Any = ..., lam: Any = ..., is_log: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The density λ exp(-λx); with `is_log` its logarithm."""
def random_pdf_poisson(sample: Any = ..., lam: Any = ..., is_log: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The density λˣ exp(-λ) / x!; with `is_log` its logarithm."""
def random_pdf_negative_binomial(sample: Any = ..., k: Any = ..., p: Any = ..., is_log: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The density of the failures before the k-th success, each with probability p; with `is_log` its logarithm."""
def random_pdf_generalized_negative_binomial(sample: Any = ..., mu: Any = ..., alpha: Any = ..., is_log: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The density of counts with mean μ and variance μ + αμ²; with `is_log` its logarithm."""
def random_pdf_dirichlet(sample: Any = ..., alpha: Any = ..., is_log: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The density of the Dirichlet distribution: samples (..., m, k) for alpha (..., k); with `is_log` its logarithm."""
def GridGenerator(data: Symbol | None = ..., transform_type: Literal['affine', 'warp'] = ..., target_shape: int | tuple[int, ...] = (0, 0), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The grid of an affine map, or of a flow that is added to the points of the image.

    affine: data (n, 6) has the rows of a 2 x 3 matrix A; (x, y) = A (x', y', 1) for the points
    (x', y') of an image of `target_shape`.
    warp: data (n, 2, h, w) has the flow in pixels.

    Raises
    ------
    ShapeError
        `data` has another shape than the transformation takes, or `target_shape` is not a height
        and a width above 0.
    """
def BilinearSampler(data: Symbol | None = ..., grid: Symbol | None = ..., cudnn_off: bool | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The image at the points of a grid, each a linear mixture of four pixels; 0 outside.

    data : (n, c, h, w)      grid : (n, 2, h', w')      y : (n, c, h', w')

    Raises
    ------
    ShapeError
        The shapes are not (n, c, h, w) and (n, 2, h', w').
    """
def SpatialTransformer(data: Symbol | None = ..., loc: Symbol | None = ..., target_shape: int | tuple[int, ...] = (0, 0), transform_type: Literal['affine'] = ..., sampler_type: Literal['bilinear'] = ..., cudnn_off: bool | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """BilinearSampler at the grid of an affine map.

    data : (n, c, h, w)      loc : (n, 6)      y : (n, c, *target_shape)

    Raises
    ------
    ShapeError
        `loc` is not (n, 6), `target_shape` is not a height and a width above 0, or `data` is not
        (n, c, h, w).
    """
def Correlation(data1: Symbol | None = ..., data2: Symbol | None = ..., kernel_size: int = 1, max_displacement: int = 1, stride1: int = 1, stride2: int = 1, pad_size: int = 0, is_multiply: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """How alike the patches of two images are, for each place and displacement.

    The mean over patch and channels of the products, without `is_multiply` of |x1 - x2|.

    data1, data2 : (n, c, h, w)      y : (n, (2 d + 1)², h', w'), d = max_displacement // stride2

    Places are `stride1` apart, displacements `stride2`. The images get `pad_size` zeros around.

    Raises
    ------
    ShapeError
        The images differ in shape or do not have 4 axes, `kernel_size` is even, or nothing of the
        images is left.
    ArgumentError
        A stride is below 1.
    """
def Crop(*data: Symbol, offset: int | tuple[int, ...] = (0, 0), h_w: int | tuple[int, ...] = (0, 0), center_crop: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """A part of an image: of the size of a second array, or of `h_w`, from `offset` on.

    data : (n, c, h, w), and maybe an array (..., ..., h', w')      y : (n, c, h', w')

    `center_crop` takes the middle.

    Raises
    ------
    ShapeError
        There are more than two arrays, or one does not have 4 axes.
    ArgumentError
        The part is not within the image, or its size or offset is not two numbers.
    """
def LRN(data: Symbol | None = ..., alpha: float = 0.0001, beta: float = 0.75, knorm: float = 2.0, nsize: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Each channel divided by what its neighbours have: x / (knorm + alpha / nsize Σ x²)^beta.

    data : (n, c, h, w); the sum is over `nsize` channels, this one in the middle.

    Raises
    ------
    ShapeError
        `data` does not have 4 axes.
    ArgumentError
        `nsize` is below 1.
    """
def im2col(data: Symbol | None = ..., kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The patches that a convolution sees, each a column: (n, c, h, w) to (n, c kh kw, patches).

    Raises
    ------
    ArgumentError
        `kernel`, `stride`, `dilate` or `pad` is not two numbers, of 1 or more, of `pad` 0 or more.
    ShapeError
        `data` does not have 4 axes, or is smaller than a patch.
    """
def col2im(data: Symbol | None = ..., output_size: int | tuple[int, ...] = ..., kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The image that patches add up to: (n, c kh kw, patches) to (n, c, h, w).

    Raises
    ------
    ArgumentError
        `output_size`, `kernel`, `stride`, `dilate` or `pad` is not two numbers, of 1 or more, of
        `pad` 0 or more.
    """
def ROIPooling(data: Symbol | None = ..., rois: Symbol | None = ..., pooled_size: int | tuple[int, ...] = ..., spatial_scale: float = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The largest values in the bins of each region, which has whole pixels; 0 in empty bins.

    data : (n, c, h, w)      rois : (r, 5)      y : (r, c, *pooled_size)

    (Girshick 2015, Fast R-CNN)

    Raises
    ------
    ShapeError
        `data` or `rois` has another shape than these, or `pooled_size` is not two positive sizes.
    """
def BatchNorm_v1(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., moving_mean: Symbol | None = ..., moving_var: Symbol | None = ..., eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """BatchNorm over axis 1."""
def Convolution_v1(data: Symbol | None = ..., weight: Symbol | None = ..., bias: Symbol | None | None = None, kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCDHW', 'NCHW', 'NDHWC', 'NHWC'] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Convolution in 2 or 3 dimensions."""
def Pooling_v1(data: Symbol | None = ..., kernel: int | tuple[int, ...] = (), pool_type: Literal['avg', 'max', 'sum'] = 'max', global_pool: bool = False, pooling_convention: Literal['full', 'valid'] = 'valid', stride: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Pooling with zeros around, which count for the mean and for the largest.

    data : (n, c, h, w)
    """
def IdentityAttachKLSparseReg(data: Symbol | None = ..., moving_avg: Symbol | None = ..., sparseness_target: float = 0.1, penalty: float = 0.001, momentum: float = 0.9, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data itself; its gradient keeps the mean a of each unit near the target t.

    data : (n, ...), numbers between 0 and 1      moving_avg : (...)

    a = momentum a + (1 - momentum) mean; penalty ((1 - t) / (1 - a) - t / a) is added.
    """
def sgd_update(weight: Symbol | None = ..., grad: Symbol | None = ..., lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Gradient descent, (1 - lr wd) w - lr g; in this order, an infinite w stays infinite."""
def sgd_mom_update(weight: Symbol | None = ..., grad: Symbol | None = ..., mom: Symbol | None = ..., lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """With momentum, m = momentum m - lr (g + wd w); w + m."""
def nag_mom_update(weight: Symbol | None = ..., grad: Symbol | None = ..., mom: Symbol | None = ..., lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """With Nesterov's momentum, s = lr (g + wd w); m = momentum m - s; w + momentum m - s."""
def adam_update(weight: Symbol | None = ..., grad: Symbol | None = ..., mean: Symbol | None = ..., var: Symbol | None = ..., lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Adam, without the correction of the bias, which the caller puts into lr.

    g = clip(rescale_grad g + wd w); m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²;
    w - lr m / (√v + epsilon).
    """
def rmsprop_update(weight: Symbol | None = ..., grad: Symbol | None = ..., n: Symbol | None = ..., lr: float = ..., gamma1: float = 0.95, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """RMSProp.

    g = clip(rescale_grad g + wd w); n = gamma1 n + (1 - gamma1) g²; w - lr g / √(n + epsilon), cut
    to [-clip_weights, clip_weights].
    """
def ftrl_update(weight: Symbol | None = ..., grad: Symbol | None = ..., z: Symbol | None = ..., n: Symbol | None = ..., lr: float = ..., lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """FTRL, which makes small weights 0.

    z = z + g - (√(n + g²) - √n) w / lr; n = n + g²;
    w = (sign(z) lamda1 - z) / ((beta + √n) / lr + wd) where |z| > lamda1, else 0.
    """
def mp_sgd_update(weight: Symbol | None = ..., grad: Symbol | None = ..., weight32: Symbol | None = ..., lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """sgd_update of `weight32`, a weight of 16 bits in float32."""
def mp_sgd_mom_update(weight: Symbol | None = ..., grad: Symbol | None = ..., mom: Symbol | None = ..., weight32: Symbol | None = ..., lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """sgd_mom_update of `weight32`, a weight of 16 bits in float32."""
def mp_nag_mom_update(weight: Symbol | None = ..., grad: Symbol | None = ..., mom: Symbol | None = ..., weight32: Symbol | None = ..., lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """nag_mom_update of `weight32`, a weight of 16 bits in float32.

    The decay in the new m is of the new weight, as in MXNet.
    """
def signsgd_update(weight: Symbol | None = ..., grad: Symbol | None = ..., lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """By the sign alone, (1 - lr wd) w - lr sign(g).

    `rescale_grad` and `clip_gradient` have no effect, as in MXNet: not even one that is 0.
    """
def signum_update(weight: Symbol | None = ..., grad: Symbol | None = ..., mom: Symbol | None = ..., lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, wd_lh: float = 0.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """By the sign, with momentum.

    m = momentum m - (1 - momentum) (g + wd w); (1 - lr wd_lh) w + lr sign(m).
    """
def ftml_update(weight: Symbol | None = ..., grad: Symbol | None = ..., d: Symbol | None = ..., v: Symbol | None = ..., z: Symbol | None = ..., lr: float = ..., beta1: float = 0.6, beta2: float = 0.999, epsilon: float = 1e-08, t: int = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_grad: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Follow the moving leader, in the t-th step.

    g = clip(rescale_grad g + wd w); v = beta2 v + (1 - beta2) g²;
    d' = (1 - beta1ᵗ) / lr (√(v / (1 - beta2ᵗ)) + epsilon);
    z = beta1 z + (1 - beta1) g - (d' - beta1 d) w; d = d'; -z / d.
    """
def rmspropalex_update(weight: Symbol | None = ..., grad: Symbol | None = ..., n: Symbol | None = ..., g: Symbol | None = ..., delta: Symbol | None = ..., lr: float = ..., gamma1: float = 0.95, gamma2: float = 0.9, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, clip_weights: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """RMSProp with the variance of the gradient, and momentum.

    e = clip(rescale_grad grad + wd w); n = gamma1 n + (1 - gamma1) e²;
    g = gamma1 g + (1 - gamma1) e; delta = gamma2 delta - lr e / √(n - g² + epsilon);
    w + delta, cut to ±clip_weights.
    """
def lamb_update_phase1(weight: Symbol | None = ..., grad: Symbol | None = ..., mean: Symbol | None = ..., var: Symbol | None = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The direction of LAMB's t-th step, m' / (√v' + epsilon) + wd w.

    m and v are Adam's, m' = m / (1 - beta1ᵗ) and v' = v / (1 - beta2ᵗ) with `bias_correction`.
    """
def lamb_update_phase2(weight: Symbol | None = ..., g: Symbol | None = ..., r1: Symbol | None = ..., r2: Symbol | None = ..., lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """w - lr r1 / r2 g, for the norms r1 of the weight and r2 of the direction g.

    r1, r2 : (1,); r1 is cut to the bounds that are not negative, r1 / r2 is 1 where either is 0.
    """
def mp_lamb_update_phase1(weight: Symbol | None = ..., grad: Symbol | None = ..., mean: Symbol | None = ..., var: Symbol | None = ..., weight32: Symbol | None = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-06, t: int = ..., bias_correction: bool = True, wd: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """lamb_update_phase1 of `weight32`, a weight of 16 bits in float32."""
def mp_lamb_update_phase2(weight: Symbol | None = ..., g: Symbol | None = ..., r1: Symbol | None = ..., r2: Symbol | None = ..., weight32: Symbol | None = ..., lr: float = ..., lower_bound: float = -1.0, upper_bound: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """lamb_update_phase2 of `weight32`, a weight of 16 bits in float32."""
def multi_sgd_update(*data: Symbol, lrs: float | tuple[float, ...] = ..., wds: float | tuple[float, ...] = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """sgd_update of many weights.

    data : weight, grad of each weight
    """
def preloaded_multi_sgd_update(*data: Symbol, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """multi_sgd_update with the rates and decays in arrays.

    data : weight, grad of each weight; then lrs, wds
    """
def multi_sgd_mom_update(*data: Symbol, lrs: float | tuple[float, ...] = ..., wds: float | tuple[float, ...] = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """sgd_mom_update of many weights.

    data : weight, grad, mom of each weight
    """
def preloaded_multi_sgd_mom_update(*data: Symbol, momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """multi_sgd_mom_update with the rates and decays in arrays.

    data : weight, grad, mom of each weight; then lrs, wds
    """
def multi_mp_sgd_update(*data: Symbol, lrs: float | tuple[float, ...] = ..., wds: float | tuple[float, ...] = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """mp_sgd_update of many weights.

    data : weight, grad, weight32 of each weight
    """
def preloaded_multi_mp_sgd_update(*data: Symbol, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """multi_mp_sgd_update with the rates and decays in arrays.

    data : weight, grad, weight32 of each weight; then lrs, wds
    """
def multi_mp_sgd_mom_update(*data: Symbol, lrs: float | tuple[float, ...] = ..., wds: float | tuple[float, ...] = ..., momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """mp_sgd_mom_update of many weights.

    data : weight, grad, mom, weight32 of each weight
    """
def preloaded_multi_mp_sgd_mom_update(*data: Symbol, momentum: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, num_weights: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """multi_mp_sgd_mom_update with the rates and decays in arrays.

    data : weight, grad, mom, weight32 of each weight; then lrs, wds
    """
def multi_sum_sq(*data: Symbol, num_arrays: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Σx² of each array, as float32: any number of (...) to (num_arrays,)."""
def multi_lars(lrs: Symbol | None = ..., weights_sum_sq: Symbol | None = ..., grads_sum_sq: Symbol | None = ..., wds: Symbol | None = ..., eta: float = ..., eps: float = ..., rescale_grad: float = 1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The learning rates of LARS, lr eta |w| / (rescale_grad |g| + wd |w| + eps); lr where |w| or
    |g| is 0.

    lrs, weights_sum_sq, grads_sum_sq, wds : (n,); the sums of squares are |w|² and |g|²

    Raises
    ------
    ShapeError
        They are not of one shape.
    """
def reset_arrays(*data: Symbol, num_arrays: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Fill arrays with zeros, in place; there is no output."""
def cast_storage(data: Symbol | None = ..., stype: Literal['csr', 'default', 'row_sparse'] = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The same values in another storage type; from one sparse type not to the other."""
