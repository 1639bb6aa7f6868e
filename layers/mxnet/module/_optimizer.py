"""The optimizer of a Module, and its KVStore."""

from __future__ import annotations

import warnings

from .. import kvstore, optimizer
from ..base import MXNetError
from ..ndarray import NDArray

__all__ = ["make_optimizer", "make_store", "weights_by_index"]


def make_optimizer(
    optimizer_or_name, arguments: dict, names: dict[int, str], symbol, rescale: float
):
    """Make an optimizer from its name, or prepare the given one.

    Gradients are multiplied by `rescale`, learning rates and weight decays by ``__lr_mult__`` and
    ``__wd_mult__`` of the Symbol.
    """
    if not isinstance(optimizer_or_name, str):
        if optimizer_or_name.rescale_grad != rescale:
            warnings.warn(
                f"init_optimizer: the optimizer has rescale_grad={optimizer_or_name.rescale_grad}\n"
                f"  expected 1 / batch size = {rescale}, unless this is intended",
                UserWarning,
                stacklevel=3,
            )
        optimizer_or_name.idx2name = optimizer_or_name.idx2name or names
        return optimizer_or_name
    arguments = {"rescale_grad": rescale, "sym": symbol, "param_idx2name": names} | arguments
    return optimizer.create(optimizer_or_name, **arguments)


def make_store(store) -> kvstore.KVStore | None:
    """Make a KVStore from its name; a KVStore and None are returned as they are.

    Raises MXNetError for other stores, such as registered ones: a Module calls none of their
    methods.
    """
    made = kvstore.create(store) if isinstance(store, str) else store
    if not isinstance(made, kvstore.KVStore | None):
        of = f", of the registered {type(made).__name__}" if isinstance(store, str) else ""
        raise MXNetError(
            f"init_optimizer: kvstore is {store!r}{of}\n"
            "  expected None, a local type such as 'device', or a KVStore"
        )
    return made


def weights_by_index(group, indices: dict[str, int], has_store: bool) -> dict[int, NDArray]:
    """The trained weights by their indices in the optimizer."""
    count = 1 if has_store else len(group.contexts)
    return {
        indices[name] * count + k: array
        for name, (weights, _) in group.trained().items()
        if name in indices
        for k, array in enumerate(weights[:count])
    }
