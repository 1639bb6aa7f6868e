"""What programs from before there was Module call: the executors of `mx.executor_manager`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..base import ArgumentError, StateError, UnsupportedError
from ..context import Context
from ..executor_manager import _check_arguments, _load_data, _load_label, _split_input_slice
from . import executor_group

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]


class DataParallelExecutorGroup:
    """Executors of one Symbol, one for each context, which computes its part of a batch.

    Parameters
    ----------
    sym : Symbol
    arg_names : list of str
        Its arguments.
    param_names : list of str
        Those of them that are parameters, and have gradients.
    ctx : list of Context
    slices : list of slice
        The part of a batch for each context.
    train_data : DataIter or DataBatch
        Has the shapes of a batch, as `provide_data` and `provide_label`.
    shared_group : DataParallelExecutorGroup, optional
        The group whose parameters, gradients and states to share.

    Attributes
    ----------
    train_execs : list of Executor
    param_idx : list of int
        Where the parameters are among the arguments; `param_names` are in this order.
    data_arrays, label_arrays : list of list of (slice, NDArray)
        For each input and context, the part of a batch and the array that takes it.
    param_arrays, grad_arrays, aux_arrays : list of list of NDArray
        For each name, its arrays over the contexts.

    Raises
    ------
    ArgumentError, ShapeError
        The Symbol has two arguments of one name, or the shapes do not suffice.
    """

    def __init__(
        self,
        sym,
        arg_names: list[str],
        param_names: list[str],
        ctx: list[Context],
        slices: list[slice],
        train_data,
        shared_group: DataParallelExecutorGroup | None = None,
    ):
        _check_arguments(sym)
        self.slices = slices
        self.param_idx = [i for i, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[i] for i in self.param_idx]
        group = executor_group.DataParallelExecutorGroup(
            sym,
            list(ctx),
            [part.stop - part.start for part in slices],
            train_data.provide_data,
            train_data.provide_label,
            self.param_names,
            for_training=True,
            inputs_need_grad=False,
            shared_group=shared_group and shared_group._group,
        )
        self._group, self.train_execs = group, group.execs
        self.data_names, self.label_names = group.data_names, group.label_names
        self.aux_names = group.aux_names
        self.data_arrays, self.label_arrays = group.data_arrays, group.label_arrays or []
        self.param_arrays, self.grad_arrays = group.param_arrays, group.grad_arrays
        self.aux_arrays, self.shared_data_arrays = group.aux_arrays, group.shared_data_arrays

    def load_data_batch(self, data_batch) -> None:
        """Copy a batch into the inputs."""
        _load_data(data_batch, self.data_arrays)
        _load_label(data_batch, self.label_arrays)

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs."""
        for executor in self.train_execs:
            executor.forward(is_train=is_train)

    def backward(self) -> None:
        """Compute the gradients."""
        for executor in self.train_execs:
            executor.backward()

    def update_metric(self, metric, labels, pre_sliced: bool = False) -> None:
        """Update a metric; `labels` are those of the batch, or with `pre_sliced` of each part."""
        for k, (executor, part) in enumerate(zip(self.train_execs, self.slices)):
            own = labels[k] if pre_sliced else [label[part] for label in labels]
            metric.update(own, executor.outputs)


