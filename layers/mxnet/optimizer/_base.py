"""What optimizers have in common: rates, counts, weights of 16 bits, many weights at once."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..autograd import _set_grad_enabled
from ..base import ArgumentError
from ..ndarray import NDArray
from ..registry import built

__all__ = ["Fused", "Optimizer", "create", "register", "zeros"]

ALL_AT_ONCE = sys.maxsize
# On a CPU a weight of more elements is changed by itself: all operations on it, while it is in the
# cache, save more than the calls cost (a fifth of Ftrl at 1024 x 1024).
ALONE = 1 << 17
LOW_PRECISION = (torch.float16, torch.bfloat16)


class Optimizer:
    """The base of optimizers.

    A subclass defines ``create_state(index, weight)`` and ``update(index, weight, grad, state)``.
    It is given one parameter at a time, or up to `aggregate_num` of them as lists.

    Parameters
    ----------
    rescale_grad : float
        Every gradient is multiplied by this; `Trainer.step` sets it to 1 / batch size.
    param_idx2name : dict of int to str, optional
        Names of the parameters: those that do not end in weight or gamma get no weight decay.
    wd : float
        Weight decay: the gradient of wd/2 |w|² is added.
    clip_gradient : float, optional
        Gradients are cut to plus and minus this.
    learning_rate : float, optional
        0.01 by default; given with a scheduler, it is the scheduler's `base_lr`.
    lr_scheduler : LRScheduler, optional
    sym : Symbol, optional
        Whose attributes ``__lr_mult__`` and ``__wd_mult__`` count, by the names of arguments.
    begin_num_update : int
        Where counting of updates begins.
    multi_precision : bool
        Update weights of 16 bits through a copy in float32.
    param_dict : dict of int to Parameter, optional
        Whose `lr_mult` and `wd_mult` count.
    """

    opt_registry: dict[str, type[Optimizer]] = {}
    aggregate_num = 0
    _master = 0  # where a multi-precision state has its float32 weight: first or last

    def __init_subclass__(cls):
        # Whoever writes an update of their own is not given lists, unless they ask for them.
        if not {"update", "update_multi_precision"}.isdisjoint(vars(cls)):
            cls.aggregate_num = vars(cls).get("aggregate_num", 0)

    def __init__(
        self,
        rescale_grad=1.0,
        param_idx2name=None,
        wd=0.0,
        clip_gradient=None,
        learning_rate=None,
        lr_scheduler=None,
        sym=None,
        begin_num_update=0,
        multi_precision=False,
        param_dict=None,
    ):
        if not isinstance(param_idx2name, (dict, type(None))):
            raise ArgumentError(
                f"{type(self).__name__}: param_idx2name is {param_idx2name!r}\n"
                "  expected a dict of index to name"
            )
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None:
            self.lr = 0.01 if learning_rate is None else learning_rate
        else:
            if learning_rate is not None:
                lr_scheduler.base_lr = learning_rate
            self.lr = lr_scheduler.base_lr
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self.idx2name = dict(param_idx2name or {})
        self.param_dict = param_dict or {}
        self._attrs = {} if sym is None else sym.attr_dict()
        self.set_lr_mult({})
        self.set_wd_mult({})

    def _check(self) -> None:
        """Refuse attributes of a file with which a step cannot be computed: 1 - beta1**t is 0."""
        if self.begin_num_update < 0:
            raise ArgumentError(
                f"begin_num_update is {self.begin_num_update}\n  expected 0 or more"
            )
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name, 0) < 1:
                raise ArgumentError(f"{name} is {getattr(self, name)}\n  expected 0 to below 1")

    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Register a class under its lower-case name, for `create`; a decorator."""
        name = klass.__name__.lower()
        known = Optimizer.opt_registry.get(name, klass)
        if known is not klass:
            warnings.warn(
                f"optimizer {klass.__module__}.{klass.__name__} "
                f"replaces {known.__module__}.{known.__name__}",
                UserWarning,
                stacklevel=2,
            )
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs) -> Optimizer:
        """Make an optimizer of a registered name, such as ``'sgd'``."""
        if not isinstance(name, str) or name.lower() not in Optimizer.opt_registry:
            raise ArgumentError(
                f"optimizer {name!r} is not registered\n"
                f"  expected one of {', '.join(sorted(Optimizer.opt_registry))}"
            )
        return built(Optimizer.opt_registry[name.lower()], **kwargs)

    # What a subclass defines

    def create_state(self, index, weight: NDArray) -> Any:
        """What the optimizer keeps for a weight: None, an NDArray, or a tuple of such."""
        return None

    def update(self, index, weight, grad, state) -> None:
        """Change a weight, in place, by its gradient."""
        raise NotImplementedError(f"{type(self).__name__}.update")

    # Weights of 16 bits

    def create_state_multi_precision(self, index, weight: NDArray) -> Any:
        """The state; with `multi_precision`, for a weight of 16 bits, and a copy in float32."""
        low = weight._tensor.dtype in LOW_PRECISION
        if low and not self.multi_precision:
            warnings.warn(
                f"{type(self).__name__}: parameter {index!r} is {str(weight._tensor.dtype)[6:]}, "
                "small updates are lost; multi_precision=True keeps a copy in float32",
                UserWarning,
                stacklevel=2,
            )
        if not (low and self.multi_precision):
            return self.create_state(index, weight)
        master = weight.astype("float32")
        pair = master, self.create_state(index, master)
        return pair[::-1] if self._master else pair

    def update_multi_precision(self, index, weight, grad, state) -> None:
        """`update`, for weights of 16 bits by way of their copies in float32."""
        if not self.multi_precision:
            self.update(index, weight, grad, state)
            return
        listed = isinstance(index, (list, tuple))
        given = zip(index, weight, grad, state) if listed else [(index, weight, grad, state)]
        rows, masters = [], []
        for i, w, g, s in given:
            if w._tensor.dtype in LOW_PRECISION:
                masters.append((w, s[self._master]))
                w, g, s = s[self._master], g.astype("float32"), s[1 - self._master]
            rows.append((i, w, g, s))
        self.update(*(map(list, zip(*rows)) if listed else rows[0]))
        for w, master in masters:
            w._writable().copy_(master._tensor)

    # Rates

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; an error when a scheduler sets it."""
        if self.lr_scheduler is not None:
            raise UserWarning(
                f"set_learning_rate({lr}): the learning rate is its scheduler's\n"
                f"  expected no lr_scheduler; there is {type(self.lr_scheduler).__name__}"
            )
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: dict) -> None:
        """Set factors of the learning rate, by index or name."""
        self.lr_mult = self._attached("__lr_mult__") | args_lr_mult

    def set_wd_mult(self, args_wd_mult: dict) -> None:
        """Set factors of the weight decay, by index or name."""
        decayed = ("_weight", "_gamma")
        self.wd_mult = {n: 0.0 for n in self.idx2name.values() if not n.endswith(decayed)}
        self.wd_mult |= self._attached("__wd_mult__") | args_wd_mult

    def _attached(self, key: str) -> dict[str, float]:
        """The factors that the Symbol's variables have."""
        return {name: float(attrs[key]) for name, attrs in self._attrs.items() if key in attrs}

    def _factor(self, index, attribute: str) -> float:
        if index in self.param_dict:
            return getattr(self.param_dict[index], attribute)
        factors = getattr(self, attribute)
        if index in factors:
            return factors[index]
        return factors.get(self.idx2name.get(index), 1.0)

    def _get_lrs(self, indices) -> list[float]:
        lr = self.learning_rate
        return [lr * self._factor(i, "lr_mult") for i in indices]

    def _get_wds(self, indices) -> list[float]:
        return [self.wd * self._factor(i, "wd_mult") for i in indices]

    def _get_lr(self, index) -> float:
        return self._get_lrs([index])[0]

    def _get_wd(self, index) -> float:
        return self._get_wds([index])[0]

    # Counts: each context counts its own updates, by the number of the device.

    def _set_current_context(self, device_id: int) -> None:
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index) -> None:
        counts = self._index_update_count
        for i in index if isinstance(index, (list, tuple)) else (index,):
            counts[i] = counts.get(i, self.begin_num_update) + 1
            if counts[i] > self.num_update:
                self.num_update = counts[i]


