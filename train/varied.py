"""The settings that a sweep varies, and its file: the trials with their values and results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import Refused
from .config import TYPES, settings_of
from .settings import flag, positive, rates

__all__ = [
    "DIVERGED",
    "DONE",
    "PRUNED",
    "RUNNING",
    "SAMPLERS",
    "STATE",
    "Varied",
    "best_of",
    "described",
    "folder_of",
    "state_of",
    "varied_of",
]

# What all trials have in common, so that their results can be compared.
COMMON = (
    "data validation task target metric engine kvstore out config resume overwrite quiet "
    "tensorboard"
)
RANGE = re.compile(r"(log|uniform)\(([^,]+),([^,]+)\)")
STATE, SAMPLERS = "sweep.json", ("tpe", "random")
DONE, PRUNED, DIVERGED, RUNNING = "done", "pruned", "diverged", "running"  # of a trial


@dataclass(frozen=True)
class Varied:
    """A setting that is varied: from a least to a greatest number, or one of some texts."""

    name: str
    least: float = 0
    most: float = 0
    log: bool = False
    texts: tuple[str, ...] = ()

    @property
    def distribution(self) -> Any:
        """The values, as Optuna has them."""
        from optuna import distributions as of

        if self.texts:
            return of.CategoricalDistribution(self.texts)
        is_whole = isinstance(self.least, int) and isinstance(self.most, int)
        kind = of.IntDistribution if is_whole else of.FloatDistribution
        return kind(self.least, self.most, log=self.log)

    def has(self, value: Any) -> bool:
        """True if a value is one that may be tried."""
        if self.texts:
            return value in self.texts
        return isinstance(value, int | float) and self.least <= value <= self.most

    def setting(self, value: Any) -> Any:
        """Return a value as `Config` has it."""
        kind = TYPES[self.name]
        if kind is flag:
            return {"true": True, "false": False}.get(value.lower())
        return kind.parse(value) if self.texts else kind.check(value)


def varied_of(given: str) -> Varied:
    """Return what a text such as ``lr=log(1e-4,1e-1)`` says.

    Raises
    ------
    Refused
        There is no such setting, it has no such values, or all trials have it in common.
    """
    name, _, values = (part.strip() for part in given.partition("="))
    name = name.replace("-", "_")
    known = [each.name for each in settings_of("train") if each.name not in COMMON.split()]
    if name not in known:
        raise Refused(f"--vary {given}: expected one of {', '.join(known)}, then = and values")
    found = RANGE.fullmatch(values)
    try:
        if found:
            kind = positive if TYPES[name] is rates else TYPES[name]  # one rate for all parameters
            least, most = (kind.parse(text.strip()) for text in found.groups()[1:])
            if not all(isinstance(end, int | float) for end in (least, most)) or least >= most:
                raise ValueError("expected a less and a greater number")
            if found[1] == "log" and least <= 0:
                raise ValueError("expected numbers above 0, of which there are logarithms")
            return Varied(name, least, most, found[1] == "log")
        varied = Varied(name, texts=tuple(text.strip() for text in values.split("|")))
        if None in map(varied.setting, varied.texts) or len({*varied.texts}) < 2:
            raise ValueError("expected two values or more, or log(A,B), or uniform(A,B)")
        return varied
    except ValueError as error:
        raise Refused(f"--vary {given}: {error}") from error


def state_of(path: Path) -> dict[str, Any]:
    """Return what the file of a sweep says.

    Raises
    ------
    Refused
        It is of no sweep.
    """
    try:
        state = json.loads(path.read_text("utf-8"))
        texts = [*state["vary"], *(trial["state"] for trial in state["trials"])]
        numbers = [trial["number"] for trial in state["trials"]]
        right = all(isinstance(text, str) for text in texts) and isinstance(state["options"], dict)
        right = right and type(state["seed"]) is int and state["sampler"] in SAMPLERS
        if not right or numbers != [*range(1, len(numbers) + 1)]:
            raise ValueError("its trials are not those of a sweep")
        varied = [varied_of(text) for text in state["vary"]]
        for trial in state["trials"]:
            if [*trial["values"]] != [each.name for each in varied]:
                raise ValueError(f"trial {trial['number']} varies {[*trial['values']]}")
            if not all(each.has(trial["values"][each.name]) for each in varied):
                raise ValueError(f"trial {trial['number']} has other values than --vary")
            results = (trial["quality"], trial["metric"], trial["seconds"], *trial["so_far"])
            if not all(isinstance(each or 0, int | float) for each in results):
                raise ValueError(f"trial {trial['number']} has results that are no numbers")
        return state
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error
    except (Refused, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise Refused(f"{path} is of no sweep: {error}") from error


def best_of(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the best trial of those that have ended, if one has a result."""
    ended = [each for each in state["trials"] if each["state"] in (DONE, PRUNED)]
    found = [each for each in ended if each["quality"] is not None]
    return max(found, key=lambda each: each["quality"], default=None)


def folder_of(record: Mapping[str, Any]) -> str:
    return f"trial-{record['number']:03}"


def described(record: Mapping[str, Any]) -> str:
    values = ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in record["values"].items()
    )
    told = f": {record['shown']}" if record["shown"] else ""
    return f"{values}{told}" + f" ({record['state']})" * (record["state"] != DONE)