class DataParallelExecutorManager:
    """A Symbol on several contexts, which share the batches; the way before `mx.mod.Module`.

    Parameters
    ----------
    symbol : Symbol
    ctx : list of Context
    train_data : DataIter
    arg_names, param_names, aux_names : list of str
        Of the Symbol: its arguments, the parameters among them, and its states.
    work_load_list : list of float, optional
        The share of each context in a batch; by default the same for all.
    logger : logging.Logger, optional
        Ignored.
    sym_gen : callable, optional
        Makes the Symbol for the `bucket_key` of a batch; that of `train_data.default_bucket_key`
        is `symbol`.

    Attributes
    ----------
    slices : list of slice
        The part of a batch for each context.
    execgrp, curr_execgrp : DataParallelExecutorGroup
        The first group, and that of the batch that was loaded last.

    Raises
    ------
    ArgumentError, ShapeError
        There is another number of shares than of contexts, or a part of a batch would be empty.
    """

    def __init__(
        self,
        symbol,
        ctx: list[Context],
        train_data,
        arg_names: list[str],
        param_names: list[str],
        aux_names: list[str],
        work_load_list: Sequence[float] | None = None,
        logger=None,
        sym_gen: Callable | None = None,
    ):
        shares = [1] * len(ctx) if work_load_list is None else work_load_list
        if len(shares) != len(ctx):
            raise ArgumentError(
                f"DataParallelExecutorManager: {len(shares)} shares for {len(ctx)} contexts\n"
                "  expected one for each"
            )
        self.symbol, self.sym_gen, self.ctx = symbol, sym_gen, ctx
        self.arg_names, self.param_names, self.aux_names = arg_names, param_names, aux_names
        self.slices = _split_input_slice(train_data.batch_size, shares)
        self.execgrp = self._bind(symbol, train_data)
        self.curr_execgrp: DataParallelExecutorGroup | None = None
        self._groups = {} if sym_gen is None else {train_data.default_bucket_key: self.execgrp}

    def _bind(self, symbol, train_data, shared=None) -> DataParallelExecutorGroup:
        return DataParallelExecutorGroup(
            symbol,
            symbol.list_arguments(),
            self.param_names,
            self.ctx,
            self.slices,
            train_data,
            shared,
        )

    @property
    def param_arrays(self) -> list:
        """For each parameter, its arrays over the contexts."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list:
        """For each parameter, its gradients over the contexts."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list:
        """For each state, its arrays over the contexts."""
        return self.execgrp.aux_arrays

    def install_monitor(self, monitor) -> None:
        """Let a Monitor watch the executors.

        Raises
        ------
        UnsupportedError
            There is a `sym_gen`: executors are made later, too.
        """
        if self.sym_gen is not None:
            raise UnsupportedError(
                "install_monitor: executors are made for each bucket\n"
                "  expected a manager without sym_gen"
            )
        self.execgrp._group.install_monitor(monitor)

    def set_params(self, arg_params: dict, aux_params: dict) -> None:
        """Copy values into the parameters and states of all executors."""
        self.execgrp._group.set_params(arg_params, aux_params)

    def copy_to(self, arg_params: dict, aux_params: dict) -> None:
        """Copy the means over the contexts into the arrays given, in the dtype of these."""
        weights, states = {}, {}
        self.execgrp._group.get_params(weights, states)
        for found, given in (weights, arg_params), (states, aux_params):
            for name, array in found.items():
                array.astype(given[name].dtype).copyto(given[name])

    def load_data_batch(self, data_batch) -> None:
        """Copy a batch into the inputs, of the executors for its bucket where there are several."""
        self.curr_execgrp = self.execgrp
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self._groups:
                self._groups[key] = self._bind(self.sym_gen(key), data_batch, self.execgrp)
            self.curr_execgrp = self._groups[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def _current(self, call: str) -> DataParallelExecutorGroup:
        if self.curr_execgrp is None:
            raise StateError(f"{call}: there is no batch yet\n  expected load_data_batch() before")
        return self.curr_execgrp

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs for the batch.

        Raises
        ------
        StateError
            There is no batch: see `load_data_batch`. So in `backward` and `update_metric`.
        """
        self._current("forward").forward(is_train=is_train)

    def backward(self) -> None:
        """Compute the gradients."""
        self._current("backward").backward()

    def update_metric(self, metric, labels, pre_sliced: bool = False) -> None:
        """Update a metric; `labels` are those of the batch, or with `pre_sliced` of each part."""
        self._current("update_metric").update_metric(metric, labels, pre_sliced)
