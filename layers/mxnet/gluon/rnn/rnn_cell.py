"""Recurrent cells: one step of a sequence, (x, states) -> (y, states)."""

from __future__ import annotations

from .._summary import indented
from ._formats import _format_sequence as _format_sequence  # programs import these from here
from ._formats import _get_begin_state as _get_begin_state
from ._formats import _mask_sequence_variable_length as _mask_sequence_variable_length
from ._formats import _reverse_sequences as _reverse_sequences
from ._modifier import BidirectionalCell, DropoutCell, ModifierCell, ResidualCell, ZoneoutCell
from ._recurrent import Cells, HybridRecurrentCell, RecurrentCell
from ._unroll import Sequence

__all__ = [
    "BidirectionalCell",
    "DropoutCell",
    "GRUCell",
    "HybridRecurrentCell",
    "HybridSequentialRNNCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RecurrentCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]


class _Cell(HybridRecurrentCell):
    """A cell with parameters of its own: W, R, b and c, with the rows of all gates."""

    gates = states = 1

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer,
        h2h_weight_initializer,
        i2h_bias_initializer,
        h2h_bias_initializer,
        input_size: int,
        prefix: str | None,
        params,
    ):
        super().__init__(prefix, params)
        self._hidden_size, self._input_size = hidden_size, input_size
        rows = self.gates * hidden_size
        for name, shape, init in (
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, hidden_size), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
            setattr(self, name, parameter)

    def _alias(self) -> str:
        return type(self).__name__.lower().removesuffix("cell")

    def state_info(self, batch_size: int = 0) -> list[dict]:
        """Shape and layout of each state."""
        info = {"shape": (batch_size, self._hidden_size), "__layout__": "NC"}
        return [info.copy() for _ in range(self.states)]

    def _maps(self, F, x, h, i2h_weight, h2h_weight, i2h_bias, h2h_bias) -> tuple:
        """W x + b and R h + c."""
        rows = self.gates * self._hidden_size
        return (
            F.FullyConnected(x, i2h_weight, i2h_bias, num_hidden=rows, name=self._named("i2h")),
            F.FullyConnected(h, h2h_weight, h2h_bias, num_hidden=rows, name=self._named("h2h")),
        )

    def __repr__(self) -> str:
        rows, columns = self.i2h_weight.shape
        return f"{type(self).__name__}({columns or None} -> {rows})"


def _activated(F, x, activation, name: str | None = None):
    """An activation by name, or by a function or a Block."""
    if not isinstance(activation, str):
        return activation(x)
    return F.Activation(x, act_type=activation, name=name)


class RNNCell(_Cell):
    """Elman's cell, h' = f(W x + b + R h + c).

    Parameters
    ----------
    hidden_size : int
        The size of h.
    activation : str, Block or callable
        f: a name as for `nn.Activation`, or what computes it.
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
        Of W and of R.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        Of b and of c.
    input_size : int
        The size of x; 0: the first call tells.

    Inputs: x (n, k); a list of h (n, hidden_size). Outputs: h'; a list of it.
    """

    def __init__(
        self,
        hidden_size: int,
        activation="tanh",
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params=None,
    ):
        weights = i2h_weight_initializer, h2h_weight_initializer
        biases = i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *weights, *biases, input_size, prefix, params)
        self._activation = activation

    def hybrid_forward(self, F, inputs, states, **parameters):
        """The output and the states after one step."""
        x, h = self._maps(F, inputs, states[0], **parameters)
        y = _activated(F, x + h, self._activation, self._named("out"))
        return y, [y]

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._activation})"


