"""What takes time: PyTorch's profiler under MXNet's names, and spans and counters of one's own.

``set_config`` says what to write down and where, ``set_state("run")`` begins, ``dumps`` returns a
table, and ``dump`` writes a trace for chrome://tracing, as does the end of the program where there
is more than was dumped. Operators called on arrays are in both by MXNet's names, and what PyTorch
does in them by its own, such as ``aten::mm``; in a graph there are PyTorch's names only. The Python
of custom operators is there by their names, for backward with ``_backward_`` before them, also in a
graph that runs it.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ._files.opening import write_files
from ._old import missing
from ._state import State
from .base import ArgumentError, MXNetError, UnsupportedError, legible

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_state",
]

_SETTINGS: dict[str, Any] = {
    "filename": "profile.json",
    "profile_all": False,
    "profile_symbolic": True,
    "profile_imperative": True,
    "profile_memory": True,
    "profile_api": True,
    "continuous_dump": True,
    "dump_period": 1.0,
    "aggregate_stats": False,
    "profile_process": "worker",
}
# PyTorch's categories of events, and what a table calls them. The name of an annotation begins with
# the category where that is another one.
_OPERATORS = {"cpu_op": "operator", "user_annotation": "operator", "kernel": "kernel"}
_CUSTOM = "Custom Operator"
_TIMED = "cuda", "xpu"  # kinds of devices
# By the unit of a table: its columns, and its place in JSON.
_COLUMNS = {
    "ms": ("Time (ms)", "Min Time (ms)", "Max Time (ms)", "Avg Time (ms)"),
    "kB": ("Min Use (kB)", "Max Use (kB)", "Avg Use (kB)"),
    "": ("Min", "Max", "Avg"),
}
_PLACES = {"ms": "Time", "kB": "Memory", "": "Counter"}
_SORT = {"total": sum, "avg": lambda d: sum(d) / len(d), "min": min, "max": max, "count": len}
_SCOPES = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}


class _Session:
    """What is written down, over all times at which the profiler ran."""

    def __init__(self):
        self.settings = dict(_SETTINGS)
        self.running: torch.autograd.profiler.profile | None = None
        self.paused = False
        self.trace: list[dict] = []  # for dump
        # For dumps: by unit and category, the numbers of each name.
        self.tables: dict[tuple[str, str], dict[str, list[float]]] = {}

    def begin(self) -> None:
        """Run PyTorch's profiler."""
        if self.running is not None:
            return
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # it tells stderr when it begins and ends
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about CUDA, where there is none
            # That of `torch.profiler` is this one, behind an import of PyTorch's compiler.
            profile = torch.autograd.profiler.profile(
                use_kineto=True,
                use_device=_device(),
                profile_memory=self.settings["profile_memory"],
            )
            profile.__enter__()
        self.running = profile
        State.profile = _named

    def end(self) -> None:
        """Stop it, and take what it has written down."""
        if self.running is None:
            return
        State.profile = None
        running, self.running = self.running, None
        running.__exit__(None, None, None)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            running.export_chrome_trace(str(path))
            found = json.loads(path.read_text("utf-8", "replace"))
        base = found.get("baseTimeNanoseconds", 0) / 1000
        for event in found["traceEvents"]:
            if "ts" in event:
                event["ts"] += base
            self.take(event)

    def take(self, event: dict) -> None:
        """Add an event of a trace, and what it says to the tables."""
        self.trace.append(event)
        category = _OPERATORS.get(event.get("cat", ""))
        if category and event["name"].startswith(f"{_CUSTOM}::"):
            category = event["cat"] = _CUSTOM
            event["name"] = event["name"].removeprefix(f"{_CUSTOM}::")
        if event.get("ph") == "X" and category:
            self.add("ms", category, event["name"], event["dur"] / 1000)
        elif event.get("name") == "[memory]":
            given = event["args"]
            device = f"gpu/{given['Device Id']}" if given["Device Id"] >= 0 else "cpu/0"
            used = given["Total Allocated"] / 1000
            self.add("kB", "Device Storage", f"Memory: {device}", used)

    def add(self, unit: str, category: str, name: str, number: float) -> None:
        """Add a number to a table."""
        self.tables.setdefault((unit, category), {}).setdefault(name, []).append(number)

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        """A scope for which the profiler stops, so that all it knows is here."""
        was_running = self.running is not None
        self.end()
        try:
            yield
        finally:
            if was_running:
                self.begin()


def _device() -> str | None:
    """The kind of device whose times are written down beside the CPU's."""
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return accelerator.type if accelerator is not None and accelerator.type in _TIMED else None


_session = _Session()
_ids = itertools.count(1)


def _named(category: str, name: str, function: Callable) -> Callable:
    """The function of an operator, to be called under its name."""

    def call(*args, **kwargs):
        with torch.profiler.record_function(f"{category}::{name}" if category == _CUSTOM else name):
            return function(*args, **kwargs)

    return call


