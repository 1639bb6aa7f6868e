"""What a report tells of a sweep: its trials, the best first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import Refused
from ..varied import RUNNING, STATE, Varied, best_of, folder_of, state_of, varied_of

__all__ = ["SweepReport", "read_sweep"]


@dataclass(frozen=True)
class SweepReport:
    """A sweep: its folder, the settings that it varies, and its trials that have ended."""

    folder: Path
    varied: list[Varied]
    trials: list[dict[str, Any]]
    best: dict[str, Any]

    @property
    def head(self) -> list[str]:
        return ["trial", *(each.name for each in self.varied), "held out", "epochs", "s", ""]

    @property
    def rows(self) -> list[list[Any]]:
        """Return the rows of the table, the best trial first."""
        known = [each for each in self.trials if each["quality"] is not None]
        ordered = sorted(known, key=lambda each: -each["quality"])
        return [
            [
                trial["number"],
                *(shown(trial["values"][each.name]) for each in self.varied),
                "–" if trial["metric"] is None else f"{trial['metric']:.6g}",
                len(trial["so_far"]),
                f"{trial['seconds']:.1f}",
                trial["state"],
            ]
            for trial in ordered + [each for each in self.trials if each["quality"] is None]
        ]

    @property
    def best_run(self) -> Path:
        return self.folder / folder_of(self.best)


def shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def read_sweep(folder: Path) -> SweepReport:
    """Read the sweep in a folder.

    Raises
    ------
    Refused
        Its file is of no sweep, or no trial has a result.
    """
    state = state_of(folder / STATE)
    if (best := best_of(state)) is None:
        raise Refused(f"{folder}: no trial of the sweep has a result")
    ended = [each for each in state["trials"] if each["state"] != RUNNING]
    return SweepReport(folder, [varied_of(text) for text in state["vary"]], ended, best)
