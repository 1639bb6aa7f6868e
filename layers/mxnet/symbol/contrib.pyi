"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .symbol import Symbol

Operand = Symbol | float

from ._contrib import rand_zipfian as rand_zipfian
from ._control import cond as cond, foreach as foreach, while_loop as while_loop
def quadratic(data: Symbol | None = ..., a: float = 0.0, b: float = 0.0, c: float = 0.0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """a x² + b x + c; for integers the result is truncated."""
def gradientmultiplier(data: Symbol | None = ..., scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data itself; its gradient is multiplied by `scalar`."""
def round_ste(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The nearest integer, with the gradient of data itself."""
def sign_ste(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The sign, with the gradient of data itself."""
def allclose(a: Symbol | None = ..., b: Symbol | None = ..., rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where |a - b| ≤ atol + rtol |b| for all elements, else 0: a uint8 array of one.

    An infinity is close to itself alone; with `equal_nan` NaN is close to NaN.
    """
def boolean_mask(data: Symbol | None = ..., index: Symbol | None = ..., axis: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The slices along the first axis where index is not 0; the shape is known only at run time."""
def arange_like(data: Symbol | None = ..., start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: str = '', axis: int | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """start, start + step, ... in the shape of data, or along one axis as a vector.

    Each comes `repeat` times. For integers start and step are truncated.
    """
def index_array(data: Symbol | None = ..., axes: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The coordinates of each element, all or those of `axes`: (...) to (..., n), int64."""
def index_copy(old_tensor: Symbol | None = ..., index_vector: Symbol | None = ..., new_tensor: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """old_tensor with the rows of new_tensor at the indices; of equal indices the last counts.

    old_tensor : (n, ...)      index_vector : (k,)      new_tensor : (k, ...)
    """
def BatchNormWithReLU(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., moving_mean: Symbol | None = ..., moving_var: Symbol | None = ..., eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The positive part of BatchNorm."""
def SyncBatchNorm(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., moving_mean: Symbol | None = ..., moving_var: Symbol | None = ..., eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, ndev: int = 1, key: str = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """BatchNorm over the axis 1, of one device: `ndev` above 1 is not supported.

    A context computes at once here, and cannot wait for the batch of another.
    """
def div_sqrt_dim(data: Symbol | None = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """data / √d, for d elements along the last axis; for integers √d is truncated first."""
def interleaved_matmul_selfatt_qk(queries_keys_values: Symbol | None = ..., heads: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """q kᵀ / √d for each head of self-attention.

    queries_keys_values : (length, batch, heads 3 d)      y : (batch heads, length, length)
    """
def interleaved_matmul_selfatt_valatt(queries_keys_values: Symbol | None = ..., attention: Symbol | None = ..., heads: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """attention v for each head of self-attention.

    queries_keys_values : (length, batch, heads 3 d)      attention : (batch heads, length, length)
    y : (length, batch, heads d)
    """
def interleaved_matmul_encdec_qk(queries: Symbol | None = ..., keys_values: Symbol | None = ..., heads: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """q kᵀ / √d for each head of attention to another sequence.

    queries : (m, batch, heads d)      keys_values : (n, batch, heads 2 d)
    y : (batch heads, m, n)
    """
def interleaved_matmul_encdec_valatt(keys_values: Symbol | None = ..., attention: Symbol | None = ..., heads: int = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """attention v for each head of attention to another sequence.

    keys_values : (n, batch, heads 2 d)      attention : (batch heads, m, n)
    y : (m, batch, heads d)
    """
def CTCLoss(data: Symbol | None = ..., label: Symbol | None = ..., data_lengths: Symbol | None | None = None, label_lengths: Symbol | None | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """-log p(label | softmax(data)), of all ways to spread the labels over time.

    data : (time, batch, classes), before softmax      label : (batch, length)
    data_lengths, label_lengths : (batch,)             y : (batch,)

    One class is blank: 'first', 0, or 'last', classes - 1. Without `label_lengths` the labels of a
    sample end before the first 0, or with 'last' before the first -1. Labels that do not fit into
    the time have loss and gradient 0. A label that is no class is an error, but on a GPU and in
    compiled code it is taken for the nearest class.

    (Graves et al. 2006, Connectionist temporal classification)
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
    """
def BilinearResize2D(data: Symbol | None = ..., like: Symbol | None | None = None, height: int = 1, width: int = 1, scale_height: float | None = None, scale_width: float | None = None, mode: Literal['like', 'odd_scale', 'size', 'to_even_down', 'to_even_up', 'to_odd_down', 'to_odd_up'] = 'size', align_corners: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Images in another size, each pixel a linear mixture of the four nearest.

    data : (n, c, h, w)

    size: (height, width), or h and w times the scales where these are given. like: the size of the
    array `like`. odd_scale: times the scales, from an odd size (h - 1) scale + 1.
    to_even_down, to_odd_up, ...: to the next even or odd size. `align_corners` keeps the corner
    pixels where they are, else the corners of the corner pixels. A size of 1 takes the first row
    or column.
    """
def AdaptiveAvgPooling2D(data: Symbol | None = ..., output_size: int | tuple[int, ...] = (), out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The means of `output_size` windows that share the image evenly; one where it is not given.

    data : (n, c, h, w)      output_size : (height, width), or one number for both
    """
def box_iou(lhs: Symbol | None = ..., rhs: Symbol | None = ..., format: Literal['center', 'corner'] = 'corner', out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The area that two boxes share over the area that they cover, for each pair; 0 of empty ones.

    lhs : (..., 4)      rhs : (..., 4)      y : (..., ...)

    corner: (xmin, ymin, xmax, ymax). center: (x, y, width, height).
    """
def fft(data: Symbol | None = ..., compute_size: int = 128, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """Σₙ x[n] exp(-2πi k n / d): (..., d) to (..., 2 d), the real and imaginary parts in turn.

    `compute_size` has no effect.
    """
def ifft(data: Symbol | None = ..., compute_size: int = 128, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The real part of Σₖ x[k] exp(2πi k n / d): (..., 2 d) to (..., d).

    That is d times the inverse of fft. `compute_size` has no effect.
    """
def count_sketch(data: Symbol | None = ..., h: Symbol | None = ..., s: Symbol | None = ..., out_dim: int = ..., processing_batch_size: int = 32, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """y[:, h[i]] += s[i] data[:, i]: a projection to `out_dim` numbers that keeps products.

    data : (n, d)      h : (1, d), indices      s : (1, d), signs      y : (n, out_dim)

    `processing_batch_size` has no effect.
    """
