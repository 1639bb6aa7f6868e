"""Text that may be in a program: identifiers, numbers, and no other text of a file.

A name comes from outside. It is in the source if it is a plain identifier; else a name is made.
"""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from ..base import UnsupportedError

LONGEST = 40  # characters of a name that is taken over
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
# Names in the emitted module that mean something else.
TAKEN = {"self", "ctx", "torch", "nn", "F", "load", "Tensor", "path", *dir(builtins)}
TAKEN |= {"softmax_output", "linear_output", "logistic_output", "mae_output"}
OF_MODULES = {*dir(torch.nn.Module()), *dir(torch.nn.Sequential())}


def is_plain(text: str) -> bool:
    """True if a text is an identifier of ASCII letters, digits and _, and not a long one."""
    return (
        len(text) <= LONGEST
        and PLAIN.fullmatch(text) is not None
        and not keyword.iskeyword(text)
        and not keyword.issoftkeyword(text)
    )


class Names:
    """The names of one scope of the source, each given once."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = {*TAKEN, *taken}

    def take(self, wanted: str, otherwise: str) -> str:
        """Return `wanted` if it is plain and free, else `otherwise` with a number."""
        if is_plain(wanted) and wanted not in self._taken:
            self._taken.add(wanted)
            return wanted
        number = 0
        while f"{otherwise}{number}" in self._taken:
            number += 1
        self._taken.add(f"{otherwise}{number}")
        return f"{otherwise}{number}"


def number(value: float) -> str:
    """Return a number of an attribute as Python writes it; of float32, its shortest form."""
    if isinstance(value, (bool, int)):
        return repr(value)
    if not math.isfinite(value):
        return "torch.nan" if math.isnan(value) else "-torch.inf" if value < 0 else "torch.inf"
    short = float(f"{value:.7g}")
    same = np.float32(short) == np.float32(value) if abs(value) < 3e38 else False
    return repr(short if same else float(value))


def literal(value: Any) -> str:
    """Return a number, a dtype, None or a tuple of these as source.

    Raises
    ------
    UnsupportedError
        The value is a text, or of another kind.
    """
    if value is None:
        return "None"
    if isinstance(value, (bool, int, float)):
        return number(value)
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, (tuple, list)):
        parts = [literal(v) for v in value]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    raise UnsupportedError(f"emit: a {type(value).__name__} in the source\n  expected numbers")
