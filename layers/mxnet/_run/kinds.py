"""What each way of running a graph but the plain one has: a function for each kind of call.

The first call of a kind makes it and computes the outputs beside it; later calls run it. A kind
for which none can be made is run as the program is, and the log says once why.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from ..autograd import state
from ..context import Context
from .program import Program

log = logging.getLogger("layers.mxnet.hybridize")

Tensor = torch.Tensor
# How near results have to come to those of the program as it is, relative to the largest value.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
Kind = tuple
Run = Callable[[Sequence[Tensor], Context], list[Tensor]]


def kind_of(tensors: Sequence[Tensor], context: Context) -> Kind:
    """What a function that was made for one call must find again in another."""
    ids = [*map(id, tensors)]
    return (
        state.recording,
        state.training,
        context,
        len({*ids}) < len(ids) and tuple(map(ids.index, ids)),  # which of them are one tensor
        *[(t.shape, t.stride(), t.dtype, t.requires_grad) for t in tensors],
    )


class Specialized:
    """A program with a function for each kind of call.

    Subclasses define `make`, and say in `done` what they do to a program. A copy of one makes its
    functions anew.

    Parameters
    ----------
    program : Program
    what : str
        What messages name it.
    """

    done: str
    kinds = 64  # the most that functions are made for

    def __init__(self, program: Program, what: str = "a graph"):
        self.program, self.what = program, what
        self._runs: dict[Kind, Run] = {}

    def __call__(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """The outputs, in memory of their own, recorded when recording is on."""
        kind = kind_of(tensors, context)
        run = self._runs.get(kind)
        if run is not None:
            return run(tensors, context)
        if len(self._runs) >= self.kinds:
            self.log_refusal(f"it was called with {self.kinds} shapes, dtypes and modes before")
            return self.plain(tensors, context)
        return self.make(kind, tensors, context)

    def make(self, kind: Kind, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """The outputs of a call of a new kind. It ends in `keep` or `refuse`."""
        raise NotImplementedError

    def plain(self, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
        """The outputs of the program as it is."""
        return self.program(tensors, context)

    def keep(self, kind: Kind, run: Run) -> None:
        """Run this function in later calls of the kind."""
        self._runs[kind] = run

    def refuse(self, kind: Kind, reason: str) -> None:
        """Run the program as it is in later calls of the kind."""
        self.log_refusal(reason)
        self._runs[kind] = self.plain

    def log_refusal(self, reason: str) -> None:
        """Say that calls run the program as it is, and why."""
        warn(f"{self.what} is not {self.done}, and runs as it is: {reason}")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_runs": {}}


def agree(expected: Sequence[Tensor | None], found: Sequence[Tensor | None]) -> bool:
    """Whether results are those that are expected, but for rounding."""
    return all(
        a is b if a is None or b is None else _is_near(a, b) for a, b in zip(expected, found)
    )


def _is_near(a: Tensor, b: Tensor) -> bool:
    a, b = a.detach(), b.detach()
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    tolerance = TOLERANCES.get(a.dtype, 0)
    finite = a[a.isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 1.0
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


@lru_cache(maxsize=1024)
def warn(text: str) -> None:
    """Say it once, however many graphs and shapes it holds for."""
    log.warning(text)
