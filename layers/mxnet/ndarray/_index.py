"""Keys and shapes of NumPy and MXNet, translated to PyTorch's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
import torch

from ..base import ShapeError


def is_everything(key: Any) -> bool:
    """Whether a key selects the whole array, as in x[:], x[...] and x[()]."""
    if isinstance(key, slice):  # compared with `is`: its ends may be arrays
        return key.start is None and key.stop is None and key.step is None
    if isinstance(key, tuple):
        return not key or (len(key) == 1 and is_everything(key[0]))
    return key is Ellipsis


def is_basic(key: Any) -> bool:
    """Whether a key has only ints, slices, None and Ellipsis."""
    if isinstance(key, tuple):
        return all(map(is_basic, key))
    return isinstance(key, (int, slice, np.integer)) or key is None or key is Ellipsis


def _is_torch_key(key: Any) -> bool:
    """Whether a key means the same in PyTorch; bools, arrays and negative steps do not."""
    key_type = type(key)
    if key_type is tuple:
        return all(map(_is_torch_key, key)) and sum([part is Ellipsis for part in key]) < 2
    if key_type is slice:
        return key.step is None or (type(key.step) is int and key.step > 0)
    return key_type is int or key is None or key is Ellipsis


def get(tensor: torch.Tensor, key: Any, keeps_scalars: bool) -> tuple[torch.Tensor, bool]:
    """The elements, and whether they are a view: contiguous basic slices are, as in MXNet.

    One element is of the shape () with `keeps_scalars`, else of (1,).
    """
    if _is_torch_key(key):
        result, copied = tensor[key], False
    else:
        parts, backward = _resolve(tensor, key)
        result = (tensor.flip(backward) if backward else tensor)[parts]
        copied = bool(backward) or _has_arrays(parts)
    if not result.dim() and tensor.dim() and not keeps_scalars:
        result = result.view(1)
    if copied or result.is_contiguous():
        return result, not copied
    return result.contiguous(), False


def put(tensor: torch.Tensor, key: Any, value: torch.Tensor | float) -> None:
    """Write a value, broadcast to the elements that the key selects."""
    parts, backward = (key, None) if _is_torch_key(key) else _resolve(tensor, key)
    try:
        if backward:
            places = torch.arange(tensor.numel(), device=tensor.device).view(tensor.shape)
            places = places.flip(backward)[parts]
            tensor.put_(places, torch.as_tensor(value, dtype=tensor.dtype).expand(places.shape))
        else:
            tensor[parts] = value
    except RuntimeError:
        if not isinstance(value, torch.Tensor):
            # PyTorch refuses a number beyond the range; as a tensor it becomes inf.
            return put(tensor, key, torch.tensor(value).to(tensor))
        shape = tuple(tensor[parts].shape)
        raise ShapeError(
            f"x[key] = y: y is {tuple(value.shape)}\n  expected a shape that broadcasts to {shape}"
        ) from None


def _resolve(tensor: torch.Tensor, key: Any) -> tuple[tuple, list[int]]:
    """The key as PyTorch's, its bounds checked; and the axes to reverse before it is applied."""
    parts = [_convert_part(part) for part in (key if isinstance(key, tuple) else (key,))]
    used = sum(p.dim() if _is_mask(p) else 1 for p in parts if p is not None and p is not Ellipsis)
    if used > tensor.dim():
        raise IndexError(f"too many indices, {used}, for an array of shape {tuple(tensor.shape)}")
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has more than one '...'")
    for i in dots:
        parts[i : i + 1] = [slice(None)] * (tensor.dim() - used)
    mixed, backward, axis = _has_arrays(parts), [], 0
    for i, part in enumerate(parts):
        if part is None:
            continue
        if isinstance(part, slice):
            if part.step is not None and part.step < 0:
                size = tensor.shape[axis]
                positions = range(*part.indices(size))
                if len(positions) > 1:
                    parts[i] = slice(size - 1 - positions[0], size - positions[-1], -part.step)
                    backward.append(axis)
                else:  # one element or none: the same with a step forwards, and a view
                    parts[i] = slice(positions.start, positions.start + len(positions))
        else:
            _check_bounds(part, axis, tensor)
            if isinstance(part, torch.Tensor):
                parts[i] = part.to(tensor.device)
            elif mixed:  # NumPy treats an int beside arrays as an array
                parts[i] = torch.tensor([part], device=tensor.device)
        axis += part.dim() if _is_mask(part) else 1
    return tuple(parts), backward


class _WrongKey(IndexError, ValueError):
    """A key of a type that no array takes: for MXNet a ValueError, for NumPy an IndexError."""


def _convert_part(part: Any) -> Any:
    """A part of a key as an int, a slice, None, Ellipsis, or a tensor of indices or bools."""
    if part is None or part is Ellipsis:
        return part
    if isinstance(part, slice):
        return slice(*[None if n is None else index(n) for n in (part.start, part.stop, part.step)])
    if isinstance(part, (int, np.integer)):
        return int(part)
    tensor = getattr(part, "_tensor", None)
    if tensor is None and isinstance(part, (list, tuple, range, np.ndarray)):
        values = np.asarray(part)
        if values.dtype.kind in "biuf":
            tensor = torch.from_numpy(values.astype(bool if values.dtype.kind == "b" else np.int64))
    if tensor is None:
        raise _WrongKey(
            f"index {part!r} ({type(part).__name__})\n"
            "  expected an int, a slice, None, '...', or an array of ints or bools"
        )
    if tensor.dtype is torch.bool:
        return tensor
    return tensor.long() if tensor.dim() else int(tensor)


