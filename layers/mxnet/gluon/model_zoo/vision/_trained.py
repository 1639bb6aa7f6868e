"""Weights for the networks of this package."""

from __future__ import annotations

from ....context import cpu
from ...block import HybridBlock
from ..model_store import get_model_file


def loaded(net: HybridBlock, name: str, pretrained: bool, ctx, root) -> HybridBlock:
    """A network, with the trained weights of a name where they are asked for."""
    if pretrained:
        net.load_parameters(get_model_file(name, root=root), ctx=cpu() if ctx is None else ctx)
    return net
