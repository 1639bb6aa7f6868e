"""A graph as a Python function of tensors, one line a node.

Its names are numbered and attributes are bound objects: no text of a file enters the source. It is
registered in `linecache`, so that tracebacks show it; `print(program.source)` does too.
"""

from __future__ import annotations

import linecache
import logging
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from itertools import count
from traceback import walk_tb
from typing import Any, ClassVar

import torch

from .. import autograd
from .._np_shape import is_known
from .._state import this_thread
from .._tensor import PYTORCH_ERRORS, copy_if_aliased
from ..base import explained, note
from ..context import Context
from ..symbol._infer import completed
from ..symbol._node import Entry, Node, ordered, states
from .convolutions import static_convolutions
from .recompute import recomputed

log = logging.getLogger("layers.mxnet.hybridize")

_numbers = count()
MARK_OF_CONSTANTS = "_dynamo_marked_constant"  # what PyTorch's tracer calls, and does not trace


class Program:
    """The function of a graph.

    Parameters
    ----------
    entries : list of (Node, int)
        The outputs.
    nodes : list of Node, optional
        In the order in which they are computed.

    Attributes
    ----------
    entries : list of (Node, int)
    variables : list of Node
        In the order in which the function takes their tensors; `inputs` has their names.
    outputs : int
        How many there are.
    states : set of int
        The places of the variables that the graph updates in place.
    source : str
    is_open : bool
        Whether some of its nodes make arrays of sizes that only a call tells.
    keeps : bool
        Whether an operator of a user may keep what is an output, or give what it keeps.
    """

    settings: ClassVar[dict[str, bool]] = {}  # of PyTorch's tracer

    def __init__(self, entries: list[Entry], nodes: list[Node] | None = None):
        groups = _with_parts_together(ordered(entries) if nodes is None else nodes)
        nodes = [n for _, group in groups for n in group]
        self.entries = entries
        variables = [n for n in nodes if n.op is None]
        updated = states(nodes)
        self.variables = variables
        self.inputs = [n.name for n in variables]
        self.outputs = len(entries)
        self.states = {i for i, n in enumerate(variables) if id(n) in updated}
        source = _Source(groups, entries)
        self.source, self._lines = source.text, source.nodes_at
        self._names, self._tensors = source.names, source.tensors
        self.is_open = bool(source.waiting)
        self.keeps = not all(node.op.traceable for node in self._lines.values())
        if self.is_open:
            self._names["sizes"] = _sizes(nodes, variables, [n for n in nodes if _open(n)])
        self._file = f"<graph {next(_numbers)}>"
        lines = self.source.splitlines(True)
        linecache.cache[self._file] = (len(self.source), None, lines, self._file)
        self._static_function: Callable | None = None
        weakref.finalize(self, linecache.cache.pop, self._file, None)

    @cached_property
    def function(self) -> Callable:
        """The graph's function, compiled when it is first asked for."""
        return self.bound({})

    @property
    def nodes(self) -> list[Node]:
        """The nodes that compute something, in their order."""
        return list(self._lines.values())

    @property
    def functions(self) -> dict[Node, Callable]:
        """The function of each of them."""
        return {node: self._names[f"f{number}"] for number, node in enumerate(self.nodes)}

    def bound(
        self, functions: dict[Node, Callable], through: Callable[[Callable], Callable] | None = None
    ) -> Callable:
        """Return the graph's function, with these in place of some nodes' own functions.

        `through`, such as a compiler, is applied to it.
        """
        names = dict(self._names)
        for number, node in enumerate(self.nodes):
            if node in functions:
                names[f"f{number}"] = functions[node]
        exec(compile(self.source, self._file, "exec"), names)
        return through(names["graph"]) if through else names["graph"]

    def static_function(self, context: Context) -> Callable:
        """Return the function of a static graph, which on a CPU lays out its convolutions."""
        if context.device.type != "cpu":
            return self.function
        if self._static_function is None:
            self._static_function = self.bound(static_convolutions(self.nodes))
        return self._static_function

    def changed(self, count: int) -> set[int]:
        """Return the places, among so many inputs, of those that the function changes in place."""
        return self.states

    def __call__(self, tensors: list[torch.Tensor], context: Context) -> list[torch.Tensor]:
        """Return the outputs, in memory of their own, recorded when recording is on."""
        return self.run(self.function, tensors, context, this_thread.state.recording)

    def run(self, function: Callable, tensors: list, context: Context, recording: bool) -> list:
        """Return the outputs of `function`, which is the graph's, in memory of their own."""
        before = torch.is_grad_enabled()
        autograd._set_grad_enabled(recording)
        try:
            return copy_if_aliased(self.results(function, tensors, context), tensors)
        finally:
            autograd._set_grad_enabled(before)

    def results(self, function: Callable, tensors: list, context: Context) -> list:
        """Return the results of `function`, the graph's."""
        training, device = this_thread.state.training, context.device
        try:
            return function(*tensors, training=training, context=context, device=device)
        except Exception as error:
            told = self._explained(error)
            if told is error:
                raise
            raise told from error.__cause__

    def _explained(self, error: Exception) -> Exception:
        """Return the error with the node it happened in; PyTorch's as ours."""
        node, tensors = self._failed(error)
        if node is not None and node.op.explains:
            return error
        shapes = {name: tuple(t.shape) for name, t in tensors.items()}
        where = node_line(node, shapes) if node else "  in the graph"
        own = node is not None and node.op.own  # its author's errors stay what they are
        if type(error) in PYTORCH_ERRORS and not own:
            error_class, problem = explained(error, shapes, [t.dtype for t in tensors.values()])
            name = node.op.name if node else "graph"
            return error_class(f"{name}: {problem}\n{where}").with_traceback(error.__traceback__)
        return note(error, where)

    def _failed(self, error: Exception) -> tuple[Node | None, dict[str, torch.Tensor]]:
        """Return the node in which an error happened, and its inputs that are still there."""
        frames = [f for f in walk_tb(error.__traceback__) if f[0].f_code.co_filename == self._file]
        if not frames or frames[-1][1] not in self._lines:
            return None, {}
        frame, number = frames[-1]
        node = self._lines[number]
        found = {
            name: frame.f_locals.get(self._tensors[entry])
            for name, entry in zip(node.input_names, node.inputs)
        }
        return node, {n: t for n, t in found.items() if isinstance(t, torch.Tensor)}


