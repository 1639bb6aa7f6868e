"""MXNet's private functions for sequences, which programs with cells of their own import."""

from __future__ import annotations

from ... import ndarray, symbol
from ..._np_shape import unknown_size
from ...base import ArgumentError
from ...ndarray import NDArray
from ...symbol import Symbol


def _format_sequence(length: int | None, inputs, layout: str, merge: bool | None, in_layout=None):
    """A sequence as one array (`merge`), as a list of steps (not `merge`), or as it is (None).

    Returns it with the axis of steps in `layout`, the module (`nd` or `sym`), and the number of
    sequences, for Symbols the unknown size. One array may come in another layout, `in_layout`.
    """
    if inputs is None:
        raise ArgumentError("unroll: inputs is None\n  expected arrays or Symbols")
    axis = _axis("T", layout)
    listed = isinstance(inputs, (list, tuple))
    first = inputs[0] if listed else inputs
    F = symbol if isinstance(first, Symbol) else ndarray
    in_axis = axis if listed or in_layout is None else _axis("T", in_layout)
    batch_axis = _axis("N", layout if in_layout is None else in_layout)
    batch_size = unknown_size() if F is symbol else first.shape[0 if listed else batch_axis]
    steps = len(inputs) if listed else length if F is symbol else inputs.shape[in_axis]
    if length is not None and steps != length and (listed or merge is False):
        raise ArgumentError(f"unroll: the inputs have {steps} steps\n  expected length={length}")
    if merge is False and not listed:
        inputs = _split(F, inputs, in_axis, steps)
    elif merge and listed:
        inputs = F.stack(*inputs, axis=axis)
    if isinstance(inputs, (NDArray, Symbol)) and axis != in_axis:
        inputs = F.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis, F, batch_size


def _get_begin_state(cell, F, begin_state, inputs, batch_size: int) -> list:
    """The states to begin with: those that are given, or zeros on the context of the inputs."""
    if begin_state is not None:
        return begin_state
    if F is symbol:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)
    first = inputs[0] if isinstance(inputs, (list, tuple)) else inputs
    with first.context:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)


def _mask_sequence_variable_length(F, data, length: int, valid_length, time_axis: int, merge: bool):
    """A sequence with 0 at the steps that are not valid, as one array or as a list of steps."""
    if isinstance(data, (list, tuple)):
        data = F.stack(*data, axis=time_axis)
    masked = F.SequenceMask(
        data, sequence_length=valid_length, use_sequence_length=True, axis=time_axis
    )
    return masked if merge else _split(F, masked, time_axis, length)


def _reverse_sequences(sequences: list, unroll_step: int, valid_length=None) -> list:
    """The steps from the last valid one to the first; what is behind them stays there."""
    if valid_length is None:
        return list(reversed(sequences))
    F = symbol if isinstance(sequences[0], Symbol) else ndarray
    reverse = F.SequenceReverse(
        F.stack(*sequences, axis=0), sequence_length=valid_length, use_sequence_length=True
    )
    return _split(F, reverse, 0, unroll_step)


def _split(F, array, axis: int, length: int) -> list:
    if length == 1:
        return [F.squeeze(array, axis=axis)]
    return list(F.split(array, num_outputs=length, axis=axis, squeeze_axis=True))


def _axis(letter: str, layout: str) -> int:
    if letter not in layout:
        raise ArgumentError(f"unroll: layout is {layout!r}\n  expected 'NTC' or 'TNC'")
    return layout.index(letter)
