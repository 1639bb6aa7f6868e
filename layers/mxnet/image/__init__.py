"""Images: decoding, changes, and batches of them, for classification and detection."""

from .._old import missing
from . import detection, image
from . import detection as det

from .detection import *
from .image import *

missing.watch()
