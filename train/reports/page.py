"""The page: what all runs have in common, then each run by itself."""

from __future__ import annotations

import math
import platform
import shlex
from itertools import count
from pathlib import Path
from typing import Any

import layers

from . import figures, mistakes, objects
from .html import Html, joined, table, tag
from .read import RunReport, Statistics, lookup
from .style import STYLE

__all__ = ["page"]

# Of config.json, where runs are compared: what follows from the rest.
UNSHOWN = ("result", "files", "options.out", "data.mean", "data.std", "data.target.mean",
           "data.target.std", "network.inputs", "network.outputs", "network.units")  # fmt: skip
NONE = "–"
WITHOUT = """\
The data that config.json names is not there, or is not what the run was trained with: the report
goes without its confusions, mistakes and activations."""
LONG = 24  # values in a list that is shown in full


def page(runs: list[RunReport]) -> Html:
    """The report as one document, which needs nothing else."""
    title = f"Report of {runs[0].name if len(runs) == 1 else f'{len(runs)} runs'}"
    colours = {run.name: i % len(figures.RUNS) for i, run in enumerate(runs)}
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(STYLE)),
    )
    main = tag(
        "main",
        tag("h1", title),
        tag("p", f"Made by layers {layers.__version__}.", class_="soft"),
        results(runs, colours),
        curves(runs, colours),
        differences(runs, colours) if len(runs) > 1 else "",
        *[of_run(run, colours[run.name]) for run in runs],
    )
    return Html("<!DOCTYPE html>\n" + tag("html", head, tag("body", main), lang="en") + "\n")


def named(run: RunReport, colours: dict[str, int]) -> Html:
    """A run's name behind a dot of its colour."""
    return joined([dot(colours[run.name]), run.name])


def dot(colour: int) -> Html:
    return tag("span", "", class_="dot", style=f"background: var(--run-{colour % 8})")


def number(value: Any, digits: int = 4) -> str:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
        return NONE
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"


# What the runs have in common


def results(runs: list[RunReport], colours: dict[str, int]) -> Html:
    """The numbers of each run at its best epoch."""
    head = ["run", "data and network", "epochs", "best", "held-out loss", "held-out result",
            "training result", "samples/s"]  # fmt: skip
    rows = [result(run, runs, colours) for run in runs]
    said = "Results are those of the best epoch. The best of runs on the same data is bold."
    return joined([tag("h2", "Results"), table(head, rows), tag("p", said, class_="soft")])


def result(run: RunReport, runs: list[RunReport], colours: dict[str, int]) -> list[Any]:
    """A row; the held-out result is bold where it is the best of those it can be compared with."""
    row, rate = run.best or run.epochs[-1], lookup(run.config, "result", "samples_per_second")
    name = f"held_out_{run.task.metric}"
    alike = [other.best[name] for other in runs if other.best and same_data(run, other)]
    is_best = len(alike) > 1 and row.get(name) == max(alike, key=run.task.quality)
    return [
        tag("td", named(run, colours), class_="short"),
        tag("td", lookup(run.config, "options", "data") or NONE, tag("br"),
            tag("span", network_of(run), class_="small")),
        number(len(run.epochs)),
        number(int(run.best["epoch"])) if run.best else NONE,
        number(row.get("held_out_loss")),
        tag("td", metric_text(run, row.get(name)), r2(run),
            class_="number best" if is_best else "number"),
        tag("td", metric_text(run, row.get(run.task.metric)), class_="number"),
        tag("td", f"{rate:,.0f}" if isinstance(rate, float) else NONE, class_="number"),
    ]  # fmt: skip


def same_data(a: RunReport, b: RunReport) -> bool:
    """Whether the results of two runs can be compared."""
    names = ("data", "validation", "target")
    return a.task.name == b.task.name and all(
        lookup(a.config, "options", name) == lookup(b.config, "options", name) for name in names
    )


def metric_text(run: RunReport, metric: float | None) -> str:
    if metric is None or not math.isfinite(metric):
        return NONE
    return run.task.show(metric) + ("" if run.task.classes else " mae")


def r2(run: RunReport) -> str:
    """R² of a best epoch that predicts numbers, as config.json has it."""
    value = lookup(run.config, "result", "held_out_r2")
    return f", R² {value:.4f}" if isinstance(value, float) else ""


def network_of(run: RunReport) -> str:
    """The kind of net, its sizes, and how it learned."""
    kind, units = lookup(run.config, "options", "net"), lookup(run.config, "network", "units")
    sizes = " - ".join(map(str, units)) if isinstance(units, list) else ""
    parameters = number(lookup(run.config, "network", "parameters"))
    net = " ".join(filter(None, [kind if isinstance(kind, str) else "", sizes]))
    optimizer = lookup(run.config, "optimizer", "name")
    named = optimizer if isinstance(optimizer, str) else ""
    return ", ".join(filter(None, [net, f"{parameters} parameters", named]))


def curves(runs: list[RunReport], colours: dict[str, int]) -> Html:
    """Loss and metric over the epochs, overlaid where runs have the same kind of task."""
    parts = [tag("h2", "Curves"), legend(runs, colours)]
    for kind in sorted({run.task.name for run in runs}):
        group = [run for run in runs if run.task.name == kind]
        task = group[0].task
        pictures = [
            tag(
                "figure",
                tag("figcaption", caption),
                figures.curves(group, colours, what, percent=what in ("accuracy", "map")),
            )
            for what, caption in (("loss", task.loss), (task.metric, task.metric_title))
        ]
        parts.append(tag("div", *pictures, class_="row"))
    return joined(parts)


