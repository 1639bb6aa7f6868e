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

from .. import _kernels
from .._state import this_thread
from ..context import Context
from .program import Program

log = logging.getLogger("layers.mxnet.hybridize")

Tensor = torch.Tensor
# How near results have to come to those of the program as it is, relative to the largest value.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
Kind = tuple
Run = Callable[[Sequence[Tensor], Context], list[Tensor]]


# The precision of float32 products. Not public; the public form takes ten times as long.
_fp32_precision = getattr(
    torch._C,
    "_get_fp32_precision_getter",
    lambda backend, operation: getattr(torch.backends, backend).matmul.fp32_precision,
)


def process_modes(device: str) -> tuple:
    """Return the settings of PyTorch, in this thread or process, that a graph may depend on.

    It takes 0.7 us, in each call.
    """
    is_autocast = torch.is_autocast_enabled(device)
    return (
        is_autocast and (torch.get_autocast_dtype(device), torch.is_autocast_cache_enabled()),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_num_threads(),
        _fp32_precision("mkldnn" if device == "cpu" else device, "matmul"),
    )


def kind_of(tensors: Sequence[Tensor], context: Context) -> Kind:
    """Return all that a function made for one call must find again in another.

    If a graph starts to depend on something new about a call, add it here.
    """
    ids = [*map(id, tensors)]
    return (
        this_thread.state.recording,
        this_thread.state.training,
        _kernels.are_on(),
        context,
        process_modes(context.device.type),
        len({*ids}) < len(ids) and tuple(map(ids.index, ids)),  # which of them are one tensor
        *[(t.shape, t.stride(), t.dtype, t.requires_grad) for t in tensors],
    )


class Specialized:
    """A program with a function for each kind of call.

    Subclasses define `first_call`, and say in `done` what they do to a program. A copy of one makes
    its functions anew.

    Parameters
    ----------
    program : Program
    what : str
        What messages name it.
    """

    done: str
    most_kinds = 64  # that functions are made for

    def __init__(self, program: Program, what: str = "a graph"):
        self.program, self.what = program, what
        self._runs: dict[Kind, Run] = {}

    def __call__(
        self, tensors: Sequence[Tensor], context: Context, kind: Kind | None = None
    ) -> list[Tensor]:
        """The outputs, in memory of their own, recorded when recording is on.

        `kind` comes from a caller that need not ask all tensors for what `kind_of` asks.
        """
        if this_thread.state.plain:
            return self.plain(tensors, context)
        kind = kind_of(tensors, context) if kind is None else kind
        run = self._runs.get(kind)
        if run is not None:
            return run(tensors, context)
        if len(self._runs) >= self.most_kinds:
            self.log_refusal(self.too_many_kinds)
            return self.plain(tensors, context)
        return self.first_call(kind, tensors, context)

    @property
    def too_many_kinds(self) -> str:
        """The reason for which a further kind is not kept."""
        return f"it was called with {self.most_kinds} shapes, dtypes and modes before"

    def first_call(self, kind: Kind, tensors: Sequence[Tensor], context: Context) -> list[Tensor]:
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
    """Whether outputs, or gradients, are those that are expected, but for rounding.

    A value that is 0 but for rounding, as the gradient of a bias before BatchNorm, is compared on
    the scale of the largest value beside it: it is the difference of values of that size.
    """
    largest = max([_scale(a) for a in expected if a is not None and a.is_floating_point()] or [0])
    return all(
        a is b if a is None or b is None else _is_near(a, b, largest)
        for a, b in zip(expected, found)
    )


def _scale(a: Tensor) -> float:
    """The largest finite absolute value; 0 where there is none."""
    finite = a.detach()[a.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _is_near(a: Tensor, b: Tensor, largest: float) -> bool:
    a, b = a.detach(), b.detach()
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    tolerance = TOLERANCES.get(a.dtype, 0)
    rounding = 8 * torch.finfo(a.dtype).eps * largest
    atol = max(tolerance * _scale(a), rounding)
    return torch.allclose(a, b, rtol=tolerance, atol=atol, equal_nan=True)


@lru_cache(maxsize=1024)
def warn(text: str) -> None:
    """Say it once, however many graphs and shapes it holds for."""
    log.warning(text)
