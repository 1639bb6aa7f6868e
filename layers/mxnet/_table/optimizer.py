"""Steps of optimizers: each gives the new weight, and moves its states in place.

``out=weight`` stores the weight where it was. A gradient is first multiplied by `rescale_grad` and
cut to [-clip_gradient, clip_gradient]; a negative bound cuts nothing. With `lazy_update` a
row_sparse gradient changes the rows that it has: `_sparse/updates.py`.
"""

from __future__ import annotations

import torch

from ..base import ArgumentError
from .registry import REQUIRED, Tensor, op


def _clip(x, bound):
    return x.clamp(-bound, bound) if bound >= 0 else x


@op
def sgd_update(
    weight: Tensor,
    grad: Tensor,
    lr: float = REQUIRED,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Tensor:
    """Gradient descent, (1 - lr wd) w - lr g; in this order, an infinite w stays infinite."""
    g = _clip(rescale_grad * grad, clip_gradient)
    return (1 - lr * wd) * weight - lr * g


@op(states=("mom",))
def sgd_mom_update(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    lr: float = REQUIRED,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Tensor:
    """With momentum, m = momentum m - lr (g + wd w); w + m."""
    g = _clip(rescale_grad * grad, clip_gradient)
    mom.mul_(momentum).sub_(lr * (g + wd * weight))
    return weight + mom


@op(states=("mom",))
def nag_mom_update(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    lr: float = REQUIRED,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """With Nesterov's momentum, s = lr (g + wd w); m = momentum m - s; w + momentum m - s."""
    step = lr * (_clip(rescale_grad * grad, clip_gradient) + wd * weight)
    mom.mul_(momentum).sub_(step)
    return weight + momentum * mom - step


@op(states=("mean", "var"))
def adam_update(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    lr: float = REQUIRED,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Tensor:
    """Adam, without the correction of the bias, which the caller puts into lr.

    g = clip(rescale_grad g + wd w); m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²;
    w - lr m / (√v + epsilon).
    """
    g = _clip(rescale_grad * grad + wd * weight, clip_gradient)
    mean.mul_(beta1).add_(g, alpha=1 - beta1)
    var.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    return weight - lr * mean / (torch.sqrt(var) + epsilon)


@op(states=("history",))
def _sparse_adagrad_update(
    weight: Tensor,
    grad: Tensor,
    history: Tensor,
    lr: float = REQUIRED,
    epsilon: float = 1e-7,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """AdaGrad, h = h + g²; w - lr g / √(h + epsilon). For sparse gradients, without decay."""
    if wd:
        raise ArgumentError(f"adagrad_update: wd is {wd}\n  expected 0")
    g = _clip(rescale_grad * grad, clip_gradient)
    history.addcmul_(g, g)
    return weight - lr * g / torch.sqrt(history + epsilon)


@op(states=("n",))
def rmsprop_update(
    weight: Tensor,
    grad: Tensor,
    n: Tensor,
    lr: float = REQUIRED,
    gamma1: float = 0.95,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> Tensor:
    """RMSProp.

    g = clip(rescale_grad g + wd w); n = gamma1 n + (1 - gamma1) g²; w - lr g / √(n + epsilon), cut
    to [-clip_weights, clip_weights].
    """
    g = _clip(rescale_grad * grad + wd * weight, clip_gradient)
    n.mul_(gamma1).addcmul_(g, g, value=1 - gamma1)
    return _clip(weight - lr * g / torch.sqrt(n + epsilon), clip_weights)


@op(states=("z", "n"))
def ftrl_update(
    weight: Tensor,
    grad: Tensor,
    z: Tensor,
    n: Tensor,
    lr: float = REQUIRED,
    lamda1: float = 0.01,
    beta: float = 1.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """FTRL, which makes small weights 0.

    z = z + g - (√(n + g²) - √n) w / lr; n = n + g²;
    w = (sign(z) lamda1 - z) / ((beta + √n) / lr + wd) where |z| > lamda1, else 0.
    """
    g = _clip(rescale_grad * grad, clip_gradient)
    before = torch.sqrt(n)
    n.addcmul_(g, g)
    z.add_(g - (torch.sqrt(n) - before) * weight / lr)
    w = (torch.sign(z) * lamda1 - z) / ((beta + torch.sqrt(n)) / lr + wd)
    return torch.where(z.abs() > lamda1, w, torch.zeros_like(w))


# With weights of 16 bits, of which a copy in float32 is kept.


def _master(update, weight, grad, *states, **settings):
    """Update the float32 copy, the last state, in place; the weight in its own dtype."""
    *states, weight32 = states
    weight32.copy_(update.function(weight32, grad.to(weight32.dtype), *states, **settings))
    return weight32.to(weight.dtype, copy=True)


@op(states=("weight32",))
def mp_sgd_update(
    weight: Tensor,
    grad: Tensor,
    weight32: Tensor,
    lr: float = REQUIRED,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Tensor:
    """sgd_update of `weight32`, a weight of 16 bits in float32."""
    given = {"lr": lr, "wd": wd, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
    return _master(sgd_update, weight, grad, weight32, **given)


@op(states=("mom", "weight32"))
def mp_sgd_mom_update(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    weight32: Tensor,
    lr: float = REQUIRED,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Tensor:
    """sgd_mom_update of `weight32`, a weight of 16 bits in float32."""
    given = {"lr": lr, "wd": wd, "rescale_grad": rescale_grad, "clip_gradient": clip_gradient}
    return _master(sgd_mom_update, weight, grad, mom, weight32, momentum=momentum, **given)


@op(states=("mom", "weight32"))
def mp_nag_mom_update(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    weight32: Tensor,
    lr: float = REQUIRED,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """nag_mom_update of `weight32`, a weight of 16 bits in float32.

    The decay in the new m is of the new weight, as in MXNet.
    """
    g = _clip(rescale_grad * grad.to(weight32.dtype), clip_gradient)
    step = lr * (g + wd * weight32)
    weight32.add_(momentum**2 * mom - (1 + momentum) * step)
    mom.mul_(momentum).sub_(lr * (g + wd * weight32))
    return weight32.to(weight.dtype, copy=True)


@op
def signsgd_update(
    weight: Tensor,
    grad: Tensor,
    lr: float = REQUIRED,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """By the sign alone, (1 - lr wd) w - lr sign(g).

    `rescale_grad` and `clip_gradient` have no effect, as in MXNet: not even one that is 0.
    """
    return (1 - lr * wd) * weight - lr * torch.sign(grad)


@op(states=("mom",))
def signum_update(
    weight: Tensor,
    grad: Tensor,
    mom: Tensor,
    lr: float = REQUIRED,
    momentum: float = 0.0,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: float = 0.0,
) -> Tensor:
    """By the sign, with momentum.

    m = momentum m - (1 - momentum) (g + wd w); (1 - lr wd_lh) w + lr sign(m).
    """
    g = _clip(rescale_grad * grad, clip_gradient) + wd * weight
    mom.mul_(momentum).sub_((1 - momentum) * g)
    return (1 - lr * wd_lh) * weight + lr * torch.sign(mom)


@op(states=("d", "v", "z"))
def ftml_update(
    weight: Tensor,
    grad: Tensor,
    d: Tensor,
    v: Tensor,
    z: Tensor,
    lr: float = REQUIRED,
    beta1: float = 0.6,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    t: int = REQUIRED,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_grad: float = -1.0,
) -> Tensor:
    """Follow the moving leader, in the t-th step.

    g = clip(rescale_grad g + wd w); v = beta2 v + (1 - beta2) g²;
    d' = (1 - beta1ᵗ) / lr (√(v / (1 - beta2ᵗ)) + epsilon);
    z = beta1 z + (1 - beta1) g - (d' - beta1 d) w; d = d'; -z / d.
    """
    g = _clip(rescale_grad * grad + wd * weight, clip_grad)
    v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    new = (torch.sqrt(v / (1 - beta2**t)) + epsilon) * (1 - beta1**t) / lr  # inf for a lr of 0
    z.mul_(beta1).add_((1 - beta1) * g - (new - beta1 * d) * weight)
    d.copy_(new)
    return -z / d


@op(states=("n", "g", "delta"))
def rmspropalex_update(
    weight: Tensor,
    grad: Tensor,
    n: Tensor,
    g: Tensor,
    delta: Tensor,
    lr: float = REQUIRED,
    gamma1: float = 0.95,
    gamma2: float = 0.9,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> Tensor:
    """RMSProp with the variance of the gradient, and momentum.

    e = clip(rescale_grad grad + wd w); n = gamma1 n + (1 - gamma1) e²;
    g = gamma1 g + (1 - gamma1) e; delta = gamma2 delta - lr e / √(n - g² + epsilon);
    w + delta, cut to ±clip_weights.
    """
    e = _clip(rescale_grad * grad + wd * weight, clip_gradient)
    n.mul_(gamma1).addcmul_(e, e, value=1 - gamma1)
    g.mul_(gamma1).add_(e, alpha=1 - gamma1)
    delta.mul_(gamma2).sub_(lr * e / torch.sqrt(n - g * g + epsilon))
    return _clip(weight + delta, clip_weights)


@op(states=("history",))
def _contrib_group_adagrad_update(
    weight: Tensor,
    grad: Tensor,
    history: Tensor,
    lr: float = REQUIRED,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
    epsilon: float = 1e-5,
) -> Tensor:
    """AdaGrad with one history for each row: h = h + mean(g²), w - lr g / √(h + epsilon).

    weight : (n, ...)      history : (n, 1)
    """
    g = _clip(rescale_grad * grad, clip_gradient)
    mean = (g * g).flatten(1).mean(1)
    history.add_(mean.reshape(history.shape))
    root = torch.sqrt(history + epsilon).reshape(-1, *[1] * (weight.dim() - 1))
    return weight - lr * g / root


# LAMB, in two steps: its caller takes the norms of the weight and of what the first one gives.


@op(states=("mean", "var"))
def lamb_update_phase1(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: int = REQUIRED,
    bias_correction: bool = True,
    wd: float = REQUIRED,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """The direction of LAMB's t-th step, m' / (√v' + epsilon) + wd w.

    m and v are Adam's, m' = m / (1 - beta1ᵗ) and v' = v / (1 - beta2ᵗ) with `bias_correction`.
    """
    g = _clip(rescale_grad * grad, clip_gradient)
    mean.mul_(beta1).add_(g, alpha=1 - beta1)
    var.mul_(beta2).addcmul_(g, g, value=1 - beta2)
    m, v = (mean / (1 - beta1**t), var / (1 - beta2**t)) if bias_correction else (mean, var)
    return m / (torch.sqrt(v) + epsilon) + wd * weight


@op
def lamb_update_phase2(
    weight: Tensor,
    g: Tensor,
    r1: Tensor,
    r2: Tensor,
    lr: float = REQUIRED,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> Tensor:
    """w - lr r1 / r2 g, for the norms r1 of the weight and r2 of the direction g.

    r1, r2 : (1,); r1 is cut to the bounds that are not negative, r1 / r2 is 1 where either is 0.
    """
    if lower_bound >= 0:
        r1 = r1.clamp(min=lower_bound)
    if upper_bound >= 0:
        r1 = r1.clamp(max=upper_bound)
    ratio = torch.where((r1 == 0) | (r2 == 0), torch.ones_like(r1), r1 / r2)
    return weight - lr * ratio * g


@op(states=("mean", "var"))
def mp_lamb_update_phase1(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    weight32: Tensor,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-6,
    t: int = REQUIRED,
    bias_correction: bool = True,
    wd: float = REQUIRED,
    rescale_grad: float = 1.0,
    clip_gradient: float = -1.0,
) -> Tensor:
    """lamb_update_phase1 of `weight32`, a weight of 16 bits in float32."""
    settings = beta1, beta2, epsilon, t, bias_correction, wd, rescale_grad, clip_gradient
    return lamb_update_phase1.function(weight32, grad.to(weight32.dtype), mean, var, *settings)


@mp_lamb_update_phase1.types
def _(weight32):
    return weight32


@op(states=("weight32",))
def mp_lamb_update_phase2(
    weight: Tensor,
    g: Tensor,
    r1: Tensor,
    r2: Tensor,
    weight32: Tensor,
    lr: float = REQUIRED,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> Tensor:
    """lamb_update_phase2 of `weight32`, a weight of 16 bits in float32."""
    weight32.copy_(lamb_update_phase2.function(weight32, g, r1, r2, lr, lower_bound, upper_bound))
    return weight32.to(weight.dtype, copy=True)


@op(states=("mean", "var"))
def _adamw_update(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    rescale_grad: Tensor,
    lr: float = REQUIRED,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    eta: float = REQUIRED,
    clip_gradient: float = -1.0,
) -> Tensor:
    """Adam with the decay apart, w - eta (lr m / (√v + epsilon) + wd w).

    rescale_grad : (1,), or the first of more; nothing changes where it is 0, infinite or NaN, as
    after an overflow
    """
    scale = rescale_grad.reshape(-1)[:1]
    goes = torch.isfinite(scale) & (scale != 0)
    g = _clip(scale * grad, clip_gradient)
    mean.copy_(torch.where(goes, beta1 * mean + (1 - beta1) * g, mean))
    var.copy_(torch.where(goes, beta2 * var + (1 - beta2) * g * g, var))
    step = eta * (lr * mean / (torch.sqrt(var) + epsilon) + wd * weight)
    return torch.where(goes, weight - step, weight)


@op(states=("mean", "var", "weight32"))
def _mp_adamw_update(
    weight: Tensor,
    grad: Tensor,
    mean: Tensor,
    var: Tensor,
    weight32: Tensor,
    rescale_grad: Tensor,
    lr: float = REQUIRED,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    wd: float = 0.0,
    eta: float = REQUIRED,
    clip_gradient: float = -1.0,
) -> Tensor:
    """_adamw_update of `weight32`, a weight of 16 bits in float32."""
    settings = lr, beta1, beta2, epsilon, wd, eta, clip_gradient
    g, scale = grad.to(weight32.dtype), rescale_grad.reshape(-1)[:1].to(weight32.dtype)
    new = _adamw_update.function(weight32, g, mean, var, scale, *settings)
    goes = torch.isfinite(scale) & (scale != 0)
    weight32.copy_(new)
    return torch.where(goes, new.to(weight.dtype), weight)


def _like_weight(shapes):
    return shapes[0] if len({*shapes}) == 1 else None


for _row in (sgd_update, sgd_mom_update, nag_mom_update, adam_update, rmsprop_update, ftrl_update):
    _row.shaped(_like_weight)
for _row in (signsgd_update, signum_update, ftml_update, rmspropalex_update, lamb_update_phase1):
    _row.shaped(_like_weight)
for _row in (mp_sgd_update, mp_sgd_mom_update, mp_nag_mom_update, mp_lamb_update_phase1):
    _row.shaped(_like_weight)


@_adamw_update.shaped
@_mp_adamw_update.shaped
def _(weight, rescale_grad, shapes):
    return weight if rescale_grad == (1,) and {*shapes[:-1]} == {weight} else None
