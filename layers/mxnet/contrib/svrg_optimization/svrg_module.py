"""SVRGModule: a Module whose gradients have less variance than those of a batch."""

from __future__ import annotations

import logging

from ... import ndarray
from ...base import ArgumentError
from ...io import DataBatch
from ...module import Module
from ...ndarray import NDArray

__all__ = ["SVRGModule"]


class SVRGModule(Module):
    """A Module that trains with g(w) - g(w₀) + ḡ(w₀) in the place of g(w).

    g is the gradient of a batch, ḡ the mean of those of all batches, and w₀ the weights that the
    module had at the last `update_full_grads`, which `fit` calls every `update_freq` epochs. Before
    the first of these calls it is g(w) (Johnson and Zhang 2013, Accelerating Stochastic Gradient
    Descent using Predictive Variance Reduction).

    Parameters
    ----------
    symbol, data_names, ..., compression_params
        Of Module.
    update_freq : int
        After how many epochs w₀ is taken anew.

    Raises
    ------
    ArgumentError
        `update_freq` is no whole number of 1 or more.
    """

    def __init__(
        self,
        symbol,
        data_names=("data",),
        label_names=("softmax_label",),
        logger=logging,
        context=None,
        work_load_list=None,
        fixed_param_names=None,
        state_names=None,
        group2ctxs=None,
        compression_params=None,
        update_freq=None,
    ):
        if type(update_freq) is not int or update_freq < 1:
            raise ArgumentError(
                f"SVRGModule: update_freq is {update_freq!r}\n"
                "  expected every how many epochs the gradient of all data is computed, 1 or more"
            )
        given = (symbol, data_names, label_names, logger, context, work_load_list)
        given = *given, fixed_param_names, state_names, group2ctxs, compression_params
        # MXNet's names: the module with the weights w₀, and ḡ for each context.
        self._mod_aux = Module(*given)
        super().__init__(*given)
        self.update_freq = update_freq
        self._param_dict: list[dict[str, NDArray]] = [{} for _ in self._context]

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
        """Make the executors, for training those of w₀ as well; see `Module.bind`."""
        given = data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind
        super().bind(*given, shared_module, grad_req)
        if for_training:
            self._mod_aux.bind(*given, None, grad_req)

    def reshape(self, data_shapes, label_shapes=None) -> None:
        """Bind for other shapes; the parameters stay."""
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    @property
    def _has_full_grads(self) -> bool:
        return bool(self._param_dict[0])

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs; while it trains, with w₀ as well."""
        super().forward(data_batch, is_train)
        training = self.for_training if is_train is None else is_train
        if training and self._has_full_grads:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads=None) -> None:
        """Compute the gradients g(w) and g(w₀)."""
        super().backward(out_grads)
        if self._has_full_grads:
            self._mod_aux.backward(out_grads)

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn=None) -> None:
        """Prepare for a batch; see `Module.prepare`."""
        super().prepare(data_batch, sparse_row_id_fn)
        if self._mod_aux.binded:
            self._mod_aux.prepare(data_batch, sparse_row_id_fn)

    def update(self) -> None:
        """Update the parameters with g(w) - g(w₀) + ḡ(w₀).

        Raises
        ------
        MXNetError
            The kvstore spans processes, and one was lost.
        """
        if self._has_full_grads:
            self._update_svrg_gradients()
        super().update()

    def update_full_grads(self, train_data) -> None:
        """Take the weights as w₀, and compute ḡ, the mean gradient of all batches.

        What fills up the last batch counts as data, but not as a part of a batch; as in MXNet. The
        data is at its end afterwards.

        Parameters
        ----------
        train_data : DataIter

        Raises
        ------
        MXNetError
            The module is not bound, or has no parameters.
        ArgumentError
            There is no batch.
        """
        self._require("update_full_grads", "binded", "params_initialized")
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        sums: dict[str, NDArray] = {}
        batches = 0.0
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            batches += 1 - (batch.pad or 0) / train_data.batch_size
            for name, (_, gradients) in self._mod_aux._exec_group.trained().items():
                for g in gradients:
                    g = g.as_in_context(self._context[0]).tostype("default")
                    sums[name] = sums[name] + g if name in sums else g.copy()
        if not batches:
            raise ArgumentError("update_full_grads: there is no batch\n  expected data")
        parts = batches * len(self._context)  # each context adds its own
        self._param_dict = [
            {name: (total / parts).as_in_context(context) for name, total in sums.items()}
            for context in self._context
        ]

    def _update_svrg_gradients(self) -> None:
        """Write g(w) - g(w₀) + ḡ(w₀) in the place of g(w)."""
        at_w0 = self._mod_aux._exec_group.trained()
        for name, (_, gradients) in self._exec_group.trained().items():
            rows = zip(gradients, at_w0[name][1], self._param_dict)
            for g, g_of_w0, full in rows:
                g[:] = self._svrg_grads_update_rule(g, g_of_w0, full[name])

    def _svrg_grads_update_rule(
        self, g_curr_batch_curr_weight, g_curr_batch_special_weight, g_special_weight_all_batch
    ) -> NDArray:
        """g(w) - g(w₀) + ḡ(w₀)"""
        difference = ndarray.subtract(g_curr_batch_curr_weight, g_curr_batch_special_weight)
        return ndarray.add(difference, g_special_weight_all_batch)

    def _train_epoch(self, epoch, train_data, *options) -> list[tuple]:
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
            train_data.reset()
        return super()._train_epoch(epoch, train_data, *options)
