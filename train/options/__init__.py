"""The command line: options, their values, and the help."""

from __future__ import annotations

from .config import naming_files
from .data import add_data
from .learning import OPTIMIZERS, SCHEDULES, add_learning, check_learning, check_step
from .nets import DETECTORS, NETS, add_net, complete_net
from .parser import Parser, check_utf8, parse
from .where import add_where

__all__ = [
    "DETECTORS",
    "NETS",
    "OPTIMIZERS",
    "SCHEDULES",
    "Parser",
    "add_data",
    "add_learning",
    "add_net",
    "add_where",
    "check_learning",
    "check_step",
    "check_utf8",
    "complete_net",
    "naming_files",
    "parse",
]
