"""The executors of a Module: one for each context, each with its part of the batch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from operator import eq

import torch

from .. import ndarray
from .._graph import executors
from .._sparse.stypes import storage_types
from ..base import ArgumentError, ShapeError, legible
from ..context import Context, cpu
from ..executor import Executor, class_for, gradient_requests
from ..executor_manager import _split_input_slice
from ..io import DataDesc
from ..io._desc import as_descs
from ..ndarray import NDArray, zeros
from ..symbol._node import by_name

__all__ = ["DataParallelExecutorGroup"]

Row = list[NDArray | None]  # the arrays of one name over the contexts


class DataParallelExecutorGroup:
    """Executors of one Symbol, one for each context, which computes its part of a batch.

    Parameters
    ----------
    symbol : Symbol
    contexts : list of Context
    workload : list of float
        The share of each context in a batch.
    data_shapes, label_shapes : list of DataDesc, or of name and shape
    param_names : list of str
        Arguments that are parameters.
    for_training, inputs_need_grad : bool
        Whether there are gradients, and those of the data too.
    shared_group : DataParallelExecutorGroup, optional
        The group whose parameters, gradients, states and inputs to share, where the names, and of
        inputs the shapes, are the same. `contexts` are then its contexts, or the first of them.
    logger : logging.Logger
        Ignored.
    fixed_param_names : list of str, optional
        Parameters without a gradient.
    grad_req : str, or dict or list of them
        'write', 'add' or 'null': for all parameters, for each argument, or for some, while others
        are written.
    state_names : list of str, optional
        Arguments whose values stay from batch to batch.
    group2ctxs : list of dict of str to Context, optional
        For each context, those of groups of nodes; see `Symbol.bind`.

    Attributes
    ----------
    execs : list of Executor
    slices : list of slice
        The part of a batch for each context.
    data_arrays, label_arrays : list of list of (slice, NDArray)
        For each input and context, the part of a batch and the array that takes it.
    param_arrays, aux_arrays, state_arrays : list of list of NDArray
        For each name, its arrays over the contexts.
    grad_arrays, input_grad_arrays : list of list of NDArray
        The gradients of parameters and of the data. One that is not computed is None, as is the
        list where there are none.
    shared_data_arrays : list of dict of str to NDArray
        For each context, the inputs by name.

    Raises
    ------
    ArgumentError, ShapeError
        The shapes do not suffice, or a parameter that is shared has another one, or is on another
        context.
    """

    def __init__(
        self,
        symbol,
        contexts: list[Context],
        workload: Sequence[float],
        data_shapes,
        label_shapes,
        param_names: Iterable[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger=logging,
        fixed_param_names: Iterable[str] | None = None,
        grad_req="write",
        state_names: Iterable[str] | None = None,
        group2ctxs: Sequence[dict[str, Context] | None] | None = None,
    ):
        if shared_group and shared_group.contexts[: len(contexts)] != contexts:
            raise ArgumentError(
                f"bind: the contexts are {contexts}, those of the module to share with are "
                f"{shared_group.contexts}\n  expected the same, or the first of them"
            )
        self.symbol, self.contexts, self.workload = symbol, contexts, workload
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.arg_names = symbol.list_arguments()
        self.aux_names = symbol.list_auxiliary_states()
        self.output_names = symbol.list_outputs()
        self.num_outputs = len(self.output_names)
        self.param_names = list(param_names)
        self.fixed_param_names = list(fixed_param_names or ())
        self.state_names = list(state_names or ())
        self.group2ctxs = list(group2ctxs or [None] * len(contexts))
        layouts = [symbol[i].attr("__layout__") for i in range(len(symbol))]
        self.output_layouts = [DataDesc.get_batch_axis(layout) for layout in layouts]
        self.grad_req = self._requests(grad_req, [name for name, *_ in data_shapes])
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            shared_group.shared_data_arrays if shared_group else [{} for _ in contexts]
        )
        self.bind_exec(data_shapes, label_shapes, shared_group)

    def _requests(self, grad_req, data_names: list[str]) -> dict[str, str]:
        """What is asked of the gradient of each argument."""
        if not self.for_training:
            return dict.fromkeys(self.arg_names, "null")
        trained = {*self.param_names} - {*self.fixed_param_names}
        trained |= {*data_names} if self.inputs_need_grad else set()
        of_all = grad_req if isinstance(grad_req, str) else "write"
        found = {name: of_all if name in trained else "null" for name in self.arg_names}
        given = found if isinstance(grad_req, str) else grad_req
        return found | gradient_requests(given, self.arg_names)

    # Binding

    def decide_slices(self, data_shapes) -> list[int]:
        """Set the part of a batch for each context; returns the axis of the examples of each input.

        Raises
        ------
        ShapeError
            A part would be empty, or the inputs have different numbers of examples.
        """
        descs = as_descs(data_shapes)
        axes = [DataDesc.get_batch_axis(desc.layout) for desc in descs]
        sizes = {d.name: d.shape[axis] for d, axis in zip(descs, axes) if axis >= 0}
        if len({*sizes.values()}) > 1:
            raise ShapeError(f"bind: the numbers of examples are {sizes}\n  expected one for all")
        self.batch_size = next(iter(sizes.values()), descs[0].shape[0] if descs else 0)
        self.slices = _split_input_slice(self.batch_size, self.workload)
        return axes

    def bind_exec(self, data_shapes, label_shapes, shared_group=None, reshape=False) -> None:
        """Make the executors for shapes; with `reshape` from those that there are.

        Raises
        ------
        ShapeError
            The shapes do not determine those of all arguments.
        """
        self.data_shapes, self.label_shapes = as_descs(data_shapes), as_descs(label_shapes or [])
        self.data_layouts = self.decide_slices(self.data_shapes)
        self.label_layouts = [DataDesc.get_batch_axis(d.layout) for d in self.label_shapes]
        self.data_names = [d.name for d in self.data_shapes]
        self.label_names = [d.name for d in self.label_shapes]
        before = self.execs if reshape else shared_group.execs if shared_group else None
        self.execs = [
            self._bind_executor(k, before[k] if before else None) for k in range(len(self.contexts))
        ]

    def reshape(self, data_shapes, label_shapes) -> None:
        """Bind for other shapes; parameters, gradients and states stay."""
        descs = as_descs(data_shapes), as_descs(label_shapes or [])
        if descs != (self.data_shapes, self.label_shapes):
            self.bind_exec(*descs, reshape=True)

    def _bind_executor(self, index: int, shared: Executor | None) -> Executor:
        """An executor on one context, for its part of a batch."""
        shapes, types = self._input_specs(self.slices[index])
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**shapes)
        if arg_shapes is None:
            raise ShapeError(
                f"bind: {shapes} do not determine all shapes of {legible(repr(self.symbol))}\n"
                f"  expected the shapes of {[n for n in self.arg_names if n not in shapes]}"
            )
        arg_types, _, aux_types = self.symbol._types(torch.float32, (), types)
        ctx = self.contexts[index]
        contexts = executors.contexts(self.symbol._entries, self.group2ctxs[index], ctx)
        places = executors.contexts_of_variables(contexts)
        stypes, of_gradients = storage_types(self.symbol._entries)

        def new(name: str, shape: tuple[int, ...], dtype, stypes: dict[str, str]) -> NDArray:
            return zeros(shape, places.get(name, ctx), dtype, stypes.get(name))

        args, grads, inputs = {}, {}, self.shared_data_arrays[index]
        given = shared.arg_dict if shared else {}
        parameters = {name: given[name] for name in self.param_names if name in given}
        specs = by_name("bind", self.arg_names, zip(arg_shapes, arg_types), eq)
        for name, (shape, dtype) in specs.items():
            if name in parameters:
                args[name] = _check_shape(name, parameters[name], shape)
            elif name not in self.param_names and _is_like(inputs.get(name), shape, dtype):
                args[name] = inputs[name]
            else:
                args[name] = new(name, shape, dtype, stypes)
            grads[name] = None
            if self.grad_req[name] != "null":
                before = shared.grad_dict[name] if name in parameters else None
                grads[name] = new(name, shape, dtype, of_gradients) if before is None else before
        states = shared.aux_dict if shared else {}
        aux = {
            name: _check_shape(name, states[name], shape)
            if name in states
            else new(name, shape, dtype, {})
            for name, shape, dtype in zip(self.aux_names, aux_shapes, aux_types)
        }
        inputs.update({n: array for n, array in args.items() if n not in self.param_names})
        return self._executor(index, args, grads, aux, contexts, shared)

    def _input_specs(self, part: slice) -> tuple[dict, dict]:
        """The shapes and dtypes of the inputs for a part of a batch."""
        shapes, types = {}, {}
        for desc in self.data_shapes + self.label_shapes:
            if desc.name in self.arg_names:
                axis, shape = DataDesc.get_batch_axis(desc.layout), list(desc.shape)
                if axis >= 0:
                    shape[axis] = part.stop - part.start
                shapes[desc.name], types[desc.name] = tuple(shape), desc.dtype
        return shapes, types

    def _executor(self, index, args, grads, aux, contexts, shared: Executor | None) -> Executor:
        same_symbol = shared is not None and shared._symbol is self.symbol
        executor = class_for(self.symbol, args)(
            self.symbol,
            self.contexts[index],
            args,
            grads,
            self.grad_req,
            aux,
            shared._program if same_symbol else None,
            contexts,
        )
        if same_symbol:
            executor._monitor, executor._of_all = shared._monitor, shared._of_all
        return executor

    # Arrays

    def _over_contexts(self, names: Iterable[str], arrays: Callable[[Executor], dict]) -> list[Row]:
        return [[arrays(e)[n] for e in self.execs] for n in names]

    def _inputs(self, descs: list[DataDesc]) -> list[list[tuple[slice, NDArray]]]:
        names = [d.name for d in descs if d.name in self.arg_names]
        return [[*zip(self.slices, row)] for row in self._over_contexts(names, _arguments)]

    @property
    def data_arrays(self) -> list[list[tuple[slice, NDArray]]]:
        return self._inputs(self.data_shapes)

    @property
    def label_arrays(self) -> list[list[tuple[slice, NDArray]]] | None:
        return self._inputs(self.label_shapes) if self.label_shapes else None

    @property
    def param_arrays(self) -> list[Row]:
        return self._over_contexts(self.param_names, _arguments)

    @property
    def grad_arrays(self) -> list[Row] | None:
        return self._over_contexts(self.param_names, _gradients) if self.for_training else None

    @property
    def aux_arrays(self) -> list[Row]:
        return self._over_contexts(self.aux_names, lambda executor: executor.aux_dict)

    @property
    def state_arrays(self) -> list[Row]:
        return self._over_contexts(self.state_names, _arguments)

    @property
    def input_grad_arrays(self) -> list[Row] | None:
        return self._over_contexts(self.data_names, _gradients) if self.inputs_need_grad else None

    def trained(self) -> dict[str, tuple[Row, Row]]:
        """The parameters that have gradients: for each name its arrays, and their gradients."""
        names = [n for n in self.param_names if self.grad_req[n] != "null"]
        rows = zip(self._over_contexts(names, _arguments), self._over_contexts(names, _gradients))
        return dict(zip(names, rows))

    def get_params(self, arg_params: dict, aux_params: dict) -> None:
        """Put parameters and states into dicts: copies on the CPU, means over the contexts."""
        arg_params |= dict(zip(self.param_names, map(_mean, self.param_arrays)))
        aux_params |= dict(zip(self.aux_names, map(_mean, self.aux_arrays)))

    def set_params(self, arg_params: dict, aux_params: dict, allow_extra: bool = False) -> None:
        """Copy values into the parameters and states of all executors.

        Raises
        ------
        ArgumentError
            There is no argument or state of a name, and `allow_extra` is False.
        """
        for executor in self.execs:
            executor.copy_params_from(arg_params, aux_params, allow_extra_params=allow_extra)

    def get_states(self, merge_multi_context: bool = True) -> list:
        """The arguments in `state_names`."""
        return _merged(self.state_arrays, [0] * len(self.state_names), merge_multi_context)

    def set_states(self, states=None, value=None) -> None:
        """Set the arguments in `state_names`: to lists of arrays over the contexts, or to a number.

        Raises
        ------
        ArgumentError
            Both are given, or neither.
        """
        if (states is None) == (value is None):
            given = "neither states nor a value" if value is None else "both states and a value"
            raise ArgumentError(f"set_states: {given}\n  expected one of them")
        for i, row in enumerate(self.state_arrays):
            for k, array in enumerate(row):
                array[:] = value if states is None else states[i][k]

    # Computing

    def _split(self, array: NDArray, axis: int) -> list[NDArray]:
        if axis < 0 or len(self.execs) == 1:
            return [array] * len(self.execs)
        if axis == 0:
            return [array[part] for part in self.slices]
        return [
            ndarray.slice_axis(array, axis=axis, begin=part.start, end=part.stop)
            for part in self.slices
        ]

    def _copy_inputs(self, descs: list[DataDesc], arrays) -> None:
        if len(descs) != len(arrays):
            raise ArgumentError(
                f"forward: the batch has {len(arrays)} arrays\n"
                f"  expected {len(descs)}: {[d.name for d in descs]}"
            )
        for desc, array in zip(descs, arrays):
            if desc.name in self.arg_names:
                pieces = self._split(array, DataDesc.get_batch_axis(desc.layout))
                for executor, piece in zip(self.execs, pieces):
                    executor.arg_dict[desc.name][:] = piece

    def forward(self, data_batch, is_train: bool | None = None) -> None:
        """Compute the outputs for a batch; `is_train` is as bound by default.

        Raises
        ------
        ArgumentError
            The batch has more or fewer arrays than the inputs that were bound.
        """
        self._copy_inputs(self.data_shapes, data_batch.data)
        if self.label_shapes and data_batch.label:
            self._copy_inputs(self.label_shapes, data_batch.label)
        for executor in self.execs:
            executor.forward(self.for_training if is_train is None else is_train)

    def backward(self, out_grads=None) -> None:
        """Compute the gradients.

        Raises
        ------
        ArgumentError
            It is bound for prediction.
        """
        if not self.for_training:
            raise ArgumentError(
                "backward: the executors are bound with for_training=False\n  expected True"
            )
        if out_grads is None:
            for executor in self.execs:
                executor.backward()
            return
        gradients = [out_grads] if isinstance(out_grads, NDArray) else out_grads
        parts = [self._split(dy, axis) for dy, axis in zip(gradients, self.output_layouts)]
        for executor, row in zip(self.execs, zip(*parts)):
            executor.backward([*row])

    def get_outputs(self, merge_multi_context: bool = True, begin: int = 0, end=None) -> list:
        """The outputs from `begin` to `end`; unmerged, for each a list over the contexts."""
        rows = [[*row] for row in zip(*[e.outputs[begin:end] for e in self.execs])]
        return _merged(rows, self.output_layouts[begin:end], merge_multi_context)

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs for a whole batch."""
        found = []
        for name, y, axis in zip(self.output_names, self.execs[0].outputs, self.output_layouts):
            shape = list(y.shape)
            if axis >= 0:
                shape[axis] = self.batch_size
            found.append((name, tuple(shape)))
        return found

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """The gradients of the data; unmerged, for each of them a list over the contexts."""
        return _merged(self.input_grad_arrays, self.data_layouts, merge_multi_context)

    def update_metric(self, eval_metric, labels, pre_sliced: bool) -> None:
        """Update a metric with labels and outputs."""
        labels = labels or []
        if pre_sliced:
            parts = labels
        else:
            axes = self.label_layouts + [0] * (len(labels) - len(self.label_layouts))
            pieces = [self._split(a, axis) for a, axis in zip(labels, axes)]
            parts = [[column[k] for column in pieces] for k in range(len(self.execs))]
        known = self.label_names or [str(i) for i in range(len(labels))]
        for executor, part in zip(self.execs, parts):
            outputs = dict(zip(self.output_names, executor.outputs))
            eval_metric.update_dict(dict(zip(known, part)), outputs)

    def install_monitor(self, mon) -> None:
        """Let a Monitor watch the executors."""
        for executor in self.execs:
            mon.install(executor)


