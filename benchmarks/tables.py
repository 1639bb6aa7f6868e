"""Held-out results of `layers-train --data FILE`, by its defaults, beside scikit-learn's.

    python -m benchmarks.tables [--seeds 3] [--only wine]

Each data set is a table that a package ships, or is made here. A fifth of the rows, drawn by the
seed, is held out from all contestants. scikit-learn's get its usual preparation: imputed and scaled
numbers, one-hot categories. Accuracy, or R2 of numbers; the time is that of a whole process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

ROOT = Path(__file__).resolve().parents[1]


def of_sklearn(name: str) -> pd.DataFrame:
    found = getattr(datasets, f"load_{name}")(as_frame=True)
    frame = found.frame
    if hasattr(found, "target_names"):
        frame["target"] = found.target_names[frame["target"].to_numpy()]
    return frame


def digits() -> pd.DataFrame:
    frame = datasets.load_digits(as_frame=True).frame
    return frame.assign(target=frame["target"].map("digit {}".format))


def penguins() -> pd.DataFrame:
    import palmerpenguins

    frame = palmerpenguins.load_penguins()
    return frame[[*frame.columns.drop("species"), "species"]]


def orders(rows: int = 100_000) -> pd.DataFrame:
    """Return made orders: a date, categories, numbers with gaps, and whether one was sent back."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 730, rows)
    shop = rng.choice(["north", "south", "east", "west"], rows)
    item = rng.choice([f"item {i}" for i in range(40)], rows)
    price, weight = rng.lognormal(3, 1, rows), rng.normal(2, 0.5, rows)
    season = np.sin(day / 365 * 2 * np.pi)
    score = (
        season + (shop == "north") + np.log(price) * (day % 7 > 4) * 0.4 + rng.normal(0, 1, rows)
    )
    score += np.random.default_rng(1).normal(0, 1, 40)[[int(name[5:]) for name in item]]
    return pd.DataFrame(
        {
            "date": (pd.Timestamp("2022-01-01") + pd.to_timedelta(day, "D")).strftime("%Y-%m-%d"),
            "shop": shop,
            "item": item,
            "price": price.round(2),
            "weight": np.where(rng.random(rows) < 0.1, np.nan, weight.round(3)),
            "returned": np.where(score > np.median(score), "yes", "no"),
        }
    )


SETS: dict[str, Callable[[], pd.DataFrame]] = {
    "penguins": penguins,
    "wine": lambda: of_sklearn("wine"),
    "breast cancer": lambda: of_sklearn("breast_cancer"),
    "digits": digits,
    "diabetes": lambda: of_sklearn("diabetes"),
    "orders, 100,000 rows": orders,
}


def prepared(model: Any) -> Any:
    """Return a model behind scikit-learn's usual preparation of a table."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    texts = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    return make_pipeline(
        make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (texts, make_column_selector(dtype_include=object)),
            sparse_threshold=0,
        ),
        model,
    )


def sklearn_score(kinds: tuple, learned: pd.DataFrame, held_out: pd.DataFrame, seed: int) -> float:
    """Return the score of a classifier, or of a regressor where the targets are numbers."""
    (*features, target) = learned.columns
    kind = kinds[learned[target].dtype.kind == "f"]
    learned, held_out = (
        frame.assign(date=pd.to_datetime(frame["date"]).astype("int64"))
        if "date" in frame
        else frame
        for frame in (learned, held_out)
    )
    model = prepared(kind(random_state=seed)).fit(learned[features], learned[target])
    return model.score(held_out[features], held_out[target])


def ours(options: list[str], learned: pd.DataFrame, held_out: pd.DataFrame, seed: int) -> float:
    """Return what the program tells of the held-out rows."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{folder}/learned.csv", f"{folder}/held_out.csv"]
        for name, frame in zip(names, (learned, held_out)):
            frame.to_csv(name, index=False)
        command = [sys.executable, "-m", "train", "--data", names[0], "--validation", names[1]]
        command += ["--out", f"{folder}/run", "--seed", str(seed), *options]
        if learned.iloc[:, -1].dtype.kind == "f":
            command += ["--task", "regression"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        result = json.loads(Path(folder, "run/config.json").read_text())["result"]
    return result.get("held_out_r2", result.get("held_out_accuracy"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    contestants: dict[str, Callable] = {
        "layers-train": lambda *given: ours([], *given),
        "MLP": lambda *given: sklearn_score((MLPClassifier, MLPRegressor), *given),
        "HistGradientBoosting": lambda *given: sklearn_score(
            (HistGradientBoostingClassifier, HistGradientBoostingRegressor), *given
        ),
    }
    print(f"| data | {' | '.join(contestants)} |\n|---|{'---|' * len(contestants)}")
    for name, make in SETS.items():
        if options.only in name and (name != "penguins" or find_spec("palmerpenguins")):
            print(
                f"| {name} | {' | '.join(cells(make(), contestants, options.seeds))} |", flush=True
            )


def cells(frame: pd.DataFrame, contestants: dict[str, Callable], seeds: int) -> Iterator[str]:
    """Yield the score of each contestant, its spread over the seeds, and its time."""
    for run in contestants.values():
        scores, start = [], time.perf_counter()
        for seed in range(seeds):
            parts = train_test_split(frame, test_size=0.2, random_state=seed)
            scores.append(100 * run(*parts, seed))
        seconds = (time.perf_counter() - start) / seeds
        yield f"{mean(scores):.1f} ± {stdev(scores):.1f} ({seconds:.1f} s)"


if __name__ == "__main__":
    main()
