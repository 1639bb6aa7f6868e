"""Gluon-style neural-network layers whose operators you write yourself."""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "DenseBlock": "dense",
    "ReLUBlock": "activation",
    "SigmoidBlock": "activation",
    "SoftmaxLoss": "loss",
    "operator": "ops",
}
__all__ = list(_HOMES)


def __getattr__(name: str):
    """The public names, each from its module when it is first asked for: no engine before that."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
