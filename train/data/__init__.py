"""The data: its files, the samples that are held out, its scaling, and batches of it."""

from .prepare import Data, batches, load, steps
from .samples import Reading
from .sources import describe_sources, read

__all__ = ["Data", "Reading", "batches", "describe_sources", "load", "read", "steps"]
