"""Whether names of inputs fit a Module, and shapes of a batch those; programs import these, too."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from ..base import ArgumentError, legible, quoted
from ..io import DataDesc
from ..io._desc import as_descs


def _check_input_names(symbol, names: Sequence[str], typename: str, throw: bool) -> None:
    """Refuse names that are no arguments of a Symbol, or without `throw` warn of them."""
    arguments = symbol.list_arguments()
    for name in names:
        if name not in arguments:
            _complain(
                f"Module: {quoted(name)} of {typename}_names is no argument of "
                f"{legible(repr(symbol))}\n"
                f"  expected one of {quoted(arguments)}",
                throw,
            )


def _check_names_match(data_names, data_shapes, name: str, throw: bool) -> None:
    """Refuse shapes of other inputs than these, or without `throw` warn of them."""
    given = [shape[0] for shape in data_shapes]
    if sorted(given) != sorted(data_names):
        _complain(
            f"bind: the {name} shapes are of {quoted(given)}\n"
            f"  expected those of {quoted([*data_names])}, the {name}_names of the Module",
            throw,
        )


def _complain(message: str, throw: bool) -> None:
    if throw:
        raise ArgumentError(message)
    warnings.warn(message, UserWarning, stacklevel=4)


def _parse_data_desc(
    data_names, label_names, data_shapes, label_shapes
) -> tuple[list[DataDesc], list[DataDesc] | None]:
    """The DataDesc of each input; other data than these is refused, other labels are warned of."""
    data = as_descs(data_shapes)
    _check_names_match(data_names, data, "data", True)
    labels = None if label_shapes is None else as_descs(label_shapes)
    _check_names_match(label_names, labels or [], "label", False)
    return data, labels
