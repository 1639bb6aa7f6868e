"""Sequences on their way through cells: split into steps, in one array, masked, reversed."""

from __future__ import annotations

from ... import ndarray, symbol
from ...base import ArgumentError, ShapeError
from ...ndarray import NDArray
from ...symbol import Symbol


class Sequence:
    """The inputs of `unroll` as a list of steps.

    Parameters
    ----------
    name : str
        Whose inputs they are.
    length : int
    inputs : array (n, t, k), or (t, n, k), or a list of arrays (n, k)
    layout : str
        Where the axis of steps is: at T.
    valid_length : array (n,), optional

    Attributes
    ----------
    F : module
        `nd` or `sym`, as the inputs are.
    steps : list
    """

    def __init__(self, name: str, length: int, inputs, layout: str, valid_length=None):
        if "T" not in layout:
            raise ArgumentError(f"{name}: layout is {layout!r}\n  expected 'NTC' or 'TNC'")
        self.axis, self.valid_length = layout.index("T"), valid_length
        listed = isinstance(inputs, (list, tuple))
        given = len(inputs) if listed else length
        if isinstance(inputs, NDArray):
            given = inputs.shape[self.axis]
        if given != length or not length:
            raise ShapeError(f"{name}: the inputs have {given} steps\n  expected length={length}")
        self.F = symbol if isinstance(inputs[0] if listed else inputs, Symbol) else ndarray
        self.steps = list(inputs) if listed else self.split(inputs, self.axis, length)

    def split(self, array, axis: int, length: int) -> list:
        """The steps along an axis."""
        if length == 1:
            return [self.F.squeeze(array, axis=axis)]
        return list(self.F.split(array, num_outputs=length, axis=axis, squeeze_axis=True))

    def begin(self, cell) -> list:
        """States of zeros, as many as there are sequences."""
        F, x = self.F, self.steps[0]
        if F is ndarray:
            return cell.begin_state(x.shape[0], ctx=x.context, dtype=x.dtype)

        def zeros(name, shape, **_):
            if len(shape) == 2:
                column = F.zeros_like(F.slice_axis(x, axis=1, begin=0, end=1))
                return F.broadcast_axis(column, axis=1, size=shape[1], name=name)
            axes = tuple(range(1, len(shape)))
            rows = F.zeros_like(F.sum(x, axis=0, exclude=True))
            rows = F.reshape(rows, shape=(-1, *(1,) * len(axes)))
            return F.broadcast_axis(rows, axis=axes, size=shape[1:], name=name)

        return cell.begin_state(func=zeros)

    def last(self, states: list) -> list:
        """The states after the last valid step, from those after each."""
        if self.valid_length is None:
            return states[-1]
        F = self.F
        return [
            F.SequenceLast(F.stack(*s, axis=0), self.valid_length, use_sequence_length=True)
            for s in zip(*states)
        ]

    def reversed(self, steps: list) -> list:
        """The steps from the last valid one to the first; what is behind them stays there."""
        if self.valid_length is None:
            return steps[::-1]
        y = self.F.stack(*steps, axis=0)
        y = self.F.SequenceReverse(y, self.valid_length, use_sequence_length=True)
        return self.split(y, 0, len(steps))

    def outputs(self, steps: list, merge: bool | None, name: str | None = None):
        """The steps as `unroll` gives them: 0 where they are not valid, in one array or not."""
        if self.valid_length is None and not merge:
            return steps
        named = {"name": name} if name and self.F is symbol else {}
        y = self.F.stack(*steps, axis=self.axis, **named)
        if self.valid_length is None:
            return y
        y = self.F.SequenceMask(y, self.valid_length, use_sequence_length=True, axis=self.axis)
        return self.split(y, self.axis, len(steps)) if merge is False else y
