"""Images sampled at points, moved against each other, cut, and taken apart into patches.

An image is (n, c, h, w). A grid (n, 2, h, w) has the points to sample, x before y; from -1 to 1
they go from the middle of the first pixel to that of the last.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F

from ..base import ArgumentError, ShapeError
from .attributes import Shape
from .registry import REQUIRED, Tensor, op


@op(names_input=True)
def GridGenerator(
    data: Tensor,
    transform_type: Literal["affine", "warp"] = REQUIRED,
    target_shape: Shape = (0, 0),
) -> Tensor:
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
    if transform_type == "affine":
        return _affine("GridGenerator", data, target_shape)
    if data.dim() != 4 or data.shape[1] != 2:
        raise ShapeError(f"GridGenerator: data is {tuple(data.shape)}\n  expected (n, 2, h, w)")
    h, w = data.shape[2:]
    at = torch.meshgrid(*[torch.arange(s, device=data.device) for s in (h, w)], indexing="ij")
    half = data.new_tensor([(w - 1) / 2, (h - 1) / 2]).reshape(2, 1, 1)
    return (data + torch.stack(at[::-1])) / half - 1


@GridGenerator.shaped
def _(data, transform_type, target_shape):
    if transform_type == "affine":
        return _grid_shape(data, target_shape)
    return data if len(data) == 4 and data[1] == 2 else None


def _grid_shape(matrix, size):
    fits = len(matrix) == 2 and matrix[1] == 6 and len(size) == 2 and min(size) > 0
    return (matrix[0], 2, *size) if fits else None


def _affine(name, matrix, size):
    """The grid (n, 2, *size) of affine maps (n, 6)."""
    if matrix.dim() != 2 or matrix.shape[1] != 6 or len(size) != 2 or min(size) < 1:
        raise ShapeError(
            f"{name}: the affine map is {tuple(matrix.shape)}, target_shape is {size}\n"
            "  expected (n, 6), and a height and a width above 0"
        )
    y, x = (_steps(count, matrix) for count in size)
    by_x, by_y, moved = matrix.reshape(-1, 2, 3, 1).unbind(2)
    row, column = torch.addcmul(moved, by_x, x), by_y * y
    return row[:, :, None] + column[..., None]


def _steps(count, like):
    """Numbers from -1 to 1; NaN where there is but one, which has no direction to be on."""
    steps = torch.arange(0, 2 * count, 2, device=like.device, dtype=like.dtype)
    return steps.div_(count - 1 or torch.nan).sub_(1)


@op
def BilinearSampler(data: Tensor, grid: Tensor, cudnn_off: bool | None = None) -> Tensor:
    """The image at the points of a grid, each a linear mixture of four pixels; 0 outside.

    data : (n, c, h, w)      grid : (n, 2, h', w')      y : (n, c, h', w')

    Raises
    ------
    ShapeError
        The shapes are not (n, c, h, w) and (n, 2, h', w').
    """
    if data.dim() != 4 or grid.dim() != 4 or grid.shape[:2] != (data.shape[0], 2):
        raise ShapeError(
            f"BilinearSampler: data is {tuple(data.shape)}, grid is {tuple(grid.shape)}\n"
            "  expected (n, c, h, w) and (n, 2, h', w')"
        )
    return F.grid_sample(data, grid.movedim(1, -1), align_corners=True)


@BilinearSampler.shaped
def _sampled_shape(data, grid):
    fits = grid and len(data) == len(grid) == 4 and grid[:2] == (data[0], 2)
    return (*data[:2], *grid[2:]) if fits else None


@op
def SpatialTransformer(
    data: Tensor,
    loc: Tensor,
    target_shape: Shape = (0, 0),
    transform_type: Literal["affine"] = REQUIRED,
    sampler_type: Literal["bilinear"] = REQUIRED,
    cudnn_off: bool | None = None,
) -> Tensor:
    """BilinearSampler at the grid of an affine map.

    data : (n, c, h, w)      loc : (n, 6)      y : (n, c, *target_shape)

    Raises
    ------
    ShapeError
        `loc` is not (n, 6), `target_shape` is not a height and a width above 0, or `data` is not
        (n, c, h, w).
    """
    return BilinearSampler.run(data, _affine("SpatialTransformer", loc, target_shape))


@SpatialTransformer.shaped
def _(data, loc, target_shape):
    return _sampled_shape(data, _grid_shape(loc, target_shape))


@SpatialTransformer.infer
def _(data):
    return {"loc": (data[0], 6)}


@op
def Correlation(
    data1: Tensor,
    data2: Tensor,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
) -> Tensor:
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
    if stride1 < 1 or stride2 < 1:
        raise ArgumentError(
            f"Correlation: stride1 is {stride1}, stride2 is {stride2}\n  expected 1 or more"
        )
    k, margin = kernel_size, max_displacement + kernel_size // 2
    size = [s + 2 * pad_size - 2 * margin for s in data1.shape[2:]]
    if data1.shape != data2.shape or data1.dim() != 4 or k % 2 == 0 or min(size) < 1:
        raise ShapeError(
            f"Correlation: data1 is {tuple(data1.shape)}, data2 is {tuple(data2.shape)}, "
            f"kernel_size is {k}, max_displacement is {max_displacement}\n"
            "  expected one shape (n, c, h, w), an odd kernel_size, and images with room for both"
        )
    one, two = (F.pad(x, [pad_size] * 4) for x in (data1, data2))
    h, w = (s + k - 1 for s in size)
    first = one[:, :, max_displacement:, max_displacement:][:, :, :h, :w]
    reach = max_displacement // stride2 * stride2
    found = []
    for y in range(max_displacement - reach, max_displacement + reach + 1, stride2):
        for x in range(max_displacement - reach, max_displacement + reach + 1, stride2):
            second = two[:, :, y : y + h, x : x + w]
            found.append((first * second if is_multiply else _distance(first, second)).mean(1))
    return F.avg_pool2d(torch.stack(found, 1), k, stride1)


def _distance(a, b):
    """|a - b|, whose derivative by a is 1 where they are equal."""
    return torch.where(a >= b, a - b, b - a)


@op
def Crop(
    *data: Tensor, offset: Shape = (0, 0), h_w: Shape = (0, 0), center_crop: bool = False
) -> Tensor:
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
    if len(data) > 2 or any(x.dim() != 4 for x in data):
        raise ShapeError(
            f"Crop: data is {', '.join(str(tuple(x.shape)) for x in data)}\n"
            "  expected one or two arrays of 4 axes"
        )
    size = data[1].shape[2:] if len(data) == 2 else h_w
    room = [whole - part for whole, part in zip(data[0].shape[2:], size)]
    start = [r // 2 for r in room] if center_crop else offset
    fits = len(size) == len(start) == 2
    if not fits or not all(0 <= s <= r for s, r in zip(start, room)):
        raise ArgumentError(
            f"Crop: data is {tuple(data[0].shape)}, the part has size {tuple(size)}, "
            f"offset is {tuple(start)}\n  expected a part inside"
        )
    y = data[0].narrow(2, start[0], size[0])
    return y.narrow(3, start[1], size[1]).clone()


@op(names_input=True)
def LRN(
    data: Tensor, alpha: float = 1e-4, beta: float = 0.75, knorm: float = 2.0, nsize: int = REQUIRED
) -> Tensor:
    """Each channel divided by what its neighbours have: x / (knorm + alpha / nsize Σ x²)^beta.

    data : (n, c, h, w); the sum is over `nsize` channels, this one in the middle.

    Raises
    ------
    ShapeError
        `data` does not have 4 axes.
    ArgumentError
        `nsize` is below 1.
    """
    if data.dim() != 4:
        raise ShapeError(f"LRN: data is {tuple(data.shape)}\n  expected (n, c, h, w)")
    if nsize < 1:
        raise ArgumentError(f"LRN: nsize is {nsize}\n  expected 1 or more")
    square = data * data
    total = square.clone()
    for i in range(1, min((nsize - 1) // 2 + 1, data.shape[1])):  # a fifth of a pooling's time
        total[:, i:].add_(square[:, :-i])
        total[:, :-i].add_(square[:, i:])
    total.mul_(alpha / nsize).add_(knorm)
    if beta != 0.75:
        return data * total**-beta
    if total.requires_grad:
        root = total.rsqrt()
        return data * (root * root.sqrt())
    root = total.rsqrt_()  # a third of the time of a power, and in memory that is there
    return root.mul_(root.sqrt()).mul_(data)


@LRN.shaped
def _(data, nsize):
    return data if len(data) == 4 and nsize > 0 else None


def _fold_settings(name, kernel, stride, dilate, pad):
    """The kernel, dilation, padding and stride, in the order in which PyTorch's fold takes them."""
    given = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad}
    for what, pair in given.items():
        least = 0 if what == "pad" else 1
        if (pair or what == "kernel") and (len(pair) != 2 or min(pair) < least):
            raise ArgumentError(
                f"{name}: {what} is {pair}\n  expected two numbers of {least} or more"
            )
    return kernel, dilate or (1, 1), pad or (0, 0), stride or (1, 1)


