"""Whether an operator of one's own can be compiled: whole, or not at all.

PyTorch's compiler splits what it cannot trace. So an operator is read first (`_effects.py`), then
traced alone, forward and backward, and what comes out is compared with what the plain one gives.
One that fails runs as it is, between compiled parts.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import torch

from .._own import call as own_call
from .._own.call import Call, call
from ..autograd import inside, state
from ..context import Context
from .effects import effect
from .reads import Read, Reader, Unreadable

# How near a traced operator has to come to the plain one, relative to the largest value.
TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
LIBRARIES = tuple(str(Path(p).parent) for p in (Path(__file__).parent, np.__file__, torch.__file__))
LONGEST = 300  # characters of a reason


def refusal(it: Call, traced: Call, tensors: list) -> str:
    """Why a call, or what is traced of it, cannot be compiled; tried on these inputs."""
    return forbidden(it) or _misfit(it, traced, tensors)


def forbidden(it: Call) -> str:
    """What of an operator's definition forbids tracing it, or nothing."""
    if own_call.CHECK_NAN:
        return "its values are looked at, as LAYERS_CHECK_NAN says"
    return "it has states" if it.states else it.opaque or effect(it.codes)


def settled(its: list[Call]) -> tuple[list[Read], str]:
    """What the Python of operators reads, or why it cannot be told, or that it does more.

    As long as none of that has changed, what was noted of the Python may be done in its place.
    """
    reader = Reader()
    try:
        for it in its:
            if reason := forbidden(it):
                raise Unreadable(reason)
            if it.maker is not None:
                reader.look_at_maker(*it.maker)
            for function in it.codes:
                reader.look(function, it.methods)
            reader.reads.append(Read("written", partial(getattr, it, "written"), it.written))
    except Unreadable as reason:
        return [], str(reason)
    return reader.reads, ""


def _misfit(it: Call, traced: Call, tensors: list) -> str:
    """Why the traced call is not the plain one, or nothing."""
    recording = state.recording
    device = it.context.device
    try:
        with undisturbed(device):
            expected = _trial(lambda *inputs: call(it, inputs), tensors)
    except Exception as error:  # such as a backward that is not there
        return first_line(error)
    alone = torch.compile(
        renewed(lambda *inputs: call(traced, inputs)),
        fullgraph=True,
        dynamic=False,
        backend="aot_eager",
    )
    with (
        undisturbed(device),
        quiet(),
        inside(it.context, it.training),
        on(it.context),
        torch.set_grad_enabled(recording),
    ):
        try:
            found = _trial(alone, tensors)
        except Exception as error:  # of the compiler, of any kind; the plain call has worked
            return first_line(error)
        try:
            with torch.compiler.set_stance("fail_on_recompile"):
                _trial(alone, tensors)
        except Exception as error:
            reason = str(error).partition("\n    - ")[2].partition("\n")[0]
            return f"a call changes what the next one reads: {reason}"[:LONGEST]
    for a, b in zip(expected, found):
        if (a is None) is not (b is None) or a is not None and not near(a, b):
            return "traced, it gives other values"
    return ""


def renewed(function: FunctionType) -> FunctionType:
    """The function with code of its own: the compiler counts what it compiles by that."""
    return FunctionType(
        function.__code__.replace(), function.__globals__, closure=function.__closure__
    )


def _trial(function: Callable, tensors: list) -> list:
    """The outputs, and the gradients of the inputs that ask for some."""
    leaves = [
        None if t is None else t.detach().clone().requires_grad_(t.requires_grad) for t in tensors
    ]
    outputs = function(*leaves)
    asking = [t for t in leaves if t is not None and t.requires_grad]
    heads = [y for y in outputs if y.requires_grad]
    if not asking or not heads:
        return list(outputs)
    generator = torch.Generator(heads[0].device).manual_seed(0)
    dys = [torch.empty_like(y).uniform_(-1, 1, generator=generator) for y in heads]
    outputs = [y.detach() for y in outputs]
    return [*outputs, *torch.autograd.grad(heads, asking, dys, allow_unused=True)]


def near(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether b is what a is, but for rounding."""
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    tolerance = TOLERANCES.get(a.dtype, 0)
    finite = a[a.isfinite()]
    scale = float(finite.abs().max()) if finite.numel() else 1.0
    return torch.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)


def on(context: Context) -> Any:
    """``with on(context)``: what NumPy's code makes while it is traced is made on this device."""
    return nullcontext() if context.device.type == "cpu" else context.device


@contextmanager
def quiet() -> Iterator[None]:
    """PyTorch's compiler looks at what warns of being looked at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def first_line(error: BaseException) -> str:
    """The error's type, how its message begins, and the user's line; of the cause if there is one.

    Of its explanation, where it comes from PyTorch's compiler, whose first lines are headings.
    """
    error = getattr(error, "inner_exception", None) or error.__cause__ or error
    text = str(error).strip()
    said = text.partition("\n  Explanation: ")[2] or text
    lines = [f for f in getattr(error, "real_stack", None) or () if not _is_library(f.filename)]
    where = f" in {lines[-1].name}, line {lines[-1].lineno}" if lines else ""
    first = said.partition("\n")[0][:LONGEST].rstrip(" .")
    return f"{type(error).__name__}: {first}{where}"


def _is_library(path: str) -> bool:
    return path.startswith((*LIBRARIES, "<"))


@contextmanager
def undisturbed(device: torch.device) -> Iterator[None]:
    """What is drawn inside is drawn again after it; by other threads too, in the meantime."""
    numpy, python = np.random.get_state(), random.getstate()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            np.random.set_state(numpy)
            random.setstate(python)
