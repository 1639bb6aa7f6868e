"""Operators that hold graphs: `_foreach`, `_while_loop` and `_cond`.

Each node has an operator of its own, since the graphs are the node's. A variable of a graph is an
input of the node; which one, MXNet's attributes tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from .._run.program import Program
from .._table import registry
from .._table.registry import REQUIRED
from ..base import ArgumentError, ShapeError, UnsupportedError
from . import _infer
from ._node import Entry, ordered

Tensor = torch.Tensor
Places = tuple[int, ...]
Shapes = list["Places | None"]


class Subgraph:
    """A graph inside an operator.

    Attributes
    ----------
    entries : list of (Node, int)
        Its outputs.
    variables : list of Node
        In the order of the graph.
    states : set of int
        Which of them it updates in place.
    """

    def __init__(self, entries: list[Entry]):
        self.entries = entries
        self._program = Program(entries)
        self.variables, self.states = self._program.variables, self._program.states

    def __call__(self, tensors: Iterable[Tensor], **supplied) -> tuple[Tensor, ...]:
        """The outputs; they may share memory with each other and with the tensors."""
        try:
            return self._program.function(*tensors, **supplied)
        except Exception as error:
            raise self._program._explained(error) from error.__cause__

    def shapes(self, known: Shapes) -> tuple[Shapes, Shapes]:
        """Shapes of all variables and outputs, as far as those known of variables tell them."""
        found = _infer.completed(
            self.entries, {(node, 0): shape for node, shape in zip(self.variables, known)}
        )
        return [found.get((v, 0)) for v in self.variables], [found.get(e) for e in self.entries]

    def types(self, known: Iterable[torch.dtype]) -> list[torch.dtype]:
        """Dtypes of the outputs."""
        given = {(node, 0): dtype for node, dtype in zip(self.variables, known)}
        found = _infer.completed_types(self.entries, given)
        return [found[entry] for entry in self.entries]

    def traceable(self) -> bool:
        """Whether PyTorch's compiler may look inside."""
        return all(node.op.traceable for node in ordered(self.entries) if node.op is not None)


