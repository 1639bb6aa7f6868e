"""Sources in C, C++ and CUDA, each compiled once into a library that is kept on disk.

Libraries are in the folder ``$LAYERS_CACHE``, by default ``$XDG_CACHE_HOME/layers`` or
``~/.cache/layers``, under the hash of the source, its headers and the command that compiles it.
They are loaded from there, so a folder that others can write to is refused.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

__all__ = ["SOURCES", "LibraryError", "Toolchain", "build"]

INCLUDE = Path(__file__).with_name("include")
SHOWN = 4000  # characters of a compiler's messages: the first error is what matters


class LibraryError(RuntimeError):
    """A library cannot be built or loaded, or its function has failed."""


class Toolchain(NamedTuple):
    """How sources of a language are compiled, and on which device their functions run."""

    language: str
    compiler: str  # the environment variable that names the compiler
    usual: tuple[str, ...]  # compilers that are looked for without it
    flags: str  # the environment variable with more options
    options: tuple[str, ...]
    device: str


_shared = ("-O3", "-shared", "-fPIC")
_c = Toolchain("C", "CC", ("cc", "gcc", "clang"), "CFLAGS", _shared, "cpu")
_cxx = Toolchain(
    "C++", "CXX", ("c++", "g++", "clang++"), "CXXFLAGS", (*_shared, "-std=c++17"), "cpu"
)
_cuda = Toolchain(
    "CUDA",
    "NVCC",
    ("nvcc", "$CUDA_HOME/bin/nvcc", "/usr/local/cuda/bin/nvcc"),
    "NVCCFLAGS",
    ("-O3", "-shared", "-Xcompiler=-fPIC", "-std=c++17"),
    "gpu",
)
SOURCES = {".c": _c, ".cc": _cxx, ".cpp": _cxx, ".cxx": _cxx, ".cu": _cuda}


def build(source: str | Path) -> Path:
    """Compile a source, unless that was done before, and return the path of the library.

    Raises
    ------
    LibraryError
        There is no compiler, it fails, or the folder cannot be written, or others can.
    """
    source = Path(source).absolute()
    tools = SOURCES[source.suffix]
    command = [*_compiler(tools), *tools.options]
    flags = shlex.split(os.environ.get(tools.flags, ""))
    folder = _folder()
    _make_private(folder)
    library = folder / f"{source.stem}-{_key(source, [*command, *flags])}.so"
    if not library.exists():
        # Flags after the source: they may name libraries to link with.
        command += ["-I", str(INCLUDE), str(source), *flags, "-lm"]
        try:
            # Other processes may build the same: each replaces the file as a whole.
            with tempfile.TemporaryDirectory(dir=folder) as unfinished:
                made = Path(unfinished, library.name)
                _compile([*command, "-o", str(made)])
                os.replace(made, library)
        except OSError as error:
            raise _unwritable(folder, error) from error
    return library


def _make_private(folder: Path) -> None:
    """Make the folder, or see that nobody else can write to it: what lies there is run."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.stat()
    except OSError as error:
        raise _unwritable(folder, error) from error
    if os.name != "posix":
        return
    if status.st_uid not in (os.geteuid(), 0) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise LibraryError(
            f"the folder of built libraries, {folder}, can be written by others: it is user "
            f"{status.st_uid}'s, {stat.filemode(status.st_mode)}\n"
            "  expected a folder of your own, chmod go-w: set LAYERS_CACHE to another"
        )


def _unwritable(folder: Path, error: OSError) -> LibraryError:
    return LibraryError(
        f"it cannot be built in {folder}: {error}\n"
        "  expected a folder that can be written: set LAYERS_CACHE"
    )


def _folder() -> Path:
    if named := os.environ.get("LAYERS_CACHE"):
        return Path(named).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "layers")


def _compiler(tools: Toolchain) -> list[str]:
    """The command of the compiler, with its full path."""
    if named := shlex.split(os.environ.get(tools.compiler, "")):
        if path := shutil.which(named[0]):
            return [path, *named[1:]]
        raise LibraryError(
            f"no compiler for {tools.language}: {tools.compiler} is {named[0]!r}\n"
            f"  expected a program that is there, or {tools.compiler} not set"
        )
    for usual in tools.usual:
        if path := shutil.which(os.path.expandvars(usual)):
            return [path]
    raise LibraryError(
        f"no compiler for {tools.language}: none of {', '.join(tools.usual)} is found\n"
        f"  expected one of them installed, or {tools.compiler} set to another"
    )


def _key(source: Path, command: list[str]) -> str:
    """The hash of a source, what it includes, and how it is compiled."""
    found = hashlib.sha256(repr((command, platform.system(), platform.machine())).encode())
    for file in _included(source, {}):
        text = file.read_bytes()
        found.update(b"%d\n" % len(text) + text)
    return found.hexdigest()[:24]


def _included(file: Path, seen: dict[Path, None]) -> dict[Path, None]:
    """A source and its headers, beside it or in this package; the system's change rarely."""
    if file not in seen:
        seen[file] = None
        for name in re.findall(
            rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)', file.read_bytes(), re.M
        ):
            for folder in (file.parent, INCLUDE):
                header = Path(os.path.normpath(folder / os.fsdecode(name)))
                if header.is_file():
                    _included(header, seen)
                    break
    return seen


def _compile(command: list[str]) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        messages = (done.stderr + done.stdout).strip()
        raise LibraryError(
            f"it cannot be built: the compiler failed with {done.returncode}\n"
            f"  {shlex.join(command)}\n{messages[:SHOWN]}"
        )
