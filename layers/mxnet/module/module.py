"""Module: a Symbol with its parameters, its optimizer, and an executor for each context."""

from __future__ import annotations

import logging
from typing import Any

from .._files import optimizer_states
from .._files.checkpoint import load_checkpoint, save_checkpoint
from ..base import ArgumentError, quoted
from ..context import Context, cpu
from ..initializer import InitDesc, Uniform
from ..io import DataBatch, DataDesc
from ..io._desc import as_batch, as_descs
from ..kvstore._distributed import spans_processes
from ..kvstore.kvstore import KVStore, spread
from ..ndarray import NDArray
from ..optimizer import Updater
from ._names import _check_input_names, _check_names_match
from ._optimizer import CustomStore, keys_from_file, keys_of_weights, make_optimizer, make_store
from .base_module import BaseModule
from .executor_group import DataParallelExecutorGroup

__all__ = ["Module"]


class Module(BaseModule):
    """A Symbol to be trained and used.

    Parameters
    ----------
    symbol : Symbol
    data_names, label_names : list of str
        Arguments that each batch has values for; all others are parameters.
    logger : logging.Logger
    context : Context or list of Context
        With several, each computes a part of the batch.
    work_load_list : list of float, optional
        The share of each context in a batch; equal shares by default.
    fixed_param_names : list of str, optional
        Parameters that are not trained.
    state_names : list of str, optional
        Arguments whose values stay from batch to batch, until `set_states`.
    group2ctxs : dict of str to Context, or list of them, optional
        Where nodes with the attribute ``ctx_group`` compute; see `Symbol.bind`. A dict for each
        context, or one for all, which may have a list of a Context for each.
    compression_params : dict, optional
        Of `KVStore.set_gradient_compression`, where gradients are summed by a store.

    Raises
    ------
    ArgumentError
        A name is no argument of the Symbol, or a list has not one item for each context.
    """

    _total_exec_bytes = 0  # MXNet's name, which is 0 there too

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
    ):
        super().__init__(logger)
        self._compression_params = compression_params
        context = cpu() if context is None else context
        self._context = [context] if isinstance(context, Context) else list(context)
        self._work_load_list = work_load_list or [1] * len(self._context)
        if len(self._work_load_list) != len(self._context):
            raise ArgumentError(
                f"Module: work_load_list has {len(self._work_load_list)} numbers\n"
                f"  expected {len(self._context)}, one for each context"
            )
        self._group2ctxs = _groups_by_context(group2ctxs, len(self._context))
        self._symbol = symbol
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        self._check_names()
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [n for n in symbol.list_arguments() if n not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._arg_params: dict[str, NDArray] = {}
        self._aux_params: dict[str, NDArray] = {}
        self._params_dirty = False  # the executors have newer parameters than these
        self._optimizer = self._updater = self._kvstore = None
        self._custom_store: CustomStore | None = None
        self._update_on_kvstore: bool | None = None
        self._keys: dict[str, list] = {}
        self._preload_opt_states = None
        self._reset_bind()

    def _check_names(self) -> None:
        for what in ("data", "label", "state", "fixed_param"):
            names = getattr(self, f"_{what}_names")
            _check_input_names(self._symbol, names, what, throw=what != "label")

    def _reset_bind(self) -> None:
        self.binded = False
        self._exec_group: DataParallelExecutorGroup | None = None
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] = []

    # Checkpoints

    @staticmethod
    def load(prefix, epoch, load_optimizer_states=False, **kwargs) -> Module:
        """A Module from the files of `save_checkpoint`; `kwargs` are passed to Module."""
        symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._arg_params, module._aux_params = arg_params, aux_params
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return module

    def save_checkpoint(
        self, prefix, epoch, save_optimizer_states=False, remove_amp_cast=True
    ) -> None:
        """Write the graph, the parameters and, on request, the optimizer's states."""
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast)
        if save_optimizer_states:
            path = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(path)
            logging.info('Saved optimizer state to "%s"', path)

    def save_optimizer_states(self, fname) -> None:
        """Save the optimizer's states; MXNet reads the file."""
        self._require("save_optimizer_states", "optimizer_initialized")
        if self._custom_store is not None and self._custom_store.updates:
            self._kvstore.save_optimizer_states(fname)
        else:
            optimizer_states.save(fname, self._updater, False)

    def load_optimizer_states(self, fname) -> None:
        """Load the states that `save_optimizer_states` saved, here or in MXNet."""
        self._require("load_optimizer_states", "optimizer_initialized")
        if self._custom_store is not None and self._custom_store.updates:
            self._kvstore.load_optimizer_states(fname)
            return
        trained = self._exec_group.trained()
        weights = {
            key: array
            for name, (arrays, _) in trained.items()
            for key, array in zip(self._keys.get(name, ()), arrays)
        }
        optimizer_states.load(fname, [self._updater], weights, keys_from_file(self._keys))

    # Names and shapes

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        self._require("data_shapes", "binded")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc]:
        self._require("label_shapes", "binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple]:
        self._require("output_shapes", "binded")
        known = self._symbol.list_arguments()
        descs = [d for d in self._data_shapes + self._label_shapes if d.name in known]
        _, shapes, _ = self._symbol.infer_shape(**{d.name: d.shape for d in descs})
        return list(zip(self.output_names, shapes))

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
        """Make the executors.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc, or of name and shape
        for_training : bool
            Make arrays for gradients.
        inputs_need_grad : bool
            Make them for the gradients of the data too.
        force_rebind : bool
            Bind again where it is bound already.
        shared_module : Module, optional
            The Module whose parameters to use, in the same memory, and so on its contexts, or the
            first of them.
        grad_req : str, or dict or list of them
            'write', 'add' or 'null', for all arguments or for each.

        Raises
        ------
        ArgumentError, ShapeError
            The names are not the Module's, or the shapes or contexts do not fit.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ArgumentError(
                "bind: inputs_need_grad is True, and for_training is False\n"
                "  expected for_training=True, or inputs_need_grad=False"
            )
        if self.binded and self.params_initialized:
            self.get_params()
        self._reset_bind()
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._grad_req = grad_req
        self._set_shapes(data_shapes, label_shapes)
        self._exec_group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            self._data_shapes,
            self._label_shapes,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_module and shared_module._exec_group,
            self.logger,
            self._fixed_param_names,
            grad_req,
            self._state_names,
            self._group2ctxs,
        )
        self.binded = True
        if shared_module is not None:
            self._arg_params, self._aux_params = (
                shared_module._arg_params,
                shared_module._aux_params,
            )
            self.params_initialized = shared_module.params_initialized
            if shared_module.optimizer_initialized:
                self.borrow_optimizer(shared_module)
        elif self.params_initialized:
            self._fill_params(None, self._arg_params, self._aux_params, False, True)

    def _set_shapes(self, data_shapes, label_shapes) -> None:
        self._data_shapes = _as_descs("data", data_shapes, self._data_names)
        self._label_shapes = _as_descs("label", label_shapes or [], self._label_names)

    def reshape(self, data_shapes, label_shapes=None) -> None:
        """Bind for other shapes; the parameters stay.

        Raises
        ------
        MXNetError
            The module is not bound.
        ArgumentError
            The shapes have other names than the module's data and labels.
        """
        self._require("reshape", "binded")
        self._set_shapes(data_shapes, label_shapes)
        self._exec_group.reshape(self._data_shapes, self._label_shapes)

    # Parameters

    def init_params(
        self,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ) -> None:
        """Fill parameters and states, with given values or by an initializer.

        Parameters
        ----------
        initializer : Initializer, optional
            ``Uniform(0.01)`` by default.
        arg_params, aux_params : dict of str to NDArray, optional
            Values to use in place of the initializer's.
        allow_missing : bool
            Whether parameters may be without a value.
        force_init : bool
            Fill again where the parameters are filled already.
        allow_extra : bool
            Whether there may be values without a parameter.

        Raises
        ------
        ArgumentError, ShapeError
            A value is missing, or is for no parameter, or has another shape.
        """
        if self.params_initialized and not force_init:
            self.logger.info("Parameters already initialized and force_init=False: not filled.")
            return
        self._require("init_params", "binded")
        self._fill_params(
            initializer or Uniform(0.01), arg_params, aux_params, allow_missing, allow_extra
        )

    def set_params(
        self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False
    ) -> None:
        """Set parameters and states; with `allow_missing`, others stay. See `init_params`.

        Raises
        ------
        MXNetError
            The module is not bound.
        ArgumentError
            A value is missing, or there is one too many for `allow_missing` without `allow_extra`.
        """
        if self.params_initialized and not force_init:
            self.logger.info("Parameters already initialized and force_init=False: not set.")
            return
        self._require("set_params", "binded")
        self._fill_params(None, arg_params, aux_params, allow_missing, allow_extra)

    def _fill_params(self, initializer, arg_params, aux_params, allow_missing, allow_extra) -> None:
        attrs = self._symbol.attr_dict()
        first = self._exec_group.execs[0]
        parts = (
            (arg_params, {n: first.arg_dict[n] for n in self._exec_group.param_names}),
            (aux_params, first.aux_dict),
        )
        for given, arrays in parts:
            extra = [name for name in given or () if name not in arrays]
            # As in MXNet, a complete set of values may have more, such as all of a larger net.
            if extra and initializer is None and allow_missing and not allow_extra:
                raise ArgumentError(
                    f"set_params: there is no parameter {extra[0]!r}\n"
                    f"  expected one of {list(arrays)}, or allow_extra=True"
                )
        for given, arrays in parts:
            for name, array in sorted(arrays.items()):
                if given and name in given:
                    first._assign(arrays, name, given[name])
                elif (given is not None or initializer is None) and not allow_missing:
                    raise ArgumentError(
                        f"init_params: there is no value for {name!r}\n"
                        "  expected one, or allow_missing=True"
                    )
                elif initializer is not None:
                    initializer(InitDesc(name, attrs.get(name)), array)
        for executor in self._exec_group.execs[1:]:
            for _, arrays in parts:
                for name, array in arrays.items():
                    same_role = (
                        executor.arg_dict if name in executor.arg_dict else executor.aux_dict
                    )
                    same_role[name][:] = array.as_in_context(same_role[name].context)
        self.params_initialized = self._params_dirty = True
        self.get_params()

    def get_params(self) -> tuple[dict, dict]:
        """Parameters and states by name: copies, means over the contexts."""
        self._require("get_params", "params_initialized")
        if self._params_dirty:
            self._exec_group.get_params(self._arg_params, self._aux_params)
            self._params_dirty = False
        return self._arg_params, self._aux_params

    # The optimizer

    def init_optimizer(
        self,
        kvstore="local",
        optimizer: Any = "sgd",
        optimizer_params=(("learning_rate", 0.01),),
        force_init=False,
    ) -> None:
        """Make the optimizer; gradients are divided by the size of the batch, in all processes.

        Parameters
        ----------
        kvstore : str, KVStore or None
            How gradients are summed: over contexts, where all local types are the same; with
            'dist_sync' over those of all processes, which begin with the parameters of the first.
            A class of one's own is registered with `KVStoreBase.register`. With None they are not
            summed, and each context trains parameters of its own.
        optimizer : str or Optimizer
        optimizer_params : dict, or pairs
            Arguments of the optimizer, where `optimizer` is a name.
        force_init : bool
            Make it again where there is one already.

        Raises
        ------
        MXNetError
            The kvstore is none, or does not compress as it should; or it spans processes, and
            torchrun has not started this one, or one was lost.
        """
        self._require("init_optimizer", "binded", "params_initialized")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        store = make_store(kvstore, len(self._context), self._compression_params)
        ours, group = isinstance(store, KVStore), self._exec_group
        self._kvstore = store
        self._keys = keys_of_weights(group.param_names, len(self._context), by_name=ours)
        processes = 1 if store is None else store.num_workers
        self._optimizer = make_optimizer(
            optimizer,
            dict(optimizer_params),
            {k if isinstance(k, int) else i: name
             for i, (name, keys) in enumerate(self._keys.items()) for k in keys},
            self._symbol,
            1.0 / (group.batch_size * processes),
        )  # fmt: skip
        self._custom_store = None
        if spans_processes(store):
            store.send_from_first([row for row, _ in group.trained().values()])
            self._params_dirty = True
        elif store is not None and not ours:
            self._custom_store = CustomStore(store, self._optimizer, group.trained())
            self._params_dirty = True
        self._updater = Updater(self._optimizer)
        if ours:
            store.lend(self._updater, {name: row[0] for name, (row, _) in group.trained().items()})
        self._update_on_kvstore = ours or (store is not None and self._custom_store.updates)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Use another Module's optimizer, with its states."""
        shared_module._require("borrow_optimizer", "optimizer_initialized")
        self._optimizer = shared_module._optimizer
        self._updater = shared_module._updater
        self._kvstore = shared_module._kvstore
        self._custom_store = shared_module._custom_store
        self._keys = shared_module._keys
        self.optimizer_initialized = True

    def update(self) -> None:
        """Update the parameters with the gradients of the last backward.

        Raises
        ------
        MXNetError
            The kvstore spans processes, and one was lost.
        """
        self._require("update", "binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        group = self._exec_group
        trained, count = group.trained(), len(group.contexts)
        if self._custom_store is not None:
            self._custom_store.update(trained)
            if self._custom_store.updates:
                return
        for name in trained:
            self._keys.setdefault(name, self._new_keys(name))
        keys = [self._keys[name] for name in trained]
        weights = [[row[k] for row, _ in trained.values()] for k in range(count)]
        gradients = [[row[k] for _, row in trained.values()] for k in range(count)]
        if isinstance(self._kvstore, KVStore):
            [names] = zip(*keys)
            self._updater(list(names), self._kvstore.summed(gradients, [*names]), weights[0])
            spread(weights[0], weights[1:])
        else:
            for k in range(count):
                self._updater([row[k] for row in keys], gradients[k], weights[k])

    def _new_keys(self, name: str) -> list:
        """The keys of a parameter that the Module whose optimizer this one borrows has not."""
        names = [*self._keys, name]
        by_name = isinstance(self._kvstore, KVStore)
        return keys_of_weights(names, len(self._context), by_name)[name]

    # Computing

    def prepare(self, data_batch: DataBatch, sparse_row_id_fn=None) -> None:
        """Check which rows of row_sparse parameters a batch needs, before its forward.

        All rows are up to date on every context, so that nothing else has to be done.

        Parameters
        ----------
        data_batch : DataBatch
        sparse_row_id_fn : callable, optional
            Given the batch, a dict of names of parameters and numbers of rows.

        Raises
        ------
        ArgumentError
            The function returns something else.
        """
        self._require("prepare", "binded")
        if sparse_row_id_fn is None or self._kvstore is None:
            return
        rows = sparse_row_id_fn(data_batch)
        if not isinstance(rows, dict) or not rows.keys() <= {*self._param_names}:
            raise ArgumentError(
                f"prepare: sparse_row_id_fn returns {quoted(rows)}\n"
                f"  expected a dict with some of the parameters {self._param_names}"
            )

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        """Compute the outputs; for a batch of other shapes the Module is bound again.

        Parameters
        ----------
        data_batch : DataBatch
            Or an object with some of its attributes, such as a namedtuple with the data alone.
        is_train : bool, optional
            By default, as bound.
        """
        self._require("forward", "binded", "params_initialized")
        data_batch = as_batch(data_batch)
        data = _batch_descs(data_batch.provide_data, data_batch.data, self._data_shapes)
        label = _batch_descs(data_batch.provide_label, data_batch.label, self._label_shapes)
        if data != self._data_shapes or (label and label != self._label_shapes):
            self.reshape(data, label)
        self._exec_group.forward(data_batch, is_train)

    def backward(self, out_grads=None) -> None:
        """Compute the gradients; `out_grads` are the gradients of outputs that are no losses."""
        self._require("backward", "binded", "params_initialized", "for_training")
        self._exec_group.backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> list:
        """The outputs of the last forward; unmerged, for each output a list over the contexts."""
        self._require("get_outputs", "binded", "params_initialized")
        return self._exec_group.get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list:
        """The gradients of the data; unmerged, for each of them a list over the contexts."""
        self._require("get_input_grads", "binded", "params_initialized", "inputs_need_grad")
        return self._exec_group.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list:
        """The values of the arguments in `state_names`."""
        self._require("get_states", "binded", "params_initialized")
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states=None, value=None) -> None:
        """Set the arguments in `state_names`: to lists of arrays over the contexts, or to a number.

        Raises
        ------
        ArgumentError
            Both are given, or neither.
        """
        self._require("set_states", "binded", "params_initialized")
        self._exec_group.set_states(states, value)

    def update_metric(self, eval_metric, labels, pre_sliced: bool = False) -> None:
        """Update a metric with labels and outputs; `pre_sliced` labels are one list per context."""
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon) -> None:
        """Let a Monitor watch the executors."""
        self._require("install_monitor", "binded")
        self._exec_group.install_monitor(mon)


