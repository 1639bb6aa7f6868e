"""Writing files so that each appears whole, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

__all__ = ["write"]

Pieces = Iterable["bytes | memoryview"]


def write(contents: Mapping[str | os.PathLike, Pieces]) -> None:
    """Write files, given the pieces of each, by their paths.

    Each is written beside its path, and all are on the disk before the first takes its place.
    When that fails, by a full disk or Ctrl-C, all that was at the paths is still there, and nothing
    else. A link stays a link, permissions stay, and what is no file, such as a pipe, is written to
    as it is.

    Raises OSError, and what making the pieces raises.
    """
    with ExitStack() as stack:
        finished = [
            (new, target)
            for path, pieces in contents.items()
            for new, target in stack.enter_context(_written(Path(os.fsdecode(path)), pieces))
        ]
        for new, target in finished:
            os.replace(new, target)
        for folder in {target.parent for _, target in finished}:
            _sync(folder)


@contextmanager
def _written(path: Path, pieces: Pieces) -> Iterator[list[tuple[Path, Path]]]:
    """The new file and the path that it is for; removed at the end if it is still there.

    Nothing, where `path` is written to as it is: to replace /dev/stdout would be to remove it.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:
            file.writelines(pieces)
        yield []
        return
    target = path.resolve()
    new = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with new.open("xb") as file:
            if target.exists():  # as open() would: refuse what is read-only, keep its permissions
                with target.open("r+b") as old:
                    new.chmod(stat.S_IMODE(os.fstat(old.fileno()).st_mode))
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        yield [(new, target)]
    except OSError as error:
        if error.filename == str(new):
            error.filename = str(path)
        raise
    finally:
        new.unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    with suppress(OSError):  # Windows opens no folder; the new file is whole in any case
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
