"""What each operator of ONNX is here: ``ROWS``, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._graph import Step

__all__ = ["ROWS", "row"]

ROWS: dict[str, Callable[[Step], Any]] = {}


def row(name: str) -> Callable:
    """Put a function into `ROWS`."""

    def add(function: Callable[[Step], Any]) -> Callable[[Step], Any]:
        ROWS[name] = function
        return function

    return add
