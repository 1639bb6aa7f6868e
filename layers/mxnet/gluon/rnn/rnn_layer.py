"""Recurrent layers over whole sequences."""

from __future__ import annotations

from functools import partial
from typing import Any

from ... import ndarray, symbol
from ..._np_shape import unknown_size
from ..._table import rnn
from ...base import ArgumentError, ShapeError, UnsupportedError
from ...ndarray import NDArray
from ...ndarray.register import eager
from ...numpy._array import in_kind
from ...symbol import Symbol
from ..block import HybridBlock
from ..parameter import ParameterError
from .rnn_cell import (
    BidirectionalCell,
    DropoutCell,
    GRUCell,
    HybridSequentialRNNCell,
    LSTMCell,
    RNNCell,
)

__all__ = ["GRU", "LSTM", "RNN"]

_rnn_of_parts = eager(rnn.RNN_OF_PARTS)
_PARTS = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")


class _RNNLayer(HybridBlock):
    """What RNN, LSTM and GRU have in common: their parameters, and one call of the operator RNN.

    The parameters of layer i are li_i2h_weight, li_h2h_weight, li_i2h_bias and li_h2h_bias, ri_...
    where it runs backward. Files have them under the names of the cells that do the same.
    """

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        initializers: tuple,
        dtype,
        projection_size: int | None = None,
        clips: tuple = (None, None, False),
        use_sequence_length: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        name = type(self).__name__
        if layout not in ("TNC", "NTC"):
            raise ParameterError(f"{name}: layout is {layout!r}\n  expected 'TNC' or 'NTC'")
        if mode not in rnn.KERNELS:
            raise ParameterError(f"{name}: activation is {mode[4:]!r}\n  expected 'relu' or 'tanh'")
        self._layout, self._dtype, bidirectional = layout, dtype, bool(bidirectional)
        self._dir, self._mode = 2 if bidirectional else 1, mode
        self._hidden_size, self._projection_size = hidden_size, projection_size
        self._num_layers, self._dropout = num_layers, dropout
        self._input_size, self._use_sequence_length = input_size, use_sequence_length
        self._gates = rnn.KERNELS[mode][1]
        self._kwargs = {
            "state_size": hidden_size,
            "projection_size": projection_size,
            "num_layers": num_layers,
            "bidirectional": bidirectional,
            "p": dropout,
            "mode": mode,
            "lstm_state_clip_min": clips[0],
            "lstm_state_clip_max": clips[1],
            "lstm_state_clip_nan": clips[2],
            "use_sequence_length": use_sequence_length,
        }
        defaults = rnn.RNN.defaults
        self._not_default = {n: v for n, v in self._kwargs.items() if v != defaults[n]}
        self._state_size = hidden_size if projection_size is None else projection_size
        self._make(input_size, dict(zip(_PARTS, initializers)))

    def _make(self, input_size: int, initializers: dict[str, Any]) -> None:
        """Make the parameters, layer by layer."""
        mode, size, count, projection_size = (
            self._kwargs[n] for n in ("mode", "state_size", "num_layers", "projection_size")
        )
        parts = _PARTS[:4] if projection_size is None else _PARTS
        layers = [f"{side}{i}" for i in range(count) for side in "lr"[: self._dir]]
        self._parts = [  # of the operator's parameters: weights, then biases
            f"{layer}_{part}"
            for role in ("weight", "bias")
            for layer in layers
            for part in parts
            if part.endswith(role)
        ]
        sizes = size, count, self._dir == 2, mode, projection_size
        shapes = dict(zip(self._parts, rnn.layout(input_size, *sizes)))
        for name in (f"{layer}_{part}" for layer in layers for part in parts):
            parameter = self.params.get(
                name,
                shape=shapes[name],
                init=initializers.get(name.partition("_")[2]),
                dtype=self._dtype,
                allow_deferred_init=True,
            )
            setattr(self, name, parameter)

    def _collect_params_with_prefix(self, prefix: str = "") -> dict:
        prefix += "." if prefix else ""
        found = {}
        for key, parameter in self._reg_params.items():
            layer, _, part = key.partition("_")
            side = f"{layer[0]}_cell." if self._dir == 2 else ""
            found[f"{prefix}_unfused.{layer[1:]}.{side}{part}"] = parameter
        return found

    def state_info(self, batch_size: int = 0) -> list[dict]:
        """Shape, layout and dtype of each state."""
        layers = self._kwargs["num_layers"] * self._dir
        sizes = [self._state_size]
        if self._kwargs["mode"] == "lstm":
            sizes.append(self._kwargs["state_size"])
        return [
            {"shape": (layers, batch_size, n), "__layout__": "LNC", "dtype": self._dtype}
            for n in sizes
        ]

    def begin_state(self, batch_size: int = 0, func=ndarray.zeros, **kwargs) -> list:
        """States to begin with.

        Parameters
        ----------
        batch_size : int
        func : callable
            Makes each of them, from ``name``, ``shape``, ``__layout__`` and ``dtype``.
        **kwargs
            More for `func`, such as ``ctx``.

        Returns
        -------
        list of NDArray, or of Symbol
            (num_layers, batch_size, hidden_size), twice the layers when bidirectional.
        """
        return [
            in_kind(func(name=f"{self.prefix}h0_{i}", **(info | kwargs)))
            for i, info in enumerate(self.state_info(batch_size))
        ]

    def cast(self, dtype) -> None:
        """Convert all parameters, and the states of `begin_state`, to another dtype."""
        super().cast(dtype)
        self._dtype = dtype

    def infer_shape(self, inputs, *args) -> None:
        """Set the shapes that the size of the inputs tells."""
        if len(inputs.shape) != 3:
            raise ShapeError(
                f"{type(self).__name__}: the inputs are {inputs.shape}\n"
                f"  expected three axes, {self._layout}"
            )
        for side in "lr"[: self._dir]:
            weight = self._reg_params[f"{side}0_i2h_weight"]
            weight.shape = (weight.shape[0], inputs.shape[2])

    def __call__(self, inputs, states=None, sequence_length=None):
        """The outputs; with `states` also these after the last step."""
        if (sequence_length is not None) is not self._kwargs["use_sequence_length"]:
            given = "is missing" if sequence_length is None else "is given"
            raise ArgumentError(
                f"{type(self).__name__}: sequence_length {given}\n  expected it when the layer is "
                "made with use_sequence_length=True, and only then"
            )
        if isinstance(states, (NDArray, Symbol)):
            states = [states]
        args = [inputs, states, sequence_length]
        while args[-1] is None:
            args.pop()
        return super().__call__(*args)

    def hybrid_forward(self, F, inputs, states=None, sequence_length=None, **parameters):
        """The outputs; with `states` also these after the last step."""
        if states is not None and len(states) != len(self.state_info()):
            raise ArgumentError(
                f"{type(self).__name__}: {len(states)} states\n"
                f"  expected {len(self.state_info())}, as begin_state() gives"
            )
        x = inputs if self._layout == "TNC" else F.swapaxes(inputs, dim1=0, dim2=1)
        parts = [parameters[name] for name in self._parts]
        lengths = {} if sequence_length is None else {"sequence_length": sequence_length}
        if F is symbol:  # MXNet, which reads exported graphs, does not flatten weights itself
            weights = [p.reshape(-1) for n, p in zip(self._parts, parts) if n.endswith("weight")]
            packed = F._internal._rnn_param_concat(*weights, *parts[len(weights) :], dim=0)
            # Without states these are zeros for whatever number of sequences comes.
            begin = states or self.begin_state(unknown_size(), func=F.zeros)
            given = dict(zip(("state", "state_cell"), begin)) | lengths
            y, *end = F.RNN(x, packed, **given, **self._kwargs, state_outputs=True)
        elif states is None:
            y = _rnn_of_parts(x, *parts, *lengths.values(), **self._not_default)
        else:
            rest = [*states, *lengths.values()]
            y, *end = _rnn_of_parts(x, *parts, *rest, **self._not_default, state_outputs=True)
        y = y if self._layout == "TNC" else F.swapaxes(y, dim1=0, dim2=1)
        return y if states is None else (y, end)

    def _unfuse(self) -> HybridSequentialRNNCell:
        """Cells with the same parameters, which do the same step by step."""
        mode, size, projection_size = (
            self._kwargs[n] for n in ("mode", "state_size", "projection_size")
        )
        if projection_size is not None:
            raise UnsupportedError(
                f"{type(self).__name__}: there is no cell for projection_size={projection_size}\n"
                "  expected None"
            )
        make = {"lstm": LSTMCell, "gru": GRUCell}.get(mode) or partial(RNNCell, activation=mode[4:])
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            for i in range(self._kwargs["num_layers"]):
                sides = [
                    make(size, input_size=weight.shape[1], prefix=f"{side}{i}_")
                    for side in "lr"[: self._dir]
                    for weight in [self._reg_params[f"{side}{i}_i2h_weight"]]
                ]
                stack.add(BidirectionalCell(*sides) if self._dir == 2 else sides[0])
                if self._kwargs["p"] and i < self._kwargs["num_layers"] - 1:
                    stack.add(DropoutCell(self._kwargs["p"], prefix=f"dropout{i}_"))
        return stack

    def __repr__(self) -> str:
        kept = self._kwargs
        columns = self.l0_i2h_weight.shape[1] or None
        parts = [f"{columns} -> {kept['state_size']}", self._layout]
        parts += [f"num_layers={kept['num_layers']}"] if kept["num_layers"] != 1 else []
        parts += [f"dropout={kept['p']}"] if kept["p"] else []
        parts += ["bidirectional"] if kept["bidirectional"] else []
        return f"{type(self).__name__}({', '.join(parts)})"


