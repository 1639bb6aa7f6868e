"""DataLoader: batches of a data set, made here, by threads or by processes."""

from __future__ import annotations

import io
import pickle
import time
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing import TimeoutError as WorkerTimeout
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader as TorchDataLoader

from ... import _dtype, autograd, ndarray
from ..._threads import use_one_thread
from ...base import ArgumentError, DTypeError, MXNetError, ShapeError, quoted
from ...context import Context, cpu_pinned, current_context
from ...ndarray import NDArray
from ...numpy._array import in_kind
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "DataLoaderV1", "default_batchify_fn", "default_mp_batchify_fn"]

# Bytes of an array from which it comes out of a process in shared memory. A smaller one is copied
# through the pipe: that is faster, and takes no file descriptor for as long as the array lives.
LARGE = 1 << 18
LOOK = 5  # seconds after which PyTorch looks whether the workers are alive, while it waits for them


def default_batchify_fn(data: Sequence) -> NDArray | list:
    """A batch of samples: arrays are stacked, of tuples each element by itself.

    Parameters
    ----------
    data : list of samples
        Arrays of one shape, numbers, or tuples of such.

    Returns
    -------
    NDArray or list
        (n, ...) in the dtype of the samples; of tuples a list of as many as they have elements.

    Raises
    ------
    ShapeError
        The samples have different shapes.
    DTypeError
        They are no numbers, or of different dtypes.
    """
    if isinstance(data[0], tuple):
        return [default_batchify_fn(part) for part in zip(*data)]
    if isinstance(data[0], NDArray):
        return ndarray.op.stack(*data)
    context = current_context()
    return in_kind(NDArray(_numbers(data).to(context.device), context))


def default_mp_batchify_fn(data: Sequence) -> NDArray | list:
    """What `default_batchify_fn` gives, on ``cpu_shared(0)``: the batches that workers make.

    Raises
    ------
    ShapeError
        The samples have different shapes.
    DTypeError
        A sample is neither an array nor a number, nor a tuple of them.
    """
    if isinstance(data[0], tuple):
        return [default_mp_batchify_fn(part) for part in zip(*data)]
    is_array = isinstance(data[0], NDArray)
    tensor = ndarray.op.stack(*data)._tensor.cpu() if is_array else _numbers(data)
    return in_kind(NDArray(tensor, Context("cpu_shared", 0)))


def _numbers(data: Sequence) -> torch.Tensor:
    try:
        values = np.array(data)
    except ValueError:  # of different shapes
        values = np.array(None)
    if values.dtype in _dtype.NATIVE:
        return torch.from_numpy(values)
    shapes = {np.shape(sample) for sample in data if isinstance(sample, np.ndarray)}
    if len(shapes) > 1:
        raise ShapeError(
            f"default_batchify_fn: the samples are {quoted(sorted(shapes))}\n"
            "  expected one shape, or a batchify_fn that pads them"
        )
    raise DTypeError(
        f"default_batchify_fn: a sample is {quoted(data[0])} ({type(data[0]).__name__})\n"
        "  expected arrays of one shape, numbers, or tuples of them; or another batchify_fn"
    )


