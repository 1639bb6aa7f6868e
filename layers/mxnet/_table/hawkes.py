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
    s, lags, max_time = state.detach(), lags.detach(), max_time.detach().to(lda.dtype)
    now, last = torch.zeros_like(max_time), torch.zeros_like(s)
    total = torch.zeros_like(max_time)
    for j in range(lags.shape[1]):
        valid = j < valid_length
        now = now + torch.where(valid, lags[:, j], 0)
        k = marks[:, j].long().unsqueeze(1)
        waited = now - last.gather(1, k).squeeze(1)
        left = torch.exp(-beta[k[:, 0]] * waited)
        memory, rate, share = s.gather(1, k).squeeze(1), lda.gather(1, k).squeeze(1), alpha[k[:, 0]]
        intensity = rate + share * beta[k[:, 0]] * memory * left
        expected = rate * waited + share * memory * (1 - left)
        total = total + torch.where(valid, torch.log(intensity) - expected, 0)
        here = valid.unsqueeze(1) & (k == torch.arange(lda.shape[1], device=lda.device))
        s = torch.where(here, (1 + memory * left).unsqueeze(1), s)
        last = torch.where(here, now.unsqueeze(1), last)
    waited = max_time.unsqueeze(1) - last
    left = torch.exp(-beta * waited)
    total = total - (lda * waited + alpha * s * (1 - left)).sum(1)
    return total, s * left


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
