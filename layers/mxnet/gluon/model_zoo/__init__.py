"""Models whose weights others have trained."""

from ..._old import missing
from . import model_store as model_store
from . import vision as vision

missing.watch()
