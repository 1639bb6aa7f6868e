"""Recurrent cells that make graphs: one step of a sequence, (x, states) -> (y, states).

Each step is a part of the graph with a name of its own, such as ``lstm_t0_``; the steps share
their parameters.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from .. import initializer, ndarray, symbol
from .._old import missing
from .._table.rnn import columns_of
from ..base import ArgumentError, ParameterError, ShapeError, UnsupportedError, numeric_types
from ..ndarray import NDArray
from ..symbol import Symbol

__all__ = [
    "BaseConvRNNCell",
    "BaseRNNCell",
    "BidirectionalCell",
    "ConvGRUCell",
    "ConvLSTMCell",
    "ConvRNNCell",
    "DropoutCell",
    "FusedRNNCell",
    "GRUCell",
    "LSTMCell",
    "ModifierCell",
    "RNNCell",
    "RNNParams",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]

GATES = {
    "rnn_relu": [""],
    "rnn_tanh": [""],
    "lstm": ["_i", "_f", "_c", "_o"],
    "gru": ["_r", "_z", "_o"],
}
Arrays = dict[str, NDArray]


class RNNParams:
    """The variables of cells: cells that share one have the same parameters.

    Parameters
    ----------
    prefix : str
        What the names of the variables begin with.
    """

    def __init__(self, prefix: str = ""):
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs) -> Symbol:
        """The variable of a name, without the prefix; it is made when it is first asked for.

        Keywords are those of `sym.Variable`.
        """
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.Variable(name, **kwargs)
        return self._params[name]


def _steps(length: int | None, inputs, axis: int) -> list[Symbol]:
    """A sequence as a list of its steps."""
    if inputs is None:
        raise ArgumentError("unroll: inputs is None\n  expected a Symbol, or one for each step")
    if not isinstance(inputs, Symbol):
        if length is not None and len(inputs) != length:
            raise ArgumentError(f"unroll: there are {len(inputs)} inputs\n  expected {length}")
        return list(inputs)
    if len(inputs.list_outputs()) != 1:
        raise ArgumentError(
            f"unroll: the inputs are a Symbol with {len(inputs.list_outputs())} outputs\n"
            "  expected one output; list(inputs) has a step for each"
        )
    return list(symbol.split(inputs, axis=axis, num_outputs=length, squeeze_axis=1))


def _merged(length: int | None, inputs, axis: int) -> Symbol:
    """A sequence as one Symbol, with the steps along an axis."""
    if isinstance(inputs, Symbol):
        return inputs
    steps = _steps(length, inputs, axis)
    return symbol.Concat(*(symbol.expand_dims(x, axis=axis) for x in steps), dim=axis)


def _arranged(length: int, sequence, axis: int, merge: bool | None):
    """A sequence in one Symbol, in a list, or, where `merge` is None, as it is."""
    if merge is None:
        return sequence
    return (_merged if merge else _steps)(length, sequence, axis)


class BaseRNNCell:
    """The base of cells.

    Parameters
    ----------
    prefix : str
        What the names in the graph begin with, also those of parameters that the cell makes.
    params : RNNParams, optional
        Where the parameters are; by default the cell makes its own.
    """

    def __init__(self, prefix: str = "", params: RNNParams | None = None):
        self._own_params = params is None
        self._params = RNNParams(prefix) if params is None else params
        self._prefix, self._modified = prefix, False
        self.reset()

    def reset(self) -> None:
        """Count the steps from 0 again: for another graph."""
        self._init_counter = self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """The output and the states after one step.

        Parameters
        ----------
        inputs : Symbol (n, k)
        states : list of Symbol
            From `begin_state`, or from the step before.
        """
        raise UnsupportedError(f"{type(self).__name__} defines no step\n  expected __call__ in it")

    @property
    def params(self) -> RNNParams:
        """The parameters, which from now on are not the cell's own."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[dict]:
        """Shape and layout of each state; 0 stands for the size of the batch.

        Raises
        ------
        UnsupportedError
            The class defines none.
        """
        raise UnsupportedError(
            f"{type(self).__name__} defines no states\n  expected state_info in it"
        )

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shape of each state."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self):
        return ()

    def _step_name(self) -> str:
        """Count a step; return what names in it begin with."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def _expect_not_modified(self) -> None:
        if self._modified:
            raise ArgumentError(
                f"{type(self).__name__}: begin_state() of a cell that is in another cell\n"
                "  expected that of the cell around it, such as ZoneoutCell"
            )

    def begin_state(self, func: Callable[..., Symbol] = symbol.zeros, **kwargs) -> list[Symbol]:
        """The states before the first step.

        Parameters
        ----------
        func : callable
            Makes a state, given its name, shape and layout: `sym.zeros`, `sym.Variable`, ...
        **kwargs
            Further arguments of `func`.

        Raises
        ------
        ArgumentError
            The cell is in another cell, whose states are to be asked for.
        """
        self._expect_not_modified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(func(name=name, **{**kwargs, **(info or {})}))
        return states

    def _gate_parameters(self) -> list[tuple[str, list[str]]]:
        """The name of each parameter, and the names of its parts: one for each gate."""
        return [
            (
                f"{self._prefix}{map}_{role}",
                [f"{self._prefix}{map}{gate}_{role}" for gate in self._gate_names],
            )
            for map in ("i2h", "h2h")
            for role in ("weight", "bias")
        ]

    def unpack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` in which each gate has arrays of its own, lstm_i2h_f_weight.

        Raises
        ------
        KeyError
            A parameter of the cell is not in `args`.
        """
        args = args.copy()
        for packed, parts in self._gate_parameters() if self._gate_names else ():
            value, rows = args.pop(packed), self._num_hidden
            for i, part in enumerate(parts):
                args[part] = value[i * rows : (i + 1) * rows].copy()
        return args

    def pack_weights(self, args: Arrays) -> Arrays:
        """The inverse of `unpack_weights`: the parameters as the graph has them.

        Raises
        ------
        KeyError
            The part of a gate is not in `args`.
        """
        args = args.copy()
        for packed, parts in self._gate_parameters() if self._gate_names else ():
            args[packed] = ndarray.concatenate([args.pop(part) for part in parts])
        return args

    def unroll(
        self,
        length: int,
        inputs,
        begin_state: list | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list]:
        """Step through sequences.

        Parameters
        ----------
        length : int
            Steps.
        inputs : Symbol or list of Symbol
            All steps, in `layout`, or each, (n, k).
        begin_state : list of Symbol, optional
            By default zeros.
        layout : str
            'NTC' or 'TNC': T is the axis of the steps.
        merge_outputs : bool, optional
            True: the outputs are one Symbol, in `layout`. False: one for each step. None: what
            the cell has at hand.

        Returns
        -------
        outputs : Symbol or list of Symbol
        states : list of Symbol
            After the last step.

        Raises
        ------
        ArgumentError
            There are no inputs, or not as many as steps.
        """
        self.reset()
        axis = layout.find("T")
        steps = _steps(length, inputs, axis)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for i in range(length):
            y, states = self(steps[i], states)
            outputs.append(y)
        return _arranged(length, outputs, axis, merge_outputs), states

    def _get_activation(self, inputs: Symbol, activation, **kwargs) -> Symbol:
        """An activation by name, or by a function of a Symbol."""
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)


