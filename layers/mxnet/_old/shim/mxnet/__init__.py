"""Found first on `sys.path`, makes ``import mxnet`` the package `layers.mxnet`."""

import os
import sys
from pathlib import Path

try:
    from layers.mxnet import install
except ModuleNotFoundError as error:
    if error.name != "layers":
        raise
    sys.path.append(str(Path(__file__).parents[5]))  # a checkout that is not installed
    from layers.mxnet import install

install(numpy=not os.environ.get("LAYERS_KEEP_NUMPY"))
