"""A layer that is computed again in backward, to save memory."""

from __future__ import annotations

import logging
from typing import Any

from . import engine
from ._renamed import formerly
from .engine import gluon, mxnet_error, nd

__all__ = ["Remat"]

log = logging.getLogger("layers")


class Remat(gluon.HybridBlock):
    """A layer of which backward needs the inputs only: it is computed again there.

    For the price of a second forward, nothing that it computes on the way is kept. Random numbers,
    such as those of Dropout, are the same both times; states, such as the moving statistics of
    BatchNorm, are updated once. The results are those of the layer itself.

    It holds eagerly and in hybridized nets, however they are run. Eagerly, a hybridized layer in it
    runs plainly; hybridize the Remat, or the net around it, to have the layer recorded or compiled.
    The first call with gradients keeps what it computes if it is the one that makes the parameters.

    On the MXNet engine the layer runs as it is, with a line in the log. There the environment
    variable ``MXNET_BACKWARD_DO_MIRROR=1`` saves memory in Symbols that are bound, as by Module;
    for blocks MXNet 1.9.1 has nothing of the kind.

    Parameters
    ----------
    block : HybridBlock
        It is an attribute, `block`. In files of parameters the names are those of the block itself.
        Its states are to be Parameters with ``differentiable=False``: others are updated twice.
    prefix : str, optional

    Inputs:
        - the block's
    Outputs:
        - the block's

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
        """The parameters by their names in files, which do not tell that they are in a Remat."""
        return self.block._collect_params_with_prefix(prefix)

    def load_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Read the block's parameters, with the arguments and errors of its own function."""
        self.block.load_parameters(*args, **kwargs)


class AsItIs:
    """The block on an engine that computes nothing again."""

    is_told = False

    def __init__(self, block: Any):
        self.call = self.traced = block
        if not AsItIs.is_told:
            AsItIs.is_told = True
            log.warning(
                "Remat: blocks run as they are and keep what they compute: MXNet 1.9.1 computes "
                "nothing of a block again in backward"
            )
