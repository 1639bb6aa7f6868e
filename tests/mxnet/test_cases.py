"""Every operator against MXNet's values for its cases, recorded in tests/golden/."""

from __future__ import annotations

from pathlib import Path

import cases  # noqa: F401 - fills CASES
import numpy as np
import processor
import pytest
from case import CASES, check, run, untouched

SATURATE = "_contrib_quantized_fully_connected("
GOLDEN = Path(__file__).resolve().parents[1] / "golden"


class Golden:
    """The recorded values: case id -> {y0: ..., d0: ...}, one file for each section."""

    def __init__(self):
        self.values, self.changed = {}, set()
        for section in sorted({case.section for case in CASES.values()}):
            path = GOLDEN / f"{section}.npz"
            for key, value in np.load(path).items() if path.exists() else ():
                case, _, name = key.rpartition(":")
                self.values.setdefault(case, {})[name] = value

    def record(self, case, found):
        """Keep what was found, but no gradient that MXNet did not write."""
        self.values[case.id] = {n: v for n, v in found.items() if not untouched(n, v)}
        self.changed.add(case.section)

    def write(self):
        for section in self.changed:
            here = [c for c in CASES.values() if c.section == section and c.id in self.values]
            arrays = {f"{c.id}:{n}": v for c in here for n, v in self.values[c.id].items()}
            np.savez_compressed(GOLDEN / f"{section}.npz", **arrays)


@pytest.fixture(scope="module")
def golden():
    values = Golden()
    yield values
    values.write()


@pytest.mark.parametrize("case", [pytest.param(c, id=i) for i, c in CASES.items()])
def test_case(mx, case, golden, engine, pytestconfig):
    if engine == "mxnet" and case.ours:
        pytest.skip(f"ours: {case.ours}")
    if engine == "mxnet" and case.id.startswith(SATURATE) and processor.lacks("avx512_vnni"):
        pytest.skip("MXNet's sums of bytes saturate at 16 bits without avx512_vnni")
    found = run(mx, case)
    if case.moments:
        check_moments(found["y0"].astype("float64"), *case.moments)
        found = {name: np.zeros_like(value) for name, value in found.items()}
    if pytestconfig.getoption("--record"):
        golden.record(case, found)
    expected = case.expected(*case.values()) if case.ours else golden.values.get(case.id)
    assert expected, "no values are recorded: pytest --engine mxnet --record"
    gradients = {name for name in found if name.startswith("d")}
    assert found.keys() - gradients <= expected.keys() <= found.keys()
    for name, value in expected.items():
        check(name, found[name], value)


def test_every_recorded_value_has_its_case(golden, pytestconfig):
    if pytestconfig.getoption("--record"):
        pytest.skip("they are being written")
    assert golden.values.keys() <= CASES.keys()


def check_moments(found, mean, deviation):
    """Mean and deviation of n numbers are within 6 standard errors of what they should be."""
    error = deviation / np.sqrt(found.size)
    assert abs(found.mean() - mean) <= 6 * error
    assert abs(found.std() - deviation) <= 12 * error
