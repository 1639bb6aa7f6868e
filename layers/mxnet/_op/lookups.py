"""Numbers of classes and rows, refused where there is no such class or row.

On a CPU a kernel of PyTorch refuses them, so that a recorded graph does so too, in which no Python
runs. A GPU would have to wait for that, and compiled code does not refuse labels: there each number
is the nearest one.
"""

from __future__ import annotations

import torch

from ..base import NOT_WHOLE, ArgumentError, BoundsError
from ..ndarray.ndarray import NDArray

__all__ = ["add_rows", "bag_numbers", "bags", "class_numbers", "classes", "row_numbers"]


def whole(numbers: torch.Tensor, otherwise: int) -> torch.Tensor:
    """Return numbers as integers, with another one in place of fractions and NaN."""
    found = numbers.long()
    if not numbers.is_floating_point():
        return found
    return found.masked_fill_(found != numbers, otherwise)


# The label that PyTorch is told to ignore, so that it ignores none: no float has this value, and
# nobody numbers a class so.
NO_LABEL = -(2**62) - 1


def numbers(label: torch.Tensor, count: int, ignored: int | None = None) -> torch.Tensor:
    """Return labels as integers, which a kernel of PyTorch refuses where they are no class."""
    if label.is_cpu and not torch.compiler.is_compiling():
        number = whole(label, count)
    else:
        number = label.long().clamp(0, count - 1)
    return number if ignored is None else torch.where(label == ignored, 0, number)


def classes(who: str, label: torch.Tensor, count: int, ignored: int | None = None) -> torch.Tensor:
    """Return labels as numbers of classes, 0 for those that are ignored.

    Raises
    ------
    BoundsError
        A label is no class.
    """
    number = numbers(label, count, ignored)
    if not label.is_cpu or torch.compiler.is_compiling():
        return number
    try:
        return torch.arange(count).index_select(0, number)
    except IndexError:
        raise no_class(who, label, number, count, ignored) from None


def bags(
    who: str, numbers: torch.Tensor, offsets: torch.Tensor | None, rows: int
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return numbers of rows, and where bags begin in them.

    Raises
    ------
    ArgumentError
        Offsets are not in ascending order from 0, or exceed the count of numbers.
    BoundsError
        A number is no row.
    """
    if numbers.is_cpu:
        found = whole(numbers, NOT_WHOLE)
        starts = None if offsets is None else whole(offsets, -1)
        _expect_bags(who, found, starts, rows)
        return found, starts
    if offsets is not None:
        later = offsets.long()[1:].clamp(0, len(numbers)).cummax(0).values
        offsets = torch.cat([later.new_zeros(1), later])
    return numbers.long().clamp(0, rows - 1), offsets


def _expect_bags(who: str, numbers: torch.Tensor, starts: torch.Tensor | None, rows: int) -> None:
    if starts is not None:
        ends = torch.cat([starts[1:], starts.new_full((1,), len(numbers))])
        try:
            torch._assert_async(
                ((starts <= ends).all() & (starts[0] == 0)), "offsets are not in ascending order"
            )
        except RuntimeError:
            raise ArgumentError(
                f"{who}: offsets are not in ascending order from 0, or exceed the {len(numbers)} "
                "ids\n  expected where each bag begins in ids"
            ) from None
    are_rows = (numbers >= 0) & (numbers < rows)
    try:
        torch._assert_async(
            are_rows.all(), f"ids have a number of no row, expected 0 to {rows - 1}"
        )
    except RuntimeError:
        first = int(numbers[~are_rows][0])
        raise BoundsError(
            f"{who}: ids have {'a number that is not whole' if first == NOT_WHOLE else first}\n"
            f"  expected numbers of rows of w, 0 to {rows - 1}, or `padding`"
        ) from None


def no_class(
    who: str, label: torch.Tensor, number: torch.Tensor, count: int, ignored: int | None = None
) -> BoundsError:
    """Return the error of a label that is no class."""
    value = label[(number < 0) | (number >= count)][0].item()
    shown = f"{value:g}" if isinstance(value, float) else value
    beside = "" if ignored is None else f", or ignore_label {ignored}"
    return BoundsError(
        f"operator 'layers.{who}': label has {shown}\n"
        f"  expected one of the {count} classes, whole numbers from 0 to {count - 1}{beside}"
    )


# What `layers.ops` calls with arrays.


def class_numbers(who: str, label: NDArray, count: int, ignored: int | None) -> NDArray:
    """Return labels as numbers of classes, (n,) in float32; see `classes`."""
    number = classes(who, label._tensor.reshape(-1), count, ignored)
    return NDArray(number.float(), label._context)


def row_numbers(ids: NDArray, rows: int, padding: int | None) -> NDArray:
    """Return ids of rows of a table.

    Raises
    ------
    BoundsError
        An id is no row.
    """
    found = ids._tensor
    if not found.is_cpu:
        return NDArray(found.clamp(0, rows - 1), ids._context)
    are_rows = (found >= 0) & (found < rows) & (found == found.long())
    beside = "" if padding is None else f", or padding {padding}"
    expected = f"expected whole numbers from 0 to {rows - 1}{beside}"
    try:
        torch._assert_async(are_rows.all(), f"ids have a number of no row, {expected}")
    except RuntimeError:
        wrong = f"operator 'layers.row_numbers': ids have {found[~are_rows][0].item()}"
        raise BoundsError(f"{wrong}\n  {expected}") from None
    return ids.copy()


def bag_numbers(
    who: str, numbers: NDArray, offsets: NDArray | None, rows: int
) -> tuple[NDArray, NDArray | None]:
    """Return numbers of rows, and where bags begin in them; see `bags`."""
    context, given = numbers._context, None if offsets is None else offsets._tensor
    found, starts = bags(who, numbers._tensor, given, rows)
    return NDArray(found, context), None if starts is None else NDArray(starts, context)


def add_rows(rows: NDArray, numbers: NDArray, count: int) -> NDArray:
    """Return so many rows, each the sum of the rows that have its number."""
    made = rows._tensor.new_zeros((count, *rows.shape[1:]))
    return NDArray(made.index_add(0, numbers._tensor.long(), rows._tensor), rows._context)
