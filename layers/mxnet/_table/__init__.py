"""Every operator of MXNet: a row, or a def. One module per family."""

from importlib import import_module

MODULES = (
    "elementwise",
    "broadcast",
    "reduce",
    "shape",
    "index",
    "positions",
    "order",
    "matrix",
    "precision",
    "quantize",
    "nn",
    "attention",
    "rnn",
    "quantized",
    "output",
    "ctc",
    "random",
    "create",
    "vision",
    "spatial",
    "spectral",
    "hawkes",
    "boxes",
    "multibox",
    "proposals",
    "regions",
    "deformable",
    "image",
    "old",
    "optimizer",
    "many",
    "sparse",
    "absent",
    "np_arithmetic",
    "np_reduce",
    "np_shape",
    "np_index",
    "np_create",
    "np_random",
    "np_linalg",
    "npx",
    "from_outputs",
)


def load() -> None:
    """Register them all."""
    for name in MODULES:
        import_module(f"{__name__}.{name}")
