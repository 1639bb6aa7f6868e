"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

def _copy(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The same values, as a new array."""
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
