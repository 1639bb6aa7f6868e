"""A few hundred hostile files of each reader in every run, and 100,000 in the long one."""

import mmap
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the readers are those of layers.mxnet")
pytest.importorskip("safetensors", reason="one of the readers is that of .safetensors files")
pytest.importorskip("PIL", reason="one of the readers is that of images")
pytest.importorskip("onnx", reason="one of the readers is that of ONNX files")

from hostile.campaign import SHARES, Result, campaign, run, table
from hostile.children import in_child
from hostile.judge import Reader, Verdict, judge
from hostile.names import RUNS, nothing_runs
from hostile.readers import EARLY, READERS
from layers.mxnet import MXNetError

pytestmark = [
    pytest.mark.engine("torch"),
    pytest.mark.filterwarnings(f"ignore:{EARLY}"),
    pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX"),
]


@pytest.mark.parametrize("name", READERS)
def test_hostile_files(name):
    result = run(name, range(40 if name == "run" else 100))  # a run is trained with, too
    assert not result.unclean, table({name: result})
    assert result.outcomes["refused"] and result.outcomes["read"]


@pytest.mark.slow
def test_hostile_names_on_the_ways_that_take_long(monkeypatch):
    monkeypatch.setattr("hostile.names.SOMETIMES", 1)
    result = run("names", range(1000, 1100))
    assert not result.unclean, table({"names": result})


def test_a_name_that_runs_is_unclean(tmp_path):
    def read(folder):
        with nothing_runs():
            exec(RUNS)

    assert judge("x", Reader(lambda rng: {"x": b"x"}, read), 0, tmp_path).outcome == "Ran"


@pytest.mark.slow
def test_a_hundred_thousand_hostile_files():
    results = campaign(list(READERS), 100_000, 0)
    assert not any(result.unclean for result in results.values()), table(results)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="of Linux")
def test_pages_of_a_file_are_no_memory_that_is_taken(tmp_path):
    path = tmp_path / "library"
    path.write_bytes(bytes(200 << 20))
    pages = []

    def read(folder):
        with path.open("rb") as file:
            pages.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        pages[0][:: mmap.PAGESIZE]
        raise MXNetError(folder)

    assert judge("x", Reader(lambda rng: {"x": b"x"}, read), 0, tmp_path).outcome == "refused"


def test_the_table_has_the_reasons():
    result = Result()
    result.add(7, Verdict("slow", "9.9 s"))
    assert "params seed 7: slow: 9.9 s" in table({"params": result})


def test_every_reader_has_a_share():
    assert SHARES.keys() == READERS.keys() and sum(SHARES.values()) == 100


# The judge


def fails(error):
    def read(folder):
        raise error(folder) if callable(error) else error

    return read


def hangs(folder):
    while True:
        pass


def takes_memory(folder):
    """Of the system: an array may lie where others of this process were."""
    with mmap.mmap(-1, 200 << 20) as pages:
        for place in range(0, len(pages), mmap.PAGESIZE):
            pages[place] = 1


UNCLEAN = {
    "TypeError": fails(TypeError("x")),
    "RecursionError": fails(RecursionError()),
    "MemoryError": fails(MemoryError()),
    "no name": fails(MXNetError("x is wrong")),
    "long": fails(lambda folder: MXNetError(f"{folder}: {'x' * 9999}")),
    "memory": takes_memory,
    "Hang": hangs,
}


@pytest.mark.parametrize("outcome, read", UNCLEAN.items(), ids=UNCLEAN)
def test_what_is_unclean(tmp_path, monkeypatch, outcome, read):
    if outcome == "Hang":
        monkeypatch.setattr("hostile.judge.PATIENCE", 2)
    if outcome == "memory" and not Path("/proc/self/clear_refs").exists():
        pytest.skip("the system does not tell the most memory that was taken")
    assert judge("x", Reader(lambda rng: {"x": b"x"}, read), 0, tmp_path).outcome == outcome


def test_what_is_slow(tmp_path, monkeypatch):
    monkeypatch.setattr("hostile.judge.SECONDS", -1)
    monkeypatch.setattr("hostile.judge._limited", nullcontext)
    assert judge("x", Reader(lambda rng: {}, str), 0, tmp_path).outcome == "slow"


def test_what_is_half_applied(tmp_path):
    values = []

    def read(folder):
        values.append(1)
        raise MXNetError(folder)

    verdict = judge("x", Reader(lambda rng: {}, read, left=lambda: list(values)), 0, tmp_path)
    assert verdict.outcome == "half applied"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each reader in C++ runs in a fork")
def test_a_hang_in_c_is_a_verdict(tmp_path, monkeypatch):
    def read(folder):
        if folder.name == "1":
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            signal.sigwait([signal.SIGUSR1])
        raise MXNetError(folder)

    monkeypatch.setattr("hostile.children.LONGEST", 3)
    reader = Reader(lambda rng: {"x": b"x"}, read, native=True)
    found = {seed: v.outcome for seed, v in in_child("x", reader, range(3), tmp_path)}
    assert found == {0: "refused", 1: "crash", 2: "refused"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each reader in C++ runs in a fork")
def test_a_fork_waits_for_no_threads_of_this_process(tmp_path, monkeypatch):
    import torch

    def read(folder):
        return (torch.ones(1 << 22) + 1).sum()

    monkeypatch.setattr("hostile.children.LONGEST", 5)
    reader = Reader(lambda rng: {"x": b"x"}, read, native=True)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        read(None)  # by two threads, of which a fork has one
        assert [v.outcome for _, v in in_child("x", reader, range(1), tmp_path)] == ["read"]
    finally:
        torch.set_num_threads(threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each reader in C++ runs in a fork")
def test_a_crash_is_a_verdict_and_the_rest_goes_on(tmp_path):
    def read(folder):
        if folder.name == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        raise MXNetError(folder)

    reader = Reader(lambda rng: {"x": b"x"}, read, native=True)
    found = {seed: v.outcome for seed, v in in_child("x", reader, range(3), tmp_path)}
    assert found == {0: "refused", 1: "crash", 2: "refused"}


def test_what_is_clean(tmp_path):
    declared = Reader(lambda rng: {}, lambda folder: bytearray(200 << 20), size=len)
    refused = Reader(lambda rng: {}, fails(lambda folder: MXNetError(folder)))
    assert judge("x", declared, 0, tmp_path).outcome == "read"
    assert judge("x", refused, 0, tmp_path).outcome == "refused"
