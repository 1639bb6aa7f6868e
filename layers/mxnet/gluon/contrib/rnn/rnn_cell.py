"""Dropout that is the same at all steps, an LSTM with a projection, and steps in a loop."""

from __future__ import annotations

from .... import ndarray, symbol
from ....base import ArgumentError
from ....ndarray import NDArray
from ...rnn import BidirectionalCell, HybridRecurrentCell, ModifierCell, RecurrentCell
from ...rnn._unroll import Sequence

__all__ = ["LSTMPCell", "VariationalDropoutCell"]


class VariationalDropoutCell(ModifierCell):
    """In training, drops the same elements at all steps of a sequence.

    (Gal and Ghahramani, arXiv:1512.05287.) `reset` draws anew, and so does `unroll`.

    Parameters
    ----------
    base_cell : RecurrentCell
    drop_inputs, drop_states, drop_outputs : float
        The probability for elements of x, of the first state, and of outputs.

    Inputs: as for the base cell. Outputs: as for the base cell.

    Raises
    ------
    ArgumentError
        States of a BidirectionalCell, which has no single step, shall be dropped.
    """

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ):
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise ArgumentError(
                "VariationalDropoutCell: the base cell is a BidirectionalCell, and drop_states is "
                f"{drop_states}\n  expected a VariationalDropoutCell around each of its cells"
            )
        super().__init__(base_cell)
        self.drop_inputs, self.drop_states = drop_inputs, drop_states
        self.drop_outputs = drop_outputs

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        """Forget which elements are dropped: for a new sequence."""
        super().reset()
        self._masks: dict = {}

    def hybridize(self, active: bool = True, **kwargs) -> None:
        """Hybridize the base cell. What is dropped at all steps has no place in a graph of one."""
        self.base_cell.hybridize(active, **kwargs)

    def _drop(self, F, what: str, x, rate: float):
        """x times the mask of this sequence, whose elements are 0 or 1 / (1 - rate)."""
        if not rate:
            return x
        key = what, type(x)
        if key not in self._masks:
            self._masks[key] = F.Dropout(F.ones_like(x), p=rate)
        return x * self._masks[key]

    def hybrid_forward(self, F, inputs, states):
        """The output and the states after one step."""
        states = list(states)
        if states:
            states[0] = self._drop(F, "states", states[0], self.drop_states)
        y, states = self.base_cell(self._drop(F, "inputs", inputs, self.drop_inputs), states)
        return self._drop(F, "outputs", y, self.drop_outputs), states

    def unroll(
        self,
        length: int,
        inputs,
        begin_state: list | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length=None,
    ):
        """Step through sequences: see `RecurrentCell.unroll`."""
        if not isinstance(self.base_cell, BidirectionalCell):
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        return self._around(length, inputs, begin_state, layout, merge_outputs, valid_length)

    def _around(self, length, inputs, begin_state, layout, merge_outputs, valid_length):
        """What a cell without a single step gives, with inputs and outputs dropped."""
        self.reset()
        sequence = Sequence(type(self).__name__, length, inputs, layout, valid_length)
        steps = [self._drop(sequence.F, "inputs", x, self.drop_inputs) for x in sequence.steps]
        begin = sequence.begin(self) if begin_state is None else begin_state
        steps, states = self.base_cell.unroll(length, steps, begin, layout, False, valid_length)
        steps = [self._drop(sequence.F, "outputs", y, self.drop_outputs) for y in steps]
        return sequence.outputs(steps, merge_outputs), states

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"


