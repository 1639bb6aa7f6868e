"""Optimizers that MXNet has on trial."""

from __future__ import annotations

from .._sparse.rows import dense_copies, row_copies, rows_of
from ..base import ArgumentError, ShapeError
from ..ndarray import NDArray, contrib
from ..ndarray import zeros as nd_zeros
from .optimizer import Optimizer, register

__all__ = ["GroupAdaGrad"]


@register
class GroupAdaGrad(Optimizer):
    """AdaGrad with one history for each row: h += mean(g²), w -= lr g / √(h + eps).

    A row_sparse gradient changes the rows that it has, in w and h.

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
        """h, (n, 1) for a weight (n, ...).

        Raises
        ------
        ShapeError
            The weight has no rows, as a bias.
        """
        if len(weight.shape) < 2:
            raise ShapeError(f"GroupAdaGrad: weight is {weight.shape}\n  expected (rows, columns)")
        return nd_zeros((len(weight), 1), weight.context, weight.dtype, weight.stype)

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
        rows = rows_of(grad)
        if rows is None:
            with dense_copies(weight, state) as [w, h]:
                self._change(index, w, grad._as_dense(), h)
            return
        with row_copies(rows, [weight], own=[state]) as taken:
            tensors = (taken[0], grad._stored.values, taken[1])
            w, g, h = [NDArray(x, weight.context) for x in tensors]
            self._change(index, w, g, h)
            taken[:] = w._tensor, h._tensor

    def _change(self, index, weight: NDArray, grad: NDArray, state: NDArray) -> None:
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