class DataLoader:
    """Batches of a data set, made by this process or, ahead of their use, by workers.

    The processes run as long as the loader is there, from its first epoch on; an epoch that is
    broken off ends them, and so does an error. Each is seeded differently, by PyTorch's generator
    and so by `mx.random.seed`. A sample or a batch that cannot be made raises the very exception,
    whose cause shows where in the worker it was.

    Parameters
    ----------
    dataset : Dataset, sequence or array
    batch_size : int
    shuffle : bool
        Read the samples in another random order for each epoch.
    sampler : Sampler, optional
        The order of the samples, in place of `shuffle`.
    last_batch : {'keep', 'discard', 'rollover'}
        What becomes of samples that do not fill a batch, as for `BatchSampler`.
    batch_sampler : Sampler, optional
        It gives the indices of each batch, in place of the four before.
    batchify_fn : callable, optional
        batchify_fn(list of samples) -> batch; `default_batchify_fn` or, in workers,
        `default_mp_batchify_fn`.
    num_workers : int
        How many processes make the batches; 0 or less: none. A process is started as
        `multiprocessing` does it: forked or spawned.
    pin_memory : bool
        Copy the arrays of a batch into pinned memory, out of which a GPU copies faster. Their
        context is then ``cpu_pinned(pin_device_id)``.
    pin_device_id : int
    prefetch : int, optional
        How many batches are made ahead, by default 2 * num_workers. Each process makes one ahead
        or more.
    thread_pool : bool
        Let threads of this process make the batches: Python runs in one of them at a time.
    timeout : float
        Seconds that a batch may take.
    auto_reload : bool
        Begin the first epoch now, and each next one at the end of the one before.

    Raises
    ------
    ArgumentError
        The arguments do not go together, or `timeout` is not above 0.
    """

    def __init__(
        self,
        dataset: Sequence,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Iterable | None = None,
        batchify_fn: Callable | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
    ):
        if not timeout > 0:
            raise ArgumentError(f"DataLoader: timeout is {timeout}\n  expected more than 0 seconds")
        if batch_sampler is None:
            batch_sampler = _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch)
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ArgumentError(
                f"DataLoader: batch_sampler is given, and batch_size={batch_size}, "
                f"shuffle={shuffle}, sampler={sampler}, last_batch={last_batch}\n"
                "  expected batch_sampler, or the others"
            )
        self._dataset = dataset
        self._batch_sampler = batch_sampler
        self._num_workers = max(0, num_workers)
        self._batchify_fn = batchify_fn or (
            default_mp_batchify_fn if self._num_workers else default_batchify_fn
        )
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._prefetch = 2 * self._num_workers if prefetch is None else max(0, int(prefetch))
        self._thread_pool, self._timeout = thread_pool, timeout
        self._worker_pool = None  # of threads
        self._idle_workers: list[_Workers] = []
        self.auto_reload = auto_reload
        self._iter: Iterator | None = None
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator:
        begun, self._iter = self._iter, None
        yield from self._begin() if begun is None else begun
        if self.auto_reload and self._iter is None:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Begin the next epoch now: its first batches are made ahead."""
        self._iter = self._begin()

    def clean(self) -> None:
        """Forget an epoch that `refresh` began."""
        self._iter = None

    def _begin(self) -> Iterator:
        """An epoch. Workers begin with it before its first batch is asked for."""
        if not self._num_workers:
            return self._in_this_process()
        if self._thread_pool:
            return self._in_threads()
        return self._in_processes()

    def _in_this_process(self) -> Iterator:
        for indices in self._batch_sampler:
            yield self._pinned(_make_batch(indices, self._batchify_fn, self._dataset))

    def _in_threads(self) -> Iterator:
        from multiprocessing.pool import ThreadPool

        if self._worker_pool is None:
            self._worker_pool = ThreadPool(self._num_workers, use_one_thread)
            weakref.finalize(self, self._worker_pool.terminate)
        return _MultiWorkerIter(
            self._worker_pool,
            self._batchify_fn,
            self._batch_sampler,
            self._pin_memory,
            self._pin_device_id,
            _make_batch,
            self._prefetch,
            self._dataset,
            timeout=self._timeout,
        )

    def _in_processes(self) -> Iterator:
        workers = self._idle_workers.pop() if self._idle_workers else self._workers()
        try:
            batches = iter(workers)
        except RuntimeError:  # one of them was killed while it had nothing to do
            workers = self._workers()
            batches = iter(workers)
        # No method: it must not keep the loader, which may have it as its next epoch.
        pin = (self._pin_memory, self._pin_device_id)
        return _receive(workers, batches, self._idle_workers, self._timeout, *pin)

    def _workers(self) -> _Workers:
        return _Workers(
            _Task(self._dataset, self._batchify_fn),
            batch_size=None,  # the indices of a batch are one index for PyTorch
            sampler=self._batch_sampler,
            collate_fn=_as_it_is,
            num_workers=self._num_workers,
            prefetch_factor=max(1, -(-self._prefetch // self._num_workers)),
            timeout=min(self._timeout, LOOK),
            worker_init_fn=_enter_worker,
            persistent_workers=True,
        )

    def _pinned(self, batch: Any) -> Any:
        return _pin(batch, self._pin_device_id) if self._pin_memory else batch


class DataLoaderV1(DataLoader):
    """The DataLoader, with the arguments that it had before MXNet 1.5."""

    def __init__(
        self,
        dataset: Sequence,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Iterable | None = None,
        batchify_fn: Callable | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
    ):
        given = dataset, batch_size, shuffle, sampler, last_batch, batch_sampler
        super().__init__(*given, batchify_fn, num_workers, pin_memory, pin_device_id)


def _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch) -> BatchSampler:
    if batch_size is None:
        raise ArgumentError("DataLoader: batch_size is None\n  expected a number, or batch_sampler")
    if sampler is None:
        sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
    elif shuffle:
        raise ArgumentError(
            f"DataLoader: shuffle is {shuffle}, and sampler is {sampler}\n  expected one of them"
        )
    return BatchSampler(sampler, batch_size, last_batch or "keep")


def _as_in_context(data: Any, ctx: Context) -> Any:
    """A batch with its arrays, also those in lists and tuples, on a context."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    if isinstance(data, (list, tuple)):
        return [_as_in_context(part, ctx) for part in data]
    return data


