"""From the name that an operator is registered under to its op."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import operator
from .prop import PropOp
from .user_op import UserOp

__all__ = ["find"]


def find(op_type: str, attributes: dict[str, Any]) -> UserOp:
    """Return the op of a registered operator; that of a Prop is the one for these attributes.

    Raises
    ------
    MXNetError
        No operator has this name.
    """
    definition = operator.find(op_type)
    if isinstance(definition, type):
        return of_prop(op_type, definition, tuple([(n, str(v)) for n, v in attributes.items()]))
    return definition._adapter


of_prop = lru_cache(maxsize=1024)(PropOp)
