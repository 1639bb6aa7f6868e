"""Base class of losses that take weights of samples."""

from __future__ import annotations

from typing import Any

from ._inputs import expect_arrays, expect_weights, in_order
from ._renamed import formerly
from .engine import expect, gluon, nd

__all__ = ["Weighted", "weighted"]


def weighted(F, loss, sample_weight, weight):
    """Multiply losses by a factor for each sample, from the first axis on, and by `weight`."""
    if sample_weight is not None:
        # Broadcasting starts at the last axis; the first axis is the last one after a transpose.
        turned = F.broadcast_mul(F.transpose(loss), F.transpose(sample_weight))
        loss = F.reshape_like(F.transpose(turned), loss)
    return loss if weight is None else loss * weight


class Weighted(gluon.loss.Loss):
    """A loss that takes weights of samples.

    Parameters
    ----------
    weight : float, optional
        A factor for all losses.
    batch_axis : int
        The axis of samples.
    """

    @formerly("weight batch_axis")
    def __init__(self, *, weight: float | None = None, batch_axis: int = 0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def __call__(self, *inputs, **named):
        """Return the loss of each sample; inputs are given by position or by name.

        Raises
        ------
        TypeError
            An input is missing, unknown, of the other engine, or no array.
        ValueError
            The shapes of the inputs do not fit together.
        """
        inputs = in_order(self, inputs, named)
        others = [a for a in inputs if not isinstance(a, nd.NDArray) and a is not None]
        if others:
            expect(self.name, inputs)
            expect_arrays(self, inputs)
        else:
            self._expect(*inputs)
        return super().__call__(*inputs)

    def _expect(self, *args: Any, **kwargs: Any) -> None:
        """Refuse arrays whose shapes or values do not fit.

        Symbols are not checked: their shapes are not known yet.
        """

        raise NotImplementedError

    def _expect_weights(self, sample_weight, shape):
        if sample_weight is not None:
            expect_weights(type(self).__name__, sample_weight, shape, self._batch_axis)

    def _weighted(self, F, loss, sample_weight):
        return weighted(F, loss, sample_weight, self._weight)
