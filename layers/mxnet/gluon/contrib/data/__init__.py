"""A sampler and data sets of `gluon.contrib`."""

from . import sampler as sampler
from . import text as text
from .sampler import *
