"""`nd`: arrays, and operators computed at once."""

from . import _arithmetic, _create, _methods, contrib, image, linalg, op, random, sparse, utils
from . import _internal as _internal
from . import ndarray as ndarray
from .op import *  # noqa: F403 - the table first: what follows has its Python form
from ._arithmetic import *  # noqa: F403 - `nd` is flat, as MXNet's
from ._create import *  # noqa: F403
from .ndarray import *  # noqa: F403
from .ndarray import NDArray

from .utils import *  # noqa: F403

_methods.fill(NDArray)

from .._operator import custom as Custom  # noqa: E402 - it works on the arrays from above
