"""The page docs/benchmarks.md and its pictures, from the files in results/."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, NamedTuple

from .contest import ROOT
from .report import time_of
from .suites import SUITES

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURES = ROOT / "docs" / "images" / "benchmarks"
TITLES = {suite.name: suite.title for suite in SUITES if suite.reasons is None}
LISTED = {suite.name for suite in SUITES} - {*TITLES}  # too long for a page
OURS, PEER = "#3f51b5", "#b0b7c3"

HEAD = """\
# Benchmarks

This page is written by `python -m benchmarks --page` from the files in `benchmarks/results/`.

The contestants of a suite take turns in one run, and must compute the same numbers before they are
timed. A bar is the ratio of a time to that of the first contestant, whose number is bold: **to the
left of 1 it is faster, to the right slower**. The thin line spans the quartiles of the ratio over
the rounds; the number is the ratio of the best times. `~` marks what was not steady: fewer than a
quarter of the rounds came near the best one. What begins with *layers*, in blue, is this library.

The machines are small, and shared with other programs. Ratios vary by a fifth from run to run, and
tell little about machines of another kind. There are no results of GPUs here yet.

"""

MISSED = """\
Where a limit is missed, or was hard to reach:

- *GluonCV's nets on a few small pictures.* A static graph keeps the weights of convolutions as
  oneDNN wants them, as MXNet does, and images with their channels last. The time left is that of
  the products. Tried and not kept: oneDNN's own layout for images too (1.1 to 1.5 of the time for
  small ones), batch norms folded into convolutions (no gain), channels last for all in training
  (1.3 of the time where weights are large).
- *A compiled step of a small MLP beside JAX.* Inductor's code is called directly, and MKL cuts
  results by rows alone, which takes 0.94 of the time before. Four fifths of it are products, for
  which JAX has other kernels. PyTorch's `cpp_wrapper` takes as long, and doubles the time of
  compilation. Tried and not kept: inductor's checks of sizes left out (0.98 of the time; nothing
  would then refuse an operator's result of other strides). At the large MLP both are equal but for
  noise.
- *Blocks of `@operator`, call by call.* A step has five of them, with 22 calls of `nd` inside.
  The same as PyTorch's `autograd.Function` takes 90 µs more than PyTorch's layers. Above that,
  with all in the processor's cache, a call of `nd` takes 1.2 to 3 µs more than PyTorch's, and
  checks, contexts and arrays around an operator take 4 µs forward and 6.5 µs backward; between
  matrix products, half as much again. It is spread over a hundred lines of Python: a call written
  as one function takes 19 µs instead of 20.5. The ratio is 1.41 to 1.49 for relu in eight runs, and
  1.48 to 1.55 for sigmoid, whose gradient is three calls of `nd` where PyTorch has one kernel: the
  median of ten processes, own steps and PyTorch's in turns, is 1.49. Recorded, it is gone.
- *Layer norm of 32 x 64.* It is PyTorch's own function, forward and backward. What is above its
  time, some 3 µs, is `record()`, the call, and three gradients that go to their arrays: an
  operator of `nd` takes as long.
- *A compiled operator alone.* Inductor's code is called without what AOTAutograd does around it,
  forward and backward: half the time of `torch.compile` for 32 x 64. What is left above PyTorch's
  own call, some 25 µs, is the call of a graph and its node in autograd. The layer norm of
  4096 x 768 calls PyTorch's kernel, and finds less of its memory in the cache; from process to
  process both vary by a tenth. Attention calls PyTorch's kernel too: it is equal but for noise.
- *`Remat`.* The peak is that of the process, with the holes in the allocator's memory: 93 to 209 MB
  in four runs, and as much from run to run without it. Where holes are given back at once, with
  `MALLOC_MMAP_THRESHOLD_=65536`, it is 52 MB, where the same net without Remat takes 143 MB and
  that of PyTorch's checkpoint 46 MB.
- *`train.fit`.* It takes 1.04 to 1.07 of the bare loop. Half of what it adds to a step is that the
  generators of Python, NumPy and the engine are seeded anew, so that a resumed training draws the
  same numbers.
