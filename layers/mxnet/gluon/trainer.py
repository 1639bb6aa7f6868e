"""The Trainer: applies an optimizer to parameters, on some contexts and in some processes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from os import PathLike

from .. import _np_shape, optimizer
from .._files import optimizer_states
from .._sparse.rows import is_sparse
from ..base import ArgumentError, ContextError, StateError, legible
from ..context import Context
from ..kvstore import KVStore, KVStoreBase
from ..kvstore._buckets import GradientSums
from ..kvstore._compression import expect_compressing
from ..kvstore._distributed import DistributedKVStore, spans_processes
from ..kvstore.kvstore import DISTRIBUTED, maker, spread, updates_by_default
from ..ndarray import NDArray
from ._sparse_parameters import arrays_of, choose_for_sparse, sparse_parts
from .parameter import Parameter, ParameterDict

__all__ = ["Trainer"]

OURS = (KVStore, DistributedKVStore)  # their sums are computed here


class Trainer:
    """Applies an optimizer to parameters after each backward.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameter
        Those whose `grad_req` is 'null' are left alone.
    optimizer : str or Optimizer
    optimizer_params : dict, optional
        Arguments of the optimizer, when it is given by name.
    kvstore : str, KVStoreBase or None
        How gradients are summed: over the contexts, where all local types are the same; with
        'dist_sync' over the contexts of all processes that torchrun has started. A class of one's
        own is registered with `KVStoreBase.register`. None: gradients are not summed, and the
        contexts go their own ways.
    compression_params : dict, optional
        ``{"type": "2bit", "threshold": 0.5}``, for `KVStore.set_gradient_compression`. Without
        effect where no kvstore is needed.
    update_on_kvstore : bool, optional
        True: sum the gradients, update once, and copy the weights to all contexts; gradients stay
        as they are. False: write the sum into the gradients, and update on each context; then
        `allreduce_grads` and `update` can be called one by one. By default True with several
        contexts or processes, or where the kvstore is given as an object, if the kvstore can, the
        environment variable ``MXNET_UPDATE_ON_KVSTORE`` is not 0, and on a kvstore of type 'local'
        no parameter has more than 2**24 elements. With row_sparse parameters it is True, and with
        row_sparse gradients alone False by default.

    Notes
    -----
    Over several processes, each makes the same Trainer and calls the same methods in the same
    order. The parameters are those of the first process from when the Trainer is made, or when
    their shapes are known. Gradients are sent while `backward` computes others. They are summed, so
    that `step` is given the number of samples of all processes. A parameter that `backward` has
    given a gradient in one process is updated in all.

    Raises
    ------
    ArgumentError
        `params` are not Parameters, or `optimizer_params` come with an Optimizer.
    ContextError
        The parameters are not on the same contexts.
    UnsupportedError
        There is no such kvstore.
    MXNetError
        The kvstore spans processes, and torchrun has not started this one. At the first step: the
        kvstore does not compress so. Over several processes `step` and `allreduce_grads` raise it
        when one is lost.
    """

    def __init__(
        self,
        params,
        optimizer,
        optimizer_params: dict | None = None,
        kvstore="device",
        compression_params: dict | None = None,
        update_on_kvstore: bool | None = None,
    ):
        if update_on_kvstore and kvstore is None:
            raise ArgumentError(
                "Trainer: update_on_kvstore=True with kvstore=None\n  expected a kvstore"
            )
        self._params = _listed(params)
        self._param2idx = {p.name: i for i, p in enumerate(self._params)}
        self._contexts = self._check_contexts()
        self._kvstore_params = {"kvstore": kvstore, "update_on_kvstore": update_on_kvstore}
        self._compression_params = compression_params
        self._make_store = self._store_maker()
        self._reset_kvstore()
        for parameter in self._params:
            parameter._set_trainer(self)
        self._init_optimizer(optimizer, optimizer_params)
        self._scale = self._optimizer.rescale_grad
        self._amp_loss_scaler = None  # what contrib.amp sets
        self._amp_original_scale = self._scale
        if self._spans_processes():
            self._prepare()

    def _check_contexts(self) -> list[Context]:
        contexts = self._params[0].list_ctx()
        for parameter in self._params:
            if parameter.list_ctx() != contexts:
                raise ContextError(
                    f"Trainer: parameter {parameter.name!r} is on {parameter.list_ctx()}, "
                    f"{self._params[0].name!r} on {contexts}\n"
                    "  expected all parameters on the same contexts"
                )
        return contexts

    def _init_optimizer(self, given, optimizer_params: dict | None) -> None:
        parameters = dict(enumerate(self._params))
        if isinstance(given, optimizer.Optimizer):
            if optimizer_params:
                raise ArgumentError(
                    f"Trainer: optimizer_params {optimizer_params!r} beside an Optimizer\n"
                    "  expected None; give them where the Optimizer is made"
                )
            self._optimizer = given
            self._optimizer.param_dict = parameters
        else:
            self._optimizer = optimizer.create(
                given, param_dict=parameters, **(optimizer_params or {})
            )
        self._updaters = [optimizer.get_updater(self._optimizer)]

    # The kvstore, which is made at the first step

    def _store_maker(self) -> Callable[[], KVStoreBase | None]:
        """What makes the kvstore; None for parameters that need none.

        Raises an error for a kvstore that there is not.
        """
        given = self._kvstore_params["kvstore"]
        if given is None or isinstance(given, KVStoreBase):
            return lambda: given
        make = maker(given)
        needed = len(self._contexts) > 1 or self._kvstore_params["update_on_kvstore"]
        needed = needed or "weight" in sparse_parts(self._params)
        return make if needed or self._spans_processes() else lambda: None

    def _spans_processes(self) -> bool:
        given = self._kvstore_params["kvstore"]
        named = isinstance(given, str) and given.lower() in DISTRIBUTED
        return named or spans_processes(given)

    def _reset_kvstore(self) -> None:
        """Have the kvstore made anew at the next step.

        The states of the optimizer stay, for they are here; not those in a kvstore of a class of
        one's own that runs the optimizer, since `set_optimizer` is called again.
        """
        self._kvstore: KVStoreBase | None = None
        self._calls_kvstore = False  # one of another class than ours
        self._gradient_sums: GradientSums | None = None  # over processes
        self._sums: dict[int, NDArray] | None = None  # of the last gradients, by index
        self._update_on_kvstore: bool | None = None
        self._kv_initialized = False
        self._params_to_init = list(self._params)

    def _forget_kvstore(self, parameter: Parameter) -> None:
        """A parameter is given another value, of which the kvstore may have an older copy."""
        if self._spans_processes():  # whose Trainers have the parameters themselves
            return
        if self._update_on_kvstore and parameter not in self._params_to_init:
            self._reset_kvstore()

    def _init_kvstore(self) -> None:
        """Make the kvstore, and say where parameters are updated.

        Raises ArgumentError where that is to be on a kvstore that cannot.
        """
        store, on_store = self._make_store(), self._kvstore_params["update_on_kvstore"]
        on_store = choose_for_sparse(store, on_store, sparse_parts(self._params))
        capable = store is not None and store.is_capable(KVStoreBase.OPTIMIZER)
        if on_store and not capable:
            raise ArgumentError(
                f"Trainer: update_on_kvstore=True, but {type(store).__name__} runs no optimizer\n"
                "  expected update_on_kvstore=False with this kvstore"
            )
        if on_store is None:
            on_store = capable and _updates_on_kvstore(store, self._params)
        if store is not None and self._compression_params:
            expect_compressing(store)
            store.set_gradient_compression(self._compression_params)
        self._calls_kvstore = store is not None and type(store) not in OURS
        if on_store and self._calls_kvstore:
            store.set_optimizer(self._optimizer)
        elif on_store:
            store._set_updater(self._updaters[0])
        updaters = 1 if on_store else len(self._contexts)
        while len(self._updaters) < updaters:
            self._updaters.append(optimizer.get_updater(self._optimizer))
        self._kvstore = store
        self._gradient_sums = store.gradient_sums() if spans_processes(store) else None
        self._update_on_kvstore = None if store is None else bool(on_store)
        self._kv_initialized = True

    def _init_params(self) -> None:
        """Give the parameters to the kvstore; those without a shape yet, later."""
        made = [p for p in self._params_to_init if not p._deferred_init]
        self._params_to_init = [p for p in self._params_to_init if p._deferred_init]
        if spans_processes(self._kvstore):
            self._kvstore.send_from_first([arrays_of(p) for p in made])
        for parameter in made if self._calls_kvstore else ():
            arrays = parameter.list_data()
            self._kvstore.broadcast(self._param2idx[parameter.name], arrays[0], arrays)

    def _has_shape(self, parameter: Parameter) -> None:
        """The first call has told the shape of a parameter, and will compute with its arrays."""
        if self._spans_processes() and parameter in self._params_to_init:
            self._init_params()

    def _prepare(self) -> None:
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    @property
    def optimizer(self) -> optimizer.Optimizer:
        """The optimizer."""
        return self._optimizer

    def list_ctx(self) -> list[Context]:
        """The contexts that all parameters are on."""
        return list(self._contexts)

    def list_params(self) -> list[Parameter]:
        """The parameters; the optimizer knows each by its number here."""
        return list(self._params)

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; a UserWarning is raised when a scheduler sets it."""
        self._optimizer.set_learning_rate(lr)

    # Steps

    def step(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """Update the parameters by the gradients: once after each backward, outside of `record`.

        Parameters
        ----------
        batch_size : float
            Gradients are divided by this.
        ignore_stale_grad : bool
            Leave parameters alone that no backward has given a gradient since the last step.

        Raises
        ------
        UserWarning
            There is such a parameter, and `ignore_stale_grad` is False. Nothing is changed.
        """
        self._rescale(batch_size)
        self._prepare()
        self._sum_over_processes()
        rows = self._rows(ignore_stale_grad)
        if self._update_on_kvstore:
            if not self._overflows(self._sums):
                self._update_once(rows)
        else:
            self._allreduce_grads()
            self._update_each(rows)

    def allreduce_grads(self) -> None:
        """Write the sum over contexts into the gradients, to change them before `update`.

        Raises StateError when parameters are updated on the kvstore.
        """
        self._prepare()
        self._refuse_on_kvstore("allreduce_grads")
        self._sum_over_processes()
        self._allreduce_grads()

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """`step` without the sum over contexts, after `allreduce_grads`.

        Raises StateError when parameters are updated on the kvstore.
        """
        self._prepare()
        self._refuse_on_kvstore("update")
        self._rescale(batch_size)
        self._update(ignore_stale_grad)

    # A step whose update is computed elsewhere, in one compiled graph with its gradients; for
    # parameters on one context.

    @property
    def updates_here(self) -> bool:
        """Whether `step` is that of this class, and updates all parameters without a kvstore."""
        own = type(self) is Trainer and "step" not in vars(self) and not self._amp_loss_scaler
        own = own and not sparse_parts(self._params)
        given = self._kvstore_params["kvstore"]
        named = given is None or isinstance(given, str)
        on_store = self._kvstore_params["update_on_kvstore"]
        alone = len(self._contexts) == 1 and not self._spans_processes()
        return own and alone and named and not on_store

    def begin_update(self, batch_size: float, index: list[int]) -> list:
        """Count an update of some parameters, and set the scale of their gradients.

        Returns the states of their weights, as `Optimizer.create_state` makes them, which the
        update is to change.

        Raises
        ------
        ArgumentError
            `batch_size` is 0.
        """
        self._rescale(batch_size)
        return self._updaters[0].begin_update(index, [self._params[i].data() for i in index])

    def undo_update(self) -> None:
        """Take back what `begin_update` has counted, for the update has failed."""
        self._optimizer.undo_update()

    def _rescale(self, batch_size: float) -> None:
        if not batch_size:
            raise ArgumentError(
                f"Trainer: batch_size is {batch_size}\n  expected the number of samples"
            )
        self._optimizer.rescale_grad = self._scale / batch_size

    def _refuse_on_kvstore(self, name: str) -> None:
        if self._update_on_kvstore:
            raise StateError(
                f"Trainer.{name}: the parameters are updated on the kvstore\n"
                "  expected update_on_kvstore=False where the Trainer is made"
            )

    def _rows(self, ignore_stale: bool) -> list[tuple[int, list[NDArray], list[NDArray]]]:
        """The parameters to update: index, weights and gradients, each on all contexts.

        A gradient that is stale on some of the contexts counts as 0 there.
        """
        rows, updated = [], []
        for i, parameter in enumerate(self._params):
            if parameter.grad_req != "null":
                rows.append((i, arrays_of(parameter), parameter.list_grad()))
        for row in rows:
            i, weights, grads = row
            if len(weights) == 1 and weights[0]._fresh_grad:  # nearly always
                updated.append(row)
                continue
            stale = [k for k, weight in enumerate(weights) if not weight._fresh_grad]
            if stale and not ignore_stale:
                self._report_stale(self._params[i], weights[stale[0]].context)
            if ignore_stale and len(stale) == len(weights):
                continue
            for k in stale:
                grads[k][:] = 0
            updated.append(row)
        return updated

    def _report_stale(self, parameter: Parameter, context: Context) -> None:
        text = (
            f"Gradient of Parameter `{legible(parameter.name)}` on context {context} has not been "
            "updated by backward since last `step`: perhaps only a part of the network was used, "
            "or of the contexts. step(..., ignore_stale_grad=True) leaves such parameters alone."
        )
        if not self._update_on_kvstore:
            raise UserWarning(text)
        # Here MXNet says nothing, and adds the gradient of an earlier step again.
        warnings.warn(f"{text} It is taken as 0.", UserWarning, stacklevel=4)

    def _sum_over_processes(self) -> None:
        if self._gradient_sums is None:
            return
        trained = {i: p for i, p in enumerate(self._params) if p.grad_req != "null"}
        dense = {i: p.list_data() for i, p in trained.items() if p._grad_stype == "default"}
        sparse = {i: arrays_of(p) for i, p in trained.items() if i not in dense}
        sums = dict(zip(dense, self._gradient_sums.finish([*dense.values()]))) if dense else {}
        if sparse:
            sums |= zip(sparse, self._kvstore.sums_of_rows([*sparse.values()]))
        self._sums = {i: sums[i] for i in trained}

    def _allreduce_grads(self) -> None:
        if self._kvstore is None:
            return
        trained = [(i, p.list_grad()) for i, p in enumerate(self._params) if p.grad_req != "null"]
        if self._calls_kvstore:
            for i, grads in trained:
                self._kvstore.pushpull(i, grads, priority=-i)
            return
        if not trained or (not self._is_summed() and self._sums is None):
            return
        columns = [list(column) for column in zip(*[grads for _, grads in trained])]
        keys = [i for i, _ in trained]
        found = self._kvstore.summed(columns, keys) if self._sums is None else self._sums.values()
        for column in columns:
            for grad, summed in zip(column, found):
                if is_sparse(grad):
                    grad[:] = summed
                else:
                    grad._replace(summed._tensor.to(grad.context.device, copy=True))

    def _is_summed(self) -> bool:
        """Whether there is more to a sum than to take the only gradient."""
        return len(self._contexts) > 1 or self._kvstore.changes_what_it_sums

    def _update(self, ignore_stale_grad: bool = False) -> None:
        self._update_each(self._rows(ignore_stale_grad))

    def _overflows(self, sums: dict[int, NDArray] | None = None) -> bool:
        """Whether mixed precision is on for it, and a gradient is infinite or NaN."""
        scaler = self._amp_loss_scaler
        if scaler is None:
            return False
        if sums is not None:  # in all processes the same
            return scaler._has_overflow_in(sums.values())
        return scaler.has_overflow(self._params)

    def _update_each(self, rows: list) -> None:
        """Update on each context."""
        if self._overflows():
            return
        index = [i for i, _, _ in rows]
        for k, updater in enumerate(self._updaters):
            updater(index, [g[k] for _, _, g in rows], [w[k] for _, w, _ in rows])
        _mark_stale(rows)

    def _update_once(self, rows: list) -> None:
        """Update on the first context by the sum over all, and copy to the others."""
        if not rows:
            return
        if self._calls_kvstore:
            for i, weights, grads in rows:
                self._kvstore.pushpull(i, grads, out=weights, priority=-i)
            _mark_stale(rows)
            return
        index, weights, grads = zip(*rows)
        first, *others = [list(column) for column in zip(*weights)]
        if self._sums is not None:
            found = [self._sums[i] for i in index]
        else:
            columns = [list(column) for column in zip(*grads)]
            summed = self._is_summed()
            found = self._kvstore.summed(columns, list(index)) if summed else columns[0]
        self._updaters[0](list(index), found, first)
        spread(first, others)
        _mark_stale(rows)

    # States

    def save_states(self, fname: str | PathLike) -> None:
        """Save the optimizer's states, settings and counts; the file appears whole or not at all.

        MXNet reads it. A kvstore of one's own that runs the optimizer saves its states itself.

        Raises
        ------
        ArgumentError
            The Trainer is to update on a kvstore that runs no optimizer.
        """
        if self._runs_optimizer_itself():
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
            return
        optimizer_states.save(fname, self._updaters[0], True)

    def load_states(self, fname: str | PathLike) -> None:
        """Load what `save_states` saved, here or in MXNet: training goes on as it would have.

        MXNet's files are pickles, of which numbers, text and arrays are read; nothing is run.

        Raises
        ------
        ParamsFileError
            The file is none of `save_states`, or of another optimizer or other parameters. Nothing
            is changed.
        """
        if self._runs_optimizer_itself():
            self._kvstore.load_optimizer_states(fname)
            return
        weights = {
            i: arrays_of(p)[0]
            for i, p in enumerate(self._params)
            if p.grad_req != "null" and not p._deferred_init
        }
        optimizer_states.load(fname, self._updaters, weights)

    def _row_sparse_pull(self, parameter, out: list[NDArray], row_id, full_idx=False) -> None:
        """Bring the rows `row_id` of arrays up to date with a parameter's value."""
        for array in out:
            if array is not parameter._data[0]:
                array[:] = parameter._data[0]

    def _runs_optimizer_itself(self) -> bool:
        """Whether the kvstore is none of ours, and parameters are updated there."""
        self._prepare()
        return bool(self._update_on_kvstore) and self._calls_kvstore


def _updates_on_kvstore(store: KVStoreBase, parameters: list[Parameter]) -> bool:
    """Whether parameters are updated on a kvstore that could, where the program does not say."""
    sizes = [math.prod(p.shape) for p in parameters if _np_shape.is_known(p.shape)]
    return updates_by_default(store.type, sizes)


def _mark_stale(rows: list) -> None:
    for _, weights, _ in rows:
        for weight in weights:
            weight._leaf.fresh = False


def _listed(params) -> list[Parameter]:
    """The parameters: of a dict by sorted names, as in MXNet."""
    if isinstance(params, (dict, ParameterDict)):
        params = [params[name] for name in sorted(params.keys())]
    if not isinstance(params, (list, tuple)) or not params:
        what = "net.collect_params()" if hasattr(params, "collect_params") else "Parameters"
        raise ArgumentError(f"Trainer: params is {params!r}\n  expected {what}")
    for parameter in params:
        if not isinstance(parameter, Parameter):
            raise ArgumentError(
                f"Trainer: params has {parameter!r}\n  expected a list or dict of Parameters"
            )
    return list(params)
