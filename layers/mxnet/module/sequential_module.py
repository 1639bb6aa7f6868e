"""SequentialModule: modules, each computing on the outputs of the one before it."""

from __future__ import annotations

import logging

from ..base import ArgumentError
from ..io import DataBatch, DataDesc
from ..io._desc import as_batch
from .base_module import BaseModule

__all__ = ["SequentialModule"]


class SequentialModule(BaseModule):
    """Modules, each of which takes the outputs of the one before it as its data."""

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger=logging):
        super().__init__(logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict] = []
        self._label_shapes = None

    def add(self, module: BaseModule, **kwargs) -> SequentialModule:
        """Add a module; return this one.

        Parameters
        ----------
        module : BaseModule
        take_labels : bool
            Pass it the labels.
        auto_wiring : bool
            Pass it the outputs of the module before it as data in their order, whatever the names.

        Raises
        ------
        ArgumentError
            A keyword is neither of the two.
        """
        for key in kwargs:
            if key not in (self.META_TAKE_LABELS, self.META_AUTO_WIRING):
                raise ArgumentError(
                    f"SequentialModule.add: unknown {key!r}\n  expected take_labels or auto_wiring"
                )
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self) -> list[str]:
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self):
        self._require("data_shapes", "binded")
        return self._modules[0].data_shapes

    @property
    def label_shapes(self):
        self._require("label_shapes", "binded")
        return self._label_shapes

    @property
    def output_shapes(self):
        self._require("output_shapes", "binded")
        return self._modules[-1].output_shapes

    def get_params(self) -> tuple[dict, dict]:
        self._require("get_params", "binded", "params_initialized")
        arguments, states = {}, {}
        for module in self._modules:
            module_arguments, module_states = module.get_params()
            arguments |= module_arguments
            states |= module_states
        return arguments, states

    def init_params(
        self,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ) -> None:
        """Fill the parameters of all modules; see `Module.init_params`.

        `allow_extra` is ignored, as in MXNet: each module is given the values of all of them.

        Raises
        ------
        MXNetError
            The module is not bound.
        ArgumentError
            Two modules have a parameter of the same name, or a value is missing.
        """
        if self.params_initialized and not force_init:
            return
        self._require("init_params", "binded")
        for module in self._modules:
            module.init_params(initializer, arg_params, aux_params, allow_missing, force_init, True)
        self._check_names()
        self.params_initialized = True

    def _check_names(self) -> None:
        owner: dict[str, int] = {}
        for i, module in enumerate(self._modules):
            for params in module.get_params():
                for name in params:
                    if owner.setdefault(name, i) != i:
                        raise ArgumentError(
                            f"SequentialModule: {name!r} is a parameter of modules {owner[name]} "
                            f"and {i}\n  expected different names"
                        )

    def set_params(
        self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False
    ) -> None:
        """Set the parameters of all modules; see `Module.set_params`.

        `allow_extra` is ignored, as in MXNet: each module is given the values of all of them.
        """
        for module in self._modules:
            module.set_params(arg_params, aux_params, allow_missing, force_init, True)
        self.params_initialized = True

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
        """Bind all modules, each for the shapes of the outputs before it; see `Module.bind`.

        Raises
        ------
        ArgumentError
            There are no modules, or `shared_module` is given.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if not self._modules:
            raise ArgumentError(
                "SequentialModule.bind: there are no modules\n  expected add() before"
            )
        if shared_module is not None:
            raise ArgumentError(
                f"SequentialModule.bind: shared_module is {shared_module!r}\n  expected None"
            )
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._label_shapes = None
        for i, (module, meta) in enumerate(zip(self._modules, self._metas)):
            takes = meta.get(self.META_TAKE_LABELS, False)
            if takes:
                self._label_shapes = label_shapes
            if meta.get(self.META_AUTO_WIRING, False):
                shapes = [d[1] for d in data_shapes]
                data_shapes = [DataDesc(n, s) for n, s in zip(module.data_names, shapes)]
            module.bind(
                data_shapes,
                label_shapes if takes else None,
                for_training,
                for_training and (inputs_need_grad or i > 0),
                force_rebind,
                grad_req=grad_req,
            )
            data_shapes = module.output_shapes
        self.binded = True

    def init_optimizer(
        self,
        kvstore="local",
        optimizer="sgd",
        optimizer_params=(("learning_rate", 0.01),),
        force_init=False,
    ) -> None:
        """Make an optimizer for each module; see `Module.init_optimizer`."""
        self._require("init_optimizer", "binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs, module after module."""
        self._require("forward", "binded", "params_initialized")
        data_batch = as_batch(data_batch)
        data = data_batch.data
        for module in self._modules:
            batch = DataBatch(data, data_batch.label, data_batch.pad, data_batch.index)
            module.forward(batch, is_train)
            data = module.get_outputs()

    def backward(self, out_grads=None) -> None:
        """Compute the gradients, from the last module to the first."""
        self._require("backward", "binded", "params_initialized")
        for i, module in reversed(list(enumerate(self._modules))):
            module.backward(out_grads)
            if i:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        self._require("update", "binded", "params_initialized", "optimizer_initialized")
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        self._require("get_outputs", "binded", "params_initialized")
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        self._require("get_input_grads", "binded", "params_initialized", "inputs_need_grad")
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric, labels, pre_sliced: bool = False) -> None:
        """Update a metric with the outputs of each module that takes labels."""
        self._require("update_metric", "binded", "params_initialized")
        for module, meta in zip(self._modules, self._metas):
            if meta.get(self.META_TAKE_LABELS, False):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon) -> None:
        self._require("install_monitor", "binded")
        for module in self._modules:
            module.install_monitor(mon)
