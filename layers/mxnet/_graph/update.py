"""An update as a part of a compiled graph.

Rates, counts and the gradients' scale change from step to step: they are numbers in a tensor that
the graph is given. What else an optimizer's formula reads is compiled in.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from copy import copy
from itertools import chain
from operator import itemgetter

import numpy as np
import torch

from ..context import Context
from ..gluon.trainer import Trainer
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..optimizer import optimizer as _built_in
from ..optimizer.optimizer import LOW_PRECISION, Fused, columns

PLAIN = (int, float, np.number, type(None))  # what settings are that a formula reads
READ = {"begin_num_update", "lr", "num_update", "rescale_grad"}  # anew for each update


def fits(optimizer: Optimizer, index: Sequence[int], weights: Sequence[NDArray]) -> bool:
    """True if a graph can do the update: the optimizer is built in, and works on lists."""
    return (
        isinstance(optimizer, Fused)
        and type(optimizer).__module__ == _built_in.__name__
        and optimizer.aggregate_num > 0
        and optimizer.param_dict.keys() >= set(index)
        and not any(w._tensor.dtype in LOW_PRECISION for w in weights)
    )


class GraphUpdate:
    """The updates of some weights, each begun here and made by a graph.

    Parameters
    ----------
    trainer : Trainer
    index : list of int
        The numbers of the weights in it.
    context : Context
        Where they are.
    """

    def __init__(self, trainer: Trainer, index: list[int], context: Context):
        self._trainer, self._index, self._device_id = trainer, index, context.device_id
        self._optimizer = optimizer = trainer.optimizer
        self._param_dict = optimizer.param_dict
        self._parameters = [optimizer.param_dict[i] for i in index]
        plain = {n for n, v in vars(optimizer).items() if isinstance(v, PLAIN)}
        self._settings = itemgetter(*sorted(plain - READ))
        self._values = array("d", [0.0] * 3)  # which Python writes into faster than into a tensor
        self._numbers = torch.frombuffer(self._values, dtype=torch.float64)

    def is_current(self) -> bool:
        """True if these are still the updates of the Trainer."""
        optimizer = self._trainer.optimizer
        same = self._trainer.updates_here and optimizer is self._optimizer
        return same and optimizer.param_dict is self._param_dict

    def key(self) -> tuple:
        """Return the constants of the graph: settings, factors of rates, differences of counts."""
        counts = self._optimizer.update_counts(self._index, self._device_id)
        return (
            self._settings(vars(self._optimizer)),
            tuple([(float(p.lr_mult), float(p.wd_mult)) for p in self._parameters]),
            tuple([count - counts[0] for count in counts]),
        )

    def begin(self, batch_size: float) -> list[torch.Tensor]:
        """Count an update. What the graph is given for it: the numbers, and the states."""
        optimizer, index = self._optimizer, self._index
        parts = columns(self._trainer.begin_update(batch_size, index))
        (count,) = optimizer.update_counts(index[:1], self._device_id)
        values = self._values
        values[0], values[1], values[2] = optimizer.rescale_grad, optimizer.learning_rate, count
        return [self._numbers, *chain.from_iterable(parts)]

    def undo(self) -> None:
        """Take the count back, after an error."""
        self._trainer.undo_update()

    def function(self, key: tuple) -> Callable[[list, list, list], None]:
        """Return the function that updates weights by their gradients and the values of `begin`."""
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
