"""Recurrent layers over whole sequences: MXNet has one operator for all of them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from ..base import ArgumentError, ShapeError, UnsupportedError
from .registry import REQUIRED, Op, Tensor, op
from .shape import Concat

KERNELS = {  # and the number of gates
    "rnn_relu": (torch.rnn_relu, 1),
    "rnn_tanh": (torch.rnn_tanh, 1),
    "lstm": (torch.lstm, 4),
    "gru": (torch.gru, 3),
}


# Its kernel is one call; compiled, it would be a copy of the code per step.
@op(traceable=False, draws=True)
def RNN(
    data: Tensor,
    parameters: Tensor,
    state: Tensor,
    state_cell: Tensor | None = None,
    sequence_length: Tensor | None = None,
    state_size: int = REQUIRED,
    num_layers: int = REQUIRED,
    bidirectional: bool = False,
    mode: Literal["gru", "lstm", "rnn_relu", "rnn_tanh"] = REQUIRED,
    p: float = 0.0,
    state_outputs: bool = False,
    projection_size: int | None = None,
    lstm_state_clip_min: float | None = None,
    lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False,
    use_sequence_length: bool = False,
    *,
    training: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """Recurrent layers, one above the other, each over all t steps of n sequences.

    rnn_tanh, rnn_relu: h' = f(W x + b + R h + c).
    lstm: s' = σ(f) s + σ(i) tanh(g), h' = σ(o) tanh(s'), where i, f, g, o are W x + b + R h + c.
    gru: h' = (1 - σ(z)) tanh(W x + b + σ(r) (R h + c)) + σ(z) h, with r, z as the gates of lstm.

    data : (t, n, k)      parameters : (size,), see below
    state : (num_layers, n, state_size), h before the first step
    state_cell : as state, s before the first step; for lstm only
    y : (t, n, state_size), h of the last layer; with `state_outputs` also the last h, and s

    `parameters` has W and R of each layer, then b and c of each, the rows in the order of gates
    i, f, g, o and r, z, n. `bidirectional` puts beside each layer one that runs from the last step
    to the first: twice the layers and states, and h of both in one, in y and for the next layer.
    `p` is the rate of dropout between layers, in training. With `projection_size` lstm multiplies
    h by one matrix more, which stands behind R; this is the size of h then, but not of s. With
    `use_sequence_length`, sequence_length : (n,) has the number of steps of each sequence; behind
    them y is 0. A state for n = 0 stands for zeros.

    Raises
    ------
    ArgumentError
        `num_layers` is less than 1, or `p` is not a probability.
    UnsupportedError
        The states of an LSTM are to be clipped, or a projection is asked of another mode or is no
        smaller than the state.
    ShapeError
        A parameter or a state has another shape than `data` and the attributes ask for.
    """
    if use_sequence_length and mode != "lstm" and sequence_length is None:
        state_cell, sequence_length = None, state_cell  # by position, where there is no cell
    clips = lstm_state_clip_min, lstm_state_clip_max
    _check(mode, num_layers, p, state_size, projection_size, clips)
    sizes = state_size, num_layers, bidirectional, mode, projection_size
    expected = _shapes(tuple(data.shape), *sizes, use_sequence_length)
    parts = parameters if isinstance(parameters, tuple) else (parameters,)
    weights = _weights(data, parts, expected, sizes)
    if state is None:  # RNN_OF_PARTS has states that are left out
        state, state_cell = _zeros(data, expected)
    else:
        state, state_cell = _begin(data, state), _begin(data, state_cell)
    given = {"state": state, "state_cell": state_cell, "sequence_length": sequence_length}
    for name, tensor in given.items():
        shape = None if tensor is None else tensor.shape
        if shape != expected.get(name):
            raise _wrong_shape(data, name, shape, expected, sizes)
    if data.is_meta:  # the kernels take t steps to tell the same
        h = state.shape[-1] * (1 + bidirectional)
        results = (data.new_empty(*data.shape[:2], h), state, state_cell)
    else:
        kept = training or torch.is_grad_enabled()
        arguments = True, num_layers, p if training else 0.0, kept, bidirectional
        results = _run(mode, data, (state, state_cell), sequence_length, weights, arguments)
    return results[: 3 if mode == "lstm" else 2] if state_outputs else results[0]


def _run(mode, data, states, lengths, weights, arguments):
    """What the kernel gives: y and the states."""
    kernel, _ = KERNELS[mode]
    states = [s for s in states if s is not None]
    if lengths is None and states[0].shape == states[-1].shape:
        return kernel(data, states if mode == "lstm" else states[0], weights, *arguments, False)
    if lengths is not None:
        lengths = _lengths(data, lengths)
    else:  # with a projection, PyTorch warns unless sequences are packed
        lengths = torch.full(data.shape[1:2], len(data))
    packed = pack_padded_sequence(data, lengths, enforce_sorted=False)
    states = [s.index_select(1, packed.sorted_indices) for s in states]
    begin = states if mode == "lstm" else states[0]
    y, *states = kernel(packed.data, packed.batch_sizes, begin, weights, *arguments)
    y, _ = pad_packed_sequence(packed._replace(data=y), total_length=len(data))
    return y, *(s.index_select(1, packed.unsorted_indices) for s in states)


def _lengths(data, given):
    lengths = given.to("cpu", torch.int64)
    if lengths.min() < 1 or lengths.max() > len(data):
        raise ArgumentError(
            f"RNN: sequence_length is {lengths.tolist()} for data {tuple(data.shape)}\n"
            f"  expected numbers from 1 to {len(data)}"
        )
    return lengths


MAX_LAYERS = 1000  # an attribute of a file; each layer takes time before there is any data


@lru_cache(maxsize=256)
def layout(columns, state_size, num_layers, bidirectional, mode, projection_size):
    """The shapes of the parts of `parameters`: the matrices of all layers, then the biases."""
    if num_layers > MAX_LAYERS:
        raise ArgumentError(f"RNN: num_layers is {num_layers}\n  expected at most {MAX_LAYERS}")
    directions, rows = 1 + bidirectional, KERNELS[mode][1] * state_size
    size = projection_size or state_size
    matrices = []
    for layer in range(num_layers):
        layer_columns = directions * size if layer else columns
        one = [(rows, layer_columns), (rows, size)]
        matrices += (one + [(size, state_size)] * (projection_size is not None)) * directions
    return (*matrices, *[(rows,)] * (2 * num_layers * directions))


@lru_cache(maxsize=256)
def size(*sizes):
    """How many numbers `parameters` has."""
    return sum(map(math.prod, layout(*sizes)))


def columns_of(parameters, *sizes):
    """How many features data has whose `parameters` are so many; None: there are never so many."""
    without = size(0, *sizes)
    each = size(1, *sizes) - without
    columns, rest = divmod(parameters - without, each)
    return columns if columns > 0 and not rest else None


def _weights(data, parts, expected, sizes):
    """The weights in PyTorch's order: W, R, b, c and P, layer by layer."""
    shapes = layout(data.shape[2], *sizes)
    if tuple([part.shape for part in parts]) != shapes:
        flat = parts[0] if len(parts) == 1 else torch.cat([part.flatten() for part in parts])
        if flat.shape != expected["parameters"]:
            raise _wrong_shape(data, "parameters", flat.shape, expected, sizes)
        parts = flat.split([math.prod(shape) for shape in shapes])
        parts = [part.view(shape) for part, shape in zip(parts, shapes)]
    return [parts[i] for i in _order(len(parts), sizes[-1] is not None)]


@lru_cache(maxsize=256)
def _order(count, projected):
    """Which part of `parameters` each of PyTorch's weights is."""
    each = 3 if projected else 2  # matrices
    biases = count // (each + 2) * each  # where they begin
    order = []
    for layer in range((count - biases) // 2):
        matrices = range(layer * each, (layer + 1) * each)
        order += [*matrices[:2], biases + 2 * layer, biases + 2 * layer + 1, *matrices[2:]]
    return order


def _shapes(
    data, state_size, num_layers, bidirectional, mode, projection_size, use_sequence_length
):
    """The shapes of the inputs that these attributes leave."""
    if len(data) != 3:
        raise ShapeError(f"RNN: data is {data}\n  expected 3 axes: steps, sequences, features")
    sizes = state_size, num_layers, bidirectional, mode, projection_size
    layers = num_layers * (1 + bidirectional)
    shapes = {
        "parameters": (size(data[2], *sizes),),
        "state": (layers, data[1], projection_size or state_size),
    }
    if mode == "lstm":
        shapes["state_cell"] = (layers, data[1], state_size)
    if use_sequence_length:
        shapes["sequence_length"] = data[1:2]
    return shapes


def _begin(data, state):
    """A state at the beginning; one for no sequences is what a graph has that was not told n."""
    if state is None or state.dim() != 3 or state.shape[1]:
        return state
    return data.new_zeros(state.shape[0], data.shape[1], state.shape[2])


def _zeros(data, expected):
    """The states at the beginning where none are given; those of one shape are one tensor."""
    shape, cell_shape = expected["state"], expected.get("state_cell")
    state = data.new_zeros(shape)
    if cell_shape is None:
        return state, None
    return state, state if cell_shape == shape else data.new_zeros(cell_shape)


def _wrong_shape(data, name, shape, expected, sizes) -> ShapeError:
    size, layers, bidirectional, mode, _ = sizes
    columns = columns_of(math.prod(shape), *sizes) if name == "parameters" else None
    hint = f", as of {columns} features," if columns else ""
    return ShapeError(
        f"RNN: {name} is {shape and tuple(shape)}{hint} for data {tuple(data.shape)}\n"
        f"  expected {name} {expected.get(name)} with mode={mode!r}, state_size={size}, "
        f"num_layers={layers}, bidirectional={bidirectional}"
    )


def _check(mode, num_layers, p, state_size, projection_size, clips):
    if num_layers < 1 or not 0 <= p <= 1:
        raise ArgumentError(
            f"RNN: num_layers is {num_layers}, p is {p}\n  expected 1 or more, and a probability"
        )
    if clips != (None, None):
        raise UnsupportedError(
            f"RNN: lstm_state_clip_min and lstm_state_clip_max are {clips}\n"
            "  expected None: PyTorch's kernels do not clip, nor does MXNet on a CPU"
        )
    if projection_size is not None and (mode != "lstm" or not 0 < projection_size < state_size):
        raise UnsupportedError(
            f"RNN: projection_size is {projection_size} with mode={mode!r}, "
            f"state_size={state_size}\n"
            "  expected None, or with mode='lstm' a size below state_size"
        )


@RNN.takes
def _(mode, use_sequence_length):
    names = ("data", "parameters", "state") + ("state_cell",) * (mode == "lstm")
    return names + ("sequence_length",) * use_sequence_length


@RNN.gives
def _(mode, state_outputs):
    names = ("output", "state_output", "statecell_output")
    return names[: (3 if mode == "lstm" else 2) if state_outputs else 1]


RNN.infer(_shapes)


class _OfParts(Op):
    """RNN that takes the parts of `parameters` one by one: to pack them takes a copy in each call.

    The inputs are data, the parts in the order of `layout`, all states or none, which stands for
    zeros, and sequence_length if there is one. It is not in the table: MXNet has no such operator.
    """

    def __init__(self):
        super().__init__(RNN.function, RNN.name, counted=None, traceable=False, draws=True)
        self.function = self.run = _of_parts
        self.inputs, self.needed, self.variadic = ("data",), (), True
        self.outputs_rule = RNN.outputs_rule

    def __reduce__(self) -> str:
        return "RNN_OF_PARTS"  # by its name in this module


def _of_parts(*data: Tensor, training: bool = False, **attributes):
    data, *others = data
    count = count_parts(attributes)
    parts, rest = tuple(others[:count]), others[count:]
    lengths = rest.pop() if attributes.get("use_sequence_length") else None
    state, cell = (*rest, None, None)[:2]
    return RNN.function(data, parts, state, cell, lengths, **attributes, training=training)


def count_parts(attributes: dict) -> int:
    """How many arrays `parameters` consist of: W, R, b and c of each layer, and P."""
    layers = attributes["num_layers"] * (1 + attributes.get("bidirectional", False))
    return layers * (4 if attributes.get("projection_size") is None else 5)


RNN_OF_PARTS = _OfParts()


@op
def _rnn_param_concat(*data: Tensor, dim: int = 1) -> Tensor:
    """The arrays one after the other along an axis: the `parameters` of RNN from flat parts."""
    return torch.cat(data, dim)


_rnn_param_concat.shaped(Concat.shape_rule)
