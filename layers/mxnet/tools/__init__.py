"""Programs: ``python -m layers.mxnet.tools.im2rec``."""
