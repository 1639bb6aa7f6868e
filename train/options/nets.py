"""The network."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import Refused
from .values import integer_from, share, sizes, wrong

__all__ = ["DETECTORS", "NETS", "add_net", "complete_net", "refuse_code"]

# The options of each net, and their values where none is given.
NETS: dict[str, dict[str, Any]] = {
    "mlp": {
        "hidden": [256, 128],
        "activation": "sigmoid",
        "norm": None,
        "dropout": 0.0,
        "residual": False,
    },
    "mixer": {"patch": 2, "units": 64, "depth": 2, "dropout": 0.0},
    "vit": {"patch": 2, "units": 64, "depth": 2, "heads": 4, "dropout": 0.0},
    "conv": {"units": 32, "depth": 3, "dropout": 0.0},
    "resnet": {"units": 16, "depth": 2},
}
DETECTORS: dict[str, dict[str, Any]] = {"ssd_lite": {"units": 24}}  # of train.detect
# The options of GluonCV's nets, ``gluoncv:NAME``.
GLUONCV: dict[str, Any] = {"pretrained": None, "head": "dense"}
EVERY = [*dict.fromkeys(name for row in NETS.values() for name in row), *GLUONCV]


def add_net(add: Callable, program: str) -> None:
    if program == "train.detect":
        add(
            "--net",
            type=detector,
            default="ssd_lite",
            metavar="NET",
            help="ssd_lite, or a function in a file: my.py:function (ssd_lite)",
        )
        add("--units", type=integer_from(1), metavar="N", help="its first channels (24)")
        return
    if program != "train.module":  # which has the one net
        add(
            "--net",
            type=net,
            default="mlp",
            metavar="NET",
            help="mlp, mixer, vit, conv, resnet, a function in a file: my.py:function, or "
            "gluoncv:NAME (mlp)",
        )
    add("--hidden", type=sizes, metavar="N,N", help="units of the hidden layers (256,128)")
    if program != "train.module":
        add_more(add)


def add_more(add: Callable) -> None:
    add("--activation", metavar="NAME", help="sigmoid, relu, tanh, gelu, swiglu, ... (sigmoid)")
    add("--norm", choices=["layer", "rms", "batch"], metavar="KIND", help="layer, rms or batch")
    add("--dropout", type=share, metavar="SHARE", help="share of the units that is dropped (0)")
    add("--residual", action="store_true", default=None, help="add each hidden layer's input")
    whole = integer_from(1)
    add("--patch", type=whole, metavar="N", help="side of a patch of an image (2)")
    add(
        "--units",
        type=whole,
        metavar="N",
        help="numbers that stand for a patch (64), or first channels (32 or 16)",
    )
    add(
        "--depth",
        type=whole,
        metavar="N",
        help="blocks (2), of conv (3), or of each stage of resnet (2)",
    )
    add("--heads", type=whole, metavar="N", help="heads of a vit's attention (4)")
    add("--pretrained", metavar="FILE", help="MXNet's .params for a net of gluoncv: (none)")
    add(
        "--head",
        choices=["dense", "fused"],
        metavar="KIND",
        help="last layer of a net of gluoncv: dense, or fused with the loss (dense)",
    )


def net(text: str) -> str:
    return one_of(NETS, text)


def detector(text: str) -> str:
    return one_of(DETECTORS, text)


def one_of(known: Iterable[str], text: str) -> str:
    """The name of one of these nets, or that of a file and a function in it."""
    file, colon, function = text.rpartition(":")
    if file == "gluoncv" and function and known is NETS:
        return text  # its names are known when GluonCV is imported
    if text not in known and not (colon and file.endswith(".py") and function.isidentifier()):
        more = ", gluoncv:NAME," * (known is NETS) or ","
        raise wrong(text, f"{', '.join(known)}{more} or a function in a file such as my.py:build")
    return text


def refuse_code(net: str, file: Path) -> None:
    """Refuse a net that is a Python file, as a file of options must not have one run.

    Raises
    ------
    Refused
        It is one; the message says what to give on the command line.
    """
    if net.rpartition(":")[0].endswith(".py"):
        raise Refused(
            f"{file}: its net is {net!r}, a Python file that would be run; expected "
            f"--net {shlex.quote(net)} on the command line too, if you trust it"
        )


def complete_net(options: Namespace) -> None:
    """Set those options of the net that are not given; refuse those that it does not have.

    Raises
    ------
    Refused
        One is given that the net does not have.
    """
    name = getattr(options, "net", "mlp")
    own = GLUONCV if name.startswith("gluoncv:") else (NETS | DETECTORS).get(name, {})
    for option in EVERY:
        if getattr(options, option, None) is None:
            if hasattr(options, option):
                setattr(options, option, own.get(option))
        elif option not in own:
            has = ", ".join(f"--{each}" for each in own)
            raise Refused(
                f"--{option}: the net {name} has no such option; expected "
                + (f"some of {has}" if has else f"no --{option}: its file says how it is made")
            )
