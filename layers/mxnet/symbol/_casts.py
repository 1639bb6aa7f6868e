"""The casts of mixed precision in a graph: putting them in, and leaving them out."""

from __future__ import annotations

import torch

from .. import _dtype
from .._table import registry
from .._table.precision import Policy
from ._infer import TYPE_NUMBERS, declared_type
from ._node import Entry, Node, ordered, states

CASTS = ("amp_cast", "amp_multicast")


def without_casts(entries: list[Entry]) -> list[Entry]:
    """The entries in a graph without casts of mixed precision: what they cast goes past them.

    Casts that are outputs themselves stay, as in MXNet.
    """
    copies: dict[Node, Node] = {}
    passed: dict[Entry, Entry] = {}
    for node in ordered(entries):
        inputs = [passed.get(entry) or (copies[entry[0]], entry[1]) for entry in node.inputs]
        copies[node] = node.copied(inputs) if node.inputs else node
        if is_cast(node):
            passed |= dict(zip(node.entries, inputs))
    return [(copies[node], index) for node, index in entries]


def is_cast(node: Node) -> bool:
    """True if a node casts for mixed precision."""
    return node.op is not None and node.op.name in CASTS


class Converter:
    """Puts the casts that a policy asks for into a graph.

    Parameters
    ----------
    policy : Policy
    excluded : set of str
        Names of nodes that compute in float32.
    parameters : set of str
        Variables that are parameters, of float32. Others may be of any dtype; where float32 is
        wanted, they are taken as they are.
    cast_parameters : bool
        Parameters that are only used in 16 bits are to be cast: in the graph they have that dtype.
    """

    def __init__(
        self, policy: Policy, excluded: set[str], parameters: set[str], cast_parameters: bool
    ):
        self.policy, self.excluded, self.parameters = policy, excluded, parameters
        self.cast_parameters = cast_parameters
        self._copies: dict[Node, Node] = {}
        self._types: dict[Entry, torch.dtype] = {}
        self._casts: dict[tuple[Entry, torch.dtype], Entry] = {}

    def convert(self, entries: list[Entry]) -> list[Entry]:
        """The entries in a graph with casts."""
        nodes = ordered(entries)
        in_target = self._only_in_target(nodes, entries) if self.cast_parameters else set()
        for node in nodes:
            if node.op is None:
                self._add_variable(node, node in in_target)
            else:
                self._add_operator(node)
        return [self._cast(self._copied(entry), torch.float32) for entry in entries]

    def _copied(self, entry: Entry) -> Entry:
        return self._copies[entry[0]], entry[1]

    def _wanted(self, node: Node) -> torch.dtype | None:
        if node.name in self.excluded:
            return torch.float32
        return self.policy.dtype(node.op, node.attributes)

    def _only_in_target(self, nodes: list[Node], entries: list[Entry]) -> set[Node]:
        """The parameters that are used, and only where the inputs are cast to the target."""
        used: dict[Node, set] = {}
        for node in nodes:
            for source, _ in node.inputs:
                if source.op is None:
                    used.setdefault(source, set()).add(self._wanted(node))
        fixed = states(nodes) | {id(node) for node, _ in entries}
        return {
            node
            for node, wanted in used.items()
            if wanted == {self.policy.target}
            and node.name in self.parameters
            and id(node) not in fixed
        }

    def _add_variable(self, node: Node, is_in_target: bool) -> None:
        dtype = declared_type(node)
        attrs = {}
        if node.name in self.parameters:
            dtype = self.policy.target if is_in_target else torch.float32
            attrs["__dtype__"] = str(TYPE_NUMBERS[dtype])
        self._copies[node] = copy = node.copied([], **attrs)
        if dtype is not None:
            self._types[copy, 0] = dtype

    def _add_operator(self, node: Node) -> None:
        fixed = node.op.state_names(node.attributes)
        inputs = [self._copied(entry) for entry in node.inputs]
        wanted = self._wanted(node)
        names = node.input_names
        free = [i for i, name in enumerate(names) if name not in fixed]
        if wanted is not None:
            for i in free:
                inputs[i] = self._cast(inputs[i], wanted)
        elif self.policy.takes_widest(node.op) and len(free) > 1:
            inputs = self._in_widest(inputs)
        self._copies[node] = copy = node.copied(inputs)
        known = {names[i]: self._types.get(inputs[i], wanted) for i in free}
        if known and known[names[free[0]]] is not None:
            known = {name: dtype for name, dtype in known.items() if dtype is not None}
            for i, dtype in enumerate(node.op.output_types(known, node.attributes)):
                self._types[copy, i] = dtype

    def _cast(self, entry: Entry, dtype: torch.dtype) -> Entry:
        is_input = entry[0].op is None and entry not in self._types
        if self._types.get(entry) is dtype or (is_input and dtype is torch.float32):
            return entry
        if (entry, dtype) not in self._casts:
            name, source = _dtype.name(dtype), entry[0].output_name(entry[1])
            attributes, attrs = {"dtype": dtype}, {"dtype": name}
            operator = registry.get("amp_cast")
            cast = Node(operator, f"{source}_amp_cast_{name}", [entry], attributes, attrs)
            self._casts[entry, dtype] = cast, 0
            self._types[cast, 0] = dtype
        return self._casts[entry, dtype]

    def _in_widest(self, inputs: list[Entry]) -> list[Entry]:
        found = {self._types.get(entry) for entry in inputs}
        if None not in found:
            return [self._cast(e, torch.float32) for e in inputs] if len(found) > 1 else inputs
        count = len(inputs)
        source, index = inputs[0]
        cast = Node(
            registry.get("amp_multicast"),
            f"{source.output_name(index)}_amp_multicast",
            inputs,
            {"num_outputs": count},
            {"num_outputs": str(count)},
        )
        return cast.entries
