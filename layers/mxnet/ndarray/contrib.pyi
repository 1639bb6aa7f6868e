"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

from ._contrib import *
from ._control import *
def quadratic(data: NDArray, a: float = 0.0, b: float = 0.0, c: float = 0.0, out: Any = None, name: Any = None) -> NDArray:
    """a x² + b x + c; for integers the result is truncated."""
def gradientmultiplier(data: NDArray, scalar: float = 1.0, is_int: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """data itself; its gradient is multiplied by `scalar`."""
def round_ste(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The nearest integer, with the gradient of data itself."""
def sign_ste(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The sign, with the gradient of data itself."""
def allclose(a: NDArray, b: NDArray, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """1 where |a - b| ≤ atol + rtol |b| for all elements, else 0: a uint8 array of shape ().

    An infinity is close to itself alone; with `equal_nan` NaN is close to NaN.
    """
def boolean_mask(data: NDArray, index: NDArray, axis: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The slices along the first axis where index is not 0; the shape is known only at run time."""
def arange_like(data: NDArray, start: float = 0.0, step: float = 1.0, repeat: int = 1, ctx: str = '', axis: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """start, start + step, ... in the shape of data, or along one axis as a vector.

    Each comes `repeat` times. For integers start and step are truncated.
    """
def index_array(data: NDArray, axes: int | tuple[int, ...] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """The coordinates of each element, all or those of `axes`: (...) to (..., n), int64.

    Raises
    ------
    ArgumentError
        `data` has no such axis.
    """
def index_copy(old_tensor: NDArray, index_vector: NDArray, new_tensor: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """old_tensor with the rows of new_tensor at the indices; of equal indices the last counts.

    old_tensor : (n, ...)      index_vector : (k,)      new_tensor : (k, ...)
    """
def quantize(data: NDArray, min_range: NDArray, max_range: NDArray, out_type: Literal['int8', 'uint8'] = 'uint8', out: Any = None, name: Any = None) -> Result:
    """The integers for data in a range, q = data 127 / r or data 255 / r, and the range.

    data : (...), float32      min_range, max_range : (1,)      q : (...)
    """
def quantize_v2(data: NDArray, out_type: Literal['auto', 'int8', 'uint8'] = 'int8', min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None) -> Result:
    """The integers for data, q = data 127.5 / r or data 255.5 / r, and the range.

    data : (...), float32; integers of 8 bits are left as they are      q : (...)
    """
def quantize_asym(data: NDArray, min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None) -> Result:
    """The integers for a range that need not have 0 in its middle, q = data scale + shift.

    data : (...), float32      q : (...), uint8
    scale, shift : (1,), with which min is 0, and max is 255
    """
def dequantize(data: NDArray, min_range: NDArray, max_range: NDArray, out_type: Literal['float32'] = 'float32', out: Any = None, name: Any = None) -> NDArray:
    """The numbers that integers stand for, y = data r / 127.5 or data r / 255.5.

    data : (...), int8 or uint8      min_range, max_range : (1,)      y : (...), float32
    """
def requantize(data: NDArray, min_range: NDArray, max_range: NDArray, out_type: Literal['auto', 'int8', 'uint8'] = 'int8', min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None) -> Result:
    """The 8-bit integers for those of 32 bits, q = data (r / 2³¹) 127 / s or 255 / s, and ± s.

    data : (...), int32      min_range, max_range : (1,)      q : (...)

    s is the largest absolute value of what data stands for.
    """
def calibrate_entropy(hist: NDArray, hist_edges: NDArray, num_quantized_bins: int = 255, out: Any = None, name: Any = None) -> Result:
    """The range ± t outside which numbers are clipped best, and the divergence that it costs.

    hist : (2 m + 1,), how many numbers lie between the edges      hist_edges : (2 m + 2,)

    Of the histogram between -t and t, with the numbers outside counted at its ends, and the same
    joined to `num_quantized_bins` bins, t has the least KL divergence (Migacz 2017, 8-bit Inference
    with TensorRT); see `divergences`.
    """
def BatchNormWithReLU(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray, moving_var: NDArray, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None) -> Result:
    """The positive part of BatchNorm."""
def SyncBatchNorm(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray, moving_var: NDArray, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, ndev: int = 1, key: str = ..., out: Any = None, name: Any = None) -> Result:
    """BatchNorm over the axis 1, of one device: `ndev` above 1 is not supported.

    A context computes at once here, and cannot wait for the batch of another.
    """
def div_sqrt_dim(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """data / √d, for d elements along the last axis; for integers √d is truncated first."""
def interleaved_matmul_selfatt_qk(queries_keys_values: NDArray, heads: int = ..., out: Any = None, name: Any = None) -> NDArray:
    """q kᵀ / √d for each head of self-attention.

    queries_keys_values : (length, batch, heads 3 d)      y : (batch heads, length, length)
    """
def interleaved_matmul_selfatt_valatt(queries_keys_values: NDArray, attention: NDArray, heads: int = ..., out: Any = None, name: Any = None) -> NDArray:
    """attention v for each head of self-attention.

    queries_keys_values : (length, batch, heads 3 d)      attention : (batch heads, length, length)
    y : (length, batch, heads d)
    """
def interleaved_matmul_encdec_qk(queries: NDArray, keys_values: NDArray, heads: int = ..., out: Any = None, name: Any = None) -> NDArray:
    """q kᵀ / √d for each head of attention to another sequence.

    queries : (m, batch, heads d)      keys_values : (n, batch, heads 2 d)
    y : (batch heads, m, n)
    """
def interleaved_matmul_encdec_valatt(keys_values: NDArray, attention: NDArray, heads: int = ..., out: Any = None, name: Any = None) -> NDArray:
    """attention v for each head of attention to another sequence.

    keys_values : (n, batch, heads 2 d)      attention : (batch heads, m, n)
    y : (m, batch, heads d)
    """
def quantized_fully_connected(data: NDArray, weight: NDArray, bias: NDArray | None = None, min_data: NDArray | None = None, max_data: NDArray | None = None, min_weight: NDArray | None = None, max_weight: NDArray | None = None, min_bias: NDArray | None = None, max_bias: NDArray | None = None, num_hidden: int = ..., no_bias: bool = False, flatten: bool = True, out: Any = None, name: Any = None) -> Result:
    """The affine map y = data weightᵀ + bias of integers, in int32, and its range.

    data : (n, ...), int8 or uint8, taken as (n, k); (..., k) without `flatten`
    weight : (num_hidden, k), int8      bias : (num_hidden,), int8      y : (n, num_hidden)
    """
def quantized_conv(data: NDArray, weight: NDArray, bias: NDArray | None = None, min_data: NDArray | None = None, max_data: NDArray | None = None, min_weight: NDArray | None = None, max_weight: NDArray | None = None, min_bias: NDArray | None = None, max_bias: NDArray | None = None, kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), num_filter: int = ..., num_group: int = 1, workspace: int = 1024, no_bias: bool = False, cudnn_tune: Literal['fastest', 'limited_workspace', 'off'] | None = None, cudnn_off: bool = False, layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC'] | None = None, out: Any = None, name: Any = None) -> Result:
    """The correlation of integers with each of `num_filter` kernels, in int32, and its range.

    data : (n, c, ...), int8 or uint8      weight : (num_filter, c / num_group, *kernel), int8
    bias : (num_filter,), int8      y : (n, num_filter, ...)
    """
def quantized_pooling(data: NDArray, min_data: NDArray, max_data: NDArray, kernel: int | tuple[int, ...] = (), pool_type: Literal['avg', 'lp', 'max', 'sum'] = 'max', global_pool: bool = False, cudnn_off: bool = False, pooling_convention: Literal['full', 'same', 'valid'] = 'valid', stride: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), p_value: int | None = None, count_include_pad: bool | None = None, layout: Literal['NCDHW', 'NCHW', 'NCW', 'NDHWC', 'NHWC', 'NWC'] | None = None, out: Any = None, name: Any = None) -> Result:
    """The largest integer of each window, or the nearest to its mean, and the range of data.

    The windows are those of Pooling.

    data : (n, c, ...), int8 or uint8
    """
def quantized_flatten(data: NDArray, min_data: NDArray, max_data: NDArray, out: Any = None, name: Any = None) -> Result:
    """The integers as a matrix, and their range.

    data : (n, ...), int8 or uint8      y : (n, k)
    """
def quantized_act(data: NDArray, min_data: NDArray, max_data: NDArray, act_type: Literal['relu', 'sigmoid', 'softrelu', 'softsign', 'tanh'] = ..., out: Any = None, name: Any = None) -> Result:
    """The integers that are positive, 0 for the others, and the range of data.

    data : (...), int8 or uint8
    """
def quantized_batch_norm(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray, moving_var: NDArray, min_data: NDArray, max_data: NDArray, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None) -> Result:
    """gamma (x - mean) / √(var + eps) / √(1 + eps) + beta of what the integers stand for, in int8.

    MXNet divides by the second root too. The statistics are the moving ones, which stay as they
    are. Without a calibrated range, which MXNet wants, it is that of the result.

    data : (n, c, ...), int8 or uint8      gamma, beta, moving_mean, moving_var : (c,)
    """
def quantized_embedding(data: NDArray, weight: NDArray, min_weight: NDArray, max_weight: NDArray, input_dim: int = ..., output_dim: int = ..., dtype: Any = ..., sparse_grad: bool = False, out: Any = None, name: Any = None) -> Result:
    """The rows of `weight`, int8, at the indices in `data`, and their range.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)
    """
def quantized_elemwise_add(lhs: NDArray, rhs: NDArray, lhs_min: NDArray, lhs_max: NDArray, rhs_min: NDArray, rhs_max: NDArray, min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None) -> Result:
    """The sum of what two arrays of one shape stand for: in 8 bits if calibrated, else in int32.

    Without a calibrated range it is that of the inputs, added. Two uint8 give a uint8.

    lhs, rhs : (...), int8 or uint8
    """
def quantized_elemwise_mul(lhs: NDArray, rhs: NDArray, lhs_min: NDArray, lhs_max: NDArray, rhs_min: NDArray, rhs_max: NDArray, min_calib_range: float | None = None, max_calib_range: float | None = None, enable_float_output: bool = False, out: Any = None, name: Any = None) -> Result:
    """The products: in int32, in int8 cut towards 0 if calibrated, or what they stand for.

    lhs, rhs : (...), int8, of one shape
    """
def quantized_concat(*data: NDArray, dim: int = 1, out: Any = None, name: Any = None) -> Result:
    """Arrays one after the other along an axis, in a range for all: uint8 if each is, else int8.

    data : so many arrays, then the two ends of the range of each: a, b, min_a, max_a, min_b, max_b
    """
def quantized_rnn(data: NDArray, parameters: NDArray, state: NDArray, state_cell: NDArray | None = None, data_scale: NDArray | None = None, data_shift: NDArray | None = None, state_size: int = ..., num_layers: int = ..., bidirectional: bool = False, mode: Literal['gru', 'lstm', 'rnn_relu', 'rnn_tanh'] = ..., p: float = 0.0, state_outputs: bool = False, projection_size: int | None = None, lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None, lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, out: Any = None, name: Any = None) -> Result:
    """RNN of what the integers stand for, (data - data_shift) / data_scale, in float32.

    data : (t, n, k), uint8      data_scale, data_shift : (1,), as _contrib_quantize_asym has them
    """
def CTCLoss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', out: Any = None, name: Any = None) -> NDArray:
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
def ctc_loss(data: NDArray, label: NDArray, data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: Literal['first', 'last'] = 'first', out: Any = None, name: Any = None) -> NDArray:
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
def BilinearResize2D(data: NDArray, like: NDArray | None = None, height: int = 1, width: int = 1, scale_height: float | None = None, scale_width: float | None = None, mode: Literal['like', 'odd_scale', 'size', 'to_even_down', 'to_even_up', 'to_odd_down', 'to_odd_up'] = 'size', align_corners: bool = True, out: Any = None, name: Any = None) -> NDArray:
    """Images in another size, each pixel a linear mixture of the four nearest.

    data : (n, c, h, w)

    size: (height, width), or h and w times the scales where these are given. like: the size of the
    array `like`. odd_scale: times the scales, from an odd size (h - 1) scale + 1.
    to_even_down, to_odd_up, ...: to the next even or odd size. `align_corners` keeps the corner
    pixels where they are, else the corners of the corner pixels. A size of 1 takes the first row
    or column.
    """
def AdaptiveAvgPooling2D(data: NDArray, output_size: int | tuple[int, ...] = (), out: Any = None, name: Any = None) -> NDArray:
    """The means of `output_size` windows that share the image evenly; one where it is not given.

    data : (n, c, h, w)      output_size : (height, width), or one number for both
    """
def fft(data: NDArray, compute_size: int = 128, out: Any = None, name: Any = None) -> NDArray:
    """Σₙ x[n] exp(-2πi k n / d): (..., d) to (..., 2 d), the real and imaginary parts in turn.

    `compute_size` has no effect.
    """
def ifft(data: NDArray, compute_size: int = 128, out: Any = None, name: Any = None) -> NDArray:
    """The real part of Σₖ x[k] exp(2πi k n / d): (..., 2 d) to (..., d).

    That is d times the inverse of fft. `compute_size` has no effect.
    """
def count_sketch(data: NDArray, h: NDArray, s: NDArray, out_dim: int = ..., processing_batch_size: int = 32, out: Any = None, name: Any = None) -> NDArray:
    """y[:, h[i]] += s[i] data[:, i]: a projection to `out_dim` numbers that keeps products.

    data : (n, d)      h : (1, d), indices      s : (1, d), signs      y : (n, out_dim)

    Indices are not checked: one below 0 is taken as 0, one of `out_dim` or more as `out_dim` - 1.
    `processing_batch_size` has no effect.
    """
def hawkesll(lda: NDArray, alpha: NDArray, beta: NDArray, state: NDArray, lags: NDArray, marks: NDArray, valid_length: NDArray, max_time: NDArray, out: Any = None, name: Any = None) -> Result:
    """The log likelihood of k Hawkes processes, and the memory that they end with.

    The k-th has the intensity λₖ + αₖ βₖ sₖ(t), where sₖ(t) = Σ exp(-βₖ (t - tᵢ)) over its events
    before t.

    lda : (n, k), λ of each sample      alpha, beta : (k,)      state : (n, k), s at time 0
    lags : (n, t), the time from each event to the next      marks : (n, t), which process it is of
    valid_length : (n,), how many events there are      max_time : (n,), when observation ends
    y : (n,), and s at the end, (n, k)

    There is no gradient for `state`, `lags` and what follows.
    """
def box_iou(lhs: NDArray, rhs: NDArray, format: Literal['center', 'corner'] = 'corner', out: Any = None, name: Any = None) -> NDArray:
    """The area that two boxes share over the area that they cover, for each pair; 0 of empty ones.

    lhs : (..., 4)      rhs : (..., 4)      y : (..., ...)

    corner: (xmin, ymin, xmax, ymax). center: (x, y, width, height).
    """
def box_nms(data: NDArray, overlap_thresh: float = 0.5, valid_thresh: float = 0.0, topk: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = -1, background_id: int = -1, force_suppress: bool = False, in_format: Literal['center', 'corner'] = 'corner', out_format: Literal['center', 'corner'] = 'corner', out: Any = None, name: Any = None) -> NDArray:
    """The boxes without those that overlap a better one, best first; rows of -1 fill the rest.

    data : (..., n, k), rows with a score, four coordinates and maybe a class

    A box takes part whose score is above `valid_thresh`, and whose class is not `background_id`; of
    these the best `topk`, where it is positive. It suppresses those of its class, or all with
    `force_suppress` or without `id_index`, whose intersection over union is above `overlap_thresh`.
    """
def box_non_maximum_suppression(data: NDArray, overlap_thresh: float = 0.5, valid_thresh: float = 0.0, topk: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = -1, background_id: int = -1, force_suppress: bool = False, in_format: Literal['center', 'corner'] = 'corner', out_format: Literal['center', 'corner'] = 'corner', out: Any = None, name: Any = None) -> NDArray:
    """The boxes without those that overlap a better one, best first; rows of -1 fill the rest.

    data : (..., n, k), rows with a score, four coordinates and maybe a class

    A box takes part whose score is above `valid_thresh`, and whose class is not `background_id`; of
    these the best `topk`, where it is positive. It suppresses those of its class, or all with
    `force_suppress` or without `id_index`, whose intersection over union is above `overlap_thresh`.
    """
def bipartite_matching(data: NDArray, is_ascend: bool = False, threshold: float = ..., topk: int = -1, out: Any = None, name: Any = None) -> Result:
    """Rows and columns matched one to one: the best score first, then the best of those left.

    data : (..., n, m), scores      y : (..., n), the column of each row, and (..., m); -1 of none

    Scores above the threshold are matched, with `is_ascend` those below it, the lowest first; where
    `topk` is positive, the first topk + 1, as in MXNet.
    """
def box_encode(samples: NDArray, matches: NDArray, anchors: NDArray, refs: NDArray, means: NDArray, stds: NDArray, out: Any = None, name: Any = None) -> Result:
    """What a net is to predict for anchors that are matched with boxes, and where that counts.

    samples : (b, n), above 0.5 where an anchor has a match      matches : (b, n), indices in refs
    anchors : (b, n, 4)      refs : (b, m, 4)      means, stds : (4,)      y : two of (b, n, 4)

    (x_ref - x) / width and log(width_ref / width), and so for y and height, less the means and over
    the stds; the second output is 1 where there is a match, elsewhere both are 0.
    """
def box_decode(data: NDArray, anchors: NDArray, std0: float = 1.0, std1: float = 1.0, std2: float = 1.0, std3: float = 1.0, clip: float = -1.0, format: Literal['center', 'corner'] = 'center', out: Any = None, name: Any = None) -> NDArray:
    """The boxes (xmin, ymin, xmax, ymax) that a net's predictions for anchors stand for.

    data : (b, n, 4)      anchors : (1, n, 4), in `format`      y : (b, n, 4)

    The inverse of box_encode with means of 0. A logarithm of a size is at most `clip`, where that
    is positive.
    """
def MultiBoxPrior(data: NDArray, sizes: float | tuple[float, ...] = (1.0,), ratios: float | tuple[float, ...] = (1.0,), clip: bool = False, steps: float | tuple[float, ...] = (-1.0, -1.0), offsets: float | tuple[float, ...] = (0.5, 0.5), out: Any = None, name: Any = None) -> NDArray:
    """Anchors around the pixels of an image, in parts of its width and height.

    data : (n, c, h, w)      y : (1, h w a, 4), a = len(sizes) + len(ratios) - 1

    The anchors of a pixel have each of the sizes with the first ratio, and each other ratio with
    the first size: heights size / √ratio, widths size √ratio h / w. The pixels are `steps` apart,
    (y, x), or 1 / h and 1 / w where these are not positive; `offsets` are their centres in them.
    """
def MultiBoxTarget(anchor: NDArray, label: NDArray, cls_pred: NDArray, overlap_threshold: float = 0.5, ignore_label: float = -1.0, negative_mining_ratio: float = -1.0, negative_mining_thresh: float = 0.5, minimum_negative_samples: int = 0, variances: float | tuple[float, ...] = (0.1, 0.1, 0.2, 0.2), out: Any = None, name: Any = None) -> Result:
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
def MultiBoxDetection(cls_prob: NDArray, loc_pred: NDArray, anchor: NDArray, clip: bool = True, threshold: float = 0.01, background_id: int = 0, nms_threshold: float = 0.5, force_suppress: bool = False, variances: float | tuple[float, ...] = (0.1, 0.1, 0.2, 0.2), nms_topk: int = -1, out: Any = None, name: Any = None) -> NDArray:
    """The boxes that a detector has found, best first: rows of class, score and box.

    cls_prob : (b, classes + 1, n), the first is background, whatever `background_id` says
    loc_pred : (b, 4n)      anchor : (1, n, 4)      y : (b, n, 6)

    An anchor counts whose likeliest class has `threshold` or more. A box takes the class -1 that
    has an intersection over union of `nms_threshold` or more with a better one of its class, or of
    any with `force_suppress`, and so do all but the best `nms_topk`, where it is positive; those
    come last, in the order of the anchors. Behind the boxes are rows of -1. With an
    `nms_threshold` that is not in (0, 1] all stay, in the order of the anchors.
    """
def Proposal(cls_prob: NDArray, bbox_pred: NDArray, im_info: NDArray, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16, scales: float | tuple[float, ...] = (4.0, 8.0, 16.0, 32.0), ratios: float | tuple[float, ...] = (0.5, 1.0, 2.0), feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False, out: Any = None, name: Any = None) -> Result:
    """MultiProposal of one image."""
def MultiProposal(cls_prob: NDArray, bbox_pred: NDArray, im_info: NDArray, rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16, scales: float | tuple[float, ...] = (4.0, 8.0, 16.0, 32.0), ratios: float | tuple[float, ...] = (0.5, 1.0, 2.0), feature_stride: int = 16, output_score: bool = False, iou_loss: bool = False, out: Any = None, name: Any = None) -> Result:
    """The likeliest boxes that a net predicts, without those that overlap better ones.

    cls_prob : (b, 2a, h, w), the second half is the probability that there is an object
    bbox_pred : (b, 4a, h, w), how the boxes lie to the anchors of a pixel, which are
    a = len(scales) len(ratios); with `iou_loss` how their corners do, in pixels
    im_info : (b, 3), height, width and scale of the image
    y : (b rpn_post_nms_top_n, 5), (image, xmin, ymin, xmax, ymax); with `output_score` also the
    probabilities, (b rpn_post_nms_top_n, 1)

    Of the best `rpn_pre_nms_top_n`, all where it is not positive, those stay that have no
    intersection over union above `threshold` with a better one; where they are fewer than
    `rpn_post_nms_top_n` they are repeated. Boxes smaller than `rpn_min_size` times the scale, and
    those at pixels outside of the image, have the probability -1.
    """
def ROIAlign(data: NDArray, rois: NDArray, pooled_size: int | tuple[int, ...] = ..., spatial_scale: float = ..., sample_ratio: int = -1, position_sensitive: bool = False, aligned: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The means of samples in the bins of each region, between pixels too.

    data : (n, c, h, w)      rois : (r, 5)      y : (r, c, *pooled_size)

    A bin has `sample_ratio` samples in each direction, where it is not positive about one for each
    pixel. `aligned` has pixel i from i - 1/2 to i + 1/2, and takes regions of less than a pixel as
    they are. With `position_sensitive` each bin has channels of its own: c is that many times less.

    (He et al. 2017, Mask R-CNN)
    """
def RROIAlign(data: NDArray, rois: NDArray, pooled_size: int | tuple[int, ...] = ..., spatial_scale: float = ..., sampling_ratio: int = -1, out: Any = None, name: Any = None) -> NDArray:
    """ROIAlign of turned regions: (image, x, y, width, height, degrees), with the centre at (x, y).

    data : (n, c, h, w)      rois : (r, 6)      y : (r, c, *pooled_size)

    (Ma et al. 2018, Arbitrary-Oriented Scene Text Detection via Rotation Proposals)
    """
def PSROIPooling(data: NDArray, rois: NDArray, spatial_scale: float = ..., output_dim: int = ..., pooled_size: int = ..., group_size: int = 0, out: Any = None, name: Any = None) -> NDArray:
    """The means of the bins of each region, each of its own channels; 0 in empty bins.

    data : (n, output_dim group_size², h, w)      rois : (r, 5)
    y : (r, output_dim, pooled_size, pooled_size)

    `group_size` is `pooled_size` where it is 0.

    (Dai et al. 2016, R-FCN)
    """
def DeformablePSROIPooling(data: NDArray, rois: NDArray, trans: NDArray | None = None, spatial_scale: float = ..., output_dim: int = ..., group_size: int = ..., pooled_size: int = ..., part_size: int = 0, sample_per_part: int = 1, trans_std: float = 0.0, no_trans: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """PSROIPooling of bins that are moved, from samples between pixels; means of those inside.

    data : (n, output_dim group_size², h, w)      rois : (r, 5)
    trans : (r, 2 classes, part_size, part_size), x and y for each class, times `trans_std` parts of
    the region's width and height; none with `no_trans`
    y : (r, output_dim, pooled_size, pooled_size)

    `part_size` is `pooled_size` where it is 0.

    (Dai et al. 2017, Deformable Convolutional Networks)
    """
def DeformableConvolution(data: NDArray, offset: NDArray, weight: NDArray, bias: NDArray | None = None, kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False, layout: Literal['NCDHW', 'NCHW', 'NCW'] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """Convolution that reads each point of its kernel where `offset` moves it, between pixels too.

    data : (n, c, h, w)      weight : (num_filter, c / num_group, *kernel)      bias : (num_filter,)
    offset : (n, 2 num_deformable_group kernel points, *size of y), y and x for each point

    A part of the channels, c / num_deformable_group, has offsets of its own. A point that is not
    in the image counts as 0; between the last pixel and the edge it has the value of that pixel.
    """
def ModulatedDeformableConvolution(data: NDArray, offset: NDArray, mask: NDArray, weight: NDArray, bias: NDArray | None = None, kernel: int | tuple[int, ...] = ..., stride: int | tuple[int, ...] = (), dilate: int | tuple[int, ...] = (), pad: int | tuple[int, ...] = (), num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1, workspace: int = 1024, no_bias: bool = False, im2col_step: int = 64, layout: Literal['NCDHW', 'NCHW', 'NCW'] | None = None, out: Any = None, name: Any = None) -> NDArray:
    """DeformableConvolution with a weight for each point of the kernel; outside the image is 0.

    data : (n, c, h, w)      weight : (num_filter, c / num_group, *kernel)      bias : (num_filter,)
    offset : (n, 2 num_deformable_group kernel points, *size of y), y and x for each point
    mask : (n, num_deformable_group kernel points, *size of y)

    Between the last pixel and one pixel outside, the values fall to 0.
    """
def group_adagrad_update(weight: NDArray, grad: NDArray, history: NDArray, lr: float = ..., rescale_grad: float = 1.0, clip_gradient: float = -1.0, epsilon: float = 1e-05, out: Any = None, name: Any = None) -> NDArray:
    """AdaGrad with one history for each row: h = h + mean(g²), w - lr g / √(h + epsilon).

    weight : (n, ...)      history : (n, 1)
    """
def SparseEmbedding(data: NDArray, weight: NDArray, input_dim: int = ..., output_dim: int = ..., dtype: Any = ..., sparse_grad: bool = False, out: Any = None, name: Any = None) -> NDArray:
    """The rows of `weight` at the indices in `data`, with a row_sparse gradient.

    data : (...)      weight : (input_dim, output_dim)      y : (..., output_dim)
    """
def getnnz(data: NDArray, axis: int | None = None, out: Any = None, name: Any = None) -> NDArray:
    """How many values are stored of a csr matrix, or are not 0; with axis 1 in each row."""
def edge_id(data: NDArray, u: NDArray, v: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The elements data[u, v] of a csr matrix, -1 where none is stored."""
def dgl_adjacency(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Sample graphs with the library DGL."""
def dgl_csr_neighbor_non_uniform_sample(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Sample graphs with the library DGL."""
def dgl_csr_neighbor_uniform_sample(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Sample graphs with the library DGL."""
def dgl_graph_compact(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Sample graphs with the library DGL."""
def dgl_subgraph(*data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Not supported: Sample graphs with the library DGL."""