@op(names_input=True)
def im2col(
    data: Tensor,
    kernel: Shape = REQUIRED,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
) -> Tensor:
    """The patches that a convolution sees, each a column: (n, c, h, w) to (n, c kh kw, patches).

    Raises
    ------
    ArgumentError
        `kernel`, `stride`, `dilate` or `pad` is not two numbers, of 1 or more, of `pad` 0 or more.
    ShapeError
        `data` does not have 4 axes, or is smaller than a patch.
    """
    if data.dim() != 4:
        raise ShapeError(f"im2col: data is {tuple(data.shape)}\n  expected (n, c, h, w)")
    kernel, dilate, pad, stride = _fold_settings("im2col", kernel, stride, dilate, pad)
    patches = F.pad(data, (pad[1], pad[1], pad[0], pad[0]))
    for axis in 0, 1:  # a view: a fifth of the time of F.unfold, which copies number by number
        extent = (kernel[axis] - 1) * dilate[axis] + 1
        if extent > patches.shape[2 + axis]:
            raise ShapeError(
                f"im2col: data is {tuple(data.shape)}, kernel is {kernel}, dilate is {dilate}, "
                f"pad is {pad}\n  expected a kernel that fits into the padded data"
            )
        patches = patches.unfold(2 + axis, extent, stride[axis])[..., :: dilate[axis]]
    patches = patches.permute(0, 1, 4, 5, 2, 3).clone(memory_format=torch.contiguous_format)
    return patches.flatten(4).flatten(1, 3)


@im2col.grad
def _(dy, data, kernel, stride, dilate, pad):
    return F.fold(dy, data.shape[2:], *_fold_settings("im2col", kernel, stride, dilate, pad))


@op(names_input=True)
def col2im(
    data: Tensor,
    output_size: Shape = REQUIRED,
    kernel: Shape = REQUIRED,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
) -> Tensor:
    """The image that patches add up to: (n, c kh kw, patches) to (n, c, h, w).

    Raises
    ------
    ArgumentError
        `output_size`, `kernel`, `stride`, `dilate` or `pad` is not two numbers, of 1 or more, of
        `pad` 0 or more.
    """
    if len(output_size) != 2:
        raise ArgumentError(f"col2im: output_size is {output_size}\n  expected two numbers")
    return F.fold(data, output_size, *_fold_settings("col2im", kernel, stride, dilate, pad))
