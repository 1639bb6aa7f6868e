"""A block that is computed again in backward: what `layers.Remat` is on this engine."""

from __future__ import annotations

from typing import Any

import torch

from .._graph.recompute import recomputed
from .._op.call import as_output
from .._state import this_thread
from ..ndarray import NDArray
from ..symbol._node import part
from ._nesting import _flatten, _regroup


class Recomputed:
    """A block that is computed again in backward.

    Parameters
    ----------
    block : HybridBlock
    """

    def __init__(self, block: Any):
        self.block = block
        self._states: list | None = None  # its Parameters that are updated in place, once known

    def call(self, *args) -> Any:
        """The block's outputs for arrays."""
        if not this_thread.state.recording or not self._is_ready():
            return self.block(*args)
        flat, form = _flatten(args, "input")
        arrays = [a for a in flat if a is not None]
        context = arrays[0]._context
        forms: list = []

        def function(*tensors: torch.Tensor) -> list[torch.Tensor]:
            rest = iter([NDArray(t, a._context) for t, a in zip(tensors, arrays)])
            given = [None if a is None else next(rest) for a in flat]
            outputs, nested = _flatten(self.block(*_regroup(given, form)), "output")
            forms.append(nested)
            return [y._tensor for y in outputs]

        states = [p.data(context)._tensor for p in self._states or ()]
        with torch.enable_grad():
            results = recomputed(function, [a._tensor for a in arrays], states)
        outputs = [as_output(t, context) for t in results]
        return _regroup(outputs, forms[0]) if forms[0] else outputs[0]

    def traced(self, *args) -> Any:
        """The block's outputs for Symbols: its nodes are a part of the graph that is recomputed."""
        with part():
            return self.block(*args)

    def _is_ready(self) -> bool:
        """Whether all parameters have values: the call that makes them keeps what it makes."""
        if self._states is None:
            parameters = self.block.collect_params().values()
            if any(p._data is None for p in parameters):
                return False
            self._states = [p for p in parameters if not p._differentiable]
        return True
