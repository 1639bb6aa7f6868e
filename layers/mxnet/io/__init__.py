"""Iterators over batches of data."""

from typing import TYPE_CHECKING

from . import io

from .io import *

if TYPE_CHECKING:  # imported when a program asks for them
    from ._detection_records import ImageDetRecordIter
    from ._image_records import ImageRecordInt8Iter, ImageRecordIter, ImageRecordUInt8Iter
