"""Programs of several processes: what they compute, and what happens when one is lost.

The processes run `tests/processes.py`.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import forks
import numpy as np
import pytest

from layers.engine import mx

pytestmark = pytest.mark.engine("torch")

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "processes.py"
SETTINGS = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def environment(**more):
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    return (
        os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "LAYERS_ENGINE": "torch"} | more
    )


def by_torchrun(count, folder):
    """Run all scenarios in processes that torchrun starts."""
    torchrun = [sys.executable, "-W", "ignore", "-m", "torch.distributed.run"]
    done = subprocess.run(
        [*torchrun, "--standalone", "--nproc-per-node", str(count), PROGRAM, "run", folder],
        env=environment(FOLDER=str(folder), LAYERS_DIST_TIMEOUT="60"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def in_two(tmp_path_factory):
    return by_torchrun(2, tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def in_four(tmp_path_factory):
    return by_torchrun(4, tmp_path_factory.mktemp("four"))


def names(kind):
    processes = pytest.importorskip("processes")
    return list(getattr(processes, kind))


def scenarios():
    """Their names, off the text: it imports the engine."""
    lines = PROGRAM.read_text("utf-8").splitlines()
    return [b.split("(")[0].split()[1] for a, b in zip(lines, lines[1:]) if a == "@scenario"]


def assertions():
    text = PROGRAM.read_text("utf-8").split("ASSERTIONS = [")[1].split("]")[0]
    return [name.strip() for name in text.split(",") if name.strip()]


def check_scenario(name, folder, count, monkeypatch):
    from processes import SCENARIOS

    monkeypatch.setenv("FOLDER", str(folder))
    expected = SCENARIOS[name](mx.kv.create("device"))
    for rank in range(count):
        with np.load(folder / f"{name}-{rank}.npz") as found:
            arrays = [found[key] for key in found.files]
        for array, other in zip(arrays, expected, strict=True):
            np.testing.assert_allclose(array, other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", scenarios())
def test_two_processes_compute_what_one_does(name, in_two, monkeypatch):
    check_scenario(name, in_two, 2, monkeypatch)


@pytest.mark.parametrize("name", assertions())
def test_in_two_processes(name, in_two):
    assert [(in_two / f"{name}-{rank}").exists() for rank in range(2)] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("name", scenarios())
def test_four_processes_compute_what_one_does(name, in_four, monkeypatch):
    check_scenario(name, in_four, 4, monkeypatch)


def without_torchrun(count, folder, **more):
    """Start processes that nobody watches: torchrun would end the others."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    started = []
    for rank in range(count):
        given = dict(zip(SETTINGS, (str(rank), str(count), "127.0.0.1", port)))
        with (folder / f"said-{rank}").open("w") as said:
            started.append(
                subprocess.Popen(
                    [sys.executable, PROGRAM, "lose", folder],
                    env=environment(**given, **more),
                    stderr=said,
                )
            )
    return started


def check_loss(count, how, lost, folder, timeout):
    processes = without_torchrun(count, folder, LOST=f"{how} {lost}", LAYERS_DIST_TIMEOUT=timeout)
    try:
        others = [p for rank, p in enumerate(processes) if rank != lost]
        statuses = [p.wait(120) for p in others]
        ended = time.time() - (folder / "lost").stat().st_mtime
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert statuses == [1] * len(others)
    assert ended < float(timeout) + 10  # on a machine that does other things too
    for rank in range(count):
        if rank != lost:
            said = (folder / f"said-{rank}").read_text().split("MXNetError: ")[-1]
            assert f"process {rank} of {count} has lost another process" in said
            assert f"within {timeout} s (LAYERS_DIST_TIMEOUT)" in said


def test_a_killed_process_ends_the_others(tmp_path):
    check_loss(2, "SIGKILL", 1, tmp_path, "60")


@pytest.mark.slow
@pytest.mark.parametrize(
    "count, how, lost, timeout",
    [(2, "SIGKILL", 0, "60"), (2, "SIGSTOP", 1, "4"), (4, "SIGKILL", 2, "30")],
)
def test_a_lost_process_ends_the_others(count, how, lost, timeout, tmp_path):
    check_loss(count, how, lost, tmp_path, timeout)


