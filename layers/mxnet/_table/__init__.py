"""Every operator of MXNet: a row, or a def. One module per family."""

from importlib import import_module

MODULES = (
    "elementwise",
    "broadcast",
    "reduce",
    "shape",
    "index",
    "order",
    "matrix",
    "precision",
    "nn",
    "rnn",
    "output",
    "ctc",
    "random",
    "create",
    "vision",
    "spatial",
    "image",
    "optimizer",
)


def load() -> None:
    """Register them all."""
    for name in MODULES:
        import_module(f"{__name__}.{name}")
