"""The processes that train one net together, which torchrun has started."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

import numpy as np

from layers import engine
from layers.engine import mx, nd

from . import Lost, Refused
from .screen import one_line

__all__ = ["TOGETHER", "Workers", "lost", "refused", "refusing"]

TOGETHER = "dist_sync"  # the kvstore that spans processes


class Workers:
    """The processes of a training. Each learns from its part of every batch.

    Parameters
    ----------
    kvstore : str
        MXNet's name of what sums the gradients: ``"device"`` in one process, ``"dist_sync"`` in all
        that torchrun has started.

    Attributes
    ----------
    rank, count : int
        The number of this process, from 0, and how many there are. Process 0 shows and writes.

    Raises
    ------
    Refused
        There are no others, or the engine has no such kvstore.
    Lost
        They do not come in time.
    """

    def __init__(self, kvstore: str = "device"):
        self.kvstore, self.rank, self.count = kvstore, 0, 1
        self.store: Any = None
        if kvstore != TOGETHER:
            expect_no_others(kvstore)
            return
        if not engine.distributes():
            raise Refused(f"kvstore {kvstore}: needs --engine torch")
        try:
            self.store = mx.kv.create(kvstore)
        except RuntimeError as error:
            raise lost(error) or Refused(one_line(error, None)) from error
        self.rank, self.count = self.store.rank, self.store.num_workers
        self.keys: set[int] = set()

    @property
    def is_first(self) -> bool:
        """True if it is this process that shows and writes."""
        return self.rank == 0

    def part(self, batch: Any) -> Any:
        """Return this process's share of a batch; the shares differ by one sample at most."""
        if self.count == 1:  # a slice of an NDArray takes as long as an operator
            return batch
        n = len(batch)
        return batch[n * self.rank // self.count : n * (self.rank + 1) // self.count]

    def sums(self, numbers: Sequence[float]) -> list[float]:
        """Sums over the processes, which all call it."""
        if self.store is None:
            return [*numbers]
        if (key := len(numbers)) not in self.keys:
            self.keys.add(key)
            self.store.init(key, nd.zeros((key,), dtype="float64"))
        summed = nd.array(np.array(numbers), dtype="float64")
        self.store.pushpull(key, summed)
        return summed.asnumpy().tolist()

    def each(self, numbers: Sequence[float]) -> list[list[float]]:
        """Return the numbers of each process, as many in all, which all call it."""
        every = np.zeros((self.count, len(numbers)))
        every[self.rank] = numbers
        return np.reshape(self.sums(every.ravel().tolist()), every.shape).tolist()

    def of_first(self, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the arrays of process 0; all processes call it, with arrays of the same shapes."""
        if self.store is None:
            return arrays
        sent = {name: nd.array(array, dtype=array.dtype) for name, array in arrays.items()}
        self.store.send_from_first([[array] for array in sent.values()])
        return {name: array.asnumpy() for name, array in sent.items()}

    @contextmanager
    def agreeing(self) -> Iterator[None]:
        """Refuse in all processes at the end of the `with` block where one has an error in it.

        Raises
        ------
        Refused
            Another process has an error; its own line says why.
        """
        fails = True
        try:
            yield
            fails = False
        finally:
            [failures] = self.sums([fails])
        if failures:
            raise Refused("another process cannot train; its own line says why")

    def expect_same(self, what: str, numbers: Sequence[float]) -> None:
        """Refuse to go on where numbers differ from process to process, which all call it.

        Raises
        ------
        Refused
            They differ. All processes raise it, each with its own numbers.
        """
        every = self.each(numbers)
        if any(other != every[0] for other in every):
            raise Refused(
                f"{what} is {every[self.rank]} here, and {every} in all processes; "
                "expected the same in all"
            )

    def contexts(self, names: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """``gpu``, without a number, is another one in each process of a machine."""
        if self.count > 1 and names == [("gpu", 0)]:
            return [("gpu", int(os.environ.get("LOCAL_RANK", "0")))]
        return names

    @contextmanager
    def training(self) -> Iterator[None]:
        """Show only what the first process says, and tell when another one is lost.

        Raises
        ------
        Lost
            Another process is lost, or does not come in time.
        """
        with self.telling_of_loss():
            if self.is_first:
                yield
            else:
                with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
                    yield

    @contextmanager
    def telling_of_loss(self) -> Iterator[None]:
        """Tell in one line of a process that is lost inside the `with` statement.

        Raises
        ------
        Lost
            Another process is lost, or does not come in time.
        """
        try:
            yield
        except RuntimeError as error:
            if self.count > 1 and (found := lost(error)):
                raise found from error
            raise


def lost(error: Exception) -> Lost | None:
    """Return the error that tells of a lost process, with the reason that gloo or nccl gives."""
    if (found := getattr(error, "lost_process", None)) is None:
        return None
    who, reason = found
    reason = re.sub(r"^\[\S+:\d+\]\s*", "", reason).rstrip(".")  # without the line of gloo's source
    return Lost(
        f"{who}: another one has ended, or does not answer ({reason}); "
        "the one that failed first says why"
    )


def expect_no_others(kvstore: str) -> None:
    """Refuse to train the same in each of the processes that torchrun has started.

    Raises
    ------
    Refused
        torchrun has started several processes, and `kvstore` does not join them.
    """
    count = os.environ.get("WORLD_SIZE", "1")
    if "TORCHELASTIC_RUN_ID" in os.environ and count != "1":
        raise Refused(
            f"kvstore {kvstore}: torchrun has started {count} processes; expected {TOGETHER}, "
            "with which they train one net together"
        )


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raise errors, such as the engine's of shapes and types, as `Refused`, in one line.

    Raises
    ------
    Refused
        The message begins with `what`.
    Lost
        Another process is lost.
    """
    try:
        yield
    except Exception as error:
        raise refused(what, error) from error


def refused(what: str, error: Exception) -> Refused | Lost:
    """Return an error in one line that begins with `what`; one that is `Refused` as it is."""
    if isinstance(error, Refused):
        return error
    return lost(error) or Refused(f"{what}: {one_line(error) or type(error).__name__}")