@pytest.fixture
def no_launcher(monkeypatch):
    for name in (*SETTINGS, "DMLC_ROLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("of", ["dist_sync", "dist_device_sync", "DIST_SYNC_DEVICE", "dist"])
def test_without_torchrun(of, no_launcher):
    with pytest.raises(mx.MXNetError, match=f"(?i){of}.*RANK, .*not set(.|\n)*torchrun"):
        mx.kv.create(of)


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("RANK", "one", "from 0 to below 2"),
        ("RANK", "2", "from 0 to below 2"),
        ("WORLD_SIZE", "0", "from 1 to below 2147483648"),
        ("MASTER_PORT", "65536", "from 0 to below 65536"),
    ],
)
def test_what_torchrun_sets_is_a_number(name, value, expected, monkeypatch):
    for setting, right in zip(SETTINGS, ("0", "2", "127.0.0.1", "1")):
        monkeypatch.setenv(setting, right)
    monkeypatch.setenv(name, value)
    told = f"kvstore 'dist_sync': {name}={value} in the environment\n  expected a number {expected}"
    with pytest.raises(mx.MXNetError, match=told):
        mx.kv.create("dist_sync")


def test_from_mxnets_launcher(no_launcher, monkeypatch):
    monkeypatch.setenv("DMLC_ROLE", "worker")
    with pytest.raises(mx.MXNetError, match="DMLC_ROLE=worker(.|\n)*torchrun"):
        mx.kv.create("dist_sync")


def test_a_trainer_without_torchrun(no_launcher):
    w = mx.gluon.Parameter("w", shape=(1,))
    w.initialize()
    with pytest.raises(mx.MXNetError, match="torchrun"):
        mx.gluon.Trainer([w], "sgd", kvstore="dist_sync")


@pytest.mark.parametrize("of", ["dist_async", "dist_device_async"])
def test_asynchronous_types(of):
    with pytest.raises(NotImplementedError, match=f"{of}(.|\n)*server(.|\n)*'dist_sync'"):
        mx.kv.create(of)


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_the_timeout_is_a_number_of_seconds(text, monkeypatch):
    for name, value in zip(SETTINGS, ("0", "1", "127.0.0.1", "1")):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LAYERS_DIST_TIMEOUT", text)
    with pytest.raises(ValueError, match=f"LAYERS_DIST_TIMEOUT={text}"):
        mx.kv.create("dist_sync")


def test_a_port_in_use_is_no_lost_process():
    with socket.socket() as other:
        other.bind(("", 0))
        other.listen()
        port = str(other.getsockname()[1])
        settings = dict(zip(SETTINGS, ("0", "1", "127.0.0.1", port)))
        program = "import layers.mxnet as mx; mx.kv.create('dist_sync')"
        done = forks.run(["-c", program], env=environment(**settings))
    said = done.stderr.split("MXNetError: ")[-1]
    assert said.startswith("kvstore 'dist_sync': process 0 of 1 could not join the others: ")
    assert "address already in use" in said and "lost" not in said


IS_LOST = {  # whether PyTorch says by it that a process was lost
    "[../pair.cc:553] Connection closed by peer [127.0.0.1]:20906.": True,
    "[../pair.cc:537] Read error [127.0.0.1]:13544: Connection reset by peer.": True,
    "[../unbound_buffer.cc:78] Timed out waiting 3000ms for recv operation to complete": True,
    "wait timeout after 2000ms, keys: /default_pg/0//1//cpu//0/1": True,
    "Broken pipe": True,
    "NCCL error in: x.cpp:1, remote process exited or there was a network error": True,
    "Invalid scalar type": False,
    "ProcessGroupGloo::allgather: invalid tensor size at index 1 (expected (2), got (3))": False,
    "Tensors must be contiguous\nException raised from f at x.cpp:1\nframe #0": False,
}


@pytest.mark.parametrize("text, is_lost", IS_LOST.items(), ids=range(len(IS_LOST)))
def test_what_is_a_lost_process(text, is_lost, monkeypatch):
    from layers.mxnet.kvstore import _processes

    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(_processes, "_store", "kvstore 'dist'")
    with pytest.raises(mx.MXNetError) as caught, _processes._explained("sum an array (2,) int16"):
        raise RuntimeError(text)
    told = str(caught.value)
    first = text.splitlines()[0]
    if is_lost:
        assert told.startswith(
            f"kvstore 'dist': process 0 of 2 has lost another process, or waited in vain: {first}\n"
        )
    else:
        assert told == f"kvstore 'dist': process 0 of 2 could not sum an array (2,) int16: {first}"
