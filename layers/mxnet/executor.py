"""Executor: a Symbol bound to arrays, run forward and backward."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from operator import eq

import numpy as np
import torch

from . import autograd
from ._graph import executors
from ._graph.folded import folded
from ._graph.program import Program, shown_values, values_of_all
from ._op.call import as_output
from ._sparse.rows import is_sparse
from ._sparse.stypes import makes_sparse, storage_types
from .base import ArgumentError, ShapeError, listed, quoted
from .context import Context
from .ndarray import NDArray, zeros
from .symbol._node import Entry, Node, by_name

# The operators whose gradient does not depend on that of their output.
LOSSES = {
    *("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput", "MakeLoss"),
    *("SVMOutput", "SoftmaxOutput", "make_loss"),
}
__all__ = ["Executor"]


class Executor:
    """A graph with the arrays for its arguments, gradients and states; made by `Symbol.bind`.

    Attributes
    ----------
    arg_dict, grad_dict, aux_dict, output_dict : dict of str to NDArray
        By name; a gradient that is not asked for is None.
    arg_arrays, grad_arrays, aux_arrays, outputs : list of NDArray
        The same in the order of the graph.
    """

    def __init__(
        self,
        symbol,
        ctx: Context,
        args: dict[str, NDArray],
        args_grad: dict[str, NDArray | None],
        grad_req: dict[str, str],
        aux_states: dict[str, NDArray],
        program: Program | None = None,
        contexts: dict[Node, Context] | None = None,
    ):
        self._symbol, self._ctx = symbol, ctx
        self._contexts = contexts or {}  # of the nodes, where they are on several
        self.arg_dict, self.grad_dict, self.aux_dict = args, args_grad, aux_states
        self._grad_req = grad_req
        if program is None:
            program = Program(symbol._entries if contexts else executors.merged(symbol._entries))
        self._program = program
        self._functions: dict[Program, Callable] = {}  # by the program, bound when it is first run
        self._predicting: Program | None = None
        self._optimized = type(symbol)(program.entries)
        self._custom = {n: n.op.with_memory() for n in program.nodes if n.op.own}
        self._monitor: tuple[Callable, bool] | None = None
        self._of_all: Program | None = None
        self._leaves: dict[str, torch.Tensor] = {}
        self._recorded: list[torch.Tensor] | None = None  # the outputs of the last forward
        self._node_inputs: dict[Entry, torch.Tensor] = {}  # for a monitor, by their places
        self._outputs: list[NDArray] | None = None

    @property
    def arg_arrays(self) -> list[NDArray]:
        return list(self.arg_dict.values())

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        return list(self.grad_dict.values())

    @property
    def aux_arrays(self) -> list[NDArray]:
        return list(self.aux_dict.values())

    @property
    def outputs(self) -> list[NDArray]:
        """Those of the last forward, which are the same arrays each time; zeros before it."""
        if self._outputs is None:
            arrays = self.arg_dict | self.aux_dict
            shapes = self._symbol._shapes((), {n: a.shape for n, a in arrays.items()})[1]
            types = self._symbol._types(torch.float32, (), {n: a.dtype for n, a in arrays.items()})
            entries = self._symbol._entries
            self._outputs = [
                zeros(s, self._context(e), t) for e, s, t in zip(entries, shapes, types[1])
            ]
        return list(self._outputs)

    def _context(self, entry: Entry) -> Context:
        return self._contexts.get(entry[0], self._ctx)

    @property
    def output_dict(self) -> dict[str, NDArray]:
        return dict(zip(self._symbol.list_outputs(), self.outputs))

    def forward(self, is_train: bool = False, **kwargs) -> list[NDArray]:
        """Compute the outputs.

        Parameters
        ----------
        is_train : bool
            Train, and remember what is computed for `backward`.
        **kwargs : NDArray
            New values for arguments, copied into their arrays.

        Raises
        ------
        ArgumentError, ShapeError
            There is no such argument, or its shape is another.
        """
        for name, value in kwargs.items():
            self._assign(self.arg_dict, name, value)
        is_train = bool(is_train)
        results = [y.detach() for y in self._compute(recording=is_train, training=is_train)]
        before = self._outputs or [None] * len(results)
        self._outputs = [
            self._as_output(*of_one) for of_one in zip(before, results, self._symbol._entries)
        ]
        return self.outputs

    def _as_output(self, array: NDArray | None, value: torch.Tensor, entry: Entry) -> NDArray:
        """The array of an output with its value: the same at each forward, if the shape is."""
        if array is not None and array._tensor.shape == value.shape:
            array._replace(value, lent=self._program.keeps)
            return array
        return (as_output if self._program.keeps else NDArray)(value, self._context(entry))

    def _compute(self, recording: bool, training: bool) -> list[torch.Tensor]:
        """Compute the outputs; `recording` remembers for `backward` what is computed."""
        self._leaves, self._node_inputs = {}, {}
        predicts = not (recording or training or self._monitor or self._contexts)
        program = self._program_to_predict() if predicts else self._program
        tensors = self._tensors(program, recording)
        with autograd._RecordingStateScope(recording, training):
            if self._monitor:
                results = self._compute_monitored(tensors)
            else:
                results = program.run(self._bound(program), tensors, self._ctx, recording)
        self._recorded = results
        return results

    def _program_to_predict(self) -> Program:
        if self._predicting is None:
            self._predicting, places = folded(self._program)
            self._custom |= {places[node]: run for node, run in self._custom.items()}
        return self._predicting

    def _tensors(self, program: Program, recording: bool) -> list[torch.Tensor]:
        """What a program takes: one tensor for all arguments of a name, as for all states."""
        states = {name: array._state_tensor() for name, array in self.aux_dict.items()}
        arguments = {name: self._argument(name, recording) for name in self.arg_dict}
        return [
            (states if i in program.states else arguments)[name]
            for i, name in enumerate(program.inputs)
        ]

    def _argument(self, name: str, recording: bool) -> torch.Tensor:
        tensor = self.arg_dict[name]._tensor.detach()
        if not recording or not tensor.is_floating_point():
            return tensor
        if self._grad_req.get(name, "null") != "null":
            tensor = self._leaves[name] = tensor.requires_grad_()
        elif self._monitor:  # which is shown the gradients of all inputs
            tensor.requires_grad_()
        return tensor

    def backward(self, out_grads=None, is_train: bool = True) -> None:
        """Compute the gradients of the arguments, as `grad_req` says.

        After a `forward` without `is_train` they are those of prediction; the outputs are then
        computed again, since that forward has remembered nothing. Without any `forward` before they
        are computed first.

        Parameters
        ----------
        out_grads : NDArray, or list of NDArray or dict of them by output, optional
            Gradients of the outputs, the first ones; a loss needs none. Of an output that is there
            several times the last one counts.

        Raises
        ------
        ArgumentError
            There is no gradient for an output that needs one.
        """
        if all(req == "null" for req in self._grad_req.values()):
            return
        if self._recorded is None:
            self._compute(recording=True, training=is_train)
        elif not self._leaves:
            self._compute(recording=True, training=False)
        heads = [
            NDArray(y, self._context(e)) for y, e in zip(self._recorded, self._symbol._entries)
        ]
        if isinstance(out_grads, dict):
            out_grads = self._in_order(out_grads)
        head_grads = [None] * len(heads) if out_grads is None else self._for_all(out_grads)
        head_grads = [
            dy.as_in_context(y.context) if isinstance(dy, NDArray) else dy
            for dy, y in zip(head_grads, heads)
        ]
        # Of an output that is there several times, the last gradient counts. Integers, and
        # variables, take part in no gradient.
        last = {entry: i for i, entry in enumerate(self._symbol._entries)}
        known = [i for i in last.values() if self._recorded[i].requires_grad]
        heads, head_grads = [heads[i] for i in known], [head_grads[i] for i in known]
        variables = [*self._leaves.values(), *self._node_inputs.values()]
        self._write_gradients(self._gradients(heads, head_grads, variables, is_train))

    def _for_all(self, out_grads) -> list[NDArray | None]:
        """Gradients for all outputs, from those of the first: the others must need none."""
        given, entries = autograd._listed(out_grads), self._symbol._entries
        for (node, _), y in [*zip(entries, self._recorded)][len(given) :]:
            if y.requires_grad and node.op.name not in LOSSES:
                raise ArgumentError(
                    f"Executor.backward: {len(entries)} outputs, {len(given)} gradients, and "
                    f"{quoted(node.name)} needs one\n  expected {len(entries)}"
                )
        return [*given[: len(entries)], *[None] * (len(entries) - len(given))]

    def _gradients(self, heads, head_grads, variables, is_train):
        """The gradients of variables and inputs of nodes, None where there is none."""
        if not heads and not head_grads:
            return [None] * len(variables)
        tensors, head_grads = autograd._heads("Executor.backward", heads, head_grads)
        with autograd._RecordingStateScope(None, is_train):
            return autograd._run(
                autograd.gradients_of, tensors, variables, head_grads, retain_graph=True
            )

    def _write_gradients(self, gradients):
        if self._node_inputs:
            self._show_gradients(gradients[len(self._leaves) :])
        for name, gradient in zip(self._leaves, gradients):
            self.grad_dict[name]._take_gradient(gradient, self._grad_req[name] == "add")
        for name, target in self.grad_dict.items():  # integers, to which no gradient flows
            if target is None or name in self._leaves or target.stype != "default":
                continue
            if self._grad_req[name] == "write":
                target[:] = 0

    def _in_order(self, out_grads: dict[str, NDArray]) -> list[NDArray]:
        """The gradients of the outputs, given by name."""
        names = self._symbol.list_outputs()
        for name in names:
            if name not in out_grads:
                raise ArgumentError(
                    f"backward: {quoted(name)} is missing in out_grads\n  expected {quoted(names)}"
                )
        return [out_grads[name] for name in names]

    def copy_params_from(self, arg_params, aux_params=None, allow_extra_params=False) -> None:
        """Copy values into the arrays of arguments and states, by name.

        Raises
        ------
        ArgumentError
            There is no argument or state of a name, and `allow_extra_params` is False.
        """
        for arrays, values in ((self.arg_dict, arg_params), (self.aux_dict, aux_params or {})):
            for name, value in values.items():
                if name in arrays:
                    self._assign(arrays, name, value)
                elif not allow_extra_params:
                    raise ArgumentError(
                        f"copy_params_from: there is no {quoted(name)}\n"
                        f"  expected one of {quoted(list(arrays))}"
                    )

    def _assign(self, arrays: dict[str, NDArray], name: str, value: NDArray) -> None:
        if name not in arrays:
            raise ArgumentError(
                f"Executor: there is no {quoted(name)}\n  expected one of {quoted(list(arrays))}"
            )
        if not isinstance(value, (NDArray, np.ndarray)):
            raise ArgumentError(f"Executor: {name} is {value!r}\n  expected an NDArray")
        if value.shape != arrays[name].shape:
            raise ShapeError(
                f"Executor: {name} is {value.shape}\n  expected {arrays[name].shape}; reshape() "
                "makes an executor for other shapes"
            )
        arrays[name][:] = value

    def reshape(self, partial_shaping=False, allow_up_sizing=False, **kwargs) -> Executor:
        """An executor for other shapes, in the memory of this one, also that of the outputs.

        Parameters
        ----------
        partial_shaping : bool
            Whether arrays may change whose shapes are not in `kwargs`.
        allow_up_sizing : bool
            Whether arrays may become larger; these are new ones.

        Raises
        ------
        ShapeError
            An array would change that may not; or `kwargs` does not determine all shapes.
        """
        shapes, out_shapes, aux_shapes = self._symbol.infer_shape(**kwargs)
        if shapes is None:
            raise ShapeError(
                f"reshape: {kwargs} do not tell the shapes of all arguments\n"
                f"  expected those of more of {listed(self._symbol.list_arguments())}"
            )

        def resized(name: str, array: NDArray | None, shape: tuple[int, ...]) -> NDArray | None:
            if array is None or array.shape == shape:
                return array
            found = f"reshape: {name} is {array.shape}, and would be {shape}\n  expected "
            if not partial_shaping and name not in kwargs:
                raise ShapeError(f"{found}the same, or partial_shaping=True")
            if not allow_up_sizing and math.prod(shape) > array.size:
                raise ShapeError(f"{found}no more elements, or allow_up_sizing=True")
            return _in_memory_of(array, shape)

        arg_shapes = by_name("reshape", self._symbol.list_arguments(), shapes, eq)
        states = by_name("reshape", self._symbol.list_auxiliary_states(), aux_shapes, eq)

        def all_resized(arrays: dict, shapes: dict) -> dict:
            return {name: resized(name, array, shapes[name]) for name, array in arrays.items()}

        executor = type(self)(
            self._symbol,
            self._ctx,
            all_resized(self.arg_dict, arg_shapes),
            all_resized(self.grad_dict, arg_shapes),
            self._grad_req,
            all_resized(self.aux_dict, states),
            self._program,
            self._contexts,
        )
        executor._outputs = [_in_memory_of(y, s) for y, s in zip(self.outputs, out_shapes)]
        return executor

    def set_monitor_callback(self, callback: Callable | None, monitor_all: bool = False) -> None:
        """Have ``callback(name, array)`` called for the outputs of all nodes after a forward.

        The name is bytes, as in MXNet. After a backward the callback is called for the gradients of
        the nodes' inputs, as ``b"fc_backward_output0"``. With `monitor_all` it is also called for
        variables and, as ``b"fc_weight"``, for the inputs of all nodes. None ends it.
        """
        self._monitor = (callback, monitor_all) if callback else None

    def _bound(self, program: Program) -> Callable:
        if program not in self._functions:
            functions = self._custom
            if self._contexts:
                functions = executors.functions_on(program, functions, self._contexts, self._ctx)
            bound = program.bound(functions) if functions else program.function
            self._functions[program] = bound
        return self._functions[program]

    def _compute_monitored(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Compute the outputs of all nodes; show them, and return those of the graph."""
        callback, everything = self._monitor
        if self._of_all is None:
            self._of_all = Program(self._optimized.get_internals()._entries)
        of_all, recording = self._of_all, autograd.is_recording()
        run = partial(of_all.run, self._bound(of_all), context=self._ctx, recording=recording)
        found = values_of_all(self._program, of_all, run, tensors)
        for _, name, entry in shown_values(of_all, everything):
            callback(name.encode(), NDArray(found[entry].detach(), self._context(entry)))
        sources = {entry for node, _ in of_all.entries for entry in node.inputs}
        self._node_inputs = {e: found[e] for e in sources if found[e].requires_grad}
        return [found[entry] for entry in self._optimized._entries]

    def _show_gradients(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Show the monitor the gradients of the nodes' inputs, from the last node to the first.

        An input that several nodes have is shown with the sum of its gradients.
        """
        found = dict(zip(self._node_inputs, gradients))
        nodes = dict.fromkeys(node for node, _ in self._optimized.get_internals()._entries)
        for node in reversed(nodes):
            known = [found.get(entry) for entry in node.inputs]
            for i, (entry, gradient) in enumerate(zip(node.inputs, known)):
                if any(each is not None for each in known) and entry in found:
                    if gradient is None:
                        gradient = torch.zeros_like(self._node_inputs[entry])
                    number = i if len(node.inputs) > 1 else ""
                    name = f"{node.name}_backward_output{number}"
                    self._monitor[0](
                        name.encode(), NDArray(gradient.detach(), self._context(entry))
                    )

    def get_optimized_symbol(self):
        """The graph as it is run: nodes that compute the same are one."""
        return self._optimized

    def debug_str(self) -> str:
        """The graph as it is run, a line a node, and how much memory its results take at most."""
        arrays = self.arg_dict | self.aux_dict
        most = executors.most_bytes(
            self._optimized._entries,
            {name: array.shape for name, array in arrays.items()},
            {name: array._tensor.dtype for name, array in arrays.items()},
            {name for name, req in self._grad_req.items() if req != "null"},
        )
        return f"{self._optimized.debug_str()}\nTotal {most >> 20} MB allocated"


def _in_memory_of(array: NDArray, shape: tuple[int, ...]) -> NDArray:
    """An array of another shape in the memory of one; a new one where that is too small."""
    if array.shape == shape:
        return array
    if math.prod(shape) > array.size or array.stype != "default":
        return zeros(shape, array.context, array.dtype, array.stype)
    return array.reshape((-1,))[: math.prod(shape)].reshape(shape)


def bind(
    symbol, ctx, args, args_grad=None, grad_req="write", aux_states=None, group2ctx=None
) -> Executor:
    """An executor of a Symbol on given arrays, by name or in order; see `Symbol.bind`.

    Raises
    ------
    ArgumentError
        `ctx` is no Context, an array is missing, there are too many, or `grad_req` is unknown.
    """
    names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    if not isinstance(ctx, Context):
        raise ArgumentError(f"bind: ctx is {ctx!r}\n  expected a Context, such as mx.cpu()")
    args = _by_name("args", args, names)
    gradients = _by_name("args_grad", args_grad or {}, names, partial=True)
    requests = gradient_requests(grad_req, names)
    auxiliary = _by_name("aux_states", aux_states or {}, states)
    requests = {
        n: requests.get(n, "null") if gradients.get(n) is not None else "null" for n in names
    }
    given = {name: array.context for name, array in (args | auxiliary).items()}
    return class_for(symbol, args)(
        symbol,
        ctx,
        args,
        {n: gradients.get(n) for n in names},
        requests,
        auxiliary,
        contexts=executors.contexts(symbol._entries, group2ctx, ctx, given),
    )


def class_for(symbol, args: dict[str, NDArray]) -> type[Executor]:
    """The class for a graph with these arguments, of which some may be sparse."""
    made = any(makes_sparse(node) for node in symbol._graph.nodes)
    if not made and not is_sparse(*args.values()):
        return Executor
    from ._sparse.executor import SparseExecutor

    return SparseExecutor


def gradient_requests(grad_req, names: list[str]) -> dict[str, str]:
    """What is asked of the gradient of each argument.

    Raises
    ------
    ArgumentError
        A request is not 'write', 'add' or 'null', or a list has another length than the names.
    """
    requests = _by_name("grad_req", grad_req, names, partial=True)
    wrong = next((r for r in requests.values() if r not in ("write", "add", "null")), None)
    if wrong is not None:
        raise ArgumentError(f"bind: grad_req is {wrong!r}\n  expected 'write', 'add' or 'null'")
    return requests


def _by_name(what: str, values, names: list[str], partial: bool = False) -> dict:
    if isinstance(values, str):
        return dict.fromkeys(names, values)
    if not isinstance(values, dict):
        if len(values) != len(names):
            raise ArgumentError(
                f"bind: {len(values)} {what}\n  expected {len(names)}: {quoted(names)}"
            )
        values = by_name(f"bind: {what}", names, values)
    missing = [n for n in names if n not in values]
    if missing and not partial:
        raise ArgumentError(
            f"bind: {quoted(missing[0])} is missing in {what}\n  expected {quoted(names)}"
        )
    return {n: values[n] for n in names if n in values}


def simple_bind(
    symbol, ctx, grad_req="write", type_dict=None, stype_dict=None, group2ctx=None, **shapes
) -> Executor:
    """An executor of a Symbol on arrays of zeros, of these shapes and storage types.

    Raises
    ------
    ShapeError
        The shapes that are given do not tell those of all arguments.
    ArgumentError
        `grad_req` is unknown.
    """
    found = symbol.infer_shape(**shapes)
    if found[0] is None:
        raise ShapeError(
            f"simple_bind: {shapes} do not tell the shapes of all arguments\n"
            f"  expected those of more of {listed(symbol.list_arguments())}"
        )
    dtypes = symbol._types(torch.float32, (), type_dict or {})
    names = symbol.list_arguments()
    requests = gradient_requests(grad_req, names)
    contexts = executors.contexts(symbol._entries, group2ctx, ctx)
    places = executors.contexts_of_variables(contexts)
    stypes, of_gradients = storage_types(symbol._entries, stype_dict)

    def made(names: list[str], shapes: list, dtypes: list, stypes: dict) -> dict[str, NDArray]:
        specs = by_name("simple_bind", names, zip(shapes, dtypes), eq)
        return {
            name: zeros(shape, places.get(name, ctx), dtype, stypes.get(name))
            for name, (shape, dtype) in specs.items()
        }

    args = made(names, found[0], dtypes[0], stypes)
    gradients = made(names, found[0], dtypes[0], of_gradients)
    return class_for(symbol, args)(
        symbol,
        ctx,
        args,
        {n: g if requests.get(n, "null") != "null" else None for n, g in gradients.items()},
        {n: requests.get(n, "null") for n in names},
        made(symbol.list_auxiliary_states(), found[2], dtypes[2], {}),
        contexts=contexts,
    )