def _arguments(executor: Executor) -> dict[str, NDArray]:
    return executor.arg_dict


def _gradients(executor: Executor) -> dict[str, NDArray | None]:
    return executor.grad_dict


def _is_like(array: NDArray | None, shape: tuple[int, ...], dtype) -> bool:
    return array is not None and (array.shape, array.dtype) == (tuple(shape), dtype)


def _check_shape(name: str, array: NDArray, shape: tuple[int, ...]) -> NDArray:
    if array.shape != tuple(shape):
        raise ShapeError(
            f"bind: parameter {name!r} is {array.shape}, and these data need {tuple(shape)}\n"
            "  expected data for which its shape stays the same"
        )
    return array


def _mean(arrays: list[NDArray]) -> NDArray:
    copies = [a.copyto(cpu()) for a in arrays]
    return copies[0] if len(copies) == 1 else sum(copies[1:], copies[0]) / len(copies)


def _merged(rows: list[Row], axes: list[int], merged: bool) -> list:
    """The rows, or on request the whole array of each."""
    return [_concatenate(row, axis) for row, axis in zip(rows, axes)] if merged else rows


def _concatenate(row: list[NDArray], axis: int) -> NDArray:
    if len(row) == 1 or axis < 0:
        return row[0]
    ctx = row[0].context
    return ndarray.concat(*[y.as_in_context(ctx) for y in row], dim=axis)
