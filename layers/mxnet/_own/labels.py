"""Labels as the numbers of classes, such that kernels of PyTorch refuse those of no class."""

from __future__ import annotations

import torch

from ..base import BoundsError

__all__ = ["NO_LABEL", "class_numbers", "expect_classes", "no_class", "whole"]


# The label that PyTorch is told to ignore, so that it ignores none: no float has this value, and
# nobody numbers a class so.
NO_LABEL = -(2**62) - 1


def whole(numbers: torch.Tensor, otherwise: int) -> torch.Tensor:
    """Numbers as integers; in place of those with a fraction, and NaN, is another one."""
    found = numbers.long()
    if not numbers.is_floating_point():
        return found
    return found.masked_fill_(found != numbers, otherwise)


def class_numbers(label: torch.Tensor, count: int, ignored: int | None = None) -> torch.Tensor:
    """Labels as numbers from 0; those that are ignored are class 0.

    On a CPU those of no class stay outside of 0 to `count` - 1, which a kernel refuses, also where
    a graph repeats its call. A GPU would have to wait for that, and compiled code may end the
    process: there they are the nearest class.
    """
    if label.is_cpu and not torch.compiler.is_compiling():
        number = whole(label, count)
    else:
        number = label.long().clamp(0, count - 1)
    return number if ignored is None else torch.where(label == ignored, 0, number)


def expect_classes(who: str, label: torch.Tensor, count: int, ignored: int | None) -> torch.Tensor:
    """`class_numbers` for what would take any number: a kernel looks each one up."""
    number = class_numbers(label, count, ignored)
    if not label.is_cpu or torch.compiler.is_compiling():
        return number
    try:
        return torch.arange(count).index_select(0, number)
    except IndexError:
        raise no_class(who, label, number, count, ignored) from None


def no_class(
    who: str, label: torch.Tensor, number: torch.Tensor, count: int, ignored: int | None
) -> BoundsError:
    """The error of a label that is no class."""
    value = label[(number < 0) | (number >= count)][0].item()
    shown = f"{value:g}" if isinstance(value, float) else value
    beside = "" if ignored is None else f", or ignore_label {ignored}"
    return BoundsError(
        f"operator 'layers.{who}': label has {shown}\n"
        f"  expected one of the {count} classes, whole numbers from 0 to {count - 1}{beside}"
    )
