"""Dtypes of inputs that the code of a `Custom` supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....engine import mxnet_error
from ..numpy_border import as_dtype

DTYPES = (
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "complex64", "complex128"),
)


CHOICES = ("any", *(t for t in DTYPES if t != "bfloat16"))  # code gets float32 in place of bfloat16


def nearest_row(dtypes: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """Return the dtypes, if they are a row, or the nearest row to which they can be cast up.

    In a row, ``''`` stands for any dtype. Return None if there is no such row.
    """
    rows = [tuple(t or dtype for t, dtype in zip(row, dtypes)) for row in rows]
    if dtypes in rows:
        return dtypes
    wider = [row for row in rows if all(map(_can_cast_up, dtypes, row))]
    return min(wider, key=lambda row: sum(map(_size, row))) if wider else None


def _kind(dtype: str) -> str:
    # V is the kind of our stand-in for bfloat16, which NumPy lacks.
    return as_dtype(dtype).kind.replace("V", "f")


def _size(dtype: str) -> int:
    return as_dtype(dtype).itemsize


def _can_cast_up(dtype: str, target: str) -> bool:
    """True if two dtypes are equal, or the first one is a smaller one of the same kind."""
    if dtype == target:
        return True
    return _kind(dtype) == _kind(target) and _size(dtype) < _size(target)


class InputDtypes:
    """Argument `dtypes` of `Custom`: rows with one dtype for each input, or one for all.

    Parameters
    ----------
    who : str
        The operator's name in errors.
    given : str, sequence of str or None
        A row is text, ``"float32 int32"``; None stands for `default`.
    default : str
        The row of code without `dtypes`; ``""`` if it takes arrays of all dtypes.

    Raises
    ------
    TypeError, ValueError
        `given` is no text, has an unknown dtype, or has rows for different numbers of inputs.
    """

    def __init__(self, who: str, given: Any, default: str):
        self.who, self.is_default = who, given is None
        rows = [default] if given is None else [given] if isinstance(given, str) else given
        if (
            not rows
            or not isinstance(rows, (list, tuple))
            or not all(isinstance(r, str) for r in rows)
        ):
            raise mxnet_error(
                TypeError,
                f"{who}: dtypes is {given!r} ({type(given).__name__})\n"
                '  expected text such as "float32 int32", or a list of such texts',
            )
        self.rows = [self._row(row) for row in rows] if given is not None or default else []
        counts = {len(row) for row in self.rows}
        if len(counts) > 1:
            raise mxnet_error(
                ValueError,
                f"{who}: dtypes is {given!r}, for {' and '.join(map(str, sorted(counts)))} inputs\n"
                "  expected rows for one number of inputs",
            )
        self.count = max(counts, default=1)  # a row of one dtype stands for all inputs

    def _row(self, text: str) -> tuple[str, ...]:
        names = tuple(text.split())
        unknown = [n for n in names if n not in CHOICES]
        if unknown or not names:
            raise mxnet_error(
                ValueError,
                f"{self.who}: dtypes has {unknown[0] if unknown else text!r}\n"
                f"  expected dtypes with spaces between them, of {', '.join(CHOICES)}",
            )
        return tuple("" if n == "any" else n for n in names)

    def row(self, dtypes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the dtypes to run on: these, or the nearest row to which they can be cast up.

        Raises
        ------
        TypeError
            There is no such row.
        """
        if not self.rows:
            return dtypes
        rows = [row * len(dtypes) if len(row) == 1 else row for row in self.rows]
        if (found := nearest_row(dtypes, rows)) is not None:
            return found
        known = "; ".join(" ".join(t or "any" for t in row) for row in rows)
        hint = f'Custom(..., dtypes="{" ".join(dtypes)}") if its code reads these'
        raise mxnet_error(
            TypeError,
            f"{self.who}: inputs of {', '.join(dtypes)}\n"
            f"  expected {known}, or smaller ones of the same kinds"
            + (f"\n  or {hint}" if self.is_default else ", as its dtypes say"),
        )
