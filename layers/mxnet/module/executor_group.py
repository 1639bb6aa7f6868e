"""The executors of a Module: one for each context, each with its part of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq

import torch

from .. import ndarray
from ..base import ArgumentError, ShapeError
from ..context import Context, cpu
from ..executor import Executor
from ..executor_manager import _split_input_slice
from ..io import DataDesc
from ..ndarray import NDArray, zeros
from ..symbol._node import by_name

__all__ = ["DataParallelExecutorGroup"]


class DataParallelExecutorGroup:
    """Executors of one Symbol, which share their parameters with those of another group.

    Parameters
    ----------
    symbol : Symbol
    contexts : list of Context
    workload : list of float
        The share of each context in a batch.
    data_shapes, label_shapes : list of DataDesc
    inputs : list of str
        Arguments that are no parameters.
    grad_req : dict of str to str
    shared_group : DataParallelExecutorGroup, optional
        The group whose parameters, gradients and states to share, where the names are the same.
    """

    def __init__(
        self,
        symbol,
        contexts: list[Context],
        workload: Sequence[float],
        data_shapes: list[DataDesc],
        label_shapes: list[DataDesc],
        inputs: list[str],
        grad_req: dict[str, str],
        shared_group: DataParallelExecutorGroup | None = None,
    ):
        self.symbol, self.contexts = symbol, contexts
        self.data_shapes, self.label_shapes = data_shapes, label_shapes
        self.grad_req = grad_req
        arguments = symbol.list_arguments()
        self.param_names = [n for n in arguments if n not in inputs]
        self.aux_names = symbol.list_auxiliary_states()
        self._known = set(arguments)
        axis = max(DataDesc.get_batch_axis(data_shapes[0].layout), 0)
        self.batch_size = data_shapes[0].shape[axis]
        self.slices = _split_input_slice(self.batch_size, workload)
        layouts = [symbol[i].attr("__layout__") for i in range(len(symbol))]
        self._output_axes = [DataDesc.get_batch_axis(layout) for layout in layouts]
        self.execs = [
            self._bind_executor(k, shared_group.execs[k] if shared_group else None)
            for k in range(len(contexts))
        ]

    def _bind_executor(self, index: int, shared: Executor | None) -> Executor:
        """An executor on one context, for its part of a batch."""
        part, ctx = self.slices[index], self.contexts[index]
        descs = [d for d in self.data_shapes + self.label_shapes if d.name in self._known]
        shapes, types = {}, {}
        for desc in descs:
            axis = DataDesc.get_batch_axis(desc.layout)
            shape = list(desc.shape)
            if axis >= 0:
                shape[axis] = part.stop - part.start
            shapes[desc.name], types[desc.name] = tuple(shape), desc.dtype
        arg_shapes, _, aux_shapes = self.symbol.infer_shape(**shapes)
        if arg_shapes is None:
            raise ShapeError(
                f"bind: {shapes} do not determine all shapes of {self.symbol}\n"
                f"  expected the shapes of {[n for n in self._known if n not in shapes]}"
            )
        arg_types, _, aux_types = self.symbol._types(torch.float32, (), types)
        args, grads = {}, {}
        kinds = by_name("bind", self.symbol.list_arguments(), zip(arg_shapes, arg_types), eq)
        for name, (shape, dtype) in kinds.items():
            needs_grad = self.grad_req[name] != "null"
            is_shared = shared and name in self.param_names and name in shared.arg_dict
            if is_shared:
                args[name] = _check_shape(name, shared.arg_dict[name], shape)
                grads[name] = shared.grad_dict[name] if needs_grad else None
            else:
                args[name] = zeros(shape, ctx, dtype)
                grads[name] = None
            if needs_grad and grads[name] is None:
                grads[name] = zeros(shape, ctx, dtype)
        aux = {}
        for name, shape, dtype in zip(self.aux_names, aux_shapes, aux_types):
            is_shared = shared and name in shared.aux_dict
            aux[name] = (
                _check_shape(name, shared.aux_dict[name], shape)
                if is_shared
                else zeros(shape, ctx, dtype)
            )
        same_symbol = shared is not None and shared._symbol is self.symbol
        program = shared._program if same_symbol else None
        executor = Executor(self.symbol, ctx, args, grads, self.grad_req, aux, program)
        if same_symbol:
            executor._monitor, executor._monitored = shared._monitor, shared._monitored
        return executor

    # Arrays

    def parameters(self) -> list[list[NDArray]]:
        """For each context, the arrays of the parameters that have gradients."""
        return [[e.arg_dict[n] for n in self.trained] for e in self.execs]

    def gradients(self) -> list[list[NDArray]]:
        """For each context, the gradients of these parameters."""
        return [[e.grad_dict[n] for n in self.trained] for e in self.execs]

    @property
    def trained(self) -> list[str]:
        """Names of the parameters that have gradients."""
        return [n for n in self.param_names if self.grad_req[n] != "null"]

    def params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Parameters and states by name: copies on the CPU, means over the contexts."""
        arguments = {n: _mean([e.arg_dict[n] for e in self.execs]) for n in self.param_names}
        states = {n: _mean([e.aux_dict[n] for e in self.execs]) for n in self.aux_names}
        return arguments, states

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
            if desc.name in self._known:
                pieces = self._split(array, DataDesc.get_batch_axis(desc.layout))
                for executor, piece in zip(self.execs, pieces):
                    executor.arg_dict[desc.name][:] = piece

    # Computing

    def forward(self, data_batch, is_train: bool) -> None:
        """Compute the outputs for a batch."""
        self._copy_inputs(self.data_shapes, data_batch.data)
        if self.label_shapes and data_batch.label:
            self._copy_inputs(self.label_shapes, data_batch.label)
        for executor in self.execs:
            executor.forward(is_train)

    def backward(self, out_grads=None) -> None:
        """Compute the gradients."""
        if out_grads is None:
            for executor in self.execs:
                executor.backward()
            return
        gradients = [out_grads] if isinstance(out_grads, NDArray) else out_grads
        parts = [self._split(dy, axis) for dy, axis in zip(gradients, self._output_axes)]
        for executor, ctx, row in zip(self.execs, self.contexts, zip(*parts)):
            executor.backward([dy.as_in_context(ctx) for dy in row])

    def outputs(self, merged: bool) -> list:
        """The outputs; `merged` over the contexts, or for each output a list over the contexts."""
        return self._by_output([e.outputs for e in self.execs], self._output_axes, merged)

    def input_grads(self, merged: bool) -> list:
        """The gradients of the data."""
        axes = [DataDesc.get_batch_axis(d.layout) for d in self.data_shapes]
        rows = [[e.grad_dict[d.name] for d in self.data_shapes] for e in self.execs]
        return self._by_output(rows, axes, merged)

    def states(self, names: list[str], merged: bool) -> list:
        """The arguments with these names, whose values stay from batch to batch."""
        rows = [[e.arg_dict[n] for n in names] for e in self.execs]
        return self._by_output(rows, [0] * len(names), merged)

    def _by_output(self, rows: list[list[NDArray]], axes: list[int], merged: bool) -> list:
        columns = [list(column) for column in zip(*rows)]
        if not merged:
            return columns
        return [_concatenate(column, axis) for column, axis in zip(columns, axes)]

    def update_metric(self, eval_metric, labels, pre_sliced: bool) -> None:
        """Update a metric with labels and outputs."""
        names = self.symbol.list_outputs()
        labels = labels or []
        if pre_sliced:
            parts = labels
        else:
            axes = [DataDesc.get_batch_axis(d.layout) for d in self.label_shapes]
            axes += [0] * (len(labels) - len(axes))
            pieces = [self._split(a, axis) for a, axis in zip(labels, axes)]
            parts = [[column[k] for column in pieces] for k in range(len(self.execs))]
        known = [d.name for d in self.label_shapes] or [str(i) for i in range(len(labels))]
        for executor, part in zip(self.execs, parts):
            eval_metric.update_dict(dict(zip(known, part)), dict(zip(names, executor.outputs)))


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


def _concatenate(column: list[NDArray], axis: int) -> NDArray:
    if len(column) == 1 or axis < 0:
        return column[0]
    ctx = column[0].context
    return ndarray.concat(*[y.as_in_context(ctx) for y in column], dim=axis)
