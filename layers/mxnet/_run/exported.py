"""A graph for PyTorch's own tracers: `torch.export`, `torch.onnx` and `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .._own.call import CustomCall, forward_of
from .._own.node import CUSTOM, prepared
from .._state import this_thread
from ..base import MXNetError, UnsupportedError
from ..context import Context
from ..symbol._node import Node
from .program import Program
from .tracing import forbidden


def for_tracers(program: Program, training: bool) -> Callable:
    """The function of a program, whose custom operators can be exported.

    They are exported by their forward, which has to be traced whole. Under `torch.compile` they
    run as they are, between compiled parts.
    """
    return program.bound({n: _Custom(n, training) for n in program.nodes if n.op is CUSTOM})


class as_torch:
    """``with as_torch(training):`` arrays are recorded where PyTorch records tensors."""

    def __init__(self, training: bool):
        self._training = training

    def __enter__(self) -> None:
        self._before = this_thread.state.recording, this_thread.state.training
        forward_mode = torch.autograd.forward_ad._current_level >= 0  # also inside no_grad()
        this_thread.state.recording = torch.is_grad_enabled() or forward_mode
        this_thread.state.training = self._training

    def __exit__(self, *_) -> None:
        this_thread.state.recording, this_thread.state.training = self._before


class _Custom:
    """The function of a node that is a custom operator."""

    def __init__(self, node: Node, training: bool):
        self.node, self.training = node, training
        self.what = f"Custom {node.attributes['op_type']!r}"
        # The call of a `CustomOp` has the shapes of its outputs: it is made for its inputs'.
        self.any_shape = CUSTOM.any_shape(node.attributes)
        self.made: dict[tuple, str] = {}
        self.plain = torch.compiler.disable(self._plain)

        @torch.compiler.assume_constant_result
        def make(*args):  # runs as it is, while what is around it is traced
            return self._make(*args)

        self.make = make

    def __call__(self, *tensors: torch.Tensor, context: Context, **_: str) -> Any:
        if not torch.compiler.is_exporting():
            return self.plain(tensors, context)
        if not torch.compiler.is_dynamo_compiling():
            return self._walked(tensors, context)
        specs = tuple([(self._shape(t), t.dtype) for t in tensors])
        # By name: what is made while tracing goes on is seen only where it is looked for.
        operation, given = getattr(self, self.make(specs, context.device_type, context.device_id))
        rest = iter(tensors)
        results = forward_of(operation, [next(rest) if there else None for there in given])
        return results if len(results) > 1 else results[0]

    def _shape(self, tensor: torch.Tensor) -> tuple[int, ...]:
        return (1,) * tensor.dim() if self.any_shape else tuple([int(n) for n in tensor.shape])

    def _plain(self, tensors: tuple, context: Context) -> Any:
        with as_torch(self.training):
            return self.node.op.run(*tensors, context=context, **self.node.attributes)

    def _walked(self, tensors: tuple, context: Context) -> Any:
        """The outputs where tensors have no values and the code runs as it is."""
        before, this_thread.state.training = this_thread.state.training, self.training
        try:
            self._refuse(prepared(list(tensors), self.node.attributes, context)[0])
            return self.node.op.run(*tensors, context=context, **self.node.attributes)
        except RuntimeError as error:
            if "numpy()" not in str(error):
                raise
        finally:
            this_thread.state.training = before
        raise MXNetError(
            f"{self.what}: what NumPy computes cannot be traced in this way\n"
            "  expected torch.export.export(..., strict=True)"
        )

    def _make(self, specs: tuple, device_type: str, device_id: int) -> str:
        """Make the call for inputs of these shapes and dtypes; returns the attribute it is in."""
        context = Context(device_type, device_id)
        key = specs, context
        if key not in self.made:
            before, this_thread.state.training = this_thread.state.training, self.training
            try:
                tensors = [torch.zeros(s, dtype=d, device=context.device) for s, d in specs]
                operation, places = prepared(tensors, self.node.attributes, context)
            finally:
                this_thread.state.training = before
            self._refuse(operation)
            self.made[key] = f"call{len(self.made)}"
            setattr(
                self,
                self.made[key],
                (operation.as_traced(), tuple([t is not None for t in places])),
            )
        return self.made[key]

    def _refuse(self, operation: CustomCall) -> None:
        if reason := forbidden(operation):
            raise UnsupportedError(f"{operation.what} cannot be exported: {reason}")
