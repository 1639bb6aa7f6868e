"""Cells around other cells, and without parameters of their own."""

from __future__ import annotations

from ... import ndarray
from ...base import ArgumentError, UnsupportedError, numeric_types
from ._recurrent import Cells, HybridRecurrentCell, RecurrentCell
from ._unroll import Sequence


class DropoutCell(HybridRecurrentCell):
    """In training, each element is 0 with probability `rate`, the others times 1 / (1 - rate).

    Parameters
    ----------
    rate : float
        From 0 to 1.
    axes : tuple of int
        Axes along which the same elements are dropped.

    Inputs: x, any shape; an empty list. Outputs: the same.

    Raises
    ------
    ArgumentError
        `rate` is no number.
    """

    def __init__(self, rate: float, axes: tuple[int, ...] = (), prefix=None, params=None):
        if not isinstance(rate, numeric_types):
            raise ArgumentError(f"DropoutCell: rate is {rate!r}\n  expected a number")
        super().__init__(prefix, params)
        self._rate, self._axes = rate, axes

    def _alias(self) -> str:
        return "dropout"

    def state_info(self, batch_size: int = 0) -> list[dict]:
        """There is no state."""
        return []

    def hybrid_forward(self, F, inputs, states):
        """x with elements dropped, in training."""
        if self._rate > 0:
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name=self._named("fwd"))
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs,
        begin_state: list | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length=None,
    ):
        """All steps in one, where inputs are in one array: see `RecurrentCell.unroll`."""
        self.reset()
        if isinstance(inputs, (list, tuple)) or merge_outputs is False:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs)
        return self(inputs, [])

    def __repr__(self) -> str:
        return f"DropoutCell(rate={self._rate}, axes={self._axes})"


class ModifierCell(Cells, HybridRecurrentCell):
    """The base of cells that change what another cell does; parameters and states are its.

    Parameters
    ----------
    base_cell : RecurrentCell
    """

    def __init__(self, base_cell: RecurrentCell):
        super().__init__(prefix=base_cell.prefix + self._alias())
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self):
        """The parameters of the base cell."""
        return self.base_cell.params

    def begin_state(self, batch_size: int = 0, func=ndarray.zeros, **kwargs) -> list:
        """States to begin with, those of the base cell: see `RecurrentCell.begin_state`."""
        self._expect_not_modified()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(batch_size, func, **kwargs)
        finally:
            self.base_cell._modified = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell!r})"


class ZoneoutCell(ModifierCell):
    """In training, each element of output and states stays as it was with some probability.

    (Krueger et al., arXiv:1606.01305.) Before the first step the output is 0.

    Parameters
    ----------
    base_cell : RecurrentCell
    zoneout_outputs, zoneout_states : float
        The probability for outputs and for states.

    Inputs: as for the base cell. Outputs: as for the base cell.

    Raises
    ------
    ArgumentError
        The base cell is a BidirectionalCell.
    """

    def __init__(
        self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ):
        if isinstance(base_cell, BidirectionalCell):
            raise ArgumentError(
                "ZoneoutCell: the base cell is a BidirectionalCell, which has no single step\n"
                "  expected a ZoneoutCell around each of its cells"
            )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """Forget the last output: for a new sequence."""
        super().reset()
        self._prev_output = None

    def hybridize(self, active: bool = True, **kwargs) -> None:
        """Hybridize the base cell. The last output has no place in a graph of one step."""
        self.base_cell.hybridize(active, **kwargs)

    def hybrid_forward(self, F, inputs, states):
        """The output and the states after one step."""
        y, new = self.base_cell(inputs, states)
        of_outputs, of_states = self.zoneout_outputs, self.zoneout_states
        if of_outputs:
            known = type(self._prev_output) is type(y)
            y = _zoned(F, of_outputs, y, self._prev_output if known else F.zeros_like(y))
        if of_states:
            new = [_zoned(F, of_states, s, old) for s, old in zip(new, states)]
        self._prev_output = y
        return y, new

    def __repr__(self) -> str:
        outputs, states = self.zoneout_outputs, self.zoneout_states
        return f"ZoneoutCell(p_out={outputs}, p_state={states}, {self.base_cell!r})"


def _zoned(F, rate: float, new, old):
    """The new values, but with some probability the old ones; in training."""
    return F.where(F.Dropout(F.ones_like(new), p=rate), new, old)


class ResidualCell(ModifierCell):
    """Adds its input to the output of the base cell (Wu et al., arXiv:1609.08144).

    Parameters
    ----------
    base_cell : RecurrentCell

    Inputs: as for the base cell, whose output has the shape of x. Outputs: as for the base cell.
    """

    def hybrid_forward(self, F, inputs, states):
        """The output and the states after one step."""
        y, states = self.base_cell(inputs, states)
        return F.elemwise_add(y, inputs, name=self._named("fwd")), states

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
        self.reset()
        sequence = Sequence(type(self).__name__, length, inputs, layout, valid_length)
        begin = sequence.begin(self) if begin_state is None else begin_state
        steps, states = self.base_cell.unroll(
            length, sequence.steps, begin, layout, False, valid_length
        )
        steps = [sequence.F.elemwise_add(y, x) for y, x in zip(steps, sequence.steps)]
        return sequence.outputs(steps, merge_outputs), states


class BidirectionalCell(Cells, HybridRecurrentCell):
    """Two cells, of which the second goes from the last step to the first; only to be unrolled.

    Parameters
    ----------
    l_cell, r_cell : RecurrentCell
    output_prefix : str
        What names of outputs in a graph begin with.

    Inputs of `unroll`: as for both cells. Outputs: at each step those of both, (n, l + r); the
    states of the first, then of the second.
    """

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_"):
        super().__init__(prefix="")
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def forward(self, inputs, states):
        """Not supported: there is no single step.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError("BidirectionalCell: there is no single step\n  expected unroll")

    def unroll(
        self,
        length: int,
        inputs,
        begin_state: list | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length=None,
    ):
        """Step through sequences in both directions: see `RecurrentCell.unroll`."""
        self.reset()
        sequence = Sequence(type(self).__name__, length, inputs, layout, valid_length)
        states = sequence.begin(self) if begin_state is None else begin_state
        left, right = self._children.values()
        count, rest = len(left.state_info()), (layout, False, valid_length)
        steps = sequence.steps
        ls, l_ends = left.unroll(length, steps, states[:count], *rest)
        rs, r_ends = right.unroll(length, sequence.reversed(steps), states[count:], *rest)
        prefix = self._output_prefix
        steps = [
            sequence.F.concat(*both, dim=1, name=f"{prefix}t{i}")
            for i, both in enumerate(zip(ls, sequence.reversed(rs)))
        ]
        return sequence.outputs(steps, merge_outputs, f"{prefix}out"), l_ends + r_ends

    def __repr__(self) -> str:
        left, right = self._children.values()
        return f"BidirectionalCell(forward={left!r}, backward={right!r})"
