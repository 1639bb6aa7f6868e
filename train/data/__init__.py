"""The data: its files, the samples that are held out, its scaling, and batches of it."""

from .feed import (
    ArrayBatches,
    Batches,
    Stream,
    as_tuple,
    batches,
    batches_of,
    mapped,
    numbers_of,
    steps,
)
from .prepare import Data, load
from .samples import Reading, describe_not_finite, listed, rows_not_finite, shown
from .sources import describe_sources, read

__all__ = [
    "ArrayBatches",
    "Batches",
    "Data",
    "Reading",
    "Stream",
    "as_tuple",
    "batches",
    "batches_of",
    "describe_not_finite",
    "describe_sources",
    "listed",
    "load",
    "mapped",
    "numbers_of",
    "read",
    "rows_not_finite",
    "shown",
    "steps",
]