class LSTMCell(_Cell):
    """A cell of long short-term memory (Hochreiter and Schmidhuber 1997).

    s' = σ(f) s + σ(i) tanh(g), h' = σ(o) tanh(s'), where i, f, g, o = W x + b + R h + c.

    Parameters
    ----------
    hidden_size : int
        The size of h and s.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        As for `RNNCell`.
    input_size : int
        The size of x; 0: the first call tells.
    activation, recurrent_activation : str, Block or callable
        What stands for tanh and for σ, as for `RNNCell`.

    Inputs: x (n, k); a list of h and s (n, hidden_size). Outputs: h'; a list of h' and s'.
    """

    gates, states = 4, 2

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params=None,
        activation="tanh",
        recurrent_activation="sigmoid",
    ):
        weights = i2h_weight_initializer, h2h_weight_initializer
        biases = i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *weights, *biases, input_size, prefix, params)
        self._activation, self._recurrent_activation = activation, recurrent_activation

    def hybrid_forward(self, F, inputs, states, **parameters):
        """The output and the states after one step."""
        x, h = self._maps(F, inputs, states[0], **parameters)
        i, f, g, o = F.split(x + h, num_outputs=4, name=self._named("slice"))
        i, f, o = (_activated(F, gate, self._recurrent_activation) for gate in (i, f, o))
        g = _activated(F, g, self._activation)
        s = F.elemwise_add(f * states[1], i * g, name=self._named("state"))
        y = F.elemwise_mul(o, _activated(F, s, self._activation), name=self._named("out"))
        return y, [y, s]


class GRUCell(_Cell):
    """A gated recurrent unit (Cho et al., arXiv:1406.1078).

    h' = (1 - σ(z)) tanh(W x + b + σ(r) (R h + c)) + σ(z) h, where r, z = W x + b + R h + c, with
    rows of their own in W, b, R and c.

    Parameters
    ----------
    hidden_size : int
        The size of h.
    i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        As for `RNNCell`.
    input_size : int
        The size of x; 0: the first call tells.

    Inputs: x (n, k); a list of h (n, hidden_size). Outputs: h'; a list of it.
    """

    gates = 3

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params=None,
    ):
        weights = i2h_weight_initializer, h2h_weight_initializer
        biases = i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *weights, *biases, input_size, prefix, params)

    def hybrid_forward(self, F, inputs, states, **parameters):
        """The output and the states after one step."""
        x, h = self._maps(F, inputs, states[0], **parameters)
        xr, xz, xn = F.split(x, num_outputs=3, name=self._named("i2h_slice"))
        hr, hz, hn = F.split(h, num_outputs=3, name=self._named("h2h_slice"))
        r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
        n = F.tanh(xn + r * hn)
        y = F.elemwise_add((1 - z) * n, z * states[0], name=self._named("out"))
        return y, [y]


class _Row(Cells):
    """Cells in a row: what SequentialRNNCell and HybridSequentialRNNCell have in common."""

    def add(self, cell: RecurrentCell) -> None:
        """Put a cell at the end."""
        self.register_child(cell)

    def __getitem__(self, index: int) -> RecurrentCell:
        return list(self._children.values())[index]

    def __len__(self) -> int:
        return len(self._children)

    def __repr__(self) -> str:
        rows = "\n".join(f"({n}): {indented(cell)}" for n, cell in self._children.items())
        return f"{type(self).__name__}(\n{rows}\n)"

    def _run(self, x, states: list) -> tuple:
        rest, ends = list(states), []
        for cell in self._children.values():
            count = len(cell.state_info())
            x, end = cell(x, rest[:count])
            rest, ends = rest[count:], ends + end
        return x, ends

    def unroll(
        self,
        length: int,
        inputs,
        begin_state: list | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length=None,
    ):
        """Step through sequences with one cell after the other: see `RecurrentCell.unroll`."""
        self.reset()
        sequence = Sequence(type(self).__name__, length, inputs, layout, valid_length)
        rest = sequence.begin(self) if begin_state is None else list(begin_state)
        y, ends = sequence.steps, []
        for cell in self._children.values():
            count = len(cell.state_info())
            merge = merge_outputs if cell is self[-1] else None
            y, end = cell.unroll(length, y, rest[:count], layout, merge, valid_length)
            rest, ends = rest[count:], ends + end
        return y, ends


class SequentialRNNCell(_Row):
    """Cells in a row, each on the output of the one before; its states are those of all.

    Inputs: x (n, k); a list of states. Outputs: y of the last cell; a list of states.
    """

    def forward(self, inputs, states):
        """The output of the last cell, and the states of all."""
        return self._run(inputs, states)


class HybridSequentialRNNCell(_Row, HybridRecurrentCell):
    """Hybrid cells in a row, each on the output of the one before; its states are those of all.

    Inputs: x (n, k); a list of states. Outputs: y of the last cell; a list of states.
    """

    def hybrid_forward(self, F, inputs, states):
        """The output of the last cell, and the states of all."""
        return self._run(inputs, states)
