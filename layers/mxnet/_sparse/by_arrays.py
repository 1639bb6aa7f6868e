"""A graph run node by node on arrays, of which some are sparse: `Program` takes tensors alone."""

from __future__ import annotations

from typing import Any

import torch

from .._graph.program import Program
from .._state import this_thread
from ..base import UnsupportedError
from ..context import Context
from ..ndarray import NDArray
from ..symbol._node import Entry, Node
from .call import call
from .rows import is_sparse
from .stypes import makes_sparse

__all__ = ["compute"]


def compute(program: Program, arrays: list[NDArray], context: Context) -> list[NDArray]:
    """The outputs of a graph for the arrays of its variables, recorded when recording is on.

    Raises
    ------
    UnsupportedError
        A node makes an array whose shape only a call of the graph tells.
    """
    if program.is_open:
        raise UnsupportedError(
            "a graph with sparse inputs has zeros of an unknown shape\n  expected all sizes"
        )
    known: dict[Entry, NDArray] = {(v, 0): a for v, a in zip(program.variables, arrays)}
    for node in program.nodes:
        outputs = _outputs(node, [known[entry] for entry in node.inputs], context)
        known.update(zip(node.entries, outputs))
    return [known[entry] for entry in program.entries]


def _outputs(node: Node, inputs: list[NDArray], context: Context) -> list[NDArray]:
    operator, attributes = node.op, node.attributes
    supplied: dict[str, Any] = {"training": this_thread.state.training, "context": context}
    supplied["device"] = context.device
    supplied = {name: supplied[name] for name in operator.supplied}
    if is_sparse(*inputs) or makes_sparse(node):
        found = operator.call_sparse(inputs, attributes, context)
        if found is None:
            found = call(operator, inputs, attributes | supplied, context)
        return found if isinstance(found, list) else [found]
    states = operator.state_names(attributes)
    names = operator.places(attributes, len(inputs))
    tensors = [a._state_tensor() if n in states else a._tensor for n, a in zip(names, inputs)]
    with torch.set_grad_enabled(this_thread.state.recording):
        y = operator.run(*tensors, **supplied, **operator.arguments_of_run(attributes))
    return [NDArray(t, context) for t in ([y] if isinstance(y, torch.Tensor) else y)]
