"""Error for a name of MindSpore that this package does not have."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any


def absent(module: str, names: Iterable[str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__``, which raises an error with the most similar names."""

    def raise_error(name: str) -> Any:
        near = difflib.get_close_matches(name, names) or sorted(names)
        raise AttributeError(
            f"module {module!r} has no {name!r}: it is a part of MindSpore\n"
            f"  expected one of {', '.join(near)}"
        )

    return raise_error
