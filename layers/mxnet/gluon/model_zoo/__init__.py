"""Models whose weights others have trained."""

from . import model_store as model_store
from . import vision as vision
