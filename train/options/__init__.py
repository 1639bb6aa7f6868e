"""The command line: options, their values, and the help."""

from __future__ import annotations

from .learning import OPTIMIZERS, SCHEDULES, check_step
from .nets import NETS
from .parser import Parser, check_utf8, parse

__all__ = ["NETS", "OPTIMIZERS", "SCHEDULES", "Parser", "check_step", "check_utf8", "parse"]
