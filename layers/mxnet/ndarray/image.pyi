"""Written by `python -m layers.mxnet._table.stub` from the table; not to be edited."""

from typing import Any, Literal

from ..context import Context
from .ndarray import NDArray

Result = Any  # an NDArray, or a list of them
Operand = NDArray | float

def to_tensor(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """Pixels as a network takes them: the channels first, and from 0 to 1, y = data / 255.

    data : (h, w, c) or (n, h, w, c)      y : (c, h, w) or (n, c, h, w), float32
    """
def normalize(data: NDArray, mean: float | tuple[float, ...] = (0.0, 0.0, 0.0, 0.0), std: float | tuple[float, ...] = (1.0, 1.0, 1.0, 1.0), out: Any = None, name: Any = None) -> NDArray:
    """Channels with other means and deviations, y = (data - mean) / std.

    data : (c, h, w) or (n, c, h, w), c is 1 or 3      mean, std : one number, or one per channel
    """
def crop(data: NDArray, x: int = ..., y: int = ..., width: int = ..., height: int = ..., out: Any = None, name: Any = None) -> NDArray:
    """The part of an image whose upper left pixel is in row y and column x.

    data : (h, w, c) or (n, h, w, c)      y : (height, width, c) or (n, height, width, c)
    """
def resize(data: NDArray, size: int | tuple[int, ...] = (), keep_ratio: bool = False, interp: int = 1, out: Any = None, name: Any = None) -> NDArray:
    """Images in another size, of uint8, float32 or float64.

    data : (h, w, c) or (n, h, w, c)
    size : (width, height); or one number for both, with `keep_ratio` for the shorter side
    interp : 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos over 8 x 8 pixels
    """
def flip_left_right(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The image mirrored, left to right.

    data : (h, w, c), c is 1 or 3
    """
def flip_top_bottom(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The image mirrored, top to bottom.

    data : (h, w, c), c is 1 or 3
    """
def random_flip_left_right(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The image, mirrored left to right with probability 1/2.

    data : (h, w, c), c is 1 or 3
    """
def random_flip_top_bottom(data: NDArray, out: Any = None, name: Any = None) -> NDArray:
    """The image, mirrored top to bottom with probability 1/2.

    data : (h, w, c), c is 1 or 3
    """
def random_brightness(data: NDArray, min_factor: float = ..., max_factor: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The image times a factor that is drawn from [min_factor, max_factor).

    data : (h, w, c), c is 1 or 3
    """
def random_contrast(data: NDArray, min_factor: float = ..., max_factor: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The differences from the mean brightness times a factor from [min_factor, max_factor).

    data : (h, w, c), c is 1 or 3
    """
def random_saturation(data: NDArray, min_factor: float = ..., max_factor: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The differences of a pixel's channels from its brightness times a factor that is drawn.

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
def random_hue(data: NDArray, min_factor: float = ..., max_factor: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """The colours turned by 360 degrees times a factor from [min_factor, max_factor).

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
def random_color_jitter(data: NDArray, brightness: float = ..., contrast: float = ..., saturation: float = ..., hue: float = ..., out: Any = None, name: Any = None) -> NDArray:
    """Brightness, contrast, saturation and hue changed, in random order.

    data : (h, w, c), c is 1 or 3

    Each by a factor from [max(0, 1 - a), 1 + a), where a is its argument; one of 0 is left out.
    """
def adjust_lighting(data: NDArray, alpha: float | tuple[float, ...] = ..., out: Any = None, name: Any = None) -> NDArray:
    """Another light, as AlexNet adds it: each principal component of colours times its alpha.

    data : (h, w, c), c is 1, which changes nothing, or 3      alpha : three numbers
    """
def random_lighting(data: NDArray, alpha_std: float = 0.05, out: Any = None, name: Any = None) -> NDArray:
    """Another light, with alphas that are drawn with deviation `alpha_std`.

    data : (h, w, c), c is 1, which changes nothing, or 3
    """
