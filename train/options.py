"""The command line: options, their values, and the help."""

from __future__ import annotations

import argparse
import csv
import math
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from layers._programs import command

from . import Refused

__all__ = ["OPTIMIZERS", "Parser", "check_utf8", "parse"]

# The arguments of each optimizer; --lr replaces the learning rate.
OPTIMIZERS: dict[str, dict[str, float]] = {
    "adam": {"learning_rate": 0.005},
    "sgd": {"learning_rate": 0.3, "momentum": 0.9},
}

DESCRIPTION = """\
Train a multi-layer perceptron to tell classes apart, by default handwritten digits, or to predict
a number: layers x Wᵀ + b with sigmoids between them; the loss is the cross entropy of softmax, or
the squared error. It is done
"""
HOW = {
    "train": "with Gluon, from this library's own layers. `python -m train.module` uses Module.",
    "train.module": "with Symbol and Module, ending in an operator of its own written in NumPy.",
}

MORE = """\
examples:
  {command}                              the digits of scikit-learn, in seconds
  {command} --data mnist:~/mnist         60,000 digits, from the published files
  {command} --data iris.csv --target species --out build/iris
  {command} --data houses.csv --task regression --target price --ignore id
  {command} --optimizer sgd --lr 0.1 --epochs 50 --seed 7
  {command} --ctx gpu:0,gpu:1            half of each batch on each GPU

data:
  digits                   1,797 digits of 8 x 8 pixels, which scikit-learn brings along
  mnist[:FOLDER]           train-images-idx3-ubyte, train-labels-idx1-ubyte and the same of t10k,
  fashion-mnist[:FOLDER]   with .gz or without; FOLDER is ~/.mxnet/datasets/NAME if not given
  cifar10[:FOLDER]         data_batch_1.bin to data_batch_5.bin and test_batch.bin
  FILE.csv, FILE.tsv       a line for each sample, after a line with the names of the columns
  FILE.npz                 x (samples, ...) and y (samples,); or x_train, y_train, x_test, y_test
  X.npy,Y.npy              the same as two files
  FOLDER                   images, PNG or JPEG, in a folder for each class
  FILE.rec                 images in RecordIO, with FILE.idx beside it

Targets are classes: whole numbers or texts; with --task regression they are numbers. Of data
without test samples a fifth is held out, the same part of each class and for every seed, or
--validation names held-out samples. No training step sees them. Each column of a table is scaled
by itself, pixels all alike; the saved net does it. Missing values are refused.
To predict with a trained net: python -m train.predict --help

{hybridize}files in --out:
  history.csv         loss and metric of every epoch; on one machine, and with one --hybridize,
                      the same seed gives the same file
  curves.png          the same as a picture
{files}
  config.json         how to do it again: options, engine, versions, classes and scaling, result

All files appear together, after the training. Ctrl-C ends it after the step, as SIGTERM and SIGHUP
do: what was learned until then is measured and written. Ctrl-C twice leaves at once and writes
nothing.

exit status:
  0    trained
  2    cannot be done as asked
  3    the loss is not finite, and no file is written; or it ends above twice that of guessing
  130  interrupted by Ctrl-C; 143 by SIGTERM, 129 by SIGHUP"""
MODES = {
    "train": """\
hybridize:
  none      every operator by itself, as the program comes to it
  recorded  the net as one graph, made and recorded by the first call
  compiled  that graph compiled, the net's own operators included (--engine torch)
  step      forward, loss, backward and update as one compiled graph (--engine torch, one context)

""",
    "train.module": "",
}
FILES = {
    "train": """\
  model.params        the parameters after the last epoch, for net.load_parameters
  model-symbol.json   the exported net, with
  model-0000.params   its parameters, for SymbolBlock.imports""",
    "train.module": """\
  model-symbol.json   the Module's checkpoint after the last epoch: the graph, and
  model-0000.params   the parameters, for Module.load""",
}


class Parser(argparse.ArgumentParser):
    """A parser that raises the message that it would print, in one line and without the usage."""

    def error(self, message: str) -> NoReturn:
        raise Refused(message.removeprefix("argument "))


def parse(argv: list[str] | None = None, program: str = "train") -> argparse.Namespace:
    """The options of a program, ``train`` or ``train.module``, as a namespace.

    Raises
    ------
    Refused
        One is unknown, has a wrong value, or is not text in UTF-8.
    """
    check_utf8(argv)
    options = parser(program).parse_args(argv)
    if options.lr is None:
        options.lr = OPTIMIZERS[options.optimizer]["learning_rate"]
    return options


