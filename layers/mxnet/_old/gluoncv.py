"""GluonCV on this package, as it is installed: no file of it or of another package is changed.

GluonCV 0.10.5.post0 was written for MXNet 1.9 and for the Python and NumPy of its time. Its
modules, and nobody else, get another ``import`` statement, by ``__builtins__`` in their namespaces:

======================  ==========================================================================
its modules import      and get
======================  ==========================================================================
``mxnet``               `layers.mxnet`
``distutils.version``   `LooseVersion` of this module: Python 3.12 has removed distutils
``numpy``               NumPy with the names that it has removed, such as np.float and np.int,
                        and arrays of objects for rows of unequal lengths, as before 1.24
``PIL.Image``           Pillow's module with the names that it has removed, such as ANTIALIAS
``json``                json that writes NumPy's numbers: with NumPy 2 scores are of float32,
                        where they were Python's
``autocfg``             autocfg whose check of types knows Any and Union as Python has them since
                        3.10: until then ``gluoncv.auto`` cannot be imported; others get it too
a package of `NEEDED`   where it is absent, a stand-in that says so when it is used
======================  ==========================================================================

Modules of `INT_OF_ONE` call int() on arrays of one element, which NumPy refuses from 2.4 on: they
get an int() that takes them.

Its check of PyTorch's version, which raises for 2.0 and later, finds that there is none. Its
``except ImportError: pass`` around all of its MXNet modules does not hide what failed.

What each module gets in place of what it imports is logged at DEBUG, by `layers.mxnet.gluoncv`.
"""

from __future__ import annotations

import builtins
import logging
import re
import sys
from collections.abc import Callable
from functools import partial, total_ordering, wraps
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NoReturn, Union, get_args, get_origin

from . import numpy_names

__all__ = ["bridge", "gluoncv"]

log = logging.getLogger("layers.mxnet.gluoncv")

# The packages that GluonCV's modules need, by the names under which they import them.
NEEDED = {
    "PIL": "pillow",
    "autocfg": "autocfg",
    "cv2": "opencv-python",
    "matplotlib": "matplotlib",
    "pandas": "pandas",
    "portalocker": "portalocker",
    "requests": "requests",
    "scipy": "scipy",
    "tqdm": "tqdm",
    "yacs": "yacs",
    "yaml": "pyyaml",
}
INT_OF_ONE = {
    "gluoncv.model_zoo.center_net.target_generator",
    "gluoncv.auto.estimators.center_net.center_net",
    "gluoncv.auto.estimators.faster_rcnn.faster_rcnn",
    "gluoncv.auto.estimators.ssd.ssd",
    "gluoncv.auto.estimators.yolo.yolo",
}
# Names that Pillow 10 has removed, with the present ones.
PILLOW = {"ANTIALIAS": "LANCZOS", "CUBIC": "BICUBIC", "LINEAR": "BILINEAR"}


@total_ordering
class LooseVersion:
    """A version such as 1.9.1 or 2.0rc1, compared part by part, as distutils had it."""

    def __init__(self, vstring: str):
        self.vstring = vstring
        # A part that is a word stands before every number: 2.0rc1 before 2.0.1.
        parts = re.findall(r"\d+|[a-z]+", vstring)
        self._parts = [(1, int(p), "") if p.isdigit() else (0, 0, p) for p in parts]

    def __eq__(self, other) -> bool:
        return self._parts == other._parts

    def __lt__(self, other) -> bool:
        return self._parts < other._parts

    def __str__(self) -> str:
        return self.vstring


class _WithNames(ModuleType):
    """A module with further names; all others are asked of the module itself."""

    def __init__(self, module: ModuleType, names: dict[str, Any]):
        super().__init__(module.__name__, module.__doc__)
        vars(self).update(names)
        self.__wrapped__ = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(self.__wrapped__)})