def _make_batch(indices: Iterable, batchify_fn: Callable, dataset: Sequence) -> Any:
    return batchify_fn([dataset[i] for i in indices])


def _pin(batch: Any, device_id: int) -> Any:
    """A batch with its arrays, also those in lists and tuples, in pinned memory."""
    if isinstance(batch, (list, tuple)):
        return [_pin(part, device_id) for part in batch]
    if not isinstance(batch, NDArray):
        return batch
    context = cpu_pinned(device_id)
    if not torch.cuda.is_available() or batch.context == context:
        return batch.as_in_context(context)
    with torch.cuda.device(device_id):
        return batch._array_class(batch._tensor.detach().cpu().pin_memory(), context)


class _MultiWorkerIter:
    """The batches of an epoch that a pool makes, threads or processes, in the sampler's order.

    Programs that bring their own pool and `worker_fn` derive from it, as GluonCV does. Where
    `dataset` is None the worker's result is the bytes of a pickled batch.
    """

    def __init__(
        self,
        worker_pool,
        batchify_fn,
        batch_sampler,
        pin_memory=False,
        pin_device_id=0,
        worker_fn=_make_batch,
        prefetch=0,
        dataset=None,
        data_loader=None,
        timeout=120,
    ):
        self._worker_pool, self._worker_fn = worker_pool, worker_fn
        self._batchify_fn, self._batch_sampler = batchify_fn, batch_sampler
        self._dataset, self._data_loader = dataset, data_loader
        self._pin_memory, self._pin_device_id = pin_memory, pin_device_id
        self._timeout = timeout
        self._iter = iter(batch_sampler)
        self._data_buffer: dict[int, Any] = {}  # results to come, by the numbers of the batches
        self._sent_idx = self._rcvd_idx = 0
        for _ in range(prefetch):
            self._push_next()

    def _push_next(self) -> None:
        indices = next(self._iter, None)
        if indices is not None:
            task = (indices, self._batchify_fn, self._dataset)
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, task)
            self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        result = self._data_buffer.pop(self._rcvd_idx)
        self._rcvd_idx += 1
        try:
            batch = result.get(self._timeout)
        except StopIteration as error:  # which would end the epoch
            raise RuntimeError("DataLoader: a sample raised StopIteration") from error
        except WorkerTimeout:
            raise _timed_out(self._timeout) from None
        if self._dataset is None:
            batch = pickle.loads(batch)  # by a process of the program's own pool
        return _pin(batch, self._pin_device_id) if self._pin_memory else batch

    next = __next__

    def __iter__(self) -> Iterator:
        return self

    def __len__(self) -> int:
        return len(self._batch_sampler)


class _TimedOut(MXNetError, WorkerTimeout):
    """A batch was not made in time."""


def _timed_out(seconds: float) -> _TimedOut:
    return _TimedOut(
        f"DataLoader: a batch was not made within {seconds} seconds\n"
        "  expected faster transforms, more workers, or a longer timeout"
    )


# Processes. PyTorch starts, seeds, feeds and ends them. What one of them makes, an exception too,
# is pickled there by us: PyTorch would print what cannot be pickled, and never send anything, and
# would make another exception of one that needs more than a message.


class _Workers(TorchDataLoader):
    """PyTorch's processes."""

    def check_worker_number_rationality(self) -> None:
        """Say nothing of how many workers there are: that is the user's choice."""