def _as_descs(what: str, shapes, names: list[str]) -> list[DataDesc]:
    """The DataDesc of each shape, whose names have to be `names`."""
    found = as_descs(shapes)
    if shapes:
        _check_names_match(names, found, what, throw=True)
    return found


def _groups_by_context(groups, count: int) -> list[dict[str, Context] | None]:
    """For each of so many contexts, the contexts of groups of nodes."""
    if groups is None:
        return [None] * count
    if isinstance(groups, dict):
        rows = {g: [c] if isinstance(c, Context) else list(c) for g, c in groups.items()}
        rows = {g: row * count if len(row) == 1 else row for g, row in rows.items()}
        lengths = {f"group2ctxs[{g!r}]": len(row) for g, row in rows.items()}
    else:
        lengths = {"group2ctxs": len(groups)}
    for name, length in lengths.items():
        if length != count:
            raise ArgumentError(
                f"Module: {name} has the length {length}\n  expected {count}, one for each context"
            )
    if isinstance(groups, dict):
        return [{g: row[k] for g, row in rows.items()} for k in range(count)]
    return list(groups)


def _batch_descs(provided, arrays, bound: list[DataDesc]) -> list[DataDesc]:
    """Names and shapes of the arrays of a batch, as it provides them, else with the bound names."""
    if provided:
        return as_descs(provided)
    return [DataDesc(d.name, a.shape, d.dtype, d.layout) for d, a in zip(bound, arrays or ())]
