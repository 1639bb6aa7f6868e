"""Functions of PyTorch in place of formulas in `nd`, as parts of operators, by name.

They take fewer passes over memory. A function returns None where it does not fit its arguments.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from ..base import NOT_WHOLE, ArgumentError, BoundsError
from ..ndarray.ndarray import NDArray
from .labels import expect_classes, whole

__all__ = ["fused"]

_attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_attention_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
_sum_bags = torch.ops.aten._embedding_bag_forward_only.default
_sum_bags_backward = torch.ops.aten._embedding_bag_backward.default
_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default
_gelu_backward = torch.ops.aten.gelu_backward.default
_hard_swish_backward = torch.ops.aten.hardswish_backward.default
_silu_backward = torch.ops.aten.silu_backward.default


def differentiable_layer_norm(x, gamma, beta, eps):
    """The output, the mean and 1 / √(variance + eps) of each row, for a second derivative."""
    if not torch.is_grad_enabled():
        return None
    tensor, weight, bias = x._tensor, gamma._tensor, beta._tensor
    variance, mean = torch.var_mean(tensor, -1, correction=0, keepdim=True)
    y = F.layer_norm(tensor, weight.shape, weight, bias, eps)
    return [NDArray(t, x._context) for t in (y, mean, torch.rsqrt(variance + eps))]


def layer_norm_gradients(dy, x, gamma, mean, rstd):
    """The gradients of x, gamma and beta."""
    weight = gamma._tensor
    statistics = mean._tensor, rstd._tensor
    found = _layer_norm_backward(
        dy._tensor, x._tensor, weight.shape, *statistics, weight, weight, [True, True, True]
    )
    return [NDArray(t, x._context) for t in found]


def rms_norm(x, gamma, eps):
    """The output, and 1 / √(mean x² + eps) of each row."""
    tensor = x._tensor
    if gamma._tensor.shape != tensor.shape[-1:]:
        return None
    size = torch.linalg.vector_norm(tensor, dim=-1, keepdim=True)
    rstd = size.square_().div_(tensor.shape[-1]).add_(eps).rsqrt_()
    y = torch.mul(tensor, gamma._tensor).mul_(rstd)
    return NDArray(y, x._context), NDArray(rstd, x._context)


def rms_norm_gradients(dy, x, gamma, rstd):
    """The gradients of x and gamma.

    They are those of layer normalization with the mean 0, but for the mean of dy gamma, which that
    takes from dx; PyTorch computes them in one pass over memory.
    """
    head, weight, rate = dy._tensor, gamma._tensor, rstd._tensor
    dx, dgamma, _ = _layer_norm_backward(
        head,
        x._tensor,
        weight.shape,
        torch.zeros_like(rate),
        rate,
        weight,
        None,
        [True, True, False],
    )
    level = (head @ weight).unsqueeze(-1).mul_(rate).div_(weight.shape[0])
    return NDArray(dx.add_(level), x._context), NDArray(dgamma, x._context)


def swiglu(gate, value):
    """gate σ(gate) value."""
    if gate._tensor.dtype != value._tensor.dtype:
        return None
    return NDArray(F.silu(gate._tensor).mul_(value._tensor), gate._context)


def swiglu_gradients(dy, gate, value):
    """The gradients of gate and value."""
    dgate = _silu_backward(dy._tensor * value._tensor, gate._tensor)
    dvalue = F.silu(gate._tensor).mul_(dy._tensor)
    return [NDArray(t, gate._context) for t in (dgate, dvalue)]


def gelu_tanh(x):
    """x Φ(x), approximated with tanh."""
    if not x._tensor.is_floating_point():
        return None
    return NDArray(F.gelu(x._tensor, approximate="tanh"), x._context)


def gelu_tanh_gradient(dy, x):
    """The gradient of x.

    PyTorch's own is NaN where x³ overflows. Above 10 the gradient is dy and below -10 it is 0, so
    that x may be clamped to these.
    """
    within = x._tensor.clamp(-10, 10)
    return NDArray(_gelu_backward(dy._tensor, within, approximate="tanh"), x._context)


def geglu_tanh(gate, value):
    """GELU(gate) value."""
    if gate._tensor.dtype != value._tensor.dtype or not gate._tensor.is_floating_point():
        return None
    return NDArray(F.gelu(gate._tensor, approximate="tanh").mul_(value._tensor), gate._context)


def geglu_tanh_gradients(dy, gate, value):
    """The gradients of gate and value."""
    dgate = gelu_tanh_gradient(dy * value, gate)
    dvalue = F.gelu(gate._tensor, approximate="tanh").mul_(dy._tensor)
    return [dgate, NDArray(dvalue, gate._context)]


def hard_swish(x):
    """x min(max(x + 3, 0), 6) / 6; PyTorch's own function of it is infinite for a large x."""
    if not x._tensor.is_floating_point():
        return None
    return NDArray(F.hardsigmoid(x._tensor).mul_(x._tensor), x._context)


