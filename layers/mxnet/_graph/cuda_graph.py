"""Recorded calls on a GPU, launched as one: CUDA graphs, on memory of their own.

A call copies the inputs into that memory, launches what was captured, and copies the outputs out;
parameters are read where they are. What is captured is compared with the recorded calls first.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import RLock
from typing import Any

import torch

from .._draws import draws_restored
from ..base import RecordingError, UnsupportedError
from ..context import Context
from .graph_call import Gradients, GraphCall, states_restored
from .kinds import agree, warn
from .tracing import reason_of

Tensor = torch.Tensor
_one_by_one = RLock()  # a process captures one graph at a time


class Launched:
    """A replay that is captured at its first call on a GPU, and launched from then on.

    Where it cannot be captured, and while its memory is in use, the recorded calls are done.

    Parameters
    ----------
    replay : GraphCall
        It does the recorded calls.
    fixed : sequence of int
        The inputs that are read where they are, such as parameters.
    tensors : sequence of Tensor
        The inputs of the call before.
    """

    def __init__(self, replay: GraphCall, fixed: Sequence[int], tensors: Sequence[Tensor]):
        self._replay, self._fixed = replay, fixed
        self._launch: Launch | None = None
        self._places = self._where(tensors)  # the fixed inputs were in the last call
        self._is_refused = False
        self._lock = RLock()

    def __call__(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """Return the outputs, which can be differentiated when recording is on."""
        if not self._is_refused and can_capture(context):
            with self._lock:
                launch = self._captured(tensors)
                if launch is not None and not launch.is_pending:
                    return launch(tensors, context)
        return self._replay(tensors, context)

    def _captured(self, tensors: Sequence[Tensor]) -> Launch | None:
        """Return the graphs captured for these parameters; None if they have just moved."""
        places = self._where(tensors)
        if self._launch is not None and self._launch.places == places:
            return self._launch
        if self._places != places:
            self._places = places
            return None
        self._launch = None  # and its memory
        try:
            with _one_by_one:
                self._launch = Launch(self._replay, self._fixed, tensors, self._lock)
        except Exception as error:  # of CUDA, of any kind
            what = f"{self._replay.what} is no CUDA graph, and its calls are done one by one"
            warn(f"{what}: {reason_of(error)}")
            self._is_refused = True
        return self._launch

    def _where(self, tensors: Sequence[Tensor]) -> list[int]:
        return [tensors[i].data_ptr() for i in self._fixed]


class Launch:
    """The graphs captured of recorded calls: forward and, if there are gradients, backward."""

    def __init__(self, replay: GraphCall, fixed: Sequence[int], tensors: Sequence[Tensor], lock):
        self.replay, self.lock = replay, lock
        self.places = [tensors[i].data_ptr() for i in fixed]
        self.read_in_place = [i for i in fixed if i not in replay.program.states]
        self._copied = [i for i in range(len(tensors)) if i not in fixed]
        self._inputs = [
            t.detach().clone() if i in self._copied else t.detach() for i, t in enumerate(tensors)
        ]
        self._turn: Callable[[], GraphCall | None] = lambda: None
        self._begun = self._ended = 0  # how many of its calls, and the last whose backward is over
        device = replay.context.device
        stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        results = []
        for step in (self._run, self._capture, self._launch_again):
            with states_restored(replay.program, tensors), draws_restored(replay.context):
                results.append(step(stream))
        expected, _, found = results
        count = len(replay.differentiable)  # of outputs; what follows are gradients
        if not agree(expected[:count], found[:count]) or not agree(expected[count:], found[count:]):
            raise UnsupportedError("captured, it gives other values")

    def _run(self, stream) -> list[Tensor | None]:
        """Return the outputs and gradients by the recorded calls, for gradients of the outputs."""
        with aside(stream), torch.no_grad():
            outputs, saved = self.replay.ahead(self._inputs)
            heads = [y for y, there in zip(outputs, self.replay.differentiable) if there]
            pairs = zip(heads, self.replay.has_dy)
            self._dys = [torch.rand_like(y) if has_dy else None for y, has_dy in pairs]
            gradients = self.replay.behind(saved, self._dys) if self._dys else ()
            return [y if y is None else y.clone() for y in (*outputs, *gradients)]

    def _capture(self, stream) -> None:
        replay = self.replay

        def forward():
            return replay.ahead(self._inputs)

        def backward():
            return replay.behind(self._saved, self._dys)

        (self._outputs, self._saved), self._forward, pool = captured(forward, stream)
        self._gradients, self._backward = (), None
        if self._dys:
            self._gradients, self._backward, _ = captured(backward, stream, pool)

    def _launch_again(self, _) -> list[Tensor | None]:
        """Return the outputs and gradients as they are launched.

        They are filled with NaN before, so that one that the graph does not write is seen.
        """
        _fill(self._outputs)
        self._forward()
        if self._backward is not None:
            _fill(self._gradients)
            self._backward()
        return [*self._outputs, *self._gradients]

    @property
    def is_pending(self) -> bool:
        """True if its memory holds values for the gradients of an earlier call."""
        return self._ended < self._begun and self._turn() is not None

    def __call__(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """Return the outputs."""
        self._begun += 1
        backward = partial(self.backward, self._begun) if self._backward else None
        turn = replace(self.replay, ahead=self.forward, behind=backward)
        self._turn = weakref.ref(turn)
        return turn(tensors, context)

    @torch.no_grad()
    def forward(self, tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Return the outputs, in their own memory, and the inputs that backward reads in place."""
        for i in self._copied:
            self._inputs[i].copy_(tensors[i])
        self._forward()
        outputs = [y.clone() for y in self._outputs]
        return outputs, [tensors[i] for i in self.read_in_place]

    @torch.no_grad()
    def backward(self, turn: int, saved: Sequence[Tensor], dys: Sequence[Tensor]) -> Gradients:
        """Return the gradients of the inputs of a call, in memory of their own.

        `turn` is the number of the call.
        """
        with self.lock:
            if turn != self._begun:
                raise RecordingError(
                    f"backward: {self.replay.what} was called again since its gradients were "
                    "computed\n  expected all backwards before the next call, or hybridize() "
                    "without static_shape"
                )
            for own, dy in zip(self._dys, dys):
                if own is not None:
                    own.copy_(dy)
            self._backward()
            self._ended = turn  # from now on the memory may be written again
            return [g if g is None else g.clone() for g in self._gradients]


def captured(
    function: Callable, stream, pool: tuple | None = None
) -> tuple[Any, Callable[[], None], tuple]:
    """Return what a function gives on a GPU, what fills that again, and the pool of its memory."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize(stream.device)
    gc.collect()  # nothing is to be freed while it is captured
    # Not torch.cuda.graph, whose stream is on the first GPU that was used.
    with aside(stream), torch.no_grad():
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            results = function()
        finally:
            graph.capture_end()
    return results, graph.replay, graph.pool()


def can_capture(context: Context) -> bool:
    """True if CUDA graphs can be captured on a context now."""
    return context.device_type == "gpu" and not torch.cuda.is_current_stream_capturing()


@contextmanager
def aside(stream) -> Iterator[None]:
    """Compute on another stream, if any, which begins and ends with the current one."""
    if stream is None:
        yield
        return
    current = torch.cuda.current_stream(stream.device)
    stream.wait_stream(current)
    try:
        with torch.cuda.stream(stream):
            yield
    finally:
        current.wait_stream(stream)


def _fill(tensors: Sequence[Tensor | None]) -> None:
    for t in tensors:
        if t is not None:
            t.fill_(torch.nan if t.is_floating_point() else 0)
