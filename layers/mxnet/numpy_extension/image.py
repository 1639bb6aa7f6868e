"""Functions of images: the operators, and what ``mx.image`` has."""

from __future__ import annotations

from typing import Any

from ..numpy._array import F as _F

globals().update(_F.modules["numpy_extension.image"])
__all__ = list(_F.modules["numpy_extension.image"])


def __getattr__(name: str) -> Any:
    from .. import image  # which few programs use

    return getattr(image, name)