def check_utf8(argv: list[str] | None) -> None:
    """Refuse arguments that are no text: engines cannot write files of such names.

    Raises
    ------
    Refused
        One is not UTF-8.
    """
    for text in sys.argv[1:] if argv is None else argv:
        if not is_utf8(text):
            raise Refused(f"{text!r} is not UTF-8")


def parser(program: str) -> argparse.ArgumentParser:
    name = command(f"layers-{program}", program)
    result = Parser(
        prog=name,
        description=DESCRIPTION + HOW[program],
        epilog=MORE.format(command=name, files=FILES[program], hybridize=MODES[program]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add = result.add_argument_group("what to learn").add_argument
    add("--data", default="digits", metavar="DATA", help="see below (digits)")
    add_data(add)
    add(
        "--hidden",
        type=sizes,
        default=[256, 128],
        metavar="N,N",
        help="units of the hidden layers (256,128)",
    )
    add_how(result.add_argument_group("how").add_argument, program)
    add_where(result.add_argument_group("where").add_argument, program)
    return result


def add_data(add: Callable) -> None:
    add("--validation", metavar="DATA", help="held-out samples, in the form of --data")
    add(
        "--task",
        choices=["classification", "regression"],
        default="classification",
        metavar="TASK",
        help="classification or regression (classification)",
    )
    add("--target", metavar="COLUMN", help="what to predict from a table (its last column)")
    add("--features", type=names, default=(), metavar="A,B", help="columns to use (all others)")
    add("--ignore", type=names, default=(), metavar="A,B", help="columns not to use (none)")
    add("--image-size", type=size, metavar="H,W", help="resize images to H x W pixels")


def add_how(add: Callable, program: str) -> None:
    add("--epochs", type=integer_from(1), default=30, metavar="N", help="passes over the data (30)")
    add(
        "--batch-size", type=integer_from(1), default=64, metavar="N", help="samples in a step (64)"
    )
    lr = ", ".join(f"{row['learning_rate']} for {name}" for name, row in OPTIMIZERS.items())
    add(
        "--optimizer",
        type=optimizer,
        default="adam",
        metavar="NAME",
        help="adam, or sgd with momentum (adam)",
    )
    add("--lr", type=rate, metavar="RATE", help=f"learning rate ({lr})")
    add(
        "--seed",
        type=integer_from(0),
        default=0,
        metavar="N",
        help="of initialization and order (0)",
    )

    if program != "train.module":  # its net is always a graph
        add(
            "--hybridize",
            choices=["none", "recorded", "compiled", "step"],
            default="none",
            metavar="MODE",
            help="none, recorded, compiled or step: see below (none)",
        )


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


def integer_from(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"-?\d{1,18}", text) else None
        if value is None or not least <= value < 2**31:
            raise wrong(text, f"a whole number from {least}")
        return value

    return read


def rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise wrong(text, "a number above 0, such as 0.01")
    return value


def sizes(text: str) -> list[int]:
    parts = text.split(",")
    if not all(re.fullmatch(r"\s*0*[1-9]\d{0,6}\s*", part) for part in parts):
        raise wrong(text, "sizes of layers, such as 128 or 128,64")
    return [int(part) for part in parts]


def names(text: str) -> tuple[str, ...]:
    found = tuple([name.strip() for name in next(csv.reader([text]), [])])
    if not found or not all(found) or len({*found}) < len(found):
        raise wrong(text, "names of columns, each once, such as age,height")
    return found


def size(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) > 2 or not all(re.fullmatch(r"\s*0*[1-9]\d{0,3}\s*", part) for part in parts):
        raise wrong(text, "height and width in pixels, such as 32 or 32,48")
    return int(parts[0]), int(parts[-1])


def optimizer(text: str) -> str:
    if text not in OPTIMIZERS:
        raise wrong(text, " or ".join(OPTIMIZERS))
    return text


def contexts(text: str) -> list[tuple[str, int]]:
    found = [re.fullmatch(r"(cpu|gpu)(?::(\d{1,4}))?", part.strip()) for part in text.split(",")]
    named = [(match[1], int(match[2] or 0)) for match in found if match]
    if len(named) < len(found) or len({*named}) < len(named):
        raise wrong(text, "contexts, each once, such as cpu, gpu or gpu:0,gpu:1")
    return named


def folder(text: str) -> Path:
    return Path(os.path.expanduser(text))


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def wrong(text: Any, expected: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"expected {expected}, not {text!r}")
