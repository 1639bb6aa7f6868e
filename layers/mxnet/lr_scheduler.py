"""Learning rates that follow a schedule."""

from __future__ import annotations

import logging
import math

from .base import ArgumentError, quoted

__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "PolyScheduler",
]


class LRScheduler:
    """A function from the number of updates to the learning rate, after a warmup.

    Subclasses define ``__call__(num_update)`` and ask `get_warmup_lr` below `warmup_steps`.

    Parameters
    ----------
    base_lr : float
        The learning rate after the warmup.
    warmup_steps : int
        How many updates the warmup takes.
    warmup_begin_lr : float
        Where the warmup begins.
    warmup_mode : {'linear', 'constant'}
        Rise to `base_lr`, or stay at `warmup_begin_lr`.

    Raises
    ------
    ArgumentError
        `warmup_steps` is negative, `warmup_begin_lr` above `base_lr`, or the mode neither.
    """

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_final_lr = base_lr
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode
        LRScheduler._check(self)

    def _check(self) -> None:
        """Refuse attributes, given or from a file, with which there is no learning rate."""
        steps, begin, end = self.warmup_steps, self.warmup_begin_lr, self.warmup_final_lr
        if not isinstance(steps, int) or steps < 0:
            raise ArgumentError(f"warmup_steps is {steps!r}\n  expected an int, 0 or more")
        if begin > end:
            raise ArgumentError(f"warmup_begin_lr is {begin}\n  expected at most base_lr, {end}")
        if self.warmup_mode not in ("linear", "constant"):
            raise ArgumentError(
                f"warmup_mode is {quoted(self.warmup_mode)}\n  expected 'linear' or 'constant'"
            )

    def get_warmup_lr(self, num_update: int) -> float:
        """The learning rate during the warmup."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + rise * num_update / self.warmup_steps

    def __call__(self, num_update: int) -> float:
        """The learning rate of an update."""
        raise NotImplementedError(f"{type(self).__name__}.__call__")


def _check_factor(factor: float) -> None:
    if abs(factor) > 1:
        raise ArgumentError(f"factor is {factor}\n  expected at most 1: the learning rate falls")


class FactorScheduler(LRScheduler):
    """Times `factor` after every `step` updates, down to `stop_factor_lr`.

    Raises
    ------
    ArgumentError
        `step` is below 1, `factor` above 1, or a warmup is wrong: see `LRScheduler`.
    """

    def __init__(
        self,
        step,
        factor=1,
        stop_factor_lr=1e-8,
        base_lr=0.01,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0
        FactorScheduler._check(self)

    def _check(self) -> None:
        super()._check()
        if self.step < 1:
            raise ArgumentError(f"step is {self.step}\n  expected 1 or more")
        _check_factor(self.factor)

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        passed = (num_update - self.count - 1) // self.step
        if passed > 0:  # at once: there may be billions of them
            self.count += passed * self.step
            self.base_lr = max(self.base_lr * self.factor**passed, self.stop_factor_lr)
            logging.info("Update %d: the learning rate is %.5e", num_update, self.base_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Times `factor` after each of the updates listed in `step`.

    Raises
    ------
    ArgumentError
        `step` is no list of rising numbers from 1, `factor` is above 1, or a warmup is wrong.
    """

    def __init__(
        self, step, factor=1, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, (list, tuple)) or not step:
            raise ArgumentError(f"step is {step!r}\n  expected a list of ints")
        self.step = list(step)
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0
        MultiFactorScheduler._check(self)

    def _check(self) -> None:
        super()._check()
        step, passed = self.step, self.cur_step_ind
        if not step or step[0] < 1 or any(a >= b for a, b in zip(step, step[1:])):
            raise ArgumentError(f"step is {quoted(step)}\n  expected rising ints, 1 or more")
        if not isinstance(passed, int) or not 0 <= passed <= len(step):
            raise ArgumentError(f"cur_step_ind is {passed}\n  expected an int, 0 to {len(step)}")
        _check_factor(self.factor)

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
            logging.info("Update %d: the learning rate is %.5e", num_update, self.base_lr)
        return self.base_lr


class _Decay(LRScheduler):
    """From `base_lr` to `final_lr` at `max_update`, along a curve from 1 to 0."""

    def __init__(self, max_update, base_lr, final_lr, *warmup):
        super().__init__(base_lr, *warmup)
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - self.warmup_steps
        _Decay._check(self)

    def _check(self) -> None:
        super()._check()
        if not isinstance(self.max_update, int) or self.max_update < 1:
            raise ArgumentError(f"max_update is {self.max_update!r}\n  expected an int, 1 or more")
        steps = self.max_update - self.warmup_steps
        if self.max_steps != steps:
            raise ArgumentError(
                f"max_steps is {self.max_steps}\n  expected {steps}, without warmup"
            )

    def _curve(self, done: float) -> float:
        raise NotImplementedError

    def __call__(self, num_update: int) -> float:
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update <= self.max_update:
            done = (num_update - self.warmup_steps) / self.max_steps if self.max_steps else 1.0
            fall = self.base_lr_orig - self.final_lr
            self.base_lr = self.final_lr + fall * self._curve(done)
        return self.base_lr


class PolyScheduler(_Decay):
    """A polynomial: final + (base - final) (1 - n / max_update)^pwr, counted after the warmup."""

    def __init__(
        self,
        max_update,
        base_lr=0.01,
        pwr=2,
        final_lr=0,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        warmup = warmup_steps, warmup_begin_lr, warmup_mode
        super().__init__(max_update, base_lr, final_lr, *warmup)
        self.power = pwr

    def _curve(self, done: float) -> float:
        return (1 - done) ** self.power


class CosineScheduler(_Decay):
    """Half a cosine: final + (base - final) (1 + cos(π n / max_update)) / 2, after the warmup."""

    def __init__(
        self,
        max_update,
        base_lr=0.01,
        final_lr=0,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        warmup = warmup_steps, warmup_begin_lr, warmup_mode
        super().__init__(max_update, base_lr, final_lr, *warmup)

    def _curve(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2
