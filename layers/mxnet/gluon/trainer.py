"""The Trainer: applies an optimizer to parameters, on one context or several."""

from __future__ import annotations

import warnings
from os import PathLike

from .. import kvstore, optimizer
from .._files import params
from .._files.optimizer_states import pack, unpack
from ..base import ArgumentError, ContextError, MXNetError, UnsupportedError
from ..context import Context
from ..kvstore.kvstore import spread, total
from ..ndarray import NDArray
from .parameter import Parameter, ParameterDict

__all__ = ["Trainer"]


class Trainer:
    """Applies an optimizer to parameters after each backward.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameter
        Those whose `grad_req` is 'null' are left alone.
    optimizer : str or Optimizer
    optimizer_params : dict, optional
        Arguments of the optimizer, when it is given by name.
    kvstore : str, KVStore or None
        How gradients are summed over contexts; all local types are the same here, those over
        several processes are refused. None: they are not summed, and the contexts go their own
        ways.
    compression_params : None
        There is no compression.
    update_on_kvstore : bool, optional
        True: sum the gradients, update once, and copy the weights to all contexts; gradients stay
        as they are. False: write the sum into the gradients, and update on each context; then
        `allreduce_grads` and `update` can be called one by one. By default True with several
        contexts.

    Raises
    ------
    ArgumentError
        `params` are not Parameters, or `optimizer_params` come with an Optimizer.
    ContextError
        The parameters are not on the same contexts.
    UnsupportedError
        There are `compression_params`, or the kvstore spans processes.
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
        if compression_params is not None:
            raise UnsupportedError(
                f"Trainer: compression_params={compression_params!r}\n"
                "  expected None: gradients are not compressed"
            )
        self._params = _listed(params)
        self._param2idx = {p.name: i for i, p in enumerate(self._params)}
        self._contexts = self._check_contexts()
        store = _store(kvstore)
        self._kvstore = store if len(self._contexts) > 1 or update_on_kvstore else None
        if update_on_kvstore and self._kvstore is None:
            raise ArgumentError(
                "Trainer: update_on_kvstore=True with kvstore=None\n  expected a kvstore"
            )
        self._update_on_kvstore = (
            self._kvstore is not None if update_on_kvstore is None else bool(update_on_kvstore)
        )
        for parameter in self._params:
            parameter._set_trainer(self)
        self._init_optimizer(optimizer, optimizer_params)
        self._scale = self._optimizer.rescale_grad

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
        count = 1 if self._update_on_kvstore else len(self._contexts)
        self._updaters = [optimizer.get_updater(self._optimizer) for _ in range(count)]

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
        rows = self._rows(ignore_stale_grad)
        if self._update_on_kvstore:
            self._update_once(rows)
        else:
            self._allreduce_grads()
            self._update_each(rows)

    def allreduce_grads(self) -> None:
        """Write the sum over contexts into the gradients, to change them before `update`.

        Raises MXNetError when parameters are updated on the kvstore.
        """
        self._refuse_on_kvstore("allreduce_grads")
        self._allreduce_grads()

    def update(self, batch_size: float, ignore_stale_grad: bool = False) -> None:
        """`step` without the sum over contexts, after `allreduce_grads`.

        Raises MXNetError when parameters are updated on the kvstore.
        """
        self._refuse_on_kvstore("update")
        self._rescale(batch_size)
        self._update(ignore_stale_grad)

    # A step whose update is computed elsewhere, in one compiled graph with its gradients; for
    # parameters on one context.

    @property
    def updates_here(self) -> bool:
        """Whether `step` is that of this class, and updates all parameters without a kvstore."""
        return type(self) is Trainer and "step" not in vars(self) and not self._kvstore

    def begin_update(self, batch_size: float, index: list[int]) -> list:
        """Count an update of some parameters, and set the scale of their gradients.

        Returns the states of their weights, as `Optimizer.create_state` makes them, which the
        update is to change.
        """
        self._rescale(batch_size)
        return self._updaters[0].begin_update(index, [self._params[i].data() for i in index])

    def undo_update(self) -> None:
        """Take back what `begin_update` has counted, for the update has failed."""
        self._optimizer.undo_update()

    def _rescale(self, batch_size: float) -> None:
        if not batch_size:
            raise ArgumentError(f"Trainer: batch_size is {batch_size}\n  expected 1 or more")
        self._optimizer.rescale_grad = self._scale / batch_size

    def _refuse_on_kvstore(self, name: str) -> None:
        if self._update_on_kvstore:
            raise MXNetError(
                f"Trainer.{name}: the parameters are updated on the kvstore\n"
                "  expected update_on_kvstore=False where the Trainer is made"
            )

    def _rows(self, ignore_stale: bool) -> list[tuple[int, list[NDArray], list[NDArray]]]:
        """The parameters to update: index, weights and gradients, each on all contexts.

        A gradient that is stale on some of the contexts counts as 0 there.
        """
        trained = [(i, p) for i, p in enumerate(self._params) if p.grad_req != "null"]
        rows = [(i, p.list_data(), p.list_grad()) for i, p in trained]
        updated = []
        for row in rows:
            i, weights, grads = row
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
            f"Gradient of Parameter `{parameter.name}` on context {context} has not been updated "
            "by backward since last `step`: perhaps only a part of the network was used, or of the "
            "contexts. step(..., ignore_stale_grad=True) leaves such parameters alone."
        )
        if not self._update_on_kvstore:
            raise UserWarning(text)
        # Here MXNet says nothing, and adds the gradient of an earlier step again.
        warnings.warn(f"{text} It is taken as 0.", UserWarning, stacklevel=4)

    def _allreduce_grads(self) -> None:
        if self._kvstore is None or len(self._contexts) == 1:
            return
        grads = [p.list_grad() for p in self._params if p.grad_req != "null"]
        columns = [list(column) for column in zip(*grads)]
        sums = total(columns) if columns else ()
        for column in columns:
            for grad, summed in zip(column, sums):
                grad._replace(summed._tensor.to(grad.context.device, copy=True))

    def _update(self, ignore_stale_grad: bool = False) -> None:
        self._update_each(self._rows(ignore_stale_grad))

    def _update_each(self, rows: list) -> None:
        """Update on each context."""
        index = [i for i, _, _ in rows]
        for k, updater in enumerate(self._updaters):
            updater(index, [g[k] for _, _, g in rows], [w[k] for _, w, _ in rows])
        _mark_stale(rows)

    def _update_once(self, rows: list) -> None:
        """Update on the first context by the sum over all, and copy to the others."""
        if not rows:
            return
        index, weights, grads = zip(*rows)
        first, *others = [list(column) for column in zip(*weights)]
        columns = [list(column) for column in zip(*grads)]
        self._updaters[0](list(index), total(columns) if others else columns[0], first)
        spread(first, others)
        _mark_stale(rows)

    # States

    def save_states(self, fname: str | PathLike) -> None:
        """Save the optimizer's states, settings and counts; the file appears whole or not at all.

        It is a ``.params`` file with JSON in it, not MXNet's pickle.
        """
        params.write(fname, *pack(self._updaters[0], True))

    def load_states(self, fname: str | PathLike) -> None:
        """Load what `save_states` saved: afterwards training goes on as it would have.

        Raises
        ------
        ParamsFileError
            The file is none of `save_states`, or of another optimizer or other parameters. Nothing
            is changed. MXNet's own files of states are pickles, which are not read.
        """
        weights = {
            i: p.list_data()[0]
            for i, p in enumerate(self._params)
            if p.grad_req != "null" and not p._deferred_init
        }
        tensors, names = params.read(fname)
        for updater in self._updaters:  # each changes its own copy
            unpack(updater, [t.clone() for t in tensors], names, str(fname), weights)


def _mark_stale(rows: list) -> None:
    for _, weights, _ in rows:
        for weight in weights:
            weight._fresh_grad = False


def _listed(params) -> list[Parameter]:
    """The parameters: of a dict by sorted names, as in MXNet."""
    if isinstance(params, (dict, ParameterDict)):
        params = [params[name] for name in sorted(params.keys())]
    if not isinstance(params, (list, tuple)) or not params:
        raise ArgumentError(f"Trainer: params is {params!r}\n  expected Parameters")
    for parameter in params:
        if not isinstance(parameter, Parameter):
            raise ArgumentError(
                f"Trainer: params has {parameter!r}\n  expected a list or dict of Parameters"
            )
    return list(params)


def _store(given) -> kvstore.KVStore | None:
    if given is None or isinstance(given, kvstore.KVStore):
        return given
    return kvstore.create(given)
