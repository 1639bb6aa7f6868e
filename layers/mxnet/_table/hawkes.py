"""Point processes whose events make others likely."""

from __future__ import annotations

import torch

from ..base import ShapeError
from .registry import Tensor, op


@op
def _contrib_hawkesll(
    lda: Tensor,
    alpha: Tensor,
    beta: Tensor,
    state: Tensor,
    lags: Tensor,
    marks: Tensor,
    valid_length: Tensor,
    max_time: Tensor,
) -> tuple[Tensor, Tensor]:
    """The log likelihood of k Hawkes processes, and the memory that they end with.

    The k-th has the intensity λₖ + αₖ βₖ sₖ(t), where sₖ(t) = Σ exp(-βₖ (t - tᵢ)) over its events
    before t.

    lda : (n, k), λ of each sample      alpha, beta : (k,)      state : (n, k), s at time 0
    lags : (n, t), the time from each event to the next      marks : (n, t), which process it is of
    valid_length : (n,), how many events there are      max_time : (n,), when observation ends
    y : (n,), and s at the end, (n, k)

    There is no gradient for `state`, `lags` and what follows.
    """
    _check(lda, alpha, beta, state, lags, marks, valid_length, max_time)
    s, max_time = state.detach(), max_time.detach().to(lda.dtype)
    count = lags.shape[1]
    valid = torch.arange(count, device=lags.device) < valid_length.unsqueeze(1)
    times = torch.where(valid, lags.detach(), 0).cumsum(1)
    k = marks.long().clamp(0, lda.shape[1] - 1)
    decay, rate, share = beta[k], lda.gather(1, k), alpha[k]
    rest = torch.where(valid, torch.exp(-decay * (max_time.unsqueeze(1) - times)), 0)
    memory = s.gather(1, k) * torch.exp(-decay * times)
    if count:
        memory = memory + torch.cat(
            [_of_events_before(i, times, k, valid, decay) for i in range(0, count, AT_ONCE)], 1
        )
    logs = torch.where(valid, torch.log(rate + share * decay * memory), 0)
    left = s * torch.exp(-beta * max_time.unsqueeze(1))
    still = left + torch.zeros_like(left).scatter_add(1, k, rest)
    seen = s + torch.zeros_like(s).scatter_add(1, k, valid.to(s.dtype))
    expected = lda * max_time.unsqueeze(1) + alpha * (seen - still)
    return logs.sum(1) - expected.sum(1), still


AT_ONCE = 128  # events whose memories are computed from all pairs with those before them


def _of_events_before(first, times, k, valid, decay):
    """Σ exp(-β (t - tᵢ)) over the events before each, of the same process, for some events."""
    here = slice(first, first + AT_ONCE)
    last = min(first + AT_ONCE, times.shape[1])
    waited = times[:, here, None] - times[:, None, :last]
    at = torch.arange(last, device=times.device)
    counts = (at < at[first:, None]) & (k[:, here, None] == k[:, None, :last])
    counts = counts & valid[:, None, :last]
    weight = torch.exp(-decay[:, here, None] * torch.where(counts, waited, 0))
    return torch.where(counts, weight, 0).sum(2)


@_contrib_hawkesll.gives
def _():
    return 2


@_contrib_hawkesll.types
def _(lda):
    return lda


def _check(lda, alpha, beta, state, lags, marks, valid_length, max_time):
    (n, k), t = lda.shape if lda.dim() == 2 else (0, 0), lags.shape[-1:]
    expected = [(n, k), (k,), (k,), (n, k), (n, *t), (n, *t), (n,), (n,)]
    given = lda, alpha, beta, state, lags, marks, valid_length, max_time
    if [tuple(x.shape) for x in given] != expected:
        raise ShapeError(
            f"_contrib_hawkesll: the inputs are {', '.join(str(tuple(x.shape)) for x in given)}\n"
            "  expected (n, k), (k,), (k,), (n, k), (n, t), (n, t), (n,) and (n,)"
        )
