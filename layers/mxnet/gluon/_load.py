"""From the arrays of a file to the parameters of a network."""

from __future__ import annotations

import difflib
import re
from itertools import islice
from typing import TYPE_CHECKING

from .. import ndarray
from ..base import ParameterError, quoted
from ..ndarray import NDArray

if TYPE_CHECKING:
    from .parameter import Parameter

# Of names in a file, so many and so much of each are compared: the time grows with both.
NAMES, LENGTH = 1000, 100


def read(filename) -> dict[str, NDArray]:
    """The arrays of a file, by their names without `arg:` and `aux:`, which `export` writes.

    Raises
    ------
    ParameterError
        The arrays in the file have no names.
    """
    loaded = ndarray.load(filename)
    if loaded and not isinstance(loaded, dict):
        raise ParameterError(
            f"file {str(filename)!r}: its {len(loaded)} arrays have no names\n"
            "  expected a file of save_parameters(), export() or nd.save() of a dict"
        )
    return unmarked(loaded or {})


def unmarked(values: dict[str, NDArray]) -> dict[str, NDArray]:
    """The same arrays, without `arg:` and `aux:` before their names."""
    return {n.removeprefix("arg:").removeprefix("aux:"): value for n, value in values.items()}


def full_names(values: dict[str, NDArray], parameters: dict, prefix: str) -> dict[str, NDArray]:
    """The arrays by the full names of a Block's parameters, as far as these can be told.

    Files have the full names, or what follows the prefix of the Block, or the full names in a
    Block of the same class with another number: ``net0_dense0_weight`` in ``net1_``.
    """
    counted = re.fullmatch(r"(.*\D)\d+_", prefix)
    forms = [lambda name: name, lambda name: prefix + name]
    if counted:
        pattern = re.compile(re.escape(counted[1]) + r"\d+_")
        forms.append(lambda name: pattern.sub(prefix, name, count=1))
    for form in forms:
        if any(form(name) in parameters for name in values):
            return {form(name): value for name, value in values.items()}
    return values


def fill(
    parameters: dict[str, Parameter],
    values: dict[str, NDArray],
    source: str,
    ctx,
    allow_missing: bool,
    ignore_extra: bool,
    cast_dtype: bool,
    dtype_source: str,
) -> None:
    """Give parameters the values of their names: all, or, with an error, none."""
    if dtype_source not in ("current", "saved"):
        raise ParameterError(f"dtype_source is {dtype_source!r}\n  expected 'current' or 'saved'")
    given = {id(parameters[name]) for name in values if name in parameters}
    missing = [n for n, parameter in parameters.items() if id(parameter) not in given]
    if missing and not allow_missing:
        raise ParameterError(
            f"Parameter {first(missing)} missing in {source}\n"
            f"  expected it among its names: {nearest(missing[0], values)}\n"
            "  allow_missing=True leaves such parameters as they are"
        )
    extra = [name for name in values if name not in parameters]
    if extra and not ignore_extra:
        raise ParameterError(
            f"Parameter {first(extra)} in {source}, but not in the network\n"
            f"  expected one of {nearest(extra[0], parameters)}\n"
            "  ignore_extra=True leaves such arrays out"
        )
    fitting = {name: value for name, value in values.items() if name in parameters}
    for name, value in fitting.items():
        try:
            parameters[name]._check_load(value, ctx, cast_dtype)
        except ParameterError as error:
            raise ParameterError(f"{error}\n  in {source}") from None
    for name, value in fitting.items():
        parameters[name]._load_init(value, ctx, cast_dtype, dtype_source)


def first(names: list[str]) -> str:
    """The first of several names, and how many more there are, with the verb."""
    if len(names) == 1:
        return f"{quoted(names[0])} is"
    return f"{quoted(names[0])} and {len(names) - 1} more are"


def nearest(name: str, names) -> str:
    """The names there are, for a message: those most like the wrong one where they are many."""
    known = [n[:LENGTH] for n in islice(names, NAMES)]
    near = known
    if len(known) > 6:
        near = difflib.get_close_matches(name[:LENGTH], known, n=6, cutoff=0)
    return ", ".join(map(quoted, near)) + (", ..." if len(known) > len(near) else "") or "none"
