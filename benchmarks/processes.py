"""What communication costs: ``torchrun --nproc-per-node 2 -m benchmarks.processes``.

Each process trains a multi-layer perceptron on its part of a batch, in three ways that take turns:
gradients are not summed; they are summed over the processes while backward computes others; they
are summed after backward. The table has the seconds of a step, the best of all rounds, and which
share of it is for communication: what is more than in the first way, in the median round.
"""

from __future__ import annotations

import argparse
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import layers.mxnet as mx
from layers.mxnet import autograd, gluon, nd

CASES = {
    "64-128-64-10, batch 64": ([64, 128, 64, 10], 64),
    "784-1024-1024-10, batch 256": ([784, 1024, 1024, 10], 256),
    "784-2048-2048-2048-10, batch 512": ([784, 2048, 2048, 2048, 10], 512),
}
WAYS = ("not summed", "during backward", "after backward")


class Way:
    """A net that is trained in one of the ways."""

    def __init__(self, name: str, kv: Any, units: list[int], batch: int):
        part = batch // kv.num_workers
        self.batch = batch
        rng = np.random.default_rng(kv.rank)
        self.x = nd.array(rng.normal(size=(part, units[0])))
        self.y = nd.array(rng.integers(0, units[-1], part))
        self.net = gluon.nn.HybridSequential()
        for before, after in zip(units, units[1:]):
            last = after == units[-1]
            self.net.add(gluon.nn.Dense(after, None if last else "relu", in_units=before))
        self.net.initialize()
        self.loss = gluon.loss.SoftmaxCELoss()
        store = None if name == WAYS[0] else kv
        settings = {"learning_rate": 1e-3}
        self.trainer = gluon.Trainer(self.net.collect_params(), "sgd", settings, kvstore=store)
        if name == WAYS[2]:
            self.trainer._gradient_sums._overlaps = False

    def step(self) -> None:
        with autograd.record():
            losses = self.loss(self.net(self.x), self.y)
        losses.backward()
        self.trainer.step(self.batch)

    def seconds(self, kv: Any, steps: int) -> float:
        """Of a step, with all processes."""
        kv.barrier()
        start = perf_counter()
        for _ in range(steps):
            self.step()
        nd.waitall()
        kv.barrier()
        return (perf_counter() - start) / steps


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.processes")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a round, about")
    options = parser.parse_args(argv)
    kv = mx.kv.create("dist_sync")
    first = kv.rank == 0
    if first:
        print(f"{kv.num_workers} process{'es' * (kv.num_workers > 1)}, ms a step")
        print(f"{'':34}{''.join(f'{way:>24}' for way in WAYS)}")
    for name, (units, batch) in CASES.items():
        ways = [Way(way, kv, units, batch) for way in WAYS]
        times: list[list[float]] = []
        for way in ways:
            way.seconds(kv, 3)
        count = nd.array([max(1.0, options.seconds / ways[0].seconds(kv, 3))])
        kv.broadcast(name, count, count)  # as many steps in all processes
        for _ in range(options.rounds):
            times.append([way.seconds(kv, int(count.asscalar())) for way in ways])
        if first:
            print(f"{name:34}{row(times)}", flush=True)


def row(times: list[list[float]]) -> str:
    """The best of each way, and the share of communication."""
    cells = []
    for k in range(len(WAYS)):
        share = median(1 - each[0] / each[k] for each in times)
        best = min(each[k] for each in times)
        cells.append(f"{best * 1e3:>15.2f}" + (f" ({share:5.0%})" if k else " " * 9))
    return "".join(cells)


if __name__ == "__main__":
    main()