- *Custom operators, call by call.* What is above PyTorch's own `autograd.Function` is Python:
  the check of the arrays, the call of `nd`, and the record of it. Compiled, it is gone.

"""

REPEAT = """\
## How to repeat them

```console
$ make bench                                    # everything, to results/LABEL.json
$ make bench ARGS="--quick --only steps"        # one suite, roughly, to the terminal alone
$ make bench ARGS="--only steps --out steps.json"
$ make bench ARGS="--only gluoncv --without compile"    # without what takes long to compile
$ make bench ARGS="--only table"                # every operator against MXNet's, a line for each
$ make gpu-bench PYTHON=python3                 # with the PyTorch that is installed, on its GPU
$ .venv/bin/python -m benchmarks --page         # this page, from all files in results/
```

`make bench` makes the environments: `.venv-bench` has PyTorch and, with Python 3.10 or 3.11, Apache
MXNet side by side; JAX, Keras and Lightning have one each. Who cannot take part is left out, and
the output says why. What is measured stands in `benchmarks/suites.py`, what is to be reached in
`benchmarks/targets.py`. A file has the times of the best and of the median round, the quartiles,
and what is known of the machine.
"""


class Measured(NamedTuple):
    """A suite of a file of results."""

    name: str
    cases: dict[str, dict[str, dict]]
    file: Path
    facts: dict[str, Any]

    @property
    def title(self) -> str:
        return TITLES.get(self.name, self.name)


def measured() -> tuple[dict[Path, dict], list[Measured]]:
    """The files by path, the newest first; and each suite as it is in the newest that has it."""
    paths = sorted(RESULTS.glob("*.json"))
    files = {path: json.loads(path.read_text("utf-8")) for path in paths}
    files = dict(sorted(files.items(), key=lambda item: item[1]["date"], reverse=True))
    newest: dict[str, Measured] = {}
    for path, found in files.items():
        for name, cases in found["suites"].items():
            if name in LISTED:
                continue
            newest.setdefault(name, Measured(name, cases, path, found["machine"]))
    order = {name: i for i, name in enumerate(TITLES)}
    return files, sorted(newest.values(), key=lambda s: order.get(s.name, len(order)))


def text() -> str:
    """The page."""
    files, suites = measured()
    parts = [HEAD, *_machines(files)]
    for suite in suites:
        parts += [
            f"## {suite.title}\n\n",
            f"![{suite.title}: ratios of time](images/benchmarks/{suite.name}.png)\n\n",
            f"Measured on {_machine(suite.facts)} (`{suite.file.name}`). ",
            "Ratios to the first contestant, and times:\n\n",
            *_table(suite.cases),
            "\n",
        ]
    parts += [*_targets(files), MISSED, REPEAT]
    return "".join(parts)


def _machine(facts: dict[str, Any]) -> str:
    return facts["gpu"] or facts["cpu_model"]


def _machines(files: dict[Path, dict]):
    yield "| file | date | machine | versions |\n|---|---|---|---|\n"
    for path, found in files.items():
        facts = found["machine"]
        versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
        threads = f"{facts['cores']} cores, {facts['threads']} threads for each contestant"
        machine = f"{_machine(facts)}, {facts['system']}, {threads}"
        yield f"| `{path.name}` | {found['date']} | {machine} | {versions} |\n"
    yield "\n"


def _axes(cases: dict[str, dict]) -> tuple[list[str], list[str], bool]:
    """What goes across and what goes down; whether the cases go across."""
    contestants = list(dict.fromkeys(name for rows in cases.values() for name in rows))
    across, down = sorted((list(cases), contestants), key=len)
    return across, down, across == list(cases)


def _row(cases: dict[str, dict], across: str, down: str, by_case: bool) -> dict | None:
    return cases[across].get(down) if by_case else cases[down].get(across)


def _table(cases: dict[str, dict]):
    across, down, by_case = _axes(cases)
    yield "| | " + " | ".join(across) + " |\n|---|" + "---|" * len(across) + "\n"
    for name in down:
        cells = [_cell(_row(cases, a, name, by_case)) for a in across]
        yield f"| {name} | " + " | ".join(cells) + " |\n"


def _cell(row: dict | None) -> str:
    if row is None:
        return ""
    mark = "" if row["steady"] else "~"
    peak = "" if row.get("peak") is None else f", {row['peak'] / 1e6:.0f} MB"
    return f"{mark}{row['ratio']:.2f} ({time_of(row['seconds'])}{peak})"


def _targets(files: dict[Path, dict]):
    """What was to be reached, each in the newest file that has it."""
    newest: dict[tuple[str, ...], dict] = {}
    for found in files.values():
        for target in found["targets"]:
            names = target["case"], target["contestant"], target["against"]
            newest.setdefault(names, target)
    yield "## Targets\n\nThe time, or the peak of memory, of the first over that of the second:\n\n"
    yield "| | first | second | measured | at most | reached |\n|---|---|---|---|---|---|\n"
    words = {True: "yes", False: "**no**", None: "not steady, or not measured"}
    for names, target in newest.items():
        ratio = "" if target["ratio"] is None else f"{target['ratio']:.2f}"
        cells = *names, ratio, f"{target['limit']:g}", words[target["met"]]
        yield f"| {' | '.join(cells)} |\n"
    yield "\n"


def draw(suite: Measured) -> None:
    """The picture of a suite: a column of bars for each name across."""
    from matplotlib.figure import Figure
    from PIL import Image

    across, down, by_case = _axes(suite.cases)
    first = next(iter(next(iter(suite.cases.values()))))
    across = [name for name in across if name != first]
    width, height = 3.2 + 2.4 * len(across), 1.1 + 0.27 * len(down)
    figure = Figure(figsize=(width, height), dpi=100, layout="constrained")
    columns = figure.subplots(1, len(across), sharey=True, squeeze=False)[0]
    for axes, name in zip(columns, across):
        rows = [_row(suite.cases, name, d, by_case) for d in down]
        names = down if by_case else [name] * len(down)
        _bars(axes, rows, names, first)
        axes.set_title(name.replace(", ", "\n", 1), fontsize=9)
        axes.set_yticks(range(len(down)), down, fontsize=8)
    columns[0].invert_yaxis()
    PICTURES.mkdir(parents=True, exist_ok=True)
    file = io.BytesIO()
    figure.savefig(file)
    picture = Image.open(file).convert("RGB").quantize(32)  # a third of the size
    picture.save(PICTURES / f"{suite.name}.png", optimize=True)


def _bars(axes, rows: list[dict | None], names: list[str], first: str) -> None:
    """Bars from 1 to the left, where it is faster, or to the right, with the quartiles as lines."""
    from matplotlib.ticker import FixedLocator, FuncFormatter

    ends = [1.0]
    for i, (row, name) in enumerate(zip(rows, names)):
        if row is None:
            continue
        ratio, low, high = row["ratio"], row["ratio_low"], row["ratio_high"]
        ends += [ratio, low, high]
        colour = OURS if name.startswith("layers") else PEER
        axes.barh(i, ratio - 1, left=1, height=0.7, color=colour)
        axes.plot([low, high], [i, i], color="black", linewidth=0.7)
        text = f"{ratio:.2f}" if row["steady"] else f"~{ratio:.2f}"
        left = ratio < 1
        place = (min(ratio, low), i) if left else (max(ratio, high), i)
        side = {"xytext": (-3 if left else 3, 0), "ha": "right" if left else "left"}
        weight = "bold" if name == first else "normal"
        axes.annotate(
            text, place, textcoords="offset points", va="center", fontsize=7, weight=weight, **side
        )
    axes.axvline(1, color="black", linewidth=0.6)
    axes.set_xscale("log")
    axes.set_xlim(min(ends) / 2, max(ends) * 2)
    axes.xaxis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="x", labelsize=7)
    axes.tick_params(axis="y", length=0)


def write() -> list[Path]:
    """Write the page and its pictures; their paths."""
    _, suites = measured()
    for suite in suites:
        draw(suite)
    PAGE.write_text(text(), "utf-8")
    return [PAGE, *(PICTURES / f"{suite.name}.png" for suite in suites)]
