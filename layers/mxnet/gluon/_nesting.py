"""Nested lists: of arrays, which are inputs and outputs of blocks, and of blocks."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from ..base import MXNetError, describe_value
from ..context import Context
from ..ndarray import NDArray
from ..symbol import Symbol


class BlockError(MXNetError, ValueError):
    """A block was called with, or made of, what it cannot take."""


def first_context(*inputs) -> Context:
    """The context of the first array in nested inputs.

    Raises
    ------
    BlockError
        There is none.
    """
    for value in leaves(inputs):
        if isinstance(value, NDArray):
            return value.context
    given = ", ".join(type(value).__name__ for value in inputs)
    raise BlockError(
        f"a HybridBlock was called with ({given})\n"
        "  expected at least one NDArray; nd.array(...) makes one"
    )


def expect_output(block, output: Any) -> Any:
    """What `hybrid_forward` of a block returned, if it is not None.

    Raises
    ------
    BlockError
        It is.
    """
    if output is None:
        raise BlockError(
            f"{type(block).__name__}: hybrid_forward returned None\n"
            "  expected the output: a `return` at its end"
        )
    return output


def leaves(value) -> Iterator[Any]:
    """What nested lists hold."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def refuse_mixed(inputs: list) -> None:
    """Raise an error for inputs that are NDArrays and Symbols."""
    if all(any(isinstance(x, kind) for x in inputs) for kind in (Symbol, NDArray)):
        raise BlockError(
            f"a HybridBlock was called with {', '.join(type(x).__name__ for x in inputs)}\n"
            "  expected NDArrays, or Symbols, but not both"
        ) from None


def _flatten(args, inout_str: str):
    """Nested arrays as a list, and how they were nested: 0 an array, -1 None, or a list."""
    if isinstance(args, NDArray):
        return [args], 0
    if isinstance(args, Symbol):
        return [args], len(args) if len(args) > 1 else 0
    if args is None:
        return [None], -1
    if not isinstance(args, (list, tuple)):
        raise BlockError(
            f"an {inout_str} is {describe_value(args)}\n"
            "  expected NDArrays, None, or nested lists of them; nd.array(...) makes one"
        )
    flat, formats = [], []
    for item in args:
        items, item_format = _flatten(item, inout_str)
        flat += items
        formats.append(item_format)
    return flat, formats


def _regroup(args: list, fmt):
    """The inverse of `_flatten`: nested as before; a number n > 0 takes a list of n."""
    rest = iter(args)

    def take(fmt):
        if isinstance(fmt, list):
            return [take(item) for item in fmt]
        values = [next(rest) for _ in range(max(abs(fmt), 1))]
        if fmt == -1 and values[0] is not None:
            shown = describe_value(values[0])
            raise BlockError(f"a hybridized block: an input was None and is {shown} now")
        return values if fmt > 0 else values[0]

    return take(fmt)


_OWN = ("_children", "_reg_params", "_forward_hooks", "_forward_pre_hooks")


def warn_of_unregistered(block, block_class: type) -> None:
    """Warn of attributes of a block that hold Blocks (`block_class`) that are no children."""
    children = {id(child) for child in block._children.values()}
    for key, value in block.__dict__.items():
        if isinstance(value, (list, tuple, dict)) and key not in _OWN:
            if any(id(inner) not in children for inner in _blocks_in(value, block_class)):
                warnings.warn(
                    f"{type(block).__name__}.{key} is an unregistered container with Blocks\n"
                    "  expected register_child(), or a Sequential or HybridSequential",
                    stacklevel=3,
                )


def _blocks_in(value: Any, block_class: type) -> Iterator[Any]:
    """All Blocks in nested lists, tuples and dicts."""
    if isinstance(value, block_class):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _blocks_in(item, block_class)
