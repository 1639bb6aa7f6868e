"""An update as a part of a compiled graph.

Rates, counts and the gradients' scale change from step to step: they are numbers in a tensor that
the graph is given. What else an optimizer's formula reads is compiled in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import chain
from operator import itemgetter

import numpy as np
import torch

from ..ndarray import NDArray
from ..optimizer import Updater
from ..optimizer import optimizer as _built_in
from ..optimizer.optimizer import LOW_PRECISION, Fused, columns

PLAIN = (int, float, np.number, type(None))  # what settings are that a formula reads
READ = {"begin_num_update", "lr", "num_update", "rescale_grad"}  # anew for each update


def fits(updater: Updater, index: Sequence[int], weights: Sequence[NDArray]) -> bool:
    """Whether a graph can do what the optimizer does: it is built in, and works on lists."""
    optimizer = updater.optimizer
    return (
        isinstance(optimizer, Fused)
        and type(optimizer).__module__ == _built_in.__name__
        and optimizer.aggregate_num > 0
        and optimizer.param_dict.keys() >= set(index)
        and not any(w._tensor.dtype in LOW_PRECISION for w in weights)
    )


class GraphUpdate:
    """The updates of some weights, each begun here and made by a graph."""

    def __init__(self, updater: Updater, index: Sequence[int], weights: Sequence[NDArray]):
        self._updater, self._index, self._weights = updater, index, weights
        self._optimizer = optimizer = updater.optimizer
        self._param_dict = optimizer.param_dict
        self._parameters = [optimizer.param_dict[i] for i in index]
        plain = {n for n, v in vars(optimizer).items() if isinstance(v, PLAIN)}
        self._settings = itemgetter(*sorted(plain - READ))
        self._numbers = torch.empty(3, dtype=torch.float64)
        self._values = self._numbers.numpy()

    def holds(self, updater: Updater) -> bool:
        """Whether these are still the updates of the Updater."""
        optimizer = updater.optimizer
        same = updater is self._updater and optimizer is self._optimizer
        return same and optimizer.param_dict is self._param_dict

    def key(self) -> tuple:
        """What is compiled in: settings, factors of the rates, differences between the counts."""
        optimizer = self._optimizer
        optimizer._set_current_context(self._weights[0]._context.device_id)
        counts, none = optimizer._index_update_count, optimizer.begin_num_update
        first = counts.get(self._index[0], none)
        return (
            self._settings(vars(optimizer)),
            tuple([(float(p.lr_mult), float(p.wd_mult)) for p in self._parameters]),
            tuple([counts.get(i, none) - first for i in self._index]),
        )

    def begin(self) -> list[torch.Tensor]:
        """Count an update. What the graph is given for it: the numbers, and the states."""
        optimizer, index = self._optimizer, self._index
        parts = columns(self._updater._states(index, self._weights))
        counts = optimizer._index_update_count
        self._before = optimizer.num_update, counts.copy()
        optimizer._update_count(index)
        self._values[:] = optimizer.rescale_grad, optimizer.learning_rate, counts[index[0]]
        return [self._numbers, *chain.from_iterable(parts)]

    def undo(self) -> None:
        """Take the count back, after an error."""
        optimizer = self._optimizer
        optimizer.num_update, counts = self._before
        optimizer._index_update_count.clear()
        optimizer._index_update_count.update(counts)

    def function(self, key: tuple) -> Callable[[list, list, list], None]:
        """What changes weights by their gradients, given what `begin` gives."""
        optimizer = copy(self._optimizer)
        vars(optimizer).update(
            {n: v.item() for n, v in vars(optimizer).items() if isinstance(v, np.number)},
            rescale_grad=1.0,
        )
        _, factors, ahead = key
        groups: dict[tuple, list[int]] = {}
        for k, rates in enumerate(zip(factors, ahead)):
            groups.setdefault(rates, []).append(k)

        def update(weights: list, gradients: list, given: list) -> None:
            numbers, *states = given
            scale, lr, t = numbers[0].item(), numbers[1].item(), numbers[2].item()
            n = len(weights)
            parts = [
                weights,
                torch._foreach_mul(gradients, scale),
                *[states[k : k + n] for k in range(0, len(states), n)],
            ]
            for ((lr_mult, wd_mult), more), rows in groups.items():
                rates = lr * lr_mult, optimizer.wd * wd_mult, t + more
                optimizer._apply(*rates, *[[part[k] for k in rows] for part in parts])

        return update
