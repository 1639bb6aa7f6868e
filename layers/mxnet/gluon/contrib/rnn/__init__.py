"""Cells of `gluon.contrib`."""

from . import conv_rnn_cell as conv_rnn_cell
from . import rnn_cell as rnn_cell
from .conv_rnn_cell import *
from .rnn_cell import *
