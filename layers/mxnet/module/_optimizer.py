"""The optimizer of a Module, and its KVStore."""

from __future__ import annotations

import warnings

from .. import kvstore, optimizer
from ..base import ArgumentError
from ..kvstore._compression import expect_compressing
from ..kvstore.kvstore import DISTRIBUTED, maker, updates_by_default

__all__ = ["CustomStore", "keys_from_file", "keys_of_weights", "make_optimizer", "make_store"]


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


def make_store(store, count: int, compression: dict | None) -> kvstore.KVStoreBase | None:
    """Make a store from its name, where `count` contexts or several processes need one.

    An object is returned as it is, and so is None. With `compression` it sends two bits of each
    element of a gradient.

    Raises ArgumentError for what is no store.
    """
    if isinstance(store, str):
        make = maker(store)
        made = make() if count > 1 or store.lower() in DISTRIBUTED else None
    elif store is None or hasattr(store, "pushpull"):
        made = store
    else:
        raise ArgumentError(
            f"init_optimizer: kvstore is {store!r}\n"
            "  expected None, a type such as 'device', or a KVStore"
        )
    if made is not None and compression:
        expect_compressing(made)
        made.set_gradient_compression(compression)
    return made


class CustomStore:
    """A store of a class of one's own, for the parameters of a Module.

    It has each parameter by its name. Where it runs an optimizer, that changes them in it.
    """

    def __init__(self, store, optimizer, trained: dict):
        self.store = store
        self.updates = store.is_capable(kvstore.KVStoreBase.OPTIMIZER) and updates_by_default()
        if self.updates:
            store.set_optimizer(optimizer)
        for name, (weights, _) in trained.items():
            if self.updates or not hasattr(store, "init"):
                store.broadcast(name, weights[0], weights)
            else:
                store.init(name, weights[0])

    def update(self, trained: dict) -> None:
        """Sum the gradients of the contexts; change the weights by them if the store does that."""
        for i, (name, (weights, gradients)) in enumerate(trained.items()):
            out = {"out": weights} if self.updates else {}
            self.store.pushpull(name, gradients, priority=-i, **out)


def keys_of_weights(names: list[str], count: int, by_name: bool) -> dict[str, list]:
    """How the optimizer knows a parameter on each context, as in MXNet.

    By its name, where one update is for all contexts, else by a number for each of them.
    """
    return {n: [n] if by_name else [i * count + k for k in range(count)]
            for i, n in enumerate(names)}  # fmt: skip


def keys_from_file(keys: dict[str, list]) -> dict:
    """From the keys that a file saved with another number of contexts has, to the keys here."""
    names = {name: own[0] for name, own in keys.items()}
    numbers = {i: own[0] for i, own in enumerate(keys.values())}
    return names | (numbers if all(own == [name] for name, own in keys.items()) else {})
