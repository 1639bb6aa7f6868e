"""A graph together with the gradients of its outputs' sums, and maybe an update."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch

from .._tensor import copy_if_aliased
from ..autograd import _set_grad_enabled
from ..context import Context
from ..symbol._node import Node
from .program import Program
from .tracing import renewed

Tensor = torch.Tensor
Update = Callable[[list, list, list], None]


class WithGradients:
    """A program whose outputs come first, and then the gradients; used as a `Program` is.

    Parameters
    ----------
    program : Program
    wanted : tuple of int
        The inputs whose gradients these are.
    update : callable, optional
        A part of the graph: ``update(inputs, gradients, given)`` changes the wanted inputs, and
        what it is given, which are the tensors after the program's own.
    """

    settings: ClassVar[dict[str, bool]] = {
        "trace_autograd_ops": True,
        "capture_scalar_outputs": True,
    }

    def __init__(self, program: Program, wanted: tuple[int, ...], update: Update | None = None):
        self._program, self._wanted, self._update = program, wanted, update
        self.nodes, self.inputs = program.nodes, program.inputs
        self.function = self.bound({})

    def bound(
        self, functions: dict[Node, Callable], through: Callable[[Callable], Callable] | None = None
    ) -> Callable:
        """As of a `Program`; `through` is for the program's own function."""
        graph = self._program.bound(functions, through)
        wanted, update, count = self._wanted, self._update, len(self.inputs)

        def step(*tensors: Tensor, **supplied) -> list[Tensor]:
            tensors, given = tensors[:count], tensors[count:]
            inputs = [t.detach() for t in tensors]
            for i in wanted:
                inputs[i].requires_grad_()
            values = graph(*inputs, **supplied)
            heads = [v for v in values if v.requires_grad]
            gradients = torch.autograd.grad(
                heads,
                [inputs[i] for i in wanted],
                [torch.ones_like(v) for v in heads],
                materialize_grads=True,
            )
            results = copy_if_aliased([*[v.detach() for v in values], *gradients], tensors)
            if update:
                with torch.no_grad():
                    update([tensors[i] for i in wanted], results[len(values) :], given)
            return results

        return renewed(step)

    def changed(self, count: int) -> set[int]:
        """Which of so many inputs the function changes in place."""
        given = range(len(self.inputs), count)
        return self._program.states.union(self._wanted if self._update else (), given)

    def __call__(self, tensors: list[Tensor], context: Context, _: object = None) -> list[Tensor]:
        """The outputs and gradients, in memory of their own, for calls of all kinds."""
        return self.run(self.function, tensors, context, True)

    def run(
        self, function: Callable, tensors: list[Tensor], context: Context, recording: bool
    ) -> list[Tensor]:
        """The outputs and gradients by `function`, in memory of their own."""
        before = torch.is_grad_enabled()
        _set_grad_enabled(recording)
        try:
            return self._program.results(function, tensors, context)
        finally:
            _set_grad_enabled(before)
