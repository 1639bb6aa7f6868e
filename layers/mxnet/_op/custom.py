"""`nd.Custom`: registered operators, by their names."""

from __future__ import annotations

from typing import Any

from ..ndarray.ndarray import NDArray
from ..ndarray.register import Pending, _context, give
from .registered import find

__all__ = ["custom"]


def custom(*args, op_type: str | None = None, out=None, name=None, **kwargs) -> Any:
    """Call a registered operator.

    Parameters
    ----------
    *args, **kwargs
        Inputs, then states, by position or by name; everything else is an attribute, which
        reaches a `CustomOpProp` as text.
    op_type : str
        The name it was registered under.

    Returns
    -------
    NDArray, or list of NDArray for several outputs

    Raises
    ------
    MXNetError
        No operator has this name.
    ArgumentError, ShapeError
        Inputs are missing, too many, or of shapes that the operator does not take.
    """
    named = {k: v for k, v in kwargs.items() if isinstance(v, (NDArray, Pending))}
    given = {k: v for k, v in kwargs.items() if k not in named}
    op = find(op_type, given)
    attributes = op.read(given)
    arrays = op.arrange(args, named, attributes)
    first = next((a for a in arrays if a is not None), None)
    context = _context(kwargs.get("ctx")) if first is None else first._context
    outputs = op.call_arrays(arrays, attributes, context)
    result = outputs if len(outputs) > 1 else outputs[0]
    return result if out is None else give(result, out)