class _GatedCell(BaseRNNCell):
    """A cell with the maps W x + b and R h + c, whose rows are those of all gates."""

    states = 1
    slice_axis: dict[str, int] = {}
    map_prefix = ""  # what GRUCell has in the names of its maps

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    @property
    def state_info(self) -> list[dict]:
        """Shape and layout of each state; 0 stands for the size of the batch."""
        info = {"shape": (0, self._num_hidden), "__layout__": "NC"}
        return [info.copy() for _ in range(self.states)]

    def _add_parameters(self, weights=(None, None), biases=(None, None)) -> None:
        """Make the variables, with their initializers."""
        self._iW = self.params.get("i2h_weight", init=weights[0])
        self._hW = self.params.get("h2h_weight", init=weights[1])
        self._iB = self.params.get("i2h_bias", init=biases[0])
        self._hB = self.params.get("h2h_bias", init=biases[1])

    def _maps(self, x: Symbol, h: Symbol, name: str) -> tuple[Symbol, Symbol]:
        """W x + b and R h + c."""
        rows = self._num_hidden * self._num_gates
        return (
            symbol.FullyConnected(x, self._iW, self._iB, num_hidden=rows, name=f"{name}i2h"),
            symbol.FullyConnected(h, self._hW, self._hB, num_hidden=rows, name=f"{name}h2h"),
        )


