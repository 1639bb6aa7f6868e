"""The optimizer of a Module, and its store."""

from __future__ import annotations

import warnings

from .. import kvstore, optimizer
from ..base import MXNetError
from ..ndarray import NDArray

__all__ = ["by_index", "made", "store"]


def made(given, arguments: dict, names: dict[int, str], symbol, rescale: float):
    """An optimizer, from its name; or one that was made already.

    Gradients are multiplied by `rescale`; ``__lr_mult__`` and ``__wd_mult__`` of the Symbol count.
    """
    if not isinstance(given, str):
        if given.rescale_grad != rescale:
            warnings.warn(
                f"init_optimizer: the optimizer has rescale_grad={given.rescale_grad}\n"
                f"  expected 1 / batch size = {rescale}, unless this is intended",
                UserWarning,
                stacklevel=3,
            )
        given.idx2name = given.idx2name or names
        return given
    arguments = {"rescale_grad": rescale, "sym": symbol, "param_idx2name": names} | arguments
    return optimizer.create(given, **arguments)


def store(given) -> kvstore.KVStore | None:
    """A store, from its name; or one that was made already, or none."""
    made = kvstore.create(given) if isinstance(given, str) else given
    if not isinstance(made, kvstore.KVStore | None):
        raise MXNetError(f"init_optimizer: kvstore is {given!r}\n  expected a name or a KVStore")
    return made


def by_index(group, indices: dict[str, int], on_store: bool) -> dict[int, NDArray]:
    """The weights that are trained, by the indices that the optimizer has for them."""
    weights = group.parameters()[: 1 if on_store else None]
    return {
        indices[name] * len(weights) + k: array
        for k, arrays in enumerate(weights)
        for name, array in zip(group.trained, arrays)
        if name in indices
    }
