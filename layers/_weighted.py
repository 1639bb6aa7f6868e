"""The base of losses whose samples may have weights."""

from __future__ import annotations

from typing import Any

from ._inputs import expect_arrays, expect_weights, in_order
from ._renamed import formerly
from .engine import expect, gluon, nd

__all__ = ["Weighted", "weighted"]


def weighted(F, loss, sample_weight, weight):
    """Losses times the weights of samples, broadcast from the first axis on, and of all."""
    if sample_weight is not None:
        # Arrays are broadcast from the last axis on, which is the first of a transposed one.
        turned = F.broadcast_mul(F.transpose(loss), F.transpose(sample_weight))
        loss = F.reshape_like(F.transpose(turned), loss)
    return loss if weight is None else loss * weight


class Weighted(gluon.loss.Loss):
    """A loss whose samples may have weights.

    Parameters
    ----------
    weight : float, optional
        A factor for all samples.
    batch_axis : int
        The axis of samples.
    """

    @formerly("weight batch_axis")
    def __init__(self, *, weight: float | None = None, batch_axis: int = 0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def __call__(self, *inputs, **named):
        """The loss of each sample, for inputs by position or by name.

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
        """Refuse arrays that do not fit.

        Symbols are not checked: their shapes are not known yet.
        """
        raise NotImplementedError

    def _expect_weights(self, sample_weight, shape):
        if sample_weight is not None:
            expect_weights(type(self).__name__, sample_weight, shape, self._batch_axis)

    def _weighted(self, F, loss, sample_weight):
        return weighted(F, loss, sample_weight, self._weight)
