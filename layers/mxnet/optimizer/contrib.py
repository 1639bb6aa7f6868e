"""Optimizers that MXNet has on trial."""

from __future__ import annotations

from ..base import ArgumentError
from ..ndarray import NDArray, contrib
from .optimizer import Optimizer, register

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one history for each row: h += mean(g²), w -= lr g / √(h + eps).

    Parameters
    ----------
    eps : float
    **kwargs
        Of Optimizer; without weight decay.
    """

    def __init__(self, eps=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index, weight):
        """h, (n, 1) for a weight (n, ...)."""
        tensor = weight._tensor
        return NDArray(tensor.new_zeros((len(tensor), 1)), weight.context)

    def update(self, index, weight, grad, state) -> None:
        """Change a weight by its gradient.

        Raises
        ------
        ArgumentError
            There is a weight decay.
        """
        self._update_count(index)
        if self._get_wd(index):
            raise ArgumentError(f"GroupAdaGrad: wd is {self._get_wd(index)}\n  expected 0")
        contrib.group_adagrad_update(
            weight,
            grad,
            state,
            out=weight,
            lr=self._get_lr(index),
            rescale_grad=self.rescale_grad,
            clip_gradient=self.clip_gradient or -1.0,
            epsilon=self.float_stable_eps,
        )
