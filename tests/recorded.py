"""MXNet's values for tests that are not cases of one operator, in tests/golden/<name>.json.

`pytest --engine mxnet --record` writes them; every other run is held to them.
"""

import json
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).resolve().parent / "golden"


class Recorded:
    """The values of one file: by the test's id, a list of arrays."""

    def __init__(self, name, recording):
        self.path, self.recording = GOLDEN / f"{name}.json", recording
        exists = self.path.exists() and not recording
        self.values = json.loads(self.path.read_text()) if exists else {}

    def check(self, key, found, relative, absolute=0.0):
        """Hold numbers or arrays to what is recorded under a key, or record them."""
        found = [np.asarray(value, "float64") for value in found]
        if self.recording:
            self.values[key] = [np.vectorize(short, otypes=[float])(v).tolist() for v in found]
            return
        assert key in self.values, "no values are recorded: pytest --engine mxnet --record"
        expected = [np.array(value) for value in self.values[key]]
        assert [v.shape for v in found] == [v.shape for v in expected]
        for i, (value, other) in enumerate(zip(found, expected)):
            np.testing.assert_allclose(value, other, relative, absolute, err_msg=f"{key}, {i}")

    def write(self):
        if self.recording:
            lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(self.values.items())]
            self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def short(value):
    """Nine digits: all that float32 has."""
    return float(f"{value:.9g}")
