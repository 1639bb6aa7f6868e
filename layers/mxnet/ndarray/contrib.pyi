"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

from ._control import cond as cond, foreach as foreach, while_loop as while_loop
def boolean_mask(data: NDArray, index: NDArray, axis: int = 0, out = None, name = None) -> NDArray: ...
def BilinearResize2D(data: NDArray, like: NDArray | None = None, height: int = 1, width: int = 1, scale_height: float | None = None, scale_width: float | None = None, mode: Literal['like', 'odd_scale', 'size', 'to_even_down', 'to_even_up', 'to_odd_down', 'to_odd_up'] = 'size', align_corners: bool = True, out = None, name = None) -> NDArray: ...
def AdaptiveAvgPooling2D(data: NDArray, output_size: int | tuple[int, ...] = (), out = None, name = None) -> NDArray: ...
def box_iou(lhs: NDArray, rhs: NDArray, format: Literal['center', 'corner'] = 'corner', out = None, name = None) -> NDArray: ...
