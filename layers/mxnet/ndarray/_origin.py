"""What recorded arrays were computed from, for `autograd.get_symbol`: operators, and no arrays.

An array has its origin in `NDArray._origin`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._state import this_thread
from .._table import registry
from ._again import Again, note_again

if TYPE_CHECKING:
    from .ndarray import NDArray


# A step is a call: its operator, or the graph of a hybridized block; its attributes; and where its
# inputs are from, None for one that is left out. The operator is None for an array that was there
# before, which is a variable. Plain tuples, since each recorded call makes one.
Step = tuple[Any, dict[str, Any], list]
Origin = Step | tuple[Step, int]  # a step of one output; or a step, and which of its outputs
UNKNOWN: Step = None, {}, []  # computed, but not by an operator of the table


def note_origin(
    result: Any, operator: Any, attributes: dict, inputs: Iterable[NDArray | None]
) -> None:
    """Note what an array, or a list of them, was computed from while autograd records."""
    if type(result) is list and not result:
        return
    first = result[0] if type(result) is list else result
    if not first._requires_grad():
        if first._records_integers:
            note_again(result, operator, attributes, inputs)
        return
    sources = [None if x is None else _origin_of(x) for x in inputs]
    step = operator, attributes, sources
    if first is result:
        result._origin = step
    else:
        for i, array in enumerate(result):
            array._origin = step, i


def note_call(result: NDArray, name: str, attributes: dict, array: NDArray) -> None:
    """Note that an array was computed as the operator of a name would compute it."""
    note_origin(result, registry.get(name), attributes, [array])


def note_written(array: NDArray, values: NDArray) -> None:
    """Note that an array was overwritten with the values of another, in its own dtype."""
    array._origin = None
    if this_thread.state.recording and values._tensor.requires_grad:
        if array._tensor.dtype is values._tensor.dtype:
            array._origin = _origin_of(values)
        else:
            note_call(array, "Cast", {"dtype": array._tensor.dtype}, values)


def note_item(result: NDArray, array: NDArray, key: Any) -> None:
    """Note that an array is ``array[key]``, for a key of ints and slices."""
    parts = key if isinstance(key, tuple) else (key,)
    if not array._tensor.requires_grad or not all(isinstance(p, (int, slice)) for p in parts):
        return
    whole = [p if isinstance(p, slice) else slice(p, p + 1 or None) for p in parts]
    bounds = {
        "begin": tuple([p.start for p in whole]),
        "end": tuple([p.stop for p in whole]),
        "step": tuple([p.step for p in whole]),
    }
    sources = [_origin_of(array)]
    if len(whole) != sum(isinstance(p, slice) for p in parts):  # an axis for each int goes
        sources = [(registry.get("slice"), bounds, sources)]
        result._origin = registry.get("Reshape"), {"shape": result.shape}, sources
    else:
        result._origin = registry.get("slice"), bounds, sources


def _origin_of(array: NDArray) -> Origin:
    """The origin of an array; a call that is to be made again is none."""
    origin = array._origin
    return UNKNOWN if type(origin) is Again else origin or _begin(array)


def _begin(array: NDArray) -> Origin:
    """The origin of an array that has none yet."""
    array._origin = variable() if array._autograd_tensor.is_leaf else UNKNOWN
    return array._origin


def step_and_index(origin: Origin) -> tuple[Step, int]:
    """The step, and which of its outputs."""
    return (origin, 0) if len(origin) == 3 else origin


def variable() -> Step:
    """A step of its own for an array that was there before."""
    return None, {}, []
