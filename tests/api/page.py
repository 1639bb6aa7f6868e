"""The page docs/mxnet-coverage.md, and the sentence on the README that has its numbers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import imports, lost
from .compared import Name, names, private_operators
from .compared import operators as compared_operators

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/mxnet-coverage.md"
README = ROOT / "README.md"
SENTENCE = re.compile(r"Of the [\d,]+ public names of MXNet.*?mxnet-coverage\.md\)\.", re.DOTALL)
STATES = ("works", "differs", "absent")
# Packages whose parts have a section each.
WIDE = ("contrib", "gluon", "ndarray", "symbol")
WIDTH = 118
MANY = 40  # a list of more names is folded

HERE = Path(__file__).parent


def page() -> str:
    """The page's text."""
    counted = names()
    parts: dict[str, list[Name]] = {}
    for name in counted:
        parts.setdefault(area(name.module), []).append(name)
    here = [name for name in counted if name.state != "absent"]
    arguments, taken = sum(n.arguments for n in here), sum(n.taken for n in here)
    head = (
        (HERE / "head.md")
        .read_text("utf-8")
        .format(
            summary=wrapped(summary(counted)),
            taken=f"{taken:,}",
            arguments=f"{arguments:,}",
        )
    )
    table = "| module | names | works | differs | absent |\n|---|---|---|---|---|\n" + "".join(
        row(part, found) for part, found in sorted(parts.items())
    )
    sections = [section(part, found) for part, found in sorted(parts.items())]
    tests = (HERE / "tests.md").read_text("utf-8")
    tests += "".join(lost.rows()) + "\n"
    parts = head, table, "\n", tests, operators(), private()
    return "".join(parts) + "\n".join(sections).rstrip() + "\n"


def operators() -> str:
    """The sections of MXNet's operators, and of those that are not public: graphs in files."""
    here, absent = private_operators()
    text = (HERE / "operators.md").read_text("utf-8")
    found = compared_operators()
    (count, working), (public, public_working) = found.counted(), found.counted(public=True)
    refused: dict[str, list[str]] = {}
    for name, why in found.absent.items():
        refused.setdefault(why, []).append(name)
    return text.format(
        here=len(here),
        count=len(here) + len(absent),
        absent=wrapped(quoted(absent)),
        operators=count,
        working=working,
        percent=percent(working, count),
        public=public,
        public_working=public_working,
        public_percent=percent(public_working, public),
        refused="\n".join(wrapped(f"- {quoted(ns)}: {why}", "  ") for why, ns in refused.items()),
    )


def private() -> str:
    """The section of the names that modules import, and of private ones."""
    counts = {}
    for name, path in (("imported", imports.RECORDED), ("private", imports.PRIVATE)):
        places = [(module, item.partition("=")[0]) for module, item in imports.recorded(path)]
        counts[name] = f"{len(places):,}"
        counts[f"{name}_here"] = f"{sum(imports.is_here(*place) for place in places):,}"
    return (HERE / "private.md").read_text("utf-8").format(**counts)


def quoted(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def area(module: str) -> str:
    """The section of a module: its package, or the part of a wide package."""
    first, *rest = module.split(".")
    return ".".join([first, *rest[:1]]) if first in WIDE else first


def summary(counted: list[Name] | None = None) -> str:
    """The sentence with the numbers."""
    counted = counted or names()
    works, differs, absent = (of_state(counted, state) for state in STATES)
    total = len(counted)
    return (
        f"Of the {total:,} public names of MXNet's Python API, {percent(len(works), total)} work, "
        f"{percent(len(differs), total)} differ in something, and "
        f"{percent(len(absent), total)} are absent."
    )


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def of_state(found: Iterable[Name], state: str) -> list[Name]:
    return [name for name in found if name.state == state]


def title(part: str) -> str:
    """A module as programs write it: mx.nd.random."""
    short = re.sub(r"^ndarray\b", "nd", re.sub(r"^symbol\b", "sym", part))
    return f"mx.{short}".rstrip(".")


def row(part: str, found: list[Name]) -> str:
    counts = " | ".join(str(len(of_state(found, state)) or "") for state in STATES)
    link = title(part).replace(".", "")
    return f"| [`{title(part)}`](#{link}) | {len(found)} | {counts} |\n"


def section(part: str, found: list[Name]) -> str:
    """The section of a module: first what differs and what is absent, then what works."""
    lines = [f"## {title(part)}", ""]
    for state in ("differs", "absent"):
        if chosen := of_state(found, state):
            lines += [*folded(state, len(chosen), list(by_reason(part, chosen)), MANY), ""]
    if works := of_state(found, "works"):
        lines += [*folded("works", len(works), list(plain(part, works)), 0), ""]
    return "\n".join(lines)


def folded(state: str, count: int, lines: list[str], most: int) -> Iterator[str]:
    """A list under its title, folded if it has more names than so many."""
    if count <= most:
        yield f"{state.capitalize()}: {count}"
        yield from ["", *lines]
        return
    yield f"<details><summary>{state.capitalize()}: {count}</summary>"
    yield from ["", *lines, "", "</details>"]


def by_reason(part: str, found: list[Name]) -> Iterator[str]:
    """A line for each reason. Members of a class that is absent with it are counted."""
    reached: dict[str, list[str]] = {}
    lost = {name.place for name in found if name.kind == "class" and name.state == "absent"}
    for name in found:
        owner = name.place.rpartition(".")[0]
        if owner in lost:
            continue
        inside = sum(other.place.startswith(f"{name.place}.") for other in found)
        inside = f" ({inside} members)" if name.place in lost and inside else ""
        reached.setdefault(name.why, []).append(f"`{relative(part, name)}`{inside}")
    for why, words in reached.items():
        yield wrapped(f"- {', '.join(words)}: {why}", "  ")


def plain(part: str, found: list[Name]) -> Iterator[str]:
    """The names, and a line for each class with its members."""
    members: dict[str, list[str]] = {}
    alone = []
    for name in found:
        shown = relative(part, name)
        if name.kind in ("method", "property"):
            owner, _, own = shown.rpartition(".")
            members.setdefault(owner, []).append(f"`{own}`")
        else:
            alone.append(f"`{shown}`")
    if alone:
        yield wrapped(", ".join(alone))
    if alone and members:
        yield ""
    for owner, words in members.items():
        yield wrapped(f"- `{owner}`: {', '.join(words)}", "  ")


def relative(part: str, name: Name) -> str:
    return name.place.removeprefix(f"{part}.") if part else name.place


def wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def readme() -> str:
    """The README with the numbers of today in its sentence."""
    linked = f"{summary().removesuffix('.')}: [each name](docs/mxnet-coverage.md)."
    text = README.read_text("utf-8")
    return SENTENCE.sub(lambda _: textwrap.fill(linked, WIDTH + 2), text, count=1)
