"""Stores of arrays by key, which sum what several contexts push."""

from .kvstore import KVStore, create

__all__ = ["KVStore", "create"]
