"""The contestants in MXNet's API, which run on both engines."""

from layers.engine import mx


def place(device: str):
    """The context for ``'cpu'`` or ``'gpu'``."""
    return mx.gpu(0) if device == "gpu" else mx.cpu()
