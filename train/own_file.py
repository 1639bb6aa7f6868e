"""A Python file of the user's: of a network, or of the operators in one."""

from __future__ import annotations

import sys
import traceback
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from . import Refused
from .screen import one_line

__all__ = ["described", "load_file"]


def load_file(path: Path, option: str) -> ModuleType:
    """Run a Python file as a module of its name, with the modules beside it to import.

    Where another module has the name it is ``net_of_NAME``, so that nothing is replaced.

    Raises
    ------
    Refused
        There is no such file, or it raises an exception; the message has the line.
    """
    if not path.is_file():
        raise Refused(f"{option}: there is no file {path}")
    path = path.resolve()
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    name = path.stem if is_free(path) else f"net_of_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Refused(f"{option}: {path} is no Python file; expected the suffix .py")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise Refused(f"{option}: {described(error, path)}") from error
    return module


def is_free(path: Path) -> bool:
    """True if no other module has the name of a file."""
    try:
        found = sys.modules[path.stem].__spec__ if path.stem in sys.modules else None
        found = found or find_spec(path.stem)
    except (ImportError, ValueError, AttributeError):  # it is no name of a module
        return False
    return found is not None and Path(str(found.origin)) == path


def described(error: Exception, file: str | Path) -> str:
    """Return a line about an error of the user's code: the place in the file, and the message."""
    here = Path(file).name
    lines = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == here]
    where = f"{here}, line {lines[-1].lineno}: " if lines else ""
    if isinstance(error, SyntaxError):
        where = f"{here}, line {error.lineno}: "
    return f"{where}{type(error).__name__}: {one_line(error)}"