def _is_mask(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and part.dtype is torch.bool


def _has_arrays(parts: Sequence) -> bool:
    return any(isinstance(part, torch.Tensor) for part in parts)


def _check_bounds(part: Any, axis: int, tensor: torch.Tensor) -> None:
    """Raise IndexError for an index out of bounds, which on a GPU would end the process."""
    if _is_mask(part):  # PyTorch checks masks, which may have no axis
        return
    size = tensor.shape[axis]
    if isinstance(part, int):
        worst = part
    elif part.numel():
        low, high = (int(end) for end in part.aminmax())
        worst = low if low < -size else high
    else:
        return
    if not -size <= worst < size:
        raise IndexError(f"index {worst} is out of bounds for axis {axis} with size {size}")


def reshaped(shape: tuple[int, ...], codes: tuple[int, ...], reverse: bool = False) -> tuple:
    """The shape that results from MXNet's reshape codes.

    0 keeps a size, -1 is the size that the number of elements leaves, -2 keeps all remaining sizes,
    -3 multiplies two, -4 splits one into the two that follow. With `reverse` sizes and codes are
    matched from the right, and -4 stands after its two.

    Raises
    ------
    ShapeError
        The codes do not fit the shape.
    """
    if codes == (-1,):  # nearly always
        return (math.prod(shape),)
    if reverse:
        try:
            return reshaped(shape[::-1], codes[::-1])[::-1]
        except ShapeError:
            raise _misfit(shape, codes, "codes that fit from the right") from None
    try:
        sizes = _decoded(shape, codes)
    except (IndexError, StopIteration, ZeroDivisionError):
        raise _misfit(shape, codes, "codes for which there are enough axes") from None
    if sizes.count(None) > 1:
        raise _misfit(shape, codes, "one -1 at most")
    total, known = math.prod(shape), math.prod([n for n in sizes if n is not None])
    left = total // known if known else 1
    sizes = [left if n is None else n for n in sizes]
    if math.prod(sizes) != total or any(n < 0 for n in sizes):
        raise _misfit(shape, codes, f"{total} elements")
    return tuple(sizes)


def _decoded(shape: tuple[int, ...], codes: tuple[int, ...]) -> list[int | None]:
    """The sizes that codes stand for, None for -1."""
    rest, sizes = iter(codes), []
    axis = 0  # the next of `shape`
    for code in rest:
        if code == -2:
            sizes += shape[axis:]
            axis = len(shape)
            continue
        if code == 0:
            sizes.append(shape[axis])
        elif code == -1:
            sizes.append(None)
        elif code == -3:
            sizes.append(shape[axis] * shape[axis + 1])
            axis += 1
        elif code == -4:
            sizes += _split(shape[axis], next(rest), next(rest))
        else:
            sizes.append(code)
        axis += 1
    return sizes


def _split(size: int, left: int, right: int) -> list[int]:
    return [size // right if left == -1 else left, size // left if right == -1 else right]


def _misfit(shape: tuple, codes: tuple, expected: str) -> ShapeError:
    return ShapeError(f"reshape: {shape} cannot take the shape {codes}\n  expected {expected}")


def np_reshaped(shape: tuple[int, ...], codes: tuple[int, ...], reverse: bool = False) -> tuple:
    """The shape that results from the codes of ``npx.reshape``.

    -1 is the size that the number of elements leaves, -2 keeps a size, -3 leaves out a size of 1,
    -4 keeps all remaining sizes, -5 multiplies two, -6 splits one into the two that follow. With
    `reverse` sizes and codes are matched from the right.

    Raises
    ------
    ShapeError
        The codes do not fit the shape.
    """
    if reverse:
        try:
            return np_reshaped(shape[::-1], codes[::-1])[::-1]
        except ShapeError:
            raise _misfit(shape, codes, "codes that fit from the right") from None
    found = _np_decoded(shape, codes)
    total, known = math.prod(shape), math.prod([n for n in found if n is not None])
    sizes = [total // (known or 1) if n is None else n for n in found]
    if found.count(None) > 1 or math.prod(sizes) != total:
        raise _misfit(shape, codes, f"{total} elements, and one -1 at most")
    return tuple(sizes)


def _np_decoded(shape: tuple[int, ...], codes: tuple[int, ...]) -> list[int | None]:
    """The sizes that codes stand for, None for -1."""
    rest, sizes = iter(codes), []
    axis = 0
    try:
        for code in rest:
            if code == -4:
                sizes += shape[axis:]
                axis = len(shape)
            elif code == -6:
                left, right = next(rest), next(rest)
                sizes += _split(shape[axis], left, right)
                axis += 1
            else:
                if code == -3 and shape[axis] != 1:
                    raise _misfit(shape, codes, f"1 for -3, and not {shape[axis]}")
                if code == -5:
                    sizes.append(shape[axis] * shape[axis + 1])
                    axis += 1
                elif code != -3:
                    sizes.append(None if code == -1 else shape[axis] if code == -2 else code)
                axis += 1
    except (IndexError, StopIteration):
        raise _misfit(shape, codes, "codes for which there are enough axes") from None
    return sizes
