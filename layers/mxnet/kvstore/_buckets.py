"""Sums of gradients over processes, while backward still computes others."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from functools import partial
from weakref import ref

import torch

from .._tensor import describe
from ..autograd import Leaf
from ..ndarray import NDArray
from ..ndarray._memory import VIEWED
from . import _processes
from ._compression import TwoBit

__all__ = ["BYTES", "GradientSums", "in_buckets", "sum_over_processes"]

BYTES = 25 << 20  # of a bucket; a larger tensor is one by itself


def in_buckets(tensors: Sequence[torch.Tensor], order: Iterable[int]) -> list[list[int]]:
    """Put tensors, by their numbers, into buckets of one dtype and device each."""
    full, open_ = [], {}
    for i in order:
        tensor = tensors[i]
        bytes_ = tensor.numel() * tensor.element_size()
        members, filled = open_.pop(key := (tensor.dtype, tensor.device), ([], 0))
        if members and filled + bytes_ > BYTES:
            full.append(members)
            members, filled = [], 0
        open_[key] = [*members, i], filled + bytes_
    return full + [members for members, _ in open_.values()]


def sum_over_processes(tensors: list[torch.Tensor]) -> None:
    """Replace tensors by their sums over the processes."""
    buckets = in_buckets(tensors, range(len(tensors)))
    flat = [torch.cat([tensors[i].reshape(-1) for i in members]) for members in buckets]
    works = [_processes.start_sum(tensor) for tensor in flat]
    for members, tensor, work in zip(buckets, flat, works):
        _processes.wait(work)
        parts = tensor.split([tensors[i].numel() for i in members])
        for i, part in zip(members, parts):
            tensors[i].copy_(part.view(tensors[i].shape))


class _Bucket:
    """Some of the parameters, with memory in which their gradients are side by side."""

    def __init__(self, members: list[int], weights: list[torch.Tensor]):
        first = weights[0]
        self.members = members
        self.flat = torch.zeros(
            sum(w.numel() for w in weights), dtype=first.dtype, device=first.device
        )
        parts = self.flat.split([w.numel() for w in weights])
        self.parts = [part.view(w.shape) for part, w in zip(parts, weights)]
        self.ready: set[int] = set()  # the leaves, by their ids, that have their gradients
        self.sent: list = []
        self.work = None

    def send(self, rows: list[list[Leaf]], group, compression: TwoBit | None) -> None:
        """Sum over contexts, and begin to sum over processes. A stale gradient counts as 0."""
        if self.work is not None:
            _processes.wait(self.work)
        self.sent = _as_they_are(rows)
        with torch.no_grad():
            for part, row in zip(self.parts, rows):
                grads = [leaf.grad._tensor for leaf in row if leaf.fresh]
                if not grads:
                    part.zero_()
                    continue
                part.copy_(grads[0])
                for grad in grads[1:]:
                    part.add_(grad.to(part.device))
        if compression is None:
            self.work = _processes.start_sum(self.flat, group)
        else:
            compression.sum_over_processes(self.parts, self.members)

    def has_changed(self, rows: list[list[Leaf]]) -> bool:
        """Whether a gradient has changed since it was sent."""
        now = _as_they_are(rows)
        return any(a is not b or m != n for (a, m), (b, n) in zip(now, self.sent))


def _as_they_are(rows: list[list[Leaf]]) -> list[tuple]:
    """The gradients' tensors, each with how often it was written to; None for stale ones."""
    tensors = [leaf.grad._tensor if leaf.fresh else None for row in rows for leaf in row]
    return [(t, None if t is None else t._version) for t in tensors]


