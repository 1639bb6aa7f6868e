"""Making ``import mxnet`` this package."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from . import numpy_names


class _Alias(MetaPathFinder, Loader):
    """Finds `mxnet` and `mxnet.x` as `layers.mxnet` and `layers.mxnet.x`: the very same modules."""

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        ours = name.partition(".")[0] == "mxnet" and find_spec(f"layers.{name}")
        return ModuleSpec(name, self) if ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"layers.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has put the alias here; the module keeps its own.
        module.__spec__ = module.__spec__.loader_state


def install(numpy: bool = True) -> None:
    """Make ``import mxnet`` this package, from now on in this process.

    Parameters
    ----------
    numpy : bool
        Give NumPy back the names that it has removed and that programs of MXNet's time use:
        ``np.int``, ``np.float``, ``np.Inf``, ``np.product`` and so on, for what they meant; and
        the binary mode of ``np.fromstring`` and ``newshape`` of ``np.reshape``. What the NumPy
        here has stays as it is.

    Raises
    ------
    RuntimeError
        Apache MXNet itself is imported already.
    """
    there = sys.modules.get("mxnet")
    if getattr(there, "__file__", None) and "shim" not in there.__file__:
        if there is not sys.modules["layers.mxnet"]:
            raise RuntimeError(
                f"install: Apache MXNet is imported already, from {there.__file__}\n"
                "  expected layers.mxnet.install() before the first `import mxnet`"
            )
    if not any(isinstance(finder, _Alias) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Alias())
    sys.modules["mxnet"] = sys.modules["layers.mxnet"]
    if numpy:
        numpy_names.restore()