class _Elman(_GatedCell):
    """h' = f(W x + b + R h + c)."""

    @property
    def _gate_names(self):
        return ("",)

    def __call__(self, inputs, states):
        """The output and the states after one step."""
        name = self._step_name()
        i2h, h2h = self._maps(inputs, states[0], name)
        y = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return y, [y]


class _LSTM(_GatedCell):
    """s' = σ(f) s + σ(i) a(g), h' = σ(o) a(s'), where i, f, g, o = W x + b + R h + c."""

    states = 2
    _activation: Any = "tanh"

    @property
    def _gate_names(self):
        return GATES["lstm"]

    def __call__(self, inputs, states):
        """The output and the states after one step."""
        name = self._step_name()
        i2h, h2h = self._maps(inputs, states[0], name)
        gates = symbol.split(i2h + h2h, num_outputs=4, name=f"{name}slice", **self.slice_axis)
        i, f, o = (
            symbol.Activation(gates[k], act_type="sigmoid", name=f"{name}{gate}")
            for k, gate in ((0, "i"), (1, "f"), (3, "o"))
        )
        g = self._get_activation(gates[2], self._activation, name=f"{name}c")
        s = symbol.elemwise_add(f * states[1], i * g, name=f"{name}state")
        y = symbol.elemwise_mul(o, self._get_activation(s, self._activation), name=f"{name}out")
        return y, [y, s]


class _GRU(_GatedCell):
    """h' = (1 - σ(z)) a(W x + b + σ(r) (R h + c)) + σ(z) h, with rows of their own for r and z."""

    _activation: Any = "tanh"

    @property
    def _gate_names(self):
        return GATES["gru"]

    def __call__(self, inputs, states):
        """The output and the states after one step."""
        name = self._step_name()
        x, h = self._maps(inputs, states[0], name + self.map_prefix)
        options = {"num_outputs": 3, **self.slice_axis}
        xr, xz, xn = symbol.split(x, name=f"{name}_i2h_slice", **options)
        hr, hz, hn = symbol.split(h, name=f"{name}_h2h_slice", **options)
        r = symbol.Activation(xr + hr, act_type="sigmoid", name=f"{name}_r_act")
        z = symbol.Activation(xz + hz, act_type="sigmoid", name=f"{name}_z_act")
        n = self._get_activation(xn + r * hn, self._activation, name=f"{name}_h_act")
        y = symbol.elemwise_add((1.0 - z) * n, z * states[0], name=f"{name}out")
        return y, [y]


class RNNCell(_Elman):
    """Elman's cell, h' = f(W x + b + R h + c).

    Parameters
    ----------
    num_hidden : int
        The size of h.
    activation : str or callable
        f: a name as for `sym.Activation`, or a function of a Symbol.
    prefix, params
        As for `BaseRNNCell`.
    """

    def __init__(self, num_hidden: int, activation="tanh", prefix="rnn_", params=None):
        super().__init__(prefix, params)
        self._num_hidden, self._activation = num_hidden, activation
        self._add_parameters()


class LSTMCell(_LSTM):
    """A cell of long short-term memory (Hochreiter and Schmidhuber 1997).

    s' = σ(f) s + σ(i) tanh(g), h' = σ(o) tanh(s'), where i, f, g, o = W x + b + R h + c.

    Parameters
    ----------
    num_hidden : int
        The size of h and s.
    prefix, params
        As for `BaseRNNCell`.
    forget_bias : float
        What b begins with for the gate f.
    """

    def __init__(self, num_hidden: int, prefix="lstm_", params=None, forget_bias: float = 1.0):
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        self._add_parameters(biases=(initializer.LSTMBias(forget_bias=forget_bias), None))


class GRUCell(_GRU):
    """A gated recurrent unit (Cho et al., arXiv:1406.1078).

    h' = (1 - σ(z)) tanh(W x + b + σ(r) (R h + c)) + σ(z) h, with rows of their own for r and z.

    Parameters
    ----------
    num_hidden : int
        The size of h.
    prefix, params
        As for `BaseRNNCell`.
    """

    map_prefix = "_"

    def __init__(self, num_hidden: int, prefix="gru_", params=None):
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        self._add_parameters()