class _Absent(ModuleType):
    """Stands for a package that is not installed: whatever is done with it says so."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._say_so()

    def __call__(self, *args, **kwargs) -> NoReturn:
        self._say_so()

    def _say_so(self) -> NoReturn:
        package = self.__name__.partition(".")[0]
        raise ModuleNotFoundError(
            f"GluonCV uses {self.__name__} here, and {package} is not installed\n"
            f"  expected pip install {NEEDED[package]}",
            name=package,
        )

    def with_parts(self, names: list[str]) -> _Absent:
        """This stand-in with others inside, for what a statement imports from it."""
        for name in names:
            setattr(self, name, _Absent(f"{self.__name__}.{name}"))
        return self


def _old_numpy() -> ModuleType:
    import numpy

    arrays = {make.__name__: _of_unequal_rows(make) for make in (numpy.array, numpy.asarray)}
    return _WithNames(numpy, numpy_names.PYTHON | numpy_names.removed_names() | arrays)


def _of_unequal_rows(make: Callable) -> Callable:
    """np.array or np.asarray that makes an array of objects where the rows are not as long."""

    @wraps(make)
    def made(value: Any, *args, **kwargs):
        try:
            return make(value, *args, **kwargs)
        except ValueError as error:
            if args or kwargs or "inhomogeneous" not in str(error):
                raise
            return make(value, dtype=object)

    return made


def _old_pillow() -> ModuleType:
    import PIL.Image

    gone = {old: getattr(PIL.Image, new) for old, new in PILLOW.items()}
    return _WithNames(PIL, {"Image": _WithNames(PIL.Image, gone)})


def _json() -> ModuleType:
    import json

    return _WithNames(json, {"dump": partial(json.dump, default=_number)})


def _number(value: Any) -> Any:
    """What json writes for a number of NumPy."""
    import numpy

    if isinstance(value, numpy.generic):
        return value.item()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _autocfg() -> ModuleType:
    import autocfg.dataclasses

    check = autocfg.dataclasses.is_instance

    def is_instance(value: Any, kind: Any) -> bool:
        if get_origin(kind) is Union:
            return any(is_instance(value, one) for one in get_args(kind))
        return kind is Any or check(value, kind)

    autocfg.dataclasses.is_instance = is_instance
    return autocfg


def _distutils() -> ModuleType:
    version = ModuleType("distutils.version")
    version.LooseVersion = LooseVersion
    return _WithNames(version, {"version": version})


# What GluonCV's modules get for a package, and what there is to say about it.
SUBSTITUTES = {
    "autocfg": (_autocfg, "autocfg that knows the types of Python 3.10 and later"),
    "PIL": (_old_pillow, "Pillow with the names that it has removed"),
    "distutils": (_distutils, "LooseVersion of this package"),
    "json": (_json, "json that writes NumPy's numbers"),
    "numpy": (_old_numpy, "NumPy with the names that it has removed"),
}
_made: dict[str, ModuleType] = {}


def _substitute(package: str, name: str) -> ModuleType:
    """The module in place of one such as PIL.Image, of a package in `SUBSTITUTES`."""
    if package not in _made:
        _made[package] = SUBSTITUTES[package][0]()
    found = _made[package]
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def _import(name: str, globals=None, locals=None, fromlist=(), level: int = 0) -> ModuleType:
    """The ``import`` statement of GluonCV's modules; its parameters are those of `__import__`."""
    package = "" if level else name.partition(".")[0]
    where = (globals or {}).get("__name__", "gluoncv")
    if package == "mxnet":
        log.debug("%s imports %s: layers.%s", where, name, name)
        found = builtins.__import__(f"layers.{name}", globals, locals, fromlist)
        return found if fromlist else sys.modules["layers.mxnet"]
    at_import = locals is globals  # and not in a function, where GluonCV says itself what it needs
    if package in NEEDED and at_import and find_spec(package) is None:
        log.debug("%s imports %s, which is not installed: a stand-in", where, name)
        return _stand_in(name, fromlist)
    if package != "distutils":
        found = builtins.__import__(name, globals, locals, fromlist, level)
    if package in SUBSTITUTES:
        log.debug("%s imports %s: %s", where, name, SUBSTITUTES[package][1])
        found = _substitute(package, name if fromlist else package)
    return found


