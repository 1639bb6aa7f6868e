"""What is asked of a name that MindSpore may have, and this slice of it has not."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any


def absent(module: str, there: Iterable[str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module: an error with the nearest of the names that are there."""

    def raise_error(name: str) -> Any:
        near = difflib.get_close_matches(name, there) or sorted(there)
        raise AttributeError(
            f"module {module!r} has no {name!r}: it is a part of MindSpore\n"
            f"  expected of {', '.join(near)}"
        )

    return raise_error
