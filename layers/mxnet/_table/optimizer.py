"""Steps of optimizers: each gives the new weight, and moves its states in place.

``out=weight`` stores the weight where it was. A gradient is first multiplied by `rescale_grad` and
cut to [-clip_gradient, clip_gradient]; a negative bound cuts nothing. `lazy_update` is for sparse
gradients, which there are not.
"""

from __future__ import annotations

import torch

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
    """Gradient descent, w - lr (g + wd w)."""
    g = _clip(rescale_grad * grad, clip_gradient)
    return weight - lr * (g + wd * weight)


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
