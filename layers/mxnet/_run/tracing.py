"""Custom operators in compiled graphs: whole, or not at all.

PyTorch's tracer decides. It is asked about each operator alone, forward and backward, and nothing
of the operator runs for that. One that it cannot trace whole, or that changes what outlives the
call, runs as it is, between compiled parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from types import FunctionType
from typing import Any

import torch

from .._own import call as own_call
from .._own.call import CustomCall, call
from .._state import this_thread
from ..autograd import inside
from ..context import Context
from ..symbol._node import Node
from .reasons import reason_of

Tensor = torch.Tensor
# Of PyTorch's tracer; the second is not in all versions.
STRICT = {"use_numpy_random_stream": True, "side_effect_replay_policy": "error"}


def try_tracing(
    operation: CustomCall, tensors: Sequence[Tensor | None]
) -> tuple[str, list[Tensor]]:
    """Why an operator cannot be part of a compiled graph, if so; and the arrays from outside.

    Those are what its code reads beside the inputs, and may write into.
    """
    if said := forbidden(operation):
        return said, []
    function = traced_function(operation, tensors)
    given = [t.detach().requires_grad_(t.requires_grad) for t in tensors if t is not None]
    alone = torch.compile(
        renewed(lambda *inputs: function(*inputs)),
        fullgraph=True,
        dynamic=False,
        backend=lambda graph, inputs: _end,
    )
    recording = this_thread.state.recording
    inner = inside(operation.context, operation.training)
    try:
        with tracing(operation.context), inner, torch.set_grad_enabled(recording):
            alone(*given)
    except _Traced as traced:
        return "", [t for t in traced.tensors if not any(t is g for g in given)]
    except Exception as error:  # of the tracer or of the operator's author, of any kind
        return reason_of(error, operation), []
    return "", []  # it computes nothing


def forbidden(operation: CustomCall) -> str:
    """What an operator says of itself that forbids tracing it, if anything."""
    if own_call.CHECK_NAN:
        return "its values are looked at, as LAYERS_CHECK_NAN says"
    if operation.pure is False:
        return "it says that it is not pure"
    return "it has states" if operation.states else operation.opaque


class _Traced(BaseException):
    """An operator was traced, and would run now."""

    def __init__(self, tensors: list[Tensor]):
        self.tensors = tensors


def _end(*given: Any) -> None:
    raise _Traced([t for t in given if isinstance(t, Tensor)])


def traced_function(operation: CustomCall, tensors: Sequence[Tensor | None]) -> Callable:
    """The function of a node whose operator is traced with the graph."""
    return partial(_call_traced, operation.as_traced(), tuple([t is not None for t in tensors]))


def _call_traced(operation: CustomCall, given: tuple[bool, ...], *tensors: Tensor, **_) -> Any:
    # One tensor in two places is refused by PyTorch's compiler; a view of it is another tensor.
    different = [
        t.view_as(t) if any(t is before for before in tensors[:i]) else t
        for i, t in enumerate(tensors)
    ]
    rest = iter(different)
    results = call(operation, [next(rest) if there else None for there in given])
    return results if len(results) > 1 else results[0]


def as_it_is(node: Node, recording: bool) -> Callable:
    """The function of a node that is kept out of the compiler."""

    @torch.compiler.disable
    def run(*tensors, **supplied):
        before, this_thread.state.recording = this_thread.state.recording, recording
        try:
            return node.op.run(*tensors, **supplied)
        finally:
            this_thread.state.recording = before

    return run


def renewed(function: FunctionType) -> FunctionType:
    """The function with code of its own: PyTorch's tracer counts what it traces by that."""
    return FunctionType(
        function.__code__.replace(), function.__globals__, closure=function.__closure__
    )


@contextmanager
def tracing(context: Context, settings: dict[str, bool] | None = None) -> Iterator[None]:
    """``with tracing(context):`` PyTorch's tracer refuses effects, and other random numbers."""
    settings = {n: v for n, v in STRICT.items() if hasattr(torch._dynamo.config, n)} | (
        settings or {}
    )
    with torch._dynamo.config.patch(**settings), warnings.catch_warnings(), on(context):
        warnings.simplefilter("ignore")  # the tracer looks at what warns of being looked at
        yield


def on(context: Context) -> Any:
    """``with on(context):`` what NumPy's code makes while it is traced is made on this device."""
    return nullcontext() if context.device.type == "cpu" else context.device
