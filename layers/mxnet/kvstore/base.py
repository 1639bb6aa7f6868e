"""What a store of gradients has to do for a Trainer, and the stores that programs add."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any

from ..base import ArgumentError, UnsupportedError
from ..ndarray import NDArray

__all__ = ["KVStoreBase", "TestStore"]


class KVStoreBase:
    """The interface of stores: a subclass sums gradients over contexts or machines in its own way.

    A subclass defines `broadcast` and `pushpull`, and, where it runs an optimizer itself, the
    methods for that. ``@KVStoreBase.register`` makes it known to `create` and to `Trainer` by the
    name of the class in lower case.
    """

    OPTIMIZER = "optimizer"
    kv_registry: dict[str, type[KVStoreBase]] = {}

    def broadcast(self, key, value, out, priority: int = 0) -> None:
        """Give the value of the first process to all of `out`.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("broadcast")

    def pushpull(self, key, value, out=None, priority: int = 0) -> None:
        """Sum values over contexts and processes, into `out` or back into the values.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("pushpull")

    def set_optimizer(self, optimizer) -> None:
        """From now on, update by this optimizer what is pushed.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("set_optimizer")

    def is_capable(self, capability: str) -> bool:
        """Whether it can do something: ``'optimizer'`` asks whether it can run an optimizer.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("is_capable")

    def save_optimizer_states(self, fname: str | PathLike, dump_optimizer: bool = False) -> None:
        """Save the states of its optimizer.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("save_optimizer_states")

    def load_optimizer_states(self, fname: str | PathLike) -> None:
        """Load the states of its optimizer.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("load_optimizer_states")

    @property
    def type(self) -> str:
        """The name that it is created by.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("type")

    @property
    def rank(self) -> int:
        """The number of this process.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("rank")

    @property
    def num_workers(self) -> int:
        """How many processes there are.

        Raises
        ------
        UnsupportedError
            The class of the store does not define it.
        """
        raise self._undefined("num_workers")

    @staticmethod
    def register(klass: type[KVStoreBase]) -> type[KVStoreBase]:
        """Make a class known by its name in lower case; a decorator.

        Raises
        ------
        ArgumentError
            It is no class.
        """
        if not isinstance(klass, type):
            raise ArgumentError(f"KVStoreBase.register: {klass!r}\n  expected a class")
        name = klass.__name__.lower()
        if name in KVStoreBase.kv_registry:
            there = KVStoreBase.kv_registry[name]
            warnings.warn(
                f"the kvstore {klass.__module__}.{klass.__name__} takes the place of "
                f"{there.__module__}.{there.__name__}",
                stacklevel=2,
            )
        KVStoreBase.kv_registry[name] = klass
        return klass

    def _undefined(self, name: str) -> UnsupportedError:
        return UnsupportedError(f"{type(self).__name__}: {name} is not defined for this kvstore")


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store that sums and copies, and runs no optimizer: the least that a Trainer needs."""

    __test__ = False  # for pytest

    def broadcast(self, key, value, out, priority: int = 0) -> None:
        """Copy the value into all of `out`."""
        for array in _listed(out):
            array[:] = value

    def pushpull(self, key, value, out=None, priority: int = 0) -> None:
        """Sum the values on the context of the first, into `out` or back into them."""
        values = _listed(value)
        context = values[0].context
        summed = sum((v.as_in_context(context) for v in values[1:]), values[0])
        for array in values if out is None else _listed(out):
            array[:] = summed

    @staticmethod
    def is_capable(capability: str) -> bool:
        """Whether it can run an optimizer: it cannot.

        Raises
        ------
        ArgumentError
            It is asked for something else.
        """
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return False
        raise unknown_capability(capability)

    @property
    def type(self) -> str:
        """`teststore`."""
        return "teststore"

    @property
    def rank(self) -> int:
        """0: there is one process."""
        return 0

    @property
    def num_workers(self) -> int:
        """1: there is one process."""
        return 1


def unknown_capability(capability: str) -> ArgumentError:
    return ArgumentError(f"kvstore: capability {capability!r}\n  expected 'optimizer'")


def _listed(value) -> list[NDArray] | Any:
    return list(value) if isinstance(value, (list, tuple)) else [value]
