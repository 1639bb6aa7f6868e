"""Elements of HTML, in which every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from itertools import zip_longest
from typing import Any

__all__ = ["Html", "joined", "table", "tag"]

VOID = ("br", "img", "meta", "wbr")


class Html(str):
    """Text that is HTML already. All other text is escaped."""


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; `class_` and the like are attributes whose names are Python's words."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>" + ("" if name in VOID else f"{joined(children)}</{name}>"))


def joined(children: Iterable[Any]) -> Html:
    """Children one after another."""
    return Html("".join(c if isinstance(c, Html) else escape(str(c)) for c in children))


def table(head: Iterable[Any], rows: Iterable[Iterable[Any]], class_: str | None = None) -> Html:
    """A table; cells that are no `td` or `th` become one, and numbers stand right."""
    head = list(head)
    cells = [[cell(value) for value in row] for row in rows]
    numbers = ["number" if 'class="number' in column else None for column in (cells or [[]])[0]]
    names = [
        tag("th", name, scope="col", class_=kind)
        for name, kind in zip_longest(head, numbers[: len(head)])
    ]
    body = tag("tbody", *[tag("tr", *row) for row in cells])
    return tag(
        "div", tag("table", tag("thead", tag("tr", *names)), body, class_=class_), class_="wide"
    )


def cell(value: Any) -> Html:
    if isinstance(value, Html) and value.startswith(("<td", "<th")):
        return value
    return tag("td", value, class_="number" if is_number(value) else None)


def is_number(value: Any) -> bool:
    text = str(value).replace(",", "").rstrip("%").removesuffix(" s")
    try:
        float(text)
    except ValueError:
        return False
    return True
