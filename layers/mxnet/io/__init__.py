"""Iterators over batches of data."""

from . import io

from .io import *
