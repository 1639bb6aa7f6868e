"""Convolutions of `gluon.contrib`."""

from . import conv_layers as conv_layers
from .conv_layers import *
