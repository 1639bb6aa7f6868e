"""Convolutions of `gluon.contrib`, which are not here yet."""

from . import conv_layers as conv_layers
from .conv_layers import *
