"""From RNN, which takes packed parameters, to RNN_OF_PARTS, which does not, and back.

Graphs that users see and files have the first one; what is computed is the second one.
"""

from __future__ import annotations

from collections import Counter

from .._np_shape import is_known
from .._table import registry
from .._table.rnn import RNN_OF_PARTS, count_parts
from ._node import Entry, Node, ordered

RNN, PACK, RESHAPE, ZEROS = map(registry.get, ("RNN", "_rnn_param_concat", "Reshape", "_zeros"))


def with_parts(entries: list[Entry]) -> list[Entry]:
    """The outputs of a graph in which RNN takes the parts that `_rnn_param_concat` would pack.

    States that are zeros for any number of sequences are left out: RNN_OF_PARTS makes them.
    """
    nodes = ordered(entries)
    if not any(node.op is RNN for node in nodes):
        return entries
    uses = Counter([*entries, *(entry for node in nodes for entry in node.inputs)])
    changed: dict[Node, Node] = {}  # or itself, where nothing before it has changed
    for node in nodes:
        parts = _parts_for(node, uses) if node.op is RNN else None
        inputs = [(changed[n], i) for n, i in parts or node.inputs]
        changed[node] = node if inputs == node.inputs else node.copied(inputs)
        if parts:
            changed[node].op = RNN_OF_PARTS
    return [(changed[node], i) for node, i in entries]


def _parts_for(node: Node, uses: Counter) -> list[Entry] | None:
    """The inputs of RNN_OF_PARTS in place of this RNN; None where it cannot take its place."""
    data, (pack, _), *rest = node.inputs
    is_packed = pack.op is PACK and pack.attributes.get("dim") == 0
    if not is_packed or len(pack.inputs) != count_parts(node.attributes):
        return None
    lengths = [rest.pop()] if node.attributes.get("use_sequence_length") else []
    if any(_is_zeros_of_unknown_size(state) for state, _ in rest):
        # What else uses them would not learn their shapes.
        if any(uses[entry] > 1 or not _is_zeros_of_unknown_size(entry[0]) for entry in rest):
            return None
        rest = []
    return [data, *map(_before_flattening, pack.inputs), *rest, *lengths]


def _is_zeros_of_unknown_size(node: Node) -> bool:
    shape = node.attributes.get("shape") if node.op is ZEROS else None
    return bool(shape) and not is_known(shape)


def _before_flattening(entry: Entry) -> Entry:
    node, _ = entry
    is_flat = node.op is RESHAPE and node.attributes == {"shape": (-1,)}
    return node.inputs[0] if is_flat else entry


def with_packed(name: str, inputs: list[Entry], attributes: dict) -> list[Entry]:
    """The inputs of RNN in place of those of RNN_OF_PARTS; `name` is that of its node.

    States that are left out are variables.
    """
    data, *others = inputs
    count = count_parts(attributes)
    parts = [
        (Node(RESHAPE, f"{name}_part{i}", [part], {"shape": (-1,)}, {"shape": "(-1,)"}), 0)
        for i, part in enumerate(others[:count])
    ]
    texts = {"dim": "0", "num_args": str(count)}
    pack = Node(PACK, f"{name}_parameters", parts, {"dim": 0}, texts)
    names, rest = RNN.input_names(attributes)[2:], others[count:]
    states = [(Node(None, f"{name}_{state}"), 0) for state in names[: len(names) - len(rest)]]
    return [data, (pack, 0), *states, *rest]