class FusedRNNCell(BaseRNNCell):
    """Layers of cells for whole sequences: the operator RNN, with all parameters in one array.

    Parameters
    ----------
    num_hidden : int
        The size of h.
    num_layers : int
    mode : str
        'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
    bidirectional : bool
        Also from the last step to the first; outputs have twice the size.
    dropout : float
        The probability with which an element between layers is 0, in training.
    get_next_state : bool
        Whether `unroll` returns the states after the last step.
    forget_bias : float
        What the bias of lstm's forget gates begins with.
    prefix : str, optional
        By default the mode, as in ``lstm_``.
    params : RNNParams, optional
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ):
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout = bidirectional, dropout
        self._get_next_state = get_next_state
        self._directions = ["l", "r"] if bidirectional else ["l"]
        init = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)

    @property
    def state_info(self) -> list[dict]:
        """Shape and layout of each state; 0 stands for the size of the batch."""
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        info = {"shape": shape, "__layout__": "LNC"}
        return [info.copy() for _ in range(1 + (self._mode == "lstm"))]

    @property
    def _gate_names(self):
        return GATES[self._mode]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _slice_weights(self, arr: NDArray, li: int, lh: int) -> Arrays:
        """The parts of all parameters, of inputs with `li` columns and states with `lh`."""
        sides = [
            (layer, f"{self._prefix}{side}{layer}")
            for layer in range(self._num_layers)
            for side in self._directions
        ]
        shapes = {}
        for layer, side in sides:
            columns = {"i2h": len(self._directions) * lh if layer else li, "h2h": lh}
            for map, size in columns.items():
                for gate in self._gate_names:
                    shapes[f"{side}_{map}{gate}_weight"] = (lh, size)
        for _, side in sides:
            for map in ("i2h", "h2h"):
                for gate in self._gate_names:
                    shapes[f"{side}_{map}{gate}_bias"] = (lh,)
        parts, begin = {}, 0
        for name, shape in shapes.items():
            size = lh * shape[1] if len(shape) == 2 else lh
            parts[name] = arr[begin : begin + size].reshape(shape)
            begin += size
        return parts

    def unpack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` in which each gate has arrays of its own, lstm_l0_i2h_f_weight.

        Raises
        ------
        KeyError
            The parameters of the cell are not in `args`.
        ShapeError
            They are not as many as such a cell has.
        """
        args = args.copy()
        packed = args.pop(self._parameter.name)
        sizes = self._num_hidden, self._num_layers, self._bidirectional, self._mode, None
        columns = columns_of(packed.size, *sizes)
        if columns is None:
            raise ShapeError(
                f"FusedRNNCell: {self._parameter.name} has {packed.size} elements\n"
                f"  expected those of {self._num_layers} layers of {self._mode} with "
                f"num_hidden={self._num_hidden}, bidirectional={self._bidirectional}"
            )
        parts = self._slice_weights(packed, columns, self._num_hidden)
        return args | {name: part.copy() for name, part in parts.items()}

    def pack_weights(self, args: Arrays) -> Arrays:
        """The inverse of `unpack_weights`: the parameters as the graph has them.

        Raises
        ------
        KeyError
            The part of a gate is not in `args`.
        ShapeError
            A part has not the shape that the others ask for.
        """
        args = args.copy()
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        h, sides = self._num_hidden, len(self._directions)
        columns = first.shape[1] + h + 2 + (self._num_layers - 1) * (h + sides * h + 2)
        packed = ndarray.zeros((columns * h * sides * self._num_gates,), first.context, first.dtype)
        for name, part in self._slice_weights(packed, first.shape[1], h).items():
            value = args.pop(name)
            if value.shape != part.shape:
                raise ShapeError(f"FusedRNNCell: {name} is {value.shape}\n  expected {part.shape}")
            part[:] = value
        return args | {self._parameter.name: packed}

    def __call__(self, inputs, states):
        """Not supported: there is no single step."""
        raise UnsupportedError("FusedRNNCell: there is no single step\n  expected unroll")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """Step through sequences: see `BaseRNNCell.unroll`. 'TNC' needs no exchange of axes.

        Raises
        ------
        ArgumentError
            The layout is another.
        """
        self.reset()
        axis = layout.find("T")
        x = _merged(length, inputs, axis)
        if axis == 1:
            warnings.warn(
                "FusedRNNCell.unroll: layout is 'NTC', for which axes are exchanged;"
                " 'TNC' is faster",
                stacklevel=2,
            )
            x = symbol.swapaxes(x, dim1=0, dim2=1)
        elif axis != 0:
            raise ArgumentError(f"FusedRNNCell: layout is {layout!r}\n  expected 'NTC' or 'TNC'")
        begin = self.begin_state() if begin_state is None else begin_state
        y = symbol.RNN(
            x,
            self._parameter,
            **dict(zip(("state", "state_cell"), begin[: len(self.state_info)])),
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
        )
        states = []
        if self._get_next_state:
            y, *states = list(y)
            for state in states:
                state._set_attr(__layout__="LNC")
        y = symbol.swapaxes(y, dim1=0, dim2=1) if axis == 1 else y
        return _arranged(length, y, axis, merge_outputs), states

    def unfuse(self) -> SequentialRNNCell:
        """The same layers as cells of their own; `unpack_weights` here gives their parameters."""
        make = {
            "rnn_relu": functools.partial(RNNCell, activation="relu"),
            "rnn_tanh": functools.partial(RNNCell, activation="tanh"),
            "lstm": LSTMCell,
            "gru": GRUCell,
        }[self._mode]
        stack, prefix = SequentialRNNCell(), self._prefix
        for i in range(self._num_layers):
            cell = make(self._num_hidden, prefix=f"{prefix}l{i}_")
            if self._bidirectional:
                back = make(self._num_hidden, prefix=f"{prefix}r{i}_")
                cell = BidirectionalCell(cell, back, output_prefix=f"{prefix}bi_l{i}_")
            stack.add(cell)
            if self._dropout > 0 and i < self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{prefix}_dropout{i}_"))
        return stack


