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
    "nn",
    "attention",
    "rnn",
    "output",
    "ctc",
    "random",
    "create",
    "vision",
    "spatial",
    "spectral",
    "boxes",
    "multibox",
    "regions",
    "image",
    "old",
    "optimizer",
    "many",
)


def load() -> None:
    """Register them all."""
    for name in MODULES:
        import_module(f"{__name__}.{name}")
