"""Optimizers: how weights change by their gradients.

The built-in ones change all weights that they are given at once, with PyTorch's fused and
`foreach` kernels. g below is the gradient times `rescale_grad`, cut to ±`clip_gradient`.
"""

from __future__ import annotations

import math
import struct
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any
from weakref import ref

import torch
from torch.autograd.graph import increment_version

from .. import _dtype
from .._files import optimizer_states
from .._sparse.rows import dense_copies, is_sparse, row_copies, rows_of, zeros
from ..autograd import _set_grad_enabled
from ..base import ArgumentError, DTypeError, ShapeError
from ..context import Context
from ..ndarray import NDArray, array, op
from ..registry import built

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "create",
    "get_updater",
    "register",
]

ALL_AT_ONCE = sys.maxsize
# On a CPU a weight of more elements is changed by itself: all operations on it, while it is in the
# cache, save more than the calls cost (a fifth of Ftrl at 1024 x 1024).
ALONE = 1 << 17
LOW_PRECISION = (torch.float16, torch.bfloat16)


class Optimizer:
    """The base of optimizers.

    A subclass defines ``create_state(index, weight)`` and ``update(index, weight, grad, state)``.
    It is given one parameter at a time, or up to `aggregate_num` of them as lists. Of a subclass of
    SGD, NAG, LAMB or LARS, as in MXNet, `_update_impl` or `update_multi_precision` is called, and
    not `update`.

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
    lr_scheduler : LRScheduler or another function of the number of updates, optional
    sym : Symbol, optional
        Whose attributes ``__lr_mult__`` and ``__wd_mult__`` count, by the names of arguments.
    begin_num_update : int
        Where counting of updates begins.
    multi_precision : bool
        Update weights of 16 bits through a copy in float32.
    param_dict : dict of int to Parameter, optional
        Whose `lr_mult` and `wd_mult` count.

    Raises
    ------
    ArgumentError
        `param_idx2name` is no dict, or `lr_scheduler` cannot be called.
    """

    opt_registry: dict[str, type[Optimizer]] = {}
    aggregate_num = 0
    _master = 0  # where a multi-precision state has its float32 weight: first or last

    def __init_subclass__(cls):
        # Whoever writes an update of their own is not given lists, unless they ask for them.
        own = {"update", "update_multi_precision", "_update_impl"} & {*vars(cls)}
        if own - {cls._not_called} - ({"_update_impl"} if cls._is_given_lists else set()):
            cls.aggregate_num = vars(cls).get("aggregate_num", 0)
        if own == {cls._not_called}:
            warnings.warn(
                f"{cls.__name__}: its update() is not called, as in MXNet\n"
                "  expected update_multi_precision(), or _update_impl()",
                UserWarning,
                stacklevel=2,
            )

    _not_called = ""  # a method of subclasses that MXNet does not call
    _is_given_lists = False  # whether their `_update_impl` is, in MXNet
    _asks_for_each_rate = True  # whether theirs, `_get_lr` and `_get_wd`, are called

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
        if not (lr_scheduler is None or callable(lr_scheduler)):
            raise ArgumentError(
                f"{type(self).__name__}: lr_scheduler is {lr_scheduler!r}\n"
                "  expected an LRScheduler, or a function of the number of updates"
            )
        # Options of programs may come as text.
        rescale_grad, wd, clip_gradient, learning_rate = [
            float(number) if isinstance(number, str) else number
            for number in (rescale_grad, wd, clip_gradient, learning_rate)
        ]
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None:
            self.lr = 0.01 if learning_rate is None else learning_rate
        else:
            if learning_rate is not None:
                lr_scheduler.base_lr = learning_rate
            self.lr = getattr(lr_scheduler, "base_lr", None)  # a function has none
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]
        self._counts_elsewhere: dict = {}  # of parameters that were updated on another device
        self.idx2name = dict(param_idx2name or {})
        self.param_dict = param_dict or {}
        attrs = {} if sym is None else sym.attr_dict()
        self._attrs = {n: attrs[n] for n in sym.list_arguments() if n in attrs} if attrs else {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    # MXNet's names.
    allow_np_array = True
    sym_info: tuple = ()

    def _check(self) -> None:
        """Refuse attributes of a file with which a step cannot be computed: 1 - beta1**t is 0."""
        if self.begin_num_update < 0:
            raise ArgumentError(
                f"begin_num_update is {self.begin_num_update}\n  expected 0 or more"
            )
        for name in ("beta1", "beta2"):
            if not 0 <= getattr(self, name, 0) < 1:
                raise ArgumentError(f"{name} is {getattr(self, name)}\n  expected 0 to below 1")

    def _try_step(self, counts: dict) -> None:
        """Refuse attributes of a file with which there is no step, where one can be tried."""

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
        """Make an optimizer of a registered name, such as ``'sgd'``.

        Raises
        ------
        ArgumentError
            No optimizer has this name.
        """
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
        dtype = weight._autograd_tensor.dtype
        low = dtype in LOW_PRECISION
        if low and not self.multi_precision:
            warnings.warn(
                f"{type(self).__name__}: parameter {index!r} is {_dtype.name(dtype)}, "
                "small updates are lost; multi_precision=True keeps a copy in float32",
                UserWarning,
                stacklevel=2,
            )
        if not (low and self.multi_precision):
            return self.create_state(index, weight)
        master = weight.astype("float32")
        pair = master, self.create_state(index, master)
        return pair[::-1] if self._master else pair

    def _expect_shapes(self, index, weight: NDArray, grad: NDArray, state) -> None:
        """Refuse a gradient and a state that `update` cannot take, where it does not look."""

    def update_multi_precision(self, index, weight, grad, state) -> None:
        """`update`, for weights of 16 bits by way of their copies in float32."""
        if not self.multi_precision:
            self._call_update(index, weight, grad, state)
            return
        listed = isinstance(index, (list, tuple))
        given = zip(index, weight, grad, state) if listed else [(index, weight, grad, state)]
        rows, masters = [], []
        for i, w, g, s in given:
            if w._autograd_tensor.dtype in LOW_PRECISION:
                masters.append((w, s[self._master]))
                w, g, s = s[self._master], g.astype("float32"), s[1 - self._master]
            rows.append((i, w, g, s))
        self._call_update(*(map(list, zip(*rows)) if listed else rows[0]))
        for w, master in masters:
            if is_sparse(w):
                w[:] = master
            else:
                w._writable().copy_(master._tensor)

    def _call_update(self, index, weight, grad, state) -> None:
        self.update(index, weight, grad, state)

    # Rates

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate.

        Raises
        ------
        UserWarning
            A scheduler sets it.
        """
        if self.lr_scheduler is not None:
            raise UserWarning(
                f"set_learning_rate({lr}): the learning rate is its scheduler's\n"
                f"  expected no lr_scheduler; there is {type(self.lr_scheduler).__name__}"
            )
        self.lr = lr

    def set_lr_scale(self, args_lrscale: dict) -> None:
        """Only refuse, as in MXNet.

        Raises
        ------
        DeprecationWarning
            Always.
        """
        raise DeprecationWarning("set_lr_scale\n  expected set_lr_mult")

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

    def _rates(self, index: Sequence) -> tuple[list[float], list[float]]:
        """Return the learning rates and the decays of parameters, as a subclass may define them."""
        cls, each = type(self), self._asks_for_each_rate
        own_lr = each and cls._get_lr is not Optimizer._get_lr
        own_wd = each and cls._get_wd is not Optimizer._get_wd
        lrs = [self._get_lr(i) for i in index] if own_lr else self._get_lrs(index)
        return lrs, [self._get_wd(i) for i in index] if own_wd else self._get_wds(index)

    def _get_lr(self, index) -> float:
        return self._get_lrs([index])[0]

    def _get_wd(self, index) -> float:
        return self._get_wds([index])[0]

    # Counts: each context counts its own updates, by the number of the device.

    def _set_current_context(self, device_id: int) -> None:
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def update_counts(self, index: Sequence, device_id: int) -> list[int]:
        """Return the number of updates of each of these parameters on a device."""
        counts = self._all_index_update_counts.get(device_id, {})
        return [self._count(counts, i) for i in index]

    def _count(self, counts: dict, index: int | str) -> int:
        """Return the number of updates of a parameter, on this device or an earlier one."""
        return max(counts.get(index, self.begin_num_update), self._counts_elsewhere.get(index, 0))

    def continue_counts(self, devices: Iterable[int]) -> None:
        """Go on counting where these devices are, on whichever the parameters are updated next."""
        for device_id in devices:
            for index, count in self._all_index_update_counts.get(device_id, {}).items():
                self._counts_elsewhere[index] = max(count, self._counts_elsewhere.get(index, 0))

    def counts_loaded(self) -> None:
        """Go on from counts that were set anew, also on devices that have none."""
        self._counts_elsewhere = {}
        self.continue_counts(self._all_index_update_counts)

    def begin_update(self, index: Sequence, device_id: int) -> None:
        """Count an update of parameters that a graph computes, which `undo_update` takes back."""
        self._set_current_context(device_id)
        self._before_update = self.num_update, self._index_update_count.copy()
        self._update_count(index)

    def undo_update(self) -> None:
        """Take back what `begin_update` has counted, for the update has failed."""
        self.num_update, counts = self._before_update
        self._index_update_count.clear()
        self._index_update_count.update(counts)

    def _update_count(self, index) -> None:
        counts = self._index_update_count
        for i in index if isinstance(index, (list, tuple)) else (index,):
            counts[i] = self._count(counts, i) + 1
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

    def _try_step(self, counts: dict) -> None:
        """Change one number, at the first of these counts, by copies of it and its scheduler.

        Raises ArgumentError for what the next step of the training would raise, such as
        OverflowError.
        """
        trial = copy(self)
        trial.lr_scheduler = copy(self.lr_scheduler)
        trial._index_update_count = dict(counts)
        weight, gradient = [NDArray(torch.ones(1), Context("cpu")) for _ in range(2)]
        index = next(iter(counts), 0)
        try:
            trial.update(index, weight, gradient, trial.create_state(index, weight))
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"with its settings there is no step: {type(error).__name__}: {str(error)[:200]}"
            ) from error

    def _fused(self, *args) -> None:
        """`_apply`, by a kernel of PyTorch's where there is one; for tensors that are dense."""
        self._apply(*args)

    def _expect_shapes(self, index, weight: NDArray, grad: NDArray, state) -> None:
        """Refuse a gradient or a state of another shape than the weight's.

        PyTorch's fused kernels take it that these are equal, and read and write past the end.
        """
        cls = type(self)
        if cls.update not in (Fused.update, LBSGD.update) or cls._update_impl != Fused._update_impl:
            return  # a subclass may give its own states other shapes
        parts = [("gradient", grad), *[("state", own) for own in _arrays(state)]]
        for kind, part in parts:
            if part.shape != weight.shape:
                name = self.idx2name.get(index) or getattr(
                    self.param_dict.get(index), "name", index
                )
                raise ShapeError(
                    f"{type(self).__name__}: parameter {name!r} is {weight.shape}, "
                    f"and its {kind} {part.shape}\n"
                    f"  expected a {kind} of the parameter's shape; states belong to the "
                    "parameters by their order"
                )

    def update(self, index, weight, grad, state) -> None:
        """Change weights by their gradients: one of each, or lists as an Updater gives them.

        Raises
        ------
        ShapeError
            The gradient or the state of one weight has another shape.
        """
        self._update_impl(index, weight, grad, state)

    def _update_impl(self, index, weight, grad, state, multi_precision: bool = False) -> None:
        if not isinstance(index, (list, tuple)):
            self._expect_shapes(index, weight, grad, state)
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        counts, groups = self._index_update_count, {}
        for i, w, g, s, lr, wd in zip(index, weight, grad, state, *self._rates(index)):
            if w._is_sparse or g._is_sparse:
                self._update_sparse((lr, wd, counts[i]), w, g, s)
                continue
            w._refuse_recorded()
            w._copy_if_lent()
            w = w._tensor  # also one that autograd knows: it is changed where nothing is recorded
            alone = i if w.is_cpu and w.numel() > ALONE else None
            rows = groups.setdefault((lr, wd, counts[i], w.dtype, alone), [])
            rows.append((w, g._tensor, s))
        self._change(groups)

    def _is_lazy(self, weight: NDArray) -> bool:
        """Whether a gradient that has some rows changes these alone, and their states."""
        return False

    def _update_sparse(self, rates: tuple, weight: NDArray, grad: NDArray, state) -> None:
        """Change a weight, where it or its gradient is sparse."""
        states = _arrays(state)
        rows = rows_of(grad) if self._is_lazy(weight) else None
        with torch.no_grad():
            if rows is None:
                with dense_copies(weight, *states) as arrays:
                    [w], *tensors = [[array._writable()] for array in arrays]
                    self._apply(*rates, [w], [grad._as_dense()._tensor], *tensors)
                return
            with row_copies(rows, [weight], own=states) as taken:
                w, *tensors = [[values] for values in taken]
                self._apply(*rates, w, [grad._stored.values], *tensors)

    def _change(self, groups: dict[tuple, list[tuple]]) -> None:
        """Change weights: by (lr, wd, count, ...), rows of a weight, its gradient and its state."""
        enabled = torch.is_grad_enabled()
        _set_grad_enabled(False)
        try:
            for (lr, wd, t, *_), rows in groups.items():
                weights, grads, states = zip(*rows)
                dense = _dense(weights)
                self._fused(lr, wd, t, dense, _dense(grads), *columns(states))
                increment_version(dense)  # PyTorch's fused kernels do not say that they write
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


def _arrays(state) -> list[NDArray]:
    """The arrays of a state: it is None, an array, or a tuple of such."""
    if isinstance(state, (tuple, list)):
        return [array for part in state for array in _arrays(part)]
    return [] if state is None else [state]


def columns(states: Sequence) -> list[list]:
    """From a state for each weight to a list of tensors for each part of the states."""
    if states[0] is None:
        return []
    if isinstance(states[0], NDArray):
        return [[s._writable() for s in states]]
    return [[s._writable() for s in part] for part in zip(*states) if part[0] is not None]


class _Momentum(Fused):
    """A state of one array m, none without momentum."""

    _master = 1

    def __init__(self, momentum=0.0, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum

    _state_stype: str | None = None  # None: as the weight is stored

    def create_state(self, index, weight):
        return zeros(weight, self._state_stype) if self.momentum else None


class _ByImpl(Optimizer):
    """An optimizer whose `update` is for calls by hand: what calls it calls `_update_impl`."""

    _not_called = "update"

    def _call_update(self, index, weight, grad, state) -> None:
        self._update_impl(index, weight, grad, state, multi_precision=False)


@register
class SGD(_ByImpl, _Momentum):
    """m = momentum m - lr (g + wd w), w += m.

    With `lazy_update` a row_sparse gradient changes the rows that it has, in w and m; else the
    others too, by their momentum and decay.
    """

    def __init__(self, momentum=0.0, lazy_update=True, **kwargs):
        super().__init__(momentum, **kwargs)
        self.lazy_update = lazy_update

    _is_given_lists, _asks_for_each_rate = True, False

    def create_state(self, index, weight):
        """m, none without momentum."""
        stype = weight.stype if self.lazy_update else "default"
        return zeros(weight, stype) if self.momentum else None

    def _is_lazy(self, weight: NDArray) -> bool:
        return self.lazy_update

    def _apply(self, lr, wd, t, w, g, *states):
        g = self._scaled(g)
        if wd:
            torch._foreach_add_(g, w, alpha=wd)
        if not states:
            torch._foreach_add_(w, g, alpha=-lr)
            return
        (m,) = states
        torch._foreach_mul_(m, self.momentum)
        torch._foreach_add_(m, g, alpha=-lr)
        torch._foreach_add_(w, m)

    def _fused(self, lr, wd, t, w, g, *states):
        # PyTorch's kernel leaves most of a weight of 16 bits as it is on a CPU (2.13).
        broken = w[0].is_cpu and w[0].dtype in LOW_PRECISION
        if broken or bool(states) is not bool(self.momentum):  # which was set in between
            self._apply(lr, wd, t, w, g, *states)
            return
        scale = self.rescale_grad
        if self.clip_gradient:
            g, scale = self._scaled(g), 1.0
        # PyTorch has b = momentum b + (1 - dampening) (g + decay w) and w -= lr b. With -1 for lr
        # and 1 + lr for dampening b is m; without momentum lr is itself. `scale` is taken out of
        # the bracket: this way nothing but w and m is written, in one pass over the memory.
        torch._fused_sgd_(
            w,
            g,
            *states or ([],),
            weight_decay=wd / scale if wd else 0.0,
            momentum=self.momentum,
            lr=-1.0 if self.momentum else lr * scale,
            dampening=1.0 + lr * scale if self.momentum else 0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )


@register
class ccSGD(SGD):
    """SGD, under a former name."""


@register
class LBSGD(SGD):
    """SGD by the mean of the gradients of `batch_scale` updates, at a rate that warms up.

    Only every `batch_scale`-th update changes the weight. It multiplies the learning rate by s, the
    share of the warm-up that is done being p, up to 1:

    ==========  ============================================================
    linear      1 + (batch_scale - 1) p
    power2      1 + (batch_scale - 1) p²
    sqrt        1 + (batch_scale - 1) √p
    lars        √(|w|² / (|g|² + wd |w|²)), from 0.01 to 100, at any time
    ==========  ============================================================

    Parameters
    ----------
    momentum : float
    multi_precision : bool
    warmup_strategy : {'linear', 'power2', 'sqrt', 'lars'}
        With another name s is 1 during the warm-up, and `batch_scale` after it.
    warmup_epochs : int
    batch_scale : int
    updates_per_epoch : int
    begin_epoch : int
        The epoch from which training goes on: the warm-up is as far.
    num_epochs : int
        Without effect, as in MXNet.
    **kwargs
        Of Optimizer.

    Raises
    ------
    ArgumentError
        `batch_scale` is not a whole number of 1 or more.
    """

    def __init__(
        self,
        momentum=0.0,
        multi_precision=False,
        warmup_strategy="linear",
        warmup_epochs=5,
        batch_scale=1,
        updates_per_epoch=32,
        begin_epoch=0,
        num_epochs=60,
        **kwargs,
    ):
        super().__init__(momentum, multi_precision=multi_precision, **kwargs)
        if batch_scale != int(batch_scale) or batch_scale < 1:
            raise ArgumentError(f"LBSGD: batch_scale is {batch_scale}\n  expected 1, 2, 3 or more")
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs

    def create_state(self, index, weight):
        """The momentum; with a `batch_scale` above 1, and the sum of gradients so far."""
        momentum = zeros(weight, "default") if self.momentum else None
        return momentum if self.batch_scale == 1 else (momentum, zeros(weight, "default"))

    _not_called = ""

    def _call_update(self, index, weight, grad, state) -> None:
        self.update(index, weight, grad, state)

    def update(self, index, weight, grad, state) -> None:
        """Add a gradient to the sum, and change the weight when `batch_scale` of them are there."""
        if is_sparse(weight, grad):
            with dense_copies(weight) as [dense]:
                self.update(index, dense, grad._as_dense(), state)
            return
        self._expect_shapes(index, weight, grad, state)
        lr, wd = self._get_lr(index), self._get_wd(index)  # before it is counted, as in MXNet
        self._update_count(index)
        count = self._index_update_count[index]
        done = self.init_updates + count - self.begin_num_update
        if self.batch_scale > 1:
            state, summed = state
            summed._writable().add_(grad._tensor)
            if done % self.batch_scale:
                return
            grad = summed / self.batch_scale
            summed[:] = 0
        if self.warmup_strategy == "lars":
            lr *= _lars(weight._tensor, grad._tensor, wd)
        else:
            lr *= self._warm_up(done)
        self._change({(lr, wd, count): [(weight._writable(), grad._tensor, state)]})

    def _warm_up(self, done: int) -> float:
        """The factor of the learning rate after some updates."""
        warm, most = self.warmup_epochs * self.updates_per_epoch, float(self.batch_scale)
        if done >= warm:
            return most
        powers = {"linear": 1, "power2": 2, "sqrt": 0.5}
        if warm <= 1 or self.warmup_strategy not in powers:
            return 1.0
        return 1.0 + (most - 1) * (done / warm) ** powers[self.warmup_strategy]


def _lars(w: torch.Tensor, g: torch.Tensor, wd: float) -> float:
    """The factor of the learning rate that fits the sizes of a weight and its gradient."""
    of_w, of_g = w.square().sum().item(), g.square().sum().item()
    return min(max(math.sqrt(of_w / (of_g + wd * of_w + 1e-18)), 0.01), 100.0)


@register
class NAG(_ByImpl, _Momentum):
    """Nesterov's: d = lr (g + wd w), w += momentum² m - (1 + momentum) d, m = momentum m - d.

    In the last step d has the new w, as in MXNet.
    """

    _state_stype = "default"

    def _apply(self, lr, wd, t, w, g, *states):
        momentum = self.momentum
        g = self._scaled(g)
        if wd:
            torch._foreach_mul_(w, 1 - (1 + momentum) * lr * wd)
        torch._foreach_add_(w, g, alpha=-(1 + momentum) * lr)
        if momentum:
            (m,) = states
            torch._foreach_add_(w, m, alpha=momentum**2)
            torch._foreach_mul_(m, momentum)
            torch._foreach_add_(m, g, alpha=-lr)
            if wd:
                torch._foreach_add_(m, w, alpha=-lr * wd)


@register
class Signum(_Momentum):
    """By the sign alone (Bernstein et al., arXiv:1802.04434).

    m = momentum m - (1 - momentum) (g + wd w), w = (1 - lr wd_lh) w + lr sign m;
    without momentum w = (1 - lr wd) w - lr sign g.
    """

    _master = 0

    def __init__(self, learning_rate=0.01, momentum=0.9, wd_lh=0.0, **kwargs):
        super().__init__(momentum, learning_rate=learning_rate, **kwargs)
        self.wd_lh = wd_lh

    def _apply(self, lr, wd, t, w, g, *states):
        g = self._scaled(g)
        if self.momentum:
            (m,) = states
            if wd:
                torch._foreach_add_(g, w, alpha=wd)
            torch._foreach_mul_(m, self.momentum)
            torch._foreach_add_(m, g, alpha=self.momentum - 1)
            direction, decay = torch._foreach_sign(m), self.wd_lh
        else:
            direction, decay = torch._foreach_neg(torch._foreach_sign(g)), wd
        if decay:
            torch._foreach_mul_(w, 1 - lr * decay)
        torch._foreach_add_(w, direction, alpha=lr)


@register
class Adam(Fused):
    """m and v are running means of g and g², w -= lr_t m / (√v + ε) (Kingma and Ba 2015).

    g contains wd w, and lr_t = lr √(1 - β₂ᵗ) / (1 - β₁ᵗ). With `lazy_update` a row_sparse gradient
    changes the rows that it has, in w, m and v; else the others too.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        lazy_update=True,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def create_state(self, index, weight):
        stype = weight.stype if self.lazy_update else "default"
        return zeros(weight, stype), zeros(weight, stype)

    def _is_lazy(self, weight: NDArray) -> bool:
        return self.lazy_update

    def _apply(self, lr, wd, t, w, g, m, v):
        g = self._decayed(g, w, wd)
        torch._foreach_lerp_(m, g, 1 - _single(self.beta1))
        _mean_square(v, g, _single(self.beta2))
        root = torch._foreach_sqrt(v)
        torch._foreach_add_(root, self.epsilon)
        torch._foreach_addcdiv_(w, m, root, -self._rate(lr, t))

    def _rate(self, lr, t):
        return lr * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)

    def _fused(self, lr, wd, t, w, g, m, v):
        if self.clip_gradient:
            g, wd = self._decayed(g, w, wd), 0.0
        else:
            g = torch._foreach_mul(g, self.rescale_grad)
        # PyTorch would divide by 1 - βᵗ in other places than MXNet. At step infinity it does not
        # divide at all, and the rate has it.
        never = torch.full((), math.inf, device=w[0].device)
        torch._fused_adam_(
            w,
            g,
            m,
            v,
            [],
            [never] * len(w),
            lr=self._rate(lr, t),
            beta1=_single(self.beta1),
            beta2=_single(self.beta2),
            weight_decay=wd,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )


def _single(value: float) -> float:
    """A number as float32 has it: MXNet's 1 - 0.999 is 1.3e-5 smaller than 0.001."""
    return struct.unpack("f", struct.pack("f", value))[0]


@register
class Adamax(Fused):
    """Adam with the largest |g| in place of √v: w -= lr m / ((1 - β₁ᵗ) u)."""

    def __init__(self, learning_rate=0.002, beta1=0.9, beta2=0.999, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def create_state(self, index, weight):
        return zeros(weight, "default"), zeros(weight, "default")

    def _apply(self, lr, wd, t, w, g, m, u):
        g = self._decayed(g, w, wd)
        torch._foreach_lerp_(m, g, 1 - self.beta1)
        torch._foreach_mul_(u, self.beta2)
        torch._foreach_abs_(g)
        torch._foreach_maximum_(u, g)
        torch._foreach_addcdiv_(w, m, u, -lr / (1 - self.beta1**t))


@register
class Nadam(Fused):
    """Adam with Nesterov's momentum (Dozat 2016).

    As in MXNet the momentum's schedule moves on with every weight, so weights go one by one.
    """

    aggregate_num = 0

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        schedule_decay=0.004,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def create_state(self, index, weight):
        return zeros(weight, "default"), zeros(weight, "default")

    def _apply(self, lr, wd, t, w, g, m, v):
        g = self._decayed(g, w, wd)
        now, then = (self.beta1 * (1 - 0.5 * 0.96 ** (n * self.schedule_decay)) for n in (t, t + 1))
        self.m_schedule *= now
        torch._foreach_lerp_(m, g, 1 - self.beta1)
        _mean_square(v, g, self.beta2)
        root = torch._foreach_sqrt(torch._foreach_div(v, 1 - self.beta2**t))
        torch._foreach_add_(root, self.epsilon)
        torch._foreach_addcdiv_(w, g, root, -lr * (1 - now) / (1 - self.m_schedule))
        torch._foreach_addcdiv_(w, m, root, -lr * then / (1 - self.m_schedule * then))


def _mean_square(v: list, g: list, beta: float) -> None:
    """v = beta v + (1 - beta) g²"""
    torch._foreach_mul_(v, beta)
    torch._foreach_addcmul_(v, g, g, 1 - beta)


@register
class AdaGrad(Fused):
    """h += g², w -= lr (g / √(h + ε) + wd w) (Duchi et al. 2011).

    A row_sparse gradient changes the rows that it has, in w and h, and wants no weight decay.
    """

    def __init__(self, eps=1e-7, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index, weight):
        return zeros(weight)

    def _is_lazy(self, weight: NDArray) -> bool:
        return True

    def _update_sparse(self, rates, weight, grad, state) -> None:
        if rates[1]:
            raise ArgumentError(
                f"AdaGrad: wd is {rates[1]} for a weight or gradient that is sparse\n  expected 0"
            )
        super()._update_sparse(rates, weight, grad, state)

    def _apply(self, lr, wd, t, w, g, h):
        g = self._scaled(g)
        torch._foreach_addcmul_(h, g, g)
        root = torch._foreach_add(h, self.float_stable_eps)
        torch._foreach_sqrt_(root)
        if wd:
            torch._foreach_mul_(w, 1 - lr * wd)
        torch._foreach_addcdiv_(w, g, root, -lr)


@register
class AdaDelta(Fused):
    """d = g √(s + ε) / √(h + ε), w -= d + wd w; h and s are running means of g² and d².

    (Zeiler, arXiv:1212.5701.) The learning rate has no part in it.
    """

    def __init__(self, rho=0.9, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return zeros(weight, "default"), zeros(weight, "default")

    def _apply(self, lr, wd, t, w, g, h, s):
        g = self._scaled(g)
        _mean_square(h, g, self.rho)
        ratio = torch._foreach_add(s, self.epsilon)
        torch._foreach_div_(ratio, torch._foreach_add(h, self.epsilon))
        torch._foreach_sqrt_(ratio)
        torch._foreach_mul_(ratio, g)
        _mean_square(s, ratio, self.rho)
        if wd:
            torch._foreach_mul_(w, 1 - wd)
        torch._foreach_sub_(w, ratio)


@register
class RMSProp(Fused):
    """n is a running mean of g², w -= lr g / √(n + ε); g contains wd w (Tieleman and Hinton 2012).

    Parameters
    ----------
    gamma1, gamma2 : float
        Decay of the running means, and of the momentum of the centered form.
    centered : bool
        Take the variance of g for n, and a momentum (Graves, arXiv:1308.0850).
    clip_weights : float, optional
        Weights are cut to plus and minus this.
    """

    def __init__(
        self,
        learning_rate=0.001,
        gamma1=0.9,
        gamma2=0.9,
        epsilon=1e-8,
        centered=False,
        clip_weights=None,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.epsilon = epsilon
        self.centered = centered
        self.clip_weights = clip_weights

    def create_state(self, index, weight):
        return tuple(zeros(weight) for _ in range(3 if self.centered else 1))

    def _apply(self, lr, wd, t, w, g, n, *means):
        scale = self.rescale_grad  # in the factors of g where g has nothing else to go through
        if wd or self.clip_gradient or self.centered:
            g, scale = self._decayed(g, w, wd), 1.0
        torch._foreach_mul_(n, self.gamma1)
        torch._foreach_addcmul_(n, g, g, (1 - self.gamma1) * scale**2)
        root = torch._foreach_add(n, self.epsilon)
        if self.centered:
            mean, delta = means
            torch._foreach_lerp_(mean, g, 1 - self.gamma1)
            torch._foreach_addcmul_(root, mean, mean, -1)
            torch._foreach_sqrt_(root)
            torch._foreach_mul_(delta, self.gamma2)
            torch._foreach_addcdiv_(delta, g, root, -lr)
            torch._foreach_add_(w, delta)
        else:
            torch._foreach_sqrt_(root)
            torch._foreach_addcdiv_(w, g, root, -lr * scale)
        if self.clip_weights:
            torch._foreach_clamp_min_(w, -self.clip_weights)
            torch._foreach_clamp_max_(w, self.clip_weights)


@register
class Ftrl(Fused):
    """Follow the regularized leader, with weights of exactly 0 (McMahan et al. 2013).

    z += g - (√(n + g²) - √n) w / lr, n += g²,
    w = (sign z lamda1 - z) / ((β + √n) / lr + wd) where |z| > lamda1, else 0.
    """

    def __init__(self, lamda1=0.01, learning_rate=0.1, beta=1, **kwargs):
        super().__init__(**kwargs)
        self.lr = learning_rate  # a scheduler keeps its own
        self.lamda1 = lamda1
        self.beta = beta

    def create_state(self, index, weight):
        return zeros(weight), zeros(weight)

    def _is_lazy(self, weight: NDArray) -> bool:
        return is_sparse(weight)

    def _apply(self, lr, wd, t, w, g, z, n):
        g = self._scaled(g)
        before = torch._foreach_sqrt(n)
        torch._foreach_addcmul_(n, g, g)
        root = torch._foreach_sqrt(n)
        torch._foreach_add_(z, g)
        torch._foreach_addcmul_(z, torch._foreach_sub(root, before), w, -1 / lr)
        torch._foreach_div_(root, lr)
        torch._foreach_add_(root, self.beta / lr + wd)
        # What is beyond lamda1 of z: z - clamp(z), which is 0 within.
        within = torch._foreach_clamp_min(z, -self.lamda1)
        torch._foreach_clamp_max_(within, self.lamda1)
        torch._foreach_sub_(within, z)
        torch._foreach_copy_(w, torch._foreach_div(within, root))


@register
class FTML(Fused):
    """Follow the moving leader (Zheng and Kwok 2017).

    v = β₂ v + (1 - β₂) g², d' = (1 - β₁ᵗ)/lr (√(v / (1 - β₂ᵗ)) + ε),
    z = β₁ z + (1 - β₁) g - (d' - β₁ d) w, w = -z / d', d = d'; g has the decay's part.
    """

    def __init__(self, beta1=0.6, beta2=0.999, epsilon=1e-8, **kwargs):
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def create_state(self, index, weight):
        return tuple([zeros(weight, "default") for _ in range(3)])

    def _apply(self, lr, wd, t, w, g, d, v, z):
        g = self._decayed(g, w, wd)
        _mean_square(v, g, self.beta2)
        new = torch._foreach_sqrt(torch._foreach_div(v, 1 - self.beta2**t))
        torch._foreach_add_(new, self.epsilon)
        torch._foreach_mul_(new, (1 - self.beta1**t) / lr)
        torch._foreach_lerp_(z, g, 1 - self.beta1)
        torch._foreach_mul_(d, -self.beta1)
        torch._foreach_add_(d, new)
        torch._foreach_addcmul_(z, d, w, -1)
        torch._foreach_copy_(d, new)
        torch._foreach_copy_(w, torch._foreach_neg(torch._foreach_div(z, new)))


@register
class DCASGD(Fused):
    """SGD with compensation for a delayed gradient (Zheng et al., arXiv:1609.08326).

    m = momentum m - lr (g + wd w + lamda g² (w - w')), w' = w, w += m
    """

    def __init__(self, momentum=0.0, lamda=0.04, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index, weight):
        """m, None without momentum, and w'."""
        return zeros(weight) if self.momentum else None, weight.copy()

    def _apply(self, lr, wd, t, w, g, *states):
        *states, previous = states
        g = self._scaled(g)
        step = torch._foreach_mul(torch._foreach_sub(w, previous), self.lamda)
        torch._foreach_mul_(step, g)
        torch._foreach_addcmul_(g, g, step)
        if wd:
            torch._foreach_add_(g, w, alpha=wd)
        torch._foreach_copy_(previous, w)
        if states:
            [m] = states
            torch._foreach_mul_(m, self.momentum)
            torch._foreach_add_(m, g, alpha=-lr)
            torch._foreach_add_(w, m)
        else:
            torch._foreach_add_(w, g, alpha=-lr)


@register
class SGLD(Fused):
    """Langevin dynamics: w -= lr/2 (g + wd w) + noise of variance lr (Patterson and Teh 2013)."""

    aggregate_num = 0  # a compiled graph draws other numbers

    def _apply(self, lr, wd, t, w, g):
        g = self._scaled(g)
        if wd:
            torch._foreach_add_(g, w, alpha=wd)
        torch._foreach_add_(w, g, alpha=-lr / 2)
        torch._foreach_add_(w, [torch.randn_like(x) for x in w], alpha=math.sqrt(lr))


@register
class LAMB(_ByImpl, Fused):
    """Adam's step, in each weight as long as lr |w| (You et al., arXiv:1904.00962).

    u = m' / (√v' + ε) + wd w, w -= lr |w|/|u| u, with Adam's m' and v'; |w| is cut to
    `lower_bound` and `upper_bound`, and |w|/|u| is 1 where either is 0.
    """

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-6,
        lower_bound=None,
        upper_bound=None,
        bias_correction=True,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    _is_given_lists = True

    def create_state(self, index, weight):
        return zeros(weight), zeros(weight)

    def _apply(self, lr, wd, t, w, g, m, v):
        g = self._scaled(g)
        torch._foreach_lerp_(m, g, 1 - self.beta1)
        _mean_square(v, g, self.beta2)
        by_m, by_v = (1 - self.beta1**t, 1 - self.beta2**t) if self.bias_correction else (1, 1)
        root = torch._foreach_sqrt(torch._foreach_div(v, by_v))
        torch._foreach_add_(root, self.epsilon)
        step = torch._foreach_div(torch._foreach_div(m, by_m), root)
        if wd:
            torch._foreach_add_(step, w, alpha=wd)
        ratios = [self._ratio(*norms) for norms in zip(*map(torch._foreach_norm, (w, step)))]
        torch._foreach_addcmul_(w, step, ratios, -lr)

    def _ratio(self, of_w: torch.Tensor, of_step: torch.Tensor) -> torch.Tensor:
        if self.lower_bound or self.upper_bound:
            of_w = of_w.clamp(self.lower_bound or None, self.upper_bound or None)
        return torch.where((of_w > 0) & (of_step > 0), of_w / of_step, 1.0)


@register
class LARS(_ByImpl):
    """SGD at rates that fit the sizes of weights and gradients (You et al., arXiv:1708.03888).

    lr eta |w| / (|g| + wd |w| + eps) takes the place of lr, but for weights whose names end in
    gamma, beta or bias, and where |w| or |g| is 0. The decay is for names in _weight alone.

    Parameters
    ----------
    momentum : float
    lazy_update : bool
        Without effect: a sparse gradient is taken as a dense one.
    eta, eps : float
    momentum_correction : bool
        When the learning rate has changed since a weight's last update, change its m as much.
    **kwargs
        Of Optimizer.
    """

    aggregate_num = ALL_AT_ONCE
    _master = 1
    _is_given_lists, _asks_for_each_rate = True, False

    def __init__(
        self,
        momentum=0.0,
        lazy_update=True,
        eta=0.001,
        eps=0,
        momentum_correction=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update, self.eta, self.eps = lazy_update, eta, eps
        self.momentum_correction = momentum_correction
        self._last_rates: dict = {}  # by parameter and context

    def create_state(self, index, weight):
        """m, none without momentum."""
        return zeros(weight, "default") if self.momentum else None

    def set_wd_mult(self, args_wd_mult: dict) -> None:
        """Set factors of the weight decay, by index or name."""
        self.wd_mult = {n: 0.0 for n in self.idx2name.values() if not n.endswith("_weight")}
        self.wd_mult |= self._attached("__wd_mult__") | args_wd_mult

    def update(self, index, weight, grad, state) -> None:
        """Change weights by their gradients: one of each, or lists."""
        self._update_impl(index, weight, grad, state)

    def _update_impl(self, index, weight, grad, state, multi_precision: bool = False) -> None:
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        self._update_count(index)
        rate, groups = self.learning_rate, {}
        decays = self._get_wds(index)
        for i, lr, wd, w, g, s in zip(index, self._get_lrs(index), decays, weight, grad, state):
            last = self._last_rates.get((i, w.context), rate)
            self._last_rates[i, w.context] = rate
            name = self.idx2name.get(i, "")
            fitted = not name.endswith(("gamma", "beta", "bias"))
            row = groups.setdefault((last, fitted, w.context), [])
            row.append((lr, wd, w, g, s))
        for (last, fitted, _), rows in groups.items():
            corrects = self.momentum_correction and last != 0
            self._change_rows(rows, fitted, self.momentum * (rate / last if corrects else 1))

    def _change_rows(self, rows: list[tuple], fitted: bool, momentum: float) -> None:
        lrs, wds, weights, grads, states = zip(*rows)
        if is_sparse(*weights, *grads):
            with dense_copies(*weights) as dense:
                dense_grads = [grad._as_dense() for grad in grads]
                dense_rows = [*zip(lrs, wds, dense, dense_grads, states)]
                self._change_rows(dense_rows, fitted, momentum)
            return
        context, number = weights[0].context, len(weights)
        lrs, wds = array(lrs, context), array(wds, context)
        if fitted:
            sizes = [op.multi_sum_sq(*some, num_arrays=number) for some in (weights, grads)]
            scale = {"eta": self.eta, "eps": self.eps, "rescale_grad": self.rescale_grad}
            lrs = op.multi_lars(lrs, *sizes, wds, **scale)
        settings = {"rescale_grad": self.rescale_grad, "num_weights": number, "out": [*weights]}
        settings["clip_gradient"] = self.clip_gradient or -1.0
        if self.momentum:
            flat = [array for row in zip(weights, grads, states) for array in row]
            op.preloaded_multi_sgd_mom_update(*flat, lrs, wds, momentum=momentum, **settings)
        else:
            flat = [array for row in zip(weights, grads) for array in row]
            op.preloaded_multi_sgd_update(*flat, lrs, wds, **settings)


@register
class Test(Optimizer):
    """w += g, for tests of what calls optimizers: its state is a copy of the weight."""

    __test__ = False  # no class of tests

    def create_state(self, index, weight):
        """Zeros."""
        return zeros(weight, "default")

    def update(self, index, weight, grad, state) -> None:
        """Add the gradient times `rescale_grad`, and copy the weight into the state."""
        weight[:] = weight + grad * self.rescale_grad
        state[:] = weight


class Updater:
    """Calls an optimizer, and keeps the states between the calls.

    ``updater(index, grad, weight)`` takes one parameter, or lists of the three. A weight that was
    cast after its first update, and has a state, is a DTypeError; one whose gradient or state has
    another shape is a ShapeError.
    """

    def __init__(self, optimizer: Optimizer):
        self.optimizer = optimizer
        self.states: dict = {}
        self.states_synced: dict = {}  # whether a state is on the context of its weight
        self._device_id: int | None = None  # where it has updated last
        self._dtypes: dict = {}  # of the weights that states were made for, or given to
        self._checked: dict = {}  # the weights, gradients and states whose shapes are known to fit

    def __getstate__(self) -> dict:
        """What a copy or a pickle has: all but the weak references."""
        return vars(self) | {"_checked": {}}

    def __call__(self, index, grad, weight) -> None:
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        if not index:
            return
        optimizer, states = self.optimizer, self._states(index, weight, grad)
        optimizer._set_current_context(self._move_to(weight[0]._context.device_id))
        at_once = optimizer.aggregate_num
        if at_once > 1:
            for k in range(0, len(index), at_once):
                part = slice(k, k + at_once)
                optimizer.update_multi_precision(
                    index[part], weight[part], grad[part], states[part]
                )
        else:
            for row in zip(index, weight, grad, states):
                optimizer.update_multi_precision(*row)

    def begin_update(self, index: Sequence, weight: Sequence[NDArray]) -> list:
        """Count an update that a graph computes; returns the states of the weights.

        `optimizer.undo_update` takes the count back.

        Raises
        ------
        DTypeError
            A weight has another dtype than its state.
        ShapeError
            A weight has another shape than its state.
        """
        states = self._states(index, weight, weight)
        self.optimizer.begin_update(index, self._move_to(weight[0]._context.device_id))
        return states

    def _move_to(self, device_id: int) -> int:
        """Note where the weights are; the counts of updates go along."""
        if device_id != self._device_id:
            if self._device_id is not None:
                self.optimizer.continue_counts([self._device_id])
            self._device_id = device_id
        return device_id

    def _states(self, index, weight, grad) -> list:
        """The states of weights, made where there are none, and on their contexts."""
        checked, states = self._checked, self.states
        for i, w, g in zip(index, weight, grad):
            if not self.states_synced.get(i):
                self._make_state(i, w)
            elif self._dtypes.get(i) is not w._autograd_tensor.dtype:
                self._expect_no_state(i, w)
            state, known = states[i], checked.get(i)
            if not (known and known[0]() is w and known[1]() is g and known[2] is state):
                self.optimizer._expect_shapes(i, w, g, state)
                checked[i] = ref(w), ref(g), state
        return [states[i] for i in index]

    def _make_state(self, index, weight: NDArray) -> None:
        if index in self.states:
            self.states[index] = self.sync_state_context(self.states[index], weight._context)
        else:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
        self.states_synced[index] = True
        self._dtypes[index] = weight._autograd_tensor.dtype

    def _expect_no_state(self, index, weight: NDArray) -> None:
        """Refuse a weight of another dtype than its state is for."""
        before = self._dtypes.get(index)
        if before is not None and self.states[index] is not None:
            raise DTypeError(
                f"{type(self.optimizer).__name__}: parameter {index!r} is "
                f"{_dtype.name(weight._autograd_tensor.dtype)}, and its state is for "
                f"{_dtype.name(before)}\n"
                "  expected cast before the first update, or a new Trainer after it"
            )
        self._dtypes[index] = weight._autograd_tensor.dtype

    def sync_state_context(self, state, context: Context):
        """A state, on a context."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states as the bytes of MXNet's pickle; on request with the optimizer's settings."""
        return optimizer_states.dumps(self, dump_optimizer)

    def set_states(self, states: bytes) -> None:
        """Take over what `get_states` gave, here or in MXNet; nothing in it is run.

        Raises
        ------
        ParamsFileError
            These are not such bytes, or those of another optimizer.
        """
        optimizer_states.loads(self, states, "states")


def get_updater(optimizer: Optimizer) -> Updater:
    """An updater for an optimizer."""
    return Updater(optimizer)
