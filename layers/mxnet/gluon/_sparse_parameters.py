"""What a Trainer does otherwise where parameters or their gradients are sparse."""

from __future__ import annotations

from ..base import ArgumentError
from ..kvstore import KVStore
from ..ndarray import NDArray
from .parameter import Parameter

__all__ = ["arrays_of", "choose_for_sparse", "sparse_parts"]


def sparse_parts(parameters: list[Parameter]) -> set[str]:
    """What is sparse of some of the parameters: 'weight', 'gradient', both or nothing."""
    found = set()
    for parameter in parameters:
        if parameter._stype != "default":
            found.add("weight")
        if parameter._grad_stype != "default":
            found.add("gradient")
    return found


def choose_for_sparse(store, on_store: bool | None, parts: set[str]) -> bool | None:
    """`update_on_kvstore`, where something is sparse: True for weights, else False by default.

    Raises ArgumentError where the program says otherwise of weights, or the store sums no rows.
    """
    if not parts:
        return on_store
    what = "row_sparse parameters" if "weight" in parts else "row_sparse gradients"
    if (store is None and "weight" in parts) or not isinstance(store, KVStore | None):
        raise ArgumentError(
            f"Trainer: {what} with kvstore={store!r}\n  expected a type such as 'device'"
        )
    if "weight" not in parts:
        return bool(on_store)
    if on_store is False:
        raise ArgumentError(
            f"Trainer: update_on_kvstore=False with {what}\n  expected True, or None"
        )
    return True


def arrays_of(parameter: Parameter) -> list[NDArray]:
    """The arrays of a parameter on its contexts, of any storage type."""
    return list(parameter._listed(parameter._data))
