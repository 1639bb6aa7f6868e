"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .symbol import Symbol

Operand = Symbol | float

from ._control import cond as cond, foreach as foreach, while_loop as while_loop
def allclose(a: Symbol | None = ..., b: Symbol | None = ..., rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = True, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """1 where |a - b| ≤ atol + rtol |b| for all elements, else 0: a uint8 array of one.

    An infinity is close to itself alone; with `equal_nan` NaN is close to NaN.
    """
def boolean_mask(data: Symbol | None = ..., index: Symbol | None = ..., axis: int = 0, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The slices along the first axis where index is not 0; the shape is known only at run time."""
def BatchNormWithReLU(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., moving_mean: Symbol | None = ..., moving_var: Symbol | None = ..., eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1, cudnn_off: bool = False, min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """The positive part of BatchNorm."""
def SyncBatchNorm(data: Symbol | None = ..., gamma: Symbol | None = ..., beta: Symbol | None = ..., moving_mean: Symbol | None = ..., moving_var: Symbol | None = ..., eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False, ndev: int = 1, key: str = ..., out: Any = None, name: Any = None, **kwargs: Any) -> Symbol:
    """BatchNorm over the axis 1, of one device: `ndev` above 1 is not supported.

    A context computes at once here, and cannot wait for the batch of another.
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