def _expect_worker(profile_process: str) -> None:
    if profile_process == "server":
        raise UnsupportedError("profiler: profile_process is 'server'\n  expected 'worker'")
    if profile_process != "worker":
        raise ArgumentError(
            f"profiler: profile_process is {profile_process!r}\n  expected 'worker'"
        )


def set_config(**kwargs) -> None:
    """Say what is written down.

    Parameters
    ----------
    filename : str
        Where `dump` writes, ``profile.json`` by default.
    profile_memory : bool
        Whether memory is written down too.
    profile_all, profile_symbolic, profile_imperative, profile_api : bool
        Ignored: times of all operators are written down.
    aggregate_stats, continuous_dump : bool
        Ignored: there is always a table, and a file is written by `dump` and at the end of the
        program only.
    dump_period : float
        Ignored.
    profile_process : str
        'worker'.

    Raises
    ------
    ArgumentError
        There is no such setting, or the profiler runs.
    UnsupportedError
        `profile_process` is 'server'.
    """
    unknown = [name for name in kwargs if name not in _SETTINGS]
    if unknown:
        raise ArgumentError(
            f"profiler.set_config: {unknown[0]!r} is no setting\n  expected {', '.join(_SETTINGS)}"
        )
    _expect_worker(kwargs.get("profile_process", "worker"))
    if _session.running is not None:
        raise ArgumentError('profiler.set_config: the profiler runs\n  expected set_state("stop")')
    _session.settings |= kwargs


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Begin, 'run', or stop, 'stop'.

    Raises
    ------
    ArgumentError
        The state is another.
    UnsupportedError
        `profile_process` is 'server'.
    """
    _expect_worker(profile_process)
    if state not in ("run", "stop"):
        raise ArgumentError(f"profiler.set_state: {state!r}\n  expected 'run' or 'stop'")
    _session.paused = False
    if state == "run":
        _session.begin()
    else:
        _session.end()


def pause(profile_process: str = "worker") -> None:
    """Write nothing down until `resume`.

    Raises
    ------
    UnsupportedError
        `profile_process` is 'server'.
    ArgumentError
        It is neither that nor 'worker'.
    """
    _expect_worker(profile_process)
    if _session.running is not None:
        _session.end()
        _session.paused = True


def resume(profile_process: str = "worker") -> None:
    """Go on after `pause`.

    Raises
    ------
    UnsupportedError
        `profile_process` is 'server'.
    ArgumentError
        It is neither that nor 'worker'.
    """
    _expect_worker(profile_process)
    if _session.paused:
        _session.paused = False
        _session.begin()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write a Chrome trace to the file that `set_config` names.

    Parameters
    ----------
    finished : bool
        Whether the profiler stops, and the next trace begins with nothing.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    _expect_worker(profile_process)
    if finished:
        set_state("stop")
    with _session.interrupted():
        trace = {"traceEvents": _session.trace, "displayTimeUnit": "ms"}
        write_files({_session.settings["filename"]: [json.dumps(trace).encode()]})
        if finished:
            _session.trace = []


# At the end of the program and not later: PyTorch's profiler, if it still ran then, would crash it.
@atexit.register
def _dump_the_rest() -> None:
    """Stop, and write the trace unless all of it was dumped."""
    set_state("stop")
    if _session.trace:
        dump()


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """How often each operator ran, and its times in ms, as text; and the values of counters.

    Parameters
    ----------
    reset : bool
        Whether counting begins anew. The trace stays as it is, in memory, until `dump`.
    format : str
        'table' or 'json'.
    sort_by : str
        'total', 'avg', 'min', 'max' or 'count'.
    ascending : bool

    Raises
    ------
    ArgumentError
        `format` or `sort_by` is another.
    """
    for name, given, known in (("format", format, ("table", "json")), ("sort_by", sort_by, _SORT)):
        if given not in known:
            raise ArgumentError(
                f"profiler.dumps: {name} is {given!r}\n  expected one of {', '.join(known)}"
            )
    with _session.interrupted():
        tables = _session.tables
        if reset:
            _session.tables = {}
    ordered = {
        category: sorted(
            rows.items(), key=lambda row: _SORT[sort_by](row[1]), reverse=not ascending
        )
        for category, rows in sorted(tables.items(), key=lambda table: table[0][1])
    }
    return (_as_text if format == "table" else _as_json)(ordered)


_Tables = dict[tuple[str, str], list[tuple[str, list[float]]]]


def _as_text(tables: _Tables) -> str:
    lines = ["", "Profile Statistics:", "\tNote the difference in units for different entries."]
    for (unit, category), rows in tables.items():
        titles = _COLUMNS[unit]
        columns = "".join(f"{title:>17}" for title in titles)
        dashes = "".join(f"{'-' * len(title):>17}" for title in titles)
        lines += [legible(category), "=" * 17, f"{'Name':<25}{'Total Count':>16}{columns}"]
        lines += [f"{'----':<25}{'-----------':>16}{dashes}"]
        for name, values in rows:
            numbers = [sum(values), min(values), max(values), sum(values) / len(values)]
            shown = "".join(f"{number:>17.4f}" for number in numbers[-len(titles) :])
            lines.append(f"{legible(name):<25}{len(values):>16}{shown}")
        lines.append("")
    return "\n".join(lines) + "\n"


def _as_json(tables: _Tables) -> str:
    found: dict[str, dict] = {place: {} for place in _PLACES.values()}
    for (unit, category), rows in tables.items():
        found[_PLACES[unit]][category] = {
            name: {
                "Count": len(values),
                "Total": sum(values),
                "Min": min(values),
                "Max": max(values),
                "Avg": sum(values) / len(values),
            }
            for name, values in rows
        }
    return json.dumps(found | {"Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Deprecated: `set_config`; `mode` is ignored."""
    warnings.warn("profiler_set_config is deprecated; use profiler.set_config", stacklevel=2)
    set_config(filename=filename)


