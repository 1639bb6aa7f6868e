"""How much a histogram loses that is cut at both ends and joined to fewer bins, for all cuts.

P is the histogram within a window around its middle, with the numbers outside counted at its ends.
Q is the same joined to fewer bins, each of which is spread evenly over those bins of P that have
numbers; at its lower end it has none, as in MXNet. The empty bins of each get `EPS`, taken evenly
from the others. The loss is the KL divergence of Q from P.

All windows are computed from sums over the histogram's first bins. With T the sum of P, p and q the
bins of P and Q that are not empty in P, and empty ones cancelling, the divergence is
(Σ p log p - Σ p log q) / T + log(ΣQ / T). In Σ p log q each bin of Q has one logarithm.
"""

from __future__ import annotations

import numpy as np

__all__ = ["divergences"]

EPS = 0.0001
ROWS = 32  # windows computed at a time: arrays that stay in the processor's cache
# With c a bin of the histogram and t what is taken from it, so many terms in t / c of
# (c - t) log(c - t) are exact to 1e-13 where t / c is at most SMALL.
TERMS, SMALL = 6, 0.01


def divergences(counts: np.ndarray, bins: int) -> np.ndarray:
    """Return the divergence of each window from the least of at least `bins` to the whole.

    counts : (2 m + 1,)      y : (m + 1 - bins // 2,), infinite where too few bins have numbers
    """
    middle = len(counts) // 2
    radii = np.arange(bins // 2, middle + 1)
    sums = _Sums(counts)
    parts = [
        _of_windows(sums, middle, radii[i : i + ROWS], bins) for i in range(0, len(radii), ROWS)
    ]
    return np.concatenate(parts)


class _Sums:
    """A histogram, and sums over its first 0, 1, ... bins.

    Attributes
    ----------
    values, filled : of the numbers; how many bins have some
    series : for each power of t, of its coefficient in the series of (c - t) log(c - t)
    least : the smallest number in a bin that is not empty
    """

    def __init__(self, counts: np.ndarray):
        self.counts, self.is_filled = counts, counts != 0
        self.values, self.filled = _sums(counts), _sums(self.is_filled.astype(float))
        self.nonzero = counts[self.is_filled]
        self.least = self.nonzero.min(initial=np.inf)
        c = np.where(self.is_filled, counts, 1.0)
        log = np.log(c)
        terms = [c * log, -1 - log]
        terms += [1 / (k * (k - 1) * c ** (k - 1)) for k in range(2, TERMS)]
        self.series = [_sums(np.where(self.is_filled, term, 0.0)) for term in terms]

    def entropy(self, first: np.ndarray, end: np.ndarray, taken: np.ndarray) -> np.ndarray:
        """Return Σ (c - t) log(c - t) over the filled bins from `first` to `end`, for each t."""
        found = sum(taken**k * (s[end] - s[first]) for k, s in enumerate(self.series))
        for i in np.flatnonzero(taken > SMALL * self.least):  # few bins are filled
            places = self.filled[[first[i], end[i]]].astype(int)
            c = self.nonzero[slice(*places)] - taken[i]
            found[i] = (c * np.log(c)).sum()
        return found


def _sums(values: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(values)])


def _of_windows(sums: _Sums, middle: int, radii: np.ndarray, bins: int) -> np.ndarray:
    start, stop = middle - radii, middle + radii + 1
    size, total = stop - start, sums.values[-1]
    edges = start[:, None] + (size // bins)[:, None] * np.arange(bins + 1)
    edges[:, -1] = stop
    # Of each bin of Q: the sum of the numbers and how many bins have some, without the lower end.
    q, filled = np.diff(sums.values[edges]), np.diff(sums.filled[edges])
    q[:, 0] -= sums.counts[start]
    filled[:, 0] -= sums.is_filled[start]
    # The same of P, with the ends.
    lower, upper = sums.values[start + 1], total - sums.values[stop - 1]
    p, filled_in_p = q.copy(), filled.copy()
    p[:, 0] += lower
    filled_in_p[:, 0] += lower != 0
    p[:, -1] += total - sums.values[stop]
    filled_in_p[:, -1] += (upper != 0).astype(float) - sums.is_filled[stop - 1]
    q /= np.maximum(filled, 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # of windows that are infinite
        from_p = _taken(size, filled_in_p.sum(1))
        from_q = _taken(size, (filled_in_p * (q != 0)).sum(1))
        of_p = sums.entropy(start + 1, stop - 1, from_p)
        for end in lower, upper:
            rest = np.where(end != 0, end - from_p, 1.0)
            of_p += rest * np.log(rest)
        weights = p - from_p[:, None] * filled_in_p
        of_q = (weights * np.log(np.where(q != 0, q - from_q[:, None], EPS))).sum(1)
        found = (of_p - of_q) / total + np.log((q * filled_in_p).sum(1) / total)
    return np.where((from_p < 1) & (from_q < 1), found, np.inf)


def _taken(size: np.ndarray, filled: np.ndarray) -> np.ndarray:
    """Return what each filled bin gives to the empty ones; infinity where none is filled."""
    return np.where(filled > 0, EPS * (size - filled) / np.maximum(filled, 1), np.inf)
