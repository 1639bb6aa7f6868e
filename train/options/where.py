"""Where it runs, and where its results go."""

from __future__ import annotations

from collections.abc import Callable

from .values import contexts, folder

__all__ = ["add_where"]


def add_where(add: Callable, program: str) -> None:
    add(
        "--ctx",
        type=contexts,
        default="cpu",
        metavar="CTX",
        help="cpu, gpu, gpu:1, or several: gpu:0,gpu:1 (cpu)",
    )
    add("--engine", choices=["torch", "mxnet"], metavar="NAME", help="torch or mxnet (torch)")
    add(
        "--out",
        type=folder,
        default=f"build/{program}",
        metavar="FOLDER",
        help=f"folder of the results (build/{program})",
    )
    add("-h", "--help", action="help", help="show this and leave")
