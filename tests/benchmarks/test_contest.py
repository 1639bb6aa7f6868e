"""How measurements are compared and judged."""

import time
import venv

import pytest

from benchmarks.contest import LONG, QUICK, Absent, Contest, ContestError, _Remote, agree, row
from benchmarks.suites import SUITES, Case, Contestant, Suite
from benchmarks.targets import TARGETS, Target
from benchmarks.worker import Entry, Worker

GEMM = {"device": "cpu", "gemm": {"onednn_from_multiplications": 1000}}
NO_ONEDNN = {"device": "cpu", "gemm": {"onednn_from_multiplications": None}}


def test_row_takes_the_best_of_each():
    """What else runs on the machine only adds, and not to all alike."""
    found = row([2.0, 9.0, 9.0, 2.0], [9.0, 1.0, 9.0, 1.0])
    assert (found["seconds"], found["median"], found["ratio"]) == (2, 5.5, 2)


@pytest.mark.parametrize(
    "times, steady",
    [([2.0, 2.1, 2.2], True), ([2.0, 2.1, 9.0, 9.0], True), ([2.0, 9.0, 9.0, 9.0], False)],
    ids=["alike", "a half disturbed", "one that stands alone"],
)
def test_row_tells_whether_the_best_is_to_be_trusted(times, steady):
    assert row(times, times)["steady"] is steady


@pytest.mark.parametrize(
    "found, same",
    [([1.0, 2.0], True), ([1.0, 2.00001], True), ([1.0, 2.1], False), ([1.0], False)],
    ids=["equal", "within", "beyond", "shorter"],
)
def test_agree(found, same):
    assert agree(found, [1.0, 2.0], 1e-4) is same


@pytest.mark.parametrize(
    "facts, limit, met",
    [(GEMM, 0.6, False), (NO_ONEDNN, 1.05, True), (GEMM | {"device": "gpu"}, 1.05, True)],
    ids=["onednn", "mkl", "gpu"],
)
def test_target_depends_on_the_matrix_product(facts, limit, met):
    target = Target("suite", "case", "ours", "theirs", 0.6, 1.05)
    rows = {"ours": {"ratio": 0.8, "steady": True}, "theirs": {"ratio": 1.0, "steady": True}}
    judged = target.judge({"suite": {"case": rows}}, facts)
    assert (judged["limit"], judged["ratio"], judged["met"]) == (limit, 0.8, met)


def test_target_of_memory():
    """The peak is one number, which is steady where the time is not."""
    target = Target("suite", "case", "ours", "theirs", 0.25, measure="peak")
    rows = {
        "ours": {"ratio": 2.0, "steady": False, "peak": 100},
        "theirs": {"ratio": 1.0, "steady": False, "peak": 1000},
    }
    judged = target.judge({"suite": {"case": rows}}, GEMM)
    assert (judged["case"], judged["ratio"], judged["met"]) == ("case, memory", 0.1, True)
    for name in rows:  # where nothing tells it
        unknown = rows | {name: rows[name] | {"peak": None}}
        assert target.judge({"suite": {"case": unknown}}, GEMM)["met"] is None


@pytest.mark.parametrize(
    "rows",
    [
        {"ours": {"ratio": 1.0, "steady": True}},
        {"ours": {"ratio": 1.0, "steady": True}, "theirs": {"ratio": 1.0, "steady": False}},
    ],
    ids=["no peer", "peer not steady"],
)
def test_target_is_open(rows):
    judged = Target("suite", "case", "ours", "theirs", 2).judge({"suite": {"case": rows}}, GEMM)
    assert judged["met"] is None


def unstarted(settings, seconds):
    """A contest without workers, in which every call takes so many seconds."""
    contest = Contest.__new__(Contest)
    contest.settings = settings
    contest._time = lambda contestant, count, blocks: seconds
    return contest


@pytest.mark.parametrize(
    "seconds, calls, blocks", [(1e-6, 3000, 10), (1e-3, 3, 10), (0.02, 1, 5), (1.0, 1, 2)]
)
def test_slow_calls_have_fewer_blocks(seconds, calls, blocks):
    assert unstarted(LONG, seconds)._calibrate(None) == (calls, blocks)


