"""Loggers whose lines begin with a letter for the level and the time: ``W1122 18:42:09 ...``."""

from __future__ import annotations

import logging
import sys
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "INFO",
    "NOTSET",
    "WARNING",
    "getLogger",
    "get_logger",
]

_COLORS = {WARNING: "\x1b[31m", ERROR: "\x1b[31m", CRITICAL: "\x1b[31m"}  # red; green below
_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}


class _Formatter(logging.Formatter):
    """A letter, the time, the process and the place before each message; colored at a terminal."""

    def __init__(self, colored: bool):
        super().__init__(datefmt="%m%d %H:%M:%S")
        self._colored = colored

    def format(self, record: logging.LogRecord) -> str:
        letter = _LETTERS.get(record.levelno, "U")
        head = f"{letter}%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]"
        if self._colored:
            head = f"{_COLORS.get(record.levelno, chr(27) + '[32m')}{head}\x1b[0m"
        self._style._fmt = f"{head} %(message)s"
        return super().format(record)


def get_logger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """The logger of a name, which writes to a file or to standard error.

    A logger that this function has made before is returned as it is.

    Parameters
    ----------
    name : str, optional
        Without one it is the root logger, to which nothing is added.
    filename : str, optional
    filemode : str, optional
        'a' where it is None.
    level : int
        What is less urgent is not written.

    Raises
    ------
    OSError
        The file cannot be opened.
    """
    logger = logging.getLogger(name)
    if name is None or any(isinstance(h.formatter, _Formatter) for h in logger.handlers):
        return logger
    if filename:
        handler: logging.Handler = logging.FileHandler(filename, filemode or "a")
    else:
        handler = logging.StreamHandler()
    handler.setFormatter(_Formatter(colored=not filename and sys.stderr.isatty()))
    logger.addHandler(handler)
    logger.setLevel(level)
    return logger


def getLogger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """The older name of `get_logger`; warns that it is one.

    Raises
    ------
    OSError
        The file cannot be opened.
    """
    warnings.warn("getLogger is deprecated, use get_logger", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
