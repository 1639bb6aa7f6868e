"""Operators that hold graphs: `_foreach`, `_while_loop` and `_cond`.

Each node has an operator object of its own, which has the node's graphs. Each variable of a graph
stands for an input of the node; MXNet's attributes say for which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from .._graph.program import Program
from .._table import registry
from .._table.registry import REQUIRED
from ..base import ArgumentError, ShapeError, UnsupportedError, quoted
from . import _infer
from ._node import Entry, ordered

Tensor = torch.Tensor
Shape = tuple[int, ...]
Shapes = list[Shape | None]
Indices = tuple[int, ...]  # of inputs, or of variables


class Subgraph:
    """A graph inside an operator.

    Attributes
    ----------
    entries : list of (Node, int)
        Its outputs.
    nodes : list of Node
        Each after its inputs.
    variables : list of Node
        In the order of the graph.
    states : set of int
        The indices of those that the graph updates in place.
    """

    def __init__(self, entries: list[Entry]):
        self.entries = entries
        self._program, self.nodes = Program(entries), ordered(entries)
        self._function = self._program.function  # PyTorch's tracer cannot compile it
        self.variables, self.states = self._program.variables, self._program.states

    def __call__(self, tensors: Iterable[Tensor], **supplied) -> tuple[Tensor, ...]:
        """Compute the outputs; they may share memory with each other and with the tensors."""
        try:
            return self._function(*tensors, **supplied)
        except Exception as error:
            raise self._program._explained(error) from error.__cause__

    def shapes(self, known: Shapes) -> tuple[Shapes, Shapes]:
        """Shapes of all variables and of all outputs, as far as the known ones determine them."""
        found = _infer.completed(
            self.nodes, {(node, 0): shape for node, shape in zip(self.variables, known)}
        )
        return [found.get((v, 0)) for v in self.variables], [found.get(e) for e in self.entries]

    def types(self, known: Iterable[torch.dtype]) -> list[torch.dtype]:
        """Dtypes of the outputs."""
        by_variable = {(node, 0): dtype for node, dtype in zip(self.variables, known)}
        found = _infer.completed_types(self.nodes, by_variable)
        return [found[entry] for entry in self.entries]

    def traceable(self) -> bool:
        """Whether PyTorch's compiler may look inside."""
        return all(node.op.traceable for node in self.nodes if node.op is not None)