def hard_swish_gradient(dy, x):
    """The gradient of x."""
    return NDArray(_hard_swish_backward(dy._tensor, x._tensor), x._context)


def softplus_gradient(dy, y):
    """The gradient of x, from log(1 + eˣ)."""
    return NDArray(y._tensor.neg().expm1_().mul_(dy._tensor).neg_(), y._context)


def focal(x, t, gamma, alpha):
    """The focal loss, and the cross entropy in it."""
    if not x._tensor.is_floating_point():
        return None
    z = torch.addcmul(x._tensor, x._tensor, t._tensor, value=-2)
    entropy = F.logsigmoid(-z).neg_()
    y = z.sigmoid_().pow_(gamma).mul_(entropy)
    y = _balanced(y, t._tensor, 1 - alpha, 2 * alpha - 1)
    return NDArray(y, x._context), NDArray(entropy, x._context)


def focal_gradient(dy, x, t, entropy, gamma, alpha):
    """The gradient of x."""
    wrong = torch.addcmul(x._tensor, x._tensor, t._tensor, value=-2).sigmoid_()
    slope = torch.addcmul(entropy._tensor, entropy._tensor, wrong, value=-1)
    slope.mul_(gamma).add_(wrong).mul_(wrong.pow_(gamma)).mul_(dy._tensor)
    return NDArray(_balanced(slope, t._tensor, 1 - alpha, -1), x._context)


def _balanced(y: torch.Tensor, t: torch.Tensor, first: float, more: float) -> torch.Tensor:
    """y (first + more t)."""
    return (y * first).addcmul_(y, t, value=more)


def attention(q, k, v, allowed, causal, scale):
    """The output of attention, and log Σ eˢ of each query."""
    if not _fits(q, k, v, causal, scale):
        return None
    tensors = [_with_unit_stride(a._tensor) for a in (q, k, v)]
    found = _attention(
        *tensors, 0.0, causal and q.shape[2] > 1, attn_mask=_bias(allowed, q), scale=scale
    )
    return [NDArray(t, q._context) for t in found]


def attention_gradients(dy, q, k, v, allowed, y, level, causal, scale):
    """The gradients of q, k and v."""
    if not _fits(q, k, v, causal, scale):
        return None
    tensors = [_with_unit_stride(a._tensor) for a in (dy, q, k, v, y)]
    causal = causal and q.shape[2] > 1
    found = _attention_backward(
        *tensors, level._tensor, 0.0, causal, attn_mask=_bias(allowed, q), scale=scale
    )
    return [NDArray(t, q._context) for t in found]


def _fits(q, k, v, causal, scale) -> bool:
    """Whether PyTorch's function for a CPU computes it.

    Its causal mask starts at the first key, and is -∞ before the scale is multiplied with it.
    """
    masked_alike = not causal or q.shape[2] == 1 or (q.shape[2] == k.shape[2] and scale > 0)
    first, *others = (a._tensor for a in (q, k, v))
    computed = first.is_cpu and first.is_floating_point() and q.shape[3] == v.shape[3]
    return computed and masked_alike and all(t.dtype == first.dtype for t in others)


def _bias(allowed, q) -> torch.Tensor | None:
    """What is added to the scores: 0 for keys that are allowed, else -∞."""
    if allowed is None:
        return None
    bias = torch.zeros(allowed.shape, dtype=q._tensor.dtype, device=q._tensor.device)
    return bias.masked_fill(allowed._tensor == 0, -torch.inf)[:, None, None, :]


