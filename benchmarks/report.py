"""The table on the terminal."""

from __future__ import annotations

from typing import Any

from .suite import Suite

NAME, CELL = 34, 32


def heading(facts: dict[str, Any]) -> str:
    """What is measured on."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    gemm = facts["gemm"]
    least = gemm["onednn_from_multiplications"]
    product = f"oneDNN from {least:,} multiplications" if least else "PyTorch's own"
    return "\n".join(
        [
            f"{facts['gpu'] or facts['cpu_model']}",
            f"{facts['cores']} cores, {facts['threads']} threads each; {versions}",
            f"matrix product: {product} (rule {gemm['rule']!r})",
        ]
    )


def table(suite: Suite, results: dict[str, dict]) -> str:
    """Time of a call, ``~`` where not steady; its ratio to that of the first; and the quartiles.

    In the place of the quartiles stands the 99th percentile of single calls, or the peak of memory
    in a call, where it is measured.
    """
    if suite.reasons is not None:
        return listing(suite, results)
    cases = list(results)
    contestants = list(results[cases[0]])
    across, down = sorted((cases, contestants), key=len)
    by_case = across is cases
    lines = [
        "",
        f"{suite.title}: time, ratio to {suite.reference.name}, "
        + ("99th percentile" if suite.slowest else "memory" if suite.memory else "quartiles"),
        *_heads(across),
    ]
    for name in down:
        cells = [results[a].get(name) if by_case else results[name].get(a) for a in across]
        lines.append(f"{name:{NAME}}" + "".join(f"{_cell(c):>{CELL}}" for c in cells))
    return "\n".join(lines)


def listing(suite: Suite, results: dict[str, dict]) -> str:
    """A line for each case, the slowest first: the times, their ratio, and why it is above."""
    reference, other = (c.name for c in suite.contestants)
    rows = [(found[other], found[reference], case) for case, found in results.items()
            if other in found]  # fmt: skip
    lines = ["", f"{suite.title}: time of {other}, of {reference}, ratio"]
    for ours, theirs, case in sorted(rows, key=lambda row: -row[0]["ratio"]):
        above = ours["ratio"] > suite.limit
        why = suite.reasons.get(case, "ABOVE, AND NOBODY SAYS WHY") if above else ""
        times = f"{time_of(ours['seconds']):>12}{time_of(theirs['seconds']):>12}"
        lines.append(f"{case:45}{times}{ours['ratio']:7.2f}  {why}".rstrip())
    return "\n".join(lines)


def _heads(names: list[str]) -> list[str]:
    """The names as heads of columns, a line for each part between commas."""
    parts = [name.split(", ") for name in names]
    rows = range(max(map(len, parts)))
    return [
        " " * NAME + "".join(f"{(p[i] if i < len(p) else ''):>{CELL}}" for p in parts) for i in rows
    ]


def _cell(row: dict[str, float] | None) -> str:
    if row is None:
        return ""
    mark = " " if row["steady"] else "~"
    spread = f"{row['ratio_low']:.2f}-{row['ratio_high']:.2f}"
    if "p99" in row:
        spread = time_of(row["p99"])
    if row.get("peak") is not None:
        spread = f"{row['peak'] / 1e6:.1f} MB"
    return f"{mark}{time_of(row['seconds'])} {row['ratio']:6.2f} {spread:>12}"


def time_of(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


def targets(judged: list[dict[str, Any]]) -> str:
    """Each target beside what was measured."""
    lines = ["", "Targets: ratio of the first to the second, at most"] if judged else []
    for t in judged:
        unknown = "not measured" if t["ratio"] is None else "not steady"
        verdict = {True: "met", False: "NOT MET", None: unknown}[t["met"]]
        measured = "" if t["ratio"] is None else f"{t['ratio']:.3f}"
        lines.append(
            f"{t['case']:38} {t['contestant']:32} {t['against']:26}"
            f"{measured:>7}  at most {t['limit']:<6.4g} {verdict}"
        )
    return "\n".join(lines)
