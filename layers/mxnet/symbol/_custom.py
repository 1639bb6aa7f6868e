"""`sym.Custom`: registered operators in a graph, by their names."""

from __future__ import annotations

from .._op.registered import find
from .register import CALL_ARGUMENTS, compose
from .symbol import Symbol

__all__ = ["Custom"]


def Custom(*args, op_type: str | None = None, **kwargs) -> Symbol:
    """Put a registered operator into a graph.

    Parameters
    ----------
    *args, **kwargs
        Inputs, then states, by position or by name; one that is missing becomes a variable.
        ``name`` and ``attr`` are the node's; everything else is an attribute, which reaches a
        `CustomOpProp` as text.
    op_type : str
        The name it was registered under.

    Raises
    ------
    MXNetError
        No operator has this name.
    ArgumentError
        An input is unknown, one too many, or no Symbol.
    """
    given = {
        k: v
        for k, v in kwargs.items()
        if not (isinstance(v, Symbol) or k in CALL_ARGUMENTS or k.startswith("__"))
    }
    return compose(find(op_type, given), args, kwargs, "custom")
