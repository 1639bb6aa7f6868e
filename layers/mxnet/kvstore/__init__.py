"""Stores of arrays by key, which sum what several contexts or processes push."""

from . import _distributed  # adds its types to those that `create` makes
from .base import KVStoreBase
from .kvstore import KVStore, create

__all__ = ["KVStore", "KVStoreBase", "create"]