register = Optimizer.register
create = Optimizer.create_optimizer


class Fused(Optimizer):
    """Changes all weights of a call at once: those of one rate, decay and count in one go."""

    aggregate_num = ALL_AT_ONCE

    # _apply(lr, wd, t, w, g, *states): change the weights w by the gradients g, at count t; lists
    # of tensors, one more for each part of a state. Compiled graphs have it in them.
    _apply: Callable[..., None]

    def _fused(self, *args) -> None:
        """`_apply`, by a kernel of PyTorch's where there is one; for tensors that are dense."""
        self._apply(*args)

    def update(self, index, weight, grad, state) -> None:
        """Change weights by their gradients: one of each, or lists."""
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        counts, groups = self._index_update_count, {}
        rates = self._get_lrs(index), self._get_wds(index)
        for i, w, g, s, lr, wd in zip(index, weight, grad, state, *rates):
            w = w._writable()
            alone = i if w.is_cpu and w.numel() > ALONE else None
            rows = groups.setdefault((lr, wd, counts[i], w.dtype, alone), [])
            rows.append((w, g._tensor, s))
        enabled = torch.is_grad_enabled()
        _set_grad_enabled(False)
        try:
            for (lr, wd, t, *_), rows in groups.items():
                weights, grads, states = zip(*rows)
                dense = _dense(weights)
                self._fused(lr, wd, t, dense, _dense(grads), *columns(states))
                for w, changed in zip(weights, dense):
                    if w is not changed:
                        w.copy_(changed)
        finally:
            _set_grad_enabled(enabled)

    def _scaled(self, g: list) -> list:
        """The gradients times `rescale_grad`, cut."""
        return self._cut(torch._foreach_mul(g, self.rescale_grad))

    def _decayed(self, g: list, w: list, wd: float) -> list:
        """The gradients times `rescale_grad`, with the decay's, cut after that."""
        g = torch._foreach_mul(g, self.rescale_grad)
        if wd:
            torch._foreach_add_(g, w, alpha=wd)
        return self._cut(g)

    def _cut(self, g: list) -> list:
        limit = self.clip_gradient
        if limit is not None and limit > 0:  # MXNet takes what is not positive for none
            torch._foreach_clamp_min_(g, -limit)
            torch._foreach_clamp_max_(g, limit)
        return g


def _dense(tensors: tuple) -> list:
    """The fused kernels look at memory alone: what has other strides, as a copy."""
    return [t if t.is_contiguous() else t.contiguous() for t in tensors]


def columns(states: Sequence) -> list[list]:
    """From a state for each weight to a list of tensors for each part of the states."""
    if states[0] is None:
        return []
    if isinstance(states[0], NDArray):
        return [[s._writable() for s in states]]
    return [[s._writable() for s in part] for part in zip(*states)]


def zeros(weight: NDArray) -> NDArray:
    """The state that most optimizers begin with."""
    tensor = weight._tensor
    return NDArray(torch.zeros(tensor.shape, dtype=tensor.dtype, device=tensor.device), weight.ctx)
