"""Gluon-style neural-network layers whose operators you write yourself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .activation import ReLUBlock, SigmoidBlock
    from .dense import DenseBlock
    from .loss import SoftmaxLoss
    from .operator_block import OperatorBlock
    from .ops import Operator, operator
    from .step import compiled_step

__version__ = "0.1.0"
__all__ = [
    "DenseBlock",
    "Operator",
    "OperatorBlock",
    "ReLUBlock",
    "SigmoidBlock",
    "SoftmaxLoss",
    "compiled_step",
    "operator",
]

_HOMES = {
    "DenseBlock": "dense",
    "Operator": "ops",
    "OperatorBlock": "operator_block",
    "ReLUBlock": "activation",
    "SigmoidBlock": "activation",
    "SoftmaxLoss": "loss",
    "compiled_step": "step",
    "operator": "ops",
}


def __getattr__(name: str) -> Any:
    """A public name, from its module when it is first asked for: no engine before that."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
