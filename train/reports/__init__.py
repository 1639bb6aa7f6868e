"""The page that `python -m train.report` writes: what is in it, its figures, and its HTML."""

from .page import page
from .read import read_runs

__all__ = ["page", "read_runs"]
