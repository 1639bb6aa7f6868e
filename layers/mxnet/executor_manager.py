"""How a batch is divided over devices; `mx.module` has the executors that run the parts."""

from __future__ import annotations

from collections.abc import Sequence

from ._old import missing
from .base import ArgumentError, ShapeError

__all__: list[str] = []


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """The part of a batch for each device, as large as its share of the work.

    Raises
    ------
    ShapeError
        A part would be empty.
    """
    total = sum(work_load_list)
    sizes = [round(batch_size * load / total) for load in work_load_list]
    sizes[-1] += batch_size - sum(sizes)
    slices, start = [], 0
    for size in sizes:
        slices.append(slice(start, min(start + size, batch_size)))
        start += size
    if any(part.start >= part.stop for part in slices):
        raise ShapeError(
            f"bind: a batch of {batch_size} for {len(slices)} contexts\n"
            "  expected at least one example for each"
        )
    return slices


def _check_arguments(symbol) -> None:
    """Refuse a Symbol with two arguments, or two states, of one name.

    Raises
    ------
    ArgumentError
        A name occurs twice.
    """
    for role, names in [
        ("argument", symbol.list_arguments()),
        ("auxiliary state", symbol.list_auxiliary_states()),
    ]:
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ArgumentError(
                f"bind: the symbol has several {role}s of the name {twice[0]!r}\n"
                f"  expected different names, not {names}"
            )


def _load_general(data: Sequence, targets: Sequence) -> None:
    """Copy arrays into others, or into the slices of several, given as pairs of both."""
    for source, target in zip(data, targets):
        if isinstance(target, (list, tuple)):
            for part, destination in target:
                source[part].copyto(destination)
        else:
            source.copyto(target)


def _load_data(batch, targets: Sequence) -> None:
    """Copy a batch's data into arrays, as `_load_general` does."""
    _load_general(batch.data, targets)


def _load_label(batch, targets: Sequence) -> None:
    """Copy a batch's labels into arrays, as `_load_general` does."""
    _load_general(batch.label, targets)


missing.watch(globals())
