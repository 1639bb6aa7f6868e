"""Executor: a Symbol bound to arrays, run forward and backward."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import eq

import numpy as np
import torch

from . import autograd
from ._own.call import as_output
from ._own.node import lasting
from ._run.monitored import Monitored
from ._run.program import Program
from .base import ArgumentError, RecordingError, ShapeError
from .context import Context
from .ndarray import NDArray, zeros
from .symbol._node import Entry, by_name

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
    ):
        self._symbol, self._ctx = symbol, ctx
        self.arg_dict, self.grad_dict, self.aux_dict = args, args_grad, aux_states
        self._grad_req = grad_req
        self._program = program or Program(symbol._entries)
        self._own = lasting(self._program.nodes)
        self._function = self._bound(self._program)
        self._monitor: tuple[Callable, bool] | None = None
        self._monitored: Monitored | None = None
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
        """Those of the last forward; before the first one zeros."""
        if self._outputs is None:
            arrays = self.arg_dict | self.aux_dict
            shapes = self._symbol._shapes((), {n: a.shape for n, a in arrays.items()})[1]
            types = self._symbol._types(torch.float32, (), {n: a.dtype for n, a in arrays.items()})
            self._outputs = [zeros(s, self._ctx, t) for s, t in zip(shapes, types[1])]
        return self._outputs

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
        results = self._compute(recording=is_train, training=is_train)
        wrap = as_output if self._program.keeps else NDArray
        self._outputs = [wrap(y.detach(), self._ctx) for y in results]
        return self._outputs

    def _compute(self, recording: bool, training: bool) -> list[torch.Tensor]:
        """Compute the outputs; `recording` remembers for `backward` what is computed."""
        self._leaves, self._node_inputs = {}, {}
        tensors = self._tensors(recording)
        with autograd._Scope(recording, training):
            if self._monitor:
                results = self._compute_monitored(tensors)
            else:
                results = self._program.run(self._function, tensors, self._ctx, recording)
        self._recorded = results
        return results

    def _tensors(self, recording: bool) -> list[torch.Tensor]:
        """What the program takes: one tensor for all arguments of a name, as for all states."""
        states = {name: array._state_tensor() for name, array in self.aux_dict.items()}
        arguments = {name: self._argument(name, recording) for name in self.arg_dict}
        return [
            (states if i in self._program.states else arguments)[name]
            for i, name in enumerate(self._program.inputs)
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
        computed again, since that forward has remembered nothing.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            Gradients of the outputs; a loss needs none. Of an output that is there several times
            the last one counts.

        Raises
        ------
        RecordingError
            `forward` was not called before.
        """
        if all(req == "null" for req in self._grad_req.values()):
            return
        if self._recorded is None:
            raise RecordingError(
                "backward: nothing is computed yet\n  expected forward() before it"
            )
        if not self._leaves:
            self._compute(recording=True, training=False)
        heads = [NDArray(y, self._ctx) for y in self._recorded]
        given = [None] * len(heads) if out_grads is None else autograd._listed(out_grads)
        if len(given) == len(heads):
            # Of an output that is there several times, the last gradient counts. Integers, and
            # variables, take part in no gradient.
            last = {entry: i for i, entry in enumerate(self._symbol._entries)}
            known = [i for i in last.values() if self._recorded[i].requires_grad]
            heads, given = [heads[i] for i in known], [given[i] for i in known]
        tensors, head_grads = autograd._heads("Executor.backward", heads, given)
        variables = [*self._leaves.values(), *self._node_inputs.values()]
        with autograd._Scope(None, is_train):
            gradients = autograd._run(
                torch.autograd.grad,
                tensors,
                variables,
                head_grads,
                retain_graph=True,
                allow_unused=True,
            )
        self._show_gradients(gradients[len(self._leaves) :])
        for (name, leaf), gradient in zip(self._leaves.items(), gradients):
            value = torch.zeros_like(leaf) if gradient is None else gradient
            target = self.grad_dict[name]
            if self._grad_req[name] == "add":
                target._writable().add_(value)
            else:
                target._replace(value, lent=True)

    def copy_params_from(self, arg_params, aux_params=None, allow_extra_params=False) -> None:
        """Copy values into the arrays of arguments and states, by name.

        Raises
        ------
        ValueError
            There is no argument or state of a name, and `allow_extra_params` is False.
        """
        for arrays, values in ((self.arg_dict, arg_params), (self.aux_dict, aux_params or {})):
            for name, value in values.items():
                if name in arrays:
                    self._assign(arrays, name, value)
                elif not allow_extra_params:
                    raise ValueError(f"copy_params_from: there is no {name!r}\n  of {list(arrays)}")

    def _assign(self, arrays: dict[str, NDArray], name: str, value: NDArray) -> None:
        if name not in arrays:
            raise ArgumentError(f"Executor: there is no {name!r}\n  expected of {list(arrays)}")
        if not isinstance(value, (NDArray, np.ndarray)):
            raise ArgumentError(f"Executor: {name} is {value!r}\n  expected an NDArray")
        if value.shape != arrays[name].shape:
            raise ShapeError(
                f"Executor: {name} is {value.shape}\n  expected {arrays[name].shape}; reshape() "
                "makes an executor for other shapes"
            )
        arrays[name][:] = value

    def reshape(self, partial_shaping=False, allow_up_sizing=False, **kwargs) -> Executor:
        """An executor for other shapes, in the memory of this one.

        Parameters
        ----------
        partial_shaping : bool
            Whether arrays may change whose shapes are not told in `kwargs`.
        allow_up_sizing : bool
            Whether arrays may become larger; these are new ones.

        Raises
        ------
        ShapeError
            An array would change that may not; or not all shapes can be told.
        """
        shapes, _, aux_shapes = self._symbol.infer_shape(**kwargs)
        if shapes is None:
            raise ShapeError(f"reshape: {kwargs} do not suffice to tell all shapes")

        def resized(name: str, array: NDArray | None, shape: tuple[int, ...]) -> NDArray | None:
            if array is None or array.shape == shape:
                return array
            found = f"reshape: {name} is {array.shape}, and would be {shape}\n  expected "
            if not partial_shaping and name not in kwargs:
                raise ShapeError(f"{found}the same, or partial_shaping=True")
            if math.prod(shape) <= array.size:
                return array.reshape((-1,))[: math.prod(shape)].reshape(shape)
            if not allow_up_sizing:
                raise ShapeError(f"{found}no more elements, or allow_up_sizing=True")
            return zeros(shape, array.context, array.dtype)

        arg_shapes = by_name("reshape", self._symbol.list_arguments(), shapes, eq)
        states = by_name("reshape", self._symbol.list_auxiliary_states(), aux_shapes, eq)

        def kept(arrays: dict, shapes: dict) -> dict:
            return {name: resized(name, array, shapes[name]) for name, array in arrays.items()}

        return Executor(
            self._symbol,
            self._ctx,
            kept(self.arg_dict, arg_shapes),
            kept(self.grad_dict, arg_shapes),
            self._grad_req,
            kept(self.aux_dict, states),
            self._program,
        )

    def set_monitor_callback(self, callback: Callable | None, monitor_all: bool = False) -> None:
        """Have ``callback(name, array)`` called for the outputs of all nodes after a forward.

        After a backward it is called for the gradients of the nodes' inputs, as
        ``fc_backward_output0``. With `monitor_all` it is also called for variables and, as
        ``fc_weight``, for the inputs of all nodes. None ends it.
        """
        self._monitor = (callback, monitor_all) if callback else None

    def _bound(self, program: Program) -> Callable:
        return program.bound(self._own) if self._own else program.function

    def _compute_monitored(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Compute the outputs of all nodes; show them, and return those of the graph."""
        callback, everything = self._monitor
        if self._monitored is None:
            self._monitored = Monitored(self._program, self._symbol.get_internals()._entries)
        monitored = self._monitored
        program, function = monitored.program, self._bound(monitored.program)
        recording = autograd.is_recording()
        found = monitored.compute(lambda x: program.run(function, x, self._ctx, recording), tensors)
        for _, name, entry in monitored.shown(everything):
            callback(name, NDArray(found[entry].detach(), self._ctx))
        sources = {entry for node, _ in monitored.entries for entry in node.inputs}
        self._node_inputs = {e: found[e] for e in sources if found[e].requires_grad}
        return [found[entry] for entry in self._symbol._entries]

    def _show_gradients(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Show the monitor the gradients of the nodes' inputs, from the last node to the first.

        An input that several nodes have is shown with the sum of its gradients.
        """
        found = dict(zip(self._node_inputs, gradients))
        nodes = dict.fromkeys(node for node, _ in self._symbol.get_internals()._entries)
        for node in reversed(nodes):
            known = [found.get(entry) for entry in node.inputs]
            for i, (entry, gradient) in enumerate(zip(node.inputs, known)):
                if any(each is not None for each in known) and entry in found:
                    if gradient is None:
                        gradient = torch.zeros_like(self._node_inputs[entry])
                    number = i if len(node.inputs) > 1 else ""
                    name = f"{node.name}_backward_output{number}"
                    self._monitor[0](name, NDArray(gradient.detach(), self._ctx))

    def get_optimized_symbol(self):
        """The graph as it is run: the Symbol itself."""
        return self._symbol

    def debug_str(self) -> str:
        """The graph, a line a node."""
        return self._symbol.debug_str()


def bind(symbol, ctx, args, args_grad=None, grad_req="write", aux_states=None) -> Executor:
    """An executor of a Symbol on given arrays, by name or in order; see `Symbol.bind`."""
    names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    if not isinstance(ctx, Context):
        raise ArgumentError(f"bind: ctx is {ctx!r}\n  expected a Context, such as mx.cpu()")
    args = _by_name("args", args, names)
    gradients = _by_name("args_grad", args_grad or {}, names, partial=True)
    requests = _requests(grad_req, names)
    auxiliary = _by_name("aux_states", aux_states or {}, states)
    requests = {
        n: requests.get(n, "null") if gradients.get(n) is not None else "null" for n in names
    }
    return Executor(symbol, ctx, args, {n: gradients.get(n) for n in names}, requests, auxiliary)


def _requests(grad_req, names: list[str]) -> dict[str, str]:
    """What is asked of the gradient of each argument."""
    requests = _by_name("grad_req", grad_req, names, partial=True)
    wrong = next((r for r in requests.values() if r not in ("write", "add", "null")), None)
    if wrong is not None:
        raise ArgumentError(f"bind: grad_req is {wrong!r}\n  expected 'write', 'add' or 'null'")
    return requests


def _by_name(what: str, given, names: list[str], partial: bool = False) -> dict:
    if isinstance(given, str):
        return dict.fromkeys(names, given)
    if not isinstance(given, dict):
        if len(given) != len(names):
            raise ValueError(f"bind: {len(given)} {what}\n  expected {len(names)}: {names}")
        given = by_name(f"bind: {what}", names, given)
    missing = [n for n in names if n not in given]
    if missing and not partial:
        raise ValueError(f"bind: {missing[0]!r} is missing in {what}\n  expected {names}")
    return {n: given[n] for n in names if n in given}


def simple_bind(symbol, ctx, grad_req="write", type_dict=None, **shapes) -> Executor:
    """An executor of a Symbol on arrays of zeros, of the shapes that are told."""
    found = symbol.infer_shape(**shapes)
    if found[0] is None:
        raise ShapeError(
            f"simple_bind: {shapes} do not suffice to tell the shapes of {symbol.list_arguments()}"
        )
    dtypes = symbol._types(torch.float32, (), type_dict or {})
    names = symbol.list_arguments()
    requests = _requests(grad_req, names)

    def made(names: list[str], shapes: list, dtypes: list) -> dict[str, NDArray]:
        kinds = by_name("simple_bind", names, zip(shapes, dtypes), eq)
        return {name: zeros(shape, ctx, dtype) for name, (shape, dtype) in kinds.items()}

    gradients = made(names, found[0], dtypes[0])
    return Executor(
        symbol,
        ctx,
        made(names, found[0], dtypes[0]),
        {n: g if requests.get(n, "null") != "null" else None for n, g in gradients.items()},
        {n: requests.get(n, "null") for n in names},
        made(symbol.list_auxiliary_states(), found[2], dtypes[2]),
    )
