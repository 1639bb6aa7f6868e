"""Optimizers: how weights change by their gradients.

The built-in ones change all weights that they are given at once, with PyTorch's fused and
`foreach` kernels. g below is the gradient times `rescale_grad`, cut to ±`clip_gradient`.
"""

from __future__ import annotations

import math
import struct

import torch

from ._base import LOW_PRECISION, Fused, Optimizer, create, register, zeros

__all__ = [
    "SGD",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "Adamax",
    "Ftrl",
    "NAG",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "create",
    "register",
]


class _Momentum(Fused):
    """A state of one array m, none without momentum."""

    _master = 1

    def __init__(self, momentum=0.0, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index, weight):
        return zeros(weight) if self.momentum else None


@register
class SGD(_Momentum):
    """m = momentum m - lr (g + wd w), w += m."""

    def __init__(self, momentum=0.0, lazy_update=True, **kwargs):
        super().__init__(momentum, **kwargs)
        self.lazy_update = lazy_update  # about sparse gradients, which there are not

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
class NAG(_Momentum):
    """Nesterov's: d = lr (g + wd w), w += momentum² m - (1 + momentum) d, m = momentum m - d.

    In the last step d has the new w, as in MXNet.
    """

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

    g contains wd w, and lr_t = lr √(1 - β₂ᵗ) / (1 - β₁ᵗ).
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
        self.lazy_update = lazy_update  # about sparse gradients, which there are not

    def create_state(self, index, weight):
        return zeros(weight), zeros(weight)

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
        return zeros(weight), zeros(weight)

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
        return zeros(weight), zeros(weight)

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
    """h += g², w -= lr (g / √(h + ε) + wd w) (Duchi et al. 2011)."""

    def __init__(self, eps=1e-7, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index, weight):
        return zeros(weight)

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
        return zeros(weight), zeros(weight)

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
        g = self._decayed(g, w, wd)
        _mean_square(n, g, self.gamma1)
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
            torch._foreach_addcdiv_(w, g, root, -lr)
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
