"""A suite of graphs as such: what it costs to make, infer, bind, write and read one."""

from __future__ import annotations

from .suite import MXNET, OURS, Case, Contestant, Suite

GRAPHS = Suite(
    "graphs",
    "graphs",
    "Graphs of an unrolled LSTM: compose, infer shapes, bind, write and read",
    [
        Contestant("MXNet", MXNET, "gluon", ""),
        Contestant("layers.mxnet", OURS, "gluon", ""),
    ],
    [
        Case(f"{work}, {nodes:,} nodes", {"work": work, "nodes": nodes})
        for nodes in (100, 1_000, 10_000)
        for work in ("compose", "infer_shape", "bind", "bind and predict", "tojson", "load")
    ],
    1e-6,
    device="cpu",
    most_rounds=5,  # with the collector of garbage off, each graph that is bound stays
)
