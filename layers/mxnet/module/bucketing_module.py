"""BucketingModule: graphs of several sizes, made on demand, with the same parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable

from .. import ndarray, symbol
from .._files.checkpoint import load_params, merge
from .._files.opening import write_files
from .._files.params import ParamsFileError
from ..base import ArgumentError, integer_types
from ..context import cpu
from ..io import DataBatch
from ..io._desc import as_batch
from ..name import NameManager
from ..symbol import Symbol
from .base_module import BaseModule
from .module import Module

__all__ = ["BucketingModule"]


class BucketingModule(BaseModule):
    """A Module for each bucket key of a batch; all share parameters and optimizer.

    Parameters
    ----------
    sym_gen : callable
        ``sym_gen(key)`` returns the Symbol, the names of the data, and the names of the labels.
    default_bucket_key : hashable
        The key of the graph that has all parameters, commonly the largest.
    logger, context, work_load_list, fixed_param_names, state_names
        See `Module`.

    Raises
    ------
    ArgumentError
        `default_bucket_key` is missing.
    """

    def __init__(
        self,
        sym_gen: Callable,
        default_bucket_key=None,
        logger=logging,
        context=None,
        work_load_list=None,
        fixed_param_names=None,
        state_names=None,
        group2ctxs=None,
        compression_params=None,
    ):
        super().__init__(logger)
        if default_bucket_key is None:
            raise ArgumentError(
                "BucketingModule: default_bucket_key is None\n  expected a key that sym_gen takes"
            )
        self._sym_gen = sym_gen
        self._default_bucket_key = default_bucket_key
        self._options = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        # MXNet's names, which programs read.
        self._context = cpu() if context is None else context
        self._work_load_list, self._group2ctxs = work_load_list, group2ctxs
        self._fixed_param_names, self._state_names = fixed_param_names or [], state_names or []
        self._compression_params = compression_params
        self._monitor = None
        self._symbols: dict[object, Symbol] = {}  # from files, in place of sym_gen's
        self._loaded_params: tuple[dict, dict] | None = None
        self._make_module(default_bucket_key)  # so that wrong names are an error now
        self._reset_bind()

    @property
    def _params_dirty(self) -> bool:
        return self._curr_module is not None and self._curr_module._params_dirty

    def _call_sym_gen(self, key) -> tuple:
        """What `sym_gen` returns: names made up in it begin with 0 again, equal for all keys."""
        with NameManager():
            return self._sym_gen(key)

    def _make_module(self, key) -> Module:
        symbol, data_names, label_names = self._call_sym_gen(key)
        return Module(self._symbols.get(key, symbol), data_names, label_names, **self._options)

    # Checkpoints

    @staticmethod
    def load(
        prefix, epoch, sym_gen: Callable | None = None, default_bucket_key=None, **kwargs
    ) -> BucketingModule:
        """A module from the files of `save_checkpoint`; other arguments are the class's.

        Raises
        ------
        ParamsFileError
            The file of keys, or that of parameters, is none of `save_checkpoint`.
        """
        keys = _read_keys(f"{prefix}.buckets")
        symbols = {key: symbol.load(f"{prefix}-{key}-symbol.json") for key in keys}
        params = load_params(prefix, epoch)
        return BucketingModule.load_dict(symbols, sym_gen, default_bucket_key, *params, **kwargs)

    @staticmethod
    def load_dict(
        sym_dict: dict | None = None,
        sym_gen: Callable | None = None,
        default_bucket_key=None,
        arg_params: dict | None = None,
        aux_params: dict | None = None,
        **kwargs,
    ) -> BucketingModule:
        """A module from Symbols by their keys, and from parameters, which are set when it is bound.

        Raises
        ------
        ArgumentError
            `sym_dict` is missing; or `sym_gen`, which has the names and makes other graphs.
        """
        if sym_dict is None or sym_gen is None:
            missing = "sym_dict" if sym_dict is None else "sym_gen"
            raise ArgumentError(
                f"BucketingModule.load_dict: {missing} is None\n  expected sym_dict and sym_gen"
            )
        module = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        module._symbols = dict(sym_dict)
        module._loaded_params = arg_params or {}, aux_params or {}
        module.params_initialized = True
        return module

    def save_checkpoint(self, prefix, epoch, remove_amp_cast: bool = False) -> None:
        """Write ``prefix-0000.params``, and for each bound key ``prefix-key-symbol.json``.

        The keys, which have to be integers, are in ``prefix.buckets``. All files appear, or none.

        Raises
        ------
        ArgumentError
            A key is no integer.
        """
        self._require("save_checkpoint", "binded", "params_initialized")
        wrong = [key for key in self._buckets if not isinstance(key, integer_types)]
        if wrong:
            raise ArgumentError(f"save_checkpoint: a key is {wrong[0]!r}\n  expected integers")
        arrays = {
            f"{prefix}.buckets": [ndarray.array(list(self._buckets), dtype="int32")],
            f"{prefix}-{epoch:04d}.params": merge(*self.get_params()),
        }
        files = {path: ndarray.utils.pieces(path, data) for path, data in arrays.items()}
        for key, module in self._buckets.items():
            files[f"{prefix}-{key}-symbol.json"] = [module.symbol.tojson(remove_amp_cast).encode()]
        write_files(files)

    def _reset_bind(self) -> None:
        self.binded = False
        self._buckets: dict[object, Module] = {}
        self._curr_module: Module | None = None
        self._curr_bucket_key = None

    @property
    def data_names(self) -> list[str]:
        if self.binded:
            return self._curr_module.data_names
        return list(self._call_sym_gen(self._default_bucket_key)[1])

    @property
    def output_names(self) -> list[str]:
        if self.binded:
            return self._curr_module.output_names
        return self._call_sym_gen(self._default_bucket_key)[0].list_outputs()

    @property
    def data_shapes(self):
        self._require("data_shapes", "binded")
        return self._curr_module.data_shapes

    @property
    def label_shapes(self):
        self._require("label_shapes", "binded")
        return self._curr_module.label_shapes

    @property
    def output_shapes(self):
        self._require("output_shapes", "binded")
        return self._curr_module.output_shapes

    @property
    def symbol(self):
        """The Symbol of the current key."""
        self._require("symbol", "binded")
        return self._curr_module.symbol

    @property
    def _default_module(self) -> Module:
        return self._buckets[self._default_bucket_key]

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
        """Bind the graph of the default key; see `Module.bind`.

        Raises
        ------
        ArgumentError
            `shared_module` is given.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if shared_module is not None:
            raise ArgumentError(
                f"BucketingModule.bind: shared_module is {shared_module!r}\n  expected None"
            )
        params = self.get_params() if self.params_initialized else None
        self._reset_bind()
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._grad_req = grad_req
        module = self._make_module(self._default_bucket_key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._buckets[self._default_bucket_key] = self._curr_module = module
        self._curr_bucket_key = self._default_bucket_key
        self.binded = True
        self._loaded_params = None
        if params is not None:
            self.set_params(*params)

    def switch_bucket(self, bucket_key, data_shapes, label_shapes=None) -> None:
        """Use the graph of this key from now on; bind it first if it is not bound."""
        self._require("switch_bucket", "binded")
        if bucket_key not in self._buckets:
            module = self._make_module(bucket_key)
            module.bind(
                data_shapes,
                label_shapes,
                self.for_training,
                self.inputs_need_grad,
                shared_module=self._default_module,
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key

    def get_params(self) -> tuple[dict, dict]:
        self._require("get_params", "params_initialized")
        return (
            self._default_module.get_params()
            if self._loaded_params is None
            else self._loaded_params
        )

    def init_params(
        self,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ) -> None:
        """Fill the parameters; see `Module.init_params`."""
        if self.params_initialized and not force_init:
            return
        self._require("init_params", "binded")
        self._default_module.init_params(
            initializer, arg_params, aux_params, allow_missing, force_init, allow_extra
        )
        self._mark_initialized()

    def set_params(
        self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False
    ) -> None:
        """Set the parameters; see `Module.set_params`."""
        self._require("set_params", "binded")
        self._default_module.set_params(
            arg_params, aux_params, allow_missing, force_init, allow_extra
        )
        self._mark_initialized()

    def _mark_initialized(self) -> None:
        self.params_initialized = True
        for module in self._buckets.values():
            module.params_initialized = True

    def init_optimizer(
        self,
        kvstore="local",
        optimizer="sgd",
        optimizer_params=(("learning_rate", 0.01),),
        force_init=False,
    ) -> None:
        """Make the optimizer; see `Module.init_optimizer`."""
        self._require("init_optimizer", "binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        self._default_module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not self._default_module:
                module.borrow_optimizer(self._default_module)
        self.optimizer_initialized = True

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn=None) -> None:
        """Use the graph of the batch's key; bind it first if it is not bound.

        `sparse_row_id_fn`: see `fit`.
        """
        self._require("prepare", "binded", "params_initialized")
        self._switch_to(as_batch(data_batch))
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)

    def _switch_to(self, batch: DataBatch) -> None:
        key = self._default_bucket_key if batch.bucket_key is None else batch.bucket_key
        self.switch_bucket(
            key,
            batch.provide_data or self._curr_module.data_shapes,
            batch.provide_label or self._curr_module.label_shapes,
        )

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs with the graph of the batch's key."""
        self._require("forward", "binded", "params_initialized")
        data_batch = as_batch(data_batch)
        self._switch_to(data_batch)
        self._curr_module.forward(data_batch, is_train)

    def backward(self, out_grads=None) -> None:
        self._require("backward", "binded", "params_initialized")
        self._curr_module.backward(out_grads)

    def update(self) -> None:
        self._require("update", "binded", "params_initialized", "optimizer_initialized")
        self._curr_module.update()
        self._default_module._params_dirty = True

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        self._require("get_outputs", "binded", "params_initialized")
        return self._curr_module.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        self._require("get_input_grads", "binded", "params_initialized", "inputs_need_grad")
        return self._curr_module.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list:
        self._require("get_states", "binded", "params_initialized")
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states=None, value=None) -> None:
        self._require("set_states", "binded", "params_initialized")
        self._curr_module.set_states(states, value)

    def update_metric(self, eval_metric, labels, pre_sliced: bool = False) -> None:
        self._require("update_metric", "binded", "params_initialized")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon) -> None:
        self._require("install_monitor", "binded")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)


def _read_keys(path: str) -> list[int]:
    """The keys in a file of `save_checkpoint`."""
    arrays = ndarray.load(path)
    keys = arrays[0].asnumpy() if isinstance(arrays, list) and len(arrays) == 1 else None
    if keys is None or keys.ndim != 1 or not (abs(keys) < 1 << 53).all() or (keys % 1).any():
        raise ParamsFileError(
            f"{path}: these are no keys of buckets\n"
            "  expected one array of integers, as of save_checkpoint"
        )
    return keys.astype(int).tolist()
