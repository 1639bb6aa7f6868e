"""Modules without parameters, computed by Python code: `PythonModule`, `PythonLossModule`."""

from __future__ import annotations

import logging
from collections.abc import Callable

from .. import ndarray
from ..base import ArgumentError, UnsupportedError
from ..io import DataDesc
from ..ndarray import NDArray
from .base_module import BaseModule

__all__ = ["PythonLossModule", "PythonModule"]


class PythonModule(BaseModule):
    """A module without parameters: a part of a `SequentialModule`, or a loss.

    A subclass defines `forward`, `backward`, `get_outputs`, `get_input_grads` and
    `_compute_output_shapes`.

    Parameters
    ----------
    data_names, label_names, output_names : list of str
    """

    def __init__(self, data_names, label_names, output_names, logger=logging):
        super().__init__(logger)
        self._data_names, self._output_names = list(data_names), list(output_names)
        self._label_names = None if label_names is None else list(label_names)
        self._data_shapes = self._label_shapes = self._output_shapes = None

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc] | None:
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple] | None:
        return self._output_shapes

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
        """Prepare for arrays of these shapes.

        Raises
        ------
        ArgumentError
            `grad_req` is not 'write', or the names are not those of the module.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ArgumentError(f"PythonModule: grad_req is {grad_req!r}\n  expected 'write'")
        shapes = {"data": data_shapes, "label": label_shapes}
        for what, names in (("data", self._data_names), ("label", self._label_names)):
            found = [d[0] for d in shapes[what] or ()]
            if (shapes[what] is not None or what == "data") and found != (names or []):
                raise ArgumentError(f"PythonModule: the {what} is {found}\n  expected {names}")
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self._output_shapes = self._compute_output_shapes()
        self.binded = self.params_initialized = True

    def _compute_output_shapes(self) -> list[tuple]:
        """Names and shapes of the outputs, from those of data and labels."""
        raise NotImplementedError(f"{type(self).__name__}._compute_output_shapes")

    def get_params(self) -> tuple[dict, dict]:
        """Two empty dicts: there are no parameters and no states."""
        return {}, {}

    def init_params(
        self,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ) -> None:
        """Do nothing: there are no parameters."""

    def init_optimizer(
        self,
        kvstore="local",
        optimizer="sgd",
        optimizer_params=(("learning_rate", 0.01),),
        force_init=False,
    ) -> None:
        """Make no optimizer: there are no parameters."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Do nothing: there are no parameters."""

    def update_metric(self, eval_metric, labels, pre_sliced: bool = False) -> None:
        """Update a metric with labels and outputs, where the module has labels.

        Raises
        ------
        UnsupportedError
            `pre_sliced` is True.
        """
        if pre_sliced:
            raise UnsupportedError(
                "PythonModule.update_metric: pre_sliced is True\n"
                "  expected False, with the labels of the whole batch"
            )
        if self._label_shapes is not None:
            eval_metric.update(labels, self.get_outputs())


class PythonLossModule(PythonModule):
    """A loss: its data are scores, which are its outputs too.

    Parameters
    ----------
    name : str
        The output is called ``name_output``.
    data_names, label_names : list of one str
    grad_func : callable, optional
        ``grad_func(scores, labels)`` returns the gradient of the scores, as an NDArray or in a form
        that `nd.array` takes.
        Without it a subclass defines `_backward_impl`, which sets `_scores_grad`.

    Raises
    ------
    ArgumentError
        There is not one name of data and one of labels, or `grad_func` cannot be called.
    """

    def __init__(
        self,
        name="pyloss",
        data_names=("data",),
        label_names=("softmax_label",),
        logger=logging,
        grad_func: Callable | None = None,
    ):
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(self._data_names) != 1 or len(self._label_names or ()) != 1:
            raise ArgumentError(
                f"PythonLossModule: data_names {self._data_names}, label_names "
                f"{self._label_names}\n  expected one of each"
            )
        if grad_func is not None and not callable(grad_func):
            raise ArgumentError(
                f"PythonLossModule: grad_func is {grad_func!r}\n  expected a callable"
            )
        self._name, self._grad_func = name, grad_func
        self._scores = self._labels = self._scores_grad = None

    def _compute_output_shapes(self) -> list[tuple]:
        return [(self._output_names[0], self._data_shapes[0][1])]

    def forward(self, data_batch, is_train: bool | None = None) -> None:
        """Take the scores of the batch and, in training, its labels."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """The scores."""
        return [self._scores]

    def backward(self, out_grads=None) -> None:
        """Compute the gradient of the scores.

        Raises
        ------
        ArgumentError
            `out_grads` are given.
        """
        self._require("backward", "for_training")
        if out_grads is not None:
            raise ArgumentError(
                f"PythonLossModule.backward: out_grads is of type {type(out_grads).__name__}\n"
                "  expected None, for the gradient of a loss begins with the loss"
            )
        self._backward_impl()

    def _backward_impl(self) -> None:
        if self._grad_func is None:
            raise NotImplementedError(f"{type(self).__name__}: there is no grad_func")
        gradient = self._grad_func(self._scores, self._labels)
        self._scores_grad = gradient if isinstance(gradient, NDArray) else ndarray.array(gradient)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """The gradient of the scores."""
        return [self._scores_grad]
