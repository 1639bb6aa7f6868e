"""BaseModule: training, evaluation and prediction for every kind of module."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import metric, ndarray
from .._files import checkpoint
from ..base import ArgumentError, MXNetError, StateError
from ..callback import BatchEndParam
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..ndarray import NDArray
from ._names import _check_input_names as _check_input_names  # programs import these from here
from ._names import _check_names_match as _check_names_match
from ._names import _parse_data_desc as _parse_data_desc

__all__ = ["BaseModule"]

_PRECONDITIONS = {
    "binded": "bind() before",
    "params_initialized": "init_params() before",
    "optimizer_initialized": "init_optimizer() before",
    "for_training": "bind(for_training=True) before",
    "inputs_need_grad": "bind(inputs_need_grad=True) before",
}


class BaseModule:
    """The base of modules: `fit`, `score` and `predict` in terms of methods of a subclass.

    A subclass defines the properties `data_names`, `output_names`, `data_shapes`, `label_shapes`
    and `output_shapes`, and `bind`, `init_params`, `get_params`, `init_optimizer`, `forward`,
    `backward`, `update`, `get_outputs`, `get_input_grads`, `update_metric` and `install_monitor`.

    Parameters
    ----------
    logger : logging.Logger or the module logging
    """

    def __init__(self, logger=logging):
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol = None

    def _require(self, call: str, *conditions: str) -> None:
        """Raise an error where one of the conditions of a call does not hold."""
        for condition in conditions:
            if not getattr(self, condition):
                raise StateError(
                    f"{type(self).__name__}.{call}: {condition} is False\n"
                    f"  expected {_PRECONDITIONS[condition]}"
                )

    # Training, evaluation and prediction

    def forward_backward(self, data_batch: DataBatch) -> None:
        """Compute outputs and gradients."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def fit(
        self,
        train_data,
        eval_data=None,
        eval_metric="acc",
        epoch_end_callback=None,
        batch_end_callback=None,
        kvstore="local",
        optimizer: Any = "sgd",
        optimizer_params=(("learning_rate", 0.01),),
        eval_end_callback=None,
        eval_batch_end_callback=None,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_rebind=False,
        force_init=False,
        begin_epoch=0,
        num_epoch=None,
        validation_metric=None,
        monitor=None,
        sparse_row_id_fn=None,
    ) -> None:
        """Train: bind, initialize parameters and optimizer, then go through all batches per epoch.

        Parameters
        ----------
        train_data, eval_data : DataIter
        eval_metric, validation_metric : str, EvalMetric, callable or list of such
            `validation_metric` is `eval_metric` by default.
        epoch_end_callback : callable or list of them
            Called with epoch, symbol, arg_params and aux_params.
        batch_end_callback, eval_batch_end_callback, eval_end_callback : callable or list of them
            Called with a BatchEndParam.
        kvstore, optimizer, optimizer_params
            See `init_optimizer`.
        initializer, arg_params, aux_params, allow_missing, force_init
            See `init_params`; the initializer is ``Uniform(0.01)`` by default.
        begin_epoch, num_epoch : int
            The first epoch, and the one before which to end.
        monitor : Monitor, optional
        sparse_row_id_fn : callable, optional
            Given a batch, a dict of row_sparse parameters and the numbers of their rows that it
            needs. MXNet brings only these up to date; here all rows are there.

        Raises
        ------
        ArgumentError
            `num_epoch` is missing, or `train_data` is no DataIter.
        """
        if num_epoch is None:
            raise ArgumentError("fit: num_epoch is missing\n  expected how many epochs to train")
        _expect_iterator("fit: train_data", train_data)
        self.bind(
            train_data.provide_data,
            train_data.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)
        initializer = Uniform(0.01) if initializer is None else initializer
        self.init_params(initializer, arg_params, aux_params, allow_missing, force_init)
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        eval_metric = metric.create(eval_metric)
        validation_metric = eval_metric if validation_metric is None else validation_metric
        for epoch in range(begin_epoch, num_epoch):
            started = time.time()
            options = eval_metric, batch_end_callback, monitor, sparse_row_id_fn
            for name, value in self._train_epoch(epoch, train_data, *options):
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)
            for callback in _as_list(epoch_end_callback):
                callback(epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                options = eval_batch_end_callback, eval_end_callback, True, epoch, sparse_row_id_fn
                found = self.score(eval_data, validation_metric, None, *options)
                for name, value in found:
                    self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    def _train_epoch(
        self, epoch, train_data, eval_metric, batch_end_callback, monitor, sparse_row_id_fn
    ) -> list[tuple]:
        """Train an epoch; returns the metric as it is before the callbacks of the last batch."""
        eval_metric.reset()
        found, batches, nbatch = eval_metric.get_global_name_value(), iter(train_data), 0
        data_batch = next(batches, None)
        while data_batch is not None:
            if monitor is not None:
                monitor.tic()
            self.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward_backward(data_batch)
            self.update()
            self.update_metric(eval_metric, data_batch.label)
            next_data_batch = next(batches, None)  # iterators may take back the memory of the last
            if monitor is not None:
                monitor.toc_print()
            if next_data_batch is None:
                found = eval_metric.get_global_name_value()
            for callback in _as_list(batch_end_callback):
                callback(BatchEndParam(epoch, nbatch, eval_metric, locals()))
            data_batch, nbatch = next_data_batch, nbatch + 1
        return found

    def score(
        self,
        eval_data,
        eval_metric,
        num_batch=None,
        batch_end_callback=None,
        score_end_callback=None,
        reset=True,
        epoch=0,
        sparse_row_id_fn=None,
    ) -> list[tuple]:
        """Compute a metric: a list of names and values.

        Parameters
        ----------
        eval_data : DataIter
        eval_metric : str, EvalMetric, callable or list of such
        num_batch : int, optional
            Stop after this number of batches.
        reset : bool
            Reset `eval_data` before.
        epoch : int
            The number that callbacks see.
        sparse_row_id_fn : callable, optional
            See `fit`.

        Raises
        ------
        MXNetError
            The module is not bound, or has no parameters.
        """
        self._require("score", "binded", "params_initialized")
        eval_metric = metric.create(eval_metric)
        eval_metric.reset()
        count = 0
        for nbatch, eval_batch in self._batches(eval_data, num_batch, reset, sparse_row_id_fn):
            self.update_metric(eval_metric, eval_batch.label)
            for callback in _as_list(batch_end_callback):
                callback(BatchEndParam(epoch, nbatch, eval_metric, locals()))
            count += 1
        for callback in _as_list(score_end_callback):
            callback(BatchEndParam(epoch, count, eval_metric, locals()))
        return eval_metric.get_name_value()

    def _batches(
        self, eval_data, num_batch, reset, sparse_row_id_fn=None
    ) -> Iterator[tuple[int, DataBatch]]:
        """Run forward for each batch, and yield its number and the batch."""
        if reset:
            eval_data.reset()
        for nbatch, eval_batch in enumerate(eval_data):
            if nbatch == num_batch:
                return
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            yield nbatch, eval_batch

    def iter_predict(
        self, eval_data, num_batch=None, reset=True, sparse_row_id_fn=None
    ) -> Iterator[tuple[list[NDArray], int, DataBatch]]:
        """For each batch, its outputs without padding, its number, and the batch.

        `sparse_row_id_fn`: see `fit`.

        Raises
        ------
        MXNetError
            The module is not bound, or has no parameters.
        """
        self._require("iter_predict", "binded", "params_initialized")
        for nbatch, eval_batch in self._batches(eval_data, num_batch, reset, sparse_row_id_fn):
            yield self._unpadded(eval_batch), nbatch, eval_batch

    def _unpadded(self, batch: DataBatch) -> list[NDArray]:
        return [y[: y.shape[0] - (batch.pad or 0)] for y in self.get_outputs()]

    def predict(
        self,
        eval_data,
        num_batch=None,
        merge_batches=True,
        reset=True,
        always_output_list=False,
        sparse_row_id_fn=None,
    ):
        """The outputs for all batches, without padding.

        Parameters
        ----------
        eval_data : DataIter, NDArray or numpy.ndarray
        num_batch : int, optional
            Stop after this number of batches.
        merge_batches : bool
            Join the batches; else return a list of the outputs of each.
        always_output_list : bool
            Return a list also where there is one output.
        sparse_row_id_fn : callable, optional
            See `fit`.

        Returns
        -------
        NDArray, or list of NDArray for several outputs, or list of lists

        Raises
        ------
        MXNetError
            The module is not bound, or has no parameters; or batches are to be merged, and have
            different numbers of outputs.
        """
        self._require("predict", "binded", "params_initialized")
        if isinstance(eval_data, (NDArray, np.ndarray)):
            data = eval_data if isinstance(eval_data, NDArray) else ndarray.array(eval_data)
            self.forward(DataBatch([data]), is_train=False)
            return self.get_outputs()[0]
        found = [
            [y.copy() for y in self._unpadded(batch)]
            for _, batch in self._batches(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not found or not merge_batches:
            return found
        if len({len(outputs) for outputs in found}) > 1:
            raise MXNetError(
                f"predict: batches have {sorted({len(outputs) for outputs in found})} outputs\n"
                "  expected the same number from each, or merge_batches=False"
            )
        merged = [ndarray.concat(*parts, dim=0) for parts in zip(*found)]
        return merged[0] if len(merged) == 1 and not always_output_list else merged

    # Parameters

    def set_params(
        self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False
    ) -> None:
        """Set parameters and states; see `init_params`."""
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname) -> None:
        """Save parameters and states to a file."""
        ndarray.save(fname, checkpoint.merge(*self.get_params()))

    def load_params(self, fname) -> None:
        """Set parameters and states from a file."""
        self.set_params(*checkpoint.split(ndarray.load(fname), str(fname)))

    # What a subclass may define

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn=None) -> None:
        """Prepare for a batch, before its forward; `sparse_row_id_fn`: see `fit`."""

    def get_states(self, merge_multi_context: bool = True) -> list:
        """The states whose values stay from batch to batch: none.

        Raises
        ------
        MXNetError
            The module is not bound, or has no parameters.
        """
        self._require("get_states", "binded", "params_initialized")
        return []

    def set_states(self, states=None, value=None) -> None:
        """Set the states.

        Raises
        ------
        ArgumentError
            The module has no states.
        """
        self._require("set_states", "binded", "params_initialized")
        if states or value:
            raise ArgumentError(
                "set_states: the module has no states, and is given values for them\n"
                "  expected neither states nor a value"
            )

    @property
    def symbol(self):
        """The Symbol, where there is one."""
        return self._symbol

    # What a subclass defines

    @property
    def data_names(self) -> list[str]:
        """Names of the data."""
        raise NotImplementedError(f"{type(self).__name__}.data_names")

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs."""
        raise NotImplementedError(f"{type(self).__name__}.output_names")

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Names and shapes of the data that it is bound for."""
        raise NotImplementedError(f"{type(self).__name__}.data_shapes")

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Names and shapes of the labels that it is bound for."""
        raise NotImplementedError(f"{type(self).__name__}.label_shapes")

    @property
    def output_shapes(self) -> list[tuple]:
        """Names and shapes of the outputs."""
        raise NotImplementedError(f"{type(self).__name__}.output_shapes")

    def get_params(self) -> tuple[dict, dict]:
        """Parameters and states, by name."""
        raise NotImplementedError(f"{type(self).__name__}.get_params")

    def init_params(
        self,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ) -> None:
        """Fill the parameters."""
        raise NotImplementedError(f"{type(self).__name__}.init_params")

    def bind(
        self,
        data_shapes,
        label_shapes=None,
        for_training=True,
        inputs_need_grad=False,
        force_rebind=False,
        shared_module=None,
        grad_req="write",
    ) -> None:
        """Prepare for arrays of these shapes."""
        raise NotImplementedError(f"{type(self).__name__}.bind")

    def init_optimizer(
        self,
        kvstore="local",
        optimizer: Any = "sgd",
        optimizer_params=(("learning_rate", 0.01),),
        force_init=False,
    ) -> None:
        """Make the optimizer."""
        raise NotImplementedError(f"{type(self).__name__}.init_optimizer")

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs."""
        raise NotImplementedError(f"{type(self).__name__}.forward")

    def backward(self, out_grads=None) -> None:
        """Compute the gradients."""
        raise NotImplementedError(f"{type(self).__name__}.backward")

    def update(self) -> None:
        """Update the parameters with their gradients."""
        raise NotImplementedError(f"{type(self).__name__}.update")

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """The outputs of the last forward."""
        raise NotImplementedError(f"{type(self).__name__}.get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """The gradients of the data of the last backward."""
        raise NotImplementedError(f"{type(self).__name__}.get_input_grads")

    def update_metric(self, eval_metric, labels, pre_sliced: bool = False) -> None:
        """Update a metric with the outputs of the last forward."""
        raise NotImplementedError(f"{type(self).__name__}.update_metric")

    def install_monitor(self, mon) -> None:
        """Let a Monitor watch the computation."""
        raise NotImplementedError(f"{type(self).__name__}.install_monitor")


def _as_list(callbacks) -> list:
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]


def _expect_iterator(what: str, data) -> None:
    if not hasattr(data, "provide_data"):
        raise ArgumentError(
            f"{what} is of type {type(data).__name__}\n"
            "  expected a DataIter; mx.contrib.io.DataLoaderIter makes one of a DataLoader"
        )
