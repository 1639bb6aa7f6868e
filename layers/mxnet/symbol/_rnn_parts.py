"""RNN of packed parameters, as graphs have it, and of their parts, as it is computed."""

from __future__ import annotations

from collections import Counter

from .._np_shape import is_known
from .._table import registry
from .._table.rnn import RNN_OF_PARTS, count_parts
from ._node import Entry, Node, ordered

RNN, PACK, RESHAPE, ZEROS = map(registry.get, ("RNN", "_rnn_param_concat", "Reshape", "_zeros"))


def unpacked(entries: list[Entry]) -> list[Entry]:
    """The outputs of a graph in which RNN takes the parts that `_rnn_param_concat` would pack.

    States that are zeros for any number of sequences are left out.
    """
    nodes = ordered(entries)
    if not any(node.op is RNN for node in nodes):
        return entries
    uses = Counter([*entries, *(entry for node in nodes for entry in node.inputs)])
    places: dict[Node, Node] = {}
    for node in nodes:
        parts = _with_parts(node, uses) if node.op is RNN else None
        inputs = [(places[n], i) for n, i in parts or node.inputs]
        made = places[node] = node if inputs == node.inputs else node.copied(inputs)
        made.op = RNN_OF_PARTS if parts else node.op
    return [(places[node], i) for node, i in entries]


def _with_parts(node: Node, uses: Counter) -> list[Entry] | None:
    """The inputs of RNN_OF_PARTS in place of RNN; None where it cannot take its place."""
    data, (packed, _), *rest = node.inputs
    is_packed = packed.op is PACK and packed.attributes.get("dim") == 0
    if not is_packed or len(packed.inputs) != count_parts(node.attributes):
        return None
    lengths = [rest.pop()] if node.attributes.get("use_sequence_length") else []
    if any(_is_open(state) for state, _ in rest):
        if any(uses[entry] > 1 or not _is_open(entry[0]) for entry in rest):
            return None  # what else uses them would not learn their shapes
        rest = []
    return [data, *map(_before_flattening, packed.inputs), *rest, *lengths]


def _is_open(node: Node) -> bool:
    shape = node.attributes.get("shape") if node.op is ZEROS else None
    return bool(shape) and not is_known(shape)


def _before_flattening(entry: Entry) -> Entry:
    node, _ = entry
    is_flat = node.op is RESHAPE and node.attributes == {"shape": (-1,)}
    return node.inputs[0] if is_flat else entry


def packed(name: str, inputs: list[Entry], attributes: dict) -> list[Entry]:
    """The inputs of RNN, in a node of this name, in place of those of RNN_OF_PARTS.

    States that are left out are variables.
    """
    data, *others = inputs
    count = count_parts(attributes)
    parts = Node(PACK, f"{name}_parameters", others[:count], {"dim": 0}, {"dim": "0"})
    names, rest = RNN.input_names(attributes)[2:], others[count:]
    states = [(Node(None, f"{name}_{state}"), 0) for state in names[: len(names) - len(rest)]]
    return [data, (parts, 0), *states, *rest]
