"""Checkpoints, and FeedForward: the model class that was before Module."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from . import metric
from ._files.checkpoint import load_checkpoint, load_params, save_checkpoint
from .base import ArgumentError
from .callback import BatchEndParam
from .context import Context, cpu
from .initializer import Uniform
from .io import DataIter, NDArrayIter, ResizeIter
from .kvstore.kvstore import updates_by_default
from .module import Module
from .module._optimizer import make_store
from .ndarray import NDArray

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]


# What loops of one's own import


def _create_kvstore(kvstore, num_device: int, arg_params: dict) -> tuple[Any, bool]:
    """A store for so many contexts, or None; whether it updates the parameters."""
    store = make_store(kvstore, num_device, None)
    kind = kvstore if isinstance(kvstore, str) else ""
    sizes = [a.size for a in arg_params.values()]
    return store, store is not None and updates_by_default(kind, sizes)


def _initialize_kvstore(kvstore, param_arrays, arg_params, param_names, update_on_kvstore) -> None:
    """Give a store the parameters, and the contexts their values where it is what updates them."""
    for i, (name, arrays) in enumerate(zip(param_names, param_arrays)):
        kvstore.init(name, arg_params[name])
        if update_on_kvstore:
            kvstore.pull(name, arrays, priority=-i)


def _update_params_on_kvstore(param_arrays, grad_arrays, kvstore, param_names) -> None:
    """Have a store update the parameters by the gradients of all contexts."""
    for i, (name, arrays, grads) in enumerate(zip(param_names, param_arrays, grad_arrays)):
        if grads[0] is not None:
            kvstore.push(name, grads, priority=-i)
            kvstore.pull(name, arrays, priority=-i)


def _update_params(
    param_arrays, grad_arrays, updater, num_device: int, kvstore=None, param_names=None
) -> None:
    """Update the parameters of each context, by gradients that a store sums where there is one."""
    updates: list[list[tuple]] = [[] for _ in range(num_device)]
    for i, (arrays, grads) in enumerate(zip(param_arrays, grad_arrays)):
        if grads[0] is None:
            continue
        if kvstore:
            kvstore.push(param_names[i], grads, priority=-i)
            kvstore.pull(param_names[i], grads, priority=-i)
        for k, (array, grad) in enumerate(zip(arrays, grads)):
            updates[k].append((i * num_device + k, grad, array))
    for of_context in updates:
        if of_context:
            updater(*zip(*of_context))


class FeedForward:
    """A Symbol that is trained on arrays, or on iterators.

    Parameters
    ----------
    symbol : Symbol
    ctx : Context or list of Context, optional
    num_epoch : int
    epoch_size : int, optional
        Batches in an epoch; by default those of the iterator.
    optimizer : str or Optimizer
    initializer : Initializer, optional
        ``Uniform(0.01)`` by default.
    numpy_batch_size : int
        For arrays.
    arg_params, aux_params : dict of str to NDArray, optional
    allow_extra_params : bool
        Whether there may be values for which there is no parameter.
    begin_epoch : int
    **kwargs
        Arguments of the optimizer.
    """

    def __init__(
        self,
        symbol,
        ctx=None,
        num_epoch=None,
        epoch_size=None,
        optimizer="sgd",
        initializer=None,
        numpy_batch_size=128,
        arg_params=None,
        aux_params=None,
        allow_extra_params=False,
        begin_epoch=0,
        **kwargs,
    ):
        self.symbol = symbol
        self.ctx = [ctx or cpu()] if isinstance(ctx, Context | None) else list(ctx)
        self.num_epoch, self.begin_epoch, self.epoch_size = num_epoch, begin_epoch, epoch_size
        self.optimizer, self.kwargs = optimizer, kwargs
        self.initializer = initializer or Uniform(0.01)
        self.numpy_batch_size = numpy_batch_size
        self.arg_params, self.aux_params = arg_params, aux_params
        self.allow_extra_params = allow_extra_params

    def _iterator(self, X, y=None, is_train: bool = False) -> DataIter:
        if not isinstance(X, (NDArray, np.ndarray)):
            return X
        if y is None:
            if is_train:
                raise ArgumentError("FeedForward.fit: y is missing\n  expected the labels of X")
            y = np.zeros(X.shape[0])
        size = min(X.shape[0], self.numpy_batch_size)
        last = "roll_over" if is_train else "pad"
        return NDArrayIter(X, y, size, shuffle=is_train, last_batch_handle=last)

    def _module(self, data: DataIter) -> Module:
        labels = [d[0] for d in data.provide_label if d[0] in self.symbol.list_arguments()]
        rest = [n for n in self.symbol.list_arguments() if n.endswith("label")]
        return Module(
            self.symbol, [d[0] for d in data.provide_data], labels or rest, context=self.ctx
        )

    def _bound(self, data: DataIter) -> Module:
        """A module for prediction."""
        if self.arg_params is None:
            raise ArgumentError("FeedForward: there are no parameters\n  expected fit() before")
        module = self._module(data)
        labels = [d for d in data.provide_label if d[0] in module.label_names]
        module.bind(data.provide_data, labels, for_training=False)
        extra = self.allow_extra_params
        module.set_params(self.arg_params, self.aux_params or {}, allow_extra=extra)
        return module

    def fit(
        self,
        X,
        y=None,
        eval_data=None,
        eval_metric="acc",
        epoch_end_callback=None,
        batch_end_callback=None,
        kvstore="local",
        logger=None,
        work_load_list=None,
        monitor=None,
        eval_end_callback=None,
        eval_batch_end_callback=None,
    ) -> None:
        """Train; see `BaseModule.fit`. `eval_data` may be a pair of arrays.

        Raises
        ------
        ArgumentError
            `X` is an array, and `y` is missing.
        """
        data = self._iterator(X, y, is_train=True)
        if isinstance(eval_data, (tuple, list)):
            eval_data = self._iterator(*eval_data)
        module = self._module(data)
        module.logger = logger or logging
        if self.epoch_size is not None:
            data = ResizeIter(data, self.epoch_size)
        module.fit(
            data,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            self.optimizer,
            self.kwargs,
            eval_end_callback,
            eval_batch_end_callback,
            self.initializer,
            self.arg_params,
            self.aux_params,
            allow_missing=True,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()

    def predict(self, X, num_batch=None, return_data=False, reset=True):
        """The outputs as NumPy arrays; with `return_data` also the data and the labels.

        Raises
        ------
        ArgumentError
            There are no parameters yet.
        """
        given = self._iterator(X)
        batches = self._bound(given).iter_predict(given, num_batch, reset)
        found = [([y.copy() for y in outputs], n, batch) for outputs, n, batch in batches]
        outputs = _merged([outputs for outputs, _, _ in found])
        if not return_data:
            return outputs
        data = _merged([_unpadded(batch.data, batch.pad) for _, _, batch in found])
        return outputs, data, _merged([_unpadded(batch.label, batch.pad) for _, _, batch in found])

    def score(self, X, eval_metric="acc", num_batch=None, batch_end_callback=None, reset=True):
        """The value of a metric.

        Raises
        ------
        ArgumentError
            There are no parameters yet.
        """
        data = self._iterator(X)
        eval_metric = metric.create(eval_metric)
        self._bound(data).score(data, eval_metric, num_batch, batch_end_callback, reset=reset)
        return eval_metric.get()[1]

    def save(self, prefix, epoch=None, remove_amp_cast=True) -> None:
        """Write a checkpoint; of epoch `num_epoch` by default."""
        epoch = self.num_epoch if epoch is None else epoch
        graph_and_params = self.symbol, self.arg_params, self.aux_params
        save_checkpoint(prefix, epoch, *graph_and_params, remove_amp_cast)

    @staticmethod
    def load(prefix, epoch, ctx=None, **kwargs) -> FeedForward:
        """The model of a checkpoint; training goes on with this epoch."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        options = {"arg_params": arg_params, "aux_params": aux_params, "begin_epoch": epoch}
        return FeedForward(symbol, ctx, **options, **kwargs)

    @staticmethod
    def create(
        symbol,
        X,
        y=None,
        ctx=None,
        num_epoch=None,
        epoch_size=None,
        optimizer="sgd",
        initializer=None,
        eval_data=None,
        eval_metric="acc",
        epoch_end_callback=None,
        batch_end_callback=None,
        kvstore="local",
        logger=None,
        work_load_list=None,
        eval_end_callback=None,
        eval_batch_end_callback=None,
        **kwargs,
    ) -> FeedForward:
        """A model, trained; see `FeedForward` and `fit`."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X,
            y,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            logger,
            work_load_list,
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        return model


def _unpadded(arrays: list[NDArray], pad: int | None) -> list[NDArray]:
    return [a[: a.shape[0] - (pad or 0)] for a in arrays]


def _merged(rows: list[list[NDArray]]):
    """The arrays of all batches behind each other; one alone, not as a list."""
    columns = [np.concatenate([a.asnumpy() for a in column]) for column in zip(*rows)]
    return columns[0] if len(columns) == 1 else columns