class ControlFlow(registry.Op):
    """The base of the three: a function of tensors that calls its graphs.

    Parameters
    ----------
    graphs : sequence of list of (Node, int)
    attributes : dict of str to value
        The node's; from a file they are text.
    count : int
        How many inputs the node has.

    Attributes
    ----------
    graph_inputs : list of tuple of int
        For each graph, the indices of the inputs that its variables stand for.
    carried : dict of int to int
        By an input's index, the index of the last graph's output that replaces it in the next step.
    traceable : bool
        PyTorch's compiler may look inside: the steps do not depend on values, and all operators
        inside are traceable.

    Raises
    ------
    ArgumentError
        Graphs, attributes and inputs do not fit each other.
    """

    op_name: str
    parts: tuple[str, ...]  # what each of its graphs is, for messages
    depends_on_values = True
    any_size = False

    def __init__(self, graphs: Sequence[list[Entry]], attributes: dict[str, Any], count: int):
        super().__init__(self.inputs_of_graphs, self.op_name)
        self.run, self.supplied, self.outputs_rule = self._run, registry.SUPPLIED, _count_outputs
        self.graphs = [Subgraph(entries) for entries in graphs]
        self.traceable = not self.depends_on_values and all(
            graph.traceable() for graph in self.graphs
        )
        self._shape_cache: dict[tuple, tuple[Shapes, list[Shapes]]] = {}
        attributes = self.read({k: v for k, v in attributes.items() if self.owns(k)})
        missing = [name for name in self.required if name not in attributes]
        if missing:
            raise ArgumentError(f"{self.op_name}: {missing[0]} is missing\n  expected {self.form}")
        self.graph_inputs = [tuple(indices) for indices in self.inputs_of_graphs(**attributes)]
        for part, graph, indices in zip(self.parts, self.graphs, self.graph_inputs):
            fits = len(indices) == len(graph.variables) and all(0 <= i < count for i in indices)
            self._require(
                fits,
                f"the variables of {part} are the inputs {quoted(indices)}",
                f"{len(graph.variables)} of {count} inputs",
            )
        self.carried: dict[int, int] = self.carried_inputs(**attributes)

    def inputs_of_graphs(self, *data: Tensor, **attributes) -> list[Indices]:
        """For each graph, the indices of the inputs that its variables stand for.

        The signature is that of the operator.
        """
        raise NotImplementedError

    def carried_inputs(self, **attributes) -> dict[int, int]:
        """By an input's index, the index of the output that replaces it in the next step."""
        return {}

    def compute(self, run_graph: Callable, data: tuple, device, **attributes) -> tuple:
        """Compute the outputs; ``run_graph(number, values)`` computes those of one graph."""
        raise NotImplementedError

    def _run(
        self, *data: Tensor, training: bool = False, context=None, device=None, **attributes
    ) -> Tensor | tuple[Tensor, ...]:
        if not self.traceable and torch.compiler.is_compiling():
            raise UnsupportedError(
                f"{self.op_name}: its steps depend on values, or an operator in it cannot be traced"
            )

        def run_graph(number: int, values: Sequence[Tensor]) -> tuple[Tensor, ...]:
            tensors = [values[p] for p in self.graph_inputs[number]]
            return self.graphs[number](tensors, training=training, context=context, device=device)

        y = self.compute(run_graph, data, device, **attributes)
        return y if len(y) > 1 else y[0]

    def _require(self, fits: bool, found: str, expected: str) -> None:
        if not fits:
            raise ArgumentError(f"{self.op_name}: {found}\n  expected {expected}")

    def _require_output_counts(self, *expected: int) -> None:
        """Refuse graphs that have other numbers of outputs."""
        found = [len(graph.entries) for graph in self.graphs]
        self._require(found == list(expected), f"its graphs have {found} outputs", f"{expected}")

    # The rules of an operator, for the graph around it

    def check_count(self, given: dict[str, Any], count: int) -> None:
        """As for any operator; the graphs are counted with the inputs."""
        super().check_count(given, count + len(self.graphs))

    def state_names(self, attributes: dict) -> tuple[str, ...]:
        pairs = zip(self.graphs, self.graph_inputs)
        return tuple(f"arg{indices[i]}" for graph, indices in pairs for i in graph.states)

    def infer_shapes(self, shapes: dict, attributes: dict) -> dict[str, Shape]:
        inferred, _ = self.all_shapes(list(shapes.values()))
        return {name: shape for name, shape in zip(shapes, inferred) if _infer.is_known(shape)}

    def output_shapes(self, shapes: list[Shape], attributes: dict) -> Shapes:
        return self.all_shapes(shapes)[1][-1]

    def one_type(self, attributes: dict) -> bool:
        return False

    def input_types(self, dtypes: dict, attributes: dict) -> dict[str, torch.dtype]:
        count = max((i for indices in self.graph_inputs for i in indices), default=-1) + 1
        names = [f"arg{i}" for i in range(count)]
        return dict.fromkeys(names, next(iter(dtypes.values()))) if dtypes else {}

    def output_types(self, dtypes: dict, attributes: dict) -> list[torch.dtype]:
        known = list(dtypes.values())
        if len(known) <= max(self.graph_inputs[-1], default=-1):
            return []
        return self.graphs[-1].types([known[p] for p in self.graph_inputs[-1]])

    def all_shapes(self, known: Shapes) -> tuple[Shapes, list[Shapes]]:
        """Shapes of all inputs, and of the outputs of all graphs, from the known ones of inputs.

        They are cached: each graph around another one infers the inner shapes again.
        """
        key = tuple(known)
        found = self._shape_cache.get(key)
        if found is None:
            if len(self._shape_cache) > 64:
                self._shape_cache.clear()
            found = self._shape_cache[key] = self._infer_shapes(list(known))
        return found

    def _infer_shapes(self, inputs: Shapes) -> tuple[Shapes, list[Shapes]]:
        before = None
        while inputs != before:
            before, outputs = list(inputs), []
            for graph, indices in zip(self.graphs, self.graph_inputs):
                variables, results = graph.shapes([inputs[i] for i in indices])
                outputs.append(results)
                for i, shape in zip(indices, variables):
                    if _infer.is_known(shape):
                        inputs[i] = shape
            for index, number in self.carried.items():
                inputs[index] = self._state_shape(inputs[index], outputs[-1][number])
        return inputs, outputs

    def _state_shape(self, before: Shape | None, after: Shape | None) -> Shape | None:
        """The shape of a state, which is the same before and after a step."""
        if not _infer.is_known(before):
            return after if _infer.is_known(after) else before
        if _infer.is_known(after) and after != before:
            raise ShapeError(
                f"{self.op_name}: a state is {before}, and {after} after a step\n"
                "  expected one shape in all steps"
            )
        return before

    def _zeros(self, data: tuple, count: int, steps: int, device) -> list[Tensor]:
        """The first `count` outputs, stacked, for a loop that makes no step: zeros."""
        _, outputs = self.all_shapes([tuple(t.shape) for t in data])
        dtypes = self.output_types(dict(enumerate(t.dtype for t in data)), {})
        if not all(_infer.is_known(shape) for shape in outputs[-1][:count]):
            raise ShapeError(
                f"{self.op_name}: there is no step, and without one the shapes of the outputs are "
                f"not known: {outputs[-1][:count]}"
            )
        return [
            torch.zeros((steps, *shape), dtype=dtype, device=device)
            for shape, dtype in zip(outputs[-1][:count], dtypes)
        ]


