"""Recurrent layers and cells."""

from .rnn_cell import *
from .rnn_layer import *
