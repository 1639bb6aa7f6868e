"""A graph that computes with 8-bit integers where there are operators for them.

A node that is quantized takes three entries for each of its inputs, the integers and the ends of
their range, and gives three. Between it and others stand nodes that quantize and dequantize.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .._table import registry
from ..symbol._node import Entry, Node, ordered

_ROWS = {
    "Activation": "act",
    "BatchNorm": "batch_norm",
    "Concat": "concat",
    "Convolution": "conv",
    "Embedding": "embedding",
    "Flatten": "flatten",
    "FullyConnected": "fully_connected",
    "Pooling": "pooling",
    "elemwise_add": "elemwise_add",
    "elemwise_mul": "elemwise_mul",
}
# Those that a graph is quantized for; the others save a conversion where they stand between them.
_WORTH = ("Convolution", "FullyConnected")
_IN_INT32 = ("Convolution", "FullyConnected", "elemwise_add", "elemwise_mul")
_CALIBRATED = (*_IN_INT32, "BatchNorm")
_AS_THEY_ARE = {  # inputs that are no integers of 8 bits
    "BatchNorm": ("gamma", "beta", "moving_mean", "moving_var"),
    "Embedding": ("data",),
}
# MXNet names the node that quantizes an output by its name for these, by its number for others.
_NAMED = {
    "Activation", "BatchNorm", "Concat", "Convolution", "Crop", "Deconvolution", "Dropout",
    "FullyConnected", "GroupNorm", "InstanceNorm", "L2Normalization", "LRN", "LayerNorm",
    "LeakyReLU", "Pad", "Pooling", "RNN", "SliceChannel", "SoftmaxOutput", "SwapAxis", "UpSampling",
    "elemwise_add", "elemwise_div", "elemwise_mul", "elemwise_sub", "softmax",
}  # fmt: skip


def can_be_quantized(node: Node) -> bool:
    """Whether there is an operator on integers for a node."""
    if node.op is None or node.op.name not in _ROWS:
        return False
    if node.op.name == "Activation":
        return node.attributes["act_type"] == "relu"
    if node.op.name == "Pooling":
        return node.attributes.get("pool_type", "max") in ("avg", "max")
    return not node.attributes.get("output_mean_var", False)


def chosen(entries: list[Entry], is_excluded: Callable[[Node], bool], mode: str) -> set[Node]:
    """The nodes that are quantized: all that can be, or in the mode 'smart' those that it is for.

    These are the convolutions and products, and what is between two of them.
    """
    nodes = ordered(entries)
    able = {n for n in nodes if can_be_quantized(n) and not is_excluded(n)}
    if mode == "full":
        return able
    worth = {n for n in able if n.op.name in _WORTH}
    behind, before = set(worth), set(worth)
    for node in nodes:
        if node in able and any(source in behind for source, _ in node.inputs):
            behind.add(node)
    for node in reversed(nodes):
        if node in before:
            before.update(source for source, _ in node.inputs if source in able)
    return behind & before


class Quantizer:
    """Makes the graph on integers.

    Parameters
    ----------
    nodes : set of Node
        Those that are quantized.
    parameters : set of str
        Variables whose integers, and their ranges, are to be variables.
    dtype : {'int8', 'uint8', 'auto'}
        Of what nodes give.

    Attributes
    ----------
    looked_at : list of str
        The outputs of the graph as it was whose ranges calibration is to find, in their order.
    """

    def __init__(self, nodes: set[Node], parameters: set[str], dtype: str):
        self.nodes, self.parameters, self.dtype = nodes, parameters, dtype
        self.looked_at: list[str] = []
        self._plain: dict[Entry, Entry] = {}
        self._integers: dict[Entry, list[Entry]] = {}

    def convert(self, entries: list[Entry]) -> list[Entry]:
        """The entries in the graph on integers."""
        for node in ordered(entries):
            if node in self.nodes:
                self._quantize(node)
            elif node.op is not None:
                made = node.copied([self._as_numbers(entry) for entry in node.inputs])
                self._plain |= {(node, i): (made, i) for i in range(len(node.outputs))}
        return [self._as_numbers(entry) for entry in entries]

    def _quantize(self, node: Node) -> None:
        as_they_are, firsts, ends = _AS_THEY_ARE.get(node.op.name, ()), [], []
        for name, entry in zip(node.input_names, node.inputs):
            if name in as_they_are:
                firsts.append(self._as_numbers(entry))
                continue
            q, *both = self._as_integers(entry, fixed=name in ("weight", "bias"))
            firsts.append(q)
            ends += both
        row = f"_contrib_quantized_{_ROWS[node.op.name]}"
        attrs = {k: v for k, v in node.attrs.items() if k != "num_args"}
        if node.op.name == "Concat":
            attrs["num_args"] = str(len(firsts))
        made = _node(row, f"quantized_{node.name}", firsts + ends, attrs)
        if node.op.name in _IN_INT32:
            made = _node("_contrib_requantize", f"requantize_{node.name}", made.entries,
                         {"out_type": self.dtype})  # fmt: skip
        if node.op.name in _CALIBRATED:
            self._look_at(node.output_name(0))
        self._integers[node, 0] = made.entries[:3]

    def _look_at(self, name: str) -> None:
        if name not in self.looked_at:
            self.looked_at.append(name)

    def _as_integers(self, entry: Entry, fixed: bool) -> list[Entry]:
        """The integers of an entry and the ends of their range; int8 if the dtype is fixed."""
        if entry not in self._integers:
            node, index = entry
            if node.op is None and node.name in self.parameters:
                name = f"{node.name}_quantize"
                made = [(Node(None, n), 0) for n in (name, f"{name}_min", f"{name}_max")]
            else:
                out_type = "int8" if fixed else self.dtype
                source = [self._as_numbers(entry)]
                name = _name_of(node, index)
                q = _node("_contrib_quantize_v2", name, source, {"out_type": out_type})
                self._look_at(node.output_name(index))
                made = q.entries
            self._integers[entry] = made
        return self._integers[entry]

    def _as_numbers(self, entry: Entry) -> Entry:
        node, _ = entry
        if entry not in self._plain:
            if node.op is None:
                self._plain[entry] = entry
            else:
                integers = self._integers[entry]
                made = _node("_contrib_dequantize", f"{node.name}_dequantize", integers, {})
                self._plain[entry] = made, 0
        return self._plain[entry]


def _name_of(node: Node, index: int) -> str:
    if node.op is None or node.op.name in _NAMED:
        return f"{node.output_name(index)}_quantize"
    return f"{node.name}_{index}_quantize"


def _node(row: str, name: str, inputs: Iterable[Entry], attrs: dict[str, str]) -> Node:
    operator = registry.get(row)
    attributes = operator.read({k: v for k, v in attrs.items() if operator.owns(k)})
    return Node(operator, name, inputs, attributes, dict(attrs))


def with_ranges(entries: list[Entry], ranges: dict[str, tuple[float, float]]) -> list[Entry]:
    """The entries in the graph with calibrated ranges, by the names that `looked_at` has."""
    copies: dict[Node, Node] = {}
    for node in ordered(entries):
        made = copies[node] = node
        if node.inputs:
            made = copies[node] = node.copied((copies[n], index) for n, index in node.inputs)
        found = ranges.get(_calibrated(node))
        if found is not None:
            ends = zip(("min_calib_range", "max_calib_range"), found)
            texts = {key: repr(float(end)) for key, end in ends}
            made.attrs |= texts
            made.attributes |= made.op.read(texts)
    return [(copies[node], index) for node, index in entries]


def below_0_as_uint8(entries: list[Entry]) -> list[str]:
    """The outputs, by the names that `looked_at` has, whose values below 0 would be taken as 0.

    They become uint8, and not for the sake of a relu, which makes them 0 itself.
    """
    nodes = ordered(entries)
    users: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for source, _ in node.inputs:
            users[source].append(node)
    return [
        _calibrated(node)
        for node in nodes
        if node.op and node.attributes.get("out_type") == "uint8" and _calibrated(node)
        if not all(user.op.name == "_contrib_quantized_act" for user in users[node])
    ]


def _calibrated(node: Node) -> str:
    """The name of the output, of the graph as it was, whose range a node is to have; or ''."""
    row = node.op.name if node.op else ""
    if row == "_contrib_quantize_v2":
        source, index = node.inputs[0]
        return source.output_name(index)
    if row == "_contrib_requantize":
        return f"{node.name.removeprefix('requantize_')}_output"
    if row == "_contrib_quantized_batch_norm":
        return f"{node.name.removeprefix('quantized_')}_output"
    return ""
