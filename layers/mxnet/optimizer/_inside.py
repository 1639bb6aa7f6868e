"""An update as a part of a compiled graph.

Rates, counts and the gradients' scale change from step to step: they are numbers in a tensor that
the graph is given. What else an optimizer's formula reads is compiled in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import chain
from operator import attrgetter, itemgetter

import numpy as np
import torch

from ..ndarray import NDArray
from ._base import LOW_PRECISION, Fused, columns
from ._updater import Updater

GIVEN = {"begin_num_update", "lr", "num_update", "rescale_grad"}  # what is not compiled in
PLAIN = (int, float, np.number, type(None))
FACTORS = attrgetter("lr_mult", "wd_mult")


def fits(updater: Updater, index: Sequence[int], weights: Sequence[NDArray]) -> bool:
    """Whether an optimizer changes these weights by tensors and numbers alone."""
    optimizer = updater.optimizer
    low = any(w._tensor.dtype in LOW_PRECISION for w in weights)
    return (
        isinstance(optimizer, Fused)
        and type(optimizer).update is Fused.update
        and optimizer.aggregate_num > 0
        and optimizer.param_dict.keys() >= set(index)
        and not (optimizer.multi_precision and low)
    )


class Inside:
    """The updates of some weights, each to be begun here and made by a graph.

    Attributes
    ----------
    key : tuple
        What is compiled in, for the update that was begun last: settings of the optimizer, factors
        of the rates, and by how much the weights' counts differ.
    """

    def __init__(self, updater: Updater, index: Sequence[int], weights: Sequence[NDArray]):
        self._updater, self._index, self._weights = updater, index, weights
        optimizer = updater.optimizer
        self._parameters = [optimizer.param_dict[i] for i in index]
        plain = {n for n, v in vars(optimizer).items() if isinstance(v, PLAIN)}
        self._settings = itemgetter(*sorted(plain - GIVEN))
        self._numbers = torch.empty(3, dtype=torch.float64)
        self._values = self._numbers.numpy()

    def begin(self) -> list[torch.Tensor]:
        """Count an update. What the graph is given for it: the states, and the numbers."""
        optimizer, index = self._updater.optimizer, self._index
        parts = columns(self._updater._states(index, self._weights))
        optimizer._set_current_context(self._weights[0]._context.device_id)
        self._before = optimizer.num_update
        optimizer._update_count(index)
        counts = optimizer._index_update_count
        t = counts[index[0]]
        self.key = (
            self._settings(vars(optimizer)),
            tuple(map(FACTORS, self._parameters)),
            tuple([counts[i] - t for i in index]),
        )
        self._values[:] = optimizer.rescale_grad, optimizer.learning_rate, t
        return [*chain.from_iterable(parts), self._numbers]

    def undo(self) -> None:
        """Take the count back: the graph has changed nothing."""
        optimizer = self._updater.optimizer
        optimizer.num_update = self._before
        for i in self._index:
            optimizer._index_update_count[i] -= 1

    def function(self) -> Callable[[list, list, list], None]:
        """What changes weights by their gradients and what `begin` gave."""
        optimizer = copy(self._updater.optimizer)
        optimizer.rescale_grad = 1.0
        _, factors, ahead = self.key
        groups: dict[tuple, list[int]] = {}
        for k, rates in enumerate(zip(factors, ahead)):
            groups.setdefault(rates, []).append(k)

        def update(weights: list, gradients: list, tensors: list) -> None:
            *states, numbers = tensors
            scale, lr, t = numbers[0].item(), numbers[1].item(), numbers[2].item()
            n = len(weights)
            columns = [
                weights,
                torch._foreach_mul(gradients, scale),
                *[states[k : k + n] for k in range(0, len(states), n)],
            ]
            for ((lr_mult, wd_mult), more), rows in groups.items():
                rates = lr * lr_mult, optimizer.wd * wd_mult, t + more
                optimizer._apply(*rates, *[[column[k] for k in rows] for column in columns])

        return update
