"""Many seeds of each reader, and what came of them."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .children import in_child, in_place
from .judge import Verdict
from .readers import READERS

# Of all files, so many in a hundred: more where the form of a file has more in it.
SHARES = {"params": 11, "libsvm": 2, "parameters": 3, "graph": 14, "states": 12, "safetensors": 7}
SHARES |= {"npz": 7, "mnist": 4, "cifar": 1, "idx": 6, "csv": 6, "records": 3, "image": 4}
SHARES |= {"image batches": 2, "table": 4, "pictures": 2}
SHARES |= {"state dict": 3, "ONNX": 3, "checkpoint": 1, "names": 2, "configuration": 2, "run": 1}
WARM_UP = 20  # files that are read before: what Python and PyTorch import at first takes memory


class Result:
    """Counts of outcomes, and the unclean ones with their seeds."""

    def __init__(self):
        self.outcomes: Counter[str] = Counter()
        self.unclean: list[tuple[int, Verdict]] = []
        self.peak = 0

    def add(self, seed: int, verdict: Verdict) -> None:
        self.outcomes[verdict.outcome] += 1
        self.peak = max(self.peak, verdict.taken)
        if not verdict.is_clean:
            self.unclean.append((seed, verdict))


def run(name: str, seeds: Iterable[int]) -> Result:
    """Judge the files of some seeds, each in an empty folder of its own."""
    result = Result()
    home = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        judged = in_child if READERS[name].native else in_place
        for seed, verdict in judged(name, READERS[name], [*range(-WARM_UP, 0), *seeds], home):
            if seed >= 0:
                result.add(seed, verdict)
    finally:
        shutil.rmtree(home)
    return result


def campaign(readers: list[str], count: int, first: int) -> dict[str, Result]:
    """The results of all readers, told as they come."""
    results = {}
    for name in readers:
        share = count * SHARES[name] // sum(SHARES[reader] for reader in readers)
        results[name] = run(name, range(first, first + share))
        print(f"{name}: {dict(results[name].outcomes)}", flush=True)
        for line in reasons(name, results[name]):
            print(f"  {line}", flush=True)
    return results


def reasons(name: str, result: Result) -> list[str]:
    """Return a line for each kind of unclean outcome, with the first seed that shows it."""
    kinds = {(v.outcome, v.more[:60]): (s, v) for s, v in reversed(result.unclean)}
    return [f"{name} seed {s}: {v.outcome}: {v.more}" for s, v in kinds.values()]


def table(results: dict[str, Result]) -> str:
    """Return a line for each reader: files, read, refused, unclean, the most memory of a file.

    Lines with what is unclean follow.
    """
    columns = ("files", "read", "refused", "unclean", "MiB")
    lines = [f"{'reader':14}" + "".join(f"{column:>9}" for column in columns)]
    for name, result in results.items():
        read, refused = result.outcomes["read"], result.outcomes["refused"]
        total = sum(result.outcomes.values())
        counts = (total, read, refused, total - read - refused, result.peak >> 20)
        lines.append(f"{name:14}" + "".join(f"{count:9}" for count in counts))
    told = [line for name, result in results.items() for line in reasons(name, result)]
    return "\n".join([*lines, *told])
