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

        With `everything` also variables and, as ``fc_weight``, the inputs of all nodes.
        """
        for node, index in self.entries:
            if everything and index == 0:
                for name, entry in zip(node.input_names, node.inputs):
                    yield node, f"{node.name}_{name}", entry
            if everything or node.op is not None:
                yield node, node.output_name(index), (node, index)