class _Cells(BaseRNNCell):
    """Cells in one: its states and its weights are theirs, in their order."""

    _cells: list[BaseRNNCell]

    def _expect_own(self, cell: BaseRNNCell) -> None:
        if not cell._own_params:
            raise ArgumentError(
                f"{type(self).__name__}: it has params, and so has a {type(cell).__name__} in it\n"
                "  expected params of the one or of the other"
            )

    @property
    def state_info(self) -> list[dict]:
        """Shape and layout of each state; 0 stands for the size of the batch."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs) -> list[Symbol]:
        """The states before the first step: see `BaseRNNCell.begin_state`."""
        self._expect_not_modified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` in which each gate of each cell has arrays of its own."""
        return functools.reduce(lambda args, cell: cell.unpack_weights(args), self._cells, args)

    def pack_weights(self, args: Arrays) -> Arrays:
        """The inverse of `unpack_weights`: the parameters as the graph has them."""
        return functools.reduce(lambda args, cell: cell.pack_weights(args), self._cells, args)


class SequentialRNNCell(_Cells):
    """Cells in a row, each on the output of the one before; its states are those of all.

    Parameters
    ----------
    params : RNNParams, optional
    """

    def __init__(self, params: RNNParams | None = None):
        super().__init__("", params)
        self._override_cell_params, self._cells = params is not None, []

    def add(self, cell: BaseRNNCell) -> None:
        """Put a cell at the end.

        Raises
        ------
        ArgumentError
            The row has `params`, and so has the cell.
        """
        self._cells.append(cell)
        if self._override_cell_params:
            self._expect_own(cell)
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)

    def __call__(self, inputs, states):
        """The output of the last cell, and the states of all, after one step."""
        self._counter += 1
        rest, ends = list(states), []
        for cell in self._cells:
            if isinstance(cell, BidirectionalCell):
                raise ArgumentError(
                    "SequentialRNNCell: a BidirectionalCell in it has no single step\n"
                    "  expected unroll"
                )
            count = len(cell.state_info)
            inputs, new = cell(inputs, rest[:count])
            rest, ends = rest[count:], ends + list(new)
        return inputs, ends

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """Step through sequences with one cell after the other: see `BaseRNNCell.unroll`."""
        self.reset()
        rest, ends = list(self.begin_state() if begin_state is None else begin_state), []
        for cell in self._cells:
            count = len(cell.state_info)
            merge = merge_outputs if cell is self._cells[-1] else None
            inputs, new = cell.unroll(length, inputs, rest[:count], layout, merge)
            rest, ends = rest[count:], ends + list(new)
        return inputs, ends