def node_line(node: Node, shapes: dict[str, tuple[int, ...]]) -> str:
    """Return the line that says in which node an error is, with the shapes of its inputs."""
    shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    return f"  in {node.op.name} {node.name!r} of the graph" + (f" ({shown})" if shown else "")


class _Source:
    """The source of a graph's function.

    Attributes
    ----------
    text : str
    nodes_at : dict of int to Node
        The node of each line.
    names : dict of str to value
        What names in it are bound to.
    tensors : dict of (Node, int) to str
        The names of the tensors.
    waiting : dict of Node to int
        The nodes that make arrays of sizes that only a call tells, and their places among these.
    """

    def __init__(self, groups: list[tuple[int | None, list[Node]]], entries: list[Entry]):
        nodes = [n for _, group in groups for n in group]
        self.names: dict[str, Any] = {}
        self.nodes_at: dict[int, Node] = {}
        names = (f"t{i}" for i in count())
        self.tensors = {entry: next(names) for node in nodes for entry in node.entries}
        self._last = {entry: node for node in nodes for entry in node.inputs}
        self._outputs = set(entries)
        inputs = [self.tensors[n, 0] for n in nodes if n.op is None]
        supplied = ["*", "training", "context", "device"]
        self._lines = [f"def graph({', '.join([*inputs, *supplied])}):"]
        self.waiting = {n: place for place, n in enumerate(n for n in nodes if _open(n))}
        if self.waiting:
            shapes = "".join(f"tuple({t}.shape), " for t in inputs)
            self._lines.append(f"    shapes = sizes(({shapes}))")
        for part, group in groups:
            computing = [n for n in group if n.op is not None]
            if part is None:
                for node in computing:
                    self._add_node(node, "    ", self._outputs)
            else:
                self._add_part(computing)
        self._lines.append(f"    return ({self._listed(entries)})")
        self.text = "\n".join(self._lines) + "\n"

    def _listed(self, entries: Iterable[Entry]) -> str:
        return "".join(f"{self.tensors[e]}, " for e in entries).rstrip()

    def _add_node(self, node: Node, indent: str, kept: set[Entry]) -> None:
        number, names, tensors = len(self.nodes_at), self.names, self.tensors
        names[f"f{number}"] = _single(node) if len(node.outputs) == 1 else node.op.run
        names[f"a{number}"] = node.op.arguments_of_run(node.attributes)
        args = [tensors[e] for e in node.inputs]
        args += [f"{n}={n}" for n in node.op.supplied]
        if node in self.waiting:  # what is read of `shape` now comes from what is around the node
            names[f"a{number}"] = {k: v for k, v in node.attributes.items() if k != "shape"}
            names[f"f{number}"] = node.op.sized_function(node.attributes) or names[f"f{number}"]
            args.append(f"shape=shapes[{self.waiting[node]}]")
        args += [f"**a{number}"] if names[f"a{number}"] else []
        results = ", ".join(tensors[entry] for entry in node.entries)
        self._lines.append(f"{indent}{results} = f{number}({', '.join(args)})  # {node.op.name}")
        self.nodes_at[len(self._lines)] = node
        self._add_del([e for e in node.inputs if self._last[e] is node], indent, kept)

    def _add_part(self, nodes: list[Node]) -> None:
        """Add the lines of nodes that are computed again in backward: a function in the graph's."""
        inside = {*nodes}
        given = dict.fromkeys(e for n in nodes for e in n.inputs if e[0] not in inside)
        made = dict.fromkeys(e for n in nodes for e in n.entries)
        left = [e for e in made if e in self._outputs or self._last.get(e, nodes[0]) not in inside]
        updated = states(nodes)
        arguments = self._listed(given)
        self._lines.append(f"    def part({arguments}):")
        for node in nodes:
            self._add_node(node, " " * 8, {*left, *given})
        self._lines.append(f"        return ({self._listed(left)})")
        changed = self._listed(e for e in given if id(e[0]) in updated)
        self._lines.append(
            f"    {self._listed(left)} = recomputed(part, ({arguments}), ({changed}))"
        )
        self.names["recomputed"] = recomputed
        self._add_del([e for e in given if self._last[e] in inside], "    ", self._outputs)

    def _add_del(self, entries: Iterable[Entry], indent: str, kept: set[Entry]) -> None:
        done = sorted({self.tensors[e] for e in entries if e not in kept})
        if done:  # what is not needed any more does not keep its memory
            self._lines.append(f"{indent}del {', '.join(done)}")