class _Task:
    """The data set that PyTorch sees: at the indices of a batch it has that batch, pickled."""

    def __init__(self, dataset: Sequence, batchify_fn: Callable):
        self._dataset, self._batchify_fn = dataset, batchify_fn

    def __getitem__(self, indices: Iterable) -> bytes:
        try:
            return _pickled(_make_batch(indices, self._batchify_fn, self._dataset))
        except Exception as error:
            return _Failed.pickled(error)


def _as_it_is(made: bytes) -> bytes:
    return made


def _enter_worker(worker_id: int) -> None:
    """Begin as a process that has recorded nothing, whatever its parent was doing."""
    autograd.set_recording(False)
    autograd.set_training(False)


class _BatchPickler(ForkingPickler):
    """Pickles large arrays as the names of shared memory."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, NDArray):
            tensor = value._tensor.detach()
            if tensor.is_cpu and tensor.nbytes >= LARGE:
                return _with_tensor, (type(value), _in_shared_memory(tensor), value.context)
        return NotImplemented


def _with_tensor(array_class: type, tensor: torch.Tensor, context: Context) -> NDArray:
    return array_class(tensor, context)


def _in_shared_memory(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in shared memory: the worker may keep the tensor, and must not see others write it."""
    storage = torch.UntypedStorage._new_shared(tensor.nbytes)
    return torch.empty(0, dtype=tensor.dtype).set_(storage, 0, tensor.shape).copy_(tensor)


def _pickled(value: Any) -> bytes:
    buffer = io.BytesIO()
    _BatchPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return buffer.getvalue()


class _Failed:
    """An exception that a worker raised while it made a batch, and its traceback."""

    def __init__(self, error: Exception, where: str):
        self.error, self.where = error, where

    @classmethod
    def pickled(cls, error: Exception) -> bytes:
        where = "".join(traceback.format_exception(error))
        try:
            found = _pickled(cls(error, where))
            pickle.loads(found)  # not every exception can be made again from its arguments
            return found
        except Exception:
            told = f"{type(error).__name__}: {error}\n  expected an exception that can be pickled"
            return _pickled(cls(MXNetError(f"DataLoader: in a worker: {told}"), where))


class _InWorker(Exception):
    """The traceback of an exception in a worker."""

    def __str__(self) -> str:
        return f"in a worker of a DataLoader\n{self.args[0]}"


def _receive(workers, batches, idle_workers, timeout, pin_memory, pin_device_id) -> Iterator:
    """Yield the batches of an epoch. The workers are idle after it, and end if it is broken off."""
    wrong: Exception | None = None
    complete = False
    try:
        asked = time.monotonic()
        while wrong is None:
            try:
                made = next(batches)
            except StopIteration:
                complete = True
                break
            except RuntimeError as error:
                if not str(error).startswith("DataLoader "):  # the sampler's
                    raise
                wrong = _explained(error, timeout, time.monotonic() - asked)
                continue
            batch = pickle.loads(made)  # by a worker that this process has started
            if isinstance(batch, _Failed):
                wrong = batch.error
                wrong.__cause__ = _InWorker(batch.where)
            else:
                yield _pin(batch, pin_device_id) if pin_memory else batch
            del made, batch
            asked = time.monotonic()
    finally:
        if complete:
            idle_workers.append(workers)
        else:
            _end(batches)
        del workers, batches
    if wrong is not None:
        raise wrong


def _explained(error: RuntimeError, timeout: float, waited: float) -> MXNetError | None:
    """The error for PyTorch's, of a worker killed or too slow; None while it may take longer."""
    if "timed out" in str(error):
        return _timed_out(timeout) if waited >= timeout else None
    return MXNetError(
        f"DataLoader: a worker ended before its work ({error})\n"
        "  expected that it runs on: it may have had too little memory, or crashed in C; with "
        "num_workers=0 the same runs in this process"
    )


def _end(batches: Iterator) -> None:
    """End the workers of an epoch at once; PyTorch by itself waits for what they are doing."""
    if getattr(batches, "_worker_pids_set", False):
        # That they end is no failure, which PyTorch would raise wherever this process is then.
        torch.utils.data._utils.signal_handling._remove_worker_pids(id(batches))
        batches._worker_pids_set = False
    for process in getattr(batches, "_workers", ()):
        process.terminate()
