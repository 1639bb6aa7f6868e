"""Symbols with NumPy's rules, and `F`, the functions of them."""

from __future__ import annotations

from typing import Any

import numpy as _np

from ..._np import arithmetic, functions, methods, others, random  # noqa: F401 - they register some
from ..._np.front import Functions
from ..._table.registry import Op
from ...base import NotImplementedForSymbol, describe_value
from ..register import symbolic
from ..symbol import Symbol

__all__ = ["F", "_Symbol"]


class _Symbol(Symbol):
    """One output, or several, of a graph that computes arrays of ``mx.np``.

    Several are a list. Of one output ``x[key]`` is a part, for a key of ints, slices and None.
    """

    __slots__ = ()

    def __getitem__(self, key: Any) -> _Symbol:
        if len(self) > 1 or isinstance(key, str):
            return super().__getitem__(key)
        parts = key if isinstance(key, tuple) else (key,)
        if not parts:
            return self
        if any(not _is_basic(part) for part in parts):
            raise NotImplementedForSymbol(
                f"x[key] of a Symbol: the key is {key!r}\n  expected ints, slices and None"
            )
        whole = [_as_slice(part) for part in parts if part is not None]
        bounds = {
            name: tuple([getattr(part, bound) for part in whole])
            for name, bound in (("begin", "start"), ("end", "stop"), ("step", "step"))
        }
        y = F._npi_slice(self, **bounds) if whole else self
        axes, places, axis, place = [], [], 0, 0
        for part in parts:
            if part is None:
                places.append(place)
            else:
                axes += [] if isinstance(part, slice) else [axis]
                axis += 1
            place += part is None or isinstance(part, slice)
        y = F.squeeze(y, axis=tuple(axes)) if axes else y
        return F.expand_dims(y, tuple(places)) if places else y

    def as_np_ndarray(self) -> _Symbol:
        """Return the Symbol itself."""
        return self

    def as_nd_ndarray(self) -> Symbol:
        """Return the same outputs as a Symbol of ``mx.sym``."""
        return Symbol(self._entries)

    @property
    def T(self) -> _Symbol:
        """The axes in reverse order."""
        return F.transpose(self)

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True) -> _Symbol:
        """Return the values in another dtype."""
        methods.checked_astype("astype", dtype, order, casting, subok)
        return F._npx_cast(self, dtype=dtype)

    def copy(self, order: str = "C") -> _Symbol:
        """Return the same values."""
        return F.copy(self)


_Symbol._symbol_class = Symbol._np_symbol_class = _Symbol


def _is_basic(part: Any) -> bool:
    return part is None or isinstance(part, (slice, int, _np.integer)) and type(part) is not bool


def _as_slice(part: Any) -> slice:
    """Return an int as the slice that has its element."""
    return part if isinstance(part, slice) else slice(int(part), int(part) + 1 or None)


class _OfSymbols(Functions):
    """The functions of ``mx.sym.np``, for Symbols."""

    are_symbols = True

    @staticmethod
    def context(ctx: Any) -> str:
        """Return the text of a context; of none, that on which the graph will run."""
        return "" if ctx is None else str(ctx)

    @staticmethod
    def as_operand(name: str, value: Any, like: Any) -> _Symbol:
        """Return an operand, which has to be a Symbol.

        Raises
        ------
        TypeError
            It is none.
        """
        if isinstance(value, Symbol):
            return value.as_np_ndarray()
        raise TypeError(
            f"{name}: an operand is {describe_value(value)}\n  expected a Symbol or a number"
        )

    @staticmethod
    def as_list(outputs: Symbol) -> list[Symbol]:
        """Return the outputs of a node, of which there may be one."""
        return list(outputs)

    @staticmethod
    def as_rows(x: _Symbol) -> _Symbol:
        """Return the rows of an output as they are: how many there are is not known yet."""
        return x


def _of_operator(operator: Op, name: str):
    short = name.removeprefix("_npi_").removeprefix("_npx_").removeprefix("_np_")
    return symbolic(operator, short, _Symbol)


F = _OfSymbols(_of_operator, _Symbol)
arithmetic.fill(_Symbol, F)
methods.fill(_Symbol, F)