class ControlFlow(registry.Op):
    """The base: a function of tensors that calls its graphs.

    Parameters
    ----------
    graphs : sequence of list of (Node, int)
    given : dict of str to value
        The node's attributes, maybe of a file.
    count : int
        How many inputs the node has.

    Attributes
    ----------
    wires : list of tuple of int
        For each graph, the inputs that its variables are.
    carried : dict of int to int
        Which input is which output of the last graph in the next step.
    traceable : bool
        Not where its steps hang on values, or an operator inside is not.

    Raises
    ------
    ArgumentError
        Graphs, attributes and inputs do not fit each other.
    """

    kind: str
    parts: tuple[str, ...]  # what its graphs are
    by_value = True
    any_size = False

    def __init__(self, graphs: Sequence[list[Entry]], given: dict[str, Any], count: int):
        super().__init__(self.wired, self.kind)
        self.run, self.supplied, self.outputs_rule = self._run, registry.SUPPLIED, _number
        self.graphs = [Subgraph(entries) for entries in graphs]
        self.traceable = not self.by_value and all(graph.traceable() for graph in self.graphs)
        self._known: dict[tuple, tuple[Shapes, list[Shapes]]] = {}
        attributes = self.read({k: v for k, v in given.items() if self.owns(k)})
        missing = [name for name in self.required if name not in attributes]
        if missing:
            raise ArgumentError(f"{self.kind}: {missing[0]} is missing\n  expected {self.form}")
        self.wires = [tuple(wires) for wires in self.wired(**attributes)]
        for part, graph, wires in zip(self.parts, self.graphs, self.wires):
            fits = len(wires) == len(graph.variables) and all(0 <= w < count for w in wires)
            self._demand(
                fits,
                f"the variables of {part} are the inputs {wires}",
                f"{len(graph.variables)} of {count} inputs",
            )
        self.carried: dict[int, int] = self.carried_inputs(**attributes)

    def wired(self, *data: Tensor, **attributes) -> list[Places]:
        """For each graph, the inputs that its variables are; its signature is the operator's."""
        raise NotImplementedError

    def carried_inputs(self, **attributes) -> dict[int, int]:
        """Which input is which output of the last graph in the next step."""
        return {}

    def compute(self, run_graph: Callable, data: tuple, device, **attributes) -> tuple:
        """The outputs; ``run_graph(number, values)`` gives those of a graph for such inputs."""
        raise NotImplementedError

    def _run(
        self, *data: Tensor, training: bool = False, context=None, device=None, **attributes
    ) -> Tensor | tuple[Tensor, ...]:
        if not self.traceable and torch.compiler.is_compiling():
            raise UnsupportedError(
                f"{self.kind}: its steps hang on values, or on what cannot be traced"
            )

        def run_graph(number: int, values: Sequence[Tensor]) -> tuple[Tensor, ...]:
            given = [values[w] for w in self.wires[number]]
            return self.graphs[number](given, training=training, context=context, device=device)

        y = self.compute(run_graph, data, device, **attributes)
        return y if len(y) > 1 else y[0]

    def _demand(self, fits: bool, found: str, expected: str) -> None:
        if not fits:
            raise ArgumentError(f"{self.kind}: {found}\n  expected {expected}")

    def _demand_outputs(self, *expected: int) -> None:
        """How many outputs each graph must have."""
        found = [len(graph.entries) for graph in self.graphs]
        self._demand(found == list(expected), f"its graphs have {found} outputs", f"{expected}")

    # What the graph around it asks

    def state_names(self, attributes: dict) -> tuple[str, ...]:
        wired = zip(self.graphs, self.wires)
        return tuple(f"arg{wires[i]}" for graph, wires in wired for i in graph.states)

    def infer_shapes(self, shapes: dict, attributes: dict) -> dict[str, Places]:
        told, _ = self.all_shapes(list(shapes.values()))
        return {name: shape for name, shape in zip(shapes, told) if _infer.whole(shape)}

    def output_shapes(self, shapes: list[Places], attributes: dict) -> Shapes:
        return self.all_shapes(shapes)[1][-1]

    def one_type(self, attributes: dict) -> bool:
        return False

    def input_types(self, dtypes: dict, attributes: dict) -> dict[str, torch.dtype]:
        count = max((w for wires in self.wires for w in wires), default=-1) + 1
        names = [f"arg{i}" for i in range(count)]
        return dict.fromkeys(names, next(iter(dtypes.values()))) if dtypes else {}

    def output_types(self, dtypes: dict, attributes: dict) -> list[torch.dtype]:
        given = list(dtypes.values())
        if len(given) <= max(self.wires[-1], default=-1):
            return []
        return self.graphs[-1].types([given[w] for w in self.wires[-1]])

    def all_shapes(self, known: Shapes) -> tuple[Shapes, list[Shapes]]:
        """Shapes of all inputs and of the outputs of all graphs, from those known of inputs.

        They are remembered: graphs inside graphs would be asked again and again.
        """
        key = tuple(known)
        found = self._known.get(key)
        if found is None:
            if len(self._known) > 64:
                self._known.clear()
            found = self._known[key] = self._tell(list(known))
        return found

    def _tell(self, inputs: Shapes) -> tuple[Shapes, list[Shapes]]:
        before = None
        while inputs != before:
            before, outputs = list(inputs), []
            for graph, wires in zip(self.graphs, self.wires):
                variables, results = graph.shapes([inputs[w] for w in wires])
                outputs.append(results)
                for w, shape in zip(wires, variables):
                    if _infer.whole(shape):
                        inputs[w] = shape
            for w, number in self.carried.items():
                inputs[w] = self._same(inputs[w], outputs[-1][number])
        return inputs, outputs

    def _same(self, before: Places | None, after: Places | None) -> Places | None:
        """The shape of a state, which is one before and after a step."""
        if not _infer.whole(before):
            return after if _infer.whole(after) else before
        if _infer.whole(after) and after != before:
            raise ShapeError(
                f"{self.kind}: a state is {before}, and {after} after a step\n"
                "  expected one shape in all steps"
            )
        return before

    def _zeros(self, data: tuple, count: int, steps: int, device) -> list[Tensor]:
        """The first outputs of no step, in the size of so many."""
        _, outputs = self.all_shapes([tuple(t.shape) for t in data])
        dtypes = self.output_types(dict(enumerate(t.dtype for t in data)), {})
        if not all(_infer.whole(shape) for shape in outputs[-1][:count]):
            raise ShapeError(
                f"{self.kind}: there is no step, and without one the shapes of the outputs are "
                f"not known: {outputs[-1][:count]}"
            )
        return [
            torch.zeros((steps, *shape), dtype=dtype, device=device)
            for shape, dtype in zip(outputs[-1][:count], dtypes)
        ]


