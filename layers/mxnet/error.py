"""Errors by name, as MXNet's C library reports them."""

from __future__ import annotations

from .base import MXNetError, register_error

__all__ = ["InternalError", "register"]

register = register_error


@register_error
class InternalError(MXNetError):
    """An error inside MXNet itself; nothing here raises it."""

    def __init__(self, msg: str):
        super().__init__(msg)
