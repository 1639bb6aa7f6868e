"""What all cells have in common."""

from __future__ import annotations

from ... import ndarray
from ...base import ArgumentError, StateError, UnsupportedError
from ...numpy._array import in_kind
from ..block import Block, HybridBlock
from ._unroll import Sequence


class RecurrentCell(Block):
    """The base of cells.

    A subclass defines `state_info`, and ``forward(self, x, states)``, which gives the output and a
    list of the new states.

    Inputs: x (n, k); a list of states, (n, ...) each. Outputs: y (n, m); a list of states.
    """

    _modified = False

    def __init__(self, prefix: str | None = None, params=None):
        super().__init__(prefix, params)
        self.reset()

    def reset(self) -> None:
        """Count steps and states from 0 again: for a new sequence."""
        self._counter = self._init_counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict]:
        """Shape and layout of each state.

        Raises
        ------
        UnsupportedError
            The subclass does not define it.
        """
        raise UnsupportedError(f"{type(self).__name__}: state_info is not defined")

    def begin_state(self, batch_size: int = 0, func=ndarray.zeros, **kwargs) -> list:
        """States to begin with.

        Parameters
        ----------
        batch_size : int
        func : callable
            Makes each of them, from ``name``, ``shape`` and ``__layout__``.
        **kwargs
            More for `func`, such as ``ctx`` and ``dtype``.

        Raises
        ------
        StateError
            The cell is inside of a ModifierCell: its states are to be had there.
        """
        self._expect_not_modified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            name = f"{self.prefix}begin_state_{self._init_counter}"
            states.append(in_kind(func(name=name, **(info | kwargs))))
        return states

    def unroll(
        self,
        length: int,
        inputs,
        begin_state: list | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length=None,
    ):
        """Step through sequences.

        Parameters
        ----------
        length : int
            The number of steps.
        inputs : array (n, t, k), or (t, n, k), or a list of arrays (n, k)
        begin_state : list, optional
            By default zeros.
        layout : {'NTC', 'TNC'}
            The axes of inputs and outputs in one array: sequences, steps, features.
        merge_outputs : bool, optional
            True: outputs in one array. False: as a list. By default a list, but with
            `valid_length` one array.
        valid_length : array (n,), optional
            The number of steps of each sequence: outputs are 0 after them.

        Returns
        -------
        outputs : array or list of arrays
        states : list
            After the last step of each sequence.

        Raises
        ------
        ShapeError
            The inputs have another number of steps.
        ArgumentError
            `layout` has no axis T.
        """
        self.reset()
        sequence = Sequence(type(self).__name__, length, inputs, layout, valid_length)
        states = sequence.begin(self) if begin_state is None else begin_state
        outputs, passed = [], []
        for x in sequence.steps:
            y, states = self(x, states)
            outputs.append(y)
            passed.append(states)
        return sequence.outputs(outputs, merge_outputs), sequence.last(passed)

    def forward(self, inputs, states):
        """The output and the states after one step.

        Raises
        ------
        ArgumentError
            There are more or fewer states than the cell has.
        """
        if len(states) != len(self.state_info()):
            raise ArgumentError(
                f"{type(self).__name__}: {len(states)} states\n"
                f"  expected {len(self.state_info())}, as begin_state() gives"
            )
        self._counter += 1
        return super().forward(inputs, states)

    def _expect_not_modified(self) -> None:
        if self._modified:
            raise StateError(
                f"begin_state: this {type(self).__name__} is inside of a cell that modifies it\n"
                "  expected begin_state() of the outer cell"
            )

    def _named(self, part: str) -> str:
        """The name of what a step computes, in a graph."""
        return f"t{self._counter}_{part}"


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """The base of cells that can become graphs: they define `hybrid_forward`."""


class Cells(RecurrentCell):
    """A cell that consists of others: its states are theirs."""

    def state_info(self, batch_size: int = 0) -> list[dict]:
        """Shape and layout of each state of each cell."""
        return [i for cell in self._children.values() for i in cell.state_info(batch_size)]

    def begin_state(self, batch_size: int = 0, func=ndarray.zeros, **kwargs) -> list:
        """States to begin with, of each cell: see `RecurrentCell.begin_state`."""
        self._expect_not_modified()
        cells = self._children.values()
        return [s for cell in cells for s in cell.begin_state(batch_size, func, **kwargs)]
