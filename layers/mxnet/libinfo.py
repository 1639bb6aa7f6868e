"""Where MXNet's C library would be. There is none here; see `runtime` for what can be done."""

from __future__ import annotations

from .base import UnsupportedError

__all__ = ["find_conf_path", "find_include_path", "find_lib_path"]

__version__ = "1.9.1"


def _refuse(name: str, what: str) -> None:
    raise UnsupportedError(
        f"{name}: there is no {what}, since this is MXNet's Python interface on PyTorch\n"
        "  mx.runtime.Features() tells what it can do"
    )


def find_lib_path(prefix: str = "libmxnet") -> list[str]:
    """The paths of MXNet's C library.

    Raises
    ------
    UnsupportedError
        Always: there is no such library. It is a RuntimeError, as where MXNet finds none.
    """
    _refuse("find_lib_path", f"library {prefix}")


def find_include_path() -> str:
    """The folder of MXNet's C headers.

    Raises
    ------
    UnsupportedError
        Always: there are no such headers.
    """
    _refuse("find_include_path", "folder of C headers")


def find_conf_path(prefix: str = "tvmop") -> list[str]:
    """The configuration files of MXNet's TVM operators.

    Raises
    ------
    UnsupportedError
        Always: there are no such files.
    """
    _refuse("find_conf_path", f"configuration {prefix}")
