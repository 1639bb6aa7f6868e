"""`autograd.get_symbol`: a recorded computation as a Symbol."""

from __future__ import annotations

from itertools import count
from typing import Any

from .._table.registry import SUPPLIED, Op
from .._table.rnn import RNN, RNN_OF_PARTS
from ..base import RecordingError, UnsupportedError
from ..ndarray import NDArray
from ..ndarray._origin import UNKNOWN, Step, step_and_index, variable
from ._node import Entry, Node, copy_graph
from ._rnn_parts import with_packed
from .register import texts
from .symbol import Symbol

__all__ = ["get_symbol"]


def get_symbol(x: NDArray) -> Symbol:
    """What was recorded for an array, as a graph of the operators that computed it.

    The arrays that it was computed from are variables, ``var0``, ``var1`` and so on. A hybridized
    block adds the nodes of its graph.

    Raises
    ------
    RecordingError
        The array was not recorded.
    UnsupportedError
        Something in between was computed by other code than operators: by an
        `autograd.Function`, by indexing with arrays or None, or by writing into a view.
    """
    if not x._tensor.requires_grad:
        raise RecordingError(
            f"get_symbol: the array {x.shape} was not recorded, or used no array with a gradient\n"
            "  expected it to be computed inside autograd.record() from arrays with attach_grad()"
        )
    last, index = step_and_index(x._origin or (variable() if x._leaf else UNKNOWN))
    variables, names = count(), count()
    made: dict[int, list[Entry]] = {}  # by the step: its outputs
    for step in _in_order(last):
        operator, attributes, sources = step
        origins = [None if origin is None else step_and_index(origin) for origin in sources]
        inputs = [None if o is None else made[id(o[0])][o[1]] for o in origins]
        if step is UNKNOWN:
            raise UnsupportedError(
                "get_symbol: a part of the computation is no operator\n"
                "  expected operators of mx.nd: no autograd.Function, no arrays or None as indices,"
                " and no writing into a view"
            )
        if operator is None:
            made[id(step)] = Node(None, f"var{next(variables)}").entries
        elif hasattr(operator, "symbol"):  # a hybridized block's
            given = dict(zip(operator.program.variables, inputs))
            made[id(step)] = copy_graph(operator.symbol._entries, given.get)
        else:
            name, given = f"node_{next(names)}", [entry for entry in inputs if entry is not None]
            if operator is RNN_OF_PARTS:
                operator, given = RNN, with_packed(name, given, attributes)
            made[id(step)] = _node(name, operator, attributes, given).entries
    return Symbol([made[id(last)][index]])


def _in_order(last: Step) -> list[Step]:
    """All steps up to one, each after those of its inputs. Not recursive: there may be many."""
    done: dict[int, Step] = {}
    stack = [(last, iter(last[2]))]
    while stack:
        step, rest = stack[-1]
        sources = (step_and_index(origin)[0] for origin in rest if origin is not None)
        source = next((s for s in sources if id(s) not in done), None)
        if source is not None:
            stack.append((source, iter(source[2])))
        else:
            stack.pop()
            done.setdefault(id(step), step)
    return list(done.values())


def _node(name: str, operator: Op, attributes: dict[str, Any], inputs: list[Entry]) -> Node:
    given = attributes
    if not operator.own:
        given = {k: v for k, v in attributes.items() if k not in SUPPLIED and v is not None}
        attributes = operator.read(given)
    return Node(operator, name, inputs, attributes, texts(operator, given, attributes, len(inputs)))
