"""Metrics of a trained network on samples whose targets are known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import Refused
from .data import Reading
from .data.arrays import read_npz
from .data.prepare import targets
from .data.roles import expect_targets, targets_of
from .data.samples import Samples, shown
from .data.tables import is_table, read_frame, read_table
from .prediction import Predictions, name_of, predict
from .scores import ROWS, fitting
from .trained import TrainedRun, read_run

__all__ = ["evaluate"]


def evaluate(run: str | Path, data: Any, metrics: Sequence[str] = ()) -> dict[str, float]:
    """Return metrics of a run's network on samples, by their names.

    Parameters
    ----------
    run : str or Path
        The folder of a run of ``python -m train``.
    data : str, Path, DataFrame or (x, y)
        A table with the target's column, an npz with x and y or x_test and y_test, or a folder with
        a folder of images for each class; a DataFrame; or two arrays, of which y has the names or
        numbers of classes as the data of the training, or numbers.
    metrics : sequence of str
        Names of ``--metric``, such as ``["accuracy", "f1"]``; by default all that fit.

    Raises
    ------
    Refused
        The samples or their targets do not fit the network, or a metric does not.
    """
    trained = read_run(Path(run))
    if trained.outputs == "detections":
        raise Refused(f"{run}: its network finds objects; expected one of classes or a number")
    known = [row.name for row in fitting(len(trained.classes))]
    names = [metrics] if isinstance(metrics, str) else metrics or known
    if wrong := [name for name in names if name not in known]:
        raise Refused(f"metrics: {wrong[0]!r} is not for this run; expected {', '.join(known)}")
    is_pair = isinstance(data, tuple) and len(data) == 2
    found = predict(run, data[0] if is_pair else data)
    try:
        y = targets(samples_of(data, trained, found), tuple(trained.classes))
    except Refused as error:
        raise Refused(f"{name_of(data)}: {error}") from error
    return {name: ROWS[name].value(y, found.values) for name in names}


def samples_of(data: Any, run: TrainedRun, found: Predictions) -> Samples:
    """Return the targets of data that has been predicted.

    Raises
    ------
    Refused
        It has none.
    """
    path, x = Path(os.path.expanduser(str(data))), np.zeros((len(found.values), 1))
    if isinstance(data, tuple):
        return Samples(x, np.array([*np.asarray(data[1])]), y_name="y")
    if hasattr(data, "to_csv") or is_table(str(data)):
        target = run.target.get("name")
        if not target:
            raise Refused("the run was trained with arrays, and has no column as its target")
        how = Reading(target=target, regression=not run.classes)
        table = (
            read_frame(data, how, [target]) if hasattr(data, "to_csv") else read_table(path, how)
        )
        expect_targets(table, target, how)
        y = targets_of(table, target, how.regression)
        return Samples(x, y, y_name=f"column {shown(target)}", table=table)
    if path.suffix.lower() == ".npz":
        (_, _), (name, y) = read_npz(path, (("x", "y"), ("x_test", "y_test")))[0].items()
        return Samples(x, y, y_name=name)
    if path.is_dir():
        folders = [Path(file).parent.name for file in found.files]
        return Samples(x, np.array(folders), y_name="the folder", files=tuple(found.files))
    raise Refused("it has no targets; expected a table, an npz, a folder of images or (x, y)")
