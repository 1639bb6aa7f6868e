"""Keys and shapes: NumPy's and MXNet's forms, in PyTorch's terms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ..base import ShapeError


def is_everything(key: Any) -> bool:
    """Whether a key names the whole array, as in x[:], x[...] and x[()]."""
    return key is Ellipsis or (
        isinstance(key, (slice, tuple)) and key in (slice(None), (), (Ellipsis,), (slice(None),))
    )


def plain(key: Any) -> tuple:
    """A key as a tuple of ints, slices, None, Ellipsis and tensors of indices."""
    return tuple([_part(part) for part in key]) if isinstance(key, tuple) else (_part(key),)


def _part(part: Any) -> Any:
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part if not isinstance(part, slice) else slice(*map(_bound, _ends(part)))
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return int(part)
    tensor = getattr(part, "_tensor", None)
    if tensor is None:
        tensor = torch.as_tensor(np.asarray(part))
    return tensor if tensor.dtype is torch.bool else tensor.long()


def _ends(part: slice) -> tuple:
    return part.start, part.stop, part.step


def _bound(end: Any) -> int | None:
    return None if end is None else int(end)


def _resolve(tensor: torch.Tensor, key: tuple) -> tuple[tuple, list[int]]:
    """The key with bounds checked and steps positive, and the axes of the result to reverse."""
    used = sum(p.dim() if _is_mask(p) else 1 for p in key if p is not None and p is not Ellipsis)
    if used > tensor.dim():
        raise IndexError(f"{used} indices for an array of shape {tuple(tensor.shape)}")
    parts, reversed_axes, axis, out = [], [], 0, 0
    for part in key:
        if part is Ellipsis:
            axis, out = axis + tensor.dim() - used, out + tensor.dim() - used
        elif part is None:
            out += 1
        elif isinstance(part, slice):
            if part.step is not None and part.step < 0:
                part = _forward(range(*part.indices(tensor.shape[axis])))
                reversed_axes.append(out)
            axis, out = axis + 1, out + 1
        else:
            _check(part, axis, tensor)
            axis += part.dim() if _is_mask(part) else 1
        parts.append(part)
    return tuple(parts), reversed_axes


def _is_mask(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and part.dtype is torch.bool


def _forward(backward: range) -> slice:
    """The slice that has the elements of a descending range in ascending order."""
    return slice(backward[-1], backward[0] + 1, -backward.step) if len(backward) else slice(0, 0)


def _check(index: Any, axis: int, tensor: torch.Tensor) -> None:
    """Out of bounds is an IndexError here; on a GPU it would end the process."""
    size = tensor.shape[axis]
    if isinstance(index, int):
        worst = index
    elif _is_mask(index) or not index.numel():
        return
    else:
        low, high = (int(end) for end in index.aminmax())
        worst = low if low < -size else high
    if not -size <= worst < size:
        raise IndexError(f"index {worst} is out of bounds for axis {axis} with size {size}")


def get(tensor: torch.Tensor, key: tuple) -> tuple[torch.Tensor, bool]:
    """The elements, and whether they are a view: contiguous basic slices are, as in MXNet."""
    basic = not any(isinstance(part, torch.Tensor) for part in key)
    key, reversed_axes = _resolve(tensor, key)
    if reversed_axes and not basic:
        raise IndexError("negative steps beside arrays of indices are not supported")
    result = tensor[_on(tensor.device, key)]
    if not result.dim():
        result = result.reshape(1)
    if reversed_axes:
        result = result.flip(reversed_axes)
    elif basic and not result.is_contiguous():
        return result.contiguous(), False
    return result, basic and not reversed_axes


def put(tensor: torch.Tensor, key: Any, value: torch.Tensor) -> None:
    """Write a value, broadcast to the elements that the key names."""
    key, reversed_axes = _resolve(tensor, key if isinstance(key, tuple) else (key,))
    key = _on(tensor.device, key)
    target = tensor[key].shape
    while value.dim() > len(target) and value.shape[0] == 1:
        value = value[0]
    try:
        value = value.expand(target)
    except RuntimeError:
        raise ShapeError(
            f"x[key] = y: y is {tuple(value.shape)}\n  expected a shape that broadcasts to {tuple(target)}"
        ) from None
    tensor[key] = value.flip(reversed_axes) if reversed_axes else value


def _on(device: torch.device, key: tuple) -> tuple:
    return tuple([p.to(device) if isinstance(p, torch.Tensor) else p for p in key])


def reshaped(shape: tuple[int, ...], codes: tuple[int, ...], reverse: bool = False) -> tuple:
    """The shape that MXNet's reshape codes make of a shape.

    0 keeps a size, -1 is what remains, -2 keeps all that remain, -3 joins two, -4 splits one into
    the two that follow. `reverse` reads both from the right.

    Raises
    ------
    ShapeError
        The codes do not fit the shape.
    """
    if reverse:
        return reshaped(shape[::-1], _reversed_codes(codes))[::-1]
    sizes, given, out = list(shape), list(codes), []
    at, unknown, i = 0, None, 0
    try:
        while i < len(given):
            code = given[i]
            if code == 0:
                out.append(sizes[at])
                at += 1
            elif code == -1:
                if unknown is not None:
                    raise _misfit(shape, codes, "at most one -1")
                unknown = len(out)
                out.append(1)
                at += 1
            elif code == -2:
                out += sizes[at:]
                at = len(sizes)
            elif code == -3:
                out.append(sizes[at] * sizes[at + 1])
                at += 2
            elif code == -4:
                out += _split(sizes[at], *given[i + 1 : i + 3])
                at, i = at + 1, i + 2
            else:
                out.append(int(code))
                at += 1
            i += 1
    except (IndexError, TypeError, ZeroDivisionError):
        raise _misfit(shape, codes, "codes that the axes suffice for") from None
    total, known = math.prod(shape), math.prod(out)
    if unknown is not None and known:
        out[unknown] = total // known
    if math.prod(out) != total:
        raise _misfit(shape, codes, f"{total} elements, not {math.prod(out)}")
    return tuple(out)


def _split(size: int, left: int, right: int) -> list[int]:
    if left == -1:
        left = size // right
    if right == -1:
        right = size // left
    return [left, right]


def _reversed_codes(codes: tuple) -> tuple:
    """The codes from right to left, with the two sizes of a -4 kept behind it."""
    out, i = [], 0
    while i < len(codes):
        if codes[i] == -4:
            out.append((-4, codes[i + 2], codes[i + 1]))
            i += 3
        else:
            out.append((codes[i],))
            i += 1
    return tuple(code for group in reversed(out) for code in group)


def _misfit(shape: tuple, codes: tuple, expected: str) -> ShapeError:
    return ShapeError(f"reshape: {shape} cannot take the shape {codes}\n  expected {expected}")
