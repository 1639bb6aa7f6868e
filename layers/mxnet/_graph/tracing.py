"""Custom operators in compiled graphs: whole, or not at all; and why PyTorch refuses code.

PyTorch's tracer decides. It is asked about each operator alone, forward and backward, and nothing
of the operator runs for that. One that it cannot trace whole, or that changes what outlives the
call, runs as it is, between compiled parts.

A refusal is told in one line: what, and the user's file and line. What code changes that outlives a
call is in notes that PyTorch's tracer keeps. They are not public: without them the line names what
PyTorch's message names, and the operator's own place.
"""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from traceback import FrameSummary, walk_tb
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import torch

from .._op import call as own_call
from .._op.call import CustomCall, call
from .._state import this_thread
from ..autograd import inside
from ..context import Context
from ..symbol._node import Node

Tensor = torch.Tensor
# Of PyTorch's tracer; the second is not in all versions.
STRICT = {"use_numpy_random_stream": True, "side_effect_replay_policy": "error"}
LIBRARIES = tuple(
    str(Path(p).parent) for p in (Path(__file__).parents[1], np.__file__, torch.__file__)
)
LONGEST = 200  # characters of PyTorch's own words
# What PyTorch says in words of its own makers, and what it means.
MEANINGS = {
    "HOP: Unsafe side effect": "it changes what outlives a call",
    "use_numpy_random_stream": "it draws random numbers from NumPy",
    "Pending unbacked symbols": "it makes numbers or shapes of values",
    "Detected data-dependent branching": "it branches on values",
    "Could not extract specialized integer": "it makes numbers or shapes of values",
    "Constraints violated": "it fixes a size that is to be open",
    "Could not guard on data-dependent": "it branches on values",
}
# How PyTorch tells of changes, and what it calls a thing that is changed.
CHANGES = re.compile(r"side effects.*sources you can double check: \[(.*)\]", re.S)
ATTRIBUTE = re.compile(r"^Attribute '(\w+)' was not restored|Attribute '(\w+)' on an outer-scope")
QUOTED = re.compile(r"""("[^"]*"|'[^']*')""")
MODULE = re.compile(r"^G\['__import_(\w+)'\]")
ITSELF = re.compile(r"^L\[.*\.args\[0\]\.operator(?=$|\.)")
OF_ITS_CLASS = re.compile(r"^dict\(type\(L\[.*\.operator\)\.__dict__\)\['(\w+)'\](?=$|\.)")


def try_tracing(
    operation: CustomCall, tensors: Sequence[Tensor | None]
) -> tuple[str, list[Tensor]]:
    """Return why an operator cannot be in a compiled graph, if so; and the arrays from outside.

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
    """Return the reason not to trace an operator, as it declares it; "" if there is none."""
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
    """Return the function of a node whose operator is traced with the graph."""
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
    """Return the function of a node that is kept out of the compiler."""

    @torch.compiler.disable
    def run(*tensors, **supplied):
        before, this_thread.state.recording = this_thread.state.recording, recording
        try:
            return node.op.run(*tensors, **supplied)
        finally:
            this_thread.state.recording = before

    return run


def renewed(function: FunctionType) -> FunctionType:
    """Return the function with code of its own: PyTorch's tracer counts what it traces by that."""
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


