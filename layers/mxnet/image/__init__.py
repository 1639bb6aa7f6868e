"""Images: decoding, changes, and batches of them, for classification and detection."""

from .._old import missing
from . import image

from .image import *

missing.watch(globals())
