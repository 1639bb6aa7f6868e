"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

def adagrad_update(weight: NDArray, grad: NDArray, history: NDArray, lr: float = ..., epsilon: float = 1e-07, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None) -> NDArray:
    """AdaGrad, h = h + g²; w - lr g / √(h + epsilon). For sparse gradients, without decay."""
def retain(data: NDArray, indices: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The rows at the indices, the others 0; of a row_sparse array those rows are stored."""
def ElementWiseSum(*args: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum of any number of arrays of one shape."""
def Embedding(data: NDArray, weight: NDArray, input_dim: int = ..., output_dim: int = ..., dtype: Any = ..., sparse_grad: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The rows of `weight` at the indices in `data`; those outside take the nearest row.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)

    With `sparse_grad` the gradient of a variable has its rows alone, if it is kept as row_sparse.

    Raises
    ------
    ShapeError
        `weight` is not (input_dim, output_dim).
    """
def FullyConnected(data: NDArray, weight: NDArray, bias: NDArray | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, out: Any = None, name: Any = None) -> NDArray:
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
def LinearRegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, out: Any = None, name: Any = None) -> NDArray:
    """data itself, with the gradient of the squared error: grad_scale / k (y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """
def LogisticRegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, out: Any = None, name: Any = None) -> NDArray:
    """sigmoid, with the gradient of the cross entropy: grad_scale / k (y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """
def MAERegressionOutput(data: NDArray, label: NDArray, grad_scale: float = 1.0, out: Any = None, name: Any = None) -> NDArray:
    """data itself, with the gradient of the absolute error: grad_scale / k sign(y - label).

    data, label : (n, ...), k numbers in a sample; (n, 1) also has labels (n,)
    """
def abs(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The absolute value."""
def adam_update(weight: NDArray, grad: NDArray, mean: NDArray, var: NDArray, lr: float = ..., beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-08, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """Adam, without the correction of the bias, which the caller puts into lr.

    g = clip(rescale_grad g + wd w); m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²;
    w - lr m / (√v + epsilon).
    """
def add_n(*args: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum of any number of arrays of one shape."""
def arccos(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse cosine, in radians."""
def arccosh(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse hyperbolic cosine."""
def arcsin(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse sine, in radians."""
def arcsinh(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse hyperbolic sine."""
def arctan(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse tangent, in radians."""
def arctanh(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The inverse hyperbolic tangent."""
def broadcast_add(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + y."""
def broadcast_div(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x / y."""
def broadcast_minus(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - y."""
def broadcast_mul(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The product, x y."""
def broadcast_plus(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + y."""
def broadcast_sub(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - y."""
def cast_storage(data: NDArray, stype: Literal['csr', 'default', 'row_sparse'] = ..., out: Any = None, name: Any = None) -> NDArray:
    """The same values in another storage type; from one sparse type not to the other."""
def cbrt(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The cube root."""
def ceil(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The smallest integer not below x."""
def clip(data: NDArray, a_min: float = ..., a_max: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The values, none below `a_min` or above `a_max`; for integers these are truncated."""
def concat(*data: NDArray, dim: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """The arrays one after the other along an axis that they have.

    Raises
    ------
    DTypeError
        The arrays have different dtypes.
    """
def cos(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The cosine of radians."""
def cosh(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hyperbolic cosine."""
def degrees(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Radians as degrees, 180 x / π."""
def dot(lhs: NDArray, rhs: NDArray, transpose_a: bool = False, transpose_b: bool = False, forward_stype: Literal['csr', 'default', 'row_sparse'] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The sum over the last axis of lhs and the first of rhs.

    lhs : (..., k)      rhs : (k, ...)      y : (..., ...)

    `transpose_a` sums over the first axis of lhs, `transpose_b` over the last of rhs. Two vectors
    give (1,).
    """
def elemwise_add(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sum, x + y."""
def elemwise_div(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The quotient, x / y."""
def elemwise_mul(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The product, x y."""
def elemwise_sub(lhs: NDArray, rhs: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The difference, x - y."""
def exp(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The exponential, eˣ."""
def expm1(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """eˣ - 1, exact near zero."""
def fix(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The integer part: rounded towards zero."""
def floor(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The largest integer not above x."""
def ftrl_update(weight: NDArray, grad: NDArray, z: NDArray, n: NDArray, lr: float = ..., lamda1: float = 0.01, beta: float = 1.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, out: Any = None, name: Any = None) -> NDArray:
    """FTRL, which makes small weights 0.

    z = z + g - (√(n + g²) - √n) w / lr; n = n + g²;
    w = (sign(z) lamda1 - z) / ((beta + √n) / lr + wd) where |z| > lamda1, else 0.
    """
def gamma(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The gamma function; NaN at -1, -2, ..."""
def gammaln(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The logarithm of the absolute value of the gamma function."""
def log(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The natural logarithm."""
def log10(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The logarithm to base 10."""
def log1p(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """log(1 + x), exact near zero."""
def log2(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The logarithm to base 2."""
def make_loss(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """data itself, as a loss: its gradient is 1, whatever comes from above."""
def mean(data: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The mean over axes."""
def negative(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The negative, -x."""
def norm(data: NDArray, ord: int = 2, axis: int | tuple[int, ...] | None = None, out_dtype: Any | None = None, keepdims: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The norm over axes: Σ|x| for ord 1, √Σx² for ord 2. Its gradient at 0 is 0.

    Raises
    ------
    ArgumentError
        `ord` is neither 1 nor 2.
    ShapeError
        An axis is not one of `data`, or is there twice.
    """
def radians(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Degrees as radians, π x / 180."""
def relu(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The positive part, max(x, 0)."""
def rint(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The nearest integer; halves go down."""
def round(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The nearest integer; halves go away from zero."""
def rsqrt(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The reciprocal of the square root, 1 / √x."""
def sgd_mom_update(weight: NDArray, grad: NDArray, mom: NDArray, lr: float = ..., momentum: float = 0.0, wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """With momentum, m = momentum m - lr (g + wd w); w + m."""
def sgd_update(weight: NDArray, grad: NDArray, lr: float = ..., wd: float = 0.0, rescale_grad: float = 1.0, clip_gradient: float = -1.0, lazy_update: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """Gradient descent, (1 - lr wd) w - lr g; in this order, an infinite w stays infinite."""
def sigmoid(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The logistic function, 1 / (1 + e⁻ˣ)."""
def sign(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sign: -1, 0 or 1."""
def sin(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sine of radians."""
def sinh(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hyperbolic sine."""
def slice(data: NDArray, begin: int | None | tuple[int | None, ...] = ..., end: int | None | tuple[int | None, ...] = ..., step: int | None | tuple[int | None, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """data[begin:end:step] on the first axes; a step may be negative."""
def sqrt(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The square root."""
def square(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The square, x²."""
def stop_gradient(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The same values; no gradient passes."""
def sum(data: NDArray, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exclude: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The sum over axes."""
def tan(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The tangent of radians."""
def tanh(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The hyperbolic tangent."""
def trunc(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The integer part: rounded towards zero."""
def where(condition: NDArray, x: NDArray, y: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """x where the condition is not 0, else y; one condition may choose a row each."""
def zeros_like(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Zeros, in the shape and dtype of data; `dtype` and `ctx` have no effect."""
def _contrib_round_ste(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The nearest integer, with the gradient of data itself."""
def _contrib_sign_ste(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sign, with the gradient of data itself."""