def _count_outputs(num_outputs: int) -> int:
    return num_outputs


class Foreach(ControlFlow):
    """Calls its graph for each slice of its first inputs along their first axis."""

    op_name, parts, depends_on_values = "_foreach", ("the body",), False

    def inputs_of_graphs(
        self,
        *data: Tensor,
        num_outputs: int = REQUIRED,
        num_out_data: int = REQUIRED,
        in_data_locs: Indices = REQUIRED,
        in_state_locs: Indices = REQUIRED,
        remain_locs: Indices = REQUIRED,
    ) -> list[Indices]:
        order = [*in_data_locs, *in_state_locs, *remain_locs]  # the variable of each input
        count = len(self.graphs[0].variables)
        self._require(
            sorted(order) == list(range(count)) and len(in_data_locs) > 0,
            f"in_data_locs, in_state_locs and remain_locs are {order}",
            f"each of the {count} variables of the body once, one at least in in_data_locs",
        )
        self._require(
            0 <= num_out_data == num_outputs - len(in_state_locs),
            f"num_out_data is {num_out_data}, of num_outputs {num_outputs}",
            f"all but {len(in_state_locs)} states",
        )
        self._require_output_counts(num_outputs)
        self.count = len(in_data_locs)
        return [sorted(range(count), key=order.__getitem__)]

    def carried_inputs(self, num_out_data, in_state_locs, **_):
        return {self.count + k: num_out_data + k for k in range(len(in_state_locs))}

    def compute(self, run_graph, data, device, num_out_data, **_):
        """Compute the outputs of all steps, stacked, and the last states."""
        count = self.count
        length = self._length([t.shape for t in data[:count]])
        slices = [t.unbind() if t.ndim > 1 else t.split(1) for t in data[:count]]
        values, steps = list(data), []
        for i in range(length):
            values[:count] = [parts[i] for parts in slices]
            results = run_graph(0, values)
            steps.append(results[:num_out_data])
            for index, number in self.carried.items():
                values[index] = results[number]
        if steps:
            stacked = [torch.stack(outputs) for outputs in zip(*steps)]
        else:
            stacked = self._zeros(data, num_out_data, 0, device)
        return (*stacked, *[values[index] for index in self.carried])

    def _length(self, shapes: Iterable) -> int:
        """The number of steps."""
        lengths = [shape[0] for shape in shapes]
        if len(set(lengths)) != 1:
            raise ShapeError(
                f"{self.op_name}: the first axes of data are {lengths}\n"
                "  expected one size, the number of steps"
            )
        return lengths[0]

    def _infer_shapes(self, inputs):
        data, rest = inputs[: self.count], inputs[self.count :]
        inferred, outputs = super()._infer_shapes([*map(_slice_shape, data), *rest])
        return [*data, *inferred[self.count :]], outputs

    def output_shapes(self, shapes, attributes):
        length, data = self._length(shapes[: self.count]), attributes["num_out_data"]
        inferred = super().output_shapes(shapes, attributes)
        return [s and (length, *s) for s in inferred[:data]] + inferred[data:]