def _with_parts_together(nodes: list[Node]) -> list[tuple[int | None, list[Node]]]:
    """Return the nodes in an order in which those of each part follow each other, by parts."""
    if all(n.part is None for n in nodes):
        return [(None, nodes)]
    groups: dict[Any, list[Node]] = {}
    for node in nodes:
        groups.setdefault(_group(node), []).append(node)
    before = {
        group: dict.fromkeys(
            source for n in members for e in n.inputs if (source := _group(e[0])) != group
        )
        for group, members in groups.items()
    }
    sorter = TopologicalSorter(before)
    try:
        sorter.prepare()
    except CycleError:  # nodes of two parts have been made one
        log.warning("a part of the graph needs itself: nothing of it is computed again in backward")
        return [(None, nodes)]
    order, ready, places = [], [], {group: i for i, group in enumerate(groups)}
    while sorter.is_active():  # of the groups that can come next, the one that came first
        for group in sorter.get_ready():
            heappush(ready, (places[group], group))
        _, group = heappop(ready)
        sorter.done(group)
        order.append((group if isinstance(group, int) else None, groups[group]))
    return order


def _group(node: Node) -> Node | int:
    return node if node.op is None or node.part is None else node.part


def _open(node: Node) -> bool:
    """True if a node makes an array of a size that only a call tells, such as zeros for a batch."""
    if node.op is None or node.inputs or node.op.own:
        return False
    shape = node.attributes.get("shape")
    shape = shape if isinstance(shape, tuple) else None  # that of a gamma distribution is a number
    is_told = node.op.sized_rule and node.op.sized_function(node.attributes)
    return bool(is_told or (shape and not is_known(shape)))


def _sizes(nodes: list[Node], variables: list[Node], waiting: list[Node]) -> Callable:
    """Return what finds the shapes of nodes that make arrays, from those of the variables."""

    @lru_cache(maxsize=64)
    def sizes(shapes: tuple) -> tuple:
        found = completed(nodes, {(v, 0): shape for v, shape in zip(variables, shapes)})
        return tuple([found.get((node, 0)) for node in waiting])

    # As `torch.compiler.assume_constant_result` does, which first imports for a second.
    setattr(sizes, MARK_OF_CONSTANTS, True)
    return sizes


def _single(node: Node) -> Callable:
    """Return the function of a node of one output; some give a tuple of one."""
    if node.op.outputs_rule is None:
        return node.op.run

    def first(*args, **kwargs):
        y = node.op.run(*args, **kwargs)
        return y if isinstance(y, torch.Tensor) else y[0]

    return first


# What a monitor of a graph is shown: what each of its nodes computes.


def values_of_all(
    program: Program, of_all: Program, run: Callable[[list], list], tensors: list
) -> dict[Entry, Any]:
    """Return the outputs of all nodes of a program by their places; a variable's is its tensor.

    The outputs of the program `of_all` are those of all nodes, variables too. ``run(tensors)``
    computes it; `tensors` are given in the order of `program`.
    """
    given = dict(zip(program.variables, tensors))
    inputs = [given[node] for node in of_all.variables]
    found = dict(zip(of_all.entries, run(inputs)))
    return found | {(node, 0): x for node, x in zip(of_all.variables, inputs)}


def shown_values(of_all: Program, everything: bool) -> Iterator[tuple[Node, str, Entry]]:
    """Yield the node, the name and the place of each value that a monitor is shown, in order.

    With `everything` also, as ``fc_weight`` or ``relu0_input0``, the inputs of all nodes; and
    before an input that is a variable, the variable.
    """
    for node, index in of_all.entries:
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
