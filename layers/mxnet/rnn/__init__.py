"""Recurrent cells that make graphs, sentences in buckets, and checkpoints of both."""

from .._old import missing
from . import io, rnn, rnn_cell

from .io import *
from .rnn import *
from .rnn_cell import *

missing.watch(globals())