class DropoutCell(BaseRNNCell):
    """In training, each element is 0 with some probability p, the others times 1 / (1 - p).

    Parameters
    ----------
    dropout : float
        p.
    prefix, params
        As for `BaseRNNCell`.

    Raises
    ------
    ArgumentError
        `dropout` is no number.
    """

    def __init__(self, dropout: float, prefix="dropout_", params: RNNParams | None = None):
        super().__init__(prefix, params)
        if not isinstance(dropout, numeric_types):
            raise ArgumentError(f"DropoutCell: dropout is {dropout!r}\n  expected a number")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict]:
        """There is no state."""
        return []

    def __call__(self, inputs, states):
        """x with elements dropped, in training."""
        return symbol.Dropout(inputs, p=self.dropout) if self.dropout > 0 else inputs, states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """All steps in one, where they are in one Symbol: see `BaseRNNCell.unroll`."""
        self.reset()
        inputs = _arranged(length, inputs, layout.find("T"), merge_outputs)
        if isinstance(inputs, Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """The base of cells that change what another cell does; parameters and states are its.

    Parameters
    ----------
    base_cell : BaseRNNCell
        From now on it is called by this one only.
    """

    def __init__(self, base_cell: BaseRNNCell):
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        """The parameters of the base cell."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict]:
        """Shape and layout of each state of the base cell."""
        return self.base_cell.state_info

    def begin_state(self, init_sym=symbol.zeros, **kwargs) -> list[Symbol]:
        """The states before the first step; `init_sym`, or `func`, makes one.

        Raises
        ------
        ArgumentError
            The cell is in another cell, whose states are to be asked for.
        """
        self._expect_not_modified()
        func = kwargs.pop("func", init_sym)
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Arrays) -> Arrays:
        """A copy of `args` in which each gate has arrays of its own."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Arrays) -> Arrays:
        """The inverse of `unpack_weights`: the parameters as the graph has them."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """In training, each element of output and states stays as it was with some probability.

    (Krueger et al., arXiv:1606.01305.) Before the first step the output is 0.

    Parameters
    ----------
    base_cell : BaseRNNCell
    zoneout_outputs, zoneout_states : float
        The probability for outputs and for states.

    Raises
    ------
    ArgumentError
        The base cell has no single step.
    """

    def __init__(self, base_cell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0):
        inner = getattr(base_cell, "_cells", ()) if type(base_cell) is SequentialRNNCell else ()
        for cell in (base_cell, *inner):
            if isinstance(cell, (FusedRNNCell, BidirectionalCell)):
                raise ArgumentError(
                    f"ZoneoutCell: a {type(cell).__name__} has no single step\n"
                    "  expected FusedRNNCell.unfuse(), and a ZoneoutCell around each cell"
                )
        super().__init__(base_cell)
        self.zoneout_outputs, self.zoneout_states = zoneout_outputs, zoneout_states

    def reset(self) -> None:
        """Forget the last output: for another graph."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs, states):
        """The output and the states after one step."""
        y, new = self.base_cell(inputs, states)
        before = symbol.zeros((0, 0)) if self.prev_output is None else self.prev_output
        if self.zoneout_outputs:
            y = _zoned(self.zoneout_outputs, y, before)
        if self.zoneout_states:
            new = [_zoned(self.zoneout_states, s, old) for s, old in zip(new, states)]
        self.prev_output = y
        return y, new


def _zoned(rate: float, new: Symbol, old: Symbol) -> Symbol:
    """The new values, but with some probability the old ones; in training."""
    return symbol.where(symbol.Dropout(symbol.ones_like(new), p=rate), new, old)


class ResidualCell(ModifierCell):
    """Adds its input to the output of the base cell (Wu et al., arXiv:1609.08144).

    Parameters
    ----------
    base_cell : BaseRNNCell
        Its output has the shape of its input.
    """

    def __init__(self, base_cell: BaseRNNCell):
        super().__init__(base_cell)

    def __call__(self, inputs, states):
        """The output and the states after one step."""
        y, states = self.base_cell(inputs, states)
        return _plus_residual(y, inputs), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """Step through sequences: see `BaseRNNCell.unroll`.

        Raises
        ------
        ArgumentError
            There are not `length` inputs, or they are a Symbol with several outputs.
        """
        self.reset()
        self.base_cell._modified = False
        try:
            y, states = self.base_cell.unroll(length, inputs, begin_state, layout, merge_outputs)
        finally:
            self.base_cell._modified = True
        axis = layout.find("T")
        if isinstance(y, Symbol):
            return _plus_residual(y, _merged(length, inputs, axis)), states
        return [_plus_residual(*both) for both in zip(y, _steps(length, inputs, axis))], states


def _plus_residual(y: Symbol, x: Symbol) -> Symbol:
    return symbol.elemwise_add(y, x, name=f"{y.name}_plus_residual")


class BidirectionalCell(_Cells):
    """Two cells, of which the second goes from the last step to the first; only to be unrolled.

    Parameters
    ----------
    l_cell, r_cell : BaseRNNCell
    params : RNNParams, optional
    output_prefix : str
        What the names of outputs begin with.

    Raises
    ------
    ArgumentError
        There are `params`, and so has a cell.
    """

    def __init__(self, l_cell, r_cell, params: RNNParams | None = None, output_prefix="bi_"):
        super().__init__("", params)
        self._output_prefix, self._cells = output_prefix, [l_cell, r_cell]
        self._override_cell_params = params is not None
        for cell in self._cells:
            if self._override_cell_params:
                self._expect_own(cell)
                cell.params._params.update(self.params._params)
            self.params._params.update(cell.params._params)

    def __call__(self, inputs, states):
        """Not supported: there is no single step."""
        raise UnsupportedError("BidirectionalCell: there is no single step\n  expected unroll")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """Step through sequences in both directions: see `BaseRNNCell.unroll`.

        At each step the outputs are those of both cells, (n, l + r); the states are a list for
        each cell.

        Raises
        ------
        ArgumentError
            There are not `length` inputs, or they are a Symbol with several outputs.
        """
        self.reset()
        axis = layout.find("T")
        steps = _steps(length, inputs, axis)
        begin = self.begin_state() if begin_state is None else begin_state
        left, right = self._cells
        count, rest = len(left.state_info), (layout, merge_outputs)
        ls, l_states = left.unroll(length, steps, begin[:count], *rest)
        rs, r_states = right.unroll(length, steps[::-1], begin[count:], *rest)
        states, prefix = [l_states, r_states], self._output_prefix
        if merge_outputs or isinstance(ls, Symbol) and isinstance(rs, Symbol):
            rs = symbol.reverse(_merged(length, rs, axis), axis=axis)
            both = _merged(length, ls, axis), rs
            return symbol.Concat(*both, dim=2, name=f"{prefix}out"), states
        ls, rs = (_unmerged(length, side, axis) for side in (ls, rs))
        pairs = enumerate(zip(ls, rs[::-1]))
        return [symbol.Concat(*pair, dim=1, name=f"{prefix}t{i}") for i, pair in pairs], states


def _unmerged(length: int, y, axis: int) -> list[Symbol]:
    if not isinstance(y, Symbol):
        return y
    return list(symbol.SliceChannel(y, axis=axis, num_outputs=length, squeeze_axis=1))


class BaseConvRNNCell(_GatedCell):
    """The base of cells whose maps are convolutions: W * x + b and R * h + c, of all gates.

    Parameters
    ----------
    input_shape : tuple of int
        The shape of x, with the axis of the batch.
    num_hidden : int
        The channels of h.
    h2h_kernel, h2h_dilate : tuple of int
        Of R; the sizes of its kernel are odd, and h keeps its size.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate : tuple of int
        Of W.
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
        Of W and of R.
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer, optional
        Of b and of c.
    activation : str or callable
        A name as for `sym.Activation`, or a function of a Symbol.
    prefix, params
        As for `BaseRNNCell`.
    conv_layout : str
        'NCHW' or 'NHWC'.

    Raises
    ------
    ParameterError
        A size of R is even.
    """

    def __init__(
        self,
        input_shape,
        num_hidden,
        h2h_kernel,
        h2h_dilate,
        i2h_kernel,
        i2h_stride,
        i2h_pad,
        i2h_dilate,
        i2h_weight_initializer,
        h2h_weight_initializer,
        i2h_bias_initializer,
        h2h_bias_initializer,
        activation,
        prefix="",
        params=None,
        conv_layout="NCHW",
    ):
        super().__init__(prefix, params)
        if not all(size % 2 for size in h2h_kernel):
            raise ParameterError(
                f"{type(self).__name__}: h2h_kernel is {h2h_kernel}\n  expected odd sizes"
            )
        self._num_hidden, self._input_shape = num_hidden, input_shape
        self._conv_layout, self._activation = conv_layout, activation
        self._h2h_kernel, self._h2h_dilate = h2h_kernel, h2h_dilate
        around = zip(h2h_kernel, h2h_dilate)
        self._h2h_pad = tuple(step * (size - 1) // 2 for size, step in around)
        self._i2h_kernel, self._i2h_stride = i2h_kernel, i2h_stride
        self._i2h_pad, self._i2h_dilate = i2h_pad, i2h_dilate
        once = symbol.Convolution(symbol.Variable("data"), num_filter=num_hidden, **self._i2h)
        self._state_shape = (0, *once.infer_shape(data=input_shape)[1][0][1:])
        weights = i2h_weight_initializer, h2h_weight_initializer
        self._add_parameters(weights, (i2h_bias_initializer, h2h_bias_initializer))

    @property
    def _i2h(self) -> dict:
        """The settings of the convolution with W."""
        return {
            "kernel": self._i2h_kernel,
            "stride": self._i2h_stride,
            "pad": self._i2h_pad,
            "dilate": self._i2h_dilate,
            "layout": self._conv_layout,
        }

    @property
    def state_info(self) -> list[dict]:
        """Shape and layout of each state; 0 stands for the size of the batch."""
        info = {"shape": self._state_shape, "__layout__": self._conv_layout}
        return [info.copy() for _ in range(self.states)]

    @property
    def slice_axis(self) -> dict[str, int]:
        """The axis of the channels, along which gates are beside each other."""
        return {"axis": self._conv_layout.find("C")}

    def _maps(self, x, h, name):
        """W * x + b and R * h + c."""
        rows, layout = self._num_hidden * self._num_gates, self._conv_layout
        i2h = symbol.Convolution(
            x, self._iW, self._iB, num_filter=rows, name=f"{name}i2h", **self._i2h
        )
        h2h = symbol.Convolution(
            h,
            self._hW,
            self._hB,
            num_filter=rows,
            name=f"{name}h2h",
            kernel=self._h2h_kernel,
            stride=(1, 1),
            pad=self._h2h_pad,
            dilate=self._h2h_dilate,
            layout=layout,
        )
        return i2h, h2h


_leaky = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class _ConvCell(BaseConvRNNCell):
    """The arguments that the cells with convolutions share; each has its own prefix by default."""

    _own_prefix: str

    def __init__(
        self,
        input_shape,
        num_hidden,
        h2h_kernel=(3, 3),
        h2h_dilate=(1, 1),
        i2h_kernel=(3, 3),
        i2h_stride=(1, 1),
        i2h_pad=(1, 1),
        i2h_dilate=(1, 1),
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        activation=_leaky,
        prefix=None,
        params=None,
        conv_layout="NCHW",
    ):
        super().__init__(
            input_shape,
            num_hidden,
            h2h_kernel,
            h2h_dilate,
            i2h_kernel,
            i2h_stride,
            i2h_pad,
            i2h_dilate,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            activation,
            self._own_prefix if prefix is None else prefix,
            params,
            conv_layout,
        )


class ConvRNNCell(_Elman, _ConvCell):
    """Elman's cell with convolutions, h' = f(W * x + b + R * h + c).

    Parameters
    ----------
    input_shape : tuple of int
        The shape of x, with the axis of the batch.
    num_hidden : int
        The channels of h.
    h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate : tuple of int
        Of the convolutions: see `BaseConvRNNCell`.
    i2h_weight_initializer, h2h_weight_initializer : str or Initializer, optional
    i2h_bias_initializer, h2h_bias_initializer : str or Initializer, optional
    activation : str or callable
        In place of tanh.
    prefix, params
        As for `BaseRNNCell`.
    conv_layout : str
        'NCHW' or 'NHWC'.
    """

    _own_prefix = "ConvRNN_"


class ConvLSTMCell(_LSTM, _ConvCell):
    """`LSTMCell` with convolutions (Shi et al., arXiv:1506.04214).

    Parameters are those of `ConvRNNCell`.
    """

    _own_prefix = "ConvLSTM_"


class ConvGRUCell(_GRU, _ConvCell):
    """`GRUCell` with convolutions.

    Parameters are those of `ConvRNNCell`.
    """

    _own_prefix = "ConvGRU_"


missing.watch(globals())
