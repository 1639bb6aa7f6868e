"""Making ``import mxnet`` this package."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, ModuleType

from . import gluoncv, missing, numpy_names, reasons


class _Alias(MetaPathFinder, Loader):
    """Finds `mxnet` and `mxnet.x` as `layers.mxnet` and `layers.mxnet.x`: the very same modules."""

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        target = name.partition(".")[0] == "mxnet" and find_spec(f"layers.{name}")
        return ModuleSpec(name, self) if target else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(f"layers.{spec.name}")
        spec.loader_state = module.__spec__
        return module

    def get_code(self, name: str) -> CodeType | None:
        """The code of a module, which ``python -m mxnet.x`` runs."""
        spec = find_spec(f"layers.{name}")
        return spec.loader.get_code(spec.name) if spec else None

    def exec_module(self, module: ModuleType) -> None:
        # The import system has replaced the module's spec by the alias's: put it back.
        module.__spec__ = module.__spec__.loader_state


def _import_modules() -> None:
    """Import what MXNet imports itself: programs look into `sys.modules` for it."""
    for name in missing.names():
        if name and not name.startswith(_NOT_IMPORTED) and not reasons.stated(name):
            import_module(f"layers.mxnet.{name}")
    for name, module in [*sys.modules.items()]:
        if name.startswith("layers.mxnet.") and "._" not in name:
            sys.modules[name.removeprefix("layers.")] = module
    import_module("multiprocessing.pool")


# Modules that MXNet leaves to programs to import.
_NOT_IMPORTED = "contrib.amp", "contrib.svrg_optimization"


def install(numpy: bool = True) -> None:
    """Make ``import mxnet`` this package, from now on in this process.

    ``import gluoncv`` is then GluonCV on this package: see `gluoncv`.

    Parameters
    ----------
    numpy : bool
        Add the names that NumPy has removed and that programs of MXNet's time use, with their
        meanings: ``np.int``, ``np.float``, ``np.Inf``, ``np.product`` and so on; the binary mode
        of ``np.fromstring``, and ``newshape`` of ``np.reshape``; and the methods ``tostring``,
        ``ptp``, ``itemset`` and ``newbyteorder`` of arrays. Names that NumPy has stay as they are.

    Raises
    ------
    RuntimeError
        Apache MXNet itself is imported already.
    """
    imported = sys.modules.get("mxnet")
    if getattr(imported, "__file__", None) and "shim" not in imported.__file__:
        if imported is not sys.modules["layers.mxnet"]:
            raise RuntimeError(
                f"install: Apache MXNet is imported already, from {imported.__file__}\n"
                "  expected layers.mxnet.install() before the first `import mxnet`"
            )
    if not any(isinstance(finder, _Alias) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Alias())
    sys.modules["mxnet"] = sys.modules["layers.mxnet"]
    _import_modules()
    gluoncv.bridge()
    if numpy:
        numpy_names.restore()
