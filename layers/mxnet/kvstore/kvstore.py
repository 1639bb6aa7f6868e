"""Stores by name, and that of one process: what its contexts push is summed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from os import PathLike

import torch

from .._files import params
from .._files.optimizer_states import pack, unpack
from ..base import ArgumentError, MXNetError, UnsupportedError
from ..ndarray import NDArray
from ..optimizer import Optimizer, Updater, get_updater
from .base import KVStoreBase, unknown_capability

__all__ = ["KVStore", "create"]

LOCAL = (
    "local",
    "device",
    "nccl",
    "local_update_cpu",
    "local_allreduce_cpu",
    "local_allreduce_device",
)


DISTRIBUTED = ("dist", "dist_sync", "dist_device_sync", "dist_sync_device")
TYPES: dict[str, type[KVStore]] = {}  # each module adds its own


def create(name: str = "local") -> KVStoreBase:
    """A store.

    All local types are one here: ``'local'``, ``'device'``, ... sum what the contexts of this
    process push. ``'dist_sync'``, ``'dist_device_sync'`` and ``'dist_sync_device'``, which are one
    too, sum over all processes of a program that torchrun has started. The name may also be that
    of a class which `KVStoreBase.register` has made known.

    Raises
    ------
    UnsupportedError
        There is no such type, or it is one of MXNet's that work asynchronously.
    ArgumentError
        The type is not text, or the registered class lacks methods that a Trainer calls.
    MXNetError
        The type spans processes, and torchrun has not started this one; or others did not come.
    """
    return maker(name)()


def maker(name: str) -> Callable[[], KVStoreBase]:
    """What makes a store of this name: see `create`."""
    if not isinstance(name, str):
        raise ArgumentError(f"kvstore: the type is {name!r}\n  expected a name, such as 'device'")
    name = name.lower()
    if name in KVStoreBase.kv_registry:
        return _checked(KVStoreBase.kv_registry[name])
    if name not in TYPES:
        raise _unknown(name)
    return partial(TYPES[name], name)


def _unknown(name: str) -> UnsupportedError:
    if "dist" in name and "async" in name:
        return UnsupportedError(
            f"kvstore: no type {name!r}: each process has the parameters itself, and there is no "
            "server that one of them could update alone\n  expected 'dist_sync'"
        )
    return UnsupportedError(
        f"kvstore: no type {name!r}\n  expected one within a process: {', '.join(LOCAL)}; one over "
        f"processes: {', '.join(DISTRIBUTED)}; or a registered one: "
        f"{', '.join(KVStoreBase.kv_registry)}"
    )


def _checked(registered: type) -> type[KVStoreBase]:
    """A registered class; as in MXNet it need not be a subclass of `KVStoreBase`."""
    missing = [n for n in ("broadcast", "is_capable", "pushpull") if not hasattr(registered, n)]
    if missing:
        raise ArgumentError(
            f"kvstore: the registered class {registered.__name__} has no {', '.join(missing)}\n"
            "  expected a subclass of KVStoreBase, or a class with these methods"
        )
    return registered


def total(columns: list[list[NDArray]]) -> list[NDArray]:
    """Sums over contexts, given the arrays of each: new ones, on the first context."""
    first, *others = columns
    device = first[0]._tensor.device
    sums = [a._tensor.detach() for a in first]
    for arrays in others:
        sums = torch._foreach_add(sums, [a._tensor.detach().to(device) for a in arrays])
    if not others:
        sums = [t.clone() for t in sums]
    return [NDArray(t, a._context) for t, a in zip(sums, first)]


def spread(values: list[NDArray], columns: list[list[NDArray]]) -> None:
    """Copy values into the arrays of each context."""
    for arrays in columns:
        torch._foreach_copy_([a._writable() for a in arrays], [v._tensor.detach() for v in values])


class KVStore(KVStoreBase):
    """Arrays by key. Made by `create`.

    Keys are ints or strings; a list of keys goes with a list of values, and each value may be a
    list too: one array for each context.
    """

    def __init__(self, type: str = "local"):
        self._type = type
        self._arrays: dict = {}
        self._updater = None

    @property
    def type(self) -> str:
        """The name that it was created by."""
        return self._type

    @property
    def rank(self) -> int:
        """0: there is one process."""
        return 0

    @property
    def num_workers(self) -> int:
        """1: there is one process."""
        return 1

    def is_capable(self, capability: str) -> bool:
        """Whether it can run an optimizer: it can.

        Raises
        ------
        ArgumentError
            It is asked for something else.
        """
        if capability.lower() == KVStoreBase.OPTIMIZER:
            return True
        raise unknown_capability(capability)

    def init(self, key, value) -> None:
        """Set the first value of keys.

        Raises
        ------
        MXNetError
            A key is there already.
        """
        for k, arrays in _pairs(key, value):
            if k in self._arrays:
                raise MXNetError(f"kvstore: key {k!r} is there already\n  expected a new one")
            self._arrays[k] = arrays[0].copy()

    def summed(self, columns: list[list[NDArray]]) -> list[NDArray]:
        """Sums of the arrays of each context: new ones, on the first context."""
        return total(columns)

    def _at(self, key) -> NDArray:
        try:
            return self._arrays[key]
        except KeyError:
            raise MXNetError(
                f"kvstore: there is no key {key!r}\n  expected init({key!r}, value) before"
            ) from None

    def push(self, key, value, priority: int = 0) -> None:
        """Sum values over contexts; keep the sum, or update what is kept by it.

        Raises
        ------
        ArgumentError
            There are not as many values as keys.
        MXNetError
            A key has no value yet: see `init`.
        """
        for k, arrays in _pairs(key, value):
            stored = self._at(k)
            [summed] = self.summed([[a] for a in arrays])
            if self._updater is None:
                self._arrays[k] = summed.as_in_context(stored.context)
            else:
                self._updater(k, summed.as_in_context(stored.context), stored)

    def pull(self, key, out=None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy what is kept into `out`.

        Raises
        ------
        ArgumentError
            There are not as many values as keys.
        MXNetError
            A key has no value yet: see `init`.
        """
        for k, arrays in _pairs(key, out):
            for array in arrays:
                self._at(k).copyto(array)

    def pushpull(self, key, value, out=None, priority: int = 0) -> None:
        """`push`, then `pull` into `out`, or back into the values."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key, value, out, priority: int = 0) -> None:
        """`init`, then `pull`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def set_optimizer(self, optimizer: Optimizer) -> None:
        """From now on, `push` updates by this optimizer."""
        self._updater = get_updater(optimizer)

    def _set_updater(self, updater) -> None:
        self._updater = updater

    def barrier(self) -> None:
        """Wait until all processes call it."""

    def _barrier(self) -> None:  # MXNet's name
        self.barrier()

    def set_gradient_compression(self, compression_params: dict) -> None:
        """There is none: gradients stay in one process.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError("kvstore: gradients are not compressed\n  expected no such call")

    def save_optimizer_states(self, fname: str | PathLike, dump_optimizer: bool = False) -> None:
        """Save the optimizer's states; the file appears whole or not at all.

        Raises
        ------
        MXNetError
            There is no optimizer: see `set_optimizer`.
        """
        params.write(fname, *pack(self._optimizer_updater(), dump_optimizer))

    def load_optimizer_states(self, fname: str | PathLike) -> None:
        """Load what `save_optimizer_states` saved.

        Raises
        ------
        MXNetError
            There is no optimizer: see `set_optimizer`.
        ParamsFileError
            The file is none of `save_optimizer_states`, or of another optimizer.
        """
        unpack(self._optimizer_updater(), *params.read(fname), str(fname), self._arrays)

    def _optimizer_updater(self) -> Updater:
        if not isinstance(self._updater, Updater):
            raise MXNetError("kvstore: there is no optimizer\n  expected set_optimizer() before")
        return self._updater


TYPES |= dict.fromkeys(LOCAL, KVStore)


def _pairs(key, value) -> list[tuple]:
    """Each key with its arrays, one for each context."""
    keys, values = (key, value) if isinstance(key, (list, tuple)) else ([key], [value])
    if len(keys) != len(values):
        raise ArgumentError(
            f"kvstore: {len(keys)} keys, {len(values)} values\n  expected as many of each"
        )
    return [(k, v if isinstance(v, (list, tuple)) else [v]) for k, v in zip(keys, values)]
