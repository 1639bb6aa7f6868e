"""Inference of shapes and dtypes of an `Operator`, in the lists of MXNet's `infer_shape`."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...engine import nd

if TYPE_CHECKING:
    from .operator import Operator

__all__ = ["infer_shape", "infer_type"]


def infer_shape(
    operator: Operator,
    arguments: Sequence[str],
    states: Sequence[str],
    in_shape: Sequence,
    attributes: dict[str, Any],
) -> tuple[list, list, list]:
    """Return the shapes of arguments, outputs and states; () stands for an unknown one.

    They come from the operator's rule `shapes`, or from a run on zeros.
    """
    known = {n: tuple(s) if len(s) else None for n, s in zip(arguments, in_shape)}
    if operator.shapes is not None:
        shapes = dict.fromkeys(operator.inputs) | known
        found = operator.ask_shapes(shapes | operator.attributes | attributes)
    elif any(shape is None or 0 in shape for shape in known.values()):
        found = {}
    else:
        found = _run_on_zeros(operator, tuple(known.items()), tuple(attributes.items()))
    return (
        [found.get(n) or known[n] or () for n in arguments],
        [found.get(n, ()) for n in operator.outputs],
        [found.get(n, ()) for n in states],
    )


def infer_type(
    operator: Operator,
    arguments: Sequence[str],
    states: Sequence[str],
    in_type: Sequence,
    attributes: dict[str, Any],
) -> tuple[list, list, list]:
    """Return the dtypes of arguments, outputs and states.

    An output has the dtype from the operator's rule `types`, or else that of the first floating
    input.
    """
    first = in_type[0] if in_type else np.float32
    in_type = [first if t is None else t for t in in_type]
    floating = next((t for t in in_type if np.dtype(t).kind == "f"), first)
    declared = {}
    if operator.types is not None:
        names = dict.fromkeys(operator.inputs) | dict(zip(arguments, in_type))
        known = {n: t and str(np.dtype(t)) for n, t in names.items()}
        declared = operator.ask(operator.types, known | operator.attributes | attributes)
    return (
        in_type,
        [np.dtype(declared[n]).type if n in declared else floating for n in operator.outputs],
        [first] * len(states),
    )


@lru_cache(maxsize=1024)
def _run_on_zeros(operator: Operator, known: tuple, attributes: tuple) -> dict[str, tuple]:
    # Run on another thread: MXNet infers shapes in the middle of a call, and a call of `nd` on the
    # same thread would overwrite the results of the first one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_compute_on_zeros, operator, known, attributes).result()


@np.errstate(all="ignore")  # log(0) and the like
def _compute_on_zeros(operator: Operator, known: tuple, attributes: tuple) -> dict[str, tuple]:
    values = operator.attributes | dict(attributes)
    errors: list[Exception] = []
    # In NumPy, indices such as labels must be integers.
    for dtypes in (("float32", "float32"), ("float32", "int32"), ("int32", "int32")):
        try:
            y = operator.forward(*_zeros(operator, known, *dtypes), **values)
            break
        except (IndexError, TypeError) as error:
            errors.append(error)
    else:
        raise errors[0]
    outputs = y if isinstance(y, (list, tuple)) else [y]
    return {name: tuple(array.shape) for name, array in zip(operator.outputs, outputs)}


def _zeros(operator: Operator, known: tuple, first: str, others: str) -> list:
    """Return zeros of the known shapes, the first of one dtype and the others of another."""
    zeros = {n: nd.zeros(s, dtype=others if i else first) for i, (n, s) in enumerate(known)}
    return list((dict.fromkeys(operator.inputs) | zeros).values())
