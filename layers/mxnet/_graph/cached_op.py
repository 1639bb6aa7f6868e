"""MXNet's `CachedOp`: a graph as a function of arrays."""

from __future__ import annotations

from .._state import this_thread
from ..base import ArgumentError
from ..context import current_context
from ..ndarray import NDArray
from ..ndarray._origin import note_origin
from ..ndarray.register import give
from .program import Program

__all__ = ["CachedOp"]


class CachedOp:
    """A graph that is called with an array for each of its variables.

    Parameters
    ----------
    sym : Symbol
    flags : sequence of (str, value), optional
        Ignored: how MXNet runs it.
    thread_safe : bool
        Ignored: it may always be called by several threads.
    """

    is_np_sym = False  # whether its outputs are arrays of ``mx.np``

    def __init__(self, sym, flags=(), thread_safe: bool = False):
        self.handle = self.symbol = sym
        self.program = Program(sym._entries)

    def __call__(self, *args: NDArray, out=None, default_ctx=None):
        """Return the outputs, a list where there are several.

        Parameters
        ----------
        *args : NDArray
            The values of the variables, in the order of ``sym.list_inputs()``.
        out : NDArray or list of them, optional
            Arrays to write the outputs into.
        default_ctx : Context, optional
            Where a graph without variables computes; by default the current context. Else the
            context is that of the first array.

        Raises
        ------
        ArgumentError
            There is another number of arrays, or one is no NDArray.
        """
        names, states = self.program.inputs, self.program.states
        if len(args) != len(names) or not all(isinstance(a, NDArray) for a in args):
            kinds = ", ".join(type(a).__name__ for a in args)
            raise ArgumentError(
                f"CachedOp: called with ({kinds})\n  expected an NDArray for each of {names}"
            )
        context = args[0].context if args else default_ctx or current_context()
        tensors = [a._state_tensor() if i in states else a._tensor for i, a in enumerate(args)]
        results = [NDArray(y, context) for y in self.program(tensors, context)]
        if this_thread.state.recording:
            note_origin(results, self, {}, args)
        shown = results if len(results) > 1 else results[0]
        return shown if out is None else give(shown, out)