def _slice_shape(shape: Shape | None) -> Shape | None:
    """The shape of a slice along the first axis; (1,) where nothing is left, as in MXNet."""
    return shape and (shape[1:] or (1,))


class WhileLoop(ControlFlow):
    """Calls its second graph as long as its first gives a number that is not 0."""

    op_name, parts = "_while_loop", ("cond", "func")

    def inputs_of_graphs(
        self,
        *data: Tensor,
        num_outputs: int = REQUIRED,
        num_out_data: int = REQUIRED,
        max_iterations: int = REQUIRED,
        cond_input_locs: Indices = REQUIRED,
        func_input_locs: Indices = REQUIRED,
        func_var_locs: Indices = REQUIRED,
    ) -> list[Indices]:
        self._require(max_iterations > 0, f"max_iterations is {max_iterations}", "at least 1")
        self._require(
            0 <= num_out_data == num_outputs - len(func_var_locs),
            f"num_out_data is {num_out_data}, of num_outputs {num_outputs}",
            f"all but {len(func_var_locs)} loop_vars",
        )
        variables = set(func_var_locs)
        self._require(
            len(variables) == len(func_var_locs) and variables <= set(range(len(func_input_locs))),
            f"func_var_locs are {func_var_locs}",
            f"different ones of {len(func_input_locs)} variables of func",
        )
        self._require_output_counts(1, num_outputs)
        return [cond_input_locs, func_input_locs]

    def carried_inputs(self, num_out_data, func_input_locs, func_var_locs, **_):
        return {func_input_locs[v]: num_out_data + k for k, v in enumerate(func_var_locs)}

    def compute(self, run_graph, data, device, num_out_data, max_iterations, **_):
        """Compute the outputs of all steps, stacked and padded with zeros; the last loop_vars."""
        values, steps = list(data), []
        while len(steps) < max_iterations:
            if not _truth(self.op_name, run_graph(0, values)[0]):
                break
            results = run_graph(1, values)
            steps.append(results[:num_out_data])
            for index, number in self.carried.items():
                values[index] = results[number]
        if steps:
            stacked = [_padded(torch.stack(outputs), max_iterations) for outputs in zip(*steps)]
        else:
            stacked = self._zeros(data, num_out_data, max_iterations, device)
        return (*stacked, *[values[index] for index in self.carried])

    def output_shapes(self, shapes, attributes):
        inferred, data = super().output_shapes(shapes, attributes), attributes["num_out_data"]
        return [s and (attributes["max_iterations"], *s) for s in inferred[:data]] + inferred[data:]


def _padded(y: Tensor, length: int) -> Tensor:
    missing = length - len(y)
    return torch.cat([y, y.new_zeros((missing, *y.shape[1:]))]) if missing else y


def _truth(op_name: str, value: Tensor) -> bool:
    if value.numel() != 1:
        raise ShapeError(
            f"{op_name}: the condition is {tuple(value.shape)}\n  expected one element"
        )
    return bool(value.item())


class Cond(ControlFlow):
    """Calls its second graph where its first gives a number that is not 0, else its third."""

    op_name, parts = "_cond", ("pred", "then", "else")

    def inputs_of_graphs(
        self,
        *data: Tensor,
        num_outputs: int = REQUIRED,
        cond_input_locs: Indices = REQUIRED,
        then_input_locs: Indices = REQUIRED,
        else_input_locs: Indices = REQUIRED,
    ) -> list[Indices]:
        self._require(num_outputs > 0, f"num_outputs is {num_outputs}", "at least 1")
        self._require_output_counts(1, num_outputs, num_outputs)
        return [cond_input_locs, then_input_locs, else_input_locs]

    def compute(self, run_graph, data, device, **_):
        """Compute the outputs of one of its graphs; the other one does not run."""
        return run_graph(1 if _truth(self.op_name, run_graph(0, data)[0]) else 2, data)

    def output_shapes(self, shapes, attributes):
        """The shapes that both branches have; a size in which they differ is unknown."""
        pairs = zip(*self.all_shapes(shapes)[1][1:])
        return [
            tuple(m if m == n else 0 for m, n in zip(a, b))
            if a and b and len(a) == len(b)
            else None
            for a, b in pairs
        ]


OPERATORS: dict[str, type[ControlFlow]] = {cls.op_name: cls for cls in (Foreach, WhileLoop, Cond)}