def _number(num_outputs: int) -> int:
    return num_outputs


class Foreach(ControlFlow):
    """Calls its graph for each slice of its first inputs along their first axis."""

    kind, parts, by_value = "_foreach", ("the body",), False

    def wired(
        self,
        *data: Tensor,
        num_outputs: int = REQUIRED,
        num_out_data: int = REQUIRED,
        in_data_locs: Places = REQUIRED,
        in_state_locs: Places = REQUIRED,
        remain_locs: Places = REQUIRED,
    ) -> list[Places]:
        order = [*in_data_locs, *in_state_locs, *remain_locs]  # the variable of each input
        count = len(self.graphs[0].variables)
        self._demand(
            sorted(order) == list(range(count)) and len(in_data_locs) > 0,
            f"in_data_locs, in_state_locs and remain_locs are {order}",
            f"each of the {count} variables of the body once, one at least in in_data_locs",
        )
        self._demand(
            0 <= num_out_data == num_outputs - len(in_state_locs),
            f"num_out_data is {num_out_data}, of num_outputs {num_outputs}",
            f"all but {len(in_state_locs)} states",
        )
        self._demand_outputs(num_outputs)
        self.count = len(in_data_locs)
        return [sorted(range(count), key=order.__getitem__)]

    def carried_inputs(self, num_out_data, in_state_locs, **_):
        return {self.count + k: num_out_data + k for k in range(len(in_state_locs))}

    def compute(self, run_graph, data, device, num_out_data, **_):
        """The outputs of all steps, stacked, and the last states."""
        count = self.count
        length = self._length([t.shape for t in data[:count]])
        slices = [t.unbind() if t.ndim > 1 else t.split(1) for t in data[:count]]
        values, steps = list(data), []
        for i in range(length):
            values[:count] = [parts[i] for parts in slices]
            results = run_graph(0, values)
            steps.append(results[:num_out_data])
            for w, number in self.carried.items():
                values[w] = results[number]
        if steps:
            stacked = [torch.stack(outputs) for outputs in zip(*steps)]
        else:
            stacked = self._zeros(data, num_out_data, 0, device)
        return (*stacked, *[values[w] for w in self.carried])

    def _length(self, shapes: Iterable) -> int:
        """How many steps there are."""
        lengths = [shape[0] for shape in shapes]
        if len(set(lengths)) != 1:
            raise ShapeError(
                f"{self.kind}: the first axes of data are {lengths}\n"
                "  expected one size, for as many steps"
            )
        return lengths[0]

    def _tell(self, inputs):
        data, rest = inputs[: self.count], inputs[self.count :]
        told, outputs = super()._tell([*map(_slice, data), *rest])
        return [*data, *told[self.count :]], outputs

    def output_shapes(self, shapes, attributes):
        length, data = self._length(shapes[: self.count]), attributes["num_out_data"]
        told = super().output_shapes(shapes, attributes)
        return [s and (length, *s) for s in told[:data]] + told[data:]


def _slice(shape: Places | None) -> Places | None:
    """The shape of a slice along the first axis: MXNet has no ()."""
    return shape and (shape[1:] or (1,))


