"""A graph for PyTorch's own tracers: `torch.export`, `torch.onnx` and `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from .._op.call import CustomCall
from .._state import this_thread
from ..base import MXNetError, UnsupportedError
from ..context import Context
from ..symbol._node import Node
from .program import Program
from .tracing import forbidden


def for_tracers(program: Program, training: bool) -> Callable:
    """Return the function of a program, whose custom operators can be exported.

    They are exported by their forward, which has to be traced whole. Under `torch.compile` they
    run as they are, between compiled parts.
    """
    return program.bound({n: _Custom(n, training) for n in program.nodes if n.op.own})


@contextmanager
def as_torch(training: bool) -> Iterator[None]:
    """``with as_torch(training):`` arrays are recorded where PyTorch records tensors."""
    state = this_thread.state
    before = state.recording, state.training
    forward_mode = torch.autograd.forward_ad._current_level >= 0  # also inside no_grad()
    state.recording, state.training = torch.is_grad_enabled() or forward_mode, training
    try:
        yield
    finally:
        state.recording, state.training = before


class _Custom:
    """The function of a node that is a custom operator."""

    def __init__(self, node: Node, training: bool):
        self.node, self.training = node, training
        self.made: dict[tuple, str] = {}
        self.plain = torch.compiler.disable(self._plain)

        @torch.compiler.assume_constant_result
        def make(*args):  # runs as it is, while what is around it is traced
            return self._make(*args)

        self.make = make

    def __call__(self, *tensors: torch.Tensor, context: Context, **_: Any) -> Any:
        if not torch.compiler.is_exporting():
            return self.plain(tensors, context)
        if not torch.compiler.is_dynamo_compiling():
            return self._walked(tensors, context)
        specs = tuple([(self._shape(t), t.dtype) for t in tensors])
        # By name: what is made while tracing goes on is seen only where it is looked for.
        operation, given = getattr(self, self.make(specs, context.device_type, context.device_id))
        rest = iter(tensors)
        results = operation.unrecorded([next(rest) if there else None for there in given])
        return results if len(results) > 1 else results[0]

    def _shape(self, tensor: torch.Tensor) -> tuple[int, ...]:
        if self.node.op.any_shape:
            return (1,) * tensor.dim()
        return tuple([int(n) for n in tensor.shape])  # for which a `CustomOp` is made

    def _plain(self, tensors: tuple, context: Context) -> Any:
        with as_torch(self.training):
            return self._run(tensors, context)

    def _run(self, tensors: tuple, context: Context) -> Any:
        op, attributes = self.node.op, self.node.attributes
        return op.run(*tensors, context=context, **op.arguments_of_run(attributes))

    def _walked(self, tensors: tuple, context: Context) -> Any:
        """Return the outputs where tensors have no values and the code runs as it is."""
        state = this_thread.state
        before, state.training = state.training, self.training
        try:
            self._refuse(self._prepared(tensors, context)[0])
            return self._run(tensors, context)
        except RuntimeError as error:
            if "numpy()" not in str(error):
                raise
        finally:
            state.training = before
        raise MXNetError(
            f"{self.node.op.what}: what NumPy computes cannot be traced in this way\n"
            "  expected torch.export.export(..., strict=True)"
        )

    def _make(self, specs: tuple, device_type: str, device_id: int) -> str:
        """Make the call for inputs of these shapes and dtypes; returns the attribute it is in."""
        context = Context(device_type, device_id)
        key = specs, context
        if key not in self.made:
            state = this_thread.state
            before, state.training = state.training, self.training
            try:
                tensors = [torch.zeros(s, dtype=d, device=context.device) for s, d in specs]
                operation, places = self._prepared(tensors, context)
            finally:
                state.training = before
            self._refuse(operation)
            self.made[key] = f"call{len(self.made)}"
            setattr(
                self,
                self.made[key],
                (operation.as_traced(), tuple([t is not None for t in places])),
            )
        return self.made[key]

    def _prepared(self, tensors: Sequence[torch.Tensor], context: Context) -> tuple:
        return self.node.op.prepare(tensors, self.node.attributes, context)

    def _refuse(self, operation: CustomCall) -> None:
        if reason := forbidden(operation):
            raise UnsupportedError(f"{operation.what} cannot be exported: {reason}")
