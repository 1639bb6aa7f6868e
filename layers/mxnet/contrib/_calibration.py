"""What calibration finds out about the outputs of a graph: extremes, or histograms."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import numpy as np

from ..ndarray import contrib as operators
from ..ndarray.ndarray import NDArray, array

Histogram = tuple[np.ndarray, np.ndarray, float, float, float]  # counts, edges, min, max, threshold


class Collector:
    """Looks at the outputs whose names are in `include_layer`, or at all."""

    def __init__(self, include_layer: Iterable[str] | None = None, logger=None):
        self.include_layer = None if include_layer is None else list(include_layer)
        self.logger = logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Look at a value of an output."""
        raise NotImplementedError(f"{type(self).__name__}.collect")

    def wants(self, name: str) -> bool:
        """Whether this output is one to look at."""
        return self.include_layer is None or name in self.include_layer

    def log(self, message: str, *values) -> None:
        """Tell the logger, where there is one."""
        if self.logger:
            self.logger.debug(message, *values)


class LayerOutputMinMaxCollector(Collector):
    """The least and the largest value of each output, in `min_max_dict`."""

    def __init__(self, quantized_dtype: str = "int8", include_layer=None, logger=None):
        super().__init__(include_layer, logger)
        self.quantized_dtype = quantized_dtype
        self.min_max_dict: dict[str, tuple[float, float]] = {}

    def collect(self, name: str, arr: NDArray) -> None:
        """Look at a value of an output."""
        if not self.wants(name):
            return
        low, high = float(arr.min().asscalar()), float(arr.max().asscalar())
        old = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = min(old[0], low), max(old[1], high)
        self.log("%s: from %f to %f", name, low, high)


class LayerHistogramCollector(Collector):
    """A histogram of the values of each output, around 0, in `hist_dict`."""

    def __init__(self, num_bins: int = 8001, include_layer=None, logger=None):
        super().__init__(include_layer, logger)
        self.num_bins = num_bins
        self.hist_dict: dict[str, Histogram] = {}

    def collect(self, name: str, arr: NDArray) -> None:
        """Look at a value of an output."""
        if not self.wants(name):
            return
        values = arr.asnumpy()
        low, high = float(values.min()), float(values.max())
        threshold = max(abs(low), abs(high))
        if name in self.hist_dict:
            self.hist_dict[name] = combine_histogram(
                self.hist_dict[name], values, low, high, threshold
            )
        else:
            counts, edges = np.histogram(values, bins=self.num_bins, range=(-threshold, threshold))
            self.hist_dict[name] = counts, edges, low, high, threshold
        self.log("%s: from %f to %f", name, low, high)


def combine_histogram(
    old_hist: Histogram, arr: np.ndarray, new_min: float, new_max: float, new_th: float
) -> Histogram:
    """A histogram, with the values of an array too; it grows by whole bins on both sides.

    Parameters
    ----------
    old_hist : (counts, edges, min, max, threshold)
        The edges go from -threshold to threshold.
    new_min, new_max, new_th : float
        The array's least and largest value, and the larger absolute one.
    """
    counts, edges, low, high, threshold = old_hist
    low, high = min(low, new_min), max(high, new_max)
    if new_th <= threshold:
        more, _ = np.histogram(arr, bins=len(counts), range=(-threshold, threshold))
        return counts + more, edges, low, high, threshold
    if threshold == 0:  # everything before was 0
        more, edges = np.histogram(arr, bins=len(counts), range=(-new_th, new_th))
        more[len(more) // 2] += counts.sum()
        return more, edges, low, high, new_th
    step = 2 * threshold / len(counts)
    added = int((new_th - threshold) // step + 1)
    threshold += added * step
    more, edges = np.histogram(arr, bins=len(counts) + 2 * added, range=(-threshold, threshold))
    more[added : added + len(counts)] += counts
    return more, edges, low, high, threshold


def optimal_threshold(
    hist: Histogram, quantized_dtype: str, num_quantized_bins: int = 255
) -> tuple[float, float]:
    """The range of the least divergence: see `nd.contrib.calibrate_entropy`.

    Where no value is below 0, that of a uint8 begins there, and has twice as many numbers.
    """
    counts, edges, low, _, threshold = hist
    if threshold == 0:
        return 0.0, 0.0
    unsigned = low >= 0 and quantized_dtype in ("auto", "uint8")
    bins = 2 * num_quantized_bins + 1 if unsigned else num_quantized_bins
    found, _ = operators.calibrate_entropy(array(counts), array(edges), num_quantized_bins=bins)
    threshold = float(found.asscalar())
    return (0.0 if unsigned else -threshold), threshold


def optimal_thresholds(
    hist_dict: dict[str, Histogram], quantized_dtype: str, num_quantized_bins: int = 255,
    logger: logging.Logger | None = None,
) -> dict[str, tuple[float, float]]:  # fmt: skip
    """`optimal_threshold` of each."""
    found = {}
    for name, hist in hist_dict.items():
        found[name] = optimal_threshold(hist, quantized_dtype, num_quantized_bins)
        if logger:
            logger.debug("%s: from %f to %f", name, *found[name])
    return found