def _stand_in(name: str, fromlist) -> _Absent:
    """What an import statement gets of a package that is not installed."""
    top = inner = _Absent(name.partition(".")[0])
    for part in name.split(".")[1:]:
        inner = getattr(inner.with_parts([part]), part)
    return inner.with_parts(list(fromlist)) if fromlist else top


def _int_of_one(value: Any = 0, *base) -> int:
    """In place of int(), which takes arrays of one element too."""
    return int(value.item() if getattr(value, "size", None) == 1 else value, *base)


def _no_pytorch(torch_version: str, max_torch_version: str = "2.0.0") -> NoReturn:
    """In place of GluonCV's check, which raises RuntimeError for PyTorch 2.0 and later."""
    raise ImportError("on layers.mxnet GluonCV takes PyTorch as absent")


class _GluonCVLoader(SourceFileLoader):
    """Runs a module of GluonCV with the ``import`` statement of this module."""

    failed: list[tuple[str, ImportError]] = []  # by the modules, the innermost first

    def exec_module(self, module: ModuleType) -> None:
        module.__builtins__ = {**vars(builtins), "__import__": _import}
        if module.__name__ == "gluoncv":
            self._exec_package(module)
            return
        try:
            super().exec_module(module)
        except ImportError as error:
            self.failed.append((module.__name__, error))
            raise
        if module.__name__ in INT_OF_ONE:
            log.debug("%s gets an int() that takes arrays of one element", module.__name__)
            module.int = _int_of_one
        if module.__name__ == "gluoncv.check":
            log.debug("gluoncv.check finds no PyTorch: its own check raises for 2.0 and later")
            module._require_pytorch_version = _no_pytorch

    def _exec_package(self, module: ModuleType) -> None:
        """Run the package's own file, which passes over every ImportError of its modules."""
        self.failed.clear()
        general = None
        try:
            super().exec_module(module)
        except ImportError as error:
            general = error
        if self.failed:
            name, cause = self.failed[0]
            raise ImportError(f"{name} cannot be imported: {cause}", name=name) from cause
        if general:
            raise general
        log.debug("gluoncv %s of %s runs on layers.mxnet", module.__version__, module.__file__)


class _Finder(MetaPathFinder):
    """Finds GluonCV's modules where they are installed, for the loader of this module."""

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        if name.partition(".")[0] != "gluoncv":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _GluonCVLoader(spec.loader.name, spec.loader.path)
        return spec


def bridge() -> None:
    """Make ``import gluoncv`` GluonCV on this package, from now on in this process."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def gluoncv() -> ModuleType:
    """GluonCV, imported on this package: ``gluoncv = layers.mxnet.gluoncv()``.

    It is GluonCV as it is installed, unchanged. What it needs of older versions of Python, NumPy
    and Pillow is given to its modules alone. After `install` ``import gluoncv`` does the same.

    Raises
    ------
    ModuleNotFoundError
        GluonCV is not installed.
    ImportError
        One of its modules cannot be imported; the message names it and says why.
    RuntimeError
        GluonCV is imported already, on Apache MXNet.
    """
    imported = sys.modules.get("gluoncv")
    if imported and not isinstance(imported.__spec__.loader, _GluonCVLoader):
        raise RuntimeError(
            f"gluoncv: GluonCV is imported already, from {imported.__file__}\n"
            "  expected layers.mxnet.gluoncv() before the first `import gluoncv`"
        )
    bridge()
    spec = find_spec("gluoncv")
    if not (spec and spec.origin):  # a folder of this name without an __init__.py has a spec too
        raise ModuleNotFoundError(
            "gluoncv: GluonCV is not installed\n  expected pip install 'gluon-layers[gluoncv]'",
            name="gluoncv",
        )
    return import_module("gluoncv")
