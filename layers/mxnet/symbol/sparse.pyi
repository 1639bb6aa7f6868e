"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .symbol import Symbol

Operand = Symbol | float

def adagrad_update(weight: Symbol | None = ..., grad: Symbol | None = ..., history: Symbol | None = ..., lr: float = ..., epsilon: float = 1e-07, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """AdaGrad, h = h + g²; w - lr g / √(h + epsilon). For sparse gradients, without decay."""
def retain(data: Symbol | None = ..., indices: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The rows at the indices, the others 0; of a row_sparse array those rows are stored."""
def ElementWiseSum(*args: Symbol, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum of any number of arrays of one shape."""
def Embedding(data: Symbol | None = ..., weight: Symbol | None = ..., input_dim: int = ..., output_dim: int = ..., dtype: Any = ..., sparse_grad: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The rows of `weight` at the indices in `data`; those outside take the nearest row.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)

    With `sparse_grad` the gradient of a variable has its rows alone, if it is kept as row_sparse.

    Raises
    ------
    ShapeError
        `weight` is not (input_dim, output_dim).
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
def abs(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The absolute value."""
def adam_update(weight: Symbol | None = ..., grad: Symbol | None = ..., mean: Symbol | None = ..., var: Symbol | None = ..., lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Adam, without the correction of the bias, which the caller puts into lr.

    g = clip(rescale_grad g + wd w); m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²;
    w - lr m / (√v + epsilon).
    """
def add_n(*args: Symbol, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum of any number of arrays of one shape."""
def arccos(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse cosine, in radians."""
def arccosh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse hyperbolic cosine."""
def arcsin(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse sine, in radians."""
def arcsinh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse hyperbolic sine."""
def arctan(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse tangent, in radians."""
def arctanh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The inverse hyperbolic tangent."""
def broadcast_add(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum, x + y."""
def broadcast_div(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The quotient, x / y."""
def broadcast_minus(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The difference, x - y."""
def broadcast_mul(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The product, x y."""
def broadcast_plus(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum, x + y."""
def broadcast_sub(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The difference, x - y."""
def cast_storage(data: Symbol | None = ..., stype: Literal['csr', 'default', 'row_sparse'] = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The same values in another storage type; from one sparse type not to the other."""
def cbrt(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The cube root."""
def ceil(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The smallest integer not below x."""
def clip(data: Symbol | None = ..., a_min: float = ..., a_max: float = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The values, none below `a_min` or above `a_max`; for integers these are truncated."""
def concat(*data: Symbol, dim: int = 1, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The arrays one after the other along an axis that they have.

    Raises
    ------
    DTypeError
        The arrays have different dtypes.
    """
def cos(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The cosine of radians."""
def cosh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The hyperbolic cosine."""
def degrees(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Radians as degrees, 180 x / π."""
def dot(lhs: Symbol | None = ..., rhs: Symbol | None = ..., transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['csr', 'default', 'row_sparse'] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum over the last axis of lhs and the first of rhs.

    lhs : (..., k)      rhs : (k, ...)      y : (..., ...)

    `transpose_a` sums over the first axis of lhs, `transpose_b` over the last of rhs. Two vectors
    give (1,).
    """
def elemwise_add(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum, x + y."""
def elemwise_div(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The quotient, x / y."""
def elemwise_mul(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The product, x y."""
def elemwise_sub(lhs: Symbol | None = ..., rhs: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The difference, x - y."""
def exp(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The exponential, eˣ."""
def expm1(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """eˣ - 1, exact near zero."""
def fix(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The integer part: rounded towards zero."""
def floor(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The largest integer not above x."""
def ftrl_update(weight: Symbol | None = ..., grad: Symbol | None = ..., z: Symbol | None = ..., n: Symbol | None = ..., lr: float = ..., lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """FTRL, which makes small weights 0.

    z = z + g - (√(n + g²) - √n) w / lr; n = n + g²;
    w = (sign(z) lamda1 - z) / ((beta + √n) / lr + wd) where |z| > lamda1, else 0.
    """
def gamma(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The gamma function; NaN at -1, -2, ..."""
def gammaln(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logarithm of the absolute value of the gamma function."""
def log(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The natural logarithm."""
def log10(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logarithm to base 10."""
def log1p(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """log(1 + x), exact near zero."""
def log2(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logarithm to base 2."""
def make_loss(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data itself, as a loss: its gradient is 1, whatever comes from above."""
def mean(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The mean over axes."""
def negative(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The negative, -x."""
def norm(data: Symbol | None = ..., ord: int = 2, axis: int | tuple[int, ...] | None = None, out_dtype: Any | None = None, keepdims: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The norm over axes: Σ|x| for ord 1, √Σx² for ord 2. Its gradient at 0 is 0.

    Raises
    ------
    ArgumentError
        `ord` is neither 1 nor 2.
    ShapeError
        An axis is not one of `data`, or is there twice.
    """
def radians(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Degrees as radians, π x / 180."""
def relu(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The positive part, max(x, 0)."""
def rint(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The nearest integer; halves go down."""
def round(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The nearest integer; halves go away from zero."""
def rsqrt(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The reciprocal of the square root, 1 / √x."""
def sgd_mom_update(weight: Symbol | None = ..., grad: Symbol | None = ..., mom: Symbol | None = ..., lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """With momentum, m = momentum m - lr (g + wd w); w + m."""
def sgd_update(weight: Symbol | None = ..., grad: Symbol | None = ..., lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Gradient descent, (1 - lr wd) w - lr g; in this order, an infinite w stays infinite."""
def sigmoid(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The logistic function, 1 / (1 + e⁻ˣ)."""
def sign(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sign: -1, 0 or 1."""
def sin(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sine of radians."""
def sinh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The hyperbolic sine."""
def slice(data: Symbol | None = ..., begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data[begin:end:step] on the first axes; a step may be negative."""
def sqrt(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The square root."""
def square(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The square, x²."""
def stop_gradient(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The same values; no gradient passes."""
def sum(data: Symbol | None = ..., axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sum over axes."""
def tan(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The tangent of radians."""
def tanh(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The hyperbolic tangent."""
def trunc(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The integer part: rounded towards zero."""
def where(condition: Symbol | None = ..., x: Symbol | None = ..., y: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """x where the condition is not 0, else y; one condition may choose a row each."""
def zeros_like(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Zeros, in the shape and dtype of data; `dtype` and `ctx` have no effect."""
def _contrib_round_ste(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The nearest integer, with the gradient of data itself."""
def _contrib_sign_ste(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sign, with the gradient of data itself."""
