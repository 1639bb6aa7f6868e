"""The processes that a program was started in: how they meet, and what they compute together."""

from __future__ import annotations

import atexit
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
from torch import distributed

from ..base import ArgumentError, MXNetError, UnsupportedError

__all__ = [
    "agree",
    "gather",
    "gather_rows",
    "join",
    "new_group",
    "rank",
    "send_from_first",
    "size",
    "start_sum",
    "wait",
]

SET_BY_TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
TIMEOUT = "LAYERS_DIST_TIMEOUT"
DEFAULT_TIMEOUT = 300  # seconds
START = "torchrun --nproc-per-node 2 program.py (or: -m train --kvstore dist_sync)"

# What gloo, nccl and their store say where a process has ended or does not come; anything else that
# they say, such as that a port is in use, is told as it is.
LOST = re.compile(
    "timed out|timeout|connection|closed|broken pipe|no route to host|got 0 bytes|network error"
    "|remote process|aborted",
    re.IGNORECASE,
)

Group = Any  # a ProcessGroup or None; a PyTorch without torch.distributed has no such name

_has_joined = False
_group: Group = None  # that of all processes; None is the group that PyTorch makes by default
_store = "kvstore"  # what messages name: the first store that has asked for the others


def join(what: str) -> None:
    """Meet the other processes, at the first call; `what` asks for it.

    Raises
    ------
    MXNetError
        The program was not started by torchrun, or the others did not come, or PyTorch cannot
        join them, for example because a port is in use.
    UnsupportedError
        PyTorch was built without `torch.distributed`.
    ArgumentError
        The time-out in the environment is no number of seconds.
    """
    global _store, _group, _has_joined
    if _has_joined:
        return
    if not distributed.is_available():
        raise UnsupportedError(
            f"{what}: this PyTorch was built without torch.distributed\n"
            "  expected one that has it, or a kvstore within a process: 'device'"
        )
    _store = what
    if distributed.is_initialized():  # by the program, perhaps for one kind of device only
        _group, _has_joined = new_group(), True
        return
    _expect_torchrun(what)
    with _explained("join the others"):
        distributed.init_process_group(_backend(), timeout=_timeout())
    atexit.register(_leave)
    _has_joined = True


def _expect_torchrun(what: str) -> None:
    missing = [name for name in SET_BY_TORCHRUN if not os.environ.get(name)]
    if not missing:
        _check_numbers(what)
        return
    launcher = ""
    if "DMLC_ROLE" in os.environ:
        launcher = (
            f"; DMLC_ROLE={os.environ['DMLC_ROLE']} is set by MXNet's launcher, but there are no "
            "servers and no scheduler here"
        )
    raise MXNetError(
        f"{what}: {', '.join(missing)} not set in the environment{launcher}\n"
        f"  expected a start by torchrun, such as {START}; on several machines with --nnodes and "
        "--rdzv-endpoint too"
    )


def _check_numbers(what: str) -> None:
    """Refuse what is no number of a process, no count of them, or no port."""
    ranges = {
        "WORLD_SIZE": (1, 2**31),
        "RANK": (0, os.environ["WORLD_SIZE"]),
        "MASTER_PORT": (0, 2**16),
    }
    for name, (first, end) in ranges.items():
        value = os.environ[name]
        if not value.isdecimal() or not first <= int(value) < int(end):
            raise MXNetError(
                f"{what}: {name}={value} in the environment\n"
                f"  expected a number from {first} to below {end}, as torchrun sets it: {START}"
            )


def _backend() -> str:
    """gloo; for arrays on a GPU nccl."""
    gpu = torch.cuda.is_available() and distributed.is_nccl_available()
    return "cpu:gloo,cuda:nccl" if gpu else "gloo"


def _timeout() -> timedelta:
    text = os.environ.get(TIMEOUT) or str(DEFAULT_TIMEOUT)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise ArgumentError(f"{TIMEOUT}={text}\n  expected a number of seconds, such as 300")
    return timedelta(seconds=seconds)


