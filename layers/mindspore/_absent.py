"""What is asked of a name that MindSpore may have, and this slice of it has not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def absent(module: str, name: str, there: Iterable[str]) -> AttributeError:
    """The error for a name that a module has not, with the nearest ones that it has."""
    there = sorted(there)
    near = difflib.get_close_matches(name, there) or there
    return AttributeError(
        f"module {module!r} has no {name!r}: it is a part of MindSpore\n"
        f"  expected of {', '.join(near)}"
    )
