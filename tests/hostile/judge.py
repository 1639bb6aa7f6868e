"""What becomes of a hostile file: read, refused, or unclean, and then how."""

from __future__ import annotations

import gc
import random
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from layers.mxnet import MXNetError
from train import Refused

SECONDS = 5  # the longest that a file may take of the processor
PATIENCE = 100 * SECONDS  # by the clock, on a machine that has much else to do
TIMES = 8  # so often its size, and of what it declares, it may take in memory; and
FLOOR = 64 << 20  # so many bytes, which Python and PyTorch take for a small file, too
OURS = (MXNetError, OSError, Refused)


class Reader(NamedTuple):
    """A reader of files, and where its files come from.

    Attributes
    ----------
    make : callable
        The files of a case by their names, given a source of random numbers.
    read : callable
        Reads them from a folder. An error names the folder's path.
    use : callable
        Does what a program does next with what was read. An error is ours.
    left : callable
        What must be as it was where `read` refuses a file: values that can be compared.
    size : callable
        The bytes of what was read, where a format has more of them than its file: images, text.
    native : bool
        Code in C++ reads the file, whose crash would end this process.
    """

    make: Callable[[random.Random], dict[str, bytes]]
    read: Callable[[Path], Any]
    use: Callable[[Any], None] = lambda found: None
    left: Callable[[], Any] = lambda: None
    size: Callable[[Any], int] = lambda found: 0
    native: bool = False


class Verdict(NamedTuple):
    """``read``, ``refused`` or what is unclean; more about that; the bytes that it took at most."""

    outcome: str
    more: str = ""
    taken: int = 0

    @property
    def is_clean(self) -> bool:
        return self.outcome in ("read", "refused")


class Hang(BaseException):
    """A reader takes too long. Nothing that it catches, and so a BaseException."""


def judge(name: str, reader: Reader, seed: int, folder: Path) -> Verdict:
    """Make the files of a seed in an empty folder, read them, and say what came of it."""
    files = reader.make(random.Random(f"{name} {seed}"))
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    before, memory = reader.left(), Memory()
    begin = time.process_time()  # not that of other processes on a busy machine
    declared, error, named = 0, None, True
    try:
        with _limited(PATIENCE), _uncollected():
            found = reader.read(folder)
            declared = reader.size(found)
            named = False
            reader.use(found)
    except (Exception, Hang) as raised:
        error = raised
    seconds, taken = time.process_time() - begin, memory.taken()
    limit = FLOOR + TIMES * (sum(map(len, files.values())) + declared)
    if error is not None and (wrong := _wrong(error, folder if named else None)):
        return wrong
    if seconds > SECONDS:
        return Verdict("slow", f"{seconds:.1f} s")
    if taken > limit:
        more = f"{taken >> 20} MiB, {limit >> 20} MiB are expected at most"
        return Verdict("memory", more, taken)
    if named and reader.left() != before:
        return Verdict("half applied", str(error))
    return Verdict("read" if error is None else "refused", str(error or ""), taken)


def _wrong(error: BaseException, folder: Path | None) -> Verdict | None:
    """What is wrong with an error: it is not ours, does not name the file, or is too long."""
    told = "\n".join([str(error), *getattr(error, "__notes__", [])])
    if not isinstance(error, OURS):
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return Verdict(type(error).__name__, f"{place}: {told[:200]}")
    if folder is not None and str(folder) not in told:
        return Verdict("no name", f"{type(error).__name__}: {told[:200]}")
    if not told.replace("\n", "").isprintable():
        return Verdict("not printable", f"{type(error).__name__}: {ascii(told[:200])}")
    if len(told) > 2000:
        return Verdict("long", f"{len(told)} characters: {told[:200]}")
    return None


@contextmanager
def _limited(seconds: float):
    """Raise Hang after some seconds; a call into C is waited for."""

    def hang(*_):
        raise Hang

    before = signal.signal(signal.SIGALRM, hang)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _uncollected():
    """No collection of garbage: in a text that is nested too deep, finalizers fail in it."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Memory:
    """The most memory of the process from now on; 0 where the system does not tell.

    Pages of files are left out as far as there are more of them at the end: where memory is short
    the system takes those of PyTorch's libraries away, hundreds of MiB, and reads them again.
    """

    def __init__(self):
        self._known = Path("/proc/self/clear_refs").exists()
        if self._known:
            Path("/proc/self/clear_refs").write_text("5")  # the peak is what is taken now
            self._begin, self._mapped = self._told()

    def taken(self) -> int:
        """Return how many bytes more it was at most."""
        if not self._known:
            return 0
        peak, mapped = self._told()
        return peak - self._begin - max(0, mapped - self._mapped)

    @staticmethod
    def _told() -> tuple[int, int]:
        """Return the most memory that the process has had, and that of mapped files now."""
        lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
        told = {line[0]: int(line[1]) << 10 for line in lines if line[-1] == "kB"}
        return told.get("VmHWM:", 0), told.get("RssFile:", 0)