def reason_of(error: BaseException, operation: CustomCall | None = None) -> str:
    """Return the message of an error, with the user's file, line and expression.

    `operation` is the operator that was traced.
    """
    raised, error = error, getattr(error, "inner_exception", None) or error.__cause__ or error
    text = re.sub(r" at 0x[0-9A-Fa-f]+", "", str(error).strip())
    frames = [f for f in getattr(error, "real_stack", None) or () if is_users(f)]
    where = _shown(frames[-1]) if frames else _place(operation, "forward")
    if operation is not None and (changes := dict(_changes(raised))):
        where = next(filter(None, map(_shown, changes.values())), where)
        return f"it changes {', '.join(changes)}, which outlives a call{where}"
    if operation is not None and (found := CHANGES.search(text)):
        names = [name for q in QUOTED.findall(found[1]) if (name := _expression(q[1:-1]))]
        return f"it changes {', '.join(names) or 'an object'}, which outlives a call{where}"
    if found := ATTRIBUTE.search(text):
        name, where = found[1] or found[2], where if frames else _place(operation, "backward")
        return f"it changes {name}, which outlives a call{where}"
    for sign, meaning in MEANINGS.items():
        if sign in text:
            return f"{meaning}{where}"
    said = text.partition("\n  Explanation: ")[2] or text  # the lines before it are headings
    first = said.partition("\n")[0].rstrip(" .")
    if len(first) > LONGEST:
        first = first[:LONGEST].rpartition(" ")[0] + " ..."
    name = type(error).__name__
    return f"{first}{where}" if name == "InternalTorchDynamoError" else f"{name}: {first}{where}"


def _changes(error: BaseException) -> Iterator[tuple[str, FrameSummary | None]]:
    """Yield the names of what the traced code changes, and where it does."""
    for frame, _ in walk_tb(error.__traceback__):
        notes = getattr(frame.f_locals.get("self"), "side_effects", None)
        stacks = getattr(notes, "mutation_user_stacks", None)
        if stacks:
            break
    else:
        return
    for thing, places in stacks.items():
        source = _source(thing)
        if not source:
            continue
        users = [frame for stack in places for frame in stack if is_users(frame)]
        attributes = getattr(notes, "store_attr_mutations", {}).get(thing, ())
        known = [a for a in attributes if not a.startswith("_")]
        for name in _names(source, known):
            yield name, users[-1] if users else None


def _source(thing: object) -> str:
    """Return the tracer's name of an object; "" for one that is made in the call."""
    try:
        return str(thing.source.name)  # type: ignore[attr-defined]
    except (AttributeError, NotImplementedError):
        return ""


def _names(source: str, attributes: list[str]) -> list[str]:
    """Return the user's names for attributes of a thing that the tracer calls so, or for it."""
    if attributes == ["cell_contents"]:
        return ["a variable of the function around it"]
    owner = _expression(source)
    if owner == "__main__":
        return attributes or ["a global"]
    return [f"{owner}.{a}" if owner else a for a in attributes] or [owner or "an object"]


def _expression(source: str) -> str:
    """Return the user's expression for a thing that the tracer calls so, if it is a simple one."""
    name = MODULE.sub(lambda found: found[1].replace("_dot_", "."), source)
    name = OF_ITS_CLASS.sub(r"self.\1", ITSELF.sub("self", re.sub(r"^G\['(\w+)'\]", r"\1", name)))
    name = re.sub(r"^__+main__\.", "", name)
    return name if re.fullmatch(r"[\w.]+", name) else ""


def _place(operation: CustomCall | None, phase: str) -> str:
    """Return the file and line of an operator."""
    if operation is None:
        return ""
    function = getattr(operation.operator, phase, None) or operation.operator.forward
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return ""
    line = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    return _shown(FrameSummary(code.co_filename, code.co_firstlineno, code.co_name, line=line))


def _shown(frame: FrameSummary | None) -> str:
    if frame is None:
        return ""
    return f" ({frame.filename}:{frame.lineno}{f': {frame.line}' if frame.line else ''})"


def users_line(entered_by: CodeType) -> str:
    """Return the user's innermost line that runs now, in a call by this code; "" for none."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not entered_by:
        code, number = frame.f_code, frame.f_lineno
        shown = FrameSummary(code.co_filename, number, code.co_name, lookup_line=False)
        if is_users(shown):
            return _shown(shown)
        frame = frame.f_back
    return ""


def is_users(frame: FrameSummary) -> bool:
    """True if a line is the user's: neither a library's nor generated."""
    return not frame.filename.startswith((*LIBRARIES, "<"))
