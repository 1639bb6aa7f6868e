"""A graph as a Python function of tensors, one line a node.

Its names are numbered and attributes are bound objects: no text of a file enters the source. It is
registered in `linecache`, so that tracebacks show it; `print(program.source)` does too.
"""

from __future__ import annotations

import linecache
import weakref
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from traceback import walk_tb
from typing import Any, ClassVar

import torch

from .. import autograd
from .._tensor import copy_if_aliased
from ..base import explained, note
from ..context import Context
from ..symbol._infer import completed
from ..symbol._node import Entry, Node, ordered, states

_numbers = count()


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
        Which of them the graph updates in place.
    source : str
    is_open : bool
        Whether some of its nodes make arrays of sizes that only a call tells.
    keeps : bool
        Whether an operator of a user may keep what is an output, or give what it keeps.
    """

    settings: ClassVar[dict[str, bool]] = {}  # of PyTorch's tracer

    def __init__(self, entries: list[Entry], nodes: list[Node] | None = None):
        nodes = ordered(entries) if nodes is None else nodes
        self.entries = entries
        variables = [n for n in nodes if n.op is None]
        updated = states(nodes)
        self.variables = variables
        self.inputs = [n.name for n in variables]
        self.outputs = len(entries)
        self.states = {i for i, n in enumerate(variables) if id(n) in updated}
        self.source, self._lines, self._names, self._tensors = _written(nodes, entries)
        self.is_open = "sizes" in self.source
        self.keeps = not all(node.op.traceable for node in self._lines.values())
        if self.is_open:
            self._names["sizes"] = _sizes(entries, variables, [n for n in nodes if _open(n)])
        self._file = f"<graph {next(_numbers)}>"
        lines = self.source.splitlines(True)
        linecache.cache[self._file] = (len(self.source), None, lines, self._file)
        self.function = self.bound({})
        weakref.finalize(self, linecache.cache.pop, self._file, None)

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
        """The function, with other ones for some nodes, and as `through` makes it of that."""
        names = dict(self._names)
        for number, node in enumerate(self.nodes):
            if node in functions:
                names[f"f{number}"] = functions[node]
        exec(compile(self.source, self._file, "exec"), names)
        return through(names["graph"]) if through else names["graph"]

    def changed(self, count: int) -> set[int]:
        """Which of so many inputs the function changes in place."""
        return self.states

    def __call__(self, tensors: list[torch.Tensor], context: Context) -> list[torch.Tensor]:
        """The outputs, in memory of their own, recorded when recording is on."""
        return self.run(self.function, tensors, context, autograd.state.recording)

    def run(self, function: Callable, tensors: list, context: Context, recording: bool) -> list:
        """The outputs of `function`, which is the graph's, in memory of their own."""
        with torch.set_grad_enabled(recording):
            return copy_if_aliased(self.results(function, tensors, context), tensors)

    def results(self, function: Callable, tensors: list, context: Context) -> list:
        """What `function`, which is the graph's, returns."""
        training, device = autograd.state.training, context.device
        try:
            return function(*tensors, training=training, context=context, device=device)
        except Exception as error:
            raise self._explained(error) from error.__cause__

    def _explained(self, error: Exception) -> Exception:
        """The error with the node it happened in; PyTorch's as ours."""
        node, tensors = self._failed(error)
        if node is not None and node.op.explains:
            return error
        shapes = {name: tuple(t.shape) for name, t in tensors.items()}
        where = node_line(node, shapes) if node else "  in the graph"
        own = node is not None and node.op.own  # its author's errors stay what they are
        if type(error) in (RuntimeError, IndexError) and not own:
            error_class, problem = explained(error, shapes, [t.dtype for t in tensors.values()])
            name = node.op.name if node else "graph"
            return error_class(f"{name}: {problem}\n{where}").with_traceback(error.__traceback__)
        return note(error, where)

    def _failed(self, error: Exception) -> tuple[Node | None, dict[str, torch.Tensor]]:
        """The node in which an error happened, and its inputs, where there still are some."""
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
    """The line that says in which node an error is, with the shapes of its inputs."""
    shown = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    return f"  in {node.op.name} {node.name!r} of the graph" + (f" ({shown})" if shown else "")


def _written(
    nodes: list[Node], entries: list[Entry]
) -> tuple[str, dict[int, Node], dict[str, Any], dict[Entry, str]]:
    """The source, the node of each line, what names are bound to, and those of the tensors."""
    tensors: dict[Entry, str] = {}
    numbers = count()
    for node in nodes:
        for i in range(len(node.outputs)):
            tensors[node, i] = f"t{next(numbers)}"
    last, outputs = {entry: node for node in nodes for entry in node.inputs}, set(entries)
    inputs = [tensors[n, 0] for n in nodes if n.op is None]
    lines = [f"def graph({', '.join([*inputs, '*', 'training', 'context', 'device'])}):"]
    waiting = {n: place for place, n in enumerate(n for n in nodes if _open(n))}
    if waiting:
        lines.append(f"    shapes = sizes(({''.join(f'tuple({t}.shape), ' for t in inputs)}))")
    names: dict[str, Any] = {}
    nodes_at: dict[int, Node] = {}
    for number, node in enumerate(n for n in nodes if n.op is not None):
        names[f"f{number}"] = _single(node) if len(node.outputs) == 1 else node.op.run
        names[f"a{number}"] = node.attributes
        args = [tensors[e] for e in node.inputs]
        args += [f"{n}={n}" for n in node.op.supplied]
        if node in waiting:  # what is read of `shape` now comes from what is around the node
            names[f"a{number}"] = {k: v for k, v in node.attributes.items() if k != "shape"}
            args.append(f"shape=shapes[{waiting[node]}]")
        args += [f"**a{number}"] if names[f"a{number}"] else []
        results = ", ".join(tensors[node, i] for i in range(len(node.outputs)))
        lines.append(f"    {results} = f{number}({', '.join(args)})  # {node.op.name}")
        nodes_at[len(lines)] = node
        done = sorted({tensors[e] for e in node.inputs if last[e] is node and e not in outputs})
        if done:  # what is not needed any more does not keep its memory
            lines.append(f"    del {', '.join(done)}")
    lines.append(f"    return ({', '.join(tensors[e] for e in entries)},)")
    return "\n".join(lines) + "\n", nodes_at, names, tensors


def _open(node: Node) -> bool:
    """Whether a node makes an array of sizes that are not known: zeros for whatever batch."""
    return node.op is not None and not node.inputs and 0 in (node.attributes.get("shape") or ())


def _sizes(entries: list[Entry], variables: list[Node], waiting: list[Node]) -> Callable:
    """From the shapes of the variables to those of nodes that make arrays."""

    @torch.compiler.assume_constant_result
    @lru_cache(maxsize=64)
    def sizes(shapes: tuple) -> tuple:
        found = completed(entries, {(v, 0): shape for v, shape in zip(variables, shapes)})
        return tuple([found[node, 0] for node in waiting])

    return sizes


def _single(node: Node) -> Callable:
    """The function of a node of one output; some give a tuple of one."""
    if node.op.outputs_rule is None:
        return node.op.run

    def first(*args, **kwargs):
        y = node.op.run(*args, **kwargs)
        return y if isinstance(y, torch.Tensor) else y[0]

    return first
