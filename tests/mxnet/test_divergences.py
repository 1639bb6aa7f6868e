"""The divergences by which entropy calibration chooses a range, against their definition."""

import os
from importlib import import_module

import numpy as np
import pytest

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    divergences = import_module("layers.mxnet._table.divergences").divergences

RANDOM = np.random.RandomState(0)
HISTOGRAMS = {
    "normal": (np.histogram(RANDOM.randn(9000), 401, (-5, 5))[0], 63),
    "positive": (np.histogram(np.abs(RANDOM.randn(9000)), 401, (-5, 5))[0], 127),
    "long tails": (np.histogram(RANDOM.standard_cauchy(900), 401, (-99, 99))[0], 31),
    "few numbers": (np.histogram(RANDOM.randn(30), 401, (-5, 5))[0], 31),
    "one number": (np.eye(301, dtype=int)[140], 15),
    "no number": (np.zeros(31), 7),
    "even": (RANDOM.randint(0, 3, 51), 8),
    "two bins": (RANDOM.randint(0, 3, 51), 2),
    "one bin": (RANDOM.randint(0, 3, 51), 1),
    "all bins": (RANDOM.randint(1, 3, 51), 51),
    "large": (RANDOM.randint(0, 10**9, 301), 15),
}


def by_definition(counts, start, stop, bins):
    """The divergence of one window, bin by bin."""
    inside = counts[start:stop].copy()
    inside[0] = 0
    p = inside.copy()
    p[0] += counts[: start + 1].sum()
    p[-1] += counts[stop:].sum()
    width, q = len(p) // bins, np.zeros(len(p))
    for i in range(bins):
        part = slice(i * width, len(p) if i == bins - 1 else (i + 1) * width)
        filled = np.count_nonzero(inside[part])
        q[part] = inside[part].sum() / filled if filled else 0
    q[p == 0] = 0
    p, q = smoothed(p), smoothed(q)
    if p is None or q is None:
        return np.inf
    p, q = p / p.sum(), q / q.sum()
    return (p * np.log(p / q)).sum()


def smoothed(values, eps=1e-4):
    empty = values == 0
    if empty.all() or eps * empty.sum() >= (~empty).sum():
        return None
    return np.where(empty, eps, values - eps * empty.sum() / (~empty).sum())


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_of_all_windows(name):
    counts, bins = HISTOGRAMS[name]
    counts, middle = counts.astype(float), len(counts) // 2
    expected = [
        by_definition(counts, middle - i, middle + i + 1, bins)
        for i in range(bins // 2, middle + 1)
    ]
    np.testing.assert_allclose(divergences(counts, bins), expected, 1e-10, 1e-12)