@pytest.mark.parametrize(
    "settings, compiles, count",
    [(QUICK, True, 1), (QUICK, False, 2), (LONG, True, 2)],
    ids=["quick, compiles", "quick", "long, compiles"],
)
def test_quick_compiles_one_case(settings, compiles, count):
    contest = unstarted(settings, 1.0)
    contest._try = lambda suite, case: {"A": {}}
    suite = Suite("s", "s", "S", [], [Case("a", {}), Case("b", {})], 0.1, compiles=compiles)
    assert list(contest.run(suite)) == ["a", "b"][:count]


def test_a_suite_whose_first_contestant_is_absent_has_no_results():
    contest = unstarted(QUICK, 0.02)
    contest._build = lambda suite, case: suite.contestants[1:]
    contestants = [Contestant(name, "torch", "gluon", "eager") for name in ("a", "b")]
    assert contest.run(Suite("s", "s", "S", contestants, [Case("c", {})], 0.1)) == {}


@pytest.mark.parametrize("slowest", [True, False])
def test_single_calls_have_a_percentile(slowest):
    """As many as fit into the rounds: 0.3 s for calls of 0.02 s."""
    contest, asked = unstarted(QUICK, 0.02), []
    contest._workers = {}
    contest._build = lambda suite, case: suite.contestants
    contest._ask = lambda contestant, *request: asked.append(request) or 0.5
    contestants = [Contestant(name, "torch", "gluon", "eager") for name in ("a", "b")]
    suite = Suite("s", "s", "S", contestants, [Case("c", {})], 0.1, slowest=slowest)
    rows = contest.run(suite)["c"]
    assert [row.get("p99") for row in rows.values()] == ([0.5, 0.5] if slowest else [None, None])
    assert asked == [("slowest", 15)] * (2 if slowest else 0)


def test_the_peak_of_memory_is_that_of_one_call():
    worker = Worker.__new__(Worker)

    def step():
        del [bytearray(2**25), 0][0]

    worker.entries = {("gluon", "eager"): Entry(step, list, lambda: None)}
    peak = worker.peak("gluon", "eager")
    if peak is None:
        pytest.skip("the peak of memory is read from /proc, which is not here")
    assert 0.9 * 2**25 < peak < 2**26


def test_the_percentile_is_of_single_calls():
    worker, called = Worker.__new__(Worker), []
    slow = {57, 58}  # of 100: the 99th percentile lies among these

    def step():
        called.append(None)
        if len(called) in slow:
            time.sleep(0.05)

    worker.entries = {("gluon", "eager"): Entry(step, list)}
    assert worker.slowest("gluon", "eager", 100) >= 0.05
    assert len(called) == 100


def test_a_worker_imports_first_what_it_is_told_to():
    worker = _Remote("jax", 1, first="no_such_module")
    try:
        with pytest.raises(Absent, match="^no_such_module is not installed$"):
            worker.ask("facts")
    finally:
        worker.stop()


def test_a_worker_may_have_another_interpreter(tmp_path):
    """The new environment has nothing installed, so what it answers cannot be this one's."""
    venv.create(tmp_path, with_pip=False, symlinks=True)
    worker = _Remote("jax", 1, tmp_path / "bin" / "python")
    try:
        with pytest.raises(Absent, match="^jax is not installed$"):
            worker.ask("facts")
    finally:
        worker.stop()


def test_a_worker_that_ended_is_told():
    worker = _Remote("jax", 1)
    worker.stop()
    with pytest.raises(ContestError, match="the process ended with -9"):
        worker.ask("facts")


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.case}, {t.contestant}, {t.against}")
def test_target_names_what_is_measured(target):
    suite = {suite.name: suite for suite in SUITES}[target.suite]
    names = {contestant.name for contestant in suite.contestants}
    assert target.case in {case.name for case in suite.cases}
    assert {target.contestant, target.against} <= names
