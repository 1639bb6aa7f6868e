"""One run, from the options to the files."""

from __future__ import annotations

import math
import os
import platform
import time
from argparse import Namespace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from layers import engine
from layers.engine import gluon, mx

from . import Diverged, Refused, report
from .data import Data, load, steps
from .loop import Epoch, fit
from .mlp import mlp
from .options import OPTIMIZERS
from .progress import Progress

__all__ = ["run"]

LIBRARIES = ("layers", "torch", "mxnet", "numpy", "scikit-learn", "matplotlib", "tqdm")


def run(options: Namespace) -> list[Epoch]:
    """Train a network as the options say, show what came of it, and write the files.

    Raises
    ------
    Refused
        The options ask for what is not there; nothing was trained.
    Diverged
        The loss became infinite or nan; nothing is written.
    """
    ctx = contexts(options.ctx)
    report.check(options.out)
    data = load(options.data)
    if len(data.x) // steps(len(data.x), options.batch_size) < len(ctx):
        raise Refused(
            f"--batch-size {options.batch_size}: not a sample for each of {len(ctx)} contexts"
        )

    mx.random.seed(options.seed)
    net = mlp(data.x.shape[1], options.hidden, data.classes)
    net.initialize(ctx=ctx)
    settings = OPTIMIZERS[options.optimizer] | {"learning_rate": options.lr}
    trainer = gluon.Trainer(net.collect_params(), options.optimizer, settings)
    config = describe(options, data, net, settings)
    print(headline(options, config), flush=True)

    start = time.perf_counter()
    try:
        epochs = train(net, data, trainer, ctx, options)
    except Diverged as error:
        raise Diverged(f"{error}; try a --lr below {options.lr:g}") from error
    seconds = time.perf_counter() - start
    rate = len(data.x) * len(epochs) / sum(epoch.seconds for epoch in epochs)

    print(report.table(epochs))
    title = f"{options.data}: {epochs[-1].held_out_accuracy:.2%} of the held-out samples right"
    print(f"{title}, after {seconds:.1f} s with {rate:,.0f} samples/s")
    config["result"] = vars(epochs[-1]) | {"seconds": seconds, "samples_per_second": rate}
    report.write(options.out, epochs, net, config, title)
    print(f"{options.out}: {', '.join(report.FILES)}")
    return epochs


def train(net, data: Data, trainer, ctx: list, options: Namespace) -> list[Epoch]:
    epochs = []
    rng = np.random.default_rng(options.seed)
    with Progress(len(data.x), options.epochs) as progress:
        for epoch in fit(
            net,
            data,
            trainer,
            ctx=ctx,
            epochs=options.epochs,
            batch_size=options.batch_size,
            rng=rng,
            watch=progress.step,
        ):
            epochs.append(epoch)
            progress.epoch(epoch)
    return epochs


def contexts(named: list[tuple[str, int]]) -> list:
    """The contexts of these names; refuses those that the machine does not have."""
    gpus = mx.context.num_gpus()
    for kind, number in named:
        if kind == "gpu" and number >= gpus:
            there = ", ".join(["cpu", *(f"gpu:{i}" for i in range(gpus))])
            raise Refused(
                f"--ctx {kind}:{number}: {engine.name()} finds no such device; there is {there}"
            )
    return [mx.Context(kind, number) for kind, number in named]


def describe(options: Namespace, data: Data, net, settings: dict[str, float]) -> dict[str, Any]:
    """What it takes to do the run again, and to use its parameters."""
    ctx = ",".join(f"{kind}:{number}" for kind, number in options.ctx)
    return {
        "options": vars(options) | {"out": str(options.out), "ctx": ctx},
        "engine": engine.describe(),
        "data": {
            "samples": len(data.x),
            "held_out": len(data.held_out_x),
            "shape": data.shape,
            "classes": data.classes,
            "mean": data.mean,
            "std": data.std,
        },
        "network": {
            "units": [data.x.shape[1], *options.hidden, data.classes],
            "parameters": sum(math.prod(p.shape) for p in net.collect_params().values()),
        },
        "optimizer": {"name": options.optimizer, **settings},
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "libraries": {name: found for name in LIBRARIES if (found := installed(name))},
    }


def installed(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def headline(options: Namespace, config: dict[str, Any]) -> str:
    data, network = config["data"], config["network"]
    return (
        f"{options.data}: {data['classes']} classes, {data['samples']:,} samples to learn from, "
        f"{data['held_out']:,} held out\n"
        f"{' - '.join(map(str, network['units']))}: {network['parameters']:,} parameters, "
        f"{options.optimizer} with learning rate {options.lr:g}, "
        f"{config['engine']['name']} on {config['options']['ctx']}\n"
    )