class GradientSums:
    """Sums gradients of parameters over their contexts and over the processes.

    The gradients of a bucket are sent as soon as `backward` has given all of them. All processes
    send the buckets in the same order, first those whose gradients come first. What has changed
    when they are needed (a second backward, clipped gradients) is sent again, by all; from then
    on gradients are only sent when they are needed. So are those with ``grad_req='add'``, and
    compressed ones, for what is sent of a gradient changes what is sent of the next.
    """

    def __init__(self, compression: TwoBit | None = None):
        self._compression = compression
        self._group = _processes.new_group()
        self._lock = threading.Lock()  # backward has a thread for each GPU
        self._rows: list[list[Leaf]] = []  # for each parameter its leaves on the contexts
        self._buckets: list[_Bucket] = []
        self._bucket_of: dict[int, _Bucket] = {}
        self._next = 0  # the first bucket that has not been sent
        self._arrived: list[int] | None = None  # parameters, as gradients come while it is noted
        self._order_is_known = False
        self._overlaps = compression is None

    def finish(self, weights: list[list[NDArray]]) -> list[NDArray]:
        """The sums of the gradients of weights, each on some contexts; they are on the first.

        They stay until the next gradients come. Afterwards all processes have the same gradients
        fresh: those that `backward` gave in one of them. On the other contexts they are set to 0.
        """
        rows = [[w._leaf for w in arrays] for arrays in weights]
        if not _same(rows, self._rows):
            self._send_rest()
            self._lay_out(rows, weights, reversed(range(len(rows))))
            self._arrived, self._order_is_known = None, False
        self._send_rest()
        fresh = self._send_again([any(leaf.fresh for leaf in row) for row in rows])
        sums = {
            i: NDArray(part, weights[i][0]._context, VIEWED)
            for bucket in self._buckets
            for i, part in zip(bucket.members, bucket.parts)
        }
        for row, is_fresh in zip(rows, fresh):
            for leaf in row if is_fresh else ():
                if not leaf.fresh:
                    leaf.grad[:] = 0
                leaf.fresh = True
        self._prepare_for_next(rows, weights)
        return [sums[i] for i in range(len(rows))]

    def _lay_out(self, rows: list, weights: list[list[NDArray]], order: Iterable[int]) -> None:
        tensors = [arrays[0]._tensor for arrays in weights]
        shapes = ", ".join(map(describe, tensors))
        _processes.agree("the parameters that are trained", shapes)
        buckets = [
            _Bucket(members, [tensors[i] for i in members])
            for members in in_buckets(tensors, order)
        ]
        self._rows, self._buckets = rows, buckets
        self._bucket_of = {i: bucket for bucket in buckets for i in bucket.members}
        self._next = 0

    def _send(self, bucket: _Bucket) -> None:
        bucket.send([self._rows[i] for i in bucket.members], self._group, self._compression)
        self._next += 1

    def _send_rest(self) -> None:
        with self._lock:
            for bucket in self._buckets[self._next :]:
                self._send(bucket)

    def _send_again(self, fresh: list[bool]) -> list[bool]:
        """Send what has changed in any process, and wait; returns what is fresh in any."""
        changed = [b.has_changed([self._rows[i] for i in b.members]) for b in self._buckets]
        flags = torch.tensor([*fresh, *changed], dtype=torch.int32)
        _processes.wait(_processes.start_sum(flags, self._group))
        anywhere = [count > 0 for count in flags.tolist()]
        for bucket, again in zip(self._buckets, anywhere[len(fresh) :]):
            if again:
                self._overlaps = False
                bucket.send([self._rows[i] for i in bucket.members], self._group, None)
        for bucket in self._buckets:
            if bucket.work is not None:
                _processes.wait(bucket.work)
            bucket.work = None
        return anywhere[: len(fresh)]

    def _prepare_for_next(self, rows: list[list[Leaf]], weights: list[list[NDArray]]) -> None:
        """Have the gradients of the next backward sent as they come.

        The first time they come in an order that is not known. The next time it is, and all
        processes put them into buckets in that of the first process.
        """
        if self._arrived is not None:
            order = dict.fromkeys([*self._arrived, *reversed(range(len(rows)))])
            sent = torch.tensor([*order])
            _processes.send_from_first([sent])
            self._lay_out(rows, weights, sent.tolist())
            self._arrived, self._order_is_known = None, True
        elif not self._order_is_known:
            self._arrived = []
        self._next = 0
        for bucket in self._buckets:
            bucket.ready.clear()
        for i, row in enumerate(rows):
            for leaf in row:
                leaf.ready = partial(_note, ref(self), i)

    def note(self, i: int, leaf: Leaf) -> None:
        """A gradient of parameter `i` has come."""
        if not self._overlaps or leaf.req == "add":  # more may be added
            return
        with self._lock:
            if self._arrived is not None:
                self._arrived.append(i)
            self._bucket_of[i].ready.add(id(leaf))
            while self._next < len(self._buckets) and self._is_ready(self._buckets[self._next]):
                self._send(self._buckets[self._next])

    def _is_ready(self, bucket: _Bucket) -> bool:
        return len(bucket.ready) == sum(len(self._rows[i]) for i in bucket.members)


def _note(sums: ref[GradientSums], i: int, leaf: Leaf) -> None:
    if (found := sums()) is not None:
        found.note(i, leaf)


def _same(rows: list[list[Leaf]], others: list[list[Leaf]]) -> bool:
    return [[*map(id, row)] for row in rows] == [[*map(id, row)] for row in others]