def legend(runs: list[RunReport], colours: dict[str, int]) -> Html:
    keys = [tag("span", named(run, colours), class_="key") for run in runs]
    lines = (
        ("", "held out: after the epoch"),
        ("dashed", "training: mean over the epoch, in which the network still changes"),
        ("mark", "the best epoch"),
    )
    keys += [tag("span", tag("i", "", class_=kind), text, class_="key") for kind, text in lines]
    return tag("p", *keys, class_="soft", style="max-width: none")


def differences(runs: list[RunReport], colours: dict[str, int]) -> Html:
    """What config.json of the runs has that is not the same in all."""
    flat = [flattened(run.config) for run in runs]
    names = dict.fromkeys(name for config in flat for name in config)
    differing = [
        name
        for name in names
        if not any(f"{name}.".startswith(f"{less}.") for less in UNSHOWN)
        and len({config.get(name) or NONE for config in flat}) > 1
    ]
    head = ["", *[named(run, colours) for run in runs]]
    if not differing:
        return joined([tag("h2", "Differences"), tag("p", "The runs have the same config.json.")])
    rows = [
        [tag("th", name), *[tag("td", config.get(name) or NONE) for config in flat]]
        for name in differing
    ]
    return joined([tag("h2", "Differences"), table(head, rows)])


def flattened(config: Any, before: str = "") -> dict[str, str]:
    """The values in nested objects, as texts by their paths."""
    if isinstance(config, dict):
        found: dict[str, str] = {}
        for name, value in config.items():
            found |= flattened(value, f"{before}.{name}" if before else str(name))
        return found
    if isinstance(config, list):
        more = f", … {len(config)} in all" if len(config) > LONG else ""
        return {before: ", ".join(map(str, config[:LONG])) + more}
    return {before: NONE if config is None else str(config)}


# Each run by itself


def of_run(run: RunReport, colour: int) -> Html:
    """What is told of one run."""
    parts: list[Any] = [tag("h2", dot(colour), run.name)]
    if run.notes:  # the screen has them: they may have lines of a file that a config.json names
        parts.append(tag("p", WITHOUT, class_="note"))
    if run.measured:
        kind = objects if run.run.outputs == "detections" else mistakes
        parts.append(kind.overview(run, run.measured, colour))
        parts.append(kind.worst(run, run.measured))
    parts += [tag("h3", "Parameters"), statistics(run.parameters)]
    if run.activations:
        parts += [tag("h3", "Activations, on held-out samples"), statistics(run.activations)]
    return joined([*parts, tag("h3", "How to repeat it"), repeat(run)])


def statistics(rows: list[Statistics]) -> Html:
    """A table of parameters, by their names; or of activations, by their layers and operators."""
    computed = any(row.operator for row in rows)
    head = ["layer", "operator"] if computed else [""]
    head += ["shape", "mean", "deviation", "norm", "least", "greatest", "zeros"]
    return table(
        head,
        [
            [
                tag("td", row.name),
                *([tag("td", breakable(row.operator))] if computed else []),
                tag("td", " x ".join(map(str, row.shape)) or "number", class_="short"),
                *[number(v) for v in (row.mean, row.std, row.norm, row.least, row.most)],
                f"{row.zeros:.1%}",
            ]
            for row in rows
        ],
    )


def breakable(name: str) -> Html:
    """A name that may go on in the next line after an underscore."""
    return Html(joined([name]).replace("_", f"_{tag('wbr')}"))


def words_of(name: str, value: Any) -> list[str]:
    """An option as it is on the command line, once for each pair such as beta1=0.9."""
    option = f"--{name.replace('_', '-')}"
    if value in (None, False, []):
        return []
    if value is True:
        return [option]
    if isinstance(value, list) and all(isinstance(pair, list) for pair in value):
        return [word for pair in value for word in (option, "=".join(map(str, pair)))]
    return [option, ",".join(map(str, value)) if isinstance(value, list) else str(value)]


def new_folder(folder: Path) -> str:
    """The first of FOLDER-2, FOLDER-3, ... that is not there."""
    folder = folder if folder.name else Path("run")
    return next(name for i in count(2) if not Path(name := f"{folder}-{i}").exists())


def program_of(run: RunReport) -> str:
    """The program that has trained a run."""
    if run.run.outputs == "detections":
        return "train.detect"
    return "train" if len(run.run.inputs) == 1 else "train.module"


def repeat(run: RunReport) -> Html:
    """The command, into a new folder, and the versions that it ran with."""
    words = ["python", "-m", program_of(run)]
    options, out = lookup(run.config, "options"), ["--out", new_folder(run.folder)]
    for name, value in (options if isinstance(options, dict) else {}).items():
        words += words_of(str(name), value) if name != "out" else []
    shorter = [*words[:3], "--config", str(run.folder / "config.json"), *out]
    versions = lookup(run.config, "libraries")
    known = versions if isinstance(versions, dict) else {}
    python = lookup(run.config, "python") or platform.python_version()
    engine = lookup(run.config, "engine", "name") or NONE
    told = [f"Python {python}", *[f"{name} {version}" for name, version in known.items()]]
    place = lookup(run.config, "platform") or NONE
    return joined([
        tag("pre", shlex.join([*words, *out]), "\n", shlex.join(shorter)),
        tag("p", f"It ran on the engine {engine}, with {', '.join(told)}; {place}.", class_="soft"),
    ])  # fmt: skip