def _with_unit_stride(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def checked_bags(numbers, offsets, rows):
    """Numbers of rows and where bags begin in them, such that none is read that does not exist.

    On a CPU numbers that are no rows stay outside of them, and offsets that are not in ascending
    order from 0, up to the count of numbers, are all -1: the kernel of `weighted_sums` refuses
    both, also in a graph, where no Python runs that would. Elsewhere numbers are those of the
    nearest rows, and a bag begins at the end of the one before, at the earliest.
    """
    found = numbers._tensor
    if not found.is_cpu:
        numbers = NDArray(found.clamp(0, rows - 1), numbers._context)
    else:
        found = whole(found, NOT_WHOLE)
        numbers = NDArray(found, numbers._context)
    if offsets is None:
        return numbers, None
    places = whole(offsets._tensor, -1) if found.is_cpu else offsets._tensor.long()
    if found.is_cpu:
        ends = torch.cat([places[1:], places.new_full((1,), len(found))])
        fits = (places <= ends).all() & (places[0] == 0)
        places = torch.where(fits, places, -1)
    else:
        later = places[1:].clamp(0, len(found)).cummax(0).values
        places = torch.cat([torch.zeros_like(places[:1]), later])
    return numbers, NDArray(places, offsets._context)


def checked_rows(ids, rows, padding):
    """Ids of rows of a table; on a CPU what is no row is refused, in graphs and compiled too."""
    found = ids._tensor
    if not found.is_cpu:
        return NDArray(found.clamp(0, rows - 1), ids._context)
    are_rows = (found >= 0) & (found < rows) & (found == found.long())
    beside = "" if padding is None else f", or padding {padding}"
    expected = f"expected whole numbers from 0 to {rows - 1}{beside}"
    try:
        torch._assert_async(are_rows.all(), f"ids have a number of no row, {expected}")
    except RuntimeError:
        wrong = f"operator 'layers.row_numbers': ids have {found[~are_rows][0].item()}"
        raise BoundsError(f"{wrong}\n  {expected}") from None
    return ids.copy()


def weighted_sums(w, numbers, starts, factors, who):
    """For each bag Σ factor w[number], without an array of the rows; `who` is for errors."""
    places = numbers._tensor.long(), starts._tensor.long()
    factors = None if factors is None else factors._tensor
    try:
        found = _sum_bags(w._tensor, *places, per_sample_weights=factors)[0]
    except (IndexError, RuntimeError) as error:
        raise _wrong_bags(who, len(w._tensor), *places) or error from None
    return NDArray(found, w._context)


def _wrong_bags(
    who: str, count: int, numbers: torch.Tensor, starts: torch.Tensor
) -> Exception | None:
    """What is wrong with numbers of rows, or with where bags begin."""
    if (starts < 0).any():
        return ArgumentError(
            f"{who}: offsets are not in ascending order from 0, or exceed the {len(numbers)} ids\n"
            "  expected where each bag begins in ids"
        )
    if len(outside := numbers[(numbers < 0) | (numbers >= count)]):
        first = int(outside[0])
        return BoundsError(
            f"{who}: ids have {'a number that is not whole' if first == NOT_WHOLE else first}\n"
            f"  expected numbers of rows of w, 0 to {count - 1}, or `padding`"
        )
    return None


def gradient_of_rows(dy, w, numbers, starts, factors):
    """The gradient of w in `weighted_sums`."""
    places = numbers._tensor.long(), starts._tensor.long()
    none = places[1].new_empty(0)  # what PyTorch then computes itself
    factors = None if factors is None else factors._tensor
    found = _sum_bags_backward(
        dy._tensor, *places, none, none, none, len(w._tensor), False, 0, False, factors
    )
    return NDArray(found, w._context)


def class_numbers(who, label, count, ignored):
    """Labels as numbers of classes, (n,) in float32."""
    number = expect_classes(who, label._tensor.reshape(-1), count, ignored)
    return NDArray(number.float(), label._context)


def softmax_less_label(s, level, number, start):
    """e^(s - level), less 1 in the column of the label, in the memory of s."""
    p = s._tensor.sub_(level._tensor.unsqueeze(1)).exp_()
    column = (number._tensor - start).long().unsqueeze(1)
    is_here = (column >= 0) & (column < p.shape[1])
    p.scatter_add_(1, column.clamp(0, p.shape[1] - 1), -is_here.to(p.dtype))
    return NDArray(p, s._context)


def add_rows(rows, numbers, count):
    """An array of so many rows, each the sum of the rows that have its number."""
    made = rows._tensor.new_zeros((count, *rows.shape[1:]))
    return NDArray(made.index_add(0, numbers._tensor.long(), rows._tensor), rows._context)


FUSED = {
    "add_rows": add_rows,
    "attention": attention,
    "attention_gradients": attention_gradients,
    "checked_bags": checked_bags,
    "checked_rows": checked_rows,
    "class_numbers": class_numbers,
    "focal": focal,
    "focal_gradient": focal_gradient,
    "geglu_tanh": geglu_tanh,
    "geglu_tanh_gradients": geglu_tanh_gradients,
    "gelu_tanh": gelu_tanh,
    "gelu_tanh_gradient": gelu_tanh_gradient,
    "gradient_of_rows": gradient_of_rows,
    "hard_swish": hard_swish,
    "hard_swish_gradient": hard_swish_gradient,
    "layer_norm": differentiable_layer_norm,
    "layer_norm_gradients": layer_norm_gradients,
    "rms_norm": rms_norm,
    "rms_norm_gradients": rms_norm_gradients,
    "softmax_less_label": softmax_less_label,
    "softplus_gradient": softplus_gradient,
    "swiglu": swiglu,
    "swiglu_gradients": swiglu_gradients,
    "weighted_sums": weighted_sums,
}
DIFFERENTIABLE = (
    "add_rows",
    "checked_rows",
    "layer_norm",
)  # the others write in place, or have no second derivative


def fused(name: str, formula: Callable) -> Callable:
    """PyTorch's function of this name, or the formula.

    The formula is called where there is no function, where it does not fit the arguments, and where
    what is computed is to be differentiated again.
    """
    function = FUSED.get(name)
    if function is None or (torch.is_grad_enabled() and name not in DIFFERENTIABLE):
        return formula

    def call(*args):
        found = function(*args)
        return formula(*args) if found is None else found

    return call
