"""`nd.Custom`: registered operators, called on arrays."""

from __future__ import annotations

from typing import Any

from .._state import this_thread
from ..base import ArgumentError
from ..ndarray._origin import note_origin
from ..ndarray.ndarray import NDArray
from ..ndarray.register import Pending, _context, give
from .call import as_output, call
from .node import CUSTOM
from .registered import define

__all__ = ["custom"]


def custom(*args, op_type: str | None = None, out=None, name=None, **kwargs) -> Any:
    """Call a registered operator.

    Parameters
    ----------
    *args, **kwargs
        Inputs, then states, by position or by name; everything else is an attribute, which
        reaches the operator as text.
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
    if op_type is None:
        raise ArgumentError(
            "Custom: op_type is missing\n  expected the name of a registered operator"
        )
    named = {k: v for k, v in kwargs.items() if isinstance(v, (NDArray, Pending))}
    attributes = tuple([(k, str(v)) for k, v in kwargs.items() if k not in named])
    definition = define(op_type, attributes)
    arrays = definition.arrange(args, named)
    first = next((a for a in arrays if a is not None), None)
    context = _context(kwargs.get("ctx")) if first is None else first._context
    count = len(definition.arguments)
    if definition.stores:
        from .sparse_call import call as call_stored

        outputs = call_stored(definition, arrays[:count], arrays[count:], context)
    else:
        outputs = _on_dense(definition, arrays, context)
    result = outputs if len(outputs) > 1 else outputs[0]
    if this_thread.state.recording:
        note_origin(result, CUSTOM, {"op_type": op_type, **dict(attributes)}, arrays)
    return result if out is None else give(result, out)


def _on_dense(definition, arrays: list, context) -> list[NDArray]:
    """The outputs for dense arrays; sparse ones, in MXNet an error, are copied."""
    count = len(definition.arguments)
    dense = [None if a is None else a._as_dense() for a in arrays]
    tensors = [None if a is None else a._tensor for a in dense[:count]]
    prepared, tensors = definition.prepare(tensors, dense[count:], context)
    outputs = [as_output(t, context) for t in call(prepared, tensors)]
    for state, copy in zip(arrays[count:], dense[count:]):
        if copy is not state:
            state[:] = copy
    return outputs
