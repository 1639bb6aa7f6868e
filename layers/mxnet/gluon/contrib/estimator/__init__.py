"""Training as an object: what is done at each step is said by event handlers."""

from . import batch_processor as batch_processor
from . import estimator as estimator
from . import event_handler as event_handler
from . import utils as utils
from .batch_processor import *
from .estimator import *
from .event_handler import *
