"""Gluon-style neural-network layers whose operators you write yourself."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._errors import did_you_mean

if TYPE_CHECKING:
    from . import nets
    from .activation import (
        GELUBlock,
        HardSwishBlock,
        MishBlock,
        ReLUBlock,
        SigmoidBlock,
        SoftplusBlock,
        SparsemaxBlock,
        SwishBlock,
    )
    from .attention import MultiHeadAttention, ScaledDotProductAttention
    from .dense import DenseBlock
    from .embedding import EmbeddingBag
    from .engine import kernels
    from .gated import GeGLU, SwiGLU
    from .gradient import GradientClipBlock, GradientReversalBlock, GradientScaleBlock
    from .loss import (
        CTCLoss,
        FocalLoss,
        HuberLoss,
        LinearCrossEntropyLoss,
        SigmoidLoss,
        SoftmaxLoss,
    )
    from .norm import GroupNormBlock, LayerNormBlock, RMSNormBlock
    from .operator_block import OperatorBlock
    from .ops import Operator, operator
    from .pairs import ContrastiveLoss, InfoNCELoss, TripletLoss
    from .position import RotaryBlock
    from .quantize import LSQBlock, StraightRoundBlock, StraightSignBlock
    from .remat import Remat
    from .saving import optimizer_state, restore_optimizer_state
    from .step import compiled_step

__version__ = "0.2.0"
__all__ = [
    "CTCLoss",
    "ContrastiveLoss",
    "DenseBlock",
    "EmbeddingBag",
    "FocalLoss",
    "GELUBlock",
    "GeGLU",
    "GradientClipBlock",
    "GradientReversalBlock",
    "GradientScaleBlock",
    "GroupNormBlock",
    "HardSwishBlock",
    "HuberLoss",
    "InfoNCELoss",
    "LSQBlock",
    "LayerNormBlock",
    "LinearCrossEntropyLoss",
    "MishBlock",
    "MultiHeadAttention",
    "Operator",
    "OperatorBlock",
    "RMSNormBlock",
    "ReLUBlock",
    "Remat",
    "RotaryBlock",
    "ScaledDotProductAttention",
    "SigmoidBlock",
    "SigmoidLoss",
    "SoftmaxLoss",
    "SoftplusBlock",
    "SparsemaxBlock",
    "StraightRoundBlock",
    "StraightSignBlock",
    "SwiGLU",
    "SwishBlock",
    "TripletLoss",
    "compiled_step",
    "kernels",
    "nets",
    "operator",
    "optimizer_state",
    "restore_optimizer_state",
]

_MODULES = {
    "CTCLoss": "loss",
    "ContrastiveLoss": "pairs",
    "DenseBlock": "dense",
    "EmbeddingBag": "embedding",
    "FocalLoss": "loss",
    "GELUBlock": "activation",
    "GeGLU": "gated",
    "GradientClipBlock": "gradient",
    "GradientReversalBlock": "gradient",
    "GradientScaleBlock": "gradient",
    "GroupNormBlock": "norm",
    "HardSwishBlock": "activation",
    "HuberLoss": "loss",
    "InfoNCELoss": "pairs",
    "LSQBlock": "quantize",
    "LayerNormBlock": "norm",
    "LinearCrossEntropyLoss": "loss",
    "MishBlock": "activation",
    "MultiHeadAttention": "attention",
    "Operator": "ops",
    "OperatorBlock": "operator_block",
    "RMSNormBlock": "norm",
    "ReLUBlock": "activation",
    "Remat": "remat",
    "RotaryBlock": "position",
    "ScaledDotProductAttention": "attention",
    "SigmoidBlock": "activation",
    "SigmoidLoss": "loss",
    "SoftmaxLoss": "loss",
    "SoftplusBlock": "activation",
    "SparsemaxBlock": "activation",
    "StraightRoundBlock": "quantize",
    "StraightSignBlock": "quantize",
    "SwiGLU": "gated",
    "SwishBlock": "activation",
    "TripletLoss": "pairs",
    "compiled_step": "step",
    "kernels": "engine",
    "nets": "nets",
    "operator": "ops",
    "optimizer_state": "saving",
    "restore_optimizer_state": "saving",
}


if not TYPE_CHECKING:  # hidden from type checkers, which would accept any name

    def __getattr__(name: str) -> Any:
        """Import a public name from its module at its first use; no engine is imported before."""
        if name not in _MODULES:
            hint = did_you_mean(name, () if name.startswith("_") else __all__)
            message = f"module {__name__!r} has no attribute {name!r}{hint}"
            raise AttributeError(message, name=name)  # without a name, Python adds its own hint
        module = import_module(f".{_MODULES[name]}", __name__)
        return module if name == "nets" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