class WhileLoop(ControlFlow):
    """Calls its second graph as long as its first gives a number that is not 0."""

    kind, parts = "_while_loop", ("cond", "func")

    def wired(
        self,
        *data: Tensor,
        num_outputs: int = REQUIRED,
        num_out_data: int = REQUIRED,
        max_iterations: int = REQUIRED,
        cond_input_locs: Places = REQUIRED,
        func_input_locs: Places = REQUIRED,
        func_var_locs: Places = REQUIRED,
    ) -> list[Places]:
        self._demand(max_iterations > 0, f"max_iterations is {max_iterations}", "at least 1")
        self._demand(
            0 <= num_out_data == num_outputs - len(func_var_locs),
            f"num_out_data is {num_out_data}, of num_outputs {num_outputs}",
            f"all but {len(func_var_locs)} loop_vars",
        )
        places = set(func_var_locs)
        self._demand(
            len(places) == len(func_var_locs) and places <= set(range(len(func_input_locs))),
            f"func_var_locs are {func_var_locs}",
            f"different ones of {len(func_input_locs)} variables of func",
        )
        self._demand_outputs(1, num_outputs)
        return [cond_input_locs, func_input_locs]

    def carried_inputs(self, num_out_data, func_input_locs, func_var_locs, **_):
        return {func_input_locs[v]: num_out_data + k for k, v in enumerate(func_var_locs)}

    def compute(self, run_graph, data, device, num_out_data, max_iterations, **_):
        """The outputs of all steps, stacked, zeros for those that were not; the last loop_vars."""
        values, steps = list(data), []
        while len(steps) < max_iterations:
            if not _true(self.kind, run_graph(0, values)[0]):
                break
            results = run_graph(1, values)
            steps.append(results[:num_out_data])
            for w, number in self.carried.items():
                values[w] = results[number]
        if steps:
            stacked = [_padded(torch.stack(outputs), max_iterations) for outputs in zip(*steps)]
        else:
            stacked = self._zeros(data, num_out_data, max_iterations, device)
        return (*stacked, *[values[w] for w in self.carried])

    def output_shapes(self, shapes, attributes):
        told, data = super().output_shapes(shapes, attributes), attributes["num_out_data"]
        return [s and (attributes["max_iterations"], *s) for s in told[:data]] + told[data:]


def _padded(y: Tensor, length: int) -> Tensor:
    missing = length - len(y)
    return torch.cat([y, y.new_zeros((missing, *y.shape[1:]))]) if missing else y


def _true(kind: str, value: Tensor) -> bool:
    if value.numel() != 1:
        raise ShapeError(f"{kind}: the condition is {tuple(value.shape)}\n  expected one element")
    return bool(value.item())


class Cond(ControlFlow):
    """Calls its second graph where its first gives a number that is not 0, else its third."""

    kind, parts = "_cond", ("pred", "then", "else")

    def wired(
        self,
        *data: Tensor,
        num_outputs: int = REQUIRED,
        cond_input_locs: Places = REQUIRED,
        then_input_locs: Places = REQUIRED,
        else_input_locs: Places = REQUIRED,
    ) -> list[Places]:
        self._demand(num_outputs > 0, f"num_outputs is {num_outputs}", "at least 1")
        self._demand_outputs(1, num_outputs, num_outputs)
        return [cond_input_locs, then_input_locs, else_input_locs]

    def compute(self, run_graph, data, device, **_):
        """The outputs of one of its graphs; the other is not computed."""
        return run_graph(1 if _true(self.kind, run_graph(0, data)[0]) else 2, data)

    def output_shapes(self, shapes, attributes):
        """Those that both branches have; a size in which they differ is not known."""
        pairs = zip(*self.all_shapes(shapes)[1][1:])
        return [
            tuple(m if m == n else 0 for m, n in zip(a, b))
            if a and b and len(a) == len(b)
            else None
            for a, b in pairs
        ]


OPERATORS: dict[str, type[ControlFlow]] = {kind.kind: kind for kind in (Foreach, WhileLoop, Cond)}
