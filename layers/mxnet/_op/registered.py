"""From the name that an operator is registered under to its op."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from .. import operator
from ..base import ArgumentError, describe_value
from ..ndarray.ndarray import NDArray
from .prop import PropOp
from .user_op import UserOp

__all__ = ["find"]

ARRAYS = NDArray, torch.Tensor  # those of NumPy are attributes, as text, in old programs


def find(op_type: str | None, attributes: dict[str, Any]) -> UserOp:
    """Return the op of a registered operator; that of a Prop is the one for these attributes.

    Raises
    ------
    MXNetError
        No operator has this name.
    ArgumentError
        The name is missing, or an attribute is an array, which would be an input.
    """
    definition = operator.find(op_type)
    for name, value in attributes.items():
        if isinstance(value, ARRAYS) or hasattr(value, "list_arguments"):  # a Symbol
            raise ArgumentError(
                f"Custom {op_type!r}: {name} is {describe_value(value)}\n"
                "  expected a number, text or None; an input is an NDArray, in a graph a Symbol"
            )
    if isinstance(definition, type):
        return of_prop(op_type, definition, tuple([(n, str(v)) for n, v in attributes.items()]))
    return definition._adapter


of_prop = lru_cache(maxsize=1024)(PropOp)
