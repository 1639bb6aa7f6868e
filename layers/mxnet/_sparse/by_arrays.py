"""A graph run node by node on arrays, of which some are sparse: `Program` takes tensors alone."""

from __future__ import annotations

from typing import Any

import torch

from .._run.program import Program
from ..autograd import state
from ..base import UnsupportedError
from ..context import Context
from ..ndarray import NDArray
from ..symbol._node import Entry, Node
from .call import call
from .rows import is_sparse

__all__ = ["compute", "gradient_stypes", "storage_types", "stores"]


def stores(node: Node) -> bool:
    """Whether a node may give a sparse array of dense ones."""
    is_operator = node.op is not None and node.op.stores
    return is_operator and node.attributes.get("stype") != "default"


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
    operator, attributes = node.op, dict(node.attributes)
    supplied: dict[str, Any] = {"training": state.training, "context": context}
    supplied["device"] = context.device
    attributes |= {name: supplied[name] for name in operator.supplied}
    if is_sparse(*inputs) or stores(node):
        found = call(operator, inputs, attributes, context)
        return found if isinstance(found, list) else [found]
    states = operator.state_names(attributes)
    names = operator.places(attributes, len(inputs))
    tensors = [a._state_tensor() if n in states else a._tensor for n, a in zip(names, inputs)]
    with torch.set_grad_enabled(state.recording):
        y = operator.run(*tensors, **attributes)
    return [NDArray(t, context) for t in ([y] if isinstance(y, torch.Tensor) else y)]


def gradient_stypes(entries: list[Entry], nodes: list[Node], stypes: dict[str, str]) -> dict:
    """How gradients of variables are stored, by name, from how the variables are.

    As rows where the variable is, and where it is only looked up, or the right factor of a csr
    matrix.
    """
    used: dict[str, list[bool]] = {}
    for node in nodes:
        for place, (source, _) in enumerate(node.inputs):
            if source.op is None:
                used.setdefault(source.name, []).append(_sends_rows(node, place, stypes))
    outputs = {node.name for node, _ in entries if node.op is None}
    return {
        name: "row_sparse"
        if stypes.get(name) == "row_sparse" or (all(each) and name not in outputs)
        else "default"
        for name, each in used.items()
    }


def _sends_rows(node: Node, place: int, stypes: dict[str, str]) -> bool:
    """Whether the gradient of an input of a node is row_sparse."""
    if place != 1:
        return False
    if node.op.name == "dot":
        left = node.inputs[0][0]
        is_csr = left.op is None and stypes.get(left.name) == "csr"
        return is_csr and not node.attributes.get("transpose_a")
    if node.op.name == "_contrib_SparseEmbedding":
        return True
    return node.op.name == "Embedding" and bool(node.attributes.get("sparse_grad"))


def storage_types(nodes: list[Node]) -> dict[str, str]:
    """The storage types that variables were made with, by name."""
    numbers = {str(i): stype for i, stype in enumerate(("default", "row_sparse", "csr"))}
    told = {n.name: numbers.get(n.attrs.get("__storage_type__", "")) for n in nodes if n.op is None}
    return {name: stype for name, stype in told.items() if stype}
