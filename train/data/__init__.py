"""The data: its files, the samples that are held out, its scaling, and batches of it."""

from .feed import ArrayBatches, Batches, Stream, batches, batches_of, numbers_of, steps
from .prepare import Data, load
from .samples import Reading, describe_not_finite, listed, rows_not_finite, shown
from .sources import describe_sources, read

__all__ = [
    "ArrayBatches",
    "Batches",
    "Data",
    "Reading",
    "Stream",
    "batches",
    "batches_of",
    "describe_not_finite",
    "describe_sources",
    "listed",
    "load",
    "numbers_of",
    "read",
    "rows_not_finite",
    "shown",
    "steps",
]