class RNN(_RNNLayer):
    """Elman's recurrent layers, h' = f(W x + b + R h + c), one above the other.

    Parameters
    ----------
    hidden_size : int
        The size of h.
    num_layers : int
    activation : {'relu', 'tanh'}
    layout : {'TNC', 'NTC'}
        The axes of inputs and outputs: steps, sequences, features. States are LNC always.
    dropout : float
        The rate of dropout between layers, in training.
    bidirectional : bool
        Beside each layer one that runs from the last step to the first.
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
        Of W and of R.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        Of b and of c.
    input_size : int
        The size of x; 0: the first call tells.
    dtype : str or numpy type
    use_sequence_length : bool
        Calls come with `sequence_length`, the number of steps of each sequence; outputs are 0 after
        them, and states are those after the last one.

    Inputs: x (t, n, k), or (n, t, k); states (num_layers, n, hidden_size), optional;
    sequence_length (n,). Layers count twice in the states when bidirectional.
    Outputs: (t, n, hidden_size), or (n, t, hidden_size), with twice the features when
    bidirectional; with states also a list of these after the last step. Without states it begins
    with zeros.

    Raises
    ------
    ParameterError
        `layout` or `activation` is unknown.
    ArgumentError
        In a call: the number of states is wrong, or `sequence_length` is given or left out against
        `use_sequence_length`.
    ShapeError
        In a call: the shapes do not fit.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size: int = 0,
        dtype="float32",
        **kwargs,
    ):
        weights = i2h_weight_initializer, h2h_weight_initializer
        biases = i2h_bias_initializer, h2h_bias_initializer
        super().__init__(
            f"rnn_{activation}",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (*weights, *biases),
            dtype,
            **kwargs,
        )


class LSTM(_RNNLayer):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), one layer above the other.

    s' = σ(f) s + σ(i) tanh(g), h' = σ(o) tanh(s'), where i, f, g, o = W x + b + R h + c.

    Parameters
    ----------
    hidden_size : int
        The size of h and s.
    num_layers, layout, dropout, bidirectional, input_size, dtype
        As for `RNN`; so are `use_sequence_length` and the initializers.
    projection_size : int, optional
        h is P σ(o) tanh(s'), of this size (Sak et al., arXiv:1402.1128).
    h2r_weight_initializer : str or Initializer, optional
        Of P.
    state_clip_min, state_clip_max, state_clip_nan
        Not supported: with one of them, calls raise UnsupportedError.

    Inputs: x as for `RNN`; a list of two states, h (num_layers, n, hidden_size or projection_size)
    and s (num_layers, n, hidden_size), optional; sequence_length (n,). Outputs and errors: as for
    `RNN`, with the size of h.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        projection_size: int | None = None,
        h2r_weight_initializer=None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype="float32",
        **kwargs,
    ):
        weights = i2h_weight_initializer, h2h_weight_initializer
        biases = i2h_bias_initializer, h2h_bias_initializer
        super().__init__(
            "lstm",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (*weights, *biases, h2r_weight_initializer),
            dtype,
            projection_size,
            (state_clip_min, state_clip_max, state_clip_nan),
            **kwargs,
        )


class GRU(_RNNLayer):
    """Gated recurrent units (Cho et al., arXiv:1406.1078), one layer above the other.

    h' = (1 - σ(z)) tanh(W x + b + σ(r) (R h + c)) + σ(z) h, where r, z = W x + b + R h + c, with
    rows of their own in W, b, R and c.

    Parameters
    ----------
    hidden_size : int
        The size of h.
    num_layers, layout, dropout, bidirectional, input_size, dtype
        As for `RNN`; so are `use_sequence_length` and the initializers.

    Inputs, outputs and errors: as for `RNN`.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        dtype="float32",
        **kwargs,
    ):
        weights = i2h_weight_initializer, h2h_weight_initializer
        biases = i2h_bias_initializer, h2h_bias_initializer
        super().__init__(
            "gru",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (*weights, *biases),
            dtype,
            **kwargs,
        )
