"""A layer whose forward is computed again in backward, to save memory."""

from __future__ import annotations

import logging
from typing import Any

from . import engine
from ._renamed import formerly
from .engine import gluon, mxnet_error, nd

__all__ = ["Remat"]

log = logging.getLogger("layers")


class Remat(gluon.HybridBlock):
    """A layer that keeps only its inputs for backward, where its forward runs again.

    It keeps none of the layer's intermediate results, at the price of a second forward. Random
    numbers, such as the masks of Dropout, are the same both times. States, such as the moving
    statistics of BatchNorm, are updated once. The results do not change.

    It works eagerly and in hybridized nets, in each way of running them. Eagerly, a hybridized
    layer inside runs plainly; to have it recorded or compiled, hybridize the Remat or the net
    around it. If the first call makes the parameters and computes gradients, it keeps its
    intermediate results.

    On the MXNet engine, the layer runs without recomputation, and the log says so. There the
    environment variable ``MXNET_BACKWARD_DO_MIRROR=1`` saves memory in Symbols that are bound, as
    by Module; MXNet 1.9.1 has nothing of the kind for blocks.

    Parameters
    ----------
    block : HybridBlock
        The layer, kept as the attribute `block`. Files of parameters use the block's own names. Its
        states must be Parameters with ``differentiable=False``; other states are updated twice.
    prefix : str, optional

    Inputs:
        - the inputs of the block
    Outputs:
        - the outputs of the block

    Raises
    ------
    ValueError
        `block` is no HybridBlock.

    Examples
    --------
    >>> net = gluon.nn.HybridSequential()
    >>> for _ in range(12):
    ...     net.add(Remat(TransformerBlock()))

    T. Chen et al., Training deep nets with sublinear memory cost, arXiv:1604.06174, 2016.
    """

    @formerly("block prefix")
    def __init__(self, block: Any, *, prefix: str | None = None):
        if not isinstance(block, gluon.HybridBlock):
            raise mxnet_error(ValueError, f"Remat: block is {block!r}\n  expected a HybridBlock")
        super().__init__(prefix=prefix)
        self.block = block
        self._recomputed = engine.recomputed()(block)

    def hybrid_forward(self, F, *args):
        return self._recomputed.call(*args) if F is nd else self._recomputed.traced(*args)

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        """Return the parameters by their names in files, which do not mention the Remat."""
        return self.block._collect_params_with_prefix(prefix)

    def load_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Read the block's parameters, with the arguments and errors of its own method."""
        self.block.load_parameters(*args, **kwargs)


class AsItIs:
    """Block without recomputation, for an engine that cannot recompute."""

    is_told = False

    def __init__(self, block: Any):
        self.call = self.traced = block
        if not AsItIs.is_told:
            AsItIs.is_told = True
            log.warning(
                "Remat: blocks run as they are and keep what they compute: MXNet 1.9.1 computes "
                "nothing of a block again in backward"
            )
