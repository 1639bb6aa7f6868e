"""Each relative link of the documentation leads to a file that is there, and to a heading in it."""

import re
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / name
    for name in (
        *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
        "layers/mxnet/README.md",
    )
] + sorted((ROOT / "docs").rglob("*.md"))
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]*)\)|<(?:a href|img src)=\"(?P<html>[^\"]*)\"")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ANCHOR = re.compile(r"<a (?:name|id)=\"([^\"]+)\">")


def prose(text):
    """The page without its code, in which a bracket is no link; headings keep theirs."""
    return CODE.sub(lambda code: "" if code[0].startswith("```") else code[0].strip("`"), text)


@lru_cache
def anchors(path):
    """The names of a page's places: its headings as GitHub and MkDocs spell them, and its own."""
    text = prose(path.read_text("utf-8"))
    found = set(ANCHOR.findall(text))
    for heading in HEADING.findall(text):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.add(next(n for n in (name, *(f"{name}-{i}" for i in range(1, 99))) if n not in found))
    return found


def broken(path, text):
    """What is wrong with the links of a page."""
    for found in LINK.finditer(CODE.sub("", text)):
        link = found["target"] or found["html"] or ""
        if re.match(r"\w+:", link):
            continue
        target, _, anchor = link.partition("#")
        place = (path.parent / target).resolve() if target else path
        if not place.exists():
            yield f"{link}: there is no {target}"
        elif anchor and anchor not in anchors(place):
            yield f"{link}: no heading of {place.name} has this name"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links(path):
    assert list(broken(path, path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "link", ["nowhere.md", "docs/operators.md#nowhere", "#nowhere", "docs/images/nowhere.png"]
)
def test_a_broken_link_is_found(link):
    assert len(list(broken(ROOT / "README.md", f"see [this]({link})"))) == 1


def test_what_is_no_link():
    text = "`[a](nowhere.md)`, [out](https://example.org/x#y), [in](docs/operators.md#saves)"
    assert list(broken(ROOT / "README.md", text)) == []
