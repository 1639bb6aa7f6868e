"""Layers, cells and programs that MXNet keeps under `gluon.contrib`."""

from ..._old import missing
from . import cnn as cnn
from . import data as data
from . import estimator as estimator
from . import nn as nn
from . import rnn as rnn

missing.watch()
