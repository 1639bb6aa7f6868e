"""Checkpoints of models with recurrent cells; their weights are saved gate by gate."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from .. import model, symbol
from .._old import missing
from .rnn_cell import BaseRNNCell

__all__ = [
    "do_rnn_checkpoint",
    "load_rnn_checkpoint",
    "rnn_unroll",
    "save_rnn_checkpoint",
]


def _listed(cells) -> list[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else list(cells)


def rnn_unroll(
    cell: BaseRNNCell, length: int, inputs=None, begin_state=None, input_prefix="", layout="NTC"
):
    """Deprecated: `BaseRNNCell.unroll`. Without inputs there is a variable for each step."""
    warnings.warn("rnn_unroll is deprecated; use the method unroll of a cell", stacklevel=2)
    if inputs is None:
        inputs = [symbol.Variable(f"{input_prefix}t{i}_data") for i in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


def save_rnn_checkpoint(cells, prefix, epoch: int, symbol, arg_params, aux_params) -> None:
    """Write a checkpoint as `model.save_checkpoint` does, with an array for each gate.

    Parameters
    ----------
    cells : BaseRNNCell or list of BaseRNNCell
        The cells of the graph.
    prefix, epoch, symbol, arg_params, aux_params
        As for `model.save_checkpoint`.
    """
    for cell in _listed(cells):
        arg_params = cell.unpack_weights(arg_params)
    model.save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells, prefix, epoch: int) -> tuple:
    """The graph, the parameters and the states that `save_rnn_checkpoint` wrote.

    Raises
    ------
    MissingFileError
        A file is missing.
    MXNetError
        A file is not what it should be.
    KeyError
        A parameter of a cell is not in it.
    """
    symbol, arg_params, aux_params = model.load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells, prefix, period: int = 1) -> Callable:
    """A callback at the end of an epoch that saves a checkpoint every `period` epochs."""
    period = max(1, int(period))

    def save(iter_no, sym=None, arg=None, aux=None) -> None:
        if (iter_no + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, iter_no + 1, sym, arg, aux)

    return save


missing.watch(globals())
