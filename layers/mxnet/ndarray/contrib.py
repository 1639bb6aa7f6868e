"""The operators of the table that MXNet puts under `nd.contrib`, and what is made of them."""

from . import _contrib, _control
from ._contrib import *  # noqa: F403 - its __all__
from ._control import *  # noqa: F403 - its __all__
from .op import functions

globals().update(functions("_contrib_"))
__all__ = [*functions("_contrib_"), *_contrib.__all__, *_control.__all__]
