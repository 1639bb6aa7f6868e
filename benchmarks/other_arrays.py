"""Suites of arrays that are not dense floats: 8-bit integers, and rows of a table."""

from __future__ import annotations

from .suite import MXNET, OURS, Case, Contestant, Suite

INT8 = Suite(
    "int8",
    "int8",
    "Layers of 8-bit integers, and the same in float32",
    [
        Contestant("PyTorch, float32", OURS, "pytorch", "float32"),
        Contestant("layers.mxnet, float32", OURS, "gluon", "float32"),
        Contestant("layers.mxnet, int8", OURS, "gluon", "int8"),
        Contestant("MXNet, float32", MXNET, "gluon", "float32"),
        Contestant("MXNet, int8", MXNET, "gluon", "int8"),
    ],
    [
        Case(name, {"data": data, "weight": weight, "pad": pad})
        for name, data, weight, pad in (
            ("dense, 64 x 784 x 128", (64, 784), (128, 784), 0),
            ("dense, 256 x 1024 x 1024", (256, 1024), (1024, 1024), 0),
            ("convolution 3 x 3, 8 x 64 x 28 x 28", (8, 64, 28, 28), (64, 64, 3, 3), 1),
            ("convolution 1 x 1, 8 x 256 x 14 x 14", (8, 256, 14, 14), (256, 256, 1, 1), 0),
        )
    ],
    1e-5,
    device="cpu",
)

SPARSE = Suite(
    "sparse",
    "sparse",
    "One training step of a sparse embedding: a million rows of 64",
    [
        Contestant("PyTorch", OURS, "pytorch", "eager"),
        Contestant("layers.mxnet", OURS, "gluon", "eager"),
        Contestant("MXNet", MXNET, "gluon", "eager"),
    ],
    [
        Case(f"{name}, {batch} lookups", {"optimizer": name, "rows": 1_000_000, "batch": batch})
        for name in ("sgd", "adam")
        for batch in (256, 4096)
    ],
    1e-4,
)
