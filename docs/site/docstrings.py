"""What mkdocstrings has to know of this library's docstrings, beside numpydoc.

Gluon's ``Inputs:`` and ``Outputs:``, and the shapes of operators, ``x : (n, k)``, become lists. The
literal blocks of reStructuredText, after ``::``, become blocks of code.
"""

from __future__ import annotations

import re

UNDERLINE = re.compile(r"^-{3,}$")
ITEM = re.compile(r"^\*{0,2}[\w.]+(, \*{0,2}[\w.]+)*( : .*)?$")  # of a section: x, y : int
SHAPE = re.compile(r"^\w+(, \w+)* : ")
INLINE = re.compile(
    r"(?:^|(?<=\.) )(Inputs|Outputs): "
)  # in one line: Inputs: (n, k). Outputs: (n,)
BETWEEN = re.compile(r"\s{3,}(?=\w+(?:, \w+)* : )")  # x : (n, k)      w : (m, k)


def rewritten(text: str) -> str:
    """The docstring as Markdown, with the sections of numpydoc at its end."""
    lines = text.strip().split("\n")
    heads = [i - 1 for i, line in enumerate(lines) if UNDERLINE.match(line)]
    start = min(heads, default=len(lines))
    sections, after = parted(lines[start:])
    free = literal_blocks(shapes(inputs_and_outputs([*lines[:start], "", *after])))
    return "\n".join([*free, "", *literal_blocks(sections)]).strip("\n")


def parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """The sections, and the paragraphs after and between them that belong to none."""
    sections, free, current = [], [], []
    for i, line in enumerate(lines):
        if line and not line.startswith(" ") and (i == 0 or not lines[i - 1]):
            head = i + 1 < len(lines) and UNDERLINE.match(lines[i + 1])
            current = sections if head or ITEM.match(line) else free
        current.append(line)
    return sections, free


def inputs_and_outputs(lines: list[str]) -> list[str]:
    """The lines, with Gluon's two lists as Markdown."""
    found, inside = [], False
    for line in lines:
        if line in ("Inputs:", "Outputs:"):
            found += ["", f"**{line}**", ""]
            inside = True
        else:
            inside = inside and (line.startswith(" ") or not line)
            line = line.removeprefix("    ") if inside else line
            found += INLINE.sub(r"\n\n**\1:** ", line).split("\n")
    return found


def shapes(lines: list[str]) -> list[str]:
    """The lines in which each word is told a shape, as a list."""
    found: list[str] = []
    listed = False
    for line in lines:
        if SHAPE.match(line.strip()):
            if not listed:
                found.append("")
            for part in BETWEEN.split(line.strip()):
                names, shape = part.split(" : ", 1)
                found.append(f"- `{names}` : {shape}")
            listed = True
        elif listed and line.strip() and found[-1]:
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
            listed = False
    return found


def literal_blocks(lines: list[str]) -> list[str]:
    """``::`` at the end of a paragraph, and the indented lines after it, as a fenced block."""
    found: list[str] = []
    i = 0
    while i < len(lines):
        line = lines[i]
        i += 1
        if not line.rstrip().endswith("::"):
            found.append(line)
            continue
        margin = len(line) - len(line.lstrip())
        block = []
        while i < len(lines) and (not lines[i] or len(lines[i]) - len(lines[i].lstrip()) > margin):
            block.append(lines[i])
            i += 1
        head = line.rstrip().removesuffix("::").rstrip()
        found += [f"{head}:" if head else "", "", "```python", *dedented(block), "```", ""]
    return found


def dedented(lines: list[str]) -> list[str]:
    margin = min((len(n) - len(n.lstrip()) for n in lines if n), default=0)
    return "\n".join(n[margin:] for n in lines).strip("\n").split("\n")
