"""The folders of compiled code that `torch.compile` loads."""

from __future__ import annotations

import os
from pathlib import Path

from ..._private import make_private_folder
from ..base import UnsupportedError

__all__ = ["expect_private"]

VARIABLES = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"


def expect_private() -> None:
    """Refuse to compile where another user can change the code that PyTorch loads.

    By default it is in the folder of temporary files, which is everybody's, under a name that
    anyone can guess; precompiled headers are there with TORCHINDUCTOR_CACHE_DIR, too.

    Raises
    ------
    UnsupportedError
        The message says what another user can change.
    """
    from torch._inductor.runtime.runtime_utils import default_cache_dir

    for folder in filter(None, [default_cache_dir(), *map(os.environ.get, VARIABLES)]):
        try:
            changeable = make_private_folder(Path(folder))
        except OSError as error:
            changeable = str(error)
        if changeable:
            raise UnsupportedError(  # the log cuts long reasons
                "compiled code would be loaded from a place that others can change; expected "
                f"TMPDIR, {' and '.join(VARIABLES)} of your own: {changeable}"
            )
