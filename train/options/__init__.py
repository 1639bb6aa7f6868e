"""The command line: options, their values, and the help."""

from __future__ import annotations

from .learning import OPTIMIZERS
from .parser import Parser, check_utf8, parse

__all__ = ["OPTIMIZERS", "Parser", "check_utf8", "parse"]