def _leave() -> None:
    if distributed.is_initialized():
        distributed.destroy_process_group()


def rank() -> int:
    """The number of this process, from 0."""
    return distributed.get_rank()


def size() -> int:
    """How many processes there are."""
    return distributed.get_world_size()


def new_group() -> Group:
    """A group of all processes, whose calls are counted apart from those of other groups."""
    with _explained("make a group of processes"):
        return distributed.new_group(backend=_backend(), timeout=_timeout())


@contextmanager
def _explained(action: str) -> Iterator[None]:
    """Raise what PyTorch says as an MXNetError, which tells whether a process was lost.

    `action` is what fails, as in "could not join the others".
    """
    try:
        yield
    except MXNetError:
        raise
    except RuntimeError as error:
        text = str(error).partition("\nException raised from")[0].strip() or type(error).__name__
        who = f"process {os.environ.get('RANK', '?')} of {os.environ.get('WORLD_SIZE', '?')}"
        if not LOST.search(text):
            raise MXNetError(f"{_store}: {who} could not {action}: {text}") from error
        reason = text.splitlines()[0]
        lost = MXNetError(
            f"{_store}: {who} has lost another process, or waited in vain: {reason}\n"
            f"  expected all processes to make the same calls within {_timeout().total_seconds():g}"
            f" s ({TIMEOUT}); the one that failed first says why"
        )
        lost.lost_process = who, reason  # for programs that say it in words of their own
        raise lost from error


def start_sum(tensor: torch.Tensor, group: Group = None) -> distributed.Work:
    """Begin to replace a tensor by its sum over the processes: `wait` for it."""
    with _explained(f"sum {_described(tensor)} over the processes"):
        return distributed.all_reduce(tensor, group=group or _group, async_op=True)


def wait(work: distributed.Work) -> None:
    """Wait until a tensor has its sum."""
    with _explained("sum over the processes"):
        work.wait()


def send_from_first(tensors: list[torch.Tensor]) -> None:
    """Replace tensors by those of the first process."""
    with _explained("get the arrays of the first process"):
        works = [distributed.broadcast(t, 0, group=_group, async_op=True) for t in tensors]
        for work in works:
            work.wait()


def gather(tensor: torch.Tensor) -> list[torch.Tensor]:
    """The tensors of all processes, which have one shape."""
    found = [torch.empty_like(tensor) for _ in range(size())]
    with _explained(f"gather {_described(tensor)} from the processes"):
        distributed.all_gather(found, tensor, group=_group)
    return found


def gather_rows(description: str, *tensors: torch.Tensor) -> list[torch.Tensor]:
    """The rows of some tensors of each process, one after another.

    A process may have any number of rows, the same of all its tensors. Refuses to go on if the
    description is not the same in all processes.
    """
    own = torch.tensor([len(tensors[0]), zlib.crc32(description.encode())])
    counts, codes = zip(*[found.tolist() for found in gather(own)])
    if len({*codes}) > 1:
        raise _different("row_sparse arrays", description)
    gathered = []
    for tensor in tensors:
        padded = tensor.new_zeros((max(counts), *tensor.shape[1:]))
        padded[: len(tensor)] = tensor
        parts = gather(padded) if padded.numel() else [padded] * len(counts)
        gathered.append(torch.cat([part[:count] for part, count in zip(parts, counts)]))
    return gathered


def agree(what: str, description: str) -> None:
    """Refuse to go on if a description is not the same in all processes."""
    number = zlib.crc32(description.encode())
    ends = torch.tensor([number, -number])
    with _explained(f"compare {what}"):
        distributed.all_reduce(ends, distributed.ReduceOp.MAX, group=_group)
    if ends[0] != -ends[1]:
        raise _different(what, description)


def _described(tensor: torch.Tensor) -> str:
    return f"an array {tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def _different(what: str, description: str) -> ArgumentError:
    return ArgumentError(
        f"{_store}: {what} differ from process to process; in process {rank()}: "
        f"{description[:400]}\n  expected the same in all"
    )
