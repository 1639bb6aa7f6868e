"""Stores of arrays by key, which sum what several contexts push."""

from .base import KVStoreBase
from .kvstore import KVStore, create

__all__ = ["KVStore", "KVStoreBase", "create"]
