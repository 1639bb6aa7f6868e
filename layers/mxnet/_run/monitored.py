"""A graph that shows a monitor what each of its nodes computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torch import Tensor

from ..symbol._node import Entry, Node
from .program import Program

__all__ = ["Monitored"]


class Monitored:
    """The program of a graph whose outputs are those of all nodes.

    Parameters
    ----------
    program : Program
        The graph.
    entries : list of (Node, int)
        The outputs of all its nodes, variables too, in order.
    """

    def __init__(self, program: Program, entries: list[Entry]):
        self.entries = entries
        self.program = Program(entries)
        places = {node: i for i, node in enumerate(program.variables)}
        self._order = [places[node] for node in self.program.variables]

    def compute(self, run: Callable[[list], list], tensors: list) -> dict[Entry, Tensor]:
        """The outputs of all nodes, by their places; a variable's is the tensor itself.

        ``run(tensors)`` computes `program`; `tensors` are in the order of the graph's variables.
        """
        inputs = [tensors[i] for i in self._order]
        found = dict(zip(self.entries, run(inputs)))
        return found | {(node, 0): x for node, x in zip(self.program.variables, inputs)}

    def shown(self, everything: bool) -> Iterator[tuple[Node, str, Entry]]:
        """The node, the name and the place of each value that a monitor is shown, in order.

        With `everything` also, as ``fc_weight`` or ``relu0_input0``, the inputs of all nodes; and
        before an input that is a variable, the variable.
        """
        for node, index in self.entries:
            if everything and index == 0:
                for name, entry in zip(_shown_inputs(node), node.inputs):
                    source = entry[0]
                    if source.op is None:
                        yield source, source.name, entry
                    yield node, f"{node.name}_{name}", entry
            if node.op is not None:
                yield node, node.output_name(index), (node, index)


def _shown_inputs(node: Node) -> list[str]:
    operator = node.op
    if operator is None or operator.variadic or len(operator.inputs) != 1:
        return node.input_names
    return node.input_names if operator.names_input else ["input0"]
