"""Lines of source, split where they are too long as formatters of Python split them."""

from __future__ import annotations

WIDTH = 88
OPENING, CLOSING = "([{", ")]}"


def lines(text: str, indent: int, comment: str = "") -> list[str]:
    """Return a statement as lines of at most WIDTH; a comment stands behind it, or above."""
    margin = " " * indent
    if comment and len(f"{margin}{text}  # {comment}") <= WIDTH:
        return [f"{margin}{text}  # {comment}"]
    above = [f"{margin}# {comment}"] if comment else []
    return above + _split(text, indent, "")


def _split(text: str, indent: int, end: str) -> list[str]:
    margin = " " * indent
    if len(margin + text + end) <= WIDTH:
        return [margin + text + end]
    found = _last_brackets(text)
    if found is None:
        return [margin + text + end]
    start, stop = found
    head, body, tail = text[: start + 1], text[start + 1 : stop], text[stop:]
    inner = indent + 4
    parts = _parts(body)
    if len(" " * inner + body) <= WIDTH and len(parts) > 1:
        middle = [" " * inner + body]
    elif len(parts) == 1:
        middle = _split(body, inner, "")
    else:
        middle = [line for part in parts for line in _split(part, inner, ",")]
    return [margin + head, *middle, margin + tail + end]


def _last_brackets(text: str) -> tuple[int, int] | None:
    """Return the places of the last brackets that are in no others and not empty."""
    depth, start, found = 0, 0, None
    for place, character in enumerate(text):
        if character in OPENING:
            if depth == 0:
                start = place
            depth += 1
        elif character in CLOSING:
            depth -= 1
            if depth == 0 and place > start + 1:
                found = start, place
    return found


def _parts(body: str) -> list[str]:
    """Return what stands between the commas that are in no brackets."""
    depth, parts, begin = 0, [], 0
    for place, character in enumerate(body):
        depth += (character in OPENING) - (character in CLOSING)
        if character == "," and depth == 0:
            parts.append(body[begin:place].strip())
            begin = place + 1
    last = body[begin:].strip()
    return [*parts, last] if last else parts
