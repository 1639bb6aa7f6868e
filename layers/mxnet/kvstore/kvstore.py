"""Stores by name, and that of one process: what its contexts push is summed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from os import PathLike

import torch

from .._files import optimizer_states
from .._sparse.rows import is_sparse
from .._sparse.stored import sum_rows
from ..base import ArgumentError, MXNetError, ShapeError, UnsupportedError
from ..ndarray import NDArray
from ..ndarray.sparse import RowSparseNDArray
from ..optimizer import Optimizer, Updater, get_updater
from ._compression import TwoBit
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


LARGEST_ON_LOCAL = 1 << 24
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
    """What makes a store of this name: see `create`.

    Raises
    ------
    UnsupportedError
        There is no such type.
    ArgumentError
        The type is not text, or the registered class lacks methods that a Trainer calls.
    """
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


def updates_by_default(kind: str = "", sizes: Iterable[int] = ()) -> bool:
    """Whether a store that can run an optimizer does so where the program does not say.

    One of the type 'local' does not if a parameter has more than `LARGEST_ON_LOCAL` elements.
    """
    if os.environ.get("MXNET_UPDATE_ON_KVSTORE", "1") == "0":
        return False
    return kind != "local" or max(sizes, default=0) <= LARGEST_ON_LOCAL


def total(columns: list[list[NDArray]]) -> list[NDArray]:
    """Sums over contexts, given the arrays of each: new ones, on the first context."""
    first, *others = columns
    if any(is_sparse(*arrays) for arrays in columns):
        return [_total_of(row) for row in zip(*columns)]
    device = first[0]._tensor.device
    sums = [a._tensor.detach() for a in first]
    for arrays in others:
        sums = torch._foreach_add(sums, [a._tensor.detach().to(device) for a in arrays])
    if not others:
        sums = [t.clone() for t in sums]
    return [NDArray(t, a._context) for t, a in zip(sums, first)]


def _total_of(arrays: tuple[NDArray, ...]) -> NDArray:
    """The sum of some arrays: row_sparse if all are."""
    context = arrays[0]._context
    if not all(isinstance(a, RowSparseNDArray) for a in arrays):
        return total([[a._as_dense()] for a in arrays])[0]
    device = context.device
    rows = torch.cat([a._stored.rows.to(device) for a in arrays])
    values = torch.cat([a._stored.values.to(device) for a in arrays])
    return RowSparseNDArray(sum_rows(arrays[0].shape, rows, values), context)


def spread(values: list[NDArray], columns: list[list[NDArray]]) -> None:
    """Copy values into the arrays of each context."""
    for arrays in columns:
        sparse = [(a, v) for a, v in zip(arrays, values) if is_sparse(a, v)]
        dense = [(a, v) for a, v in zip(arrays, values) if not is_sparse(a, v)]
        for array, value in sparse:
            array[:] = value
        if dense:
            found = [v._tensor.detach() for _, v in dense]
            torch._foreach_copy_([a._writable() for a, _ in dense], found)


class KVStore(KVStoreBase):
    """Arrays by key. Made by `create`.

    Keys are ints or strings, not both in one store; a list of keys goes with a list of values, and
    each value may be a list too: one array for each context.
    """

    def __init__(self, type: str = "local"):
        self._type = type
        self._arrays: dict = {}
        self._updater = None
        self._compression: TwoBit | None = None

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
        ArgumentError
            There are not as many values as keys, or keys are neither all ints nor all strings.
        MXNetError
            A key is there already, or keys of the other type are.
        """
        for k, arrays in self._checked_pairs(key, value):
            if k in self._arrays:
                raise MXNetError(f"kvstore: key {k!r} is there already\n  expected a new one")
            self._arrays[k] = arrays[0].copy()

    def lend(self, updater: Updater, arrays: dict[str, NDArray]) -> None:
        """Keep the arrays of a Module under their names: `pull` gives what it trains.

        `push` changes them as the updater of the Module does.

        Raises
        ------
        MXNetError
            A name is there already, or keys of the other type are.
        """
        self.init([*arrays], [*arrays.values()])
        self._arrays |= arrays
        self._updater = updater

    def summed(self, columns: list[list[NDArray]], keys: list) -> list[NDArray]:
        """Sums of the arrays of each context: new ones, on the first context."""
        if self._compression is None:
            return total(columns)
        return total([self._sent(column, keys, k) for k, column in enumerate(columns)])

    def _sent(self, arrays: list[NDArray], keys: list, context: int) -> list[NDArray]:
        """What a context sends of its gradients."""
        for array in arrays:
            self._expect_dense_to_compress(array)
        quantized = self._compression.quantized
        return [
            NDArray(quantized((key, context), array._tensor.detach()), array._context)
            for key, array in zip(keys, arrays)
        ]

    def _expect_dense_to_compress(self, array: NDArray) -> None:
        if is_sparse(array):
            raise UnsupportedError(
                f"kvstore {self.type!r}: gradient compression of a {array.stype} array "
                f"{array.shape}\n  expected dense arrays, or no compression"
            )

    @property
    def changes_what_it_sums(self) -> bool:
        """Whether the sum of one array is another than the array: it is compressed."""
        return self._compression is not None

    def _checked_pairs(self, key, value) -> list[tuple]:
        """Each key with its arrays; refuses keys of another type than those in the store."""
        pairs = _pairs(key, value)
        if pairs and self._arrays:
            new, known = pairs[0][0], next(iter(self._arrays))
            if isinstance(new, str) != isinstance(known, str):
                raise MXNetError(
                    f"kvstore: key {new!r} is {_kind(new)}, and there is the key {known!r} already"
                    f"\n  expected {_kind(known)}: all keys of a store have one type"
                )
        return pairs

    def _at(self, key) -> NDArray:
        try:
            return self._arrays[key]
        except KeyError:
            raise MXNetError(
                f"kvstore: there is no key {key!r}\n  expected init({key!r}, value) before"
            ) from None

    def push(self, key, value, priority: int = 0) -> None:
        """Sum values over contexts; keep the sum, or update what is kept by it.

        Values of the same key are summed too.

        Raises
        ------
        ArgumentError
            There are not as many values as keys, or keys are neither all ints nor all strings; or
            gradients that are compressed are integers.
        UnsupportedError
            Gradients that are compressed are sparse.
        MXNetError
            A key has no value yet: see `init`; or those that have are of the other type.
        """
        for k, arrays in _grouped(self._checked_pairs(key, value)):
            stored = self._at(k)
            [summed] = self.summed([[a] for a in arrays], [k])
            summed = summed.as_in_context(stored.context)
            if self._updater is None:
                self._arrays[k] = summed
            elif isinstance(k, str) and not isinstance(self._updater, Updater):
                self._updater(k.encode(), summed, stored)  # bytes, as in MXNet
            else:
                self._updater(k, summed, stored)

    def pull(self, key, out=None, priority: int = 0, ignore_sparse: bool = True) -> None:
        """Copy what is kept into `out`, with `ignore_sparse` into its dense arrays alone.

        Raises
        ------
        ArgumentError
            There are not as many values as keys, or keys are neither all ints nor all strings.
        ShapeError
            An array in `out` has another shape than what is kept.
        MXNetError
            A key has no value yet: see `init`; or those that have are of the other type.
        """
        for k, arrays in self._checked_pairs(key, out):
            kept = self._at(k)
            for array in arrays:
                sparse = is_sparse(array)
                if sparse and ignore_sparse:
                    continue
                if array.shape != kept.shape:
                    raise ShapeError(
                        f"pull: key {k!r}: out is {array.shape}\n  expected {kept.shape}"
                    )
                if sparse:
                    array[:] = kept
                else:
                    kept._as_dense().copyto(array)

    def row_sparse_pull(self, key, out=None, priority: int = 0, row_ids=None) -> None:
        """Copy some rows of what is kept into row_sparse arrays, which have no others afterwards.

        Parameters
        ----------
        key : int, str or list of them
        out : NDArray or list of NDArray
            One for each context; for a list of keys a list of these.
        priority : int
            Without effect.
        row_ids : NDArray or list of NDArray
            The numbers of rows, in any order and shape, and any number of times: of each array in
            `out`, or one for all.

        Raises
        ------
        ArgumentError
            `out` or `row_ids` is missing or no NDArray, there are not as many of each, keys are
            neither all ints nor all strings, or a row is not in the array.
        ShapeError
            An array in `out` has another shape than what is kept.
        MXNetError
            A key has no value yet, or one that is dense, or those that have one are of the other
            type; or an array in `out` is dense.
        """
        if out is None or row_ids is None:
            raise ArgumentError("row_sparse_pull: out or row_ids is None\n  expected NDArrays")
        pairs = self._checked_pairs(key, out)
        if isinstance(row_ids, NDArray):
            ids = [[row_ids] * len(arrays) for _, arrays in pairs]
        else:
            ids = [given for _, given in _pairs(key, row_ids)]
        for (k, arrays), given in zip(pairs, ids):
            kept = self._at(k)
            if len(given) == 1:
                given = list(given) * len(arrays)
            _expect_to_pull_rows(k, kept, arrays, given)
            for array, numbers in zip(arrays, given):
                rows = numbers._tensor.reshape(-1).to(kept.context.device, torch.int64).unique()
                expect_rows(f"row_sparse_pull: key {k!r}", rows, kept.shape[0])
                array[:] = kept.retain(NDArray(rows, kept.context))

    def pushpull(self, key, value, out=None, priority: int = 0) -> None:
        """`push`, then `pull` into `out`, or back into the values; see there what they raise."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key, value, out, priority: int = 0) -> None:
        """`init`, then `pull`; see there what they raise."""
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
        """Send two bits of each element of a gradient, and the rest with later ones.

        Within a process each context does so, over processes each process.

        Parameters
        ----------
        compression_params : dict
            ``{"type": "2bit", "threshold": 0.5}``: plus or minus the threshold, or 0, is sent.

        Raises
        ------
        ArgumentError
            `compression_params` is no dict.
        MXNetError
            There is no such type, or the threshold is not above 0; or this type of store does not
            compress: 'device' and those over processes do.
        """
        if "device" not in self.type and "dist" not in self.type:
            raise MXNetError(
                f"kvstore: gradients are not compressed by the type {self.type!r}\n"
                "  expected 'device' or 'dist_sync'"
            )
        self._compression = TwoBit(compression_params)

    def save_optimizer_states(self, fname: str | PathLike, dump_optimizer: bool = False) -> None:
        """Save the optimizer's states; the file appears whole or not at all.

        Raises
        ------
        MXNetError
            There is no optimizer: see `set_optimizer`.
        """
        optimizer_states.save(fname, self._optimizer_updater(), dump_optimizer)

    def load_optimizer_states(self, fname: str | PathLike) -> None:
        """Load what `save_optimizer_states` saved.

        Raises
        ------
        MXNetError
            There is no optimizer: see `set_optimizer`.
        ParamsFileError
            The file is none of `save_optimizer_states`, or of another optimizer.
        """
        optimizer_states.load(fname, [self._optimizer_updater()], self._arrays)

    def _optimizer_updater(self) -> Updater:
        if not isinstance(self._updater, Updater):
            raise MXNetError("kvstore: there is no optimizer\n  expected set_optimizer() before")
        return self._updater


TYPES |= dict.fromkeys(LOCAL, KVStore)


def _expect_to_pull_rows(key, kept: NDArray, arrays: Sequence, row_ids: Sequence) -> None:
    """Refuse arrays that rows of a key cannot be copied into, and a wrong number of `row_ids`."""
    name = f"row_sparse_pull: key {key!r}"
    if not isinstance(kept, RowSparseNDArray):
        raise MXNetError(
            f"{name} is of storage type {kept.stype!r}\n"
            "  expected 'row_sparse'; pull copies arrays of any storage type"
        )
    for what, listed in ("out", arrays), ("row_ids", row_ids):
        for array in listed:
            if not isinstance(array, NDArray):
                raise ArgumentError(
                    f"{name}: {what} has {array!r} ({type(array).__name__})\n"
                    "  expected NDArrays; nd.array(...) makes one"
                )
    for array in arrays:
        if not isinstance(array, RowSparseNDArray):
            raise MXNetError(
                f"{name}: out is of storage type {array.stype!r}\n  expected 'row_sparse'"
            )
        if array.shape != kept.shape:
            raise ShapeError(f"{name}: out is {array.shape}\n  expected {kept.shape}")
    if len(row_ids) != len(arrays):
        raise ArgumentError(
            f"{name}: {len(row_ids)} row_ids for {len(arrays)} arrays in out\n"
            "  expected one for each, or one for all"
        )


def expect_rows(name: str, rows: torch.Tensor, n: int) -> None:
    """Raise ArgumentError where row numbers, in rising order, go beyond an array of `n` rows."""
    if len(rows) and not (rows[0] >= 0 and rows[-1] < n):
        raise ArgumentError(
            f"{name}: row_ids go from {int(rows[0])} to {int(rows[-1])}\n  expected 0 to {n - 1}"
        )


def _grouped(pairs: list[tuple]) -> list[tuple]:
    """Each key with all its arrays, of pairs that may have a key more than once."""
    groups: dict = {}
    for k, arrays in pairs:
        groups.setdefault(k, []).extend(arrays)
    return list(groups.items())


def _pairs(key, value) -> list[tuple]:
    """Each key with its arrays, one for each context."""
    keys, values = (key, value) if isinstance(key, (list, tuple)) else ([key], [value])
    if len(keys) != len(values):
        raise ArgumentError(
            f"kvstore: {len(keys)} keys, {len(values)} values\n  expected as many of each"
        )
    for k in keys:
        if not isinstance(k, (int, str)):
            raise ArgumentError(f"kvstore: a key is {k!r}\n  expected an int or a string")
        if isinstance(k, str) != isinstance(keys[0], str):
            raise ArgumentError(
                f"kvstore: keys are {keys[0]!r} and {k!r}\n  expected all ints, or all strings"
            )
    return [(k, v if isinstance(v, (list, tuple)) else [v]) for k, v in zip(keys, values)]


def _kind(key: int | str) -> str:
    return "a string" if isinstance(key, str) else "an int"
