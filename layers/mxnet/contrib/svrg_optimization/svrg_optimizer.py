"""The optimizers with which a store can keep full gradients beside the weights."""

from __future__ import annotations

from ...base import ArgumentError
from ...ndarray import NDArray
from ...optimizer import Optimizer, create, register

__all__: list[str] = []  # MXNet has no public name here


@register
class _AssignmentOptimizer(Optimizer):
    """Sets a weight to its gradient."""

    def update(self, index, weight: NDArray, grad: NDArray, state) -> None:
        """Set the weight."""
        weight[:] = grad


@register
class _SVRGOptimizer(Optimizer):
    """Changes weights by another optimizer, and sets what is named ``..._full`` to its gradient.

    Parameters
    ----------
    default_optimizer : str or Optimizer
    **kwargs
        Of Optimizer; and of the other optimizer, where that is given as a name.
    """

    def __init__(self, default_optimizer: str | Optimizer, **kwargs):
        known = vars(Optimizer())
        own = {n: v for n, v in kwargs.items() if n in known or n in _RENAMED}
        super().__init__(**own)
        named = isinstance(default_optimizer, str)
        self.default_opt = create(default_optimizer, **kwargs) if named else default_optimizer
        self.aux_opt = _AssignmentOptimizer()

    def create_state(self, index, weight: NDArray):
        """The other optimizer's state; None for a full gradient."""
        return self._of(index).create_state(index, weight)

    def update(self, index, weight: NDArray, grad: NDArray, state) -> None:
        """Change a weight, or set a full gradient."""
        self._of(index).update(index, weight, grad, state)

    def _of(self, index: int | str) -> Optimizer:
        """The optimizer of a weight, which is known by its name, or by its number in idx2name."""
        if isinstance(index, int) and index not in self.idx2name:
            raise ArgumentError(
                f"_SVRGOptimizer: parameter {index} has no name\n"
                f"  expected param_idx2name with it; there is {self.idx2name}"
            )
        name = self.idx2name.get(index, index)
        return self.aux_opt if "_full" in name else self.default_opt


# Arguments of Optimizer that its attributes have other names for.
_RENAMED = {"param_idx2name", "learning_rate", "sym"}
