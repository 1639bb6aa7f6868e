"""What an Estimator does with one batch."""

from __future__ import annotations

from .... import autograd
from ...utils import split_and_load

__all__ = ["BatchProcessor"]


class BatchProcessor:
    """Computes a batch forward and backward; a subclass may do it in its own way."""

    def _get_data_and_label(self, batch, ctx, batch_axis: int = 0) -> tuple[list, list]:
        """The parts of a batch for each context."""
        data, label = batch[0], batch[1]
        return (
            split_and_load(data, ctx_list=ctx, batch_axis=batch_axis),
            split_and_load(label, ctx_list=ctx, batch_axis=batch_axis),
        )

    def evaluate_batch(self, estimator, val_batch, batch_axis: int = 0) -> tuple:
        """Predict a batch by the validation network.

        Parameters
        ----------
        estimator : Estimator
        val_batch : tuple
            Data and labels.
        batch_axis : int
            The axis that is split over the contexts.

        Returns
        -------
        data, label, pred, loss : list of NDArray
            For each context.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(y, wanted) for y, wanted in zip(pred, label)]
        return data, label, pred, loss

    def fit_batch(self, estimator, train_batch, batch_axis: int = 0) -> tuple:
        """Compute a batch forward and backward; a handler updates the parameters afterwards.

        Parameters
        ----------
        estimator : Estimator
        train_batch : tuple
            Data and labels.
        batch_axis : int
            The axis that is split over the contexts.

        Returns
        -------
        data, label, pred, loss : list of NDArray
            For each context.
        """
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(y, wanted) for y, wanted in zip(pred, label)]
        for value in loss:
            value.backward()
        return data, label, pred, loss
