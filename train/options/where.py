"""Where it runs, and where its results go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .values import contexts, integer_from, path

__all__ = ["add_where"]


def add_where(add: Callable, program: str) -> None:
    add(
        "--ctx",
        type=contexts,
        default="cpu",
        metavar="CTX",
        help="cpu, gpu, gpu:1, or several: gpu:0,gpu:1 (cpu)",
    )
    if program == "train":
        add(
            "--kvstore",
            choices=["device", "dist_sync"],
            default="device",
            metavar="NAME",
            help="device; dist_sync: together with all processes that torchrun starts (device)",
        )
    add("--engine", choices=["torch", "mxnet"], metavar="NAME", help="torch or mxnet (torch)")
    if program == "train.find_lr":  # which learns nothing that is kept
        default = Path(f"build/{program}")
        add("--out", type=path, default=default, metavar="FOLDER", help=f"results ({default})")
    else:
        add_run(add, program)
    add("-h", "--help", action="help", help="show this and leave")


def add_run(add: Callable, program: str) -> None:
    add(
        "--out",
        type=path,
        metavar="FOLDER",
        help=f"folder of the results (build/{program}, whose earlier run is replaced)",
    )
    add(
        "--config",
        type=path,
        metavar="FILE",
        help="options from a file in JSON or YAML, such as config.json of a run",
    )
    add(
        "--overwrite",
        action="store_true",
        help="replace the run that --out holds, unless --resume goes on",
    )
    add("--resume", action="store_true", help="go on with the run in --out, or begin it")
    add(
        "--checkpoint-steps",
        type=integer_from(1),
        metavar="N",
        help="save a checkpoint after this many steps too (after each epoch)",
    )
    add(
        "--tensorboard",
        type=path,
        metavar="FOLDER",
        help="write the results of each epoch for TensorBoard, too",
    )
