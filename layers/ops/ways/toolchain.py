"""Compilation of sources in C, C++ and CUDA, each once, into a library on disk.

Libraries are in the folder ``$LAYERS_CACHE``, by default ``$XDG_CACHE_HOME/layers`` or
``~/.cache/layers``, under the hash of the source, its headers and the compiler's command. They are
loaded from there, so a folder that another user can change is refused.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from ..._private import changeable_part, make_private_folder

__all__ = ["SOURCES", "LibraryError", "Toolchain", "build"]

INCLUDE = Path(__file__).with_name("include")
MOST_CHARACTERS = 4000  # of compiler messages in an error: the first ones matter


class LibraryError(RuntimeError):
    """An error about a library that cannot be built or loaded, or whose function has failed."""


class Toolchain(NamedTuple):
    """Compiler of a language, and the device on which its functions run."""

    language: str
    compiler: str  # the environment variable that names the compiler
    candidates: tuple[str, ...]  # compilers to look for if it is not set
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
    """Compile a source if it is new or has changed, and return the path of the library.

    Raises
    ------
    LibraryError
        There is no compiler, or it fails; the folder cannot be written to; or another user can
        change the library.
    """
    source = Path(source).absolute()
    tools = SOURCES[source.suffix]
    command = [*_compiler(tools), *tools.options]
    flags = shlex.split(os.environ.get(tools.flags, ""))
    folder = _folder()
    try:
        _expect_private(folder, make_private_folder(folder))
    except OSError as error:
        raise _unwritable(folder, error) from error
    library = folder / f"{source.stem}-{_hash(source, [*command, *flags])}.so"
    if not library.exists():
        # Flags follow the source: they may name libraries to link with.
        command += ["-I", str(INCLUDE), str(source), *flags, "-lm"]
        try:
            # Other processes may build the same library: each replaces the file as a whole.
            with tempfile.TemporaryDirectory(dir=folder) as unfinished:
                built = Path(unfinished, library.name)
                _compile([*command, "-o", str(built)])
                os.replace(built, library)
        except OSError as error:
            raise _unwritable(folder, error) from error
    _expect_private(library, changeable_part(library))
    return library


def _expect_private(path: Path, changeable: str) -> None:
    """Refuse to load from a path that another user can change; `changeable` describes where."""
    if changeable:
        raise LibraryError(
            f"built libraries are run, and {path} can be changed by others: {changeable}\n"
            "  expected a folder of your own, chmod go-w: set LAYERS_CACHE to another"
        )


def _unwritable(folder: Path, error: OSError) -> LibraryError:
    return LibraryError(
        f"it cannot be built in {folder}: {error}\n"
        "  expected a folder that can be written: set LAYERS_CACHE"
    )


def _folder() -> Path:
    if configured := os.environ.get("LAYERS_CACHE"):
        return Path(configured).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "layers")


def _compiler(tools: Toolchain) -> list[str]:
    """Return the command of the compiler, with its full path."""
    if configured := shlex.split(os.environ.get(tools.compiler, "")):
        if path := shutil.which(configured[0]):
            return [path, *configured[1:]]
        raise LibraryError(
            f"no compiler for {tools.language}: {tools.compiler} is {configured[0]!r}\n"
            f"  expected an installed program, or {tools.compiler} not set"
        )
    for candidates in tools.candidates:
        if path := shutil.which(os.path.expandvars(candidates)):
            return [path]
    raise LibraryError(
        f"no compiler for {tools.language}: none of {', '.join(tools.candidates)} is found\n"
        f"  expected one of them installed, or {tools.compiler} set to another"
    )


def _hash(source: Path, command: list[str]) -> str:
    """Return the hash of a source, its headers, and the command that compiles it."""
    digest = hashlib.sha256(repr((command, platform.system(), platform.machine())).encode())
    for file in _source_and_headers(source, {}):
        text = file.read_bytes()
        digest.update(b"%d\n" % len(text) + text)
    return digest.hexdigest()[:24]


def _source_and_headers(file: Path, seen: dict[Path, None]) -> dict[Path, None]:
    """Return a source and its headers beside it or in this package, without system headers."""
    if file not in seen:
        seen[file] = None
        for name in re.findall(
            rb'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)', file.read_bytes(), re.M
        ):
            for folder in (file.parent, INCLUDE):
                header = Path(os.path.normpath(folder / os.fsdecode(name)))
                if header.is_file():
                    _source_and_headers(header, seen)
                    break
    return seen


def _compile(command: list[str]) -> None:
    finished = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    if finished.returncode:
        messages = (finished.stderr + finished.stdout).strip()
        raise LibraryError(
            f"it cannot be built: the compiler failed with {finished.returncode}\n"
            f"  {shlex.join(command)}\n{messages[:MOST_CHARACTERS]}"
        )