class LSTMPCell(HybridRecurrentCell):
    """An LSTM whose output is projected to fewer elements (Sak et al., arXiv:1402.1128).

    s' = σ(f) s + σ(i) tanh(g), h' = P (σ(o) tanh(s')), where i, f, g, o = W x + b + R h + c.

    Parameters
    ----------
    hidden_size : int
        The size of s.
    projection_size : int
        The size of h.
    i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer : optional
        Of W, of R and of P: str or Initializer.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer
        Of b and of c.
    input_size : int
        The size of x; 0: the first call tells.

    Inputs: x (n, k); a list of h (n, projection_size) and s (n, hidden_size).
    Outputs: h'; a list of h' and s'.
    """

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        h2r_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params=None,
    ):
        super().__init__(prefix, params)
        self._hidden_size, self._projection_size = hidden_size, projection_size
        self._input_size, rows = input_size, 4 * hidden_size
        for name, shape, init in (
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, projection_size), h2h_weight_initializer),
            ("h2r_weight", (projection_size, hidden_size), h2r_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            parameter = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
            setattr(self, name, parameter)

    def _alias(self) -> str:
        return "lstmp"

    def state_info(self, batch_size: int = 0) -> list[dict]:
        """Shape and layout of h and s."""
        sizes = self._projection_size, self._hidden_size
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def hybrid_forward(
        self, F, inputs, states, i2h_weight, h2h_weight, h2r_weight, i2h_bias, h2h_bias
    ):
        """The output and the states after one step."""
        rows, named = 4 * self._hidden_size, self._named
        x = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=named("i2h"))
        h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=named("h2h"))
        i, f, g, o = F.split(x + h, num_outputs=4, name=named("slice"))
        i, f, o = F.sigmoid(i), F.sigmoid(f), F.sigmoid(o)
        s = F.elemwise_add(f * states[1], i * F.tanh(g), name=named("state"))
        hidden = F.elemwise_mul(o, F.tanh(s), name=named("hidden"))
        size = self._projection_size
        y = F.FullyConnected(hidden, h2r_weight, None, size, True, name=named("out"))
        return y, [y, s]

    def __repr__(self) -> str:
        rows, columns = self.i2h_weight.shape
        return f"LSTMPCell({columns or None} -> {rows} -> {self._projection_size})"


def dynamic_unroll(
    cell: RecurrentCell,
    inputs,
    begin_state: list,
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length=None,
):
    """Step through sequences in one loop of the graph, `contrib.foreach`, whatever their length.

    Parameters
    ----------
    cell : RecurrentCell
    inputs : array (t, n, k), or as `layout` says
    begin_state : list
    drop_inputs, drop_outputs : float
        In training, the probability that an element is 0 at all steps.
    layout : str
        Where the axis of steps is: at T; (n, ...) are behind it.
    valid_length : array (n,), optional
        The number of steps of each sequence: outputs are 0 after them, and states stay.

    Returns
    -------
    outputs : array
        In `layout`.
    states : list
        After the last step of each sequence.

    Raises
    ------
    ArgumentError
        `layout` has no axis T.
    """
    if "T" not in layout:
        raise ArgumentError(f"dynamic_unroll: layout is {layout!r}\n  expected 'TNC' or 'NTC'")
    F = ndarray if isinstance(inputs, NDArray) else symbol
    axis = layout.index("T")
    x = F.swapaxes(inputs, dim1=0, dim2=axis) if axis else inputs
    if drop_inputs:
        x = F.Dropout(x, p=drop_inputs, axes=(0,))
    if valid_length is None:
        y, states = F.contrib.foreach(cell, x, begin_state)
    else:
        y, states = _valid_steps(F, cell, x, begin_state, valid_length)
    if drop_outputs:
        y = F.Dropout(y, p=drop_outputs, axes=(0,))
    return (F.swapaxes(y, dim1=0, dim2=axis) if axis else y), states


def _valid_steps(F, cell: RecurrentCell, x, begin_state: list, valid_length):
    """The steps of sequences of several lengths; a sequence that has ended keeps its states."""

    def step(x, counted):
        done, *old = counted
        y, new = cell(x, old)
        goes_on = F.broadcast_lesser(done, valid_length)
        return y, [done + 1, *(F.where(goes_on, a, b) for a, b in zip(new, old))]

    y, (_, *states) = F.contrib.foreach(step, x, [F.zeros_like(valid_length), *begin_state])
    return F.SequenceMask(y, valid_length, use_sequence_length=True, axis=0), states
