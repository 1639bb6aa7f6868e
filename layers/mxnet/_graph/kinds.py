"""The table of kinds of calls: the function of each, for all ways of running a graph but plain.

The first calls of a kind make it and compute the outputs beside it; later calls run it. A kind
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
from .graph_call import Run
from .program import Program

log = logging.getLogger("layers.mxnet.hybridize")

Tensor = torch.Tensor
# How near results have to come to those of the program as it is, relative to the largest value.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
Kind = tuple


def _public_precision(backend: str, operation: str) -> str:
    return getattr(getattr(torch.backends, backend), operation).fp32_precision


# The precision of float32 products. Not public; the public form takes ten times as long.
_fp32_precision = getattr(torch._C, "_get_fp32_precision_getter", _public_precision)
# The number of modes that see calls of PyTorch; a default device is one. Not public: without it
# graphs do not see a default device. To ask for that takes 3 us.
_function_modes = getattr(torch._C, "_len_torch_function_stack", int)


def _half_precision() -> tuple:
    """Return the settings for sums of products of 16 bits on a GPU."""
    product = torch.backends.cuda.matmul
    return (
        product.allow_fp16_reduced_precision_reduction,
        product.allow_bf16_reduced_precision_reduction,
    )


def process_modes(device: str) -> tuple:
    """Return the settings of PyTorch, in this thread or process, that a graph may depend on.

    It takes 0.9 us, in each call on a CPU.
    """
    is_autocast = torch.is_autocast_enabled(device)
    backend = "mkldnn" if device == "cpu" else device
    return (
        is_autocast and (torch.get_autocast_dtype(device), torch.is_autocast_cache_enabled()),
        torch.get_default_dtype(),
        torch.get_deterministic_debug_mode(),
        torch.is_inference_mode_enabled(),
        torch.get_num_threads(),
        _function_modes(),
        _fp32_precision(backend, "matmul"),
        _fp32_precision(backend, "conv"),
        device == "cuda" and _half_precision(),
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


class Kinds:
    """A program, and what each kind of its calls runs.

    A kind is new until the way in which the program is run makes a function for it, or refuses it:
    then its calls run the program as it is. A copy makes its functions anew.

    Parameters
    ----------
    program : Program
    way : callable
        ``way(kinds, kind, tensors, context)`` gives the outputs of a call of a new kind. It ends
        with `keep` or `refuse`, or leaves the kind new.
    done : str
        What the way does to a program, for messages: ``"compiled"``.
    most : int
        How many kinds functions are made for.
    what : str
        What messages name the program.
    plain : callable, optional
        Runs the program as it is; by default `program`.
    helps : callable, optional
        Whether the way gains anything on a context; always by default.
    """

    def __init__(
        self,
        program: Program,
        way: Callable[..., list[Tensor]],
        done: str,
        most: int,
        what: str = "a graph",
        plain: Run | None = None,
        helps: Callable[[Context], bool] | None = None,
    ):
        self.program, self.what, self.plain = program, what, plain or program
        self._way, self._done, self._most, self._helps = way, done, most, helps
        self.runs: dict[Kind, Run] = {}
        self.reasons: dict[Kind, str] = {}  # of those that are refused
        self._logged: set[str] = set()

    def __call__(
        self, tensors: Sequence[Tensor], context: Context, kind: Kind | None = None
    ) -> list[Tensor]:
        """Return the outputs, in memory of their own, recorded when recording is on.

        `kind` comes from a caller that need not ask all tensors for what `kind_of` asks.
        """
        if this_thread.state.plain:
            return self.plain(tensors, context)
        if self._helps is not None and not self._helps(context):
            return self.plain(tensors, context)
        kind = kind_of(tensors, context) if kind is None else kind
        run = self.runs.get(kind)
        if run is not None:
            return run(tensors, context)
        if len(self.runs) < self._most:
            return self._way(self, kind, tensors, context)
        self._log(f"it was called with {self._most} shapes, dtypes and modes before")
        return self.plain(tensors, context)

    def keep(self, kind: Kind, run: Run) -> None:
        """Run this function in later calls of the kind."""
        self.runs[kind] = run

    def refuse(self, kind: Kind, reason: str) -> None:
        """Run the program as it is in later calls of the kind."""
        self.runs[kind], self.reasons[kind] = self.plain, reason
        self._log(reason)

    def _log(self, reason: str) -> None:
        """Log a reason once, for this program: another one may have the same name."""
        if reason not in self._logged:
            self._logged.add(reason)
            log.warning(f"{self.what} is not {self._done}, and runs as it is: {reason}")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"runs": {}, "reasons": {}, "_logged": set()}


def agree(expected: Sequence[Tensor | None], found: Sequence[Tensor | None]) -> bool:
    """True if outputs, or gradients, are equal to those expected, but for rounding.

    A value that is 0 but for rounding, as the gradient of a bias before BatchNorm, is compared on
    the scale of the largest value beside it: it is the difference of values of that size.
    """
    largest = max([_scale(a) for a in expected if a is not None and a.is_floating_point()] or [0])
    return all(
        a is b if a is None or b is None else _is_near(a, b, largest)
        for a, b in zip(expected, found)
    )


def _scale(a: Tensor) -> float:
    """Return the largest finite absolute value; 0 where there is none."""
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
    """Log a text once, however many graphs and shapes it holds for."""
    log.warning(text)
