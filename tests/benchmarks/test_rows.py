"""The suite of all operators: each has typical arguments, or a line that says why it has none."""

import pytest

from benchmarks.report import listing
from benchmarks.rows import LEFT_OUT, REASONS, ROWS
from benchmarks.suites import TABLE

pytestmark = pytest.mark.engine("torch")


def test_every_operator_has_arguments_or_a_reason(mx):
    from layers.mxnet._table import registry

    rows = {registry.get(name) for name in registry.names()}
    names = {row.name for row in rows if not isinstance(row, registry.Absent)}
    # Sparse ones take no dense arrays; those of mx.np have the functions of others.
    known = ROWS.keys() | LEFT_OUT.keys()
    names -= {name for name in names - known if name.startswith(("_sparse_", "_np"))}
    assert names == known
    assert not ROWS.keys() & LEFT_OUT.keys()
    assert REASONS.keys() <= ROWS.keys()


def test_arguments_suit_their_operators(mx):
    from benchmarks.gluon.table import build

    quick = [name for name in ROWS if name.startswith(("_contrib_quant", "_image", "multi_"))]
    for name in quick:
        assert build("", "cpu", name).check(), name


@pytest.mark.slow
def test_all_arguments_suit_their_operators(mx):
    from benchmarks.gluon.table import build

    for name in ROWS:
        entry = build("", "cpu", name)
        assert entry.check() or not ROWS[name].inputs, name


def test_what_takes_longer_says_why():
    row = {"seconds": 1e-3, "ratio": 1.0}
    results = {
        "LRN": {"MXNet": row, "layers.mxnet": row | {"ratio": 3.5}},
        "exp": {"MXNet": row, "layers.mxnet": row | {"ratio": 4.0}},
        "log": {"MXNet": row, "layers.mxnet": row | {"ratio": 0.5}},
    }
    _, _, *lines = listing(TABLE, results).splitlines()
    assert [line.split()[0] for line in lines] == ["exp", "LRN", "log"]
    assert "NOBODY SAYS WHY" in lines[0]
    assert lines[1].endswith(REASONS["LRN"])
    assert lines[2].endswith("0.50")