def profiler_set_state(state: str = "stop") -> None:
    """Deprecated: `set_state`."""
    warnings.warn("profiler_set_state is deprecated; use profiler.set_state", stacklevel=2)
    set_state(state)


def dump_profile() -> None:
    """Deprecated: `dump`."""
    warnings.warn("dump_profile is deprecated; use profiler.dump", stacklevel=2)
    dump(True)


def _write_down(name: str, category: str, phase: str, nanoseconds: int, **more) -> None:
    """Add an event to the trace, if the profiler runs."""
    if _session.running is None:
        return
    place = {"pid": category, "tid": threading.get_ident()}
    event = {"name": name, "cat": category, "ph": phase, "ts": nanoseconds / 1000, **place, **more}
    _session.trace.append(event)


class Domain:
    """A name under which spans, counters and markers stand together.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str):
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """A span of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """A span of this domain that repeats, such as one batch."""
        return Frame(self, name)

    def new_counter(self, name: str, value: int | None = None) -> Counter:
        """A number of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """A moment of this domain."""
        return Marker(self, name)


class _Span:
    """From `start` to `stop`, if the profiler runs at the end."""

    def __init__(self, name: str, category: str, begin: str, end: str):
        self.name, self._category, self._phases = name, category, (begin, end)
        self._begin: int | None = None

    def start(self) -> None:
        """The span begins now."""
        self._begin = time.time_ns()

    def stop(self) -> None:
        """The span ends now, and is written down if `start` was called before."""
        begin, self._begin, now = self._begin, None, time.time_ns()
        if begin is None or _session.running is None:
            return
        # Spans of one name may overlap where an id tells them apart.
        more = {"id": next(_ids)} if self._phases[0] == "b" else {}
        for phase, when in zip(self._phases, (begin, now)):
            _write_down(self.name, self._category, phase, when, **more)
        _session.add("ms", self._category, self.name, (now - begin) / 1e6)

    def __str__(self) -> str:
        return self.name


class Task(_Span):
    """A span of a domain; spans may overlap.

    Parameters
    ----------
    domain : Domain
    name : str
    """

    def __init__(self, domain: Domain, name: str):
        super().__init__(name, str(domain), "b", "e")


class Frame(_Span):
    """A span of a domain that repeats, such as one batch.

    Parameters
    ----------
    domain : Domain
    name : str
    """

    def __init__(self, domain: Domain, name: str):
        super().__init__(name, f"{domain},frame", "b", "e")


class Event(_Span):
    """A span without a domain, of one thread; spans do not overlap, but may be in each other.

    Parameters
    ----------
    name : str
    """

    def __init__(self, name: str):
        super().__init__(name, "event", "B", "E")


class Counter:
    """A number that changes; the trace shows when.

    Parameters
    ----------
    domain : Domain
    name : str
    value : int, optional
        What it begins with.
    """

    def __init__(self, domain: Domain, name: str, value: int | None = None):
        self.name, self._category, self._value = name, str(domain), 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: int) -> None:
        """Set the number."""
        self._value = value
        _write_down(self.name, self._category, "C", time.time_ns(), args={self.name: value})
        if _session.running is not None:
            _session.add("", self._category, self.name, value)

    def increment(self, delta: int = 1) -> None:
        """Add to the number."""
        self.set_value(self._value + delta)

    def decrement(self, delta: int = 1) -> None:
        """Subtract from the number."""
        self.set_value(self._value - delta)

    def __iadd__(self, delta: int) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: int) -> Counter:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """A moment, which the trace shows.

    Parameters
    ----------
    domain : Domain
    name : str
    """

    def __init__(self, domain: Domain, name: str):
        self.name, self._category = name, f"{domain},instant_marker"

    def mark(self, scope: str = "process") -> None:
        """Write down that the moment is now.

        Parameters
        ----------
        scope : str
            Over what the trace draws it: 'global', 'process', 'thread', 'task' or 'marker'.

        Raises
        ------
        MXNetError
            The scope is another.
        """
        if scope not in _SCOPES:
            raise MXNetError(
                f"Marker.mark: scope is {scope!r}\n  expected one of {', '.join(_SCOPES)}"
            )
        _write_down(self.name, self._category, "i", time.time_ns(), s=_SCOPES[scope])


missing.watch(globals())
